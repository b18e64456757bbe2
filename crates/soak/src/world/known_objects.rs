//! Objects, with their model.

use tenure_core::{
    Buffer, DescriptorSet, DescriptorTable, MemoryUse, Reserved, SyncPoint, Texture, TextureInfo,
    TextureRegion, View,
};
use tenure_sim::Device;

use crate::contents::{Part, Range};

/// A buffer.
pub(crate) struct KnownBuffer {
    pub(crate) number: u64,
    pub(crate) buffer: Buffer<Device>,
    /// The newest submission that uses it.
    pub(crate) last: SyncPoint,
    /// How often it had moved when it was pinned.
    pub(crate) pinned: Option<u64>,
}

impl KnownBuffer {
    pub(crate) const fn new(number: u64, buffer: Buffer<Device>) -> Self {
        Self { number, buffer, last: SyncPoint::NONE, pinned: None }
    }

    pub(crate) const fn part(&self) -> Part {
        Part::buffer(self.number)
    }

    pub(crate) const fn all(&self) -> Range {
        Range { part: self.part(), offset: 0, size: self.buffer.size() }
    }

    /// Whether the GPU may copy from it, and to it.
    pub(crate) fn is_read(&self) -> bool {
        self.buffer.memory() != MemoryUse::Readback
    }

    pub(crate) fn is_written(&self) -> bool {
        matches!(self.buffer.memory(), MemoryUse::GpuOnly | MemoryUse::Readback)
    }
}

/// The layout of a subresource in memory without padding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) region: TextureRegion,
    /// Bytes of a row of blocks.
    pub(crate) row: u64,
    /// Rows of all slices together.
    pub(crate) rows: u64,
}

impl Grid {
    /// That of a part of such textures: layers one after the other, each with its mips.
    pub(crate) fn new(info: &TextureInfo, index: u32) -> Self {
        let region = info.region(index % info.mips, index / info.mips);
        let block = region.block(info.format);
        let [width, height, depth] = region.extent;
        Self {
            region,
            row: u64::from(width.div_ceil(block.width)) * u64::from(block.bytes),
            rows: u64::from(height.div_ceil(block.height)) * u64::from(depth),
        }
    }

    /// Bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.row * self.rows
    }
}

/// A texture.
pub(crate) struct KnownTexture {
    pub(crate) number: u64,
    pub(crate) texture: Texture<Device>,
}

impl KnownTexture {
    pub(crate) fn parts(&self) -> u32 {
        self.texture.info().mips * self.texture.info().layers()
    }

    pub(crate) const fn part(&self, index: u32) -> Part {
        Part { object: self.number, index }
    }

    pub(crate) fn grid(&self, index: u32) -> Grid {
        Grid::new(self.texture.info(), index)
    }

    pub(crate) fn all(&self, index: u32) -> Range {
        Range { part: self.part(index), offset: 0, size: self.grid(index).size() }
    }
}

/// Bytes that a view shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownRange {
    pub(crate) range: Range,
    /// The buffer is in one state for good: shaders may read it through the view after its handle was dropped,
    /// when its state can no longer be declared.
    pub(crate) is_fixed: bool,
}

/// A view of bytes of a buffer.
pub(crate) struct Shown {
    pub(crate) view: View<Device>,
    /// The shown range.
    pub(crate) range: ShownRange,
}

/// A table, and the ranges of its views.
pub(crate) struct ShownTable {
    pub(crate) table: DescriptorTable<Device>,
    pub(crate) ranges: Vec<ShownRange>,
}

/// A set, and the ranges of its views.
pub(crate) struct ShownSet {
    pub(crate) set: DescriptorSet<Device>,
    pub(crate) ranges: Vec<ShownRange>,
}

/// A reserved buffer, with the byte that fills each of its tiles; `None` for tiles that are not mapped, or not
/// written.
pub(crate) struct Tiles {
    pub(crate) reserved: Reserved<Device>,
    pub(crate) bytes: Vec<Option<u8>>,
    pub(crate) is_mapped: Vec<bool>,
    /// Tiles that another buffer was mapped to as well at some time.
    pub(crate) is_shared: Vec<bool>,
}
