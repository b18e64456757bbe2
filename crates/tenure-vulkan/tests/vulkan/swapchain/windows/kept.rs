//! Swap chains that keep their windows. Without a display they fail.

use core::num::NonZeroU32;
use core::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conformance::Harness as _;
use raw_window_handle::{
    DisplayHandle, HaikuDisplayHandle, HandleError, HasDisplayHandle, HasWindowHandle, RawDisplayHandle,
    RawWindowHandle, Win32WindowHandle, WindowHandle, WindowsDisplayHandle, XcbDisplayHandle,
    XcbWindowHandle,
};
use tenure_core::{Config, DeviceError, Error, Gpu, Queue, SwapchainRule};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, Swapchain};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};
use x11rb::xcb_ffi::XCBConnection;

use super::super::{Painter, all_options, desc, frame};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

/// A window that reports its drop.
struct Window {
    connection: XCBConnection,
    screen: usize,
    window: u32,
    is_gone: Arc<AtomicBool>,
}

impl Window {
    fn new() -> (Self, Arc<AtomicBool>) {
        assert!(
            std::env::var_os("DISPLAY").is_some(),
            "windows need a display: run this in the lab, which has one"
        );
        let (connection, screen) = XCBConnection::connect(None).unwrap();
        let root = connection.setup().roots[screen].root;
        let window = connection.generate_id().unwrap();
        let (depth, class) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
        let look = CreateWindowAux::new().override_redirect(1);
        let made = connection.create_window(depth, window, root, 0, 0, 64, 48, 0, class, 0, &look);
        made.unwrap().check().unwrap();
        connection.map_window(window).unwrap().check().unwrap();
        let is_gone = Arc::new(AtomicBool::new(false));
        (Self { connection, screen, window, is_gone: is_gone.clone() }, is_gone)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.connection.destroy_window(self.window).unwrap().check().unwrap();
        self.is_gone.store(true, Ordering::Release);
    }
}

impl HasDisplayHandle for Window {
    fn display_handle(&self) -> Result<DisplayHandle<'_>, HandleError> {
        let connection = NonNull::new(self.connection.get_raw_xcb_connection());
        let screen = i32::try_from(self.screen).unwrap();
        let handle = RawDisplayHandle::Xcb(XcbDisplayHandle::new(connection, screen));
        // SAFETY: the connection lives as long as this.
        Ok(unsafe { DisplayHandle::borrow_raw(handle) })
    }
}

impl HasWindowHandle for Window {
    fn window_handle(&self) -> Result<WindowHandle<'_>, HandleError> {
        let handle = XcbWindowHandle::new(NonZeroU32::new(self.window).unwrap());
        // SAFETY: the window lives as long as this.
        Ok(unsafe { WindowHandle::borrow_raw(RawWindowHandle::Xcb(handle)) })
    }
}

fn end(gpu: Gpu<Device>, harness: Vulkan) {
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    harness.end();
}

/// A swap chain that owns its window, and its painter.
struct Shown {
    swapchain: Swapchain,
    painter: Painter,
    is_gone: Arc<AtomicBool>,
}

impl Shown {
    fn new(gpu: &Gpu<Device>) -> Self {
        let (window, is_gone) = Window::new();
        let swapchain = Swapchain::for_window(gpu, window, &desc([64, 48])).unwrap();
        let painter = Painter::new(gpu.device(), swapchain.format());
        Self { swapchain, painter, is_gone }
    }

    fn frames(&mut self, gpu: &Gpu<Device>, count: u32) {
        for number in 0..count {
            assert!(frame(gpu, &mut self.swapchain, &mut self.painter, number).unwrap());
        }
    }
}

#[test]
fn a_swap_chain_keeps_its_window() {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let mut shown = Shown::new(&gpu);
        shown.frames(&gpu, 8);
        shown.swapchain.resize([64, 48]).unwrap();
        shown.frames(&gpu, 1);
        let Shown { swapchain, painter, is_gone } = shown;
        assert!(!is_gone.load(Ordering::Acquire));
        drop(swapchain);
        assert!(is_gone.load(Ordering::Acquire), "nothing shows it any more");
        drop(painter);
        end(gpu, harness);
    }
}

/// An image that is held keeps the chain, which keeps its surface and the window.
#[test]
fn an_image_keeps_the_window_of_its_swap_chain() {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let Shown { mut swapchain, mut painter, is_gone } = Shown::new(&gpu);
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
        image.begin(&mut recording).unwrap();
        painter.paint(&mut recording, &image, [1.0; 4]);
        drop(swapchain);
        assert!(!is_gone.load(Ordering::Acquire));
        let submitted = recording.submit().unwrap();
        drop(image);
        assert!(gpu.wait(&submitted, core::time::Duration::from_secs(10)).unwrap());
        drop(painter);
        gpu.reclaim().unwrap();
        assert!(is_gone.load(Ordering::Acquire));
        end(gpu, harness);
    }
}

/// A window of another window system; or, as on Android while the program is suspended, one without a handle.
struct Other(Option<(RawDisplayHandle, RawWindowHandle)>);

// SAFETY: the handles are numbers, which nothing looks behind.
unsafe impl Send for Other {}
// SAFETY: as above.
unsafe impl Sync for Other {}

impl HasDisplayHandle for Other {
    fn display_handle(&self) -> Result<DisplayHandle<'_>, HandleError> {
        let (display, _) = self.0.ok_or(HandleError::Unavailable)?;
        // SAFETY: it refers to nothing.
        Ok(unsafe { DisplayHandle::borrow_raw(display) })
    }
}

impl HasWindowHandle for Other {
    fn window_handle(&self) -> Result<WindowHandle<'_>, HandleError> {
        let (_, window) = self.0.ok_or(HandleError::Unavailable)?;
        // SAFETY: it is passed on to no window system.
        Ok(unsafe { WindowHandle::borrow_raw(window) })
    }
}

#[test]
fn windows_that_cannot_be_shown_to_are_errors() {
    let windows = RawDisplayHandle::Windows(WindowsDisplayHandle::new());
    let haiku = RawDisplayHandle::Haiku(HaikuDisplayHandle::new());
    let handle = RawWindowHandle::Win32(Win32WindowHandle::new(core::num::NonZeroIsize::MIN));
    for presents in [true, false] {
        let harness = Vulkan::new(validated().presentation(presents));
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        for other in [windows, haiku] {
            let made = Swapchain::for_window(&gpu, Other(Some((other, handle))), &desc([64, 48]));
            let is_unsupported = |error: &Error| {
                matches!(error, Error::Device { source: DeviceError::Unsupported { .. }, .. })
            };
            assert!(made.as_ref().is_err_and(is_unsupported), "{made:?}");
        }
        let made = Swapchain::for_window(&gpu, Other(None), &desc([64, 48]));
        let is_lost = |error: &Error| {
            matches!(error, Error::Swapchain { rule: SwapchainRule::WindowLost, .. }) == presents
        };
        assert!(made.as_ref().is_err_and(is_lost), "{made:?}");
        drop(made);
        end(gpu, harness);
    }
}

fn shared_window() -> (Arc<Window>, Arc<AtomicBool>) {
    let (window, is_gone) = Window::new();
    (Arc::new(window), is_gone)
}

/// Two of one window: the second works or is refused, and the first works on.
#[test]
fn a_window_has_swap_chains_one_beside_another() {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let (window, is_gone) = shared_window();
        let mut first = Swapchain::for_window(&gpu, window.clone(), &desc([64, 48])).unwrap();
        let second = Swapchain::for_window(&gpu, window.clone(), &desc([64, 48]));
        let mut painter = Painter::new(gpu.device(), first.format());
        for number in 0..4 {
            assert!(frame(&gpu, &mut first, &mut painter, number).unwrap());
        }
        if let Ok(mut second) = second {
            for number in 0..4 {
                frame(&gpu, &mut second, &mut painter, number).unwrap();
                frame(&gpu, &mut first, &mut painter, number).unwrap();
            }
        }
        drop(window);
        assert!(!is_gone.load(Ordering::Acquire));
        frame(&gpu, &mut first, &mut painter, 9).unwrap();
        drop(first);
        assert!(is_gone.load(Ordering::Acquire));
        drop(painter);
        end(gpu, harness);
    }
}

/// A failure after the creation of the surface destroys the surface and drops the window.
#[test]
fn refused_swap_chains_release_their_window() {
    for options in all_options() {
        let harness = Vulkan::wearing(Costume::plain(), options, |raw| {
            raw.extensions.push(tenure_vulkan::ash::khr::swapchain::NAME.to_owned());
        });
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        for call in ["vkCreateSwapchainKHR", "vkGetSwapchainImagesKHR"] {
            let (window, is_gone) = Window::new();
            harness.disguise().fail(call, vk::Result::ERROR_OUT_OF_HOST_MEMORY);
            let made = Swapchain::for_window(&gpu, window, &desc([64, 48]));
            assert!(made.is_err(), "{call}");
            assert!(is_gone.load(Ordering::Acquire), "{call}");
        }
        let (window, is_gone) = Window::new();
        let wrong = desc([64, 48]).format(tenure_core::Format::Rg8Unorm);
        let made = Swapchain::for_window(&gpu, window, &wrong);
        assert!(matches!(made, Err(Error::Swapchain { rule: SwapchainRule::Format, .. })), "{made:?}");
        assert!(is_gone.load(Ordering::Acquire), "format");
        let (window, is_gone) = Window::new();
        let made = Swapchain::for_window(&gpu, window, &desc([0, 0])).unwrap();
        drop(made);
        assert!(is_gone.load(Ordering::Acquire), "minimised");
        assert_eq!(harness.disguise().chains(), 0);
        end(gpu, harness);
    }
}

/// The manager is shut down first, and the image goes last.
#[test]
fn a_swap_chain_outlives_a_shutdown() {
    for is_image_last in [false, true] {
        for options in all_options() {
            let harness = Vulkan::new(options);
            let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
            let mut shown = Shown::new(&gpu);
            shown.frames(&gpu, 4);
            let Shown { mut swapchain, painter, is_gone } = shown;
            let image = is_image_last.then(|| swapchain.acquire().unwrap().unwrap());
            let report = gpu.shutdown();
            assert!(!report.timed_out && report.lost.is_none(), "{report:?}");
            drop(painter);
            drop(gpu);
            drop(swapchain);
            assert_eq!(is_gone.load(Ordering::Acquire), !is_image_last);
            drop(image);
            assert!(is_gone.load(Ordering::Acquire));
            harness.end();
        }
    }
}

/// A lost device keeps no window, with any work in flight.
#[test]
fn a_lost_device_releases_its_windows() {
    for call in ["vkAcquireNextImageKHR", "vkQueuePresentKHR", "vkCreateSwapchainKHR", "vkQueueSubmit2"] {
        for options in all_options() {
            let harness = Vulkan::wearing(Costume::plain(), options, |raw| {
                raw.extensions.push(tenure_vulkan::ash::khr::swapchain::NAME.to_owned());
            });
            let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
            let mut shown = Shown::new(&gpu);
            shown.frames(&gpu, 1);
            let Shown { mut swapchain, mut painter, is_gone } = shown;
            harness.disguise().fail(call, vk::Result::ERROR_DEVICE_LOST);
            let failed = frame(&gpu, &mut swapchain, &mut painter, 1).map(drop);
            assert!(failed.is_err() || swapchain.resize([8, 8]).is_err(), "{call}");
            // SAFETY: nothing else uses its queue.
            unsafe { gpu.device().raw().device_wait_idle() }.unwrap();
            painter.end_frames();
            drop(painter);
            drop(swapchain);
            assert!(is_gone.load(Ordering::Acquire), "{call}");
            let (window, is_gone) = Window::new();
            let made = Swapchain::for_window(&gpu, window, &desc([64, 48]));
            assert!(made.is_err_and(|error| error.to_string().contains("lost")));
            assert!(is_gone.load(Ordering::Acquire), "{call}");
            drop(gpu);
            harness.close();
            let problems = harness.log().problems();
            assert!(problems.is_empty(), "{call}: {problems:?}");
        }
    }
}
