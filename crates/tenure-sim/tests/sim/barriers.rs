//! The barriers that the specifications require, and those that they do not.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_core::state::{StateBarrier, record_in_front};
use tenure_sim::{Device, HazardKind, Profile, Resource};

use crate::common::*;

const READ: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

fn target(device: &Device) -> Resource {
    committed(device, "target", &texture(16, 16, READ | Usage::RENDER_TARGET | Usage::COPY_DST))
}

fn explicit() -> impl Iterator<Item = Profile> {
    let is_explicit = |profile: &Profile| manual(*profile).properties().state_model == StateModel::Explicit;
    Profile::ALL.iter().copied().filter(is_explicit)
}

/// Of two states with one layout, a barrier need only name the one in which it was used last: earlier accesses
/// are ordered by the barrier between the two.
#[test]
fn barriers_lead_on_from_one_another() {
    for profile in explicit() {
        let device = manual(profile);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&target, Subresource::All, &[1]);
            transition(list, &target, State::RENDER_TARGET, State::PIXEL_SHADER);
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
            transition(list, &target, State::PIXEL_SHADER, State::SHADER_READ);
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
        });
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
            transition(list, &target, State::NON_PIXEL_SHADER, State::RENDER_TARGET);
        });
        assert_clean(&hazards(&device));
    }
}

/// A barrier that names the layout but not all reads is a hazard with the pending reads.
#[test]
fn a_barrier_comes_after_every_read_in_one_layout() {
    for profile in explicit() {
        let device = manual(profile);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&target, Subresource::All, &[1]);
            transition(list, &target, State::RENDER_TARGET, State::SHADER_READ);
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
            transition(list, &target, State::SHADER_READ, State::SHADER_READ);
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
        });
        assert_clean(&hazards(&device));
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
            transition(list, &target, State::NON_PIXEL_SHADER, State::RENDER_TARGET);
        });
        assert_one(&hazards(&device), HazardKind::WrongState, &["target"]);
    }
}

/// A layout change does not make earlier writes visible to all reads in the layout.
#[test]
fn states_that_a_barrier_does_not_name_miss_the_write() {
    for profile in explicit() {
        let device = manual(profile);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&target, Subresource::All, &[1]);
            transition(list, &target, State::RENDER_TARGET, State::PIXEL_SHADER);
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
        });
        assert_one(&hazards(&device), HazardKind::WrongState, &["target"]);
    }
}

/// A barrier for one kind of shaders orders nothing for the others, for reads and for writes.
#[test]
fn a_barrier_for_compute_alone_leaves_vertex_shaders_out() {
    const COMPUTE_WRITE: State = State::COMPUTE_UNORDERED_ACCESS;
    const RAYS_WRITE: State = State::RAY_TRACING_UNORDERED_ACCESS;
    for profile in explicit() {
        for (write, [before, after], read, is_ordered) in [
            (State::COPY_DST, [State::COPY_DST, State::COMPUTE_SHADER], State::COMPUTE_SHADER, true),
            (State::COPY_DST, [State::COPY_DST, State::COMPUTE_SHADER], State::VERTEX_SHADER, false),
            (State::COPY_DST, [State::COPY_DST, State::COMPUTE_SHADER], State::MESH_SHADER, false),
            (State::COPY_DST, [State::COPY_DST, State::COMPUTE_SHADER], State::NON_PIXEL_SHADER, false),
            (State::COPY_DST, [State::COPY_DST, State::NON_PIXEL_SHADER], State::MESH_SHADER, true),
            (State::COPY_DST, [State::COPY_DST, State::VERTEX_SHADER], State::COMPUTE_SHADER, false),
            (COMPUTE_WRITE, [COMPUTE_WRITE, State::RAY_TRACING_SHADER], State::RAY_TRACING_SHADER, true),
            (COMPUTE_WRITE, [COMPUTE_WRITE, State::RAY_TRACING_SHADER], State::COMPUTE_SHADER, false),
            (COMPUTE_WRITE, [COMPUTE_WRITE, COMPUTE_WRITE], State::UNORDERED_ACCESS, false),
            (COMPUTE_WRITE, [COMPUTE_WRITE, State::UNORDERED_ACCESS], RAYS_WRITE, true),
            (COMPUTE_WRITE, [State::UNORDERED_ACCESS, State::PIXEL_SHADER], State::PIXEL_SHADER, true),
            (RAYS_WRITE, [COMPUTE_WRITE, State::PIXEL_SHADER], State::PIXEL_SHADER, false),
            (State::UNORDERED_ACCESS, [COMPUTE_WRITE, State::PIXEL_SHADER], State::PIXEL_SHADER, false),
        ] {
            let device = manual(profile);
            let usage = READ | Usage::COPY_DST | Usage::UNORDERED_ACCESS;
            let rock = committed(&device, "rock", &buffer(256, usage));
            submit(&device, GRAPHICS, 1, &[], |list| {
                list.use_buffer(&rock, 0, 256, write);
                transition(list, &rock, before, after);
                list.use_buffer(&rock, 0, 256, read);
            });
            let found = hazards(&device);
            assert_eq!(found.is_empty(), is_ordered, "{write} | {before} to {after} | {read}: {found:?}");
            assert!(found.iter().all(|hazard| hazard.to_string().contains("rock")), "{found:?}");
        }
    }
}

/// Direct3D 12 finishes and flushes everything where a submission ends; Vulkan does not.
#[test]
fn the_end_of_a_submission_orders_everything_on_direct3d() {
    for profile in explicit() {
        let device = manual(profile);
        let rock = committed(&device, "rock", &buffer(256, READ | Usage::COPY_DST));
        submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 256, 1));
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.use_buffer(&rock, 0, 256, State::COPY_SRC);
        });
        assert_one_if(
            profile != Profile::D3D12_ENHANCED,
            &hazards(&device),
            HazardKind::WrongState,
            &["rock"],
        );
    }
}

/// After a wait for another queue's semaphore all writes known to that queue are visible, also the waiting
/// queue's own.
#[test]
fn waits_are_transitive() {
    for there_and_back in [false, true] {
        let device = manual(Profile::VULKAN_NVIDIA);
        let rock = committed(&device, "rock", &buffer(256, READ | Usage::COPY_DST));
        submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 256, 1));
        submit(&device, COMPUTE, 1, &[after(GRAPHICS, 1)], |list| {
            list.use_buffer(&rock, 0, 1, State::COPY_SRC)
        });
        let waits: &[_] = if there_and_back { &[after(COMPUTE, 1)] } else { &[] };
        submit(&device, GRAPHICS, 2, waits, |_| {});
        submit(&device, GRAPHICS, 3, &[], |list| list.use_buffer(&rock, 0, 1, State::COPY_SRC));
        let found = hazards(&device);
        if there_and_back {
            assert_clean(&found)
        } else {
            assert_one(&found, HazardKind::WrongState, &["rock"])
        }
    }
}

/// Direct3D 12: a barrier waits for everything that waited for the barrier before it.
#[test]
fn enhanced_barriers_contain_the_previous_state() {
    for profile in [Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        let device = manual(profile);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::SHADER_READ);
            transition(list, &target, State::PIXEL_SHADER, State::RENDER_TARGET);
        });
        assert_one_if(
            profile == Profile::D3D12_ENHANCED,
            &hazards(&device),
            HazardKind::WrongState,
            &["target"],
        );
    }
}

/// A barrier on one mip does not order the unordered accesses to another.
#[test]
fn a_barrier_orders_unordered_accesses_where_it_is() {
    for (profile, mip) in [(Profile::VULKAN_NVIDIA, 0), (Profile::VULKAN_NVIDIA, 1), (Profile::DISCRETE, 1)] {
        let device = manual(profile);
        let info = texture_info(16, 16, Usage::UNORDERED_ACCESS | READ).mips(2);
        let chain = committed(&device, "chain", &ResourceDesc::Texture(info));
        let moved = |mip, before, after| Barrier::Transition {
            resource: &chain,
            subresource: Subresource::One(mip),
            before,
            after,
            transfer: None,
        };
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &chain, State::COMMON, State::UNORDERED_ACCESS);
            list.use_texture(&chain, Subresource::All, State::UNORDERED_ACCESS);
            list.barriers(&[moved(mip, State::UNORDERED_ACCESS, State::COPY_SRC)]);
            list.barriers(&[moved(mip, State::COPY_SRC, State::UNORDERED_ACCESS)]);
            list.use_texture(&chain, Subresource::One(0), State::UNORDERED_ACCESS);
        });
        let found = hazards(&device);
        if mip == 0 {
            assert_clean(&found)
        } else {
            assert_one(&found, HazardKind::MissingBarrier, &["chain"])
        }
    }
}

/// With legacy states a compute queue has no pixel shaders, not even combined with other readers.
#[test]
fn a_compute_queue_uses_only_states_that_it_supports() {
    for (state, knows) in [
        (State::NON_PIXEL_SHADER, true),
        (State::SHADER_READ, false),
        (State::NON_PIXEL_SHADER | State::COPY_SRC, true),
        (State::NON_PIXEL_SHADER | State::RESOLVE_SRC, false),
    ] {
        let device = manual(Profile::DISCRETE);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&target, Subresource::All, &[1]);
            transition(list, &target, State::RENDER_TARGET, state);
        });
        submit(&device, COMPUTE, 1, &[after(GRAPHICS, 1)], |list| {
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
        });
        let found = hazards(&device);
        if knows { assert_clean(&found) } else { assert_one(&found, HazardKind::WrongState, &["target"]) }
    }
}

/// On Vulkan a texture read in two layouts is in the general layout, which no descriptor names.
#[test]
fn a_use_finds_the_layout_of_its_own_state() {
    let both = State::PIXEL_SHADER | State::COPY_SRC;
    for (profile, state, legal) in [
        (Profile::VULKAN_NVIDIA, both, false),
        (Profile::VULKAN_NVIDIA, State::SHADER_READ, true),
        (Profile::D3D12_ENHANCED, both, true),
    ] {
        let device = manual(profile);
        let usage = READ | Usage::RENDER_TARGET | Usage::COPY_SRC;
        let target = committed(&device, "target", &texture(16, 16, usage));
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&target, Subresource::All, &[1]);
            transition(list, &target, State::RENDER_TARGET, state);
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
        });
        let found = hazards(&device);
        if legal { assert_clean(&found) } else { assert_one(&found, HazardKind::WrongState, &["target"]) }
    }
}

fn depth(device: &Device) -> Resource {
    let info = texture_info(16, 16, READ | Usage::DEPTH_STENCIL).format(Format::D32Float);
    committed(device, "depth", &ResourceDesc::Texture(info))
}

/// Direct3D 12 has no queue family ownership: queues share textures in a layout that all of them can use.
#[test]
fn queues_share_textures_with_enhanced_barriers() {
    for is_waited_for in [true, false] {
        let device = manual(Profile::D3D12_ENHANCED);
        let target = target(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &target, State::COMMON, State::COPY_DST);
            list.use_texture(&target, Subresource::All, State::COPY_DST);
        });
        let first = [after(GRAPHICS, 1)];
        let waits = if is_waited_for { &first[..] } else { &[] };
        submit(&device, COMPUTE, 1, &first, |list| {
            list.use_texture(&target, Subresource::All, State::NON_PIXEL_SHADER);
        });
        submit(&device, COPY, 1, waits, |list| {
            list.use_texture(&target, Subresource::All, State::COPY_SRC);
        });
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.use_texture(&target, Subresource::All, State::PIXEL_SHADER);
        });
        assert_one_if(!is_waited_for, &hazards(&device), HazardKind::QueueRace, &["target"]);
    }
}

/// A layout change counts as a write for the queues that read.
#[test]
fn a_change_of_layout_waits_for_the_readers_of_other_queues() {
    for is_waited_for in [true, false] {
        let device = manual(Profile::D3D12_ENHANCED);
        let image = committed(&device, "image", &texture(16, 16, READ | Usage::UNORDERED_ACCESS));
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &image, State::COMMON, State::UNORDERED_ACCESS);
            list.use_texture(&image, Subresource::All, State::UNORDERED_ACCESS);
            transition(list, &image, State::UNORDERED_ACCESS, State::NON_PIXEL_SHADER);
        });
        submit(&device, COMPUTE, 1, &[after(GRAPHICS, 1)], |list| {
            list.use_texture(&image, Subresource::All, State::NON_PIXEL_SHADER);
        });
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.use_texture(&image, Subresource::All, State::NON_PIXEL_SHADER);
        });
        let waits: &[_] = if is_waited_for { &[after(GRAPHICS, 2)] } else { &[] };
        submit(&device, COMPUTE, 2, waits, |list| {
            transition(list, &image, State::NON_PIXEL_SHADER, State::UNORDERED_ACCESS);
        });
        assert_one_if(!is_waited_for, &hazards(&device), HazardKind::QueueRace, &["image"]);
    }
}

/// States that share a layout on Vulkan, but not on Direct3D 12; and a layout only for graphics queues.
#[test]
fn enhanced_layouts_follow_the_specification() {
    let sampled = State::DEPTH_READ | State::SHADER_READ;
    for (led, queue, wanted, is_served) in [
        (State::COPY_SRC, GRAPHICS, State::RESOLVE_SRC, false),
        (State::COPY_SRC, COPY, State::COPY_SRC, true),
        (State::DEPTH_READ, GRAPHICS, State::PIXEL_SHADER, false),
        (sampled, GRAPHICS, State::PIXEL_SHADER, true),
        (sampled, GRAPHICS, State::DEPTH_READ, true),
        (sampled, COMPUTE, State::NON_PIXEL_SHADER, false),
        (State::DEPTH_WRITE, GRAPHICS, State::DEPTH_READ, true),
        (State::DEPTH_WRITE, COMPUTE, State::NON_PIXEL_SHADER, false),
        (State::SHADER_READ, COMPUTE, State::NON_PIXEL_SHADER, true),
        (State::SHADER_READ, COPY, State::COPY_SRC, true),
    ] {
        let device = manual(Profile::D3D12_ENHANCED);
        let depth = depth(&device);
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &depth, State::COMMON, State::DEPTH_WRITE);
            list.use_texture(&depth, Subresource::All, State::DEPTH_WRITE);
            transition(list, &depth, State::DEPTH_WRITE, led);
        });
        let (serial, waits): (_, &[_]) =
            if queue == GRAPHICS { (2, &[]) } else { (1, &[after(GRAPHICS, 1)]) };
        submit(&device, queue, serial, waits, |list| {
            list.use_texture(&depth, Subresource::All, wanted);
        });
        assert_one_if(!is_served, &hazards(&device), HazardKind::WrongState, &["depth"]);
    }
}

/// Barriers are not converted for lists that take none in front.
#[test]
fn lists_without_barriers_in_front_are_given_none() {
    let device = manual(Profile::DISCRETE);
    let mut list = record(&device, GRAPHICS, |_| {});
    assert!(!list.takes_barriers_in_front());
    let unasked = std::iter::from_fn(|| -> Option<StateBarrier<()>> { panic!("converted in vain") });
    assert_eq!(record_in_front::<Device, _>(&mut list, unasked, |()| unreachable!()), Ok(false));
    assert!(matches!(list.put_in_front(&[]), Err(DeviceError::InvalidCall { .. })));
}
