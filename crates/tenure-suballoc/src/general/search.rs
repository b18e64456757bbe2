//! The search for a hole, which packs like best fit in constant time.

use super::class::{class, class_above};
use super::node::NIL;
use super::pieces::Pieces;
use super::ranges::Ranges;

/// Maximum number of holes tried when the two heads do not fit.
const MORE_HOLES: u32 = 8;

/// Maximum number of heads tried in classes between the first one and the first whose holes are all large enough.
const HEADS: u32 = 2;

/// Padding of more than 1/8 of the request justifies a longer search: log₂ of that.
const COSTLY_PADDING: u32 = 3;

/// A hole is nearly exact if at most 1/32 of the request is left over: log₂ of that.
const NEARLY_EXACT: u32 = 5;

/// A hole, and the class of its list. Two words, which are returned in registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) class: u32,
    pub(super) hole: u32,
}

const NOTHING: Found = Found { class: 0, hole: NIL };

impl Pieces<'_> {
    /// The first hole of the first class that has one, from `class` on.
    #[inline(always)]
    pub(super) fn first_hole(&self, class: u32) -> Option<Found> {
        let class = self.used.first_from(class)?;
        Some(Found { class, hole: self.firsts[class as usize] })
    }

    /// The head of the first class that may have `units`, which is tried first. It may not fit.
    #[inline(always)]
    pub(super) fn search<const LOW: bool>(&self, units: u32, align_mask: u32) -> Option<Found> {
        let found = self.first_hole(class(units))?;
        if LOW && self.at(found.hole).fits(units, align_mask) {
            return Some(self.prefer_lower_block(found, units, align_mask));
        }
        Some(found)
    }

    /// With several blocks: rather than split a hole in a high block, split one of the next class in
    /// a lower block, so that the higher blocks run empty.
    #[inline(always)]
    fn prefer_lower_block(&self, found: Found, units: u32, align_mask: u32) -> Found {
        let hole = self.at(found.hole);
        if hole.block == 0 || hole.size - units <= units >> NEARLY_EXACT {
            return found;
        }
        let Some(other) = self.first_hole(found.class + 1) else {
            return found;
        };
        let low = self.at(other.hole);
        if low.block < hole.block && low.fits(units, align_mask) { other } else { found }
    }
}

impl Ranges {
    /// Continues the search if the first hole does not fit.
    ///
    /// It tries two more heads on the way to the first class that surely fits, for any offset of the hole, and
    /// then the head of that class. If there is no such class, it tries some more holes below it; it tries these
    /// instead of the two heads if a hole of the sure class might waste much on padding.
    #[inline(always)]
    pub(super) fn search_on(&self, first: Found, units: u32, align_mask: u32) -> Option<Found> {
        let dear = align_mask > units >> COSTLY_PADDING;
        if dear {
            let found = self.search_between(first, units, align_mask);
            if found != NOTHING {
                return Some(found);
            }
        }
        let sure = class_above(units.saturating_add(align_mask));
        let found = if dear { NOTHING } else { self.search_heads(first.class, sure, units, align_mask) };
        if found != NOTHING {
            return Some(found);
        }
        match self.slab.first_hole(sure) {
            None if !dear => Some(self.search_between(first, units, align_mask)).filter(|&it| it != NOTHING),
            found => found,
        }
    }

    /// Searches the heads of the next classes. Each head has the size, but perhaps not the alignment.
    #[inline(always)]
    fn search_heads(&self, mut class: u32, sure: u32, units: u32, align_mask: u32) -> Found {
        for _ in 0..HEADS {
            let Some(next) = self.slab.first_hole(class + 1) else {
                break;
            };
            if next.class >= sure || self.slab.at(next.hole).fits(units, align_mask) {
                return next;
            }
            class = next.class;
        }
        NOTHING
    }

    /// Holes in the order of their lists.
    #[inline(never)]
    fn search_between(&self, mut found: Found, units: u32, align_mask: u32) -> Found {
        for _ in 0..MORE_HOLES {
            found.hole = self.slab.at(found.hole).list_next;
            if found.hole == NIL {
                match self.slab.first_hole(found.class + 1) {
                    Some(next) => found = next,
                    None => break,
                }
            }
            if self.slab.at(found.hole).fits(units, align_mask) {
                return found;
            }
        }
        NOTHING
    }
}
