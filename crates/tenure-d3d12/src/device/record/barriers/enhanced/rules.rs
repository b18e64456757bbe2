//! The compatibility tables of the specification (`D3D12EnhancedBarriers.md` of Microsoft's
//! DirectX-Specs), and the translation held to them.

use tenure_core::TextureDesc;
use tenure_core::device::{Format, QueueKind, State, Subresource, Usage};
use tenure_core::state::D3d12Layout;
use windows::Win32::Graphics::Direct3D12::*;

use super::moves::{Move, renewal, texture_move, to_barrier_layout};
use super::scope::{NO_USE, Scope, Stage};
use super::{range, unordered_textures};

type Layout = D3D12_BARRIER_LAYOUT;
type Access = D3D12_BARRIER_ACCESS;
type Sync = D3D12_BARRIER_SYNC;

const KINDS: [QueueKind; 3] = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];

/// "Command Queue Layout Compatibility".
fn layouts_of(kind: QueueKind) -> &'static [Layout] {
    match kind {
        QueueKind::Graphics => &[
            D3D12_BARRIER_LAYOUT_COMMON,
            D3D12_BARRIER_LAYOUT_GENERIC_READ,
            D3D12_BARRIER_LAYOUT_RENDER_TARGET,
            D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
            D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE,
            D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ,
            D3D12_BARRIER_LAYOUT_SHADER_RESOURCE,
            D3D12_BARRIER_LAYOUT_COPY_SOURCE,
            D3D12_BARRIER_LAYOUT_COPY_DEST,
            D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE,
            D3D12_BARRIER_LAYOUT_RESOLVE_DEST,
            D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_SHADER_RESOURCE,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_SOURCE,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST,
        ],
        QueueKind::Compute => &[
            D3D12_BARRIER_LAYOUT_COMMON,
            D3D12_BARRIER_LAYOUT_GENERIC_READ,
            D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
            D3D12_BARRIER_LAYOUT_SHADER_RESOURCE,
            D3D12_BARRIER_LAYOUT_COPY_SOURCE,
            D3D12_BARRIER_LAYOUT_COPY_DEST,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_GENERIC_READ,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_SHADER_RESOURCE,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_SOURCE,
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_DEST,
        ],
        QueueKind::Copy => &[D3D12_BARRIER_LAYOUT_COMMON],
    }
}

/// "Command Queue Access Compatibility".
fn accesses_of(kind: QueueKind) -> Access {
    let copy = D3D12_BARRIER_ACCESS_COPY_DEST | D3D12_BARRIER_ACCESS_COPY_SOURCE;
    let compute = copy
        | D3D12_BARRIER_ACCESS_CONSTANT_BUFFER
        | D3D12_BARRIER_ACCESS_UNORDERED_ACCESS
        | D3D12_BARRIER_ACCESS_SHADER_RESOURCE
        | D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT
        | D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ
        | D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE;
    match kind {
        QueueKind::Copy => copy,
        QueueKind::Compute => compute,
        QueueKind::Graphics => {
            compute
                | D3D12_BARRIER_ACCESS_VERTEX_BUFFER
                | D3D12_BARRIER_ACCESS_INDEX_BUFFER
                | D3D12_BARRIER_ACCESS_RENDER_TARGET
                | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE
                | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ
                | D3D12_BARRIER_ACCESS_RESOLVE_DEST
                | D3D12_BARRIER_ACCESS_RESOLVE_SOURCE
        }
    }
}

/// "Command Queue Sync Compatibility".
fn syncs_of(kind: QueueKind) -> Sync {
    let copy = D3D12_BARRIER_SYNC_ALL | D3D12_BARRIER_SYNC_COPY;
    let compute = copy
        | D3D12_BARRIER_SYNC_COMPUTE_SHADING
        | D3D12_BARRIER_SYNC_RAYTRACING
        | D3D12_BARRIER_SYNC_EXECUTE_INDIRECT
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_NON_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO
        | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW;
    match kind {
        QueueKind::Copy => copy,
        QueueKind::Compute => compute,
        QueueKind::Graphics => {
            compute
                | D3D12_BARRIER_SYNC_DRAW
                | D3D12_BARRIER_SYNC_INDEX_INPUT
                | D3D12_BARRIER_SYNC_VERTEX_SHADING
                | D3D12_BARRIER_SYNC_PIXEL_SHADING
                | D3D12_BARRIER_SYNC_DEPTH_STENCIL
                | D3D12_BARRIER_SYNC_RENDER_TARGET
                | D3D12_BARRIER_SYNC_RESOLVE
        }
    }
}

/// "Layout Access Compatibility", for the layouts that are used.
fn accesses_in(layout: Layout) -> Access {
    let common = D3D12_BARRIER_ACCESS_SHADER_RESOURCE | D3D12_BARRIER_ACCESS_COPY_SOURCE;
    match layout {
        D3D12_BARRIER_LAYOUT_COMMON => common | D3D12_BARRIER_ACCESS_COPY_DEST,
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ => {
            common | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ | D3D12_BARRIER_ACCESS_RESOLVE_SOURCE
        }
        D3D12_BARRIER_LAYOUT_RENDER_TARGET => D3D12_BARRIER_ACCESS_RENDER_TARGET,
        D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS => D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE => {
            D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ
        }
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ => D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ,
        D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE => D3D12_BARRIER_ACCESS_RESOLVE_SOURCE,
        D3D12_BARRIER_LAYOUT_RESOLVE_DEST => D3D12_BARRIER_ACCESS_RESOLVE_DEST,
        D3D12_BARRIER_LAYOUT_UNDEFINED => D3D12_BARRIER_ACCESS_NO_ACCESS,
        other => panic!("not a layout that is used: {other:?}"),
    }
}

/// "Access Bits Barrier Sync Compatibility": each access needs at least one of these.
fn syncs_for() -> Vec<(Access, Sync)> {
    let all = D3D12_BARRIER_SYNC_ALL;
    let draw = all | D3D12_BARRIER_SYNC_DRAW;
    let vertex = draw | D3D12_BARRIER_SYNC_VERTEX_SHADING | D3D12_BARRIER_SYNC_ALL_SHADING;
    let shading = vertex | D3D12_BARRIER_SYNC_PIXEL_SHADING | D3D12_BARRIER_SYNC_COMPUTE_SHADING;
    let unordered = shading
        | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW
        | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO
        | D3D12_BARRIER_SYNC_RAYTRACING;
    let read =
        shading | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE | D3D12_BARRIER_SYNC_RAYTRACING;
    let structures_written = all
        | D3D12_BARRIER_SYNC_COMPUTE_SHADING
        | D3D12_BARRIER_SYNC_RAYTRACING
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE;
    let structures_read =
        structures_written | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO;
    vec![
        (D3D12_BARRIER_ACCESS_VERTEX_BUFFER, vertex),
        (D3D12_BARRIER_ACCESS_CONSTANT_BUFFER, shading),
        (D3D12_BARRIER_ACCESS_INDEX_BUFFER, draw | D3D12_BARRIER_SYNC_INDEX_INPUT),
        (D3D12_BARRIER_ACCESS_RENDER_TARGET, draw | D3D12_BARRIER_SYNC_RENDER_TARGET),
        (D3D12_BARRIER_ACCESS_UNORDERED_ACCESS, unordered),
        (D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE, draw | D3D12_BARRIER_SYNC_DEPTH_STENCIL),
        (D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ, draw | D3D12_BARRIER_SYNC_DEPTH_STENCIL),
        (D3D12_BARRIER_ACCESS_SHADER_RESOURCE, read),
        (D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT, all | D3D12_BARRIER_SYNC_EXECUTE_INDIRECT),
        (D3D12_BARRIER_ACCESS_COPY_DEST, all | D3D12_BARRIER_SYNC_COPY),
        (D3D12_BARRIER_ACCESS_COPY_SOURCE, all | D3D12_BARRIER_SYNC_COPY),
        (D3D12_BARRIER_ACCESS_RESOLVE_DEST, all | D3D12_BARRIER_SYNC_RESOLVE),
        (D3D12_BARRIER_ACCESS_RESOLVE_SOURCE, all | D3D12_BARRIER_SYNC_RESOLVE),
        (D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ, structures_read),
        (D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE, structures_written),
    ]
}

/// "Equivalent `D3D12_BARRIER_ACCESS` bit" and "`D3D12_BARRIER_SYNC` bit for each `D3D12_RESOURCE_STATES`
/// bit", on a graphics queue; the second names "non-pixel shading", which is vertex and compute shading.
fn equivalents() -> Vec<(State, Access, Sync)> {
    vec![
        (
            State::VERTEX_OR_CONSTANT,
            D3D12_BARRIER_ACCESS_VERTEX_BUFFER | D3D12_BARRIER_ACCESS_CONSTANT_BUFFER,
            D3D12_BARRIER_SYNC_ALL_SHADING,
        ),
        (State::INDEX, D3D12_BARRIER_ACCESS_INDEX_BUFFER, D3D12_BARRIER_SYNC_INDEX_INPUT),
        (State::RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET, D3D12_BARRIER_SYNC_RENDER_TARGET),
        (
            State::UNORDERED_ACCESS,
            D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
            D3D12_BARRIER_SYNC_ALL_SHADING
                | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
                | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE
                | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO,
        ),
        (State::DEPTH_WRITE, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE, D3D12_BARRIER_SYNC_DEPTH_STENCIL),
        (State::DEPTH_READ, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ, D3D12_BARRIER_SYNC_DEPTH_STENCIL),
        (State::VERTEX_SHADER, D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_SYNC_VERTEX_SHADING),
        (State::MESH_SHADER, D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_SYNC_VERTEX_SHADING),
        (State::COMPUTE_SHADER, D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_SYNC_COMPUTE_SHADING),
        (
            State::RAY_TRACING_SHADER,
            D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
            D3D12_BARRIER_SYNC_RAYTRACING | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE,
        ),
        (
            State::MESH_UNORDERED_ACCESS,
            D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
            D3D12_BARRIER_SYNC_VERTEX_SHADING,
        ),
        (
            State::COMPUTE_UNORDERED_ACCESS,
            D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
            D3D12_BARRIER_SYNC_COMPUTE_SHADING | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW,
        ),
        (
            State::RAY_TRACING_UNORDERED_ACCESS,
            D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
            D3D12_BARRIER_SYNC_RAYTRACING | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE,
        ),
        (State::PIXEL_SHADER, D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_SYNC_PIXEL_SHADING),
        (State::INDIRECT, D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT, D3D12_BARRIER_SYNC_EXECUTE_INDIRECT),
        (State::COPY_DST, D3D12_BARRIER_ACCESS_COPY_DEST, D3D12_BARRIER_SYNC_COPY),
        (State::COPY_SRC, D3D12_BARRIER_ACCESS_COPY_SOURCE, D3D12_BARRIER_SYNC_COPY),
        (State::PRESENT, D3D12_BARRIER_ACCESS_COPY_SOURCE, D3D12_BARRIER_SYNC_ALL),
        (State::RESOLVE_DST, D3D12_BARRIER_ACCESS_RESOLVE_DEST, D3D12_BARRIER_SYNC_RESOLVE),
        (State::RESOLVE_SRC, D3D12_BARRIER_ACCESS_RESOLVE_SOURCE, D3D12_BARRIER_SYNC_RESOLVE),
        (
            State::ACCELERATION_STRUCTURE,
            D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ
                | D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE,
            D3D12_BARRIER_SYNC_RAYTRACING,
        ),
    ]
}

/// Every state that a resource of that usage can be in on a queue.
fn states(kind: QueueKind, usage: Usage) -> Vec<State> {
    let possible = State::allowed_on(kind) & State::allowed_for(usage);
    let next = |state: &State| {
        // The next of its parts, in the order of their bits.
        let next = State::from_bits_retain((state.bits() | !possible.bits()).wrapping_add(1)) & possible;
        (!next.is_empty()).then_some(next)
    };
    std::iter::successors(next(&State::COMMON), next).filter(|state| state.is_valid()).collect()
}

const TEXTURES: Usage = Usage::SHADER_READ
    .union(Usage::UNORDERED_ACCESS)
    .union(Usage::COPY_SRC)
    .union(Usage::COPY_DST)
    .union(Usage::RENDER_TARGET)
    .union(Usage::DEPTH_STENCIL)
    .union(Usage::PRESENT);

fn stage(kind: QueueKind) -> Stage {
    Stage { kind, is_traced: true }
}

fn check_scope(kind: QueueKind, scope: Scope, what: &str) {
    let Scope { sync, access } = scope;
    if scope == NO_USE {
        return;
    }
    assert!(!access.contains(D3D12_BARRIER_ACCESS_NO_ACCESS), "{what}: no access and some");
    assert_ne!(access, D3D12_BARRIER_ACCESS_COMMON, "{what}: any access flushes everything");
    assert!(accesses_of(kind).contains(access), "{what}: {access:?} on {kind:?}");
    assert!(syncs_of(kind).contains(sync) && sync.0 != 0, "{what}: {sync:?} on {kind:?}");
    for (bit, needed) in syncs_for() {
        let is_matched = !access.contains(bit) || (sync & needed).0 != 0;
        assert!(is_matched, "{what}: {bit:?} without a stage in {sync:?}");
    }
}

fn check_layout(kind: QueueKind, layout: Layout, scope: Scope, what: &str) {
    if layout == D3D12_BARRIER_LAYOUT_UNDEFINED {
        assert_eq!(scope.access, D3D12_BARRIER_ACCESS_NO_ACCESS, "{what}: undefined contents");
        return;
    }
    assert!(layouts_of(kind).contains(&layout), "{what}: {layout:?} on {kind:?}");
    if scope != NO_USE {
        assert!(accesses_in(layout).contains(scope.access), "{what}: {:?} in {layout:?}", scope.access);
    }
}

fn check_move(kind: QueueKind, step: Move, what: &str) {
    check_scope(kind, step.before, what);
    check_scope(kind, step.after, what);
    check_layout(kind, step.layouts.0, step.before, what);
    check_layout(kind, step.layouts.1, step.after, what);
    assert_ne!(step.layouts.1, D3D12_BARRIER_LAYOUT_UNDEFINED, "{what}: contents are kept");
    let is_change = step.layouts.0 != step.layouts.1;
    assert!(kind != QueueKind::Copy || !is_change, "{what}: copy queues change no layouts");
    assert_eq!(step.discard, step.layouts.0 == D3D12_BARRIER_LAYOUT_UNDEFINED, "{what}: discard");
}

#[test]
fn every_transition_on_a_queue_keeps_the_tables() {
    for kind in KINDS {
        let mut before = states(kind, TEXTURES);
        before.push(State::COMMON);
        for from in &before {
            for to in states(kind, TEXTURES) {
                let what = format!("{from:?} to {to:?} on {kind:?}");
                match texture_move(stage(kind), *from, to) {
                    Some(step) => check_move(kind, step, &what),
                    None => assert!(kind == QueueKind::Copy && from.is_empty(), "{what}: left out"),
                }
            }
        }
    }
}

#[test]
fn every_buffer_state_keeps_the_tables() {
    let buffers = Usage::all().difference(Usage::TEXTURE_ONLY);
    for kind in KINDS {
        for is_traced in [true, false] {
            for state in states(kind, buffers) {
                check_scope(kind, Stage { kind, is_traced }.of(state), &format!("{state:?}"));
            }
        }
    }
}

/// "Sequential Barriers": the sync before of a barrier contains the sync after of the previous one.
#[test]
fn wider_states_have_wider_scopes() {
    for kind in KINDS {
        let all = states(kind, Usage::all());
        for wide in &all {
            for narrow in all.iter().filter(|narrow| wide.contains(**narrow)) {
                let (wide, narrow) = (stage(kind).of(*wide), stage(kind).of(*narrow));
                assert!(wide.sync.contains(narrow.sync) && wide.access.contains(narrow.access));
            }
        }
    }
}

/// Every state has at least the accesses that the specification gives for its bits, and no others.
#[test]
fn every_state_has_the_accesses_of_the_specification() {
    let covered = equivalents().iter().fold(State::COMMON, |all, (state, ..)| all | *state);
    assert_eq!(covered, State::all(), "each state has its line");
    let lines = equivalents();
    for state in (1..=State::all().bits()).filter_map(State::from_bits) {
        let lines = || lines.iter().filter(|(bit, ..)| state.contains(*bit));
        let access = lines().fold(D3D12_BARRIER_ACCESS_COMMON, |all, (_, access, _)| all | *access);
        let sync = lines().fold(D3D12_BARRIER_SYNC_NONE, |all, (.., sync)| all | *sync);
        let scope = stage(QueueKind::Graphics).of(state);
        assert_eq!(scope.access, access, "{state:?}");
        assert!(scope.sync.contains(sync), "{state:?}: {:?} lacks some of {sync:?}", scope.sync);
    }
}

/// A state of one kind of shaders does not make the others wait.
#[test]
fn states_of_one_kind_of_shaders_name_their_stages_alone() {
    let build = D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO;
    let (vertex, compute) = (D3D12_BARRIER_SYNC_VERTEX_SHADING, D3D12_BARRIER_SYNC_COMPUTE_SHADING);
    let clear = D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW;
    let rays = D3D12_BARRIER_SYNC_RAYTRACING | build;
    let graphics = stage(QueueKind::Graphics);
    let untraced = Stage { is_traced: false, ..graphics };
    let on_compute = stage(QueueKind::Compute);
    for (stage, state, sync) in [
        (graphics, State::VERTEX_SHADER, vertex),
        (graphics, State::MESH_SHADER, vertex),
        (graphics, State::COMPUTE_SHADER, compute),
        (graphics, State::RAY_TRACING_SHADER, rays),
        (graphics, State::NON_PIXEL_SHADER, vertex | compute | rays),
        (graphics, State::MESH_UNORDERED_ACCESS, vertex),
        (graphics, State::COMPUTE_UNORDERED_ACCESS, compute | clear),
        (graphics, State::RAY_TRACING_UNORDERED_ACCESS, rays),
        (on_compute, State::COMPUTE_SHADER, compute),
        (on_compute, State::NON_PIXEL_SHADER, compute | rays),
        (untraced, State::RAY_TRACING_SHADER, compute),
        (untraced, State::NON_PIXEL_SHADER, vertex | compute),
    ] {
        assert_eq!(stage.of(state).sync, sync, "{state:?} of {stage:?}");
    }
}

/// The resources of builds, by the ray tracing specification: inputs and serialized structures are
/// shader resources, scratch memory and sizes are unordered accesses.
#[test]
fn ray_tracing_waits_for_its_resources() {
    let build = D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE;
    let copy = D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE;
    let emit = D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO;
    for kind in [QueueKind::Graphics, QueueKind::Compute] {
        for (state, needed) in [
            (State::NON_PIXEL_SHADER, build | copy | D3D12_BARRIER_SYNC_RAYTRACING),
            (State::UNORDERED_ACCESS, build | copy | emit | D3D12_BARRIER_SYNC_RAYTRACING),
            (State::ACCELERATION_STRUCTURE, build | copy | emit | D3D12_BARRIER_SYNC_RAYTRACING),
            (State::VERTEX_OR_CONSTANT, D3D12_BARRIER_SYNC_RAYTRACING),
        ] {
            assert!(stage(kind).of(state).sync.contains(needed), "{state:?} on {kind:?}");
        }
        let untraced = Stage { kind, is_traced: false };
        for state in [State::NON_PIXEL_SHADER, State::UNORDERED_ACCESS, State::VERTEX_OR_CONSTANT] {
            let traced = build | copy | emit | D3D12_BARRIER_SYNC_RAYTRACING;
            assert_eq!((untraced.of(state).sync & traced).0, 0, "{state:?} waits for nothing of the kind");
        }
    }
}

/// "Command Queue Layout Compatibility": another queue can use a texture in the layout in which the first leaves
/// it, or a queue that supports both states moves it. Core follows layouts by `D3d12Layout`, which must
/// distinguish the same states as the API.
#[test]
fn queues_share_textures_in_one_layout() {
    let all = states(QueueKind::Graphics, TEXTURES);
    for from in &all {
        for to in &all {
            let is_same = to_barrier_layout(*from) == to_barrier_layout(*to);
            assert_eq!(is_same, D3d12Layout::of(*from) == D3d12Layout::of(*to), "{from:?} and {to:?}");
        }
    }
    let all = KINDS.map(|kind| (kind, states(kind, TEXTURES)));
    for (kind, own) in &all {
        for (state, (other, others)) in own.iter().flat_map(|state| all.iter().map(move |all| (state, all))) {
            let layout = to_barrier_layout(*state);
            let is_known = layouts_of(*other).contains(&layout);
            let serves_other = others.iter().any(|state| to_barrier_layout(*state) == layout);
            assert!(is_known || !serves_other, "{state:?} of {kind:?} on {other:?}");
        }
    }
}

#[test]
fn unordered_barriers_are_global() {
    for kind in [QueueKind::Graphics, QueueKind::Compute] {
        let barrier = unordered_textures(stage(kind));
        let scope = Scope { sync: barrier.SyncBefore, access: barrier.AccessBefore };
        check_scope(kind, scope, "unordered");
        assert_eq!(scope, stage(kind).of(State::UNORDERED_ACCESS));
        assert_eq!((barrier.SyncAfter, barrier.AccessAfter), (scope.sync, scope.access));
    }
}

/// "Resource Aliasing": a target that takes over written memory is initialized by a separate command. A copy may
/// write only a part of it.
#[test]
fn targets_that_follow_writes_are_discarded() {
    let target = Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS | Usage::COPY_DST | Usage::SHADER_READ;
    let depth = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
    let storage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ;
    for (kind, usage, after, expected) in [
        (QueueKind::Graphics, target, State::RENDER_TARGET, (State::RENDER_TARGET, true)),
        (QueueKind::Graphics, target, State::UNORDERED_ACCESS, (State::RENDER_TARGET, true)),
        (QueueKind::Graphics, target, State::COPY_DST, (State::RENDER_TARGET, true)),
        (QueueKind::Graphics, target, State::RESOLVE_DST, (State::RENDER_TARGET, true)),
        (QueueKind::Compute, target, State::COPY_DST, (State::UNORDERED_ACCESS, true)),
        (QueueKind::Graphics, Usage::SHADER_READ, State::COPY_DST, (State::COPY_DST, false)),
        (QueueKind::Compute, target, State::UNORDERED_ACCESS, (State::UNORDERED_ACCESS, true)),
        (QueueKind::Graphics, depth, State::DEPTH_WRITE, (State::DEPTH_WRITE, true)),
        (QueueKind::Graphics, depth, State::SHADER_READ, (State::DEPTH_WRITE, true)),
        (QueueKind::Graphics, storage, State::UNORDERED_ACCESS, (State::UNORDERED_ACCESS, false)),
        (QueueKind::Graphics, Usage::SHADER_READ, State::SHADER_READ, (State::SHADER_READ, false)),
    ] {
        assert_eq!(renewal(kind, usage, after), expected, "{usage:?} to {after:?} on {kind:?}");
    }
    for kind in KINDS {
        for after in states(kind, TEXTURES) {
            let (state, _) = renewal(kind, TEXTURES, after);
            assert!(layouts_of(kind).contains(&to_barrier_layout(state)), "{after:?} on {kind:?}");
        }
    }
}

/// "`AccessBefore` = COMMON implies all writes", and is warned of: the writes are named instead.
#[test]
fn any_write_is_every_write_of_the_queue() {
    for kind in KINDS {
        let scope = stage(kind).any_write();
        assert_eq!(scope.sync, D3D12_BARRIER_SYNC_ALL);
        let writes = State::WRITES.iter().filter(|state| State::allowed_on(kind).contains(*state));
        assert!(writes.into_iter().all(|state| scope.access.contains(stage(kind).of(state).access)));
        assert!(accesses_of(kind).contains(scope.access), "{kind:?}");
        assert_ne!(scope.access, D3D12_BARRIER_ACCESS_COMMON);
    }
}

#[test]
fn textures_that_are_read_and_copied_stay_in_common() {
    let common = D3D12_BARRIER_LAYOUT_COMMON;
    for state in [State::COPY_DST, State::COPY_SRC, State::SHADER_READ, State::COPY_SRC | State::PIXEL_SHADER]
    {
        assert_eq!(to_barrier_layout(state), common);
    }
    assert_eq!(
        to_barrier_layout(State::DEPTH_READ | State::PIXEL_SHADER).0,
        19,
        "generic read of direct queues"
    );
    assert_eq!(to_barrier_layout(State::COMMON), D3D12_BARRIER_LAYOUT_UNDEFINED);
}

#[test]
fn a_subresource_is_one_in_each_plane() {
    let info = |format| TextureDesc::d2(16, 16, format, Usage::DEPTH_STENCIL).mips(3).layers(2).info;
    let all = range(&info(Format::D24UnormS8Uint), Subresource::All);
    assert_eq!((all.IndexOrFirstMipLevel, all.NumMipLevels), (u32::MAX, 0));
    let one = range(&info(Format::D24UnormS8Uint), Subresource::One(4));
    let mips = (one.IndexOrFirstMipLevel, one.NumMipLevels);
    assert_eq!((mips, (one.FirstArraySlice, one.NumArraySlices)), ((1, 1), (1, 1)));
    assert_eq!((one.FirstPlane, one.NumPlanes), (0, 2));
    assert_eq!(range(&info(Format::D32Float), Subresource::One(0)).NumPlanes, 1);
}
