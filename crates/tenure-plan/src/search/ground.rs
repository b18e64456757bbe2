//! Where an item can be at all, whatever else is placed: at its alignment, clear of what is pinned.

use super::Unit;
use crate::problem::Problem;

/// What limits the offsets of each item.
pub(super) struct Ground<T> {
    /// Whether nothing does.
    pub(super) is_plain: bool,
    size: Vec<T>,
    align: Vec<T>,
    /// The bytes pinned during each item's life, from the lowest on: bottom and top.
    pinned: Vec<Vec<(T, T)>>,
    /// The same for each section.
    sections: Vec<Vec<(T, T)>>,
}

impl<T: Unit> Ground<T> {
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

    /// The lowest offset at or above `least` where the item can be.
    pub(super) fn settle(&self, item: u32, least: T) -> T {
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

    /// The least number that settles at `least` or above: to lie that high, the item need only be
    /// known to lie at that number or above.
    pub(super) fn unsettle(&self, item: u32, least: T) -> T {
        if self.is_plain || least <= T::default() {
            return least;
        }
        let item = item as usize;
        let (size, align) = (self.size[item], self.align[item]);
        let one = T::of(1);
        // The highest place below `least`: everything above it settles higher.
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

    /// The highest offset from which a section has `room` units, less what is pinned there.
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
