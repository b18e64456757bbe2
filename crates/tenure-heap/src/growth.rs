//! The sizes of new blocks.

use crate::{HeapProperties, MemoryTypeId};

/// The block size in bytes up to which a pool grows by a third of its capacity (at least the minimum block size).
/// With a higher limit, the last block of a loaded scene would be a quarter of all reserved memory, and mostly free.
const YOUNG: u64 = 9 << 19;

/// The number of times that a refused block size is halved.
const HALVINGS: u32 = 3;

/// The block sizes that the suballocator of a pool divides without a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockShape {
    /// Any multiple of the alignment.
    Multiple,
    /// Powers of two: a buddy allocator divides other sizes into several parts, and no range can span them.
    PowerOfTwo,
}

/// The block sizes to request from the driver, best first.
///
/// A pool grows in proportion to its capacity, so that unused reserved memory stays small and the number of blocks
/// logarithmic. A small pool grows by a third instead, which avoids many tiny blocks. A larger request gets a block
/// of exactly its size. Refused sizes are retried at 1/2, 1/4 and 1/8 (as in D3D12MA and VMA), if the request still
/// fits.
///
/// The constants were chosen on recordings of real programs, as a compromise between reserved memory and driver
/// allocations.
///
/// ```
/// use tenure_heap::{BlockShape, Growth};
/// let growth = Growth {
///     min: 1 << 20,
///     max: 64 << 20,
///     limit: 1 << 40,
///     divisor: 16,
///     alignment: 64 << 10,
///     shape: BlockShape::Multiple,
///     halvings: 3,
/// };
/// let young: Vec<u64> = growth.sizes(1000, 16, 0).map(|size| size >> 10).collect();
/// assert_eq!(young, [1024, 512, 256, 128], "KiB");
/// assert_eq!(growth.sizes(1000, 16, 4 << 30).next().map(|size| size >> 20), Some(64), "MiB");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Minimum block size in bytes, limited by `limit`.
    pub min: u64,
    /// Maximum block size in bytes, except for larger requests.
    pub max: u64,
    /// The device's maximum block size in bytes.
    pub limit: u64,
    /// The divisor of the pool's capacity.
    pub divisor: u64,
    /// Alignment of sizes in bytes, a power of two.
    pub alignment: u64,
    /// The shape of the sizes.
    pub shape: BlockShape,
    /// The number of times that a refused size is halved.
    pub halvings: u32,
}

impl Growth {
    /// The growth of a pool with blocks of `min` to `max` bytes in a memory type, in multiples of the power of two
    /// `alignment`. A block takes at most its [share](HeapProperties::largest_share) of the memory.
    #[must_use]
    pub fn new(
        properties: &HeapProperties,
        memory: MemoryTypeId,
        [min, max]: [u64; 2],
        alignment: u64,
        divisor: u64,
    ) -> Self {
        let share = properties.largest_share(memory).max(alignment);
        let limit = properties.max_heap_size - properties.max_heap_size % alignment.max(1);
        let (min, max) = (min.min(share), max.min(share));
        Self { min, max, limit, divisor, alignment, shape: BlockShape::Multiple, halvings: HALVINGS }
    }

    /// The block sizes to try for a request of `size` bytes aligned to `align` in a pool with a capacity of `held`.
    /// Each is a multiple of such requests, because similar requests often follow. Empty if the device allows no
    /// sufficient block.
    pub fn sizes(self, size: u64, align: u64, held: u64) -> impl Iterator<Item = u64> + Clone {
        let wanted = self.wanted(held);
        let mut last = None;
        let sizes = self.needed(size, align).into_iter().flat_map(move |needed| {
            (0..=self.halvings.min(u64::BITS)).map(move |halvings| {
                let wanted = wanted.checked_shr(halvings).unwrap_or(0);
                self.whole(wanted, size, align).max(needed)
            })
        });
        sizes.filter(move |size| last.replace(*size) != Some(*size))
    }

    /// The largest multiple of such requests up to `wanted`; `wanted` itself if it is smaller than one. Limited to
    /// the device's maximum.
    fn whole(self, wanted: u64, size: u64, align: u64) -> u64 {
        let each = match self.shape {
            BlockShape::Multiple => size.max(1).checked_next_multiple_of(align.max(1)),
            BlockShape::PowerOfTwo => None,
        };
        let left_over = each.map_or(0, |each| if each <= wanted { wanted % each } else { 0 });
        let alignment = self.alignment.max(1);
        let rounded = (wanted - left_over).checked_next_multiple_of(alignment);
        rounded.filter(|rounded| *rounded <= self.limit).unwrap_or(self.limit - self.limit % alignment)
    }

    /// The size of the smallest empty block that serves the request.
    fn needed(self, size: u64, align: u64) -> Option<u64> {
        let needed = match self.shape {
            // Offset 0 of an empty block has every alignment.
            BlockShape::Multiple => size.checked_next_multiple_of(self.alignment.max(1))?,
            // A buddy aligns a range by rounding its size up to the alignment.
            BlockShape::PowerOfTwo => size.max(align).max(self.alignment).checked_next_power_of_two()?,
        };
        (needed <= self.limit).then_some(needed)
    }

    /// The preferred block size for the pool's capacity.
    fn wanted(self, held: u64) -> u64 {
        let largest = self.max.max(self.min).min(self.limit);
        let young = (held / 3).min(YOUNG.max(self.min));
        let wanted = (held / self.divisor.max(1)).max(young).clamp(self.min.min(largest), largest);
        let rounded = match self.shape {
            BlockShape::Multiple => wanted.checked_next_multiple_of(self.alignment),
            BlockShape::PowerOfTwo => wanted.checked_next_power_of_two(),
        };
        match (rounded, self.shape) {
            (Some(rounded), BlockShape::Multiple) => rounded.min(self.limit),
            (Some(rounded), BlockShape::PowerOfTwo) if rounded <= largest => rounded,
            // The largest power of two up to the maximum.
            _ => largest.checked_ilog2().map_or(0, |log2| 1 << log2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockShape, Growth};

    const GROWTH: Growth = Growth {
        min: 64 << 10,
        max: 32 << 20,
        limit: 1 << 40,
        divisor: 8,
        alignment: 64 << 10,
        shape: BlockShape::Multiple,
        halvings: 3,
    };

    fn sizes(size: u64, held: u64) -> Vec<u64> {
        GROWTH.sizes(size, 1, held).collect()
    }

    #[test]
    fn blocks_follow_demand() {
        assert_eq!(sizes(1, 0)[0], 64 << 10, "the first block is small");
        assert_eq!(sizes(1, 3 << 20)[0], 1 << 20, "a young pool grows by a third");
        assert_eq!(sizes(1, 64 << 20)[0], 8 << 20, "then by an eighth of the capacity");
        assert_eq!(sizes(1, 1 << 40)[0], 32 << 20, "up to the largest");
        assert_eq!(sizes(100 << 20, 0), [100 << 20], "a large request gets a block of its size");
    }

    #[test]
    fn refused_blocks_shrink_as_far_as_the_request_fits() {
        assert_eq!(sizes(1, 64 << 20), [8 << 20, 4 << 20, 2 << 20, 1 << 20]);
        assert_eq!(sizes(3 << 20, 64 << 20), [6 << 20, 3 << 20], "in whole requests");
        assert_eq!(sizes(u64::MAX, 0), [0_u64; 0], "rounding up would overflow");
    }

    #[test]
    fn block_sizes_are_limited_by_the_device() {
        let limited = Growth { min: 256 << 20, limit: 100 << 20, ..GROWTH };
        assert_eq!(limited.sizes(1, 1, 1 << 40).next(), Some(100 << 20));
        assert_eq!(limited.sizes(100 << 20, 1, 0).next(), Some(100 << 20));
        assert_eq!(limited.sizes((100 << 20) + 1, 1, 0).next(), None);
        for shape in [BlockShape::Multiple, BlockShape::PowerOfTwo] {
            let none = Growth { limit: 0, shape, ..GROWTH };
            assert_eq!(none.sizes(1, 1, 1 << 20).next(), None);
        }
    }

    #[test]
    fn a_buddy_gets_powers_of_two() {
        let buddy = Growth { min: 192 << 10, max: 3 << 20, shape: BlockShape::PowerOfTwo, ..GROWTH };
        for (size, align, held, block) in [
            (1, 1, 0, 256 << 10),
            (300 << 10, 1, 0, 512 << 10),
            (1, 1 << 20, 0, 1 << 20),
            (1, 1, 1 << 40, 2 << 20),
            (3 << 20, 1, 0, 4 << 20),
        ] {
            assert_eq!(buddy.sizes(size, align, held).next(), Some(block), "{size} aligned to {align}");
            assert!(buddy.sizes(size, align, held).all(u64::is_power_of_two));
        }
        assert_eq!(buddy.sizes(1, 1 << 41, 0).next(), None);
        assert_eq!(buddy.sizes(u64::MAX, 1, 0).next(), None);
    }
}
