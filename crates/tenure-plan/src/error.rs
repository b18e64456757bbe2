//! Errors in items and plans.

use core::fmt;

/// An error in the items to plan. Items are identified by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The lifetime of the item is empty.
    EmptyLifetime {
        /// The item.
        item: usize,
        /// Its first use.
        first: u64,
        /// The end of its lifetime.
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
    /// The total size of the items, stacked and aligned, exceeds [`MAX_BYTES`].
    TooLarge {
        /// The item that exceeds the limit.
        item: usize,
    },
    /// There are more than [`MAX_ITEMS`].
    TooMany {
        /// Their number.
        items: usize,
    },
}

/// The maximum number of items in a plan.
pub const MAX_ITEMS: usize = 1 << 30;

/// The maximum total size of the items of a plan, stacked and aligned: 2^60 bytes.
pub const MAX_BYTES: u64 = 1 << 60;

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EmptyLifetime { item, first, last } => {
                write!(f, "item {item} has an empty lifetime, from {first} to {last}")
            }
            Self::BadAlignment { item, alignment } => {
                write!(f, "the alignment {alignment} of item {item} is not a power of two")
            }
            Self::PinnedUnaligned { item, offset, alignment } => {
                write!(
                    f,
                    "item {item} is fixed at {offset}, which is not a multiple of its alignment {alignment}"
                )
            }
            Self::PinnedConflict { item, other } => {
                write!(f, "items {item} and {other} are fixed to the same bytes at the same time")
            }
            Self::TooLarge { item } => {
                write!(f, "the items up to item {item} take more than {MAX_BYTES} bytes together")
            }
            Self::TooMany { items } => write!(f, "{items} items are more than {MAX_ITEMS}"),
        }
    }
}

impl core::error::Error for PlanError {}

/// An error in offsets, found by [`check`](crate::check). Items are identified by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The numbers of offsets and items differ.
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
    /// The offset is not the item's fixed offset.
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
                write!(f, "item {item} is at {offset}, which is not a multiple of its alignment {alignment}")
            }
            Self::NotWherePinned { item, offset, pinned } => {
                write!(f, "item {item} is at {offset} though it is fixed at {pinned}")
            }
            Self::Overflow { item, offset, size } => {
                write!(f, "item {item} of {size} bytes at {offset} passes the end of the address space")
            }
            Self::Overlap { item, other } => {
                write!(f, "items {item} and {other} share bytes while both are alive")
            }
        }
    }
}

impl core::error::Error for Fault {}
