//! The address space of descriptor buffers, which all of them share.

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{DescriptorKind, DeviceError};

/// Bytes that all descriptor buffers together may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpaceLimits {
    resources: u64,
    samplers: u64,
    both: u64,
}

impl SpaceLimits {
    pub(super) const fn new(found: &vk::PhysicalDeviceDescriptorBufferPropertiesEXT<'_>) -> Self {
        Self {
            resources: found.resource_descriptor_buffer_address_space_size,
            samplers: found.sampler_descriptor_buffer_address_space_size,
            both: found.descriptor_buffer_address_space_size,
        }
    }
}

/// Bytes of the descriptor buffers that there are.
#[derive(Debug, Default)]
pub(crate) struct DescriptorSpace(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    resources: u64,
    samplers: u64,
}

impl DescriptorSpace {
    /// Counts a buffer that is to be created.
    ///
    /// # Errors
    /// The limit that it would exceed. A heap that goes gives room back, so it is a shortage.
    pub(super) fn take(
        &self,
        kind: DescriptorKind,
        size: u64,
        limits: SpaceLimits,
    ) -> Result<(), DeviceError> {
        let mut taken = self.0.lock();
        let both = taken.resources.saturating_add(taken.samplers).saturating_add(size);
        let (own, most, what) = match kind {
            DescriptorKind::Sampler => (
                &mut taken.samplers,
                limits.samplers,
                "descriptor buffers: samplerDescriptorBufferAddressSpaceSize",
            ),
            _ => (
                &mut taken.resources,
                limits.resources,
                "descriptor buffers: resourceDescriptorBufferAddressSpaceSize",
            ),
        };
        let sum = own.saturating_add(size);
        if sum > most {
            return Err(DeviceError::OutOfDeviceMemory { what });
        }
        if both > limits.both {
            let what = "descriptor buffers: descriptorBufferAddressSpaceSize";
            return Err(DeviceError::OutOfDeviceMemory { what });
        }
        *own = sum;
        Ok(())
    }

    /// A buffer is gone, or was not created.
    pub(super) fn give_back(&self, kind: DescriptorKind, size: u64) {
        let mut taken = self.0.lock();
        let own = match kind {
            DescriptorKind::Sampler => &mut taken.samplers,
            _ => &mut taken.resources,
        };
        *own = own.saturating_sub(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_both_have_their_limits() {
        use DescriptorKind::{Resource, Sampler};
        let (space, limits) =
            (DescriptorSpace::default(), SpaceLimits { resources: 100, samplers: 60, both: 120 });
        let take = |kind, size| match space.take(kind, size, limits) {
            Ok(()) => "",
            Err(DeviceError::OutOfDeviceMemory { what }) => what.rsplit(' ').next().unwrap(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(take(Resource, 101), "resourceDescriptorBufferAddressSpaceSize");
        assert_eq!(take(Sampler, 61), "samplerDescriptorBufferAddressSpaceSize");
        assert_eq!([take(Resource, 100), take(Sampler, 20)], ["", ""]);
        assert_eq!(take(Sampler, 1), "descriptorBufferAddressSpaceSize");
        assert_eq!(take(Resource, u64::MAX), "resourceDescriptorBufferAddressSpaceSize");
        space.give_back(Resource, 100);
        assert_eq!([take(Resource, 60), take(Sampler, 40)], ["", ""]);
        assert_eq!(take(Sampler, u64::MAX), "samplerDescriptorBufferAddressSpaceSize");
    }
}
