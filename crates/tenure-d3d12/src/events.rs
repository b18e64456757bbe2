//! Events to wait with.

use std::time::Duration;

use parking_lot::Mutex;
use windows::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0};
use windows::Win32::System::Threading::{CreateEventW, WaitForSingleObject};
use windows::core::Error;

/// An event that resets itself when a wait for it ends.
pub(crate) struct Event(HANDLE);

// SAFETY: a handle is a number that the kernel looks up; it may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the kernel synchronises.
unsafe impl Sync for Event {}

impl Event {
    fn new() -> Result<Self, Error> {
        // SAFETY: no attributes and no name are passed.
        unsafe { CreateEventW(None, false, false, None) }.map(Self)
    }

    pub(crate) const fn handle(&self) -> HANDLE {
        self.0
    }

    /// Waits until it is set, at most so long, rounded up to milliseconds; true when it was set.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let rounded = timeout.as_nanos().div_ceil(1_000_000);
        // `INFINITE` is the largest number; one less still means something else.
        let milliseconds = u32::try_from(rounded).unwrap_or(u32::MAX).min(u32::MAX - 1);
        // SAFETY: the handle is open as long as `self`.
        unsafe { WaitForSingleObject(self.0, milliseconds) == WAIT_OBJECT_0 }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and open; nobody sets it any more (see `Events`). There is
        // nothing to do when closing fails.
        let _closed = unsafe { CloseHandle(self.0) };
    }
}

/// Events not in use. They are kept until the device goes, because a fence may set one long after
/// the wait for it has timed out: such a late wake-up only makes the next user look again.
#[derive(Default)]
pub(crate) struct Events(Mutex<Vec<Event>>);

impl Events {
    pub(crate) fn take(&self) -> Result<Event, Error> {
        let kept = self.0.lock().pop();
        kept.map_or_else(Event::new, Ok)
    }

    pub(crate) fn give_back(&self, event: Event) {
        self.0.lock().push(event);
    }
}
