//! Descriptor sets: those that last, and those of one recording.

use std::collections::HashSet;

use tenure_core::device::FieldValue;
use tenure_core::{
    AccelerationStructureDesc, Bind, BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorConfig,
    DescriptorSetDesc, DeviceError, Error, Format, FrameConfig, Gpu, Queue, SetDescriptor, SetLayout,
    SetLayoutDesc, State, Subresource, TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, DescriptorAt, Device, HazardKind, Lag};

use crate::{
    BOTH, GRAPHICS, HEAPS, SETS, binding, device, end, finish, gpu, hazards, out, sampler, small,
    submit_read, view, written,
};

/// A layout of two raw buffers and a sampler.
fn layout(gpu: &Gpu<Device>) -> SetLayout<Device> {
    let bindings = [binding(3, BindingKind::Sampler, 1), binding(1, BindingKind::Buffer, 2)];
    gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("material")).unwrap()
}

fn at(block: &tenure_sim::SetPool, set: u32, binding: u32, element: u32) -> DescriptorAt<'_> {
    DescriptorAt::Set { block, set, binding, element }
}

#[test]
fn a_set_keeps_its_layout_and_its_resources() {
    for profile in [BOTH, SETS] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::from(DescriptorConfig::default().poison(true)));
        let out = out(&gpu);
        let layout = layout(&gpu);
        let numbers: Vec<_> = layout.bindings().iter().map(|binding| binding.binding).collect();
        assert_eq!((numbers, layout.name().as_str()), (vec![1, 3], "material"));
        let (first, second) = (view(&gpu, "first", 7), view(&gpu, "second", 8));
        let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
        let shown = [
            SetDescriptor::new(1, &second).element(1),
            SetDescriptor::new(1, &first),
            SetDescriptor::new(3, &smooth),
        ];
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &shown).name("rock")).unwrap();
        drop((layout, first, second, smooth));
        finish(&gpu);
        for (element, byte) in [(0, 7), (1, 8)] {
            submit_read(&gpu, &out, at(set.block(), set.index(), 1, element), State::NON_PIXEL_SHADER);
            assert_eq!(written(&gpu, &out), byte);
        }
        assert_eq!(set.name().as_str(), "rock");
        drop(set);
        finish(&gpu);
        assert_eq!(gpu.stats().live_objects, 1, "only out is left");
        assert_eq!(gpu.stats().descriptors.set_layouts, 0);
        drop(out);
        end(gpu, &device);
    }
}

#[test]
fn a_set_is_not_written_again_before_the_gpu_is_done() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(&device, small());
    let (out, layout, shown) = (out(&gpu), layout(&gpu), view(&gpu, "shown", 4));
    let make = || {
        gpu.create_descriptor_set(
            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(1, &shown)]).name("set"),
        )
        .unwrap()
    };
    let set = make();
    let index = set.index();
    submit_read(&gpu, &out, at(set.block(), index, 1, 0), State::NON_PIXEL_SHADER);
    drop(set);
    for _ in 0..3 {
        assert_ne!(make().index(), index);
        gpu.reclaim().unwrap();
    }
    device.complete(GRAPHICS, 1);
    gpu.reclaim().unwrap();
    assert_eq!(make().index(), index);
    drop((out, layout, shown));
    end(gpu, &device);
}

#[test]
fn a_use_of_a_freed_set_is_reported_by_name() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, small());
    let (out, layout, shown) = (out(&gpu), layout(&gpu), view(&gpu, "shown", 4));
    let stays = gpu
        .create_descriptor_set(
            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(1, &shown)]).name("stays"),
        )
        .unwrap();
    let set = gpu
        .create_descriptor_set(
            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(1, &shown)]).name("terrain"),
        )
        .unwrap();
    let index = set.index();
    drop(set);
    finish(&gpu);
    submit_read(&gpu, &out, at(stays.block(), index, 1, 0), State::NON_PIXEL_SHADER);
    let found = hazards(&device);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, HazardKind::DeadDescriptor);
    assert!(found[0].to_string().contains("terrain"), "{}", found[0]);
    drop((out, layout, shown, stays));
    end(gpu, &device);
}

#[test]
fn sets_of_a_recording_end_with_it() {
    for profile in [BOTH, SETS] {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device, Config::from(DescriptorConfig::default().set_pool(4).poison(true)));
        let out = out(&gpu);
        let bindings = [binding(0, BindingKind::Constants, 1), binding(1, BindingKind::Buffer, 1)];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("draw")).unwrap();
        for step in 0..30_u8 {
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            recording.barriers();
            let (commands, scratch) = recording.split();
            let mut seen = HashSet::new();
            for draw in 0..10_u8 {
                let constants = scratch.constants(&[step * 8 + draw % 8; 64]).unwrap();
                let shown = view(&gpu, "shown", draw);
                let set = scratch
                    .set(&layout, &[SetDescriptor::new(0, constants), SetDescriptor::new(1, &shown)])
                    .unwrap();
                assert!(seen.insert((std::ptr::from_ref(set.block()), set.index())));
                let at = at(set.block(), set.index(), 0, 0);
                let offset = out.offset() + 16 * u64::from(9 - draw);
                commands.raw().read_descriptor(at, State::VERTEX_OR_CONSTANT, out.raw(), offset, 16);
            }
            recording.submit().unwrap();
            if step % 10 == 0 {
                assert_eq!(written(&gpu, &out), step * 8 + 9 % 8);
            }
            gpu.begin_frame().unwrap().end().unwrap();
        }
        drop((out, layout));
        end(gpu, &device);
    }
}

/// The blocks of a recording serve later ones once it is complete, and only then.
#[test]
fn blocks_are_recycled() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(
        &device,
        Config::default()
            .descriptors(DescriptorConfig::default().set_pool(4))
            .frames(FrameConfig::default().idle(8)),
    );
    let (layout, shown) = (layout(&gpu), view(&gpu, "shown", 4));
    let blocks = || device.calls().made(CallKind::CreateSetPool);
    let frame = |sets: usize| {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "draw").unwrap();
        for _ in 0..sets {
            recording.split().1.set(&layout, &[SetDescriptor::new(1, &shown)]).unwrap();
        }
        let serial = frame.submit(recording).unwrap().serial(GRAPHICS);
        device.complete(GRAPHICS, serial.saturating_sub(2));
        frame.end().unwrap();
    };
    for _ in 0..3 {
        frame(6);
    }
    assert_eq!(blocks(), 6, "two for each of three frames in flight");
    for _ in 0..100 {
        frame(6);
    }
    assert!(blocks() <= 8, "{}", blocks());
    let warm = (blocks(), gpu.stats().objects_created());
    for _ in 0..100 {
        frame(6);
    }
    assert_eq!((blocks(), gpu.stats().objects_created()), warm);
    assert_eq!(gpu.stats().descriptors.set_pools, warm.0);
    // Idle ones stay, as command lists do, until they are trimmed.
    for _ in 0..12 {
        frame(0);
    }
    assert_eq!(device.calls().live_set_pools, warm.0);
    gpu.trim();
    assert_eq!(device.calls().live_set_pools, 0);
    assert_eq!(gpu.stats().descriptors.set_pools, 0);
    frame(1);
    drop((layout, shown));
    end(gpu, &device);
}

#[test]
fn a_layout_may_be_dropped_while_sets_of_it_are_in_flight() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(&device, small());
    let (out, shown) = (out(&gpu), view(&gpu, "shown", 4));
    let first = layout(&gpu);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    let (commands, scratch) = recording.split();
    let set = scratch.set(&first, &[SetDescriptor::new(1, &shown)]).unwrap();
    let at = at(set.block(), set.index(), 1, 0);
    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, out.raw(), out.offset(), 16);
    drop(first);
    gpu.reclaim().unwrap();
    // A new one has another number, so that the two are not confused.
    let second = layout(&gpu);
    let scratch = recording.split().1;
    scratch.set(&second, &[SetDescriptor::new(1, &shown)]).unwrap();
    let open = gpu.record(Queue::Graphics, "open for long").unwrap();
    recording.submit().unwrap();
    device.complete(GRAPHICS, 1);
    gpu.reclaim().unwrap();
    gpu.reclaim().unwrap();
    drop(open);
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().descriptors.set_layouts, 1);
    assert_eq!(written(&gpu, &out), 4);
    drop((second, out, shown));
    end(gpu, &device);
}

#[test]
fn dynamic_constants_are_based_on_their_buffer() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let layout = gpu
        .create_set_layout(
            &SetLayoutDesc::new(&[binding(0, BindingKind::DynamicConstants, 1)]).name("camera"),
        )
        .unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    let (commands, scratch) = recording.split();
    let first = scratch.constants(&[1_u8; 64]).unwrap();
    let second = scratch.constants(&[2_u8; 64]).unwrap();
    // One set serves all constants of the buffer.
    let set = scratch.set(&layout, &[SetDescriptor::new(0, first)]).unwrap();
    let at = DescriptorAt::Dynamic {
        block: set.block(),
        set: set.index(),
        binding: 0,
        element: 0,
        offset: second.offset(),
    };
    commands.raw().read_descriptor(at, State::VERTEX_OR_CONSTANT, out.raw(), out.offset(), 16);
    recording.submit().unwrap();
    assert_eq!(written(&gpu, &out), 2);
    drop((layout, out));
    end(gpu, &device);
}

#[test]
fn layouts_are_checked() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let refused =
        |bindings: &[_]| match gpu.create_set_layout(&SetLayoutDesc::new(bindings).name("wrong")).err() {
            Some(Error::Device {
                name,
                source: DeviceError::InvalidDesc { field, value: FieldValue::Number(value), .. },
            }) => {
                assert_eq!(name.as_str(), "wrong");
                (field, value)
            }
            other => panic!("{other:?}"),
        };
    assert_eq!(refused(&[]), ("bindings", 0));
    assert_eq!(refused(&[binding(0, BindingKind::Buffer, 0)]), ("count", 0));
    let twice = [
        binding(7, BindingKind::Buffer, 1),
        binding(1, BindingKind::Buffer, 1),
        binding(7, BindingKind::Texture, 1),
    ];
    assert_eq!(refused(&twice), ("binding", 7));
    assert_eq!(device.calls().made(CallKind::CreateSetLayout), 0);
    end(gpu, &device);
}

#[test]
fn descriptors_that_do_not_fit_the_layout_are_refused() {
    let (here, there) = (device(BOTH, Lag::None), device(BOTH, Lag::None));
    let (gpu, other) = (gpu(&here, small()), gpu(&there, small()));
    let layout = layout(&gpu);
    let good = view(&gpu, "good", 1);
    let theirs = view(&other, "theirs", 1);
    let their_layout = crate::sets::layout(&other);
    let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
    let texture = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target");
    let texture = gpu.create_texture(&texture).unwrap();
    let target = gpu.create_texture_view(&texture, &TextureViewDesc::render_target()).unwrap();
    drop(texture);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let scratch = recording.split().1;
    let constants = scratch.constants(&[1_u32; 4]).unwrap();
    // Both kinds of sets give the same answer.
    let refused = |binds: &[SetDescriptor<'_, Device>]| {
        let lasting =
            gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, binds).name("lasting")).unwrap_err();
        let dynamic = scratch.set(&layout, binds).unwrap_err();
        assert_eq!(lasting, dynamic);
        lasting
    };
    let rule = |error: Error| match error {
        Error::Device { source: DeviceError::InvalidCall { rule, value, .. }, .. } => {
            (rule.text(), value.and_then(FieldValue::number).unwrap_or(0))
        }
        other => panic!("{other}"),
    };
    let view = || Bind::from(&good);
    assert_eq!(rule(refused(&[SetDescriptor::new(0, view())])), ("the layout has the binding", 0));
    assert_eq!(
        rule(refused(&[SetDescriptor::new(u32::MAX, view())])),
        ("the layout has the binding", u32::MAX.into())
    );
    assert_eq!(
        rule(refused(&[SetDescriptor::new(1, view()).element(2)])),
        ("the binding has the element", 2)
    );
    assert_eq!(
        rule(refused(&[SetDescriptor::new(1, view()).element(u32::MAX)])),
        ("the binding has the element", u32::MAX.into())
    );
    assert_eq!(
        rule(refused(&[SetDescriptor::new(3, view())])).0,
        "a descriptor is of the kind that its binding holds"
    );
    assert_eq!(
        rule(refused(&[SetDescriptor::new(1, &smooth)])).0,
        "a descriptor is of the kind that its binding holds"
    );
    assert_eq!(
        rule(refused(&[SetDescriptor::new(1, constants)])).0,
        "a descriptor is of the kind that its binding holds"
    );
    let twice = [1, 0, 1].map(|element| SetDescriptor::new(1, view()).element(element));
    assert_eq!(rule(refused(&twice)), ("each element is written once", 1));
    assert_eq!(
        rule(refused(&[SetDescriptor::new(1, &target)])).0,
        "shaders do not read views of targets (kind)"
    );
    assert_eq!(refused(&[SetDescriptor::new(1, &theirs)]), Error::Foreign { name: "theirs".into() });
    let foreign = Error::Foreign { name: "material".into() };
    assert_eq!(scratch.set(&their_layout, &[]).err(), Some(foreign.clone()));
    assert_eq!(
        gpu.create_descriptor_set(&DescriptorSetDesc::new(&their_layout, &[]).name("lasting")).err(),
        Some(foreign)
    );
    // Constants of a recording do not last.
    let camera = gpu
        .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Constants, 1)]).name("camera"))
        .unwrap();
    assert!(scratch.set(&camera, &[SetDescriptor::new(0, constants)]).is_ok());
    let lasting = gpu
        .create_descriptor_set(
            &DescriptorSetDesc::new(&camera, &[SetDescriptor::new(0, constants)]).name("lasting"),
        )
        .err()
        .unwrap();
    assert_eq!(rule(lasting), ("constants of a recording do not last (index)", 0));
    drop((recording, layout, camera, good, theirs, their_layout, smooth, target));
    end(gpu, &here);
    end(other, &there);
}

#[test]
fn a_device_without_sets_is_an_error() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let refused = gpu
        .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("material"))
        .err();
    let source = DeviceError::Unsupported { feature: "descriptor sets" };
    assert_eq!(refused, Some(Error::Device { name: "material".into(), source }));
    end(gpu, &device);
}

/// Layouts with very many descriptors do not make 64 sets of them at once.
#[test]
fn blocks_of_large_sets_are_small() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let out = out(&gpu);
    let layout = gpu
        .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 40_000)]).name("bindless"))
        .unwrap();
    let shown = view(&gpu, "shown", 5);
    let sets = [0, 39_999].map(|element| {
        gpu.create_descriptor_set(
            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown).element(element)])
                .name("bindless"),
        )
        .unwrap()
    });
    assert_eq!(device.calls().live_set_pools, 2, "one set each");
    submit_read(&gpu, &out, at(sets[1].block(), sets[1].index(), 0, 39_999), State::NON_PIXEL_SHADER);
    assert_eq!(written(&gpu, &out), 5);
    drop((sets, layout, shown, out));
    end(gpu, &device);
}

/// Every kind of binding accepts its kind of descriptor.
#[test]
fn every_kind_of_binding_is_served() {
    for profile in [BOTH, SETS] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let usage = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let buffer = gpu.create_buffer(&BufferDesc::new(4096, usage)).unwrap();
        let texture = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::INPUT_ATTACHMENT;
        let texture = gpu.create_texture(&TextureDesc::d2(8, 8, Format::Rgba8Unorm, texture)).unwrap();
        let of = |desc: BufferViewDesc| gpu.create_buffer_view(&buffer, &desc.range(0, 1024)).unwrap();
        let views = [
            of(BufferViewDesc::constants()),
            of(BufferViewDesc::constants()),
            of(BufferViewDesc::structured_writable(16)),
            of(BufferViewDesc::typed(Format::R32Uint)),
            of(BufferViewDesc::typed_writable(Format::R32Uint)),
            gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap(),
            gpu.create_texture_view(&texture, &TextureViewDesc::storage()).unwrap(),
        ];
        let input = gpu.create_texture_view(&texture, &TextureViewDesc::input_attachment()).unwrap();
        let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
        let world = gpu.create_acceleration_structure(&AccelerationStructureDesc::top(4096)).ok();
        let mut bindings: Vec<_> =
            (0..).zip(BindingKind::ALL).map(|(number, kind)| binding(number, kind, 1)).collect();
        if world.is_none() {
            let refused = gpu.create_set_layout(&SetLayoutDesc::new(&bindings));
            assert!(refused.unwrap_err().to_string().contains("acceleration structures"));
            bindings.pop();
        }
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("all")).unwrap();
        let mut binds: Vec<_> =
            (0..).zip(&views).map(|(number, view)| SetDescriptor::new(number, view)).collect();
        binds.push(SetDescriptor::new(7, &smooth));
        binds.push(SetDescriptor::new(8, (&views[5], &smooth)));
        binds.push(SetDescriptor::new(9, &input));
        binds.extend(world.iter().map(|world| SetDescriptor::new(10, world)));
        assert_eq!(binds.len(), bindings.len());
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("all")).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        recording.split().1.set(&layout, &binds).unwrap();
        recording.submit().unwrap();
        drop((buffer, texture, views, input, smooth, world, layout, set));
        end(gpu, &device);
    }
}
