//! Transitions of textures: layouts, and discards of contents.

use tenure_core::device::{QueueKind, State, Usage};
use tenure_core::state::D3d12Layout;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ,
    D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE, D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
    D3D12_BARRIER_LAYOUT_RENDER_TARGET, D3D12_BARRIER_LAYOUT_RESOLVE_DEST,
    D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE, D3D12_BARRIER_LAYOUT_UNDEFINED,
    D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
};

use super::super::discard::is_recorded;
use super::scope::{Scope, Stage};

/// The layout of a texture in a state. An empty state is `UNDEFINED`, for a texture without contents.
///
/// ```no_run
/// use tenure_core::device::State;
/// use tenure_d3d12::to_barrier_layout;
/// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::D3D12_BARRIER_LAYOUT_COMMON;
/// // What a swap chain presents: any state that only reads or copies.
/// assert_eq!(to_barrier_layout(State::COPY_SRC), D3D12_BARRIER_LAYOUT_COMMON);
/// ```
#[must_use]
pub const fn to_barrier_layout(state: State) -> D3D12_BARRIER_LAYOUT {
    match D3d12Layout::of(state) {
        D3d12Layout::Undefined => D3D12_BARRIER_LAYOUT_UNDEFINED,
        D3d12Layout::Common => D3D12_BARRIER_LAYOUT_COMMON,
        D3d12Layout::RenderTarget => D3D12_BARRIER_LAYOUT_RENDER_TARGET,
        D3d12Layout::UnorderedAccess => D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
        D3d12Layout::DepthWrite => D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE,
        D3d12Layout::DepthRead => D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ,
        D3d12Layout::ResolveSrc => D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE,
        D3d12Layout::ResolveDst => D3D12_BARRIER_LAYOUT_RESOLVE_DEST,
        D3d12Layout::GenericRead => D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
    }
}

/// A transition of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) before: Scope,
    pub(super) after: Scope,
    pub(super) layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
    /// Contents are undefined: compression is initialised.
    pub(super) discard: bool,
}

/// The commands of a queue for a transition; `None` if none are needed.
pub(super) fn texture_move(stage: Stage, before: State, after: State) -> Option<Move> {
    // Textures are created in `COMMON`, and a copy queue can neither leave it nor needs to.
    if stage.kind == QueueKind::Copy && before.is_empty() {
        return None;
    }
    let layouts = (to_barrier_layout(before), to_barrier_layout(after));
    Some(Move { before: stage.of(before), after: stage.of(after), layouts, discard: before.is_empty() })
}

/// The intermediate state of a texture that takes over memory written by other resources, and whether it is
/// discarded there.
///
/// A barrier may not discard here, because the caches of earlier writes are still being flushed. Instead a command
/// discards the texture, in the one state that the queue supports for it. Copies need this too, because a copy may
/// write only a part.
pub(super) fn renewal(kind: QueueKind, usage: Usage, after: State) -> (State, bool) {
    match State::to_discard(usage, kind).filter(|_| is_recorded(kind, usage)) {
        Some(state) => (state, true),
        None => (after, false),
    }
}
