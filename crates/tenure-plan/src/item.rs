//! The items to place.

use core::ops::Range;

/// An item to place: a size, and the time from its first use to its last.
///
/// Time is any count that orders uses, usually the number of a pass. Two items may share bytes if their lifetimes do
/// not overlap. Items of different classes are in separate address spaces.
///
/// ```
/// use tenure_plan::Item;
///
/// let depth = Item::new(3..9, 8 << 20).aligned(64 << 10);
/// assert_eq!((depth.first, depth.last, depth.class), (3, 9, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The time of its first use.
    pub first: u64,
    /// The end of its lifetime: the first time at which it is no longer used; later than `first`.
    pub last: u64,
    /// Size in bytes. An item of 0 bytes conflicts with no other.
    pub size: u64,
    /// Alignment of its offset in bytes; a power of two.
    pub alignment: u64,
    /// The memory class it needs. Each class is a separate address space that begins at 0.
    pub class: u32,
    /// Its offset in the previous plan, a preference according to
    /// [`PlanConfig::stability`](crate::PlanConfig::stability).
    pub previous: Option<u64>,
    /// The required offset. If it is impossible, planning fails.
    pub pinned: Option<u64>,
}

impl Item {
    /// An item of class 0 that may have any offset.
    #[must_use]
    pub const fn new(lifetime: Range<u64>, size: u64) -> Self {
        Self {
            first: lifetime.start,
            last: lifetime.end,
            size,
            alignment: 1,
            class: 0,
            previous: None,
            pinned: None,
        }
    }

    /// This item with an alignment in bytes.
    #[must_use]
    pub const fn aligned(mut self, alignment: u64) -> Self {
        self.alignment = alignment;
        self
    }

    /// This item in another memory class.
    #[must_use]
    pub const fn in_class(mut self, class: u32) -> Self {
        self.class = class;
        self
    }

    /// This item with a preferred previous offset.
    #[must_use]
    pub const fn previously_at(mut self, offset: u64) -> Self {
        self.previous = Some(offset);
        self
    }

    /// This item with a fixed offset.
    #[must_use]
    pub const fn pinned_at(mut self, offset: u64) -> Self {
        self.pinned = Some(offset);
        self
    }

    /// Whether the lifetimes of both items overlap.
    #[must_use]
    pub const fn overlaps_in_time(&self, other: &Self) -> bool {
        self.first < other.last && other.first < self.last
    }
}
