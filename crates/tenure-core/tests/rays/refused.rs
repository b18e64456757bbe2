//! Refusals, with their messages.

use tenure_core::device::DeviceError;
use tenure_core::{
    AccelerationStructureKind, BufferDesc, Config, Error, Graph, MemoryUse, Queue, State, StructureRule,
    Subresource, Usage,
};
use tenure_sim::{Device, Profile};

use super::*;

#[track_caller]
fn rule<T>(result: Result<T, Error>) -> StructureRule {
    match result.err() {
        Some(Error::AccelerationStructure { rule, .. }) => rule,
        other => panic!("expected a rule of acceleration structures, not {other:?}"),
    }
}

#[test]
fn wrong_copies_change_nothing() {
    let (device, other) = (Device::new(Profile::VULKAN_NVIDIA), Device::new(Profile::VULKAN_NVIDIA));
    let (gpu, foreign) = (gpu_of(&device, Config::default()), gpu_of(&other, Config::default()));
    let (rock, small, world) = (bottom(&gpu, 4096), bottom(&gpu, 1024), top(&gpu, 4096));
    let stranger = bottom(&foreign, 4096);
    let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
    let size = CompactedSize(2048);
    assert_eq!(
        rule(recording.compact_into(&rock, size, &small)),
        StructureRule::TooSmall { needed: 2048, size: 1024 }
    );
    assert_eq!(
        rule(recording.copy_acceleration_structure(&rock, &small)).to_string(),
        "4096 B are copied into an acceleration structure of 1024 B"
    );
    let kinds =
        StructureRule::Kinds { src: AccelerationStructureKind::Bottom, dst: AccelerationStructureKind::Top };
    assert_eq!(rule(recording.copy_acceleration_structure(&rock, &world)), kinds);
    assert_eq!(
        kinds.to_string(),
        "a bottom-level acceleration structure cannot be copied to a top-level one"
    );
    assert_eq!(rule(recording.copy_acceleration_structure(&rock, &rock)), StructureRule::Itself);
    assert_eq!(
        rule(recording.compact(&rock, CompactedSize(5000))),
        StructureRule::NotCompacted { compacted: 5000, size: 4096 }
    );
    for error in [
        recording.compact(&stranger, size).map(drop),
        recording.compact_into(&rock, CompactedSize(1), &stranger),
        recording.copy_acceleration_structure(&stranger, &rock),
        recording.use_structures([&stranger]),
        recording.query_compacted_size(&stranger).map(drop),
    ] {
        assert!(matches!(error, Err(Error::Foreign { .. })), "{error:?}");
    }
    let empty = recording.compact(&rock, CompactedSize(0)).map(drop);
    assert!(matches!(empty, Err(Error::Device { .. })), "{empty:?}");
    recording.submit().unwrap();
    drop((rock, small, world, stranger));
    end(&device, gpu);
    end(&other, foreign);
}

#[test]
fn queues_for_copies_have_no_structures() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, Config::default());
    let rock = bottom(&gpu, 4096);
    let mut recording = gpu.record(Queue::Copy, "copies").unwrap();
    assert!(matches!(recording.use_structures([&rock]), Err(Error::State { .. })));
    assert!(matches!(recording.query_compacted_size(&rock), Err(Error::State { .. })));
    recording.submit().unwrap();
    drop(rock);
    end(&device, gpu);
}

#[test]
fn impossible_sizes_are_refused() {
    let device = Device::new(Profile::D3D12_TIER2);
    let gpu = gpu_of(&device, Config::default());
    for size in [0, u64::MAX, u64::MAX - 100] {
        let error = gpu.create_acceleration_structure(&AccelerationStructureDesc::top(size)).map(drop);
        assert!(matches!(error, Err(Error::Device { .. })), "{error:?}");
    }
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    for size in [0, u64::MAX, u64::MAX - 100, 1 << 60] {
        let error = recording.split().1.build_scratch(size).map(drop).unwrap_err();
        assert!(matches!(error, Error::Device { .. } | Error::OutOfMemory(_)), "{error:?}");
        // The requested size, not the manager's rounded one.
        assert!(error.to_string().contains(&format!("size = {size}: ")), "{error}");
    }
    assert!(recording.split().1.build_scratch(100).is_ok());
    recording.submit().unwrap();
    end(&device, gpu);
}

/// Where the device has no acceleration structures, the error names them.
#[test]
fn devices_without_structures_are_errors() {
    let device = Device::new(Profile::VULKAN_MOBILE);
    let gpu = gpu_of(&device, Config::default());
    let made = gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(4096)).map(drop);
    let unsupported = DeviceError::Unsupported { feature: "acceleration structures" };
    assert!(matches!(made, Err(Error::Device { source, .. }) if source == unsupported));
    end(&device, gpu);
}

/// Direct3D 12 has acceleration structures in default heaps alone.
#[test]
fn structures_in_memory_visible_to_the_cpu_are_refused() {
    for profile in [Profile::D3D12_REBAR, Profile::D3D12_ENHANCED] {
        let device = Device::new(profile);
        let gpu = gpu_of(&device, Config::default());
        let usage = Usage::ACCELERATION_STRUCTURE;
        for memory in [MemoryUse::GpuUpload, MemoryUse::Upload, MemoryUse::Readback] {
            let made = gpu.create_buffer(&BufferDesc::new(4096, usage).memory(memory).name("top"));
            assert!(matches!(made, Err(Error::Device { .. })), "{memory:?}: {made:?}");
        }
        let local = gpu.create_buffer(&BufferDesc::new(4096, usage).name("top")).unwrap();
        drop(local);
        end(&device, gpu);
    }
}

/// Nor do they share bytes with other buffers, which Direct3D 12 forbids while both exist; heaps keep their
/// first kind of use.
#[test]
fn transient_structures_share_memory_with_each_other_alone() {
    for profile in [Profile::D3D12_TIER1, Profile::DISCRETE, Profile::D3D12_ENHANCED] {
        let device = Device::new(profile);
        let gpu = gpu_of(&device, Config::default());
        let uses = [
            (Usage::UNORDERED_ACCESS, State::UNORDERED_ACCESS),
            (Usage::ACCELERATION_STRUCTURE, State::ACCELERATION_STRUCTURE),
            (Usage::ACCELERATION_STRUCTURE, State::ACCELERATION_STRUCTURE),
        ];
        for _ in 0..3 {
            let frame = gpu.begin_frame().unwrap();
            let mut recording = frame.record(Queue::Graphics, "one by one").unwrap();
            for (usage, state) in uses {
                let desc = BufferDesc::new(1 << 16, usage).name("scratch");
                let buffer = recording.transient_buffer(&desc).unwrap();
                recording.use_resource(&*buffer, Subresource::All, state).unwrap();
                recording.barriers();
            }
            frame.submit(recording).unwrap();
            let mut graph = Graph::new();
            for (usage, state) in uses {
                let buffer = graph.buffer(BufferDesc::new(1 << 16, usage).name("planned"));
                let _pass = graph.pass(Queue::Graphics, "pass").uses(buffer, state);
            }
            frame.execute(&graph, |_, _, _| Ok::<_, Error>(())).unwrap();
            frame.end().unwrap();
        }
        assert_eq!(gpu.stats().transient.heaps, 4, "{}: two kinds, with and without a plan", profile.name());
        end(&device, gpu);
    }
}
