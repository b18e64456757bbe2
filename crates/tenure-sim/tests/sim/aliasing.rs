//! Aliased bytes: their owners, and the aliasing barriers between them.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, HazardKind, Heap, Profile, Resource};

use crate::common::*;

const MISSING: HazardKind = HazardKind::MissingAliasingBarrier;
const VULKAN: Profile = Profile::VULKAN_NVIDIA;
const BOTH: [Profile; 2] = [Profile::DISCRETE, VULKAN];
const TARGET: State = State::RENDER_TARGET;
const STORAGE: State = State::UNORDERED_ACCESS;

/// Two resources in the same bytes of a heap.
fn pair(profile: Profile, desc: &ResourceDesc) -> (Device, [Resource; 2], Heap) {
    let device = manual(profile);
    let (heap, offset) = heap_for(&device, desc);
    let both = ["bloom", "shadow"].map(|name| {
        let resource = device.create_placed(Permit::checked(), desc, &heap, offset).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&resource), name);
        resource
    });
    (device, both, heap)
}

fn targets() -> ResourceDesc {
    texture(64, 64, Usage::RENDER_TARGET | Usage::SHADER_READ | Usage::UNORDERED_ACCESS)
}

fn buffers() -> ResourceDesc {
    buffer(1024, Usage::UNORDERED_ACCESS | Usage::COPY_DST | Usage::INDEX | Usage::VERTEX)
}

fn between<'a>(after: &'a Resource, from: State, to: State) -> Barrier<'a, Device> {
    Barrier::Aliasing { before: None, after, from, to }
}

#[test]
fn an_aliasing_barrier_comes_after_earlier_uses_of_the_bytes() {
    for (profile, from, is_right) in [
        (VULKAN, TARGET, true),
        (VULKAN, State::all(), true),
        (VULKAN, TARGET | State::COPY_DST, true),
        (VULKAN, State::COMMON, false),
        (VULKAN, State::PIXEL_SHADER, false),
        // Direct3D 12's barriers name no states.
        (Profile::DISCRETE, State::COMMON, true),
    ] {
        let (device, [bloom, shadow], _heap) = pair(profile, &targets());
        submit(&device, GRAPHICS, 1, &[], |list| {
            become_target(list, &bloom);
            list.use_texture(&bloom, Subresource::All, TARGET);
            list.barriers(&[between(&shadow, from, TARGET)]);
            become_target(list, &shadow);
            list.use_texture(&shadow, Subresource::All, TARGET);
        });
        let found = hazards(&device);
        match is_right {
            true => assert_clean(&found),
            false => {
                assert_one(&found, MISSING, &["bloom", "shadow"]);
                assert!(found[0].detail.contains("RENDER_TARGET"), "{}", found[0]);
            }
        }
    }
}

/// A barrier continues from the one before it.
#[test]
fn an_unused_barrier_must_be_followed_by_the_next_one() {
    for (from, is_right) in [(State::PIXEL_SHADER, true), (TARGET, false)] {
        let (device, [bloom, shadow], _heap) = pair(VULKAN, &targets());
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &bloom, State::COMMON, TARGET);
            list.use_texture(&bloom, Subresource::All, TARGET);
            transition(list, &bloom, TARGET, State::PIXEL_SHADER);
            list.barriers(&[between(&shadow, from, TARGET)]);
            transition(list, &shadow, State::COMMON, TARGET);
        });
        let found = hazards(&device);
        if is_right { assert_clean(&found) } else { assert_one(&found, MISSING, &["bloom", "shadow"]) }
    }
}

#[test]
fn uses_of_another_queue_are_waited_for() {
    let (device, [bloom, shadow], _heap) = pair(VULKAN, &targets());
    submit(&device, COMPUTE, 1, &[], |list| {
        transition(list, &bloom, State::COMMON, STORAGE);
        list.use_texture(&bloom, Subresource::All, STORAGE);
    });
    submit(&device, GRAPHICS, 1, &[after(COMPUTE, 1)], |list| {
        list.barriers(&[between(&shadow, State::COMMON, TARGET)]);
        transition(list, &shadow, State::COMMON, TARGET);
    });
    assert_clean(&hazards(&device));
}

#[test]
fn the_first_use_matches_the_state_of_the_aliasing_barrier() {
    for (profile, to, is_right) in [
        (VULKAN, STORAGE, true),
        (VULKAN, STORAGE | TARGET, true),
        (VULKAN, State::COMMON, true),
        (VULKAN, TARGET, false),
        (Profile::DISCRETE, TARGET, true),
    ] {
        let (device, [bloom, shadow], _heap) = pair(profile, &targets());
        submit(&device, GRAPHICS, 1, &[], |list| {
            become_target(list, &bloom);
            list.use_texture(&bloom, Subresource::All, TARGET);
            list.barriers(&[between(&shadow, TARGET, to)]);
            if profile == Profile::DISCRETE {
                become_target(list, &shadow);
                transition(list, &shadow, TARGET, STORAGE);
            } else {
                transition(list, &shadow, State::COMMON, STORAGE);
            }
            list.use_texture(&shadow, Subresource::All, STORAGE);
        });
        let found = hazards(&device);
        match is_right {
            true => assert_clean(&found),
            false => {
                assert_one(&found, MISSING, &["shadow"]);
                assert!(found[0].detail.contains("UNORDERED_ACCESS"), "{}", found[0]);
            }
        }
    }
}

#[test]
fn buffers_are_held_to_both_scopes_too() {
    let (copied, read) = (State::COPY_DST, State::INDEX);
    for (from, to, then, kind) in [
        (STORAGE, copied, copied, None),
        (STORAGE, State::COMMON, copied, None),
        (copied, copied, copied, Some(MISSING)),
        (STORAGE, State::VERTEX_OR_CONSTANT, copied, Some(MISSING)),
        (STORAGE, read | State::VERTEX_OR_CONSTANT, State::VERTEX_OR_CONSTANT, None),
        (STORAGE, read, State::VERTEX_OR_CONSTANT, Some(MISSING)),
    ] {
        let (device, [hits, rays], _heap) = pair(VULKAN, &buffers());
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.use_buffer(&hits, 0, 64, STORAGE);
            list.barriers(&[between(&rays, from, to)]);
            list.use_buffer(&rays, 0, 64, then);
        });
        let found: Vec<_> = hazards(&device);
        let found: Vec<_> =
            found.into_iter().filter(|hazard| hazard.kind != HazardKind::UninitializedRead).collect();
        assert_eq!(
            found.iter().map(|hazard| hazard.kind).collect::<Vec<_>>(),
            Vec::from_iter(kind),
            "{found:?}"
        );
    }
}

/// A layout change may write to all of the bytes.
#[test]
fn transitions_require_ownership_of_the_bytes() {
    for profile in BOTH {
        let (device, [bloom, shadow], _heap) = pair(profile, &targets());
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &bloom, State::COMMON, TARGET);
            transition(list, &shadow, State::COMMON, TARGET);
        });
        assert_one(&hazards(&device), MISSING, &["bloom", "shadow"]);
    }
}

#[test]
fn a_lost_barrier_is_missed() {
    for profile in BOTH {
        for lost in [1, 2, 3, 4] {
            let (device, [bloom, shadow], _heap) = pair(profile, &targets());
            device.faults().lose_aliasing_barrier(lost);
            submit(&device, GRAPHICS, 1, &[], |list| {
                list.use_texture(&shadow, Subresource::All, State::COMMON);
                for texture in [&bloom, &shadow, &bloom] {
                    list.barriers(&[aliasing(None, texture)]);
                    let from = State::COMMON;
                    transition(list, texture, from, TARGET);
                    list.use_texture(texture, Subresource::All, TARGET);
                    if profile == Profile::DISCRETE {
                        transition(list, texture, TARGET, from);
                    }
                }
            });
            let found = hazards(&device);
            let missing = found.iter().filter(|hazard| hazard.kind == MISSING).count();
            assert_eq!(missing, usize::from(lost < 4), "{lost}: {found:?}");
            assert_eq!(device.faults().aliasing_barriers(), 3);
        }
    }
}

#[test]
fn one_barrier_is_lost_and_counted_from_now() {
    let (device, [bloom, shadow], _heap) = pair(VULKAN, &targets());
    let swap = |serial| {
        submit(&device, GRAPHICS, serial, &[], |list| {
            for texture in [&bloom, &shadow] {
                list.barriers(&[aliasing(None, texture)]);
                transition(list, texture, State::COMMON, TARGET);
            }
        });
        hazards(&device).iter().filter(|hazard| hazard.kind == MISSING).count()
    };
    assert_eq!(swap(1), 0);
    device.faults().lose_aliasing_barrier(0);
    assert_eq!((swap(2), swap(3)), (1, 0));
    device.faults().lose_aliasing_barrier(3);
    device.faults().clear();
    assert_eq!((swap(4), swap(5)), (0, 0));
    device.faults().lose_aliasing_barrier(u64::MAX);
    assert_eq!(swap(6), 0);
}

#[test]
fn discarded_contents_are_undefined() {
    for profile in BOTH {
        for discarded in [None, Some(Subresource::One(1)), Some(Subresource::All)] {
            let device = manual(profile);
            let info = texture_info(64, 64, Usage::RENDER_TARGET | Usage::SHADER_READ).mips(2);
            let bloom = committed(&device, "bloom", &ResourceDesc::Texture(info));
            submit(&device, GRAPHICS, 1, &[], |list| {
                transition(list, &bloom, State::COMMON, TARGET);
                list.clear_texture(&bloom, Subresource::All, &[1]);
                if let Some(which) = discarded {
                    list.discard(&bloom, which);
                }
                transition(list, &bloom, TARGET, State::PIXEL_SHADER);
                list.use_texture(&bloom, Subresource::One(0), State::PIXEL_SHADER);
            });
            let found = hazards(&device);
            match discarded {
                Some(Subresource::All) => assert_one(&found, HazardKind::UninitializedRead, &["bloom"]),
                _ => assert_clean(&found),
            }
        }
    }
}

#[test]
fn targets_are_discarded_as_targets() {
    let device = manual(Profile::DISCRETE);
    let bloom = committed(&device, "bloom", &targets());
    submit(&device, GRAPHICS, 1, &[], |list| list.discard(&bloom, Subresource::All));
    assert_one(&hazards(&device), HazardKind::WrongState, &["bloom"]);
    let refused = |queue, resource: &Resource, subresource| {
        let mut list = device.create_list(Permit::checked(), queue).unwrap();
        list.begin().unwrap();
        list.discard(resource, subresource);
        let closed = list.close().map_err(|error| error.to_string());
        device.destroy_list(Permit::checked(), list);
        closed
    };
    let rock = committed(&device, "rock", &buffers());
    let plain = committed(&device, "plain", &texture(8, 8, Usage::SHADER_READ));
    for (queue, resource, subresource, rule) in [
        (GRAPHICS, &rock, Subresource::All, "is a texture"),
        (GRAPHICS, &plain, Subresource::All, "for the queue to discard the texture"),
        (COPY, &bloom, Subresource::All, "for the queue to discard the texture"),
        (GRAPHICS, &bloom, Subresource::One(1), "subresource exists"),
    ] {
        let closed = refused(queue, resource, subresource).unwrap_err();
        assert!(closed.contains(rule), "{closed}");
    }
    refused(COMPUTE, &bloom, Subresource::All).unwrap();
}

/// The DXR specification, "Acceleration structure memory restrictions".
#[test]
fn buffers_of_acceleration_structures_lie_apart_from_others() {
    for (profile, is_refused) in [(Profile::DISCRETE, true), (Profile::D3D12_ENHANCED, true), (VULKAN, false)]
    {
        for usages in [
            [Usage::ACCELERATION_STRUCTURE, Usage::UNORDERED_ACCESS],
            [Usage::UNORDERED_ACCESS, Usage::ACCELERATION_STRUCTURE],
        ] {
            let device = manual(profile);
            let [first, second] = usages.map(|usage| buffer(1024, usage));
            let (heap, offset) = heap_for(&device, &buffer(1024, usages[0] | usages[1]));
            let make = |desc, offset| device.create_placed(Permit::checked(), desc, &heap, offset);
            let one = make(&first, offset).unwrap();
            assert_eq!(make(&second, offset).is_err(), is_refused, "{}", profile.name());
            device.destroy_resource(Permit::checked(), one);
            assert!(make(&second, offset).is_ok(), "{}: the other is gone", profile.name());
        }
    }
}
