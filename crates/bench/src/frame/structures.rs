//! Acceleration structures, and the scratch memory of their builds.

use std::hint::black_box;

use tenure_core::device::{
    AccelerationStructureKind, AccelerationStructureRange, BufferInfo, Device as _, MemoryTypeId, Permit,
    ResourceDesc,
};
use tenure_core::{AccelerationStructureDesc, Error, Queue, Usage};
use tenure_sim::Profile;

use super::{Line, gpu, line, time};
use crate::null::Device;

const STRUCTURES: usize = 500;
const SIZE: u64 = 4096;

/// Structures of 4 KiB, created and dropped, with the end of the frame; beside it the device's calls for one buffer
/// each. Scratch memory of 4 KiB for a build, handed out and reused; beside it an addition that checks for the end.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let bare = Device::new(Profile::VULKAN_NVIDIA);
    let (mut structures, mut scratch) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut created, mut called, mut taken) = (Ok(()), Ok(()), Ok(()));
        let ours = time(|| created = create(&gpu));
        let least = time(|| called = call(&bare));
        structures.push((ours, least));
        let frame = gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "builds")?;
        recording.split().1.build_scratch(SIZE)?;
        let ours = time(|| {
            let (_, memory) = recording.split();
            for _ in 0..STRUCTURES {
                taken = taken.clone().and(memory.build_scratch(black_box(SIZE)).map(|room| {
                    black_box(room.gpu_address());
                }));
            }
            recording.reuse_build_scratch();
        });
        let mut next = 0_u64;
        let least = time(|| {
            for _ in 0..STRUCTURES {
                next = next.checked_add(black_box(SIZE)).filter(|end| *end < 1 << 40).unwrap_or(0);
                black_box(next);
            }
        });
        scratch.push((ours, least));
        frame.submit(recording)?;
        frame.end()?;
        created.and(called).and(taken)?;
    }
    Ok(vec![
        line(
            "acceleration structure of 4 KiB, created and dropped",
            "the device's calls",
            STRUCTURES,
            structures,
        ),
        line("build scratch of 4 KiB", "a checked addition", STRUCTURES, scratch),
    ])
}

fn create(gpu: &tenure_core::Gpu<Device>) -> Result<(), Error> {
    let desc = AccelerationStructureDesc::bottom(SIZE);
    let made: Result<Vec<_>, Error> =
        (0..STRUCTURES).map(|_| gpu.create_acceleration_structure(black_box(&desc))).collect();
    drop(black_box(made?));
    gpu.purge()
}

fn call(device: &Device) -> Result<(), Error> {
    let desc = ResourceDesc::Buffer(BufferInfo { size: SIZE, usage: Usage::ACCELERATION_STRUCTURE });
    let permit = Permit::checked();
    let mut made = Vec::new();
    for _ in 0..STRUCTURES {
        let buffer = device.create_committed(&desc, MemoryTypeId(1))?;
        let kind = AccelerationStructureKind::Bottom;
        let range = AccelerationStructureRange { buffer: &buffer, offset: 0, size: SIZE, kind };
        let structure = device.create_acceleration_structure(permit, black_box(&range))?;
        made.push((structure, buffer));
    }
    for (structure, buffer) in made {
        device.destroy_acceleration_structure(permit, structure);
        device.destroy_resource(permit, buffer);
    }
    Ok(())
}
