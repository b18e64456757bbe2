//! Conversion between bytes and granules.

use core::ops::Range;

use super::class::{class_above, least};
use super::ranges::MAX_UNITS;
use crate::suballocator::check_request;
use crate::{AllocError, BlockError};

/// The granule: the unit in which a range is divided, a power of two of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granule {
    log2: u32,
}

/// A request in granules.
pub(super) struct Request {
    pub(super) units: u32,
    pub(super) align_mask: u32,
}

impl Granule {
    pub(super) fn new(granule: u64) -> Result<Self, BlockError> {
        if !granule.is_power_of_two() {
            return Err(BlockError::BadGranule { granule });
        }
        Ok(Self { log2: granule.trailing_zeros() })
    }

    #[inline]
    pub(super) fn size(self) -> u64 {
        1 << self.log2
    }

    /// The largest range that can be managed, in bytes.
    #[inline]
    pub(super) fn max_capacity(self) -> u64 {
        self.bytes(u64::from(MAX_UNITS))
    }

    #[inline]
    pub(super) fn bytes(self, units: u64) -> u64 {
        units.checked_shl(self.log2).filter(|bytes| bytes >> self.log2 == units).unwrap_or(u64::MAX)
    }

    /// Bytes of units within a range; cannot overflow, because the range's size in bytes does not.
    #[inline]
    pub(super) const fn bytes_in_range(self, units: u32) -> u64 {
        (units as u64) << self.log2
    }

    /// The byte range of a hole.
    pub(super) fn bytes_of_hole(self, (offset, size): (u32, u32)) -> Range<u64> {
        let start = self.bytes_in_range(offset);
        start..start + self.bytes_in_range(size)
    }

    /// Whole granules in a range of `capacity` bytes.
    pub(super) fn capacity(self, capacity: u64) -> Result<u32, BlockError> {
        let min = self.size();
        if capacity < min {
            return Err(BlockError::TooSmall { capacity, min });
        }
        let max = self.max_capacity();
        if capacity > max {
            return Err(BlockError::TooLarge { capacity, max });
        }
        Ok((capacity >> self.log2) as u32)
    }

    /// Converts a request to granules; rejects more than `capacity` bytes.
    #[inline]
    pub(super) fn request(self, size: u64, align: u64, capacity: u64) -> Result<Request, AllocError> {
        check_request(size, align)?;
        if size > capacity {
            return Err(AllocError::TooLarge { size, capacity });
        }
        let units = ((size - 1) >> self.log2) + 1;
        // No offset but 0 is a multiple of MAX_UNITS or of more.
        let align_mask = ((align - 1) >> self.log2).min(u64::from(MAX_UNITS - 1));
        Ok(Request { units: units as u32, align_mask: align_mask as u32 })
    }

    /// The size in bytes of a hole that certainly serves a request.
    pub(super) fn sure_fit(self, size: u64, align: u64) -> u64 {
        let Ok(request) = self.request(size, align, self.max_capacity()) else {
            return u64::MAX;
        };
        let sure = least(class_above(request.units.saturating_add(request.align_mask)));
        self.bytes(u64::from(sure))
    }
}
