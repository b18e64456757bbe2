//! Notifications of the operating system about memory, and the replies.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tenure_core::device::TrimRequest;

/// The pending notifications.
#[derive(Default)]
pub(crate) struct Notices {
    budget_changed: AtomicBool,
    trim: Mutex<Option<TrimRequest>>,
    /// The reserved bytes of each memory heap.
    reserved: Mutex<Vec<u64>>,
}

impl Notices {
    pub(crate) fn note_budget(&self) {
        self.budget_changed.store(true, Ordering::Release);
    }

    /// Whether a budget has changed since the last call.
    pub(crate) fn take_budget(&self) -> bool {
        self.budget_changed.swap(false, Ordering::Acquire)
    }

    pub(crate) fn request(&self, trim: TrimRequest) {
        let asked = &mut *self.trim.lock();
        *asked = Some(asked.map_or(trim, |before| before.and(trim)));
    }

    pub(crate) fn take_trim(&self) -> Option<TrimRequest> {
        self.trim.lock().take()
    }

    pub(crate) fn reserve(&self, bytes: &[u64]) {
        *self.reserved.lock() = bytes.to_vec();
    }

    pub(crate) fn reserved(&self) -> Vec<u64> {
        self.reserved.lock().clone()
    }
}
