//! What is refused, with what it says.

use tenure_core::device::DeviceError;
use tenure_core::{AccelerationStructureKind, Config, Error, Queue, StructureRule};
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
fn sizes_of_nothing_are_refused() {
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
        // What was asked for, and not what the manager makes of it.
        assert!(error.to_string().contains(&format!("size = {size}: ")), "{error}");
    }
    assert!(recording.split().1.build_scratch(100).is_ok());
    recording.submit().unwrap();
    end(&device, gpu);
}

/// Where the device has no acceleration structures, the error names them.
#[test]
fn devices_without_structures_say_so() {
    let device = Device::new(Profile::VULKAN_MOBILE);
    let gpu = gpu_of(&device, Config::default());
    let made = gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(4096)).map(drop);
    let unsupported = DeviceError::Unsupported { feature: "acceleration structures" };
    assert!(matches!(made, Err(Error::Device { source, .. }) if source == unsupported));
    end(&device, gpu);
}
