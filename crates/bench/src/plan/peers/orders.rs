//! Greedy planners: as AMD's Render Pipeline Shaders and TFLite (best fit), TFLite Micro (first gap)
//! and XLA (the better of several orders) do.

use std::cmp::Reverse;

use tenure_plan::Item;

use super::gaps::{Fit, peak_of, place};

/// Greatest first, but for the start.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    Size,
    Width,
    Area,
    Start,
    WidthThenSize,
    SizeThenWidth,
}

pub(super) const TWO: [Key; 2] = [Key::SizeThenWidth, Key::WidthThenSize];
pub(super) const ALL: [Key; 6] =
    [Key::Size, Key::Width, Key::Area, Key::Start, Key::WidthThenSize, Key::SizeThenWidth];

pub(super) fn order(items: &[Item], key: Key) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let width = |item: &Item| item.last - item.first;
    order.sort_by_key(|&at| {
        let item = &items[at];
        match key {
            Key::Size => Reverse((item.size, 0)),
            Key::Width => Reverse((width(item), 0)),
            Key::Area => Reverse((width(item) * item.size, 0)),
            Key::Start => Reverse((u64::MAX - item.first, 0)),
            Key::WidthThenSize => Reverse((width(item), item.size)),
            Key::SizeThenWidth => Reverse((item.size, width(item))),
        }
    });
    order
}

pub(super) fn peak(items: &[Item], key: Key, fit: Fit) -> u64 {
    peak_of(items, &place(items, &order(items, key), fit))
}

pub(super) fn best(items: &[Item], keys: &[Key]) -> u64 {
    keys.iter().map(|&key| peak(items, key, Fit::Best)).min().unwrap_or(0)
}
