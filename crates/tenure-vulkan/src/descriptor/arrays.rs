//! The large sets that shaders index.

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{BindingKind, DescriptorKind, DeviceError};

use super::kinds::{RESOURCES, SAMPLERS, heap_binding, vk_type};
use crate::shared::Shared;

/// What a heap that shaders see consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrays {
    kinds: &'static [BindingKind],
    /// Descriptors of each but constants.
    each: u32,
    pub(super) constants: u32,
}

impl Arrays {
    pub(super) fn new(kind: DescriptorKind, each: u32, most_constants: u32) -> Self {
        let kinds = if kind == DescriptorKind::Sampler { &SAMPLERS[..] } else { &RESOURCES[..] };
        Self { kinds, each, constants: each.min(most_constants) }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u32 {
        if self.kinds.len() > 1 { 6 } else { 1 }
    }

    /// Descriptors in all of them.
    pub(super) fn total(&self) -> u64 {
        self.lengths().map(|(_, length)| u64::from(length)).sum()
    }

    pub(super) fn lengths(&self) -> impl Iterator<Item = (BindingKind, u32)> {
        let Self { kinds, each, constants } = *self;
        let length = move |kind| if kind == BindingKind::Constants { constants } else { each };
        kinds.iter().map(move |kind| (*kind, length(*kind))).filter(|(_, length)| *length > 0)
    }

    /// Calls `run` with the layout of such a heap.
    pub(super) fn with_layout<T>(&self, run: impl FnOnce(&vk::DescriptorSetLayoutCreateInfo<'_>) -> T) -> T {
        let flags = [vk::DescriptorBindingFlags::UPDATE_AFTER_BIND
            | vk::DescriptorBindingFlags::UPDATE_UNUSED_WHILE_PENDING
            | vk::DescriptorBindingFlags::PARTIALLY_BOUND; RESOURCES.len()];
        let bindings: SmallVec<[_; RESOURCES.len()]> = self
            .lengths()
            .map(|(kind, length)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(heap_binding(kind))
                    .descriptor_type(vk_type(kind))
                    .descriptor_count(length)
                    .stage_flags(vk::ShaderStageFlags::ALL)
            })
            .collect();
        let flags = flags.get(..bindings.len()).unwrap_or_default();
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
            .bindings(&bindings)
            .push_next(&mut flags);
        run(&info)
    }
}

/// One large set.
pub(super) struct Indexed {
    pub(super) arrays: Arrays,
    pub(super) layout: vk::DescriptorSetLayout,
    pub(super) pool: vk::DescriptorPool,
    pub(super) set: vk::DescriptorSet,
}

impl Shared {
    pub(super) fn create_indexed(&self, arrays: Arrays) -> Result<Indexed, DeviceError> {
        let device = &self.api.device;
        let layout = arrays.with_layout(|info| {
            // SAFETY: descriptor indexing is enabled, and the counts are within its limits.
            unsafe { device.create_descriptor_set_layout(info, None) }
        });
        let layout = layout.map_err(|result| self.error("vkCreateDescriptorSetLayout", result))?;
        let sizes: SmallVec<[_; RESOURCES.len()]> = arrays
            .lengths()
            .map(|(kind, count)| vk::DescriptorPoolSize { ty: vk_type(kind), descriptor_count: count })
            .collect();
        let flags = vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND;
        let sets = self.create_sets((flags, &sizes), &[layout]).inspect_err(|_| {
            // SAFETY: it is new, and nothing was made with it.
            unsafe { device.destroy_descriptor_set_layout(layout, None) };
        });
        let (pool, sets) = sets?;
        Ok(Indexed { arrays, layout, pool, set: sets.first().copied().unwrap_or_default() })
    }

    /// A pool with nothing but a set of each layout.
    pub(super) fn create_sets(
        &self,
        (flags, sizes): (vk::DescriptorPoolCreateFlags, &[vk::DescriptorPoolSize]),
        layouts: &[vk::DescriptorSetLayout],
    ) -> Result<(vk::DescriptorPool, Vec<vk::DescriptorSet>), DeviceError> {
        let device = &self.api.device;
        let count = u32::try_from(layouts.len()).unwrap_or(u32::MAX);
        let info = vk::DescriptorPoolCreateInfo::default().flags(flags).max_sets(count).pool_sizes(sizes);
        // SAFETY: `info` is valid: there is a set, and something of each size.
        let pool = unsafe { device.create_descriptor_pool(&info, None) };
        let pool = pool.map_err(|result| self.error("vkCreateDescriptorPool", result))?;
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(layouts);
        // SAFETY: the pool is new and has room for just these, whose layouts are alive.
        let sets = unsafe { device.allocate_descriptor_sets(&info) };
        let sets = sets.map_err(|result| {
            // SAFETY: it is new, and nothing uses it.
            unsafe { device.destroy_descriptor_pool(pool, None) };
            self.error("vkAllocateDescriptorSets", result)
        })?;
        Ok((pool, sets))
    }
}
