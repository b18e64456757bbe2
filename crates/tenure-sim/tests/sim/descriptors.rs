//! Heaps of descriptors: hazards of their use that no driver reports.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{DescriptorAt, Device, DeviceConfig, HazardKind, Lag, Profile, Resource};

use crate::common::*;
use crate::views::*;

const READ: State = State::NON_PIXEL_SHADER;

#[test]
fn descriptors_of_the_dead() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = painted(&device, 1, "rock", readable(4, 4));
        heaps.put(&device, 1, &sampled(&rock));
        let look = |serial, index| {
            submit(&device, GRAPHICS, serial, &[], |list| heaps.look(list, index, READ));
            hazards(&device)
        };
        assert_clean(&look(2, 1));
        let found = look(3, 2);
        assert_one(&found, HazardKind::DeadDescriptor, &["shown"]);
        assert!(found[0].detail.contains("index 2 was never written"), "{}", found[0]);
        device.destroy_resource(Permit::checked(), rock);
        assert_one(&look(4, 1), HazardKind::DeadDescriptor, &["shown", "rock"]);
    }
}

#[test]
fn freed_descriptors_name_their_previous_owner() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    heaps.put(&device, 1, &sampled(&rock));
    heaps.put(&device, 2, &sampled(&rock));
    device.clear_descriptors(Permit::checked(), &heaps.shown, 1, 1, Some("rock's table"));
    for (serial, index, names) in [(2, 1, &["shown", "rock's table"][..]), (3, 3, &["shown"])] {
        submit(&device, GRAPHICS, serial, &[], |list| heaps.look(list, index, READ));
        assert_one(&hazards(&device), HazardKind::DeadDescriptor, names);
    }
    submit(&device, GRAPHICS, 4, &[], |list| heaps.look(list, 2, READ));
    assert_clean(&hazards(&device));
    // Cleared without a name, a descriptor counts as never written; written again, as new.
    device.clear_descriptors(Permit::checked(), &heaps.shown, 1, 2, None);
    heaps.copy(&device, 2);
    submit(&device, GRAPHICS, 5, &[], |list| heaps.look(list, 2, READ));
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 6, &[], |list| heaps.look(list, 1, READ));
    assert!(hazards(&device)[0].detail.contains("never written"));
}

#[test]
fn only_the_bytes_in_view_are_used() {
    for profile in BOTH {
        let options = DeviceConfig::new(profile).lag(Lag::Manual).zeroed(false);
        let device = Device::with_config(options);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = committed(&device, "rock", &buffer(1 << 20, Usage::SHADER_READ | Usage::COPY_DST));
        let raw = BufferAccess::Read(Elements::Raw);
        heaps.put(&device, 0, &bytes(&rock, 256, 256, raw));
        heaps.put(&device, 1, &bytes(&rock, 256, 512, raw));
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &rock, State::COMMON, State::COPY_DST);
            list.fill_buffer(&rock, 256, 256, 7);
            transition(list, &rock, State::COPY_DST, READ);
            heaps.look(list, 0, READ);
        });
        assert_clean(&hazards(&device));
        submit(&device, GRAPHICS, 2, &[], |list| heaps.look(list, 1, READ));
        let found = hazards(&device);
        assert_one(&found, HazardKind::UninitializedRead, &["rock"]);
        assert!(found[0].detail.contains("bytes 512..768"), "{}", found[0]);
    }
}

#[test]
fn only_the_subresources_in_view_are_used() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let info = readable(8, 8).mips(3).depth_or_layers(4);
        let rock = painted(&device, 1, "rock", info);
        let some = TextureView {
            shape: ViewShape::D2Array,
            first_mip: 1,
            mips: 2,
            first_layer: 1,
            layers: 2,
            ..first(TextureAccess::Sampled)
        };
        heaps.put(&device, 0, &Descriptor::Texture { resource: &rock, view: some });
        let all = TextureView { first_mip: 0, mips: 3, first_layer: 0, layers: 4, ..some };
        heaps.put(&device, 1, &Descriptor::Texture { resource: &rock, view: all });
        submit(&device, GRAPHICS, 2, &[], |list| {
            // Mip 0 of layer 1, mip 2 of layer 0 and mip 1 of layer 3: next to the subresources of the view.
            for subresource in [3, 2, 10] {
                list.barriers(&[Barrier::Transition {
                    resource: &rock,
                    subresource: Subresource::One(subresource),
                    before: State::SHADER_READ,
                    after: State::COPY_DST,
                    transfer: None,
                }]);
            }
            heaps.look(list, 0, READ);
        });
        assert_clean(&hazards(&device));
        submit(&device, GRAPHICS, 3, &[], |list| heaps.look(list, 1, READ));
        assert_one(&hazards(&device), HazardKind::WrongState, &["rock"]);
    }
}

#[test]
fn queues_race_through_descriptors() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = committed(&device, "rock", &buffer(1024, Usage::UNORDERED_ACCESS));
        let raw = BufferAccess::ReadWrite(Elements::Raw);
        for (index, offset) in [(0, 0), (1, 256), (2, 128)] {
            heaps.put(&device, index, &bytes(&rock, offset, 256, raw));
        }
        let pair = |serial, one, two| {
            for (queue, index) in [(GRAPHICS, one), (COMPUTE, two)] {
                submit(&device, queue, serial, &[], |list| {
                    heaps.look(list, index, State::UNORDERED_ACCESS);
                });
            }
            hazards(&device)
        };
        assert_clean(&pair(1, 0, 1));
        assert_one(&pair(2, 0, 2), HazardKind::QueueRace, &["rock"]);
    }
}

#[test]
fn descriptors_in_flight_are_left_alone() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = painted(&device, 1, "rock", readable(4, 4));
        (0..4).for_each(|index| heaps.put(&device, index, &sampled(&rock)));
        submit(&device, GRAPHICS, 2, &[], |list| heaps.look(list, 1, READ));
        // Its neighbours are not affected.
        heaps.copy(&device, 0);
        device.clear_descriptors(Permit::checked(), &heaps.shown, 2, 2, Some("gone"));
        assert_clean(&device.take_hazards());
        heaps.copy(&device, 1);
        let found = device.take_hazards();
        assert_one(&found, HazardKind::DescriptorInUse, &["shown"]);
        assert_eq!(
            found[0].to_string(),
            format!(
                "descriptor changed in use: {}: submission 2 on queue 0 reads index 1, and the CPU has seen \
                 1 complete there, in fill_descriptors",
                found[0].objects[0]
            ),
        );
        device.clear_descriptors(Permit::checked(), &heaps.shown, 0, 8, None);
        assert_one(&device.take_hazards(), HazardKind::DescriptorInUse, &["shown"]);
        // It is complete, but the CPU has not observed that.
        assert!(device.complete(GRAPHICS, 2));
        assert_one(&device.take_hazards(), HazardKind::DeadDescriptor, &["shown"]);
        heaps.copy(&device, 1);
        assert_one(&device.take_hazards(), HazardKind::DescriptorInUse, &["shown"]);
        finish(&device, GRAPHICS, 2);
        heaps.copy(&device, 1);
        assert_clean(&device.take_hazards());
        submit(&device, GRAPHICS, 3, &[], |list| heaps.look(list, 1, READ));
        let Heaps { shown, .. } = heaps;
        device.destroy_descriptor_heap(Permit::checked(), shown);
        assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["shown"]);
        assert_one(&hazards(&device), HazardKind::ReadOfFreed, &["shown"]);
    }
}

#[test]
fn heaps_are_set_on_each_list() {
    for profile in [Profile::D3D12_TIER2, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        let device = manual(profile);
        let (heaps, other) =
            (Heaps::new(&device, DescriptorKind::Resource), Heaps::new(&device, DescriptorKind::Resource));
        let samplers = heap(&device, "samplers", DescriptorKind::Sampler, true);
        let rock = painted(&device, 1, "rock", readable(4, 4));
        heaps.put(&device, 0, &sampled(&rock));
        let none = record(&device, GRAPHICS, |list| list.use_descriptor(heaps.at(0), READ));
        let wrong = record(&device, GRAPHICS, |list| {
            list.set_descriptor_heaps(Some(&heaps.shown), None);
            list.set_descriptor_heaps(Some(&other.shown), None);
            list.use_descriptor(heaps.at(0), READ);
        });
        let unset = record(&device, GRAPHICS, |list| {
            list.set_descriptor_heaps(Some(&heaps.shown), None);
            list.set_descriptor_heaps(None, Some(&samplers));
            list.use_descriptor(heaps.at(0), READ);
        });
        let right = || {
            record(&device, GRAPHICS, |list| {
                list.set_descriptor_heaps(Some(&heaps.shown), Some(&samplers));
                list.use_descriptor(heaps.at(0), READ);
            })
        };
        for (serial, list, is_right) in
            [(2, &none, false), (3, &wrong, false), (4, &unset, false), (5, &right(), true)]
        {
            device.submit(Permit::checked(), GRAPHICS, &[&right(), list], &[], serial).unwrap();
            assert_one_if(
                !(is_right || device.properties().api == Api::Vulkan),
                &hazards(&device),
                HazardKind::HeapNotSet,
                &["shown"],
            );
        }
    }
}

#[test]
fn heaps_that_cannot_be_set() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let samplers = Heaps::new(&device, DescriptorKind::Sampler);
        let closes = |queue, resources, samplers| {
            let mut list = device.create_list(Permit::checked(), queue).unwrap();
            list.begin().unwrap();
            list.set_descriptor_heaps(resources, samplers);
            list.close().is_ok()
        };
        assert!(closes(GRAPHICS, Some(&heaps.shown), Some(&samplers.shown)));
        assert!(closes(COMPUTE, None, None));
        assert!(!closes(COPY, Some(&heaps.shown), None));
        assert!(!closes(GRAPHICS, Some(&samplers.shown), None));
        assert!(!closes(GRAPHICS, None, Some(&heaps.shown)));
        assert!(!closes(GRAPHICS, Some(&heaps.made), None));
    }
}

#[test]
fn descriptors_are_used_by_their_kind() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let samplers = Heaps::new(&device, DescriptorKind::Sampler);
    let usage = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
    let rock = committed(&device, "rock", &buffer(1024, usage));
    let accesses = [
        (BufferAccess::Constants, State::VERTEX_OR_CONSTANT),
        (BufferAccess::Read(Elements::Raw), READ),
        (BufferAccess::ReadWrite(Elements::Raw), State::UNORDERED_ACCESS),
    ];
    for (index, (access, _)) in accesses.iter().enumerate() {
        heaps.put(&device, index as u32, &bytes(&rock, 0, 256, *access));
    }
    samplers.put(&device, 0, &Descriptor::Sampler(SamplerInfo::default()));
    let mut serial = 0;
    for state in [State::COMMON, READ, State::VERTEX_OR_CONSTANT, State::UNORDERED_ACCESS, State::INDEX] {
        for (index, (_, right)) in accesses.iter().enumerate() {
            serial += 1;
            submit(&device, GRAPHICS, serial, &[], |list| heaps.look(list, index as u32, state));
            assert_one_if(
                state != *right,
                &hazards(&device),
                HazardKind::WrongDescriptor,
                &["shown", "rock"],
            );
        }
        serial += 1;
        submit(&device, GRAPHICS, serial, &[], |list| {
            list.set_descriptor_heaps(None, Some(&samplers.shown));
            list.use_descriptor(samplers.at(0), state);
        });
        let found = hazards(&device);
        if state.is_empty() {
            assert_clean(&found)
        } else {
            assert_one(&found, HazardKind::WrongDescriptor, &["shown"])
        }
    }
}

#[test]
fn on_vulkan_a_copy_dies_with_its_view() {
    for profile in BOTH {
        let vulkan = profile == Profile::VULKAN_NVIDIA;
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = painted(&device, 1, "rock", readable(4, 4));
        let desc = buffer(256, Usage::SHADER_READ | Usage::COPY_DST);
        let plain = committed(&device, "plain", &desc);
        heaps.put(&device, 0, &sampled(&rock));
        heaps.put(&device, 1, &bytes(&plain, 0, 256, BufferAccess::Read(Elements::Raw)));
        submit(&device, GRAPHICS, 2, &[], |list| {
            list.fill_buffer(&plain, 0, 256, 1);
            transition(list, &plain, State::COPY_DST, READ);
            heaps.look(list, 0, READ);
            heaps.look(list, 1, READ);
        });
        // A view's descriptor in flight must not be cleared on Vulkan; for a range of bytes there is no API
        // object.
        device.clear_descriptors(Permit::checked(), &heaps.made, 1, 1, None);
        assert_clean(&device.take_hazards());
        device.clear_descriptors(Permit::checked(), &heaps.made, 0, 1, None);
        let found = device.take_hazards();
        if vulkan {
            assert_one(&found, HazardKind::DescriptorInUse, &["made"])
        } else {
            assert_clean(&found)
        }
        let found = hazards(&device);
        if vulkan {
            assert_one(&found, HazardKind::DeadDescriptor, &["shown", "rock"])
        } else {
            assert_clean(&found)
        }
        submit(&device, GRAPHICS, 3, &[], |list| heaps.look(list, 0, READ));
        let found = hazards(&device);
        if vulkan {
            assert_one(&found, HazardKind::DeadDescriptor, &["shown", "rock"])
        } else {
            assert_clean(&found)
        }
    }
}

#[test]
fn targets_are_found_where_they_were_made() {
    for profile in BOTH {
        let vulkan = profile == Profile::VULKAN_NVIDIA;
        let device = manual(profile);
        let targets = heap(&device, "targets", DescriptorKind::RenderTarget, false);
        let rock = committed(&device, "rock", &texture(8, 8, Usage::RENDER_TARGET));
        let view = Descriptor::Texture { resource: &rock, view: first(TextureAccess::RenderTarget) };
        device.write_descriptor(Permit::checked(), &targets, 3, &view).unwrap();
        let at = DescriptorAt::Heap { heap: &targets, index: 3 };
        let draw = |serial| {
            submit(&device, GRAPHICS, serial, &[], |list| {
                become_target(list, &rock);
                list.use_descriptor(at, State::RENDER_TARGET);
            });
        };
        draw(1);
        assert_clean(&hazards(&device));
        let list = record(&device, GRAPHICS, |list| list.use_descriptor(at, State::RENDER_TARGET));
        // Direct3D 12 reads the descriptor during the recording, Vulkan later.
        device.clear_descriptors(Permit::checked(), &targets, 3, 1, None);
        device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 2).unwrap();
        let found = hazards(&device);
        if vulkan {
            assert_one(&found, HazardKind::DeadDescriptor, &["rock", "targets"])
        } else {
            assert_clean(&found)
        }
        // Nothing to record.
        let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
        list.begin().unwrap();
        list.use_descriptor(at, State::RENDER_TARGET);
        assert!(list.close().is_err());
    }
}

/// The expected words in `out`.
fn words<const N: usize>(device: &Device, serial: u64, out: &Resource) -> [u32; N] {
    let size = 4 * N as u64;
    let back = device.create_committed(&buffer(size, Usage::COPY_DST), upload_type(device, true)).unwrap();
    submit(device, GRAPHICS, serial, &[], |list| {
        let promotes = device.properties().state_model == StateModel::Promotion;
        let before = if promotes { State::COMMON } else { State::UNORDERED_ACCESS };
        transition(list, out, before, State::COPY_SRC);
        list.copy_buffer(out, 0, &back, 0, size);
    });
    assert_clean(&hazards(device));
    let mut bytes = vec![0; size as usize];
    device.map(&back).unwrap().read(0, &mut bytes).unwrap();
    std::array::from_fn(|word| u32::from_le_bytes(bytes[4 * word..4 * word + 4].try_into().unwrap()))
}

fn out(device: &Device) -> Resource {
    committed(device, "out", &buffer(1024, Usage::UNORDERED_ACCESS | Usage::COPY_SRC))
}

#[test]
fn bytes_are_read_through_descriptors() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let rock = committed(&device, "rock", &buffer(1024, Usage::SHADER_READ | Usage::COPY_DST));
        let out = out(&device);
        let read = BufferAccess::Read;
        heaps.put(&device, 0, &bytes(&rock, 256, 8, read(Elements::Raw)));
        heaps.put(&device, 1, &bytes(&rock, 512, 64, read(Elements::Typed(Format::R32Uint))));
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.fill_buffer(&rock, 0, 512, 1);
            transition(list, &rock, State::COPY_DST, State::COPY_DST);
            list.fill_buffer(&rock, 512, 4, 2);
            transition(list, &rock, State::COPY_DST, READ);
            list.set_descriptor_heaps(Some(&heaps.shown), None);
            list.read_descriptor(heaps.at(0), READ, &out, 0, 16);
            list.read_descriptor(heaps.at(1), READ, &out, 16, 12);
        });
        assert_clean(&hazards(&device));
        let (one, two) = (0x0101_0101, 0x0202_0202);
        assert_eq!(words::<7>(&device, 2, &out), [one, one, 0, 0, two, two, two]);
    }
}

#[test]
fn texels_are_read_and_sampled_through_descriptors() {
    for profile in BOTH {
        let device = manual(profile);
        let heaps = Heaps::new(&device, DescriptorKind::Resource);
        let samplers = Heaps::new(&device, DescriptorKind::Sampler);
        let rock = committed(&device, "rock", &ResourceDesc::Texture(readable(2, 2)));
        let up = upload(&device, "up", 4096);
        let rows = [[10, 20, 30, 255, 30, 40, 50, 255], [50, 60, 70, 255, 71, 80, 90, 255]];
        device.map(&up).unwrap().write(0, &rows[0]).unwrap();
        device.map(&up).unwrap().write(256, &rows[1]).unwrap();
        let out = out(&device);
        heaps.put(&device, 0, &sampled(&rock));
        samplers.put(&device, 0, &Descriptor::Sampler(SamplerInfo::default()));
        let nearest = SamplerInfo::default().mag(Filter::Nearest);
        samplers.put(&device, 1, &Descriptor::Sampler(nearest));
        submit(&device, GRAPHICS, 1, &[], |list| {
            transition(list, &rock, State::COMMON, State::COPY_DST);
            let region =
                TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [2, 2, 1] };
            list.copy_buffer_to_texture(
                &up,
                BufferLayout { offset: 0, row_pitch: 256, rows: 2 },
                &rock,
                region,
            );
            transition(list, &rock, State::COPY_DST, READ);
            list.set_descriptor_heaps(Some(&heaps.shown), Some(&samplers.shown));
            list.read_descriptor(heaps.at(0), READ, &out, 0, 8);
            list.sample_descriptor(samplers.at(0), heaps.at(0), READ, &out, 8);
            list.sample_descriptor(samplers.at(1), heaps.at(0), READ, &out, 24);
        });
        assert_clean(&hazards(&device));
        let texel = u32::from_le_bytes([10, 20, 30, 255]);
        assert_eq!(words::<10>(&device, 2, &out), [texel, texel, 40, 50, 60, 255, 71, 80, 90, 255]);
    }
}

#[test]
fn missing_descriptors_read_as_zero_and_are_hazards() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let samplers = Heaps::new(&device, DescriptorKind::Sampler);
    let out = out(&device);
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.set_descriptor_heaps(Some(&heaps.shown), Some(&samplers.shown));
        list.read_descriptor(heaps.at(0), READ, &out, 0, 4);
        list.sample_descriptor(samplers.at(0), heaps.at(0), READ, &out, 16);
    });
    let found: Vec<_> = hazards(&device).iter().map(|hazard| hazard.kind).collect();
    assert_eq!(found, [HazardKind::DeadDescriptor; 3]);
    assert_eq!(words::<8>(&device, 2, &out), [0; 8]);
}

#[test]
fn recorded_descriptors_exist() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let out = out(&device);
    let closes = |queue, commands: &dyn Fn(&mut tenure_sim::List)| {
        let mut list = device.create_list(Permit::checked(), queue).unwrap();
        list.begin().unwrap();
        commands(&mut list);
        list.close().is_ok()
    };
    assert!(closes(GRAPHICS, &|list| list.use_descriptor(heaps.at(7), READ)));
    assert!(!closes(GRAPHICS, &|list| list.use_descriptor(heaps.at(8), READ)));
    assert!(!closes(COPY, &|list| list.use_descriptor(heaps.at(7), State::COMMON)));
    assert!(!closes(COMPUTE, &|list| list.use_descriptor(heaps.at(7), State::PIXEL_SHADER)));
    let hidden = DescriptorAt::Heap { heap: &heaps.made, index: 0 };
    assert!(!closes(GRAPHICS, &|list| list.use_descriptor(hidden, READ)));
    assert!(closes(GRAPHICS, &|list| list.read_descriptor(heaps.at(0), READ, &out, 1008, 16)));
    assert!(!closes(GRAPHICS, &|list| list.read_descriptor(heaps.at(0), READ, &out, 1012, 16)));
    assert!(!closes(GRAPHICS, &|list| list.sample_descriptor(heaps.at(0), heaps.at(0), READ, &out, 1012)));
}

#[test]
fn heaps_are_counted_and_leak_by_name() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    assert_eq!(device.calls().live_descriptor_heaps, 2);
    let findings = device.check_clean().unwrap_err().to_string();
    assert!(findings.contains("leaked: descriptor heap 'shown'"), "{findings}");
    device.destroy_descriptor_heap(Permit::checked(), heaps.made);
    device.destroy_descriptor_heap(Permit::checked(), heaps.shown);
    device.check_clean().unwrap();
    assert_eq!(device.calls().live_descriptor_heaps, 0);
}
