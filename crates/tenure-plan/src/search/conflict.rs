//! Which placements a failure depends on: what the search need not change, and what it must.
//!
//! A failure follows from bounds, a bound from others that are lower, and in the end from items that
//! were placed. So every question is "why does this item lie at this offset or above?", and the
//! answers are found from the highest offset down; none can depend on itself.

use std::collections::BinaryHeap;

use super::Unit;
use super::arena::View;
use super::bound::{Bounds, Dead};
use super::ground::Ground;
use super::lid::Lid;
use super::sets::{self, Sets};
use crate::problem::Problem;

/// An item was raised by another one that was placed below it; or placed, if `by` is itself.
#[derive(Clone, Copy)]
struct Raise {
    item: u32,
    by: u32,
    /// The entry before about the same item.
    before: u32,
}

const NONE: u32 = u32::MAX;

/// What has been placed where, and what that did.
pub(super) struct Placements<T> {
    pub(super) offsets: Vec<T>,
    size: Vec<T>,
    pub(super) placed: Vec<u64>,
    trail: Vec<Raise>,
    /// For each item, the latest entry of the trail that says what raised it.
    raised: Vec<u32>,
    /// For each item, those that it overlaps.
    neighbours: Sets,
}

/// For each item, those that it overlaps: what begins before it ends, without what ends before it
/// begins.
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

    /// Where the trail ends now.
    pub(super) fn now(&self) -> usize {
        self.trail.len()
    }

    /// Takes back everything after.
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

    /// Notes that the item `at` of a state is placed where it can be lowest.
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
    pub(super) fn add_raisers(&self, conflict: &mut [u64], ground: &Ground<T>, item: u32, least: T) {
        let size = self.size[item as usize];
        let mut least = ground.unsettle(item, least);
        let mut at = self.raised[item as usize];
        while least > T::default() && at != NONE {
            let raise = self.trail[at as usize];
            at = raise.before;
            if at != NONE && self.top(self.trail[at as usize].by) >= least {
                continue;
            }
            sets::insert(conflict, raise.by);
            // It lies above that one because it does not fit below.
            least = ground.unsettle(item, self.offsets[raise.by as usize] - size + T::of(1));
        }
    }
}

/// Finds the placements that a failure depends on.
#[derive(Default)]
pub(super) struct Blame<T> {
    pub(super) conflict: Vec<u64>,
    queue: BinaryHeap<(T, usize)>,
    /// How high each item has been asked about.
    asked: Vec<T>,
}

/// What is known about a state.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a, T> {
    pub(super) view: View<'a, T>,
    /// The lower bounds of offsets that held items have.
    pub(super) eff: &'a [T],
    pub(super) ground: &'a Ground<T>,
    pub(super) lid: &'a Lid<T>,
    pub(super) placements: &'a Placements<T>,
    pub(super) reasons: &'a Sets,
}

impl<T: Unit> Blame<T> {
    pub(super) fn new(items: usize) -> Self {
        Self { conflict: vec![0; items.div_ceil(64).max(1)], queue: BinaryHeap::new(), asked: Vec::new() }
    }

    /// A failure that depends on where everything in a state can be.
    pub(super) fn all(&mut self, scene: Scene<'_, T>) {
        self.conflict.fill(0);
        for (&item, &low) in scene.view.item.iter().zip(scene.view.low) {
            scene.placements.add_raisers(&mut self.conflict, scene.ground, item, low);
        }
    }

    /// A failure that the bounds show.
    pub(super) fn find(&mut self, scene: Scene<'_, T>, bounds: &Bounds<T>, dead: Dead) {
        let Scene { view, eff, ground, lid, placements, reasons } = scene;
        self.conflict.fill(0);
        self.queue.clear();
        self.asked.clear();
        self.asked.resize(view.len(), T::default());
        match dead {
            Dead::Item(k) => self.ask(k, lid.of(view.item[k]) - view.size[k] + T::of(1)),
            Dead::Section(x) => self.ask_section(scene, x, None),
        }
        while let Some((least, k)) = self.queue.pop() {
            if least < self.asked[k] {
                continue;
            }
            let (item, low) = (view.item[k], view.low[k]);
            let least = ground.unsettle(item, least);
            placements.add_raisers(&mut self.conflict, ground, item, least.min(low));
            if low >= least {
                continue;
            }
            if let Some((x, forced)) = bounds.cause(view, eff, k, least) {
                let first = (forced.first, least - view.size[forced.first]);
                self.ask_section(scene, x, Some(first));
                continue;
            }
            if !view.is_held(k) {
                debug_assert!(false, "nothing raised the item");
                return self.all(scene);
            }
            // It is held, and so lies on another one.
            sets::add(&mut self.conflict, reasons.row(view.why[k] as usize));
            let neighbours = placements.neighbours.row(item as usize).iter().zip(&placements.placed);
            for other in sets::numbers(neighbours.map(|(all, placed)| all & placed)) {
                if placements.size[other] < least {
                    sets::insert(&mut self.conflict, other as u32);
                }
            }
            let own = low + view.size[k];
            for other in (0..view.len()).filter(|&other| other != k && view.overlaps(k, other)) {
                self.ask(other, own.min(least - view.size[other]));
            }
        }
    }

    /// Why is an item at `least` or above?
    fn ask(&mut self, k: usize, least: T) {
        if self.asked[k] < least {
            self.asked[k] = least;
            self.queue.push((least, k));
        }
    }

    /// Why is everything in a section too high to come first there, except for what does, which has a
    /// question of its own?
    fn ask_section(&mut self, scene: Scene<'_, T>, x: usize, first: Option<(usize, T)>) {
        let view = scene.view;
        let least = view.slack(scene.ground, scene.lid.most, x) + T::of(1);
        for k in (0..view.len()).filter(|&k| view.range(k).contains(&x)) {
            match first {
                Some((first, least)) if first == k => self.ask(k, least),
                _ => self.ask(k, least),
            }
        }
    }
}
