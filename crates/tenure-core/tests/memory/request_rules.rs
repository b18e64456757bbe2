//! The restrictions of requests, whatever the budgets and caps; and that requests cost the predicted amount.

use tenure_core::device::prelude::*;
use tenure_core::{
    AllocationFlags, BufferDesc, Config, Error, Format, Gpu, LocationKind, MemoryUse, OutOfMemory,
    PageAllocatorDesc, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Profile};
use test_random::Rng;

const MIB: u64 = 1 << 20;

fn gpu(options: DeviceConfig) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), Config::default()).unwrap()
}

fn usage(gpu: &Gpu<Device>) -> Vec<u64> {
    gpu.device().budget().unwrap().iter().map(|heap| heap.usage).collect()
}

fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

#[track_caller]
fn out_of_memory<T>(result: Result<T, Error>) -> OutOfMemory {
    match result.err() {
        Some(Error::OutOfMemory(error)) => *error,
        other => panic!("memory was to be short: {other:?}"),
    }
}

/// A smaller budget applies from the next frame on, however much was free at the last query.
#[test]
fn a_budget_that_has_shrunk_is_not_exceeded() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE).budgets([400 * MIB]));
    let within = BufferDesc::new(6 * MIB, Usage::UNORDERED_ACCESS).allocation(AllocationFlags::WITHIN_BUDGET);
    let first = gpu.create_buffer(&within).unwrap();
    end_frame(&gpu);
    gpu.device().set_budget(0, 8 * MIB).unwrap();
    end_frame(&gpu);
    let flags = AllocationFlags::WITHIN_BUDGET | AllocationFlags::DEVICE_LOCAL_ONLY;
    let large = BufferDesc::new(24 * MIB, Usage::UNORDERED_ACCESS).allocation(flags);
    assert!(!gpu.buffer_cost(&large).unwrap().is_within_budget);
    out_of_memory(gpu.create_buffer(&large));
    let pages = gpu.create_pages(&PageAllocatorDesc::new(24 * MIB));
    out_of_memory(pages.create_buffer(&large));
    assert!(usage(&gpu)[0] <= 8 * MIB, "{:?}", usage(&gpu));
    drop(first);
}

/// Each error names the flag that forbade further steps, the object, and the remedy.
#[test]
fn errors_name_the_flag_that_forbids_a_step() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE));
    let never = BufferDesc::new(100_000, Usage::VERTEX).allocation(AllocationFlags::NEVER_ALLOCATE);
    let text = out_of_memory(gpu.create_buffer(&never.name("rock"))).to_string();
    assert!(text.contains("rock") && text.contains("100000 B"), "{text}");
    assert!(text.contains("NEVER_ALLOCATE") && text.contains("or without it"), "{text}");
    assert!(!text.contains("the program's cap leaves"), "{text}");
    // Memory for CPU reads is never device-local on a card.
    let local = BufferDesc::new(4096, Usage::COPY_DST)
        .memory(MemoryUse::Readback)
        .allocation(AllocationFlags::DEVICE_LOCAL_ONLY)
        .name("picture");
    for error in [
        out_of_memory(gpu.create_buffer(&local)),
        out_of_memory(gpu.create_buffer(&local.clone().own_resource())),
        out_of_memory(gpu.create_pages(&PageAllocatorDesc::new(MIB)).create_buffer(&local)),
    ] {
        let text = error.to_string();
        assert!(text.contains("picture") && text.contains(" B aligned"), "{text}");
        assert!(text.contains("DEVICE_LOCAL_ONLY") && text.contains("request without it"), "{text}");
    }
    let text = gpu.buffer_cost(&local).unwrap_err().to_string();
    assert!(text.contains("picture") && text.contains("DEVICE_LOCAL_ONLY"), "{text}");
}

/// Random requests, under budgets and caps that change between frames.
#[test]
fn flags_hold_and_costs_are_right() {
    for &profile in Profile::ALL {
        for seed in 0..12 {
            random_requests(profile, seed);
        }
    }
}

fn random_requests(profile: Profile, seed: u64) {
    let mut rng = Rng::new(seed);
    let gpu = gpu(DeviceConfig::new(profile));
    let heaps = gpu.device().properties().memory_heaps.clone();
    let (mut buffers, mut textures) = (Vec::new(), Vec::new());
    for step in 0..120 {
        let context = format!("{profile:?}, seed {seed}, step {step}");
        if rng.below(4) == 0 {
            let heap = rng.below(heaps.len() as u64) as usize;
            let bytes = [1, 3 * MIB, 20 * MIB, 90 * MIB, u64::MAX][rng.below(5) as usize];
            if rng.below(3) == 0 {
                gpu.set_memory_cap(heap, Some(bytes - 1)).unwrap();
            } else {
                gpu.device().set_budget(heap, bytes).unwrap();
            }
            end_frame(&gpu);
        }
        if rng.below(6) == 0 {
            buffers.truncate(buffers.len() / 2);
            textures.truncate(textures.len() / 2);
        }
        let flags = AllocationFlags::from_bits_truncate(rng.below(16) as u8);
        let size = [300, 70_000, MIB, 5 * MIB, 40 * MIB][rng.below(5) as usize];
        let before = (gpu.memory(), usage(&gpu), gpu.device().calls());
        let cost;
        let (made, location) = if rng.below(3) == 0 {
            let side = ((size / 4) as f64).sqrt() as u32;
            // Targets that nothing else reads may have lazily allocated memory, which counts once it is used.
            let target = Usage::RENDER_TARGET | Usage::SHADER_READ;
            let usage = [Usage::SHADER_READ, target][rng.below(2) as usize];
            let desc = TextureDesc::d2(side.max(1), side.max(1), Format::Rgba8Unorm, usage).allocation(flags);
            cost = gpu.texture_cost(&desc);
            let made = gpu.create_texture(&desc);
            let location = made.as_ref().ok().map(|texture| texture.location());
            (made.map(|texture| textures.push(texture)), location)
        } else {
            let memory = MemoryUse::ALL[rng.below(4) as usize];
            let usage = [Usage::SHADER_READ, Usage::VERTEX][rng.below(2) as usize];
            let desc = BufferDesc::new(size, usage).memory(memory).allocation(flags);
            cost = gpu.buffer_cost(&desc);
            let made = gpu.create_buffer(&desc);
            let location = made.as_ref().ok().map(|buffer| buffer.location());
            (made.map(|buffer| buffers.push(buffer)), location)
        };
        check(&gpu, flags, before, (cost, made, location), &context);
    }
}

type Before = (tenure_core::MemoryReport, Vec<u64>, tenure_sim::Calls);
type Made = (Result<tenure_core::Cost, Error>, Result<(), Error>, Option<LocationKind>);

fn check(gpu: &Gpu<Device>, flags: AllocationFlags, before: Before, made: Made, context: &str) {
    let ((memory, usage_before, calls), (cost, made, location)) = (before, made);
    let budgets = gpu.device().budget().unwrap();
    let properties = gpu.device().properties();
    for (index, (heap, now)) in memory.heaps.iter().zip(&budgets).enumerate() {
        let grows = now.usage > usage_before[index];
        let within = flags.contains(AllocationFlags::WITHIN_BUDGET);
        assert!(!(grows && within) || now.budget == 0 || now.usage <= now.budget, "{context}: {now:?}");
        assert!(!grows || heap.cap.is_none_or(|cap| now.usage <= cap), "{context}: {now:?}, {heap:?}");
        let local = flags.contains(AllocationFlags::DEVICE_LOCAL_ONLY);
        assert!(!(grows && local) || properties.memory_heaps[index].device_local, "{context}");
    }
    if flags.contains(AllocationFlags::NEVER_ALLOCATE) {
        let made = |kind| gpu.device().calls().made(kind) - calls.made(kind);
        assert_eq!((made(CallKind::CreateHeap), made(CallKind::CreateCommitted)), (0, 0), "{context}");
    }
    match (cost, made) {
        (Ok(cost), made) if cost.is_within_budget && !flags.contains(AllocationFlags::NEVER_ALLOCATE) => {
            assert!(made.is_ok(), "{context}: {cost:?}, {made:?}");
            assert_eq!(location, Some(cost.location), "{context}: {cost:?}");
            let after = usage(gpu);
            // A new block takes the place of empty ones.
            let most = usage_before[cost.heap] + cost.new_bytes;
            assert!(after[cost.heap] <= most, "{context}: {cost:?}, {after:?}");
        }
        (_, Err(error)) => assert!(matches!(error, Error::OutOfMemory(_)), "{context}: {error}"),
        (Err(error), Ok(())) => panic!("{context}: {error}"),
        (Ok(_), Ok(())) => {}
    }
}
