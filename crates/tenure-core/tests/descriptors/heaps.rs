//! Heaps: their sizes, creation, growth and destruction.

use std::sync::Barrier;

use tenure_core::device::{DescriptorLimits, prelude::*};
use tenure_core::{
    Config, ConfigRule, DescriptorConfig, DescriptorKind, DescriptorPart, DescriptorTableDesc, Error, Format,
    FrameConfig, Gpu, Queue, TextureDesc, TextureViewDesc, Usage, View,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag};

use crate::{BOTH, HEAPS, SETS, bytes, device, end, finish, gpu, heap, small, view};

fn heaps_made(device: &Device) -> u64 {
    device.calls().made(CallKind::CreateDescriptorHeap)
}

#[test]
fn heaps_are_created_on_first_use() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    assert_eq!(heaps_made(&device), 0);
    let view = view(&gpu, "view", 1);
    assert_eq!(heaps_made(&device), 1, "that of views");
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table")).unwrap();
    assert_eq!(heaps_made(&device), 2, "that which shaders see");
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.set_descriptor_heaps().unwrap();
    assert_eq!(heaps_made(&device), 3, "samplers, too, because both are set at once");
    recording.set_descriptor_heaps().unwrap();
    recording.submit().unwrap();
    assert_eq!(heaps_made(&device), 3);
    assert_eq!(gpu.stats().descriptors.objects_created, 3);
    drop((view, table));
    end(gpu, &device);
}

/// On Vulkan, heaps are not set on lists: heaps without descriptors are not created.
#[test]
fn heaps_without_descriptors_are_not_created_on_vulkan() {
    for profile in [BOTH, SETS] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        recording.set_descriptor_heaps().unwrap();
        assert_eq!(heaps_made(&device), 0);
        let view = view(&gpu, "view", 1);
        assert_eq!(heaps_made(&device), 1, "that of views");
        let row = recording.split().1.descriptors(&[(&view).into()]);
        assert_eq!(row.is_ok(), profile == BOTH);
        recording.set_descriptor_heaps().unwrap();
        recording.submit().unwrap();
        assert_eq!(heaps_made(&device), if profile == BOTH { 2 } else { 1 }, "none for samplers");
        let stats = gpu.stats().descriptors.heaps;
        assert!(stats.iter().all(|heap| heap.kind == DescriptorKind::Resource), "{stats:?}");
        drop(view);
        end(gpu, &device);
    }
}

/// If several threads need a heap at once, one creates it, and all use it.
#[test]
fn threads_that_come_first_make_one_heap() {
    const THREADS: usize = 8;
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let view = view(&gpu, "view", 1);
        let before = heaps_made(&device);
        let together = Barrier::new(THREADS);
        let tables: Vec<_> = std::thread::scope(|scope| {
            let thread = || {
                together.wait();
                gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table"))
                    .unwrap()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(thread)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(heaps_made(&device), before + 1);
        assert!(tables.iter().all(|table| std::ptr::eq(table.heap(), tables[0].heap())));
        let mut places: Vec<_> = tables.iter().map(tenure_core::DescriptorTable::first).collect();
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7]);
        drop((tables, view));
        end(gpu, &device);
    }
}

/// A request whose heap is refused returns an error with its name, and the next one creates the heap.
#[test]
fn a_heap_that_was_refused_is_made_later() {
    for (profile, refusals) in [(HEAPS, 1), (HEAPS, 4), (BOTH, 1), (BOTH, 4)] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let view = view(&gpu, "view", 1);
        let heaps = |gpu: &Gpu<Device>| gpu.stats().descriptors.heaps.len();
        let before = (heaps_made(&device), heaps(&gpu));
        let fault = || Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::CreateDescriptorHeap);
        for _ in 0..refusals {
            device.faults().inject(fault().onwards());
            let refused =
                gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("grass")).err();
            let Some(Error::Device { name, source }) = refused else { panic!("{refused:?}") };
            assert!(name.as_str() == "grass" && source.is_shortage(), "{name}: {source}");
            device.faults().clear();
        }
        let failed = device.calls().failed(CallKind::CreateDescriptorHeap);
        assert_eq!((failed, heaps(&gpu)), (2 * refusals, before.1), "each asks twice, and nothing is there");
        drop(
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("grass")).unwrap(),
        );
        assert_eq!(heaps_made(&device) - before.0, failed + 1);
        assert_eq!(heaps(&gpu), before.1 + 2, "both parts of one heap");
        drop(view);
        end(gpu, &device);
    }
}

#[test]
fn cpu_heaps_grow_and_are_destroyed_when_idle() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(
        &device,
        Config::default()
            .descriptors(DescriptorConfig::default().block(16))
            .frames(FrameConfig::default().idle(4)),
    );
    let buffer = bytes(&gpu, "shown", 1);
    let make = || gpu.create_buffer_view(&buffer, &tenure_core::BufferViewDesc::raw()).unwrap();
    let mut views: Vec<View<Device>> = (0..100).map(|_| make()).collect();
    assert_eq!(heaps_made(&device), 7);
    let stats = heap(&gpu, DescriptorKind::Resource, DescriptorPart::Cpu);
    assert_eq!((stats.capacity, stats.used, stats.peak, stats.waiting), (112, 100, 100, 0));
    assert_eq!(gpu.stats().descriptors.views, 100);
    // Descriptors of the first heap stay, and the other heaps become empty.
    views.truncate(10);
    let stats = heap(&gpu, DescriptorKind::Resource, DescriptorPart::Cpu);
    assert_eq!((stats.used, stats.waiting), (100, 90));
    for _ in 0..4 {
        gpu.begin_frame().unwrap().end().unwrap();
        assert_eq!(device.calls().live_descriptor_heaps, 7);
    }
    for _ in 0..3 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert_eq!(device.calls().live_descriptor_heaps, 1);
    assert_eq!(heap(&gpu, DescriptorKind::Resource, DescriptorPart::Cpu).capacity, 16);
    // Heaps are created again when needed.
    views.extend((0..20).map(|_| make()));
    assert_eq!(device.calls().live_descriptor_heaps, 2);
    views.truncate(1);
    finish(&gpu);
    gpu.trim();
    assert_eq!(device.calls().live_descriptor_heaps, 1);
    drop((views, buffer));
    end(gpu, &device);
}

#[test]
fn each_kind_has_heaps_of_its_own() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let target = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let color = gpu.create_texture(&TextureDesc::d2(8, 8, Format::Rgba8Unorm, target)).unwrap();
    let depth = TextureDesc::d2(8, 8, Format::D32Float, Usage::DEPTH_STENCIL);
    let depth = gpu.create_texture(&depth).unwrap();
    let views = [
        gpu.create_texture_view(&color, &TextureViewDesc::sampled()).unwrap(),
        gpu.create_texture_view(&color, &TextureViewDesc::render_target()).unwrap(),
        gpu.create_texture_view(&depth, &TextureViewDesc::depth_stencil()).unwrap(),
    ];
    let smooth = gpu.create_sampler(&crate::sampler(1).name("smooth")).unwrap();
    for kind in DescriptorKind::ALL {
        assert_eq!(heap(&gpu, kind, DescriptorPart::Cpu).used, 1, "{kind:?}");
    }
    assert_eq!(heaps_made(&device), 4);
    assert_eq!(views[1].kind(), DescriptorKind::RenderTarget);
    drop((color, depth, views, smooth));
    end(gpu, &device);
}

#[test]
fn parts_are_as_large_as_configured() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, small());
    let view = view(&gpu, "view", 1);
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table")).unwrap();
    assert_eq!(heap(&gpu, DescriptorKind::Resource, DescriptorPart::Static).capacity, 16);
    assert_eq!(heap(&gpu, DescriptorKind::Resource, DescriptorPart::Dynamic).capacity, 64);
    drop((table, view));
    end(gpu, &device);
}

fn limited(visible_resources: u32, visible_samplers: u32) -> Device {
    let limits = device(BOTH, Lag::None).properties().descriptors;
    let limits = DescriptorLimits { visible_resources, visible_samplers, ..limits };
    Device::with_config(DeviceConfig::new(BOTH).descriptors(limits))
}

/// Requests beyond the total are refused before anything is created, with the numbers.
#[test]
fn parts_beyond_the_device_are_refused() {
    type Set = fn(&mut Config, u32);
    let fields: [(&str, u32, Set); 4] = [
        ("descriptors.static_resources", 1000, |config, value| {
            config.descriptors.static_resources = Some(value)
        }),
        ("descriptors.dynamic_resources", 1000, |config, value| {
            config.descriptors.dynamic_resources = Some(value)
        }),
        ("descriptors.static_samplers", 200, |config, value| {
            config.descriptors.static_samplers = Some(value)
        }),
        ("descriptors.dynamic_samplers", 200, |config, value| {
            config.descriptors.dynamic_samplers = Some(value)
        }),
    ];
    for (field, most, set) in fields {
        for value in [1, most] {
            let mut config = Config::default();
            set(&mut config, value);
            assert!(Gpu::new(limited(1000, 200), config).is_ok(), "{field} = {value}");
        }
        for value in [0, most + 1, u32::MAX] {
            let mut config = Config::default();
            set(&mut config, value);
            let Some(Error::Config(error)) = Gpu::new(limited(1000, 200), config).err() else {
                panic!("{field}")
            };
            assert_eq!((error.field, error.value), (field, value.into()));
            let tier = if most == 1000 { 1_000_000 } else { 2048 };
            let rule = match value {
                0 | u32::MAX => ConfigRule::Range { min: 1, max: tier },
                _ => ConfigRule::Available { available: most.into() },
            };
            assert_eq!(error.rule, rule);
        }
    }
    // The sum of both parts exceeds the limit, and a device has no descriptor heaps.
    let both =
        Config::from(DescriptorConfig::default().static_samplers(Some(150)).dynamic_samplers(Some(51)));
    let Some(Error::Config(error)) = Gpu::new(limited(1000, 200), both).err() else { panic!() };
    assert_eq!((error.field, error.value), ("descriptors.dynamic_samplers", 51));
    assert_eq!(error.rule, ConfigRule::Available { available: 50 });
    let some = Config::from(DescriptorConfig::default().static_resources(Some(1)));
    let Some(Error::Config(error)) = Gpu::new(device(SETS, Lag::None), some).err() else { panic!() };
    assert_eq!(
        (error.field, error.rule),
        ("descriptors.static_resources", ConfigRule::Available { available: 0 })
    );
    assert_eq!(
        error.to_string(),
        "configuration: descriptors.static_resources = 1 descriptors: the device has 0 left for this part of the heap"
    );
}

#[test]
fn defaults_fit_into_small_devices() {
    let device = limited(3, 2);
    let gpu = Gpu::new(device.clone(), Config::from(DescriptorConfig::default().chunk(16))).unwrap();
    let view = view(&gpu, "view", 1);
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("table")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.set_descriptor_heaps().unwrap();
    let two = recording.split().1.descriptors(&[(&view).into(), (&view).into()]).unwrap();
    assert_eq!((table.first(), two.first(), two.len()), (0, 1, 2));
    let refused =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("second")).err();
    assert!(matches!(refused, Some(Error::NoDescriptors(_))), "{refused:?}");
    recording.submit().unwrap();
    drop((table, view));
    end(gpu, &device);
}
