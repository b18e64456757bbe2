//! Surfaces without a window: images are read back before they are presented.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::Harness as _;
use tenure_core::device::{Format, Plane, TextureRegion};
use tenure_core::{
    BufferDesc, Config, Error, Gpu, PresentMode, Queue, SwapchainDesc, SwapchainRule, TextureViewDesc, Usage,
};
use tenure_vulkan::{Device, OptionalFeatures, Swapchain};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::{Headless, Painter, all_options, color, desc, frame};
use crate::basics::LONG;
use crate::harness::{Vulkan, validated};

/// Runs a test on each kind of device.
fn on_all(test: impl Fn(&Gpu<Device>, &Headless)) {
    for options in all_options() {
        let harness = Vulkan::new(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        if let Some(headless) = Headless::new(gpu.device()) {
            test(&gpu, &headless);
            drop(headless);
        }
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{report:?}");
        drop(gpu);
        harness.end();
    }
}

fn rule<T: std::fmt::Debug>(answer: Result<T, Error>) -> SwapchainRule {
    match answer {
        Err(Error::Swapchain { rule, .. }) => rule,
        other => panic!("{other:?}"),
    }
}

/// The bytes of the first texel, of a format whose bytes are as its name says.
fn bytes(format: Format, color: [f32; 4]) -> [u8; 4] {
    let [r, g, b, a] = color.map(|part| if part > 0.5 { 255 } else { 0 });
    match format {
        Format::Bgra8Srgb | Format::Bgra8Unorm => [b, g, r, a],
        _ => [r, g, b, a],
    }
}

#[test]
fn images_are_drawn_to_read_and_presented() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([64, 32])).unwrap();
        assert_eq!(swapchain.extent(), [64, 32]);
        assert!(swapchain.images() >= 3 && !swapchain.is_outdated());
        assert_eq!(swapchain.mode(), PresentMode::Fifo);
        assert!(swapchain.can_present_on(Queue::Graphics));
        let format = swapchain.format();
        let formats = [Format::Bgra8Srgb, Format::Rgba8Srgb, Format::Bgra8Unorm, Format::Rgba8Unorm];
        assert!(formats.contains(&format), "{format:?}");
        let mut painter = Painter::new(gpu.device(), format);
        for number in 0..20 {
            let frame = gpu.begin_frame().unwrap();
            let image = swapchain.acquire().unwrap().unwrap();
            assert!(image.index() < swapchain.images());
            let mut recording = frame.record(Queue::Graphics, "picture").unwrap();
            image.begin(&mut recording).unwrap();
            painter.paint(&mut recording, &image, color(number));
            let region =
                TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 32, 1] };
            let readback = recording.read_back_texture(image.texture(), region).unwrap();
            image.finish(&mut recording).unwrap();
            frame.submit(recording).unwrap();
            swapchain.present(image).unwrap();
            frame.end().unwrap();
            let texels = readback.wait(LONG).unwrap();
            assert_eq!(texels.len(), 64 * 32 * 4);
            let wanted = bytes(format, color(number));
            assert!(texels.chunks(4).all(|texel| texel == wanted), "{:?} {wanted:?}", &texels[..4]);
        }
        let text = format!("{swapchain:?}");
        assert!(text.contains("swap chain") && text.contains("[64, 32]"), "{text}");
    });
}

/// The recording that waits is not the one that draws, or there is none that draws.
#[test]
fn recordings_share_an_image() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for number in 0..6 {
            let image = swapchain.acquire().unwrap().unwrap();
            if number % 2 == 0 {
                let mut first = gpu.record(Queue::Graphics, "first").unwrap();
                image.begin(&mut first).unwrap();
                painter.paint(&mut first, &image, color(1));
                first.submit().unwrap();
            }
            let mut last = gpu.record(Queue::Graphics, "last").unwrap();
            image.finish(&mut last).unwrap();
            last.submit().unwrap();
            swapchain.present(image).unwrap();
        }
        gpu.wait(&gpu.submitted(), LONG).unwrap();
    });
}

/// A recording that begins with an image is submitted after the one that finishes it, or not at all: the image is not
/// presented, and is drawn again. The validation layer has nothing to say.
#[test]
fn an_image_is_begun_before_it_is_finished() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for is_submitted in [true, false, true] {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut late = gpu.record(Queue::Graphics, "late").unwrap();
            image.begin(&mut late).unwrap();
            // It uses the image by nothing that waits for it.
            let mut last = gpu.record(Queue::Graphics, "last").unwrap();
            image.finish(&mut last).unwrap();
            if is_submitted {
                late.submit().unwrap();
                last.submit().unwrap();
                swapchain.present(image).unwrap();
                continue;
            }
            drop(late);
            drop(last);
            assert_eq!(rule(swapchain.present(image)), SwapchainRule::NotFinished);
            let image = swapchain.acquire().unwrap().unwrap();
            let mut late = gpu.record(Queue::Graphics, "late").unwrap();
            image.begin(&mut late).unwrap();
            let mut last = gpu.record(Queue::Graphics, "last").unwrap();
            image.finish(&mut last).unwrap();
            late.submit().unwrap();
            last.submit().unwrap();
            // Dropped instead of presented, and finished anew.
            drop(image);
            let image = swapchain.acquire().unwrap().unwrap();
            let mut again = gpu.record(Queue::Graphics, "again").unwrap();
            painter.paint(&mut again, &image, color(3));
            image.finish(&mut again).unwrap();
            again.submit().unwrap();
            swapchain.present(image).unwrap();
        }
        gpu.wait(&gpu.submitted(), LONG).unwrap();
    });
}

/// The program has an image when the swap chain is dropped: the waits and signals of its frame end with it.
#[test]
fn images_that_outlive_their_swap_chain_leave_no_objects() {
    on_all(|gpu, _| {
        for is_submitted in [true, false] {
            let headless = Headless::new(gpu.device()).unwrap();
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
            image.finish(&mut recording).unwrap();
            let recording = if is_submitted {
                recording.submit().unwrap();
                None
            } else {
                Some(recording)
            };
            drop(swapchain);
            drop((image, recording));
            gpu.wait(&gpu.submitted(), LONG).unwrap();
            gpu.reclaim().unwrap();
            drop(headless);
        }
    });
}

/// A recording that has only begun with an image is submitted after the swap chain and the image are dropped.
#[test]
fn semaphores_of_a_recording_outlive_its_image() {
    on_all(|gpu, _| {
        let headless = Headless::new(gpu.device()).unwrap();
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
        image.begin(&mut recording).unwrap();
        drop((swapchain, image));
        gpu.reclaim().unwrap();
        let submitted = recording.submit().unwrap();
        assert!(gpu.wait(&submitted, LONG).unwrap());
        gpu.reclaim().unwrap();
        drop(headless);
    });
}

/// Counts events, and panics at each.
struct Panicking(Arc<AtomicU32>);

impl Subscriber for Panicking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("a subscriber panics");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_subscriber_that_panics_does_not_unwind_out_of_a_drop() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
        image.begin(&mut recording).unwrap();
        let heard = Arc::<AtomicU32>::default();
        tracing::subscriber::with_default(Panicking(heard.clone()), || drop(swapchain));
        assert!(heard.load(Ordering::Relaxed) > 0, "the image is in use, which is logged");
        drop(image);
        let submitted = recording.submit().unwrap();
        assert!(gpu.wait(&submitted, LONG).unwrap());
        gpu.reclaim().unwrap();
    });
}

/// After the drop of a swap chain its surface can be destroyed, also with recordings that are open or not
/// submitted.
#[test]
fn the_surface_is_free_when_the_swap_chain_is_dropped() {
    on_all(|gpu, _| {
        let buffer = gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX | Usage::COPY_DST)).unwrap();
        for is_recording in [false, true] {
            let headless = Headless::new(gpu.device()).unwrap();
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..3 {
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            }
            drop(painter);
            gpu.upload(&buffer, 0, &vec![1; 1 << 20]).unwrap();
            std::thread::scope(|scope| {
                let recording = is_recording.then(|| gpu.record(Queue::Graphics, "loader").unwrap());
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(50));
                    drop(recording);
                });
                drop(swapchain);
                // The validation layer would say that a swap chain is left.
                drop(headless);
            });
        }
    });
}

#[test]
fn wrong_uses_are_refused() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let other = Headless::new(gpu.device()).unwrap();
        let mut second = other.swapchain(gpu, &desc([16, 16]).name("other")).unwrap();

        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(rule(swapchain.acquire()), SwapchainRule::OneAtATime);
        assert_eq!(rule(swapchain.resize([8, 8])), SwapchainRule::ImageHeld);
        let index = image.index();
        assert_eq!(rule(swapchain.present(image)), SwapchainRule::NotFinished);

        // It is handed out again, and to be presented by its own swap chain.
        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(image.index(), index);
        let mut recording = gpu.record(Queue::Graphics, "finish").unwrap();
        image.finish(&mut recording).unwrap();
        assert_eq!(rule(image.finish(&mut recording)), SwapchainRule::FinishedOnce);
        assert_eq!(rule(second.present(image)), SwapchainRule::OtherSwapchain);
        // It would be waited for when the recording is submitted.
        assert_eq!(rule(swapchain.resize([8, 8])), SwapchainRule::ImageHeld);
        recording.submit().unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(image.index(), index);
        assert_eq!(rule(swapchain.present(image)), SwapchainRule::NotFinished, "handed out anew");
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "finish again").unwrap();
        image.finish(&mut recording).unwrap();
        recording.submit().unwrap();
        swapchain.present(image).unwrap();
        drop(second);
        drop(swapchain);
    });
}

/// However far a frame came with an image that it dropped, the next one, a resize and the end go well.
#[test]
fn images_that_are_not_presented_are_used_again() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for round in 0..12 {
            let image = swapchain.acquire().unwrap().unwrap();
            match round % 4 {
                0 => {}
                1 => drop(gpu.record(Queue::Graphics, "discarded").map(|mut it| image.finish(&mut it))),
                2 => {
                    let mut recording = gpu.record(Queue::Graphics, "begun").unwrap();
                    image.begin(&mut recording).unwrap();
                    painter.paint(&mut recording, &image, color(2));
                    recording.submit().unwrap();
                }
                _ => {
                    let mut recording = gpu.record(Queue::Graphics, "finished").unwrap();
                    image.finish(&mut recording).unwrap();
                    recording.submit().unwrap();
                }
            }
            drop(image);
            match round / 4 {
                0 => assert!(frame(gpu, &mut swapchain, &mut painter, round).unwrap()),
                1 => swapchain.resize([16 + round, 16]).unwrap(),
                _ => {
                    drop(swapchain);
                    swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
                }
            }
        }
        gpu.wait(&gpu.submitted(), LONG).unwrap();
    });
}

/// A minimised window has no images, before and after it had some.
#[test]
fn a_minimised_window_has_no_images() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([0, 16])).unwrap();
        assert!(swapchain.acquire().unwrap().is_none() && !swapchain.is_outdated());
        assert_eq!((swapchain.extent(), swapchain.images()), ([0, 0], 0));
        swapchain.resize([16, 16]).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for size in [[16, 16], [16, 0], [0, 0], [32, 16], [0, 0], [8, 8]] {
            swapchain.resize(size).unwrap();
            let is_shown = frame(gpu, &mut swapchain, &mut painter, 1).unwrap();
            assert_eq!(is_shown, !size.contains(&0));
            let extent = if is_shown { size } else { [0, 0] };
            assert_eq!(swapchain.extent(), extent);
        }
    });
}

#[test]
fn thousand_frames_with_resizes_leave_nothing() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([32, 32])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for number in 0..1000 {
            if number % 50 == 49 {
                swapchain.resize([32 + number % 7, 32 + number % 5]).unwrap();
            }
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
        }
    });
}

/// Chains are replaced faster than anything of them is shown.
#[test]
fn resizes_without_frames_stay_bounded() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([32, 32])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for number in 0..40 {
            swapchain.resize([33 + number, 32]).unwrap();
            if number % 3 == 0 {
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            }
        }
    });
}

/// Views of the program's outlive the chain that they are of, and it lives for them.
#[test]
fn handles_of_images_keep_their_chain() {
    on_all(|gpu, headless| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        let image = swapchain.acquire().unwrap().unwrap();
        let view = gpu.create_texture_view(image.texture(), &TextureViewDesc::render_target()).unwrap();
        drop(image);
        for number in 0..8 {
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            swapchain.resize([17 + number, 16]).unwrap();
        }
        let recording = gpu.record(Queue::Graphics, "open").unwrap();
        drop(swapchain);
        drop(recording);
        gpu.reclaim().unwrap();
        drop(view);
        gpu.reclaim().unwrap();
        gpu.reclaim().unwrap();
    });
}

#[test]
fn settings_that_the_surface_lacks_are_refused() {
    on_all(|gpu, headless| {
        let strange = SwapchainDesc::new([16, 16]).format(Format::D32Float);
        assert_eq!(rule(headless.swapchain(gpu, &strange)), SwapchainRule::Format);
        let exact = SwapchainDesc::new([16, 16]).format(Format::Bgra8Unorm).images(99);
        let swapchain = headless.swapchain(gpu, &exact.mode(PresentMode::Mailbox)).unwrap();
        assert_eq!(swapchain.format(), Format::Bgra8Unorm);
        assert!(swapchain.images() >= 4, "{swapchain:?}");
    });
}

/// No device has sRGB images that shaders write: the format is one that it can.
#[test]
fn the_format_is_one_for_the_usage() {
    on_all(|gpu, headless| {
        let stored = SwapchainDesc::new([16, 16]).usage(Usage::UNORDERED_ACCESS);
        let swapchain = headless.swapchain(gpu, &stored).unwrap();
        assert!(!swapchain.format().is_srgb(), "{:?}", swapchain.format());
        let exact = stored.format(Format::Bgra8Srgb);
        assert_eq!(rule(headless.swapchain(gpu, &exact)), SwapchainRule::Format);
    });
}

/// Nothing is enabled that a swap chain needs.
#[test]
fn swap_chains_need_their_extensions() {
    let harness = Vulkan::new(validated());
    let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
    let surface = tenure_vulkan::ash::vk::SurfaceKHR::null();
    // SAFETY: it is refused before the surface is used.
    let refused = unsafe { Swapchain::new(&gpu, surface, &desc([16, 16])) };
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("DeviceConfig::presentation"), "{refused}");
    assert!(!gpu.device().optional_features().contains(OptionalFeatures::SWAPCHAIN_MAINTENANCE1));
    drop(gpu);
    harness.end();
}

/// The manager is shut down first, or the device's queues are held when the swap chain is dropped.
#[test]
fn manager_and_swap_chain_end_in_any_order() {
    on_all(|gpu, headless| {
        let clone = gpu.clone();
        let mut swapchain = headless.swapchain(&clone, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        assert!(frame(gpu, &mut swapchain, &mut painter, 3).unwrap());
        let buffer = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST)).unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        drop((image, buffer));
        let report = gpu.shutdown();
        assert!(!report.leaks.is_empty(), "the images of the swap chain");
        drop(swapchain);
        assert!(gpu.wait(&gpu.submitted(), Duration::from_secs(1)).unwrap());
    });
}
