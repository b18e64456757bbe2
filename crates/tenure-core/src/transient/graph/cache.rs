//! Plans of the graphs that were seen last.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::improve::{Better, Efforts};
use super::pack::Spot;
use super::{Compiled, Graph, GraphError, Memory, similar};
use crate::device::Properties;

/// How many plans to keep, and how hard to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// How many plans are kept; 0 counts as 1. Default 16.
    pub plans: usize,
    /// How many placements to try for each way to plan a new graph, beyond a first plan. Default
    /// 20,000; most frames need some hundreds at most.
    pub nodes: u64,
    /// How many placements to try at most each time a plan is asked for again that may not be the best.
    /// 0: none. Default 2,000.
    pub improve_nodes: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { plans: 16, nodes: 20_000, improve_nodes: 2_000 }
    }
}

/// Plans of the graphs that were seen last.
///
/// Equal graphs are planned once. A graph that has changed is planned with its resources where they were
/// in the most similar plan, as far as that costs no more than one percent of the peak. Each time a plan
/// is asked for that may not be the best, some search goes into a better one; it is adopted if the peak
/// falls by a 64th and 64 KiB at least, because what moves must be made again.
///
/// What is found depends on the graphs asked for, and their order, alone.
#[derive(Debug)]
pub struct PlanCache {
    options: PlanOptions,
    /// The last used first.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    compiled: Arc<Compiled>,
    efforts: Efforts,
}

/// A plan, and where it came from.
#[derive(Clone, Debug)]
pub struct Found {
    /// The plan.
    pub compiled: Arc<Compiled>,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a plan came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there: the same as the last time.
    Cached,
    /// It was there, and a better one has taken its place.
    Improved {
        /// How many resources are not where they were.
        moved: usize,
    },
    /// It was made.
    Planned {
        /// How many resources were in the most similar plan.
        known: usize,
        /// How many of them are not where they were.
        moved: usize,
    },
}

impl PlanCache {
    /// A cache without plans.
    #[must_use]
    pub const fn new(options: PlanOptions) -> Self {
        Self { options, entries: Vec::new() }
    }

    /// How many plans there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no plans.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets the plans for which `keep` is false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Compiled) -> bool) {
        self.entries.retain(|entry| keep(&entry.compiled));
    }

    /// Forgets all plans.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The plan of a graph. One of an equal graph is found without asking `memory` and, unless it is
    /// improved, without allocating, in time linear in the declaration.
    ///
    /// All calls must mean the same device.
    ///
    /// # Errors
    /// What is wrong with the graph, or what `memory` says.
    pub fn get_or_plan<M: Memory>(
        &mut self,
        graph: &Graph,
        properties: &Properties,
        memory: &mut M,
    ) -> Result<Found, M::Error> {
        let hash = hash_of(graph);
        let is_it = |entry: &Entry| entry.hash == hash && entry.compiled.graph() == graph;
        match self.entries.iter().position(is_it) {
            Some(at) => {
                self.entries[..=at].rotate_right(1);
                Ok(self.entries[0].found(self.options.improve_nodes)?)
            }
            None => self.plan(graph, hash, properties, memory),
        }
    }

    fn plan<M: Memory>(
        &mut self,
        graph: &Graph,
        hash: u64,
        properties: &Properties,
        memory: &mut M,
    ) -> Result<Found, M::Error> {
        let mut previous = Vec::new();
        let similar = |needs: &[_]| {
            let places =
                self.entries.iter().map(|entry| similar::places(&graph.resources, needs, &entry.compiled));
            // Of equally similar ones, the one used last.
            previous = places.rev().max_by_key(|places| known(places)).unwrap_or_default();
            previous.clone()
        };
        let compiled = Compiled::new(graph, properties, memory, similar, self.options.nodes)?;
        let moved = similar::moved(&previous, &compiled.plan.layout);
        let compiled = Arc::new(compiled);
        self.entries.truncate(self.options.plans.max(1) - 1);
        let entry = Entry { hash, compiled: Arc::clone(&compiled), efforts: Efforts::default() };
        self.entries.insert(0, entry);
        Ok(Found { compiled, origin: Origin::Planned { known: known(&previous), moved } })
    }
}

impl Entry {
    /// The plan, or a better one that takes its place.
    fn found(&mut self, nodes: u64) -> Result<Found, GraphError> {
        let Compiled { analysis, plan } = &*self.compiled;
        let origin = match self.efforts.search(&analysis.problem, plan, nodes).map_err(GraphError::Plan)? {
            None => Origin::Cached,
            Some(Better { plan, moved }) => {
                self.compiled = Arc::new(Compiled { analysis: Arc::clone(analysis), plan });
                Origin::Improved { moved }
            }
        };
        Ok(Found { compiled: Arc::clone(&self.compiled), origin })
    }
}

fn known(places: &[Option<Spot>]) -> usize {
    places.iter().flatten().count()
}

fn hash_of(graph: &Graph) -> u64 {
    let mut hasher = FxHasher::default();
    graph.hash(&mut hasher);
    hasher.finish()
}
