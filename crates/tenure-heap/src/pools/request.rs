//! Requests, their results, and the configuration of the pools.

use std::num::NonZeroU64;

use super::{InvalidSetup, MemoryError, RequestField};
use crate::{HeapCategory, MemoryTypeId, Name, ShortageRules};

/// Maximum size of a request in bytes; far beyond any device, and cannot overflow when rounded up.
const MAX_SIZE: u64 = 1 << 48;
/// Maximum alignment in bytes.
pub(super) const MAX_ALIGNMENT: u64 = 1 << 32;

/// The block sizes of pools, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Size of a pool's first block.
    pub min: u64,
    /// The largest block size. Larger requests get a dedicated heap.
    pub max: u64,
}

/// Configuration of [`HeapPools`](super::HeapPools).
///
/// With any configuration, a block takes at most an eighth of its memory heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapPoolsConfig {
    /// Blocks of memory without CPU access. Default 1 to 64 MiB; 64 KiB to 4 GiB.
    pub device_blocks: BlockSizes,
    /// Blocks of CPU-visible memory. Default 1 to 32 MiB; 64 KiB to 4 GiB.
    pub host_blocks: BlockSizes,
    /// The granularity of ranges in bytes, a power of two. Default 16; 1 to 64 KiB.
    pub granule: u64,
    /// The size of a new block is the pool's capacity divided by this. Default 16; 1 to 64.
    pub growth_divisor: u64,
    /// The number of other blocks of its pool that become empty before an empty block is freed. Doubled for a pool
    /// that soon needs a new block again. Default 1; at most 1,000,000.
    pub empty_blocks: u32,
    /// Whether [`HeapPools::compact`](super::HeapPools::compact) can move ranges, at a cost of 8 bytes per live
    /// range. Default false.
    pub compacts: bool,
}

crate::setters!(HeapPoolsConfig {
    device_blocks: BlockSizes,
    host_blocks: BlockSizes,
    granule: u64,
    growth_divisor: u64,
    empty_blocks: u32,
    compacts: bool,
});

impl Default for HeapPoolsConfig {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            device_blocks: BlockSizes { min: MIB, max: 64 * MIB },
            host_blocks: BlockSizes { min: MIB, max: 32 * MIB },
            granule: 16,
            growth_divisor: 16,
            empty_blocks: 1,
            compacts: false,
        }
    }
}

impl HeapPoolsConfig {
    /// Checks every field against its range.
    ///
    /// # Errors
    /// [`InvalidSetup`] for the first field that is out of range.
    pub fn validate(&self) -> Result<(), InvalidSetup> {
        let check = |field, value: u64, min, max| {
            let is_fine = (min..=max).contains(&value);
            if is_fine { Ok(()) } else { Err(InvalidSetup::OutOfRange { field, value, min, max }) }
        };
        let (least, most) = (64 << 10, 4 << 30);
        for (blocks, [min, max]) in [
            (self.device_blocks, ["device_blocks.min", "device_blocks.max"]),
            (self.host_blocks, ["host_blocks.min", "host_blocks.max"]),
        ] {
            check(max, blocks.max, least, most)?;
            check(min, blocks.min, least, blocks.max)?;
        }
        check("granule", self.granule, 1, 64 << 10)?;
        if !self.granule.is_power_of_two() {
            return Err(InvalidSetup::NotPowerOfTwo { field: "granule", value: self.granule });
        }
        check("growth_divisor", self.growth_divisor, 1, 64)?;
        check("empty_blocks", self.empty_blocks.into(), 0, 1_000_000)
    }
}

/// A request for a range.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryRequest<'a> {
    /// The name in reports, and the debug name of a dedicated heap.
    pub name: Name,
    /// Bytes.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
    /// The acceptable memory types, best first.
    pub memory: &'a [MemoryTypeId],
    /// The resources that the heap must be able to hold. Ranges of different categories never share a heap.
    pub category: HeapCategory,
    /// The permitted steps when memory is short.
    pub shortage: ShortageRules,
}

impl<'a> MemoryRequest<'a> {
    /// An unnamed request that uses types after the first only after a refusal.
    #[must_use]
    pub fn new(size: u64, alignment: u64, memory: &'a [MemoryTypeId], category: HeapCategory) -> Self {
        Self { name: Name::default(), size, alignment, memory, category, shortage: ShortageRules::default() }
    }

    /// Checks the request; `memory_types` is the number of the device's memory types.
    pub(super) fn check<E>(&self, memory_types: usize) -> Result<(), MemoryError<E>> {
        let invalid = |field, value| Err(MemoryError::InvalidRequest { field, value });
        if self.size == 0 || self.size > MAX_SIZE {
            return invalid(RequestField::Size, self.size);
        }
        if !self.alignment.is_power_of_two() || self.alignment > MAX_ALIGNMENT {
            return invalid(RequestField::Alignment, self.alignment);
        }
        let is_known = |memory: &MemoryTypeId| usize::from(memory.0) < memory_types;
        if self.memory.iter().any(is_known) { Ok(()) } else { Err(MemoryError::NoMemoryType) }
    }
}

/// A range of a heap. Freed by [`HeapPools::free`](super::HeapPools::free). Dropping it instead leaks the range,
/// which [`HeapPools::live`](super::HeapPools::live) then lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRange {
    pub(super) pools: u64,
    pub(super) key: usize,
    pub(super) serial: NonZeroU64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) memory: MemoryTypeId,
    pub(super) is_dedicated: bool,
}

impl MemoryRange {
    /// Offset in the heap, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Requested bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The memory type of the heap.
    #[must_use]
    pub const fn memory(&self) -> MemoryTypeId {
        self.memory
    }

    /// True if the heap is dedicated to this range.
    #[must_use]
    pub const fn is_dedicated(&self) -> bool {
        self.is_dedicated
    }

    /// An index that is unique among live ranges, for the caller's own tables. Less than the peak number of live
    /// ranges, rounded up by at most half, or 256.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.key
    }

    /// The identity as plain values, for other languages. [`HeapPools::live_range`](super::HeapPools::live_range)
    /// converts it back.
    #[must_use]
    pub const fn to_raw(&self) -> [u64; 3] {
        [self.pools, self.key as u64, self.serial.get()]
    }

    /// The serial number of the allocation, from 1; never reused by the same pools.
    #[must_use]
    pub const fn serial(&self) -> NonZeroU64 {
        self.serial
    }
}
