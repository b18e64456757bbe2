//! Resources of several queues placed by what may really be in use at the same time.
//!
//! Extended to intervals, lifetimes overlap more than they have to: of two short resources on either of
//! two queues that run side by side, each may only exclude the other queue's. Here two resources exclude
//! each other if neither is done with before the other begins, and nothing else does.
//!
//! # Algorithm
//! Resources are placed in some order, each at the lowest offset that is free of those placed before that
//! exclude it. The order is searched: one of those that end highest moves forward, and what is not higher
//! than before is kept. It begins with the offsets of another layout, lowest first, which come to no more
//! than that layout. O(n log n) for each resource placed, as hill climbing over orders is elsewhere.

use core::ops::Range;

use tenure_plan::Options;

use super::flow::Flow;
use super::order::Order;
use super::pack::{Limits, Parcel, Spot};
use crate::device::MAX_QUEUES;

/// More resources than this are not searched: the table of who excludes whom is quadratic.
const MOST: usize = 1024;

/// Searches in a row without gain before the search goes back to the best order.
const PATIENCE: u32 = 24;

/// Who must not share bytes with whom.
pub(super) struct Conflicts(Vec<Vec<u32>>);

/// The first and the last pass of a resource on each queue.
type Ends = [Option<(usize, usize)>; MAX_QUEUES];

impl Conflicts {
    /// Those among `resources`, by their places in it; `None` if there are too many.
    pub(super) fn new(flow: &Flow, order: &Order, resources: &[usize]) -> Option<Self> {
        if resources.len() > MOST {
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

/// Whether all uses of one have ended before any of the other begins.
fn is_before(order: &Order, one: &Ends, other: &Ends) -> bool {
    let lasts = || one.iter().flatten().map(|(_, last)| *last);
    other.iter().flatten().all(|(first, _)| lasts().all(|last| order.is_before(last, *first)))
}

/// Places parcels, each class for itself; `None` if a class comes to more than a heap of it can hold.
///
/// `start` is where they are in another layout; what is not there, or in another heap, comes last.
pub(super) fn pack_conflicts(
    parcels: &[Parcel],
    conflicts: &Conflicts,
    start: &[Option<Spot>],
    limits: &Limits,
    options: &Options,
) -> Option<Vec<Spot>> {
    let mut classes: Vec<u32> = parcels.iter().map(|parcel| parcel.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut spots = vec![Spot { ordinal: 0, offset: 0 }; parcels.len()];
    for class in classes {
        let mut order: Vec<u32> =
            (0..).zip(parcels).filter(|(_, parcel)| parcel.class == class).map(|(index, _)| index).collect();
        let before = |index: &u32| start.get(*index as usize).copied().flatten();
        order.sort_by_key(|index| before(index).map_or((usize::MAX, 0), |spot| (spot.ordinal, spot.offset)));
        let passes = options.nodes / (order.len() as u64).max(1);
        let mut search = Search::new(parcels, conflicts, order, options.seed);
        search.run(passes);
        if search.best.peak > limits.get(&class).copied().unwrap_or(u64::MAX) {
            return None;
        }
        for (&index, &offset) in search.best.order.iter().zip(&search.best.offsets) {
            spots[index as usize].offset = offset;
        }
    }
    Some(spots)
}

/// An order, and what it comes to.
#[derive(Clone, Default)]
struct Tried {
    order: Vec<u32>,
    /// In that order.
    offsets: Vec<u64>,
    peak: u64,
}

struct Search<'p> {
    parcels: &'p [Parcel],
    conflicts: &'p Conflicts,
    /// By parcel; `u64::MAX` for one that is not placed.
    offsets: Vec<u64>,
    taken: Vec<Range<u64>>,
    now: Tried,
    best: Tried,
    chance: u64,
}

impl<'p> Search<'p> {
    fn new(parcels: &'p [Parcel], conflicts: &'p Conflicts, order: Vec<u32>, seed: u64) -> Self {
        let mut search = Self {
            parcels,
            conflicts,
            offsets: vec![u64::MAX; parcels.len()],
            taken: Vec::new(),
            now: Tried::default(),
            best: Tried::default(),
            chance: seed,
        };
        search.now = search.place(order);
        search.best = search.now.clone();
        search
    }

    /// Places all in an order.
    fn place(&mut self, order: Vec<u32>) -> Tried {
        self.offsets.fill(u64::MAX);
        let mut tried = Tried { offsets: Vec::with_capacity(order.len()), peak: 0, order };
        for &index in &tried.order {
            let offset = self.lowest(index as usize);
            self.offsets[index as usize] = offset;
            tried.offsets.push(offset);
            tried.peak = tried.peak.max(offset.saturating_add(self.parcels[index as usize].size));
        }
        tried
    }

    /// The lowest offset that nothing placed excludes.
    fn lowest(&mut self, index: usize) -> u64 {
        self.taken.clear();
        for &other in &self.conflicts.0[index] {
            let offset = self.offsets[other as usize];
            if offset != u64::MAX {
                self.taken.push(offset..offset.saturating_add(self.parcels[other as usize].size));
            }
        }
        self.taken.sort_unstable_by_key(|range| range.start);
        let Parcel { size, alignment, .. } = self.parcels[index];
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
        let mut in_vain = 0;
        for _ in 0..passes {
            let Some(order) = self.neighbour() else { return };
            let tried = self.place(order);
            if tried.peak < self.best.peak {
                self.best = tried.clone();
                in_vain = 0;
            } else {
                in_vain += 1;
            }
            if tried.peak <= self.now.peak {
                self.now = tried;
            }
            if in_vain > PATIENCE {
                self.now = self.best.clone();
                in_vain = 0;
            }
        }
    }

    /// The order with one of the highest moved forward, and now and then two others exchanged.
    fn neighbour(&mut self) -> Option<Vec<u32>> {
        let tops = self.now.order.iter().zip(&self.now.offsets);
        let is_high = |(index, offset): (&u32, &u64)| {
            offset.saturating_add(self.parcels[*index as usize].size) >= self.now.peak
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

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn below(&mut self, limit: usize) -> usize {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % (limit.max(1) as u64)) as usize
    }
}
