//! Which resources and heaps are kept from frame to frame, and for how long.

use tenure_core::Queue;
use tenure_core::{Config, FrameConfig, TransientConfig};
use tenure_sim::Profile;

use super::{MIB, PROFILES, clear, device, fill, finish, gpu, gpu_with, storage, target};

/// Resources beyond the capacity are evicted after the latency, oldest first; those within it are kept.
#[test]
fn unused_resources_are_evicted_after_the_latency() {
    let device = device(Profile::DISCRETE);
    let config = Config::from(TransientConfig::default().cache(4).latency(3));
    let gpu = gpu_with(&device, config);
    let frame_with = |sides: &[u32]| {
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "frame").unwrap();
        for side in sides {
            let texture = list.transient_texture(&target(*side, format!("{side}"))).unwrap();
            clear(&mut list, &texture, 1);
        }
        frame.submit(list).unwrap();
        frame.end().unwrap();
    };
    frame_with(&[16, 20, 24, 28, 32, 36, 40, 44]);
    assert_eq!(gpu.stats().transient.cached, 8);
    for _ in 0..2 {
        frame_with(&[44]);
        assert_eq!(gpu.stats().transient.cached, 8, "within the latency");
    }
    frame_with(&[44]);
    let stats = gpu.stats().transient;
    assert_eq!((stats.cached, stats.evicted), (4, 4), "{stats:?}");
    finish(&device, gpu);
}

#[test]
fn unused_heaps_and_their_resources_end_after_the_latency() {
    let device = device(Profile::DISCRETE);
    let config = Config::from(TransientConfig::default().heap(0).latency(4));
    let gpu = gpu_with(&device, config);
    let frame_of = |size: u64| {
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "frame").unwrap();
        if size > 0 {
            let buffer = list.transient_buffer(&storage(size, "buffer")).unwrap();
            fill(&mut list, &buffer, 1);
        }
        frame.submit(list).unwrap();
        frame.end().unwrap();
    };
    frame_of(3 * MIB);
    let stats = gpu.stats().transient;
    assert_eq!((stats.heaps, stats.reserved), (1, 3 * MIB), "heaps of exactly the request");
    frame_of(8 * MIB);
    assert_eq!(gpu.stats().transient.reserved, 11 * MIB);
    for _ in 0..12 {
        frame_of(8 * MIB);
    }
    let stats = gpu.stats();
    assert_eq!((stats.transient.heaps, stats.transient.reserved), (1, 8 * MIB));
    for _ in 0..12 {
        frame_of(0);
    }
    let stats = gpu.stats();
    assert_eq!((stats.transient.heaps, stats.transient.cached, stats.heaps), (0, 0, 0));
    finish(&device, gpu);
}

/// A view is created once for each cached API resource.
#[test]
fn views_are_kept_with_their_resources() {
    use tenure_core::TextureViewDesc;
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let mut made = Vec::new();
        for _ in 0..5 {
            let frame = gpu.begin_frame().unwrap();
            let mut list = frame.record(Queue::Graphics, "frame").unwrap();
            let texture = list.transient_texture(&target(64, "seen")).unwrap();
            clear(&mut list, &texture, 1);
            texture.view(&TextureViewDesc::sampled()).unwrap();
            texture.view(&TextureViewDesc::sampled()).unwrap();
            drop(texture);
            frame.submit(list).unwrap();
            frame.end().unwrap();
            made.push(gpu.stats().live_objects);
        }
        assert!(made.iter().all(|live| *live == made[0]), "{made:?}");
        finish(&device, gpu);
    }
}

/// A resource that acquired bytes and never used them hands on their previous owners, even when it is evicted.
#[test]
fn an_evicted_unused_resource_hands_on_its_previous_owners() {
    for &profile in PROFILES {
        if !super::has_queue(&device(profile), tenure_core::QueueKind::Compute) {
            continue;
        }
        let options = tenure_sim::DeviceConfig::new(profile).lag(tenure_sim::Lag::Submissions(1000));
        let device = tenure_sim::Device::with_config(options);
        let config = Config::default()
            .transient(TransientConfig::default().cache(0).latency(1))
            .frames(FrameConfig::default().in_flight(16));
        let gpu = gpu_with(&device, config);
        let frame = gpu.begin_frame().unwrap();
        let mut compute = frame.record(Queue::Compute, "compute").unwrap();
        let keeps_the_heap = compute.transient_buffer(&storage(64, "keeps the heap")).unwrap();
        let used = compute.transient_buffer(&storage(MIB, "used on another queue")).unwrap();
        fill(&mut compute, &used, 1);
        drop(used);
        frame.submit(compute).unwrap();
        let list = frame.record(Queue::Graphics, "never used").unwrap();
        drop(list.transient_buffer(&storage(2 * MIB, "never used")).unwrap());
        frame.submit(list).unwrap();
        frame.end().unwrap();
        gpu.begin_frame().unwrap().end().unwrap();
        assert!(gpu.stats().transient.evicted > 0);
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "graphics").unwrap();
        let next = list.transient_buffer(&storage(MIB / 2, "next")).unwrap();
        fill(&mut list, &next, 2);
        drop((next, keeps_the_heap));
        frame.submit(list).unwrap();
        frame.end().unwrap();
        finish(&device, gpu);
    }
}

/// Cached resources do not count as the program's objects: only acquired ones do, until they are dropped.
#[test]
fn only_acquired_resources_are_live_objects() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let lasting = gpu.create_buffer(&storage(64, "lasting")).unwrap();
        for _ in 0..3 {
            let frame = gpu.begin_frame().unwrap();
            let mut list = frame.record(Queue::Graphics, "frame").unwrap();
            let one = list.transient_texture(&target(64, "one")).unwrap();
            let other = list.transient_buffer(&storage(64, "other")).unwrap();
            clear(&mut list, &one, 1);
            one.view(&tenure_core::TextureViewDesc::sampled()).unwrap();
            assert_eq!(gpu.stats().live_objects, 1 + 2 + 1, "{profile:?}: two resources and a view");
            drop((one, other));
            assert_eq!(gpu.stats().live_objects, 1, "{profile:?}");
            frame.submit(list).unwrap();
            frame.end().unwrap();
            assert_eq!(gpu.stats().live_objects, 1, "{profile:?}");
        }
        assert_eq!(gpu.stats().transient.cached, 2);
        drop(lasting);
        finish(&device, gpu);
    }
}
