//! Worker threads that start a piece of work at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A fixed number of threads that wait for each other before and after each piece of work.
pub(super) struct Workers {
    barrier: Barrier,
    ready: AtomicUsize,
    /// The begin and the end of each worker's present work.
    times: Mutex<Vec<(Instant, Instant)>>,
}

impl Workers {
    pub(super) fn new(workers: usize) -> Self {
        let times = Mutex::new(Vec::with_capacity(workers));
        Self { barrier: Barrier::new(workers), ready: AtomicUsize::new(0), times }
    }

    /// Runs `work` on the first worker only, while the others wait.
    pub(super) fn alone(&self, worker: usize, work: impl FnOnce()) {
        self.barrier.wait();
        if worker == 0 {
            work();
            self.ready.store(0, Ordering::SeqCst);
            self.times.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
            let begun = Instant::now();
            work();
            let taken = (begun, Instant::now());
            self.times.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
        }
        self.barrier.wait();
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) =
            (times.iter().map(|taken| taken.0).min(), times.iter().map(|taken| taken.1).max());
        first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first)
    }
}
