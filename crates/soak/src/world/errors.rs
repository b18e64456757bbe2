//! Expected and unexpected errors.

use std::collections::BTreeMap;
use std::fmt::Debug;

use tenure_core::Error;

use super::World;
use crate::setup::Trouble;
use crate::wrong::{Checked, Kind, kind, wrong};

/// The number of refusals of each call, by kind.
pub type Refusals = BTreeMap<(String, String), u64>;

/// Reasons to refuse a call without a shortage: programs do not check whether a call is possible.
const EXPECTED: &[(&str, &[&str])] = &[
    // Devices without sets, heaps that shaders see, or queries.
    ("a layout", &["Device, Unsupported"]),
    ("a set of samplers", &["Device, Unsupported"]),
    ("a table", &["Device, Unsupported", "NoDescriptors"]),
    ("descriptors of a recording", &["Device, Unsupported", "NoDescriptors"]),
    ("a set of a recording", &["NoDescriptors"]),
    ("a set", &["NoDescriptors"]),
    ("a timestamp", &["Device, Unsupported"]),
    ("occlusion", &["Device, Unsupported"]),
    ("pipeline statistics", &["Device, Unsupported"]),
    ("poll a ticket", &["Discarded"]),
    // Frames that were leaked.
    ("begin a frame", &["TooManyFrames"]),
    ("a graph", &["TooManyFrames"]),
    ("a graph that panics", &["TooManyFrames"]),
    ("draw to the window", &["TooManyFrames"]),
    // An upload ring is full with bytes of an open recording.
    ("a ring", &["HeldByRecording"]),
    // Queues without support; a buffer without the usage.
    ("clear a texture", &["State, NotAllowedOnQueue"]),
    ("use a buffer", &["State, NotAllowedOnQueue"]),
    ("use a texture", &["State, NotAllowedOnQueue"]),
    ("draw to a transient attachment", &["State, NotAllowedOnQueue"]),
    ("transient resources", &["State, NotAllowedOnQueue", "State, NotAllowedForUsage"]),
    // Unequal textures; offsets that are not multiples of this queue's copy granularity; views that are too
    // large.
    ("a view", &["Device, InvalidCall"]),
    ("copy a buffer", &["Device, InvalidCall"]),
    ("copy a texture", &["Device, InvalidCall"]),
    ("copy texels", &["Device, InvalidCall"]),
    ("record a readback of texels", &["Device, InvalidCall"]),
    // Devices without blits, formats without filters, queues without graphics.
    ("generate mips", &["Device, UnsupportedFormat", "Device, InvalidCall", "Device, InvalidState"]),
    // A query that was left open.
    ("submit", &["Query"]),
    ("wait for a point", &["NeverSubmitted"]),
    ("await", &["Discarded"]),
];

fn is_expected(what: &str, error: &str) -> bool {
    EXPECTED.iter().any(|(call, errors)| *call == what && errors.contains(&error))
}

/// The kind of an error in a word or two, without its numbers.
fn name(error: &Error) -> String {
    match error {
        Error::Device { source, .. } => format!("Device, {}", variant(source)),
        Error::State { source, .. } => format!("State, {}", variant(source)),
        error => variant(error),
    }
}

/// The name of a variant.
fn variant(of: &dyn Debug) -> String {
    format!("{of:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

impl World {
    /// The result of a call that fails only after a loss of the device; `None` then.
    pub(crate) fn must<T>(&mut self, what: &str, result: Result<T, Error>) -> Checked<Option<T>> {
        match result {
            Err(error) if kind(&error) != Kind::Loss => wrong(format!("{what}: {error}")),
            result => self.allow(what, result),
        }
    }

    /// The result of a call; `None` when it was refused and may be.
    pub(crate) fn allow<T>(&mut self, what: &str, result: Result<T, Error>) -> Checked<Option<T>> {
        let error = match result {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        let is_allowed = match kind(&error) {
            Kind::Refusal => is_expected(what, &name(&error)),
            Kind::Mistake => false,
            Kind::Loss => self.trouble == Trouble::Loss,
            Kind::Shortage => matches!(self.trouble, Trouble::Faults | Trouble::Shortage | Trouble::Loss),
        };
        self.is_lost |= kind(&error) == Kind::Loss;
        if !is_allowed {
            return wrong(format!("{what}: {error}"));
        }
        *self.refused.entry((what.to_owned(), name(&error))).or_default() += 1;
        self.say(|| format!("  refused: {error}"));
        Ok(None)
    }
}
