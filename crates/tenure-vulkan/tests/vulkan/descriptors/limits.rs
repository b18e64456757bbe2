//! Limits on the number of descriptors.

use crate::harness::PERMIT;
use tenure_core::device::{Descriptor, DescriptorHeapDesc, prelude::*};
use tenure_core::{BindingKind, DescriptorKind, DeviceError, SetBinding};
use tenure_vulkan::OptionalFeatures;

use super::room::{Room, nearest, visible};
use crate::harness::{Vulkan, validated};

fn is_bad<T: std::fmt::Debug>(found: Result<T, DeviceError>, field: &str) {
    assert!(matches!(&found, Err(DeviceError::InvalidDesc { field: bad, .. }) if *bad == field), "{found:?}");
}

#[test]
fn heaps_end_at_the_limits() {
    let room = Room::new(Vulkan::new(validated()));
    let limits = room.device.properties().descriptors;
    for kind in [DescriptorKind::Resource, DescriptorKind::Sampler] {
        let most = limits.visible(kind);
        if !room.has_heaps() {
            break;
        }
        room.device.destroy_descriptor_heap(PERMIT, visible(&room.device, kind, most).unwrap());
        for count in [0, most + 1, u32::MAX] {
            is_bad(visible(&room.device, kind, count), "count");
        }
    }
    for kind in DescriptorKind::ALL {
        for count in [0, u32::MAX] {
            let desc = DescriptorHeapDesc { kind, count, shader_visible: false };
            is_bad(room.device.create_descriptor_heap(&desc), "count");
        }
        if !kind.is_for_shaders() {
            is_bad(visible(&room.device, kind, 1), "shader_visible");
        }
    }
    room.end();
}

/// Without descriptor indexing there are no shader-visible heaps, and the error says so.
#[test]
fn without_indexing_there_are_sets_alone() {
    let room = Room::new(Vulkan::new(validated().without(OptionalFeatures::DESCRIPTOR_INDEXING)));
    let limits = room.device.properties().descriptors;
    assert_eq!((limits.visible_resources, limits.visible_samplers, limits.sets), (0, 0, true));
    for kind in [DescriptorKind::Resource, DescriptorKind::Sampler] {
        let refused = visible(&room.device, kind, 1).map(drop);
        assert_eq!(refused, Err(DeviceError::Unsupported { feature: "descriptor indexing" }));
    }
    room.end();
}

/// The sampler beyond the limit is a shortage, and a freed one can be allocated again.
#[test]
fn samplers_end_at_the_limit() {
    let room = Room::new(Vulkan::new(validated()));
    let most = room.device.properties().descriptors.samplers;
    let desc = DescriptorHeapDesc { kind: DescriptorKind::Sampler, count: most + 1, shader_visible: false };
    let heap = room.device.create_descriptor_heap(&desc).unwrap();
    let sampler = Descriptor::Sampler(nearest());
    for index in 0..most {
        room.device.write_descriptor(PERMIT, &heap, index, &sampler).unwrap();
    }
    let refused = room.device.write_descriptor(PERMIT, &heap, most, &sampler);
    assert!(refused.as_ref().is_err_and(DeviceError::is_shortage), "{refused:?}");
    room.device.clear_descriptors(PERMIT, &heap, 7, 1, None);
    room.device.write_descriptor(PERMIT, &heap, most, &sampler).unwrap();
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.end();
}

#[test]
fn layouts_and_blocks_end_at_the_limits() {
    let room = Room::new(Vulkan::new(validated()));
    let of = |binding, kind, count| SetBinding::new(binding, kind).count(count);
    let traces = room.device.optional_features().contains(OptionalFeatures::ACCELERATION_STRUCTURES);
    for kind in BindingKind::ALL {
        let too_many = room.device.create_set_layout(&[of(0, kind, u32::MAX)]);
        if kind == BindingKind::AccelerationStructure && !traces {
            assert!(matches!(&too_many, Err(DeviceError::Unsupported { .. })), "{too_many:?}");
        } else {
            is_bad(too_many, "count");
        }
        is_bad(room.device.create_set_layout(&[of(0, kind, 0)]), "count");
        is_bad(room.device.create_set_layout(&[of(u32::MAX, kind, 1)]), "binding");
        is_bad(room.device.create_set_layout(&[of(2, kind, 1), of(2, kind, 1)]), "binding");
    }
    let some = room.layout(&[of(0, BindingKind::Buffer, 4)]);
    for sets in [0, 1 << 17, u32::MAX] {
        is_bad(room.device.create_set_pool(PERMIT, &some, sets), "sets");
    }
    // A set of nothing, to keep numbers in a pipeline.
    let nothing = room.layout(&[]);
    let block = room.device.create_set_pool(PERMIT, &nothing, 3).unwrap();
    assert_eq!((block.sets().len(), block.set(3)), (3, None));
    room.device.write_set(PERMIT, &block, 2, &[]).unwrap();
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, nothing);
    room.device.destroy_set_layout(PERMIT, some);
    room.end();
}
