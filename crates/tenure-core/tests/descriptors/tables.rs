//! Lasting tables: they keep their views alive, and are reclaimed when the GPU is done.

use tenure_core::device::Allowed;
use tenure_core::{
    Bind, Config, DescriptorKind, DescriptorOwner, DescriptorPart, DescriptorTableDesc, DeviceError, Error,
    Format, Queue, State, TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, DescriptorAt, HazardKind, Lag};

use crate::{
    BOTH, HEAPS, SETS, binds, bytes, device, end, finish, gpu, hazards, heap, out, read, sampler, small,
    submit_read, view, written,
};

const RESOURCE: DescriptorKind = DescriptorKind::Resource;

#[test]
fn a_table_keeps_its_views_and_they_their_buffers() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, small());
        let out = out(&gpu);
        let (first, second) = (view(&gpu, "first", 7), view(&gpu, "second", 8));
        let table = gpu
            .create_descriptor_table(
                &DescriptorTableDesc::new(&[(&first).into(), (&second).into()]).name("pair"),
            )
            .unwrap();
        drop((first, second));
        // Whatever is created now must not take their bytes.
        finish(&gpu);
        let others: Vec<_> = (0..8).map(|_| bytes(&gpu, "others", 99)).collect();
        assert_eq!(table.len(), 2);
        assert_eq!(table.kind(), RESOURCE);
        assert_eq!(read(&gpu, &out, table.heap(), table.first()), 7);
        assert_eq!(read(&gpu, &out, table.heap(), table.first() + 1), 8);
        let mut names: Vec<_> = gpu.report().objects.into_iter().map(|object| object.name).collect();
        names.retain(|name| name != "others" && name != "out");
        assert_eq!(names, ["first", "first", "pair", "second", "second"], "the buffers and the views");
        drop((table, others));
        finish(&gpu);
        assert_eq!(gpu.report().objects.len(), 1);
        drop(out);
        end(gpu, &device);
    }
}

/// Resource, view and table, dropped in every order, with the GPU behind.
#[test]
fn every_order_of_drops_is_fine() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let device = device(HEAPS, Lag::Manual);
        let gpu = gpu(&device, small());
        let out = out(&gpu);
        let (mut buffer, mut shown, mut table) = (Some(bytes(&gpu, "lights", 5)), None, None);
        shown = shown.or_else(|| {
            let desc = tenure_core::BufferViewDesc::raw();
            gpu.create_buffer_view(buffer.as_ref().unwrap(), &desc).ok()
        });
        table = table.or_else(|| {
            gpu.create_descriptor_table(
                &DescriptorTableDesc::new(&[shown.as_ref().unwrap().into()]).name("table"),
            )
            .ok()
        });
        let (heap, index) = {
            let table = table.as_ref().unwrap();
            (table.heap(), table.first())
        };
        submit_read(&gpu, &out, DescriptorAt::Heap { heap, index }, State::NON_PIXEL_SHADER);
        for what in order {
            match what {
                0 => drop(buffer.take()),
                1 => drop(shown.take()),
                _ => drop(table.take()),
            }
            gpu.reclaim().unwrap();
        }
        let before = device.calls().made(CallKind::ClearDescriptors);
        assert_eq!(before, 0, "{order:?}: nothing goes before the GPU has read it");
        assert_eq!(gpu.stats().live_objects, 1, "{order:?}: only out lives");
        assert_eq!(written(&gpu, &out), 5, "{order:?}");
        finish(&gpu);
        assert_eq!(
            device.calls().made(CallKind::ClearDescriptors),
            2,
            "{order:?}: of the view and the table"
        );
        drop(out);
        end(gpu, &device);
    }
}

#[test]
fn a_row_is_not_taken_again_before_the_gpu_is_done() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let views = [view(&gpu, "old", 1), view(&gpu, "new", 2)];
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&views[0]).into()]).name("old")).unwrap();
    let index = table.first();
    let recording = gpu.record(Queue::Graphics, "open").unwrap();
    drop(table);
    for _ in 0..3 {
        let other = gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&[(&views[1]).into()]).name("new"))
            .unwrap();
        assert_ne!(other.first(), index, "an open recording may use it");
        gpu.reclaim().unwrap();
    }
    recording.submit().unwrap();
    finish(&gpu);
    let again =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&views[1]).into()]).name("new")).unwrap();
    assert_eq!(again.first(), index, "the lowest free row");
    drop((again, views, out));
    end(gpu, &device);
}

#[test]
fn a_use_of_a_freed_table_is_reported_by_name() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, small());
        let out = out(&gpu);
        let kept = view(&gpu, "kept", 3);
        let stays =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&kept).into()]).name("stays")).unwrap();
        let table = gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&[(&kept).into()]).name("terrain"))
            .unwrap();
        let index = table.first();
        assert_eq!(gpu.descriptor_owner(RESOURCE, index), DescriptorOwner::Static { name: "terrain".into() });
        drop(table);
        finish(&gpu);
        assert_eq!(gpu.descriptor_owner(RESOURCE, index), DescriptorOwner::Freed { name: "terrain".into() });
        let at = DescriptorAt::Heap { heap: stays.heap(), index };
        submit_read(&gpu, &out, at, State::NON_PIXEL_SHADER);
        let found = hazards(&device);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, HazardKind::DeadDescriptor);
        assert!(found[0].to_string().contains("terrain"), "{}", found[0]);
        drop((kept, stays, out));
        end(gpu, &device);
    }
}

#[test]
fn owners_are_known() {
    let device = device(HEAPS, Lag::None);
    for poison_descriptors in [true, false] {
        let gpu = gpu(&device, small().descriptors(small().descriptors.poison(poison_descriptors)));
        assert_eq!(gpu.descriptor_owner(RESOURCE, 0), DescriptorOwner::Free, "there is no heap yet");
        assert_eq!(gpu.descriptor_owner(RESOURCE, 80), DescriptorOwner::OutOfRange, "nor will it have it");
        let view = view(&gpu, "view", 3);
        let three = [(&view).into(), (&view).into(), (&view).into()];
        let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&three).name("three")).unwrap();
        let first = table.first();
        for index in first..first + 3 {
            let owner = gpu.descriptor_owner(RESOURCE, index);
            assert_eq!(owner, DescriptorOwner::Static { name: "three".into() });
        }
        assert_eq!(gpu.descriptor_owner(RESOURCE, first + 3), DescriptorOwner::Free);
        assert_eq!(gpu.descriptor_owner(RESOURCE, 79), DescriptorOwner::Free);
        assert_eq!(gpu.descriptor_owner(RESOURCE, 80), DescriptorOwner::OutOfRange);
        assert_eq!(gpu.descriptor_owner(RESOURCE, u32::MAX), DescriptorOwner::OutOfRange);
        assert_eq!(gpu.descriptor_owner(DescriptorKind::RenderTarget, 0), DescriptorOwner::OutOfRange);
        drop(table);
        finish(&gpu);
        let freed = DescriptorOwner::Freed { name: "three".into() };
        let freed = if poison_descriptors { freed } else { DescriptorOwner::Free };
        assert_eq!(gpu.descriptor_owner(RESOURCE, first), freed);
        let one =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("one")).unwrap();
        assert_eq!(one.first(), first);
        assert_eq!(gpu.descriptor_owner(RESOURCE, first), DescriptorOwner::Static { name: "one".into() });
        assert_eq!(gpu.descriptor_owner(RESOURCE, first + 1), freed);
        drop((one, view));
        end(gpu, &device);
    }
}

#[test]
fn unsuitable_descriptors_are_refused() {
    let (here, there) = (device(HEAPS, Lag::None), device(HEAPS, Lag::None));
    let (gpu, other) = (gpu(&here, small()), gpu(&there, small()));
    let good = view(&gpu, "good", 1);
    let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
    let theirs = view(&other, "theirs", 1);
    let their_sampler = other.create_sampler(&sampler(1).name("theirs, too")).unwrap();
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target");
    let texture = gpu.create_texture(&texture).unwrap();
    let target = gpu.create_texture_view(&texture, &TextureViewDesc::render_target()).unwrap();
    drop(texture);
    let refused = |binds: &[Bind<'_, _>]| {
        gpu.create_descriptor_table(&DescriptorTableDesc::new(binds).name("table")).unwrap_err()
    };
    let empty = refused(&[]);
    let source = DeviceError::invalid_desc("descriptors", 0_u64, Allowed::AtLeast(1));
    assert_eq!(empty, Error::Device { name: "table".into(), source });
    let Error::Device { source: DeviceError::InvalidCall { rule, value, .. }, .. } =
        refused(&[(&good).into(), (&smooth).into()])
    else {
        panic!()
    };
    assert_eq!(
        (rule.text(), value),
        ("views and samplers are in different tables (index)", Some(1_u64.into()))
    );
    let Error::Device { name, source: DeviceError::InvalidCall { rule, .. } } = refused(&[(&target).into()])
    else {
        panic!()
    };
    assert_eq!((name.as_str(), rule.text()), ("target", "shaders do not read views of targets (kind)"));
    let foreign = |name: &'static str| Error::Foreign { name: name.into() };
    assert_eq!(refused(&[(&good).into(), (&theirs).into()]), foreign("theirs"));
    assert_eq!(refused(&[(&their_sampler).into()]), foreign("theirs, too"));
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let constants = recording.split().1.constants(&[1_u32; 64]).unwrap();
    let Error::Device { source: DeviceError::InvalidCall { rule, value, .. }, .. } =
        refused(&[(&good).into(), constants.into()])
    else {
        panic!()
    };
    assert_eq!((rule.text(), value), ("constants of a recording do not last (index)", Some(1_u64.into())));
    drop(recording);
    // None of them uses a descriptor.
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Static).peak, 0);
    drop((good, smooth, target, theirs, their_sampler));
    end(gpu, &here);
    end(other, &there);
}

#[test]
fn a_device_without_heaps_is_an_error() {
    let device = device(SETS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let view = view(&gpu, "view", 1);
    let refused =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table")).err();
    let source = DeviceError::Unsupported { feature: "descriptor indexing" };
    assert_eq!(refused, Some(Error::Device { name: "table".into(), source: source.clone() }));
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    assert_eq!(recording.set_descriptor_heaps(), Ok(()), "there is nothing to set");
    let refused = recording.split().1.descriptors(&[(&view).into()]).err();
    assert_eq!(refused, Some(Error::Device { name: "draw".into(), source }));
    recording.submit().unwrap();
    drop(view);
    end(gpu, &device);
}

/// Slots of a bindless array: made, replaced and dropped while the GPU is behind.
#[test]
fn bindless_slots_come_and_go() {
    let device = device(HEAPS, Lag::Submissions(3));
    let gpu = gpu(&device, small().descriptors(small().descriptors.static_resources(Some(64))));
    let out = out(&gpu);
    let views: Vec<_> = (0..16).map(|byte| view(&gpu, "slot", byte)).collect();
    let mut slots: Vec<_> = views
        .iter()
        .map(|view| {
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[view.into()]).name("slot")).unwrap()
        })
        .collect();
    for step in 0..200_usize {
        let (slot, shown) = (step * 7 % 16, step * 5 % 16);
        slots[slot] = gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&[(&views[shown]).into()]).name("slot"))
            .unwrap();
        let at = DescriptorAt::Heap { heap: slots[slot].heap(), index: slots[slot].first() };
        submit_read(&gpu, &out, at, State::NON_PIXEL_SHADER);
        if step % 20 == 0 {
            assert_eq!(usize::from(written(&gpu, &out)), shown);
        }
        gpu.begin_frame().unwrap().end().unwrap();
    }
    finish(&gpu);
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Static).used, 16);
    drop((slots, views, out));
    end(gpu, &device);
}

#[test]
fn a_table_of_many_is_one_row() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let out = out(&gpu);
    let views: Vec<_> = (0..100).map(|byte| view(&gpu, "slot", byte)).collect();
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds(&views)).name("many")).unwrap();
    drop(views);
    for byte in [0, 1, 50, 99] {
        assert_eq!(read(&gpu, &out, table.heap(), table.first() + u32::from(byte)), byte);
    }
    drop((table, out));
    end(gpu, &device);
}
