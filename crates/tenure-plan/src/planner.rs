//! The front door: classes, capacity and stability around what plans one class.

use std::num::NonZero;

use crate::budget::Budget;
use crate::options::MAX_THREADS;
use crate::solve::{Effort, Space};
use crate::stability;
use crate::validate::validate;
use crate::{ClassPlan, Item, Options, Plan, PlanError, Stability};

/// Places the items in as little memory as the options leave room to find.
///
/// The plan is valid whatever the options are: [`check`](crate::check) accepts it. With the same
/// items and options, and no limit of time, it is the same on every machine.
///
/// The first plan takes O(n log n) on the inputs that were measured, whatever the number of classes,
/// and memory linear in n: this is the least that a call takes. All else is within the budget. With a
/// limit of [`time`](Options::time) nothing begins once it is over, and what has begun ends soon:
/// nothing takes longer at once than the first plan did.
///
/// # Errors
/// What is wrong with the items, see [`PlanError`].
pub fn plan(items: &[Item], options: &Options) -> Result<Plan, PlanError> {
    validate(items)?;
    let mut budget = Budget::of(options);
    let effort = Effort { threads: threads(options), seed: options.seed };
    let mut classes = classes(items);
    // Some is left for bringing items back to where they were.
    let is_stable =
        options.stability != Stability::Ignored && items.iter().any(|item| item.previous.is_some());
    let mut share = budget.share(if is_stable { 2 } else { 1 });
    improve(&mut classes, options.capacity, &mut share, effort);
    budget.spend(share.spent());
    let mut plan = finish(items, &classes, budget.spent());
    if let Some(offsets) = stability::settle(items, &plan, options, &mut budget, effort) {
        adopt(items, &mut plan, offsets);
    }
    plan.nodes = budget.spent();
    Ok(plan)
}

/// How many threads are used. Under a limit of time, more than there are processors would only wait
/// for each other beyond it.
fn threads(options: &Options) -> usize {
    let threads = options.threads.clamp(1, MAX_THREADS);
    match options.time {
        Some(_) => threads.min(std::thread::available_parallelism().map_or(1, NonZero::get)),
        None => threads,
    }
}

/// A class with its first plan.
struct Class {
    number: u32,
    space: Space,
}

/// The items that take any bytes, by class. (What takes none can be anywhere.)
pub(crate) fn by_class(items: &[Item]) -> Vec<u32> {
    let mut origin: Vec<u32> = (0..items.len() as u32).filter(|&at| items[at as usize].size > 0).collect();
    let class = |at: &u32| items[*at as usize].class;
    if origin.iter().any(|at| class(at) != class(&origin[0])) {
        origin.sort_by_key(class);
    }
    origin
}

/// Plans each class for the first time.
fn classes(items: &[Item]) -> Vec<Class> {
    let origin = by_class(items);
    let class = |at: &u32| items[*at as usize].class;
    let groups = origin.chunk_by(|a, b| class(a) == class(b));
    let pinned = |at: u32| items[at as usize].pinned;
    groups.map(|group| Class { number: class(&group[0]), space: Space::new(items, group, pinned) }).collect()
}

/// Spends the budget on classes that are not as low as they can or need be.
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
        // Room for this class where the others stay what they are.
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

/// Puts other offsets into a plan.
fn adopt(items: &[Item], plan: &mut Plan, offsets: Vec<u64>) {
    let classes = &mut plan.classes;
    for class in classes.iter_mut() {
        class.peak = 0;
    }
    for (item, offset) in items.iter().zip(&offsets).filter(|(item, _)| item.size > 0) {
        if let Ok(at) = classes.binary_search_by_key(&item.class, |class| class.class) {
            classes[at].peak = classes[at].peak.max(offset + item.size);
        }
    }
    plan.peak = plan.classes.iter().map(|class| class.peak).sum();
    plan.proven = plan.peak == plan.lower_bound;
    plan.moved = moved(items, &offsets);
    plan.offsets = offsets;
}

/// How many items are not where they were.
pub(crate) fn moved(items: &[Item], offsets: &[u64]) -> usize {
    let pairs = items.iter().zip(offsets);
    pairs.filter(|(item, offset)| item.previous.is_some_and(|previous| previous != **offset)).count()
}
