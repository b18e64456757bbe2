//! The layout methods, and the best layout of all of them.

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BTreeMap;

use tenure_plan::{PlanConfig, PlanError};

use super::conflict::{Conflicts, pack_conflicts};
use super::flow::Flow;
use super::order::Order;
use super::order::{extended, plain, sole_queues};
use super::pack::{Address, Limits, PackItem, Packed, pack};
use super::pack::{QueueLifetime, pack_nested};
use super::{HeapPlan, Need, Placement};

/// The input of all layout methods.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) flow: Flow,
    pub(super) order: Order,
    /// The requirements of each resource; `None` for one that no pass uses.
    pub(super) needs: Vec<Option<Need>>,
    pub(super) limits: Limits,
}

/// Methods to derive conflicts between resources from lifetimes. Every method gives valid layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutMethod {
    /// Uses on all queues except `kept` are extended over the passes that may run meanwhile.
    Extended {
        /// The queue whose uses are not extended.
        kept: usize,
    },
    /// As `Extended`, but resources used on only one other queue are first placed among themselves, as one block.
    Nested {
        /// The queue whose uses are not extended.
        kept: usize,
    },
    /// No extension: resources conflict unless all uses of one end before the uses of the other begin.
    Exact,
}

/// The places of all resources.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// `None` for a resource that no pass uses.
    pub(super) places: Vec<Option<Placement>>,
    /// The heaps, in the order of their classes.
    pub(super) heaps: Vec<HeapPlan>,
    /// Bytes of all heaps.
    pub(super) peak: u64,
}

/// A layout, and a lower bound of the peak for its method.
pub(super) struct BoundedLayout {
    pub(super) layout: Layout,
    pub(super) lower_bound: u64,
}

/// The best layout, and lower bounds.
#[derive(Clone, Debug)]
pub(super) struct BestLayout {
    pub(super) layout: Layout,
    /// A lower bound, in bytes, of the peak by any method.
    pub(super) lower_bound: u64,
    /// The methods that were tried, each with a lower bound of its peak.
    pub(super) methods: Vec<(LayoutMethod, u64)>,
}

impl Problem {
    /// The interval methods that may give different results, the most promising first: the queue with the most bytes in use
    /// keeps its lifetimes; or another queue does; or the resources of the other queues are nested.
    fn methods(&self) -> Vec<LayoutMethod> {
        let queues = self.queues_by_bytes();
        let nested = queues.first().filter(|_| queues.len() > 1).map(|&kept| LayoutMethod::Nested { kept });
        queues.iter().map(|&kept| LayoutMethod::Extended { kept }).chain(nested).collect()
    }

    /// The queues with passes, the one with the most bytes in use first.
    fn queues_by_bytes(&self) -> Vec<usize> {
        let mut bytes: BTreeMap<usize, u128> = self.order.queues().map(|queue| (queue, 0)).collect();
        for (pass, uses) in self.flow.uses.iter().enumerate() {
            let needs = uses.iter().filter_map(|one| self.needs[one.resource.index()]);
            let sum: u128 = needs.map(|need| u128::from(need.size)).sum();
            *bytes.entry(self.order.queue(pass)).or_default() += sum;
        }
        let mut queues: Vec<(usize, u128)> = bytes.into_iter().collect();
        queues.sort_by_key(|(_, bytes)| Reverse(*bytes));
        queues.into_iter().map(|(queue, _)| queue).collect()
    }

    /// The layout with the lowest peak of all methods; among equal ones the first.
    pub(super) fn best(
        &self,
        previous: &[Option<Address>],
        options: &PlanConfig,
    ) -> Result<BestLayout, PlanError> {
        let lower_bound = self.lower_bound()?;
        let mut methods = Vec::new();
        let mut best: Option<Layout> = None;
        for method in self.methods() {
            if best.as_ref().is_some_and(|best| best.peak <= lower_bound) {
                break;
            }
            let Some(found) = self.layout(method, previous, options)? else { continue };
            methods.push((method, found.lower_bound));
            if best.as_ref().is_none_or(|best| found.layout.peak < best.peak) {
                best = Some(found.layout);
            }
        }
        let mut layout = best.unwrap_or_else(|| self.assemble(&[], &[]));
        if layout.peak > lower_bound && self.order.queues().nth(1).is_some() {
            let start: Vec<Option<Address>> = (0..self.needs.len())
                .map(|resource| layout.address(resource).map(|(_, address)| address))
                .collect();
            let exact = self.exact(&start, options).filter(|exact| exact.peak < layout.peak);
            layout = exact.unwrap_or(layout);
            methods.push((LayoutMethod::Exact, lower_bound));
        }
        Ok(BestLayout { layout, lower_bound, methods })
    }

    /// A lower bound, in bytes, of the peak of every valid layout.
    fn lower_bound(&self) -> Result<u64, PlanError> {
        let declared = (0..self.order.len()).collect();
        let is_chain = self.order.queues().nth(1).is_none();
        let mut times: Vec<Vec<usize>> = vec![declared];
        if !is_chain {
            times.extend([self.order.earliest(), self.order.latest()]);
        }
        let mut bound = 0;
        for times in times {
            let (_, mut pack_items) = self.pack_items(plain(&self.flow, &times), &[]);
            if self.may_divide() {
                // Alignment may waste bytes in one heap that several heaps do not waste.
                pack_items.iter_mut().for_each(|item| item.alignment = 1);
            }
            let packed = pack(&pack_items, &Limits::new(), &PlanConfig::new().nodes(0))?;
            bound = bound.max(packed.lower_bound);
        }
        Ok(bound.saturating_add(self.bytes_alone()))
    }

    /// Whether the resources of a class may need several heaps.
    fn may_divide(&self) -> bool {
        let mut bytes: BTreeMap<u32, u128> = BTreeMap::new();
        for need in self.needs.iter().flatten() {
            *bytes.entry(need.class).or_default() += u128::from(need.size) + u128::from(need.alignment);
        }
        self.limits
            .iter()
            .any(|(class, limit)| bytes.get(class).is_some_and(|bytes| *bytes > u128::from(*limit)))
    }

    /// A layout by one of the methods; `None` if the method gives none. For [`LayoutMethod::Exact`], `previous`
    /// is a valid layout.
    pub(super) fn layout(
        &self,
        method: LayoutMethod,
        previous: &[Option<Address>],
        options: &PlanConfig,
    ) -> Result<Option<BoundedLayout>, PlanError> {
        let intervals = |kept| self.pack_items(extended(&self.flow, &self.order, kept), previous);
        let (resources, Packed { addresses, lower_bound }) = match method {
            LayoutMethod::Extended { kept } => {
                let (resources, pack_items) = intervals(kept);
                (resources, pack(&pack_items, &self.limits, options)?)
            }
            LayoutMethod::Nested { kept } => {
                let (resources, pack_items) = intervals(kept);
                let queue_lifetimes = self.queue_lifetimes(&resources, kept);
                (resources, pack_nested(&pack_items, &queue_lifetimes, &self.limits, options)?)
            }
            LayoutMethod::Exact => {
                let exact = self.exact(previous, options);
                return Ok(exact.map(|layout| BoundedLayout { layout, lower_bound: 0 }));
            }
        };
        let lower_bound = lower_bound.saturating_add(self.bytes_alone());
        Ok(Some(BoundedLayout { layout: self.assemble(&resources, &addresses), lower_bound }))
    }

    /// A layout in which only resources conflict that may be in use at the same time; `None` if there are too many resources,
    /// or a class does not fit into one heap. `start` is a valid layout.
    fn exact(&self, start: &[Option<Address>], options: &PlanConfig) -> Option<Layout> {
        let declared: Vec<usize> = (0..self.order.len()).collect();
        let (resources, pack_items) = self.pack_items(plain(&self.flow, &declared), &[]);
        let conflicts = Conflicts::new(&self.flow, &self.order, &resources)?;
        let start: Vec<Option<Address>> =
            resources.iter().map(|&resource| start.get(resource).copied().flatten()).collect();
        let addresses = pack_conflicts(&pack_items, &conflicts, &start, &self.limits, options)?;
        Some(self.assemble(&resources, &addresses))
    }

    /// The resources that may share memory, and the item to place for each.
    fn pack_items(
        &self,
        lifetimes: Vec<Option<Range<usize>>>,
        previous: &[Option<Address>],
    ) -> (Vec<usize>, Vec<PackItem>) {
        let item = |(resource, lifetime): (usize, Option<_>)| {
            let Need { size, alignment, class, .. } =
                self.needs[resource].filter(|need| need.class != Need::ALONE)?;
            let previous = previous.get(resource).copied().flatten();
            Some((resource, PackItem { lifetime: lifetime?, size, alignment, class, previous }))
        };
        lifetimes.into_iter().enumerate().filter_map(item).unzip()
    }

    /// The lifetimes of the resources that are used on one queue only, other than the kept one.
    fn queue_lifetimes(&self, resources: &[usize], kept: usize) -> Vec<Option<QueueLifetime>> {
        let declared: Vec<usize> = (0..self.order.len()).collect();
        let lifetimes = plain(&self.flow, &declared);
        let queues = sole_queues(&self.flow, &self.order);
        let queue_lifetime = |&resource: &usize| {
            let queue = queues[resource].filter(|queue| *queue != kept)?;
            Some(QueueLifetime { queue, lifetime: lifetimes[resource].clone()? })
        };
        resources.iter().map(queue_lifetime).collect()
    }

    /// Bytes of the resources with dedicated memory.
    fn bytes_alone(&self) -> u64 {
        let alone = self.needs.iter().flatten().filter(|need| need.class == Need::ALONE);
        alone.fold(0, |sum, need| sum.saturating_add(need.size))
    }

    /// The layout of these addresses: their heaps, and the heaps of resources with dedicated memory.
    fn assemble(&self, resources: &[usize], addresses: &[Address]) -> Layout {
        let mut address_of: Vec<Option<Address>> = vec![None; self.needs.len()];
        for (&resource, &address) in resources.iter().zip(addresses) {
            address_of[resource] = Some(address);
        }
        let mut heaps: BTreeMap<(u32, usize), HeapPlan> = BTreeMap::new();
        let mut keys = vec![None; self.needs.len()];
        for (resource, need) in self.needs.iter().enumerate() {
            let Some(need) = need else { continue };
            let (ordinal, offset) =
                address_of[resource].map_or((resource, 0), |address| (address.ordinal, address.offset));
            let class = need.class;
            let heap =
                heaps.entry((class, ordinal)).or_insert(HeapPlan { class, ordinal, size: 0, alignment: 1 });
            heap.size = heap.size.max(offset.saturating_add(need.size));
            heap.alignment = heap.alignment.max(need.heap_alignment);
            keys[resource] = Some(((class, ordinal), offset));
        }
        let index: BTreeMap<(u32, usize), usize> = heaps.keys().copied().zip(0..).collect();
        let place = |(key, offset)| Some(Placement { heap: index.get(&key).copied()?, offset });
        let places = keys.into_iter().map(|key| key.and_then(place)).collect();
        let heaps: Vec<HeapPlan> = heaps.into_values().collect();
        let peak = heaps.iter().fold(0_u64, |sum, heap| sum.saturating_add(heap.size));
        Layout { places, heaps, peak }
    }
}

impl Layout {
    /// The class and address of a resource, which can be compared with those in other layouts.
    pub(super) fn address(&self, resource: usize) -> Option<(u32, Address)> {
        let Placement { heap, offset } = self.places.get(resource).copied().flatten()?;
        let heap = self.heaps.get(heap)?;
        Some((heap.class, Address { ordinal: heap.ordinal, offset }))
    }
}
