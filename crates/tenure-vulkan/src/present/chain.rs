//! A `VkSwapchainKHR` with what its presentations use.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::DeviceError;

use super::calls::Calls;
use crate::queue::{SLICE, nanoseconds};
use crate::shared::Shared;

/// What the presentations use.
#[derive(Default)]
struct Presents {
    /// What the presentation of each image waits for.
    rendered: Vec<vk::Semaphore>,
    /// Those that may be signalled while nothing waits for them.
    abandoned: Vec<vk::Semaphore>,
    /// Of presentations that may not be over, the oldest first.
    fences: VecDeque<vk::Fence>,
}

/// A chain. The swap chain holds it, and each of its images that is not destroyed.
pub(crate) struct Chain {
    shared: Arc<Shared>,
    calls: Arc<Calls>,
    pub(super) handle: vk::SwapchainKHR,
    presents: Mutex<Presents>,
    /// No more presentations will come, and all are over.
    is_settled: AtomicBool,
}

impl Chain {
    pub(super) fn create(
        shared: &Arc<Shared>,
        calls: &Arc<Calls>,
        info: &vk::SwapchainCreateInfoKHR<'_>,
    ) -> Result<Self, vk::Result> {
        // SAFETY: `info` was made from what the surface has; the surface is alive, and used by nothing else
        // now, says who made the swap chain.
        let handle = unsafe { calls.swapchain.create_swapchain(info, None) }?;
        Ok(Self {
            shared: shared.clone(),
            calls: calls.clone(),
            handle,
            presents: Mutex::default(),
            is_settled: AtomicBool::new(true),
        })
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What the presentation of an image waits for.
    pub(super) fn rendered(&self, index: usize) -> vk::Semaphore {
        self.presents.lock().rendered.get(index).copied().unwrap_or_default()
    }

    /// Gives the next image something of its own to wait for.
    pub(super) fn add_rendered(&self) -> Result<(), DeviceError> {
        let semaphore = self.shared.take_semaphore()?;
        self.presents.lock().rendered.push(semaphore);
        Ok(())
    }

    /// Gives an image something else to wait for; what it was before.
    pub(super) fn replace_rendered(&self, index: usize) -> Result<vk::Semaphore, DeviceError> {
        let fresh = self.shared.take_semaphore()?;
        let presents = &mut *self.presents.lock();
        let slot = presents.rendered.get_mut(index);
        Ok(slot.map_or(fresh, |slot| core::mem::replace(slot, fresh)))
    }

    /// The swap chain goes while the program has an image, whose recordings wait for `acquired` and signal what
    /// presenting would wait for, or not: none of them is used again, and all are destroyed with the chain, when
    /// those recordings are complete.
    pub(super) fn abandon(&self, acquired: Option<vk::Semaphore>) {
        let Presents { rendered, abandoned, .. } = &mut *self.presents.lock();
        abandoned.extend(rendered.drain(..).chain(acquired));
    }

    /// A presentation was made, whose end that fence tells.
    pub(super) fn note_present(&self, fence: Option<vk::Fence>) {
        self.is_settled.store(false, Ordering::Release);
        self.presents.lock().fences.extend(fence);
    }

    /// Takes back the fences that are signalled; true when that are all.
    pub(super) fn poll_fences(&self) -> Result<bool, DeviceError> {
        let presents = &mut *self.presents.lock();
        while let Some(fence) = presents.fences.front() {
            // SAFETY: the fence is ours and belongs to a presentation.
            let signalled = unsafe { self.shared.api.device.get_fence_status(*fence) };
            if !signalled.map_err(|result| self.shared.error("vkGetFenceStatus", result))? {
                return Ok(false);
            }
            let done = presents.fences.pop_front();
            done.into_iter().for_each(|fence| self.shared.sync.return_fence(fence));
        }
        Ok(true)
    }

    /// Waits until all its presentations have told their end; false when the time is over.
    pub(super) fn wait_fences(&self, timeout: Duration) -> Result<bool, DeviceError> {
        let begun = Instant::now();
        loop {
            self.shared.alive()?;
            if self.poll_fences()? {
                return Ok(true);
            }
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            let Some(fence) = self.presents.lock().fences.front().copied() else { continue };
            let slice = nanoseconds(left.min(SLICE));
            // SAFETY: the fence is ours, and stays until the swap chain polls it.
            match unsafe { self.shared.api.device.wait_for_fences(&[fence], true, slice) } {
                Ok(()) | Err(vk::Result::TIMEOUT) => {}
                Err(result) => return Err(self.shared.error("vkWaitForFences", result)),
            }
        }
    }

    /// No more presentations will come, and all are over.
    pub(super) fn settle(&self) {
        self.is_settled.store(true, Ordering::Release);
    }

    fn destroy(&mut self) {
        let presents = self.presents.get_mut();
        presents.fences.drain(..).for_each(|fence| self.shared.sync.return_fence(fence));
        self.shared.sync.return_semaphores(presents.rendered.drain(..));
        for semaphore in presents.abandoned.drain(..) {
            // SAFETY: the recordings that use it are complete: they had an image of the chain.
            unsafe { self.shared.api.device.destroy_semaphore(semaphore, None) };
        }
        // SAFETY: its images are gone, and its presentations are over.
        unsafe { self.calls.swapchain.destroy_swapchain(self.handle, None) };
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        if *self.is_settled.get_mut() || self.shared.alive().is_err() {
            self.destroy();
        } else {
            tracing::error!(target: "tenure_vulkan", "a swap chain is left alone: its images are still presented");
            // Its surface stays with it.
            core::mem::forget(self.calls.clone());
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.handle)
    }
}
