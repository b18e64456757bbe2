//! The front door: classes, capacity and stability around what plans one class.

use crate::budget::Budget;
use crate::solve::{Effort, Space};
use crate::stability;
use crate::validate::validate;
use crate::{ClassPlan, Item, Options, Plan, PlanError, Stability};

/// Places the items in as little memory as the options leave room to find.
///
/// The plan is valid whatever the options are: [`check`](crate::check) accepts it. With the same
/// items and options, and no limit of time, it is the same on every machine.
///
/// The first plan takes O(n log n) on the inputs that were measured, and memory linear in n; all
/// else is within the budget.
///
/// # Errors
/// What is wrong with the items, see [`PlanError`].
pub fn plan(items: &[Item], options: &Options) -> Result<Plan, PlanError> {
    validate(items)?;
    let mut budget = Budget::of(options);
    let effort = Effort { threads: options.threads.max(1), seed: options.seed };
    let mut classes = classes(items, |item| item.pinned);
    // Some is left for bringing items back to where they were.
    let is_stable =
        options.stability != Stability::Ignored && items.iter().any(|item| item.previous.is_some());
    let mut share = budget.share(if is_stable { 2 } else { 1 });
    improve(&mut classes, options.capacity, &mut share, effort);
    budget.spend(share.spent());
    let mut plan = finish(items, &classes, budget.spent());
    if let Some(offsets) = stability::settle(items, &plan, options, &mut budget, effort) {
        adopt(items, &mut plan, offsets);
        plan.nodes = budget.spent();
    }
    Ok(plan)
}

/// A class with its first plan.
pub(crate) struct Class {
    number: u32,
    pub(crate) space: Space,
}

/// Plans each class for the first time.
pub(crate) fn classes(items: &[Item], pinned: impl Fn(&Item) -> Option<u64>) -> Vec<Class> {
    // What takes no bytes can be anywhere.
    let mut origin: Vec<u32> = (0..items.len() as u32).filter(|&at| items[at as usize].size > 0).collect();
    let class = |at: &u32| items[*at as usize].class;
    if origin.iter().any(|at| class(at) != class(&origin[0])) {
        origin.sort_by_key(class);
    }
    let pinned = |at: u32| pinned(&items[at as usize]);
    let groups = origin.chunk_by(|a, b| class(a) == class(b));
    groups.map(|group| Class { number: class(&group[0]), space: Space::new(items, group, pinned) }).collect()
}

/// Spends the budget on classes that are not as low as they can or need be.
pub(crate) fn improve(classes: &mut [Class], capacity: Option<u64>, budget: &mut Budget, effort: Effort) {
    for at in 0..classes.len() {
        let waiting =
            classes[at..].iter().filter(|class| class.space.peak() > class.space.lower_bound).count();
        let total: u64 = classes.iter().map(|class| class.space.peak()).sum();
        let space = &mut classes[at].space;
        // Room for this class where the others stay what they are.
        let room = capacity.map_or(0, |capacity| capacity.saturating_sub(total - space.peak()));
        if space.peak() <= space.lower_bound.max(room) || budget.is_over() {
            continue;
        }
        let mut share = budget.share(u32::try_from(waiting).unwrap_or(u32::MAX));
        space.improve(room, &mut share, effort);
        budget.spend(share.spent());
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
    for class in &mut plan.classes {
        let members =
            items.iter().zip(&offsets).filter(|(item, _)| item.class == class.class && item.size > 0);
        class.peak = members.map(|(item, offset)| offset + item.size).max().unwrap_or(0);
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
