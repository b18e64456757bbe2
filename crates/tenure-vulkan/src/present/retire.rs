//! The lifetime of chains: they are created for a window, replaced, and destroyed once that is proven to be safe.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ash::vk;
use tenure_core::device::{DeviceError, State};
use tenure_core::emit;
use tenure_core::present::{ImageProgress, SharedImage};
use tenure_core::{Error, PresentMode, Queue, SurfaceFormat, SyncPoint, TextureDesc};

use super::choose::{self, Shape};
use super::swapchain::{Call, Current, Retired, Swapchain, Window, timed_out};
use crate::chain::Chain;
use crate::format::to_vk_format;
use crate::queue::Queues;
use crate::resource::Resource;

/// More chains than these are not kept: then their presentations are waited for.
const MOST_RETIRED: usize = 4;

/// Timeout for the fences of presentations after the GPU is idle: several images at a slow screen's refresh rate.
/// Layers that drop presentations, as gamescope's, do not signal them at all.
const FENCE_WAIT: Duration = Duration::from_millis(500);

/// The time after which the drop of a swap chain checks again whether its images are freed.
const RETRY: Duration = Duration::from_millis(1);

/// The parameters of a chain.
struct Plan {
    shape: Shape,
    format: SurfaceFormat,
    mode: PresentMode,
}

impl Swapchain {
    /// Creates a chain for the window's current state, in place of the old one.
    pub(super) fn rebuild(&mut self) -> Result<(), Error> {
        self.window = Window::Empty;
        if self.desc.is_empty() {
            return Ok(());
        }
        // Set before anything can fail below, so that it is retried.
        self.window = Window::Outdated;
        let Some(plan) = self.plan()? else { return Ok(()) };
        self.replace(&plan)
    }

    /// Recreates the chain if the program's preferences now choose another format or mode.
    pub(super) fn follow_wishes(&mut self) -> Result<(), Error> {
        let Some(plan) = self.plan()? else { return Ok(()) };
        if (plan.format, plan.mode) == (self.format, self.mode) {
            (self.is_rewished, self.is_format_open) = (false, false);
            return Ok(());
        }
        self.check_replaceable()?;
        self.release_image()?;
        // As above.
        self.window = Window::Outdated;
        self.replace(&plan)
    }

    fn replace(&mut self, plan: &Plan) -> Result<(), Error> {
        if self.retired.len() >= MOST_RETIRED {
            let timeout = self.gpu.config().frames.timeout;
            if !self.settle_retired(timeout)? {
                return Err(timed_out(timeout));
            }
        }
        // A chain is destroyed with its last image, and without frames nothing else frees images.
        self.gpu.reclaim()?;
        let old = self.current.take();
        let made = self.make(plan, old.as_ref().map_or_else(Default::default, |old| old.chain.handle));
        if let Some(old) = old {
            self.retire(old);
        }
        self.current = Some(made?);
        (self.format, self.mode) = (plan.format, plan.mode);
        (self.is_rewished, self.is_format_open) = (false, false);
        self.describe();
        self.window = Window::Ready;
        Ok(())
    }

    /// `None`: the window has no area.
    fn plan(&self) -> Result<Option<Plan>, Error> {
        let (calls, physical, surface) = (&self.calls, self.queues().api.physical, self.surface);
        let capabilities = calls.capabilities(physical, surface);
        let capabilities = capabilities
            .map_err(|result| self.failed("vkGetPhysicalDeviceSurfaceCapabilitiesKHR", result))?;
        let shape = Shape::new(&self.desc, &capabilities);
        if shape.extent.contains(&0) {
            return Ok(None);
        }
        let format = self.choose_format(Some(self.format))?;
        if !capabilities.supported_usage_flags.contains(choose::flags(&self.desc)) {
            let feature = "that usage of the images of a window";
            return Err(self.device_error(DeviceError::UnsupportedFormat { format: format.format, feature }));
        }
        let modes = self.surface_modes()?;
        let mode = self.desc.choose_mode(|mode| modes.contains(&choose::vk_mode(mode)));
        Ok(Some(Plan { shape, format, mode }))
    }

    fn make(&self, plan: &Plan, old: vk::SwapchainKHR) -> Result<Current, Error> {
        let Plan { shape, format, mode } = plan;
        let SurfaceFormat { format, color_space } = *format;
        let [width, height] = shape.extent;
        let mut info = vk::SwapchainCreateInfoKHR::default()
            .surface(self.surface)
            .min_image_count(shape.images)
            .image_format(to_vk_format(format))
            .image_color_space(choose::vk_space(color_space).unwrap_or_default())
            .image_extent(vk::Extent2D { width, height })
            .image_array_layers(1)
            .image_usage(choose::flags(&self.desc))
            .image_sharing_mode(vk::SharingMode::EXCLUSIVE)
            .pre_transform(shape.transform)
            .composite_alpha(shape.alpha)
            .present_mode(choose::vk_mode(*mode))
            .clipped(true)
            .old_swapchain(old);
        let families = &self.queues().families;
        if families.len() > 1 && self.desc.usage.is_of_all_queues() {
            info = info.image_sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(families);
        }
        let chain = Chain::create(self.queues(), &self.calls, &info);
        let chain = Arc::new(chain.map_err(|result| self.failed("vkCreateSwapchainKHR", result))?);
        // SAFETY: the chain was just created.
        let images = unsafe { self.calls.swapchain.get_swapchain_images(chain.handle) };
        let images = images.map_err(|result| self.failed("vkGetSwapchainImagesKHR", result))?;
        let adopted = (0..).zip(images).map(|(index, image)| self.adopt(&chain, plan, (index, image)));
        let images = adopted.collect::<Result<Vec<_>, Error>>()?;
        let was_presented = vec![false; images.len()];
        Ok(Current { chain, images, was_presented, shape: *shape, was_optimal: [false; 2] })
    }

    fn adopt(
        &self,
        chain: &Arc<Chain>,
        plan: &Plan,
        (index, image): (u32, vk::Image),
    ) -> Result<Arc<SharedImage<crate::Device>>, Error> {
        chain.add_rendered().map_err(|source| self.device_error(source))?;
        let ([width, height], format) = (plan.shape.extent, plan.format.format);
        let desc = TextureDesc::d2(width, height, format, choose::usage(&self.desc))
            .name(format!("{} image {index}", self.desc.name));
        let created = (desc.info.clone(), choose::flags(&self.desc), to_vk_format(format));
        let resource = Resource::of_swapchain(self.gpu.device().resources(), chain, image, created);
        let texture = self.gpu.adopt_texture(resource, &desc, State::COMMON);
        let texture = texture.map_err(|rejected| rejected.error)?;
        SharedImage::new(&self.gpu, texture, format, index)
    }

    /// Notes whether the window matches the images, from the result of `call`. If it never did, and a new chain
    /// would have the same properties, this one stays: Android reports that for each frame while the screen is
    /// rotated and the images are not.
    pub(super) fn note_optimal(&mut self, call: Call, is_optimal: bool) {
        let Some(current) = &mut self.current else { return };
        let was_optimal = &mut current.was_optimal[call as usize];
        if is_optimal {
            *was_optimal = true;
            return;
        }
        let is_same = !*was_optimal && {
            let shape = current.shape;
            let found = self.calls.capabilities(self.queues().api.physical, self.surface);
            found.is_ok_and(|found| Shape::new(&self.desc, &found) == shape)
        };
        if !is_same {
            self.window = Window::Suboptimal;
        }
    }

    /// Keeps a chain until its presentations have ended. Its images are destroyed once the GPU no longer uses
    /// them.
    fn retire(&mut self, current: Current) {
        let Current { chain, .. } = current;
        self.retired.push(Retired { chain, over_at: None });
    }

    /// Releases the acquired image, which the program has dropped.
    pub(super) fn release_image(&mut self) -> Result<(), Error> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let ImageProgress { begun, finished } = held.image.progress();
        let acquired = match begun {
            None => self.consume(held.acquired),
            Some(point) => {
                self.waited.push(held.acquired, point);
                Ok(())
            }
        };
        let signalled = match (finished, &self.current) {
            (Some(_), Some(current)) => Some(current.chain.replace_rendered(held.image.index() as usize)),
            _ => None,
        };
        let signalled = signalled.transpose().map_err(|source| self.device_error(source))?;
        acquired.and(signalled.map_or(Ok(()), |semaphore| self.consume(semaphore)))
    }

    /// Has the GPU wait for a semaphore that is, or will be, signalled, so that it can be used again.
    pub(super) fn consume(&mut self, semaphore: vk::Semaphore) -> Result<(), Error> {
        let queues = self.queues().clone();
        let (waits, stages) = ([semaphore], [vk::PipelineStageFlags::ALL_COMMANDS]);
        let info = vk::SubmitInfo::default().wait_semaphores(&waits).wait_dst_stage_mask(&stages);
        let submitted = self.gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |queue| {
            // SAFETY: the semaphore is signalled, or its signal was submitted, and no other submission waits for
            // it; only this thread uses the queue.
            let submitted = unsafe { queues.api.device.queue_submit(queue, &[info], vk::Fence::null()) };
            submitted.map_err(|result| Error::from(queues.error("vkQueueSubmit", result)))
        });
        match submitted {
            Ok(((), point)) => {
                self.waited.push(semaphore, point);
                Ok(())
            }
            Err(error) => {
                self.stray.push(semaphore);
                Err(error)
            }
        }
    }

    /// Frees objects that are proven to be no longer in use. Never waits.
    pub(super) fn collect(&mut self) -> Result<(), Error> {
        let completed = self.gpu.completed()?;
        let queues = self.gpu.device().queues();
        self.waited.collect(queues, &completed);
        if let Some(current) = &self.current {
            current.chain.poll_fences()?;
        }
        let mut failed = Ok(());
        self.retired.retain(|retired| {
            let is_proven = retired.over_at.is_some_and(|point| point.is_covered_by(&completed));
            let is_over = retired.chain.poll_fences().map(|are_signalled| are_signalled || is_proven);
            let is_over = is_over.unwrap_or_else(|error| {
                failed = Err(Error::from(error));
                false
            });
            if is_over {
                retired.chain.settle();
            }
            !is_over
        });
        failed
    }

    /// Waits until the presentations of the replaced chains have ended; false after the timeout.
    fn settle_retired(&mut self, timeout: Duration) -> Result<bool, Error> {
        if !self.gpu.wait(&self.gpu.submitted(), timeout)? {
            return Ok(false);
        }
        let queues = self.queues().clone();
        let longest = if queues.sync.has_lost_fences() { Duration::ZERO } else { timeout.min(FENCE_WAIT) };
        let begun = Instant::now();
        let mut are_signalled = true;
        for retired in &self.retired {
            are_signalled &= retired.chain.wait_fences(longest.saturating_sub(begun.elapsed()))?;
        }
        if !are_signalled {
            // Tenure's own work is done: only presentations are left.
            for (queue, _) in queues.list.iter().zip(&self.can_present).filter(|(_, can)| **can) {
                // SAFETY: only this thread uses the queue.
                let idle = queue.with(|queue| unsafe { queues.api.device.queue_wait_idle(queue) });
                idle.map_err(|result| self.failed("vkQueueWaitIdle", result))?;
            }
        }
        self.retired.drain(..).for_each(|retired| retired.chain.settle());
        Ok(true)
    }

    /// Waits until the last images of the chains are freed: concurrent submissions and recordings of the program,
    /// also in other threads, may delay that.
    fn await_destruction(&self, chains: &[Weak<Chain>], timeout: Duration) {
        let begun = Instant::now();
        loop {
            let reclaimed = self.gpu.reclaim();
            let is_lost = reclaimed.is_err() || self.alive().is_err();
            if is_lost || chains.iter().all(|chain| chain.strong_count() == 0) {
                return;
            }
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let name = self.desc.name.clone();
                emit(move || {
                    tracing::error!(
                        target: "tenure_vulkan", %name,
                        "a swap chain keeps its surface: recordings that were open when it was dropped hold its images back"
                    );
                });
                return;
            }
            let is_done = self.gpu.wait(&self.gpu.submitted(), left).unwrap_or(false);
            if is_done {
                std::thread::sleep(left.min(RETRY));
            }
        }
    }

    /// Frees everything, once the GPU is idle or the device is lost.
    fn end(&mut self) {
        let queues = self.queues().clone();
        self.waited.recycle(&queues);
        for semaphore in self.stray.drain(..) {
            // SAFETY: no submission waits for it, and its signal is complete.
            unsafe { queues.api.device.destroy_semaphore(semaphore, None) };
        }
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        let is_used = self.held.as_ref().is_some_and(|held| held.is_out() || held.image.is_recorded());
        if is_used {
            let name = self.desc.name.clone();
            emit(move || {
                tracing::error!(
                    target: "tenure_vulkan", %name,
                    "a swap chain is dropped and its image is still in use: it lives as long as that"
                );
            });
            let acquired = self.held.take().map(|held| held.acquired);
            self.current.iter().for_each(|current| current.chain.abandon(acquired));
        }
        // Chains that cannot be waited for are destroyed below.
        let _destroyed_below = self.release_image();
        if let Some(current) = self.current.take() {
            self.retire(current);
        }
        let chains: Vec<_> = self.retired.iter().map(|retired| Arc::downgrade(&retired.chain)).collect();
        let timeout = self.gpu.config().frames.shutdown_timeout;
        let is_over = self.settle_retired(timeout).unwrap_or(false);
        if is_over || self.alive().is_err() {
            self.end();
        } else {
            let name = self.desc.name.clone();
            emit(move || {
                tracing::error!(
                    target: "tenure_vulkan", %name,
                    "a swap chain is left alone: the GPU did not finish with it"
                );
            });
        }
        let reclaimed = catch_unwind(AssertUnwindSafe(|| {
            self.await_destruction(&chains, if is_used { Duration::ZERO } else { timeout })
        }));
        if let Err(panic) = reclaimed
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

/// Semaphores of pending waits. Free ones are in the device's pool.
#[derive(Default)]
pub(super) struct Waited(VecDeque<(vk::Semaphore, SyncPoint)>);

impl Waited {
    /// A semaphore that is free when `point` is complete.
    pub(super) fn push(&mut self, semaphore: vk::Semaphore, point: SyncPoint) {
        self.0.push_back((semaphore, point));
    }

    /// Frees the semaphores whose submissions are complete.
    pub(super) fn collect(&mut self, queues: &Queues, completed: &SyncPoint) {
        while let Some((semaphore, point)) = self.0.front() {
            if !point.is_covered_by(completed) {
                break;
            }
            queues.sync.return_semaphores([*semaphore]);
            self.0.pop_front();
        }
    }

    /// Returns all to the pool, once the GPU is idle.
    pub(super) fn recycle(&mut self, queues: &Queues) {
        queues.sync.return_semaphores(self.0.drain(..).map(|(semaphore, _)| semaphore));
    }
}
