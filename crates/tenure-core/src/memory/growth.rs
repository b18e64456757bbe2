//! How large a new block should be.

/// A pool grows by a third of what it holds until its blocks are this many times the smallest.
const YOUNG: u64 = 24;

/// The block sizes to ask the driver for, best first.
///
/// A pool grows in proportion to what it holds, so that what it reserves beyond that stays a
/// small part and the number of blocks stays logarithmic; a young pool, for which even that would
/// mean many tiny blocks, by a third of it. A request that is larger gets a block of exactly its
/// size. When the driver refuses, 1/2, 1/4 and 1/8 of the size are tried (the ladder of D3D12MA
/// and VMA), as far as the request still fits.
///
/// The numbers were chosen on recordings of real programs, between little reserved and few driver
/// allocations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Bytes; the smallest block.
    pub(crate) min: u64,
    /// Bytes; the largest block.
    pub(crate) max: u64,
    /// What the pool holds is divided by this.
    pub(crate) divisor: u64,
    /// Bytes; sizes are multiples of this power of two.
    pub(crate) alignment: u64,
    /// How often the size is halved when the driver refuses.
    pub(crate) halvings: u32,
}

impl Growth {
    /// The sizes for a request of `size` bytes in a pool that holds `held`; empty when the size
    /// overflows.
    pub(crate) fn sizes(self, size: u64, held: u64) -> impl Iterator<Item = u64> {
        let needed = size.checked_next_multiple_of(self.alignment);
        let young = (held / 3).min(self.min.saturating_mul(YOUNG));
        let wanted = (held / self.divisor.max(1)).max(young).clamp(self.min, self.max.max(self.min));
        let wanted = wanted.checked_next_multiple_of(self.alignment).unwrap_or(wanted);
        let mut last = None;
        let sizes = needed.into_iter().flat_map(move |needed| {
            (0..=self.halvings).map(move |halvings| {
                let smaller = (wanted >> halvings).next_multiple_of(self.alignment);
                smaller.max(needed)
            })
        });
        sizes.filter(move |size| last.replace(*size) != Some(*size))
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;

    const GROWTH: Growth =
        Growth { min: 64 << 10, max: 32 << 20, divisor: 8, alignment: 64 << 10, halvings: 3 };

    fn sizes(size: u64, held: u64) -> Vec<u64> {
        GROWTH.sizes(size, held).collect()
    }

    #[test]
    fn blocks_follow_demand() {
        assert_eq!(sizes(1, 0)[0], 64 << 10, "the first block is small");
        assert_eq!(sizes(1, 3 << 20)[0], 1 << 20, "a young pool grows by a third");
        assert_eq!(sizes(1, 64 << 20)[0], 8 << 20, "later ones are an eighth of what is held");
        assert_eq!(sizes(1, 1 << 40)[0], 32 << 20, "up to the largest");
        assert_eq!(sizes(100 << 20, 0), [100 << 20], "a large request gets what it needs");
    }

    #[test]
    fn refused_blocks_shrink_as_far_as_the_request_fits() {
        assert_eq!(sizes(1, 64 << 20), [8 << 20, 4 << 20, 2 << 20, 1 << 20]);
        assert_eq!(sizes(3 << 20, 64 << 20), [8 << 20, 4 << 20, 3 << 20]);
        assert_eq!(sizes(u64::MAX, 0), [0_u64; 0], "rounding up would overflow");
    }
}
