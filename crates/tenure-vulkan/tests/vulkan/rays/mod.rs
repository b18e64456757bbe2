//! Acceleration structures that are built, compacted, referred to and traced, under the layers.

mod scene;
mod shader;
mod tracer;
mod traces;

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::device::{Features, prelude::*};
use tenure_core::{
    Bind, BindingKind, BufferDesc, BufferViewDesc, CompactedSize, Config, DescriptorSetDesc,
    DescriptorTableDesc, Gpu, SetBinding, SetDescriptor, SetLayoutDesc, Usage,
};
use tenure_vulkan::Device;

use crate::harness::{Vulkan, validated};
use scene::{Scene, record};

const LONG: Duration = Duration::from_secs(30);

/// A device, a manager and a scene; `None` where the device has no acceleration structures.
fn scene() -> Option<(Vulkan, Scene)> {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    if !device.properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        drop(device);
        vulkan.end();
        return None;
    }
    let gpu = Gpu::new(device, Config::default()).unwrap();
    Some((vulkan, Scene::new(gpu)))
}

#[track_caller]
fn end(vulkan: Vulkan, scene: Scene) {
    let gpu = scene.gpu.clone();
    drop(scene);
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    vulkan.end();
}

/// Structures are built, queried for their sizes, compacted and cloned; top-level ones are built over each, and
/// their bottom-level structures are dropped while they are in flight.
#[test]
fn structures_are_built_compacted_and_referred_to() {
    let Some((vulkan, scene)) = scene() else { return };
    let gpu = scene.gpu.clone();
    let rocks: Vec<_> = (1..=5).map(|count| scene.rock(count * 10)).collect();
    let mut recording = record(&gpu, "build");
    scene.read_vertices(&mut recording);
    recording.use_structures(&rocks).unwrap();
    for (count, rock) in (1..=5).zip(&rocks) {
        scene.build_rock(&mut recording, rock, count * 10);
    }
    let mut tickets = Vec::new();
    recording.query_compacted_sizes(&rocks, &mut tickets).unwrap();
    let world = scene.world(&mut recording, &rocks.iter().collect::<Vec<_>>());
    recording.submit().unwrap();

    let sizes: Vec<_> = tickets.iter().map(|ticket| ticket.wait(LONG).unwrap()).collect();
    assert!(rocks.iter().zip(&sizes).all(|(rock, size)| size.0 > 0 && size.0 <= rock.size()), "{sizes:?}");
    let mut small = Vec::new();
    let mut recording = record(&gpu, "compact");
    recording.compact_all(rocks.iter().zip(sizes.iter().copied()), &mut small).unwrap();
    let clone = scene.rock(50);
    recording.copy_acceleration_structure(&small[4], &clone).unwrap();
    drop((rocks, world));
    let mut all: Vec<_> = small.iter().collect();
    all.push(&clone);
    let world = scene.world(&mut recording, &all);
    // The copies have the sizes of their sources.
    let again = recording.query_compacted_size(&small[4]).unwrap();
    drop((small, clone, world));
    recording.submit().unwrap();
    assert_eq!(again.wait(LONG).unwrap(), sizes[4]);
    drop((tickets, again, gpu));
    end(vulkan, scene);
}

/// A thousand structures, in few buffers, with one page of scratch; everything is released in the end.
#[test]
fn a_thousand_structures_are_built_compacted_and_dropped() {
    let Some((vulkan, scene)) = scene() else { return };
    let gpu = scene.gpu.clone();
    let before = gpu.stats();
    let rocks: Vec<_> = (0..1000).map(|index| scene.rock(1 + index % 60)).collect();
    let built: u64 = rocks.iter().map(|rock| rock.size()).sum();
    let mut recording = record(&gpu, "build");
    scene.read_vertices(&mut recording);
    recording.use_structures(&rocks).unwrap();
    let mut tickets = Vec::new();
    for (batch, first) in rocks.chunks(50).zip((0..).step_by(50)) {
        recording.reuse_build_scratch();
        for (rock, index) in batch.iter().zip(first..) {
            scene.build_rock(&mut recording, rock, 1 + index % 60);
        }
    }
    recording.query_compacted_sizes(&rocks, &mut tickets).unwrap();
    recording.submit().unwrap();
    let sizes: Vec<CompactedSize> = tickets.iter().map(|ticket| ticket.wait(LONG).unwrap()).collect();
    let mut small = Vec::new();
    let mut recording = record(&gpu, "compact");
    recording.compact_all(rocks.iter().zip(sizes), &mut small).unwrap();
    drop((rocks, tickets));
    let submitted = recording.submit().unwrap();
    assert!(gpu.wait(&submitted, LONG).unwrap());
    gpu.reclaim().unwrap();
    let compacted: u64 = small.iter().map(|rock| rock.size()).sum();
    let stats = gpu.stats();
    println!(
        "1,000 structures: {built} B built, {compacted} B compacted; {} driver allocations before, {} with them",
        before.driver_allocations, stats.driver_allocations
    );
    assert!(compacted <= built);
    assert!(stats.driver_allocations <= before.driver_allocations + 24, "{stats:?}");
    drop((small, gpu));
    end(vulkan, scene);
}

/// Structures are written into sets, those that last and those of a recording, many at once, and freed ones are made
/// null. In tables they are refused.
#[test]
fn sets_take_structures() {
    let Some((vulkan, scene)) = scene() else { return };
    let gpu = scene.gpu.clone();
    let rock = scene.rock(10);
    let mut recording = record(&gpu, "build");
    scene.read_vertices(&mut recording);
    recording.use_structures([&rock]).unwrap();
    scene.build_rock(&mut recording, &rock, 10);
    let world = scene.world(&mut recording, &[&rock]);
    recording.submit().unwrap();

    let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::UNORDERED_ACCESS)).unwrap();
    let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::structured_writable(16)).unwrap();
    // More than are written at once, and of two kinds.
    let bindings = [
        SetBinding::new(0, BindingKind::Buffer),
        SetBinding::new(1, BindingKind::AccelerationStructure).count(20),
    ];
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("rays")).unwrap();
    let mut binds = vec![SetDescriptor::new(0, &view)];
    binds.extend((0..20).map(|element| SetDescriptor::new(1, &world).element(element)));
    for _ in 0..3 {
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
        let mut recording = record(&gpu, "trace");
        recording.use_structures([&world]).unwrap();
        recording.split().1.set(&layout, &binds).unwrap();
        recording.submit().unwrap();
        drop(set);
        gpu.wait(&gpu.submitted(), LONG).unwrap();
        gpu.reclaim().unwrap();
    }
    let refused = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[Bind::from(&world)]));
    assert!(refused.is_err());
    let bottom = [SetDescriptor::new(1, &rock)];
    assert!(gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &bottom)).is_err());
    drop((rock, world, buffer, view, layout, gpu));
    end(vulkan, scene);
}

/// Binding tables of shaders are there, at the alignment of the device, or refused by name.
#[test]
fn shader_binding_tables_are_aligned_or_refused() {
    let vulkan = Vulkan::new(validated());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let made = gpu.create_buffer(&BufferDesc::new(96, Usage::SHADER_BINDING_TABLE).name("table"));
    let properties = gpu.device().properties();
    if properties.features.contains(Features::RAY_TRACING_PIPELINES) {
        let address = made.as_ref().unwrap().gpu_address().unwrap();
        assert_eq!(address % properties.rays.group_base_alignment, 0);
    } else {
        let error = made.as_ref().map(drop).unwrap_err().to_string();
        assert!(error.contains("VK_KHR_ray_tracing_pipeline"), "{error}");
    }
    drop((made, gpu));
    vulkan.end();
}
