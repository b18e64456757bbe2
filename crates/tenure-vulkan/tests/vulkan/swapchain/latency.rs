//! The images that wait to be shown are bounded, on a device that tells which are shown.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::{Config, Error, FrameConfig, Gpu, PresentMode};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig, OptionalFeatures, ash};

use super::{Headless, Painter, desc, frame};
use crate::disguise::present::Presentation::{self, Awaited, Presented};
use crate::disguise::{Costume, Disguise};
use crate::harness::{Vulkan, validated};

/// Runs a test on a device that seems to have the extensions.
fn on_telling(frames: u32, test: impl Fn(&Gpu<Device>, &Headless, &Disguise)) {
    let harness = Vulkan::wearing(Costume::plain(), validated().presentation(true), |raw| {
        raw.extensions.push(ash::khr::swapchain::NAME.to_owned());
        raw.extensions.push(ash::khr::present_id::NAME.to_owned());
        raw.extensions.push(ash::khr::present_wait::NAME.to_owned());
        raw.enabled |= OptionalFeatures::PRESENT_ID | OptionalFeatures::PRESENT_WAIT;
    });
    let config = Config::from(FrameConfig::default().in_flight(frames));
    let gpu = Gpu::new(harness.device(), config).unwrap();
    if let Some(headless) = Headless::new(gpu.device()) {
        test(&gpu, &headless, harness.disguise());
    }
    drop(gpu);
    harness.close();
    let problems = harness.log().problems();
    assert!(problems.is_empty(), "{problems:?}");
}

/// With a limit of `latency` waiting images, each frame waits for the image presented `latency` frames earlier.
fn expected(frames: u64, latency: u64) -> Vec<Presentation> {
    let of_frame = |number: u64| {
        let awaited = number.checked_sub(latency).filter(|number| *number > 0).map(Awaited);
        awaited.into_iter().chain([Presented(number)])
    };
    (1..=frames).flat_map(of_frame).collect()
}

#[test]
fn as_many_images_wait_as_frames_are_in_flight() {
    for latency in [1, 2, 3] {
        on_telling(latency, |gpu, headless, disguise| {
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..6 {
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            }
            assert_eq!(disguise.presentations(), expected(6, latency.into()));
            drop(painter);
        });
    }
}

#[test]
fn the_program_sets_how_many_wait() {
    on_telling(3, |gpu, headless, disguise| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for wrong in [0, 17] {
            let refused = swapchain.set_frame_latency(wrong).unwrap_err();
            assert!(matches!(refused, Error::Device { .. }), "{refused}");
        }
        swapchain.set_frame_latency(16).unwrap();
        swapchain.set_frame_latency(1).unwrap();
        for number in 0..20 {
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
        }
        assert_eq!(disguise.presentations(), expected(20, 1));
        // A new chain counts anew.
        swapchain.resize([8, 8]).unwrap();
        assert!(frame(gpu, &mut swapchain, &mut painter, 20).unwrap());
        assert_eq!(disguise.presentations().last(), Some(&Presented(1)));
        drop(painter);
    });
}

/// A window that shows nothing, and one that has changed, hold nothing up; a lost device is an error.
#[test]
fn images_that_are_never_shown_hold_nothing_up() {
    on_telling(1, |gpu, headless, disguise| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        assert!(frame(gpu, &mut swapchain, &mut painter, 0).unwrap());
        let harmless = [vk::Result::TIMEOUT, vk::Result::SUBOPTIMAL_KHR, vk::Result::ERROR_OUT_OF_DATE_KHR];
        for result in harmless {
            disguise.fail("vkWaitForPresentKHR", result);
            assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap(), "{result}");
        }
        // The number of a refused presentation is not waited for.
        disguise.fail("vkQueuePresentKHR", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        assert!(frame(gpu, &mut swapchain, &mut painter, 2).is_err());
        assert!(frame(gpu, &mut swapchain, &mut painter, 3).unwrap());
        assert!(frame(gpu, &mut swapchain, &mut painter, 4).unwrap());
        let heard = [Presented(4), Awaited(4), Presented(6), Awaited(6), Presented(7)];
        assert!(disguise.presentations().ends_with(&heard));
        disguise.fail("vkWaitForPresentKHR", vk::Result::ERROR_DEVICE_LOST);
        let lost = frame(gpu, &mut swapchain, &mut painter, 5).unwrap_err();
        assert!(lost.is_device_lost(), "{lost}");
        // SAFETY: nothing else uses the queue of the device beneath, which is not lost.
        unsafe { gpu.device().raw().device_wait_idle() }.unwrap();
        painter.end_frames();
    });
}

/// Modes in which images replace each other do not wait for one that may never be shown.
#[test]
fn modes_without_a_queue_of_images_do_not_wait() {
    on_telling(1, |gpu, headless, disguise| {
        let desc = desc([16, 16]).modes(&[PresentMode::Mailbox, PresentMode::Immediate]);
        let mut swapchain = headless.swapchain(gpu, &desc).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        let is_in_order = matches!(swapchain.mode(), PresentMode::Fifo | PresentMode::FifoRelaxed);
        for number in 0..4 {
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
        }
        let waits = disguise.presentations().into_iter().filter(|heard| matches!(heard, Awaited(_))).count();
        assert_eq!(waits, if is_in_order { 3 } else { 0 });
        gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
        drop(painter);
    });
}

/// Without the extensions, presentations have no numbers.
#[test]
fn a_device_that_does_not_tell_is_not_asked() {
    let presentation = OptionalFeatures::PRESENT_ID | OptionalFeatures::PRESENT_WAIT;
    for without in [presentation, OptionalFeatures::PRESENT_ID] {
        let options: DeviceConfig = validated().presentation(true).without(without);
        let harness = Vulkan::wearing(Costume::plain(), options, |raw| {
            raw.extensions.push(ash::khr::swapchain::NAME.to_owned());
            raw.extensions.push(ash::khr::present_id::NAME.to_owned());
            raw.extensions.push(ash::khr::present_wait::NAME.to_owned());
            raw.enabled |= presentation;
        });
        assert!(!harness.device().optional_features().intersects(presentation));
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        if let Some(headless) = Headless::new(gpu.device()) {
            let mut swapchain = headless.swapchain(&gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..4 {
                assert!(frame(&gpu, &mut swapchain, &mut painter, number).unwrap());
            }
            assert_eq!(harness.disguise().presentations(), []);
            swapchain.set_frame_latency(1).unwrap();
            drop((swapchain, painter));
        }
        drop(gpu);
        harness.end();
    }
}
