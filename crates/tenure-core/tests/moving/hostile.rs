//! Hostile programs: everything at once, in any order, while memory is short, calls fail, or the device is lost.

mod world;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{
    BufferViewDesc, CompactionBudget, CompactionConfig, Config, DescriptorTableDesc, Format, Gpu, PoolConfig,
    Queue, State, Subresource, TexelData, TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Paging, Profile};
use test_random::Rng;

use crate::buffers::{SOON, by_hand, end, end_frame};
use world::{ALL, KIB, MIB, World, mesh, paged};

const PROFILES: [Profile; 8] = [
    Profile::DISCRETE,
    Profile::VULKAN_NVIDIA,
    Profile::D3D12_TIER1,
    Profile::D3D12_ENHANCED,
    Profile::VULKAN_AMD_SMALL_BAR,
    Profile::D3D12_TIER2,
    Profile::D3D12_REBAR,
    Profile::VULKAN_MOBILE,
];

/// In all of them, contents are found at the queried places, each move is listed, and in the end nothing moves.
#[test]
fn hostile_programs_find_their_contents() {
    let mut moves = 0;
    for seed in 0..8 {
        let mut world = World::new(PROFILES[seed as usize % 8], seed, Config::default());
        (0..500).for_each(|_| world.step());
        moves += world.end();
    }
    assert!(moves > 300, "{moves}");
}

/// The same when calls fail.
#[test]
fn hostile_programs_lose_nothing_when_calls_fail() {
    for seed in 0..8 {
        let mut world = World::new(PROFILES[seed as usize % 8], seed + 1000, Config::default());
        for step in 0..500 {
            if step % 10 == 0 {
                let call = CallKind::ALL[world.rng.below(CallKind::ALL.len() as u64) as usize];
                let kind =
                    if world.rng.below(2) == 0 { FaultKind::OutOfMemory } else { FaultKind::OutOfHostMemory };
                let fault = Fault::nth(1 + world.rng.below(4), kind);
                let fault = if call.can_fail() { fault.of(call) } else { fault };
                world.gpu.device().faults().inject(fault);
            }
            world.step();
        }
        world.end();
    }
}

/// The device is lost in the middle of anything.
#[test]
fn the_device_is_lost_in_the_middle() {
    for seed in 0..8 {
        let mut world = World::new(PROFILES[seed as usize % 8], seed + 3000, Config::default());
        let at = world.rng.below(400);
        for step in 0..420 {
            if step == at {
                world
                    .gpu
                    .device()
                    .faults()
                    .inject(Fault::nth(1 + world.rng.below(10), FaultKind::Removed("test".into())));
            }
            world.step();
        }
        let World { gpu, live, shown, open, .. } = world;
        drop(open);
        let device = gpu.device().clone();
        gpu.shutdown();
        drop((live, shown));
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{seed}: {findings}"));
    }
}

/// Each call that may fail fails once, over a scenario in which things move.
fn scenario(profile: Profile, n: u64, kind: &FaultKind) -> bool {
    let options = DeviceConfig::new(profile).lag(Lag::Submissions(2)).paging(Paging::PCIE4_X16);
    let gpu = Gpu::new(Device::with_config(options), by_hand()).unwrap();
    let context = format!("{profile:?} {n} {kind:?}");
    let mut kept = Vec::new();
    for byte in 0..60_u8 {
        let buffer = gpu.create_buffer_with(&mesh(70 * KIB), &vec![byte; 70 << 10]).unwrap();
        let desc = TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::SHADER_READ).mips(2).movable();
        let texture = gpu.create_texture(&desc).unwrap();
        gpu.upload_texture(&texture, texture.info().region(0, 0), TexelData::new(&[byte; 128 * 128 * 4]))
            .unwrap();
        let views = (
            gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap(),
            gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap(),
        );
        let table = gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&[(&views.0).into(), (&views.1).into()]))
            .unwrap();
        kept.push((buffer, texture, views, table, byte));
    }
    gpu.flush_uploads().unwrap();
    kept.retain(|(.., byte)| byte % 8 == 0);
    (0..8).for_each(|_| end_frame(&gpu));
    gpu.device().faults().inject(Fault::nth(n, kind.clone()));
    for _ in 0..12 {
        let _maybe = gpu.compact(ALL);
        let _maybe = gpu.begin_frame().and_then(|frame| frame.end());
    }
    gpu.device().faults().clear();
    let is_lost = gpu.compact(ALL).is_err();
    if !is_lost {
        for _ in 0..80 {
            end_frame(&gpu);
            gpu.compact(ALL).unwrap();
        }
        assert!(kept.iter().any(|(buffer, ..)| buffer.moves() > 0), "{context}");
        for (buffer, texture, _, table, byte) in &kept {
            let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
            assert!(found.iter().all(|found| found == byte), "{context}");
            let found =
                gpu.read_back_texture(texture, texture.info().region(0, 0)).unwrap().wait(SOON).unwrap();
            assert!(found.iter().all(|found| found == byte), "{context}");
            let mut recording = gpu.record(Queue::Graphics, "look").unwrap();
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
            recording.use_resource(texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
            let (commands, scratch) = recording.split();
            commands.set_descriptor_heaps().unwrap();
            let row = scratch.table(table).unwrap();
            commands.raw().use_descriptor(
                tenure_sim::DescriptorAt::Heap { heap: row.heap(), index: row.first() },
                State::NON_PIXEL_SHADER,
            );
            recording.submit().unwrap();
        }
        assert!(gpu.device().run_until_idle());
        assert_eq!(gpu.device().take_hazards(), [], "{context}");
    }
    let device = gpu.device().clone();
    drop(kept);
    let report = gpu.shutdown();
    assert!(is_lost || report.is_clean(), "{context}: {report:?}");
    drop(gpu);
    device.check_clean().unwrap_or_else(|findings| panic!("{context}: {findings}"));
    is_lost
}

#[test]
fn each_call_fails_once() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for kind in [FaultKind::OutOfMemory, FaultKind::OutOfHostMemory, FaultKind::Removed("gone".into())] {
            for n in (1..70).step_by(6) {
                scenario(profile, n, &kind);
            }
        }
    }
}

/// Threads compact, take the list, and change the budget, while others work.
#[test]
fn threads_find_and_list_their_resources() {
    for seed in 0..2_u64 {
        let pools = PoolConfig::default().shards(if seed % 2 == 0 { 1 } else { 4 });
        let gpu = paged(PROFILES[seed as usize % 4], seed, Config::from(pools));
        let (running, listed) = (AtomicUsize::new(4), Mutex::new(HashMap::new()));
        let take = || {
            for moved in gpu.take_moved() {
                let mut listed = listed.lock().unwrap();
                let last = listed.entry(moved.id).or_insert(0_u64);
                *last = moved.moves.max(*last);
            }
        };
        let mut left = Vec::new();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let (gpu, running) = (&gpu, &running);
                    scope.spawn(move || {
                        let mut world = World {
                            gpu: gpu.clone(),
                            rng: Rng::new(seed * 10 + thread),
                            live: Vec::new(),
                            shown: Vec::new(),
                            open: Vec::new(),
                            listed: HashMap::new(),
                            context: String::new(),
                            shares: true,
                            is_dense: thread % 2 == 0,
                            byte: thread as u8,
                        };
                        for _ in 0..300 {
                            world.step();
                        }
                        running.fetch_sub(1, Ordering::Relaxed);
                        world.open.clear();
                        (world.live, world.shown)
                    })
                })
                .collect();
            for thread in 0..2_u64 {
                let (gpu, running, take) = (&gpu, &running, &take);
                scope.spawn(move || {
                    let mut rng = Rng::new(77 + thread);
                    while running.load(Ordering::Relaxed) > 0 {
                        let budget = CompactionBudget {
                            bytes: 1 << 20,
                            moves: 1 + rng.below(40) as usize,
                            pieces: 1000,
                        };
                        gpu.compact(budget).unwrap();
                        take();
                        let _too_many = gpu.begin_frame().and_then(|frame| frame.end());
                    }
                });
            }
            left.extend(workers.into_iter().map(|worker| worker.join().unwrap()));
        });
        gpu.set_memory_cap(0, None).unwrap();
        gpu.device().set_budget(0, 4096 * MIB).unwrap();
        (0..60).for_each(|_| end_frame(&gpu));
        take();
        let listed = listed.into_inner().unwrap();
        for known in left.iter().flat_map(|(live, _)| live) {
            let (id, moves) = known.look(&gpu, &seed.to_string());
            if moves > 0 {
                assert_eq!(listed.get(&id.unwrap()), Some(&moves), "{seed}");
            }
        }
        drop(left);
        assert!(gpu.device().run_until_idle());
        assert_eq!(gpu.device().take_hazards(), [], "{seed}");
        end(gpu);
    }
}

/// Shutdown while threads compact.
#[test]
fn shutdown_while_it_moves() {
    for round in 0..40 {
        let config = if round % 2 == 0 {
            by_hand()
        } else {
            Config::from(CompactionConfig::default().quiet_frames(0))
        };
        let gpu = Gpu::new(
            Device::with_config(DeviceConfig::new(PROFILES[round % 4]).lag(Lag::Submissions(2))),
            config,
        )
        .unwrap();
        let all: Vec<_> =
            (0..128).map(|_| gpu.create_buffer_with(&mesh(70 * KIB), &[7; 70 << 10]).unwrap()).collect();
        let kept: Vec<_> = all.into_iter().step_by(8).collect();
        (0..4).for_each(|_| end_frame(&gpu));
        let device = gpu.device().clone();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while gpu.compact(CompactionBudget { bytes: 1 << 30, moves: 2, pieces: 20 }).is_ok() {}
                });
            }
            std::thread::sleep(std::time::Duration::from_micros(100 * round as u64));
            gpu.shutdown();
        });
        drop(kept);
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{round} {report:?}");
        assert_eq!(gpu.memory().heaps[0].ours.pools, 0, "{round}");
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{round}: {findings}"));
    }
}
