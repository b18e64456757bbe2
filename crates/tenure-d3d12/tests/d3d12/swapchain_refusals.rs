//! Refusals of swap chains, and their end: nothing is lost, and nothing hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure_core::device::DeviceError;
use tenure_core::present::SwapchainDesc;
use tenure_core::{
    Awaited, BufferDesc, Config, Error, Format, FrameConfig, Gpu, Queue, State, Subresource, SwapchainRule,
    Usage,
};
use tenure_d3d12::windows::Win32::Foundation::HWND;
use tenure_d3d12::{Device, Swapchain};

use crate::bench::{COPY, GRAPHICS, LONG, device};
use crate::harness::Gate;
use crate::swapchain::{GREEN, RED, end, frame, gpu};
use crate::window::{TestWindow, draw, fill};

#[track_caller]
pub(crate) fn breaks<T>(answer: Result<T, Error>, wanted: SwapchainRule) {
    match answer.err() {
        Some(Error::Swapchain { rule, .. }) if rule == wanted => {}
        other => panic!("expected a refusal by '{wanted}', not {other:?}"),
    }
}

#[test]
fn windows_have_one_swap_chain() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let desc = SwapchainDesc::new([64, 64]);
    let mut chain = Swapchain::new(&gpu, window.handle, &desc).unwrap();
    breaks(Swapchain::new(&gpu, window.handle, &desc), SwapchainRule::WindowLost);
    breaks(Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([0, 0])), SwapchainRule::WindowLost);
    breaks(Swapchain::new(&gpu, HWND::default(), &desc), SwapchainRule::WindowLost);
    frame(&gpu, &mut chain, RED);
    // An image that is still held keeps the chain and so the window in use.
    let image = chain.acquire().unwrap().unwrap();
    drop(chain);
    breaks(Swapchain::new(&gpu, window.handle, &desc), SwapchainRule::WindowLost);
    drop(image);
    gpu.reclaim().unwrap();
    let mut next = Swapchain::new(&gpu, window.handle, &desc).unwrap();
    frame(&gpu, &mut next, GREEN);
    drop(next);
    end(gpu);
}

#[test]
fn descriptions_are_checked() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let desc = SwapchainDesc::new([64, 64]);
    let new = |desc: SwapchainDesc| Swapchain::new(&gpu, window.handle, &desc);
    breaks(new(desc.clone().format(Format::R8Unorm)), SwapchainRule::Format);
    breaks(new(desc.clone().images(17)), SwapchainRule::Images { images: 17, min: 2, max: 16 });
    let field = |answer: Result<Swapchain, Error>| match answer.err() {
        Some(Error::Device { source: DeviceError::InvalidDesc { field, .. }, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(new(SwapchainDesc::new([1, 16_385]))), "size");
    assert_eq!(field(new(desc.clone().usage(Usage::DEPTH_STENCIL))), "usage");
    // A refused chain does not keep the window.
    let mut chain = new(desc).unwrap();
    assert!(chain.resize([16_385, 1]).is_err());
    frame(&gpu, &mut chain, RED);
    drop(chain);
    end(gpu);
}

#[test]
fn images_are_presented_by_their_own_chain_when_finished() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let image = chain.acquire().unwrap().unwrap();
    breaks(chain.acquire(), SwapchainRule::OneAtATime);
    breaks(chain.present(image), SwapchainRule::NotFinished);
    // Begun, finished in a recording that is discarded, and finished in one that is still open.
    for is_discarded in [true, false] {
        let image = chain.acquire().unwrap().unwrap();
        let mut list = gpu.record(Queue::Graphics, "picture").unwrap();
        fill(&mut list, &image, RED);
        image.finish(&mut list).unwrap();
        if is_discarded {
            drop(list);
            breaks(chain.present(image), SwapchainRule::NotFinished);
        } else {
            breaks(chain.present(image), SwapchainRule::NotFinished);
            list.submit().unwrap();
            // It is handed out again, and finished again.
            let image = chain.acquire().unwrap().unwrap();
            breaks(chain.present(image), SwapchainRule::NotFinished);
            let image = chain.acquire().unwrap().unwrap();
            draw(&gpu, &image, GREEN);
            chain.present(image).unwrap();
        }
    }
    drop(chain);
    end(gpu);
}

#[test]
fn images_of_other_chains_are_refused() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let child = window.another();
    let desc = SwapchainDesc::new([64, 64]);
    let mut one = Swapchain::new(&gpu, window.handle, &desc).unwrap();
    let mut other = Swapchain::new(&gpu, child.handle(), &desc).unwrap();
    let image = one.acquire().unwrap().unwrap();
    draw(&gpu, &image, RED);
    breaks(other.present(image), SwapchainRule::OtherSwapchain);
    let image = one.acquire().unwrap().unwrap();
    draw(&gpu, &image, RED);
    one.present(image).unwrap();
    frame(&gpu, &mut other, GREEN);
    drop((one, other));
    end(gpu);
}

/// A resize completes with pending uploads, and while other threads submit, or record without an image; and a
/// chain that is dropped then leaves the window to the next.
#[test]
fn a_resize_is_not_held_up_by_other_work() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let buffer = gpu.create_buffer(&BufferDesc::new(8 << 20, Usage::VERTEX)).unwrap();
    let bytes = vec![1; 8 << 20];
    let loader = gpu.record(Queue::Graphics, "loader").unwrap();
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                gpu.upload(&buffer, 0, &bytes[..1 << 16]).unwrap();
                gpu.flush_uploads().unwrap();
            }
        });
        for width in 65..75 {
            frame(&gpu, &mut chain, RED);
            gpu.upload(&buffer, 0, &bytes).unwrap();
            let resized = chain.resize([width, 64]);
            if resized.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            resized.unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    gpu.upload(&buffer, 0, &bytes).unwrap();
    drop(chain);
    let mut again = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    frame(&gpu, &mut again, RED);
    drop((again, loader, buffer));
    end(gpu);
}

/// A refused resize changes nothing, and succeeds when no references are left.
#[test]
fn a_resize_does_not_wait_for_held_images() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    let image = chain.acquire().unwrap().unwrap();
    breaks(chain.resize([80, 80]), SwapchainRule::ImageHeld);
    breaks(chain.resize([0, 0]), SwapchainRule::ImageHeld);
    draw(&gpu, &image, RED);
    chain.present(image).unwrap();

    // DXGI detects a reference that the program holds. The image was drawn to and not finished.
    let image = chain.acquire().unwrap().unwrap();
    let own = image.texture().raw().raw().clone();
    let mut list = gpu.record(Queue::Graphics, "picture").unwrap();
    fill(&mut list, &image, GREEN);
    list.submit().unwrap();
    drop(image);
    breaks(chain.resize([80, 80]), SwapchainRule::ImageHeld);
    assert_eq!(chain.extent(), [64, 64]);
    for _ in 0..4 {
        frame(&gpu, &mut chain, GREEN);
    }
    window.expect([32, 32], [0, 255, 0]);
    drop(own);

    // So is an open recording that uses the image.
    let image = chain.acquire().unwrap().unwrap();
    let mut list = gpu.record(Queue::Graphics, "picture").unwrap();
    image.begin(&mut list).unwrap();
    list.use_resource(image.texture(), Subresource::All, State::PRESENT).unwrap();
    drop(image);
    breaks(chain.resize([80, 80]), SwapchainRule::ImageHeld);
    list.submit().unwrap();
    window.resize([80, 80]);
    chain.resize([80, 80]).unwrap();
    frame(&gpu, &mut chain, RED);
    window.expect([75, 75], [255, 0, 0]);
    drop(chain);
    end(gpu);
}

/// A chain whose images are never shown, because the GPU is blocked.
fn stuck(gpu: &Gpu<Device>, window: &TestWindow) -> (Swapchain, Gate) {
    let mut chain = Swapchain::new(gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    chain.set_frame_latency(1).unwrap();
    for _ in 0..6 {
        frame(gpu, &mut chain, RED);
    }
    let gate = Gate::new(gpu.device());
    gate.close();
    (chain, gate)
}

/// Presents until there is no image to draw to: a chain may have a spare one.
fn starve(gpu: &Gpu<Device>, chain: &mut Swapchain) -> Error {
    for _ in 0..3 {
        match chain.acquire() {
            Ok(image) => {
                let image = image.expect("not minimised");
                draw(gpu, &image, GREEN);
                chain.present(image).unwrap();
            }
            Err(error) => return error,
        }
    }
    panic!("it waits for the latency");
}

#[test]
fn acquire_waits_for_a_bounded_time() {
    let window = TestWindow::new([64, 64]);
    let frames = FrameConfig::default().timeout(Duration::from_millis(300));
    let gpu = Gpu::new(device(), Config::default().frames(frames)).unwrap();
    let (mut chain, gate) = stuck(&gpu, &window);
    let refused = starve(&gpu, &mut chain);
    assert_eq!(refused, Error::Timeout { what: Awaited::SwapchainImage, waited_ms: 300 });
    gate.open();
    frame(&gpu, &mut chain, GREEN);
    drop(chain);
    end(gpu);
}

#[test]
fn acquire_ends_when_the_device_is_lost() {
    let window = TestWindow::new([64, 64]);
    let frames = FrameConfig::default().timeout(LONG);
    let gpu = Gpu::new(device(), Config::default().frames(frames)).unwrap();
    let device = gpu.device().clone();
    let (mut chain, gate) = stuck(&gpu, &window);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            lose(&device);
        });
        assert!(starve(&gpu, &mut chain).is_device_lost());
    });
    assert!(begun.elapsed() < Duration::from_secs(20));
    // Wine's chain waits for the queue when it is released.
    gate.open();
    drop(chain);
    assert!(gpu.shutdown().lost.is_some());
    drop(gpu);
    assert_eq!(device.live_objects(), Default::default());
}

/// A GPU that does not finish is an error after the time that the configuration gives.
#[test]
fn waits_are_bounded() {
    let window = TestWindow::new([64, 64]);
    let short = Duration::from_millis(300);
    let frames = FrameConfig::default().timeout(short).shutdown_timeout(short);
    let gpu = Gpu::new(device(), Config::default().frames(frames)).unwrap();
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    frame(&gpu, &mut chain, RED);
    let gate = Gate::new(gpu.device());
    gate.close();
    let held = gpu.record(Queue::Graphics, "held").unwrap().submit().unwrap();
    let begun = Instant::now();
    let refused = chain.resize([80, 80]).unwrap_err();
    assert_eq!(refused, Error::Timeout { what: Awaited::SwapchainImage, waited_ms: 300 });
    assert!(begun.elapsed() < Duration::from_secs(20));
    gate.open();
    assert!(gpu.wait(&held, LONG).unwrap());
    chain.resize([80, 80]).unwrap();
    frame(&gpu, &mut chain, GREEN);
    drop(chain);
    end(gpu);
}

#[test]
fn a_destroyed_window_is_an_error() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([0, 0])).unwrap();
    window.destroy();
    assert!(chain.is_outdated());
    breaks(chain.resize([64, 64]), SwapchainRule::WindowLost);
    assert!(chain.acquire().unwrap().is_none());
    drop(chain);
    end(gpu);
}

/// The effect of Windows on the fences of a removed device.
pub(crate) fn lose(device: &Device) {
    for id in [GRAPHICS, COPY] {
        // SAFETY: the fence is alive.
        unsafe { device.fence(id).unwrap().Signal(u64::MAX) }.unwrap();
    }
}

/// The device is removed while images are in use: each call returns the error, none waits, and everything is
/// released.
#[test]
fn swap_chains_end_with_their_device() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let device = gpu.device().clone();
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    for _ in 0..4 {
        frame(&gpu, &mut chain, RED);
    }
    let image = chain.acquire().unwrap().unwrap();
    draw(&gpu, &image, RED);
    // A signal that comes later would lower the fence again.
    assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());
    lose(&device);
    let begun = Instant::now();
    let lost = |answer: Result<(), Error>| assert!(answer.unwrap_err().is_device_lost());
    lost(chain.present(image));
    lost(chain.acquire().map(drop));
    lost(chain.resize([80, 80]));
    lost(Swapchain::new(&gpu, window.another().handle(), &SwapchainDesc::new([64, 64])).map(drop));
    drop(chain);
    let report = gpu.shutdown();
    drop(gpu);
    assert!(begun.elapsed() < Duration::from_secs(20), "nothing waits for a GPU that is gone");
    assert!(report.lost.is_some() && report.leaks.is_empty(), "{report:?}");
    assert_eq!(device.live_objects(), Default::default());
}
