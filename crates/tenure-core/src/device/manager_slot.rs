//! One manager at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A device's one place for a manager: all clones of a device share it.
///
/// A manager counts the submissions of each queue, and the queue's fence counts with it. Two that did
/// so on one device would take the same numbers for different submissions.
///
/// ```
/// use tenure::device::ManagerSlot;
///
/// let slot = ManagerSlot::default();
/// let first = slot.take().expect("nobody has it");
/// assert!(slot.take().is_none());
/// drop(first);
/// assert!(slot.take().is_some());
/// ```
#[derive(Debug, Default)]
pub struct ManagerSlot(Arc<AtomicBool>);

impl ManagerSlot {
    /// Takes the place, until what is returned is dropped; `None` when somebody has it.
    #[must_use]
    pub fn take(&self) -> Option<ManagerSeat> {
        let was_taken = self.0.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| ManagerSeat(self.0.clone()))
    }
}

/// The place of a manager at its device, from [`ManagerSlot::take`]. Dropping it makes room for another.
#[derive(Debug)]
#[must_use = "the place is free again when it is dropped"]
pub struct ManagerSeat(Arc<AtomicBool>);

impl Drop for ManagerSeat {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
