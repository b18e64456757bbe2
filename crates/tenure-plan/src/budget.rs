//! What may still be spent.

use std::time::Instant;

use crate::Options;

/// Placements and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    nodes: u64,
    spent: u64,
    deadline: Option<Instant>,
}

impl Budget {
    /// From now on.
    pub(crate) fn of(options: &Options) -> Self {
        // A time too far to be told is none.
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

    /// One of `shares` equal shares of what is left.
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
