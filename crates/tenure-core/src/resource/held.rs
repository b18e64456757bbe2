//! What every handle to a resource has in common: it gives its home back when it is dropped.

use std::sync::{Arc, OnceLock};

use super::keeper::{Estate, Keeper};
use super::native::Native;
use crate::Name;
use crate::device::Device;
use crate::gpu::{Garbage, Link, Shared};
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
    /// Once it has views.
    keeper: OnceLock<Arc<Keeper<D>>>,
    /// Declared last: the last handle to go takes the manager with it, which can unmake only what
    /// nobody holds any more.
    link: Arc<Link<D>>,
}

impl<D: Device> Held<D> {
    #[inline]
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
        let (name, link) = (name.clone(), shared.link(record.turn()));
        Self { name, home: Some(home), record, born, trace, size, keeper: OnceLock::new(), link }
    }

    #[inline]
    const fn home(&self) -> &Home<D> {
        match &self.home {
            Some(home) => home,
            None => unreachable!(),
        }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared<D>> {
        &self.link.shared
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

    /// A share by which a view keeps the home beyond the handle.
    pub(crate) fn keep(&self) -> Arc<Keeper<D>> {
        self.keeper.get_or_init(|| Arc::new(Keeper::new(self.shared()))).clone()
    }
}

impl<D: Device> Drop for Held<D> {
    #[inline]
    fn drop(&mut self) {
        // In place: most handles are ranges that nobody has a view of.
        if let (Some(Home { place: Place::Range(spot), .. }), None) = (&self.home, self.keeper.get()) {
            let shared = self.shared();
            shared.registry.remove(self.record);
            shared.recorder.free(self.trace, self.size);
            shared.release(Garbage::Range(spot.receipt()), self.born, spot.reserved);
            return;
        }
        self.drop_whole();
    }
}

impl<D: Device> Held<D> {
    fn drop_whole(&mut self) {
        let Some(home) = self.home.take() else { return };
        let estate =
            Estate { home, record: self.record, born: self.born, trace: self.trace, size: self.size };
        match self.keeper.take() {
            Some(keeper) => keeper.inherit(estate),
            None => estate.release(self.shared()),
        }
    }
}
