//! Compacted sizes, and copies into them.

use tenure_core::{Config, Queue};
use tenure_sim::{Device, Profile};

use super::*;

#[test]
fn a_structure_is_compacted_and_traced() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        let rocks: Vec<_> = (0..200).map(|index| bottom(&gpu, 1024 + 256 * index)).collect();
        let mut tickets = Vec::new();
        let mut recording = gpu.record(Queue::Compute, "build").unwrap();
        recording.use_structures(&rocks).unwrap();
        rocks.iter().for_each(|rock| build(&mut recording, rock, &[]));
        recording.query_compacted_sizes(&rocks, &mut tickets).unwrap();
        assert_eq!(tickets[0].poll(), Ok(None), "the copy comes after the size");
        let built = recording.submit().unwrap();
        let sizes: Vec<_> = tickets.iter().map(|ticket| ticket.wait(SECOND).unwrap()).collect();
        assert!(rocks.iter().zip(&sizes).all(|(rock, size)| *size == half(rock)));

        let mut small = Vec::new();
        let mut recording = gpu.record(Queue::Graphics, "compact").unwrap();
        recording.wait_for(&built).unwrap();
        recording.compact_all(rocks.iter().zip(sizes.iter().copied()), &mut small).unwrap();
        drop(rocks);
        let world = top(&gpu, 65_536);
        recording.use_structures(small.iter().chain([&world])).unwrap();
        build(&mut recording, &world, &small.iter().collect::<Vec<_>>());
        recording.use_structures([&world]).unwrap();
        recording.raw().trace_rays(world.raw());
        let submitted = recording.submit().unwrap();
        assert!(gpu.wait(&submitted, SECOND).unwrap());
        gpu.reclaim().unwrap();
        let calls = device.calls();
        assert_eq!(calls.live_acceleration_structures, 201, "the large ones are gone");
        assert!(small.iter().zip(&sizes).all(|(small, size)| small.size() == size.0));
        drop((small, world, tickets));
        end(&device, gpu);
    }
}

#[test]
fn a_compacted_structure_keeps_name_and_tag() {
    let device = late(Profile::D3D12_TIER2);
    let gpu = gpu_of(&device, Config::default());
    let desc = AccelerationStructureDesc::bottom(4096).name("rock").tag("terrain");
    let rock = gpu.create_acceleration_structure(&desc).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "compact").unwrap();
    let small = recording.compact(&rock, CompactedSize(1024)).unwrap();
    let objects = gpu.report().objects;
    let found: Vec<_> =
        objects.iter().filter(|object| object.tag == "terrain").map(|object| object.bytes).collect();
    assert_eq!((found.len(), small.name().as_str()), (2, "rock"));
    drop((recording, rock, small));
    end(&device, gpu);
}

/// A copy to a structure that is too small is detected on the GPU.
#[test]
fn too_little_room_is_found() {
    let device = Device::new(Profile::D3D12_TIER2);
    let gpu = gpu_of(&device, Config::default());
    let rock = bottom(&gpu, 4096);
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    recording.use_structures([&rock]).unwrap();
    build(&mut recording, &rock, &[]);
    let small = recording.compact(&rock, CompactedSize(1024)).unwrap();
    recording.submit().unwrap();
    assert!(device.run_until_idle());
    let hazards: Vec<_> = device.take_hazards().iter().map(ToString::to_string).collect();
    let expected = "acceleration structure too small: acceleration structure 'rock' (#6) and acceleration structure \
                    'rock' (#2): 2048 B are compacted into a structure of 1024, in command 2 \
                    (copy_acceleration_structure) of command list #3, submission 1 on queue 0";
    assert_eq!(hazards, [expected]);
    drop((rock, small));
    end(&device, gpu);
}

#[test]
fn a_clone_is_a_structure_of_its_own() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        let (rock, copy, world) = (bottom(&gpu, 4096), bottom(&gpu, 4096), top(&gpu, 4096));
        let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
        recording.use_structures([&rock]).unwrap();
        build(&mut recording, &rock, &[]);
        recording.copy_acceleration_structure(&rock, &copy).unwrap();
        drop(rock);
        recording.use_structures([&copy, &world]).unwrap();
        build(&mut recording, &world, &[&copy]);
        recording.use_structures([&world]).unwrap();
        recording.raw().trace_rays(world.raw());
        recording.submit().unwrap();
        drop((copy, world));
        end(&device, gpu);
    }
}
