//! The placement domain of each item, independent of other items: aligned offsets that overlap no pinned item and end
//! within the capacity.

use super::Unit;
use crate::problem::Problem;

/// The alignments and pins that limit each item's offsets.
pub(super) struct Domain<T> {
    /// Whether there are no pinned items.
    pub(super) is_plain: bool,
    size: Vec<T>,
    align: Vec<T>,
    /// The pinned units during each item's lifetime, in ascending order: bottom and top.
    pinned: Vec<Vec<(T, T)>>,
    /// The pinned units during each section, likewise.
    sections: Vec<Vec<(T, T)>>,
}

impl<T: Unit> Domain<T> {
    pub(super) fn new(problem: &Problem) -> Self {
        if problem.is_plain() {
            let (size, align, pinned, sections) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            return Self { is_plain: true, size, align, pinned, sections };
        }
        let mut pins = problem.pins.clone();
        pins.sort_unstable_by_key(|pin| (pin.offset, pin.size));
        let during = |start: u32, end: u32| -> Vec<_> {
            let pins = pins.iter().filter(|pin| pin.start < end && start < pin.end);
            pins.map(|pin| (T::of(pin.offset), T::of(pin.top()))).collect()
        };
        Self {
            is_plain: false,
            size: problem.size.iter().map(|&size| T::of(size)).collect(),
            align: (0..problem.len()).map(|item| T::of(problem.align(item))).collect(),
            pinned: (0..problem.len()).map(|item| during(problem.start[item], problem.end[item])).collect(),
            sections: (0..problem.sections() as u32).map(|x| during(x, x + 1)).collect(),
        }
    }

    /// The lowest offset in the item's domain that is at least `least`.
    pub(super) fn next_valid(&self, item: u32, least: T) -> T {
        if self.is_plain {
            return least;
        }
        let item = item as usize;
        let size = self.size[item];
        let mut at = least.align_up(self.align[item]);
        for &(bottom, top) in &self.pinned[item] {
            if bottom < at + size && at < top {
                at = top.align_up(self.align[item]);
            }
        }
        at
    }

    /// The lowest number whose [`next_valid`](Self::next_valid) offset is `least` or above. An item at that number or
    /// above is at `least` or above.
    pub(super) fn weakest_cause(&self, item: u32, least: T) -> T {
        if self.is_plain || least <= T::default() {
            return least;
        }
        let item = item as usize;
        let (size, align) = (self.size[item], self.align[item]);
        let one = T::of(1);
        // The highest valid offset below `least`: the next valid offset above it is `least` or higher.
        let mut at = (least - one).align_down(align);
        for &(bottom, top) in self.pinned[item].iter().rev() {
            if bottom < at + size && at < top {
                if bottom < size {
                    return T::default();
                }
                at = (bottom - size).align_down(align);
            }
        }
        at + one
    }

    /// The highest offset above which a section has enough free units, given `room` without its pins.
    pub(super) fn slack(&self, section: u32, mut room: T) -> T {
        if self.is_plain {
            return room;
        }
        for &(bottom, top) in self.sections[section as usize].iter().rev() {
            if room >= top {
                break;
            }
            room = room - (top - bottom);
        }
        room
    }
}

/// A capacity in units.
pub(super) struct Capacity<T> {
    /// The maximum end of the highest item, including its padding.
    pub(super) most: T,
    /// The padding of each item; empty if none is padded.
    each: Vec<T>,
}

impl<T: Unit> Capacity<T> {
    pub(super) fn new(problem: &Problem, capacity: u64) -> Self {
        let reach = |padding: u64| (capacity + padding) / problem.unit;
        let pinned = problem.pins.iter().map(|pin| pin.padding);
        let most = problem.padding.iter().copied().chain(pinned).max().unwrap_or(0);
        let each = problem.padding.iter().map(|&padding| T::of(reach(padding))).collect();
        Self { most: T::of(reach(most)), each }
    }

    /// Whether all items have the same maximum end.
    pub(super) const fn is_uniform(&self) -> bool {
        self.each.is_empty()
    }

    pub(super) fn of(&self, item: u32) -> T {
        self.each.get(item as usize).copied().unwrap_or(self.most)
    }
}
