//! States: Direct3D 12's promotion and decay, Vulkan's layouts, barriers and ownership.

use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, Hazard, HazardKind, Lag, Profile, Resource};

use crate::common::*;

const EVERY_USE: Usage = Usage::COPY_SRC.union(Usage::COPY_DST).union(Usage::SHADER_READ);

fn run(
    device: &Device,
    queue: QueueId,
    serial: u64,
    commands: impl FnOnce(&mut tenure_sim::List),
) -> Vec<Hazard> {
    submit(device, queue, serial, &[], commands);
    hazards(device)
}

fn rock(device: &Device, texture_too: bool) -> Resource {
    let desc = if texture_too {
        texture(16, 16, EVERY_USE | Usage::RENDER_TARGET)
    } else {
        buffer(256, EVERY_USE | Usage::UNORDERED_ACCESS)
    };
    committed(device, "rock", &desc)
}

#[test]
fn buffers_are_promoted_from_common_and_decay_at_the_end() {
    let device = manual(Profile::DISCRETE);
    let rock = rock(&device, false);
    assert_clean(&run(&device, GRAPHICS, 1, |list| list.fill_buffer(&rock, 0, 256, 1)));
    assert_clean(&run(&device, GRAPHICS, 2, |list| {
        list.use_buffer(&rock, 0, 4, State::COPY_SRC);
        list.use_buffer(&rock, 0, 4, State::PIXEL_SHADER);
    }));
    // Within one submission nothing decays: written, then read, without a barrier.
    let found = run(&device, GRAPHICS, 3, |list| {
        list.fill_buffer(&rock, 0, 256, 1);
        list.use_buffer(&rock, 0, 4, State::COPY_SRC);
    });
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    assert!(found[0].detail.contains("used as COPY_SRC while in state COPY_DST"), "{}", found[0]);
    // Even a barrier's state decays.
    assert_clean(&run(&device, GRAPHICS, 4, |list| {
        transition(list, &rock, State::COMMON, State::UNORDERED_ACCESS);
    }));
    let found =
        run(&device, GRAPHICS, 5, |list| transition(list, &rock, State::UNORDERED_ACCESS, State::COPY_SRC));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
}

#[test]
fn textures_are_promoted_to_copies_and_shader_reads_only() {
    let device = manual(Profile::DISCRETE);
    let rock = rock(&device, true);
    let found = run(&device, GRAPHICS, 1, |list| list.clear_texture(&rock, Subresource::All, &[1]));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    assert_clean(&run(&device, GRAPHICS, 2, |list| {
        transition(list, &rock, State::RENDER_TARGET, State::COMMON)
    }));
    assert_clean(&run(&device, GRAPHICS, 3, |list| {
        list.use_texture(&rock, Subresource::All, State::PIXEL_SHADER)
    }));
    // The read decayed; promotion to a write does not decay on a graphics queue.
    assert_clean(&run(&device, GRAPHICS, 4, |list| {
        list.use_texture(&rock, Subresource::All, State::COPY_DST)
    }));
    assert_clean(&run(&device, GRAPHICS, 5, |list| transition(list, &rock, State::COPY_DST, State::COMMON)));
    // On a copy queue everything does.
    assert_clean(&run(&device, COPY, 1, |list| list.use_texture(&rock, Subresource::All, State::COPY_DST)));
    assert_clean(&run(&device, GRAPHICS, 6, |list| {
        list.use_texture(&rock, Subresource::All, State::PIXEL_SHADER)
    }));
}

/// A copy queue releases only the resources that it used.
#[test]
fn subresources_decay_one_by_one() {
    let device = manual(Profile::DISCRETE);
    let info = texture_info(16, 16, EVERY_USE).mips(2);
    let rock = committed(&device, "rock", &ResourceDesc::Texture(info));
    let (first, second) = (Subresource::One(0), Subresource::One(1));
    assert_clean(&run(&device, GRAPHICS, 1, |list| list.use_texture(&rock, first, State::COPY_DST)));
    assert_clean(&run(&device, COPY, 1, |list| list.use_texture(&rock, second, State::COPY_DST)));
    let back = |subresource| Barrier::Transition {
        resource: &rock,
        subresource,
        before: State::COPY_DST,
        after: State::COMMON,
        transfer: None,
    };
    assert_clean(&run(&device, GRAPHICS, 2, |list| list.barriers(&[back(first)])));
    let found = run(&device, GRAPHICS, 3, |list| list.barriers(&[back(second)]));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
}

#[test]
fn states_set_by_barriers_stay_for_textures() {
    let device = manual(Profile::DISCRETE);
    let rock = rock(&device, true);
    assert_clean(&run(&device, GRAPHICS, 1, |list| become_target(list, &rock)));
    assert_clean(&run(&device, GRAPHICS, 2, |list| {
        list.use_texture(&rock, Subresource::All, State::RENDER_TARGET)
    }));
    assert_clean(&run(&device, GRAPHICS, 3, |list| {
        transition(list, &rock, State::RENDER_TARGET, State::SHADER_READ)
    }));
    assert_clean(&run(&device, GRAPHICS, 4, |list| {
        list.use_texture(&rock, Subresource::All, State::PIXEL_SHADER)
    }));
}

#[test]
fn upload_and_readback_memory_fix_the_state() {
    let device = manual(Profile::DISCRETE);
    let up = upload(&device, "up", 256);
    assert_clean(&run(&device, GRAPHICS, 1, |list| list.use_buffer(&up, 0, 4, State::COPY_SRC)));
    let found = run(&device, GRAPHICS, 2, |list| transition(list, &up, State::COMMON, State::COPY_SRC));
    assert_one(&found, HazardKind::WrongState, &["up"]);
}

#[test]
fn subresources_have_their_own_states() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_INTEL] {
        let device = manual(profile);
        let info = texture_info(16, 16, Usage::RENDER_TARGET | Usage::SHADER_READ).mips(3);
        let chain = committed(&device, "chain", &ResourceDesc::Texture(info));
        let to = |list: &mut tenure_sim::List, mip, before, after| {
            list.barriers(&[Barrier::Transition {
                resource: &chain,
                subresource: Subresource::One(mip),
                before,
                after,
                transfer: None,
            }]);
        };
        assert_clean(&run(&device, GRAPHICS, 1, |list| {
            to(list, 0, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&chain, Subresource::One(0), &[7]);
            for mip in 1..3 {
                to(list, mip - 1, State::RENDER_TARGET, State::PIXEL_SHADER);
                to(list, mip, State::COMMON, State::RENDER_TARGET);
                list.discard(&chain, Subresource::One(mip));
                list.use_texture(&chain, Subresource::One(mip - 1), State::PIXEL_SHADER);
                list.use_texture(&chain, Subresource::One(mip), State::RENDER_TARGET);
            }
        }));
        let found =
            run(&device, GRAPHICS, 2, |list| list.use_texture(&chain, Subresource::All, State::PIXEL_SHADER));
        assert_one(&found, HazardKind::WrongState, &["chain"]);
    }
}

#[test]
fn images_on_vulkan_need_their_layout() {
    let device = manual(Profile::VULKAN_INTEL);
    let rock = rock(&device, true);
    let found = run(&device, GRAPHICS, 1, |list| list.use_texture(&rock, Subresource::All, State::COPY_DST));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    assert_clean(&run(&device, GRAPHICS, 2, |list| {
        transition(list, &rock, State::COPY_DST, State::SHADER_READ);
        list.use_texture(&rock, Subresource::All, State::PIXEL_SHADER);
        transition(list, &rock, State::SHADER_READ, State::COPY_SRC);
    }));
    let found =
        run(&device, GRAPHICS, 3, |list| transition(list, &rock, State::SHADER_READ, State::COPY_DST));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    assert!(
        found[0].detail.contains("says it was PIXEL_SHADER|NON_PIXEL_SHADER, but it is in state COPY_SRC")
    );
}

#[test]
fn buffers_on_vulkan_need_barriers_around_writes_only() {
    let device = manual(Profile::VULKAN_INTEL);
    let rock = rock(&device, false);
    assert_clean(&run(&device, GRAPHICS, 1, |list| list.fill_buffer(&rock, 0, 256, 1)));
    let found = run(&device, GRAPHICS, 2, |list| list.use_buffer(&rock, 0, 4, State::COPY_SRC));
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    // The barrier made the write visible to the reads that it names and to no others.
    let found = run(&device, GRAPHICS, 3, |list| {
        transition(list, &rock, State::COPY_SRC, State::PIXEL_SHADER);
        list.use_buffer(&rock, 0, 4, State::PIXEL_SHADER);
        list.use_buffer(&rock, 0, 4, State::NON_PIXEL_SHADER);
    });
    assert_one(&found, HazardKind::WrongState, &["rock"]);
    // Copies to the same bytes are not ordered.
    let found = run(&device, GRAPHICS, 4, |list| {
        transition(list, &rock, State::NON_PIXEL_SHADER, State::COPY_DST);
        list.fill_buffer(&rock, 0, 128, 1);
        list.fill_buffer(&rock, 128, 128, 1);
        transition(list, &rock, State::COPY_DST, State::COPY_DST);
        list.fill_buffer(&rock, 0, 128, 2);
        list.fill_buffer(&rock, 127, 1, 2);
    });
    assert_one(&found, HazardKind::MissingBarrier, &["rock"]);
}

#[test]
fn reads_without_a_write_add_up_on_vulkan() {
    let device = manual(Profile::VULKAN_INTEL);
    let up = upload(&device, "up", 64);
    device.map(&up).unwrap().write(0, &[1; 64]).unwrap();
    let usage = Usage::COPY_SRC | Usage::VERTEX | Usage::INDEX;
    let mesh = device.create_committed(&buffer(64, usage), upload_type(&device, false)).unwrap();
    device.map(&mesh).unwrap().write(0, &[1; 64]).unwrap();
    assert_clean(&run(&device, GRAPHICS, 1, |list| {
        list.use_buffer(&mesh, 0, 4, State::VERTEX_OR_CONSTANT);
        list.use_buffer(&mesh, 0, 4, State::INDEX);
        list.use_buffer(&mesh, 0, 4, State::VERTEX_OR_CONSTANT);
    }));
}

#[test]
fn copy_queues_share_common_and_nothing_else() {
    for back in [false, true] {
        let device = manual(Profile::DISCRETE);
        let rock = rock(&device, true);
        assert_clean(&run(&device, GRAPHICS, 1, |list| {
            transition(list, &rock, State::COMMON, State::COPY_SRC);
            if back {
                transition(list, &rock, State::COPY_SRC, State::COMMON);
            }
        }));
        let found = run(&device, COPY, 1, |list| {
            list.use_texture(&rock, Subresource::All, State::COPY_SRC);
            list.use_texture(&rock, Subresource::All, State::COPY_SRC);
        });
        assert_one_if(!back, &found, HazardKind::WrongState, &["rock"]);
    }
}

fn handed_over(released: bool, acquired: bool) -> Vec<Hazard> {
    let device = manual(Profile::VULKAN_NVIDIA);
    let rock = rock(&device, true);
    let hand_over = Barrier::Transition {
        resource: &rock,
        subresource: Subresource::All,
        before: State::COPY_DST,
        after: State::COPY_SRC,
        transfer: Some(QueueTransfer { from: COPY, to: GRAPHICS }),
    };
    submit(&device, COPY, 1, &[], |list| {
        transition(list, &rock, State::COMMON, State::COPY_DST);
        list.use_texture(&rock, Subresource::All, State::COPY_DST);
        if released {
            list.barriers(&[hand_over]);
        }
    });
    submit(&device, GRAPHICS, 1, &[after(COPY, 1)], |list| {
        if acquired {
            list.barriers(&[hand_over]);
        }
        list.use_texture(&rock, Subresource::All, State::COPY_SRC);
    });
    hazards(&device)
}

#[test]
fn queue_families_hand_resources_over_in_two_halves() {
    assert_clean(&handed_over(true, true));
    assert_one(&handed_over(false, true), HazardKind::WrongState, &["rock"]);
    assert_one(&handed_over(true, false), HazardKind::WrongState, &["rock"]);
    assert_one(&handed_over(false, false), HazardKind::WrongState, &["rock"]);
}

#[test]
fn staging_memory_belongs_to_no_queue_family() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let up = upload(&device, "up", 256);
    device.map(&up).unwrap().write(0, &[1; 256]).unwrap();
    assert_clean(&run(&device, COPY, 1, |list| list.use_buffer(&up, 0, 4, State::COPY_SRC)));
    assert_clean(&run(&device, GRAPHICS, 1, |list| list.use_buffer(&up, 0, 4, State::COPY_SRC)));
}

/// Each queue orders its own uses, whatever other queues do with the buffer meanwhile.
#[test]
fn buffers_belong_to_all_queue_families() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let rock = rock(&device, false);
    submit(&device, COPY, 1, &[], |list| list.fill_buffer(&rock, 0, 256, 1));
    submit(&device, GRAPHICS, 1, &[after(COPY, 1)], |list| list.use_buffer(&rock, 0, 4, State::COPY_SRC));
    submit(&device, COPY, 2, &[after(GRAPHICS, 1)], |list| {
        transition(list, &rock, State::COPY_DST, State::COPY_DST);
        list.fill_buffer(&rock, 0, 256, 2);
    });
    // Its own reads no longer count: the copy queue has written since.
    submit(&device, GRAPHICS, 2, &[after(COPY, 2)], |list| list.fill_buffer(&rock, 0, 256, 3));
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 3, &[], |list| list.use_buffer(&rock, 0, 4, State::COPY_SRC));
    assert_one(&hazards(&device), HazardKind::WrongState, &["rock"]);
}

#[test]
fn buffers_are_not_handed_over() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let rock = rock(&device, false);
    let found = run(&device, COPY, 1, |list| {
        list.fill_buffer(&rock, 0, 256, 1);
        list.barriers(&[Barrier::Transition {
            resource: &rock,
            subresource: Subresource::All,
            before: State::COPY_DST,
            after: State::COPY_SRC,
            transfer: Some(QueueTransfer { from: COPY, to: GRAPHICS }),
        }]);
    });
    assert_one(&found, HazardKind::WrongState, &["rock"]);
}

#[test]
fn aliasing_barriers_reset_the_layout_only_on_vulkan() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::DISCRETE] {
        let device = manual(profile);
        let desc = texture(64, 64, Usage::RENDER_TARGET);
        let (heap, offset) = heap_for(&device, &desc);
        let bloom = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&bloom), "bloom");
        let found = run(&device, GRAPHICS, 1, |list| {
            transition(list, &bloom, State::COMMON, State::RENDER_TARGET);
            list.barriers(&[aliasing(None, &bloom)]);
            transition(list, &bloom, State::COMMON, State::RENDER_TARGET);
        });
        assert_one_if(profile == Profile::DISCRETE, &found, HazardKind::WrongState, &["bloom"]);
    }
}

#[test]
fn a_barrier_names_the_state_and_not_a_wider_one() {
    let device = manual(Profile::DISCRETE);
    let rock = rock(&device, true);
    let found = run(&device, GRAPHICS, 1, |list| {
        transition(list, &rock, State::COMMON, State::PIXEL_SHADER);
        transition(list, &rock, State::SHADER_READ, State::COPY_SRC);
    });
    assert_one(&found, HazardKind::WrongState, &["rock"]);
}

/// As on a driver that otherwise flushes too little.
#[test]
fn states_of_shader_reads_may_need_copy_source() {
    let used = |after: Option<State>| {
        let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual).copy_src_with_reads();
        let device = Device::with_config(options);
        assert!(device.properties().features.contains(Features::COPY_SRC_WITH_READS));
        let rock = rock(&device, true);
        run(&device, GRAPHICS, 1, |list| {
            transition(list, &rock, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(&rock, Subresource::All, &[1; 4]);
            let after = after.unwrap_or(State::COMMON);
            transition(list, &rock, State::RENDER_TARGET, after);
            list.use_texture(&rock, Subresource::All, State::PIXEL_SHADER);
        })
    };
    assert_clean(&used(Some(State::PIXEL_SHADER | State::COPY_SRC)));
    assert_one(&used(Some(State::PIXEL_SHADER)), HazardKind::WrongState, &["rock"]);
    assert_one(&used(None), HazardKind::WrongState, &["rock"]);
    let explicit = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).copy_src_with_reads());
    assert!(!explicit.properties().features.contains(Features::COPY_SRC_WITH_READS));
}

#[test]
fn undefined_contents_need_no_handing_over() {
    for activated in [false, true] {
        let device = manual(Profile::VULKAN_NVIDIA);
        let desc = texture(64, 64, Usage::UNORDERED_ACCESS);
        let (heap, offset) = heap_for(&device, &desc);
        let moss = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&moss), "moss");
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &moss, State::COMMON, State::UNORDERED_ACCESS)
        });
        submit(&device, COMPUTE, 1, &[after(GRAPHICS, 1)], |list| {
            if activated {
                list.barriers(&[aliasing(None, &moss)]);
            }
            transition(list, &moss, State::UNORDERED_ACCESS, State::UNORDERED_ACCESS);
        });
        let found = hazards(&device);
        if activated { assert_clean(&found) } else { assert_one(&found, HazardKind::WrongState, &["moss"]) }
    }
}
