//! The uses of resources that descriptors declare.

use super::movable_slot::Shows;
use crate::device::{
    BindingKind, BufferAccess, Device, State, Subresource, TextureAccess, TextureInfo, TextureView,
};
use crate::resource::{AccelerationStructure, ViewGuard, indices};

/// The shaders that access descriptors, for [`Commands::use_set`](crate::Commands::use_set),
/// [`use_table`](crate::Commands::use_table) and [`use_binds`](crate::Commands::use_binds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShaderStages {
    /// Pixel (fragment) shaders: [`State::PIXEL_SHADER`].
    Pixel,
    /// All other shaders: [`State::NON_PIXEL_SHADER`].
    NonPixel,
    /// All shaders: [`State::SHADER_READ`]. Only graphics queues have pixel shaders.
    All,
    /// Vertex, tessellation and geometry shaders: [`State::VERTEX_SHADER`].
    Vertex,
    /// Mesh and task (amplification) shaders: [`State::MESH_SHADER`] and [`State::MESH_UNORDERED_ACCESS`].
    Mesh,
    /// Compute shaders: [`State::COMPUTE_SHADER`] and [`State::COMPUTE_UNORDERED_ACCESS`].
    Compute,
    /// The shaders of ray tracing pipelines: [`State::RAY_TRACING_SHADER`] and [`State::RAY_TRACING_UNORDERED_ACCESS`].
    RayTracing,
}

impl ShaderStages {
    /// The state for reads.
    const fn reads(self) -> State {
        match self {
            Self::Pixel => State::PIXEL_SHADER,
            Self::NonPixel => State::NON_PIXEL_SHADER,
            Self::All => State::SHADER_READ,
            Self::Vertex => State::VERTEX_SHADER,
            Self::Mesh => State::MESH_SHADER,
            Self::Compute => State::COMPUTE_SHADER,
            Self::RayTracing => State::RAY_TRACING_SHADER,
        }
    }

    /// The state for writes.
    pub(super) const fn writes(self) -> State {
        match self {
            Self::Pixel | Self::NonPixel | Self::All | Self::Vertex => State::UNORDERED_ACCESS,
            Self::Mesh => State::MESH_UNORDERED_ACCESS,
            Self::Compute => State::COMPUTE_UNORDERED_ACCESS,
            Self::RayTracing => State::RAY_TRACING_UNORDERED_ACCESS,
        }
    }
}

/// The subresources that a view shows.
#[derive(Clone, Copy)]
pub(super) enum Part {
    All,
    /// Mips and layers of a texture with `of_mips` mips.
    Some {
        first_mip: u32,
        mips: u32,
        first_layer: u32,
        layers: u32,
        of_mips: u32,
    },
}

impl Part {
    pub(super) fn of(view: &TextureView, info: &TextureInfo) -> Self {
        let TextureView { first_mip, mips, first_layer, layers, .. } = *view;
        match (mips, layers) == (info.mips, info.layers()) {
            true => Self::All,
            false => Self::Some { first_mip, mips, first_layer, layers, of_mips: info.mips },
        }
    }

    fn each(self) -> impl Iterator<Item = Subresource> {
        let (whole, mips, layers, of_mips) = match self {
            Self::All => (Some(Subresource::All), 0..0, 0..0, 0),
            Self::Some { first_mip, mips, first_layer, layers, of_mips } => {
                (None, first_mip..first_mip + mips, first_layer..first_layer + layers, of_mips)
            }
        };
        whole.into_iter().chain(indices(mips, layers, of_mips))
    }
}

impl Shows {
    /// The kind of binding in sets; `None` for targets.
    pub(super) fn binding(&self) -> Option<BindingKind> {
        match self {
            Self::Buffer(view) => Some(view.access.into()),
            Self::Texture(view) => match view.access {
                TextureAccess::Sampled => Some(BindingKind::Texture),
                TextureAccess::Storage => Some(BindingKind::StorageTexture),
                TextureAccess::InputAttachment => Some(BindingKind::InputAttachment),
                TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. } => None,
            },
        }
    }

    /// True if shaders write through the view.
    pub(super) const fn is_written(&self) -> bool {
        match self {
            Self::Buffer(view) => matches!(view.access, BufferAccess::ReadWrite(_)),
            Self::Texture(view) => matches!(view.access, TextureAccess::Storage),
        }
    }
}

/// The state for a descriptor of an unwritten view.
pub(super) const fn read_state(binding: BindingKind, stages: ShaderStages) -> State {
    match binding {
        BindingKind::Constants | BindingKind::DynamicConstants => State::VERTEX_OR_CONSTANT,
        BindingKind::InputAttachment => State::PIXEL_SHADER,
        _ => stages.reads(),
    }
}

/// The use of a resource through a descriptor.
pub(crate) struct ShownUse<'a, D: Device> {
    pub(crate) resource: &'a ViewGuard<D>,
    pub(super) part: Part,
    pub(crate) state: State,
}

impl<D: Device> ShownUse<'_, D> {
    pub(crate) fn parts(&self) -> impl Iterator<Item = Subresource> + use<D> {
        self.part.each()
    }
}

/// The use of a resource through a [`Bind`](super::Bind).
pub(crate) enum BoundUse<'a, D: Device> {
    View(ShownUse<'a, D>),
    Structure(&'a AccelerationStructure<D>),
}
