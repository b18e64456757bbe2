//! Programs without frames, which only submit and reclaim.

use std::time::{Duration, Instant};

use tenure_core::{BufferDesc, BufferViewDesc, Config, Queue, Subresource, TransientConfig, Usage};
use tenure_sim::{Device, DeviceConfig, Lag};

use super::{MIB, PROFILES, clear, fill, finish, gpu_with, sample, storage};
use test_random::Rng;

/// Checks that the quickest of the later rounds takes no longer than the quickest of the first, with a margin for
/// other load on the machine: against unbounded growth. Unit tests check the lengths of lists.
fn assert_steady(rounds: &[Duration]) {
    let (first, last) = (&rounds[..rounds.len() / 2], &rounds[rounds.len() / 2..]);
    let (first, last) = (first.iter().min().unwrap(), last.iter().min().unwrap());
    assert!(*last < *first * 20 + Duration::from_millis(20), "{rounds:?}");
}

/// The same resources again and again.
#[test]
fn equal_submissions_create_nothing_and_do_not_slow_down() {
    let mut first_frames = Vec::new();
    for &profile in PROFILES {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let gpu = gpu_with(&device, Config::default());
        let mut rounds = Vec::new();
        for _ in 0..8 {
            let start = Instant::now();
            for number in 0..500 {
                let mut list = gpu.record(Queue::Graphics, "list").unwrap();
                let buffer = list.transient_buffer(&storage(4096, "buffer")).unwrap();
                if number % 3 > 0 {
                    fill(&mut list, &buffer, 1);
                }
                drop(buffer);
                list.submit().unwrap();
                if number % 32 == 0 {
                    gpu.reclaim().unwrap();
                }
            }
            rounds.push(start.elapsed());
        }
        assert_steady(&rounds);
        assert_eq!((gpu.stats().transient.created, gpu.stats().transient.heaps), (1, 1), "{profile:?}");
        // No eviction is due in the first frame.
        let start = Instant::now();
        gpu.begin_frame().unwrap().end().unwrap();
        first_frames.push(start.elapsed());
        finish(&device, gpu);
    }
    // The machine may have other work during one of them, but not during each.
    assert!(first_frames.iter().min() < Some(&Duration::from_millis(200)), "{first_frames:?}");
}

/// Always new sizes, each with a reclaim: the cache stays within its capacity and latency, as with frames; with uploads,
/// readbacks, constants and views.
#[test]
fn unused_resources_are_evicted_by_reclaims() {
    for &profile in PROFILES {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let config = Config::from(TransientConfig::default().heap(MIB).cache(4).latency(3));
        let gpu = gpu_with(&device, config);
        let lasting = BufferDesc::new(1024, Usage::SHADER_READ | Usage::COPY_DST | Usage::COPY_SRC);
        let lasting = gpu.create_buffer(&lasting.name("lasting")).unwrap();
        let mut chance = Rng::new(3);
        let (mut rounds, mut reserved) = (Vec::new(), Vec::new());
        for round in 0..8 {
            let start = Instant::now();
            for number in 0..250 {
                gpu.upload(&lasting, 0, &[round; 1024]).unwrap();
                let mut list = gpu.record(Queue::Graphics, "list").unwrap();
                let size = 4 * (1 + u64::from(round) * 250 + number);
                let buffer = list.transient_buffer(&storage(size, "buffer")).unwrap();
                let texture =
                    list.transient_texture(&super::random_target(&device, &mut chance, "texture")).unwrap();
                if chance.below(2) == 0 {
                    fill(&mut list, &buffer, 1);
                    clear(&mut list, &texture, 2);
                    sample(&mut list, &texture, 2);
                }
                drop(gpu.create_buffer_view(&lasting, &BufferViewDesc::raw()).unwrap());
                list.split().1.constant_bytes(&[1; 1024]).unwrap();
                list.use_resource(&lasting, Subresource::All, tenure_core::State::NON_PIXEL_SHADER).unwrap();
                drop((buffer, texture));
                list.submit().unwrap();
                let ticket = gpu.read_back(&lasting, 0, 16);
                gpu.reclaim().unwrap();
                drop(ticket);
                let stats = gpu.stats();
                assert!(stats.transient.cached <= 8 + 2 * 4, "{profile:?}: {stats:?}");
                assert!(stats.transient.heaps <= 2, "{profile:?}: {stats:?}");
                assert!(stats.pending_releases < 32, "{profile:?}: {stats:?}");
            }
            rounds.push(start.elapsed());
            reserved.push((gpu.stats().reserved, gpu.stats().live_objects));
        }
        assert_steady(&rounds);
        // The number of heaps varies by one with timing.
        let is_bounded = |now: &(u64, u64)| now.0 <= reserved[1].0 + 2 * MIB && now.1 <= reserved[1].1 + 16;
        assert!(reserved.iter().all(is_bounded), "{profile:?}: {reserved:?}");
        drop(lasting);
        finish(&device, gpu);
    }
}

/// Reclaims between frames, and reclaims that only wait, do not evict resources earlier.
#[test]
fn reclaims_beside_frames_are_no_frames() {
    let device = Device::with_config(DeviceConfig::new(tenure_sim::Profile::DISCRETE).lag(Lag::None));
    let gpu = gpu_with(&device, Config::from(TransientConfig::default().cache(0).latency(4)));
    let frame = gpu.begin_frame().unwrap();
    let mut list = frame.record(Queue::Graphics, "list").unwrap();
    let buffer = list.transient_buffer(&storage(64, "buffer")).unwrap();
    fill(&mut list, &buffer, 1);
    drop(buffer);
    frame.submit(list).unwrap();
    frame.end().unwrap();
    for _ in 0..100 {
        gpu.reclaim().unwrap();
    }
    assert_eq!(gpu.stats().transient.cached, 1, "reclaims that wait");
    let frame = gpu.begin_frame().unwrap();
    for _ in 0..100 {
        frame.record(Queue::Graphics, "empty").unwrap().submit().unwrap();
        gpu.reclaim().unwrap();
    }
    frame.end().unwrap();
    assert_eq!(gpu.stats().transient.cached, 1, "reclaims within a frame");
    for _ in 0..100 {
        gpu.record(Queue::Graphics, "empty").unwrap().submit().unwrap();
        gpu.reclaim().unwrap();
    }
    assert_eq!(gpu.stats().transient.cached, 0, "reclaims in place of frames");
    finish(&device, gpu);
}
