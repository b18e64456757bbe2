//! What descriptors are, in Vulkan's words.

use ash::vk;
use tenure_core::device::{BindingKind, DescriptorKind};

/// What a heap of views that shaders see holds: all in one array of mutable descriptors, or each kind in an
/// array of its own, whose binding is its place here. A descriptor is at the same index in its array as in
/// the heap.
pub(crate) const RESOURCES: [BindingKind; 6] = [
    BindingKind::Texture,
    BindingKind::StorageTexture,
    BindingKind::Constants,
    BindingKind::Buffer,
    BindingKind::TypedBuffer,
    BindingKind::TypedStorageBuffer,
];

/// The same without constants, for a device that indexes fewer of them.
pub(crate) const WITHOUT_CONSTANTS: [BindingKind; 5] =
    [RESOURCES[0], RESOURCES[1], RESOURCES[3], RESOURCES[4], RESOURCES[5]];

/// What a heap of samplers holds.
pub(crate) const SAMPLERS: [BindingKind; 1] = [BindingKind::Sampler];

/// The binding of a kind in a heap with an array for each; 0 for what is in sets alone.
pub(crate) const fn heap_binding(kind: BindingKind) -> u32 {
    match kind {
        BindingKind::Texture
        | BindingKind::Sampler
        | BindingKind::CombinedSampler
        | BindingKind::InputAttachment
        | BindingKind::AccelerationStructure => 0,
        BindingKind::StorageTexture => 1,
        BindingKind::Constants | BindingKind::DynamicConstants => 2,
        BindingKind::Buffer => 3,
        BindingKind::TypedBuffer => 4,
        BindingKind::TypedStorageBuffer => 5,
    }
}

/// The heap that a kind belongs into.
pub(crate) const fn heap_kind(kind: BindingKind) -> DescriptorKind {
    match kind {
        BindingKind::Sampler => DescriptorKind::Sampler,
        _ => DescriptorKind::Resource,
    }
}

/// True for what has an array in a heap that shaders see.
pub(crate) const fn is_in_heaps(kind: BindingKind) -> bool {
    !kind.is_for_sets_alone() && !matches!(kind, BindingKind::AccelerationStructure)
}

pub(crate) const fn vk_type(kind: BindingKind) -> vk::DescriptorType {
    match kind {
        BindingKind::Constants => vk::DescriptorType::UNIFORM_BUFFER,
        BindingKind::DynamicConstants => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
        BindingKind::Buffer => vk::DescriptorType::STORAGE_BUFFER,
        BindingKind::TypedBuffer => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        BindingKind::TypedStorageBuffer => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        BindingKind::Texture => vk::DescriptorType::SAMPLED_IMAGE,
        BindingKind::StorageTexture => vk::DescriptorType::STORAGE_IMAGE,
        BindingKind::Sampler => vk::DescriptorType::SAMPLER,
        BindingKind::CombinedSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        BindingKind::InputAttachment => vk::DescriptorType::INPUT_ATTACHMENT,
        BindingKind::AccelerationStructure => vk::DescriptorType::ACCELERATION_STRUCTURE_KHR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_place() {
        for kind in BindingKind::ALL.into_iter().filter(|kind| is_in_heaps(*kind)) {
            let heap = if heap_kind(kind) == DescriptorKind::Sampler { &SAMPLERS[..] } else { &RESOURCES };
            let place = heap.iter().position(|known| *known == kind).unwrap();
            assert_eq!(heap_binding(kind) as usize, place, "{kind:?}");
        }
    }
}
