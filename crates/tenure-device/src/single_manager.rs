//! The slot of a device for its manager.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The slot of a device for its single manager. All clones of a device share it.
///
/// A manager counts the submissions of each queue, and the queue's fence counts with it. Two managers of one
/// device would give the same numbers to different submissions.
///
/// ```
/// use tenure::device::SingleManager;
///
/// let slot = SingleManager::default();
/// let first = slot.take().expect("it is free");
/// assert!(slot.take().is_none());
/// drop(first);
/// assert!(slot.take().is_some());
/// ```
#[derive(Debug, Default)]
pub struct SingleManager(Arc<AtomicBool>);

impl SingleManager {
    /// Claims the slot, until the claim is dropped; `None` while another manager has it.
    #[must_use]
    pub fn take(&self) -> Option<ManagerClaim> {
        let was_taken = self.0.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| ManagerClaim(self.0.clone()))
    }
}

/// A manager's claim to the [`SingleManager`] of its device. Dropping it frees the slot.
#[derive(Debug)]
#[must_use = "the slot is free again when the claim is dropped"]
pub struct ManagerClaim(Arc<AtomicBool>);

impl Drop for ManagerClaim {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
