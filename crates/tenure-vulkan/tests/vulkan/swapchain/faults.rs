//! Swap chains whose calls fail.

use std::time::{Duration, Instant};

use conformance::Harness as _;
use tenure_core::{Config, Error, Gpu, Queue, SwapchainRule};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig, ash};

use super::{Headless, Painter, all_options, desc, frame};
use crate::disguise::{Costume, Disguise};
use crate::harness::Vulkan;

/// A device in disguise that presents.
fn disguised(options: DeviceConfig) -> Vulkan {
    Vulkan::wearing(Costume::plain(), options, |raw| {
        raw.extensions.push(ash::khr::swapchain::NAME.to_owned());
    })
}

/// Runs a test on each kind of device. The device may be lost at the end.
fn on_all(test: impl Fn(&Gpu<Device>, &Headless, &Disguise)) {
    for options in all_options() {
        let harness = disguised(options);
        let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
        if let Some(headless) = Headless::new(gpu.device()) {
            test(&gpu, &headless, harness.disguise());
            assert_eq!(harness.disguise().chains(), 0);
        }
        drop(gpu);
        harness.close();
        let problems = harness.log().problems();
        assert!(problems.is_empty(), "{problems:?}");
    }
}

fn is_lost<T: std::fmt::Debug>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(error) if error.to_string().contains("lost"))
}

#[test]
fn no_call_hangs_after_a_device_loss() {
    for call in ["vkAcquireNextImageKHR", "vkQueuePresentKHR", "vkCreateSwapchainKHR", "vkQueueSubmit2"] {
        on_all(|gpu, headless, disguise| {
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
            disguise.fail(call, vk::Result::ERROR_DEVICE_LOST);
            let begun = Instant::now();
            let mut failed = frame(gpu, &mut swapchain, &mut painter, 1).map(drop);
            if failed.is_ok() {
                failed = swapchain.resize([8, 8]);
            }
            assert!(is_lost(&failed), "{call}: {failed:?}");
            assert!(is_lost(&swapchain.acquire()) && is_lost(&swapchain.resize([9, 9])));
            // The device beneath is not lost, and still draws.
            // SAFETY: nothing else uses its queue.
            unsafe { gpu.device().raw().device_wait_idle() }.unwrap();
            painter.end_frames();
            drop(swapchain);
            assert!(begun.elapsed() < Duration::from_secs(3), "{call}");
            drop(painter);
        });
    }
}

/// Out of date and suboptimal are one event, at both calls, and a resize ends it.
#[test]
fn changes_of_the_window_are_one_event() {
    let (outdated, suboptimal) = (vk::Result::ERROR_OUT_OF_DATE_KHR, vk::Result::SUBOPTIMAL_KHR);
    for (call, result, is_shown) in [
        ("vkAcquireNextImageKHR", outdated, false),
        ("vkAcquireNextImageKHR", suboptimal, true),
        ("vkQueuePresentKHR", outdated, true),
        ("vkQueuePresentKHR", suboptimal, true),
    ] {
        on_all(|gpu, headless, disguise| {
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..5 {
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
                disguise.fail(call, result);
                assert_eq!(frame(gpu, &mut swapchain, &mut painter, number).unwrap(), is_shown);
                assert!(swapchain.is_outdated(), "{call} {result}");
                let goes_on = frame(gpu, &mut swapchain, &mut painter, number).unwrap();
                assert_eq!(goes_on, result == suboptimal);
                swapchain.resize([16, 16]).unwrap();
                assert!(!swapchain.is_outdated());
            }
            gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
            drop(swapchain);
        });
    }
}

/// A window that every presentation finds changed, and whose chains would all be the same, keeps its chain: Android's while
/// the screen is rotated. One that was as its images are has changed.
#[test]
fn a_window_that_never_fits_keeps_its_images() {
    let suboptimal = vk::Result::SUBOPTIMAL_KHR;
    for call in ["vkAcquireNextImageKHR", "vkQueuePresentKHR"] {
        on_all(|gpu, headless, disguise| {
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..20 {
                disguise.fail(call, suboptimal);
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
                assert!(!swapchain.is_outdated(), "{call} {number}");
            }
            assert!(frame(gpu, &mut swapchain, &mut painter, 20).unwrap());
            disguise.fail(call, suboptimal);
            assert!(frame(gpu, &mut swapchain, &mut painter, 21).unwrap());
            assert!(swapchain.is_outdated(), "{call}");
            gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
            drop(swapchain);
        });
    }
}

/// A refusal for lack of memory changes nothing: the next one does it.
#[test]
fn shortages_are_survived() {
    let memory = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    on_all(|gpu, headless, disguise| {
        for call in ["vkCreateSwapchainKHR", "vkGetSwapchainImagesKHR"] {
            disguise.fail(call, memory);
            assert!(headless.swapchain(gpu, &desc([16, 16])).is_err(), "{call}");
            gpu.reclaim().unwrap();
        }
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for number in 0..10 {
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            disguise.fail("vkAcquireNextImageKHR", memory);
            assert!(swapchain.acquire().is_err());
            let image = swapchain.acquire().unwrap().unwrap();
            let index = image.index();
            let mut recording = gpu.record(Queue::Graphics, "picture").unwrap();
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            disguise.fail("vkQueuePresentKHR", memory);
            assert!(swapchain.present(image).is_err());
            let again = swapchain.acquire().unwrap().unwrap();
            assert_eq!(again.index(), index);
            drop(again);
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            disguise.fail("vkCreateSwapchainKHR", memory);
            assert!(swapchain.resize([20 + number, 20]).is_err());
            assert!(swapchain.is_outdated() && swapchain.acquire().unwrap().is_none());
            swapchain.resize([20 + number, 20]).unwrap();
        }
    });
}

#[test]
fn a_lost_window_is_an_error() {
    on_all(|gpu, headless, disguise| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        let mut painter = Painter::new(gpu.device(), swapchain.format());
        for call in ["vkAcquireNextImageKHR", "vkQueuePresentKHR"] {
            disguise.fail(call, vk::Result::ERROR_SURFACE_LOST_KHR);
            let failed = frame(gpu, &mut swapchain, &mut painter, 1);
            let is_told = matches!(failed, Err(Error::Swapchain { rule: SwapchainRule::WindowLost, .. }));
            assert!(is_told, "{call}: {failed:?}");
        }
        gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
        drop(swapchain);
    });
}

/// With all images in use there is none within the time.
#[test]
fn a_wait_for_an_image_ends() {
    on_all(|gpu, headless, disguise| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
        for result in [vk::Result::TIMEOUT, vk::Result::NOT_READY] {
            disguise.fail("vkAcquireNextImageKHR", result);
            let refused = swapchain.acquire().unwrap_err();
            assert!(matches!(refused, Error::Timeout { .. }), "{refused}");
        }
        assert!(swapchain.acquire().unwrap().is_some());
    });
}

/// Fences of presentations that the driver never signals, and presentations that a layer drops, as gamescope's does: nothing
/// waits for them for long, and nothing is kept for them.
#[test]
fn fences_that_are_never_signalled_hold_nothing_up() {
    let outdated = vk::Result::ERROR_OUT_OF_DATE_KHR;
    for drops in [false, true] {
        on_all(|gpu, headless, disguise| {
            disguise.lose_presents();
            let begun = Instant::now();
            let mut swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let mut painter = Painter::new(gpu.device(), swapchain.format());
            for number in 0..200 {
                if drops && number % 5 == 4 {
                    disguise.fail("vkQueuePresentKHR", outdated);
                }
                assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
                let is_resized = number > 150 && number % 7 == 0;
                if swapchain.is_outdated() || is_resized {
                    swapchain.resize([16 + number % 3, 16]).unwrap();
                }
                assert!(disguise.chains() <= 5, "{number}: {}", disguise.chains());
            }
            // Chains whose images the GPU still uses would count, too.
            gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
            // No frame proves that the presentations are over.
            for size in 1..10 {
                swapchain.resize([size, 16]).unwrap();
                assert!(disguise.chains() <= 6, "{size}: {}", disguise.chains());
            }
            gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
            drop(swapchain);
            assert!(begun.elapsed() < Duration::from_secs(4), "{drops}: {:?}", begun.elapsed());
        });
    }
}
