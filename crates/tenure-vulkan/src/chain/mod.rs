//! A `VkSwapchainKHR` with the objects of its presentations.

mod calls;
#[cfg(feature = "window")]
mod surface;

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::DeviceError;
use tenure_core::emit;

pub(crate) use self::calls::Calls;
#[cfg(feature = "window")]
pub(crate) use self::surface::Surface;
use crate::queue::{Queues, SLICE, nanoseconds};

/// Maximum number of fences that a chain waits for: images are acquired again long before that, so the oldest fence is
/// lost.
const MOST_FENCES: usize = 64;

/// Maximum number of images of a chain that may wait to be shown.
pub(crate) const MOST_WAITING: u32 = 16;

/// The objects of the presentations.
#[derive(Default)]
struct Presents {
    /// The semaphore that the presentation of each image waits for.
    rendered: Vec<vk::Semaphore>,
    /// Semaphores that may be signalled while no submission waits for them.
    abandoned: Vec<vk::Semaphore>,
    /// The fences of presentations that may be pending, the oldest first.
    fences: VecDeque<vk::Fence>,
    /// A presentation had no fence, or its fence was lost.
    is_unfenced: bool,
    /// The newest number of a presentation; 0: none had one.
    newest: u64,
    /// The numbers of the last presentations, the oldest first.
    numbers: VecDeque<u64>,
}

impl Presents {
    /// Stops waiting for the fences. The driver may still signal them. True when no fence of the device was lost before:
    /// the caller logs that, without the lock.
    #[must_use]
    fn lose_fences(&mut self, queues: &Queues) -> bool {
        if self.fences.is_empty() {
            return false;
        }
        self.is_unfenced = true;
        let is_first = !queues.sync.has_lost_fences();
        queues.sync.lose_fences(self.fences.drain(..));
        is_first
    }
}

fn log_lost_fences(is_first: bool) {
    if is_first {
        emit(|| {
            tracing::warn!(
                target: "tenure_vulkan",
                "the driver does not signal the fence of a presentation: presentations have none from now on"
            );
        });
    }
}

/// A chain, referenced by the swap chain and by each of its images that is not destroyed.
pub(crate) struct Chain {
    queues: Arc<Queues>,
    calls: Arc<Calls>,
    pub(crate) handle: vk::SwapchainKHR,
    presents: Mutex<Presents>,
    /// Whether all presentations are complete, and no more will follow.
    is_settled: AtomicBool,
}

impl Chain {
    pub(crate) fn create(
        queues: &Arc<Queues>,
        calls: &Arc<Calls>,
        info: &vk::SwapchainCreateInfoKHR<'_>,
    ) -> Result<Self, vk::Result> {
        // SAFETY: `info` is within the surface's capabilities; the surface is alive, and the creator of the swap
        // chain promises that it is not in use elsewhere.
        let handle = unsafe { calls.swapchain.create_swapchain(info, None) }?;
        Ok(Self {
            queues: queues.clone(),
            calls: calls.clone(),
            handle,
            presents: Mutex::default(),
            is_settled: AtomicBool::new(true),
        })
    }

    /// The semaphore that the presentation of an image waits for.
    pub(crate) fn rendered(&self, index: usize) -> vk::Semaphore {
        self.presents.lock().rendered.get(index).copied().unwrap_or_default()
    }

    /// Adds the semaphore of the next image.
    pub(crate) fn add_rendered(&self) -> Result<(), DeviceError> {
        let semaphore = self.queues.take_semaphore()?;
        self.presents.lock().rendered.push(semaphore);
        Ok(())
    }

    /// Replaces the semaphore that the presentation of an image waits for, and returns the old one.
    pub(crate) fn replace_rendered(&self, index: usize) -> Result<vk::Semaphore, DeviceError> {
        let fresh = self.queues.take_semaphore()?;
        let presents = &mut *self.presents.lock();
        let slot = presents.rendered.get_mut(index);
        Ok(slot.map_or(fresh, |slot| core::mem::replace(slot, fresh)))
    }

    /// Abandons the semaphores: the swap chain is dropped while the program has an image, whose recordings may or
    /// may not wait for `acquired` and signal the semaphore of its presentation. None is used again, and all are
    /// destroyed with the chain, when those recordings are complete.
    pub(crate) fn abandon(&self, acquired: Option<vk::Semaphore>) {
        let Presents { rendered, abandoned, .. } = &mut *self.presents.lock();
        abandoned.extend(rendered.drain(..).chain(acquired));
    }

    /// The number of the next presentation. Each is used once, also when the driver refuses the presentation.
    pub(crate) fn next_number(&self) -> u64 {
        let presents = &mut *self.presents.lock();
        presents.newest += 1;
        presents.newest
    }

    /// The number of the presentation that must be shown so that fewer than `most` images wait.
    pub(crate) fn number_before(&self, most: u32) -> Option<u64> {
        let numbers = &self.presents.lock().numbers;
        numbers.get(numbers.len().checked_sub(most as usize)?).copied()
    }

    /// Notes a presentation; the fence is signalled at its end.
    pub(crate) fn note_present(&self, fence: Option<vk::Fence>, number: Option<u64>) {
        self.is_settled.store(false, Ordering::Release);
        let mut presents = self.presents.lock();
        presents.is_unfenced |= fence.is_none();
        presents.fences.extend(fence);
        presents.numbers.extend(number);
        if presents.numbers.len() > MOST_WAITING as usize {
            presents.numbers.pop_front();
        }
        let is_first_loss = presents.fences.len() > MOST_FENCES && presents.lose_fences(&self.queues);
        drop(presents);
        log_lost_fences(is_first_loss);
    }

    /// Takes back the fences that are signalled; true when the fences of all presentations were.
    pub(crate) fn poll_fences(&self) -> Result<bool, DeviceError> {
        let presents = &mut *self.presents.lock();
        while let Some(fence) = presents.fences.front() {
            // SAFETY: the fence is ours and belongs to a presentation.
            let signalled = unsafe { self.queues.api.device.get_fence_status(*fence) };
            if !signalled.map_err(|result| self.queues.error("vkGetFenceStatus", result))? {
                return Ok(false);
            }
            let done = presents.fences.pop_front();
            done.into_iter().for_each(|fence| self.queues.sync.return_fence(fence));
        }
        Ok(!presents.is_unfenced)
    }

    /// Waits until the fences of all presentations are signalled; false if one has no fence, or after the
    /// timeout.
    pub(crate) fn wait_fences(&self, timeout: Duration) -> Result<bool, DeviceError> {
        let begun = Instant::now();
        loop {
            self.queues.alive()?;
            if self.poll_fences()? {
                return Ok(true);
            }
            let left = timeout.saturating_sub(begun.elapsed());
            let fence = self.presents.lock().fences.front().copied().filter(|_| !left.is_zero());
            let Some(fence) = fence else { return Ok(false) };
            let slice = nanoseconds(left.min(SLICE));
            // SAFETY: the fence is ours, and stays until the swap chain polls it.
            match unsafe { self.queues.api.device.wait_for_fences(&[fence], true, slice) } {
                Ok(()) | Err(vk::Result::TIMEOUT) => {}
                Err(result) => return Err(self.queues.error("vkWaitForFences", result)),
            }
        }
    }

    /// Notes that no more presentations will follow, and all are complete.
    pub(crate) fn settle(&self) {
        self.is_settled.store(true, Ordering::Release);
        let is_first_loss = self.presents.lock().lose_fences(&self.queues);
        log_lost_fences(is_first_loss);
    }

    fn destroy(&mut self) {
        let presents = self.presents.get_mut();
        let is_first_loss = presents.lose_fences(&self.queues);
        // Destroyed instead of reused: a semaphore without a waiter is signalled, and so is one whose
        // presentation a layer dropped.
        for semaphore in presents.rendered.drain(..).chain(presents.abandoned.drain(..)) {
            // SAFETY: the recordings that use it are complete: they had an image of the chain. So are its presentations.
            unsafe { self.queues.api.device.destroy_semaphore(semaphore, None) };
        }
        // SAFETY: its images are destroyed, and its presentations are complete.
        unsafe { self.calls.swapchain.destroy_swapchain(self.handle, None) };
        log_lost_fences(is_first_loss);
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        if *self.is_settled.get_mut() || self.queues.alive().is_err() {
            self.destroy();
        } else {
            // The surface must outlive the chain, so it is never destroyed either.
            core::mem::forget(self.calls.clone());
            emit(
                || tracing::error!(target: "tenure_vulkan", "a swap chain is left alone: its images are still presented"),
            );
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.handle)
    }
}
