//! Shutdown with descriptors alive, and the loss of the device.

use std::collections::BTreeSet;

use tenure_core::{
    BindingKind, DescriptorSetDesc, DescriptorTableDesc, DeviceError, Error, ObjectKind, Queue,
    SetDescriptor, SetLayoutDesc,
};
use tenure_sim::Lag;

use crate::{BOTH, binding, device, end, finish, gpu, sampler, small, view};

#[test]
fn leaked_descriptors_are_reported_by_name_and_released() {
    for behind in [false, true] {
        let device = device(BOTH, if behind { Lag::Submissions(3) } else { Lag::None });
        let gpu = gpu(&device, small());
        let shown = view(&gpu, "lights", 1);
        let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
        let table =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table")).unwrap();
        let layout = gpu
            .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("layout"))
            .unwrap();
        let set = gpu
            .create_descriptor_set(
                &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"),
            )
            .unwrap();
        let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
        recording.split().1.descriptors(&[(&shown).into()]).unwrap();
        recording.split().1.set(&layout, &[SetDescriptor::new(0, &shown)]).unwrap();
        let report = gpu.shutdown();
        drop(gpu);
        let leaks: Vec<_> = report.leaks.iter().map(|leak| (leak.name.as_str(), leak.kind)).collect();
        let expected = [
            ("layout", ObjectKind::SetLayout),
            ("lights", ObjectKind::Buffer),
            ("lights", ObjectKind::View),
            ("set", ObjectKind::DescriptorSet),
            ("smooth", ObjectKind::Sampler),
            ("table", ObjectKind::DescriptorTable),
        ];
        let mut sorted = leaks.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(report.open_recordings, ["open"]);
        // They can still be used.
        assert_eq!((table.len(), shown.name().as_str()), (1, "lights"));
        recording.submit().unwrap();
        drop((smooth, shown, layout));
        drop(set);
        drop(table);
        device.run_until_idle();
        device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
        let calls = device.calls();
        assert_eq!((calls.live_descriptor_heaps, calls.live_set_layouts, calls.live_set_pools), (0, 0, 0));
    }
}

/// Any of the handles may be dropped last.
#[test]
fn any_handle_may_be_the_last() {
    for last in 0..5 {
        let device = device(BOTH, Lag::None);
        let gpu = gpu(&device, small());
        let shown = view(&gpu, "lights", 1);
        let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
        let table =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table")).unwrap();
        let layout = gpu
            .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("layout"))
            .unwrap();
        let set = gpu
            .create_descriptor_set(
                &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"),
            )
            .unwrap();
        let mut handles: Vec<Box<dyn std::any::Any>> =
            vec![Box::new(shown), Box::new(smooth), Box::new(table), Box::new(layout), Box::new(set)];
        assert!(!gpu.shutdown().is_clean());
        drop(gpu);
        handles.rotate_left(last);
        handles.into_iter().for_each(drop);
        device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
        let calls = device.calls();
        assert_eq!((calls.live_descriptor_heaps, calls.live_set_layouts, calls.live_set_pools), (0, 0, 0));
    }
}

#[test]
fn after_a_loss_each_call_fails_and_everything_drains() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(&device, small());
    let shown = view(&gpu, "lights", 1);
    let buffer = crate::bytes(&gpu, "more lights", 1);
    let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table")).unwrap();
    let layout = gpu
        .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("layout"))
        .unwrap();
    let set = gpu
        .create_descriptor_set(&DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"))
        .unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.split().1.descriptors(&[(&shown).into()]).unwrap();
    recording.split().1.set(&layout, &[SetDescriptor::new(0, &shown)]).unwrap();
    recording.submit().unwrap();
    let mut open = gpu.record(Queue::Graphics, "open").unwrap();
    device.faults().remove("the driver was updated");
    let lost = |error: Option<Error>| {
        let error = error.expect("the device is lost");
        let Error::Device { source: DeviceError::Lost { reason }, .. } = &error else { panic!("{error}") };
        assert_eq!(reason, "the driver was updated");
    };
    let raw = tenure_core::BufferViewDesc::raw();
    lost(gpu.create_buffer_view(&buffer, &raw).err());
    lost(gpu.create_sampler(&sampler(2).name("another")).err());
    lost(gpu.create_sampler(&sampler(1).name("an equal one")).err());
    lost(gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table")).err());
    lost(
        gpu.create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("layout"))
            .err(),
    );
    lost(
        gpu.create_descriptor_set(
            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"),
        )
        .err(),
    );
    lost(open.split().1.descriptors(&[(&shown).into()]).err());
    lost(open.split().1.set(&layout, &[SetDescriptor::new(0, &shown)]).err());
    drop(open);
    drop((shown, smooth, table));
    lost(gpu.reclaim().err());
    let stats = gpu.stats();
    assert_eq!(stats.descriptors.views, 1, "the set keeps the view");
    drop((layout, set, buffer));
    lost(gpu.reclaim().err());
    assert_eq!(gpu.stats().pending_releases, 0);
    assert_eq!(gpu.stats().descriptors.set_layouts, 0);
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.leaks.is_empty(), "{report:?}");
    let calls = device.calls();
    assert_eq!((calls.live_descriptor_heaps, calls.live_set_layouts, calls.live_set_pools), (0, 0, 0));
}

#[test]
fn a_manager_without_descriptors_shuts_down_cleanly() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, small());
    finish(&gpu);
    gpu.trim();
    end(gpu, &device);
}

/// Resources and descriptors held by open recordings and the GPU are counted once, by holder.
#[test]
fn held_bytes_and_descriptors_add_up() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(&device, small());
    let layout = [binding(0, BindingKind::Buffer, 1)];
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&layout)).unwrap();
    let mut open = Vec::new();
    for round in 0..4 {
        let shown = view(&gpu, "shown", 1);
        let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()])).unwrap();
        let binds = [SetDescriptor::new(0, &shown)];
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
        recording.split().1.set(&layout, &binds).unwrap();
        if round % 2 == 0 {
            recording.submit().unwrap();
        } else {
            open.push(recording);
        }
        drop((set, table, shown));
        gpu.reclaim().unwrap();
        let (stats, held) = (gpu.stats(), gpu.report().held);
        assert_eq!(held.iter().map(|held| held.objects).sum::<u64>(), stats.pending_releases, "{held:?}");
        assert_eq!(held.iter().map(|held| held.bytes).sum::<u64>(), stats.pending_bytes, "{held:?}");
        let holders: BTreeSet<_> = held.iter().map(|held| (held.queue, held.serial)).collect();
        assert_eq!(holders.len(), held.len(), "{held:?}");
    }
    drop((open, layout));
    finish(&gpu);
    assert_eq!(gpu.stats().pending_releases, 0);
    end(gpu, &device);
}
