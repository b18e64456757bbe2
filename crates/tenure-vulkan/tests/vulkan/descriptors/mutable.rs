//! Heaps of views in one array, and in one for each type of descriptor.

use crate::harness::PERMIT;
use conformance::{Harness as _, Look, Through};
use tenure_core::device::{DeviceError, prelude::*};
use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorKind, DescriptorTableDesc, Gpu, Usage,
};
use tenure_vulkan::{DeviceConfig, OptionalFeatures};

use super::room::{Room, visible, words};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};
use crate::probe::renumbered;

const MUTABLE: OptionalFeatures = OptionalFeatures::MUTABLE_DESCRIPTORS;
/// In the order of their bindings without mutable descriptors.
const KINDS: [BindingKind; 6] = [
    BindingKind::Texture,
    BindingKind::StorageTexture,
    BindingKind::Constants,
    BindingKind::Buffer,
    BindingKind::TypedBuffer,
    BindingKind::TypedStorageBuffer,
];

/// The default heap has as many indices as on Direct3D 12, with one descriptor each; without mutable types half
/// as many, with six each.
#[test]
fn an_index_takes_one_descriptor_or_six() {
    for options in [validated(), validated().without(MUTABLE)] {
        let vulkan = Vulkan::new(options);
        let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let features = vulkan.device().optional_features();
        let is_mutable = features.contains(MUTABLE);
        let limits = vulkan.device().properties().descriptors;
        assert_eq!(limits.descriptors_per_index, if is_mutable { 1 } else { 6 });
        let buffer = gpu.create_buffer(&BufferDesc::new(256, Usage::SHADER_READ)).unwrap();
        let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        if features.contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
            let before = resident();
            let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()])).unwrap();
            let (heap, taken) = (table.heap(), resident().saturating_sub(before));
            let (indices, descriptors) = (heap.count(), heap.api_descriptors());
            println!(
                "mutable: {is_mutable}, {indices} indices, {descriptors} descriptors, {taken} KiB more resident"
            );
            let expected = if is_mutable { (32_768, 32_768) } else { (16_384, 6 * 16_384) };
            assert_eq!((indices, descriptors), expected);
        }
        drop((view, buffer));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        vulkan.end();
    }
}

/// KiB of this process that are in memory; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// Where a device indexes fewer uniform buffers they have an array of their own, at the first indices.
#[test]
fn fewer_constants_are_beside_the_others() {
    let costume = Costume { constants: 64, ..Costume::plain() };
    for options in [DeviceConfig::default(), DeviceConfig::default().without(MUTABLE)] {
        let room = Room::new(Vulkan::disguised(costume.clone(), &options));
        if !room.has_heaps() {
            room.end();
            continue;
        }
        let is_mutable = room.device.optional_features().contains(MUTABLE);
        let looks = room.furnish();
        let heap = visible(&room.device, DescriptorKind::Resource, 200).unwrap();
        assert_eq!((heap.constants(), heap.binding(BindingKind::Constants)), (56, Some(2)));
        assert_eq!(heap.api_descriptors(), if is_mutable { 200 } else { 5 * 200 } + 56);
        let sources: Vec<_> = (0..7).map(|index| room.source(index)).collect();
        room.device.fill_descriptors(PERMIT, &heap, 40, &sources).unwrap();
        room.device.fill_descriptors(PERMIT, &heap, 100, &sources[1..]).unwrap();
        let refused = room.device.fill_descriptors(PERMIT, &heap, 56, &sources);
        assert!(matches!(refused, Err(DeviceError::InvalidCall { .. })), "{refused:?}");
        for (index, look) in (0..).zip(looks) {
            let seen = room.look(look, Through::Heap { heap: &heap, index: 40 + index });
            assert_eq!(seen, Room::expected(index), "{index}");
        }
        assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 100 }), words(1));
        room.device.clear_descriptors(PERMIT, &heap, 40, 7, Some("a table"));
        for (index, look) in [(40, Look::Constants), (41, Look::Buffer), (45, Look::Texture)] {
            assert_eq!(room.look(look, Through::Heap { heap: &heap, index }), [0; 4], "{index} was freed");
        }
        assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 100 }), words(1));
        // One that is small enough has all in one array.
        let small = visible(&room.device, DescriptorKind::Resource, 56).unwrap();
        assert_eq!((small.constants(), small.api_descriptors()), (56, if is_mutable { 56 } else { 6 * 56 }));
        room.device.destroy_descriptor_heap(PERMIT, small);
        room.device.destroy_descriptor_heap(PERMIT, heap);
        room.end();
    }
}

/// A shader with the bindings of six arrays is the same as one with those of the heap.
#[test]
fn shaders_get_the_bindings_of_the_heap() {
    for options in [validated(), validated().without(MUTABLE)] {
        let room = Room::new(Vulkan::new(options));
        if !room.has_heaps() {
            room.end();
            continue;
        }
        let is_mutable = room.device.optional_features().contains(MUTABLE);
        let heap = visible(&room.device, DescriptorKind::Resource, 16).unwrap();
        let samplers = visible(&room.device, DescriptorKind::Sampler, 16).unwrap();
        for (binding, kind) in (0..).zip(KINDS) {
            assert_eq!(heap.binding(kind), Some(if is_mutable { 0 } else { binding }));
            assert_eq!(samplers.binding(kind), None);
            let (given, expected) = renumbered(&heap, (kind, binding));
            assert_eq!(given.unwrap(), expected, "{kind:?}");
        }
        let (refused, _) = renumbered(&heap, (BindingKind::Texture, 6));
        assert!(matches!(refused, Err(DeviceError::InvalidDesc { field: "binding", .. })), "{refused:?}");
        let (refused, _) = renumbered(&samplers, (BindingKind::Sampler, 1));
        assert!(refused.is_err());
        let (given, expected) = renumbered(&samplers, (BindingKind::Sampler, 0));
        assert_eq!(given.unwrap(), expected);
        let hidden = room.views.renumber(&mut [], 0);
        assert!(matches!(hidden, Err(DeviceError::InvalidDesc { field: "shader_visible", .. })));
        room.device.destroy_descriptor_heap(PERMIT, heap);
        room.device.destroy_descriptor_heap(PERMIT, samplers);
        room.end();
    }
}
