//! Acceleration structures as descriptors.

use tenure_core::{
    Bind, BindingKind, DescriptorSetDesc, DescriptorTableDesc, Error, Queue, SetBinding, SetDescriptor,
    SetLayoutDesc, State,
};
use tenure_sim::{DescriptorAt, HazardKind, Profile};

use super::*;

/// The binding of a structure in a set.
fn at(set: &tenure_core::DescriptorSet<Device>) -> DescriptorAt<'_> {
    DescriptorAt::Set { block: set.block(), set: set.index(), binding: 3, element: 1 }
}

fn layout(gpu: &Gpu<Device>) -> tenure_core::SetLayout<Device> {
    let binding = SetBinding::new(3, BindingKind::AccelerationStructure).count(2);
    gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("rays")).unwrap()
}

fn built(gpu: &Gpu<Device>) -> AccelerationStructure<Device> {
    let (rock, world) = (bottom(gpu, 4096), top(gpu, 4096));
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    recording.use_structures([&rock]).unwrap();
    build(&mut recording, &rock, &[]);
    recording.use_structures([&rock, &world]).unwrap();
    build(&mut recording, &world, &[]);
    recording.submit().unwrap();
    world
}

/// Rays are traced through the structure of a set, which keeps it alive after its handle is dropped.
#[test]
fn sets_keep_the_structures_in_them() {
    let device = late(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, Config::default());
    let (world, layout) = (built(&gpu), layout(&gpu));
    let binds = [SetDescriptor::new(3, &world), SetDescriptor::new(3, &world).element(1)];
    let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("rays")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "trace").unwrap();
    recording.use_structures([&world]).unwrap();
    drop(world);
    recording.raw().use_descriptor(at(&set), State::ACCELERATION_STRUCTURE);
    recording.submit().unwrap();
    gpu.wait(&gpu.submitted(), SECOND).unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().live_acceleration_structures, 1, "the set has it");
    drop(set);
    drop(layout);
    end(&device, gpu);
}

/// A trace through a descriptor is checked like any other: structures that were not built, and uses in another
/// state.
#[test]
fn wrong_traces_are_found() {
    for (is_built, state, hazard) in [
        (false, State::ACCELERATION_STRUCTURE, HazardKind::UnbuiltStructure),
        (true, State::NON_PIXEL_SHADER, HazardKind::WrongDescriptor),
    ] {
        let device = late(Profile::VULKAN_NVIDIA);
        let gpu = gpu_of(&device, Config::default());
        let layout = layout(&gpu);
        let world = if is_built { built(&gpu) } else { top(&gpu, 4096) };
        let binds = [SetDescriptor::new(3, &world).element(1)];
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "trace").unwrap();
        recording.use_structures([&world]).unwrap();
        recording.raw().use_descriptor(at(&set), state);
        recording.submit().unwrap();
        gpu.wait(&gpu.submitted(), SECOND).unwrap();
        let found: Vec<_> = device.take_hazards().iter().map(|hazard| hazard.kind).collect();
        assert_eq!(found, [hazard]);
        drop((set, layout, world));
        end(&device, gpu);
    }
}

/// Direct3D 12 has them in tables; on Vulkan shaders take their addresses there.
#[test]
fn tables_take_structures_on_direct3d() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        let world = built(&gpu);
        let binds = [Bind::from(&world)];
        let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("rays"));
        if profile == Profile::VULKAN_NVIDIA {
            let text = table.map(drop).unwrap_err().to_string();
            assert!(text.contains("sets"), "{text}");
        } else {
            let table = table.unwrap();
            let mut recording = gpu.record(Queue::Graphics, "trace").unwrap();
            recording.use_structures([&world]).unwrap();
            recording.set_descriptor_heaps().unwrap();
            let at = DescriptorAt::Heap { heap: table.heap(), index: table.first() };
            recording.raw().use_descriptor(at, State::ACCELERATION_STRUCTURE);
            recording.submit().unwrap();
        }
        drop(world);
        end(&device, gpu);
    }
}

/// Bottom-level structures and those of other managers are refused, and so is a binding of another kind.
#[test]
fn wrong_structures_are_refused() {
    let (device, other) = (Device::new(Profile::VULKAN_NVIDIA), Device::new(Profile::VULKAN_NVIDIA));
    let (gpu, foreign) = (gpu_of(&device, Config::default()), gpu_of(&other, Config::default()));
    let (rock, world, stranger) = (bottom(&gpu, 4096), top(&gpu, 4096), top(&foreign, 4096));
    let layout = layout(&gpu);
    let buffers = SetBinding::new(3, BindingKind::Buffer).count(2);
    let buffers = gpu.create_set_layout(&SetLayoutDesc::new(&[buffers])).unwrap();
    let set = |layout, structure| {
        let binds = [SetDescriptor::new(3, structure)];
        gpu.create_descriptor_set(&DescriptorSetDesc::new(layout, &binds)).map(drop).unwrap_err()
    };
    let text = set(&layout, &rock).to_string();
    assert!(text.contains("rock") && text.contains("top-level"), "{text}");
    assert!(matches!(set(&layout, &stranger), Error::Foreign { .. }));
    assert!(matches!(set(&buffers, &world), Error::Device { .. }));
    drop((rock, world, stranger, layout, buffers));
    end(&device, gpu);
    end(&other, foreign);
}
