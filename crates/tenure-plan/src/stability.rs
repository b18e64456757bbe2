//! Keeps items at their previous offsets as far as the peak allows.
//!
//! Such items are pinned at their previous offsets while the others are planned. If one of the others ends too high,
//! the items alive at that time are unpinned, and the plan is made again.

use std::collections::BTreeMap;

use crate::config::{Budget, is_past};
use crate::plan::{by_class, moved};
use crate::skyline::FEW;
use crate::solve::{ClassPlanner, Effort};
use crate::{Item, Plan, PlanConfig, Stability};

/// The number of rounds of unpinning, after which all items are unpinned.
const ROUNDS: usize = 12;

/// Offsets that are low enough and move fewer items than the plan.
pub(crate) fn keep_previous(
    items: &[Item],
    plan: &Plan,
    options: &PlanConfig,
    budget: &mut Budget,
    effort: Effort,
) -> Option<Vec<u64>> {
    let Stability::Within(thousandths) = options.stability else { return None };
    if plan.moved == 0 || is_past(budget.deadline()) {
        return None;
    }
    let mut offsets = plan.offsets.clone();
    let mut total = plan.peak;
    let origin = by_class(items);
    let groups = origin.chunk_by(|&a, &b| items[a as usize].class == items[b as usize].class);
    for (class, origin) in plan.classes.iter().zip(groups) {
        if is_past(budget.deadline()) {
            break;
        }
        let others = total - class.peak;
        let most = match options.capacity {
            Some(capacity) => capacity.saturating_sub(others).max(class.peak),
            None => class.peak.saturating_add(part_of(class.peak, thousandths)),
        };
        let is_elsewhere =
            |&at: &u32| items[at as usize].previous.is_some_and(|previous| previous != offsets[at as usize]);
        if !origin.iter().any(is_elsewhere) {
            continue;
        }
        if let Some(space) = settle_class(items, origin, most, budget, effort) {
            total = others + space.peak();
            space.write(&mut offsets);
        }
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

/// A plan of a class within `most` that keeps some previous offsets.
struct Settled<'a> {
    items: &'a [Item],
    origin: &'a [u32],
    /// The kept offset of each item of `origin`.
    kept: Vec<Option<u64>>,
    space: ClassPlanner,
}

impl Settled<'_> {
    fn peak(&self) -> u64 {
        self.space.peak()
    }

    fn write(&self, offsets: &mut [u64]) {
        for (&at, kept) in self.origin.iter().zip(&self.kept) {
            if let Some(offset) = self.items[at as usize].pinned.or(*kept) {
                offsets[at as usize] = offset;
            }
        }
        for (at, offset) in self.space.offsets() {
            offsets[at as usize] = offset;
        }
    }
}

/// Keeps as many offsets as possible below `most`, within the budget. Unpins more each time that another item ends
/// above it.
fn settle_class<'a>(
    items: &'a [Item],
    origin: &'a [u32],
    most: u64,
    budget: &mut Budget,
    effort: Effort,
) -> Option<Settled<'a>> {
    let deadline = budget.deadline();
    let mut kept = keepable(items, origin, most);
    for round in 0..ROUNDS {
        if kept.iter().all(Option::is_none) || (round > 0 && origin.len() > FEW && budget.is_over()) {
            return None;
        }
        let fixed = |k: usize| items[origin[k] as usize].pinned.or(kept[k]);
        let mut space = ClassPlanner::within(items, origin, fixed, || is_past(deadline))?;
        // In a frame a pass takes some microseconds.
        if round > 0 && origin.len() > FEW {
            budget.spend(origin.len() as u64);
        }
        if space.peak() > most && !budget.is_over() {
            let mut share = budget.share(8);
            space.improve(most, &mut share, effort);
            budget.spend(share.spent());
        }
        if space.peak() <= most {
            return Some(Settled { items, origin, kept, space });
        }
        let is_high = |(at, offset): &(u32, u64)| offset + items[*at as usize].size > most;
        let high = space.offsets().filter(is_high).map(|(at, _)| at);
        let crowded = spans(high.map(|at| (items[at as usize].first, items[at as usize].last)));
        for (&at, kept) in origin.iter().zip(&mut kept) {
            if lives_during(&crowded, &items[at as usize]) {
                *kept = None;
            }
        }
    }
    None
}

/// The previous offsets that are low enough and do not conflict with each other.
fn keepable(items: &[Item], origin: &[u32], most: u64) -> Vec<Option<u64>> {
    let mut kept = vec![None; origin.len()];
    let mut events = Vec::new();
    let item_of = |k: u32| &items[origin[k as usize] as usize];
    for k in 0..origin.len() as u32 {
        let item = item_of(k);
        let usable = |offset: &u64| {
            offset.is_multiple_of(item.alignment)
                && offset.checked_add(item.size).is_some_and(|top| top <= most)
        };
        if let Some(offset) = item.pinned.or(item.previous.filter(usable)) {
            kept[k as usize] = Some(offset);
            events.push((item.first, true, k));
            events.push((item.last, false, k));
        }
    }
    // Ends sort before beginnings at the same time.
    events.sort_unstable();
    let mut alive: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, begins, k) in events {
        let item = item_of(k);
        let Some(offset) = kept[k as usize] else { continue };
        if !begins {
            alive.remove(&offset);
            continue;
        }
        let top = offset + item.size;
        let below = alive.range(..offset).next_back().map(|(_, &other)| other);
        let below =
            below.filter(|&other| kept[other as usize].is_some_and(|at| at + item_of(other).size > offset));
        let rivals: Vec<u32> =
            below.into_iter().chain(alive.range(offset..top).map(|(_, &other)| other)).collect();
        let is_free = rivals.iter().all(|&other| item_of(other).pinned.is_none());
        if rivals.is_empty() || (item.pinned.is_some() && is_free) {
            for other in rivals {
                if let Some(offset) = kept[other as usize].take() {
                    alive.remove(&offset);
                }
            }
            alive.insert(offset, k);
        } else {
            kept[k as usize] = None;
        }
    }
    for (&at, kept) in origin.iter().zip(&mut kept) {
        if items[at as usize].pinned.is_some() {
            *kept = None;
        }
    }
    kept
}

/// Ranges of time, merged if they touch.
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
