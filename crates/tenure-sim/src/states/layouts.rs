//! The layouts of textures: Vulkan's, and Direct3D 12's by the tables of Microsoft's specification of
//! enhanced barriers ("Layout Access Compatibility", "Command Queue Layout Compatibility").

use tenure_core::device::{QueueKind, State};
use tenure_core::state;

/// `D3D12_BARRIER_LAYOUT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enhanced {
    Undefined,
    Common,
    RenderTarget,
    UnorderedAccess,
    DepthStencilWrite,
    DepthStencilRead,
    ResolveSource,
    ResolveDest,
    DirectQueueGenericRead,
}

/// The states that the layout known to all queues serves.
const IN_COMMON: State =
    State::SHADER_READ.union(State::COPY_SRC).union(State::COPY_DST).union(State::PRESENT);

impl Enhanced {
    /// The states that each layout but `Undefined` serves.
    const TABLE: [(Self, State); 8] = [
        (Self::Common, IN_COMMON),
        (Self::RenderTarget, State::RENDER_TARGET),
        (Self::UnorderedAccess, State::UNORDERED),
        (Self::DepthStencilWrite, State::DEPTH_WRITE.union(State::DEPTH_READ)),
        (Self::DepthStencilRead, State::DEPTH_READ),
        (Self::ResolveSource, State::RESOLVE_SRC),
        (Self::ResolveDest, State::RESOLVE_DST),
        (Self::DirectQueueGenericRead, State::all().difference(State::WRITES).difference(State::PRESENT)),
    ];

    fn serves(self, state: State) -> bool {
        Self::TABLE.iter().any(|(layout, states)| *layout == self && states.contains(state))
    }

    /// The layout that a barrier to or from a state names: the first in the table that serves it; depth that is
    /// only tested has its own.
    fn of(state: State) -> Self {
        if state.is_empty() {
            return Self::Undefined;
        }
        let depth_alone = (state == State::DEPTH_READ).then_some(Self::DepthStencilRead);
        let first = Self::TABLE.iter().find(|(layout, _)| layout.serves(state));
        depth_alone.or(first.map(|(layout, _)| *layout)).unwrap_or(Self::Undefined)
    }

    fn is_known_to(self, kind: QueueKind) -> bool {
        match kind {
            QueueKind::Graphics => true,
            QueueKind::Compute => matches!(self, Self::Undefined | Self::Common | Self::UnorderedAccess),
            QueueKind::Copy => matches!(self, Self::Undefined | Self::Common),
        }
    }
}

/// The layout of one subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Vulkan(state::Layout),
    D3d12(Enhanced),
}

impl Layout {
    /// The layout of a texture without contents.
    pub(super) const fn undefined(d3d12: bool) -> Self {
        if d3d12 { Self::D3d12(Enhanced::Undefined) } else { Self::Vulkan(state::Layout::Undefined) }
    }

    pub(super) const fn is_vulkan(self) -> bool {
        matches!(self, Self::Vulkan(_))
    }

    /// The layout of the same API that barriers name for a state.
    pub(super) fn of(self, state: State) -> Self {
        match self {
            Self::Vulkan(_) => Self::Vulkan(state::Layout::of(state)),
            Self::D3d12(_) => Self::D3d12(Enhanced::of(state)),
        }
    }

    /// True if a use finds its layout. On Vulkan, descriptors and copies name the layout of their own state;
    /// depth descriptors are made for the layout that serves tests and shaders. `is` is the state after the last
    /// barrier.
    pub(super) fn serves(self, is: State, wanted: State) -> bool {
        match self {
            Self::Vulkan(layout) => {
                let is_sampled_depth = layout == state::Layout::DepthRead
                    && state::Layout::of(wanted) == state::Layout::ShaderRead;
                layout == state::Layout::of(wanted) || (is_sampled_depth && is.contains(wanted))
            }
            Self::D3d12(layout) => layout.serves(wanted),
        }
    }

    /// True if queues of that kind can use resources in it.
    pub(super) fn is_known_to(self, kind: QueueKind) -> bool {
        match self {
            Self::Vulkan(_) => true,
            Self::D3d12(layout) => layout.is_known_to(kind),
        }
    }
}
