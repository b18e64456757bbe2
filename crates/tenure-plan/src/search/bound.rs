//! Lower bounds of a state's offsets, and the failures that they prove.

use core::ops::Range;

use super::Unit;
use super::arena::{Derived, NONE, View};
use super::domain::Capacity;
use super::domain::Domain;

/// Lower bounds of offsets, derived from a state.
pub(super) struct Bounds<T> {
    /// The items that must be the lowest in some sections; empty before they are derived.
    forced: Vec<Forced<T>>,
    /// The resulting bounds.
    lower: Vec<T>,
}

/// Sections in which one item must be the lowest.
#[derive(Clone)]
pub(super) struct Forced<T> {
    sections: Range<usize>,
    /// The item, its lower bound, and the resulting lowest end.
    pub(super) first: usize,
    least: T,
    top: T,
}

/// The proof that a state has no plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// The item would end above the capacity.
    Item(usize),
    /// An item of the section would end above the capacity, because no item can be placed low enough.
    Section(usize),
}

impl<T: Unit> Bounds<T> {
    pub(super) const fn new() -> Self {
        Self { forced: Vec::new(), lower: Vec::new() }
    }

    /// The cheap bounds. `changed` is the range of sections that changed, apart from postponed items, since the state
    /// or its parent was found feasible; `failed` is called for each section that cannot hold the remaining items.
    pub(super) fn first(
        &mut self,
        view: View<'_, T>,
        derived: Derived<'_, T>,
        changed: Option<(usize, usize)>,
        domain: &Domain<T>,
        capacity: &Capacity<T>,
        mut failed: impl FnMut(usize),
    ) -> Option<Failure> {
        self.forced.clear();
        let postponed = update_supports(view, derived.lower, derived.support, domain);
        let (a, b) = (changed.or(postponed)?, postponed.or(changed)?);
        let (from, to) = (a.0.min(b.0), a.1.max(b.1));
        if let Some(failure) = too_high(view, derived.lower, capacity) {
            return Some(failure);
        }
        let mut failure = None;
        for (x, candidates) in derived.candidates.iter_mut().enumerate().take(to).skip(from) {
            if view.remaining[x] == T::default() {
                continue;
            }
            let slack = view.slack(domain, capacity.most, x);
            if !candidates.iter().all(|&first| is_low(derived.lower, first, slack)) {
                *candidates = low_ones(view, derived.lower, x, slack);
                if candidates[0] == NONE {
                    failed(x);
                    failure = failure.or(Some(Failure::Section(x)));
                }
            }
        }
        failure
    }

    /// Sharper bounds from forced items, based on [`first`](Self::first).
    pub(super) fn second(
        &mut self,
        view: View<'_, T>,
        derived: Derived<'_, T>,
        domain: &Domain<T>,
        capacity: &Capacity<T>,
        mut failed: impl FnMut(usize),
    ) -> Option<Failure> {
        self.find_forced(view, &derived);
        if self.forced.is_empty() {
            return None;
        }
        self.lower.clear();
        self.lower.extend_from_slice(derived.lower);
        for forced in &self.forced {
            let (from, to) = (T::of(forced.sections.start as u64), T::of(forced.sections.end as u64));
            let lists = self.lower.iter_mut().zip(&*derived.lower).zip(view.start).zip(view.end);
            for (((lower, &before), &start), &end) in lists {
                let rises = (start < to) & (from < end) & (before > forced.least) & (*lower < forced.top);
                *lower = if rises { forced.top } else { *lower };
            }
        }
        if !domain.is_plain {
            for (lower, &item) in self.lower.iter_mut().zip(view.item) {
                *lower = domain.next_valid(item, *lower);
            }
        }
        if let Some(failure) = too_high(view, &self.lower, capacity) {
            return Some(failure);
        }
        let (from, to) = risen(view, &self.lower, derived.lower);
        let mut failure = None;
        for (x, candidates) in derived.candidates.iter().enumerate().take(to).skip(from) {
            if view.remaining[x] == T::default() {
                continue;
            }
            let slack = view.slack(domain, capacity.most, x);
            let is_feasible = candidates.iter().any(|&first| is_low(&self.lower, first, slack))
                || candidates[0] != candidates[1] && low_ones(view, &self.lower, x, slack)[0] != NONE;
            if !is_feasible {
                failed(x);
                failure = failure.or(Some(Failure::Section(x)));
            }
        }
        failure
    }

    /// A section in which a forced item raised the item `k` to `least` or above, and that forced item. `before` has
    /// the earlier bounds.
    pub(super) fn cause(
        &self,
        view: View<'_, T>,
        before: &[T],
        k: usize,
        least: T,
    ) -> Option<(usize, &Forced<T>)> {
        let range = view.range(k);
        let forced = self.forced.iter().find(|forced| {
            forced.top >= least
                && before[k] < least
                && before[k] > forced.least
                && range.start < forced.sections.end
                && forced.sections.start < range.end
        })?;
        Some((range.start.max(forced.sections.start), forced))
    }

    /// Finds the sections in which only one item can be the lowest; the others lie above it.
    fn find_forced(&mut self, view: View<'_, T>, derived: &Derived<'_, T>) {
        let is_alone = |x: usize| {
            derived.candidates[x][0] == derived.candidates[x][1] && derived.candidates[x][0] != NONE
        };
        let mut x = 0;
        while x < derived.candidates.len() {
            let from = x;
            x += 1;
            if !is_alone(from) {
                continue;
            }
            let candidates = derived.candidates[from];
            while x < derived.candidates.len() && derived.candidates[x] == candidates {
                x += 1;
            }
            let first = candidates[0] as usize;
            let least = derived.lower[first];
            self.forced.push(Forced { sections: from..x, first, least, top: least + view.size[first] });
        }
    }
}

fn too_high<T: Unit>(view: View<'_, T>, lower: &[T], capacity: &Capacity<T>) -> Option<Failure> {
    if capacity.is_uniform() {
        let tops = lower.iter().zip(view.size);
        if !tops.fold(false, |any, (&lower, &size)| any | (lower + size > capacity.most)) {
            return None;
        }
    }
    (0..view.len()).find(|&k| lower[k] + view.size[k] > capacity.of(view.item[k])).map(Failure::Item)
}

/// The range of sections with risen bounds.
fn risen<T: Unit>(view: View<'_, T>, lower: &[T], before: &[T]) -> (usize, usize) {
    let (mut from, mut to) = (T::FAR, T::default());
    for (((lower, before), &start), &end) in lower.iter().zip(before).zip(view.start).zip(view.end) {
        let has_risen = lower != before;
        from = from.min(if has_risen { start } else { T::FAR });
        to = to.max(if has_risen { end } else { T::default() });
    }
    (from.index(), to.index())
}

fn is_low<T: Unit>(lower: &[T], k: u32, slack: T) -> bool {
    lower.get(k as usize).is_some_and(|&lower| lower <= slack)
}

/// The first two items that are low enough to be the lowest of a section. A single one is returned twice; [`NONE`] if
/// there is none.
fn low_ones<T: Unit>(view: View<'_, T>, lower: &[T], x: usize, slack: T) -> [u32; 2] {
    /// The number of items in one vectorised test.
    const RUN: usize = 32;
    let x = T::of(x as u64);
    let is_low = |lower: T, start: T, end: T| (lower <= slack) & (start <= x) & (x < end);
    let mut found = [NONE; 2];
    let runs = lower.chunks(RUN).zip(view.start.chunks(RUN)).zip(view.end.chunks(RUN));
    for (run, ((lower, start), end)) in runs.enumerate() {
        let lists = || lower.iter().zip(start).zip(end);
        if !lists().fold(false, |any, ((&lower, &start), &end)| any | is_low(lower, start, end)) {
            continue;
        }
        for (k, ((&lower, &start), &end)) in lists().enumerate() {
            if is_low(lower, start, end) {
                let k = (run * RUN + k) as u32;
                if found[0] != NONE {
                    return [found[0], k];
                }
                found = [k; 2];
            }
        }
    }
    found
}

/// Raises the bounds of postponed items to the lowest top among the items that can support them. Bounds only rise
/// from a state to its children, so the bound of an item with an unchanged supporter remains valid. Returns the range
/// of sections with risen bounds.
pub(super) fn update_supports<T: Unit>(
    view: View<'_, T>,
    lower: &mut [T],
    support: &mut [u32],
    domain: &Domain<T>,
) -> Option<(usize, usize)> {
    let mut changed = None;
    for j in 0..view.len() {
        if !view.is_postponed(j) {
            continue;
        }
        let own = view.low[j] + view.size[j];
        let by = support[j] as usize;
        if by < lower.len() && lower[by] < own && lower[by] + view.size[by] <= lower[j] {
            continue;
        }
        let (least, by) = lowest_top(view, lower, j, own);
        support[j] = by;
        if least > lower[j] {
            lower[j] = if least < T::FAR { domain.next_valid(view.item[j], least) } else { least };
            let range = view.range(j);
            let (from, to) = changed.unwrap_or((range.start, range.end));
            changed = Some((from.min(range.start), to.max(range.end)));
        }
    }
    changed
}

/// The lowest top among the items that overlap an item and lie below `own`, and the index of that item.
fn lowest_top<T: Unit>(view: View<'_, T>, lower: &[T], j: usize, own: T) -> (T, u32) {
    let (s, e) = (view.start[j], view.end[j]);
    let supports = |lower: T, start: T, end: T| (start < e) & (s < end) & (lower < own);
    let lists = || lower.iter().zip(view.size).zip(view.start).zip(view.end);
    let least = lists().enumerate().fold(T::FAR, |least, (k, (((&lower, &size), &start), &end))| {
        let top = if supports(lower, start, end) & (k != j) { lower + size } else { T::FAR };
        if top < least { top } else { least }
    });
    if least == T::FAR {
        return (least, NONE);
    }
    let by = lists().enumerate().position(|(k, (((&lower, &size), &start), &end))| {
        supports(lower, start, end) & (k != j) && lower + size == least
    });
    (least, by.map_or(NONE, |by| by as u32))
}
