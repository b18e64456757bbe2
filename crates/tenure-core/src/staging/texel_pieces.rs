//! Division of texture regions into pieces.

use super::Footprint;
use crate::device::{DeviceError, TexelBlock, TextureInfo, TextureRegion};

/// The rest of a region that is not yet copied. A piece is the whole region, whole slices, or rows of blocks of one slice, so
/// that its bytes are contiguous.
pub(crate) struct TexelPieces {
    region: TextureRegion,
    block: TexelBlock,
    /// Layout of the whole region.
    rows: Footprint,
    /// False for depth and stencil, which are copied a whole mip at a time.
    is_divisible: bool,
    /// Begin of the next piece: slice, and row of blocks.
    slice: u32,
    row: u32,
}

/// A piece of a region.
#[derive(Clone, Copy)]
pub(crate) struct TexelPiece {
    pub(crate) region: TextureRegion,
    pub(crate) rows: Footprint,
    /// The first slice and row of blocks in the region.
    pub(crate) slice: u32,
    pub(crate) row: u32,
}

impl TexelPieces {
    /// All of a checked region, with rows at multiples of `pitch` bytes.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if the size overflows.
    pub(crate) fn new(info: &TextureInfo, region: TextureRegion, pitch: u64) -> Result<Self, DeviceError> {
        let block = region.block(info.format);
        let rows = Footprint::new(block, region.extent, pitch)?;
        Ok(Self { region, block, rows, is_divisible: !info.format.is_depth(), slice: 0, row: 0 })
    }

    /// Layout of the whole region.
    pub(crate) const fn all(&self) -> &Footprint {
        &self.rows
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.slice >= self.rows.slices
    }

    /// The next piece: the whole region if it has at most `whole` bytes, or at most `part` bytes of it, but at least a row of
    /// blocks.
    pub(crate) fn next(&self, whole: u64, part: u64) -> TexelPiece {
        let Self { region, block, rows, slice, row, .. } = *self;
        let is_untouched = slice == 0 && row == 0;
        if is_untouched && (rows.size <= whole || !self.is_divisible) {
            return TexelPiece { region, rows, slice, row };
        }
        let fitting =
            |bytes: u64, left: u32| u32::try_from(part / bytes.max(1)).unwrap_or(u32::MAX).min(left);
        let slice_bytes = rows.row_pitch.saturating_mul(rows.rows.into());
        let (slices, count) = match fitting(slice_bytes, rows.slices - slice) {
            slices if row == 0 && slices > 0 => (slices, rows.rows),
            _ => (1, fitting(rows.row_pitch, rows.rows - row).max(1)),
        };
        let [x, y, z] = region.origin;
        let [width, height, _] = region.extent;
        // The last row of blocks may have fewer texels.
        let top = row * block.height;
        let piece = TextureRegion {
            origin: [x, y + top, z + slice],
            extent: [width, count.saturating_mul(block.height).min(height - top), slices],
            ..region
        };
        let full_rows = u64::from(slices) * u64::from(count) - 1;
        let size = full_rows * rows.row_pitch + rows.row;
        TexelPiece { region: piece, rows: Footprint { rows: count, slices, size, ..rows }, slice, row }
    }

    /// Advances past a copied piece.
    pub(crate) const fn advance(&mut self, piece: &TexelPiece) {
        self.row = piece.row + piece.rows.rows;
        if self.row == self.rows.rows {
            self.row = 0;
            self.slice += piece.rows.slices;
        }
    }
}
