//! The reference count of the context, divided among threads.

use std::sync::{Arc, OnceLock, Weak};

use super::Context;
use crate::device::Device;

/// Threads are distinguished by their number modulo this.
const THREADS: usize = 16;

/// Shards of each thread. Each generation of entries (see [`RegistryKey::generation`](crate::registry::RegistryKey))
/// uses the next one, so that handles which the thread creates now hardly ever have the same shard as older
/// handles, which other threads may be dropping at the same time.
const SHARDS_PER_THREAD: usize = 16;

/// A reference to the context that many handles of one thread share.
///
/// If all handles counted references of the context itself, each creation and each drop would write the same
/// cache line, which would move between the caches of all threads. The shard has cache lines of its own for the
/// same reason.
#[repr(align(128))]
pub(crate) struct RefShard<D: Device> {
    pub(crate) context: Arc<Context<D>>,
}

/// The shards, kept by the manager, so that each is made once.
pub(crate) struct RefShards<D: Device> {
    _kept: Box<[Arc<RefShard<D>>]>,
}

impl<D: Device> RefShards<D> {
    pub(crate) fn new(context: &Arc<Context<D>>) -> Self {
        let ref_shards: Box<[_]> = (0..THREADS * SHARDS_PER_THREAD)
            .map(|_| Arc::new(RefShard { context: context.clone() }))
            .collect();
        context.ref_shards.fill(&ref_shards);
        Self { _kept: ref_shards }
    }
}

/// The shards, by index, for handles. Weak, because the shards hold the context.
pub(super) struct RefShardTable<D: Device>(OnceLock<Box<[Weak<RefShard<D>>]>>);

impl<D: Device> RefShardTable<D> {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn fill(&self, ref_shards: &[Arc<RefShard<D>>]) {
        // Set once, by the manager that made the shards.
        let _was_empty = self.0.set(ref_shards.iter().map(Arc::downgrade).collect());
    }

    #[inline]
    fn of_thread(&self, generation: usize) -> Option<Arc<RefShard<D>>> {
        let thread = crate::thread_slot::current() % THREADS;
        self.0.get()?.get(thread * SHARDS_PER_THREAD + generation % SHARDS_PER_THREAD)?.upgrade()
    }
}

impl<D: Device> Context<D> {
    /// The shard of the context's reference count for a handle that the current thread creates; `generation` is
    /// that of its entry. Once the manager is dropped, each handle gets its own shard.
    #[inline]
    pub(crate) fn ref_shard(self: &Arc<Self>, generation: usize) -> Arc<RefShard<D>> {
        self.ref_shards.of_thread(generation).unwrap_or_else(|| Arc::new(RefShard { context: self.clone() }))
    }
}
