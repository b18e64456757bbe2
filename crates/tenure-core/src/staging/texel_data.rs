//! Layouts of texels, in the program's memory and in staging memory.

use crate::device::{BufferLayout, DeviceError, TexelBlock};

/// Texels of a region, in the program's memory.
///
/// ```
/// use tenure::resource::TexelData;
/// let tight = TexelData::new(&[7; 64 * 64 * 4]);
/// let padded = TexelData::new(&[7; 64 * 512]).row_pitch(512);
/// # let _ = (tight, padded);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TexelData<'a> {
    /// The rows of blocks, slice by slice.
    pub bytes: &'a [u8],
    /// Bytes from one row of blocks to the next. *Default*: no padding.
    pub row_pitch: Option<u64>,
    /// Rows of blocks from one slice to the next. *Default*: no padding.
    pub rows: Option<u32>,
}

impl<'a> TexelData<'a> {
    /// Texels without padding.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, row_pitch: None, rows: None }
    }

    /// Sets the bytes from one row of blocks to the next.
    #[must_use]
    pub const fn row_pitch(self, row_pitch: u64) -> Self {
        Self { row_pitch: Some(row_pitch), ..self }
    }

    /// Sets the rows of blocks from one slice to the next.
    #[must_use]
    pub const fn rows(self, rows: u32) -> Self {
        Self { rows: Some(rows), ..self }
    }
}

/// The layout of a box of texels in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Bytes of one row of blocks, without padding.
    pub(crate) row: u64,
    /// Bytes from one row to the next.
    pub(crate) row_pitch: u64,
    /// Rows of blocks in a slice.
    pub(crate) rows: u32,
    /// Slices.
    pub(crate) slices: u32,
    /// Bytes from the first to the last row, with padding between them.
    pub(crate) size: u64,
}

impl Footprint {
    /// The layout of a box with rows at multiples of `pitch` bytes and no other padding.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if the size overflows.
    pub(crate) fn new(block: TexelBlock, extent: [u32; 3], pitch: u64) -> Result<Self, DeviceError> {
        let [width, height, slices] = extent;
        let too_large =
            DeviceError::invalid_call("a row of texels must be countable", u64::from(width), pitch);
        let row = u64::from(width.div_ceil(block.width)).checked_mul(u64::from(block.bytes));
        let rows = height.div_ceil(block.height);
        let found = row.and_then(|row| {
            let row_pitch = row.checked_next_multiple_of(pitch)?;
            let size = BufferLayout { offset: 0, row_pitch, rows }.bytes(block, extent)?;
            Some(Self { row, row_pitch, rows, slices, size })
        });
        found.ok_or(too_large)
    }

    /// Bytes without padding.
    pub(crate) const fn tight(&self) -> u64 {
        // At most the padded size, which does not overflow.
        self.row.saturating_mul(self.rows as u64).saturating_mul(self.slices as u64)
    }

    /// Copies the texels out row by row, without padding.
    pub(crate) fn drain(
        &self,
        out: &mut [u8],
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if self.row == self.row_pitch {
            return read(0, out);
        }
        let (limit, row) = (out.len() as u64, self.row);
        let rule = "a row of texels can be addressed";
        let row = usize::try_from(row).map_err(|_| DeviceError::invalid_call(rule, row, limit))?;
        let mut offset = 0;
        for row in out.chunks_mut(row.max(1)) {
            read(offset, row)?;
            offset += self.row_pitch;
        }
        Ok(())
    }

    /// Copies texels in from another layout with the same rows and slices: in one piece if both layouts match, else row by
    /// row.
    pub(crate) fn fill(
        &self,
        from: BufferLayout,
        bytes: &[u8],
        mut write: impl FnMut(u64, &[u8]) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let is_alike = from.row_pitch == self.row_pitch && (self.slices == 1 || from.rows == self.rows);
        if is_alike {
            return write(0, part(bytes, 0, self.size)?);
        }
        for slice in 0..u64::from(self.slices) {
            for row in 0..u64::from(self.rows) {
                let source = (slice * u64::from(from.rows) + row) * from.row_pitch;
                let target = (slice * u64::from(self.rows) + row) * self.row_pitch;
                write(target, part(bytes, source, self.row)?)?;
            }
        }
        Ok(())
    }
}

/// A checked range of the program's bytes.
fn part(bytes: &[u8], offset: u64, size: u64) -> Result<&[u8], DeviceError> {
    let limit = bytes.len() as u64;
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    let part = range.and_then(|(start, size)| bytes.get(start..start.checked_add(size)?));
    part.ok_or(DeviceError::invalid_call("texels lie within their bytes", offset, limit))
}
