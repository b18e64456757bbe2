//! The planning problem of one class, in sections of time and units of size.

use crate::Item;
use crate::bound;
use crate::sections::{Scale, sections};

/// The items of one class in sections and units. Items are identified by their index here.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    /// The first section of each item.
    pub(crate) start: Vec<u32>,
    /// The section after the last one of each item.
    pub(crate) end: Vec<u32>,
    /// Sizes in units.
    pub(crate) size: Vec<u64>,
    /// Alignments in units; empty if all are 1.
    pub(crate) align: Vec<u64>,
    /// Difference between the size in units and the exact size, in bytes; empty if all are 0. The topmost item does
    /// not need this padding.
    pub(crate) padding: Vec<u64>,
    /// The length of each item's lifetime.
    pub(crate) width: Vec<u64>,
    /// The sum of the sizes of the items alive in each section, in units.
    pub(crate) load: Vec<u64>,
    /// The filled height of each section, in units; empty if all are 0.
    pub(crate) base: Vec<u64>,
    /// The pinned items; `load` includes them, the items do not.
    pub(crate) pins: Vec<Pin>,
    /// Bytes of a unit.
    pub(crate) unit: u64,
    /// A lower bound of the peak, in bytes.
    pub(crate) floor: u64,
    /// The index of each item in the caller's list.
    pub(crate) origin: Vec<u32>,
}

/// An item with a fixed offset: its sections, offset and size in units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pin {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// Bytes by which the size in units exceeds the exact one.
    pub(crate) padding: u64,
}

impl Pin {
    pub(crate) const fn top(&self) -> u64 {
        self.offset + self.size
    }
}

impl Problem {
    /// The problem of the nonempty items at the indices `origin`. `pinned(k)` is the fixed offset of the k-th of
    /// them.
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

    /// The end of an item, in bytes.
    pub(crate) fn top(&self, item: usize, offset: u64) -> u64 {
        (offset + self.size[item]) * self.unit - self.padding(item)
    }

    /// The highest end of all items, in bytes.
    pub(crate) fn peak(&self, offsets: &[u64]) -> u64 {
        let tops = offsets.iter().enumerate().map(|(item, &offset)| self.top(item, offset));
        tops.max().unwrap_or(0).max(self.pinned_top())
    }

    pub(crate) fn padding(&self, item: usize) -> u64 {
        self.padding.get(item).copied().unwrap_or(0)
    }

    /// The highest end of the pinned items, in bytes.
    pub(crate) fn pinned_top(&self) -> u64 {
        self.pins.iter().map(|pin| pin.top() * self.unit - pin.padding).max().unwrap_or(0)
    }

    /// Replaces the filled heights by pins.
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

    /// The lowest possible peak of at least `bytes`: every item ends at a multiple of the unit, minus its padding.
    pub(crate) fn reachable(&self, bytes: u64) -> u64 {
        let with = |padding: u64| (bytes + padding).next_multiple_of(self.unit) - padding;
        let paddings = self.padding.iter().copied().chain(self.pins.iter().map(|pin| pin.padding));
        let least = paddings.map(with).min();
        if self.padding.is_empty() && self.pins.is_empty() { with(0) } else { least.unwrap_or(bytes) }
    }

    /// The number of items to place.
    pub(crate) fn len(&self) -> usize {
        self.start.len()
    }

    pub(crate) fn sections(&self) -> usize {
        self.load.len()
    }

    /// Whether every item can have any multiple of the unit as its offset.
    pub(crate) fn is_plain(&self) -> bool {
        self.align.is_empty() && self.pins.is_empty()
    }

    pub(crate) fn align(&self, item: usize) -> u64 {
        self.align.get(item).copied().unwrap_or(1)
    }
}
