//! What a graph needs before it runs: a plan, and the heaps of the plan.

use std::sync::Arc;

use super::graph::{Compiled, Found, Graph, HeapPlan, Memory, Need, TransientDesc};
use super::kind::{Kind, Kinds};
use super::pool::{HeapWish, Inner, State, buffer_resource};
use super::shortage::HeapClass;
use crate::device::{Device, ResourceDesc};
use crate::gpu::Shared;
use crate::memory::{MemoryUse, allows};
use crate::{Error, Name};

/// A compiled graph with what the device said of its resources.
pub(super) struct Prepared {
    pub(super) compiled: Arc<Compiled>,
    /// By resource; `None` for one that no pass uses.
    pub(super) kinds: Vec<Option<Arc<Kind>>>,
}

/// The resources of graphs, as the planner wants to know them.
struct Needs<'a, D: Device> {
    shared: &'a Arc<Shared<D>>,
    kinds: &'a mut Kinds,
    classes: &'a mut Vec<HeapClass>,
}

impl<D: Device> Needs<'_, D> {
    fn class(&mut self, kind: &Kind) -> u32 {
        let order = self.shared.pools.order(MemoryUse::GpuOnly);
        let memory = order.iter().copied().find(|memory| allows(kind.needs.memory_types, *memory));
        let (Some(memory), false) = (memory, kind.needs.requires_dedicated) else { return Need::ALONE };
        let category = kind.needs.category;
        let known =
            self.classes.iter().position(|class| (class.memory, class.category) == (memory, category));
        let index = known.unwrap_or_else(|| {
            self.classes.push(HeapClass::new(memory, category, self.shared.device().properties()));
            self.classes.len() - 1
        });
        u32::try_from(index).unwrap_or(Need::ALONE)
    }
}

impl<D: Device> Memory for Needs<'_, D> {
    type Error = Error;

    fn need(&mut self, resource: &TransientDesc) -> Result<Need, Error> {
        let kind = self.kinds.of(self.shared, resource.name(), &resource_desc(resource)?)?;
        let class = self.class(&kind);
        let (size, alignment) = (kind.needs.size, kind.needs.alignment);
        Ok(Need { size, alignment, heap_alignment: kind.heap_alignment, class })
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
        TransientDesc::Texture(_) => Ok(resource.to_resource_desc()),
        TransientDesc::Buffer(desc) => buffer_resource(desc),
    }
}

impl<D: Device> Inner<D> {
    /// The plan of a graph, from the cache or made.
    pub(crate) fn compile(&self, graph: &Graph) -> Result<Arc<Compiled>, Error> {
        Ok(self.state.lock().prepare(&self.shared, graph)?.compiled.clone())
    }
}

impl<D: Device> State<D> {
    pub(super) fn prepare(&mut self, shared: &Arc<Shared<D>>, graph: &Graph) -> Result<Arc<Prepared>, Error> {
        let mut needs = Needs { shared, kinds: &mut self.kinds, classes: &mut self.classes };
        let properties = shared.device().properties();
        let Found { compiled, origin } = self.plans.get_or_plan(graph, properties, &mut needs)?;
        self.stats.note_plan(origin);
        if let Some(known) = self.prepared.iter().find(|known| Arc::ptr_eq(&known.compiled, &compiled)) {
            return Ok(known.clone());
        }
        let mut kind =
            |resource: &TransientDesc| self.kinds.of(shared, resource.name(), &resource_desc(resource)?);
        let mut kinds = Vec::with_capacity(graph.resources());
        for (id, resource) in compiled.graph().each_resource() {
            kinds.push(compiled.need(id).map(|_| resource).map(&mut kind).transpose()?);
        }
        let prepared = Arc::new(Prepared { compiled, kinds });
        self.prepared.retain(|known| Arc::strong_count(&known.compiled) > 1);
        self.prepared.push(prepared.clone());
        Ok(prepared)
    }

    /// The plan of a graph and the heaps for it, which nobody else takes from until they are let go.
    /// Where there is no room for the heaps, with more and smaller ones.
    pub(super) fn claim(
        &mut self,
        shared: &Arc<Shared<D>>,
        graph: &Graph,
    ) -> Result<(Arc<Prepared>, Vec<Option<u64>>), Error> {
        /// A half, a quarter, an eighth.
        const HALVINGS: u32 = 3;
        let mut halvings = 0;
        self.begin_trials();
        loop {
            let prepared = self.prepare(shared, graph)?;
            match self.claim_heaps(shared, &prepared.compiled) {
                Ok(heaps) => return Ok((prepared, heaps)),
                Err((plan, Error::OutOfMemory(_))) if self.end_trial(&plan) => {}
                Err((plan, Error::OutOfMemory(_)))
                    if halvings < HALVINGS && self.shrink(&plan, &prepared) =>
                {
                    halvings += 1;
                }
                Err((_, error)) => return Err(error),
            }
        }
    }

    /// Has graphs planned for heaps half as large as one that there was no room for; false when a
    /// resource needs one so large.
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

    /// Has graphs that were planned for small heaps planned anew, where memory was short long enough ago.
    fn begin_trials(&mut self) {
        for (number, class) in (0..).zip(&mut self.classes) {
            if class.begin_trial(self.frame) {
                let is_divided = |heap: &HeapPlan| heap.class == number && heap.ordinal > 0;
                self.plans.retain(|compiled| !compiled.heaps().iter().any(is_divided));
            }
        }
    }

    /// There was no room for a heap; true when it was larger than it need be, and is planned smaller again.
    fn end_trial(&mut self, plan: &HeapPlan) -> bool {
        let Some(class) = self.classes.get_mut(plan.class as usize) else { return false };
        let was_trial = class.note_refused(plan.size, self.frame);
        if was_trial {
            let limit = class.preferred();
            self.forget_larger(plan.class, limit);
        }
        was_trial
    }

    /// Forgets the plans with a heap that is larger than `limit`.
    fn forget_larger(&mut self, class: u32, limit: u64) {
        let is_larger = |heap: &HeapPlan| heap.class == class && heap.size > limit;
        self.plans.retain(|compiled| !compiled.heaps().iter().any(is_larger));
    }

    /// The numbers of the heaps, in the order of the plan; `None` for memory of a resource's own.
    fn claim_heaps(
        &mut self,
        shared: &Arc<Shared<D>>,
        compiled: &Compiled,
    ) -> Result<Vec<Option<u64>>, (HeapPlan, Error)> {
        let mut claimed = Vec::with_capacity(compiled.heaps().len());
        for plan in compiled.heaps() {
            let found = match self.classes.get(plan.class as usize) {
                Some(class) if plan.class != Need::ALONE => {
                    let class = *class;
                    self.claim_heap(shared, class, plan).map(Some)
                }
                _ => Ok(None),
            };
            match found {
                Ok(heap) => {
                    if let Some(class) = self.classes.get_mut(plan.class as usize) {
                        class.note_had(plan.size);
                    }
                    claimed.push(heap);
                }
                Err(error) => {
                    self.let_go(&claimed);
                    return Err((*plan, error));
                }
            }
        }
        Ok(claimed)
    }

    /// The smallest idle heap that is large enough, but not much too large; else a new one; else any
    /// that is large enough.
    fn claim_heap(
        &mut self,
        shared: &Arc<Shared<D>>,
        class: HeapClass,
        plan: &HeapPlan,
    ) -> Result<u64, Error> {
        let alignment = plan.alignment.max(shared.device().properties().heap_alignment);
        let slack = plan.size / 4;
        let most = plan.size.saturating_add(slack.max(step(plan.size)));
        let at = match self.idle_heap(shared, class, plan.size, most, alignment) {
            Some(at) => at,
            None => {
                let wish = HeapWish {
                    category: class.category,
                    memory_types: 1 << class.memory.0.min(31),
                    alignment,
                    least: plan.size,
                    best: plan.size.checked_next_multiple_of(step(plan.size)).unwrap_or(plan.size),
                    is_trial: class.is_trial(plan.size),
                };
                match self.add_heap(shared, &wish, &Name::from("transient heap")) {
                    Ok(at) => at,
                    Err(error) => {
                        self.idle_heap(shared, class, plan.size, u64::MAX, alignment).ok_or(error)?
                    }
                }
            }
        };
        let Some(heap) = self.heaps.get_mut(at) else {
            return Err(Error::Contract { rule: "a heap that was found is there", value: at as u64 });
        };
        heap.is_claimed = true;
        heap.last_used = self.frame;
        Ok(heap.id)
    }

    fn idle_heap(
        &mut self,
        shared: &Shared<D>,
        class: HeapClass,
        least: u64,
        most: u64,
        alignment: u64,
    ) -> Option<usize> {
        let oldest = shared.recordings.oldest_open();
        let suits = self.heaps.iter_mut().enumerate().filter_map(|(at, heap)| {
            let is_such = (heap.memory, heap.category) == (class.memory, class.category);
            let is_large = (least..=most).contains(&heap.size()) && heap.alignment >= alignment;
            (is_such && is_large && heap.is_idle(oldest)).then(|| (heap.size(), at))
        });
        suits.min().map(|(_, at)| at)
    }

    /// The heaps are anybody's again.
    pub(super) fn let_go(&mut self, claimed: &[Option<u64>]) {
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
