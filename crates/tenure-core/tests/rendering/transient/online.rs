//! Resources acquired and dropped pass by pass.

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Queue, State, Subresource, TransientConfig};

use super::{
    MIB, PROFILES, clear, device, fill, finish, gpu, gpu_with, has_queue, read, sample, storage, target,
};
use test_random::Rng;

/// A chain: each target is read by the next pass only, so two offsets are enough for all.
#[test]
fn a_chain_of_targets_alternates_between_two_offsets() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        for number in 0..40_u8 {
            let frame = gpu.begin_frame().unwrap();
            let mut list = frame.record(Queue::Graphics, "chain").unwrap();
            let mut before = list.transient_texture(&target(256, "pass 0")).unwrap();
            clear(&mut list, &before, number);
            for pass in 1..10_u8 {
                let next = list.transient_texture(&target(256, format!("pass {pass}"))).unwrap();
                sample(&mut list, &before, number + pass - 1);
                clear(&mut list, &next, number + pass);
                before = next;
            }
            drop(before);
            frame.submit(list).unwrap();
            frame.end().unwrap();
        }
        let stats = gpu.stats().transient;
        assert_eq!((stats.heaps, stats.created, stats.acquired), (1, 2, 400), "{profile:?}: {stats:?}");
        assert_eq!(stats.footprint, stats.requested / 5);
        finish(&device, gpu);
    }
}

/// A constant of the frame is used before and after passes acquire their targets.
#[test]
fn constants_live_while_passes_acquire_resources() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
        let (commands, scratch) = recording.split();
        let camera = scratch.constants(&[7_u8; 64]).unwrap();
        for pass in 0..3_u8 {
            let target = scratch.transient_texture(&target(64, format!("pass {pass}"))).unwrap();
            let particles = scratch.transient_buffer(&storage(1024, "particles")).unwrap();
            commands.use_resource(&target, Subresource::All, State::RENDER_TARGET).unwrap();
            commands.raw().clear_texture(target.raw(), Subresource::All, &[pass]);
            commands.use_resource(&particles, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            commands.raw().use_buffer(particles.raw(), particles.offset(), 1024, State::UNORDERED_ACCESS);
            commands.raw().expect_bytes(camera.raw(), camera.offset(), &[7; 64]);
        }
        recording.submit().unwrap();
        assert_eq!(gpu.stats().transient.created, 2, "{profile:?}: each pass takes those of the one before");
        finish(&device, gpu);
    }
}

/// Buffers and textures of many sizes in random order, kept for random times, on random queues, with all checks of
/// the simulated device.
#[test]
fn random_frames_share_memory_without_conflicts() {
    for (seed, &profile) in (1..).zip(PROFILES) {
        let device = device(profile);
        let gpu = gpu_with(&device, Config::from(TransientConfig::default().heap(4 * MIB)));
        let mut chance = Rng::new(seed);
        for _ in 0..60 {
            let frame = gpu.begin_frame().unwrap();
            for _ in 0..=chance.below(3) {
                let is_async = has_queue(&device, tenure_core::QueueKind::Compute) && chance.below(3) == 0;
                let queue = if is_async { Queue::Compute } else { Queue::Graphics };
                let mut list = frame.record(queue, "random").unwrap();
                let (mut textures, mut buffers) = (Vec::new(), Vec::new());
                for step in 0..chance.below(24) {
                    let byte = step as u8;
                    match chance.below(4) {
                        0 if !is_async => {
                            let desc = super::random_target(&device, &mut chance, "t");
                            let texture = list.transient_texture(&desc).unwrap();
                            clear(&mut list, &texture, byte);
                            textures.push((texture, byte));
                        }
                        1 => {
                            let buffer =
                                list.transient_buffer(&storage(1 << (8 + chance.below(12)), "b")).unwrap();
                            fill(&mut list, &buffer, byte);
                            buffers.push((buffer, byte));
                        }
                        2 if !textures.is_empty() => {
                            let at = chance.below(textures.len() as u64) as usize;
                            let (texture, byte) = textures.swap_remove(at);
                            sample(&mut list, &texture, byte);
                        }
                        _ if !buffers.is_empty() => {
                            let at = chance.below(buffers.len() as u64) as usize;
                            let (buffer, byte) = buffers.swap_remove(at);
                            read(&mut list, &buffer, byte);
                        }
                        _ => {}
                    }
                }
                // Some recordings are never submitted: the bytes they acquired stay with the previous owners.
                if chance.below(8) == 0 {
                    drop(list);
                } else {
                    frame.submit(list).unwrap();
                }
            }
            frame.end().unwrap();
        }
        let stats = gpu.stats().transient;
        assert!(stats.created < stats.acquired, "{profile:?}: {stats:?}");
        finish(&device, gpu);
    }
}

/// A resource that is used in several recordings, one after the other.
#[test]
fn a_resource_can_be_used_in_recordings_submitted_later() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        for number in 0..8 {
            let mut first = gpu.record(Queue::Graphics, "first").unwrap();
            let shared = first.transient_buffer(&storage(MIB, "shared")).unwrap();
            let only_first = first.transient_buffer(&storage(MIB, "only first")).unwrap();
            fill(&mut first, &shared, number);
            fill(&mut first, &only_first, 99);
            drop(only_first);
            first.submit().unwrap();
            let mut second = gpu.record(Queue::Compute, "second").unwrap();
            let other = second.transient_buffer(&storage(MIB, "other")).unwrap();
            fill(&mut second, &other, 100);
            read(&mut second, &shared, number);
            drop(shared);
            read(&mut second, &other, 100);
            second.submit().unwrap();
        }
        assert_eq!(gpu.stats().transient.created, 2, "{profile:?}");
        finish(&device, gpu);
    }
}

/// Two recordings are open at once: neither acquires bytes that the other may still use.
#[test]
fn recordings_that_are_open_at_once_do_not_share() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        for _ in 0..4 {
            let mut one = gpu.record(Queue::Graphics, "one").unwrap();
            let mut two = gpu.record(Queue::Graphics, "two").unwrap();
            let first = one.transient_buffer(&storage(MIB, "first")).unwrap();
            fill(&mut one, &first, 1);
            drop(first);
            let second = two.transient_buffer(&storage(MIB, "second")).unwrap();
            fill(&mut two, &second, 2);
            read(&mut two, &second, 2);
            // The same in the other order.
            two.submit().unwrap();
            one.submit().unwrap();
        }
        assert_eq!(gpu.stats().transient.created, 2, "{profile:?}");
        finish(&device, gpu);
    }
}

/// First fit alone needs more memory than a plan; the second frame uses the plan of the first.
#[test]
fn the_next_frame_is_placed_by_the_plan_of_the_last() {
    let device = device(tenure_sim::Profile::DISCRETE);
    let gpu = gpu_with(&device, Config::from(TransientConfig::default().heap(16 * MIB)));
    let mut footprints = Vec::new();
    for _ in 0..6 {
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Compute, "frame").unwrap();
        // The small one is placed in the first free range, which is then too small for the large one.
        let early = list.transient_buffer(&storage(4 * MIB, "early")).unwrap();
        fill(&mut list, &early, 1);
        let long = list.transient_buffer(&storage(MIB, "long")).unwrap();
        fill(&mut list, &long, 2);
        read(&mut list, &early, 1);
        drop(early);
        let small = list.transient_buffer(&storage(MIB, "small")).unwrap();
        fill(&mut list, &small, 3);
        read(&mut list, &small, 3);
        let large = list.transient_buffer(&storage(4 * MIB, "large")).unwrap();
        drop(small);
        fill(&mut list, &large, 4);
        read(&mut list, &large, 4);
        read(&mut list, &long, 2);
        drop((large, long));
        frame.submit(list).unwrap();
        frame.end().unwrap();
        footprints.push(gpu.stats().transient.footprint / MIB);
    }
    assert_eq!(footprints, [9, 6, 6, 6, 6, 6]);
    let stats = gpu.stats().transient;
    assert!(stats.created <= 8 && stats.remade <= 4, "{stats:?}");
    finish(&device, gpu);
}

/// A resource outlives the discarded recording that acquired it; the previous owner of its bytes was used in that
/// recording alone. Its later use waits for everything that used the bytes before both, on any queue.
#[test]
fn resources_of_discarded_recordings_wait_for_previous_owners() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        // A heap in which all of them have room.
        drop(
            gpu.record(Queue::Graphics, "first")
                .unwrap()
                .transient_buffer(&storage(4 * MIB, "first"))
                .unwrap(),
        );
        for number in 0..8_u8 {
            let mut earlier = gpu.record(Queue::Compute, "earlier").unwrap();
            let submitted = earlier.transient_buffer(&storage(MIB / 4, "submitted")).unwrap();
            fill(&mut earlier, &submitted, number);
            drop(submitted);
            earlier.submit().unwrap();
            let mut discarded = gpu.record(Queue::Graphics, "discarded").unwrap();
            let between = discarded.transient_buffer(&storage(MIB, "between")).unwrap();
            fill(&mut discarded, &between, 98);
            drop(between);
            let kept = discarded.transient_buffer(&storage(MIB / 2, "kept")).unwrap();
            drop(discarded);
            let mut later = gpu.record(Queue::Graphics, "later").unwrap();
            fill(&mut later, &kept, number + 100);
            read(&mut later, &kept, number + 100);
            drop(kept);
            later.submit().unwrap();
        }
        assert_eq!(gpu.stats().transient.heaps_created, 1, "{profile:?}");
        finish(&device, gpu);
    }
}

/// Multisampled targets beside others: on Direct3D 12 they are aligned to 64 KiB or 4 MiB, in heaps that are aligned
/// to 4 MiB. With graphs and pass by pass, and with heaps of the default size and of exactly the requested one.
#[test]
fn multisampled_targets_are_placed_in_aligned_heaps() {
    for &profile in PROFILES {
        for transient_heap in [Config::default().transient.heap, 0] {
            let device = device(profile);
            let gpu = gpu_with(&device, Config::from(TransientConfig::default().heap(transient_heap)));
            for samples in super::sample_counts(&device) {
                for side in [16, 64, 1024] {
                    let desc = target(side, "multisampled").samples(samples);
                    let mut graph = Graph::new();
                    let (plain, multisampled) =
                        (graph.texture(target(side, "plain")), graph.texture(desc.clone()));
                    for (id, state) in [
                        (plain, State::RENDER_TARGET),
                        (plain, State::PIXEL_SHADER),
                        (multisampled, State::RENDER_TARGET),
                    ] {
                        let _ = graph.pass(Queue::Graphics, "pass").uses(id, state).id();
                    }
                    let frame = gpu.begin_frame().unwrap();
                    let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
                        match pass.index() {
                            0 => clear(list, resources.texture(plain)?, 1),
                            1 => sample(list, resources.texture(plain)?, 1),
                            _ => clear(list, resources.texture(multisampled)?, 2),
                        }
                        Ok(())
                    });
                    run.unwrap();
                    let mut list = frame.record(Queue::Graphics, "by hand").unwrap();
                    let texture = list.transient_texture(&desc).unwrap();
                    clear(&mut list, &texture, 3);
                    sample(&mut list, &texture, 3);
                    drop(texture);
                    frame.submit(list).unwrap();
                    frame.end().unwrap();
                }
            }
            finish(&device, gpu);
        }
    }
}
