//! What is pinned, as obstacles.

use crate::problem::Pin;

/// Pins in blocks, so that those far away in time need no look.
pub(super) struct Pins {
    pins: Vec<Pin>,
    /// For each block: the first section, the section after the last one, and the highest top.
    blocks: Vec<(u32, u32, u64)>,
}

const BLOCK: usize = 32;

impl Pins {
    pub(super) fn new(pins: &[Pin]) -> Self {
        let mut pins = pins.to_vec();
        pins.sort_unstable_by_key(|pin| (pin.start, pin.end, pin.offset));
        let block = |pins: &[Pin]| {
            let start = pins.iter().map(|pin| pin.start).min().unwrap_or(0);
            let end = pins.iter().map(|pin| pin.end).max().unwrap_or(0);
            let top = pins.iter().map(Pin::top).max().unwrap_or(0);
            (start, end, top)
        };
        let blocks = pins.chunks(BLOCK).map(block).collect();
        Self { pins, blocks }
    }

    /// Those that end above `height`, at some time in the sections.
    fn during(&self, start: u32, end: u32, height: u64) -> impl Iterator<Item = &Pin> {
        let is_near = move |(from, to, top): (u32, u32, u64)| from < end && start < to && top > height;
        let blocks = self.blocks.iter().zip(self.pins.chunks(BLOCK));
        blocks
            .filter(move |(block, _)| is_near(**block))
            .flat_map(|(_, pins)| pins)
            .filter(move |pin| is_near((pin.start, pin.end, pin.top())))
    }

    /// A pin in the way at this height: where within the sections, and its top.
    pub(super) fn reached(&self, start: u32, end: u32, height: u64) -> Option<(u32, u32, u64)> {
        let pin = self.during(start, end, height).find(|pin| pin.offset <= height)?;
        Some((pin.start.max(start), pin.end.min(end), pin.top()))
    }

    /// Whether nothing is pinned above.
    pub(super) fn is_clear(&self, start: u32, end: u32, height: u64) -> bool {
        self.pins.is_empty() || self.during(start, end, height).next().is_none()
    }

    /// The lowest bottom of what is pinned above, where nothing is at this height.
    pub(super) fn bottom_above(&self, start: u32, end: u32, height: u64) -> Option<u64> {
        self.during(start, end, height).map(|pin| pin.offset).min()
    }
}
