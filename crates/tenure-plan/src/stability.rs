//! Items stay where they were, as far as the peak allows.
//!
//! What keeps its place is pinned there while the rest is planned. Where the rest then ends too high,
//! whatever lived at that time is let go, and the rest is planned again.

use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::planner::moved;
use crate::solve::{Effort, Space};
use crate::{ClassPlan, Item, Options, Plan, Stability};

/// How often items are let go before all of them are.
const ROUNDS: usize = 12;

/// Offsets that move fewer items than those of the plan, and are low enough.
pub(crate) fn settle(
    items: &[Item],
    plan: &Plan,
    options: &Options,
    budget: &mut Budget,
    effort: Effort,
) -> Option<Vec<u64>> {
    let Stability::Within(thousandths) = options.stability else { return None };
    if plan.moved == 0 {
        return None;
    }
    let mut offsets = plan.offsets.clone();
    let mut total = plan.peak;
    for class in &plan.classes {
        let most = match options.capacity {
            Some(capacity) => capacity.saturating_sub(total - class.peak).max(class.peak),
            None => class.peak.saturating_add(part_of(class.peak, thousandths)),
        };
        let peak = settle_class(items, class, most, &mut offsets, budget, effort);
        total = total - class.peak + peak;
    }
    for (item, offset) in items.iter().zip(&mut offsets).filter(|(item, _)| item.size == 0) {
        let previous = item.previous.filter(|previous| previous.is_multiple_of(item.alignment));
        *offset = item.pinned.or(previous).unwrap_or(*offset);
    }
    (moved(items, &offsets) < plan.moved).then_some(offsets)
}

fn part_of(bytes: u64, thousandths: u32) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(thousandths) / 1000).unwrap_or(u64::MAX)
}

/// Changes the offsets of a class such that they pass `most` nowhere. Returns its peak.
fn settle_class(
    items: &[Item],
    class: &ClassPlan,
    most: u64,
    offsets: &mut [u64],
    budget: &mut Budget,
    effort: Effort,
) -> u64 {
    let is_here = |at: &u32| items[*at as usize].class == class.class && items[*at as usize].size > 0;
    let origin: Vec<u32> = (0..items.len() as u32).filter(is_here).collect();
    let mut kept = keepable(items, &origin, most);
    for _ in 0..ROUNDS {
        if kept.iter().all(Option::is_none) {
            break;
        }
        let mut space = Space::new(items, &origin, |at| items[at as usize].pinned.or(kept[at as usize]));
        if space.peak() > most && !budget.is_over() {
            let mut share = budget.share(8);
            space.improve(most, &mut share, effort);
            budget.spend(share.spent());
        }
        if space.peak() <= most {
            for &at in &origin {
                if let Some(offset) = items[at as usize].pinned.or(kept[at as usize]) {
                    offsets[at as usize] = offset;
                }
            }
            for (at, offset) in space.offsets() {
                offsets[at as usize] = offset;
            }
            return space.peak();
        }
        let is_high = |(at, offset): &(u32, u64)| offset + items[*at as usize].size > most;
        let high: Vec<u32> = space.offsets().filter(is_high).map(|(at, _)| at).collect();
        let crowded = spans(high.iter().map(|&at| (items[at as usize].first, items[at as usize].last)));
        for &at in &origin {
            let item = &items[at as usize];
            if lives_during(&crowded, item) {
                kept[at as usize] = None;
            }
        }
    }
    class.peak
}

/// Those of the previous places that can all be taken together, and lie low enough.
fn keepable(items: &[Item], origin: &[u32], most: u64) -> Vec<Option<u64>> {
    let mut kept = vec![None; items.len()];
    let mut events = Vec::new();
    for &at in origin {
        let item = &items[at as usize];
        let usable = |offset: &u64| {
            offset.is_multiple_of(item.alignment)
                && offset.checked_add(item.size).is_some_and(|top| top <= most)
        };
        if let Some(offset) = item.pinned.or(item.previous.filter(usable)) {
            kept[at as usize] = Some(offset);
            events.push((item.first, true, at));
            events.push((item.last, false, at));
        }
    }
    // At one time, what ends ends before what begins begins.
    events.sort_unstable();
    let mut alive: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, begins, at) in events {
        let item = &items[at as usize];
        let Some(offset) = kept[at as usize] else { continue };
        if !begins {
            alive.remove(&offset);
            continue;
        }
        let top = offset + item.size;
        let below = alive.range(..offset).next_back().map(|(_, &other)| other);
        let below = below
            .filter(|&other| kept[other as usize].is_some_and(|at| at + items[other as usize].size > offset));
        let rivals: Vec<u32> =
            below.into_iter().chain(alive.range(offset..top).map(|(_, &other)| other)).collect();
        let is_free = rivals.iter().all(|&other| items[other as usize].pinned.is_none());
        if rivals.is_empty() || (item.pinned.is_some() && is_free) {
            for other in rivals {
                if let Some(offset) = kept[other as usize].take() {
                    alive.remove(&offset);
                }
            }
            alive.insert(offset, at);
        } else {
            kept[at as usize] = None;
        }
    }
    for &at in origin {
        if items[at as usize].pinned.is_some() {
            kept[at as usize] = None;
        }
    }
    kept
}

/// Times, merged where they meet.
fn spans(times: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (first, last) in times {
        match spans.last_mut() {
            Some(span) if first < span.1 => span.1 = span.1.max(last),
            _ => spans.push((first, last)),
        }
    }
    spans
}

fn lives_during(spans: &[(u64, u64)], item: &Item) -> bool {
    let after = spans.partition_point(|span| span.1 <= item.first);
    spans.get(after).is_some_and(|span| span.0 < item.last)
}
