//! Regions of textures that are copied in pieces.

use super::Footprint;
use crate::device::{Block, DeviceError, TextureInfo, TextureRegion};

/// The part of a region that has not been copied yet. Pieces are the whole region, whole slices, or rows of blocks of one
/// slice, so that their bytes follow one another.
pub(crate) struct TexelPieces {
    region: TextureRegion,
    block: Block,
    /// Of the whole region.
    rows: Footprint,
    /// Depth and stencil are copied a whole mip at a time.
    is_divisible: bool,
    /// Where the next piece begins: slices, and rows of blocks.
    slice: u32,
    row: u32,
}

/// A piece of a region.
#[derive(Clone, Copy)]
pub(crate) struct TexelPiece {
    pub(crate) region: TextureRegion,
    pub(crate) rows: Footprint,
    /// The slice and the row of blocks of the region at which it begins.
    pub(crate) slice: u32,
    pub(crate) row: u32,
}

impl TexelPieces {
    /// All of a region that was checked, with rows at multiples of `pitch` bytes.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for more bytes than can be counted.
    pub(crate) fn new(info: &TextureInfo, region: TextureRegion, pitch: u64) -> Result<Self, DeviceError> {
        let block = region.block(info.format);
        let rows = Footprint::new(block, region.extent, pitch)?;
        Ok(Self { region, block, rows, is_divisible: !info.format.is_depth(), slice: 0, row: 0 })
    }

    /// How the whole region lies.
    pub(crate) const fn all(&self) -> &Footprint {
        &self.rows
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.slice >= self.rows.slices
    }

    /// The next piece: all of it in at most `whole` bytes, or at most `part` bytes of it, but a row of blocks at least.
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

    /// A piece was copied.
    pub(crate) const fn advance(&mut self, piece: &TexelPiece) {
        self.row = piece.row + piece.rows.rows;
        if self.row == self.rows.rows {
            self.row = 0;
            self.slice += piece.rows.slices;
        }
    }
}
