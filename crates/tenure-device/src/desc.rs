//! Descriptions of resources.

use tenure_heap::HeapCategory;

use super::{Format, Usage};

/// Description of a buffer for a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BufferInfo {
    /// Size in bytes.
    pub size: u64,
    /// All uses of the buffer.
    pub usage: Usage,
}

impl BufferInfo {
    /// A buffer of `size` bytes.
    #[must_use]
    pub const fn new(size: u64, usage: Usage) -> Self {
        Self { size, usage }
    }
}

/// The shape of a texture.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Width and height, with layers.
    D2,
    /// Width, height and depth.
    D3,
}

/// The preferred clear value of a render or depth target, stored with the resource because D3D12 clears fastest to the value
/// given at creation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClearValue {
    /// Red, green, blue, alpha.
    Color([f32; 4]),
    /// Depth and stencil.
    DepthStencil(f32, u8),
}

/// Description of a texture for a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextureInfo {
    /// The shape.
    pub dimension: Dimension,
    /// Width of mip 0 in texels.
    pub width: u32,
    /// Height of mip 0 in texels.
    pub height: u32,
    /// Depth of mip 0 in texels for [`Dimension::D3`], number of array layers otherwise.
    pub depth_or_layers: u32,
    /// Number of mip levels; at least 1.
    pub mips: u32,
    /// Samples per texel: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// Texel format.
    pub format: Format,
    /// All uses of the texture.
    pub usage: Usage,
    /// The optimised clear value.
    pub clear: Option<ClearValue>,
    /// Formats of views other than its own (D3D12's castable formats, Vulkan's mutable format); only formats that its own [is
    /// castable to](Format::is_castable_to). A texture with only its [`Format::srgb_twin`] keeps its compression on all GPUs;
    /// each further format may cost it.
    pub view_formats: Vec<Format>,
}

crate::setters!(TextureInfo {
    dimension: Dimension,
    width: u32,
    height: u32,
    depth_or_layers: u32,
    mips: u32,
    samples: u32,
    format: Format,
    usage: Usage,
    clear: Option<ClearValue>,
    view_formats: Vec<Format>,
});

impl TextureInfo {
    /// A texture with one mip level, one layer (or a depth of 1), and one sample per texel.
    #[must_use]
    pub const fn new(dimension: Dimension, width: u32, height: u32, format: Format, usage: Usage) -> Self {
        Self {
            dimension,
            width,
            height,
            depth_or_layers: 1,
            mips: 1,
            samples: 1,
            format,
            usage,
            clear: None,
            view_formats: Vec::new(),
        }
    }

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

    /// Number of array layers: 1 for a 3D texture.
    #[inline]
    #[must_use]
    pub const fn layers(&self) -> u32 {
        match self.dimension {
            Dimension::D2 => self.depth_or_layers,
            Dimension::D3 => 1,
        }
    }

    /// Number of subresources, mips times layers: subresource `mip + layer * mips`. Saturates.
    #[inline]
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        self.mips.saturating_mul(self.layers())
    }

    /// Bytes of one mip level of one layer, packed tightly; `None` when it overflows.
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

    /// Bytes of all mips and layers, packed tightly; `None` when it overflows.
    #[must_use]
    pub fn packed_bytes(&self) -> Option<u64> {
        // From here on each mip is as large as the next, also in descriptions that no device accepts.
        let smallest = self.mips.min(u32::BITS);
        let large = (0..smallest).try_fold(0_u64, |sum, mip| sum.checked_add(self.mip_bytes(mip)?))?;
        let small = self.mip_bytes(smallest)?.checked_mul(u64::from(self.mips - smallest))?;
        large.checked_add(small)?.checked_mul(u64::from(self.layers()))
    }

    /// Whether the CPU may write its texels in place, on a device with such textures.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn is_writable_by_cpu(&self) -> bool {
        let excluded = Usage::SHARED | Usage::TRANSIENT_ATTACHMENT;
        let is_used = !self.usage.difference(Usage::CPU_WRITE).is_empty();
        is_used && !self.usage.intersects(excluded) && self.samples == 1 && !self.format.is_depth()
    }
}

/// Description of a resource for a device.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceDesc {
    /// A buffer.
    Buffer(BufferInfo),
    /// A texture.
    Texture(TextureInfo),
}

impl ResourceDesc {
    /// All uses of the resource.
    #[inline]
    #[must_use]
    pub const fn usage(&self) -> Usage {
        match self {
            Self::Buffer(info) => info.usage,
            Self::Texture(info) => info.usage,
        }
    }

    /// True for a multisampled texture.
    #[inline]
    #[must_use]
    pub const fn is_multisampled(&self) -> bool {
        matches!(self, Self::Texture(TextureInfo { samples: 2.., .. }))
    }

    /// Number of subresources: mips times layers of a texture; 1 for a buffer.
    #[inline]
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        match self {
            Self::Buffer(_) => 1,
            Self::Texture(info) => info.subresources(),
        }
    }
}

/// Memory requirements of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes; a power of two.
    pub alignment: u64,
    /// Bit *i* is set when memory type *i* is allowed.
    pub memory_types: u32,
    /// The category of heap it may be placed in.
    pub category: HeapCategory,
    /// True when the driver prefers a dedicated allocation (Vulkan), also when it requires one. Transient resources share
    /// memory all the same.
    pub prefers_dedicated: bool,
    /// True when the driver requires a dedicated allocation, or is faulty without one: the resource is then always committed,
    /// also if it is transient.
    pub requires_dedicated: bool,
}

impl Requirements {
    /// True when the driver prefers or requires a dedicated allocation.
    #[inline]
    #[must_use]
    pub const fn wants_dedicated(&self) -> bool {
        self.prefers_dedicated || self.requires_dedicated
    }
}

#[cfg(test)]
mod tests {
    use super::{Dimension, Format, TextureInfo, Usage};

    /// A description is not yet checked: any number of mips has an answer at once.
    #[test]
    fn the_bytes_of_any_number_of_mips_are_summed_at_once() {
        let bytes = |mips| {
            let info = TextureInfo::new(Dimension::D2, 4, 4, Format::Rgba8Unorm, Usage::SHADER_READ);
            info.mips(mips).packed_bytes()
        };
        assert_eq!((bytes(0), bytes(3), bytes(32)), (Some(0), Some(84), Some(84 + 29 * 4)));
        assert_eq!(bytes(u32::MAX), Some(84 + u64::from(u32::MAX - 3) * 4));
    }
}
