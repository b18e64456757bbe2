//! Conflict analysis: finds the placements that a failure depends on, which the search must change.
//!
//! A failure follows from bounds, a bound from lower ones, and finally from placed items. Each step explains why an
//! item lies at some offset or above. Explanations proceed from the highest offset down, so that none depends on
//! itself.

use std::collections::BinaryHeap;

use super::Unit;
use super::arena::View;
use super::bound::{Bounds, Failure};
use super::domain::Capacity;
use super::domain::Domain;
use super::sets::{self, Sets};
use crate::problem::Problem;

/// An entry of the trail: an item was placed, or raised by the placement of `by` below it.
#[derive(Clone, Copy)]
struct Raise {
    item: u32,
    by: u32,
    /// The previous entry for the same item.
    before: u32,
}

const NONE: u32 = u32::MAX;

/// The placed items, and the items raised by each placement.
pub(super) struct Placements<T> {
    pub(super) offsets: Vec<T>,
    size: Vec<T>,
    pub(super) placed: Vec<u64>,
    trail: Vec<Raise>,
    /// For each item, its latest entry in the trail.
    raised: Vec<u32>,
    /// For each item, the items that overlap it in time.
    neighbours: Sets,
}

/// For each item, the items that overlap it in time: those that begin before it ends, without those that end before
/// it begins.
fn neighbours(problem: &Problem) -> Sets {
    let (n, sections) = (problem.len(), problem.sections());
    let mut begun = Sets::new(n, sections + 1);
    let mut ended = Sets::new(n, sections + 1);
    for item in 0..n {
        begun.insert(problem.start[item] as usize + 1, item as u32);
        ended.insert(problem.end[item] as usize, item as u32);
    }
    begun.accumulate();
    ended.accumulate();
    let mut neighbours = Sets::new(n, 0);
    for item in 0..n {
        let (begun, ended) = (begun.row(problem.end[item] as usize), ended.row(problem.start[item] as usize));
        let set: Vec<u64> = begun.iter().zip(ended).map(|(begun, ended)| begun & !ended).collect();
        neighbours.push(&set);
        sets::remove(neighbours.row_mut(item), item as u32);
    }
    neighbours
}

impl<T: Unit> Placements<T> {
    pub(super) fn new(problem: &Problem) -> Self {
        let n = problem.len();
        Self {
            offsets: vec![T::default(); n],
            size: problem.size.iter().map(|&size| T::of(size)).collect(),
            placed: vec![0; n.div_ceil(64).max(1)],
            trail: Vec::new(),
            raised: vec![NONE; n],
            neighbours: neighbours(problem),
        }
    }

    /// The current length of the trail.
    pub(super) fn now(&self) -> usize {
        self.trail.len()
    }

    /// Undoes all later entries.
    pub(super) fn undo(&mut self, now: usize) {
        while self.trail.len() > now {
            let Some(Raise { item, by, before }) = self.trail.pop() else { break };
            if item == by {
                sets::remove(&mut self.placed, by);
            } else {
                self.raised[item as usize] = before;
            }
        }
    }

    /// Records that the item `at` of a state is placed at its lowest offset.
    pub(super) fn place(&mut self, view: View<'_, T>, at: usize) {
        let (item, offset) = (view.item[at], view.low[at]);
        let top = offset + view.size[at];
        self.offsets[item as usize] = offset;
        sets::insert(&mut self.placed, item);
        self.trail.push(Raise { item, by: item, before: NONE });
        for k in 0..view.len() {
            if view.low[k] < top && view.overlaps(k, at) && k != at {
                let other = view.item[k];
                let before = core::mem::replace(&mut self.raised[other as usize], self.trail.len() as u32);
                self.trail.push(Raise { item: other, by: item, before });
            }
        }
    }

    fn top(&self, item: u32) -> T {
        self.offsets[item as usize] + self.size[item as usize]
    }

    /// Adds the placements that keep an item at `least` or above.
    pub(super) fn add_raisers(&self, conflict: &mut [u64], domain: &Domain<T>, item: u32, least: T) {
        let size = self.size[item as usize];
        let mut least = domain.weakest_cause(item, least);
        let mut at = self.raised[item as usize];
        while least > T::default() && at != NONE {
            let raise = self.trail[at as usize];
            at = raise.before;
            if at != NONE && self.top(self.trail[at as usize].by) >= least {
                continue;
            }
            sets::insert(conflict, raise.by);
            // The item lies above that one because it does not fit below.
            least = domain.weakest_cause(item, self.offsets[raise.by as usize] - size + T::of(1));
        }
    }
}

/// Computes the conflict set of a failure: the placements that it depends on.
pub(super) struct ConflictAnalysis<T> {
    pub(super) conflict: Vec<u64>,
    queue: BinaryHeap<(T, usize)>,
    /// The highest explained offset of each item.
    explained: Vec<T>,
}

/// The facts about a state that an analysis reads.
#[derive(Clone, Copy)]
pub(super) struct StateContext<'a, T> {
    pub(super) view: View<'a, T>,
    /// The lower bounds from postponed items.
    pub(super) lower: &'a [T],
    pub(super) domain: &'a Domain<T>,
    pub(super) capacity: &'a Capacity<T>,
    pub(super) placements: &'a Placements<T>,
    pub(super) reasons: &'a Sets,
}

impl<T: Unit> Default for ConflictAnalysis<T> {
    fn default() -> Self {
        Self { conflict: Vec::new(), queue: BinaryHeap::new(), explained: Vec::new() }
    }
}

impl<T: Unit> ConflictAnalysis<T> {
    pub(super) fn new(items: usize) -> Self {
        Self { conflict: vec![0; items.div_ceil(64).max(1)], queue: BinaryHeap::new(), explained: Vec::new() }
    }

    /// Analyses a failure that depends on the lowest offsets of all items of a state.
    pub(super) fn all(&mut self, context: StateContext<'_, T>) {
        self.conflict.fill(0);
        for (&item, &low) in context.view.item.iter().zip(context.view.low) {
            context.placements.add_raisers(&mut self.conflict, context.domain, item, low);
        }
    }

    /// Analyses a failure that the bounds prove.
    pub(super) fn find(&mut self, context: StateContext<'_, T>, bounds: &Bounds<T>, failure: Failure) {
        let StateContext { view, lower, domain, capacity, placements, reasons } = context;
        self.conflict.fill(0);
        self.queue.clear();
        self.explained.clear();
        self.explained.resize(view.len(), T::default());
        match failure {
            Failure::Item(k) => self.explain(k, capacity.of(view.item[k]) - view.size[k] + T::of(1)),
            Failure::Section(x) => self.explain_section(context, x, None),
        }
        while let Some((least, k)) = self.queue.pop() {
            if least < self.explained[k] {
                continue;
            }
            let (item, low) = (view.item[k], view.low[k]);
            let least = domain.weakest_cause(item, least);
            placements.add_raisers(&mut self.conflict, domain, item, least.min(low));
            if low >= least {
                continue;
            }
            if let Some((x, forced)) = bounds.cause(view, lower, k, least) {
                let first = (forced.first, least - view.size[forced.first]);
                self.explain_section(context, x, Some(first));
                continue;
            }
            if !view.is_postponed(k) {
                debug_assert!(false, "nothing raised the item");
                return self.all(context);
            }
            // The item is postponed, and so rests on another one.
            sets::add(&mut self.conflict, reasons.row(view.reason[k] as usize));
            let neighbours = placements.neighbours.row(item as usize).iter().zip(&placements.placed);
            for other in sets::numbers(neighbours.map(|(all, placed)| all & placed)) {
                if placements.size[other] < least {
                    sets::insert(&mut self.conflict, other as u32);
                }
            }
            let own = low + view.size[k];
            for other in (0..view.len()).filter(|&other| other != k && view.overlaps(k, other)) {
                self.explain(other, own.min(least - view.size[other]));
            }
        }
    }

    /// Queues an explanation why an item is at `least` or above.
    fn explain(&mut self, k: usize, least: T) {
        if self.explained[k] < least {
            self.explained[k] = least;
            self.queue.push((least, k));
        }
    }

    /// Queues an explanation why all items of a section are too high to be the lowest there. The lowest one, `first`,
    /// has a separate bound.
    fn explain_section(&mut self, context: StateContext<'_, T>, x: usize, first: Option<(usize, T)>) {
        let view = context.view;
        let least = view.slack(context.domain, context.capacity.most, x) + T::of(1);
        for k in (0..view.len()).filter(|&k| view.range(k).contains(&x)) {
            match first {
                Some((first, least)) if first == k => self.explain(k, least),
                _ => self.explain(k, least),
            }
        }
    }
}
