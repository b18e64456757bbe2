//! The manager's information about memory: budgets, headroom, pressure.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tenure_core::device::prelude::*;
use tenure_core::{
    AllocationFlags, Buffer, BufferDesc, Config, Error, Format, Gpu, HeapMemory, LocationKind, MemoryUse,
    Pressure, PressureChange, PressureConfig, Queue, Report, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Profile};
use test_random::Rng;

const MIB: u64 = 1 << 20;

fn gpu(profile: Profile) -> Gpu<Device> {
    Gpu::new(Device::new(profile), Config::default()).unwrap()
}

fn local(gpu: &Gpu<Device>) -> HeapMemory {
    gpu.memory().device_local().unwrap().clone()
}

fn local_index(gpu: &Gpu<Device>) -> usize {
    let heaps = gpu.memory().heaps;
    let largest = heaps.iter().filter(|heap| heap.device_local).map(|heap| heap.size).max().unwrap();
    heaps.iter().position(|heap| heap.device_local && heap.size == largest).unwrap()
}

/// Bytes of a heap, as the device counts them.
fn used(gpu: &Gpu<Device>, heap: usize) -> u64 {
    gpu.device().budget().unwrap()[heap].usage
}

fn asked(gpu: &Gpu<Device>) -> u64 {
    gpu.device().calls().made(CallKind::Budget)
}

fn mesh(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ)
}

fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

/// The rule for programs: a program that loads only within the headroom never exceeds a budget.
#[test]
fn loads_within_the_headroom_never_exceed_a_budget() {
    for &profile in Profile::ALL {
        for seed in 0..4 {
            load_within_headroom(profile, seed);
        }
    }
}

fn load_within_headroom(profile: Profile, seed: u64) {
    let (gpu, mut rng) = (gpu(profile), Rng::new(seed));
    let heap = local_index(&gpu);
    let (mut buffers, mut textures, mut loads) = (Vec::new(), Vec::new(), 0);
    let mut most = 0.0_f64;
    for _ in 0..40 {
        // The operating system lowers or raises the budget.
        let budget = used(&gpu, heap).max(24 * MIB) + rng.below(40 * MIB);
        gpu.device().set_budget(heap, budget).unwrap();
        let frame = gpu.begin_frame().unwrap();
        for _ in 0..rng.below(12) {
            let now = local(&gpu);
            let (size, headroom) = (1 + rng.below(6 * MIB), now.headroom.unwrap());
            if headroom < size + MIB {
                continue;
            }
            if rng.below(2) == 0 {
                buffers.push(gpu.create_buffer(&mesh(size)).unwrap());
            } else {
                let side = ((size / 4) as f64).sqrt() as u32;
                let desc = TextureDesc::d2(side.max(1), side.max(1), Format::Rgba8Unorm, Usage::SHADER_READ);
                textures.push(gpu.create_texture(&desc).unwrap());
            }
            loads += 1;
            let now = local(&gpu);
            assert!(now.usage <= budget, "{} seed {seed}: {now:?}", profile.name());
            most = most.max(now.usage as f64 / budget as f64);
        }
        for _ in 0..rng.below(4) {
            if !buffers.is_empty() {
                buffers.swap_remove(rng.below(buffers.len() as u64) as usize);
            }
            textures.pop();
        }
        frame.submit(frame.record(Queue::Graphics, "frame").unwrap()).unwrap();
        frame.end().unwrap();
    }
    assert!(loads > 40 && most > 0.8, "{}: {loads} loads, up to {most:.2} of the budget", profile.name());
}

/// And once more when it reports a change of the budget, as Windows does.
#[test]
fn the_operating_system_is_asked_once_a_frame() {
    for (profile, most) in [(Profile::VULKAN_NVIDIA, 1), (Profile::DISCRETE, 2)] {
        let gpu = gpu(profile);
        gpu.on_pressure(|_, _| ());
        end_frame(&gpu);
        let mut kept = Vec::new();
        for _ in 0..50 {
            let before = asked(&gpu);
            let frame = gpu.begin_frame().unwrap();
            for _ in 0..20 {
                kept.push(gpu.create_buffer(&mesh(3 * MIB)).unwrap());
                let _memory = (gpu.memory(), gpu.stats(), gpu.report());
            }
            assert!(asked(&gpu) - before <= 1, "{} questions", asked(&gpu) - before);
            // Beyond the budget every request queries it.
            gpu.device().set_budget(0, gpu.stats().reserved / 2).unwrap();
            kept.push(gpu.create_buffer(&mesh(3 * MIB)).unwrap());
            frame.end().unwrap();
            assert!(asked(&gpu) - before <= most, "{} questions", asked(&gpu) - before);
            kept.drain(..15.min(kept.len()));
        }
        assert!(gpu.device().calls().made(CallKind::Budget) > 40);
    }
}

/// Without a listener there are no budget queries.
#[test]
fn the_budget_is_queried_only_for_listeners() {
    let gpu = gpu(Profile::DISCRETE);
    let buffer = gpu.create_buffer(&mesh(MIB)).unwrap();
    let before = asked(&gpu);
    for _ in 0..200 {
        end_frame(&gpu);
    }
    assert_eq!(asked(&gpu), before);
    gpu.on_pressure(|_, _| ());
    for _ in 0..200 {
        end_frame(&gpu);
    }
    assert_eq!(asked(&gpu) - before, 200 / u64::from(PressureConfig::default().interval));
    drop(buffer);
}

#[test]
fn released_memory_counts_at_once() {
    let gpu = gpu(Profile::DISCRETE);
    gpu.device().set_budget(0, 64 * MIB).unwrap();
    end_frame(&gpu);
    let frame = gpu.begin_frame().unwrap();
    assert_eq!(local(&gpu).headroom, Some(64 * MIB));
    let large = gpu.create_buffer(&mesh(40 * MIB)).unwrap();
    assert_eq!(local(&gpu).headroom, Some(24 * MIB));
    drop(large);
    gpu.reclaim().unwrap();
    assert_eq!(local(&gpu).headroom, Some(64 * MIB));
    frame.end().unwrap();
}

#[test]
fn pending_idle_and_used_memory_are_distinguished() {
    let gpu = gpu(Profile::DISCRETE);
    let buffer = gpu.create_buffer(&mesh(MIB)).unwrap();
    let list = gpu.record(Queue::Graphics, "a list that may use it").unwrap();
    let _offset = buffer.offset();
    let HeapMemory { used, idle, .. } = local(&gpu);
    assert_eq!((used, idle, gpu.memory().pending_bytes), (MIB, 0, 0));
    drop(buffer);
    let HeapMemory { used, idle, .. } = local(&gpu);
    assert_eq!((used, idle, gpu.memory().pending_bytes), (MIB, 0, MIB));
    drop(list);
    gpu.reclaim().unwrap();
    let HeapMemory { used, idle, ours, .. } = local(&gpu);
    assert_eq!((used, idle, gpu.memory().pending_bytes), (0, ours.pools, 0));
    assert!(idle >= MIB);
}

#[test]
fn an_unknown_budget_is_none() {
    let gpu = gpu(Profile::DISCRETE);
    gpu.device().set_budget(0, 0).unwrap();
    let _buffer = gpu.create_buffer(&mesh(MIB)).unwrap();
    let heap = local(&gpu);
    assert_eq!((heap.budget, heap.headroom, heap.pressure), (None, None, Pressure::Normal));
    assert!(heap.usage >= MIB && heap.usage == heap.ours.total());
}

/// A window into the card's memory is no pressure on the card.
#[test]
fn windows_into_the_cards_memory_are_no_pressure_on_it() {
    let gpu = gpu(Profile::VULKAN_NVIDIA);
    let memory = gpu.memory();
    let window = memory.heaps.iter().position(|heap| heap.is_window).unwrap();
    assert!(!memory.device_local().unwrap().is_window);
    gpu.device().set_budget(window, 1).unwrap();
    let desc = BufferDesc::new(64, Usage::CONSTANT).memory(MemoryUse::GpuUpload);
    let _small = gpu.create_buffer(&desc).unwrap();
    assert_eq!(gpu.memory().pressure(), Pressure::Normal);
}

type Changes = Arc<Mutex<Vec<PressureChange>>>;

/// Collects the changes of level, and calls the manager in the listener.
fn listen(gpu: &Gpu<Device>) -> Changes {
    let changes = Changes::default();
    let to = changes.clone();
    gpu.on_pressure(move |gpu, change| {
        let buffer = gpu.create_buffer(&mesh(1000)).unwrap();
        let memory = gpu.memory();
        assert_eq!(memory.heaps[change.heap].device_local, change.device_local);
        drop((buffer, gpu.stats(), gpu.report()));
        gpu.trim();
        gpu.reclaim().unwrap();
        gpu.begin_frame().unwrap().end().unwrap();
        to.lock().unwrap().push(*change);
    });
    changes
}

fn levels(changes: &Changes) -> Vec<(Pressure, Pressure)> {
    changes.lock().unwrap().drain(..).map(|change| (change.before, change.now)).collect()
}

#[test]
fn changes_of_level_are_reported_once_and_may_call_the_manager() {
    use Pressure::{Critical, High, Normal};
    let gpu = gpu(Profile::DISCRETE);
    let changes = listen(&gpu);
    let level = gpu.create_buffer(&mesh(40 * MIB)).unwrap();
    let granted = |percent: u64| gpu.device().set_budget(0, 40 * MIB * 100 / percent).unwrap();
    let frames = || (0..8).for_each(|_| end_frame(&gpu));
    frames();
    assert_eq!(levels(&changes), []);
    for (percent, told) in [
        (70, vec![]),
        (88, vec![(Normal, High)]),
        (83, vec![]),
        (99, vec![(High, Critical)]),
        (92, vec![]),
        (88, vec![(Critical, High)]),
        (150, vec![(High, Critical)]),
        (50, vec![(Critical, Normal)]),
    ] {
        granted(percent);
        frames();
        assert_eq!(levels(&changes), told, "{percent} %");
        assert_eq!(gpu.memory().pressure(), told.last().map_or(gpu.memory().pressure(), |(_, now)| *now));
    }
    granted(150);
    frames();
    drop(level);
    end_frame(&gpu);
    assert_eq!(
        levels(&changes),
        [(Normal, Critical), (Critical, Normal)],
        "what the program does counts at once"
    );
    assert!(gpu.shutdown().is_clean());
}

#[test]
fn reclaims_report_changes_in_programs_without_frames() {
    let gpu = gpu(Profile::DISCRETE);
    let told = Arc::new(AtomicU64::new(0));
    let count = told.clone();
    gpu.on_pressure(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let _level = gpu.create_buffer(&mesh(40 * MIB)).unwrap();
    gpu.device().set_budget(0, MIB).unwrap();
    (0..8).for_each(|_| gpu.reclaim().unwrap());
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn a_listener_that_panics_leaves_the_frame_ended() {
    let config = Config::from(PressureConfig::default().interval(1));
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), config).unwrap();
    gpu.on_pressure(|_, _| panic!("the streaming system is broken"));
    let _level = gpu.create_buffer(&mesh(40 * MIB)).unwrap();
    gpu.device().set_budget(0, MIB).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| frame.end()));
    assert!(ended.is_err());
    // Dropping a frame ends it, too, and must not panic.
    gpu.device().set_budget(0, 400 * MIB).unwrap();
    (0..8).for_each(|_| drop(gpu.begin_frame().unwrap()));
    assert_eq!(gpu.memory().pressure(), Pressure::Normal);
    end_frame(&gpu);
    assert!(gpu.shutdown().leaks.len() == 1);
}

/// After the shutdown the listener is not called, and its captured values are dropped.
#[test]
fn a_shutdown_ends_the_listener() {
    let gpu = gpu(Profile::DISCRETE);
    let captured = Arc::new(());
    let held = captured.clone();
    gpu.on_pressure(move |_, _| drop(held.clone()));
    assert_eq!(Arc::strong_count(&captured), 2);
    gpu.shutdown();
    assert_eq!(Arc::strong_count(&captured), 1);
}

/// The final usage is never underestimated, even if threads allocate and free during a query.
#[test]
fn the_usage_is_not_underestimated_under_concurrency() {
    let gpu = gpu(Profile::DISCRETE);
    end_frame(&gpu);
    let work = |seed: u64| {
        let (mut rng, mut kept): (_, Vec<Buffer<Device>>) = (Rng::new(seed), Vec::new());
        for step in 0..400 {
            kept.push(gpu.create_buffer(&mesh(16 * MIB + 1 + rng.below(MIB))).unwrap());
            if kept.len() > 5 {
                kept.drain(..4);
            }
            if step % 16 == 0 {
                gpu.trim();
            }
            let heap = local(&gpu);
            assert!(heap.headroom.is_some());
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|seed| drop(scope.spawn(move || work(seed))));
        for _ in 0..300 {
            end_frame(&gpu);
        }
    });
    gpu.reclaim().unwrap();
    assert!(local(&gpu).usage >= used(&gpu, 0));
    end_frame(&gpu);
    assert_eq!(local(&gpu).usage, used(&gpu, 0));
}

/// A refused request does not reduce the headroom.
#[test]
fn a_refusal_leaves_the_headroom() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).heap_sizes([32 * MIB, 32 * MIB]));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let before = local(&gpu);
    assert!(matches!(gpu.create_buffer(&mesh(40 * MIB)), Err(Error::OutOfMemory(_))));
    assert_eq!(local(&gpu), before);
}

/// Every live resource reports its place, so that the contents of a block are known.
#[test]
fn every_resource_has_its_location() {
    for &profile in Profile::ALL {
        let gpu = gpu(profile);
        let mut rng = Rng::new(5);
        let mut kept = Vec::new();
        for _ in 0..300 {
            let usages = [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS];
            let memories = [MemoryUse::GpuOnly, MemoryUse::GpuOnly, MemoryUse::Upload];
            let desc = BufferDesc::new(1 + rng.below(200_000), usages[rng.below(3) as usize]);
            let memory = crate::possible(&gpu, desc.usage, memories[rng.below(3) as usize]);
            let desc = desc.memory(memory).tag(["terrain", "ui", ""][rng.below(3) as usize]);
            kept.push(gpu.create_buffer(&desc).unwrap());
            if rng.below(3) == 0 {
                kept.swap_remove(rng.below(kept.len() as u64) as usize);
            }
        }
        let texture = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ).tag("terrain");
        let texture = gpu.create_texture(&texture).unwrap();
        let large = gpu.create_buffer(&mesh(80 * MIB).tag("level")).unwrap();

        let report = gpu.report();
        assert_eq!(report.objects.len(), kept.len() + 2);
        for object in &report.objects {
            let memory_type = usize::from(object.memory_type.unwrap());
            let found = &gpu.device().properties().memory_types[memory_type];
            assert_eq!(object.heap, Some(usize::from(found.heap)), "{object:?}");
            if object.location == Some(LocationKind::Committed) {
                assert_eq!((object.pool, object.block, object.offset), (None, None, Some(0)), "{object:?}");
                continue;
            }
            let is_pool = |pool: &&tenure_core::PoolReport| {
                Some(pool.stats.kind) == object.pool && Some(pool.stats.memory_type) == object.memory_type
            };
            let blocks = report.pools.iter().filter(is_pool).flat_map(|pool| &pool.blocks);
            let end = object.offset.unwrap() + object.bytes;
            let fits =
                |block: &tenure_core::BlockReport| Some(block.number) == object.block && end <= block.size;
            assert!(blocks.into_iter().any(fits), "{}: {object:?} in {:?}", profile.name(), report.pools);
        }
        check_tags(&report);
        drop((texture, large));
    }
}

fn check_tags(report: &Report) {
    let tags: Vec<&str> = report.tags.iter().map(|tag| tag.tag.as_str()).collect();
    assert_eq!(tags, ["", "level", "terrain", "ui"]);
    for tag in &report.tags {
        let of_tag = || report.objects.iter().filter(|object| object.tag == tag.tag);
        assert_eq!(tag.objects, of_tag().count() as u64);
        assert_eq!(tag.bytes, of_tag().map(|object| object.bytes).sum::<u64>());
    }
    assert_eq!(report.tags.iter().map(|tag| tag.objects).sum::<u64>(), report.stats.live_objects);
}

/// The predicted cost of a request is its actual cost: bytes from the driver, memory type and placement.
#[test]
fn predicted_costs_of_requests_are_exact() {
    for &profile in Profile::ALL {
        for seed in 0..3 {
            check_costs(profile, seed);
        }
    }
}

fn check_costs(profile: Profile, seed: u64) {
    let (gpu, mut rng) = (gpu(profile), Rng::new(seed));
    let (mut buffers, mut textures, mut free) = (Vec::new(), Vec::new(), 0);
    for step in 0..150 {
        let before = gpu.stats();
        let (cost, location) = if rng.below(3) > 0 {
            let usages = [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS, Usage::CONSTANT];
            let memories = [MemoryUse::GpuOnly, MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::GpuUpload];
            let scale = 6 + rng.below(19);
            let size = 1 + rng.below(1 << scale);
            let desc = BufferDesc::new(size, usages[rng.below(4) as usize]);
            let memory = crate::possible(&gpu, desc.usage, memories[rng.below(4) as usize]);
            let desc = desc.memory(memory).stride(rng.below(40) as u32);
            let cost = gpu.buffer_cost(&desc).unwrap();
            assert_eq!(gpu.stats(), before, "nothing was taken");
            buffers.push(gpu.create_buffer(&desc).unwrap());
            (cost, buffers.last().unwrap().location())
        } else {
            let (usage, side) = ([Usage::SHADER_READ, Usage::RENDER_TARGET], 16 << rng.below(7));
            let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, usage[rng.below(2) as usize]);
            let cost = gpu.texture_cost(&desc).unwrap();
            assert_eq!(gpu.stats(), before, "nothing was taken");
            textures.push(gpu.create_texture(&desc).unwrap());
            (cost, textures.last().unwrap().location())
        };
        let what = format!("{} seed {seed} step {step}: {cost:?}", profile.name());
        assert!(cost.is_within_budget, "{what}");
        assert_eq!(location, cost.location, "{what}");
        // Empty blocks may be freed for a new one.
        let taken = gpu.stats().driver_allocations - before.driver_allocations;
        assert_eq!(taken > 0, cost.new_bytes > 0, "{what}");
        assert!(gpu.stats().reserved <= before.reserved + cost.new_bytes, "{what}");
        let type_of = &gpu.memory().types[usize::from(cost.memory_type)];
        assert!(type_of.heap == cost.heap && type_of.ours.total() > 0, "{what}");
        free += u64::from(cost.new_bytes == 0);
        if rng.below(2) == 0 {
            buffers.pop();
            textures.pop();
            end_frame(&gpu);
        }
    }
    assert!(free > 20, "{}: {free} requests found room", profile.name());
}

#[test]
fn costs_beyond_the_budget_are_marked() {
    let gpu = gpu(Profile::DISCRETE);
    gpu.device().set_budget(0, 8 * MIB).unwrap();
    let target = TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let cost = gpu.texture_cost(&target).unwrap();
    assert_eq!((cost.heap, cost.is_within_budget), (0, false));
    assert!(cost.new_bytes >= 16 * MIB);
    assert!(gpu.texture_cost(&TextureDesc::d2(0, 1, Format::Rgba8Unorm, Usage::SHADER_READ)).is_err());
    assert!(gpu.buffer_cost(&BufferDesc::new(0, Usage::VERTEX)).is_err());
    gpu.shutdown();
    assert!(matches!(gpu.texture_cost(&target), Err(Error::ShutDown)));
}

/// Under a cap a request costs the smaller block that the cap allows, and is not reported as within the budget
/// if it would fail.
#[test]
fn predicted_costs_respect_the_cap() {
    for &profile in Profile::ALL {
        let gpu = gpu(profile);
        let heap = local_index(&gpu);
        gpu.set_memory_cap(heap, Some(100 * MIB)).unwrap();
        let desc = TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::SHADER_READ)
            .allocation(AllocationFlags::WITHIN_BUDGET | AllocationFlags::DEVICE_LOCAL_ONLY);
        let mut textures = Vec::new();
        loop {
            let (cost, before) = (gpu.texture_cost(&desc).unwrap(), gpu.stats().reserved);
            let what = format!("{}: {} textures, {cost:?}", profile.name(), textures.len());
            if !cost.is_within_budget {
                break;
            }
            textures.push(gpu.create_texture(&desc).expect(&what));
            assert_eq!(gpu.stats().reserved, before + cost.new_bytes, "{what}");
            assert!(gpu.memory().heaps[heap].ours.total() <= 100 * MIB, "{what}");
        }
        assert!(textures.len() >= 94, "{}: {} textures of 1 MiB", profile.name(), textures.len());
        assert!(matches!(gpu.create_texture(&desc), Err(Error::OutOfMemory(_))), "{}", profile.name());
    }
}

/// A program with its own cap is notified near the cap, as near a budget.
#[test]
fn a_cap_makes_pressure() {
    for &profile in Profile::ALL {
        let gpu = gpu(profile);
        let heap = local_index(&gpu);
        let changes = Arc::new(Mutex::new(Vec::new()));
        let heard = changes.clone();
        gpu.on_pressure(move |_, change| heard.lock().unwrap().push(*change));
        gpu.set_memory_cap(heap, Some(40 * MIB)).unwrap();
        let buffer = gpu.create_buffer(&BufferDesc::new(39 * MIB, Usage::SHADER_READ)).unwrap();
        assert_eq!(gpu.memory().heaps[heap].pressure, Pressure::Critical, "{}", profile.name());
        end_frame(&gpu);
        let told = changes.lock().unwrap().pop().unwrap();
        assert_eq!((told.heap, told.now, told.budget), (heap, Pressure::Critical, 40 * MIB));
        assert!(told.usage >= 39 * MIB && told.usage <= 40 * MIB);
        gpu.set_memory_cap(heap, None).unwrap();
        end_frame(&gpu);
        assert_eq!(changes.lock().unwrap().pop().unwrap().now, Pressure::Normal, "{}", profile.name());
        gpu.set_memory_cap(heap, Some(0)).unwrap();
        assert_eq!(gpu.memory().heaps[heap].pressure, Pressure::Critical, "more than nothing");
        drop(buffer);
    }
}
