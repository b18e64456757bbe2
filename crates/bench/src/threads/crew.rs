//! Workers that begin together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// So many threads, which meet before and after each piece of work.
pub(super) struct Crew {
    barrier: Barrier,
    ready: AtomicUsize,
    start: Instant,
    /// Nanoseconds since `start`.
    first: AtomicU64,
    last: AtomicU64,
}

impl Crew {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            barrier: Barrier::new(workers),
            ready: AtomicUsize::new(0),
            start: Instant::now(),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }
    }

    /// Lets the first worker alone do something; the others wait for it.
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

    /// Lets the first `threads` workers do something at once; the others wait. The time from the first
    /// to begin to the last to end.
    pub(super) fn together(&self, worker: usize, threads: usize, work: impl FnOnce()) -> Duration {
        self.barrier.wait();
        if worker < threads {
            // Sleepers wake up one after the other: begin when the last one is awake.
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
