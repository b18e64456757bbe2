//! Swap chains: acquiring and presenting images.

use core::fmt;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{DeviceError, Format, MAX_QUEUES, QueueId, State, Subresource};
use tenure_core::present::SharedImage;
use tenure_core::{
    Awaited, ColorSpace, Error, Gpu, HdrMetadata, PresentMode, Queue, SurfaceFormat, SwapchainDesc,
    SwapchainImage, SwapchainRule, SyncPoint,
};

use super::choose::Shape;
use super::retire::Waited;
use crate::chain::{Calls, Chain, MOST_WAITING};
use crate::device::Device;
use crate::features::OptionalFeatures;
use crate::queue::Queues;
use crate::queue::{ExternalSemaphore, nanoseconds};
use crate::stages::PRESENT_STAGES;

/// Maximum wait for an image to be shown: several images at a slow screen's refresh rate. Hidden windows show none.
const SHOWN_WAIT: Duration = Duration::from_millis(100);

/// The state of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The images match it.
    Ready,
    /// It has changed, and its images can still be shown.
    Suboptimal,
    /// It has changed, and images can no longer be shown.
    Outdated,
    /// The program has set an empty size: it is minimised.
    Empty,
}

/// The chain in use, and its images.
pub(super) struct Current {
    pub(super) chain: Arc<Chain>,
    pub(super) images: Vec<Arc<SharedImage<Device>>>,
    /// Whether each image was presented.
    pub(super) was_presented: Vec<bool>,
    pub(super) shape: Shape,
    /// For each [`Call`], whether it has ever reported that the window matches.
    pub(super) was_optimal: [bool; 2],
}

/// The reason to count the window as changed.
#[derive(Clone, Copy)]
pub(super) enum Call {
    Acquire,
    Present,
}

/// The acquired image.
pub(super) struct Lent {
    pub(super) image: Arc<SharedImage<Device>>,
    /// Signalled when the image may be drawn to.
    pub(super) acquired: vk::Semaphore,
    /// Whether the image was presented before. Its earlier presentations have ended when it may be drawn to.
    pub(super) was_presented: bool,
}

/// A replaced chain, whose presentations may not have ended.
pub(super) struct Retired {
    pub(super) chain: Arc<Chain>,
    /// The sync point at which its presentations have ended.
    pub(super) over_at: Option<SyncPoint>,
}

/// A swap chain for a surface of the program.
///
/// A frame [acquires](Self::acquire) an image, [begins](SwapchainImage::begin) and
/// [finishes](SwapchainImage::finish) it in its recordings, and [presents](Self::present) it. The objects of a
/// presentation (semaphores, fences, chains that a resize has replaced) are kept until they are proven to be
/// unused. [`Gpu::begin_frame`] paces frames: it waits until at most the configured number of frames are in
/// flight; call it before [`acquire`](Self::acquire).
///
/// # Pace
///
/// With `VK_KHR_present_id` and `VK_KHR_present_wait`, `acquire` waits until fewer than
/// [`set_frame_latency`](Self::set_frame_latency) images wait to be shown, if the mode is
/// [`Fifo`](PresentMode::Fifo) or [`FifoRelaxed`](PresentMode::FifoRelaxed); in the others, no image waits behind another.
/// Read input after this wait, for the least latency. The wait ends after 100 ms, because a hidden window shows
/// nothing. Without the extensions, the number of images is the only limit.
///
/// # Device
///
/// The device was made with [`DeviceConfig::presentation`](crate::DeviceConfig::presentation), or wrapped with its loader, the instance's
/// extensions for surfaces, and `VK_KHR_swapchain` among [`Raw::extensions`](crate::Raw::extensions).
///
/// ```no_run
/// use ash::vk;
/// use tenure_core::{Error, Gpu, Queue, State, Subresource, SwapchainDesc};
/// use tenure_vulkan::{Device, Swapchain};
///
/// fn run(gpu: &Gpu<Device>, surface: vk::SurfaceKHR, size: impl Fn() -> [u32; 2]) -> Result<(), Error> {
///     // SAFETY: the surface is of this device's instance, and is destroyed after the swap chain and all else.
///     let mut swapchain = unsafe { Swapchain::new(gpu, surface, &SwapchainDesc::new(size())) }?;
///     loop {
///         let frame = gpu.begin_frame()?;
///         if swapchain.is_outdated() || swapchain.extent() != size() {
///             swapchain.resize(size())?;
///         }
///         let Some(image) = swapchain.acquire()? else { continue };
///         let mut recording = frame.record(Queue::Graphics, "picture")?;
///         image.begin(&mut recording)?;
///         recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
///         let _draw = recording.raw();
///         image.finish(&mut recording)?;
///         frame.submit(recording)?;
///         swapchain.present(image)?;
///         frame.end()?;
///     }
/// }
/// ```
///
/// # Dropping it
///
/// waits for the GPU, for its presentations and for open recordings, up to
/// [`FrameConfig::shutdown_timeout`](tenure_core::FrameConfig::shutdown_timeout), and destroys its objects: then
/// the surface can be destroyed. While the program has an image, or an open recording has begun or finished one,
/// it does not wait, and the chain stays alive until they are dropped.
pub struct Swapchain {
    pub(super) gpu: Gpu<Device>,
    pub(super) calls: Arc<Calls>,
    pub(super) surface: vk::SurfaceKHR,
    pub(super) desc: SwapchainDesc,
    pub(super) format: SurfaceFormat,
    pub(super) mode: PresentMode,
    /// Whether the preferences have changed since the format and the mode were chosen.
    pub(super) is_rewished: bool,
    /// Whether the preferred formats have changed: the format is not kept.
    pub(super) is_format_open: bool,
    pub(super) metadata: Option<HdrMetadata>,
    /// The number of images that may wait to be shown.
    latency: u32,
    /// Whether each queue can present to the window.
    pub(super) can_present: SmallVec<[bool; MAX_QUEUES]>,
    pub(super) window: Window,
    pub(super) current: Option<Current>,
    pub(super) held: Option<Lent>,
    pub(super) retired: Vec<Retired>,
    pub(super) waited: Waited,
    /// Signalled semaphores that no submission could wait for: destroyed at the end.
    pub(super) stray: Vec<vk::Semaphore>,
}

impl Swapchain {
    /// Creates a swap chain for a surface, which the program keeps owning.
    ///
    /// # Errors
    /// [`Error::Swapchain`] with [`SwapchainRule::NoQueue`], [`SwapchainRule::Format`] or
    /// [`SwapchainRule::WindowLost`]; [`Error::Device`]: a required extension is not enabled, or the surface's
    /// images do not support the usage in `desc`.
    ///
    /// # Safety
    /// The surface is of the device's instance, and not in use elsewhere. It stays valid until the swap chain and
    /// its images are dropped, and the recordings that were open then are submitted or discarded, and complete.
    /// Dropping the swap chain waits for that, and reports a timeout as an error by `tracing`.
    ///
    /// The instance outlives the surface: the instance of [`Device::create`] is destroyed with the last handle of
    /// the device, so keep a [`Device`] or a [`Gpu`] until the surface is destroyed.
    pub unsafe fn new(
        gpu: &Gpu<Device>,
        surface: vk::SurfaceKHR,
        desc: &SwapchainDesc,
    ) -> Result<Self, Error> {
        let named = |source| Error::Device { name: desc.name.clone(), source };
        let calls = Calls::new(gpu.device().queues()).map_err(named)?;
        Self::over(gpu, calls, surface, desc)
    }

    /// Makes a swap chain for a window, with a surface of its own. The window must stay valid until the surface
    /// is destroyed, with the last image of the swap chain: pass an `Arc` of a window to continue using it.
    ///
    /// The window is of any crate with `raw-window-handle` 0.6, as `winit` and SDL. On macOS call it on the main
    /// thread.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`SwapchainRule::WindowLost`] while the window has no handle (a suspended program on
    /// Android); [`Error::Device`] for a window system whose extension the instance has not enabled.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use raw_window_handle::{HasDisplayHandle, HasWindowHandle};
    /// use tenure_core::{Config, Gpu, SwapchainDesc};
    /// use tenure_vulkan::{Device, DeviceConfig, Swapchain};
    /// # fn show(
    /// #     window: Arc<impl HasDisplayHandle + HasWindowHandle + Send + Sync + 'static>,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let gpu = Gpu::new(Device::create(&DeviceConfig::default().presentation(true))?, Config::default())?;
    /// let swapchain = Swapchain::for_window(&gpu, window.clone(), &SwapchainDesc::new([1280, 720]))?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "window")]
    pub fn for_window<W>(gpu: &Gpu<Device>, window: W, desc: &SwapchainDesc) -> Result<Self, Error>
    where
        W: raw_window_handle::HasDisplayHandle + raw_window_handle::HasWindowHandle + Send + Sync + 'static,
    {
        let named = |source| Error::Device { name: desc.name.clone(), source };
        let queues = gpu.device().queues();
        let mut calls = Calls::new(queues).map_err(named)?;
        let surface = crate::chain::Surface::new(queues, &calls, window, desc)?;
        let handle = surface.handle();
        calls.owned = Some(surface);
        Self::over(gpu, calls, handle, desc)
    }

    fn over(
        gpu: &Gpu<Device>,
        calls: Calls,
        surface: vk::SurfaceKHR,
        desc: &SwapchainDesc,
    ) -> Result<Self, Error> {
        let mut swapchain = Self {
            gpu: gpu.clone(),
            calls: Arc::new(calls),
            surface,
            desc: desc.clone(),
            format: Format::Bgra8Srgb.into(),
            mode: PresentMode::Fifo,
            is_rewished: false,
            is_format_open: false,
            metadata: None,
            latency: gpu.config().frames.in_flight.clamp(1, MOST_WAITING),
            can_present: SmallVec::new(),
            window: Window::Empty,
            current: None,
            held: None,
            retired: Vec::new(),
            waited: Waited::default(),
            stray: Vec::new(),
        };
        swapchain.find_queues()?;
        swapchain.format = swapchain.choose_format(None)?;
        swapchain.rebuild()?;
        Ok(swapchain)
    }

    fn find_queues(&mut self) -> Result<(), Error> {
        let queues = self.queues().clone();
        for queue in &queues.list {
            let family = queue.properties.family;
            // SAFETY: the surface is alive, the family one of the device's.
            let found = unsafe {
                self.calls.surface.get_physical_device_surface_support(
                    queues.api.physical,
                    family,
                    self.surface,
                )
            };
            let found =
                found.map_err(|result| self.failed("vkGetPhysicalDeviceSurfaceSupportKHR", result))?;
            self.can_present.push(found);
        }
        match self.can_present.contains(&true) {
            true => Ok(()),
            false => Err(self.broken(SwapchainRule::NoQueue)),
        }
    }

    /// Acquires an image to draw to. `None`: the window is minimised, or [is outdated](Self::is_outdated) so that
    /// nothing can be shown. Creates new images first if [`set_formats`](Self::set_formats) or
    /// [`set_modes`](Self::set_modes) has changed the choice.
    ///
    /// Waits for an image for at most [`FrameConfig::timeout`](tenure_core::FrameConfig::timeout). An image that
    /// was dropped without being presented is returned again, with its contents.
    ///
    /// # Errors
    /// [`SwapchainRule::OneAtATime`] while the program has one, [`SwapchainRule::WindowLost`];
    /// [`Error::Timeout`]; [`Error::Device`]: lost, or a shortage. With new images, as [`resize`](Self::resize).
    pub fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>, Error> {
        self.alive()?;
        self.collect()?;
        if self.held.as_ref().is_some_and(Lent::is_out) {
            return Err(self.broken(SwapchainRule::OneAtATime));
        }
        if self.is_rewished && matches!(self.window, Window::Ready | Window::Suboptimal) {
            self.follow_wishes()?;
        }
        if self.held.is_some() {
            return self.hand_out_again().map(Some);
        }
        if matches!(self.window, Window::Outdated | Window::Empty) {
            return Ok(None);
        }
        self.acquire_next()
    }

    fn acquire_next(&mut self) -> Result<Option<SwapchainImage<Device>>, Error> {
        const CALL: &str = "vkAcquireNextImageKHR";
        self.wait_for_shown()?;
        let Some(current) = &self.current else { return Ok(None) };
        let queues = self.queues().clone();
        let timeout = self.gpu.config().frames.timeout;
        let semaphore = queues.take_semaphore().map_err(|source| self.device_error(source))?;
        // SAFETY: the chain is alive, the semaphore is not signalled, and no submission waits for it.
        let acquired = unsafe {
            let handle = current.chain.handle;
            self.calls.swapchain.acquire_next_image(
                handle,
                nanoseconds(timeout),
                semaphore,
                vk::Fence::null(),
            )
        };
        let (index, is_suboptimal) = match acquired {
            Ok(acquired) => acquired,
            Err(result) => {
                queues.sync.return_semaphores([semaphore]);
                return match result {
                    vk::Result::NOT_READY | vk::Result::TIMEOUT => Err(timed_out(timeout)),
                    result if is_outdating(result) => {
                        self.window = Window::Outdated;
                        Ok(None)
                    }
                    result => Err(self.failed(CALL, result)),
                };
            }
        };
        self.note_optimal(Call::Acquire, !is_suboptimal);
        let slot = index as usize;
        let Some(current) = &self.current else { return Ok(None) };
        let Some((image, was_presented)) =
            current.images.get(slot).cloned().zip(current.was_presented.get(slot))
        else {
            self.stray.push(semaphore);
            return Err(self.failed(CALL, vk::Result::ERROR_UNKNOWN));
        };
        // SAFETY: each is of this device and stays valid until the submissions that use it are complete; each is
        // waited for once, after it was signalled.
        let [acquired, rendered] = [semaphore, current.chain.rendered(slot)]
            .map(|semaphore| unsafe { ExternalSemaphore::binary(semaphore) });
        image.arm(Some(acquired.at_stages(PRESENT_STAGES)), Some(rendered));
        self.held = Some(Lent { image: image.clone(), acquired: semaphore, was_presented: *was_presented });
        // All earlier uses are complete when the semaphore is signalled.
        self.gpu.declare_state(image.texture(), Subresource::All, State::COMMON, &SyncPoint::NONE)?;
        Ok(Some(SwapchainImage::new(image)))
    }

    /// Waits until fewer images than the limit wait to be shown.
    fn wait_for_shown(&self) -> Result<(), Error> {
        let api = &self.queues().api;
        let (Some(calls), Some(current)) = (api.present_wait, &self.current) else { return Ok(()) };
        let is_in_order = matches!(self.mode, PresentMode::Fifo | PresentMode::FifoRelaxed);
        let number = current.chain.number_before(self.latency).filter(|_| is_in_order);
        let Some(number) = number else { return Ok(()) };
        // SAFETY: the chain is alive, not retired, and used only by this thread; a presentation had the number.
        let result =
            unsafe { (calls.wait)(api.handle(), current.chain.handle, number, nanoseconds(SHOWN_WAIT)) };
        match result {
            vk::Result::SUCCESS | vk::Result::SUBOPTIMAL_KHR | vk::Result::TIMEOUT => Ok(()),
            // The acquisition finds it, too.
            result if is_outdating(result) => Ok(()),
            result => Err(self.failed("vkWaitForPresentKHR", result)),
        }
    }

    /// Returns the acquired image again after the program has dropped it.
    fn hand_out_again(&mut self) -> Result<SwapchainImage<Device>, Error> {
        if let Some(held) = &self.held
            && held.image.progress().finished.is_some()
            && let Some(current) = &self.current
        {
            // The semaphore of its presentation was signalled, and will be again.
            let slot = held.image.index() as usize;
            let signalled = current.chain.replace_rendered(slot)?;
            // SAFETY: as for its acquisition.
            let rendered = unsafe { ExternalSemaphore::binary(current.chain.rendered(slot)) };
            held.image.rearm(Some(rendered));
            self.consume(signalled)?;
        }
        match &self.held {
            Some(held) => Ok(SwapchainImage::new(held.image.clone())),
            None => Err(Error::Internal { what: "the image of a swap chain is gone" }),
        }
    }

    /// Shows an image that a recording has [finished](SwapchainImage::finish), on the queue that the recording
    /// was submitted to.
    ///
    /// If the window has changed meanwhile, the image may not be shown, and [`is_outdated`](Self::is_outdated)
    /// returns true. A refused image is returned again by the next [`acquire`](Self::acquire).
    ///
    /// All waits of the image must have been submitted. If a recording of the frame waits for a value of a
    /// [timeline semaphore](ExternalSemaphore::timeline) of the program, its signal must come before this
    /// call, on the GPU or by the CPU (VUID-vkQueuePresentKHR-pWaitSemaphores-03268). tenure cannot check this,
    /// because other queues and processes may signal it; the validation layers and the simulated device report
    /// it.
    ///
    /// # Errors
    /// [`SwapchainRule::NotFinished`], [`SwapchainRule::BegunFirst`], [`SwapchainRule::OtherSwapchain`];
    /// [`SwapchainRule::NoQueue`]: the queue that finished it cannot present; [`SwapchainRule::WindowLost`];
    /// [`Error::Device`]: lost, or a shortage.
    #[expect(clippy::needless_pass_by_value, reason = "the program is done with it")]
    pub fn present(&mut self, image: SwapchainImage<Device>) -> Result<(), Error> {
        self.alive()?;
        let is_ours = |held: &&Lent| Arc::ptr_eq(&held.image, image.shared());
        let (Some(held), Some(current)) = (self.held.as_ref().filter(is_ours), self.current.as_ref()) else {
            return Err(self.broken(SwapchainRule::OtherSwapchain));
        };
        let point = held.image.finished()?;
        let queue = point.iter().map(|at| at.queue).find(|queue| self.can_present(*queue));
        let queue = queue.ok_or_else(|| self.broken(SwapchainRule::NoQueue))?;
        let index = held.image.index();
        let (chain, slot) = (current.chain.clone(), index as usize);
        let result = self.queue_present(queue, &chain, index)?;
        match result {
            Ok(is_suboptimal) => self.note_optimal(Call::Present, !is_suboptimal),
            Err(result) if is_outdating(result) => self.window = Window::Outdated,
            Err(_) => {}
        }
        self.end_held(slot, point);
        match result {
            Err(result) if !is_outdating(result) => Err(self.failed("vkQueuePresentKHR", result)),
            _ => Ok(()),
        }
    }

    /// Presents. An inner error means that the image was taken, but will not be shown.
    fn queue_present(
        &self,
        queue: QueueId,
        chain: &Chain,
        index: u32,
    ) -> Result<Result<bool, vk::Result>, Error> {
        let queues = self.queues();
        let queue = queues.queue(queue).map_err(|source| self.device_error(source))?;
        let has_fences =
            queues.api.uses(OptionalFeatures::SWAPCHAIN_MAINTENANCE1) && !queues.sync.has_lost_fences();
        let fence = has_fences.then(|| queues.take_fence()).transpose();
        let fence = fence.map_err(|source| self.device_error(source))?;
        let (waits, handles, indices) = ([chain.rendered(index as usize)], [chain.handle], [index]);
        let number = queues.api.present_wait.is_some().then(|| chain.next_number());
        let (fences, numbers) = ([fence.unwrap_or_default()], [number.unwrap_or_default()]);
        let mut numbered = vk::PresentIdKHR::default().present_ids(&numbers);
        let mut told = vk::SwapchainPresentFenceInfoEXT::default().fences(&fences);
        let mut info = vk::PresentInfoKHR::default()
            .wait_semaphores(&waits)
            .swapchains(&handles)
            .image_indices(&indices);
        if fence.is_some() {
            info = info.push_next(&mut told);
        }
        if number.is_some() {
            info = info.push_next(&mut numbered);
        }
        // SAFETY: the image was acquired and is in the layout for presentation, when the semaphore is signalled,
        // which was submitted; the queue can present to the surface, and only this thread uses it.
        let result = queue.with(|queue| unsafe { self.calls.swapchain.queue_present(queue, &info) });
        match result {
            Err(result) if !is_outdating(result) && result != vk::Result::ERROR_SURFACE_LOST_KHR => {
                // The presentation was not enqueued: the semaphore stays signalled, the fence is not.
                fence.into_iter().for_each(|fence| queues.sync.return_fence(fence));
                Err(self.failed("vkQueuePresentKHR", result))
            }
            result => {
                chain.note_present(fence, number);
                Ok(result)
            }
        }
    }

    /// Returns the acquired image to the presentation engine, after `point`.
    fn end_held(&mut self, slot: usize, point: SyncPoint) {
        let Some(held) = self.held.take() else { return };
        self.waited.push(held.acquired, point);
        if let Some(was) = self.current.as_mut().and_then(|current| current.was_presented.get_mut(slot)) {
            *was = true;
        }
        if held.was_presented {
            for retired in self.retired.iter_mut().filter(|retired| retired.over_at.is_none()) {
                retired.over_at = Some(point);
            }
        }
    }

    /// True if the window no longer matches the images: [resize](Self::resize) it. One event for the results
    /// `OUT_OF_DATE` and `SUBOPTIMAL`.
    #[must_use]
    pub const fn is_outdated(&self) -> bool {
        matches!(self.window, Window::Outdated | Window::Suboptimal)
    }

    /// Creates new images for a changed window, and releases the old ones. The size is used if the window does not
    /// fix it; with a 0 the window is minimised, and there are no images until the next call. No effect if
    /// neither size nor window have changed.
    ///
    /// # Errors
    /// [`SwapchainRule::ImageHeld`] while the program has an image, or a recording that uses it is open;
    /// [`Error::Timeout`] when several chains were replaced and the GPU does not finish with them; and the errors
    /// of [`new`](Self::new). After an error that is not the program's mistake there may be no images; it can be
    /// called again.
    pub fn resize(&mut self, size: [u32; 2]) -> Result<(), Error> {
        self.alive()?;
        self.collect()?;
        if self.window == Window::Ready && self.desc.size == size {
            return Ok(());
        }
        self.check_replaceable()?;
        self.release_image()?;
        self.desc.size = size;
        self.rebuild()
    }

    /// An error while the program or an open recording has an image.
    pub(super) fn check_replaceable(&self) -> Result<(), Error> {
        match self.held.as_ref().is_some_and(|held| held.is_out() || held.image.is_recorded()) {
            true => Err(self.broken(SwapchainRule::ImageHeld)),
            false => Ok(()),
        }
    }

    /// Width and height of the images; zeros if there are none.
    #[must_use]
    pub fn extent(&self) -> [u32; 2] {
        match &self.current {
            Some(current) if self.window != Window::Empty => current.shape.extent,
            _ => [0; 2],
        }
    }

    /// The format of the images and of their views. It stays the same until [`set_formats`](Self::set_formats), unless the
    /// window no longer offers it: then a [resize](Self::resize) chooses another.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format.format
    }

    /// The colour space of the images.
    #[must_use]
    pub const fn color_space(&self) -> ColorSpace {
        self.format.color_space
    }

    /// The present mode: the first requested one that the window supports. [`PresentMode::Fifo`] before there are images.
    #[must_use]
    pub const fn mode(&self) -> PresentMode {
        self.mode
    }

    /// Sets the number of images that may wait to be shown before [`acquire`](Self::acquire) waits. Fewer mean less latency, more keep
    /// the GPU busy when frames take longer now and then. 1 to 16; initially the configured number of
    /// [frames in flight](tenure_core::FrameConfig::in_flight). Without effect on a device without
    /// [`OptionalFeatures::PRESENT_WAIT`].
    ///
    /// # Errors
    /// [`Error::Device`] for a number out of range.
    pub fn set_frame_latency(&mut self, frames: u32) -> Result<(), Error> {
        if frames == 0 || frames > MOST_WAITING {
            let rule = "1 to 16 images may wait to be shown";
            let (value, limit) = (u64::from(frames), u64::from(MOST_WAITING));
            return Err(self.device_error(DeviceError::invalid_call(rule, value, limit)));
        }
        self.latency = frames;
        Ok(())
    }

    /// The number of images.
    #[must_use]
    pub fn images(&self) -> u32 {
        self.current.as_ref().map_or(0, |current| u32::try_from(current.images.len()).unwrap_or(u32::MAX))
    }

    /// Whether images finished on a queue can be presented.
    #[must_use]
    pub fn can_present_on(&self, queue: Queue) -> bool {
        use tenure_core::device::prelude::*;
        self.can_present(queue.id(self.gpu.device().properties()))
    }

    fn can_present(&self, queue: QueueId) -> bool {
        self.can_present.get(queue.index()).copied().unwrap_or(false)
    }

    pub(super) fn queues(&self) -> &Arc<Queues> {
        self.gpu.device().queues()
    }

    pub(super) fn alive(&self) -> Result<(), Error> {
        self.queues().alive().map_err(|source| self.device_error(source))
    }

    pub(super) fn broken(&self, rule: SwapchainRule) -> Error {
        Error::Swapchain { name: self.desc.name.clone(), rule }
    }

    pub(super) fn device_error(&self, source: DeviceError) -> Error {
        Error::Device { name: self.desc.name.clone(), source }
    }

    pub(super) fn failed(&self, call: &'static str, result: vk::Result) -> Error {
        match result {
            vk::Result::ERROR_SURFACE_LOST_KHR | vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR => {
                self.broken(SwapchainRule::WindowLost)
            }
            result => self.device_error(self.queues().error(call, result)),
        }
    }
}

impl Lent {
    /// Whether the program holds the image. The swap chain itself holds two references.
    pub(super) fn is_out(&self) -> bool {
        Arc::strong_count(&self.image) > 2
    }
}

/// The error of a wait for an image that was not available within the timeout.
pub(super) fn timed_out(timeout: Duration) -> Error {
    let waited_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    Error::Timeout { what: Awaited::SwapchainImage, waited_ms }
}

/// True for results that require new images.
fn is_outdating(result: vk::Result) -> bool {
    matches!(
        result,
        vk::Result::ERROR_OUT_OF_DATE_KHR | vk::Result::ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT
    )
}

tenure_core::implement_swapchain!(Swapchain, Device);

impl fmt::Debug for Swapchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swapchain")
            .field("name", &self.desc.name)
            .field("extent", &self.extent())
            .field("images", &self.images())
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
