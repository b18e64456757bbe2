//! The form of descriptor sets.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{BindingKind, DeviceError, SetBinding, check};

use super::Descriptors;
use super::kinds::vk_type;
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::structure::STRUCTURES;

/// The largest number of a binding: drivers make tables of that length.
const LAST_BINDING: u32 = u16::MAX as u32;

/// The form of descriptor sets: a handle for
/// [`Device::destroy_set_layout`](tenure_core::device::Device::destroy_set_layout). Dropping it
/// without that leaks the API's layout.
///
/// All shader stages see the bindings, but input attachments only pixel (fragment) shaders. Of arrays, where the
/// device has descriptor indexing, only what shaders use has to be there.
pub struct SetLayout {
    owner: Arc<Descriptors>,
    layout: vk::DescriptorSetLayout,
    bindings: Arc<[SetBinding]>,
    is_ours: bool,
}

/// The stages that see a binding.
const fn stages(kind: BindingKind) -> vk::ShaderStageFlags {
    match kind {
        BindingKind::InputAttachment => vk::ShaderStageFlags::FRAGMENT,
        _ => vk::ShaderStageFlags::ALL,
    }
}

impl Descriptors {
    pub(crate) fn create_set_layout(
        self: &Arc<Self>,
        bindings: &[SetBinding],
    ) -> Result<SetLayout, DeviceError> {
        self.alive()?;
        self.has_sets()?;
        check::set_bindings(bindings, LAST_BINDING)?;
        let traces = bindings.iter().any(|binding| binding.kind == BindingKind::AccelerationStructure);
        if traces && !self.api.uses(OptionalFeatures::ACCELERATION_STRUCTURES) {
            return Err(DeviceError::Unsupported { feature: STRUCTURES });
        }
        self.limits.check_set(bindings)?;
        let has_indexing = self.api.uses(OptionalFeatures::DESCRIPTOR_INDEXING);
        let flags: Vec<_> = bindings
            .iter()
            .map(|binding| match binding.count {
                2.. if has_indexing => vk::DescriptorBindingFlags::PARTIALLY_BOUND,
                _ => vk::DescriptorBindingFlags::empty(),
            })
            .collect();
        let api_bindings: Vec<_> = bindings
            .iter()
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding.binding)
                    .descriptor_type(vk_type(binding.kind))
                    .descriptor_count(binding.count)
                    .stage_flags(stages(binding.kind))
            })
            .collect();
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let mut info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&api_bindings);
        if has_indexing {
            info = info.push_next(&mut flags);
        }
        // SAFETY: the bindings differ, and their counts are within the limits of the device.
        let made = unsafe { self.api.device.create_descriptor_set_layout(&info, None) };
        let layout = made.map_err(|result| self.error("vkCreateDescriptorSetLayout", result))?;
        Ok(SetLayout { owner: self.clone(), layout, bindings: bindings.into(), is_ours: true })
    }
}

impl Descriptors {
    /// With descriptor buffers there are no sets: a pipeline uses the ones or the others.
    fn has_sets(&self) -> Result<(), DeviceError> {
        if self.limits.contract.sets { Ok(()) } else { Err(unsupported("descriptor sets")) }
    }
}

impl SetLayout {
    /// A layout that the program made.
    pub(crate) fn adopted(
        descriptors: &Arc<Descriptors>,
        layout: vk::DescriptorSetLayout,
        bindings: &[SetBinding],
        is_ours: bool,
    ) -> Result<Self, DeviceError> {
        descriptors.has_sets()?;
        check::set_bindings(bindings, LAST_BINDING)?;
        Ok(Self { owner: descriptors.clone(), layout, bindings: bindings.into(), is_ours })
    }

    /// The API's layout, for pipelines. Do not destroy it.
    #[must_use]
    pub const fn raw(&self) -> vk::DescriptorSetLayout {
        self.layout
    }

    /// What sets of it hold.
    #[must_use]
    pub fn bindings(&self) -> &[SetBinding] {
        &self.bindings
    }

    pub(super) const fn shared_bindings(&self) -> &Arc<[SetBinding]> {
        &self.bindings
    }

    pub(super) const fn owner(&self) -> &Arc<Descriptors> {
        &self.owner
    }

    pub(crate) fn destroy(self) {
        if self.is_ours {
            // SAFETY: by the contract nothing uses it any more.
            unsafe { self.owner.api.device.destroy_descriptor_set_layout(self.layout, None) };
        }
    }
}

impl fmt::Debug for SetLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.layout, self.bindings)
    }
}
