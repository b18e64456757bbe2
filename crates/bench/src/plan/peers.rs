//! Other planners, implemented from their published descriptions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tenure_plan::Item;

use crate::suballoc::rng::Rng;

/// A planner: a name, and the peak that it needs for some items.
#[derive(Clone, Copy)]
pub struct Peer {
    /// The name of the planner.
    pub name: &'static str,
    /// The peak for these items.
    pub peak: fn(&[Item]) -> u64,
    /// Whether it computes offsets, and not only a peak.
    pub is_planner: bool,
}

const fn peer(name: &'static str, peak: fn(&[Item]) -> u64, is_planner: bool) -> Peer {
    Peer { name, peak, is_planner }
}

/// All planners. Planners with heaps have heaps of 128 MiB, in units of 64 KiB.
pub const ALL: [Peer; 7] = [
    peer("no aliasing", no_aliasing, false),
    peer("pool of equal sizes", equal_sizes, false),
    peer("online first fit, 128 MiB heaps, committed", online_first_fit, false),
    peer("size-descending, best fit", |items| peak_in_order(items, SIZE, Fit::Best), true),
    peer("size-descending, first gap", |items| peak_in_order(items, SIZE, Fit::First), true),
    peer("best fit in six orders", best_of_orders, true),
    peer("hill climb over orders, 500 steps", climbed_peak, true),
];

/// 128 MiB in units of 64 KiB.
const HEAP_UNITS: u64 = 2048;

/// The peak if no items share memory.
fn no_aliasing(items: &[Item]) -> u64 {
    items.iter().map(|item| item.size).sum()
}

/// The peak if items of one size share a pool, as in engines that reuse a resource with an equal description.
fn equal_sizes(items: &[Item]) -> u64 {
    let mut live: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (_, begins, item) in begins_and_ends(items) {
        let (now, most) = live.entry(items[item].size).or_default();
        *now = if begins { *now + 1 } else { *now - 1 };
        *most = (*most).max(*now);
    }
    live.iter().map(|(size, (_, most))| size * most).sum()
}

struct Heap {
    size: u64,
    /// The live items: offset to end.
    live: BTreeMap<u64, u64>,
}

impl Heap {
    /// The lowest offset with enough free space.
    fn find(&self, size: u64) -> Option<u64> {
        let mut free = 0;
        for (&offset, &end) in &self.live {
            if offset >= free + size {
                return Some(free);
            }
            free = end;
        }
        (self.size >= free + size).then_some(free)
    }
}

/// The sizes of the heaps of [`HEAP_UNITS`] or the request, each filled by first fit, pass by pass, as documented for
/// Unreal Engine's transient allocator.
fn online_first_fit(items: &[Item]) -> u64 {
    let mut heaps: Vec<Heap> = Vec::new();
    let mut places = vec![(0, 0); items.len()];
    for (_, begins, at) in begins_and_ends(items) {
        let size = items[at].size;
        if !begins {
            let (heap, offset) = places[at];
            let heap: &mut Heap = &mut heaps[heap];
            heap.live.remove(&offset);
            continue;
        }
        let found = heaps.iter().enumerate().find_map(|(heap, it)| Some((heap, it.find(size)?)));
        let (heap, offset) = found.unwrap_or_else(|| {
            heaps.push(Heap { size: size.max(HEAP_UNITS), live: BTreeMap::new() });
            (heaps.len() - 1, 0)
        });
        places[at] = (heap, offset);
        heaps[heap].live.insert(offset, offset + size);
    }
    heaps.iter().map(|heap| heap.size).sum()
}

/// The begin and the end of each item, sorted by time; at equal times ends come first.
fn begins_and_ends(items: &[Item]) -> Vec<(u64, bool, usize)> {
    let both = |(at, item): (usize, &Item)| [(item.first, true, at), (item.last, false, at)];
    let mut events: Vec<_> =
        items.iter().enumerate().filter(|(_, item)| item.size > 0).flat_map(both).collect();
    events.sort_unstable();
    events
}

/// The choice among the gaps that are large enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// The lowest gap.
    First,
    /// The smallest gap.
    Best,
}

/// The offsets of items that are placed one after the other, in the given order, into gaps between the
/// items placed before. Quadratic in their number; alignments are ignored.
fn place(items: &[Item], order: &[usize], fit: Fit) -> Vec<u64> {
    let mut offsets = vec![0; items.len()];
    // Sorted by offset.
    let mut placed: Vec<usize> = Vec::with_capacity(items.len());
    for &at in order {
        let item = &items[at];
        let (mut free, mut best) = (0, None);
        for &other in placed.iter().filter(|other| items[**other].overlaps_in_time(item)) {
            let bottom = offsets[other];
            if bottom >= free + item.size {
                let gap = bottom - free;
                if best.is_none_or(|(smallest, _)| gap < smallest) {
                    best = Some((gap, free));
                }
                if fit == Fit::First {
                    break;
                }
            }
            free = free.max(bottom + items[other].size);
        }
        offsets[at] = best.map_or(free, |(_, offset)| offset);
        let rank = placed.partition_point(|other| offsets[*other] <= offsets[at]);
        placed.insert(rank, at);
    }
    offsets
}

/// The highest end of an item.
fn peak_of(items: &[Item], offsets: &[u64]) -> u64 {
    items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
}

/// The key by which greedy planners sort items, in descending order.
///
/// AMD's Render Pipeline Shaders and TFLite use best fit, TFLite Micro the first gap, and XLA the better
/// of several orders.
type Key = fn(&Item) -> (u64, u64);

const SIZE: Key = |item| (item.size, 0);
const SIZE_THEN_WIDTH: Key = |item| (item.size, width(item));
const ALL_ORDERS: [Key; 6] = [
    SIZE,
    |item| (width(item), 0),
    |item| (width(item) * item.size, 0),
    |item| (u64::MAX - item.first, 0),
    |item| (width(item), item.size),
    SIZE_THEN_WIDTH,
];

fn width(item: &Item) -> u64 {
    item.last - item.first
}

fn ordered(items: &[Item], key: Key) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&at| Reverse(key(&items[at])));
    order
}

fn peak_in_order(items: &[Item], key: Key, fit: Fit) -> u64 {
    peak_of(items, &place(items, &ordered(items, key), fit))
}

fn best_of_orders(items: &[Item]) -> u64 {
    ALL_ORDERS.iter().map(|&key| peak_in_order(items, key, Fit::Best)).min().unwrap_or(0)
}

const CLIMB_STEPS: usize = 500;

/// The peak after hill climbing over orders, as in TVM's planner: swaps two items of the order, and keeps
/// the new order unless its peak is higher.
fn climbed_peak(items: &[Item]) -> u64 {
    let mut rng = Rng::new(1);
    let mut order = ordered(items, SIZE_THEN_WIDTH);
    let mut offsets = place(items, &order, Fit::First);
    let mut best = peak_of(items, &offsets);
    let bound = load(items);
    for _ in 0..CLIMB_STEPS {
        if best == bound || order.len() < 2 {
            break;
        }
        // One of the two items ends at the peak.
        let is_high = |&rank: &usize| offsets[order[rank]] + items[order[rank]].size == best;
        let high: Vec<usize> = (0..order.len()).filter(is_high).collect();
        let (a, b) = (high[rng.index(high.len())], rng.index(order.len()));
        order.swap(a, b);
        let next = place(items, &order, Fit::First);
        let peak = peak_of(items, &next);
        if peak <= best {
            (best, offsets) = (peak, next);
        } else {
            order.swap(a, b);
        }
    }
    best
}

/// The largest sum of the sizes of items that are live at the same time.
fn load(items: &[Item]) -> u64 {
    let live = |time: u64| {
        items.iter().filter(|item| item.first <= time && time < item.last).map(|item| item.size).sum()
    };
    items.iter().map(|item| live(item.first)).max().unwrap_or(0)
}
