//! Bounds on where the items of a state can be.

use core::ops::Range;

use super::Unit;
use super::arena::{Marks, NONE, View};
use super::ground::Ground;
use super::lid::Lid;
use super::support;

/// Lower bounds of offsets, found by reasoning about a state.
pub(super) struct Bounds<T> {
    /// Which items come first somewhere; empty if that has not been looked at.
    forced: Vec<Forced<T>>,
    /// The bounds that follow from these.
    eff: Vec<T>,
}

/// Sections in which one item must come first.
#[derive(Clone)]
pub(super) struct Forced<T> {
    sections: Range<usize>,
    /// The item, its bound, and where it ends at least.
    pub(super) first: usize,
    least: T,
    top: T,
}

/// What shows that a state has no plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dead {
    /// The item would pass the capacity.
    Item(usize),
    /// What covers the section would, as none of it can lie low enough.
    Section(usize),
}

impl<T: Unit> Bounds<T> {
    pub(super) const fn new() -> Self {
        Self { forced: Vec::new(), eff: Vec::new() }
    }

    /// The cheap bounds. `news` is from and to which section something has changed, but for what is
    /// held, since the state (or its parent) was found open; `failed` is told each section that does
    /// not hold what is left.
    pub(super) fn first(
        &mut self,
        view: View<'_, T>,
        marks: Marks<'_, T>,
        news: Option<(usize, usize)>,
        ground: &Ground<T>,
        lid: &Lid<T>,
        mut failed: impl FnMut(usize),
    ) -> Option<Dead> {
        self.forced.clear();
        let held = support::update(view, marks.eff, marks.support, ground);
        let (a, b) = (news.or(held)?, held.or(news)?);
        let (from, to) = (a.0.min(b.0), a.1.max(b.1));
        if let Some(dead) = too_high(view, marks.eff, lid) {
            return Some(dead);
        }
        let mut dead = None;
        for (x, firsts) in marks.firsts.iter_mut().enumerate().take(to).skip(from) {
            if view.rem[x] == T::default() {
                continue;
            }
            let slack = view.slack(ground, lid.most, x);
            if !firsts.iter().all(|&first| is_low(marks.eff, first, slack)) {
                *firsts = low_ones(view, marks.eff, x, slack);
                if firsts[0] == NONE {
                    failed(x);
                    dead = dead.or(Some(Dead::Section(x)));
                }
            }
        }
        dead
    }

    /// Sharper ones, from what `first` found.
    pub(super) fn second(
        &mut self,
        view: View<'_, T>,
        marks: Marks<'_, T>,
        ground: &Ground<T>,
        lid: &Lid<T>,
        mut failed: impl FnMut(usize),
    ) -> Option<Dead> {
        self.force(view, &marks);
        if self.forced.is_empty() {
            return None;
        }
        self.eff.clear();
        self.eff.extend_from_slice(marks.eff);
        for forced in &self.forced {
            let (from, to) = (T::of(forced.sections.start as u64), T::of(forced.sections.end as u64));
            let lists = self.eff.iter_mut().zip(&*marks.eff).zip(view.start).zip(view.end);
            for (((eff, &calm), &start), &end) in lists {
                let rises = (start < to) & (from < end) & (calm > forced.least) & (*eff < forced.top);
                *eff = if rises { forced.top } else { *eff };
            }
        }
        if !ground.is_plain {
            for (eff, &item) in self.eff.iter_mut().zip(view.item) {
                *eff = ground.settle(item, *eff);
            }
        }
        if let Some(dead) = too_high(view, &self.eff, lid) {
            return Some(dead);
        }
        let (from, to) = risen(view, &self.eff, marks.eff);
        let mut dead = None;
        for (x, firsts) in marks.firsts.iter().enumerate().take(to).skip(from) {
            if view.rem[x] == T::default() {
                continue;
            }
            let slack = view.slack(ground, lid.most, x);
            let is_open = firsts.iter().any(|&first| is_low(&self.eff, first, slack))
                || firsts[0] != firsts[1] && low_ones(view, &self.eff, x, slack)[0] != NONE;
            if !is_open {
                failed(x);
                dead = dead.or(Some(Dead::Section(x)));
            }
        }
        dead
    }

    /// A section in which the place of another item raised one to `least` or above, and that place.
    /// `calm` are the bounds before.
    pub(super) fn cause(
        &self,
        view: View<'_, T>,
        calm: &[T],
        k: usize,
        least: T,
    ) -> Option<(usize, &Forced<T>)> {
        let range = view.range(k);
        let forced = self.forced.iter().find(|forced| {
            forced.top >= least
                && calm[k] < least
                && calm[k] > forced.least
                && range.start < forced.sections.end
                && forced.sections.start < range.end
        })?;
        Some((range.start.max(forced.sections.start), forced))
    }

    /// Where one item alone is low enough to come first in a section, the others lie on top of it.
    fn force(&mut self, view: View<'_, T>, marks: &Marks<'_, T>) {
        let is_alone = |x: usize| marks.firsts[x][0] == marks.firsts[x][1] && marks.firsts[x][0] != NONE;
        let mut x = 0;
        while x < marks.firsts.len() {
            let from = x;
            x += 1;
            if !is_alone(from) {
                continue;
            }
            let firsts = marks.firsts[from];
            while x < marks.firsts.len() && marks.firsts[x] == firsts {
                x += 1;
            }
            let first = firsts[0] as usize;
            let least = marks.eff[first];
            self.forced.push(Forced { sections: from..x, first, least, top: least + view.size[first] });
        }
    }
}

fn too_high<T: Unit>(view: View<'_, T>, eff: &[T], lid: &Lid<T>) -> Option<Dead> {
    if lid.is_flat() {
        let tops = eff.iter().zip(view.size);
        if !tops.fold(false, |any, (&eff, &size)| any | (eff + size > lid.most)) {
            return None;
        }
    }
    (0..view.len()).find(|&k| eff[k] + view.size[k] > lid.of(view.item[k])).map(Dead::Item)
}

/// From and to which section bounds have risen.
fn risen<T: Unit>(view: View<'_, T>, eff: &[T], calm: &[T]) -> (usize, usize) {
    let (mut from, mut to) = (T::FAR, T::default());
    for (((eff, calm), &start), &end) in eff.iter().zip(calm).zip(view.start).zip(view.end) {
        let has_risen = eff != calm;
        from = from.min(if has_risen { start } else { T::FAR });
        to = to.max(if has_risen { end } else { T::default() });
    }
    (from.index(), to.index())
}

fn is_low<T: Unit>(eff: &[T], k: u32, slack: T) -> bool {
    eff.get(k as usize).is_some_and(|&eff| eff <= slack)
}

/// The first two items of a section that are low enough to come first there; twice the same if there
/// is but one, and [`NONE`] if there is none.
fn low_ones<T: Unit>(view: View<'_, T>, eff: &[T], x: usize, slack: T) -> [u32; 2] {
    /// As many are looked at in one go.
    const RUN: usize = 32;
    let x = T::of(x as u64);
    let is_low = |eff: T, start: T, end: T| (eff <= slack) & (start <= x) & (x < end);
    let mut found = [NONE; 2];
    let runs = eff.chunks(RUN).zip(view.start.chunks(RUN)).zip(view.end.chunks(RUN));
    for (run, ((eff, start), end)) in runs.enumerate() {
        let lists = || eff.iter().zip(start).zip(end);
        if !lists().fold(false, |any, ((&eff, &start), &end)| any | is_low(eff, start, end)) {
            continue;
        }
        for (k, ((&eff, &start), &end)) in lists().enumerate() {
            if is_low(eff, start, end) {
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
