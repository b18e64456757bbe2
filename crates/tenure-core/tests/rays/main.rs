//! Acceleration structures and the scratch memory of their builds.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::{AccelerationStructure, AccelerationStructureDesc, CompactedSize, Config, Gpu, Recording};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

mod bindings;
mod compaction;
mod lifetimes;
mod refused;
mod scratch;

const SECOND: Duration = Duration::from_secs(1);

const PROFILES: [Profile; 3] = [Profile::D3D12_TIER2, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA];

fn gpu_of(device: &Device, config: Config) -> Gpu<Device> {
    Gpu::new(device.clone(), config).unwrap()
}

fn late(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(3)))
}

fn bottom(gpu: &Gpu<Device>, size: u64) -> AccelerationStructure<Device> {
    gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(size).name("rock")).unwrap()
}

fn top(gpu: &Gpu<Device>, size: u64) -> AccelerationStructure<Device> {
    gpu.create_acceleration_structure(&AccelerationStructureDesc::top(size).name("world")).unwrap()
}

/// Builds a structure that takes half its bytes when it is compacted. The caller has noted the use.
fn build(
    recording: &mut Recording<Device>,
    structure: &AccelerationStructure<Device>,
    instances: &[&AccelerationStructure<Device>],
) {
    let (commands, scratch) = recording.split();
    let room = scratch.build_scratch(1000).unwrap();
    let instances: Vec<_> = instances.iter().map(|instance| instance.raw()).collect();
    let room = (room.raw(), room.offset(), room.size());
    commands.raw().build_acceleration_structure(structure.raw(), room, structure.size() / 2, &instances);
}

/// Nothing was wrong, and nothing is left once the manager is gone.
#[track_caller]
fn end(device: &Device, gpu: Gpu<Device>) {
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

fn half(structure: &AccelerationStructure<Device>) -> CompactedSize {
    CompactedSize(structure.size() / 2)
}
