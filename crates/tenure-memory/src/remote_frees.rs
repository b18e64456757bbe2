//! Frees queued by other threads for the owner of a shard or a table.

use super::block::FreeToken;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Queue of frees from other threads, for the thread that owns a shard or a table.
///
/// A thread that frees a range of another thread's shard queues the free here: writing to the shard itself
/// would repeatedly take its cache lines away from the other thread. The registry queues removals of entries in
/// the same way.
#[derive(Debug)]
#[repr(align(128))]
pub struct RemoteFreeList<T = FreeToken> {
    /// Set and cleared under the lock.
    has_some: AtomicBool,
    queue: Mutex<Vec<T>>,
}

impl<T> Default for RemoteFreeList<T> {
    fn default() -> Self {
        Self { has_some: AtomicBool::new(false), queue: Mutex::new(Vec::new()) }
    }
}

impl<T> RemoteFreeList<T> {
    /// Whether anything is queued, without the lock.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Acquire)
    }

    /// Locks the list, to queue frees.
    #[inline]
    pub fn open(&self) -> OpenRemoteFrees<'_, T> {
        OpenRemoteFrees { has_some: &self.has_some, queue: self.queue.lock() }
    }

    /// Moves the queued frees, at most `most`, into `taken`.
    pub fn take(&self, most: usize, taken: &mut Vec<T>) {
        let mut queue = self.queue.lock();
        let left = queue.len().saturating_sub(most);
        taken.extend(queue.drain(left..));
        self.has_some.store(left > 0, Ordering::Release);
    }
}

/// A locked [`RemoteFreeList`].
pub struct OpenRemoteFrees<'a, T = FreeToken> {
    has_some: &'a AtomicBool,
    queue: MutexGuard<'a, Vec<T>>,
}

impl<T> OpenRemoteFrees<'_, T> {
    /// Queues a free.
    #[inline]
    pub fn post(&mut self, freed: T) {
        self.queue.push(freed);
        self.has_some.store(true, Ordering::Release);
    }

    /// The number of queued frees.
    pub fn queued(&self) -> usize {
        self.queue.len()
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
            let remote_frees = Arc::new(RemoteFreeList::<u32>::default());
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
