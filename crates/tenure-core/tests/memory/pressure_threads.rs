//! Threads that allocate, drop and submit while memory is short, and listeners that call back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::device::prelude::*;
use tenure_core::{
    AllocationFlags, Buffer, BufferDesc, Config, Format, Gpu, MemoryUse, PoolConfig, Pressure,
    PressureConfig, Queue, State, Subresource, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Paging, Profile};
use test_random::Rng;

const MIB: u64 = 1 << 20;

fn config() -> Config {
    let max_wait = Duration::from_millis(5);
    Config::default()
        .pools(PoolConfig::default().max_wait(max_wait))
        .pressure(PressureConfig::default().interval(1))
}

fn with(options: DeviceConfig) -> Gpu<Device> {
    Gpu::new(Device::with_config(options.paging(Paging::PCIE4_X16)), config()).unwrap()
}

fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

fn used(gpu: &Gpu<Device>) -> u64 {
    gpu.device().budget().unwrap()[0].usage
}

/// One thread's part: creates, drops and submits; the usage that it observes is within the limit.
fn allocate(gpu: &Gpu<Device>, seed: u64, flags: AllocationFlags, limit: u64) {
    let mut rng = Rng::new(seed);
    let mut buffers: Vec<Buffer<Device>> = Vec::new();
    for _ in 0..150 {
        let size = [300, 100_000, MIB, 3 * MIB][rng.below(4) as usize];
        let desc = BufferDesc::new(size, Usage::UNORDERED_ACCESS).allocation(flags);
        buffers.extend(gpu.create_buffer(&desc));
        assert!(used(gpu) <= limit, "{} of {limit}", used(gpu));
        if rng.below(3) == 0 && !buffers.is_empty() {
            buffers.swap_remove(rng.below(buffers.len() as u64) as usize);
        }
        if let (0, Some(buffer)) = (rng.below(4), buffers.last()) {
            let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
            recording.use_resource(buffer, Subresource::All, State::COPY_DST).unwrap();
            recording.submit().unwrap();
        }
        if rng.below(16) == 0 {
            buffers.truncate(buffers.len() / 2);
        }
        for heap in gpu.memory().heaps {
            assert!(heap.evicted <= heap.size && heap.ours.total() <= heap.size, "{heap:?}");
            assert!(heap.used <= heap.size && heap.idle <= heap.size, "{heap:?}");
        }
    }
}

fn on_threads(gpu: &Gpu<Device>, flags: AllocationFlags, limit: u64) {
    std::thread::scope(|scope| {
        (0..4).for_each(|seed| {
            scope.spawn(move || allocate(gpu, seed, flags, limit));
        });
    });
}

/// With any number of allocating threads the cap is never exceeded, not even by a block.
#[test]
fn threads_never_exceed_a_cap() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(3)));
    gpu.set_memory_cap(0, Some(20 * MIB)).unwrap();
    on_threads(&gpu, AllocationFlags::empty(), 20 * MIB);
    gpu.device().run_until_idle();
    assert_eq!(gpu.device().take_hazards(), []);
}

/// Nor do requests within the budget ever exceed it.
#[test]
fn threads_never_exceed_a_budget_that_they_may_not() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(3)).budgets([20 * MIB]));
    let flags = AllocationFlags::WITHIN_BUDGET | AllocationFlags::NEVER_WAIT;
    on_threads(&gpu, flags, 20 * MIB);
    assert_eq!(gpu.device().take_hazards(), []);
}

/// Uses all of the buffers in each of some frames.
fn use_in_frames(gpu: &Gpu<Device>, buffers: &[Buffer<Device>]) {
    for _ in 0..6 {
        let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
        for buffer in buffers {
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        }
        recording.submit().unwrap();
        end_frame(gpu);
    }
}

/// The last frame's working set stays if an allocation exceeds the budget: it would be paged in again at once.
#[test]
fn the_working_set_of_a_frame_is_not_evicted_to_allocate() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([32 * MIB]));
    let evictable = BufferDesc::new(4 * MIB, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..6).map(|_| gpu.create_buffer(&evictable).unwrap()).collect();
    use_in_frames(&gpu, &buffers);
    let large = BufferDesc::new(16 * MIB, Usage::UNORDERED_ACCESS);
    let _large = gpu.create_buffer(&large).unwrap();
    assert_eq!(gpu.memory().heaps[0].evicted, 0);
    // Unused blocks are evicted.
    (0..12).for_each(|_| end_frame(&gpu));
    assert!(gpu.memory().heaps[0].evicted > 0);
}

/// The driver has less than the budget: idle blocks are evicted, and the request stays in fast memory.
#[test]
fn refused_requests_evict_idle_blocks() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE));
    let evictable = BufferDesc::new(4 * MIB, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..4).map(|_| gpu.create_buffer(&evictable).unwrap()).collect();
    (0..12).for_each(|_| end_frame(&gpu));
    let refusal = Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted);
    gpu.device().faults().inject(refusal);
    let large = BufferDesc::new(48 * MIB, Usage::UNORDERED_ACCESS).allocation(AllocationFlags::WITHIN_BUDGET);
    let before = used(&gpu);
    let large = gpu.create_buffer(&large).unwrap();
    assert_eq!(gpu.memory().heaps[0].evicted, 16 * MIB);
    assert_eq!(used(&gpu), before + 48 * MIB - 16 * MIB);
    drop((large, buffers));
}

/// If the driver refuses a request, blocks used in each frame are evicted, too: they return, while a resource
/// in slower memory would stay there.
#[test]
fn refused_requests_evict_the_working_set() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let evictable = BufferDesc::new(4 * MIB, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..4).map(|_| gpu.create_buffer(&evictable).unwrap()).collect();
    use_in_frames(&gpu, &buffers);
    let refusal = Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted);
    gpu.device().faults().inject(refusal);
    let large = BufferDesc::new(48 * MIB, Usage::UNORDERED_ACCESS).allocation(AllocationFlags::WITHIN_BUDGET);
    let large = gpu.create_buffer(&large).unwrap();
    assert_eq!(gpu.memory().heaps[0].evicted, 16 * MIB);
    drop((large, buffers));
}

/// Room is made in the memory that a request may use: a device-local upload buffer evicts idle blocks there,
/// although uploads usually use system memory.
#[test]
fn room_is_made_in_the_memory_that_a_request_may_use() {
    let gpu = with(DeviceConfig::new(Profile::D3D12_ENHANCED).budgets([32 * MIB]));
    let evictable = BufferDesc::new(4 * MIB, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..7).map(|_| gpu.create_buffer(&evictable).unwrap()).collect();
    (0..12).for_each(|_| end_frame(&gpu));
    assert_eq!(gpu.memory().heaps[0].evicted, 0);
    let flags = AllocationFlags::DEVICE_LOCAL_ONLY | AllocationFlags::WITHIN_BUDGET;
    let upload = BufferDesc::new(8 * MIB, Usage::COPY_SRC).memory(MemoryUse::Upload).allocation(flags);
    let upload = gpu.create_buffer(&upload).unwrap();
    assert!(gpu.memory().heaps[0].evicted >= 4 * MIB);
    assert!(used(&gpu) <= 32 * MIB);
    drop((upload, buffers));
}

/// An allocation waits for evictable blocks that the GPU still uses: otherwise the request would fail.
#[test]
fn evictable_blocks_in_use_are_waited_for() {
    for flags in [AllocationFlags::empty(), AllocationFlags::NEVER_WAIT] {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(6)));
        gpu.set_memory_cap(0, Some(8 * MIB)).unwrap();
        let buffer = gpu.create_buffer(&BufferDesc::new(6 * MIB, Usage::SHADER_READ).evictable()).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
        recording.use_resource(&buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        recording.submit().unwrap();
        let flags = flags | AllocationFlags::DEVICE_LOCAL_ONLY;
        let more = BufferDesc::new(4 * MIB, Usage::UNORDERED_ACCESS).allocation(flags);
        let more = gpu.create_buffer(&more);
        assert_eq!(more.is_ok(), !flags.contains(AllocationFlags::NEVER_WAIT), "{flags:?}: {more:?}");
        assert!(used(&gpu) <= 8 * MIB);
        gpu.device().run_until_idle();
        assert_eq!(gpu.device().take_hazards(), []);
    }
}

/// Under a cap, which nothing exceeds, a transient target evicts idle blocks, too, before it goes to system
/// memory.
#[test]
fn transient_targets_evict_idle_blocks() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE));
    gpu.set_memory_cap(0, Some(40 * MIB)).unwrap();
    let evictable = BufferDesc::new(4 * MIB, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..9).map(|_| gpu.create_buffer(&evictable).unwrap()).collect();
    (0..12).for_each(|_| end_frame(&gpu));
    let target = TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target");
    let recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let texture = recording.transient_texture(&target).unwrap();
    let local = gpu.memory().heaps[0].clone();
    assert!(local.ours.transient >= 16 * MIB && local.evicted >= 12 * MIB, "{local:?}");
    assert!(used(&gpu) <= 40 * MIB);
    drop((texture, recording, buffers));
}

/// A listener may use the manager, replace itself and end frames; its panic is passed on by the frame, and the
/// next listener is still called.
#[test]
fn listeners_may_call_back() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let gpu = Gpu::new(device, config()).unwrap();
    let (told, kept, panics) =
        (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let (counter, buffers, is_panicking) = (told.clone(), kept.clone(), panics.clone());
    gpu.on_pressure(move |gpu, change| {
        counter.fetch_add(1, Ordering::Relaxed);
        assert!(!is_panicking.load(Ordering::Relaxed), "on order");
        buffers.lock().unwrap().extend(gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX)));
        gpu.trim();
        assert_eq!(gpu.memory().heaps[change.heap].pressure, change.now);
        end_frame(gpu);
    });
    let large = gpu.create_buffer(&BufferDesc::new(62 * MIB, Usage::UNORDERED_ACCESS)).unwrap();
    end_frame(&gpu);
    assert_eq!((told.load(Ordering::Relaxed), gpu.memory().pressure()), (1, Pressure::Critical));
    panics.store(true, Ordering::Relaxed);
    drop(large);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| end_frame(&gpu)));
    assert!(ended.is_err() && told.load(Ordering::Relaxed) == 2);
    // A listener that replaces itself.
    let again = told.clone();
    gpu.on_pressure(move |gpu, _| {
        let again = again.clone();
        gpu.on_pressure(move |_, _| {
            again.fetch_add(100, Ordering::Relaxed);
        });
    });
    let small = gpu.create_buffer(&BufferDesc::new(MIB, Usage::UNORDERED_ACCESS)).unwrap();
    for budget in [1, 1 << 32, 1] {
        gpu.device().set_budget(0, budget).unwrap();
        end_frame(&gpu);
    }
    assert_eq!(told.load(Ordering::Relaxed), 202);
    drop((small, kept));
}
