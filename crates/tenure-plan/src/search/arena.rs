//! The states of a search, on a stack.

use core::ops::Range;

use super::Unit;
use super::domain::Domain;
use super::nogoods::Fingerprint;
use crate::problem::Problem;

/// The remaining items in each state, with their possible offsets. A child is a copy of its parent without one item:
/// no undo is needed, and loops read contiguous data.
///
/// Each state has its own sections, because fewer items need fewer sections.
pub(super) struct Arena<T> {
    /// The lowest offset that each item can have.
    pub(super) low: Vec<T>,
    size: Vec<T>,
    start: Vec<T>,
    end: Vec<T>,
    /// Nonzero for a postponed item: another placement must raise its `low` before it may be placed.
    pub(super) postponed: Vec<T>,
    /// The index of the reason why an item is postponed.
    pub(super) reason: Vec<u32>,
    pub(super) item: Vec<u32>,
    /// A lower bound of each item's offset: a postponed item rests on another one.
    lower: Vec<T>,
    /// The item that implies this bound, or [`NONE`].
    support: Vec<u32>,
    /// The sum of the sizes of the remaining items in each section.
    remaining: Vec<T>,
    /// For each section, two candidates for its lowest item.
    candidates: Vec<[u32; 2]>,
    /// The number of items that continue into the next section.
    crossing: Vec<u32>,
    /// The section of the problem that corresponds to each section.
    origin: Vec<u32>,
}

/// The index that stands for no item.
pub(super) const NONE: u32 = u32::MAX;

/// The location of a state in the arena.
#[derive(Clone, Copy, Default)]
pub(super) struct Node {
    /// Index of the first item, and number of items.
    pub(super) items: usize,
    pub(super) len: usize,
    /// Index of the first section, and number of sections.
    base: usize,
    sections: usize,
    /// The range of sections that differ from the parent.
    pub(super) changed: (usize, usize),
    pub(super) fingerprint: Fingerprint,
    /// The end of the state, where its children begin.
    pub(super) top: Top,
}

/// The used part of the arena.
#[derive(Clone, Copy, Default)]
pub(super) struct Top {
    items: usize,
    sections: usize,
}

/// The items and sections of a state.
#[derive(Clone, Copy)]
pub(super) struct View<'a, T> {
    pub(super) low: &'a [T],
    pub(super) size: &'a [T],
    pub(super) start: &'a [T],
    pub(super) end: &'a [T],
    pub(super) postponed: &'a [T],
    pub(super) reason: &'a [u32],
    pub(super) item: &'a [u32],
    pub(super) remaining: &'a [T],
    pub(super) origin: &'a [u32],
}

/// Facts derived about a state and inherited by its children.
pub(super) struct Derived<'a, T> {
    pub(super) lower: &'a mut [T],
    pub(super) support: &'a mut [u32],
    pub(super) candidates: &'a mut [[u32; 2]],
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

    /// The highest offset at which an item can be the lowest in a section, with all others above it.
    pub(super) fn slack(&self, domain: &Domain<T>, most: T, x: usize) -> T {
        domain.slack(self.origin[x], most - self.remaining[x])
    }

    pub(super) fn is_postponed(&self, k: usize) -> bool {
        self.postponed[k] != T::default()
    }

    /// The exclusive limit of the next item's offset. At this offset or above, another item would fit below it, which
    /// is a different state of the search.
    pub(super) fn limit(&self, capacity: T) -> T {
        let top = self.low.iter().zip(self.size).map(|(&low, &size)| low + size).min().unwrap_or(T::FAR);
        let remaining = self.remaining.iter().copied().max().unwrap_or_default();
        top.min(capacity - remaining + T::of(1))
    }

    /// A hash of the state.
    pub(super) fn fingerprint(&self, zobrist: &[Fingerprint]) -> Fingerprint {
        let mut sum = [self.len() as u64, 0];
        for (&item, low) in self.item.iter().zip(self.low) {
            let zobrist = zobrist[item as usize];
            let low = low.units() + 0x1_0000_0001;
            sum[0] = sum[0].wrapping_add(zobrist[0].wrapping_mul(low));
            sum[1] = sum[1].wrapping_add(zobrist[1].wrapping_mul(low));
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
            postponed: Vec::new(),
            reason: Vec::new(),
            item: Vec::new(),
            lower: Vec::new(),
            support: Vec::new(),
            remaining: Vec::new(),
            candidates: Vec::new(),
            crossing: Vec::new(),
            origin: Vec::new(),
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
            postponed: &self.postponed[items.clone()],
            reason: &self.reason[items.clone()],
            item: &self.item[items],
            remaining: &self.remaining[sections.clone()],
            origin: &self.origin[sections],
        }
    }

    /// The lower bounds of a state's offsets.
    pub(super) fn lower(&self, node: &Node) -> &[T] {
        &self.lower[node.items..][..node.len]
    }

    /// A state with its derived facts.
    pub(super) fn with_derived(&mut self, node: &Node) -> (View<'_, T>, Derived<'_, T>) {
        let items = node.items..node.items + node.len;
        let sections = node.base..node.base + node.sections;
        let view = View {
            low: &self.low[items.clone()],
            size: &self.size[items.clone()],
            start: &self.start[items.clone()],
            end: &self.end[items.clone()],
            postponed: &self.postponed[items.clone()],
            reason: &self.reason[items.clone()],
            item: &self.item[items.clone()],
            remaining: &self.remaining[sections.clone()],
            origin: &self.origin[sections.clone()],
        };
        let derived = Derived {
            lower: &mut self.lower[items.clone()],
            support: &mut self.support[items],
            candidates: &mut self.candidates[sections],
        };
        (view, derived)
    }

    pub(super) fn top(&self) -> Top {
        Top { items: self.low.len(), sections: self.remaining.len() }
    }

    /// Removes all later states.
    pub(super) fn cut(&mut self, Top { items, sections }: Top) {
        self.low.truncate(items);
        self.size.truncate(items);
        self.start.truncate(items);
        self.end.truncate(items);
        self.postponed.truncate(items);
        self.reason.truncate(items);
        self.item.truncate(items);
        self.lower.truncate(items);
        self.support.truncate(items);
        self.remaining.truncate(sections);
        self.candidates.truncate(sections);
        self.crossing.truncate(sections);
        self.origin.truncate(sections);
    }

    /// Removes all states, and creates the one without placed items.
    pub(super) fn root(&mut self, problem: &Problem, domain: &Domain<T>) -> Node {
        self.cut(Top::default());
        let sections = problem.sections();
        self.remaining.resize(sections, T::default());
        self.candidates.resize(sections, [NONE; 2]);
        self.crossing.resize(sections, 0);
        self.origin.extend(0..sections as u32);
        for item in 0..problem.len() {
            let (start, end) = (problem.start[item] as usize, problem.end[item] as usize);
            let size = T::of(problem.size[item]);
            let low = domain.next_valid(item as u32, T::default());
            self.low.push(low);
            self.lower.push(low);
            self.support.push(NONE);
            self.postponed.push(T::default());
            self.reason.push(0);
            self.size.push(size);
            self.start.push(T::of(start as u64));
            self.end.push(T::of(end as u64));
            self.item.push(item as u32);
            for remaining in &mut self.remaining[start..end] {
                *remaining = *remaining + size;
            }
            for crossing in &mut self.crossing[start..end - 1] {
                *crossing += 1;
            }
        }
        Node { len: problem.len(), sections, changed: (0, sections), ..Node::default() }
    }

    /// The state after placing the item `at` at its lowest offset, and whether it has independent parts.
    pub(super) fn child(&mut self, node: &Node, at: usize, domain: &Domain<T>) -> (Node, bool) {
        let me = node.items + at;
        let (s, e, size) = (self.start[me], self.end[me], self.size[me]);
        let (items, base, len) = (self.low.len(), self.remaining.len(), node.len - 1);
        self.copy_without(node.items, node.len, me);
        let (from, to) = self.raise(items, (s, e), self.low[me] + size, domain);
        let sections = node.base..node.base + node.sections;
        self.remaining.extend_from_within(sections.clone());
        self.crossing.extend_from_within(sections.clone());
        self.origin.extend_from_within(sections.clone());
        self.candidates.extend_from_within(sections);
        let range = base + s.index()..base + e.index();
        self.forget(items, base, &range, at as u32);
        for remaining in &mut self.remaining[range.clone()] {
            *remaining = *remaining - size;
        }
        let mut has_parts = false;
        for crossing in &mut self.crossing[range.start..range.end - 1] {
            *crossing -= 1;
            has_parts |= *crossing == 0;
        }
        let mut child = Node { items, len, base, changed: (from.index(), to.index()), ..*node };
        if !has_parts {
            self.merge(&mut child, e);
            self.merge(&mut child, s);
        }
        (child, has_parts)
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
        copy(&mut self.postponed, from, len, without);
        copy(&mut self.reason, from, len, without);
        copy(&mut self.item, from, len, without);
        copy(&mut self.lower, from, len, without);
        copy(&mut self.support, from, len, without);
    }

    /// Renumbers the items in the derived facts of a state after removing the item `at`, which was alive in the
    /// sections `range`.
    fn forget(&mut self, items: usize, base: usize, range: &Range<usize>, at: u32) {
        let renamed = |k: u32| match k {
            _ if k == at => NONE,
            NONE => NONE,
            _ => k - u32::from(k > at),
        };
        for support in &mut self.support[items..] {
            *support = renamed(*support);
        }
        for candidates in &mut self.candidates[base..] {
            *candidates = candidates.map(renamed);
        }
        // With more room, another item may be the lowest in these sections.
        for candidates in &mut self.candidates[range.clone()] {
            if candidates[0] == candidates[1] {
                *candidates = [NONE; 2];
            }
        }
    }

    /// Raises items that overlap the sections `[s, e)` to `top`. Raised items are no longer postponed. Returns
    /// the range of sections that changed.
    fn raise(&mut self, items: usize, (s, e): (T, T), top: T, domain: &Domain<T>) -> (T, T) {
        let (mut from, mut to) = (s, e);
        let low = &mut self.low[items..];
        let (postponed, lower) = (&mut self.postponed[items..], &mut self.lower[items..]);
        let (start, end, item) = (&self.start[items..], &self.end[items..], &self.item[items..]);
        let lists = low.iter_mut().zip(postponed).zip(lower).zip(start).zip(end);
        for ((((low, postponed), lower), &start), &end) in lists {
            let rises = (start < e) & (s < end) & (*low < top);
            *low = if rises { top } else { *low };
            *lower = if rises { top } else { *lower };
            *postponed = if rises { T::default() } else { *postponed };
            from = from.min(if rises { start } else { T::FAR });
            to = to.max(if rises { end } else { T::default() });
        }
        if !domain.is_plain {
            for (k, &item) in item.iter().enumerate() {
                if self.low[items + k] == top {
                    let low = domain.next_valid(item, top);
                    self.low[items + k] = low;
                    self.lower[items + k] = self.lower[items + k].max(low);
                }
            }
        }
        (from, to)
    }

    /// Merges the sections on both sides of a boundary, unless one item ends and another starts there: otherwise one
    /// of them contains all items of the other.
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
        // The section with the smaller remaining sum is removed.
        let (left, right) = (node.base + at - 1, node.base + at);
        let smaller = if self.remaining[left] < self.remaining[right] { left } else { right };
        self.remaining.remove(smaller);
        self.origin.remove(smaller);
        self.candidates.remove(smaller);
        self.crossing.remove(left);
        node.sections -= 1;
        node.changed.0 = node.changed.0.saturating_sub(1);
        node.changed.1 = node.changed.1.min(node.sections);
    }

    /// The ranges of sections of the independent parts of a node.
    pub(super) fn parts(&self, node: &Node) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = 0;
        for at in 0..node.sections {
            let is_last = at + 1 == node.sections || self.crossing[node.base + at] == 0;
            if is_last {
                if self.remaining[node.base + at] > T::default() {
                    parts.push(from..at + 1);
                }
                from = at + 1;
            }
        }
        parts
    }

    /// A part of a node, with its members (by index in the node) in the given order.
    pub(super) fn part(&mut self, node: &Node, part: Range<usize>, members: &[usize]) -> Node {
        let (items, base) = (self.low.len(), self.remaining.len());
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
            self.postponed.push(self.postponed[k]);
            self.reason.push(self.reason[k]);
            self.item.push(self.item[k]);
            self.lower.push(self.lower[k]);
            self.support.push(renamed(self.support[k]));
        }
        let sections = node.base + part.start..node.base + part.end;
        self.remaining.extend_from_within(sections.clone());
        self.crossing.extend_from_within(sections.clone());
        self.origin.extend_from_within(sections.clone());
        self.candidates.extend_from_within(sections);
        for candidates in &mut self.candidates[base..] {
            *candidates = candidates.map(renamed);
        }
        Node { items, len: members.len(), base, sections: part.len(), ..*node }
    }
}
