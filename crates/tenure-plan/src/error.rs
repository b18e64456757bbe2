//! Errors in items, and in a plan.

use core::fmt;

/// An error in the items to plan. Items are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The lifetime of the item is empty.
    EmptyLifetime {
        /// The item.
        item: usize,
        /// Its first use.
        first: u64,
        /// The end of its use.
        last: u64,
    },
    /// The alignment is zero or not a power of two.
    BadAlignment {
        /// The item.
        item: usize,
        /// Its alignment, in bytes.
        alignment: u64,
    },
    /// The fixed offset of the item is not aligned.
    PinnedUnaligned {
        /// The item.
        item: usize,
        /// Its fixed offset, in bytes.
        offset: u64,
        /// Its alignment, in bytes.
        alignment: u64,
    },
    /// The fixed offsets of two items overlap while both are alive.
    PinnedConflict {
        /// One of the items.
        item: usize,
        /// The other one.
        other: usize,
    },
    /// The items, stacked and aligned, would take more than [`MAX_BYTES`].
    TooLarge {
        /// The item with which they do.
        item: usize,
    },
    /// There are more than [`MAX_ITEMS`].
    TooMany {
        /// Their number.
        items: usize,
    },
}

/// The most items that one plan takes.
pub const MAX_ITEMS: usize = 1 << 30;

/// The most bytes that the items of a plan may take if they are stacked: 2^60.
pub const MAX_BYTES: u64 = 1 << 60;

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EmptyLifetime { item, first, last } => {
                write!(f, "item {item} has an empty lifetime, from {first} to {last}")
            }
            Self::BadAlignment { item, alignment } => {
                write!(f, "the alignment {alignment} of item {item} is no power of two")
            }
            Self::PinnedUnaligned { item, offset, alignment } => {
                write!(
                    f,
                    "item {item} is fixed at {offset}, which is no multiple of its alignment {alignment}"
                )
            }
            Self::PinnedConflict { item, other } => {
                write!(f, "items {item} and {other} are fixed to the same bytes at the same time")
            }
            Self::TooLarge { item } => {
                write!(f, "up to item {item} the items are larger than {MAX_BYTES} bytes together")
            }
            Self::TooMany { items } => write!(f, "{items} items are more than {MAX_ITEMS}"),
        }
    }
}

impl core::error::Error for PlanError {}

/// An error in offsets that [`check`](crate::check) found. Items are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The number of offsets is not that of the items.
    Count {
        /// The number of items.
        items: usize,
        /// The number of offsets.
        offsets: usize,
    },
    /// The offset is not a multiple of the item's alignment.
    Misaligned {
        /// The item.
        item: usize,
        /// Its offset, in bytes.
        offset: u64,
        /// Its alignment, in bytes.
        alignment: u64,
    },
    /// The offset is not the fixed one of the item.
    NotWherePinned {
        /// The item.
        item: usize,
        /// Its offset, in bytes.
        offset: u64,
        /// Its fixed offset, in bytes.
        pinned: u64,
    },
    /// The item ends beyond the address space.
    Overflow {
        /// The item.
        item: usize,
        /// Its offset, in bytes.
        offset: u64,
        /// Its size, in bytes.
        size: u64,
    },
    /// Two items share bytes while both are alive.
    Overlap {
        /// One of the items.
        item: usize,
        /// The other one.
        other: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { items, offsets } => write!(f, "{offsets} offsets for {items} items"),
            Self::Misaligned { item, offset, alignment } => {
                write!(f, "item {item} is at {offset}, which is no multiple of its alignment {alignment}")
            }
            Self::NotWherePinned { item, offset, pinned } => {
                write!(f, "item {item} is at {offset} though it is fixed at {pinned}")
            }
            Self::Overflow { item, offset, size } => {
                write!(f, "item {item} of {size} bytes at {offset} passes the end of the address space")
            }
            Self::Overlap { item, other } => {
                write!(f, "items {item} and {other} share bytes while both live")
            }
        }
    }
}

impl core::error::Error for Fault {}
