//! Swap chains of windows: drawn pictures are shown.

use std::time::{Duration, Instant};

use tenure_core::present::SwapchainDesc;
use tenure_core::{
    BufferDesc, BufferLayout, Config, Format, Gpu, MemoryUse, Plane, PresentMode, Queue, TextureRegion, Usage,
};
use tenure_d3d12::{Device, Swapchain};

use crate::bench::{LONG, device};
use crate::window::{TestWindow, draw};

pub(crate) const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
pub(crate) const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];

pub(crate) fn gpu() -> Gpu<Device> {
    Gpu::new(device(), Config::default()).unwrap()
}

/// Draws one frame and presents it.
pub(crate) fn frame(gpu: &Gpu<Device>, chain: &mut Swapchain, colour: [f32; 4]) {
    let image = chain.acquire().unwrap().expect("not minimised");
    draw(gpu, &image, colour);
    chain.present(image).unwrap();
}

/// Ends the manager, and checks that the device has no objects left.
pub(crate) fn end(gpu: Gpu<Device>) {
    let device = gpu.device().clone();
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    assert_eq!(device.live_objects(), Default::default());
}

#[test]
fn presented_images_are_seen() {
    let (gpu, window) = (gpu(), TestWindow::new([96, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([96, 64])).unwrap();
    assert_eq!((chain.extent(), chain.images()), ([96, 64], 3));
    assert_eq!((chain.format(), chain.mode()), (Format::Bgra8Srgb, PresentMode::Fifo));
    assert!(!chain.is_outdated() && chain.waitable().is_some());
    // Half of the light is more than half of the byte: the view is sRGB.
    for (colour, seen) in [(RED, [255, 0, 0]), (GREEN, [0, 255, 0]), ([0.5; 4], [188; 3])] {
        for _ in 0..4 {
            frame(&gpu, &mut chain, colour);
        }
        window.expect([48, 32], seen);
        window.expect([95, 63], seen);
    }
    drop(chain);
    end(gpu);
}

#[test]
fn every_format_and_mode_presents() {
    let gpu = gpu();
    let formats = [
        (Format::Rgba8Unorm, 128),
        (Format::Rgba8Srgb, 188),
        (Format::Bgra8Unorm, 128),
        (Format::Bgra8Srgb, 188),
        (Format::Rgb10A2Unorm, 128),
    ];
    // Each has its own window: Wine shows nothing of a second chain until the window is resized.
    for (format, half) in formats {
        let window = TestWindow::new([64, 64]);
        let desc = SwapchainDesc::new([64, 64]).format(format).images(2);
        let mut chain = Swapchain::new(&gpu, window.handle, &desc).unwrap();
        assert_eq!((chain.format(), chain.images()), (format, 2));
        for _ in 0..3 {
            frame(&gpu, &mut chain, [0.0, 0.5, 1.0, 1.0]);
        }
        window.expect([32, 32], [0, half, 255]);
    }
    for mode in [PresentMode::Mailbox, PresentMode::Immediate, PresentMode::FifoRelaxed] {
        let window = TestWindow::new([64, 64]);
        let mut chain =
            Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64]).mode(mode)).unwrap();
        let relaxed = mode == PresentMode::FifoRelaxed;
        assert_eq!(chain.mode(), if relaxed { PresentMode::Fifo } else { mode });
        for _ in 0..20 {
            frame(&gpu, &mut chain, RED);
        }
        window.expect([32, 32], [255, 0, 0]);
    }
    end(gpu);
}

/// A thousand frames, each of the current size of the window, and nothing is left.
#[test]
fn a_thousand_frames_with_resizes_leave_nothing() {
    let (gpu, window) = (gpu(), TestWindow::new([100, 50]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([100, 50])).unwrap();
    let mut resizes = 0;
    for number in 0..1_000_i32 {
        if number % 50 == 49 {
            window.resize([60 + number % 97, 40 + number % 31]);
        }
        if chain.is_outdated() {
            let size = [60 + (number % 97).unsigned_abs(), 40 + (number % 31).unsigned_abs()];
            chain.resize(size).unwrap();
            assert_eq!(chain.extent(), size);
            assert!(!chain.is_outdated());
            resizes += 1;
        }
        frame(&gpu, &mut chain, if number % 2 == 0 { GREEN } else { RED });
        if number % 50 == 49 {
            window.expect([20, 20], [255, 0, 0]);
        }
    }
    assert_eq!(resizes, 20);
    drop(chain);
    end(gpu);
}

/// With a copy of the picture, as for screenshots.
#[test]
fn images_with_the_copy_usage_are_copied() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let desc = SwapchainDesc::new([64, 64]).usage(Usage::COPY_SRC).format(Format::Rgba8Unorm);
    let mut chain = Swapchain::new(&gpu, window.handle, &desc).unwrap();
    let bytes = BufferDesc::new(64 * 256, Usage::COPY_DST).memory(MemoryUse::Readback);
    let copy = gpu.create_buffer(&bytes).unwrap();
    let image = chain.acquire().unwrap().unwrap();
    let mut list = gpu.record(Queue::Graphics, "picture").unwrap();
    crate::window::fill(&mut list, &image, RED);
    let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
    let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 64 };
    list.copy_texture_to_buffer(image.texture(), region, &copy, layout).unwrap();
    image.finish(&mut list).unwrap();
    let drawn = list.submit().unwrap();
    chain.present(image).unwrap();
    assert!(gpu.wait(&drawn, LONG).unwrap());
    let mut found = [0; 4];
    copy.read(0, &mut found).unwrap();
    assert_eq!(found, [255, 0, 0, 255]);
    drop((chain, copy));
    end(gpu);
}

/// Objects dropped after a present outlive it, without another frame.
#[test]
fn presenting_counts_as_a_submission() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let image = chain.acquire().unwrap().unwrap();
    draw(&gpu, &image, RED);
    let drawn = gpu.submitted();
    chain.present(image).unwrap();
    let presented = gpu.submitted();
    assert!(drawn.is_covered_by(&presented) && !presented.is_covered_by(&drawn));
    assert!(gpu.wait(&presented, LONG).unwrap());
    drop(chain);
    end(gpu);
}

#[test]
fn a_minimised_window_has_no_images() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([0, 64])).unwrap();
    assert!(chain.acquire().unwrap().is_none() && chain.is_outdated());
    assert_eq!(chain.extent(), [0, 0]);
    assert!(chain.waitable().is_none() && chain.raw().is_none());
    chain.resize([0, 0]).unwrap();
    chain.resize([64, 64]).unwrap();
    frame(&gpu, &mut chain, GREEN);
    for size in [[0, 0], [64, 0]] {
        window.minimise(true);
        chain.resize(size).unwrap();
        assert!(chain.acquire().unwrap().is_none());
        assert_eq!(chain.extent(), [0, 0]);
        window.minimise(false);
        chain.resize([64, 64]).unwrap();
        assert!(!chain.is_outdated());
        for _ in 0..3 {
            frame(&gpu, &mut chain, GREEN);
        }
        window.expect([32, 32], [0, 255, 0]);
    }
    drop(chain);
    end(gpu);
}

/// The latency limits how far presenting runs ahead; a program can wait by itself.
#[test]
fn acquire_waits_for_the_frame_latency() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    for latency in [1, 2, 16, 1] {
        chain.set_frame_latency(latency).unwrap();
        for _ in 0..20 {
            frame(&gpu, &mut chain, RED);
        }
    }
    for frames in [0, 17] {
        let refused = chain.set_frame_latency(frames).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("swap chain: broken rule: 1 to 16 images may wait to be shown ({frames}, limit 16)")
        );
    }
    let begun = Instant::now();
    let handle = chain.waitable().unwrap();
    for _ in 0..10 {
        // SAFETY: the handle is open as long as the chain.
        let waited =
            unsafe { tenure_d3d12::windows::Win32::System::Threading::WaitForSingleObject(handle, 10_000) };
        assert_eq!(waited.0, 0, "it was set");
        chain.waited();
        frame(&gpu, &mut chain, GREEN);
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    window.expect([32, 32], [0, 255, 0]);
    drop(chain);
    end(gpu);
}

/// A dropped image returns with its contents.
#[test]
fn dropped_images_are_handed_out_again() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    chain.set_frame_latency(1).unwrap();
    frame(&gpu, &mut chain, RED);
    for _ in 0..5 {
        let dropped = chain.acquire().unwrap().unwrap();
        let index = dropped.index();
        drop(dropped);
        let again = chain.acquire().unwrap().unwrap();
        assert_eq!(again.index(), index);
        draw(&gpu, &again, GREEN);
        drop(again);
        let shown = chain.acquire().unwrap().unwrap();
        assert_eq!(shown.index(), index);
        let mut list = gpu.record(Queue::Graphics, "shown as it is").unwrap();
        shown.finish(&mut list).unwrap();
        list.submit().unwrap();
        chain.present(shown).unwrap();
        window.expect([32, 32], [0, 255, 0]);
    }
    drop(chain);
    end(gpu);
}
