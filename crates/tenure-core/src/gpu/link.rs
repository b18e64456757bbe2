//! How handles hold on to the manager.

use std::sync::{Arc, OnceLock, Weak};

use super::Shared;
use crate::device::Device;

/// Threads are told apart up to this number, modulo it.
const THREADS: usize = 16;

/// Links of each thread, which take turns: of the handles that it creates now, and of those that others may
/// be dropping at the same time, which hardly ever have the same turn if there are several.
const TURNS: usize = 16;

/// A thread's hold on the manager, shared by many of the handles that it creates.
///
/// Were all handles to share the manager itself, each creation and each drop would count at one place,
/// which all threads would then pass round. Alone on its cache lines for the same reason.
#[repr(align(128))]
pub(crate) struct Link<D: Device> {
    pub(crate) shared: Arc<Shared<D>>,
}

/// The links that the manager keeps, so that they outlive the handles and are made once.
pub(super) struct Links<D: Device> {
    _kept: Box<[Arc<Link<D>>]>,
}

impl<D: Device> Links<D> {
    pub(super) fn new(shared: &Arc<Shared<D>>) -> Self {
        let links: Box<[_]> =
            (0..THREADS * TURNS).map(|_| Arc::new(Link { shared: shared.clone() })).collect();
        shared.links.fill(&links);
        Self { _kept: links }
    }
}

/// Where handles find the links: those keep the manager, so it cannot keep them.
pub(crate) struct KnownLinks<D: Device>(OnceLock<Box<[Weak<Link<D>>]>>);

impl<D: Device> KnownLinks<D> {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn fill(&self, links: &[Arc<Link<D>>]) {
        // Once, by the manager that made them.
        let _was_empty = self.0.set(links.iter().map(Arc::downgrade).collect());
    }

    #[inline]
    fn of_thread(&self, turn: usize) -> Option<Arc<Link<D>>> {
        let thread = crate::thread_slot::current() % THREADS;
        self.0.get()?.get(thread * TURNS + turn % TURNS)?.upgrade()
    }
}

impl<D: Device> Shared<D> {
    /// A hold on the manager for a handle that the current thread creates; `turn` is its record's. Once the
    /// manager is gone there is one for each handle.
    #[inline]
    pub(crate) fn link(self: &Arc<Self>, turn: usize) -> Arc<Link<D>> {
        self.links.of_thread(turn).unwrap_or_else(|| Arc::new(Link { shared: self.clone() }))
    }
}
