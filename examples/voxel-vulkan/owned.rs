//! Objects of Vulkan that destroy themselves.

use tenure::vulkan::Device;
use tenure::vulkan::ash::{self, vk};
use voxel_world::Result;

type Destroy<T> = unsafe fn(&ash::Device, T, Option<&vk::AllocationCallbacks<'_>>);

/// An object that is destroyed when it is dropped. The GPU must be done with it: keep it in a
/// [`Deferred`](tenure::Deferred).
pub(crate) struct Owned<T: Copy> {
    handle: T,
    destroy: Destroy<T>,
    device: Device,
}

impl<T: Copy> Owned<T> {
    /// Takes charge of what a call created. `destroy` is the function for objects of that kind.
    ///
    /// # Safety
    /// The object is of `device`, and nobody else destroys it.
    pub(crate) unsafe fn new(
        device: &Device,
        created: std::result::Result<T, vk::Result>,
        destroy: Destroy<T>,
    ) -> Result<Self> {
        Ok(Self { handle: created?, destroy, device: device.clone() })
    }

    /// The object. Valid as long as this.
    pub(crate) fn get(&self) -> T {
        self.handle
    }
}

impl<T: Copy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the handle is of this device, which is alive because this is a handle of it, and
        // nobody else destroys it.
        unsafe { (self.destroy)(self.device.raw(), self.handle, None) };
    }
}
