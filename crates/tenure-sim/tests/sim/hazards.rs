//! Each kind of hazard is provoked, and reported once with names; the legal variant reports nothing.

use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{Checks, Device, DeviceConfig, HazardKind, Profile};

use crate::common::*;

#[test]
fn read_and_write_of_freed() {
    for keep in [false, true] {
        let device = manual(Profile::DISCRETE);
        let rock = committed(&device, "rock", &buffer(256, Usage::COPY_SRC));
        let sand = committed(&device, "sand", &buffer(256, Usage::COPY_DST));
        let lists =
            [(); 2].map(|()| record(&device, GRAPHICS, |list| list.copy_buffer(&rock, 0, &sand, 0, 256)));
        if !keep {
            device.destroy_resource(Permit::checked(), rock);
        }
        device.submit(Permit::checked(), GRAPHICS, &[&lists[0]], &[], 1).unwrap();
        let found = hazards(&device);
        if keep {
            assert_clean(&found)
        } else {
            assert_one(&found, HazardKind::ReadOfFreed, &["rock"])
        }
        if !keep {
            assert!(found[0].to_string().contains("copy_buffer"), "{}", found[0]);
            device.destroy_resource(Permit::checked(), sand);
            device.submit(Permit::checked(), GRAPHICS, &[&lists[1]], &[], 2).unwrap();
            let found = hazards(&device);
            assert!(found.iter().any(|hazard| hazard.kind == HazardKind::WriteOfFreed));
        }
    }
}

#[test]
fn a_destroyed_heap_frees_its_placed_resources() {
    let device = manual(Profile::DISCRETE);
    let desc = buffer(1024, Usage::COPY_DST);
    let (heap, offset) = heap_for(&device, &desc);
    device.set_name(Permit::checked(), ObjectRef::Heap(&heap), "vault");
    let rock = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&rock), "rock");
    device.destroy_heap(Permit::checked(), heap);
    assert_one(&device.take_hazards(), HazardKind::HeapDestroyedFirst, &["vault", "rock"]);
    submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 4, 1));
    assert_one(&hazards(&device), HazardKind::WriteOfFreed, &["rock"]);
}

#[test]
fn heaps_go_after_their_resources() {
    let device = manual(Profile::DISCRETE);
    let desc = buffer(1024, Usage::COPY_DST);
    let (heap, offset) = heap_for(&device, &desc);
    let rock = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    device.destroy_resource(Permit::checked(), rock);
    device.destroy_heap(Permit::checked(), heap);
    device.check_clean().unwrap();
}

#[test]
fn destroyed_in_use_until_the_cpu_has_seen_it_done() {
    for seen in [false, true] {
        let device = manual(Profile::DISCRETE);
        let rock = committed(&device, "rock", &buffer(256, Usage::COPY_DST));
        submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 256, 1));
        assert_eq!(device.complete_one(GRAPHICS), Some(1));
        if seen {
            assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
        }
        device.destroy_resource(Permit::checked(), rock);
        let found = device.take_hazards();
        if seen { assert_clean(&found) } else { assert_one(&found, HazardKind::DestroyedInUse, &["rock"]) }
    }
}

#[test]
fn a_barrier_is_a_use() {
    let (device, bloom, shadow, _heap) = aliased(Profile::DISCRETE);
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.barriers(&[aliasing(Some(&bloom), &shadow)]);
    });
    device.destroy_resource(Permit::checked(), bloom);
    assert_clean(&device.take_hazards());
    device.destroy_resource(Permit::checked(), shadow);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["shadow"]);
}

#[test]
fn an_observed_completion_covers_its_waits() {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &buffer(256, Usage::COPY_DST));
    submit(&device, COPY, 1, &[], |list| list.fill_buffer(&rock, 0, 256, 1));
    submit(&device, GRAPHICS, 1, &[after(COPY, 1)], |_| {});
    assert!(device.complete(COPY, 1) && device.complete(GRAPHICS, 1));
    assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
    device.destroy_resource(Permit::checked(), rock);
    assert_clean(&device.take_hazards());
}

#[test]
fn lists_in_use_are_neither_destroyed_nor_reset() {
    let device = manual(Profile::DISCRETE);
    let mut lists = ["opening", "closing"].map(|name| {
        let list = record(&device, GRAPHICS, |_| {});
        device.set_name(Permit::checked(), ObjectRef::List(&list), name);
        list
    });
    device.submit(Permit::checked(), GRAPHICS, &[&lists[0], &lists[1]], &[], 1).unwrap();
    lists[0].begin().unwrap();
    assert_one(&device.take_hazards(), HazardKind::ListInUse, &["opening"]);
    let [opening, closing] = lists;
    device.destroy_list(Permit::checked(), closing);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["closing"]);
    assert!(device.run_until_idle());
    device.destroy_list(Permit::checked(), opening);
    assert_clean(&device.take_hazards());
}

#[test]
fn uninitialized_reads_to_the_byte() {
    for (written, clean) in [(255, false), (256, true)] {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).zeroed(false));
        let rock =
            committed(&device, "rock", &buffer(512, Usage::COPY_SRC | Usage::COPY_DST | Usage::VERTEX));
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.fill_buffer(&rock, 128, written, 1);
            transition(list, &rock, State::COPY_DST, State::VERTEX_OR_CONSTANT);
            list.use_buffer(&rock, 128, 256, State::VERTEX_OR_CONSTANT);
        });
        let found = hazards(&device);
        if clean {
            assert_clean(&found);
        } else {
            assert_one(&found, HazardKind::UninitializedRead, &["rock"]);
            assert!(found[0].detail.contains("383..384"), "{}", found[0]);
        }
    }
}

#[test]
fn memory_is_zeroed_once_and_only_where_the_api_says_so() {
    let device = manual(Profile::DISCRETE);
    let desc = buffer(1024, Usage::VERTEX);
    let (heap, offset) = heap_for(&device, &desc);
    let first = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    submit(&device, GRAPHICS, 1, &[], |list| list.use_buffer(&first, 0, 1024, State::VERTEX_OR_CONSTANT));
    assert_clean(&hazards(&device));
    device.destroy_resource(Permit::checked(), first);
    let second = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&second), "second");
    submit(&device, GRAPHICS, 2, &[], |list| list.use_buffer(&second, 0, 1024, State::VERTEX_OR_CONSTANT));
    assert_one(&hazards(&device), HazardKind::UninitializedRead, &["second"]);

    // Targets have compression data, which zeroes do not make valid.
    let (device, bloom, ..) = aliased(Profile::DISCRETE);
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.use_texture(&bloom, Subresource::All, State::PIXEL_SHADER);
    });
    assert_one(&hazards(&device), HazardKind::UninitializedRead, &["bloom"]);

    let device = manual(Profile::VULKAN_NVIDIA);
    let rock = committed(&device, "rock", &desc);
    submit(&device, GRAPHICS, 1, &[], |list| list.use_buffer(&rock, 0, 1024, State::VERTEX_OR_CONSTANT));
    assert_one(&hazards(&device), HazardKind::UninitializedRead, &["rock"]);
}

#[test]
fn the_cpu_reads_only_written_bytes() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let pool = upload(&device, "pool", 64);
    let mapping = device.map(&pool).unwrap();
    let mut out = [0; 8];
    mapping.write(0, &[1; 7]).unwrap();
    mapping.read(0, &mut out[..7]).unwrap();
    assert_clean(&device.take_hazards());
    mapping.read(0, &mut out).unwrap();
    assert_one(&device.take_hazards(), HazardKind::UninitializedRead, &["pool"]);
}

fn aliased(profile: Profile) -> (Device, tenure_sim::Resource, tenure_sim::Resource, tenure_sim::Heap) {
    let device = manual(profile);
    let desc = texture(256, 256, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let (heap, offset) = heap_for(&device, &desc);
    let [bloom, shadow] = ["bloom", "shadow"].map(|name| {
        let texture = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&texture), name);
        texture
    });
    (device, bloom, shadow, heap)
}

#[test]
fn aliases_need_a_barrier_that_names_the_right_one() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for (barrier, kind) in [
            (0, Some(HazardKind::MissingAliasingBarrier)),
            (1, None),
            (2, None),
            (3, Some(HazardKind::MissingAliasingBarrier)),
        ] {
            let (device, bloom, shadow, _heap) = aliased(profile);
            let other = committed(&device, "other", &texture(8, 8, Usage::SHADER_READ));
            submit(&device, GRAPHICS, 1, &[], |list| {
                transition(list, &bloom, State::COMMON, State::RENDER_TARGET);
                list.clear_texture(&bloom, Subresource::All, &[1]);
                let before = [None, None, Some(&bloom), Some(&other)][barrier];
                if barrier > 0 {
                    list.barriers(&[aliasing(before, &shadow)]);
                }
                transition(list, &shadow, State::COMMON, State::RENDER_TARGET);
                list.clear_texture(&shadow, Subresource::All, &[2]);
            });
            let found = hazards(&device);
            match kind {
                Some(kind) => assert_one(&found, kind, &["bloom", "shadow"]),
                None => assert_clean(&found),
            }
        }
    }
}

#[test]
fn an_aliasing_barrier_leaves_the_contents_undefined() {
    for cleared in [false, true] {
        let (device, bloom, shadow, _heap) = aliased(Profile::DISCRETE);
        let target = State::RENDER_TARGET;
        submit(&device, GRAPHICS, 1, &[], |list| {
            for texture in [&bloom, &shadow, &bloom] {
                list.barriers(&[aliasing(None, texture)]);
                transition(list, texture, State::COMMON, target);
                if cleared {
                    list.clear_texture(texture, Subresource::All, &[1]);
                } else {
                    list.discard(texture, Subresource::All);
                    list.use_texture(texture, Subresource::All, State::RENDER_TARGET);
                }
                transition(list, texture, target, State::COMMON);
            }
            list.barriers(&[aliasing(Some(&bloom), &shadow)]);
            if cleared {
                transition(list, &shadow, State::COMMON, target);
                list.clear_texture(&shadow, Subresource::All, &[3]);
                transition(list, &shadow, target, State::COMMON);
            }
            list.use_texture(&shadow, Subresource::All, State::PIXEL_SHADER);
        });
        let found = hazards(&device);
        if cleared {
            assert_clean(&found)
        } else {
            assert_one(&found, HazardKind::UninitializedRead, &["shadow"])
        }
    }
}

#[test]
fn aliases_need_a_barrier_on_the_way_back_too() {
    for back in [false, true] {
        let (device, bloom, shadow, _heap) = aliased(Profile::DISCRETE);
        submit(&device, GRAPHICS, 1, &[], |list| {
            for texture in [&bloom, &shadow] {
                list.barriers(&[aliasing(None, texture)]);
                transition(list, texture, State::COMMON, State::RENDER_TARGET);
                list.clear_texture(texture, Subresource::All, &[1]);
            }
            if back {
                list.barriers(&[aliasing(Some(&shadow), &bloom)]);
            }
            list.clear_texture(&bloom, Subresource::All, &[1]);
        });
        assert_one_if(!back, &hazards(&device), HazardKind::MissingAliasingBarrier, &["bloom", "shadow"]);
    }
}

#[test]
fn a_dead_neighbour_needs_no_aliasing_barrier() {
    let (device, bloom, shadow, _heap) = aliased(Profile::DISCRETE);
    let clear = |texture: &tenure_sim::Resource, serial| {
        submit(&device, GRAPHICS, serial, &[], |list| {
            transition(list, texture, State::COMMON, State::RENDER_TARGET);
            list.clear_texture(texture, Subresource::All, &[1]);
        });
        assert_clean(&hazards(&device));
    };
    clear(&bloom, 1);
    device.destroy_resource(Permit::checked(), bloom);
    clear(&shadow, 2);
}

#[test]
fn unordered_accesses_need_a_barrier() {
    for (profile, wait) in
        [(Profile::DISCRETE, false), (Profile::VULKAN_NVIDIA, false), (Profile::VULKAN_NVIDIA, true)]
    {
        let desc = buffer(1024, Usage::UNORDERED_ACCESS);
        let device = manual(profile);
        let rock = committed(&device, "rock", &desc);
        let access = State::UNORDERED_ACCESS;
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.use_buffer(&rock, 0, 512, access);
            list.use_buffer(&rock, 512, 512, access);
            list.barriers(&[Barrier::Unordered { resource: &rock }]);
            list.use_buffer(&rock, 256, 512, access);
        });
        if wait {
            assert_clean(&hazards(&device));
        }
        submit(&device, GRAPHICS, 2, &[], |list| list.use_buffer(&rock, 0, 1024, access));
        assert_one_if(
            !(profile == Profile::DISCRETE || wait),
            &hazards(&device),
            HazardKind::MissingBarrier,
            &["rock"],
        );
        submit(&device, GRAPHICS, 3, &[], |list| {
            list.use_buffer(&rock, 0, 512, access);
            list.use_buffer(&rock, 511, 1, access);
        });
        assert_one(&hazards(&device), HazardKind::MissingBarrier, &["rock"]);
    }
}

#[test]
fn the_cpu_does_not_write_bytes_in_use() {
    let device = manual(Profile::DISCRETE);
    let up = upload(&device, "up", 256);
    let mapping = device.map(&up).unwrap();
    mapping.write(0, &[1; 256]).unwrap();
    let rock = committed(&device, "rock", &buffer(256, Usage::COPY_DST));
    submit(&device, GRAPHICS, 1, &[], |list| list.copy_buffer(&up, 0, &rock, 0, 128));

    mapping.write(128, &[2; 128]).unwrap();
    let mut out = [0; 128];
    mapping.read(0, &mut out).unwrap();
    assert_clean(&device.take_hazards());
    mapping.write(127, &[3; 2]).unwrap();
    assert_one(&device.take_hazards(), HazardKind::MappingHazard, &["up"]);

    assert_eq!(device.complete_one(GRAPHICS), Some(1));
    mapping.write(0, &[4]).unwrap();
    assert_one(&device.take_hazards(), HazardKind::MappingHazard, &["up"]);
    finish(&device, GRAPHICS, 1);
    mapping.write(0, &[4]).unwrap();
    assert_clean(&device.take_hazards());
}

#[test]
fn the_cpu_does_not_read_bytes_that_the_gpu_is_writing() {
    let device = manual(Profile::DISCRETE);
    let back = device.create_committed(&buffer(256, Usage::COPY_DST), upload_type(&device, true)).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&back), "back");
    let rock = committed(&device, "rock", &buffer(256, Usage::COPY_SRC));
    submit(&device, GRAPHICS, 1, &[], |list| list.copy_buffer(&rock, 0, &back, 0, 256));
    let mapping = device.map(&back).unwrap();
    mapping.read(0, &mut [0; 4]).unwrap();
    assert_one(&device.take_hazards(), HazardKind::MappingHazard, &["back"]);
    assert!(device.run_until_idle());
    mapping.read(0, &mut [0; 4]).unwrap();
    assert_clean(&device.take_hazards());
}

#[test]
fn mappings_die_with_their_resources() {
    let device = manual(Profile::DISCRETE);
    let up = upload(&device, "up", 256);
    let mapping = device.map(&up).unwrap();
    device.destroy_resource(Permit::checked(), up);
    assert!(mapping.write(0, &[1]).is_err());
    assert_one(&device.take_hazards(), HazardKind::WriteOfFreed, &["up"]);
    assert!(mapping.read(0, &mut [1]).is_err());
    assert_one(&device.take_hazards(), HazardKind::ReadOfFreed, &["up"]);
}

#[test]
fn queues_race_unless_something_orders_them() {
    // The second queue waits, or the CPU waits between the two, or they touch other bytes, or none of these.
    for how in ["wait", "cpu", "apart", "race"] {
        let device = manual(Profile::DISCRETE);
        let rock = committed(&device, "rock", &buffer(256, Usage::COPY_DST));
        submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 128, 1));
        if how == "cpu" {
            assert!(device.complete(GRAPHICS, 1));
            assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
        }
        let waits = [after(GRAPHICS, 1)];
        let start = if how == "apart" { 128 } else { 127 };
        submit(&device, COPY, 1, if how == "wait" { &waits } else { &[] }, |list| {
            list.fill_buffer(&rock, start, 8, 2);
        });
        assert_one_if(how == "race", &hazards(&device), HazardKind::QueueRace, &["rock"]);
    }
}

#[test]
fn order_passes_through_a_third_queue() {
    for whole in [true, false] {
        let device = manual(Profile::DISCRETE);
        let rock = committed(&device, "rock", &buffer(256, Usage::COPY_DST));
        submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 128, 1));
        submit(
            &device,
            COMPUTE,
            1,
            if whole { &[QueueSerial { queue: GRAPHICS, serial: 1 }] } else { &[] },
            |_| {},
        );
        submit(&device, COPY, 1, &[after(COMPUTE, 1)], |list| list.fill_buffer(&rock, 0, 128, 2));
        let found = hazards(&device);
        if whole { assert_clean(&found) } else { assert_one(&found, HazardKind::QueueRace, &["rock"]) }
    }
}

#[test]
fn a_transition_writes_a_texture() {
    for waits in [&[][..], &[QueueSerial { queue: GRAPHICS, serial: 1 }]] {
        let device = manual(Profile::DISCRETE);
        let moss = committed(&device, "moss", &texture(8, 8, Usage::COPY_SRC | Usage::SHADER_READ));
        submit(&device, GRAPHICS, 1, &[], |list| list.use_texture(&moss, Subresource::All, State::COPY_SRC));
        submit(&device, COMPUTE, 1, waits, |list| {
            transition(list, &moss, State::COMMON, State::NON_PIXEL_SHADER);
        });
        let found = hazards(&device);
        if waits.is_empty() {
            assert_one(&found, HazardKind::QueueRace, &["moss"])
        } else {
            assert_clean(&found)
        }
    }
}

#[test]
fn an_aliasing_barrier_orders_unordered_accesses() {
    let device = manual(Profile::DISCRETE);
    let desc = buffer(1024, Usage::UNORDERED_ACCESS);
    let (heap, offset) = heap_for(&device, &desc);
    let rock = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.use_buffer(&rock, 0, 64, State::UNORDERED_ACCESS);
        list.barriers(&[aliasing(None, &rock)]);
        list.use_buffer(&rock, 0, 64, State::UNORDERED_ACCESS);
    });
    assert_clean(&hazards(&device));
}

#[test]
fn queues_race_on_aliased_bytes_too_and_not_on_reads() {
    let device = manual(Profile::DISCRETE);
    let desc = buffer(1024, Usage::COPY_DST | Usage::COPY_SRC);
    let (heap, offset) = heap_for(&device, &desc);
    let [one, two] = ["one", "two"].map(|name| {
        let buffer = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&buffer), name);
        buffer
    });
    for (serial, queue) in [(1, GRAPHICS), (1, COPY)] {
        submit(&device, queue, serial, &[], |list| list.use_buffer(&one, 0, 64, State::COPY_SRC));
    }
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 2, &[], |list| list.fill_buffer(&one, 0, 64, 1));
    submit(&device, COPY, 2, &[], |list| {
        list.barriers(&[aliasing(Some(&one), &two)]);
        list.fill_buffer(&two, 0, 64, 1);
    });
    assert_one(&hazards(&device), HazardKind::QueueRace, &["two"]);
}

#[test]
fn uses_must_be_declared() {
    for (usage, clean) in [(Usage::VERTEX, true), (Usage::INDEX, false)] {
        let device = manual(Profile::DISCRETE);
        let rock = committed(&device, "rock", &buffer(256, usage));
        submit(&device, GRAPHICS, 1, &[], |list| list.use_buffer(&rock, 0, 4, State::VERTEX_OR_CONSTANT));
        let found = hazards(&device);
        if clean { assert_clean(&found) } else { assert_one(&found, HazardKind::InvalidUse, &["rock"]) }
    }
}

#[test]
fn expected_bytes_are_checked_on_the_gpu() {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &texture(2, 2, Usage::RENDER_TARGET));
    submit(&device, GRAPHICS, 1, &[], |list| {
        transition(list, &rock, State::COMMON, State::RENDER_TARGET);
        list.clear_texture(&rock, Subresource::All, &[1, 2, 3, 4]);
        list.expect_bytes(&rock, 4, &[1, 2, 3, 4]);
        list.expect_bytes(&rock, 4, &[1, 2, 9, 4]);
    });
    let found = hazards(&device);
    assert_one(&found, HazardKind::WrongBytes, &["rock"]);
    assert!(found[0].detail.contains("byte 6 is 0x03 where 0x09"), "{}", found[0]);
}

#[test]
fn leaks_have_names() {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &buffer(256, Usage::VERTEX));
    let kept = committed(&device, "kept", &buffer(256, Usage::VERTEX));
    drop(rock);
    device.destroy_resource(Permit::checked(), kept);
    let leaks = device.leaks();
    assert_eq!(leaks.len(), 1);
    assert_eq!(leaks[0].name.as_deref(), Some("rock"));
    assert!(device.check_clean().unwrap_err().to_string().contains("leaked: buffer 'rock'"));
}

#[test]
fn each_check_can_be_switched_off() {
    let provoke = |checks: Checks| {
        let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).checks(checks));
        let rock = committed(&device, "rock", &buffer(256, Usage::VERTEX | Usage::UNORDERED_ACCESS));
        let up = upload(&device, "up", 64);
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.use_buffer(&rock, 0, 4, State::VERTEX_OR_CONSTANT);
            list.use_buffer(&rock, 0, 4, State::INDEX);
            list.use_buffer(&rock, 0, 4, State::UNORDERED_ACCESS);
            list.use_buffer(&up, 0, 4, State::COPY_SRC);
        });
        submit(&device, COMPUTE, 1, &[], |list| list.use_buffer(&rock, 0, 4, State::UNORDERED_ACCESS));
        assert!(device.complete(GRAPHICS, 1) && device.complete(COMPUTE, 1));
        device.map(&up).unwrap().write(0, &[1]).unwrap();
        device.destroy_resource(Permit::checked(), rock);
        device.take_hazards().into_iter().map(|hazard| hazard.kind).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(provoke(Checks::empty()).is_empty());
    let all = provoke(Checks::all());
    let mut seen = std::collections::BTreeSet::new();
    for check in Checks::all().iter() {
        let found = provoke(check);
        assert!(found.is_subset(&all), "{check:?}: {found:?} of {all:?}");
        seen.extend(found);
    }
    assert_eq!(seen, all);
    assert!(all.len() >= 5, "{all:?}");
}

/// Flushes cover whole atoms, and overwrite GPU writes to the rest of an atom, in the same resource or another.
#[test]
fn flushes_beside_gpu_writes_are_hazards() {
    let device = manual(Profile::VULKAN_MOBILE);
    let memory = upload_type(&device, true);
    assert!(
        !device.properties().memory_types[usize::from(memory.0)].flags.contains(MemoryFlags::HOST_COHERENT)
    );
    let (size, priority) = (1 << 20, Priority::Normal);
    let desc = HeapDesc { size, alignment: 1 << 12, memory, category: HeapCategory::Buffers, priority };
    let heap = device.create_heap(&desc).unwrap();
    let info = buffer(96, Usage::COPY_DST);
    let needs = device.requirements(&info).unwrap();
    let back = device.create_placed(Permit::checked(), &info, &heap, 0).unwrap();
    let next = device.create_placed(Permit::checked(), &info, &heap, needs.alignment).unwrap();
    let [mapping, neighbour] = [&back, &next].map(|resource| device.map(resource).unwrap());
    let rock = committed(&device, "rock", &buffer(256, Usage::COPY_SRC | Usage::COPY_DST));
    mapping.write(0, &[0; 96]).unwrap();
    assert_clean(&device.take_hazards());

    submit(&device, GRAPHICS, 1, &[], |list| list.copy_buffer(&rock, 0, &back, 8, 8));
    mapping.write(0, &[1; 8]).unwrap();
    assert_one(&device.take_hazards(), HazardKind::MappingHazard, &[]);
    mapping.write(16, &[1; 80]).unwrap();
    assert_one(&device.take_hazards(), HazardKind::MappingHazard, &[]);
    mapping.write(64, &[1; 32]).unwrap();
    neighbour.write(0, &[1; 96]).unwrap();
    mapping.read(0, &mut [0; 8]).unwrap();
    assert_clean(&device.take_hazards());
    assert!(device.run_until_idle());
    let _nobody_wrote_the_rock = device.take_hazards();
    finish(&device, GRAPHICS, 1);
    mapping.write(0, &[1; 8]).unwrap();
    assert_clean(&device.take_hazards());
}
