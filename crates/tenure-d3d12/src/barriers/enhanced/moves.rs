//! Transitions of textures: layouts, who changes them, and what becomes of contents.

use tenure_core::device::{QueueId, QueueKind, QueueTransfer, State, Usage};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ,
    D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE, D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
    D3D12_BARRIER_LAYOUT_RENDER_TARGET, D3D12_BARRIER_LAYOUT_RESOLVE_DEST,
    D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE, D3D12_BARRIER_LAYOUT_UNDEFINED,
    D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
};

use super::super::discard::is_recorded;
use super::scope::{NO_USE, Scope, Stage};

/// The layout of a texture in a state. Empty: `UNDEFINED`, for what has no contents.
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
    const IN_COMMON: State = State::SHADER_READ.union(State::COPY_SRC);
    if state.is_empty() {
        D3D12_BARRIER_LAYOUT_UNDEFINED
    } else if IN_COMMON.contains(state) || State::COPY_DST.contains(state) {
        D3D12_BARRIER_LAYOUT_COMMON
    } else if State::RENDER_TARGET.contains(state) {
        D3D12_BARRIER_LAYOUT_RENDER_TARGET
    } else if State::UNORDERED_ACCESS.contains(state) {
        D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
    } else if State::DEPTH_WRITE.contains(state) {
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE
    } else if State::DEPTH_READ.contains(state) {
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ
    } else if State::RESOLVE_SRC.contains(state) {
        D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE
    } else if State::RESOLVE_DST.contains(state) {
        D3D12_BARRIER_LAYOUT_RESOLVE_DEST
    } else {
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ
    }
}

/// Which part of a transition a queue executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it: both uses are on this queue.
    Whole,
    /// The change of layout after the last use, before another queue's first.
    Release,
    /// The change of layout before the first use, after another queue's last.
    Acquire,
}

/// A transition of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) before: Scope,
    pub(super) after: Scope,
    pub(super) layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
    /// Contents are undefined: compression is set up anew.
    pub(super) discard: bool,
}

/// What a queue executes of a transition; `None`: nothing is to be done.
pub(super) fn texture_move(stage: Stage, before: State, after: State, part: Part) -> Option<Move> {
    let layouts = (to_barrier_layout(before), to_barrier_layout(after));
    // Textures are created in `COMMON`, and a copy queue can neither leave it nor needs to.
    if stage.kind == QueueKind::Copy && (before.is_empty() || part != Part::Whole) {
        return None;
    }
    let (from, to) = (stage.of(before), stage.of(after));
    let (from, to) = match part {
        Part::Whole => (from, to),
        Part::Release => (from, NO_USE),
        Part::Acquire => (NO_USE, to),
    };
    Some(Move { before: from, after: to, layouts, discard: before.is_empty() })
}

/// The state through which a texture goes when it takes over memory that other resources have
/// written, and whether it is discarded there.
///
/// A barrier may not discard there: the caches of what was written are still being flushed. What is
/// copied to is filled by that; else the texture is discarded by a command, in the one state in
/// which the queue can.
pub(super) fn renewal(kind: QueueKind, usage: Usage, after: State) -> (State, bool) {
    const FILLED: State = State::COPY_DST.union(State::RESOLVE_DST);
    let discarded = State::to_discard(usage, kind).filter(|_| is_recorded(kind, usage));
    match discarded {
        Some(state) if !FILLED.contains(after) => (state, true),
        _ => (after, false),
    }
}

/// The part of a transfer that falls to the queue `mine`: one of the two changes the layout, if it
/// changes at all.
pub(super) fn part_of(
    mine: QueueId,
    transfer: QueueTransfer,
    kinds: (QueueKind, QueueKind),
    (before, after): (State, State),
) -> Option<Part> {
    let (mut from, to) = (to_barrier_layout(before), to_barrier_layout(after));
    if before.is_empty() {
        // Never used: it still is as it was created.
        from = D3D12_BARRIER_LAYOUT_COMMON;
    }
    if from == to {
        return None;
    }
    // Copy queues change no layouts; what they leave and find is `COMMON`, which all others know.
    let executor = match kinds {
        (QueueKind::Graphics, _) => transfer.from,
        (_, QueueKind::Graphics) => transfer.to,
        (QueueKind::Compute, _) => transfer.from,
        _ => transfer.to,
    };
    match mine {
        mine if mine != executor => None,
        mine if mine == transfer.from => Some(Part::Release),
        _ => Some(Part::Acquire),
    }
}
