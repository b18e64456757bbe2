//! Descriptor sets.

use super::{DescriptorDevice, DescriptorSource};
use crate::{DeviceError, Permit, SetBinding};

const UNSUPPORTED: DeviceError = DeviceError::Unsupported { feature: "descriptor sets" };

/// A device with descriptor sets (Vulkan).
///
/// Devices without sets use [`Infallible`](std::convert::Infallible) as the types and keep the defaults: creation is
/// unsupported, and destruction drops the object. Any thread may call the methods at any time, under their individual
/// conditions.
pub trait SetDevice: DescriptorDevice {
    /// The layout of descriptor sets (`VkDescriptorSetLayout`).
    type SetLayout: Send + Sync + 'static;
    /// Descriptor sets of one layout (`VkDescriptorPool` with all its sets).
    type SetPool: Send + Sync + 'static;

    /// Creates a layout of descriptor sets; the numbers of its bindings must differ.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] on a device without sets, [`DeviceError::InvalidDesc`], a
    /// shortage, [`DeviceError::Lost`].
    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<Self::SetLayout, DeviceError> {
        let _unused = bindings;
        Err(UNSUPPORTED)
    }

    /// Destroys a layout. All of its pools must be destroyed, and no open recording may use it.
    fn destroy_set_layout(&self, permit: Permit<Self>, layout: Self::SetLayout) {
        let _unused = (permit, layout);
    }

    /// Creates `sets` empty descriptor sets.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn create_set_pool(
        &self,
        permit: Permit<Self>,
        layout: &Self::SetLayout,
        sets: u32,
    ) -> Result<Self::SetPool, DeviceError> {
        let _unused = (permit, layout, sets);
        Err(UNSUPPORTED)
    }

    /// Destroys descriptor sets. The GPU must have finished with them.
    fn destroy_set_pool(&self, permit: Permit<Self>, block: Self::SetPool) {
        let _unused = (permit, block);
    }

    /// Writes descriptors of a set of a pool. No other thread may write the pool meanwhile, and no work in flight or recorded
    /// may read the set. Allocates nothing.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a binding, element or kind that the layout does not have,
    /// [`DeviceError::Lost`].
    fn write_set(
        &self,
        permit: Permit<Self>,
        block: &Self::SetPool,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        let _unused = (permit, block, set, writes);
        Err(UNSUPPORTED)
    }

    /// Empties a set; see [`clear_descriptors`](DescriptorDevice::clear_descriptors).
    fn clear_set(&self, permit: Permit<Self>, block: &Self::SetPool, set: u32, freed_by: Option<&str>) {
        let _unused = (permit, block, set, freed_by);
    }
}

/// A write of one descriptor of a set.
pub struct SetWrite<'a, D: DescriptorDevice> {
    /// The binding's number.
    pub binding: u32,
    /// Index of the descriptor in the binding.
    pub element: u32,
    /// Source of the descriptor.
    pub source: DescriptorSource<'a, D>,
}
