//! A thread that ends the process when a program hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Ends the process with the seed when a program takes too long.
#[derive(Debug)]
pub struct Watchdog {
    /// The seed at hand, and how many programs have begun.
    seed: Arc<AtomicU64>,
    begun: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

/// The exit status of a process whose program hangs.
const HANGS: i32 = 3;

impl Watchdog {
    /// Begins to watch: no program may take longer than `limit`.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let watchdog = Self { seed: Arc::default(), begun: Arc::default(), is_over: Arc::default() };
        let (seed, begun, is_over) =
            (watchdog.seed.clone(), watchdog.begun.clone(), watchdog.is_over.clone());
        std::thread::spawn(move || {
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(limit);
                let now = begun.load(Ordering::Relaxed);
                if now != 0 && now == last && !is_over.load(Ordering::Relaxed) {
                    let seed = seed.load(Ordering::Relaxed);
                    eprintln!("seed {seed} hangs: no end within {} s", limit.as_secs());
                    std::process::exit(HANGS);
                }
                last = now;
            }
        });
        watchdog
    }

    /// Notes the beginning of a program.
    pub fn note(&self, seed: u64) {
        self.seed.store(seed, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
