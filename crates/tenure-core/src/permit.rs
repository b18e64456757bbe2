//! The manager's permit for calls whose misuse is undefined behaviour.
#![expect(unsafe_code, reason = "a permit is how the manager answers for its calls")]

use crate::device::{Device, Permit};

/// Makes the manager's permits.
pub(crate) trait OwnPermit {
    /// The manager's own permit.
    fn own() -> Self;
}

impl<D: Device> OwnPermit for Permit<D> {
    #[inline]
    fn own() -> Self {
        // SAFETY: this crate hands it to the device alone. What it destroys or overwrites
        // went through deferred release, or was never submitted (the rule is in `time`); what it
        // submits was recorded through a recording, whose resources are handles that live or went
        // through deferred release, too; ranges, and what is placed, go before their heap (`memory`);
        // handles of another manager are refused where they come in.
        unsafe { Self::new() }
    }
}
