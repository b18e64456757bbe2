//! PlanConfig of a plan, and the budget that they give to its steps.

use std::time::{Duration, Instant};

/// The maximum number of threads of a plan, for any options.
pub(crate) const MAX_THREADS: usize = 64;

/// The goal and the budget of a plan. PlanConfig that are not set are as in [`PlanConfig::default`].
///
/// Without a time limit the plan depends only on the items and the options, on every machine.
///
/// ```
/// use tenure_plan::PlanConfig;
///
/// let quick = PlanConfig::new().nodes(0);
/// let patient = PlanConfig::new().capacity(64 << 20).nodes(10_000_000).threads(4);
/// assert_eq!(quick.threads, patient.threads - 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanConfig {
    /// The sufficient peak, in bytes over all classes. The first plan within it is returned, or the best one
    /// found if there is none. Without a capacity the peak is minimised.
    pub capacity: Option<u64>,
    /// The maximum number of placements to try. The first pass, which makes a valid plan, does not count; if
    /// items should [keep their offsets](Self::stability), neither does one more pass, nor do any of the passes
    /// over up to 1,024 items.
    pub nodes: u64,
    /// How long the whole call should take at most. The first pass is always made; with `n` items it takes
    /// O(n log n), and is all that a call takes with a limit of 0.
    pub time: Option<Duration>,
    /// The number of threads: 64 at most, and with a time limit at most the number of processors. The plan
    /// depends on it.
    pub threads: usize,
    /// Whether items should keep their previous offsets.
    pub stability: Stability,
    /// The seed of all random choices: another seed may find another plan.
    pub seed: u64,
}

/// Whether items should keep their [`previous`](crate::Item::previous) offsets, so that resources created there
/// can be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stability {
    /// Previous offsets are ignored.
    #[default]
    Ignored,
    /// As many items as possible keep their offset while the peak is at most this many thousandths above the best
    /// peak found (or within the capacity, if there is one). This takes up to 12 passes, as far as the budget
    /// allows; if none succeeds in time, previous offsets are ignored.
    Within(u32),
}

impl PlanConfig {
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

    /// These options with a [`time`](Self::time) limit, and no limit of nodes.
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

impl Default for PlanConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// The placements and the time that are left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    nodes: u64,
    spent: u64,
    deadline: Option<Instant>,
}

impl Budget {
    /// The budget of these options, from now on.
    pub(crate) fn of(options: &PlanConfig) -> Self {
        // A deadline that cannot be represented counts as none.
        let deadline = options.time.and_then(|time| Instant::now().checked_add(time));
        Self { nodes: options.nodes, spent: 0, deadline }
    }

    pub(crate) const fn spent(&self) -> u64 {
        self.spent
    }

    pub(crate) const fn left(&self) -> u64 {
        self.nodes
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) const fn spend(&mut self, nodes: u64) {
        self.nodes = self.nodes.saturating_sub(nodes);
        self.spent = self.spent.saturating_add(nodes);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.nodes == 0 || is_past(self.deadline)
    }

    /// One of `shares` equal shares of the rest.
    pub(crate) fn share(&self, shares: u32) -> Self {
        let deadline = self.deadline.map(|deadline| {
            let now = Instant::now();
            now + deadline.saturating_duration_since(now) / shares.max(1)
        });
        Self { nodes: self.nodes.div_ceil(u64::from(shares.max(1))), spent: 0, deadline }
    }
}

pub(crate) fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}
