//! Descriptors: references to resources for shaders and render passes.
//!
//! There are two models; a device supports one or both. *Heaps* (Direct3D 12; on Vulkan by descriptor indexing): arrays of
//! descriptors that shaders access by index. *Sets* (Vulkan): small groups with a layout. In both, descriptors are created in
//! heaps that are not shader-visible and copied to shader-visible heaps or sets.

use super::{Format, Plane, Usage};

/// The kind of descriptors in a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum DescriptorKind {
    /// Views of buffers and textures for shaders (D3D12: CBV, SRV, UAV).
    Resource,
    /// Samplers.
    Sampler,
    /// Colour targets.
    RenderTarget,
    /// Depth-stencil targets.
    DepthStencil,
}

impl DescriptorKind {
    /// Every kind, in index order.
    pub const ALL: [Self; 4] = [Self::Resource, Self::Sampler, Self::RenderTarget, Self::DepthStencil];

    /// True for kinds with shader-visible heaps.
    #[must_use]
    pub const fn is_for_shaders(self) -> bool {
        matches!(self, Self::Resource | Self::Sampler)
    }
}

/// Description of a descriptor heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorHeapDesc {
    /// Kind of its descriptors.
    pub kind: DescriptorKind,
    /// Number of descriptors; at least 1.
    pub count: u32,
    /// True for a shader-visible heap, indexed by shaders; only for kinds that are [for
    /// shaders](DescriptorKind::is_for_shaders).
    pub shader_visible: bool,
}

/// Descriptor limits of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimits {
    /// Maximum number of views in one shader-visible heap; 0 without such heaps.
    pub visible_resources: u32,
    /// Maximum number of samplers in one shader-visible heap; 0 without such heaps.
    pub visible_samplers: u32,
    /// Number of API descriptors per index of a shader-visible heap of views: 1, or 6 on Vulkan without mutable descriptor
    /// types, where such a heap has an array for each of six types.
    pub descriptors_per_index: u32,
    /// Maximum number of distinct samplers alive at once.
    pub samplers: u32,
    /// True if the device supports descriptor sets.
    pub sets: bool,
    /// True if the device supports null descriptors.
    pub null: bool,
    /// Maximum anisotropy of a sampler; 1 without anisotropic filtering.
    pub anisotropy: u32,
    /// Maximum size of a view of constants, in bytes.
    pub constant_size: u64,
    /// Maximum size of a raw or structured view, in bytes.
    pub storage_size: u64,
    /// Maximum number of elements of a typed view.
    pub typed_elements: u32,
    /// Alignment of typed views, in bytes; a power of two.
    pub typed_alignment: u64,
}

impl DescriptorLimits {
    /// Maximum number of descriptors of `kind` in one shader-visible heap.
    #[must_use]
    pub const fn visible(&self, kind: DescriptorKind) -> u32 {
        match kind {
            DescriptorKind::Resource => self.visible_resources,
            DescriptorKind::Sampler => self.visible_samplers,
            DescriptorKind::RenderTarget | DescriptorKind::DepthStencil => 0,
        }
    }
}

/// The interpretation of a buffer's bytes by shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Bytes, in words of four.
    Raw,
    /// Structures of this size in bytes; a multiple of 4. Vulkan does not distinguish them from raw buffers.
    Structured(u32),
    /// Texels (Vulkan: texel buffers).
    Typed(Format),
}

impl Elements {
    /// Size of one element in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Raw => 4,
            Self::Structured(stride) => stride as u64,
            Self::Typed(format) => format.block().bytes as u64,
        }
    }
}

/// Shader access to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferAccess {
    /// Read constants (uniform buffer).
    Constants,
    /// Read.
    Read(Elements),
    /// Read and write.
    ReadWrite(Elements),
}

impl BufferAccess {
    /// The usage that the buffer needs.
    #[must_use]
    pub const fn usage(self) -> Usage {
        match self {
            Self::Constants => Usage::CONSTANT,
            Self::Read(_) => Usage::SHADER_READ,
            Self::ReadWrite(_) => Usage::UNORDERED_ACCESS,
        }
    }
}

/// A range of a buffer, as a view for shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferView {
    /// Offset in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Shader access to it.
    pub access: BufferAccess,
}

/// The dimension of a texture view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViewShape {
    /// One layer.
    D2,
    /// An array of layers.
    D2Array,
    /// Six layers as a cube.
    Cube,
    /// Cubes of six layers each.
    CubeArray,
    /// A volume.
    D3,
}

/// The use of a texture through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureAccess {
    /// Shaders read it.
    Sampled,
    /// Shaders read and write it, in one mip.
    Storage,
    /// Draws write colours to it, in one mip.
    RenderTarget,
    /// Draws test against it, in one mip, and write it unless it is read-only.
    DepthStencil {
        /// True if nothing writes it, so that shaders may read it at the same time.
        read_only: bool,
    },
    /// Pixel shaders read the texel at their own position, in one mip, while the texture is in
    /// [`State::PIXEL_SHADER`](super::State::PIXEL_SHADER). Vulkan only.
    InputAttachment,
}

impl TextureAccess {
    /// The usage that the texture needs.
    #[must_use]
    pub const fn usage(self) -> Usage {
        match self {
            Self::Sampled => Usage::SHADER_READ,
            Self::Storage => Usage::UNORDERED_ACCESS,
            Self::RenderTarget => Usage::RENDER_TARGET,
            Self::DepthStencil { .. } => Usage::DEPTH_STENCIL,
            Self::InputAttachment => Usage::INPUT_ATTACHMENT,
        }
    }

    /// The kind of descriptor of such views.
    #[must_use]
    pub const fn kind(self) -> DescriptorKind {
        match self {
            Self::Sampled | Self::Storage | Self::InputAttachment => DescriptorKind::Resource,
            Self::RenderTarget => DescriptorKind::RenderTarget,
            Self::DepthStencil { .. } => DescriptorKind::DepthStencil,
        }
    }
}

/// Subresources of a texture, as a view for shaders and render passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureView {
    /// Use of the texture through the view.
    pub access: TextureAccess,
    /// Dimension of the view.
    pub shape: ViewShape,
    /// The texture's format or one of its `view_formats`.
    pub format: Format,
    /// The plane to read of a depth-stencil format.
    pub plane: Plane,
    /// The first mip.
    pub first_mip: u32,
    /// Number of mips; at least 1.
    pub mips: u32,
    /// The first layer; 0 for a volume.
    pub first_layer: u32,
    /// Number of layers; at least 1; 1 for a volume, whose slices are all in the view.
    pub layers: u32,
}

/// Filter between texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Filter {
    /// The nearest texel.
    Nearest,
    /// A weighted mean of the neighbours.
    #[default]
    Linear,
}

/// Addressing outside the texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressMode {
    /// Repeats the texture.
    #[default]
    Repeat,
    /// Repeats the texture, mirrored.
    Mirror,
    /// Repeats the texel at the edge.
    Clamp,
    /// The border colour.
    Border,
}

/// Border colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BorderColor {
    /// Transparent black.
    #[default]
    TransparentBlack,
    /// Black.
    OpaqueBlack,
    /// White.
    OpaqueWhite,
}

/// Comparison function of a sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compare {
    /// Never true.
    Never,
    /// <
    Less,
    /// =
    Equal,
    /// ≤
    LessOrEqual,
    /// >
    Greater,
    /// ≠
    NotEqual,
    /// ≥
    GreaterOrEqual,
    /// Always true.
    Always,
}

/// Parameters of a sampler. Samplers with equal parameters share one descriptor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplerInfo {
    /// Filter for magnification.
    pub mag: Filter,
    /// Filter for minification.
    pub min: Filter,
    /// Filter between mips.
    pub mip: Filter,
    /// Addressing outside the texture, in x, y and z.
    pub address: [AddressMode; 3],
    /// Added to the mip level; -16 to 15.99.
    pub mip_bias: f32,
    /// 1: none; up to [`DescriptorLimits::anisotropy`].
    pub anisotropy: u32,
    /// Comparison with the read values; `None` for no comparison.
    pub compare: Option<Compare>,
    /// The finest mip level; at least 0.
    pub min_lod: f32,
    /// The coarsest mip level; not below `min_lod`.
    pub max_lod: f32,
    /// Border colour, for [`AddressMode::Border`].
    pub border: BorderColor,
}

crate::setters!(SamplerInfo {
    mag: Filter,
    min: Filter,
    mip: Filter,
    address: [AddressMode; 3],
    mip_bias: f32,
    anisotropy: u32,
    compare: Option<Compare>,
    min_lod: f32,
    max_lod: f32,
    border: BorderColor,
});

impl Default for SamplerInfo {
    /// Trilinear, repeating, all mips.
    fn default() -> Self {
        Self {
            mag: Filter::default(),
            min: Filter::default(),
            mip: Filter::default(),
            address: [AddressMode::default(); 3],
            mip_bias: 0.0,
            anisotropy: 1,
            compare: None,
            min_lod: 0.0,
            max_lod: 1000.0,
            border: BorderColor::default(),
        }
    }
}

/// The parameters of a sampler, compared bit by bit: the key of a cache of samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplerKey {
    filters: [Filter; 3],
    address: [AddressMode; 3],
    anisotropy: u32,
    compare: Option<Compare>,
    border: BorderColor,
    /// Bias and range of mip levels.
    levels: [u32; 3],
}

impl SamplerKey {
    /// The key of `info`. Negative zero equals 0.
    #[must_use]
    pub fn of(info: &SamplerInfo) -> Self {
        let SamplerInfo { mag, min, mip, address, mip_bias, anisotropy, compare, min_lod, max_lod, border } =
            *info;
        // Adding 0 turns a negative 0 into a positive one.
        let levels = [mip_bias, min_lod, max_lod].map(|level| (level + 0.0).to_bits());
        Self { filters: [mag, min, mip], address, anisotropy, compare, border, levels }
    }
}

/// The kind of descriptors of a set's binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingKind {
    /// Constants (uniform buffers).
    Constants,
    /// Constants with an offset passed when the set is bound (dynamic uniform buffers): one set serves all constants of a
    /// page. The view begins at the start of the API buffer.
    DynamicConstants,
    /// Raw or structured buffers, read or written (storage buffers).
    Buffer,
    /// Read-only typed buffers.
    TypedBuffer,
    /// Writable typed buffers.
    TypedStorageBuffer,
    /// Read-only textures.
    Texture,
    /// Writable textures.
    StorageTexture,
    /// Samplers.
    Sampler,
    /// Read-only textures, each with its sampler (combined image samplers). A layout of the program's own with an immutable
    /// sampler uses that sampler, independent of the bound one.
    CombinedSampler,
    /// Texels of the pass's own targets, for pixel shaders only (input attachments). A set uses the layout of textures in the
    /// state `PIXEL_SHADER`, for depth also in `DEPTH_READ | PIXEL_SHADER`; a render pass must keep them in that layout while
    /// it reads them.
    InputAttachment,
    /// Acceleration structures to trace rays through, of [`AccelerationStructureKind::Top`] or `Generic`. In sets; in tables
    /// and heaps only on Direct3D 12, since shaders take an address on Vulkan.
    ///
    /// [`AccelerationStructureKind::Top`]: super::AccelerationStructureKind::Top
    AccelerationStructure,
}

impl BindingKind {
    /// Every kind, in index order.
    pub const ALL: [Self; 11] = [
        Self::Constants,
        Self::DynamicConstants,
        Self::Buffer,
        Self::TypedBuffer,
        Self::TypedStorageBuffer,
        Self::Texture,
        Self::StorageTexture,
        Self::Sampler,
        Self::CombinedSampler,
        Self::InputAttachment,
        Self::AccelerationStructure,
    ];

    /// True when a binding of this kind accepts descriptors for a binding of `kind`.
    #[must_use]
    pub fn takes(self, kind: Self) -> bool {
        self == kind || (self == Self::DynamicConstants && kind == Self::Constants)
    }

    /// True for kinds that only sets can contain, not heaps indexed by shaders.
    #[must_use]
    pub const fn is_for_sets_alone(self) -> bool {
        matches!(self, Self::DynamicConstants | Self::CombinedSampler | Self::InputAttachment)
    }
}

impl From<BufferAccess> for BindingKind {
    fn from(access: BufferAccess) -> Self {
        match access {
            BufferAccess::Constants => Self::Constants,
            BufferAccess::Read(Elements::Typed(_)) => Self::TypedBuffer,
            BufferAccess::ReadWrite(Elements::Typed(_)) => Self::TypedStorageBuffer,
            BufferAccess::Read(_) | BufferAccess::ReadWrite(_) => Self::Buffer,
        }
    }
}

/// A binding of a set: descriptors of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetBinding {
    /// The number in shaders.
    pub binding: u32,
    /// Kind of its descriptors.
    pub kind: BindingKind,
    /// Number of descriptors; at least 1.
    pub count: u32,
}

impl SetBinding {
    /// One descriptor of this kind, at this binding number in shaders.
    #[must_use]
    pub const fn new(binding: u32, kind: BindingKind) -> Self {
        Self { binding, kind, count: 1 }
    }

    /// Sets the number of descriptors of an array.
    #[must_use]
    pub const fn count(self, count: u32) -> Self {
        Self { count, ..self }
    }
}
