//! The images of swap chains, as frames use them, and what all swap chains are asked for.
//!
//! The backends have the swap chains themselves (`vulkan::Swapchain`, `d3d12::Swapchain`, `sim::Swapchain`), as
//! windows differ too much between APIs to make them here. Code that draws is the same for all of them, by
//! [`SwapchainImage`] and the trait [`Swapchain`]. A backend builds its swap chain with [`SharedImage`].

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use parking_lot::Mutex;

use crate::device::{Device, Format, QueueId, State, Subresource, Usage};
use crate::resource::Tracked;
use crate::ticket::{Progress, Ticket};
use crate::time::SyncPoint;
use crate::{Error, Gpu, Name, Recording, SwapchainRule, Texture, TextureViewDesc, View};

/// How images get from the swap chain to the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PresentMode {
    /// One after the other, at the screen's rate: no tearing. Every device has it.
    #[default]
    Fifo,
    /// As [`Fifo`](Self::Fifo), but an image that comes late is shown at once, and tears.
    FifoRelaxed,
    /// The newest image at the screen's rate; older ones that were not shown yet are skipped.
    Mailbox,
    /// At once: tears.
    Immediate,
}

/// A swap chain to create.
///
/// ```
/// use tenure::{Format, PresentMode, SwapchainDesc};
///
/// let desc = SwapchainDesc::new([1280, 720]).format(Format::Bgra8Srgb).mode(PresentMode::Mailbox);
/// assert_eq!(desc.images, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwapchainDesc {
    /// Width and height in pixels. With a 0 there is no swap chain until
    /// it is resized: the window is minimised. Vulkan: used where the window leaves it open.
    pub size: [u32; 2],
    /// The format of the images and of their views; `None`: an 8-bit sRGB format that the window has. Direct3D
    /// 12 makes the images in the linear twin.
    pub format: Option<Format>,
    /// How many images there are at least; the window may want more. Default 3.
    pub images: u32,
    /// How images get to the screen. Where the window does not have that, it is [`PresentMode::Fifo`].
    pub mode: PresentMode,
    /// What is done with the images beside drawing to them and presenting: [`Usage::COPY_SRC`] for a
    /// screenshot. Default nothing.
    pub usage: Usage,
    /// Its name.
    pub name: Name,
}

impl SwapchainDesc {
    /// Three images of the window's own format, shown one after the other.
    #[must_use]
    pub fn new(size: [u32; 2]) -> Self {
        Self {
            size,
            format: None,
            images: 3,
            mode: PresentMode::Fifo,
            usage: Usage::empty(),
            name: Name::from("swap chain"),
        }
    }

    /// With that format.
    #[must_use]
    pub const fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// With at least so many images.
    #[must_use]
    pub const fn images(mut self, images: u32) -> Self {
        self.images = images;
        self
    }

    /// With that mode.
    #[must_use]
    pub const fn mode(mut self, mode: PresentMode) -> Self {
        self.mode = mode;
        self
    }

    /// With images that are used so, too.
    #[must_use]
    pub const fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// With that name.
    #[must_use]
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = name.into();
        self
    }

    /// True when there is nothing to draw to: the window is minimised.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.size[0] == 0 || self.size[1] == 0
    }
}

/// A swap chain of any backend, for a frame loop that is written once. Each backend makes its own
/// (`vulkan::Swapchain`, `d3d12::Swapchain`, `sim::Swapchain`), with methods of these names, so that only generic code
/// needs the trait.
///
/// ```
/// use tenure::present::{Swapchain, SwapchainImage};
/// use tenure::{Config, Error, Gpu, Queue, Recording, State, Subresource, SwapchainDesc, sim};
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
    /// The device that its images are of.
    type Device: Device;

    /// An image to draw to; `None` while the window is minimised, or has changed so that nothing can be shown.
    ///
    /// # Errors
    /// [`SwapchainRule::OneAtATime`] while the program has one; [`Error::Timeout`]; [`Error::Device`]; Vulkan:
    /// [`SwapchainRule::WindowLost`].
    fn acquire(&mut self) -> Result<Option<SwapchainImage<Self::Device>>, Error>;

    /// Shows an image that a recording which was submitted has [finished](SwapchainImage::finish).
    ///
    /// # Errors
    /// [`SwapchainRule::NotFinished`], [`SwapchainRule::OtherSwapchain`], [`SwapchainRule::WindowLost`];
    /// [`Error::Device`]; Vulkan: [`SwapchainRule::BegunFirst`], [`SwapchainRule::NoQueue`].
    fn present(&mut self, image: SwapchainImage<Self::Device>) -> Result<(), Error>;

    /// Makes the images as large as the window has become; with a 0 the window is minimised. Free where nothing has
    /// changed.
    ///
    /// # Errors
    /// [`SwapchainRule::ImageHeld`] while an image is in use, [`SwapchainRule::WindowLost`]; [`Error::Timeout`];
    /// [`Error::Device`].
    fn resize(&mut self, size: [u32; 2]) -> Result<(), Error>;

    /// True when the window is not as the images are any more: [resize](Self::resize) it.
    fn is_outdated(&self) -> bool;

    /// Width and height of the images; zeros while the window is minimised.
    fn extent(&self) -> [u32; 2];

    /// The format of the views of its images.
    fn format(&self) -> Format;

    /// How images get to the screen.
    fn mode(&self) -> PresentMode;

    /// How many images there are.
    fn images(&self) -> u32;
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
        }
    };
}

/// How far a frame has come with an image of a swap chain: what was submitted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageProgress {
    /// The submission that waits until the image may be used.
    pub begun: Option<SyncPoint>,
    /// The submission that leaves it in [`State::PRESENT`].
    pub finished: Option<SyncPoint>,
}

/// An image of a swap chain, from when that hands it out until it is presented.
///
/// The first recording that uses it [begins](Self::begin) with it, the last [finishes](Self::finish) with
/// it; they may be the same. One that is dropped is handed out again by the next `acquire`, with what was drawn
/// to it, and is finished again.
pub struct SwapchainImage<D: Device> {
    shared: Arc<SharedImage<D>>,
}

impl<D: Device> SwapchainImage<D> {
    /// Hands an image out. For swap chains.
    #[must_use]
    pub const fn new(shared: Arc<SharedImage<D>>) -> Self {
        Self { shared }
    }

    /// What it shares with its swap chain. For swap chains.
    #[must_use]
    pub const fn shared(&self) -> &Arc<SharedImage<D>> {
        &self.shared
    }

    /// The texture. Its contents are undefined when it is acquired; one that was dropped without being presented
    /// still has what was drawn to it. It is in [`State::PRESENT`] when a recording has finished it.
    #[must_use]
    pub fn texture(&self) -> &Texture<D> {
        &self.shared.texture
    }

    /// A view of it as a render target, in the format of the swap chain.
    #[must_use]
    pub fn view(&self) -> &View<D> {
        &self.shared.view
    }

    /// Its number in the swap chain, from 0.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.shared.index
    }

    /// Makes a recording wait until the image may be used. Call it in the first recording, in the order of
    /// submission, that uses it; a later one waits for the first, if that was submitted to another queue.
    ///
    /// All of the recording waits (on Vulkan from the stages on that write images): in a graph, have
    /// the pass that draws to the image [begin a recording](crate::transient::graph::PassBuilder::begins_recording).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a recording of another manager.
    pub fn begin(&self, recording: &mut Recording<D>) -> Result<(), Error> {
        self.check_recording(recording)?;
        self.shared.points.lock().begin(recording)
    }

    /// Leaves the image in [`State::PRESENT`] and says when it may be presented. The last use of the
    /// image in the frame; it [begins](Self::begin) with it, too, if nothing has.
    ///
    /// # Errors
    /// Those of [`Commands::use_resource`](crate::Commands::use_resource); [`Error::Foreign`] for a recording of
    /// another manager. Vulkan: [`SwapchainRule::FinishedOnce`] when a recording that was not
    /// discarded has finished it; [`SwapchainRule::BegunFirst`] while the recording that began with it is open, and
    /// for another queue than this one.
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

/// An image as its swap chain keeps it. For swap chains of backends.
pub struct SharedImage<D: Device> {
    texture: Texture<D>,
    view: View<D>,
    index: u32,
    points: Mutex<Points<D>>,
    /// While a recording that is open has begun with it, perhaps without a use: such an image is released as
    /// everything else is, when no recording that was open can use it. Declared last: it outlives the texture.
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

/// What a frame waits for and signals, and how far its recordings are.
struct Points<D: Device> {
    acquired: Option<D::ExternalPoint>,
    rendered: Option<D::ExternalPoint>,
    begun: Option<Step>,
    finished: Option<Step>,
    /// Whatever order the two are submitted in, the one that finishes waits for the one that begins.
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
        // A semaphore that presenting waits for is signalled once. Without one, presenting follows the last.
        let is_finished = self.finished.as_ref().is_some_and(|finished| !finished.is(Progress::Discarded));
        if self.rendered.is_some() && is_finished {
            return Err(SwapchainRule::FinishedOnce);
        }
        let begun = self.begun.as_ref().filter(|begun| !begun.is(Progress::Discarded));
        self.is_ordered = begun.is_none_or(|begun| begun.submitted().is_some());
        // On one queue, presenting it finds out whether that came first.
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

    /// What presenting waits for.
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
    /// An image, [adopted](Gpu::adopt_texture) with [`Usage::PRESENT`] and [`Usage::RENDER_TARGET`], and its
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

    /// Its number in the swap chain, from 0.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Begins a frame with it: `acquired` is reached when it may be used, `rendered` is to be signalled when it may
    /// be presented.
    pub fn arm(&self, acquired: Option<D::ExternalPoint>, rendered: Option<D::ExternalPoint>) {
        *self.points.lock() = Points::new(acquired, rendered);
    }

    /// Goes on with a frame that has finished it, without presenting it: it is finished anew, and then signals
    /// `rendered`.
    pub fn rearm(&self, rendered: Option<D::ExternalPoint>) {
        let points = &mut *self.points.lock();
        (points.rendered, points.finished) = (rendered, None);
    }

    /// How far the frame has come.
    #[must_use]
    pub fn progress(&self) -> ImageProgress {
        self.points.lock().progress()
    }

    /// True while a recording that is open has begun or finished it: its submission will wait or signal.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        let points = self.points.lock();
        points.begun.iter().chain(&points.finished).any(|step| step.is(Progress::Open))
    }

    /// What presenting waits for.
    ///
    /// # Errors
    /// [`SwapchainRule::NotFinished`] when no recording that was submitted has finished it. Vulkan:
    /// [`SwapchainRule::BegunFirst`] when the one that began with it was not submitted before that one.
    pub fn finished(&self) -> Result<SyncPoint, Error> {
        self.points.lock().finished().map_err(|rule| self.broken(rule))
    }

    fn broken(&self, rule: SwapchainRule) -> Error {
        Error::Swapchain { name: self.texture.name().clone(), rule }
    }
}

/// Waits until the images that a swap chain has dropped are destroyed, as `are_gone` says, or the time is over; true when
/// they are. For swap chains of backends whose buffers may have no reference left when they are resized.
///
/// Other threads delay the destruction: by what they submit meanwhile, and while they give back what they have taken out of
/// the release queue. Images that are left when no thread does either are held by the program or by an open recording.
///
/// # Errors
/// Those of [`Gpu::purge`] and [`Gpu::wait`].
pub fn await_release<D: Device>(
    gpu: &Gpu<D>,
    timeout: Duration,
    are_gone: impl Fn() -> bool,
) -> Result<bool, Error> {
    let begun = Instant::now();
    // Afterwards it is known what the images wait for: at most what is submitted by then.
    gpu.purge()?;
    let uses = gpu.submitted();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        let is_complete = gpu.wait(&uses, left)?;
        gpu.purge()?;
        // Asked before the images are looked at: a thread that has ended has destroyed what it had taken.
        let is_giving_back = gpu.is_giving_back();
        if are_gone() {
            return Ok(true);
        }
        if left.is_zero() || is_complete && !is_giving_back {
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
