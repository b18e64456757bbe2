//! The entry point: checks the items, and distributes the budget over the classes.

use std::num::NonZero;

use crate::config::{Budget, MAX_THREADS};
use crate::plan::{adopt, by_class, moved};
use crate::solve::{ClassPlanner, Effort};
use crate::{
    ClassPlan, Fault, Item, MAX_BYTES, MAX_ITEMS, Plan, PlanConfig, PlanError, Stability, check, stability,
};

/// Places the items with the lowest peak found within the budget.
///
/// The plan is always valid: [`check`](crate::check) accepts it. With the same items and options, and no time limit,
/// it is the same on every machine.
///
/// Every call makes a first plan, which takes O(n log n) on the measured inputs, for any number of classes, and
/// memory linear in n. All further steps are within the budget. After a [`time`](PlanConfig::time) limit no further
/// step begins, and a running step ends soon: none takes longer than the first plan.
///
/// # Errors
/// [`PlanError`] for items that cannot be planned.
pub fn plan(items: &[Item], options: &PlanConfig) -> Result<Plan, PlanError> {
    validate(items)?;
    let mut budget = Budget::of(options);
    let effort = Effort { threads: threads(options), seed: options.seed };
    let mut classes = classes(items);
    // A share is reserved for returning items to their previous offsets.
    let is_stable =
        options.stability != Stability::Ignored && items.iter().any(|item| item.previous.is_some());
    let mut share = budget.share(if is_stable { 2 } else { 1 });
    improve(&mut classes, options.capacity, &mut share, effort);
    budget.spend(share.spent());
    let mut plan = finish(items, &classes, budget.spent());
    if let Some(offsets) = stability::keep_previous(items, &plan, options, &mut budget, effort) {
        adopt(items, &mut plan, offsets);
    }
    plan.nodes = budget.spent();
    Ok(plan)
}

/// The number of threads to use. With a time limit, more threads than processors would delay each other past it.
fn threads(options: &PlanConfig) -> usize {
    let threads = options.threads.clamp(1, MAX_THREADS);
    match options.time {
        Some(_) => threads.min(std::thread::available_parallelism().map_or(1, NonZero::get)),
        None => threads,
    }
}

/// A class with its first plan.
struct Class {
    number: u32,
    space: ClassPlanner,
}

/// Makes the first plan of each class.
fn classes(items: &[Item]) -> Vec<Class> {
    let origin = by_class(items);
    let class = |at: &u32| items[*at as usize].class;
    let groups = origin.chunk_by(|a, b| class(a) == class(b));
    let pinned = |at: u32| items[at as usize].pinned;
    groups
        .map(|group| Class { number: class(&group[0]), space: ClassPlanner::new(items, group, pinned) })
        .collect()
}

/// Spends the budget on classes whose peak is above their lower bound and must become lower.
fn improve(classes: &mut [Class], capacity: Option<u64>, budget: &mut Budget, effort: Effort) {
    let is_waiting = |class: &Class| class.space.peak() > class.space.lower_bound;
    let mut waiting = classes.iter().filter(|class| is_waiting(class)).count();
    let mut total: u64 = classes.iter().map(|class| class.space.peak()).sum();
    for class in classes {
        if waiting == 0 || budget.is_over() {
            return;
        }
        if !is_waiting(class) {
            continue;
        }
        let space = &mut class.space;
        // The bytes left for this class if the other peaks stay.
        let others = total - space.peak();
        let room = capacity.map_or(0, |capacity| capacity.saturating_sub(others));
        if space.peak() > room {
            let mut share = budget.share(u32::try_from(waiting).unwrap_or(u32::MAX));
            space.improve(room, &mut share, effort);
            budget.spend(share.spent());
            total = others + space.peak();
        }
        waiting -= 1;
    }
}

fn finish(items: &[Item], classes: &[Class], nodes: u64) -> Plan {
    let mut offsets: Vec<u64> = items.iter().map(|item| item.pinned.unwrap_or(0)).collect();
    for class in classes {
        for (at, offset) in class.space.offsets() {
            offsets[at as usize] = offset;
        }
    }
    let of_class = |class: &Class| ClassPlan {
        class: class.number,
        peak: class.space.peak(),
        lower_bound: class.space.lower_bound,
    };
    let classes: Vec<ClassPlan> = classes.iter().map(of_class).collect();
    let peak = classes.iter().map(|class| class.peak).sum();
    let lower_bound = classes.iter().map(|class| class.lower_bound).sum();
    let moved = moved(items, &offsets);
    Plan { offsets, peak, lower_bound, proven: peak == lower_bound, moved, nodes, classes }
}

/// Finds the first error in the items.
pub(crate) fn validate(items: &[Item]) -> Result<(), PlanError> {
    if items.len() > MAX_ITEMS {
        return Err(PlanError::TooMany { items: items.len() });
    }
    // The end of all items if stacked.
    let (mut top, mut pinned, mut pins) = (0u64, 0u64, 0usize);
    for (item, it) in items.iter().enumerate() {
        if it.first >= it.last {
            return Err(PlanError::EmptyLifetime { item, first: it.first, last: it.last });
        }
        if !it.alignment.is_power_of_two() {
            return Err(PlanError::BadAlignment { item, alignment: it.alignment });
        }
        if let Some(offset) = it.pinned {
            if !offset.is_multiple_of(it.alignment) {
                return Err(PlanError::PinnedUnaligned { item, offset, alignment: it.alignment });
            }
            pinned = offset.saturating_add(it.size).max(pinned);
            pins += 1;
        }
        top = top.saturating_add(it.size).saturating_add(it.alignment - 1);
        if top.saturating_add(pinned) > MAX_BYTES {
            return Err(PlanError::TooLarge { item });
        }
    }
    if pins < 2 { Ok(()) } else { validate_pins(items) }
}

fn validate_pins(items: &[Item]) -> Result<(), PlanError> {
    let at: Vec<usize> = (0..items.len()).filter(|&item| items[item].pinned.is_some()).collect();
    let pinned: Vec<Item> = at.iter().map(|&item| items[item]).collect();
    let offsets: Vec<u64> = pinned.iter().filter_map(|item| item.pinned).collect();
    match check(&pinned, &offsets) {
        Err(Fault::Overlap { item, other }) => {
            Err(PlanError::PinnedConflict { item: at[item], other: at[other] })
        }
        _ => Ok(()),
    }
}
