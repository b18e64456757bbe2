//! Placing resources of several queues by their exact conflicts, without intervals.
//!
//! Lifetimes extended to intervals overlap more than necessary: with two short resources on each of two queues that run in
//! parallel, a resource may conflict only with resources of the other queue. Here two resources conflict unless all uses of one
//! end before the uses of the other begin.
//!
//! # Algorithm
//! Local search over placement orders. Resources are placed in an order, each at the lowest offset that is free
//! of the conflicting ones placed before. A step moves one of the resources with the highest end forward, and is
//! kept if the peak is not higher. The search begins with another layout's resources by rising offset, which
//! gives a peak no higher than that layout's. O(n log n) for each resource placed.

use core::ops::Range;

use tenure_plan::PlanConfig;

use super::flow::Flow;
use super::order::Order;
use super::pack::{Address, Limits, PackItem};
use crate::device::MAX_QUEUES;

/// More resources than this are not searched: the number of conflicts is quadratic.
const MAX_RESOURCES: usize = 1024;

/// Number of consecutive steps without gain after which the search returns to the best order.
const MAX_FAILURES: u32 = 24;

/// The conflicts of each resource: resources that must not share bytes with it.
pub(super) struct Conflicts(Vec<Vec<u32>>);

/// The first and the last pass of a resource on each queue.
type Ends = [Option<(usize, usize)>; MAX_QUEUES];

impl Conflicts {
    /// The conflicts among `resources`, by their indices in it; `None` if there are too many resources.
    pub(super) fn new(flow: &Flow, order: &Order, resources: &[usize]) -> Option<Self> {
        if resources.len() > MAX_RESOURCES {
            return None;
        }
        let mut ends: Vec<Ends> = vec![[None; MAX_QUEUES]; flow.resources];
        for (pass, uses) in flow.uses.iter().enumerate() {
            let queue = order.queue(pass);
            for one in uses {
                let known = ends[one.resource.index()][queue].get_or_insert((pass, pass));
                known.1 = pass;
            }
        }
        let ends: Vec<&Ends> = resources.iter().map(|&resource| &ends[resource]).collect();
        let mut conflicts = vec![Vec::new(); ends.len()];
        for one in 0..ends.len() {
            for other in 0..one {
                let (mine, theirs) = (ends[one], ends[other]);
                if !is_before(order, mine, theirs) && !is_before(order, theirs, mine) {
                    conflicts[one].push(other as u32);
                    conflicts[other].push(one as u32);
                }
            }
        }
        Some(Self(conflicts))
    }
}

/// Whether all uses of one resource have ended before any use of the other begins.
fn is_before(order: &Order, one: &Ends, other: &Ends) -> bool {
    let lasts = || one.iter().flatten().map(|(_, last)| *last);
    other.iter().flatten().all(|(first, _)| lasts().all(|last| order.is_before(last, *first)))
}

/// Places items, separately for each class; `None` if a class needs more bytes than one of its heaps can have.
///
/// `start` are their places in another layout; items without an address, or in another heap, come last.
pub(super) fn pack_conflicts(
    pack_items: &[PackItem],
    conflicts: &Conflicts,
    start: &[Option<Address>],
    limits: &Limits,
    options: &PlanConfig,
) -> Option<Vec<Address>> {
    let mut classes: Vec<u32> = pack_items.iter().map(|item| item.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut addresses = vec![Address { ordinal: 0, offset: 0 }; pack_items.len()];
    for class in classes {
        let mut order: Vec<u32> =
            (0..).zip(pack_items).filter(|(_, item)| item.class == class).map(|(index, _)| index).collect();
        let before = |index: &u32| start.get(*index as usize).copied().flatten();
        order.sort_by_key(|index| {
            before(index).map_or((usize::MAX, 0), |address| (address.ordinal, address.offset))
        });
        let passes = options.nodes / (order.len() as u64).max(1);
        let mut search = Search::new(pack_items, conflicts, order, options.seed);
        search.run(passes);
        if search.best.peak > limits.get(&class).copied().unwrap_or(u64::MAX) {
            return None;
        }
        for (&index, &offset) in search.best.order.iter().zip(&search.best.offsets) {
            addresses[index as usize].offset = offset;
        }
    }
    Some(addresses)
}

/// A placement order and its result.
#[derive(Clone, Default)]
struct Tried {
    order: Vec<u32>,
    /// In the same order.
    offsets: Vec<u64>,
    peak: u64,
}

struct Search<'p> {
    pack_items: &'p [PackItem],
    conflicts: &'p Conflicts,
    /// By item; `u64::MAX` for one that is not placed.
    offsets: Vec<u64>,
    taken: Vec<Range<u64>>,
    now: Tried,
    best: Tried,
    random: u64,
}

impl<'p> Search<'p> {
    fn new(pack_items: &'p [PackItem], conflicts: &'p Conflicts, order: Vec<u32>, seed: u64) -> Self {
        let mut search = Self {
            pack_items,
            conflicts,
            offsets: vec![u64::MAX; pack_items.len()],
            taken: Vec::new(),
            now: Tried::default(),
            best: Tried::default(),
            random: seed,
        };
        search.now = search.place(order);
        search.best = search.now.clone();
        search
    }

    /// Places all items in an order.
    fn place(&mut self, order: Vec<u32>) -> Tried {
        self.offsets.fill(u64::MAX);
        let mut tried = Tried { offsets: Vec::with_capacity(order.len()), peak: 0, order };
        for &index in &tried.order {
            let offset = self.lowest(index as usize);
            self.offsets[index as usize] = offset;
            tried.offsets.push(offset);
            tried.peak = tried.peak.max(offset.saturating_add(self.pack_items[index as usize].size));
        }
        tried
    }

    /// The lowest offset at which the item overlaps no placed item that it conflicts with.
    fn lowest(&mut self, index: usize) -> u64 {
        self.taken.clear();
        for &other in &self.conflicts.0[index] {
            let offset = self.offsets[other as usize];
            if offset != u64::MAX {
                self.taken.push(offset..offset.saturating_add(self.pack_items[other as usize].size));
            }
        }
        self.taken.sort_unstable_by_key(|range| range.start);
        let PackItem { size, alignment, .. } = self.pack_items[index];
        let mut offset = 0_u64;
        for range in &self.taken {
            if offset.saturating_add(size) <= range.start {
                break;
            }
            let above = range.end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX - 1);
            offset = offset.max(above);
        }
        offset
    }

    fn run(&mut self, passes: u64) {
        let mut failures = 0;
        for _ in 0..passes {
            let Some(order) = self.neighbour() else { return };
            let tried = self.place(order);
            if tried.peak < self.best.peak {
                self.best = tried.clone();
                failures = 0;
            } else {
                failures += 1;
            }
            if tried.peak <= self.now.peak {
                self.now = tried;
            }
            if failures > MAX_FAILURES {
                self.now = self.best.clone();
                failures = 0;
            }
        }
    }

    /// The order with one of the highest items moved forward, and sometimes two others exchanged.
    fn neighbour(&mut self) -> Option<Vec<u32>> {
        let tops = self.now.order.iter().zip(&self.now.offsets);
        let is_high = |(index, offset): (&u32, &u64)| {
            offset.saturating_add(self.pack_items[*index as usize].size) >= self.now.peak
        };
        let at = tops.into_iter().position(is_high).filter(|at| *at > 0 || self.now.order.len() > 1)?;
        let mut order = self.now.order.clone();
        let to = if self.below(2) == 0 { 0 } else { self.below(at + 1) };
        let moved = order.remove(at);
        order.insert(to, moved);
        if self.below(3) == 0 {
            let (one, other) = (self.below(order.len()), self.below(order.len()));
            order.swap(one, other);
        }
        Some(order)
    }

    /// A number below `limit`, by SplitMix64 (Steele, Lea and Flood, 2014). Plans depend on the seed alone, so the
    /// generator is part of the library; that of the tests, `test-random`, is not published.
    fn below(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % (limit.max(1) as u64)) as usize
    }
}
