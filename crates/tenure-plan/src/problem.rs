//! The items of one class, reduced to what placing them depends on.
//!
//! *Time.* Two lifetimes overlap exactly if some maximal set of items that are alive together holds
//! both. Those sets, in order of time, are the *sections*; an item covers a range of them. There are
//! at most as many as items, and in a frame about half as many.
//!
//! *Size.* Sizes are counted in the largest unit that all offsets may be assumed to be multiples of.

use crate::Item;
use crate::bound;

/// The items of one class, reduced. Items are named by their position here.
#[derive(Debug)]
pub(crate) struct Problem {
    /// The first section that each item covers.
    pub(crate) start: Vec<u32>,
    /// The section after the last one that each item covers.
    pub(crate) end: Vec<u32>,
    /// Sizes in units.
    pub(crate) size: Vec<u64>,
    /// Alignments in units; empty if all are 1.
    pub(crate) align: Vec<u64>,
    /// Bytes by which a size in units is more than the true one; empty if none is. What lies on top
    /// does not need them.
    pub(crate) padding: Vec<u64>,
    /// How long each item lives.
    pub(crate) width: Vec<u64>,
    /// The sizes of what is alive in each section, added up, in units.
    pub(crate) load: Vec<u64>,
    /// How high each section is filled already, in units; empty if none is.
    pub(crate) base: Vec<u64>,
    /// What has its place already; counted in `load`, but not among the items.
    pub(crate) pins: Vec<Pin>,
    /// Bytes a unit.
    pub(crate) unit: u64,
    /// No plan has a lower peak, in bytes.
    pub(crate) floor: u64,
    /// The place of each item in the caller's list.
    pub(crate) origin: Vec<u32>,
}

/// An item that has its place: the sections it covers, and the units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pin {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// Bytes by which the size is more than the true one.
    pub(crate) padding: u64,
}

impl Pin {
    pub(crate) const fn top(&self) -> u64 {
        self.offset + self.size
    }
}

impl Problem {
    /// Reduces the items at `origin`, none of which is empty. `pinned` says where the k-th of them is
    /// fixed.
    pub(crate) fn new(items: &[Item], origin: &[u32], pinned: impl Fn(usize) -> Option<u64>) -> Self {
        let all: Vec<&Item> = origin.iter().map(|&at| &items[at as usize]).collect();
        let sections = sections(&all);
        let scale = Scale::of(&all, &pinned);
        let sizes: Vec<u64> = all.iter().map(|item| scale.units(item.size)).collect();
        let mut load = vec![0; sections.count];
        bound::add_up(&mut load, sections.ranges(), sizes.iter().copied());
        let floor = bound::of(&all, &pinned, &sections, &load, &scale);
        let is_padded = all.iter().any(|item| scale.padding(item.size, 1) > 0);
        let n = all.len();
        let mut problem = Self {
            start: Vec::with_capacity(n),
            end: Vec::with_capacity(n),
            size: Vec::with_capacity(n),
            align: Vec::new(),
            padding: Vec::new(),
            width: Vec::with_capacity(n),
            load,
            base: Vec::new(),
            pins: Vec::new(),
            unit: scale.unit,
            floor,
            origin: Vec::with_capacity(n),
        };
        for (k, item) in all.iter().enumerate() {
            let (start, end, size) = (sections.start[k], sections.end[k], sizes[k]);
            let padding = scale.padding(item.size, 1);
            if let Some(offset) = pinned(k) {
                problem.pins.push(Pin { start, end, offset: offset / scale.unit, size, padding });
                continue;
            }
            if is_padded {
                problem.padding.push(padding);
            }
            problem.start.push(start);
            problem.end.push(end);
            problem.size.push(size);
            problem.width.push(item.last - item.first);
            problem.origin.push(origin[k]);
            if !scale.is_plain {
                problem.align.push((item.alignment / scale.unit).max(1));
            }
        }
        problem.floor = problem.reachable(floor);
        problem
    }

    /// Where an item ends, in bytes.
    pub(crate) fn top(&self, item: usize, offset: u64) -> u64 {
        (offset + self.size[item]) * self.unit - self.padding(item)
    }

    /// Where the highest of all items ends, in bytes.
    pub(crate) fn peak(&self, offsets: &[u64]) -> u64 {
        let tops = offsets.iter().enumerate().map(|(item, &offset)| self.top(item, offset));
        tops.max().unwrap_or(0).max(self.pinned_top())
    }

    pub(crate) fn padding(&self, item: usize) -> u64 {
        self.padding.get(item).copied().unwrap_or(0)
    }

    /// Where the highest of what is pinned ends, in bytes.
    pub(crate) fn pinned_top(&self) -> u64 {
        self.pins.iter().map(|pin| pin.top() * self.unit - pin.padding).max().unwrap_or(0)
    }

    /// What is filled already, as something pinned.
    pub(crate) fn base_to_pins(&mut self) {
        let mut start = 0;
        for level in core::mem::take(&mut self.base).chunk_by(|a, b| a == b) {
            let end = start + level.len() as u32;
            if level[0] > 0 {
                self.pins.push(Pin { start, end, offset: 0, size: level[0], padding: 0 });
            }
            start = end;
        }
    }

    /// The lowest peak from `bytes` on that a plan can have, as every item ends at a multiple of the
    /// unit, but for its padding.
    pub(crate) fn reachable(&self, bytes: u64) -> u64 {
        let with = |padding: u64| (bytes + padding).next_multiple_of(self.unit) - padding;
        let paddings = self.padding.iter().copied().chain(self.pins.iter().map(|pin| pin.padding));
        let least = paddings.map(with).min();
        if self.padding.is_empty() && self.pins.is_empty() { with(0) } else { least.unwrap_or(bytes) }
    }

    /// How many items have no place yet.
    pub(crate) fn len(&self) -> usize {
        self.start.len()
    }

    pub(crate) fn sections(&self) -> usize {
        self.load.len()
    }

    /// Whether every multiple of the unit will do, everywhere.
    pub(crate) fn is_plain(&self) -> bool {
        self.align.is_empty() && self.pins.is_empty()
    }

    pub(crate) fn align(&self, item: usize) -> u64 {
        self.align.get(item).copied().unwrap_or(1)
    }
}

/// The sections, and which of them each item covers.
pub(crate) struct Sections {
    pub(crate) start: Vec<u32>,
    pub(crate) end: Vec<u32>,
    pub(crate) count: usize,
}

impl Sections {
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.start.iter().copied().zip(self.end.iter().copied())
    }
}

/// A section begins where something starts after something has ended.
fn sections(all: &[&Item]) -> Sections {
    let earliest = all.iter().map(|item| item.first).min().unwrap_or(0);
    let latest = all.iter().map(|item| item.last).max().unwrap_or(0);
    let span = latest - earliest;
    if span <= 8 * all.len() as u64 + 64 {
        // Passes are numbered densely: a table of times does without sorting.
        by_table(all, earliest, span as usize + 1)
    } else {
        by_sorting(all)
    }
}

fn by_table(all: &[&Item], earliest: u64, times: usize) -> Sections {
    const STARTS: u32 = 1;
    const ENDS: u32 = 2;
    let at = |time: u64| (time - earliest) as usize;
    let mut table = vec![0u32; times];
    for item in all {
        table[at(item.first)] |= STARTS;
        table[at(item.last)] |= ENDS;
    }
    // From here on: the number of sections begun up to each time, including what starts then.
    let (mut count, mut has_ended) = (0, true);
    for entry in &mut table {
        has_ended |= *entry & ENDS != 0;
        if has_ended && *entry & STARTS != 0 {
            count += 1;
            has_ended = false;
        }
        *entry = count;
    }
    let start = all.iter().map(|item| table[at(item.first)] - 1).collect();
    // What ends at a time is not alive in a section that begins then: look at the time before.
    let end = all.iter().map(|item| table[at(item.last - 1)]).collect();
    Sections { start, end, count: count as usize }
}

fn by_sorting(all: &[&Item]) -> Sections {
    let mut starts: Vec<(u64, u32)> = (0..).zip(all).map(|(k, item)| (item.first, k)).collect();
    let mut ends: Vec<(u64, u32)> = (0..).zip(all).map(|(k, item)| (item.last, k)).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let mut sections = Sections { start: vec![0; all.len()], end: vec![0; all.len()], count: 0 };
    let (mut ended, mut has_ended) = (0, true);
    for &(first, item) in &starts {
        while ends[ended].0 <= first {
            sections.end[ends[ended].1 as usize] = sections.count as u32;
            ended += 1;
            has_ended = true;
        }
        if has_ended {
            sections.count += 1;
            has_ended = false;
        }
        sections.start[item as usize] = sections.count as u32 - 1;
    }
    for &(_, item) in &ends[ended..] {
        sections.end[item as usize] = sections.count as u32;
    }
    sections
}

/// What sizes and offsets are counted in.
pub(crate) struct Scale {
    /// The least alignment: every offset is a multiple of it, so that sizes may be rounded up to it.
    grain: u64,
    pub(crate) unit: u64,
    /// Whether the unit is aligned as far as any item needs.
    is_plain: bool,
}

impl Scale {
    /// In the lowest plan every offset is a sum of sizes, rounded up to alignments now and then, on
    /// top of the ground or of a pinned item: a multiple of what divides them all.
    fn of(all: &[&Item], pinned: &impl Fn(usize) -> Option<u64>) -> Self {
        let grain = all.iter().map(|item| item.alignment).min().unwrap_or(1);
        let coarsest = all.iter().map(|item| item.alignment).max().unwrap_or(1);
        let mut unit = 0;
        for (k, item) in all.iter().enumerate() {
            unit = gcd(unit, align_up(item.size, grain));
            if let Some(offset) = pinned(k) {
                unit = gcd(unit, offset);
            }
        }
        let unit = unit.max(1);
        let is_plain = unit % coarsest == 0;
        Self { grain, unit: if is_plain { unit } else { 1 << unit.trailing_zeros() }, is_plain }
    }

    pub(crate) fn units(&self, bytes: u64) -> u64 {
        let bytes = align_up(bytes, self.grain);
        if self.unit == 1 { bytes } else { bytes / self.unit }
    }

    /// Bytes by which rounding an item up to `alignment` (or the grain) makes it larger.
    pub(crate) fn padding(&self, bytes: u64, alignment: u64) -> u64 {
        align_up(bytes, alignment.max(self.grain)) - bytes
    }

    pub(crate) const fn grain(&self) -> u64 {
        self.grain
    }
}

/// The least multiple of a power of two that is no less.
const fn align_up(bytes: u64, alignment: u64) -> u64 {
    (bytes + (alignment - 1)) & !(alignment - 1)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    if a == 1 {
        return 1;
    }
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}
