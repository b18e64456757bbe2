//! The executed steps about barriers: [`DeviceConfig::journal`].
//!
//! [`DeviceConfig::journal`]: crate::DeviceConfig::journal

use std::ops::Range;

use parking_lot::Mutex;
use tenure_core::device::{QueueSerial, QueueTransfer, State, Subresource};

/// A step executed by a queue, in the order of execution.
///
/// Resources are identified by the numbers shown in hazards: [`Resource::number`](crate::Resource::number).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A submission begins.
    Submission {
        /// The queue and serial.
        at: QueueSerial,
        /// The submissions that it waited for.
        waits: Vec<QueueSerial>,
        /// For each queue, the newest submission that the CPU had seen complete when it submitted this
        /// one.
        observed: Vec<u64>,
    },
    /// A transition; of a transfer, this queue's half.
    Transition {
        /// The resource.
        resource: u64,
        /// The part of it.
        subresource: Subresource,
        /// The state before.
        before: State,
        /// The state after.
        after: State,
        /// The change of owner, if any.
        transfer: Option<QueueTransfer>,
    },
    /// An unordered barrier on a resource.
    Unordered {
        /// The resource.
        resource: u64,
    },
    /// A resource takes over bytes.
    Aliasing {
        /// The resource.
        resource: u64,
        /// The earlier use of the bytes.
        from: State,
        /// The next use, by the resource.
        to: State,
    },
    /// The contents of subresources are discarded. With Direct3D 12's legacy barriers the commands before it are
    /// ordered before the ones after it. A [`Use`](Self::Use) comes before it.
    Discard {
        /// The resource.
        resource: u64,
        /// The subresources, as indices.
        subresources: Range<u32>,
    },
    /// Writes in these states become visible to the CPU.
    MakeVisible {
        /// The states.
        written: State,
    },
    /// A command uses subresources in a state.
    Use {
        /// The resource.
        resource: u64,
        /// The subresources, as indices.
        subresources: Range<u32>,
        /// The state.
        state: State,
    },
}

/// The steps, if recording is enabled.
#[derive(Default)]
pub(crate) struct Journal(Option<Mutex<Vec<Step>>>);

impl Journal {
    pub(crate) fn new(is_kept: bool) -> Self {
        Self(is_kept.then(Mutex::default))
    }

    pub(crate) fn note(&self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &self.0 {
            steps.lock().push(step());
        }
    }

    pub(crate) fn take(&self) -> Vec<Step> {
        self.0.as_ref().map(|steps| std::mem::take(&mut *steps.lock())).unwrap_or_default()
    }
}
