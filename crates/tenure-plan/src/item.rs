//! What is to be placed.

use core::ops::Range;

/// Something that needs memory for a while: a size, and the time from its first use to its last.
///
/// Time is any count that orders uses, usually the number of a pass. Two items may share bytes if
/// their lifetimes do not overlap, or if their classes differ (then they do not share an address
/// space to begin with).
///
/// ```
/// use tenure_plan::Item;
///
/// let depth = Item::new(3..9, 8 << 20).aligned(64 << 10);
/// assert_eq!((depth.first, depth.last, depth.class), (3, 9, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// When it is first used.
    pub first: u64,
    /// The first time at which it is no longer used; later than `first`.
    pub last: u64,
    /// Bytes. An item of none conflicts with nothing.
    pub size: u64,
    /// Bytes that its offset must be a multiple of; a power of two.
    pub alignment: u64,
    /// The kind of memory it needs. Each class is an address space of its own that begins at 0.
    pub class: u32,
    /// Where it was in the plan before. A wish, heard as far as
    /// [`Options::stability`](crate::Options::stability) says.
    pub previous: Option<u64>,
    /// Where it must be. A condition: a plan that cannot meet it is refused.
    pub pinned: Option<u64>,
}

impl Item {
    /// An item of class 0 that may lie anywhere.
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

    /// The same item at multiples of `alignment` bytes only.
    #[must_use]
    pub const fn aligned(mut self, alignment: u64) -> Self {
        self.alignment = alignment;
        self
    }

    /// The same item in another kind of memory.
    #[must_use]
    pub const fn in_class(mut self, class: u32) -> Self {
        self.class = class;
        self
    }

    /// The same item, which would rather lie where it was.
    #[must_use]
    pub const fn previously_at(mut self, offset: u64) -> Self {
        self.previous = Some(offset);
        self
    }

    /// The same item, fixed in its place.
    #[must_use]
    pub const fn pinned_at(mut self, offset: u64) -> Self {
        self.pinned = Some(offset);
        self
    }

    /// Whether both live at some time.
    #[must_use]
    pub const fn overlaps_in_time(&self, other: &Self) -> bool {
        self.first < other.last && other.first < self.last
    }
}
