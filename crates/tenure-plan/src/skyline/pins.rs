//! Pinned items, as obstacles.

use crate::problem::Pin;

/// Pins in a tree of bounding boxes. Pins do not overlap, so a query visits few boxes without a result.
pub(super) struct Pins {
    pins: Vec<Pin>,
    /// Node k has the children 2k and 2k + 1; the second half are leaves with some pins each.
    boxes: Vec<Bounds>,
    /// The first pin of each leaf, and the end.
    leaves: Vec<u32>,
}

/// The maximum number of pins of a leaf.
const LEAF: usize = 8;

/// The sections and heights of some pins.
#[derive(Clone, Copy)]
struct Bounds {
    start: u32,
    end: u32,
    bottom: u64,
    top: u64,
}

const NOTHING: Bounds = Bounds { start: u32::MAX, end: 0, bottom: u64::MAX, top: 0 };

impl Bounds {
    fn of(pin: &Pin) -> Self {
        Self { start: pin.start, end: pin.end, bottom: pin.offset, top: pin.top() }
    }

    fn join(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            bottom: self.bottom.min(other.bottom),
            top: self.top.max(other.top),
        }
    }

    /// Whether it may contain a pin that ends above `height` during the sections.
    const fn is_near(self, start: u32, end: u32, height: u64) -> bool {
        self.start < end && start < self.end && self.top > height
    }
}

impl Pins {
    pub(super) fn new(pins: &[Pin]) -> Self {
        let mut pins = pins.to_vec();
        let count = pins.len().div_ceil(LEAF).max(1).next_power_of_two();
        let leaves: Vec<u32> =
            (0..=count).map(|leaf| (pins.len() as u64 * leaf as u64 / count as u64) as u32).collect();
        divide(&mut pins, &leaves, true);
        let mut boxes = vec![NOTHING; 2 * count];
        for (leaf, ends) in leaves.windows(2).enumerate() {
            let pins = &pins[ends[0] as usize..ends[1] as usize];
            boxes[count + leaf] = pins.iter().map(Bounds::of).fold(NOTHING, Bounds::join);
        }
        for node in (1..count).rev() {
            boxes[node] = boxes[2 * node].join(boxes[2 * node + 1]);
        }
        Self { pins, boxes, leaves }
    }

    /// The lowest pin that ends above `height` during the sections.
    fn lowest(&self, start: u32, end: u32, height: u64) -> Option<&Pin> {
        let mut best: Option<&Pin> = None;
        let mut stack = [0u32; 64];
        let mut depth = 1;
        stack[0] = 1;
        while depth > 0 {
            depth -= 1;
            let node = stack[depth] as usize;
            let bounds = self.boxes[node];
            if !bounds.is_near(start, end, height) || best.is_some_and(|best| best.offset <= bounds.bottom) {
                continue;
            }
            let Some(leaf) = node.checked_sub(self.boxes.len() / 2) else {
                // Visit the lower child first.
                let is_left_lower = self.boxes[2 * node].bottom <= self.boxes[2 * node + 1].bottom;
                let (first, second) = if is_left_lower { (0, 1) } else { (1, 0) };
                stack[depth] = (2 * node + second) as u32;
                stack[depth + 1] = (2 * node + first) as u32;
                depth += 2;
                continue;
            };
            for pin in &self.pins[self.leaves[leaf] as usize..self.leaves[leaf + 1] as usize] {
                let is_better = best.is_none_or(|best| pin.offset < best.offset);
                if is_better && Bounds::of(pin).is_near(start, end, height) {
                    best = Some(pin);
                }
            }
        }
        best
    }

    /// A pin that overlaps this height: the shared sections, and its top.
    pub(super) fn reached(&self, start: u32, end: u32, height: u64) -> Option<(u32, u32, u64)> {
        let pin = self.lowest(start, end, height).filter(|pin| pin.offset <= height)?;
        Some((pin.start.max(start), pin.end.min(end), pin.top()))
    }

    /// The lowest bottom of the pins above a height that no pin overlaps.
    pub(super) fn bottom_above(&self, start: u32, end: u32, height: u64) -> Option<u64> {
        self.lowest(start, end, height).map(|pin| pin.offset)
    }
}

/// Orders pins such that each half of the leaves has the earlier ones or, on every other level, the lower ones.
fn divide(pins: &mut [Pin], leaves: &[u32], by_time: bool) {
    let count = leaves.len() - 1;
    if count < 2 {
        return;
    }
    let middle = (leaves[count / 2] - leaves[0]) as usize;
    if middle < pins.len() {
        if by_time {
            pins.select_nth_unstable_by_key(middle, |pin| (pin.start + pin.end, pin.offset));
        } else {
            pins.select_nth_unstable_by_key(middle, |pin| (pin.offset, pin.start));
        }
    }
    let (left, right) = pins.split_at_mut(middle);
    divide(left, &leaves[..=count / 2], !by_time);
    divide(right, &leaves[count / 2..], !by_time);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::mix;

    #[test]
    fn the_lowest_pin_equals_that_of_a_full_search() {
        for seed in 0..200 {
            let draw = |which: u64, below: u64| mix(seed << 32 ^ which) % below;
            let pin = |at: u64| {
                let start = draw(4 * at, 50) as u32;
                let end = start + 1 + draw(4 * at + 1, 12) as u32;
                Pin { start, end, offset: draw(4 * at + 2, 90), size: 1 + draw(4 * at + 3, 9), padding: 0 }
            };
            let all: Vec<Pin> = (0..draw(1 << 20, 60)).map(pin).collect();
            let pins = Pins::new(&all);
            for ask in 0..50 {
                let start = draw(9000 + 3 * ask, 60) as u32;
                let end = start + 1 + draw(9001 + 3 * ask, 20) as u32;
                let height = draw(9002 + 3 * ask, 110);
                let near = all.iter().filter(|pin| pin.start < end && start < pin.end && pin.top() > height);
                let lowest = near.map(|pin| pin.offset).min();
                assert_eq!(pins.bottom_above(start, end, height), lowest, "{seed} {ask}");
                let reached = pins.reached(start, end, height);
                assert_eq!(reached.is_some(), lowest.is_some_and(|bottom| bottom <= height), "{seed} {ask}");
            }
        }
    }
}
