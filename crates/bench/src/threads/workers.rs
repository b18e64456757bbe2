//! Worker threads that start a piece of work at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A fixed number of threads that wait for each other before and after each piece of work.
pub(super) struct Workers {
    barrier: Barrier,
    ready: AtomicUsize,
    start: Instant,
    /// Nanoseconds since `start`.
    first: AtomicU64,
    last: AtomicU64,
}

impl Workers {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            barrier: Barrier::new(workers),
            ready: AtomicUsize::new(0),
            start: Instant::now(),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }
    }

    /// Runs `work` on the first worker only, while the others wait.
    pub(super) fn alone(&self, worker: usize, work: impl FnOnce()) {
        self.barrier.wait();
        if worker == 0 {
            work();
            self.ready.store(0, Ordering::SeqCst);
            self.first.store(u64::MAX, Ordering::SeqCst);
            self.last.store(0, Ordering::SeqCst);
        }
        self.barrier.wait();
    }

    /// Runs `work` on the first `threads` workers at the same time, while the others wait. Returns the
    /// time from the first begin to the last end.
    pub(super) fn together(&self, worker: usize, threads: usize, work: impl FnOnce()) -> Duration {
        self.barrier.wait();
        if worker < threads {
            // Threads leave the barrier one after the other: begin when all of them have left it.
            self.ready.fetch_add(1, Ordering::SeqCst);
            while self.ready.load(Ordering::SeqCst) < threads {
                std::hint::spin_loop();
            }
            let begun = self.now();
            work();
            let ended = self.now();
            self.first.fetch_min(begun, Ordering::SeqCst);
            self.last.fetch_max(ended, Ordering::SeqCst);
        }
        self.barrier.wait();
        let (first, last) = (self.first.load(Ordering::SeqCst), self.last.load(Ordering::SeqCst));
        Duration::from_nanos(last.saturating_sub(first))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
