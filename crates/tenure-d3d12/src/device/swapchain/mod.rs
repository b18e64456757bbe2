//! Swap chains of windows.

pub(crate) mod chain;
mod occlusion;
mod settings;
mod window;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::device::{DeviceError, QueueId, State, Subresource};
use tenure_core::present::{
    ColorSpace, HdrMetadata, PresentMode, SharedImage, SurfaceFormat, SwapchainDesc, SwapchainImage,
    await_release,
};
use tenure_core::{Awaited, Error, Format, Gpu, Queue, SwapchainRule};
use windows::Win32::Foundation::{HANDLE, HWND};
use windows::Win32::Graphics::Dxgi::IDXGISwapChain3;

use crate::device::Device;
use crate::device::inner::Inner;
use crate::device::queue::SLICE;
use crate::device::resource::object::Resource;
use crate::device::setup::adapter::factory;
use crate::device::swapchain::chain::{Chain, Refusal, Waited, can_tear};
use crate::device::swapchain::occlusion::Shown;
use crate::device::swapchain::settings::{FORMATS, Settings, check_size};
use crate::device::swapchain::window::{Claim, Window};

/// The queue that swap chains present on.
const GRAPHICS: QueueId = QueueId(0);

/// Maximum number of frames that wait to be shown: DXGI's limit.
const MAX_LATENCY: u32 = 16;

/// The images of a window: a flip-model swap chain.
///
/// Each frame [acquires](Self::acquire) an image, draws to it and [presents](Self::present) it. When the window's
/// size changes, [`is_outdated`](Self::is_outdated) returns true and the program [resizes](Self::resize).
///
/// ```no_run
/// use tenure_core::present::SwapchainDesc;
/// use tenure_core::{Error, Gpu, Queue, State, Subresource};
/// use tenure_d3d12::windows::Win32::Foundation::HWND;
/// use tenure_d3d12::{Device, RawHandle as _, Swapchain};
///
/// fn frames(gpu: &Gpu<Device>, window: HWND, size: impl Fn() -> [u32; 2]) -> Result<(), Error> {
///     let mut chain = Swapchain::new(gpu, window, &SwapchainDesc::new(size()))?;
///     loop {
///         if chain.is_outdated() {
///             chain.resize(size())?;
///         }
///         let Some(image) = chain.acquire()? else { continue }; // minimised: wait for messages instead
///         let frame = gpu.begin_frame()?;
///         let mut list = frame.record(Queue::Graphics, "picture")?;
///         image.begin(&mut list)?;
///         list.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
///         list.barriers();
///         let _target = image.view().raw(); // draw to it by `list.raw()`
///         image.finish(&mut list)?;
///         frame.submit(list)?;
///         chain.present(image)?;
///         frame.end()?;
///     }
/// }
/// ```
///
/// # Pace
///
/// `acquire` waits on DXGI's waitable object until at most [`set_frame_latency`](Self::set_frame_latency) images
/// wait to be shown; `present` then does not block. Read input after this wait and that of `begin_frame`, for the
/// least latency.
///
/// # Lifetimes
///
/// Presenting counts as a submission of tenure: frames and dropped resources wait for it. The chain occupies
/// the window until it and all of its images are dropped; drop it before the window is destroyed, and before the
/// [`Gpu`] is shut down. Dropping it waits for the GPU, for at most
/// [`shutdown_timeout`](tenure_core::FrameConfig::shutdown_timeout).
///
/// Create, resize and drop it on the thread of the window, or while that handles its messages: DXGI sends some.
/// Alt+Enter is left to the program (`DXGI_MWA_NO_ALT_ENTER`).
pub struct Swapchain {
    /// Declared first: buffers are released before their chain. Empty after a resize that failed half-way.
    images: Vec<Arc<SharedImage<Device>>>,
    /// None before the first non-empty size.
    chain: Option<Arc<Chain>>,
    claim: Arc<Claim>,
    gpu: Gpu<Device>,
    desc: SwapchainDesc,
    settings: Settings,
    /// The preferred formats have changed since the format was chosen.
    is_rewished: bool,
    /// The colour space that the chain was set to.
    color_space: ColorSpace,
    metadata: Option<HdrMetadata>,
    /// The size of the buffers.
    size: [u32; 2],
    is_minimised: bool,
    latency: u32,
    /// The acquired image that is not presented yet.
    acquired: Option<u32>,
    /// Whether a frame was counted for an image that is not presented yet.
    is_waited: bool,
    is_occluded: bool,
    /// Whether the mode has changed since the buffers were created.
    is_mode_changed: bool,
}

impl Swapchain {
    /// Creates the swap chain of a window. With an empty size, the first [`resize`](Self::resize) creates it.
    ///
    /// The formats are those of the flip model: 8-bit RGBA and BGRA, [`Format::Rgb10A2Unorm`] in sRGB and HDR10, and
    /// [`Format::Rgba16Float`] in scRGB; `None` is [`Format::Bgra8Srgb`]. Of the preferred formats, those in a colour
    /// space that the screen displays are considered; the format itself may be in any, because DXGI converts its
    /// colours. [`PresentMode::Immediate`] needs a system that allows tearing; there is no
    /// [`PresentMode::FifoRelaxed`]. At most the configured number of
    /// [frames in flight](tenure_core::FrameConfig::in_flight) wait to be shown.
    ///
    /// # Errors
    /// [`Error::Swapchain`]: [`SwapchainRule::WindowLost`] for a window that is gone or has a swap chain,
    /// [`SwapchainRule::Format`], [`SwapchainRule::Images`]. [`Error::Device`] for a size or a usage that
    /// textures of a chain cannot have, and for errors of DXGI. [`Error::ShutDown`].
    pub fn new(gpu: &Gpu<Device>, window: HWND, desc: &SwapchainDesc) -> Result<Self, Error> {
        let device_error = |source| Error::Device { name: desc.name.clone(), source };
        // Without a chain, DXGI does not tell which colour spaces the screen displays.
        let settings = Settings::of(desc, can_tear(&factory().map_err(device_error)?), |_| false)?;
        check_size(desc, desc.size)?;
        let lost = || Error::Swapchain { name: desc.name.clone(), rule: SwapchainRule::WindowLost };
        let claim = Claim::new(Window(window)).ok_or_else(lost)?;
        let mut made = Self {
            images: Vec::new(),
            chain: None,
            claim: Arc::new(claim),
            gpu: gpu.clone(),
            desc: desc.clone(),
            settings,
            is_rewished: false,
            color_space: ColorSpace::Srgb,
            metadata: None,
            size: [0; 2],
            is_minimised: true,
            latency: gpu.config().frames.in_flight.clamp(1, MAX_LATENCY),
            acquired: None,
            is_waited: false,
            is_occluded: false,
            is_mode_changed: false,
        };
        made.resize(desc.size)?;
        Ok(made)
    }

    /// Waits until a frame may be begun, and returns its image; `None` while the window is minimised: its size is
    /// empty.
    ///
    /// An image that was dropped is returned again, without waiting. Creates new images first if
    /// [`set_formats`](Self::set_formats) has changed the choice.
    ///
    /// # Errors
    /// [`SwapchainRule::OneAtATime`] while the program holds an image; [`Error::Timeout`] if none was free for
    /// [`FrameConfig::timeout`](tenure_core::FrameConfig::timeout); [`Error::Device`]: the device is lost. With new
    /// images, as [`resize`](Self::resize).
    pub fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>, Error> {
        let Some(chain) = self.chain.clone().filter(|_| !self.is_minimised) else { return Ok(None) };
        self.check_none_held(SwapchainRule::OneAtATime)?;
        self.inner().completed(GRAPHICS).map_err(|source| self.device_error(source))?;
        if self.is_rewished {
            self.follow_wishes(&chain)?;
        }
        if self.images.is_empty() {
            self.adopt_buffers(&chain)?;
        }
        if !self.is_waited {
            self.wait_for_frame(&chain)?;
            self.is_waited = true;
        }
        let index = chain.current();
        let Some(image) = self.images.get(index as usize) else {
            return Err(Error::Internal { what: "a swap chain has more buffers than it was made with" });
        };
        if self.acquired != Some(index) {
            // The queue itself orders drawing after the image was shown.
            image.arm(None, None);
            self.acquired = Some(index);
        } else if image.progress().finished.is_some() {
            // New drawing leaves it in another state.
            image.rearm(None);
        }
        Ok(Some(SwapchainImage::new(Arc::clone(image))))
    }

    /// Shows an image, after the submission that finished it. An invisible window is not an error: see
    /// [`is_occluded`](Self::is_occluded).
    ///
    /// # Errors
    /// [`SwapchainRule::OtherSwapchain`] for an image that this did not hand out, [`SwapchainRule::NotFinished`]
    /// for one that no recording has finished which was submitted, [`SwapchainRule::WindowLost`];
    /// [`Error::Device`] when DXGI refuses or the device is lost. Nothing was shown then, and an image of this swap
    /// chain is returned again.
    pub fn present(&mut self, image: SwapchainImage<Device>) -> Result<(), Error> {
        let own = self.acquired.and_then(|index| self.images.get(index as usize));
        let (Some(chain), Some(_)) = (&self.chain, own.filter(|own| Arc::ptr_eq(own, image.shared()))) else {
            return Err(self.refused(SwapchainRule::OtherSwapchain));
        };
        let finished = image.shared().finished()?;
        let (device, settings) = (self.inner(), &self.settings);
        let run = |_: &_| Ok::<_, Error>(chain.present(device, settings));
        let (answer, _counted) = self.gpu.submit_external(Queue::Graphics, &finished, run)?;
        let shown = answer.map_err(|refusal| self.refusal(refusal))?;
        // With the event, a successful presentation gives no information.
        if shown != Shown::Seen || !chain.has_occlusion_event() {
            self.note(shown);
        }
        self.acquired = None;
        self.is_waited = false;
        Ok(())
    }

    /// Resizes the images to the window; an empty size means that it is minimised. Waits for the GPU, at most
    /// [`FrameConfig::timeout`](tenure_core::FrameConfig::timeout). No cost if the size is the same and the mode
    /// of the screen has not changed.
    ///
    /// On failure the swap chain is unchanged, and the call can be repeated. The images keep their memory
    /// while the window is minimised.
    ///
    /// # Errors
    /// [`SwapchainRule::ImageHeld`] while the program holds an image, its texture or its view, has its own
    /// reference to the buffer, or has an open recording that may use one; [`SwapchainRule::WindowLost`];
    /// [`Error::Timeout`]; [`Error::Device`] for a size that textures cannot have, and for errors of DXGI.
    pub fn resize(&mut self, size: [u32; 2]) -> Result<(), Error> {
        let is_same = self.chain.is_some() && size == self.extent() && !self.is_mode_changed;
        if is_same && self.claim.window().exists() {
            return Ok(());
        }
        self.check_none_held(SwapchainRule::ImageHeld)?;
        check_size(&self.desc, size)?;
        if size[0] == 0 || size[1] == 0 {
            self.is_minimised = true;
            return Ok(());
        }
        if !self.claim.window().exists() {
            return Err(self.refused(SwapchainRule::WindowLost));
        }
        match self.chain.clone() {
            None => self.create(size)?,
            Some(chain) if self.size != size || self.is_mode_changed => self.change(&chain, size)?,
            // The window was minimised, and has the same size again.
            Some(_) => {}
        }
        self.is_minimised = false;
        Ok(())
    }

    /// True if the window's size differs from the images', or the mode of the screen has changed: call
    /// [`resize`](Self::resize), even with the same size.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        match self.claim.window().client_size() {
            Some([width, height]) if width == 0 || height == 0 => !self.is_minimised,
            Some(size) => size != self.extent() || self.is_mode_changed,
            // Resizing it returns the reason.
            None => true,
        }
    }

    /// Width and height of the images; 0 while it is minimised.
    #[must_use]
    pub const fn extent(&self) -> [u32; 2] {
        if self.is_minimised { [0; 2] } else { self.size }
    }

    /// The format of the views of its images. The images themselves are of the linear twin.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.settings.format.format
    }

    /// The colour space of its images.
    #[must_use]
    pub const fn color_space(&self) -> ColorSpace {
        self.settings.format.color_space
    }

    /// The formats in colour spaces that the screen of the window displays now. DXGI also reports the colour space in
    /// use. Without a chain, the formats in sRGB.
    ///
    /// # Errors
    /// [`Error::Device`] once the device is lost.
    pub fn offered_formats(&self) -> Result<Vec<SurfaceFormat>, Error> {
        self.inner().look().map_err(|source| self.device_error(source))?;
        let is_displayed = |format: &SurfaceFormat| {
            let space = format.color_space;
            space == ColorSpace::Srgb || self.chain.as_ref().is_some_and(|chain| chain.displays(space))
        };
        Ok(FORMATS.into_iter().filter(is_displayed).collect())
    }

    /// The modes that the system supports.
    ///
    /// # Errors
    /// [`Error::Device`] once the device is lost.
    pub fn offered_modes(&self) -> Result<Vec<PresentMode>, Error> {
        self.inner().look().map_err(|source| self.device_error(source))?;
        Ok(self.settings.offered_modes())
    }

    /// Replaces the [preferred formats](SwapchainDesc::formats). The next [`acquire`](Self::acquire) chooses again,
    /// and changes the images if the format or colour space is another one. Until then an acquired image can be drawn
    /// and presented.
    ///
    /// If the change fails, the images stay as they were, except for an error in setting the colour space. The next
    /// call of [`acquire`](Self::acquire) tries again.
    pub fn set_formats(&mut self, formats: &[SurfaceFormat]) {
        self.desc.formats = formats.to_vec();
        self.is_rewished = true;
    }

    /// Replaces the [preferred modes](SwapchainDesc::modes): the next presentation uses the mode. The images stay.
    pub fn set_modes(&mut self, modes: &[PresentMode]) {
        self.desc.modes = modes.to_vec();
        self.settings.choose_mode(&self.desc);
    }

    /// Describes HDR images to the screen.
    ///
    /// # Errors
    /// [`Error::Device`]: values out of range, a system without HDR metadata, or the device is lost. If the chain does
    /// not exist yet, the last two are reported when it is created.
    pub fn set_hdr_metadata(&mut self, metadata: &HdrMetadata) -> Result<(), Error> {
        let describe = |chain: &Arc<Chain>| chain.describe(self.inner(), metadata);
        metadata
            .check()
            .and_then(|()| self.inner().look())
            .and_then(|()| self.chain.as_ref().map_or(Ok(()), describe))
            .map_err(|source| self.device_error(source))?;
        self.metadata = Some(*metadata);
        Ok(())
    }

    /// The presentation mode.
    #[must_use]
    pub const fn mode(&self) -> PresentMode {
        self.settings.mode
    }

    /// The number of images.
    #[must_use]
    pub const fn images(&self) -> u32 {
        self.settings.images
    }

    /// True when DXGI reports the window as fully covered, so the program may draw less often. Where DXGI has an
    /// occlusion event, changes are noticed without presenting.
    #[must_use]
    pub fn is_occluded(&mut self) -> bool {
        if let Some(shown) = self.chain.as_ref().and_then(|chain| chain.changed()) {
            self.note(shown);
        }
        self.is_occluded
    }

    /// Sets how many images may wait to be shown before [`acquire`](Self::acquire) waits. Fewer mean less latency,
    /// more keep the GPU busy when frames take longer now and then. 1 to 16.
    ///
    /// # Errors
    /// [`Error::Device`] for a number out of range.
    pub fn set_frame_latency(&mut self, frames: u32) -> Result<(), Error> {
        if frames == 0 || frames > MAX_LATENCY {
            let rule = "1 to 16 images may wait to be shown";
            let (value, limit) = (u64::from(frames), u64::from(MAX_LATENCY));
            return Err(self.device_error(DeviceError::invalid_call(rule, value, limit)));
        }
        if let Some(chain) = &self.chain {
            chain.set_latency(self.inner(), frames).map_err(|source| self.device_error(source))?;
        }
        self.latency = frames;
        Ok(())
    }

    /// DXGI's waitable object, for a program that waits for it and for other objects at once; `None` before there
    /// is a chain. Do not close it. Each wait takes a frame, and only a presentation returns it: report the wait with
    /// [`waited`](Self::waited), and do not wait again before the next image was presented.
    #[must_use]
    pub fn waitable(&self) -> Option<HANDLE> {
        self.chain.as_ref().map(|chain| chain.waitable().handle())
    }

    /// Reports that the program's own wait for the [waitable object](Self::waitable) has ended: the next
    /// [`acquire`](Self::acquire) does not wait.
    pub const fn waited(&mut self) {
        self.is_waited = true;
    }

    /// The DXGI swap chain, for features that tenure does not cover, such as statistics. `None` before there is one.
    /// Do not present or resize with it, nor set its colour space.
    #[must_use]
    pub fn raw(&self) -> Option<&IDXGISwapChain3> {
        self.chain.as_ref().map(|chain| chain.raw())
    }
}

impl Swapchain {
    fn inner(&self) -> &Inner {
        &self.gpu.device().inner
    }

    fn note(&mut self, shown: Shown) {
        self.is_occluded = shown == Shown::Occluded;
        self.is_mode_changed |= shown == Shown::ModeChanged;
    }

    fn refused(&self, rule: SwapchainRule) -> Error {
        Error::Swapchain { name: self.desc.name.clone(), rule }
    }

    fn device_error(&self, source: DeviceError) -> Error {
        Error::Device { name: self.desc.name.clone(), source }
    }

    fn refusal(&self, refusal: Refusal) -> Error {
        match refusal {
            Refusal::Window => self.refused(SwapchainRule::WindowLost),
            Refusal::Held => self.refused(SwapchainRule::ImageHeld),
            Refusal::Device(source) => self.device_error(source),
        }
    }

    /// The program holds an image when this is not the only one that does.
    fn check_none_held(&self, rule: SwapchainRule) -> Result<(), Error> {
        let is_held = self.images.iter().any(|image| Arc::strong_count(image) > 1);
        if is_held { Err(self.refused(rule)) } else { Ok(()) }
    }

    fn create(&mut self, size: [u32; 2]) -> Result<(), Error> {
        let device = self.inner();
        let factory = factory().map_err(|source| self.device_error(source))?;
        let queue = &device.queue(GRAPHICS).map_err(|source| self.device_error(source))?.raw;
        let chain = Chain::create(device, &factory, queue, &self.claim, &self.settings, size)
            .map_err(|refusal| self.refusal(refusal))?;
        chain.set_latency(device, self.latency).map_err(|source| self.device_error(source))?;
        if let Some(metadata) = &self.metadata {
            chain.describe(device, metadata).map_err(|source| self.device_error(source))?;
        }
        let wanted = self.wanted(&chain)?;
        if wanted.linear != self.settings.linear {
            chain.resize(device, &wanted, size).map_err(|refusal| self.refusal(refusal))?;
        }
        let chain = Arc::new(chain);
        // DXGI's defaults: scRGB for half precision, sRGB for other formats.
        self.color_space = SurfaceFormat::from(self.settings.linear).color_space;
        (self.size, self.settings) = (size, wanted);
        self.set_color_space(&chain)?;
        self.adopt_buffers(&chain)?;
        self.chain = Some(chain);
        self.is_rewished = false;
        Ok(())
    }

    /// The settings chosen by the preferences on the screen of the chain.
    fn wanted(&self, chain: &Chain) -> Result<Settings, Error> {
        self.settings.chosen_again(&self.desc, |space| chain.displays(space))
    }

    fn set_color_space(&mut self, chain: &Chain) -> Result<(), Error> {
        let space = self.settings.format.color_space;
        if self.color_space != space {
            chain.set_color_space(self.inner(), space).map_err(|source| self.device_error(source))?;
            self.color_space = space;
        }
        Ok(())
    }

    /// Changes the images if the program's preferences now choose another format.
    fn follow_wishes(&mut self, chain: &Arc<Chain>) -> Result<(), Error> {
        let wanted = self.wanted(chain)?;
        if wanted.format == self.settings.format && self.color_space == wanted.format.color_space {
            self.is_rewished = false;
            return Ok(());
        }
        self.change(chain, self.size)
    }

    /// Adopts the buffers of the chain, which are in the state for presenting.
    fn adopt_buffers(&mut self, chain: &Arc<Chain>) -> Result<(), Error> {
        let images = (0..self.settings.images).map(|index| self.adopt_buffer(chain, index));
        self.images = images.collect::<Result<_, _>>()?;
        self.acquired = None;
        Ok(())
    }

    fn adopt_buffer(&self, chain: &Arc<Chain>, index: u32) -> Result<Arc<SharedImage<Device>>, Error> {
        let desc = self.settings.texture(self.size).name(format!("{} image {index}", self.desc.name));
        let raw = chain.buffer(self.inner(), index).map_err(|source| self.device_error(source))?;
        let object = Resource::from_chain(self.gpu.device(), chain, raw, desc.info.clone())
            .map_err(|source| Error::Device { name: desc.name.clone(), source })?;
        let texture =
            self.gpu.adopt_texture(object, &desc, State::PRESENT).map_err(|rejected| rejected.error)?;
        SharedImage::new(&self.gpu, texture, self.settings.format.format, index)
    }

    fn wait_for_frame(&self, chain: &Chain) -> Result<(), Error> {
        let (timeout, begun) = (self.gpu.config().frames.timeout, Instant::now());
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            match chain.waitable().wait(left.min(SLICE)) {
                Waited::Reached => return Ok(()),
                Waited::TimedOut if left.is_zero() => return Err(timed_out(timeout)),
                // A removed device may never show the waiting images.
                Waited::TimedOut => self.inner().completed(GRAPHICS).map(drop),
                Waited::Failed => {
                    Err(DeviceError::broken_rule("the waitable object of a swap chain is open"))
                }
            }
            .map_err(|source| self.device_error(source))?;
        }
    }

    fn change(&mut self, chain: &Arc<Chain>, size: [u32; 2]) -> Result<(), Error> {
        let wanted = if self.is_rewished { self.wanted(chain)? } else { self.settings };
        self.leave_in_present()?;
        let timeout = self.gpu.config().frames.timeout;
        if !self.gpu.wait(&self.gpu.submitted(), timeout)? {
            return Err(timed_out(timeout));
        }
        self.images.clear();
        self.await_destruction(chain, timeout)?;
        let resized = chain.resize(self.inner(), &wanted, size);
        if resized.is_ok() {
            (self.size, self.settings) = (size, wanted);
            self.is_mode_changed = false;
        }
        let adopted = self.adopt_buffers(chain);
        resized.map_err(|refusal| self.refusal(refusal))?;
        adopted?;
        self.set_color_space(chain)?;
        self.is_rewished = false;
        Ok(())
    }

    /// Waits until the released images are destroyed, or the timeout. DXGI refuses to resize while the program or
    /// an open recording holds one.
    fn await_destruction(&self, chain: &Arc<Chain>, timeout: Duration) -> Result<(), Error> {
        // Two references remain: the swap chain's and the caller's.
        await_release(&self.gpu, timeout, || Arc::strong_count(chain) <= 2).map(drop)
    }

    /// Returns images to `PRESENT`: an image that was drawn to and dropped may be in another state, which a new
    /// adoption of the buffer, after a refused resize, would not know.
    fn leave_in_present(&self) -> Result<(), Error> {
        let Some(image) = self.acquired.and_then(|index| self.images.get(index as usize)) else {
            return Ok(());
        };
        let mut recording = self.gpu.record(Queue::Graphics, "swap chain")?;
        recording.use_resource(image.texture(), Subresource::All, State::PRESENT)?;
        recording.barriers();
        recording.submit()?;
        Ok(())
    }
}

fn timed_out(timeout: Duration) -> Error {
    let waited_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    Error::Timeout { what: Awaited::SwapchainImage, waited_ms }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        self.images.clear();
        let Some(chain) = self.chain.clone() else { return };
        // Buffers that the program still has keep the chain alive, so continuing is safe.
        let timeout = self.gpu.config().frames.shutdown_timeout;
        let _awaited = self.await_destruction(&chain, timeout);
    }
}

tenure_core::implement_swapchain!(Swapchain, Device);

impl fmt::Debug for Swapchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swapchain")
            .field("name", &self.desc.name)
            .field("extent", &self.extent())
            .field("format", &self.format())
            .field("mode", &self.mode())
            .field("images", &self.images())
            .finish_non_exhaustive()
    }
}
