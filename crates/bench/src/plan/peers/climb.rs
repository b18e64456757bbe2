//! Hill climbing over orders, as TVM's planner does: swap two items of the order, keep what is no
//! worse.

use tenure_plan::Item;

use super::gaps::{Fit, peak_of, place};
use super::orders::{Key, order};
use crate::suballoc::rng::Rng;

const STEPS: usize = 500;

pub(super) fn peak(items: &[Item]) -> u64 {
    let mut rng = Rng::new(1);
    let mut order = order(items, Key::SizeThenWidth);
    let mut offsets = place(items, &order, Fit::First);
    let mut best = peak_of(items, &offsets);
    let bound = load(items);
    for _ in 0..STEPS {
        if best == bound || order.len() < 2 {
            break;
        }
        // One of the two is among the highest.
        let is_high = |&rank: &usize| offsets[order[rank]] + items[order[rank]].size == best;
        let high: Vec<usize> = (0..order.len()).filter(is_high).collect();
        let (a, b) = (high[rng.index(high.len())], rng.index(order.len()));
        order.swap(a, b);
        let next = place(items, &order, Fit::First);
        let peak = peak_of(items, &next);
        if peak <= best {
            (best, offsets) = (peak, next);
        } else {
            order.swap(a, b);
        }
    }
    best
}

/// The most that is alive at once.
fn load(items: &[Item]) -> u64 {
    let alive = |time: u64| {
        items.iter().filter(|item| item.first <= time && time < item.last).map(|item| item.size).sum()
    };
    items.iter().map(|item| alive(item.first)).max().unwrap_or(0)
}
