//! A device's limits and properties of descriptors.

use ash::vk;
use tenure_core::device::{Allowed, BindingKind, DescriptorKind, DescriptorLimits, DeviceError, SetBinding};

use super::arrays::Arrays;
use super::arrays::RESOURCES;
use super::buffer::DescriptorSizes;
use crate::features::OptionalFeatures;
use crate::loaded::power_of_two;

type Indexing<'a> = vk::PhysicalDeviceDescriptorIndexingProperties<'a>;

/// Kinds that a device counts together.
const GROUPS: [&[BindingKind]; 9] = [
    &[BindingKind::Sampler, BindingKind::CombinedSampler],
    &[BindingKind::Constants, BindingKind::DynamicConstants],
    &[BindingKind::DynamicConstants],
    &[BindingKind::Buffer],
    &[BindingKind::Texture, BindingKind::TypedBuffer, BindingKind::CombinedSampler],
    &[BindingKind::StorageTexture, BindingKind::TypedStorageBuffer],
    &[BindingKind::InputAttachment],
    &[BindingKind::AccelerationStructure],
    &[
        BindingKind::Constants,
        BindingKind::DynamicConstants,
        BindingKind::Buffer,
        BindingKind::TypedBuffer,
        BindingKind::TypedStorageBuffer,
        BindingKind::Texture,
        BindingKind::StorageTexture,
        BindingKind::CombinedSampler,
        BindingKind::InputAttachment,
        BindingKind::AccelerationStructure,
    ],
];

/// The contract's limits, and other frequently used values.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorTables {
    pub(crate) contract: DescriptorLimits,
    /// Maximum number of uniform buffers in a shader-visible heap, which may be lower than for other kinds.
    pub(crate) visible_constants: u32,
    /// Views in heaps that shaders see are mutable descriptors.
    is_mutable: bool,
    /// Sizes of descriptors, if shader-visible heaps are buffers.
    pub(super) sizes: Option<DescriptorSizes>,
    /// The stages that see the descriptors in buffers.
    stages: vk::ShaderStageFlags,
    /// Bytes.
    pub(crate) constant_alignment: u64,
    /// Bytes.
    pub(crate) storage_alignment: u64,
    pub(crate) mip_bias: f32,
    /// Maximum number of each group in one set, and in all sets of a pipeline stage.
    groups: [u32; GROUPS.len()],
}

impl DescriptorTables {
    /// `indexing`: its limits if it is used, and whether it includes uniform buffers. `structures`: the maximum
    /// number of acceleration structures of a stage and of a set.
    pub(crate) fn new(
        limits: &vk::PhysicalDeviceLimits,
        features: &vk::PhysicalDeviceFeatures,
        indexing: Option<(&Indexing<'_>, bool)>,
        enabled: OptionalFeatures,
        structures: u32,
    ) -> Self {
        let has_anisotropy = features.sampler_anisotropy == vk::TRUE;
        let anisotropy = if has_anisotropy { limits.max_sampler_anisotropy as u32 } else { 1 };
        let is_mutable = enabled.contains(OptionalFeatures::MUTABLE_DESCRIPTORS);
        let (most_resources, most_constants) = indexing.map_or((0, 0), |(found, has_constants)| {
            let constants = if has_constants { most_constants(found) } else { 0 };
            (most_resources(found, constants, is_mutable), constants)
        });
        let visible_resources = share(most_resources);
        Self {
            contract: DescriptorLimits {
                visible_resources,
                visible_samplers: indexing.map_or(0, |(found, _)| share(most_samplers(found))),
                descriptors_per_index: if is_mutable { 1 } else { RESOURCES.len() as u32 },
                samplers: limits.max_sampler_allocation_count,
                sets: true,
                null: enabled.contains(OptionalFeatures::NULL_DESCRIPTORS),
                anisotropy: anisotropy.max(1),
                constant_size: u64::from(limits.max_uniform_buffer_range),
                storage_size: u64::from(limits.max_storage_buffer_range),
                typed_elements: limits.max_texel_buffer_elements,
                typed_alignment: power_of_two(limits.min_texel_buffer_offset_alignment),
            },
            visible_constants: share(most_constants).min(visible_resources),
            is_mutable,
            sizes: None,
            stages: vk::ShaderStageFlags::empty(),
            constant_alignment: power_of_two(limits.min_uniform_buffer_offset_alignment),
            storage_alignment: power_of_two(limits.min_storage_buffer_offset_alignment),
            mip_bias: limits.max_sampler_lod_bias,
            groups: groups(limits, structures),
        }
    }

    /// Stores shader-visible heaps in buffers; there are no sets. `is_robust`: accesses of buffers are checked.
    /// `stages`: the stages of the device. Layouts for buffers are not updated after they are bound, so `limits`
    /// apply to them.
    pub(crate) fn use_buffers(
        &mut self,
        limits: &vk::PhysicalDeviceLimits,
        found: &vk::PhysicalDeviceDescriptorBufferPropertiesEXT<'_>,
        is_robust: bool,
        stages: vk::ShaderStageFlags,
    ) {
        self.stages = stages;
        let plain = plain(limits);
        self.visible_constants = self.visible_constants.min(share(most_constants(&plain)));
        let contract = &mut self.contract;
        let resources = share(most_resources(&plain, self.visible_constants, self.is_mutable));
        contract.visible_resources = contract.visible_resources.min(resources);
        contract.visible_samplers = contract.visible_samplers.min(share(most_samplers(&plain)));
        let sizes = DescriptorSizes::new(found, is_robust);
        let stride = if self.is_mutable { sizes.largest(&RESOURCES) } else { sizes.sum(&RESOURCES) };
        let most = |range: u64, stride: u64| {
            // Drivers align the arrays, by less than this.
            let most = range.saturating_sub(4096) / stride.max(1);
            u32::try_from(most).unwrap_or(u32::MAX)
        };
        let resources = found.max_resource_descriptor_buffer_range;
        let samplers = found.max_sampler_descriptor_buffer_range;
        let (alone, constants) = (most(resources, stride), self.visible_constants);
        let room = if self.is_mutable && constants < alone.min(contract.visible_resources) {
            // Constants have either a separate array in the same buffer, or the one array, which is then at most
            // as long.
            let own = u64::from(constants) * sizes.of(BindingKind::Constants);
            most(resources.saturating_sub(own), stride).max(constants)
        } else {
            alone
        };
        contract.visible_resources = contract.visible_resources.min(room);
        contract.visible_samplers =
            contract.visible_samplers.min(most(samplers, sizes.of(BindingKind::Sampler)));
        self.visible_constants = self.visible_constants.min(self.contract.visible_resources);
        self.contract.sets = false;
        self.sizes = Some(sizes);
    }

    /// The arrays of a shader-visible heap of `count` indices.
    pub(super) fn arrays(&self, kind: DescriptorKind, count: u32) -> Arrays {
        let arrays = Arrays::new(kind, count, self.visible_constants, self.is_mutable);
        if self.sizes.is_some() { arrays.in_buffer(self.stages) } else { arrays }
    }

    /// Reduces the limits of heaps to fit `most_in_set` if the driver does not support larger ones.
    pub(crate) fn cut(
        &mut self,
        most_in_set: u32,
        is_possible: impl Fn(&vk::DescriptorSetLayoutCreateInfo<'_>) -> bool,
    ) {
        for kind in [DescriptorKind::Resource, DescriptorKind::Sampler] {
            let arrays = self.arrays(kind, self.contract.visible(kind));
            if arrays.total() <= u64::from(most_in_set) || arrays.with_layout(&is_possible) {
                continue;
            }
            let most = match kind {
                DescriptorKind::Resource => &mut self.contract.visible_resources,
                _ => &mut self.contract.visible_samplers,
            };
            *most = (*most).min(most_in_set / arrays.count().max(1));
        }
        self.visible_constants = self.visible_constants.min(self.contract.visible_resources);
    }

    /// Checks that a set with these bindings can be part of a pipeline.
    pub(crate) fn check_set(&self, bindings: &[SetBinding]) -> Result<(), DeviceError> {
        for (kinds, most) in GROUPS.iter().zip(self.groups) {
            let found = bindings.iter().filter(|binding| kinds.contains(&binding.kind));
            let count: u64 = found.map(|binding| u64::from(binding.count)).sum();
            if count > u64::from(most) {
                return Err(DeviceError::invalid_desc("count", count, Allowed::AtMost(u64::from(most))));
            }
        }
        Ok(())
    }
}

/// The limits of layouts that are not updated after bind, in the structure for layouts that are.
fn plain(limits: &vk::PhysicalDeviceLimits) -> Indexing<'static> {
    Indexing {
        max_update_after_bind_descriptors_in_all_pools: u32::MAX,
        max_per_stage_update_after_bind_resources: limits.max_per_stage_resources,
        max_per_stage_descriptor_update_after_bind_samplers: limits.max_per_stage_descriptor_samplers,
        max_descriptor_set_update_after_bind_samplers: limits.max_descriptor_set_samplers,
        max_per_stage_descriptor_update_after_bind_uniform_buffers: limits
            .max_per_stage_descriptor_uniform_buffers,
        max_descriptor_set_update_after_bind_uniform_buffers: limits.max_descriptor_set_uniform_buffers,
        max_per_stage_descriptor_update_after_bind_storage_buffers: limits
            .max_per_stage_descriptor_storage_buffers,
        max_descriptor_set_update_after_bind_storage_buffers: limits.max_descriptor_set_storage_buffers,
        max_per_stage_descriptor_update_after_bind_sampled_images: limits
            .max_per_stage_descriptor_sampled_images,
        max_descriptor_set_update_after_bind_sampled_images: limits.max_descriptor_set_sampled_images,
        max_per_stage_descriptor_update_after_bind_storage_images: limits
            .max_per_stage_descriptor_storage_images,
        max_descriptor_set_update_after_bind_storage_images: limits.max_descriptor_set_storage_images,
        ..Indexing::default()
    }
}

/// The part of a limit used for a heap: the rest is for the program's own sets.
const fn share(limit: u32) -> u32 {
    limit - limit / 8
}

/// The maximum number of descriptors in a heap of views. Arrays of each type have the same length, and count
/// together with others. Each mutable descriptor counts once, as its current kind; beside them there may be an
/// array of constants, if a device has much fewer.
fn most_resources(found: &Indexing<'_>, constants: u32, is_mutable: bool) -> u32 {
    let (images, texels, all) = if is_mutable { (1, 1, 1) } else { (2, 2, RESOURCES.len() as u32) };
    let most = [
        found.max_per_stage_descriptor_update_after_bind_storage_buffers,
        found.max_descriptor_set_update_after_bind_storage_buffers,
        found.max_per_stage_descriptor_update_after_bind_sampled_images / images,
        found.max_descriptor_set_update_after_bind_sampled_images / images,
        found.max_per_stage_descriptor_update_after_bind_storage_images / texels,
        found.max_descriptor_set_update_after_bind_storage_images / texels,
        found.max_per_stage_update_after_bind_resources / all,
        found.max_update_after_bind_descriptors_in_all_pools / all,
    ];
    let most = most.into_iter().fold(u32::MAX, u32::min);
    match constants {
        // One array is simpler, and as large.
        _ if is_mutable && constants >= most / 2 => most.min(constants),
        _ if is_mutable => most - constants,
        _ => most,
    }
}

fn most_constants(found: &Indexing<'_>) -> u32 {
    found
        .max_per_stage_descriptor_update_after_bind_uniform_buffers
        .min(found.max_descriptor_set_update_after_bind_uniform_buffers)
}

fn most_samplers(found: &Indexing<'_>) -> u32 {
    found
        .max_per_stage_descriptor_update_after_bind_samplers
        .min(found.max_descriptor_set_update_after_bind_samplers)
}

/// The limits of each group of descriptors, in the order of [`GROUPS`].
fn groups(limits: &vk::PhysicalDeviceLimits, structures: u32) -> [u32; GROUPS.len()] {
    [
        limits.max_per_stage_descriptor_samplers.min(limits.max_descriptor_set_samplers),
        limits.max_per_stage_descriptor_uniform_buffers.min(limits.max_descriptor_set_uniform_buffers),
        limits.max_descriptor_set_uniform_buffers_dynamic,
        limits.max_per_stage_descriptor_storage_buffers.min(limits.max_descriptor_set_storage_buffers),
        limits.max_per_stage_descriptor_sampled_images.min(limits.max_descriptor_set_sampled_images),
        limits.max_per_stage_descriptor_storage_images.min(limits.max_descriptor_set_storage_images),
        limits.max_per_stage_descriptor_input_attachments.min(limits.max_descriptor_set_input_attachments),
        structures,
        limits.max_per_stage_resources,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u32 = 1 << 20;

    fn indexing() -> Indexing<'static> {
        Indexing {
            max_update_after_bind_descriptors_in_all_pools: u32::MAX,
            max_per_stage_update_after_bind_resources: u32::MAX,
            max_per_stage_descriptor_update_after_bind_samplers: 4096,
            max_descriptor_set_update_after_bind_samplers: 2048,
            max_per_stage_descriptor_update_after_bind_uniform_buffers: 64,
            max_descriptor_set_update_after_bind_uniform_buffers: MANY,
            max_per_stage_descriptor_update_after_bind_storage_buffers: MANY,
            max_descriptor_set_update_after_bind_storage_buffers: MANY,
            max_per_stage_descriptor_update_after_bind_sampled_images: MANY,
            max_descriptor_set_update_after_bind_sampled_images: MANY,
            max_per_stage_descriptor_update_after_bind_storage_images: MANY,
            max_descriptor_set_update_after_bind_storage_images: MANY,
            ..Indexing::default()
        }
    }

    /// Limits of layouts that are not updated after bind.
    fn plentiful() -> vk::PhysicalDeviceLimits {
        vk::PhysicalDeviceLimits {
            max_per_stage_resources: u32::MAX,
            max_per_stage_descriptor_samplers: MANY,
            max_descriptor_set_samplers: MANY,
            max_per_stage_descriptor_uniform_buffers: MANY,
            max_descriptor_set_uniform_buffers: MANY,
            max_per_stage_descriptor_storage_buffers: MANY,
            max_descriptor_set_storage_buffers: MANY,
            max_per_stage_descriptor_sampled_images: MANY,
            max_descriptor_set_sampled_images: MANY,
            max_per_stage_descriptor_storage_images: MANY,
            max_descriptor_set_storage_images: MANY,
            ..Default::default()
        }
    }

    fn tables(indexing: Option<(&Indexing<'_>, bool)>) -> DescriptorTables {
        let limits = vk::PhysicalDeviceLimits {
            max_per_stage_descriptor_samplers: 16,
            max_descriptor_set_samplers: 96,
            max_per_stage_descriptor_sampled_images: 20,
            max_descriptor_set_sampled_images: 96,
            max_per_stage_descriptor_storage_images: 20,
            max_descriptor_set_storage_images: 96,
            max_per_stage_descriptor_input_attachments: 4,
            max_descriptor_set_input_attachments: 8,
            max_per_stage_resources: 30,
            max_sampler_anisotropy: 16.0,
            ..Default::default()
        };
        let features = vk::PhysicalDeviceFeatures::default().sampler_anisotropy(true);
        let enabled = OptionalFeatures::all().difference(OptionalFeatures::MUTABLE_DESCRIPTORS);
        DescriptorTables::new(&limits, &features, indexing, enabled, 16)
    }

    /// A mutable descriptor counts once, for any kind.
    #[test]
    fn mutable_descriptors_have_all_the_room() {
        let of = |found: &Indexing<'_>, has_constants| {
            let (limits, features) = Default::default();
            let enabled = OptionalFeatures::all();
            let tables = DescriptorTables::new(&limits, &features, Some((found, has_constants)), enabled, 0);
            let arrays = tables.arrays(DescriptorKind::Resource, tables.contract.visible_resources);
            assert_eq!(tables.contract.descriptors_per_index, 1);
            (tables.contract.visible_resources, tables.visible_constants, arrays.count())
        };
        assert_eq!(of(&indexing(), false), (share(MANY), 0, 1));
        assert_eq!(
            of(&indexing(), true),
            (share(MANY - 64), share(64), 2),
            "constants take room beside them"
        );
        let most = MANY - 5;
        let many =
            Indexing { max_per_stage_descriptor_update_after_bind_uniform_buffers: most, ..indexing() };
        assert_eq!(of(&many, true), (share(most), share(most), 1), "nearly as many constants");
    }

    #[test]
    fn kinds_that_count_together_share_a_limit() {
        let mut tables = tables(Some((&indexing(), true)));
        assert_eq!(tables.contract.visible_resources, share(MANY / 2), "textures beside typed buffers");
        assert_eq!(tables.contract.visible_samplers, share(2048));
        assert_eq!(tables.visible_constants, share(64), "which do not make the whole heap small");
        tables.cut(6000, |_| true);
        assert_eq!(tables.contract.visible_resources, share(MANY / 2), "the driver can");
        tables.cut(600, |_| false);
        assert_eq!((tables.contract.visible_resources, tables.visible_constants), (100, 56));
        assert_eq!(tables.contract.visible_samplers, 600);
    }

    /// The range of a buffer limits its descriptors, even if the driver can index more.
    #[test]
    fn buffers_end_with_their_range() {
        let found = vk::PhysicalDeviceDescriptorBufferPropertiesEXT {
            sampler_descriptor_size: 16,
            sampled_image_descriptor_size: 64,
            storage_image_descriptor_size: 32,
            uniform_buffer_descriptor_size: 16,
            robust_uniform_buffer_descriptor_size: 128,
            storage_buffer_descriptor_size: 16,
            robust_storage_buffer_descriptor_size: 16,
            uniform_texel_buffer_descriptor_size: 16,
            robust_uniform_texel_buffer_descriptor_size: 16,
            storage_texel_buffer_descriptor_size: 16,
            robust_storage_texel_buffer_descriptor_size: 16,
            max_resource_descriptor_buffer_range: 4096 + 64_000,
            max_sampler_descriptor_buffer_range: 4096 + 1600,
            ..Default::default()
        };
        let of = |limits: &vk::PhysicalDeviceLimits, enabled: OptionalFeatures, is_robust| {
            let features = vk::PhysicalDeviceFeatures::default();
            let indexing = indexing();
            let mut tables = DescriptorTables::new(limits, &features, Some((&indexing, false)), enabled, 0);
            tables.use_buffers(limits, &found, is_robust, vk::ShaderStageFlags::COMPUTE);
            assert!(!tables.contract.sets);
            (tables.contract.visible_resources, tables.contract.visible_samplers)
        };
        let mutable = OptionalFeatures::MUTABLE_DESCRIPTORS;
        let limits = plentiful();
        assert_eq!(of(&limits, mutable, false), (1000, 100), "as large as the largest");
        assert_eq!(of(&limits, mutable, true), (500, 100));
        assert_eq!(of(&limits, OptionalFeatures::empty(), false), (64_000 / 160, 100), "one of each");
        // Their layouts are not updated after they are bound.
        let few = vk::PhysicalDeviceLimits {
            max_per_stage_descriptor_sampled_images: 200,
            max_per_stage_descriptor_samplers: 64,
            ..limits
        };
        assert_eq!(of(&few, mutable, false), (share(200), share(64)));
        assert_eq!(of(&few, OptionalFeatures::empty(), false), (share(100), share(64)));
    }

    /// An array of constants beside the mutable descriptors is in the same buffer, and in its range.
    #[test]
    fn constants_beside_mutable_descriptors_take_room_in_the_buffer() {
        let found = vk::PhysicalDeviceDescriptorBufferPropertiesEXT {
            sampled_image_descriptor_size: 64,
            storage_image_descriptor_size: 64,
            uniform_buffer_descriptor_size: 64,
            storage_buffer_descriptor_size: 64,
            uniform_texel_buffer_descriptor_size: 64,
            storage_texel_buffer_descriptor_size: 64,
            max_resource_descriptor_buffer_range: 4096 + 64_000,
            ..Default::default()
        };
        for most_constants in [0, 64, 400, 600, 1000, 1200, MANY] {
            let (limits, features) = (plentiful(), vk::PhysicalDeviceFeatures::default());
            let indexing = Indexing {
                max_per_stage_descriptor_update_after_bind_uniform_buffers: most_constants,
                ..indexing()
            };
            let enabled = OptionalFeatures::MUTABLE_DESCRIPTORS;
            let mut tables = DescriptorTables::new(&limits, &features, Some((&indexing, true)), enabled, 0);
            tables.use_buffers(&limits, &found, false, vk::ShaderStageFlags::COMPUTE);
            let arrays = tables.arrays(DescriptorKind::Resource, tables.contract.visible_resources);
            let bytes = arrays.total() * 64;
            assert!(bytes <= 64_000, "{bytes} B with {most_constants} constants");
            assert!(tables.contract.visible_resources >= 500, "{most_constants} constants: {tables:?}");
        }
    }

    #[test]
    fn without_indexing_there_are_sets() {
        let none = tables(None);
        let DescriptorLimits { visible_resources, visible_samplers, sets, anisotropy, .. } = none.contract;
        assert_eq!((visible_resources, visible_samplers, sets, anisotropy), (0, 0, true, 16));
        let without = tables(Some((&indexing(), false)));
        assert_eq!(without.visible_constants, 0);
        assert!(without.contract.visible_resources > 0);
    }

    #[test]
    fn sets_fit_the_limits_of_a_stage() {
        let tables = tables(None);
        let of = |kind, count| SetBinding { binding: 0, kind, count };
        assert!(tables.check_set(&[of(BindingKind::Sampler, 16), of(BindingKind::Texture, 20)]).is_ok());
        assert!(tables.check_set(&[of(BindingKind::Sampler, 17)]).is_err());
        let textures = [of(BindingKind::Texture, 12), of(BindingKind::TypedBuffer, 12)];
        assert_eq!(
            tables.check_set(&textures),
            Err(DeviceError::invalid_desc("count", 24_u32, Allowed::AtMost(20))),
            "each alone would do"
        );
        let all = [of(BindingKind::Texture, 18), of(BindingKind::StorageTexture, 18)];
        assert_eq!(
            tables.check_set(&all),
            Err(DeviceError::invalid_desc("count", 36_u32, Allowed::AtMost(30))),
            "of all resources"
        );
        let combined = [of(BindingKind::CombinedSampler, 10), of(BindingKind::Sampler, 10)];
        assert_eq!(
            tables.check_set(&combined),
            Err(DeviceError::invalid_desc("count", 20_u32, Allowed::AtMost(16))),
            "a combined sampler is a sampler"
        );
        let combined = [of(BindingKind::CombinedSampler, 10), of(BindingKind::Texture, 11)];
        assert!(tables.check_set(&combined).is_err(), "and a texture");
        assert!(tables.check_set(&[of(BindingKind::InputAttachment, 4)]).is_ok());
        assert!(tables.check_set(&[of(BindingKind::InputAttachment, 5)]).is_err());
        let many = [of(BindingKind::Texture, u32::MAX), of(BindingKind::Texture, u32::MAX)];
        assert!(tables.check_set(&many).is_err());
    }
}
