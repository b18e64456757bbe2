//! Each step of the fallback chain by itself, in its order.

use std::time::{Duration, Instant};

use tenure_core::device::prelude::*;
use tenure_core::memory::PoolKind;
use tenure_core::{
    Buffer, BufferDesc, Config, DeviceError, Error, Format, Gpu, LocationKind, MemoryUse, OutOfMemory,
    PoolConfig, Queue, State, Strategy, Subresource, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A manager that waits for nothing, of a device that completes nothing by itself.
fn gpu(options: DeviceConfig, mut config: Config) -> Gpu<Device> {
    config.pools.max_wait = Duration::ZERO;
    Gpu::new(Device::with_config(options.lag(Lag::Manual).record_calls()), config).unwrap()
}

/// A texture of 1 MiB.
fn texture(gpu: &Gpu<Device>) -> Result<Texture<Device>, Error> {
    gpu.create_texture(&TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::SHADER_READ).name("texture"))
}

/// A placed buffer of 1 MiB.
fn placed(gpu: &Gpu<Device>) -> Result<Buffer<Device>, Error> {
    gpu.create_buffer(&BufferDesc::new(MIB, Usage::UNORDERED_ACCESS).name("placed"))
}

/// A committed buffer.
fn committed(gpu: &Gpu<Device>, size: u64) -> Result<Buffer<Device>, Error> {
    let buffer = gpu.create_buffer(&BufferDesc::new(size, Usage::UNORDERED_ACCESS).name("committed"))?;
    assert_eq!(buffer.location(), LocationKind::Committed);
    Ok(buffer)
}

#[track_caller]
fn out_of_memory<T>(result: Result<T, Error>) -> OutOfMemory {
    match result.err() {
        Some(Error::OutOfMemory(error)) => *error,
        other => panic!("memory was to be short: {other:?}"),
    }
}

/// Bytes and outcome of each call of a kind, from the device's log.
fn calls(device: &Device, kind: CallKind) -> Vec<(u64, bool)> {
    let wanted = format!("{}(", kind.name());
    let log = device.call_log();
    let lines = log.iter().filter_map(|line| line.strip_prefix(&wanted));
    lines.map(|line| (line.split(',').next().unwrap().parse().unwrap(), line.ends_with("ok"))).collect()
}

fn end(gpu: Gpu<Device>) {
    let device = gpu.device().clone();
    device.faults().clear();
    assert!(device.run_until_idle());
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A pool with 64 MiB prefers a block of 8 MiB, and falls back to 4, 2 or 1.
#[test]
fn blocks_are_halved_three_times() {
    for refused in 0..=3 {
        let config = Config::from(PoolConfig::default().growth_divisor(8));
        let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
        let device = gpu.device().clone();
        let mut textures: Vec<_> = (0..64).map(|_| texture(&gpu).unwrap()).collect();
        while gpu.stats().pools[0].largest_free >= MIB {
            textures.push(texture(&gpu).unwrap());
        }
        let wanted = (gpu.stats().pools[0].used / 8).next_multiple_of(64 * KIB);
        let before = calls(&device, CallKind::CreateHeap).len();
        for n in 1..=refused {
            device.faults().inject(Fault::nth(n, FaultKind::OutOfMemory).of(CallKind::CreateHeap));
        }
        textures.push(texture(&gpu).unwrap());
        let asked = &calls(&device, CallKind::CreateHeap)[before..];
        let halved = |times: u64| (wanted >> times).next_multiple_of(64 * KIB).max(MIB);
        let expected: Vec<_> = (0..=refused).map(|times| (halved(times), times == refused)).collect();
        assert_eq!(asked, expected, "a half, a quarter, an eighth");
        assert_eq!(textures.last().unwrap().location(), LocationKind::Placed);
        drop(textures);
        end(gpu);
    }
}

#[test]
fn dedicated_memory_comes_next() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    let device = gpu.device().clone();
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateHeap).onwards());
    let alone = texture(&gpu).unwrap();
    assert_eq!(alone.location(), LocationKind::Committed);
    let range = gpu.create_buffer(&BufferDesc::new(100, Usage::VERTEX).stride(12)).unwrap();
    assert_eq!(range.location(), LocationKind::Committed, "a range gets a buffer of its own");
    assert_eq!((range.size(), range.first_element(12)), (100, Some(0)));
    drop((alone, range));
    end(gpu);
}

/// Fills device-local memory, then the next types in order; returns the memory types of the created resources.
fn spill(profile: Profile, sizes: &[u64]) -> (Vec<u8>, OutOfMemory, Gpu<Device>) {
    let gpu = gpu(DeviceConfig::new(profile).heap_sizes(sizes), Config::default());
    let mut alive = Vec::new();
    let mut order = Vec::new();
    let error = loop {
        match placed(&gpu) {
            Ok(buffer) => alive.push(buffer),
            error => break out_of_memory(error),
        }
        for pool in gpu.stats().pools {
            if pool.used > 0 && !order.contains(&pool.memory_type) {
                order.push(pool.memory_type);
            }
        }
    };
    // The free rest of a memory heap is smaller than a buffer.
    let reserved = gpu.device().calls().reserved_bytes;
    let asked = sizes.iter().map(|size| size - MIB).sum();
    assert!(reserved > asked, "gave up with {reserved} of {asked} B taken");
    (order, error, gpu)
}

#[test]
fn the_next_memory_type_comes_next() {
    // Local, then the window, then system memory that the CPU does not see, then the rest of it.
    let (order, error, gpu) = spill(Profile::VULKAN_NVIDIA, &[16 * MIB, 64 * MIB, 8 * MIB]);
    assert_eq!(order, [1, 4, 0]);
    assert_eq!(error.class.memory.0, 1, "the class that was preferred");
    assert_eq!(error.budget, gpu.device().budget().unwrap()[0]);
    end(gpu);
    // The window of a card without resizable BAR, then system memory.
    let (order, error, gpu) = spill(Profile::VULKAN_AMD_SMALL_BAR, &[16 * MIB, 64 * MIB, 8 * MIB]);
    assert_eq!(order, [0, 2, 1]);
    assert_eq!(error.class.memory.0, 0);
    end(gpu);
    // Direct3D 12 has a single heap type for resources that the GPU writes.
    let (order, error, gpu) = spill(Profile::DISCRETE, &[16 * MIB]);
    assert_eq!(order, [0]);
    assert_eq!(
        error.refusal(),
        Some(&DeviceError::OutOfMemory { requested: MIB, memory: error.class.memory })
    );
    end(gpu);
}

#[test]
fn images_spill_only_where_images_may_live() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).heap_sizes([4 * MIB, 64 * MIB, 64 * MIB]);
    let gpu = gpu(options, Config::default());
    let textures: Vec<_> = (0..12).map(|_| texture(&gpu).unwrap()).collect();
    let types: Vec<_> = gpu.stats().pools.iter().map(|pool| pool.memory_type).collect();
    assert_eq!(types, [1, 0], "the window holds no images");
    drop(textures);
    end(gpu);
}

fn submit(gpu: &Gpu<Device>) {
    gpu.record(Queue::Graphics, "use").unwrap().submit().unwrap();
}

/// Objects that the GPU is done with are released, without a poll or reclaim since.
#[test]
fn completed_objects_make_room() {
    let config = Config::from(PoolConfig::default().max_pooled_buffer(0));
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]), config);
    let first = committed(&gpu, 5 * MIB).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    recording.use_resource(&first, Subresource::All, State::COPY_DST).unwrap();
    recording.submit().unwrap();
    drop(first);
    let refused = out_of_memory(committed(&gpu, 5 * MIB));
    assert_eq!(refused.size, 5 * MIB);
    assert_eq!(gpu.stats().pending_releases, 1, "the GPU still uses it");
    assert_eq!((refused.pending_bytes, refused.open_recordings.len()), (5 * MIB, 0));
    let text = refused.to_string();
    assert!(text.ends_with("; 5242880 B were dropped, and the GPU has not finished with them"), "{text}");
    let open = [1, 2].map(|_| gpu.record(Queue::Copy, "loader").unwrap());
    let text = out_of_memory(committed(&gpu, 5 * MIB)).to_string();
    let held = "; 5242880 B were dropped, and wait for the GPU or for open recordings: loader, loader";
    assert!(text.ends_with(held), "{text}");
    drop(open);
    assert!(gpu.device().run_until_idle());
    let second = committed(&gpu, 5 * MIB).unwrap();
    assert_eq!(gpu.stats().pending_releases, 0);
    drop(second);
    end(gpu);
}

/// A level of 5 MiB takes the place of another, which the GPU still reads, on a card of 8 MiB. A small pending
/// upload delays the release of later dropped objects.
#[test]
fn objects_in_use_are_waited_for() {
    let config = Config::from(PoolConfig::default().max_pooled_buffer(0));
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]);
    let replace = |lag: Lag, max_wait: Duration| {
        let mut config = config.clone();
        config.pools.max_wait = max_wait;
        let gpu = Gpu::new(Device::with_config(options.clone().lag(lag)), config).unwrap();
        let small = gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX)).unwrap();
        let mut level = committed(&gpu, 5 * MIB).unwrap();
        for round in 0..4 {
            gpu.upload(&small, 0, &[round; 64]).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
            recording.use_resource(&level, Subresource::All, State::COPY_DST).unwrap();
            recording.submit().unwrap();
            drop(level);
            level = match committed(&gpu, 5 * MIB) {
                Ok(level) => level,
                Err(error) => {
                    drop(small);
                    return (gpu, Some((round, out_of_memory::<()>(Err(error)))));
                }
            };
        }
        drop((level, small));
        (gpu, None)
    };
    let (gpu, refused) = replace(Lag::Submissions(50), Duration::from_secs(10));
    assert!(refused.is_none(), "{refused:?}");
    end(gpu);
    // The GPU hangs: the wait is bounded.
    let begun = Instant::now();
    let (gpu, refused) = replace(Lag::Manual, Duration::from_millis(30));
    assert!(refused.is_some_and(|(round, _)| round == 0));
    assert!((30..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    end(gpu);
}

/// Empty blocks of any pool make room for others.
#[test]
fn idle_blocks_make_room() {
    let config = Config::from(PoolConfig::default().max_pooled_buffer(256 * KIB));
    let fill = |gpu: &Gpu<Device>, kind: usize| {
        let mut alive: (Vec<Buffer<Device>>, Vec<Texture<Device>>) = Default::default();
        while gpu.stats().reserved < 7 * MIB {
            let mesh = BufferDesc::new(60 * KIB, Usage::VERTEX);
            let read = BufferDesc::new(200 * KIB, Usage::SHADER_READ);
            match kind {
                0 => alive.0.push(gpu.create_buffer(&mesh).unwrap()),
                1 => alive.0.push(gpu.create_buffer(&read).unwrap()),
                _ => alive.1.push(texture(gpu).unwrap()),
            }
        }
    };
    for kind in 0..3 {
        let gpu = gpu(DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]), config.clone());
        fill(&gpu, kind);
        submit(&gpu);
        assert!(gpu.device().run_until_idle());
        let all = committed(&gpu, 8 * MIB).unwrap_or_else(|error| panic!("filled by {kind}: {error}"));
        drop(all);
        end(gpu);
    }
}

#[test]
fn the_limit_on_allocations_is_one_more_shortage() {
    let config = Config::from(PoolConfig::default().strategy(Strategy::Committed));
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA), config);
    let desc = BufferDesc::new(64, Usage::VERTEX).name("one too many");
    let mut alive: Vec<_> = (0..4096).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let refused = out_of_memory(gpu.create_buffer(&desc));
    assert_eq!(refused.refusal(), Some(&DeviceError::TooManyAllocations { limit: 4096 }));
    alive.pop();
    alive.push(gpu.create_buffer(&desc).expect("one was dropped"));
    out_of_memory(gpu.create_buffer(&desc));
    drop(alive);
    end(gpu);
}

/// With pools the limit is not reached.
#[test]
fn pools_stay_far_from_the_limit_on_allocations() {
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA), Config::default());
    let desc = BufferDesc::new(10_000, Usage::VERTEX);
    let alive: Vec<_> = (0..10_000).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    assert!(gpu.device().calls().allocations < 200, "{}", gpu.device().calls().allocations);
    drop(alive);
    end(gpu);
}

/// The error states the request, the memory type, the free bytes and the largest free range.
#[test]
fn the_error_has_the_numbers() {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]).budgets([6 * MIB]);
    let gpu = gpu(options, Config::default());
    let mut alive = Vec::new();
    while let Ok(buffer) = gpu.create_buffer(&BufferDesc::new(192 * KIB, Usage::UNORDERED_ACCESS)) {
        alive.push(buffer);
    }
    // Every third buffer is dropped, which leaves holes of 192 KiB.
    let mut index = 0;
    alive.retain(|_| {
        index += 1;
        index % 3 != 0
    });
    gpu.reclaim().unwrap();
    let error = out_of_memory(placed(&gpu));
    assert_eq!((error.name.as_str(), error.size, error.alignment), ("placed", MIB, 64 * KIB));
    assert_eq!(error.class.kind, PoolKind::UnorderedBuffers);
    assert_eq!(error.budget.budget, 6 * MIB);
    assert_eq!(error.budget.usage, gpu.stats().reserved);
    assert!((192 * KIB..MIB).contains(&error.largest_free), "{}", error.largest_free);
    assert_eq!(error.largest_free, gpu.stats().pools[0].largest_free);
    let text = error.to_string();
    for part in
        ["placed", "1048576 B", "unordered-access buffers", "6291456 B", &error.largest_free.to_string()]
    {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    drop(alive);
    end(gpu);
}

/// A request that no driver could ever serve fails like any other.
#[test]
fn requests_beyond_all_measure_are_refused() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    let dynamic = BufferDesc::new(4 << 30, Usage::CONSTANT).memory(MemoryUse::Upload).name("all");
    let first: Vec<_> = (0..4).map(|_| gpu.create_buffer(&dynamic).unwrap()).collect();
    assert_eq!(out_of_memory(gpu.create_buffer(&dynamic)).size, 4 << 30);
    drop(first);
    end(gpu);
}

/// A committed resource is in no pool, so the error names none.
#[test]
fn an_error_about_memory_of_its_own_names_no_pool() {
    let mut options = DeviceConfig::new(Profile::VULKAN_NVIDIA);
    options.prefers_dedicated = true;
    let gpu = gpu(options, Config::default());
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).onwards());
    let error = out_of_memory(texture(&gpu));
    assert_eq!(error.class.kind, PoolKind::Committed);
    assert!(error.to_string().contains("in memory of its own"), "{error}");
    assert!(!error.to_string().contains("placed buffers"), "{error}");
    end(gpu);
}
