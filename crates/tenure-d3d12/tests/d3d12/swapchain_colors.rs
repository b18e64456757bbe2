//! Formats, colour spaces and modes of swap chains: wishes, and changes at run time. Tests answer in place of a screen.

use core::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use tenure_core::present::{ColorSpace, HdrMetadata, SurfaceFormat, SwapchainDesc};
use tenure_core::{DeviceError, Error, Format, PresentMode, SwapchainRule, TextureViewDesc};
use tenure_d3d12::Swapchain;
use tenure_d3d12::windows::Win32::Foundation::E_INVALIDARG;
use tenure_d3d12::windows::Win32::Graphics::Dxgi::Common::{
    DXGI_COLOR_SPACE_RGB_FULL_G22_NONE_P709, DXGI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020,
    DXGI_COLOR_SPACE_TYPE,
};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::{
    DXGI_HDR_METADATA_HDR10, DXGI_HDR_METADATA_TYPE, DXGI_HDR_METADATA_TYPE_HDR10, IDXGISwapChain3,
    IDXGISwapChain3_Vtbl, IDXGISwapChain4, IDXGISwapChain4_Vtbl,
};
use tenure_d3d12::windows::core::{HRESULT, Interface};

use crate::bench::LONG;
use crate::interposed::{PUTTING, put};
use crate::swapchain::{GREEN, RED, end, frame, gpu};
use crate::swapchain_refusals::{breaks, lose};
use crate::window::{TestWindow, draw};

type This = *mut c_void;
type Check = unsafe extern "system" fn(This, DXGI_COLOR_SPACE_TYPE, *mut u32) -> HRESULT;
type Set = unsafe extern "system" fn(This, DXGI_COLOR_SPACE_TYPE) -> HRESULT;
type Describe = unsafe extern "system" fn(This, DXGI_HDR_METADATA_TYPE, u32, *const c_void) -> HRESULT;

const SRGB: SurfaceFormat = SurfaceFormat::new(Format::Bgra8Srgb, ColorSpace::Srgb);
const HDR10: SurfaceFormat = SurfaceFormat::HDR10;

static REAL: OnceLock<(Check, Set, Describe)> = OnceLock::new();

fn real() -> &'static (Check, Set, Describe) {
    REAL.get().expect("the functions are in place")
}

/// The screen of all windows; `None`: the real one.
static SCREEN: Mutex<Option<Screen>> = Mutex::new(None);

#[derive(Default)]
struct Screen {
    displays_hdr: bool,
    /// The colour spaces that chains were set to.
    set: Vec<DXGI_COLOR_SPACE_TYPE>,
    described: Vec<DXGI_HDR_METADATA_HDR10>,
    /// The result of the next change of a colour space.
    failure: Option<HRESULT>,
}

unsafe extern "system" fn check(this: This, space: DXGI_COLOR_SPACE_TYPE, out: *mut u32) -> HRESULT {
    let Some(displays_hdr) = SCREEN.lock().unwrap().as_ref().map(|screen| screen.displays_hdr) else {
        // SAFETY: as the caller has it.
        return unsafe { (real().0)(this, space, out) };
    };
    let is_displayed = space == DXGI_COLOR_SPACE_RGB_FULL_G22_NONE_P709
        || displays_hdr && space == DXGI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020;
    // SAFETY: as the API has it.
    unsafe { *out = u32::from(is_displayed) };
    HRESULT(0)
}

unsafe extern "system" fn set(this: This, space: DXGI_COLOR_SPACE_TYPE) -> HRESULT {
    match SCREEN.lock().unwrap().as_mut() {
        // SAFETY: as the caller has it.
        None => unsafe { (real().1)(this, space) },
        Some(screen) => screen.failure.take().unwrap_or_else(|| {
            screen.set.push(space);
            HRESULT(0)
        }),
    }
}

unsafe extern "system" fn describe(
    this: This,
    kind: DXGI_HDR_METADATA_TYPE,
    size: u32,
    data: *const c_void,
) -> HRESULT {
    match SCREEN.lock().unwrap().as_mut() {
        // SAFETY: as the caller has it.
        None => unsafe { (real().2)(this, kind, size, data) },
        Some(screen) => {
            assert_eq!(
                (kind, size as usize),
                (DXGI_HDR_METADATA_TYPE_HDR10, size_of::<DXGI_HDR_METADATA_HDR10>())
            );
            // SAFETY: as the API has it: a structure of that type.
            screen.described.push(unsafe { data.cast::<DXGI_HDR_METADATA_HDR10>().read_unaligned() });
            HRESULT(0)
        }
    }
}

/// A screen in place of the real one, until it is dropped.
struct Shown;

impl Shown {
    fn new(chain: &Swapchain, displays_hdr: bool) -> Self {
        let three: &IDXGISwapChain3 = chain.raw().unwrap();
        let four: IDXGISwapChain4 = three.cast().unwrap();
        REAL.get_or_init(|| {
            let _putting = PUTTING.lock().unwrap();
            let table: *const IDXGISwapChain3_Vtbl = Interface::vtable(three);
            let newer: *const IDXGISwapChain4_Vtbl = Interface::vtable(&four);
            // SAFETY: the tables of live interfaces, with the functions that their names say.
            unsafe {
                (
                    put(&raw const (*table).CheckColorSpaceSupport, check as Check),
                    put(&raw const (*table).SetColorSpace1, set as Set),
                    put(&raw const (*newer).SetHDRMetaData, describe as Describe),
                )
            }
        });
        *SCREEN.lock().unwrap() = Some(Screen { displays_hdr, ..Screen::default() });
        Self
    }

    fn with<R>(&self, run: impl FnOnce(&mut Screen) -> R) -> R {
        run(SCREEN.lock().unwrap().as_mut().expect("a screen"))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        *SCREEN.lock().unwrap() = None;
    }
}

fn chosen(chain: &Swapchain) -> SurfaceFormat {
    SurfaceFormat::new(chain.format(), chain.color_space())
}

/// What the system itself offers can be had, one after the other in one chain, and is seen.
#[test]
fn formats_change_between_frames() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([0, 64])).unwrap();
    let without_chain = chain.offered_formats().unwrap();
    assert!(
        without_chain.iter().all(|format| format.color_space == ColorSpace::Srgb) && without_chain.len() == 5
    );
    chain.resize([64, 64]).unwrap();
    let (formats, modes) = (chain.offered_formats().unwrap(), chain.offered_modes().unwrap());
    println!("offered: {formats:?} {modes:?}");
    assert!(without_chain.iter().all(|format| formats.contains(format)));
    assert!(modes.contains(&PresentMode::Fifo) && !modes.contains(&PresentMode::FifoRelaxed));
    for format in without_chain {
        chain.set_formats(&[format]);
        for _ in 0..3 {
            frame(&gpu, &mut chain, [0.0, 0.5, 1.0, 1.0]);
        }
        assert_eq!(chosen(&chain), format);
        window.expect([32, 32], [0, if format.format.is_srgb() { 188 } else { 128 }, 255]);
    }
    chain.set_formats(&[]);
    frame(&gpu, &mut chain, RED);
    assert_eq!(chosen(&chain), SRGB);
    drop(chain);
    end(gpu);
}

/// The mode is a parameter of each presentation: the images stay.
#[test]
fn modes_change_without_new_images() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let image = Arc::downgrade(chain.acquire().unwrap().unwrap().shared());
    for number in 0..40 {
        let modes = chain.offered_modes().unwrap();
        let mode = modes[number % modes.len()];
        chain.set_modes(&[PresentMode::FifoRelaxed, mode]);
        assert_eq!(chain.mode(), mode);
        frame(&gpu, &mut chain, if number % 2 == 0 { RED } else { GREEN });
    }
    assert!(image.strong_count() > 0);
    window.expect([32, 32], [0, 255, 0]);
    // With a new size in the same frame.
    window.resize([80, 80]);
    chain.set_modes(&[PresentMode::Mailbox]);
    chain.resize([80, 80]).unwrap();
    frame(&gpu, &mut chain, RED);
    assert_eq!((chain.mode(), image.strong_count()), (PresentMode::Mailbox, 0));
    window.expect([75, 75], [255, 0, 0]);
    chain.set_modes(&[]);
    assert_eq!(chain.mode(), PresentMode::Fifo);
    drop(chain);
    end(gpu);
}

#[test]
fn colour_spaces_follow_the_screen() {
    const LINEAR: DXGI_COLOR_SPACE_TYPE = DXGI_COLOR_SPACE_RGB_FULL_G22_NONE_P709;
    const PQ: DXGI_COLOR_SPACE_TYPE = DXGI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020;
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut plain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let screen = Shown::new(&plain, true);
    frame(&gpu, &mut plain, RED);
    assert!(plain.offered_formats().unwrap().contains(&HDR10));
    assert!(screen.with(|screen| screen.set.is_empty()), "sRGB is the default of chains");

    let child = window.another();
    let desc = SwapchainDesc::new([64, 64]).formats(&[SurfaceFormat::SC_RGB, HDR10]);
    let mut chain = Swapchain::new(&gpu, child.handle(), &desc).unwrap();
    assert_eq!(chosen(&chain), HDR10);
    let metadata = HdrMetadata::new(0.1, 600.0);
    chain.set_hdr_metadata(&metadata).unwrap();
    frame(&gpu, &mut chain, RED);
    for wish in [SRGB, HDR10, Format::Rgb10A2Unorm.into()] {
        chain.set_formats(&[wish]);
        frame(&gpu, &mut chain, GREEN);
        assert_eq!(chosen(&chain), wish);
    }
    chain.resize([80, 80]).unwrap();
    frame(&gpu, &mut chain, GREEN);
    assert_eq!(screen.with(|screen| std::mem::take(&mut screen.set)), [PQ, LINEAR, PQ, LINEAR]);
    let described = screen.with(|screen| std::mem::take(&mut screen.described));
    let seen = described.iter().map(|data| (data.MaxMasteringLuminance, data.MinMasteringLuminance));
    assert!(seen.eq([(600, 1000)]), "{described:?}");

    // An error in setting the colour space: the next frame tries again.
    chain.set_formats(&[HDR10]);
    screen.with(|screen| screen.failure = Some(E_INVALIDARG));
    let refused = chain.acquire().map(drop).unwrap_err();
    assert!(matches!(refused, Error::Device { source: DeviceError::ApiFailed { .. }, .. }), "{refused}");
    frame(&gpu, &mut chain, RED);
    assert_eq!((chosen(&chain), screen.with(|screen| screen.set.clone())), (HDR10, vec![PQ]));

    // A screen without HDR: wishes fall back, but the program may insist.
    screen.with(|screen| screen.displays_hdr = false);
    chain.set_formats(&[HDR10]);
    frame(&gpu, &mut chain, RED);
    assert_eq!(chosen(&chain), SRGB);
    drop(chain);
    let child = window.another();
    let desc = SwapchainDesc::new([64, 64]).format(HDR10);
    let mut chain = Swapchain::new(&gpu, child.handle(), &desc).unwrap();
    frame(&gpu, &mut chain, RED);
    assert_eq!(chosen(&chain), HDR10);
    let refused = chain.set_hdr_metadata(&HdrMetadata { white_point: [2.0, 0.0], ..metadata }).unwrap_err();
    assert!(refused.to_string().contains("white_point = 2"), "{refused}");
    drop((chain, plain));
    end(gpu);
}

/// The image of the frame stays as it is, and references delay the change; a lost device refuses it.
#[test]
fn a_change_waits_for_references() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let device = gpu.device().clone();
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let image = chain.acquire().unwrap().unwrap();
    chain.set_formats(&[Format::Rgba8Unorm.into()]);
    breaks(chain.acquire(), SwapchainRule::OneAtATime);
    let view = gpu.create_texture_view(image.texture(), &TextureViewDesc::render_target()).unwrap();
    draw(&gpu, &image, RED);
    chain.present(image).unwrap();
    for _ in 0..2 {
        breaks(chain.acquire(), SwapchainRule::ImageHeld);
        assert_eq!(chosen(&chain), SRGB);
    }
    drop(view);
    frame(&gpu, &mut chain, GREEN);
    assert_eq!(chain.format(), Format::Rgba8Unorm);
    for _ in 0..3 {
        frame(&gpu, &mut chain, GREEN);
    }
    window.expect([32, 32], [0, 255, 0]);
    chain.set_formats(&[]);
    assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());
    lose(&device);
    for _ in 0..2 {
        assert!(chain.acquire().map(drop).unwrap_err().is_device_lost());
    }
    let metadata = HdrMetadata::new(0.0, 100.0);
    assert!(chain.set_hdr_metadata(&metadata).unwrap_err().is_device_lost());
    assert!(chain.offered_formats().unwrap_err().is_device_lost());
    drop(chain);
    assert!(gpu.shutdown().leaks.is_empty());
    drop(gpu);
    assert_eq!(device.live_objects(), Default::default());
}

/// The system takes metadata, or says that it does not.
#[test]
fn metadata_is_taken_or_unsupported() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let set = chain.set_hdr_metadata(&HdrMetadata::new(0.0, 1000.0));
    println!("metadata: {set:?}");
    let is_unsupported =
        |error: &Error| matches!(error, Error::Device { source: DeviceError::Unsupported { .. }, .. });
    assert!(set.as_ref().err().is_none_or(is_unsupported), "{set:?}");
    frame(&gpu, &mut chain, GREEN);
    chain.resize([80, 80]).unwrap();
    frame(&gpu, &mut chain, RED);
    drop(chain);
    end(gpu);
}
