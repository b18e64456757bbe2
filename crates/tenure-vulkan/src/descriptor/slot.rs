//! One descriptor of a heap that shaders do not see.

use ash::vk;
use tenure_core::device::BindingKind;

use super::Descriptors;

/// What a set is told about a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Bytes(vk::DescriptorBufferInfo),
    Texels(Texels),
    /// A view, or a sampler.
    Image(vk::DescriptorImageInfo),
    /// What rays are traced through.
    Structure(vk::AccelerationStructureKHR),
}

/// A typed view of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texels {
    pub(crate) view: vk::BufferView,
    /// What is in view, for descriptors that are addresses.
    pub(crate) bytes: vk::DescriptorBufferInfo,
    pub(crate) format: vk::Format,
}

/// A descriptor as sets take it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) kind: BindingKind,
    pub(crate) value: Value,
}

/// What an index holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Nothing,
    /// What shaders see.
    Shader(Written),
    /// The view of a target.
    Target(vk::ImageView),
}

impl Slot {
    pub(crate) const fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Destroys what was made for it. The GPU is done with it, says the caller.
    pub(crate) fn destroy(self, descriptors: &Descriptors) {
        let device = &descriptors.api.device;
        match self {
            Self::Nothing | Self::Shader(Written { value: Value::Bytes(_) | Value::Structure(_), .. }) => {}
            Self::Shader(Written { value: Value::Texels(Texels { view, .. }), .. }) => {
                // SAFETY: it is ours, and the caller made sure that nothing uses it.
                unsafe { device.destroy_buffer_view(view, None) };
            }
            Self::Shader(Written { value: Value::Image(info), .. })
                if info.sampler != vk::Sampler::null() =>
            {
                // SAFETY: as above.
                unsafe { device.destroy_sampler(info.sampler, None) };
                descriptors.samplers.give_back();
            }
            Self::Shader(Written { value: Value::Image(info), .. }) => {
                // SAFETY: as above.
                unsafe { device.destroy_image_view(info.image_view, None) };
            }
            // SAFETY: as above.
            Self::Target(view) => unsafe { device.destroy_image_view(view, None) },
        }
    }
}
