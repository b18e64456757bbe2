//! Dividing a problem into parts, at times that no item's lifetime spans.

use core::ops::Range;

use crate::problem::{Pin, Problem};

/// A part of a problem: a separate problem, with the original indices of its items.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) problem: Problem,
    pub(crate) members: Vec<u32>,
}

impl Problem {
    /// The sections of each part.
    pub(crate) fn part_ranges(&self) -> Vec<Range<u32>> {
        // The latest end of the items that start in each section.
        let mut reach = vec![0; self.sections()];
        let items = self.start.iter().copied().zip(self.end.iter().copied());
        let pins = self.pins.iter().map(|pin| (pin.start, pin.end));
        for (start, end) in items.chain(pins) {
            let reach = &mut reach[start as usize];
            *reach = end.max(*reach);
        }
        let mut ranges = Vec::new();
        let (mut from, mut to) = (0, 0);
        for (x, reach) in (0..).zip(reach) {
            to = reach.max(to);
            if to <= x + 1 {
                ranges.push(from..x + 1);
                from = x + 1;
            }
        }
        ranges
    }

    /// The parts in these ranges, which must be in order and contain every item.
    pub(crate) fn parts(&self, ranges: &[Range<u32>]) -> Vec<Part> {
        let paddings = self.padding.iter().copied().chain(self.pins.iter().map(|pin| pin.padding));
        let padding = paddings.max().unwrap_or(0);
        let mut parts: Vec<Part> = ranges.iter().map(|range| self.empty_part(range, padding)).collect();
        let part_at = |start: u32| ranges.partition_point(|range| range.end <= start);
        for item in 0..self.len() {
            let at = part_at(self.start[item]);
            let (part, first) = (&mut parts[at], ranges[at].start);
            part.members.push(item as u32);
            let problem = &mut part.problem;
            problem.start.push(self.start[item] - first);
            problem.end.push(self.end[item] - first);
            problem.size.push(self.size[item]);
            problem.width.push(self.width[item]);
            problem.origin.push(self.origin[item]);
            if let Some(&align) = self.align.get(item) {
                problem.align.push(align);
            }
            if let Some(&padding) = self.padding.get(item) {
                problem.padding.push(padding);
            }
        }
        for pin in &self.pins {
            let at = part_at(pin.start);
            let first = ranges[at].start;
            parts[at].problem.pins.push(Pin { start: pin.start - first, end: pin.end - first, ..*pin });
        }
        if let [part] = &mut parts[..] {
            part.problem.floor = self.floor;
        }
        parts
    }

    /// An empty part for items that are padded by at most `padding` bytes each.
    fn empty_part(&self, range: &Range<u32>, padding: u64) -> Part {
        let load = self.load[range.start as usize..range.end as usize].to_vec();
        let most = load.iter().copied().max().unwrap_or(0) * self.unit;
        let floor = most.saturating_sub(padding);
        let problem = Self { load, unit: self.unit, floor, ..Self::default() };
        Part { problem, members: Vec::new() }
    }
}
