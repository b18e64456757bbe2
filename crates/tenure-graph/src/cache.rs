//! A cache of plans: kept for equal graphs, reused for similar ones, and improved over time.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use tenure_plan::PlanError;

use super::compiled::options;
use super::layout::{BestLayout, BoundedLayout, Layout, LayoutMethod, Problem};
use super::pack::Address;
use super::{Compiled, Graph, GraphError, Memory, Need, Resource, Target};

/// Size of the cache, and effort of searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanCacheConfig {
    /// Number of plans kept; 0 counts as 1. Default 16.
    pub plans: usize,
    /// Number of placements that each layout method tries for a new graph, beyond a first plan. Default 20,000; most frames
    /// need some hundreds at most.
    pub nodes: u64,
    /// Maximum number of placements to try each time a plan is requested again that is not proven optimal. 0: none. Default
    /// 2,000.
    pub improve_nodes: u64,
}

tenure_heap::setters!(PlanCacheConfig { plans: usize, nodes: u64, improve_nodes: u64 });

impl Default for PlanCacheConfig {
    fn default() -> Self {
        Self { plans: 16, nodes: 20_000, improve_nodes: 2_000 }
    }
}

/// A cache of the plans of the last graphs.
///
/// Equal graphs are planned once. A changed graph is planned with its resources at their places in the most similar plan, as
/// far as that costs no more than one percent of the peak. Each request of a plan that is not proven optimal starts a short
/// search for an improvement; a better plan is adopted if the peak falls by at least a 64th and 64 KiB, because resources that
/// move must be created again.
///
/// The plans depend only on the sequence of requested graphs.
#[derive(Debug)]
pub struct PlanCache<R> {
    options: PlanCacheConfig,
    /// The most recently used first.
    entries: Vec<Entry<R>>,
}

#[derive(Debug)]
struct Entry<R> {
    hash: u64,
    compiled: Arc<Compiled<R>>,
    search: ImprovementSearch,
}

/// A plan and its origin.
#[derive(Clone, Debug)]
pub struct Found<R> {
    /// The plan.
    pub compiled: Arc<Compiled<R>>,
    /// The origin.
    pub origin: Origin,
}

/// The origin of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the cache, unchanged.
    Cached,
    /// A better plan than the cached one, which it replaces.
    Improved {
        /// Number of resources at another location.
        moved: usize,
    },
    /// A new plan.
    Planned {
        /// Number of its resources that were in the most similar plan.
        known: usize,
        /// Number of these at another location.
        moved: usize,
    },
}

impl<R: Resource> PlanCache<R> {
    /// A cache without plans.
    #[must_use]
    pub const fn new(options: PlanCacheConfig) -> Self {
        Self { options, entries: Vec::new() }
    }

    /// Number of plans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no plans.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the plans for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Compiled<R>) -> bool) {
        self.entries.retain(|entry| keep(&entry.compiled));
    }

    /// Removes all plans.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The plan of a graph. The plan of an equal graph is found without calls of `memory` and, unless it is improved, without
    /// allocations, in time linear in the declaration.
    ///
    /// All calls must be for the same device.
    ///
    /// # Errors
    /// The error of an invalid graph, or of `memory`.
    pub fn get_or_plan<'t, M: Memory<R>>(
        &mut self,
        graph: &Graph<R>,
        target: impl Into<Target<'t>>,
        memory: &mut M,
    ) -> Result<Found<R>, M::Error> {
        let hash = hash_of(graph);
        let is_it = |entry: &Entry<R>| entry.hash == hash && entry.compiled.graph() == graph;
        match self.entries.iter().position(is_it) {
            Some(at) => {
                self.entries[..=at].rotate_right(1);
                Ok(self.entries[0].found(self.options.improve_nodes).map_err(GraphError::Plan)?)
            }
            None => self.plan(graph, hash, target.into(), memory),
        }
    }

    fn plan<M: Memory<R>>(
        &mut self,
        graph: &Graph<R>,
        hash: u64,
        target: Target<'_>,
        memory: &mut M,
    ) -> Result<Found<R>, M::Error> {
        let mut previous = Vec::new();
        let similar = |needs: &[_]| {
            let places = self.entries.iter().map(|entry| places(&graph.resources, needs, &entry.compiled));
            // Of equally similar plans, the most recently used.
            previous = places.rev().max_by_key(|places| known(places)).unwrap_or_default();
            previous.clone()
        };
        let compiled = Compiled::new(graph, target, memory, similar, self.options.nodes)?;
        let moved = moved(&previous, &compiled.plan.layout);
        let compiled = Arc::new(compiled);
        self.entries.truncate(self.options.plans.max(1) - 1);
        let entry = Entry { hash, compiled: Arc::clone(&compiled), search: ImprovementSearch::default() };
        self.entries.insert(0, entry);
        Ok(Found { compiled, origin: Origin::Planned { known: known(&previous), moved } })
    }
}

impl<R> Entry<R> {
    /// The plan, or a better one that replaces it.
    fn found(&mut self, nodes: u64) -> Result<Found<R>, PlanError> {
        let Compiled { analysis, plan } = &*self.compiled;
        let origin = match self.search.search(&analysis.problem, plan, nodes)? {
            None => Origin::Cached,
            Some(Improvement { plan, moved }) => {
                self.compiled = Arc::new(Compiled { analysis: Arc::clone(analysis), plan });
                Origin::Improved { moved }
            }
        };
        Ok(Found { compiled: Arc::clone(&self.compiled), origin })
    }
}

fn known(places: &[Option<Address>]) -> usize {
    places.iter().flatten().count()
}

fn hash_of(graph: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    graph.hash(&mut hasher);
    hasher.finish()
}

/// The places of resources of the same name, description and class in the plan of another graph. Among equal declarations, the
/// first is matched with the first, and so on.
pub(super) fn places<R: Resource>(
    descs: &[R],
    needs: &[Option<Need>],
    other: &Compiled<R>,
) -> Vec<Option<Address>> {
    let mut known: FxHashMap<&R, Vec<(u32, Address)>> = FxHashMap::default();
    for (index, desc) in other.graph().resources.iter().enumerate().rev() {
        if let Some(address) = other.plan.layout.address(index) {
            known.entry(desc).or_default().push(address);
        }
    }
    let find = |(desc, need): (&R, &Option<Need>)| {
        let need = (*need)?;
        let (class, address) = known.get_mut(desc)?.pop()?;
        (class == need.class && class != Need::ALONE).then_some(address)
    };
    descs.iter().zip(needs).map(find).collect()
}

/// Number of resources that had an address and have another one now.
pub(super) fn moved(previous: &[Option<Address>], layout: &Layout) -> usize {
    let is_moved = |(resource, address): (usize, &Option<Address>)| {
        address.is_some_and(|address| layout.address(resource).is_none_or(|(_, now)| now != address))
    };
    previous.iter().enumerate().filter(|pair| is_moved(*pair)).count()
}

/// Minimum gain for which resources are moved: this fraction of the peak, and this number of bytes.
const MIN_GAIN: (u64, u64) = (64, 64 << 10);

/// Maximum number of consecutive searches without gain.
const MAX_FAILURES: u32 = 16;

/// Number of searches without gain after which a search may use the whole budget; the one before uses half of it, and so on.
const WARM_UP: u32 = 3;

/// The searches for an improvement of a plan so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ImprovementSearch {
    /// Number of searches; the seed of the next one.
    searches: u64,
    /// Number of consecutive searches without gain.
    failures: u32,
}

/// A better plan, and its cost.
#[derive(Debug)]
pub(super) struct Improvement {
    pub(super) plan: BestLayout,
    /// Number of resources that move, and must be created again.
    pub(super) moved: usize,
}

impl ImprovementSearch {
    /// Searches for a plan whose gain justifies moving resources, trying at most `nodes` placements.
    pub(super) fn search(
        &mut self,
        problem: &Problem,
        plan: &BestLayout,
        nodes: u64,
    ) -> Result<Option<Improvement>, PlanError> {
        if nodes == 0 || self.failures >= MAX_FAILURES {
            return Ok(None);
        }
        let peak = plan.layout.peak;
        let Some(most) = peak.checked_sub(MIN_GAIN.1.max(peak / MIN_GAIN.0)) else { return Ok(None) };
        let Some(method) = self.next_method(plan, most) else { return Ok(None) };
        self.searches = self.searches.saturating_add(1);
        let nodes = nodes >> WARM_UP.saturating_sub(self.failures);
        let resources = 0..problem.needs.len();
        let previous: Vec<Option<Address>> =
            resources.map(|index| plan.layout.address(index).map(|(_, address)| address)).collect();
        let found = problem.layout(method, &previous, &options(nodes, self.searches))?;
        let Some(BoundedLayout { layout, .. }) = found.filter(|found| found.layout.peak <= most) else {
            self.failures += 1;
            return Ok(None);
        };
        self.failures = 0;
        let moved = moved(&previous, &layout);
        Ok(Some(Improvement { plan: BestLayout { layout, ..plan.clone() }, moved }))
    }

    /// The next layout method, in rotation, with a lower bound of at most `most` bytes.
    fn next_method(&self, plan: &BestLayout, most: u64) -> Option<LayoutMethod> {
        let promising = || plan.methods.iter().filter(|(_, bound)| *bound <= most);
        let turn = self.searches.checked_rem(promising().count() as u64)?;
        promising().nth(usize::try_from(turn).ok()?).map(|(method, _)| *method)
    }

    /// Number of searches.
    #[cfg(test)]
    pub(super) const fn searches(&self) -> u64 {
        self.searches
    }
}
