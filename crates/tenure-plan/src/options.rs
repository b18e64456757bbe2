//! How hard to try, and for what.

use std::time::Duration;

/// The most threads that a plan uses, whatever is asked for.
pub(crate) const MAX_THREADS: usize = 64;

/// How hard to try, and for what. Everything not set is as in [`Options::default`].
///
/// Without a time budget the plan depends on the items and the options alone, on every machine.
///
/// ```
/// use tenure_plan::Options;
///
/// let quick = Options::new().nodes(0);
/// let patient = Options::new().capacity(64 << 20).nodes(10_000_000).threads(4);
/// assert_eq!(quick.threads, patient.threads - 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Bytes that the plan should not pass, of all classes together. The first plan that fits is
    /// returned, the best one found if none does. Without it the peak is made as small as can be.
    pub capacity: Option<u64>,
    /// How many placements to try at most; the first pass, which makes a valid plan, is free. (Where
    /// items should [stay where they were](Self::stability), so is one more, and all passes of up to
    /// 1,024 items.)
    pub nodes: u64,
    /// How long the whole call should take at most. The first pass is made however long it takes; with
    /// `n` items that is O(n log n), and all that a call takes under a limit of 0.
    pub time: Option<Duration>,
    /// How many threads to use: 64 at most, and under a limit of time no more than there are
    /// processors. Which plan is found depends on it.
    pub threads: usize,
    /// Whether items rather stay where they were.
    pub stability: Stability,
    /// Where all chance comes from: another seed searches elsewhere.
    pub seed: u64,
}

/// Whether items rather stay at their [`previous`](crate::Item::previous) offsets, so that what was
/// made there need not be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stability {
    /// Previous offsets count for nothing.
    #[default]
    Ignored,
    /// As many items stay as can be while the peak is at most this many thousandths above the best
    /// peak found (or within the capacity, where there is one). This takes up to 12 passes, as many
    /// as the budget allows; a plan is as if previous offsets counted for nothing where none succeeds
    /// in time.
    Within(u32),
}

impl Options {
    /// The defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            capacity: None,
            nodes: 500_000,
            time: None,
            threads: 1,
            stability: Stability::Ignored,
            seed: 0,
        }
    }

    /// These options with a [`capacity`](Self::capacity).
    #[must_use]
    pub const fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = Some(bytes);
        self
    }

    /// These options with another number of [`nodes`](Self::nodes).
    #[must_use]
    pub const fn nodes(mut self, nodes: u64) -> Self {
        self.nodes = nodes;
        self
    }

    /// These options with a limit of [`time`](Self::time), and none of nodes.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self.nodes = u64::MAX;
        self
    }

    /// These options with another number of [`threads`](Self::threads); 0 counts as 1.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// These options with [`stability`](Self::stability).
    #[must_use]
    pub const fn stability(mut self, stability: Stability) -> Self {
        self.stability = stability;
        self
    }

    /// These options with another [`seed`](Self::seed).
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
