//! Giving ranges back with few locks, also from other threads.

use super::pool::{FreeToken, LockedShard, PoolId};
use super::pools::Pools;
use crate::device::Device;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Frees from other threads, queued for the thread that a shard or a table belongs to.
///
/// A thread that frees a range of another thread's shard queues the free here: writing into the shard itself
/// would take its cache lines away from the other thread, again and again. The registry queues removals of
/// records in the same way.
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

    /// Locks it, to queue frees.
    #[inline]
    pub(crate) fn open(&self) -> OpenRemoteFrees<'_, T> {
        OpenRemoteFrees { has_some: &self.has_some, queue: self.queue.lock() }
    }

    /// Moves as many as are queued, `most` at most, into `taken`.
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

    /// Frees that are queued.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

/// Ranges given back under one lock: enough that it costs little beside them, few enough that no other thread
/// waits long for it.
pub(crate) const RUN: usize = 64;

/// Gives ranges back, those that follow each other into the same shard under one lock.
///
/// It may hold the lock of a shard: nothing else may be asked of the pools until it is dropped.
pub(crate) struct Freeing<'a, D: Device> {
    pools: &'a Pools<D>,
    open: Option<Open<'a, D>>,
}

/// A shard that ranges are being given back to.
struct Open<'a, D: Device> {
    id: PoolId,
    way: Way<'a, D>,
}

enum Way<'a, D: Device> {
    /// Into the shard.
    Shard(LockedShard<'a, D>),
    /// Into its list of remote frees, because the shard is another thread's.
    Remote(OpenRemoteFrees<'a>),
}

impl<'a, D: Device> Freeing<'a, D> {
    pub(super) const fn new(pools: &'a Pools<D>) -> Self {
        Self { pools, open: None }
    }

    /// Gives ranges back, [`RUN`] at most.
    #[inline]
    pub(crate) fn free_run<'r>(&mut self, free_tokens: impl Iterator<Item = &'r FreeToken> + Clone) {
        // Other threads may have the lock in between.
        self.open = None;
        let Some(first) = free_tokens.clone().next() else { return };
        if let Some(open) = self.open(first.pool) {
            open.expect(free_tokens.clone());
        }
        free_tokens.for_each(|free_token| self.free(free_token));
    }

    /// Gives a range back.
    #[inline]
    pub(crate) fn free(&mut self, free_token: &FreeToken) {
        match &mut self.open {
            Some(open) if open.id == free_token.pool => open.free(free_token),
            _ => {
                if let Some(open) = self.open(free_token.pool) {
                    open.free(free_token);
                }
            }
        }
    }

    fn open(&mut self, id: PoolId) -> Option<&mut Open<'a, D>> {
        // One lock at a time.
        self.open = None;
        let found = self.pools.get_with_shards(id);
        debug_assert!(found.is_some(), "a range belongs to a pool that was made");
        let (shard, shards) = found?;
        let is_own = shards.is_of_thread(id.shard());
        let way =
            if is_own { Way::Shard(shard.lock_to_free()) } else { Way::Remote(shard.open_remote_frees()) };
        Some(self.open.insert(Open { id, way }))
    }
}

impl<D: Device> Open<'_, D> {
    /// Looks at what is about to be given back, where that has to wait for memory.
    #[inline]
    fn expect<'r>(&self, free_tokens: impl Iterator<Item = &'r FreeToken>) {
        if let Way::Shard(shard) = &self.way {
            shard.expect(free_tokens.filter(|free_token| free_token.pool == self.id));
        }
    }

    #[inline]
    fn free(&mut self, free_token: &FreeToken) {
        match &mut self.way {
            Way::Shard(shard) => shard.free(free_token),
            Way::Remote(list) => list.post(*free_token),
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::RemoteFreeList;

    /// Whatever the order in which two threads queue frees and the owner looks and takes: each free is taken
    /// once, and the owner never overlooks one.
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
