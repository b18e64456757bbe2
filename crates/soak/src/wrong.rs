//! Mistakes of tenure, and the errors that show one.

use std::time::Duration;

use tenure_core::{DeviceError, Error};

/// Long enough for a simulated GPU; a program that waits for longer hangs.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A mistake of tenure, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong(pub(crate) String);

pub(crate) type Checked<T = ()> = Result<T, Wrong>;

/// Reports a mistake.
pub(crate) fn wrong<T>(words: impl Into<String>) -> Checked<T> {
    Err(Wrong(words.into()))
}

/// The message of a panic.
pub(crate) fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of no text".to_owned())
}

/// Classes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request is invalid or not supported.
    Refusal,
    /// Memory, objects or time were short.
    Shortage,
    /// The device is lost.
    Loss,
    /// tenure made a mistake.
    Mistake,
}

/// tenure made a mistake.
pub(crate) fn is_mistake(error: &Error) -> bool {
    kind(error) == Kind::Mistake
}

pub(crate) fn kind(error: &Error) -> Kind {
    match error {
        Error::Device { source, .. } => match source {
            DeviceError::Lost { .. } => Kind::Loss,
            DeviceError::OutOfMemory { .. }
            | DeviceError::NotGranted { .. }
            | DeviceError::OutOfHostMemory { .. }
            | DeviceError::OutOfDeviceMemory { .. }
            | DeviceError::TooManyAllocations { .. } => Kind::Shortage,
            _ => Kind::Refusal,
        },
        Error::OutOfMemory(_) | Error::Timeout { .. } => Kind::Shortage,
        Error::Internal { .. } | Error::Contract { .. } => Kind::Mistake,
        _ => Kind::Refusal,
    }
}
