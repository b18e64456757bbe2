//! The coordinates of the planning problem: sections of time, and units of size.
//!
//! *Time.* The maximal sets of items alive together, in order of time, are the *sections*. Two lifetimes overlap
//! exactly if some section contains both items; an item covers a range of sections. There are at most as many
//! sections as items, in a frame about half as many.
//!
//! *Size.* The unit is the largest one for which all offsets can be assumed to be multiples of it.

use crate::Item;

/// The sections, and the range that each item covers.
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

/// Divides time into sections. A new one begins at the first start of an item after the end of another.
pub(crate) fn sections(all: &[&Item]) -> Sections {
    let earliest = all.iter().map(|item| item.first).min().unwrap_or(0);
    let latest = all.iter().map(|item| item.last).max().unwrap_or(0);
    let span = latest - earliest;
    if span <= 8 * all.len() as u64 + 64 {
        // Passes are usually numbered densely: a table of times needs no sorting.
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
    // From here on: the number of sections begun up to each time, including one that starts then.
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
    // An item that ends at a time is not alive in a section that begins then, so this looks up the time before.
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

/// The unit of sizes and offsets.
pub(crate) struct Scale {
    /// The smallest alignment: every offset is a multiple of it, so sizes may be rounded up to it.
    grain: u64,
    pub(crate) unit: u64,
    /// Whether the unit is a multiple of every alignment.
    pub(crate) is_plain: bool,
}

impl Scale {
    /// In some optimal plan every offset is a sum of sizes, some of them rounded up to alignments, above offset 0 or
    /// a pinned item: a multiple of their greatest common divisor.
    pub(crate) fn of(all: &[&Item], pinned: &impl Fn(usize) -> Option<u64>) -> Self {
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

    /// Bytes added by rounding an item up to `alignment` or the grain.
    pub(crate) fn padding(&self, bytes: u64, alignment: u64) -> u64 {
        align_up(bytes, alignment.max(self.grain)) - bytes
    }

    pub(crate) const fn grain(&self) -> u64 {
        self.grain
    }
}

/// The smallest multiple of a power of two that is at least `bytes`.
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
