//! Fences and binary semaphores that are used again and again: those of presentations, and of submissions where there are
//! no timeline semaphores.

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::DeviceError;

use super::Queues;

/// Those that nothing uses.
#[derive(Default)]
pub(crate) struct SyncPool {
    /// May be signalled.
    fences: Mutex<Vec<vk::Fence>>,
    /// Not signalled.
    semaphores: Mutex<Vec<vk::Semaphore>>,
    /// Of presentations, and not signalled in time. The driver may still signal them.
    lost_fences: Mutex<Vec<vk::Fence>>,
}

impl SyncPool {
    pub(crate) fn return_fence(&self, fence: vk::Fence) {
        self.fences.lock().push(fence);
    }

    /// Keeps fences of presentations that were not signalled in time until the end.
    pub(crate) fn lose_fences(&self, fences: impl IntoIterator<Item = vk::Fence>) {
        self.lost_fences.lock().extend(fences);
    }

    /// True when the driver does not signal all fences of presentations.
    pub(crate) fn has_lost_fences(&self) -> bool {
        !self.lost_fences.lock().is_empty()
    }

    pub(crate) fn return_semaphores(&self, semaphores: impl IntoIterator<Item = vk::Semaphore>) {
        self.semaphores.lock().extend(semaphores);
    }

    /// Destroys all. Everything else that was taken from here was returned.
    pub(crate) fn destroy(&mut self, device: &ash::Device) {
        for fence in self.fences.get_mut().drain(..).chain(self.lost_fences.get_mut().drain(..)) {
            // SAFETY: it is ours, and nothing uses what is in the pool.
            unsafe { device.destroy_fence(fence, None) };
        }
        for semaphore in self.semaphores.get_mut().drain(..) {
            // SAFETY: it is ours, and nothing uses what is in the pool.
            unsafe { device.destroy_semaphore(semaphore, None) };
        }
    }
}

impl Queues {
    /// A fence that is not signalled.
    pub(crate) fn take_fence(&self) -> Result<vk::Fence, DeviceError> {
        let device = &self.api.device;
        let Some(fence) = self.sync.fences.lock().pop() else {
            // SAFETY: the device is alive.
            let made = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) };
            return made.map_err(|result| self.error("vkCreateFence", result));
        };
        // SAFETY: it is ours, and nothing uses what was in the pool.
        match unsafe { device.reset_fences(&[fence]) } {
            Ok(()) => Ok(fence),
            Err(result) => {
                self.sync.return_fence(fence);
                Err(self.error("vkResetFences", result))
            }
        }
    }

    /// A binary semaphore that is not signalled.
    pub(crate) fn take_semaphore(&self) -> Result<vk::Semaphore, DeviceError> {
        if let Some(semaphore) = self.sync.semaphores.lock().pop() {
            return Ok(semaphore);
        }
        // SAFETY: the device is alive.
        let made = unsafe { self.api.device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) };
        made.map_err(|result| self.error("vkCreateSemaphore", result))
    }
}
