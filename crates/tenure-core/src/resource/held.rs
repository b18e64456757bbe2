//! What every handle to a resource has in common: it gives its home back when it is dropped.

use std::sync::Arc;

use super::native::Native;
use crate::Name;
use crate::device::Device;
use crate::gpu::{Garbage, Shared};
use crate::memory::{Home, Place};
use crate::record::TraceId;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;

/// A home, and who must learn that it is free again.
pub(crate) struct Held<D: Device> {
    pub(crate) name: Name,
    /// `None` only inside `drop`.
    home: Option<Home<D>>,
    record: RecordKey,
    born: Stamp,
    trace: TraceId,
    /// Bytes asked for.
    size: u64,
    /// Declared last: the last handle to go takes the manager with it, which can unmake only what
    /// nobody holds any more.
    pub(crate) shared: Arc<Shared<D>>,
}

impl<D: Device> Held<D> {
    pub(crate) fn new(
        shared: &Arc<Shared<D>>,
        name: &Name,
        kind: ObjectKind,
        home: Home<D>,
        size: u64,
        trace: TraceId,
    ) -> Self {
        let record = shared.register(name, kind, size);
        let born = shared.clock.stamp();
        Self { shared: shared.clone(), name: name.clone(), home: Some(home), record, born, trace, size }
    }

    #[inline]
    const fn home(&self) -> &Home<D> {
        match &self.home {
            Some(home) => home,
            None => unreachable!(),
        }
    }

    #[inline]
    pub(crate) const fn native(&self) -> &Arc<Native<D>> {
        &self.home().native
    }

    #[inline]
    pub(crate) const fn place(&self) -> &Place<D> {
        &self.home().place
    }

    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }
}

impl<D: Device> Drop for Held<D> {
    fn drop(&mut self) {
        let Some(Home { native, place }) = self.home.take() else { return };
        let bytes = place.reserved();
        let garbage = match place {
            // The buffer belongs to its pool; only the range is given back.
            Place::Range(spot) => Garbage::Range(spot),
            place => Garbage::Home(Home { native, place }),
        };
        self.shared.registry.remove(self.record);
        self.shared.recorder.free(self.trace, self.size);
        self.shared.release(garbage, self.born, bytes);
    }
}
