//! Requests that may not do everything: within the budget, in the card's memory alone, from blocks that are there,
//! without a wait.

use std::time::{Duration, Instant};

use tenure_core::device::prelude::*;
use tenure_core::memory::heap_pools::Step;
use tenure_core::{
    AllocationFlags, BufferDesc, Config, Error, Format, Gpu, MemoryUse, OutOfMemory, PageAllocatorDesc,
    Queue, State, Subresource, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const MIB: u64 = 1 << 20;

fn gpu(options: DeviceConfig) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), Config::default()).unwrap()
}

fn usage(gpu: &Gpu<Device>) -> Vec<u64> {
    gpu.device().budget().unwrap().iter().map(|heap| heap.usage).collect()
}

/// A render target of 16 MiB.
fn target() -> TextureDesc {
    TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target")
}

#[track_caller]
fn out_of_memory<T>(result: Result<T, Error>) -> OutOfMemory {
    match result.err() {
        Some(Error::OutOfMemory(error)) => *error,
        other => panic!("memory was to be short: {other:?}"),
    }
}

#[test]
fn a_request_within_the_budget_never_exceeds_it() {
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets([40 * MIB, 24 * MIB, 1]));
    let within = target().allocation(AllocationFlags::WITHIN_BUDGET);
    let mut targets = Vec::new();
    let error = loop {
        match gpu.create_texture(&within) {
            Ok(target) => targets.push(target),
            error => break out_of_memory(error),
        }
    };
    assert_eq!(targets.len(), 2, "of 16 MiB each");
    assert!(usage(&gpu)[0] <= 40 * MIB);
    assert!(error.answers.iter().all(|answer| answer.step != Step::BeyondBudget), "{error}");
    // Resources that the GPU can read from system memory go there, up to its budget.
    let mesh = BufferDesc::new(10 * MIB, Usage::VERTEX).allocation(AllocationFlags::WITHIN_BUDGET);
    let mut meshes = Vec::new();
    while let Ok(mesh) = gpu.create_buffer(&mesh) {
        meshes.push(mesh);
    }
    assert_eq!(meshes.len(), 2, "{:?}", usage(&gpu));
    assert!(usage(&gpu)[0] <= 40 * MIB && usage(&gpu)[1] <= 24 * MIB);
    // Without the flag the operating system pages.
    targets.push(gpu.create_texture(&target()).unwrap());
    assert!(usage(&gpu)[0] > 40 * MIB);
}

#[test]
fn requests_for_local_memory_use_no_other_memory() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).heap_sizes([16 * MIB, 64 * MIB, 8 * MIB]);
    let gpu = gpu(options);
    let mesh = BufferDesc::new(6 * MIB, Usage::VERTEX).name("mesh");
    let local = mesh.clone().allocation(AllocationFlags::DEVICE_LOCAL_ONLY);
    let mut meshes = Vec::new();
    let error = loop {
        match gpu.create_buffer(&local) {
            Ok(mesh) => meshes.push(mesh),
            error => break out_of_memory(error),
        }
    };
    assert_eq!(usage(&gpu)[1], 0, "nothing went to system memory");
    let types = &gpu.device().properties().memory_types;
    let heap_of = |memory: usize| usize::from(types[memory].heap);
    assert!(error.answers.iter().all(|answer| heap_of(usize::from(answer.memory.0)) != 1), "{error}");
    meshes.push(gpu.create_buffer(&mesh).unwrap());
    assert!(usage(&gpu)[1] > 0);
    // Buffers that the CPU writes have ranges in system memory, which do not count as local.
    let constants = BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload);
    let plain = gpu.create_buffer(&constants).unwrap();
    let before = usage(&gpu)[2];
    match gpu.create_buffer(&constants.allocation(AllocationFlags::DEVICE_LOCAL_ONLY)) {
        Ok(local) => {
            assert!(usage(&gpu)[2] > before, "in the window");
            drop(local);
        }
        Err(error) => assert!(matches!(error, Error::OutOfMemory(_)), "{error}"),
    }
    drop((plain, meshes));
}

#[test]
fn a_request_for_no_allocation_makes_none() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE));
    let made = |gpu: &Gpu<Device>| gpu.stats().driver_allocations;
    let mesh = BufferDesc::new(100_000, Usage::VERTEX);
    let never = mesh.clone().allocation(AllocationFlags::NEVER_ALLOCATE);
    out_of_memory(gpu.create_buffer(&never));
    out_of_memory(gpu.create_texture(&target().allocation(AllocationFlags::NEVER_ALLOCATE)));
    let large = BufferDesc::new(200 * MIB, Usage::VERTEX).allocation(AllocationFlags::NEVER_ALLOCATE);
    out_of_memory(gpu.create_buffer(&large));
    let pages = gpu.create_pages(&PageAllocatorDesc::new(MIB));
    out_of_memory(pages.create_buffer(&never));
    assert_eq!(made(&gpu), 0);
    let mut first: Vec<_> = (0..16).map(|_| gpu.create_buffer(&mesh).unwrap()).collect();
    let paged = pages.create_buffer(&mesh).unwrap();
    let before = made(&gpu);
    first.truncate(8);
    let mut ranges = Vec::new();
    while let Ok(range) = gpu.create_buffer(&never) {
        ranges.push(range);
    }
    assert!(ranges.len() >= 8, "what was dropped left room for {}", ranges.len());
    ranges.push(pages.create_buffer(&never).unwrap());
    assert_eq!(made(&gpu), before);
    // A range that another thread has freed is used.
    std::thread::scope(|scope| scope.spawn(|| first.clear()).join().unwrap());
    gpu.reclaim().unwrap();
    ranges.push(gpu.create_buffer(&never).unwrap());
    assert_eq!(made(&gpu), before);
    drop((ranges, paged, first));
}

#[test]
fn a_request_that_never_waits_fails_at_once() {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]).lag(Lag::Manual);
    let gpu = gpu(options);
    let level = BufferDesc::new(5 * MIB, Usage::UNORDERED_ACCESS).own_resource().name("level");
    let first = gpu.create_buffer(&level).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    recording.use_resource(&first, Subresource::All, State::COPY_DST).unwrap();
    recording.submit().unwrap();
    drop(first);
    for flags in [AllocationFlags::NEVER_WAIT, AllocationFlags::NEVER_ALLOCATE] {
        let start = Instant::now();
        let error = out_of_memory(gpu.create_buffer(&level.clone().allocation(flags)));
        assert!(start.elapsed() < Duration::from_millis(900), "the default wait is a second");
        assert!(error.answers.iter().all(|answer| answer.step != Step::AfterWait), "{error}");
    }
    let error = out_of_memory(gpu.create_buffer(&level));
    assert!(error.answers.iter().any(|answer| answer.step == Step::AfterWait), "{error}");
    assert!(error.to_string().contains("after a wait for the GPU"), "{error}");
    assert!(gpu.device().run_until_idle());
}

/// Buffers, targets, pages and transient targets, in turn: none takes more than the caps of all heaps leave.
#[test]
fn nothing_exceeds_the_programs_caps() {
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let caps = [48 * MIB, 16 * MIB, 4 * MIB];
    for (heap, cap) in caps.into_iter().enumerate() {
        gpu.set_memory_cap(heap, Some(cap)).unwrap();
        assert_eq!(gpu.memory().heaps[heap].headroom, Some(cap));
    }
    assert!(matches!(gpu.set_memory_cap(3, Some(1)), Err(Error::Device { .. })));
    let pages = gpu.create_pages(&PageAllocatorDesc::new(8 * MIB));
    let (mut buffers, mut targets, mut refusals) = (Vec::new(), Vec::new(), 0);
    for round in 0..40 {
        let mesh = BufferDesc::new((round % 7 + 1) * MIB, Usage::VERTEX);
        let made = [gpu.create_buffer(&mesh), pages.create_buffer(&mesh)];
        refusals += made.iter().filter(|made| made.is_err()).count();
        buffers.extend(made.into_iter().flatten());
        targets.extend(gpu.create_texture(&target()).ok().filter(|_| round % 8 == 0));
        let list = gpu.record(Queue::Graphics, "frame").unwrap();
        drop(list.transient_texture(&target()));
        drop(list);
        if round % 3 == 0 {
            buffers.truncate(buffers.len() / 2);
        }
        for ((taken, cap), heap) in usage(&gpu).iter().zip(caps).zip(gpu.memory().heaps) {
            assert!(*taken <= cap && heap.headroom <= Some(cap - taken), "{taken} of {cap}");
            assert_eq!(heap.cap, Some(cap));
        }
    }
    assert!(refusals > 0, "the caps were reached");
    drop((buffers, targets));
    gpu.set_memory_cap(0, None).unwrap();
    let whole = gpu.create_buffer(&BufferDesc::new(100 * MIB, Usage::UNORDERED_ACCESS)).unwrap();
    assert!(usage(&gpu)[0] >= 100 * MIB);
    // Existing resources stay; nothing is added.
    gpu.set_memory_cap(0, Some(50 * MIB)).unwrap();
    assert_eq!(gpu.memory().heaps[0].headroom, Some(0));
    let local = BufferDesc::new(MIB, Usage::UNORDERED_ACCESS).allocation(AllocationFlags::DEVICE_LOCAL_ONLY);
    let text = match gpu.create_buffer(&local) {
        // The window is local, too.
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert!(text.is_empty() || text.contains("the program's cap leaves"), "{text}");
    drop(whole);
}

/// The empty block of a dropped level makes room for a small one, unless no small one can be created.
#[test]
fn an_empty_large_block_serves_small_requests_at_need() {
    for (flags, refuses) in [
        (AllocationFlags::empty(), false),
        (AllocationFlags::empty(), true),
        (AllocationFlags::NEVER_ALLOCATE, false),
    ] {
        for usage_bits in [Usage::VERTEX, Usage::UNORDERED_ACCESS] {
            let gpu = gpu(DeviceConfig::new(Profile::DISCRETE));
            let level = BufferDesc::new(16 * MIB, usage_bits).allocation(AllocationFlags::DEVICE_LOCAL_ONLY);
            drop(gpu.create_buffer(&level).unwrap());
            gpu.reclaim().unwrap();
            assert_eq!(usage(&gpu)[0], 16 * MIB);
            if refuses {
                for kind in [CallKind::CreateHeap, CallKind::CreateCommitted] {
                    let refusal = Fault::nth(1, FaultKind::OutOfMemory).of(kind);
                    gpu.device().faults().inject(refusal.onwards());
                }
            }
            let small = level.size(128 << 10).allocation(flags);
            let small = gpu.create_buffer(&small).unwrap();
            let is_kept = refuses || !flags.is_empty();
            assert_eq!(usage(&gpu)[0] == 16 * MIB, is_kept, "{usage_bits:?}: {flags:?} {refuses}");
            assert!(usage(&gpu)[0] <= 16 * MIB);
            drop(small);
        }
    }
}
