//! Errors, with the numbers that explain them.

use alloc::string::String;
use core::fmt;

use crate::BlockId;

/// The error of an allocation. A refused allocation leaves the allocator unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// The requested size is zero.
    ZeroSize,
    /// The alignment is zero or not a power of two.
    BadAlignment {
        /// The requested alignment, in bytes.
        align: u64,
    },
    /// No state of this allocator, not even an empty one, could serve the request.
    TooLarge {
        /// Requested bytes (for a [`Buddy`](crate::Buddy), the larger of size and alignment).
        size: u64,
        /// The largest size of this allocator, in bytes.
        capacity: u64,
    },
    /// No free range fits now. Freeing allocations, or adding a block, may help.
    Full {
        /// Requested bytes.
        size: u64,
        /// Requested alignment, in bytes.
        align: u64,
        /// Total free bytes.
        free_bytes: u64,
        /// The size of an existing free range: the largest one, or smaller by at most the width of a size class
        /// (1/128 for [`General`](crate::General), 1/4 for [`Growing`](crate::Growing)), so that a refusal costs
        /// no more than a success.
        largest_free: u64,
    },
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroSize => f.write_str("the requested size is zero"),
            Self::BadAlignment { align } => {
                write!(f, "the alignment {align} is not a power of two")
            }
            Self::TooLarge { size, capacity } => {
                write!(f, "{size} bytes can never be served: the limit is {capacity}")
            }
            Self::Full { size, align, free_bytes, largest_free } => write!(
                f,
                "no free range holds {size} bytes aligned to {align} \
                 ({free_bytes} bytes are free, in ranges of up to {largest_free})"
            ),
        }
    }
}

impl core::error::Error for AllocError {}

/// The error of a free. A refused free leaves the allocator unchanged.
///
/// Both cases are detected in every build, not only in debug builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeError {
    /// The allocation of the handle was already freed.
    DoubleFree,
    /// The handle belongs to another allocator.
    Foreign,
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DoubleFree => "the allocation has been freed before",
            Self::Foreign => "the handle belongs to another allocator",
        })
    }
}

impl core::error::Error for FreeError {}

/// The error of a range that cannot be managed, or of a block that cannot be added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockError {
    /// The capacity is less than one unit of management (granule or smallest block).
    TooSmall {
        /// Bytes given.
        capacity: u64,
        /// Minimum number of bytes.
        min: u64,
    },
    /// The capacity exceeds the range of the algorithm's numbers.
    TooLarge {
        /// Bytes given.
        capacity: u64,
        /// Maximum number of bytes.
        max: u64,
    },
    /// The granule (or the smallest block) is zero or not a power of two.
    BadGranule {
        /// Bytes given.
        granule: u64,
    },
    /// Every block number is taken.
    TooManyBlocks,
    /// The block does not exist, or was removed.
    Unknown {
        /// The requested block.
        block: BlockId,
    },
    /// The block still has allocations.
    InUse {
        /// The requested block.
        block: BlockId,
        /// Allocated bytes of the block.
        used: u64,
    },
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooSmall { capacity, min } => {
                write!(f, "a range of {capacity} bytes is below the minimum of {min}")
            }
            Self::TooLarge { capacity, max } => {
                write!(f, "a range of {capacity} bytes is above the maximum of {max}")
            }
            Self::BadGranule { granule } => {
                write!(f, "the granule {granule} is not a power of two")
            }
            Self::TooManyBlocks => f.write_str("every block number is taken"),
            Self::Unknown { block } => write!(f, "there is no block {}", block.index()),
            Self::InUse { block, used } => {
                write!(f, "block {} still holds {used} bytes", block.index())
            }
        }
    }
}

impl core::error::Error for BlockError {}

/// An inconsistency found by a `validate` function: always a bug in this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistency {
    what: String,
}

impl Inconsistency {
    pub(crate) fn new(what: String) -> Self {
        Self { what }
    }
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl core::error::Error for Inconsistency {}

/// Returns an [`Inconsistency`] unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($format:tt)+) => {
        if !$condition {
            return Err($crate::Inconsistency::new(alloc::format!($($format)+)));
        }
    };
}
pub(crate) use ensure;
