//! What is taken out of a plan, to be placed anew.

use crate::bound;
use crate::problem::{Pin, Problem};
use crate::skyline::Placing;

/// Items of a plan that are taken out.
pub(super) struct Hole {
    pub(super) members: Vec<u32>,
    /// Everything lies at this offset or above.
    from: u64,
    /// The sections that the members cover.
    start: u32,
    end: u32,
}

impl Hole {
    /// What lies at `from` or above, at some time in the sections from `first` to `last`.
    pub(super) fn new(problem: &Problem, placing: &Placing, from: u64, (first, last): (u32, u32)) -> Self {
        let is_in = |&item: &usize| {
            placing.offsets[item] >= from && problem.start[item] < last && first < problem.end[item]
        };
        let members: Vec<u32> = (0..problem.len()).filter(is_in).map(|item| item as u32).collect();
        let start = members.iter().map(|&item| problem.start[item as usize]).min().unwrap_or(0);
        let end = members.iter().map(|&item| problem.end[item as usize]).max().unwrap_or(0);
        Self { members, from, start, end }
    }

    /// The members, above what stays below them and around what stays beside them.
    pub(super) fn problem(&self, problem: &Problem, placing: &Placing) -> Problem {
        let mut part = Problem {
            start: Vec::new(),
            end: Vec::new(),
            size: Vec::new(),
            align: Vec::new(),
            padding: Vec::new(),
            width: Vec::new(),
            load: vec![0; (self.end - self.start) as usize],
            base: Vec::new(),
            pins: Vec::new(),
            unit: problem.unit,
            floor: 0,
            origin: Vec::new(),
        };
        let mut base = Base::new((self.end - self.start) as usize);
        let clip = |start: u32, end: u32| {
            (start.max(self.start) - self.start, end.min(self.end).saturating_sub(self.start))
        };
        let mut members = self.members.iter().copied().peekable();
        for item in 0..problem.len() {
            let (start, end) = (problem.start[item], problem.end[item]);
            let (offset, size) = (placing.offsets[item], problem.size[item]);
            if members.next_if_eq(&(item as u32)).is_some() {
                part.start.push(start - self.start);
                part.end.push(end - self.start);
                part.size.push(size);
                part.width.push(problem.width[item]);
                part.align.extend(problem.align.get(item));
                part.padding.extend(problem.padding.get(item));
                continue;
            }
            if end <= self.start || self.end <= start {
                continue;
            }
            let (start, end) = clip(start, end);
            if offset < self.from {
                base.raise(start as usize, end as usize, offset + size);
            } else {
                part.pins.push(Pin { start, end, offset, size, padding: problem.padding(item) });
            }
        }
        for pin in problem.pins.iter().filter(|pin| pin.start < self.end && self.start < pin.end) {
            let (start, end) = clip(pin.start, pin.end);
            part.pins.push(Pin { start, end, ..*pin });
        }
        part.base = base.heights();
        // How high each section will be at least.
        let ranges = part.start.iter().copied().zip(part.end.iter().copied());
        bound::add_up(&mut part.load, ranges, part.size.iter().copied());
        for (load, base) in part.load.iter_mut().zip(&part.base) {
            *load += base;
        }
        part
    }
}

/// The highest of some heights, for each section.
struct Base {
    /// Node k stands for what nodes 2k and 2k + 1 do; the sections come behind the inner nodes.
    nodes: Vec<u64>,
}

impl Base {
    fn new(sections: usize) -> Self {
        Self { nodes: vec![0; 2 * sections] }
    }

    fn raise(&mut self, start: usize, end: usize, height: u64) {
        let sections = self.nodes.len() / 2;
        let (mut left, mut right) = (start + sections, end + sections);
        while left < right {
            if left % 2 == 1 {
                self.nodes[left] = self.nodes[left].max(height);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.nodes[right] = self.nodes[right].max(height);
            }
            left /= 2;
            right /= 2;
        }
    }

    fn heights(mut self) -> Vec<u64> {
        let sections = self.nodes.len() / 2;
        for node in 2..self.nodes.len() {
            self.nodes[node] = self.nodes[node].max(self.nodes[node / 2]);
        }
        self.nodes.split_off(sections)
    }
}
