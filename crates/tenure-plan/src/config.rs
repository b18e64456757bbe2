//! The configuration of a plan, and the budget of its steps.

use std::time::{Duration, Instant};

/// The maximum number of threads of a plan.
pub(crate) const MAX_THREADS: usize = 64;

/// The goal and the budget of a plan.
///
/// Without a time limit the plan depends only on the items and this configuration, on every machine.
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
    /// The sufficient peak, in bytes over all classes. The first plan within it is returned, or the best one found.
    /// Without a capacity the peak is minimised.
    pub capacity: Option<u64>,
    /// The maximum number of placements to try. The first pass, which makes a valid plan, does not count. Neither
    /// does one more pass if items should [keep their offsets](Self::stability), nor any pass over up to 1,024 items.
    pub nodes: u64,
    /// The time limit of the whole call. The first pass is always made; it takes O(n log n) for `n` items, and is the
    /// only step with a limit of 0.
    pub time: Option<Duration>,
    /// The number of threads: at most 64, and with a time limit at most the number of processors. Another number may
    /// give another plan.
    pub threads: usize,
    /// Whether items should keep their previous offsets.
    pub stability: Stability,
    /// The seed of all random choices. Another seed may give another plan.
    pub seed: u64,
}

/// Whether items should keep their [`previous`](crate::Item::previous) offsets, so that resources created there can
/// be reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stability {
    /// Previous offsets are ignored.
    #[default]
    Ignored,
    /// As many items as possible keep their offset while the peak is at most this many thousandths above the best
    /// peak found (or within the capacity, if there is one). Takes up to 12 passes, within the budget; if none
    /// succeeds, previous offsets are ignored.
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

    /// This configuration with a [`capacity`](Self::capacity).
    #[must_use]
    pub const fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = Some(bytes);
        self
    }

    /// This configuration with another number of [`nodes`](Self::nodes).
    #[must_use]
    pub const fn nodes(mut self, nodes: u64) -> Self {
        self.nodes = nodes;
        self
    }

    /// This configuration with a [`time`](Self::time) limit, and no limit of nodes.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self.nodes = u64::MAX;
        self
    }

    /// This configuration with another number of [`threads`](Self::threads); 0 counts as 1.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// This configuration with [`stability`](Self::stability).
    #[must_use]
    pub const fn stability(mut self, stability: Stability) -> Self {
        self.stability = stability;
        self
    }

    /// This configuration with another [`seed`](Self::seed).
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

/// The remaining placements and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    nodes: u64,
    spent: u64,
    deadline: Option<Instant>,
}

impl Budget {
    /// The budget of a configuration, from now on.
    pub(crate) fn of(options: &PlanConfig) -> Self {
        // Without limit if the deadline cannot be represented.
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
