//! A swap chain without a window.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use tenure_core::device::{Api, Permit, QueueId, Usage, prelude::*};
use tenure_core::present::{
    ColorSpace, HdrMetadata, PresentMode, SharedImage, SurfaceFormat, SwapchainDesc, SwapchainImage,
    await_release,
};
use tenure_core::time::SyncPoint;
use tenure_core::{Awaited, Error, Format, Gpu, Queue, State, SwapchainRule, TextureDesc};

use crate::device::Device;
use crate::fence::Fence;
use crate::timeline::Queues;

mod presents;

/// A change of the window at a call of [`Swapchain::acquire`] or [`Swapchain::present`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwapchainEvent {
    /// The size has changed: there is no image until the swap chain is resized.
    OutOfDate,
    /// All images are in use by the window, until the timeout: [`Error::Timeout`]. No effect at a call of
    /// [`Swapchain::present`], which takes no image.
    NotReady,
    /// It is destroyed.
    WindowLost,
}

/// The formats that a window offers until [`Swapchain::offer`].
const FORMATS: [SurfaceFormat; 7] = [
    SurfaceFormat::new(Format::Bgra8Srgb, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Bgra8Unorm, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgba8Unorm, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgb10A2Unorm, ColorSpace::Srgb),
    SurfaceFormat::HDR10,
    SurfaceFormat::SC_RGB,
];

/// A swap chain of the simulated device, with the methods of the backends' swap chains
/// ([`tenure_core::present::Swapchain`]). It returns its images in turn; a [script](Self::script) plays window
/// events.
///
/// Presenting is a read of the image. With Vulkan's profiles the presentation engine reads it, outside the queues,
/// after the semaphore that the frame signals and before the one returned by the next acquisition: a frame
/// that waits for neither, or presents an image it has not written, is a [hazard](crate::Hazard). With Direct3D
/// 12's profiles the graphics queue reads it.
///
/// Drop it before the [`Gpu`] is shut down.
///
/// ```
/// use tenure::{Config, Gpu, Queue, State, Subresource, present::SwapchainDesc, sim};
///
/// let device = sim::Device::new(sim::Profile::VULKAN_NVIDIA);
/// let gpu = Gpu::new(device.clone(), Config::default())?;
/// let mut swapchain = sim::Swapchain::new(&gpu, &SwapchainDesc::new([1280, 720]))?;
/// swapchain.script(2, sim::SwapchainEvent::OutOfDate);
/// for _ in 0..4 {
///     let frame = gpu.begin_frame()?;
///     if swapchain.is_outdated() {
///         swapchain.resize([1920, 1080])?;
///     }
///     if let Some(image) = swapchain.acquire()? {
///         let mut recording = frame.record(Queue::Graphics, "draw")?;
///         image.begin(&mut recording)?;
///         recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
///         recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
///         image.finish(&mut recording)?;
///         frame.submit(recording)?;
///         swapchain.present(image)?;
///     }
///     frame.end()?;
/// }
/// assert_eq!((swapchain.extent(), swapchain.presented()), ([1920, 1080], 3));
/// drop(swapchain);
/// assert!(gpu.shutdown().is_clean());
/// # drop(gpu);
/// # device.check_clean().expect("a clean frame");
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Swapchain {
    desc: SwapchainDesc,
    format: SurfaceFormat,
    mode: PresentMode,
    formats: Vec<SurfaceFormat>,
    modes: Vec<PresentMode>,
    metadata: Option<HdrMetadata>,
    /// Whether the preferences have changed since the images were created.
    is_rewished: bool,
    /// Whether the preferred formats have changed: the format is not kept.
    is_format_open: bool,
    images: Vec<Arc<SharedImage<Device>>>,
    /// Vulkan: of each image, the semaphore that its frame signals.
    rendered: Vec<Fence>,
    /// Vulkan: semaphores for acquisitions, with the submission that waits for them: the oldest first.
    acquired: VecDeque<(Fence, SyncPoint)>,
    /// Vulkan: signalled semaphores of frames without a waiter, with the submission that signals them.
    signalled: Vec<(Fence, SyncPoint)>,
    /// The acquired image that is not presented yet.
    current: Option<Current>,
    next: usize,
    /// The image that the window shows: the last one presented.
    shown: Option<usize>,
    presented: u64,
    acquire_script: Script,
    present_script: Script,
    is_outdated: bool,
    is_lost: bool,
    /// Declared last, so that it is dropped last.
    gpu: Gpu<Device>,
}

/// The scripted events by the call of a method.
#[derive(Default)]
struct Script {
    calls: u64,
    events: BTreeMap<u64, SwapchainEvent>,
}

impl Script {
    /// Adds an event at the `call`-th call from now.
    fn add(&mut self, call: u64, event: SwapchainEvent) {
        self.events.insert(self.calls.saturating_add(call.max(1)), event);
    }

    /// Counts a call, and takes its event.
    fn next(&mut self) -> Option<SwapchainEvent> {
        self.calls += 1;
        self.events.remove(&self.calls)
    }
}

/// An acquired image.
struct Current {
    index: usize,
    /// Vulkan: the semaphore that its frame waits for.
    acquired: Option<Fence>,
}

impl Swapchain {
    /// A swap chain of that description, of two images at least. Its window offers 8-bit formats, 10 bits in sRGB
    /// and HDR10, and scRGB; [`offer`](Self::offer) changes that.
    ///
    /// # Errors
    /// [`Error::Swapchain`] for more than 16 images or a format that the window does not offer; as
    /// [`Gpu::create_texture`].
    pub fn new(gpu: &Gpu<Device>, desc: &SwapchainDesc) -> Result<Self, Error> {
        let (min, max) = (2, 16);
        let images = desc.images.max(min);
        if images > max {
            let rule = SwapchainRule::Images { images: desc.images, min, max };
            return Err(Error::Swapchain { name: desc.name.clone(), rule });
        }
        // DXGI has no such mode.
        let is_vulkan = gpu.device().properties().api == Api::Vulkan;
        let modes =
            PresentMode::ALL.into_iter().filter(|mode| is_vulkan || *mode != PresentMode::FifoRelaxed);
        let mut swapchain = Self {
            desc: desc.clone().images(images),
            format: FORMATS[0],
            mode: PresentMode::Fifo,
            formats: FORMATS.to_vec(),
            modes: modes.collect(),
            metadata: None,
            is_rewished: false,
            is_format_open: false,
            images: Vec::new(),
            rendered: Vec::new(),
            acquired: VecDeque::new(),
            signalled: Vec::new(),
            current: None,
            next: 0,
            shown: None,
            presented: 0,
            acquire_script: Script::default(),
            present_script: Script::default(),
            is_outdated: false,
            is_lost: false,
            gpu: gpu.clone(),
        };
        (swapchain.format, swapchain.mode) = swapchain.choose(None)?;
        swapchain.make_images()?;
        Ok(swapchain)
    }

    /// Changes the formats and modes that the window supports, as when it moves to another screen. The swap chain
    /// keeps its format while that is supported, and otherwise gets another one with the next
    /// [`resize`](Self::resize).
    pub fn offer(&mut self, formats: &[SurfaceFormat], modes: &[PresentMode]) {
        (self.formats, self.modes) = (formats.to_vec(), modes.to_vec());
    }

    /// The format and the mode of the next images. If the window supports none of the preferred formats, the current
    /// one is kept.
    fn choose(&self, current: Option<SurfaceFormat>) -> Result<(SurfaceFormat, PresentMode), Error> {
        let is_offered = |format: &SurfaceFormat| self.formats.contains(format);
        let current = current.filter(is_offered);
        let kept = current.filter(|_| !self.is_format_open);
        let format = kept.or_else(|| self.desc.choose_format(|format| is_offered(&format))).or(current);
        let format = format.ok_or_else(|| self.breaks(SwapchainRule::Format))?;
        Ok((format, self.desc.choose_mode(|mode| self.modes.contains(&mode))))
    }

    /// Recreates the images if the program's preferences now choose others.
    fn follow_wishes(&mut self) -> Result<(), Error> {
        let (format, mode) = self.choose(Some(self.format))?;
        if (format, mode) == (self.format, self.mode) {
            (self.is_rewished, self.is_format_open) = (false, false);
            return Ok(());
        }
        self.replace(self.desc.size)
    }

    /// Schedules an event for the `call`-th call of [`acquire`](Self::acquire) from now; 1 is the next.
    pub fn script(&mut self, call: u64, event: SwapchainEvent) {
        self.acquire_script.add(call, event);
    }

    /// As [`script`](Self::script), for a call of [`present`](Self::present) that is not refused: the image is
    /// presented, and the window then is out of date or destroyed.
    pub fn script_present(&mut self, call: u64, event: SwapchainEvent) {
        self.present_script.add(call, event);
    }

    /// Acquires the next image to draw to; an image that was dropped without being presented is returned again. `None`
    /// while there is none: the window is minimised or out of date. Recreates the images after a change of
    /// preferences.
    ///
    /// # Errors
    /// [`Error::Swapchain`] while the program holds an image, and once the window is destroyed;
    /// [`Error::Timeout`] if the window uses all images for too long; after a change of the preferences, as
    /// [`resize`](Self::resize).
    pub fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>, Error> {
        self.alive()?;
        match self.acquire_script.next() {
            Some(SwapchainEvent::OutOfDate) => self.is_outdated = true,
            Some(SwapchainEvent::WindowLost) => self.is_lost = true,
            Some(SwapchainEvent::NotReady) => {
                return Err(Error::Timeout { what: Awaited::SwapchainImage, waited_ms: 0 });
            }
            None => {}
        }
        if self.is_lost {
            return Err(self.breaks(SwapchainRule::WindowLost));
        }
        self.check_not_held(SwapchainRule::OneAtATime)?;
        if self.desc.is_empty() || self.is_outdated {
            return Ok(None);
        }
        if self.is_rewished {
            self.follow_wishes()?;
        }
        if let Some(current) = &self.current {
            return Ok(Some(self.hand_out_again(current.index)));
        }
        let index = self.next;
        self.next = (index + 1) % self.images.len();
        let acquired = self.is_vulkan().then(|| self.acquire_semaphore()).transpose()?;
        let rendered = self.rendered.get(index).map(|semaphore| semaphore.at(0));
        self.images[index].arm(acquired.as_ref().map(|semaphore| semaphore.at(0)), rendered);
        self.current = Some(Current { index, acquired });
        Ok(Some(SwapchainImage::new(self.images[index].clone())))
    }

    /// Returns an image that was not presented again. Its next frame waits for the signals of the earlier frame's
    /// submission.
    fn hand_out_again(&mut self, index: usize) -> SwapchainImage<Device> {
        let image = self.images[index].clone();
        if let Some(point) = image.progress().finished {
            if let Some(rendered) = self.rendered.get_mut(index) {
                let name = format!("{} rendered {index}", self.desc.name);
                let signalled = std::mem::replace(rendered, self.gpu.device().create_semaphore(&name));
                self.signalled.push((signalled, point));
            }
            image.rearm(self.rendered.get(index).map(|rendered| rendered.at(0)));
        }
        SwapchainImage::new(image)
    }

    /// Presents an image that a submitted recording has finished.
    ///
    /// # Errors
    /// [`Error::Swapchain`] for an image that is not finished, which is returned again, for an image of another
    /// swap chain, for one finished by a queue that [cannot present](Self::can_present_on), and when the
    /// window is gone; and the errors of [`Gpu::submit_external`].
    pub fn present(&mut self, image: SwapchainImage<Device>) -> Result<(), Error> {
        self.alive()?;
        let is_current = |current: &Current| Arc::ptr_eq(image.shared(), &self.images[current.index]);
        if !self.current.as_ref().is_some_and(is_current) {
            return Err(self.breaks(SwapchainRule::OtherSwapchain));
        }
        let finished = image.shared().finished()?;
        if !finished.iter().any(|at| self.can_present(at.queue)) {
            return Err(self.breaks(SwapchainRule::NoQueue));
        }
        let raw = image.texture().raw();
        if self.is_vulkan() {
            let waits = self.rendered.get(image.index() as usize).map(|rendered| rendered.at(0));
            // The window reads the image that it shows until the next one is presented.
            let before = self.shown.and_then(|shown| self.images.get(shown));
            let before = before.map(|shown| shown.texture().raw());
            self.queues().present(before, raw, waits, &finished);
        } else {
            self.gpu.submit_external(Queue::Graphics, &finished, |mut queue| {
                queue.present(raw);
                Ok::<(), Error>(())
            })?;
        }
        let acquired = self.current.take().and_then(|current| current.acquired);
        self.acquired.extend(acquired.map(|semaphore| (semaphore, finished)));
        self.shown = Some(image.index() as usize);
        self.presented += 1;
        match self.present_script.next() {
            Some(SwapchainEvent::OutOfDate) => self.is_outdated = true,
            Some(SwapchainEvent::WindowLost) => {
                self.is_lost = true;
                return Err(self.breaks(SwapchainRule::WindowLost));
            }
            Some(SwapchainEvent::NotReady) | None => {}
        }
        Ok(())
    }

    /// Makes new images of another size; with a 0 there are none until the next call. No cost if nothing has
    /// changed.
    ///
    /// Waits until the GPU no longer uses them, for a bounded time.
    ///
    /// # Errors
    /// [`Error::Swapchain`] while the program holds an image, or a recording that has begun or finished one is
    /// open, and on Direct3D 12's profiles while the program holds the texture or the view of one, whose buffers
    /// then come again; [`Error::Device`] once the device is lost; and the errors of [`new`](Self::new). Then
    /// nothing has changed, or there are no images until it succeeds.
    pub fn resize(&mut self, size: [u32; 2]) -> Result<(), Error> {
        self.alive()?;
        if !self.is_outdated && !self.is_lost && self.desc.size == size {
            return Ok(());
        }
        self.replace(size)
    }

    /// Creates images of that size, in place of the old ones.
    fn replace(&mut self, size: [u32; 2]) -> Result<(), Error> {
        self.check_not_held(SwapchainRule::ImageHeld)?;
        // Vulkan: its submission would use destroyed semaphores. Direct3D 12: it refers to a buffer.
        if self.images.iter().any(|image| image.is_recorded()) {
            return Err(self.breaks(SwapchainRule::ImageHeld));
        }
        let (format, mode) = self.choose(Some(self.format))?;
        let images = self.images.iter().map(|image| image.texture().raw().state.clone()).collect::<Vec<_>>();
        let was_outdated = std::mem::replace(&mut self.is_outdated, true);
        self.release_images();
        // Vulkan: a held image keeps the old swap chain alive.
        if !self.is_vulkan() {
            let timeout = self.gpu.config().frames.timeout;
            if !await_release(&self.gpu, timeout, || images.iter().all(|image| image.label.is_destroyed()))? {
                self.make_images()?;
                self.is_outdated = was_outdated;
                return Err(self.breaks(SwapchainRule::ImageHeld));
            }
        }
        (self.desc.size, self.format, self.mode) = (size, format, mode);
        self.make_images()?;
        (self.is_outdated, self.is_rewished, self.is_format_open) = (false, false, false);
        Ok(())
    }

    /// True if the window has changed, and there are no images until [`resize`](Self::resize).
    #[must_use]
    pub const fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Width and height in pixels; zeros while there are no images.
    #[must_use]
    pub const fn extent(&self) -> [u32; 2] {
        if self.desc.is_empty() { [0; 2] } else { self.desc.size }
    }

    /// The format of the images.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format.format
    }

    /// The colour space of the images.
    #[must_use]
    pub const fn color_space(&self) -> ColorSpace {
        self.format.color_space
    }

    /// The presentation mode.
    #[must_use]
    pub const fn mode(&self) -> PresentMode {
        self.mode
    }

    /// The formats that the window offers.
    ///
    /// # Errors
    /// [`Error::Device`] once the device is lost.
    pub fn offered_formats(&self) -> Result<Vec<SurfaceFormat>, Error> {
        self.alive()?;
        Ok(self.formats.clone())
    }

    /// The modes that the window offers.
    ///
    /// # Errors
    /// [`Error::Device`] once the device is lost.
    pub fn offered_modes(&self) -> Result<Vec<PresentMode>, Error> {
        self.alive()?;
        Ok(self.modes.clone())
    }

    /// Replaces the preferred formats: the next [`acquire`](Self::acquire) chooses again. If the window offers none of
    /// these, nor [`format`](SwapchainDesc::format), the images stay.
    pub fn set_formats(&mut self, formats: &[SurfaceFormat]) {
        self.desc.formats = formats.to_vec();
        (self.is_rewished, self.is_format_open) = (true, true);
    }

    /// Replaces the preferred modes: the next [`acquire`](Self::acquire) chooses again; on Direct3D 12's profiles this
    /// call does, because the mode is a parameter of each presentation.
    pub fn set_modes(&mut self, modes: &[PresentMode]) {
        self.desc.modes = modes.to_vec();
        match self.is_vulkan() {
            true => self.is_rewished = true,
            false => self.mode = self.desc.choose_mode(|mode| self.modes.contains(&mode)),
        }
    }

    /// Sets the [metadata](Self::hdr_metadata) of HDR images.
    ///
    /// # Errors
    /// [`Error::Device`] for values out of range, and once the device is lost.
    pub fn set_hdr_metadata(&mut self, metadata: &HdrMetadata) -> Result<(), Error> {
        self.alive()?;
        let named = |source| Error::Device { name: self.desc.name.clone(), source };
        metadata.check().map_err(named)?;
        self.metadata = Some(*metadata);
        Ok(())
    }

    /// The metadata of HDR images that was set last.
    #[must_use]
    pub const fn hdr_metadata(&self) -> Option<&HdrMetadata> {
        self.metadata.as_ref()
    }

    /// The number of images.
    #[must_use]
    pub const fn images(&self) -> u32 {
        self.desc.images
    }

    /// Whether images finished on a queue can be presented: on Vulkan, by queues of the graphics queue's family.
    #[must_use]
    pub fn can_present_on(&self, queue: Queue) -> bool {
        self.can_present(queue.id(self.gpu.device().properties()))
    }

    fn can_present(&self, queue: QueueId) -> bool {
        let queues = &self.gpu.device().properties().queues;
        let family = |index: usize| queues.get(index).map(|queue| queue.family);
        !self.is_vulkan() || family(queue.index()) == family(0)
    }

    /// The number of presented images.
    #[must_use]
    pub const fn presented(&self) -> u64 {
        self.presented
    }

    fn is_vulkan(&self) -> bool {
        self.gpu.device().properties().api == Api::Vulkan
    }

    fn queues(&self) -> &Queues {
        self.gpu.device().queues()
    }

    fn alive(&self) -> Result<(), Error> {
        let named = |source| Error::Device { name: self.desc.name.clone(), source };
        self.queues().alive().map_err(named)
    }

    fn breaks(&self, rule: SwapchainRule) -> Error {
        Error::Swapchain { name: self.desc.name.clone(), rule }
    }

    /// An error with `rule` while the program holds an image.
    fn check_not_held(&self, rule: SwapchainRule) -> Result<(), Error> {
        let is_held = self.images.iter().any(|image| Arc::strong_count(image) > 1);
        if is_held { Err(self.breaks(rule)) } else { Ok(()) }
    }

    fn make_images(&mut self) -> Result<(), Error> {
        if self.desc.is_empty() {
            return Ok(());
        }
        let [width, height] = self.desc.size;
        let usage = Usage::RENDER_TARGET | Usage::PRESENT | self.desc.usage;
        let desc = TextureDesc::d2(width, height, self.format(), usage);
        let mut images = Vec::new();
        for index in 0..self.desc.images {
            let name = format!("{} image {index}", self.desc.name);
            let desc = desc.clone().name(name);
            let object = self
                .gpu
                .device()
                .create_image(&desc.info)
                .map_err(|source| Error::Device { name: desc.name.clone(), source })?;
            let texture = self.gpu.adopt_texture(object, &desc, State::COMMON).map_err(|rejected| {
                self.gpu.device().destroy_resource(Permit::checked(), rejected.object);
                rejected.error
            })?;
            images.push(SharedImage::new(&self.gpu, texture, self.format(), index)?);
        }
        if self.is_vulkan() {
            let name = &self.desc.name;
            let semaphore = |index| self.gpu.device().create_semaphore(&format!("{name} rendered {index}"));
            self.rendered = (0..self.desc.images).map(semaphore).collect();
        }
        self.images = images;
        self.next = 0;
        self.shown = None;
        Ok(())
    }

    /// A semaphore that is signalled when the previous presentation has read the image.
    fn acquire_semaphore(&mut self) -> Result<Fence, Error> {
        let completed = self.gpu.completed()?;
        self.signalled.retain(|(_, point)| !point.is_covered_by(&completed));
        let is_free = |(_, waited): &(Fence, SyncPoint)| waited.is_covered_by(&completed);
        let semaphore = match self.acquired.front().is_some_and(is_free) {
            true => self.acquired.pop_front().map(|(semaphore, _)| semaphore),
            false => None,
        };
        let semaphore = semaphore
            .unwrap_or_else(|| self.gpu.device().create_semaphore(&format!("{} acquired", self.desc.name)));
        self.queues().signal_acquired(&semaphore.at(0));
        Ok(semaphore)
    }

    /// Releases all images, once the GPU and the window no longer use them.
    fn release_images(&mut self) {
        let timeout = self.gpu.config().frames.shutdown_timeout;
        // When the device is lost, or does not finish, deferred release frees its resources.
        let _is_idle = self.gpu.wait(&self.gpu.submitted(), timeout);
        self.queues().settle_presents();
        self.current = None;
        self.images.clear();
        self.rendered.clear();
        self.acquired.clear();
        self.signalled.clear();
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        self.release_images();
    }
}

tenure_core::implement_swapchain!(Swapchain, Device);

impl fmt::Debug for Swapchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swapchain")
            .field("name", &self.desc.name)
            .field("extent", &self.extent())
            .field("images", &self.images.len())
            .finish_non_exhaustive()
    }
}
