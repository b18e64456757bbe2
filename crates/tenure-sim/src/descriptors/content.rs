//! The content of descriptors.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::device::{
    BindingKind, BufferAccess, BufferView, Elements, Format, Plane, SamplerInfo, State, Subresource,
    TextureAccess, TextureRegion, TextureView,
};

use crate::clock::SharedClock;
use crate::layout::Span;
use crate::resource::ResourceState;
use crate::structures::StructureState;

/// The resource or sampler that a descriptor describes. It keeps the resource's state, but not the resource,
/// which may be destroyed.
#[derive(Clone)]
pub(crate) enum What {
    Buffer { resource: Arc<ResourceState>, view: BufferView },
    Texture { resource: Arc<ResourceState>, view: TextureView },
    Sampler(SamplerInfo),
    Structure(Arc<StructureState>),
}

impl What {
    pub(crate) fn resource(&self) -> Option<&Arc<ResourceState>> {
        match self {
            Self::Buffer { resource, .. } | Self::Texture { resource, .. } => Some(resource),
            Self::Structure(structure) => Some(structure.resource()),
            Self::Sampler(_) => None,
        }
    }

    /// The viewed bytes of a buffer; empty for other kinds.
    pub(crate) fn bytes(&self) -> Range<u64> {
        match self {
            Self::Buffer { view, .. } => view.offset..view.offset.saturating_add(view.size),
            Self::Texture { .. } | Self::Sampler(_) | Self::Structure(_) => 0..0,
        }
    }

    /// The states in which it may be used, and the name of its kind for messages: any of these read states, or one
    /// of these write states. No states for samplers.
    const fn form(&self) -> (State, &'static str) {
        match self {
            Self::Buffer { view, .. } => match view.access {
                BufferAccess::Constants => (State::VERTEX_OR_CONSTANT, "a view of constants"),
                BufferAccess::Read(_) => (State::SHADER_READ, "a view of a buffer to read"),
                BufferAccess::ReadWrite(_) => (State::UNORDERED, "a view of a buffer to write"),
            },
            Self::Texture { view, .. } => match view.access {
                TextureAccess::Sampled => (State::SHADER_READ, "a view of a texture to read"),
                TextureAccess::Storage => (State::UNORDERED, "a view of a texture to write"),
                TextureAccess::RenderTarget => (State::RENDER_TARGET, "a colour target"),
                TextureAccess::DepthStencil { read_only: true } => {
                    (State::DEPTH_READ, "a depth target to read")
                }
                TextureAccess::DepthStencil { read_only: false } => {
                    (State::DEPTH_WRITE, "a depth target to write")
                }
                TextureAccess::InputAttachment => (State::PIXEL_SHADER, "an input attachment"),
            },
            Self::Sampler(_) => (State::COMMON, "a sampler"),
            Self::Structure(_) => (State::ACCELERATION_STRUCTURE, "an acceleration structure"),
        }
    }

    pub(crate) const fn kind_name(&self) -> &'static str {
        self.form().1
    }

    pub(crate) const fn may_be_used_in(&self, state: State) -> bool {
        let (states, _) = self.form();
        states.is_empty() == state.is_empty() && states.contains(state)
    }

    /// The kind of binding for it; `None` for targets.
    pub(crate) fn binding(&self) -> Option<BindingKind> {
        match self {
            Self::Buffer { view, .. } => Some(view.access.into()),
            Self::Texture { view, .. } => match view.access {
                TextureAccess::Sampled => Some(BindingKind::Texture),
                TextureAccess::Storage => Some(BindingKind::StorageTexture),
                TextureAccess::InputAttachment => Some(BindingKind::InputAttachment),
                TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. } => None,
            },
            Self::Sampler(_) => Some(BindingKind::Sampler),
            Self::Structure(_) => Some(BindingKind::AccelerationStructure),
        }
    }

    /// The format of a typed buffer.
    const fn typed(&self) -> Option<Format> {
        match self {
            Self::Buffer { view, .. } => match view.access {
                BufferAccess::Read(Elements::Typed(format))
                | BufferAccess::ReadWrite(Elements::Typed(format)) => Some(format),
                _ => None,
            },
            Self::Texture { .. } | Self::Sampler(_) | Self::Structure(_) => None,
        }
    }

    /// True if shaders see texels instead of bytes.
    pub(crate) const fn is_of_texels(&self) -> bool {
        matches!(self, Self::Texture { .. }) || self.typed().is_some()
    }

    /// True if Vulkan has an object for it, and not only a range.
    const fn is_object(&self) -> bool {
        self.is_of_texels() || matches!(self, Self::Sampler(_))
    }

    /// The first viewed texel or block of texels, or the first bytes up to the requested number.
    pub(crate) fn beginning(&self, size: u64) -> Option<(&Arc<ResourceState>, Span)> {
        match self {
            Self::Buffer { resource, view } => {
                let wanted = self.typed().map_or(size, |format| u64::from(format.block().bytes));
                let end = view.offset + wanted.min(view.size);
                Some((resource, Span::Bytes { start: view.offset, end }))
            }
            Self::Texture { resource, view } => {
                let info = resource.layout.texture()?;
                let (block, [width, height, _]) = (info.format.block(), info.mip_extent(view.first_mip));
                let extent = [block.width.min(width), block.height.min(height), 1];
                let (mip, layer) = (view.first_mip, view.first_layer);
                Some((
                    resource,
                    Span::Region(TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent }),
                ))
            }
            Self::Sampler(_) | Self::Structure(_) => None,
        }
    }

    /// Calls `visit` with each part of its resource that is in view.
    pub(crate) fn parts(&self, mut visit: impl FnMut(&Arc<ResourceState>, Span)) {
        match self {
            Self::Buffer { resource, view } => {
                visit(resource, Span::Bytes { start: view.offset, end: view.offset + view.size });
            }
            Self::Texture { resource, view } => {
                let Some(info) = resource.layout.texture() else { return };
                if view.mips == info.mips && view.layers == info.layers() {
                    visit(resource, Span::Subresource(Subresource::All));
                    return;
                }
                for layer in view.first_layer..view.first_layer + view.layers {
                    let start = layer * info.mips + view.first_mip;
                    visit(resource, Span::Subresources { start, end: start + view.mips });
                }
            }
            Self::Sampler(_) | Self::Structure(_) => {}
        }
    }
}

/// A descriptor created in a heap that is not shader-visible. Its copies share it.
pub(crate) struct Content {
    pub(crate) what: What,
    /// Whether the original was destroyed. On Vulkan a copy only refers to its view, which is destroyed with it.
    destroyed: AtomicBool,
    pub(crate) last_use: SharedClock,
}

impl Content {
    pub(crate) fn new(what: What) -> Self {
        Self { what, destroyed: AtomicBool::new(false), last_use: SharedClock::default() }
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// Destroys the view (Vulkan); true if there was one.
    pub(crate) fn destroy(&self) -> bool {
        let object = self.what.is_object();
        self.destroyed.store(object, Ordering::Release);
        object
    }
}

/// The content of a descriptor slot.
#[derive(Clone, Default)]
pub(crate) enum Slot {
    /// It was never written, or cleared without a name.
    #[default]
    Empty,
    /// It was cleared by the owner of this name.
    Freed(Arc<str>),
    Holds(Arc<Content>),
    /// The view of a texture, and its sampler.
    Combined(Arc<Content>, Arc<Content>),
    /// Constants that were written here without a view.
    Constants {
        resource: Arc<ResourceState>,
        offset: u64,
        size: u64,
    },
    /// The acceleration structure.
    Structure(Arc<StructureState>),
}

impl Slot {
    /// The content of a cleared slot.
    pub(crate) fn cleared(freed_by: Option<&str>) -> Self {
        freed_by.map_or(Self::Empty, |name| Self::Freed(name.into()))
    }

    pub(crate) const fn is_filled(&self) -> bool {
        !matches!(self, Self::Empty | Self::Freed(_))
    }

    /// The separately created contents that it refers to.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &Arc<Content>> {
        let (first, second) = match self {
            Self::Empty | Self::Freed(_) | Self::Constants { .. } | Self::Structure(_) => (None, None),
            Self::Holds(content) => (Some(content), None),
            Self::Combined(view, sampler) => (Some(view), Some(sampler)),
        };
        first.into_iter().chain(second)
    }

    /// The described resource or sampler; for a combined sampler, its texture.
    pub(crate) fn what(&self) -> Option<What> {
        match self {
            Self::Empty | Self::Freed(_) => None,
            Self::Holds(content) | Self::Combined(content, _) => Some(content.what.clone()),
            Self::Structure(structure) => Some(What::Structure(Arc::clone(structure))),
            Self::Constants { resource, offset, size } => Some(What::Buffer {
                resource: Arc::clone(resource),
                view: BufferView { offset: *offset, size: *size, access: BufferAccess::Constants },
            }),
        }
    }
}
