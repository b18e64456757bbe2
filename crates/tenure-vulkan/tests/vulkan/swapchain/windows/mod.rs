//! Windows of X11: presented images are on the screen. Without a display the tests fail.

#[cfg(feature = "window")]
mod kept;

use std::time::{Duration, Instant};

use conformance::Harness as _;
use tenure_core::{
    ColorSpace, Config, Error, Format, Gpu, PresentMode, SurfaceFormat, SwapchainDesc, SwapchainRule,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, Swapchain, ash};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, ImageFormat, WindowClass,
};
use x11rb::xcb_ffi::XCBConnection;

use super::{Painter, all_options, color, desc, frame};
use crate::harness::Vulkan;

/// A window at the screen's corner, and its surface.
struct Window {
    connection: XCBConnection,
    root: u32,
    window: u32,
    calls: ash::khr::surface::Instance,
    surface: vk::SurfaceKHR,
}

impl Window {
    fn new(device: &Device, size: [u16; 2]) -> Self {
        let (connection, screen) = XCBConnection::connect(None).unwrap();
        let root = connection.setup().roots[screen].root;
        let window = connection.generate_id().unwrap();
        let look = CreateWindowAux::new().override_redirect(1);
        let [width, height] = size;
        let class = WindowClass::INPUT_OUTPUT;
        let made = connection.create_window(
            x11rb::COPY_DEPTH_FROM_PARENT,
            window,
            root,
            0,
            0,
            width,
            height,
            0,
            class,
            0,
            &look,
        );
        made.unwrap().check().unwrap();
        connection.map_window(window).unwrap().check().unwrap();
        let (entry, instance) = (device.entry().unwrap(), device.instance());
        let info = vk::XcbSurfaceCreateInfoKHR::default()
            .connection(connection.get_raw_xcb_connection())
            .window(window);
        let calls = ash::khr::xcb_surface::Instance::new(entry, instance);
        // SAFETY: the connection and the window live as long as the surface.
        let surface = unsafe { calls.create_xcb_surface(&info, None) }.unwrap();
        let calls = ash::khr::surface::Instance::new(entry, instance);
        Self { connection, root, window, calls, surface }
    }

    fn swapchain(&self, gpu: &Gpu<Device>, desc: &SwapchainDesc) -> Result<Swapchain, Error> {
        // SAFETY: the surface is dropped last.
        unsafe { Swapchain::new(gpu, self.surface, desc) }
    }

    fn resize(&self, [width, height]: [u32; 2]) {
        let size = ConfigureWindowAux::new().width(width).height(height);
        self.connection.configure_window(self.window, &size).unwrap().check().unwrap();
    }

    fn destroy(&self) {
        self.connection.destroy_window(self.window).unwrap().check().unwrap();
    }

    /// Red, green and blue of a point of the screen.
    fn pixel(&self, x: i16, y: i16) -> [u8; 3] {
        let image = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, x, y, 1, 1, !0);
        let data = image.unwrap().reply().unwrap().data;
        [data[2], data[1], data[0]]
    }

    /// Waits for the colour of a pixel, because a presentation is shown some time after the call.
    fn wait_for_pixel(&self, [x, y]: [i16; 2], wanted: [u8; 3]) {
        let begun = Instant::now();
        while self.pixel(x, y) != wanted {
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}, not {wanted:?}", self.pixel(x, y));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the tests drop the swap chain before.
        unsafe { self.calls.destroy_surface(self.surface, None) };
    }
}

/// Runs a test on each kind of device.
fn on_all(size: [u16; 2], test: impl Fn(&Gpu<Device>, &Window)) {
    assert!(
        std::env::var_os("DISPLAY").is_some(),
        "windows need a display: run this in the lab, which has one"
    );
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        let window = Window::new(gpu.device(), size);
        test(&gpu, &window);
        drop(window);
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{report:?}");
        drop(gpu);
        harness.end();
    }
}

/// The colour of a frame, as bytes.
fn rgb(number: u32) -> [u8; 3] {
    let [r, g, b, _] = color(number).map(|part| if part > 0.5 { 255 } else { 0 });
    [r, g, b]
}

#[test]
fn frames_are_on_the_screen() {
    let modes = [PresentMode::Fifo, PresentMode::FifoRelaxed, PresentMode::Mailbox, PresentMode::Immediate];
    on_all([100, 80], |gpu, window| {
        for mode in modes {
            let mut swapchain = window.swapchain(gpu, &desc([1, 1]).mode(mode)).unwrap();
            assert_eq!((swapchain.extent(), swapchain.mode()), ([100, 80], mode));
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 1..9 {
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
                for corner in [[0, 0], [99, 79]] {
                    window.wait_for_pixel(corner, rgb(number));
                }
            }
        }
    });
}

/// The mode of one swap chain changes between frames, also while the window is resized; all that was drawn is shown.
#[test]
fn modes_change_on_the_screen() {
    let modes = [PresentMode::Fifo, PresentMode::FifoRelaxed, PresentMode::Mailbox, PresentMode::Immediate];
    on_all([64, 64], |gpu, window| {
        let mut swapchain = window.swapchain(gpu, &desc([64, 64])).unwrap();
        println!(
            "offered: {:?} {:?}",
            swapchain.offered_formats().unwrap(),
            swapchain.offered_modes().unwrap()
        );
        assert_eq!(swapchain.offered_modes().unwrap(), modes);
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        let mut size = [64, 64];
        for number in 0..80 {
            let mode = modes[number as usize % 4];
            if number % 10 == 9 {
                size = [60 + number, 70 + number];
                window.resize(size);
            }
            swapchain.set_modes(&[mode]);
            while !frame(gpu, &mut swapchain, &mut painter, number).unwrap() {
                swapchain.resize(size).unwrap();
            }
            assert_eq!(swapchain.mode(), mode);
            window.wait_for_pixel([1, 1], rgb(number));
        }
        drop(swapchain);
        let all = [Format::Bgra8Unorm, Format::Bgra8Srgb].map(SurfaceFormat::from);
        let mut swapchain = window.swapchain(gpu, &desc([64, 64]).formats(&all)).unwrap();
        for number in 1..20 {
            let wish = all[number as usize % 2];
            swapchain.set_formats(&[wish]);
            let mut painter = Painter::new(gpu.device(), wish.format);
            while !frame(gpu, &mut swapchain, &mut painter, number).unwrap() {
                swapchain.resize(size).unwrap();
            }
            assert_eq!((swapchain.format(), swapchain.color_space()), (wish.format, ColorSpace::Srgb));
            window.wait_for_pixel([1, 1], rgb(number));
        }
    });
}

/// The window changes its size, and the images follow.
#[test]
fn windows_are_resized() {
    on_all([64, 64], |gpu, window| {
        let mut swapchain = window.swapchain(gpu, &desc([64, 64])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        let (mut resized, mut size) = (0, [64, 64]);
        for number in 0..1010 {
            if number % 50 == 49 {
                size = [60 + number / 10, 70 + number / 20];
                window.resize(size);
            }
            let is_shown = frame(gpu, &mut swapchain, &mut painter, number).unwrap();
            if !is_shown || swapchain.is_outdated() {
                swapchain.resize(size).unwrap();
                resized += 1;
            }
        }
        assert!(resized >= 20, "{resized}");
        assert_eq!(swapchain.extent(), size);
        assert!(frame(gpu, &mut swapchain, &mut painter, 2).unwrap());
        window.wait_for_pixel(size.map(|side| i16::try_from(side - 1).unwrap()), rgb(2));
    });
}

#[test]
fn a_window_that_is_destroyed_is_lost() {
    on_all([64, 64], |gpu, window| {
        let mut swapchain = window.swapchain(gpu, &desc([64, 64])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
        window.destroy();
        let is_lost = |answer: &Result<bool, Error>| {
            matches!(answer, Err(Error::Swapchain { rule: SwapchainRule::WindowLost, .. }))
        };
        let told = (0..20).map(|number| frame(gpu, &mut swapchain, &mut painter, number)).find(is_lost);
        assert!(told.is_some());
        gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
    });
}
