//! Preparation of a graph for execution: its plan, and the heaps of the plan.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::desc_table::{Description, ResourceDescTable};
use super::graph::{Compiled, Found, Graph, HeapPlan, Memory, Need, TransientDesc};
use super::heap::{Heap, HeapKind, Road};
use super::request::{Attempt, HeapRequest, Request, buffer_resource, check_texture};
use super::shortage::HeapClass;
use super::transients::{State, Transients};
use crate::Error;
use crate::context::Context;
use crate::device::{Device, ResourceDesc};
use crate::memory::{MemoryUse, allows};

/// A compiled graph, with the descriptions and memory requirements of its resources.
pub(crate) struct Prepared {
    pub(crate) compiled: Arc<Compiled>,
    /// The description of each resource; `None` for unused ones.
    pub(crate) descriptions: Vec<Option<Arc<Description>>>,
}

/// Memory requirements of the resources of graphs, for the planner.
struct Needs<'a, D: Device> {
    context: &'a Arc<Context<D>>,
    descriptions: &'a mut ResourceDescTable,
    classes: &'a mut Vec<HeapClass>,
}

impl<D: Device> Needs<'_, D> {
    fn class(&mut self, description: &Description) -> u32 {
        let order = self.context.pools.order(MemoryUse::GpuOnly);
        let memory = order.iter().copied().find(|memory| allows(description.needs.memory_types, *memory));
        let (Some(memory), false) = (memory, description.needs.requires_dedicated) else {
            return Need::ALONE;
        };
        let kind = HeapKind { road: Road::Graph, memory, tenants: description.tenants };
        let index = self.classes.iter().position(|class| class.kind == kind).unwrap_or_else(|| {
            self.classes.push(HeapClass::new(kind, self.context.device().properties()));
            self.classes.len() - 1
        });
        u32::try_from(index).unwrap_or(Need::ALONE)
    }
}

impl<D: Device> Memory<TransientDesc> for Needs<'_, D> {
    type Error = Error;

    fn need(&mut self, resource: &TransientDesc) -> Result<Need, Error> {
        let description =
            self.descriptions.get_or_add(self.context, resource.name(), &resource_desc(resource)?)?;
        let class = self.class(&description);
        let alignment = description.needs.alignment;
        let size = if description.is_memoryless { 0 } else { description.needs.size };
        Ok(Need { size, alignment, heap_alignment: description.heap_alignment, class })
    }

    fn largest_heap(&mut self, class: u32) -> u64 {
        self.classes.get(class as usize).map_or(u64::MAX, HeapClass::largest)
    }

    fn preferred_heap(&mut self, class: u32) -> u64 {
        self.classes.get(class as usize).map_or(u64::MAX, HeapClass::preferred)
    }
}

fn resource_desc(resource: &TransientDesc) -> Result<ResourceDesc, Error> {
    match resource {
        TransientDesc::Texture(desc) => {
            check_texture(desc)?;
            Ok(resource.to_resource_desc())
        }
        TransientDesc::Buffer(desc) => buffer_resource(desc),
    }
}

impl<D: Device> Transients<D> {
    /// The plan of a graph, from the cache or made now.
    pub(crate) fn compile(&self, graph: &Graph) -> Result<Arc<Compiled>, Error> {
        Ok(self.state.lock().prepare(&self.context, graph)?.compiled.clone())
    }
}

impl<D: Device> State<D> {
    pub(crate) fn prepare(
        &mut self,
        context: &Arc<Context<D>>,
        graph: &Graph,
    ) -> Result<Arc<Prepared>, Error> {
        let mut needs = Needs { context, descriptions: &mut self.descriptions, classes: &mut self.classes };
        let properties = context.device().properties();
        let Found { compiled, origin } = self.plans.get_or_plan(graph, properties, &mut needs)?;
        self.stats.note_plan(origin);
        if let Some(known) = self.prepared.iter().find(|known| Arc::ptr_eq(&known.compiled, &compiled)) {
            return Ok(known.clone());
        }
        let mut description = |resource: &TransientDesc| {
            self.descriptions.get_or_add(context, resource.name(), &resource_desc(resource)?)
        };
        let mut descriptions = Vec::with_capacity(graph.resources());
        for (id, resource) in compiled.graph().each_resource() {
            descriptions.push(compiled.need(id).map(|_| resource).map(&mut description).transpose()?);
        }
        let prepared = Arc::new(Prepared { compiled, descriptions });
        self.prepared.retain(|known| Arc::strong_count(&known.compiled) > 1);
        self.prepared.push(prepared.clone());
        Ok(prepared)
    }

    /// The plan of a graph and its heaps, which are reserved for it until they are released. If memory is too short for the
    /// heaps, the graph is planned again for more and smaller ones.
    pub(crate) fn claim(
        &mut self,
        request: &Request<'_, D>,
        graph: &Graph,
    ) -> Result<(Arc<Prepared>, Vec<Option<u64>>), Error> {
        /// Heap sizes of a half, a quarter and an eighth.
        const HALVINGS: u32 = 3;
        let mut halvings = 0;
        self.begin_trials();
        loop {
            let prepared = self.prepare(request.context, graph)?;
            let may_shrink = request.attempt == Attempt::Last && halvings < HALVINGS;
            match self.claim_heaps(request, &prepared.compiled) {
                Ok(heaps) => return Ok((prepared, heaps)),
                Err((plan, Error::OutOfMemory(_))) if self.end_trial(&plan) => {}
                Err((plan, Error::OutOfMemory(_))) if may_shrink && self.shrink(&plan, &prepared) => {
                    halvings += 1;
                }
                Err((_, error)) => return Err(error),
            }
        }
    }

    /// Limits heaps to half the size of the refused one, so that graphs are planned again; false when a resource needs a heap
    /// of that size.
    fn shrink(&mut self, plan: &HeapPlan, prepared: &Prepared) -> bool {
        let compiled = &prepared.compiled;
        let needs = compiled.graph().each_resource().filter_map(|(id, _)| compiled.need(id));
        let least = needs.filter(|need| need.class == plan.class).map(|need| need.size).max();
        let half = (plan.size / 2).max(least.unwrap_or(0));
        let Some(class) = self.classes.get_mut(plan.class as usize) else { return false };
        let is_smaller = half < plan.size;
        if is_smaller {
            class.shrink(half, self.frame);
            self.forget_larger(plan.class, half);
        }
        is_smaller
    }

    /// If the last shortage is long enough ago, discards plans for small heaps, so that those graphs are planned again.
    fn begin_trials(&mut self) {
        for (number, class) in (0..).zip(&mut self.classes) {
            if class.begin_trial(self.frame) {
                let is_divided = |heap: &HeapPlan| heap.class == number && heap.ordinal > 0;
                self.plans.retain(|compiled| !compiled.heaps().iter().any(is_divided));
            }
        }
    }

    /// Records the refusal of a heap; true if it was the trial of a larger one, so that graphs are planned smaller again.
    fn end_trial(&mut self, plan: &HeapPlan) -> bool {
        let Some(class) = self.classes.get_mut(plan.class as usize) else { return false };
        let was_trial = class.note_refused(plan.size, self.frame);
        if was_trial {
            let limit = class.preferred();
            self.forget_larger(plan.class, limit);
        }
        was_trial
    }

    /// Discards the plans with a heap larger than `limit`.
    fn forget_larger(&mut self, class: u32, limit: u64) {
        let is_larger = |heap: &HeapPlan| heap.class == class && heap.size > limit;
        self.plans.retain(|compiled| !compiled.heaps().iter().any(is_larger));
    }

    /// The numbers of the heaps, in the order of the plan; `None` for a resource with dedicated memory.
    fn claim_heaps(
        &mut self,
        request: &Request<'_, D>,
        compiled: &Compiled,
    ) -> Result<Vec<Option<u64>>, (Box<HeapPlan>, Error)> {
        let mut claimed = Vec::with_capacity(compiled.heaps().len());
        for plan in compiled.heaps() {
            let found = match plan.class {
                Need::ALONE => Ok(None),
                _ => self.claim_heap(request, compiled, plan).map(Some),
            };
            match found {
                Ok(heap) => claimed.push(heap),
                Err(error) => {
                    self.release_heaps(&claimed);
                    return Err((Box::new(*plan), error));
                }
            }
        }
        Ok(claimed)
    }

    /// The smallest idle heap that is large enough; else a new one; else any that is large enough. If graphs run at the same
    /// time, a small graph leaves heaps that are much too large for it to the others.
    fn claim_heap(
        &mut self,
        request: &Request<'_, D>,
        compiled: &Compiled,
        plan: &HeapPlan,
    ) -> Result<u64, Error> {
        let context = request.context;
        let class = *self.class(plan)?;
        let alignment = plan.alignment.max(context.device().properties().heap_alignment);
        let most = if class.is_shared(self.frame) { roomy(plan.size, alignment) } else { u64::MAX };
        let at = match self.idle_heap(context, class.kind, plan.size..=most, alignment) {
            Some(at) => at,
            None => match self.add_planned_heap(request, compiled, plan, alignment) {
                Ok(at) => at,
                Err(error) => {
                    self.idle_heap(context, class.kind, plan.size..=u64::MAX, alignment).ok_or(error)?
                }
            },
        };
        self.class(plan)?.note_granted(plan.size);
        let Some(heap) = self.heaps.get_mut(at) else {
            return Err(Error::Internal { what: "a transient heap that was found does not exist" });
        };
        heap.is_claimed = true;
        heap.last_used = self.frame;
        Ok(heap.id)
    }

    fn class(&mut self, plan: &HeapPlan) -> Result<&mut HeapClass, Error> {
        let what = "a class of transient heaps that was planned for is unknown";
        self.classes.get_mut(plan.class as usize).ok_or(Error::Internal { what })
    }

    /// A new heap for a plan, in place of the idle ones that are too small for each heap of the plan. Those are destroyed
    /// first, so that memory does not hold both if the GPU has finished with them.
    fn add_planned_heap(
        &mut self,
        request: &Request<'_, D>,
        compiled: &Compiled,
        plan: &HeapPlan,
        alignment: u64,
    ) -> Result<usize, Error> {
        let context = request.context;
        let (frame, latency) = (self.frame, u64::from(context.config.transient.latency));
        let HeapClass { kind, .. } = *self.class(plan)?;
        let is_in_use = |heap: &Heap<D>| heap.is_claimed && heap.size() >= plan.size && heap.kind == kind;
        if plan.ordinal == 0 && self.heaps.iter().any(is_in_use) {
            self.class(plan)?.note_shared(frame);
        }
        let of_class = compiled.heaps().iter().filter(|other| other.class == plan.class);
        let smallest = of_class.map(|other| other.size).min().unwrap_or(plan.size);
        let is_trial = self.class(plan)?.is_trial(plan.size);
        let superseded =
            self.take_idle(context, |heap| !is_trial && heap.kind == kind && heap.size() < smallest);
        let mut best = planned_size(plan.size, alignment);
        // One heap for all of them.
        let alignment = superseded.iter().map(|heap| heap.alignment).fold(alignment, u64::max);
        let class = self.class(plan)?;
        if !superseded.is_empty() && class.note_growth(frame, latency) {
            // Plans grow from frame to frame: one heap should serve several.
            best = best.max(plan.size.saturating_add(plan.size / 4)).min(class.preferred().max(best));
        }
        self.replace(context, superseded);
        let heap = HeapRequest::of_kind(kind, alignment, plan.size..=best, is_trial);
        self.add_heap(request, &heap)
    }

    /// The index of the smallest idle heap with one of these sizes.
    fn idle_heap(
        &mut self,
        context: &Context<D>,
        kind: HeapKind,
        sizes: RangeInclusive<u64>,
        alignment: u64,
    ) -> Option<usize> {
        let suits = self.heaps.iter_mut().enumerate().filter_map(|(at, heap)| {
            let is_large = sizes.contains(&heap.size()) && heap.alignment >= alignment;
            (heap.kind == kind && is_large && heap.is_idle(&context.recordings)).then(|| (heap.size(), at))
        });
        suits.min().map(|(_, at)| at)
    }

    /// Makes claimed heaps available to other requests again.
    pub(crate) fn release_heaps(&mut self, claimed: &[Option<u64>]) {
        for heap in &mut self.heaps {
            if claimed.contains(&Some(heap.id)) {
                heap.is_claimed = false;
                heap.last_used = self.frame;
            }
        }
    }
}

/// Heaps for plans grow in steps of about a sixteenth, of 64 KiB to 2 MiB.
fn step(size: u64) -> u64 {
    (size / 16).clamp(64 << 10, 2 << 20).next_power_of_two()
}

/// Bytes of a heap that is made for a plan of this size.
fn planned_size(size: u64, alignment: u64) -> u64 {
    let stepped = size.checked_next_multiple_of(step(size)).unwrap_or(size);
    stepped.checked_next_multiple_of(alignment.max(1)).unwrap_or(stepped)
}

/// Bytes of the largest heap that is not much too large for a plan of this size.
fn roomy(size: u64, alignment: u64) -> u64 {
    let roomy = size.saturating_add(size / 8);
    roomy.checked_next_multiple_of(alignment.max(1)).unwrap_or(roomy).max(planned_size(size, alignment))
}

/// Whether graphs have used little of their heap for a while.
pub(crate) fn is_too_large<D: Device>(context: &Context<D>, heap: &Heap<D>) -> bool {
    let alignment = heap.alignment.max(context.device().properties().heap_alignment);
    heap.kind.road == Road::Graph && heap.needed() > 0 && heap.size() > roomy(heap.needed(), alignment)
}
