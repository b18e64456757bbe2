//! Swap chains of all backends, and their descriptions.

use tenure_core::device::{Device, QueueId};
use tenure_core::present::Swapchain as _;
use tenure_core::{
    ColorSpace, Error, Format, Gpu, HdrMetadata, PresentMode, Queue, SurfaceFormat, SwapchainDesc,
    SwapchainImage,
};

use crate::convert::{format, format_or_none, unknown, usage};
use crate::held::Loans;
use crate::pointer::{Desc, In, Outcome};
use crate::types::*;

/// The presentation mode.
pub type tn_PresentMode = u32;
/// In order, at the screen's refresh rate. Every window supports it.
pub const TN_PRESENT_FIFO: tn_PresentMode = 0;
/// In order, at the screen's refresh rate; a late image is shown immediately, with tearing.
pub const TN_PRESENT_FIFO_RELAXED: tn_PresentMode = 1;
/// The newest image, without tearing.
pub const TN_PRESENT_MAILBOX: tn_PresentMode = 2;
/// Immediately, with tearing.
pub const TN_PRESENT_IMMEDIATE: tn_PresentMode = 3;

/// The colour space of images for the screen.
pub type tn_ColorSpace = u32;
/// Chosen by the format: scRGB for `TN_FORMAT_RGBA16_FLOAT`, sRGB for all others.
pub const TN_COLOR_SPACE_BY_FORMAT: tn_ColorSpace = 0;
/// sRGB.
pub const TN_COLOR_SPACE_SRGB: tn_ColorSpace = 1;
/// scRGB: linear, with values outside 0 to 1.
pub const TN_COLOR_SPACE_EXTENDED_SRGB_LINEAR: tn_ColorSpace = 2;
/// HDR10: primaries of BT.2020, curve of ST 2084.
pub const TN_COLOR_SPACE_HDR10: tn_ColorSpace = 3;
/// Primaries of BT.2020, hybrid log-gamma.
pub const TN_COLOR_SPACE_HLG: tn_ColorSpace = 4;
/// Display P3.
pub const TN_COLOR_SPACE_DISPLAY_P3: tn_ColorSpace = 5;

/// The format of images for a window.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SurfaceFormat {
    /// `TN_FORMAT_…`.
    pub format: tn_Format,
    /// `TN_COLOR_SPACE_…`.
    pub color_space: tn_ColorSpace,
}

/// A swap chain.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SwapchainDesc {
    /// `sizeof(tn_SwapchainDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Width in pixels; 0 while the window is minimised.
    pub width: u32,
    /// Height in pixels; 0 while the window is minimised.
    pub height: u32,
    /// Preferred formats, best first: the first one that the window supports is used.
    pub formats: In<tn_SurfaceFormat>,
    /// Number of formats.
    pub format_count: usize,
    /// Preferred modes, best first; `TN_PRESENT_FIFO` if the window supports none of them.
    pub modes: In<tn_PresentMode>,
    /// Number of modes.
    pub mode_count: usize,
    /// The format if the window supports none of `formats`; zeroed: an 8-bit sRGB format that it supports.
    pub format: tn_SurfaceFormat,
    /// The minimum number of images; 0: 3.
    pub images: u32,
    /// Usages in addition to rendering and presenting, such as `TN_USAGE_COPY_SRC`.
    pub usage: tn_Usage,
    /// The maximum number of images queued for presentation, 1 to 16; 0: the setting `frames.in_flight`.
    pub frame_latency: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// The current properties of a swap chain.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SwapchainProperties {
    /// `sizeof(tn_SwapchainProperties)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Width in pixels; 0 while the window is minimised.
    pub width: u32,
    /// Height in pixels; 0 while the window is minimised.
    pub height: u32,
    /// The format of the image views.
    pub format: tn_Format,
    /// `TN_COLOR_SPACE_…`.
    pub color_space: tn_ColorSpace,
    /// `TN_PRESENT_…`.
    pub mode: tn_PresentMode,
    /// Number of images.
    pub images: u32,
    /// Whether the images no longer match the window: call `tn_swapchain_resize`.
    pub is_outdated: tn_Bool,
    /// Whether the window is covered, so that the program may draw less often. Reported only on Direct3D 12.
    pub is_occluded: tn_Bool,
    /// A bit mask of queues: images finished on queue n of the device can be presented if bit n is set.
    pub queues: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The formats and modes supported by the window of a swap chain.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SwapchainOffers {
    /// `sizeof(tn_SwapchainOffers)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Formats with their colour spaces; valid until the next call for this swap chain, or its release.
    pub formats: In<tn_SurfaceFormat>,
    /// Number of formats.
    pub format_count: usize,
    /// Modes; valid as long as `formats`.
    pub modes: In<tn_PresentMode>,
    /// Number of modes.
    pub mode_count: usize,
}

/// The display on which HDR images were mastered, and their brightness. Luminances are in nits, chromaticities are CIE 1931 x and
/// y.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_HdrMetadata {
    /// x and y of red, green and blue; all zero: the primaries of BT.2020.
    pub primaries: [f32; 6],
    /// x and y of white; zero: the white point of sRGB and BT.2020.
    pub white_point: [f32; 2],
    /// The minimum luminance; less than the maximum.
    pub min_luminance: f32,
    /// The maximum luminance.
    pub max_luminance: f32,
    /// The luminance of the brightest pixel of all images; 0: unknown.
    pub max_content_light: f32,
    /// The average luminance of the brightest image; 0: unknown.
    pub max_frame_average_light: f32,
}

macro_rules! descs {
    ($($Desc:ident)*) => {$(
        // SAFETY: `repr(C)`, begins with the head, and has only numbers and pointers.
        unsafe impl Desc for $Desc {
            const TYPE: &'static str = stringify!($Desc);
            const FLAGS: u32 = 0;
        }
    )*};
}

descs! { tn_SwapchainDesc tn_SwapchainProperties tn_SwapchainOffers }

impl Outcome for tn_SwapchainProperties {}
impl Outcome for tn_SwapchainOffers {}

/// As in the backends.
const MOST_LATENCY: u32 = 16;

/// A swap chain of a backend: the functions that its common trait does not have.
pub(crate) trait Presents: tenure_core::present::Swapchain + Sized + Send + 'static {
    fn set_latency(&mut self, frames: u32) -> Result<(), Error>;
    fn can_present_on(&self, queue: Queue) -> bool;
    fn is_occluded(&mut self) -> bool;
}

impl Presents for tenure_sim::Swapchain {
    /// No effect: it shows images immediately.
    fn set_latency(&mut self, _frames: u32) -> Result<(), Error> {
        Ok(())
    }

    fn can_present_on(&self, queue: Queue) -> bool {
        self.can_present_on(queue)
    }

    fn is_occluded(&mut self) -> bool {
        false
    }
}

impl Presents for tenure_vulkan::Swapchain {
    fn set_latency(&mut self, frames: u32) -> Result<(), Error> {
        self.set_frame_latency(frames)
    }

    fn can_present_on(&self, queue: Queue) -> bool {
        self.can_present_on(queue)
    }

    fn is_occluded(&mut self) -> bool {
        false
    }
}

#[cfg(windows)]
impl Presents for tenure_d3d12::Swapchain {
    fn set_latency(&mut self, frames: u32) -> Result<(), Error> {
        self.set_frame_latency(frames)
    }

    /// Presenting is a submission to the graphics queue, which waits for other queues.
    fn can_present_on(&self, _queue: Queue) -> bool {
        true
    }

    fn is_occluded(&mut self) -> bool {
        self.is_occluded()
    }
}

/// A device with swap chains.
pub(crate) trait Presented: Device {
    type Swapchain: Presents<Device = Self>;
}

impl Presented for tenure_sim::Device {
    type Swapchain = tenure_sim::Swapchain;
}

impl Presented for tenure_vulkan::Device {
    type Swapchain = tenure_vulkan::Swapchain;
}

#[cfg(windows)]
impl Presented for tenure_d3d12::Device {
    type Swapchain = tenure_d3d12::Swapchain;
}

/// The object behind a `tn_Swapchain`.
pub(crate) struct SwapchainOf<D: Presented> {
    /// The acquired image.
    acquired: Option<Acquired<D>>,
    pub(crate) chain: D::Swapchain,
    gpu: Gpu<D>,
    queues: u32,
    formats: Vec<tn_SurfaceFormat>,
    modes: Vec<tn_PresentMode>,
}

/// An acquired image with its handles, which are released before it is dropped.
type Acquired<D> = (Loans, SwapchainImage<D>);

impl<D: Presented> SwapchainOf<D> {
    fn new(gpu: &Gpu<D>, chain: D::Swapchain) -> Self {
        let queues = gpu.device().properties().queues.len();
        let queues = (0..u8::try_from(queues).unwrap_or(u8::MAX).min(32))
            .filter(|queue| chain.can_present_on(Queue::Id(QueueId(*queue))))
            .fold(0, |bits, queue| bits | 1 << queue);
        Self { acquired: None, chain, gpu: gpu.clone(), queues, formats: Vec::new(), modes: Vec::new() }
    }

    /// Calls the destroy functions that are due after the submissions so far: they may release objects that hold the images.
    pub(crate) fn reclaim(&self) -> Result<(), Failure> {
        self.gpu.wait(&self.gpu.submitted(), self.gpu.config().frames.shutdown_timeout)?;
        Ok(self.gpu.reclaim()?)
    }

    pub(crate) fn image(&self) -> Result<&SwapchainImage<D>, Failure> {
        self.acquired.as_ref().map(|(_, image)| image).ok_or_else(no_image)
    }

    /// Acquires an image, or returns the acquired one that was not presented.
    pub(crate) fn acquire(&mut self) -> Result<Option<SwapchainImage<D>>, Failure> {
        self.acquired = None;
        Ok(self.chain.acquire()?)
    }

    /// Keeps an image with its handles until it is presented.
    pub(crate) fn keep(&mut self, handles: Loans, image: SwapchainImage<D>) {
        self.acquired = Some((handles, image));
    }

    pub(crate) fn present(&mut self) -> Result<(), Failure> {
        let (handles, image) = self.acquired.take().ok_or_else(no_image)?;
        drop(handles);
        Ok(self.chain.present(image)?)
    }

    pub(crate) fn resize(&mut self, size: [u32; 2]) -> Result<(), Failure> {
        self.acquired = None;
        Ok(self.chain.resize(size)?)
    }

    pub(crate) fn properties(&mut self, struct_size: u32) -> tn_SwapchainProperties {
        let chain = &mut self.chain;
        let [width, height] = chain.extent();
        tn_SwapchainProperties {
            struct_size,
            flags: 0,
            next: In::NULL,
            width,
            height,
            format: format_number(chain.format()),
            color_space: color_space_number(chain.color_space()),
            mode: mode_number(chain.mode()),
            images: chain.images(),
            is_outdated: chain.is_outdated().into(),
            is_occluded: chain.is_occluded().into(),
            queues: self.queues,
            reserved: 0,
        }
    }

    pub(crate) fn offers(&mut self, struct_size: u32) -> Result<tn_SwapchainOffers, Failure> {
        let (formats, modes) = (self.chain.offered_formats()?, self.chain.offered_modes()?);
        let number = |offered: &SurfaceFormat| tn_SurfaceFormat {
            format: format_number(offered.format),
            color_space: color_space_number(offered.color_space),
        };
        self.formats = formats.iter().map(number).collect();
        self.modes = modes.iter().map(|mode| mode_number(*mode)).collect();
        Ok(tn_SwapchainOffers {
            struct_size,
            flags: 0,
            next: In::NULL,
            formats: In::lent(&self.formats),
            format_count: self.formats.len(),
            modes: In::lent(&self.modes),
            mode_count: self.modes.len(),
        })
    }
}

#[cold]
fn no_image() -> Failure {
    Failure::new(TN_ERROR_SWAPCHAIN, "no image: call tn_swapchain_acquire first")
}

const MODES: [(tn_PresentMode, PresentMode); 4] = [
    (TN_PRESENT_FIFO, PresentMode::Fifo),
    (TN_PRESENT_FIFO_RELAXED, PresentMode::FifoRelaxed),
    (TN_PRESENT_MAILBOX, PresentMode::Mailbox),
    (TN_PRESENT_IMMEDIATE, PresentMode::Immediate),
];

const COLOR_SPACES: [(tn_ColorSpace, ColorSpace); 5] = [
    (TN_COLOR_SPACE_SRGB, ColorSpace::Srgb),
    (TN_COLOR_SPACE_EXTENDED_SRGB_LINEAR, ColorSpace::ExtendedSrgbLinear),
    (TN_COLOR_SPACE_HDR10, ColorSpace::Hdr10),
    (TN_COLOR_SPACE_HLG, ColorSpace::Hlg),
    (TN_COLOR_SPACE_DISPLAY_P3, ColorSpace::DisplayP3),
];

fn mode_number(mode: PresentMode) -> tn_PresentMode {
    MODES.iter().find(|(_, known)| *known == mode).map_or(TN_PRESENT_FIFO, |(number, _)| *number)
}

fn color_space_number(space: ColorSpace) -> tn_ColorSpace {
    let found = COLOR_SPACES.iter().find(|(_, known)| *known == space);
    found.map_or(TN_COLOR_SPACE_BY_FORMAT, |(number, _)| *number)
}

pub(crate) fn format_number(format: Format) -> tn_Format {
    let found = Format::ALL.iter().position(|known| *known == format);
    found.and_then(|index| u32::try_from(index + 1).ok()).unwrap_or(TN_FORMAT_UNKNOWN)
}

pub(crate) fn modes(modes: In<tn_PresentMode>, count: usize) -> Result<Vec<PresentMode>, Failure> {
    let mode = |number: &tn_PresentMode| match MODES.iter().find(|(known, _)| known == number) {
        Some((_, mode)) => Ok(*mode),
        None => unknown("mode", *number),
    };
    modes.array(count, "modes")?.iter().map(mode).collect()
}

fn surface_format(wanted: &tn_SurfaceFormat) -> Result<SurfaceFormat, Failure> {
    let format = format(wanted.format)?;
    if wanted.color_space == TN_COLOR_SPACE_BY_FORMAT {
        return Ok(format.into());
    }
    match COLOR_SPACES.iter().find(|(known, _)| *known == wanted.color_space) {
        Some((_, space)) => Ok(SurfaceFormat::new(format, *space)),
        None => unknown("color_space", wanted.color_space),
    }
}

pub(crate) fn formats(formats: In<tn_SurfaceFormat>, count: usize) -> Result<Vec<SurfaceFormat>, Failure> {
    formats.array(count, "formats")?.iter().map(surface_format).collect()
}

fn swapchain_desc(desc: &tn_SwapchainDesc) -> Result<SwapchainDesc, Failure> {
    let mut found = SwapchainDesc::new([desc.width, desc.height]);
    found.formats = formats(desc.formats, desc.format_count)?;
    found.modes = modes(desc.modes, desc.mode_count)?;
    if format_or_none(desc.format.format)?.is_some() {
        found.format = Some(surface_format(&desc.format)?);
    }
    if desc.images != 0 {
        found.images = desc.images;
    }
    found.usage = usage(desc.usage)?;
    let name = desc.name.name()?;
    if !name.as_str().is_empty() {
        found.name = name;
    }
    Ok(found)
}

pub(crate) fn hdr_metadata(given: &tn_HdrMetadata) -> HdrMetadata {
    let mut metadata = HdrMetadata::new(given.min_luminance, given.max_luminance);
    if given.primaries != [0.0; 6] {
        let [red_x, red_y, green_x, green_y, blue_x, blue_y] = given.primaries;
        metadata.primaries = [[red_x, red_y], [green_x, green_y], [blue_x, blue_y]];
    }
    if given.white_point != [0.0; 2] {
        metadata.white_point = given.white_point;
    }
    metadata.max_content_light = given.max_content_light;
    metadata.max_frame_average_light = given.max_frame_average_light;
    metadata
}

/// A frame latency; the simulated device would accept every number.
pub(crate) fn latency(frames: u32) -> Result<u32, Failure> {
    if (1..=MOST_LATENCY).contains(&frames) {
        return Ok(frames);
    }
    Err(Failure::new(TN_ERROR_ARGUMENT, format!("frame_latency = {frames}: must be 1 to {MOST_LATENCY}")))
}

/// Creates a swap chain with `make` from a description.
pub(crate) fn describe<D: Presented>(
    gpu: &Gpu<D>,
    desc: In<tn_SwapchainDesc>,
    make: impl FnOnce(&SwapchainDesc) -> Result<D::Swapchain, Error>,
) -> Result<SwapchainOf<D>, Failure> {
    let desc = desc.desc()?;
    let latency = if desc.frame_latency == 0 { None } else { Some(latency(desc.frame_latency)?) };
    let mut chain = make(&swapchain_desc(desc)?)?;
    latency.map_or(Ok(()), |frames| chain.set_latency(frames))?;
    Ok(SwapchainOf::new(gpu, chain))
}
