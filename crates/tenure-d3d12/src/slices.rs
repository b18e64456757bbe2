//! Copies of volumes whose slice pitch is larger than their rows.
//!
//! The distance of slices is the height of a footprint. The runtime requires that a buffer contains all rows of
//! that height in the last slice, too, although no copy reaches the rows after the texels
//! (`D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCPLACEMENT`; <https://crbug.com/dawn/1289>). For a buffer that
//! ends before, the last slice is a separate copy, whose footprint is no higher than its texels.

use std::ops::Range;

use tenure_core::device::{BufferLayout, TexelBlock};

/// `D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT`.
pub(crate) const PLACEMENT: u64 = 512;

/// Slices of a volume and their footprint in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slices {
    /// The slices, out of all slices of the copy.
    pub(crate) slices: Range<u32>,
    /// The start of the footprint.
    pub(crate) offset: u64,
    /// Rows of blocks in a slice of the footprint.
    pub(crate) rows: u32,
    /// The row of blocks in the footprint where the texels begin.
    pub(crate) first_row: u32,
}

impl Slices {
    /// The bytes from the start of the footprint that the runtime requires in the buffer.
    fn bytes(&self, pitch: u64, row_bytes: u64) -> Option<u64> {
        let slices = u64::from(self.slices.end.saturating_sub(self.slices.start));
        let rows = slices.checked_mul(u64::from(self.rows))?;
        rows.saturating_sub(1).checked_mul(pitch)?.checked_add(row_bytes)
    }
}

/// The copies that move a box of texels between a texture and a buffer of `capacity` bytes with this `layout`.
pub(crate) fn copies(
    layout: BufferLayout,
    (block, [width, height, depth]): (TexelBlock, [u32; 3]),
    capacity: u64,
) -> (Slices, Option<Slices>) {
    let height = height.div_ceil(block.height);
    let row_bytes = u64::from(width.div_ceil(block.width)).saturating_mul(u64::from(block.bytes));
    let of = |slices: Range<u32>| {
        let rows = if slices.len() > 1 { layout.rows } else { height };
        Slices { slices, offset: layout.offset, rows, first_row: 0 }
    };
    let all = of(0..depth);
    let is_inside = |bytes: u64| layout.offset.checked_add(bytes).is_some_and(|end| end <= capacity);
    if depth <= 1 || all.bytes(layout.row_pitch, row_bytes).is_some_and(is_inside) {
        return (all, None);
    }
    let last = depth.saturating_sub(1);
    let rows_before = u64::from(last).saturating_mul(u64::from(layout.rows));
    let offset = layout.offset.saturating_add(rows_before.saturating_mul(layout.row_pitch));
    // Row pitches are multiples of half the alignment of offsets: a slice that is not aligned begins an odd number of
    // rows after the first, and the row before it is aligned.
    let first_row = u32::from(!offset.is_multiple_of(PLACEMENT));
    let before = u64::from(first_row).saturating_mul(layout.row_pitch);
    let last = Slices {
        slices: last..depth,
        offset: offset.saturating_sub(before),
        rows: height.saturating_add(first_row),
        first_row,
    };
    (of(0..depth.saturating_sub(1)), Some(last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure_core::device::Format;

    use super::*;

    #[test]
    fn the_last_slice_is_copied_alone_at_the_end_of_the_buffer() {
        // Slices of 8 rows of 64 bytes, 9 rows apart.
        let (layout, block) =
            (BufferLayout { offset: 512, row_pitch: 256, rows: 9 }, Format::Rgba8Unorm.block());
        let copies = |extent, capacity| copies(layout, (block, extent), capacity);
        let whole = Slices { slices: 0..4, offset: 512, rows: 9, first_row: 0 };
        let used = 512 + 256 * (3 * 9 + 7) + 64;
        assert_eq!(copies([16, 8, 4], used + 256), (whole.clone(), None));
        let first = Slices { slices: 0..3, ..whole.clone() };
        // The slice begins 27 rows later, which is not a multiple of 512 bytes: the row before it is.
        let last = Slices { slices: 3..4, offset: 512 + 256 * 26, rows: 9, first_row: 1 };
        for capacity in [used, used + 255] {
            assert_eq!(copies([16, 8, 4], capacity), (first.clone(), Some(last.clone())));
        }
        let two = Slices { slices: 0..1, rows: 8, ..whole.clone() };
        let used = 512 + 256 * (9 + 7) + 64;
        assert_eq!(copies([16, 8, 2], used).0, two);
        assert_eq!(copies([16, 8, 1], 512 + 256 * 7 + 64), (two, None), "a single slice has no distance");
        assert_eq!(copies([16, 9, 4], 512 + 256 * 35 + 64), (whole, None), "no padding");
    }

    proptest! {
        /// Copies that fit a buffer satisfy the runtime's rules, and read each texel from its own place.
        #[test]
        fn copies_that_fit_a_buffer_are_accepted(
            extent in [1_u32..=9, 1_u32..=9, 1_u32..=5], padding in 0_u32..4, steps in 1_u64..5,
            start in 0_u64..3, spare in 0_u64..2048, format in prop::sample::select(Format::ALL),
        ) {
            let block = format.block();
            let [width, height, depth] = extent;
            let row_bytes = u64::from(width.div_ceil(block.width)) * u64::from(block.bytes);
            let row_pitch = row_bytes.next_multiple_of(256) + 256 * (steps - 1);
            let rows = height.div_ceil(block.height) + padding;
            let layout = BufferLayout { offset: start * PLACEMENT, row_pitch, rows };
            let capacity = layout.offset + layout.bytes(block, extent).unwrap() + spare;
            let (first, second) = copies(layout, (block, extent), capacity);
            let mut next = 0;
            for part in [Some(first), second].into_iter().flatten() {
                prop_assert_eq!(part.offset % PLACEMENT, 0);
                let bytes = part.bytes(row_pitch, row_bytes).unwrap();
                prop_assert!(part.offset + bytes <= capacity, "{:?} of {} bytes", part, capacity);
                prop_assert!(part.rows >= part.first_row + height.div_ceil(block.height));
                for slice in part.slices.clone() {
                    prop_assert_eq!(slice, next);
                    next += 1;
                    let inside = u64::from((slice - part.slices.start) * part.rows + part.first_row);
                    let at = part.offset + inside * row_pitch;
                    prop_assert_eq!(at, layout.offset + u64::from(slice * rows) * row_pitch);
                }
            }
            prop_assert_eq!(next, depth);
        }
    }
}
