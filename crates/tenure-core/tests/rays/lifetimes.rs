//! Requirements and lifetimes of structures.

use tenure_core::device::{BufferInfo, ResourceDesc, prelude::*};
use tenure_core::{Config, LocationKind, Queue, State, Subresource};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Profile};

use super::*;

#[test]
fn builds_traces_and_drops_are_in_order() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        for _ in 0..4 {
            let rocks: Vec<_> = (0..20).map(|index| bottom(&gpu, 1000 + 300 * index)).collect();
            let world = top(&gpu, 4000);
            let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
            recording.use_structures(&rocks).unwrap();
            rocks.iter().for_each(|rock| build(&mut recording, rock, &[]));
            recording.use_structures(rocks.iter().chain([&world])).unwrap();
            build(&mut recording, &world, &rocks.iter().collect::<Vec<_>>());
            recording.submit().unwrap();
            for queue in [Queue::Graphics, Queue::Graphics] {
                let mut recording = gpu.record(queue, "trace").unwrap();
                recording.use_structures([&world]).unwrap();
                recording.raw().trace_rays(world.raw());
                recording.submit().unwrap();
            }
            drop((rocks, world));
        }
        end(&device, gpu);
    }
}

#[test]
fn thousands_of_structures_share_few_buffers() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, Config::default());
    let before = device.calls();
    let many: Vec<_> = (0..4000).map(|_| bottom(&gpu, 4096)).collect();
    let made = device.calls().live_resources - before.live_resources;
    assert!(made <= 16, "{made} buffers for 16 MB of structures");
    assert_eq!(device.calls().live_acceleration_structures, 4000);
    assert!(many.iter().all(|structure| structure.location() == LocationKind::Range));
    assert!(many.iter().all(|structure| structure.offset().is_multiple_of(256)));
    let mut addresses: Vec<_> = many.iter().map(AccelerationStructure::gpu_address).collect();
    addresses.sort_unstable();
    assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 4096));
    drop(many);
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().live_acceleration_structures, 0);
    assert_eq!(device.calls().made(CallKind::CreateAccelerationStructure), 4000);
    end(&device, gpu);
}

#[test]
fn large_ones_have_buffers_of_their_own() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        let large = bottom(&gpu, 64 << 20);
        assert_ne!(large.location(), LocationKind::Range);
        let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
        recording.use_structures([&large]).unwrap();
        build(&mut recording, &large, &[]);
        drop(large);
        recording.submit().unwrap();
        end(&device, gpu);
    }
}

#[test]
fn structures_outlive_their_uses_on_the_gpu() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Manual));
    let gpu = gpu_of(&device, Config::default());
    let rock = bottom(&gpu, 4096);
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    recording.use_structures([&rock]).unwrap();
    build(&mut recording, &rock, &[]);
    drop(rock);
    let submitted = recording.submit().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().live_acceleration_structures, 1);
    assert!(device.run_until_idle());
    assert!(gpu.wait(&submitted, SECOND).unwrap());
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().live_acceleration_structures, 0);
    end(&device, gpu);
}

/// The device detects barriers and builds that the program omits.
#[test]
fn missing_barriers_and_builds_are_found() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, Config::default());
    let (rock, world) = (bottom(&gpu, 4096), top(&gpu, 4096));
    let mut recording = gpu.record(Queue::Graphics, "careless").unwrap();
    recording.use_structures([&rock, &world]).unwrap();
    build(&mut recording, &rock, &[]);
    build(&mut recording, &world, &[&rock]);
    recording.submit().unwrap();
    let mut recording = gpu.record(Queue::Graphics, "too early").unwrap();
    let other = top(&gpu, 4096);
    recording.use_resource(&other, Subresource::All, State::ACCELERATION_STRUCTURE).unwrap();
    recording.raw().trace_rays(other.raw());
    recording.submit().unwrap();
    assert!(device.run_until_idle());
    let hazards: Vec<_> = device.take_hazards().iter().map(ToString::to_string).collect();
    let expected = [
        "missing barrier: acceleration structure 'rock' (#2) and buffer 'acceleration structures' (#1): bytes 0..4096 \
         were written before without a barrier since, in command 1 (build_acceleration_structure) of command list #4, \
         submission 1 on queue 0",
        "acceleration structure not built: acceleration structure 'world' (#8): nothing was built in it or copied to \
         it, in command 0 (trace_rays) of command list #7, submission 2 on queue 0",
    ];
    assert_eq!(hazards, expected);
    drop((rock, world, other));
    end(&device, gpu);
}

/// A failure to make the API's object leaves nothing behind.
#[test]
fn a_refused_structure_leaves_nothing() {
    for size in [4096, 64 << 20] {
        let device = Device::new(Profile::VULKAN_NVIDIA);
        let gpu = gpu_of(&device, Config::default());
        let refusal = Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::CreateAccelerationStructure);
        device.faults().inject(refusal.onwards());
        let desc = AccelerationStructureDesc::bottom(size).name("refused");
        let error = gpu.create_acceleration_structure(&desc).unwrap_err();
        assert!(error.to_string().starts_with("refused: "), "{error}");
        device.faults().clear();
        assert_eq!(gpu.stats().pools.iter().map(|pool| pool.used).sum::<u64>(), 0);
        drop(bottom(&gpu, size));
        end(&device, gpu);
    }
}

/// A table of shaders has a buffer of its own, at the alignment that traces ask for.
#[test]
fn shader_binding_tables_are_aligned() {
    use tenure_core::{BufferDesc, MemoryUse, Usage};
    for profile in PROFILES {
        let device = Device::new(profile);
        let gpu = gpu_of(&device, Config::default());
        let alignment = gpu.device().properties().rays.group_base_alignment;
        for memory in [MemoryUse::GpuOnly, MemoryUse::Upload] {
            let desc = BufferDesc::new(96, Usage::SHADER_BINDING_TABLE).memory(memory).name("table");
            let tables: Vec<_> = (0..5).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
            for table in &tables {
                assert_eq!(table.gpu_address().unwrap() % alignment, 0);
                let mut recording = gpu.record(Queue::Graphics, "trace").unwrap();
                recording.use_resource(table, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
                recording.submit().unwrap();
            }
        }
        let info = BufferInfo::new(96, Usage::SHADER_BINDING_TABLE);
        assert!(device.requirements(&ResourceDesc::Buffer(info)).is_ok());
        end(&device, gpu);
    }
}
