//! Swap-chain images in frames, and the common interface of swap chains.
//!
//! The backends implement the swap chains themselves (`vulkan::Swapchain`, `d3d12::Swapchain`, `sim::Swapchain`), because
//! windows differ too much between APIs. Rendering code is the same for all of them, through [`SwapchainImage`] and the trait
//! [`Swapchain`]. A backend builds its swap chain with [`SharedImage`].

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use parking_lot::Mutex;

use crate::device::{Device, Format, QueueId, State, Subresource};
use crate::resource::Tracked;
use crate::ticket::{Progress, Ticket};
use crate::time::SyncPoint;
use crate::{Error, Gpu, Recording, SwapchainRule, Texture, TextureViewDesc, View};

mod desc;
mod hdr;

pub use self::desc::{ColorSpace, PresentMode, SurfaceFormat, SwapchainDesc};
pub use self::hdr::HdrMetadata;

/// A swap chain of any backend, for a common frame loop. Each backend has its own type (`vulkan::Swapchain`,
/// `d3d12::Swapchain`, `sim::Swapchain`), with methods of these names, so that only generic code needs the trait.
///
/// ```
/// use tenure::present::{Swapchain, SwapchainImage};
/// use tenure::{
///     Config, Error, Gpu, Queue, Recording, State, Subresource, present::SwapchainDesc, sim,
/// };
///
/// /// Draws one frame, unless the window is minimised or changes this very moment.
/// fn frame<S: Swapchain>(
///     gpu: &Gpu<S::Device>,
///     swapchain: &mut S,
///     window_size: [u32; 2],
///     draw: impl FnOnce(&mut Recording<S::Device>, &SwapchainImage<S::Device>),
/// ) -> Result<(), Error> {
///     let frame = gpu.begin_frame()?;
///     if swapchain.is_outdated() || swapchain.extent() != window_size {
///         swapchain.resize(window_size)?;
///     }
///     let Some(image) = swapchain.acquire()? else { return Ok(()) };
///     let mut recording = frame.record(Queue::Graphics, "picture")?;
///     image.begin(&mut recording)?;
///     recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
///     draw(&mut recording, &image);
///     image.finish(&mut recording)?;
///     frame.submit(recording)?;
///     swapchain.present(image)?;
///     frame.end()?;
///     Ok(())
/// }
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let mut swapchain = sim::Swapchain::new(&gpu, &SwapchainDesc::new([1280, 720]))?;
/// frame(&gpu, &mut swapchain, [1280, 720], |_, image| assert_eq!(image.index(), 0))?;
/// assert_eq!(swapchain.presented(), 1);
/// # Ok::<(), tenure::Error>(())
/// ```
pub trait Swapchain {
    /// The device of its images.
    type Device: Device;

    /// Acquires an image; `None` while the window is minimised, or has changed so that nothing can be shown.
    ///
    /// # Errors
    /// [`SwapchainRule::OneAtATime`] while the program holds another image; [`Error::Timeout`]; [`Error::Device`]; Vulkan:
    /// [`SwapchainRule::WindowLost`]. After a change of preferred formats or modes also as [`resize`](Self::resize).
    fn acquire(&mut self) -> Result<Option<SwapchainImage<Self::Device>>, Error>;

    /// Presents an image that a submitted recording has [finished](SwapchainImage::finish).
    ///
    /// # Errors
    /// [`SwapchainRule::NotFinished`], [`SwapchainRule::OtherSwapchain`], [`SwapchainRule::WindowLost`];
    /// [`Error::Device`]; Vulkan: [`SwapchainRule::BegunFirst`], [`SwapchainRule::NoQueue`].
    fn present(&mut self, image: SwapchainImage<Self::Device>) -> Result<(), Error>;

    /// Resizes the images to the size of the window; a size with a 0 means that the window is minimised. Does nothing if the
    /// size has not changed.
    ///
    /// # Errors
    /// [`SwapchainRule::ImageHeld`] while an image is in use, [`SwapchainRule::WindowLost`]; [`Error::Timeout`];
    /// [`Error::Device`].
    fn resize(&mut self, size: [u32; 2]) -> Result<(), Error>;

    /// True when the images no longer match the window: [resize](Self::resize) the swap chain.
    fn is_outdated(&self) -> bool;

    /// Width and height of the images; zeros while the window is minimised.
    fn extent(&self) -> [u32; 2];

    /// The format of the views of its images.
    fn format(&self) -> Format;

    /// Presentation mode.
    fn mode(&self) -> PresentMode;

    /// Number of images.
    fn images(&self) -> u32;

    /// The colour space of its images.
    fn color_space(&self) -> ColorSpace;

    /// The formats currently supported by the window, with their colour spaces. They can change with the screen or its
    /// settings. Allocates.
    ///
    /// # Errors
    /// [`SwapchainRule::WindowLost`]; [`Error::Device`].
    fn offered_formats(&self) -> Result<Vec<SurfaceFormat>, Error>;

    /// The presentation modes currently supported by the window. Allocates.
    ///
    /// # Errors
    /// As [`offered_formats`](Self::offered_formats).
    fn offered_modes(&self) -> Result<Vec<PresentMode>, Error>;

    /// Replaces [`SwapchainDesc::formats`]. The next [`acquire`](Self::acquire) chooses again, and recreates the images if the
    /// format or colour space changes: then pipelines and views for [`format`](Self::format) must be recreated.
    fn set_formats(&mut self, formats: &[SurfaceFormat]);

    /// Replaces [`SwapchainDesc::modes`]. Direct3D 12: the next presentation uses the mode; Vulkan: the next
    /// [`acquire`](Self::acquire) recreates the images if the mode changes.
    fn set_modes(&mut self, modes: &[PresentMode]);

    /// Sets the HDR metadata of the images, for [`ColorSpace::Hdr10`], until the next call. No effect in other colour spaces.
    ///
    /// # Errors
    /// [`Error::Device`] with [`DeviceError::InvalidDesc`](crate::DeviceError::InvalidDesc) for values out of range, and with
    /// [`DeviceError::Unsupported`](crate::DeviceError::Unsupported) on a device without HDR metadata.
    fn set_hdr_metadata(&mut self, metadata: &HdrMetadata) -> Result<(), Error>;
}

/// Implements [`Swapchain`](crate::present::Swapchain) for a backend's type by its own methods of the same names.
#[doc(hidden)]
#[macro_export]
macro_rules! implement_swapchain {
    ($swapchain:ty, $device:ty) => {
        impl $crate::present::Swapchain for $swapchain {
            type Device = $device;

            fn acquire(&mut self) -> Result<Option<$crate::SwapchainImage<$device>>, $crate::Error> {
                Self::acquire(self)
            }

            fn present(&mut self, image: $crate::SwapchainImage<$device>) -> Result<(), $crate::Error> {
                Self::present(self, image)
            }

            fn resize(&mut self, size: [u32; 2]) -> Result<(), $crate::Error> {
                Self::resize(self, size)
            }

            fn is_outdated(&self) -> bool {
                Self::is_outdated(self)
            }

            fn extent(&self) -> [u32; 2] {
                Self::extent(self)
            }

            fn format(&self) -> $crate::Format {
                Self::format(self)
            }

            fn mode(&self) -> $crate::PresentMode {
                Self::mode(self)
            }

            fn images(&self) -> u32 {
                Self::images(self)
            }

            fn color_space(&self) -> $crate::ColorSpace {
                Self::color_space(self)
            }

            fn offered_formats(&self) -> Result<Vec<$crate::SurfaceFormat>, $crate::Error> {
                Self::offered_formats(self)
            }

            fn offered_modes(&self) -> Result<Vec<$crate::PresentMode>, $crate::Error> {
                Self::offered_modes(self)
            }

            fn set_formats(&mut self, formats: &[$crate::SurfaceFormat]) {
                Self::set_formats(self, formats);
            }

            fn set_modes(&mut self, modes: &[$crate::PresentMode]) {
                Self::set_modes(self, modes);
            }

            fn set_hdr_metadata(&mut self, metadata: &$crate::HdrMetadata) -> Result<(), $crate::Error> {
                Self::set_hdr_metadata(self, metadata)
            }
        }
    };
}

/// Progress of a frame with an image of a swap chain: its submissions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageProgress {
    /// The submission that waits until the image is available.
    pub begun: Option<SyncPoint>,
    /// The submission that leaves it in [`State::PRESENT`].
    pub finished: Option<SyncPoint>,
}

/// An image of a swap chain, from its acquisition until it is presented.
///
/// The first recording that uses it must call [`begin`](Self::begin), the last must call [`finish`](Self::finish); both may be
/// the same recording. An image that is dropped is returned again by the next `acquire`, with its contents, and must be
/// finished again.
pub struct SwapchainImage<D: Device> {
    shared: Arc<SharedImage<D>>,
}

impl<D: Device> SwapchainImage<D> {
    /// Creates an image for the program. For swap chains.
    #[must_use]
    pub const fn new(shared: Arc<SharedImage<D>>) -> Self {
        Self { shared }
    }

    /// The state that it shares with its swap chain. For swap chains.
    #[must_use]
    pub const fn shared(&self) -> &Arc<SharedImage<D>> {
        &self.shared
    }

    /// The texture. Its contents are undefined after `acquire`, except that an image dropped without being presented keeps its
    /// contents. Its state is [`State::PRESENT`] after a recording has finished it.
    #[must_use]
    pub fn texture(&self) -> &Texture<D> {
        &self.shared.texture
    }

    /// A view of it as a render target, in the format of the swap chain.
    #[must_use]
    pub fn view(&self) -> &View<D> {
        &self.shared.view
    }

    /// The index in the swap chain.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.shared.index
    }

    /// Makes a recording wait until the image is available. Call it in the first recording, in submission order, that uses the
    /// image; a later one waits for the first, if that was submitted to another queue.
    ///
    /// The whole recording waits (on Vulkan from the stages that write images): in a graph, let the pass that draws to the
    /// image [begin a recording](crate::transient::graph::PassBuilder::begins_recording).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a recording of another manager.
    pub fn begin(&self, recording: &mut Recording<D>) -> Result<(), Error> {
        self.check_recording(recording)?;
        self.shared.points.lock().begin(recording)
    }

    /// Transitions the image to [`State::PRESENT`] and makes the submission signal that it may be presented. Must be the last
    /// use of the image in the frame; includes [`begin`](Self::begin) if no recording has called it.
    ///
    /// # Errors
    /// The errors of [`Commands::use_resource`](crate::Commands::use_resource); [`Error::Foreign`] for a recording of another
    /// manager. Vulkan: [`SwapchainRule::FinishedOnce`] when a recording that was not discarded has finished it;
    /// [`SwapchainRule::BegunFirst`] while the recording that began it is open on another queue.
    #[inline(never)]
    pub fn finish(&self, recording: &mut Recording<D>) -> Result<(), Error> {
        self.check_recording(recording)?;
        let points = &mut *self.shared.points.lock();
        points.check_finish(recording).map_err(|rule| self.shared.broken(rule))?;
        points.begin(recording)?;
        recording.use_resource(&self.shared.texture, Subresource::All, State::PRESENT)?;
        recording.barriers();
        points.finish(recording);
        Ok(())
    }

    fn check_recording(&self, recording: &Recording<D>) -> Result<(), Error> {
        match Arc::ptr_eq(recording.context(), self.shared.texture.inner.context()) {
            true => Ok(()),
            false => Err(Error::Foreign { name: recording.name().clone() }),
        }
    }
}

impl<D: Device> fmt::Debug for SwapchainImage<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

/// The state of an image, shared with its swap chain. For swap chains of backends.
pub struct SharedImage<D: Device> {
    texture: Texture<D>,
    view: View<D>,
    index: u32,
    points: Mutex<Points<D>>,
    /// Kept while an open recording has begun the image, possibly without a use: the image is then released like all resources,
    /// when no recording open at that time can use it. Declared last: it outlives the texture.
    share: Option<Tracked<D>>,
}

impl<D: Device> Drop for SharedImage<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_recorded() {
            self.share = None;
        }
    }
}

/// The points that a frame waits for and signals, and the progress of its recordings.
struct Points<D: Device> {
    acquired: Option<D::ExternalPoint>,
    rendered: Option<D::ExternalPoint>,
    begun: Option<Step>,
    finished: Option<Step>,
    /// The finishing recording is ordered after the beginning one, in any order of submission.
    is_ordered: bool,
}

/// A recording that has begun or finished an image.
struct Step {
    ticket: Arc<Ticket>,
    queue: QueueId,
}

impl Step {
    fn of<D: Device>(recording: &mut Recording<D>) -> Self {
        Self { queue: recording.queue(), ticket: recording.ticket() }
    }

    fn submitted(&self) -> Option<SyncPoint> {
        match self.ticket.progress() {
            Progress::Submitted(point) => Some(point),
            Progress::Open | Progress::Discarded => None,
        }
    }

    fn is(&self, progress: Progress) -> bool {
        self.ticket.progress() == progress
    }
}

impl<D: Device> Points<D> {
    const fn new(acquired: Option<D::ExternalPoint>, rendered: Option<D::ExternalPoint>) -> Self {
        Self { acquired, rendered, begun: None, finished: None, is_ordered: false }
    }

    fn begin(&mut self, recording: &mut Recording<D>) -> Result<(), Error> {
        if let Some(begun) = self.begun.as_ref().filter(|begun| !begun.is(Progress::Discarded)) {
            return begun.submitted().map_or(Ok(()), |point| recording.wait_for(&point));
        }
        self.begun = Some(Step::of(recording));
        if let Some(point) = self.acquired.clone() {
            recording.wait_for_external(point);
        }
        Ok(())
    }

    fn check_finish(&mut self, recording: &Recording<D>) -> Result<(), SwapchainRule> {
        // The semaphore that presenting waits for is signalled once. Without a semaphore, presenting comes after the last
        // finish.
        let is_finished = self.finished.as_ref().is_some_and(|finished| !finished.is(Progress::Discarded));
        if self.rendered.is_some() && is_finished {
            return Err(SwapchainRule::FinishedOnce);
        }
        let begun = self.begun.as_ref().filter(|begun| !begun.is(Progress::Discarded));
        self.is_ordered = begun.is_none_or(|begun| begun.submitted().is_some());
        // On the same queue, presenting checks the order.
        let is_elsewhere = begun.is_some_and(|begun| begun.queue != recording.queue());
        match self.acquired.is_some() && !self.is_ordered && is_elsewhere {
            true => Err(SwapchainRule::BegunFirst),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn finish(&mut self, recording: &mut Recording<D>) {
        self.finished = Some(Step::of(recording));
        if let Some(point) = self.rendered.clone() {
            recording.signal_external(point);
        }
    }

    fn progress(&self) -> ImageProgress {
        let submitted = |step: &Option<Step>| step.as_ref().and_then(Step::submitted);
        ImageProgress { begun: submitted(&self.begun), finished: submitted(&self.finished) }
    }

    /// The sync point that presenting waits for.
    fn finished(&self) -> Result<SyncPoint, SwapchainRule> {
        let ImageProgress { begun, finished } = self.progress();
        let finished = finished.ok_or(SwapchainRule::NotFinished)?;
        let is_first = begun.is_some_and(|begun| self.is_ordered || begun.is_covered_by(&finished));
        match self.acquired.is_some() && !is_first {
            true => Err(SwapchainRule::BegunFirst),
            false => Ok(finished),
        }
    }
}

impl<D: Device> SharedImage<D> {
    /// An image, [adopted](Gpu::adopt_texture) with [`Usage::PRESENT`](crate::Usage::PRESENT) and
    /// [`Usage::RENDER_TARGET`](crate::Usage::RENDER_TARGET), and its
    /// view in the swap chain's format.
    ///
    /// # Errors
    /// As [`Gpu::create_texture_view`].
    pub fn new(gpu: &Gpu<D>, texture: Texture<D>, format: Format, index: u32) -> Result<Arc<Self>, Error> {
        let desc = TextureViewDesc::render_target().format(format);
        let view = gpu.create_texture_view(&texture, &desc)?;
        let share = Some(Tracked(texture.inner.api_resource().clone()));
        Ok(Arc::new(Self { texture, view, index, points: Mutex::new(Points::new(None, None)), share }))
    }

    /// The texture.
    #[must_use]
    pub const fn texture(&self) -> &Texture<D> {
        &self.texture
    }

    /// The index in the swap chain.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Begins a frame with the image: `acquired` is reached when it is available, `rendered` is signalled when it may be
    /// presented.
    pub fn arm(&self, acquired: Option<D::ExternalPoint>, rendered: Option<D::ExternalPoint>) {
        *self.points.lock() = Points::new(acquired, rendered);
    }

    /// Continues a frame that finished the image without presenting it: it must be finished again, and then signals `rendered`.
    pub fn rearm(&self, rendered: Option<D::ExternalPoint>) {
        let points = &mut *self.points.lock();
        (points.rendered, points.finished) = (rendered, None);
    }

    /// Progress of the frame.
    #[must_use]
    pub fn progress(&self) -> ImageProgress {
        self.points.lock().progress()
    }

    /// True while an open recording has begun or finished it: its submission will wait or signal.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        let points = self.points.lock();
        points.begun.iter().chain(&points.finished).any(|step| step.is(Progress::Open))
    }

    /// The sync point that presenting waits for.
    ///
    /// # Errors
    /// [`SwapchainRule::NotFinished`] when no submitted recording has finished it. Vulkan: [`SwapchainRule::BegunFirst`] when
    /// the recording that began it was not submitted before the one that finished it.
    pub fn finished(&self) -> Result<SyncPoint, Error> {
        self.points.lock().finished().map_err(|rule| self.broken(rule))
    }

    fn broken(&self, rule: SwapchainRule) -> Error {
        Error::Swapchain { name: self.texture.name().clone(), rule }
    }
}

/// Waits until the images that a swap chain has dropped are destroyed, as `are_gone` reports, or the timeout expires; true when
/// they are. For swap chains of backends that require all references to their buffers to be released before a resize.
///
/// Other threads delay the destruction: by submissions made meanwhile, and while they release objects that they have taken out
/// of the release queue. If images remain without either, the program or an open recording holds them.
///
/// # Errors
/// The errors of [`Gpu::reclaim`] and [`Gpu::wait`].
pub fn await_release<D: Device>(
    gpu: &Gpu<D>,
    timeout: Duration,
    are_gone: impl Fn() -> bool,
) -> Result<bool, Error> {
    let begun = Instant::now();
    // Afterwards the images wait at most for the submissions made by then.
    gpu.reclaim()?;
    let uses = gpu.submitted();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        let is_complete = gpu.wait(&uses, left)?;
        gpu.reclaim()?;
        // Queried before the images are checked: a thread that has ended has destroyed the objects it had taken.
        let is_reclaiming = gpu.is_reclaiming();
        if are_gone() {
            return Ok(true);
        }
        if left.is_zero() || is_complete && !is_reclaiming {
            return Ok(false);
        }
        thread::yield_now();
    }
}

impl<D: Device> fmt::Debug for SharedImage<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwapchainImage")
            .field("name", self.texture.name())
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
