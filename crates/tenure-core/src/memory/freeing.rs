//! Giving ranges back with few locks, also from other threads.

use super::block::{FreeToken, PoolId};
use super::pools::Pools;
use super::shard::ShardBlocks;
use crate::device::Device;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Queue of frees from other threads, for the thread that owns a shard or a table.
///
/// A thread that frees a range of another thread's shard queues the free here: writing to the shard itself
/// would repeatedly take its cache lines away from the other thread. The registry queues removals of records in
/// the same way.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct RemoteFreeList<T = FreeToken> {
    /// Set and cleared under the lock.
    has_some: AtomicBool,
    queue: Mutex<Vec<T>>,
}

impl<T> RemoteFreeList<T> {
    pub(crate) fn new() -> Self {
        Self { has_some: AtomicBool::new(false), queue: Mutex::new(Vec::new()) }
    }

    /// Whether anything is queued, without the lock.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Acquire)
    }

    /// Locks the list, to queue frees.
    #[inline]
    pub(crate) fn open(&self) -> OpenRemoteFrees<'_, T> {
        OpenRemoteFrees { has_some: &self.has_some, queue: self.queue.lock() }
    }

    /// Moves the queued frees, at most `most`, into `taken`.
    pub(crate) fn take(&self, most: usize, taken: &mut Vec<T>) {
        let mut queue = self.queue.lock();
        let left = queue.len().saturating_sub(most);
        taken.extend(queue.drain(left..));
        self.has_some.store(left > 0, Ordering::Release);
    }
}

/// A locked [`RemoteFreeList`].
pub(crate) struct OpenRemoteFrees<'a, T = FreeToken> {
    has_some: &'a AtomicBool,
    queue: MutexGuard<'a, Vec<T>>,
}

impl<T> OpenRemoteFrees<'_, T> {
    /// Queues a free.
    #[inline]
    pub(crate) fn post(&mut self, freed: T) {
        self.queue.push(freed);
        self.has_some.store(true, Ordering::Release);
    }

    /// The number of queued frees.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Ranges freed under one lock: enough that the cost of the lock is small, few enough that no other thread
/// waits long.
pub(crate) const RUN: usize = 64;

/// Frees ranges; consecutive ranges of one shard are freed under one lock.
///
/// It may hold the lock of a shard: the caller must not use the pools otherwise until it is dropped.
pub(crate) struct Freeing<'a, D: Device> {
    pools: &'a Pools<D>,
    open: Option<(PoolId, Way<'a, D>)>,
}

/// A way into a shard whose ranges are being freed.
enum Way<'a, D: Device> {
    /// Frees into the shard.
    Shard(parking_lot::MutexGuard<'a, ShardBlocks<D>>),
    /// Queues into the list of remote frees, because the shard belongs to another thread.
    Remote(OpenRemoteFrees<'a>),
}

impl<'a, D: Device> Freeing<'a, D> {
    pub(super) const fn new(pools: &'a Pools<D>) -> Self {
        Self { pools, open: None }
    }

    /// Frees at most [`RUN`] ranges.
    #[inline]
    pub(crate) fn free_run<'r>(&mut self, free_tokens: impl Iterator<Item = &'r FreeToken> + Clone) {
        // Unlocks, so that other threads can take the lock in between.
        self.open = None;
        let Some(first) = free_tokens.clone().next() else { return };
        if let Some(Way::Shard(blocks)) = self.open(first.pool) {
            // Touches the ranges to be freed, so that their cache misses overlap.
            blocks.expect_frees(free_tokens.clone().filter(|free_token| free_token.pool == first.pool));
        }
        free_tokens.for_each(|free_token| self.free(free_token));
    }

    /// Frees a range.
    #[inline]
    pub(crate) fn free(&mut self, free_token: &FreeToken) {
        match &mut self.open {
            Some((id, way)) if *id == free_token.pool => way.free(free_token),
            _ => {
                if let Some(way) = self.open(free_token.pool) {
                    way.free(free_token);
                }
            }
        }
    }

    fn open(&mut self, id: PoolId) -> Option<&mut Way<'a, D>> {
        // One lock at a time.
        self.open = None;
        let found = self.pools.get_with_shards(id);
        debug_assert!(found.is_some(), "a range belongs to a pool that was made");
        let (shard, shards) = found?;
        let is_own = shards.is_of_thread(id.shard());
        let way =
            if is_own { Way::Shard(shard.lock_as_it_is()) } else { Way::Remote(shard.open_remote_frees()) };
        Some(&mut self.open.insert((id, way)).1)
    }
}

impl<D: Device> Way<'_, D> {
    #[inline]
    fn free(&mut self, free_token: &FreeToken) {
        match self {
            Self::Shard(blocks) => blocks.free(free_token),
            Self::Remote(list) => list.post(*free_token),
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::RemoteFreeList;

    /// In every interleaving of two threads that queue frees and an owner that looks and takes, each free is
    /// taken once, and the owner never overlooks one.
    #[test]
    fn each_free_is_taken_once() {
        loom::model(|| {
            let remote_frees = Arc::new(RemoteFreeList::<u32>::new());
            let poster = |freed| {
                let remote_frees = remote_frees.clone();
                thread::spawn(move || remote_frees.open().post(freed))
            };
            let (first, second) = (poster(1), poster(2));
            let mut taken = Vec::new();
            for _ in 0..2 {
                if remote_frees.has_some() {
                    remote_frees.take(1, &mut taken);
                }
            }
            first.join().unwrap();
            second.join().unwrap();
            while remote_frees.has_some() {
                remote_frees.take(1, &mut taken);
            }
            taken.sort_unstable();
            assert_eq!(taken, [1, 2]);
        });
    }
}
