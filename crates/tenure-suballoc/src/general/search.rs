//! Which hole to take: the part that makes it pack like best fit in constant time.

use super::class::{class, class_above};
use super::node::NIL;
use super::ranges::Ranges;

/// Holes looked at, at most, when the two heads do not fit.
const MORE_HOLES: u32 = 8;

/// Padding of more than 1/8 of the request is worth a longer search: log₂ of that.
const DEAR_PADDING: u32 = 3;

/// A hole is nearly exact when what it leaves is at most 1/32 of the request: log₂ of that.
const NEARLY_EXACT: u32 = 5;

impl Ranges {
    /// A hole for `units` at a multiple of `align_mask + 1`, or NIL.
    ///
    /// It looks at the head of the first class that may fit, then at that of the first class that
    /// surely does, whatever the hole's offset. If there is no such class, it looks at some more
    /// holes between the two; and before, if the sure class might waste much on padding.
    #[inline(always)]
    pub(super) fn search<const LOW: bool>(&mut self, units: u32, align_mask: u32) -> u32 {
        let Some((first_class, first)) = self.first_hole(class(units)) else {
            return NIL;
        };
        if self.slab.at(first).fit(units, align_mask).is_some() {
            if LOW {
                return self.prefer_lower_block(first_class, first, units, align_mask);
            }
            return first;
        }
        let dear = align_mask > units >> DEAR_PADDING;
        if dear {
            let found = self.search_between(first_class, first, units, align_mask);
            if found != NIL {
                return found;
            }
        }
        match self.first_hole(class_above(units.saturating_add(align_mask))) {
            Some((_, hole)) => hole,
            None if dear => NIL,
            None => self.search_between(first_class, first, units, align_mask),
        }
    }

    /// With several blocks: rather than split a hole in a high block, split one of the next class in
    /// a lower block, so that the higher blocks run empty.
    #[inline]
    fn prefer_lower_block(&mut self, found_class: u32, found: u32, units: u32, align_mask: u32) -> u32 {
        let hole = *self.slab.at(found);
        if hole.block == 0 || hole.size - units <= units >> NEARLY_EXACT {
            return found;
        }
        match self.first_hole(found_class + 1) {
            Some((_, other))
                if self.slab.at(other).block < hole.block
                    && self.slab.at(other).fit(units, align_mask).is_some() =>
            {
                other
            }
            _ => found,
        }
    }

    #[cold]
    fn search_between(&mut self, mut class: u32, mut hole: u32, units: u32, align_mask: u32) -> u32 {
        for _ in 0..MORE_HOLES {
            hole = self.slab.at(hole).list_next;
            if hole == NIL {
                match self.first_hole(class + 1) {
                    Some(next) => (class, hole) = next,
                    None => return NIL,
                }
            }
            if self.slab.at(hole).fit(units, align_mask).is_some() {
                return hole;
            }
        }
        NIL
    }
}
