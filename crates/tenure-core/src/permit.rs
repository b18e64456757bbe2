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
        // SAFETY: this crate passes the permit only to the device. Objects that it destroys or overwrites went through deferred
        // release, or were never submitted (see `time`). Its submissions were recorded through a recording, whose resources are
        // live handles or went through deferred release, too. Ranges and placed resources are destroyed before their heap
        // (`memory`). Handles of another manager are rejected on entry.
        unsafe { Self::new() }
    }
}
