//! What every handle to a resource has in common: it gives its home back when it is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Its API object, or its place in one, was handed out: commands may name it from then on. Whoever
    /// asked for either had borrowed the handle, so that whoever drops it knows.
    is_named: AtomicBool,
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
        let (is_named, keeper) = (AtomicBool::new(false), OnceLock::new());
        Self { name, home: Some(home), record, born, trace, size, is_named, keeper, link }
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

    /// The API object, for whoever may have commands use it.
    #[inline]
    pub(crate) fn native(&self) -> &Arc<Native<D>> {
        self.note_named();
        &self.home().native
    }

    /// The CPU's window into the API object, by which no command uses it.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&D::Mapping> {
        self.home().native.mapping.as_ref()
    }

    /// From now on commands may use it.
    #[inline]
    pub(crate) fn note_named(&self) {
        self.is_named.store(true, Ordering::Relaxed);
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
            let (garbage, bytes) = (Garbage::Range(spot.receipt()), spot.reserved);
            if self.is_named.load(Ordering::Relaxed) {
                shared.release(garbage, self.born, bytes);
            } else {
                shared.release_unused(garbage, bytes);
            }
            return;
        }
        self.drop_whole();
    }
}

impl<D: Device> Held<D> {
    fn drop_whole(&mut self) {
        let Some(home) = self.home.take() else { return };
        let (record, born, trace, size) = (self.record, self.born, self.trace, self.size);
        let is_named = *self.is_named.get_mut();
        let estate = Estate { home, record, born, trace, size, is_named };
        match self.keeper.take() {
            Some(keeper) => keeper.inherit(estate),
            None => estate.release(self.shared()),
        }
    }
}
