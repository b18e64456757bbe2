//! What the contract asks a device to create: resources and heaps.

use tenure_heap::HeapCategory;

use super::{Allowed, DeviceError, Format, Plane, TextureRegion, Usage};

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

    /// Array layers: 1 for a 3D texture.
    #[must_use]
    pub const fn layers(&self) -> u32 {
        match self.dimension {
            Dimension::D2 => self.depth_or_layers,
            Dimension::D3 => 1,
        }
    }

    /// Mips times layers: subresource `mip + layer * mips`. Saturates.
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

    /// Checks what no device accepts, whatever its limits: zero extents, more mips than the
    /// extent has, sample counts that are no power of two or combined with mips or 3D, a depth
    /// usage without a depth format, a clear value that does not fit the usage, views in formats
    /// whose texels differ in size.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the field and its value.
    pub fn validate(&self) -> Result<(), DeviceError> {
        let bad = |field, value: u32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
        let bad_usage = |allowed| Err(DeviceError::invalid_desc("usage", self.usage, allowed));
        for (field, value) in [
            ("width", self.width),
            ("height", self.height),
            ("depth_or_layers", self.depth_or_layers),
            ("mips", self.mips),
        ] {
            if value == 0 {
                return bad(field, 0, Allowed::AtLeast(1));
            }
        }
        let deepest = match self.dimension {
            Dimension::D2 => 1,
            Dimension::D3 => self.depth_or_layers,
        };
        let longest = self.width.max(self.height).max(deepest);
        let most_mips = longest.ilog2() + 1;
        if self.mips > most_mips {
            return bad("mips", self.mips, Allowed::AtMost(u64::from(most_mips)));
        }
        let multisampled = self.samples > 1;
        if !self.samples.is_power_of_two()
            || self.samples > 16
            || (multisampled && (self.mips > 1 || self.dimension == Dimension::D3))
        {
            let rule = "1, 2, 4, 8 or 16, and 1 for textures with mips or of three dimensions";
            return bad("samples", self.samples, Allowed::Rule(rule));
        }
        if self.usage.intersects(Usage::BUFFER_ONLY) {
            return bad_usage(Allowed::Usage(Usage::all() - Usage::BUFFER_ONLY - Usage::PRESENT));
        }
        if let Some(rule) = broken_sharing(self.usage) {
            return bad_usage(Allowed::Rule(rule));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL) && self.dimension == Dimension::D3 {
            return bad_usage(Allowed::Rule(
                "without DEPTH_STENCIL, because the texture is of three dimensions",
            ));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL | Usage::UNORDERED_ACCESS) {
            return bad_usage(Allowed::Rule("DEPTH_STENCIL or UNORDERED_ACCESS, not both"));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL) && !self.format.is_depth() {
            return bad_usage(Allowed::Rule("without DEPTH_STENCIL, because the format is of colour"));
        }
        if self.usage.contains(Usage::CPU_WRITE) && !self.is_writable_by_cpu() {
            let rule = "CPU_WRITE beside other uses, without SHARED and TRANSIENT_ATTACHMENT, for one sample of colour";
            return bad_usage(Allowed::Rule(rule));
        }
        let is_flat = self.dimension == Dimension::D2 && !self.format.is_compressed();
        if self.usage.contains(Usage::INPUT_ATTACHMENT) && !is_flat {
            let rule = "without INPUT_ATTACHMENT, because the texture is a volume or its format compressed";
            return bad_usage(Allowed::Rule(rule));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL | Usage::RENDER_TARGET) {
            return bad_usage(Allowed::Rule("RENDER_TARGET or DEPTH_STENCIL, not both"));
        }
        if self.usage.contains(Usage::TRANSIENT_ATTACHMENT) && !self.usage.is_of_transient_attachment() {
            let rule = "RENDER_TARGET or DEPTH_STENCIL beside TRANSIENT_ATTACHMENT, with INPUT_ATTACHMENT or without, \
                        because the content never leaves a render pass";
            return bad_usage(Allowed::Rule(rule));
        }
        let is_plain = !self.format.is_depth() && !self.format.is_compressed();
        if self.usage.contains(Usage::RENDER_TARGET) && !is_plain {
            let rule = "without RENDER_TARGET, because the format is of depth or compressed";
            return bad_usage(Allowed::Rule(rule));
        }
        let clear_fits = match self.clear {
            None => true,
            Some(ClearValue::Color(_)) => self.usage.contains(Usage::RENDER_TARGET),
            Some(ClearValue::DepthStencil(..)) => self.usage.contains(Usage::DEPTH_STENCIL),
        };
        if !clear_fits {
            let rule = "a colour with the usage RENDER_TARGET, depth and stencil with DEPTH_STENCIL";
            return Err(DeviceError::invalid_desc("clear", self.usage, Allowed::Rule(rule)));
        }
        match self.view_formats.iter().find(|format| !self.format.is_castable_to(**format)) {
            None => Ok(()),
            Some(&format) => {
                let rule = "colour formats whose texels are as large as those of the texture's format, \
                            and of compressed ones its own kind";
                Err(DeviceError::invalid_desc("view_formats", format, Allowed::Rule(rule)))
            }
        }
    }
}

impl TextureInfo {
    /// Whether the CPU may write its texels where they stay, on a device that has such textures.
    pub(crate) fn is_writable_by_cpu(&self) -> bool {
        let excluded = Usage::SHARED | Usage::TRANSIENT_ATTACHMENT;
        let is_used = !self.usage.difference(Usage::CPU_WRITE).is_empty();
        is_used && !self.usage.intersects(excluded) && self.samples == 1 && !self.format.is_depth()
    }
}

/// The rule about [`Usage::SHARING`] that a usage breaks. Vulkan has no resource without a usage.
const fn broken_sharing(usage: Usage) -> Option<&'static str> {
    if usage.difference(Usage::SHARING).is_empty() {
        return Some("at least one flag, besides SHARED");
    }
    let is_foreign = usage.contains(Usage::SHARED_ACROSS_DRIVERS);
    match is_foreign && !usage.contains(Usage::SHARED) {
        true => Some("SHARED beside SHARED_ACROSS_DRIVERS"),
        false => None,
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
    #[must_use]
    pub const fn usage(&self) -> Usage {
        match self {
            Self::Buffer(info) => info.usage,
            Self::Texture(info) => info.usage,
        }
    }

    /// True for a texture of more than one sample a texel.
    #[must_use]
    pub const fn is_multisampled(&self) -> bool {
        matches!(self, Self::Texture(TextureInfo { samples: 2.., .. }))
    }

    /// Mips times layers of a texture; 1 for a buffer.
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        match self {
            Self::Buffer(_) => 1,
            Self::Texture(info) => info.subresources(),
        }
    }

    /// Checks what no device accepts, whatever its limits.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the field and its value.
    pub fn validate(&self) -> Result<(), DeviceError> {
        match self {
            Self::Buffer(info) if info.size == 0 => {
                Err(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1)))
            }
            Self::Buffer(info) if info.usage.intersects(Usage::TEXTURE_ONLY | Usage::CPU_WRITE) => {
                let allowed = Allowed::Usage(Usage::all() - Usage::TEXTURE_ONLY - Usage::CPU_WRITE);
                Err(DeviceError::invalid_desc("usage", info.usage, allowed))
            }
            Self::Buffer(info) => match broken_sharing(info.usage) {
                Some(rule) => Err(DeviceError::invalid_desc("usage", info.usage, Allowed::Rule(rule))),
                None => Ok(()),
            },
            Self::Texture(info) if info.usage.contains(Usage::PRESENT) => {
                let allowed =
                    Allowed::Rule("PRESENT is for images that a swap chain made, which are adopted");
                Err(DeviceError::invalid_desc("usage", info.usage, allowed))
            }
            Self::Texture(info) => info.validate(),
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
    #[must_use]
    pub const fn wants_dedicated(&self) -> bool {
        self.prefers_dedicated || self.requires_dedicated
    }
}
