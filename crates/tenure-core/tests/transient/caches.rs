//! What is kept from frame to frame, and for how long.

use tenure_core::Config;
use tenure_core::Queue;
use tenure_sim::Profile;

use crate::{MIB, PROFILES, clear, device, fill, finish, gpu, gpu_with, sample, storage, target};

#[test]
fn a_thousand_equal_frames_create_nothing_after_the_second() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let mut after_warm_up = 0;
        for number in 0..1000_u32 {
            let frame = gpu.begin_frame().unwrap();
            let mut list = frame.record(Queue::Graphics, "frame").unwrap();
            let colour = list.transient_texture(&target(64, "colour")).unwrap();
            clear(&mut list, &colour, 3);
            let tiles = list.transient_buffer(&storage(4096, "tiles")).unwrap();
            fill(&mut list, &tiles, 4);
            sample(&mut list, &colour, 3);
            drop(colour);
            let half = list.transient_texture(&target(32, "half")).unwrap();
            clear(&mut list, &half, 5);
            drop((half, tiles));
            frame.submit(list).unwrap();
            frame.end().unwrap();
            if number == 10 {
                after_warm_up = gpu.stats().objects_created();
            }
        }
        assert_eq!(gpu.stats().objects_created(), after_warm_up, "{profile:?}");
        finish(&device, gpu);
    }
}

/// Resources beyond the capacity go after the latency, oldest first; those within it stay.
#[test]
fn what_nobody_wants_goes_after_the_latency() {
    let device = device(Profile::DISCRETE);
    let config = Config { transient_cache: 4, transient_latency: 3, ..Config::default() };
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
fn heaps_that_nobody_used_go_after_the_latency_and_take_their_resources_along() {
    let device = device(Profile::DISCRETE);
    let config = Config { transient_heap: 0, transient_latency: 4, ..Config::default() };
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

/// A view is made once for each API resource that is kept.
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

/// What acquired bytes and never used them passes on whom they were from, even when it goes.
#[test]
fn an_unused_resource_that_goes_passes_on_what_was_before_it() {
    for &profile in PROFILES {
        if !crate::has_queue(&device(profile), tenure_core::device::QueueKind::Compute) {
            continue;
        }
        let options = tenure_sim::Options::new(profile).lag(tenure_sim::Lag::Submissions(1000));
        let device = tenure_sim::Device::with_options(options);
        let config =
            Config { transient_cache: 0, transient_latency: 1, frames_in_flight: 16, ..Config::default() };
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

/// What is kept for later frames is not the program's: it has what it acquired, until it drops that.
#[test]
fn only_what_is_acquired_is_a_live_object() {
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
