//! Parts of resources, and texels in buffers.

use super::{CallRule, DeviceError, Features, Format, Plane, QueueKind, TexelBlock, TextureInfo};

/// The part of a resource that a barrier affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// The whole resource.
    All,
    /// Subresource `mip + layer * mips`.
    One(u32),
}

/// A box of texels in one plane of one subresource of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureRegion {
    /// Mip level.
    pub mip: u32,
    /// Array layer.
    pub layer: u32,
    /// The colour or depth plane, or the stencil plane: a copy moves one at a time.
    pub plane: Plane,
    /// First texel: x, y, z.
    pub origin: [u32; 3],
    /// Texels: width, height, depth.
    pub extent: [u32; 3],
}

/// A CPU write of texels to a region of a texture: see [`MemoryDevice::write_texture`](super::MemoryDevice::write_texture).
#[derive(Clone, Copy, Debug)]
pub struct TextureWrite<'a> {
    /// Destination.
    pub region: TextureRegion,
    /// Bytes from one row of blocks to the next, a multiple of the block size.
    pub row_pitch: u64,
    /// Rows of blocks from one slice to the next.
    pub rows: u32,
    /// The rows of blocks, slice by slice, from the first byte on.
    pub bytes: &'a [u8],
}

impl TextureWrite<'_> {
    /// The subresource of the region.
    #[must_use]
    pub const fn subresource(&self, info: &TextureInfo) -> u32 {
        self.region.layer.saturating_mul(info.mips).saturating_add(self.region.mip)
    }
}

impl TextureInfo {
    /// All texels of one mip level of one layer, in the first plane.
    ///
    /// ```
    /// use tenure::{Format, TextureDesc, Usage};
    ///
    /// let desc = TextureDesc::d2(640, 480, Format::Rgba8Unorm, Usage::COPY_SRC).mips(2);
    /// assert_eq!(desc.info.region(1, 0).extent, [320, 240, 1]);
    /// ```
    #[must_use]
    pub fn region(&self, mip: u32, layer: u32) -> TextureRegion {
        TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent: self.mip_extent(mip) }
    }
}

impl TextureRegion {
    /// The size of one block of its texels in a buffer; for a plane that the format lacks, the format's own block size.
    #[must_use]
    pub const fn block(&self, format: Format) -> TexelBlock {
        match format.plane_block(self.plane) {
            Some(block) => block,
            None => format.block(),
        }
    }

    /// Checks that the plane exists; that the box is not empty, lies within the texture, and begins and ends at whole blocks
    /// (or at the mip's edge); and that the texture is not multisampled, because no API copies such texels to or from a buffer.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] with the broken rule.
    pub fn check(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        let outside =
            |rule: CallRule, value: u32, limit: u32| Err(DeviceError::invalid_call(rule, value, limit));
        if self.mip >= info.mips {
            return outside(CallRule::MipExists, self.mip, info.mips);
        }
        if self.layer >= info.layers() {
            return outside(CallRule::LayerExists, self.layer, info.layers());
        }
        if info.format.plane_block(self.plane).is_none() {
            return Err(DeviceError::invalid_call(CallRule::PlaneExists, self.plane, info.format));
        }
        if info.samples > 1 {
            return outside(CallRule::CopySamples, info.samples, 1);
        }
        let block = info.format.block();
        let blocks = [block.width, block.height, 1];
        let sides = self.origin.into_iter().zip(self.extent).zip(info.mip_extent(self.mip)).zip(blocks);
        for (((origin, size), side), block) in sides {
            let end = u64::from(origin) + u64::from(size);
            if size == 0 || end > u64::from(side) {
                return Err(DeviceError::invalid_call(CallRule::TexelsInside, end, side));
            }
            let ends_whole = end.is_multiple_of(u64::from(block)) || end == u64::from(side);
            if !origin.is_multiple_of(block) || !ends_whole {
                return Err(DeviceError::invalid_call(CallRule::TexelsWholeBlocks, end, block));
            }
        }
        Ok(())
    }

    /// As [`check`](Self::check), and that graphics APIs allow this copy between a buffer and a texture on a queue of this
    /// kind.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] with the broken rule; [`DeviceError::Unsupported`].
    pub fn check_copy(
        &self,
        info: &TextureInfo,
        features: Features,
        queue: QueueKind,
    ) -> Result<(), DeviceError> {
        self.check(info)?;
        if !info.format.is_depth() {
            return Ok(());
        }
        if info.format.has_stencil() && !features.contains(Features::STENCIL_COPIES) {
            return Err(DeviceError::Unsupported { feature: "copies of depth and stencil, each by itself" });
        }
        if queue != QueueKind::Graphics {
            return Err(DeviceError::broken_rule("depth is copied on a graphics queue"));
        }
        let is_whole = self.origin == [0; 3] && self.extent == info.mip_extent(self.mip);
        if is_whole { Ok(()) } else { Err(DeviceError::broken_rule("depth is copied a whole mip at a time")) }
    }
}

/// Bytes to copy from one buffer to another. Offsets and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRegion {
    /// Offset in the source.
    pub src_offset: u64,
    /// Offset in the destination.
    pub dst_offset: u64,
    /// Number of bytes.
    pub size: u64,
}

/// Layout of texels in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout {
    /// Offset of the first texel in bytes; a multiple of `copy_offset_alignment`.
    pub offset: u64,
    /// Bytes from one row of blocks to the next; a multiple of `copy_pitch_alignment`.
    pub row_pitch: u64,
    /// Rows of blocks from one slice to the next.
    pub rows: u32,
}

impl BufferLayout {
    /// Bytes from the first texel to the end of the last, for a box of this extent in such blocks; `None` when that overflows,
    /// a row is longer than the pitch (even a single row: no API accepts that), or slices would overlap.
    #[must_use]
    pub fn bytes(&self, block: TexelBlock, extent: [u32; 3]) -> Option<u64> {
        let [width, height, depth] = extent;
        let row = u64::from(width.div_ceil(block.width)).checked_mul(u64::from(block.bytes))?;
        let rows = height.div_ceil(block.height);
        if self.row_pitch < row || (depth > 1 && self.rows < rows) {
            return None;
        }
        let full_slices = u64::from(depth.saturating_sub(1)).checked_mul(u64::from(self.rows))?;
        let full_rows = full_slices.checked_add(u64::from(rows.saturating_sub(1)))?;
        full_rows.checked_mul(self.row_pitch)?.checked_add(row)
    }
}
