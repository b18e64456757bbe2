//! Descriptors: how shaders and render passes find resources.
//!
//! Two models, of which a device has one or both. *Heaps* (Direct3D 12; on Vulkan by descriptor
//! indexing): arrays of descriptors that shaders reach by index. *Sets* (Vulkan): small groups in the
//! form of a layout. In both, descriptors are made in heaps that shaders do not see and copied from
//! there to where they do.

use super::{Device, Format, Plane, Usage};

/// What a heap of descriptors holds.
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

    /// True for what shaders find in a heap of theirs.
    #[must_use]
    pub const fn is_for_shaders(self) -> bool {
        matches!(self, Self::Resource | Self::Sampler)
    }
}

/// A heap of descriptors to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorHeapDesc {
    /// What it holds.
    pub kind: DescriptorKind,
    /// Descriptors; at least 1.
    pub count: u32,
    /// Shaders find them by index; only for kinds that are
    /// [for shaders](DescriptorKind::is_for_shaders).
    pub shader_visible: bool,
}

/// What a device offers of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimits {
    /// The most views in one shader-visible heap; 0 where there are no such heaps.
    pub visible_resources: u32,
    /// The most samplers in one shader-visible heap; 0 where there are no such heaps.
    pub visible_samplers: u32,
    /// Descriptors of the API that an index of a shader-visible heap of views takes: 1, or 6 on Vulkan without
    /// mutable descriptor types, where such a heap has an array for each of six types.
    pub descriptors_per_index: u32,
    /// The most different samplers alive at once.
    pub samplers: u32,
    /// Shaders find descriptors in sets.
    pub sets: bool,
    /// A freed descriptor can be made to say that there is nothing.
    pub null: bool,
    /// The greatest anisotropy of a sampler; 1 where there is none.
    pub anisotropy: u32,
    /// Bytes of the largest view of constants.
    pub constant_size: u64,
    /// Bytes of the largest raw or structured view.
    pub storage_size: u64,
    /// Elements of the largest typed view.
    pub typed_elements: u32,
    /// Bytes between the starts of typed views; a power of two.
    pub typed_alignment: u64,
}

impl DescriptorLimits {
    /// The most descriptors of `kind` in one shader-visible heap.
    #[must_use]
    pub const fn visible(&self, kind: DescriptorKind) -> u32 {
        match kind {
            DescriptorKind::Resource => self.visible_resources,
            DescriptorKind::Sampler => self.visible_samplers,
            DescriptorKind::RenderTarget | DescriptorKind::DepthStencil => 0,
        }
    }
}

/// What shaders take the bytes of a buffer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Bytes, in words of four.
    Raw,
    /// Structures of so many bytes; a multiple of 4. Vulkan makes no difference to raw ones.
    Structured(u32),
    /// Texels (Vulkan: texel buffers).
    Typed(Format),
}

impl Elements {
    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Raw => 4,
            Self::Structured(stride) => stride as u64,
            Self::Typed(format) => format.block().bytes as u64,
        }
    }
}

/// What shaders do with a buffer.
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

/// Bytes of a buffer, as shaders see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferView {
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// What shaders do with them.
    pub access: BufferAccess,
}

/// The shape in which a view shows a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViewShape {
    /// One layer.
    D2,
    /// Layers.
    D2Array,
    /// Six layers as a cube.
    Cube,
    /// Layers, six by six, as cubes.
    CubeArray,
    /// A volume.
    D3,
}

/// What is done with a texture through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureAccess {
    /// Shaders read it.
    Sampled,
    /// Shaders read and write texels of one mip.
    Storage,
    /// Draws write its colours, in one mip.
    RenderTarget,
    /// Draws test against it, in one mip, and write it unless that is ruled out.
    DepthStencil {
        /// Nothing is written, so that shaders may read it at the same time.
        read_only: bool,
    },
    /// Pixel shaders read the texel that they are drawn to, of one mip, while the texture is
    /// [`State::PIXEL_SHADER`](super::State::PIXEL_SHADER). Vulkan alone has it.
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

    /// The heap that such views are in.
    #[must_use]
    pub const fn kind(self) -> DescriptorKind {
        match self {
            Self::Sampled | Self::Storage | Self::InputAttachment => DescriptorKind::Resource,
            Self::RenderTarget => DescriptorKind::RenderTarget,
            Self::DepthStencil { .. } => DescriptorKind::DepthStencil,
        }
    }
}

/// Subresources of a texture, as shaders and render passes see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureView {
    /// What is done with it.
    pub access: TextureAccess,
    /// The shape in which it is shown.
    pub shape: ViewShape,
    /// The texture's format or one of its `view_formats`.
    pub format: Format,
    /// What is read of depth and stencil.
    pub plane: Plane,
    /// The first mip.
    pub first_mip: u32,
    /// Mips; at least 1.
    pub mips: u32,
    /// The first layer; 0 for a volume.
    pub first_layer: u32,
    /// Layers; at least 1; 1 for a volume, whose slices are all in view.
    pub layers: u32,
}

/// How texels between texels are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Filter {
    /// The nearest one.
    Nearest,
    /// A mixture of the neighbours.
    #[default]
    Linear,
}

/// What is outside of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressMode {
    /// The texture again.
    #[default]
    Repeat,
    /// The texture again, mirrored.
    Mirror,
    /// Its edge.
    Clamp,
    /// The border's colour.
    Border,
}

/// The colour outside of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BorderColor {
    /// Nothing.
    #[default]
    TransparentBlack,
    /// Black.
    OpaqueBlack,
    /// White.
    OpaqueWhite,
}

/// How a sampler compares.
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

/// What a sampler does. Samplers that are equal in it share one descriptor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerInfo {
    /// Where texels are larger than pixels.
    pub mag: Filter,
    /// Where texels are smaller than pixels.
    pub min: Filter,
    /// Between mips.
    pub mip: Filter,
    /// Outside of the texture: across, down, deep.
    pub address: [AddressMode; 3],
    /// Added to the mip level; -16 to 15.99.
    pub mip_bias: f32,
    /// 1: none; up to [`DescriptorLimits::anisotropy`].
    pub anisotropy: u32,
    /// Compares what it reads.
    pub compare: Option<Compare>,
    /// The finest mip level; at least 0.
    pub min_lod: f32,
    /// The coarsest mip level; not below `min_lod`.
    pub max_lod: f32,
    /// The colour outside, for [`AddressMode::Border`].
    pub border: BorderColor,
}

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

/// What a descriptor says. Made in heaps that shaders do not see.
pub enum Descriptor<'a, D: Device> {
    /// A view of a buffer.
    Buffer {
        /// The buffer.
        resource: &'a D::Resource,
        /// Which bytes, and what for.
        view: BufferView,
    },
    /// A view of a texture.
    Texture {
        /// The texture.
        resource: &'a D::Resource,
        /// Which subresources, and what for.
        view: TextureView,
    },
    /// A sampler.
    Sampler(SamplerInfo),
}

impl<D: Device> Clone for Descriptor<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Descriptor<'_, D> {}

impl<D: Device> Descriptor<'_, D> {
    /// The heap that it belongs into.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        match self {
            Self::Buffer { .. } => DescriptorKind::Resource,
            Self::Texture { view, .. } => view.access.kind(),
            Self::Sampler(_) => DescriptorKind::Sampler,
        }
    }
}

/// What a descriptor that shaders see is made from.
pub enum DescriptorSource<'a, D: Device> {
    /// A descriptor of a heap that shaders do not see.
    Copy {
        /// The heap.
        heap: &'a D::DescriptorHeap,
        /// Its index there.
        index: u32,
    },
    /// The view of a texture and a sampler in one, each a descriptor of a heap that shaders do not see;
    /// for sets alone.
    Combined {
        /// The heap of the view.
        views: &'a D::DescriptorHeap,
        /// The view's index there.
        view: u32,
        /// The heap of the sampler.
        samplers: &'a D::DescriptorHeap,
        /// The sampler's index there.
        sampler: u32,
    },
    /// An acceleration structure that rays are traced through; on Vulkan for sets alone.
    Structure(&'a D::AccelerationStructure),
    /// Constants in a buffer; the offset is aligned for them, and so is the size on Direct3D 12.
    Constants {
        /// The buffer.
        resource: &'a D::Resource,
        /// The first byte.
        offset: u64,
        /// Bytes.
        size: u64,
    },
}

impl<D: Device> Clone for DescriptorSource<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for DescriptorSource<'_, D> {}

/// What one binding of a set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingKind {
    /// Constants (uniform buffers).
    Constants,
    /// Constants whose offset is given each time that the set is bound (dynamic uniform buffers): one
    /// set serves all constants of a page. Their view begins where the API buffer does.
    DynamicConstants,
    /// Raw or structured buffers, read or written (storage buffers).
    Buffer,
    /// Typed buffers that are read.
    TypedBuffer,
    /// Typed buffers that are written, too.
    TypedStorageBuffer,
    /// Textures that are read.
    Texture,
    /// Textures that are written, too.
    StorageTexture,
    /// Samplers.
    Sampler,
    /// Textures that are read, each with its sampler (combined image samplers). In a layout of the
    /// program's own with a sampler in it (an immutable one), that one is used, whatever is bound.
    CombinedSampler,
    /// Texels of the pass's own targets, for pixel shaders alone (input attachments). A set names the
    /// layout that textures have in the state `PIXEL_SHADER`, and depth also in `DEPTH_READ | PIXEL_SHADER`;
    /// a render pass has them in that layout where it reads them.
    InputAttachment,
    /// Acceleration structures that rays are traced through, of [`AccelerationStructureKind::Top`] or
    /// `Generic`. In sets; in tables and heaps on Direct3D 12 alone, since shaders take an address on Vulkan.
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

    /// True when a binding of this kind takes what is made for one of `kind`.
    #[must_use]
    pub fn takes(self, kind: Self) -> bool {
        self == kind || (self == Self::DynamicConstants && kind == Self::Constants)
    }

    /// True for what only sets hold, and no heap that shaders index.
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

/// Descriptors of one kind in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetBinding {
    /// Its number in shaders.
    pub binding: u32,
    /// What it holds.
    pub kind: BindingKind,
    /// Descriptors; at least 1.
    pub count: u32,
}

impl SetBinding {
    /// One descriptor of that kind, at that number in shaders.
    #[must_use]
    pub const fn new(binding: u32, kind: BindingKind) -> Self {
        Self { binding, kind, count: 1 }
    }

    /// An array of so many.
    #[must_use]
    pub const fn count(self, count: u32) -> Self {
        Self { count, ..self }
    }
}

/// One descriptor of a set, to be written.
pub struct SetWrite<'a, D: Device> {
    /// The binding's number.
    pub binding: u32,
    /// Which descriptor of the binding.
    pub element: u32,
    /// What it is made from.
    pub source: DescriptorSource<'a, D>,
}

impl<D: Device> Clone for SetWrite<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for SetWrite<'_, D> {}
