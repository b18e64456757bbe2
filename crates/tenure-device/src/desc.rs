//! What the contract asks a device to create: resources and heaps.

use tenure_heap::HeapCategory;

use super::{Format, Usage};

/// A buffer, as the device sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferInfo {
    /// Bytes.
    pub size: u64,
    /// Everything the buffer may be used as.
    pub usage: Usage,
}

/// The shape of a texture.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Width and height, and layers of them.
    D2,
    /// Width, height and depth.
    D3,
}

/// The value a render or depth target is most often cleared to, kept with the resource because
/// D3D12 clears fastest to the value named at creation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClearValue {
    /// Red, green, blue, alpha.
    Color([f32; 4]),
    /// Depth and stencil.
    DepthStencil(f32, u8),
}

/// A texture, as the device sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureInfo {
    /// Its shape.
    pub dimension: Dimension,
    /// Texels across mip 0.
    pub width: u32,
    /// Texels down mip 0.
    pub height: u32,
    /// Texels deep at mip 0 for [`Dimension::D3`], array layers otherwise.
    pub depth_or_layers: u32,
    /// Mip levels; at least 1.
    pub mips: u32,
    /// Samples a texel: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// Texel format.
    pub format: Format,
    /// Everything the texture may be used as.
    pub usage: Usage,
    /// The optimised clear value.
    pub clear: Option<ClearValue>,
    /// Formats other than its own in which views may see it (D3D12's castable formats, Vulkan's
    /// mutable format); those that it [is castable to](Format::is_castable_to). A texture that names its
    /// [`Format::srgb_twin`] alone keeps its compression on all GPUs; each further format may cost it.
    pub view_formats: Vec<Format>,
}

impl TextureInfo {
    /// Width, height and depth in texels of one mip level; never below 1.
    #[must_use]
    pub fn mip_extent(&self, mip: u32) -> [u32; 3] {
        let shrink = |texels: u32| texels.checked_shr(mip).unwrap_or(0).max(1);
        let depth = match self.dimension {
            Dimension::D2 => 1,
            Dimension::D3 => shrink(self.depth_or_layers),
        };
        [shrink(self.width), shrink(self.height), depth]
    }

    /// Array layers: 1 for a 3D texture.
    #[inline]
    #[must_use]
    pub const fn layers(&self) -> u32 {
        match self.dimension {
            Dimension::D2 => self.depth_or_layers,
            Dimension::D3 => 1,
        }
    }

    /// Mips times layers: subresource `mip + layer * mips`. Saturates.
    #[inline]
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        self.mips.saturating_mul(self.layers())
    }

    /// Bytes of one mip level of one layer, texels packed tightly; `None` when it overflows.
    #[must_use]
    pub fn mip_bytes(&self, mip: u32) -> Option<u64> {
        let block = self.format.block();
        let [width, height, depth] = self.mip_extent(mip);
        u64::from(width.div_ceil(block.width))
            .checked_mul(u64::from(height.div_ceil(block.height)))?
            .checked_mul(u64::from(depth))?
            .checked_mul(u64::from(block.bytes))?
            .checked_mul(u64::from(self.samples))
    }

    /// Bytes of all mips and layers, texels packed tightly; `None` when it overflows.
    #[must_use]
    pub fn packed_bytes(&self) -> Option<u64> {
        let layer = (0..self.mips).try_fold(0_u64, |sum, mip| sum.checked_add(self.mip_bytes(mip)?))?;
        layer.checked_mul(u64::from(self.layers()))
    }

    /// Whether the CPU may write its texels where they stay, on a device that has such textures.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn is_writable_by_cpu(&self) -> bool {
        let excluded = Usage::SHARED | Usage::TRANSIENT_ATTACHMENT;
        let is_used = !self.usage.difference(Usage::CPU_WRITE).is_empty();
        is_used && !self.usage.intersects(excluded) && self.samples == 1 && !self.format.is_depth()
    }
}

/// Any resource a device can create.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceDesc {
    /// A buffer.
    Buffer(BufferInfo),
    /// A texture.
    Texture(TextureInfo),
}

impl ResourceDesc {
    /// What the resource may be used as.
    #[inline]
    #[must_use]
    pub const fn usage(&self) -> Usage {
        match self {
            Self::Buffer(info) => info.usage,
            Self::Texture(info) => info.usage,
        }
    }

    /// True for a texture of more than one sample a texel.
    #[inline]
    #[must_use]
    pub const fn is_multisampled(&self) -> bool {
        matches!(self, Self::Texture(TextureInfo { samples: 2.., .. }))
    }

    /// Mips times layers of a texture; 1 for a buffer.
    #[inline]
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        match self {
            Self::Buffer(_) => 1,
            Self::Texture(info) => info.subresources(),
        }
    }
}

/// What a resource needs from the heap it is placed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes it occupies.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
    /// Bit *i* is set when memory type *i* can hold it.
    pub memory_types: u32,
    /// The category of heap it may be placed in.
    pub category: HeapCategory,
    /// The driver prefers an allocation of its own (Vulkan's dedicated allocation). True where it
    /// insists on it. Transient resources share memory all the same.
    pub prefers_dedicated: bool,
    /// The driver insists on an allocation of its own, or is wrong with any other: the resource is
    /// committed wherever it is created, transient ones included.
    pub requires_dedicated: bool,
}

impl Requirements {
    /// True when the driver prefers an allocation of its own, or insists on it.
    #[inline]
    #[must_use]
    pub const fn wants_dedicated(&self) -> bool {
        self.prefers_dedicated || self.requires_dedicated
    }
}
