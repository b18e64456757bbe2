//! A compiled graph, for the executor.

use core::ops::Range;
use std::sync::Arc;

use tenure_plan::{PlanConfig, Stability};

use super::batch::{Batch, Lists, batches};
use super::flow::{Flow, PassUse};
use super::layout::{BestLayout, Problem};
use super::order::{Order, dependencies, plain};
use super::pack::{Address, Limits};
use super::{
    Graph, GraphError, HeapPlan, Memory, Name, Need, PassId, Placement, Resource, ResourceId, Target,
};
use crate::device::QueueId;

/// Tolerance of a plan above the best one found, in thousandths of the peak, so that more resources keep their places when a
/// graph has changed. It is less than the gain for which [`PlanCache`](super::PlanCache) moves resources, so an improvement
/// never undoes this.
const STAY: u32 = 10;

/// A graph compiled for a device: its passes in recordings, the acquires and discards around each, and where
/// each resource is placed.
///
/// Ids are the graph's. An unknown id has no uses and no placement.
#[derive(Clone, Debug)]
pub struct Compiled<R> {
    pub(super) analysis: Arc<Analysis<R>>,
    pub(super) plan: BestLayout,
}

/// The part of a compiled graph that does not depend on the placement of resources.
#[derive(Debug)]
pub(super) struct Analysis<R> {
    pub(super) graph: Graph<R>,
    pub(super) problem: Problem,
    batches: Vec<Batch>,
    lists: Lists,
}

/// The steps of a pass: acquires, transitions, execution, transitions to `COMMON`, discards.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PassPlan<'c> {
    /// The name.
    pub name: &'c Name,
    /// The queue.
    pub queue: QueueId,
    /// The uses, each resource once.
    pub uses: &'c [PassUse],
    /// The resources first used by it, which it must write.
    pub acquires: &'c [ResourceId],
    /// The resources no longer used after it, in the order of the batches.
    pub discards: &'c [ResourceId],
    /// Textures among [`discards`](Self::discards) to be left in `COMMON`, because the queue on which they are
    /// acquired cannot take them from the state of their last use.
    pub to_common: &'c [ResourceId],
}

impl<R> Compiled<R> {
    /// Compiles a graph.
    ///
    /// `previous` are the earlier places of resources, `nodes` is the number of placements that each layout method tries.
    pub(super) fn new<M: Memory<R>>(
        graph: &Graph<R>,
        target: Target<'_>,
        memory: &mut M,
        previous: impl FnOnce(&[Option<Need>]) -> Vec<Option<Address>>,
        nodes: u64,
    ) -> Result<Self, M::Error>
    where
        R: Resource,
    {
        let flow = Flow::new(graph, target)?;
        let dependencies = dependencies(&flow);
        let order = Order::new(&flow.queues, &dependencies);
        let batches = batches(graph, &flow.queues, &dependencies);
        let lists = Lists::new(graph, &flow, &batches, target.state_model);
        let (needs, limits) = needs(graph, &flow, memory)?;
        let previous = previous(&needs);
        let problem = Problem { flow, order, needs, limits };
        let plan = problem.best(&previous, &options(nodes, 0)).map_err(GraphError::Plan)?;
        let analysis = Analysis { graph: graph.clone(), problem, batches, lists };
        Ok(Self { analysis: Arc::new(analysis), plan })
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Graph<R> {
        &self.analysis.graph
    }

    /// The recordings, in an order in which they can be submitted.
    #[must_use]
    pub fn batches(&self) -> &[Batch] {
        &self.analysis.batches
    }

    /// The steps of a pass; `None` for a pass of another graph.
    #[must_use]
    pub fn pass(&self, pass: PassId) -> Option<PassPlan<'_>> {
        let Analysis { graph, problem, lists, .. } = &*self.analysis;
        let index = pass.index();
        Some(PassPlan {
            name: &graph.passes.get(index)?.name,
            queue: *problem.flow.queues.get(index)?,
            uses: problem.flow.uses.get(index),
            acquires: lists.acquires.get(index),
            discards: lists.discards.get(index),
            to_common: lists.to_common.get(index),
        })
    }

    /// The declared description of a resource; `None` for a resource of another graph.
    #[must_use]
    pub fn desc(&self, resource: ResourceId) -> Option<&R> {
        self.analysis.graph.desc(resource)
    }

    /// The memory requirements of a resource; `None` if no pass uses it.
    #[must_use]
    pub fn need(&self, resource: ResourceId) -> Option<Need> {
        self.analysis.problem.needs.get(resource.index()).copied().flatten()
    }

    /// The location of a resource; `None` if no pass uses it.
    #[must_use]
    pub fn placement(&self, resource: ResourceId) -> Option<Placement> {
        self.plan.layout.places.get(resource.index()).copied().flatten()
    }

    /// The address spaces, by class and ordinal.
    #[must_use]
    pub fn heaps(&self) -> &[HeapPlan] {
        &self.plan.layout.heaps
    }

    /// Bytes of all heaps together.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        self.plan.layout.peak
    }

    /// A lower bound, in bytes, of the peak of any plan of this graph with heaps of any size.
    #[must_use]
    pub const fn lower_bound(&self) -> u64 {
        self.plan.lower_bound
    }

    /// Whether the plan is proven optimal: no plan has a lower peak.
    #[must_use]
    pub const fn is_proven(&self) -> bool {
        self.plan.layout.peak == self.plan.lower_bound
    }

    /// Bytes of all resources without memory sharing.
    #[must_use]
    pub fn bytes_apart(&self) -> u64 {
        let needs = self.analysis.problem.needs.iter().flatten();
        needs.fold(0, |sum, need| sum.saturating_add(need.size))
    }

    /// The lifetime of each resource as a range of passes by index, first use to one past the last; `None` for one that no pass
    /// uses. On one queue these are the lifetimes used for planning.
    #[must_use]
    pub fn lifetimes(&self) -> Vec<Option<Range<usize>>> {
        let Problem { flow, order, .. } = &self.analysis.problem;
        let declared: Vec<usize> = (0..order.len()).collect();
        plain(flow, &declared)
    }

    /// Whether one pass ends before the other begins, independent of the timing on the GPU.
    #[must_use]
    pub fn is_before(&self, one: PassId, other: PassId) -> bool {
        let order = &self.analysis.problem.order;
        let is_known = one.index().max(other.index()) < order.len();
        is_known && order.is_before(one.index(), other.index())
    }
}

/// The options of a search for a layout.
pub(super) const fn options(nodes: u64, seed: u64) -> PlanConfig {
    PlanConfig::new().nodes(nodes).seed(seed).stability(Stability::Within(STAY))
}

type Needs = (Vec<Option<Need>>, Limits);

/// The memory requirements of the resources that passes use.
fn needs<R: Resource, M: Memory<R>>(
    graph: &Graph<R>,
    flow: &Flow,
    memory: &mut M,
) -> Result<Needs, M::Error> {
    let mut needs = vec![None; graph.resources.len()];
    let mut limits = Limits::new();
    for one in flow.uses.iter().flatten() {
        let index = one.resource.index();
        let (Some(need), Some(desc)) = (needs.get_mut(index), graph.resources.get(index)) else { continue };
        if need.is_none() {
            *need = Some(need_of(desc, memory, &mut limits)?);
        }
    }
    Ok((needs, limits))
}

fn need_of<R: Resource, M: Memory<R>>(
    desc: &R,
    memory: &mut M,
    limits: &mut Limits,
) -> Result<Need, M::Error> {
    let mut need = memory.need(desc)?;
    need.heap_alignment = need.heap_alignment.max(need.alignment);
    // The requested alignment applies to the offset alone: a device may refuse other alignments of heaps than its own.
    need.alignment = need.alignment.max(desc.alignment());
    let resource = || desc.name().clone();
    for alignment in [need.alignment, need.heap_alignment] {
        if !alignment.is_power_of_two() {
            return Err(GraphError::BadAlignment { resource: resource(), alignment }.into());
        }
    }
    if need.class != Need::ALONE {
        let limit = memory.largest_heap(need.class);
        if need.size > limit {
            return Err(GraphError::TooLarge { resource: resource(), size: need.size, limit }.into());
        }
        let planned = limits.entry(need.class).or_insert_with(|| memory.preferred_heap(need.class));
        *planned = need.size.max(*planned);
    }
    Ok(need)
}
