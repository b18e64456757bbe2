//! Transient resources in numbers.

use super::graph::Origin;

/// Transient resources in numbers: what is there now, and what happened since the start. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct TransientStats {
    /// Heaps that resources may be placed in.
    pub heaps: u64,
    /// Bytes of heaps, and of resources with memory of their own, each until it is given back to the driver.
    pub reserved: u64,
    /// The most bytes ever reserved at once.
    pub peak_reserved: u64,
    /// In the last frame, the ends of the highest ranges used, of all heaps together: what heaps of
    /// exactly the right sizes would take.
    pub footprint: u64,
    /// Bytes of all that was acquired in the last frame: what it would take if nothing shared memory.
    pub requested: u64,
    /// API resources kept for the next frames.
    pub cached: u64,
    /// Resources ever acquired.
    pub acquired: u64,
    /// API resources ever created for that.
    pub created: u64,
    /// Those among them of which an earlier frame left an equal one at another offset: what moving costs.
    pub remade: u64,
    /// API resources ever let go because nobody wanted them any more.
    pub evicted: u64,
    /// Heaps ever created.
    pub heaps_created: u64,
    /// Graphs ever executed.
    pub executions: u64,
    /// Times that the plan of a graph was at hand.
    pub plan_hits: u64,
    /// Plans ever made.
    pub plans: u64,
    /// Plans that a better one took the place of.
    pub improved: u64,
}

impl TransientStats {
    pub(super) const fn note_plan(&mut self, origin: Origin) {
        match origin {
            Origin::Cached => self.plan_hits += 1,
            Origin::Improved { .. } => {
                self.plan_hits += 1;
                self.improved += 1;
            }
            Origin::Planned { .. } => self.plans += 1,
        }
    }
}
