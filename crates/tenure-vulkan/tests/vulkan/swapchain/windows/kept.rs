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
use tenure_vulkan::{Device, Swapchain};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};
use x11rb::xcb_ffi::XCBConnection;

use super::super::{Painter, all_options, desc, frame};
use crate::harness::{Vulkan, validated};

/// A window that says when it is gone.
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

#[test]
fn a_swap_chain_keeps_its_window() {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let (window, is_gone) = Window::new();
        let mut swapchain = Swapchain::for_window(&gpu, window, &desc([64, 48])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for number in 0..8 {
            assert!(frame(&gpu, &mut swapchain, &mut painter, number).unwrap());
        }
        swapchain.resize([64, 48]).unwrap();
        assert!(frame(&gpu, &mut swapchain, &mut painter, 9).unwrap());
        assert!(!is_gone.load(Ordering::Acquire));
        drop(swapchain);
        assert!(is_gone.load(Ordering::Acquire), "nothing shows it any more");
        drop(painter);
        end(gpu, harness);
    }
}

/// An image that is held keeps the chain, and that its surface and the window.
#[test]
fn an_image_keeps_the_window_of_its_swap_chain() {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let (window, is_gone) = Window::new();
        let mut swapchain = Swapchain::for_window(&gpu, window, &desc([64, 48])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
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
        gpu.purge().unwrap();
        assert!(is_gone.load(Ordering::Acquire));
        end(gpu, harness);
    }
}

/// A window of another system, or none for now.
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
