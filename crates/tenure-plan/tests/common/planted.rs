//! Instances with a known optimum: a memory that is full at all times, cut into items. Some items are then shortened,
//! but none at one time, at which the whole memory is still needed.

use std::ops::Range;

use tenure_plan::Item;
use test_random::Rng;

/// The optimal peak of each instance.
pub(crate) const CAPACITY: u64 = UNITS * UNIT;

/// Bytes per unit; all sizes are multiples.
const UNIT: u64 = 1024;

/// The size of the memory in units.
const UNITS: u64 = 1024;

/// The time between two changes of the memory.
const INTERVAL: u64 = 8;

/// The parameters of some instances. All computations use integers, so that the instances are the same on every
/// machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// The length of the schedule, in intervals. After each of them all items in a range of the memory end, and
    /// others begin there.
    intervals: u64,
    /// Approximate number of live items.
    live: u64,
    /// The sizes of items that begin together differ by at most this power of two.
    size_bits: u64,
    /// An upper limit of the size of the ranges, in units.
    range: u64,
    /// The sizes of the ranges differ by at most this power of two.
    range_bits: u64,
    /// The percentage of items that begin later or end earlier than in the full memory; some vanish.
    shortened: u64,
}

/// Shapes with about the same sizes, lifetimes and numbers of items as the published instances.
pub(crate) const SHAPES: [Shape; 6] = [
    shape("no slack", (20, 20), 5, (1024, 5), 0),
    shape("long lifetimes", (40, 50), 4, (256, 5), 40),
    shape("unequal sizes", (40, 12), 6, (1024, 3), 30),
    shape("short lifetimes", (60, 8), 5, (1024, 3), 35),
    shape("similar sizes", (80, 11), 2, (512, 4), 60),
    shape("many items", (90, 18), 5, (512, 4), 55),
];

const fn shape(
    name: &'static str,
    (intervals, live): (u64, u64),
    size_bits: u64,
    (range, range_bits): (u64, u64),
    shortened: u64,
) -> Shape {
    Shape { name, intervals, live, size_bits, range, range_bits, shortened }
}

/// A live item.
struct Live {
    since: u64,
    offset: u64,
    size: u64,
}

impl Shape {
    /// The items of an instance in random order, and offsets within the capacity.
    pub(crate) fn instance(&self, seed: u64) -> (Vec<Item>, Vec<u64>) {
        let mut rng = Rng::new(seed);
        let mut placed = Vec::new();
        // Sorted by offset.
        let mut memory = self.parts(&mut rng, 0, 0..UNITS);
        for time in (1..self.intervals).map(|interval| interval * INTERVAL) {
            let size = (self.range >> self.range_bits) * rng.size(self.range_bits);
            let offset = rng.below(UNITS - size + 1);
            let first = memory.partition_point(|item| item.offset + item.size <= offset);
            let end = memory.partition_point(|item| item.offset < offset + size);
            let range = memory[first].offset..memory[end - 1].offset + memory[end - 1].size;
            let parts = self.parts(&mut rng, time, range);
            for ended in memory.splice(first..end, parts) {
                placed.extend(self.item(&mut rng, &ended, time));
            }
        }
        for item in memory {
            placed.extend(self.item(&mut rng, &item, self.intervals * INTERVAL));
        }
        rng.shuffle(&mut placed);
        placed.into_iter().unzip()
    }

    /// Cuts a range of the memory into items.
    fn parts(&self, rng: &mut Rng, since: u64, range: Range<u64>) -> Vec<Live> {
        let size = range.end - range.start;
        let mean = (self.live * size).div_ceil(UNITS);
        let count = mean.div_ceil(2) + rng.below(mean + 1);
        let weights: Vec<u64> = (0..count).map(|_| rng.size(self.size_bits)).collect();
        let total: u64 = weights.iter().sum();
        let (mut weight, mut offset) = (0, range.start);
        let mut parts = Vec::new();
        for more in weights {
            weight += more;
            let end = range.start + size * weight / total;
            if offset < end {
                parts.push(Live { since, offset, size: end - offset });
            }
            offset = end;
        }
        parts
    }

    /// The shortened form of an ended item, with its offset.
    fn item(&self, rng: &mut Rng, ended: &Live, last: u64) -> Option<(Item, u64)> {
        let mut lifetime = ended.since..last;
        // All items live at this time keep their lifetimes, so that the capacity is needed.
        let full = self.intervals / 2 * INTERVAL;
        if rng.below(100) < self.shortened && !lifetime.contains(&full) {
            let less = rng.below(last - ended.since + 1);
            if rng.below(2) == 0 { lifetime.start += less } else { lifetime.end -= less }
        }
        (!lifetime.is_empty()).then(|| (Item::new(lifetime, ended.size * UNIT), ended.offset * UNIT))
    }
}
