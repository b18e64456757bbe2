//! The states of a search, one behind the other.

use core::ops::Range;

use super::Unit;
use super::ground::Ground;
use super::nogood::Fingerprint;
use crate::problem::Problem;

/// What is left to be placed, and where that can be. A child is a copy of its parent without an
/// item: there is nothing to undo, and what a loop reads lies side by side.
///
/// Each state has sections of its own, since what is left needs fewer.
pub(super) struct Arena<T> {
    /// The lowest offset that each item can have.
    pub(super) low: Vec<T>,
    size: Vec<T>,
    start: Vec<T>,
    end: Vec<T>,
    /// Not 0: the item is not at `low`; something must raise it first.
    pub(super) held: Vec<T>,
    /// The number of the reason for which it is held.
    pub(super) why: Vec<u32>,
    pub(super) item: Vec<u32>,
    /// A lower bound of the offset of each item: what is held lies on another one.
    eff: Vec<T>,
    /// The item from which that bound follows, or [`NONE`].
    support: Vec<u32>,
    /// What is left in each section.
    rem: Vec<T>,
    /// For each section, two items that may be low enough to come first there.
    firsts: Vec<[u32; 2]>,
    /// How many items go on into the next section.
    crossing: Vec<u32>,
    /// The section of the problem that each section was.
    home: Vec<u32>,
}

/// No item of a state.
pub(super) const NONE: u32 = u32::MAX;

/// Where a state is.
#[derive(Clone, Copy, Default)]
pub(super) struct Node {
    /// The first item, and how many.
    pub(super) items: usize,
    pub(super) len: usize,
    /// The first section, and how many.
    base: usize,
    sections: usize,
    /// From and to which section something differs from the parent.
    pub(super) news: (usize, usize),
    pub(super) fingerprint: Fingerprint,
    /// Where what comes after the state goes.
    pub(super) top: Top,
}

/// How much of the arena is in use.
#[derive(Clone, Copy, Default)]
pub(super) struct Top {
    items: usize,
    sections: usize,
}

/// The items of a state, side by side.
#[derive(Clone, Copy)]
pub(super) struct View<'a, T> {
    pub(super) low: &'a [T],
    pub(super) size: &'a [T],
    pub(super) start: &'a [T],
    pub(super) end: &'a [T],
    pub(super) held: &'a [T],
    pub(super) why: &'a [u32],
    pub(super) item: &'a [u32],
    pub(super) rem: &'a [T],
    pub(super) home: &'a [u32],
}

/// What has been found out about a state, and is handed on to its children.
pub(super) struct Marks<'a, T> {
    pub(super) eff: &'a mut [T],
    pub(super) support: &'a mut [u32],
    pub(super) firsts: &'a mut [[u32; 2]],
}

impl<T: Unit> View<'_, T> {
    pub(super) fn len(&self) -> usize {
        self.low.len()
    }

    /// The sections of an item.
    pub(super) fn range(&self, k: usize) -> Range<usize> {
        self.start[k].index()..self.end[k].index()
    }

    pub(super) fn overlaps(&self, a: usize, b: usize) -> bool {
        self.start[a] < self.end[b] && self.start[b] < self.end[a]
    }

    /// The highest offset at which something can come first in a section with all else above it.
    pub(super) fn slack(&self, ground: &Ground<T>, most: T, x: usize) -> T {
        ground.slack(self.home[x], most - self.rem[x])
    }

    pub(super) fn is_held(&self, k: usize) -> bool {
        self.held[k] != T::default()
    }

    /// What comes next lies below this: otherwise something could be moved below it.
    pub(super) fn limit(&self, capacity: T) -> T {
        let top = self.low.iter().zip(self.size).map(|(&low, &size)| low + size).min().unwrap_or(T::FAR);
        let rem = self.rem.iter().copied().max().unwrap_or_default();
        top.min(capacity - rem + T::of(1))
    }

    /// What tells the state from others.
    pub(super) fn fingerprint(&self, salt: &[Fingerprint]) -> Fingerprint {
        let mut sum = [self.len() as u64, 0];
        for (&item, low) in self.item.iter().zip(self.low) {
            let salt = salt[item as usize];
            let low = low.units() + 0x1_0000_0001;
            sum[0] = sum[0].wrapping_add(salt[0].wrapping_mul(low));
            sum[1] = sum[1].wrapping_add(salt[1].wrapping_mul(low));
        }
        [sum[0] ^ sum[0] >> 32, sum[1] | 1]
    }
}

impl<T: Unit> Arena<T> {
    pub(super) const fn new() -> Self {
        Self {
            low: Vec::new(),
            size: Vec::new(),
            start: Vec::new(),
            end: Vec::new(),
            held: Vec::new(),
            why: Vec::new(),
            item: Vec::new(),
            eff: Vec::new(),
            support: Vec::new(),
            rem: Vec::new(),
            firsts: Vec::new(),
            crossing: Vec::new(),
            home: Vec::new(),
        }
    }

    pub(super) fn view(&self, node: &Node) -> View<'_, T> {
        let items = node.items..node.items + node.len;
        let sections = node.base..node.base + node.sections;
        View {
            low: &self.low[items.clone()],
            size: &self.size[items.clone()],
            start: &self.start[items.clone()],
            end: &self.end[items.clone()],
            held: &self.held[items.clone()],
            why: &self.why[items.clone()],
            item: &self.item[items],
            rem: &self.rem[sections.clone()],
            home: &self.home[sections],
        }
    }

    /// The lower bounds of a state's offsets.
    pub(super) fn eff(&self, node: &Node) -> &[T] {
        &self.eff[node.items..][..node.len]
    }

    /// A state with its marks.
    pub(super) fn marked(&mut self, node: &Node) -> (View<'_, T>, Marks<'_, T>) {
        let items = node.items..node.items + node.len;
        let sections = node.base..node.base + node.sections;
        let view = View {
            low: &self.low[items.clone()],
            size: &self.size[items.clone()],
            start: &self.start[items.clone()],
            end: &self.end[items.clone()],
            held: &self.held[items.clone()],
            why: &self.why[items.clone()],
            item: &self.item[items.clone()],
            rem: &self.rem[sections.clone()],
            home: &self.home[sections.clone()],
        };
        let marks = Marks {
            eff: &mut self.eff[items.clone()],
            support: &mut self.support[items],
            firsts: &mut self.firsts[sections],
        };
        (view, marks)
    }

    pub(super) fn top(&self) -> Top {
        Top { items: self.low.len(), sections: self.rem.len() }
    }

    /// Forgets what came after.
    pub(super) fn cut(&mut self, Top { items, sections }: Top) {
        self.low.truncate(items);
        self.size.truncate(items);
        self.start.truncate(items);
        self.end.truncate(items);
        self.held.truncate(items);
        self.why.truncate(items);
        self.item.truncate(items);
        self.eff.truncate(items);
        self.support.truncate(items);
        self.rem.truncate(sections);
        self.firsts.truncate(sections);
        self.crossing.truncate(sections);
        self.home.truncate(sections);
    }

    /// The state in which nothing is placed. Clears everything else.
    pub(super) fn root(&mut self, problem: &Problem, ground: &Ground<T>) -> Node {
        self.cut(Top::default());
        let sections = problem.sections();
        self.rem.resize(sections, T::default());
        self.firsts.resize(sections, [NONE; 2]);
        self.crossing.resize(sections, 0);
        self.home.extend(0..sections as u32);
        for item in 0..problem.len() {
            let (start, end) = (problem.start[item] as usize, problem.end[item] as usize);
            let size = T::of(problem.size[item]);
            let low = ground.settle(item as u32, T::default());
            self.low.push(low);
            self.eff.push(low);
            self.support.push(NONE);
            self.held.push(T::default());
            self.why.push(0);
            self.size.push(size);
            self.start.push(T::of(start as u64));
            self.end.push(T::of(end as u64));
            self.item.push(item as u32);
            for rem in &mut self.rem[start..end] {
                *rem = *rem + size;
            }
            for crossing in &mut self.crossing[start..end - 1] {
                *crossing += 1;
            }
        }
        Node { len: problem.len(), sections, news: (0, sections), ..Node::default() }
    }

    /// The state after the item `at` is put where it can be lowest, and whether it falls apart.
    pub(super) fn child(&mut self, node: &Node, at: usize, ground: &Ground<T>) -> (Node, bool) {
        let me = node.items + at;
        let (s, e, size) = (self.start[me], self.end[me], self.size[me]);
        let (items, base, len) = (self.low.len(), self.rem.len(), node.len - 1);
        self.copy_without(node.items, node.len, me);
        let (from, to) = self.raise(items, (s, e), self.low[me] + size, ground);
        let sections = node.base..node.base + node.sections;
        self.rem.extend_from_within(sections.clone());
        self.crossing.extend_from_within(sections.clone());
        self.home.extend_from_within(sections.clone());
        self.firsts.extend_from_within(sections);
        let range = base + s.index()..base + e.index();
        self.forget(items, base, &range, at as u32);
        for rem in &mut self.rem[range.clone()] {
            *rem = *rem - size;
        }
        let mut falls_apart = false;
        for crossing in &mut self.crossing[range.start..range.end - 1] {
            *crossing -= 1;
            falls_apart |= *crossing == 0;
        }
        let mut child = Node { items, len, base, news: (from.index(), to.index()), ..*node };
        if !falls_apart {
            self.merge(&mut child, e);
            self.merge(&mut child, s);
        }
        (child, falls_apart)
    }

    fn copy_without(&mut self, from: usize, len: usize, without: usize) {
        fn copy<V: Copy>(list: &mut Vec<V>, from: usize, len: usize, without: usize) {
            list.extend_from_within(from..without);
            list.extend_from_within(without + 1..from + len);
        }
        copy(&mut self.low, from, len, without);
        copy(&mut self.size, from, len, without);
        copy(&mut self.start, from, len, without);
        copy(&mut self.end, from, len, without);
        copy(&mut self.held, from, len, without);
        copy(&mut self.why, from, len, without);
        copy(&mut self.item, from, len, without);
        copy(&mut self.eff, from, len, without);
        copy(&mut self.support, from, len, without);
    }

    /// Renames the items in the marks of a state from which the item `at` was taken out; it was alive
    /// in the sections `range`.
    fn forget(&mut self, items: usize, base: usize, range: &Range<usize>, at: u32) {
        let renamed = |k: u32| match k {
            _ if k == at => NONE,
            NONE => NONE,
            _ => k - u32::from(k > at),
        };
        for support in &mut self.support[items..] {
            *support = renamed(*support);
        }
        for firsts in &mut self.firsts[base..] {
            *firsts = firsts.map(renamed);
        }
        // With more room there, what came first without a choice may not any more.
        for firsts in &mut self.firsts[range.clone()] {
            if firsts[0] == firsts[1] {
                *firsts = [NONE; 2];
            }
        }
    }

    /// What overlaps the sections `[s, e)` is at `top` or above. It is held no longer if that is news.
    /// Returns from and to which section there is news.
    fn raise(&mut self, items: usize, (s, e): (T, T), top: T, ground: &Ground<T>) -> (T, T) {
        let (mut from, mut to) = (s, e);
        let low = &mut self.low[items..];
        let (held, eff) = (&mut self.held[items..], &mut self.eff[items..]);
        let (start, end, item) = (&self.start[items..], &self.end[items..], &self.item[items..]);
        let lists = low.iter_mut().zip(held).zip(eff).zip(start).zip(end);
        for ((((low, held), eff), &start), &end) in lists {
            let rises = (start < e) & (s < end) & (*low < top);
            *low = if rises { top } else { *low };
            *eff = if rises { top } else { *eff };
            *held = if rises { T::default() } else { *held };
            from = from.min(if rises { start } else { T::FAR });
            to = to.max(if rises { end } else { T::default() });
        }
        if !ground.is_plain {
            for (k, &item) in item.iter().enumerate() {
                if self.low[items + k] == top {
                    let low = ground.settle(item, top);
                    self.low[items + k] = low;
                    self.eff[items + k] = self.eff[items + k].max(low);
                }
            }
        }
        (from, to)
    }

    /// Merges the sections on either side of a boundary, unless something ends and something starts
    /// there: otherwise one of them holds all that the other holds.
    fn merge(&mut self, node: &mut Node, boundary: T) {
        let at = boundary.index();
        if at == 0 || at >= node.sections {
            return;
        }
        let start = &mut self.start[node.items..][..node.len];
        let end = &mut self.end[node.items..][..node.len];
        let starts = start.iter().fold(false, |any, &start| any | (start == boundary));
        let ends = end.iter().fold(false, |any, &end| any | (end == boundary));
        if starts && ends {
            return;
        }
        for start in start {
            *start = if *start >= boundary { *start - T::of(1) } else { *start };
        }
        for end in end {
            *end = if *end > boundary { *end - T::of(1) } else { *end };
        }
        // What is left of the smaller one goes.
        let (left, right) = (node.base + at - 1, node.base + at);
        let smaller = if self.rem[left] < self.rem[right] { left } else { right };
        self.rem.remove(smaller);
        self.home.remove(smaller);
        self.firsts.remove(smaller);
        self.crossing.remove(left);
        node.sections -= 1;
        node.news.0 = node.news.0.saturating_sub(1);
        node.news.1 = node.news.1.min(node.sections);
    }

    /// The sections from and to which the parts of a node reach.
    pub(super) fn parts(&self, node: &Node) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = 0;
        for at in 0..node.sections {
            let is_last = at + 1 == node.sections || self.crossing[node.base + at] == 0;
            if is_last {
                if self.rem[node.base + at] > T::default() {
                    parts.push(from..at + 1);
                }
                from = at + 1;
            }
        }
        parts
    }

    /// A part of a node, with its members (by their place in the node) in the order given.
    pub(super) fn part(&mut self, node: &Node, part: Range<usize>, members: &[usize]) -> Node {
        let (items, base) = (self.low.len(), self.rem.len());
        let first = T::of(part.start as u64);
        let mut renamed = vec![NONE; node.len + 1];
        for (at, &k) in members.iter().enumerate() {
            renamed[k] = at as u32;
        }
        let renamed = |k: u32| renamed[(k as usize).min(node.len)];
        for k in members.iter().map(|k| node.items + k) {
            self.low.push(self.low[k]);
            self.size.push(self.size[k]);
            self.start.push(self.start[k] - first);
            self.end.push(self.end[k] - first);
            self.held.push(self.held[k]);
            self.why.push(self.why[k]);
            self.item.push(self.item[k]);
            self.eff.push(self.eff[k]);
            self.support.push(renamed(self.support[k]));
        }
        let sections = node.base + part.start..node.base + part.end;
        self.rem.extend_from_within(sections.clone());
        self.crossing.extend_from_within(sections.clone());
        self.home.extend_from_within(sections.clone());
        self.firsts.extend_from_within(sections);
        for firsts in &mut self.firsts[base..] {
            *firsts = firsts.map(renamed);
        }
        Node { items, len: members.len(), base, sections: part.len(), ..*node }
    }
}
