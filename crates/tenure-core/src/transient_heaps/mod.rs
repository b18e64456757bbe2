//! Heaps whose resources share memory over time: acquisition of their resources by graphs and recordings, their caches, and
//! the plans of graphs.

mod claim;
mod dedicated;
mod desc_table;
pub mod graph;
mod heap;
mod hints;
mod new_heap;
mod object;
mod owners;
mod pass_by_pass;
mod request;
mod shortage;
mod transients;
mod used_ranges;

pub(crate) use claim::Prepared;
pub use object::TransientResource;
pub(crate) use object::{Cached, Object};
pub(crate) use request::{Attempt, Request, Requester, ResourceRequest, wrong_type};
pub(crate) use transients::{CachedEntry, EntryRef, IdleHeaps, Transients};

use graph::Origin;

/// Statistics of transient resources: the current state, and totals since the start. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TransientStats {
    /// Heaps that resources may be placed in.
    pub heaps: u64,
    /// Bytes of heaps, and of resources with dedicated memory, until they are destroyed.
    pub reserved: u64,
    /// The most bytes ever reserved at once.
    pub peak_reserved: u64,
    /// In the last frame, the end of the highest range used in each heap, added over all heaps: the bytes that
    /// heaps of exactly the right sizes would take.
    pub footprint: u64,
    /// Bytes of all resources acquired in the last frame: their memory without sharing.
    pub requested: u64,
    /// API resources kept in caches for the next frames.
    pub cached: u64,
    /// Resources ever acquired.
    pub acquired: u64,
    /// API resources ever created for acquired resources.
    pub created: u64,
    /// The part of [`created`](Self::created) with an equal resource at another offset in the cache: the cost of moving.
    pub remade: u64,
    /// API resources ever evicted from caches because they were no longer acquired.
    pub evicted: u64,
    /// Heaps ever created.
    pub heaps_created: u64,
    /// Graphs ever executed.
    pub executions: u64,
    /// Executions and queries whose plan was found in the cache.
    pub plan_hits: u64,
    /// Plans ever made.
    pub plans: u64,
    /// Plans replaced by a better one.
    pub improved: u64,
}

impl TransientStats {
    pub(crate) const fn note_plan(&mut self, origin: Origin) {
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
