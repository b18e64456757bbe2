//! The ways to lay resources out, and the best of them.

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BTreeMap;

use tenure_plan::{Options, PlanError};

use super::conflict::{Conflicts, pack_conflicts};
use super::flow::Flow;
use super::lifetime::{extended, plain, sole_queues};
use super::nest::{Lane, pack_nested};
use super::order::Order;
use super::pack::{Limits, Packed, Parcel, Spot, pack};
use super::{HeapPlan, Need, Placement};

/// Everything that layouts depend on.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) flow: Flow,
    pub(super) order: Order,
    /// What each resource needs; `None` for one that no pass uses.
    pub(super) needs: Vec<Option<Need>>,
    pub(super) limits: Limits,
}

/// A way to lay resources out. Each is valid by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The uses on all queues but `kept` are extended.
    Extended {
        /// The queue whose uses are not extended.
        kept: usize,
    },
    /// The same; and what is used on one other queue only is first placed among itself.
    Nested {
        /// The queue whose uses are not extended.
        kept: usize,
    },
    /// Nothing is extended: resources exclude each other if neither is done with before the other begins.
    Exact,
}

/// Where each resource goes.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// `None` for a resource that no pass uses.
    pub(super) places: Vec<Option<Placement>>,
    /// In the order of their classes.
    pub(super) heaps: Vec<HeapPlan>,
    /// Bytes of all heaps.
    pub(super) peak: u64,
}

/// A layout, and how much lower one of the same way can be at best.
pub(super) struct Bounded {
    pub(super) layout: Layout,
    pub(super) lower_bound: u64,
}

/// The best layout, and what could be better.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) layout: Layout,
    /// No layout of any way has a lower peak, in bytes.
    pub(super) lower_bound: u64,
    /// The ways that were tried, with bounds on what each can come to.
    pub(super) ways: Vec<(Way, u64)>,
}

impl Problem {
    /// The ways that may differ, the most promising first: the main queue, that with the most bytes in
    /// use, keeps its lifetimes as they are; or another one does; or the others share among themselves.
    fn ways(&self) -> Vec<Way> {
        let queues = self.queues_by_bytes();
        let nested = queues.first().filter(|_| queues.len() > 1).map(|&kept| Way::Nested { kept });
        queues.iter().map(|&kept| Way::Extended { kept }).chain(nested).collect()
    }

    /// The queues with passes, that with the most bytes in use first.
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

    /// The layout with the lowest peak of all ways; of equals the first.
    pub(super) fn best(&self, previous: &[Option<Spot>], options: &Options) -> Result<Best, PlanError> {
        let lower_bound = self.lower_bound()?;
        let mut ways = Vec::new();
        let mut best: Option<Layout> = None;
        for way in self.ways() {
            if best.as_ref().is_some_and(|best| best.peak <= lower_bound) {
                break;
            }
            let Some(found) = self.layout(way, previous, options)? else { continue };
            ways.push((way, found.lower_bound));
            if best.as_ref().is_none_or(|best| found.layout.peak < best.peak) {
                best = Some(found.layout);
            }
        }
        let mut layout = best.unwrap_or_else(|| self.assemble(&[], &[]));
        if layout.peak > lower_bound && self.order.queues().nth(1).is_some() {
            let start: Vec<Option<Spot>> =
                (0..self.needs.len()).map(|resource| layout.spot(resource).map(|(_, spot)| spot)).collect();
            let exact = self.exact(&start, options).filter(|exact| exact.peak < layout.peak);
            layout = exact.unwrap_or(layout);
            ways.push((Way::Exact, lower_bound));
        }
        Ok(Best { layout, lower_bound, ways })
    }

    /// No valid layout has a lower peak than this, in bytes.
    fn lower_bound(&self) -> Result<u64, PlanError> {
        let declared = (0..self.order.len()).collect();
        let is_chain = self.order.queues().nth(1).is_none();
        let mut times: Vec<Vec<usize>> = vec![declared];
        if !is_chain {
            times.extend([self.order.earliest(), self.order.latest()]);
        }
        let mut bound = 0;
        for times in times {
            let (_, mut parcels) = self.parcels(plain(&self.flow, &times), &[]);
            if self.may_divide() {
                // In one heap, alignment costs bytes that it may not cost in several.
                parcels.iter_mut().for_each(|parcel| parcel.alignment = 1);
            }
            let packed = pack(&parcels, &Limits::new(), &Options::new().nodes(0))?;
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

    /// A layout in one of the ways; `None` if it cannot be had in that way. For [`Way::Exact`], `previous`
    /// is a valid layout.
    pub(super) fn layout(
        &self,
        way: Way,
        previous: &[Option<Spot>],
        options: &Options,
    ) -> Result<Option<Bounded>, PlanError> {
        let intervals = |kept| self.parcels(extended(&self.flow, &self.order, kept), previous);
        let (resources, Packed { spots, lower_bound }) = match way {
            Way::Extended { kept } => {
                let (resources, parcels) = intervals(kept);
                (resources, pack(&parcels, &self.limits, options)?)
            }
            Way::Nested { kept } => {
                let (resources, parcels) = intervals(kept);
                let lanes = self.lanes(&resources, kept);
                (resources, pack_nested(&parcels, &lanes, &self.limits, options)?)
            }
            Way::Exact => {
                let exact = self.exact(previous, options);
                return Ok(exact.map(|layout| Bounded { layout, lower_bound: 0 }));
            }
        };
        let lower_bound = lower_bound.saturating_add(self.bytes_alone());
        Ok(Some(Bounded { layout: self.assemble(&resources, &spots), lower_bound }))
    }

    /// A layout in which only those exclude each other that may be in use at the same time; `None` if there
    /// are too many resources, or a class does not fit into one heap. `start` is a valid layout.
    fn exact(&self, start: &[Option<Spot>], options: &Options) -> Option<Layout> {
        let declared: Vec<usize> = (0..self.order.len()).collect();
        let (resources, parcels) = self.parcels(plain(&self.flow, &declared), &[]);
        let conflicts = Conflicts::new(&self.flow, &self.order, &resources)?;
        let start: Vec<Option<Spot>> =
            resources.iter().map(|&resource| start.get(resource).copied().flatten()).collect();
        let spots = pack_conflicts(&parcels, &conflicts, &start, &self.limits, options)?;
        Some(self.assemble(&resources, &spots))
    }

    /// The resources that may share memory, and what is to be placed for each.
    fn parcels(
        &self,
        lives: Vec<Option<Range<usize>>>,
        previous: &[Option<Spot>],
    ) -> (Vec<usize>, Vec<Parcel>) {
        let parcel = |(resource, life): (usize, Option<_>)| {
            let Need { size, alignment, class, .. } =
                self.needs[resource].filter(|need| need.class != Need::ALONE)?;
            let previous = previous.get(resource).copied().flatten();
            Some((resource, Parcel { life: life?, size, alignment, class, previous }))
        };
        lives.into_iter().enumerate().filter_map(parcel).unzip()
    }

    /// The lives of those resources that are used on one queue only, if not on the one that is kept.
    fn lanes(&self, resources: &[usize], kept: usize) -> Vec<Option<Lane>> {
        let declared: Vec<usize> = (0..self.order.len()).collect();
        let lives = plain(&self.flow, &declared);
        let queues = sole_queues(&self.flow, &self.order);
        let lane = |&resource: &usize| {
            let queue = queues[resource].filter(|queue| *queue != kept)?;
            Some(Lane { queue, life: lives[resource].clone()? })
        };
        resources.iter().map(lane).collect()
    }

    /// Bytes of what shares with nothing.
    fn bytes_alone(&self) -> u64 {
        let alone = self.needs.iter().flatten().filter(|need| need.class == Need::ALONE);
        alone.fold(0, |sum, need| sum.saturating_add(need.size))
    }

    /// The heaps that the spots need, and those of what shares with nothing.
    fn assemble(&self, resources: &[usize], spots: &[Spot]) -> Layout {
        let mut spot_of: Vec<Option<Spot>> = vec![None; self.needs.len()];
        for (&resource, &spot) in resources.iter().zip(spots) {
            spot_of[resource] = Some(spot);
        }
        let mut heaps: BTreeMap<(u32, usize), HeapPlan> = BTreeMap::new();
        let mut keys = vec![None; self.needs.len()];
        for (resource, need) in self.needs.iter().enumerate() {
            let Some(need) = need else { continue };
            let (ordinal, offset) =
                spot_of[resource].map_or((resource, 0), |spot| (spot.ordinal, spot.offset));
            let class = need.class;
            let heap =
                heaps.entry((class, ordinal)).or_insert(HeapPlan { class, ordinal, size: 0, alignment: 1 });
            heap.size = heap.size.max(offset.saturating_add(need.size));
            heap.alignment = heap.alignment.max(need.alignment).max(need.heap_alignment);
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
    /// Where a resource is, in terms that mean the same in other layouts.
    pub(super) fn spot(&self, resource: usize) -> Option<(u32, Spot)> {
        let Placement { heap, offset } = self.places.get(resource).copied().flatten()?;
        let heap = self.heaps.get(heap)?;
        Some((heap.class, Spot { ordinal: heap.ordinal, offset }))
    }
}
