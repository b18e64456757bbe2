//! Which hole to take: the part that makes it pack like best fit in constant time.

use super::class::{class, class_above};
use super::node::NIL;
use super::ranges::Ranges;

/// Holes looked at, at most, when the two heads do not fit.
const MORE_HOLES: u32 = 8;

/// Heads looked at, at most, in classes between the first and the sure one.
const HEADS: u32 = 2;

/// Padding of more than 1/8 of the request is worth a longer search: log₂ of that.
const DEAR_PADDING: u32 = 3;

/// A hole is nearly exact when what it leaves is at most 1/32 of the request: log₂ of that.
const NEARLY_EXACT: u32 = 5;

/// No class and no hole.
const NOTHING: (u32, u32) = (0, NIL);

/// A hole that a request fits into.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) hole: u32,
    /// The hole's class.
    pub(super) class: u32,
    /// Where the allocation would begin, aligned.
    pub(super) offset: u32,
}

impl Ranges {
    /// A hole for `units` at a multiple of `align_mask + 1`.
    ///
    /// It looks at the head of the first class that may fit, at two more on the way to the first
    /// class that surely does, whatever the hole's offset, and at the head of that. If there is no such
    /// class, it looks at some more holes between the two; and instead of the two heads, if the sure
    /// class might waste much on padding.
    #[inline(always)]
    pub(super) fn search<const LOW: bool>(&mut self, units: u32, align_mask: u32) -> Option<Found> {
        let (class, hole) = self.slab.first_hole(class(units))?;
        match self.slab.at(hole).fit(units, align_mask) {
            Some(offset) if LOW => {
                Some(self.prefer_lower_block(Found { hole, class, offset }, units, align_mask))
            }
            Some(offset) => Some(Found { hole, class, offset }),
            None => {
                let (class, hole) = self.search_on(class, hole, units, align_mask);
                let offset = self.slab.at(hole).fit(units, align_mask)?;
                Some(Found { hole, class, offset })
            }
        }
    }

    /// Goes on where the first hole does not fit. Returns a class and a hole of it, or NIL: two words,
    /// which are returned in registers.
    #[inline(never)]
    fn search_on(&mut self, first_class: u32, first: u32, units: u32, align_mask: u32) -> (u32, u32) {
        let dear = align_mask > units >> DEAR_PADDING;
        if dear {
            let found = self.search_between(first_class, first, units, align_mask);
            if found != NOTHING {
                return found;
            }
        }
        let sure = class_above(units.saturating_add(align_mask));
        let found = if dear { NOTHING } else { self.search_heads(first_class, sure, units, align_mask) };
        if found != NOTHING {
            return found;
        }
        match self.slab.first_hole(sure) {
            Some(found) => found,
            None if dear => NOTHING,
            None => self.search_between(first_class, first, units, align_mask),
        }
    }

    /// The heads of the next classes, each of which has the size, but perhaps not the alignment.
    #[inline(always)]
    fn search_heads(&mut self, mut class: u32, sure: u32, units: u32, align_mask: u32) -> (u32, u32) {
        for _ in 0..HEADS {
            let Some(next) = self.slab.first_hole(class + 1) else {
                break;
            };
            if next.0 >= sure || self.slab.at(next.1).fit(units, align_mask).is_some() {
                return next;
            }
            class = next.0;
        }
        NOTHING
    }

    /// Holes in the order of their lists.
    fn search_between(&mut self, mut class: u32, mut hole: u32, units: u32, align_mask: u32) -> (u32, u32) {
        for _ in 0..MORE_HOLES {
            hole = self.slab.at(hole).list_next;
            if hole == NIL {
                match self.slab.first_hole(class + 1) {
                    Some(next) => (class, hole) = next,
                    None => break,
                }
            }
            if self.slab.at(hole).fit(units, align_mask).is_some() {
                return (class, hole);
            }
        }
        NOTHING
    }

    /// With several blocks: rather than split a hole in a high block, split one of the next class in
    /// a lower block, so that the higher blocks run empty.
    #[inline(always)]
    fn prefer_lower_block(&mut self, found: Found, units: u32, align_mask: u32) -> Found {
        let hole = self.slab.at(found.hole);
        let block = hole.block;
        if block == 0 || hole.size - units <= units >> NEARLY_EXACT {
            return found;
        }
        match self.slab.first_hole(found.class + 1) {
            Some((class, hole)) if self.slab.at(hole).block < block => {
                let offset = self.slab.at(hole).fit(units, align_mask);
                offset.map_or(found, |offset| Found { hole, class, offset })
            }
            _ => found,
        }
    }
}
