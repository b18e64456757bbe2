//! What keeps a resource for its views.

use std::sync::{Arc, OnceLock};

use crate::device::Device;
use crate::gpu::{Garbage, Shared};
use crate::memory::Home;
use crate::record::TraceId;
use crate::registry::RecordKey;
use crate::time::Stamp;

/// What a handle leaves behind.
pub(super) struct Estate<D: Device> {
    pub(super) home: Home<D>,
    pub(super) record: RecordKey,
    pub(super) born: Stamp,
    pub(super) trace: TraceId,
    /// Bytes asked for.
    pub(super) size: u64,
    /// Commands may use it.
    pub(super) is_named: bool,
}

impl<D: Device> Estate<D> {
    /// Gives the home back once no recording and no GPU work can use it any more.
    pub(super) fn release(self, shared: &Shared<D>) {
        let bytes = self.home.place.reserved();
        shared.registry.remove(self.record);
        shared.recorder.free(self.trace, self.size);
        let garbage = Garbage::from(self.home);
        if self.is_named {
            shared.release(garbage, self.born, bytes);
        } else {
            shared.release_unused(garbage, bytes);
        }
    }
}

/// Shared by a resource's handle and its views: what the handle leaves behind stays until the last
/// view is gone, so that no view ever shows what is not there.
pub(crate) struct Keeper<D: Device> {
    estate: OnceLock<Estate<D>>,
    /// Declared last, as in every handle.
    shared: Arc<Shared<D>>,
}

impl<D: Device> Keeper<D> {
    pub(super) fn new(shared: &Arc<Shared<D>>) -> Self {
        Self { estate: OnceLock::new(), shared: shared.clone() }
    }

    /// The handle is gone.
    pub(super) fn inherit(&self, estate: Estate<D>) {
        // There is one handle, and it is dropped once.
        let _was_empty = self.estate.set(estate);
    }
}

impl<D: Device> Drop for Keeper<D> {
    fn drop(&mut self) {
        if let Some(estate) = self.estate.take() {
            estate.release(&self.shared);
        }
    }
}
