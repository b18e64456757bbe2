//! Formats and modes of swap chains: lists, wishes, and changes at run time.

use std::time::{Duration, Instant};

use conformance::Harness as _;
use tenure_core::device::{DeviceError, Format};
use tenure_core::{
    ColorSpace, Config, Error, Gpu, HdrMetadata, PresentMode, Queue, SurfaceFormat, SwapchainDesc,
    SwapchainRule,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig, Swapchain, ash};

use super::{Headless, Painter, all_options, desc, frame};
use crate::disguise::{Costume, Disguise, hooked_entry};
use crate::harness::Vulkan;

const CREATE: &str = "vkCreateSwapchainKHR";
/// The headless surface has it, and the disguise offers HDR10 with it.
const FORMAT: Format = Format::Rgba8Unorm;
const LINEAR: SurfaceFormat = SurfaceFormat::new(FORMAT, ColorSpace::Srgb);
const HDR: SurfaceFormat = SurfaceFormat::new(FORMAT, ColorSpace::Hdr10);

/// A device whose surfaces can offer HDR10.
fn disguised(options: DeviceConfig, has_metadata: bool) -> Vulkan {
    Vulkan::wearing(Costume::plain(), options, |raw| {
        let metadata = ash::ext::hdr_metadata::NAME;
        raw.entry = raw.entry.take().map(hooked_entry);
        raw.extensions.retain(|name| name.as_c_str() != metadata);
        raw.extensions.push(ash::khr::swapchain::NAME.to_owned());
        raw.extensions.extend(has_metadata.then(|| metadata.to_owned()));
    })
}

/// Runs a test on each kind of device. The device may be lost at the end.
fn on_all(test: impl Fn(&Gpu<Device>, &Headless, &Disguise)) {
    for options in all_options() {
        let harness = disguised(options, true);
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

fn chosen(swapchain: &Swapchain) -> SurfaceFormat {
    SurfaceFormat::new(swapchain.format(), swapchain.color_space())
}

fn breaks<T: std::fmt::Debug>(answer: Result<T, Error>, wanted: SwapchainRule) {
    let is_it = matches!(&answer, Err(Error::Swapchain { rule, .. }) if *rule == wanted);
    assert!(is_it, "{answer:?}, not {wanted}");
}

/// Waits, so that the swap chain can be dropped at once.
fn end(gpu: &Gpu<Device>, swapchain: Swapchain) {
    gpu.wait(&gpu.submitted(), Duration::from_secs(5)).unwrap();
    drop(swapchain);
}

/// Each format and mode in the lists can be had.
#[test]
fn offered_formats_and_modes_can_be_chosen() {
    on_all(|gpu, headless, disguise| {
        for offers_hdr in [false, true] {
            disguise.offer_hdr(offers_hdr);
            let swapchain = headless.swapchain(gpu, &desc([16, 16])).unwrap();
            let (formats, modes) = (swapchain.offered_formats().unwrap(), swapchain.offered_modes().unwrap());
            println!("offered: {formats:?} {modes:?}");
            assert!(formats.contains(&chosen(&swapchain)) && formats.contains(&LINEAR));
            assert_eq!(formats.contains(&HDR), offers_hdr);
            assert_eq!(swapchain.color_space(), ColorSpace::Srgb, "HDR is asked for");
            assert!(modes.contains(&PresentMode::Fifo));
            end(gpu, swapchain);
            for format in formats {
                let swapchain =
                    headless.swapchain(gpu, &SwapchainDesc::new([16, 16]).format(format)).unwrap();
                assert_eq!(chosen(&swapchain), format);
                end(gpu, swapchain);
            }
            for mode in modes {
                let swapchain = headless.swapchain(gpu, &desc([16, 16]).mode(mode)).unwrap();
                assert_eq!(swapchain.mode(), mode);
                end(gpu, swapchain);
            }
        }
        disguise.offer_hdr(false);
        breaks(headless.swapchain(gpu, &SwapchainDesc::new([16, 16]).format(HDR)), SwapchainRule::Format);
    });
}

/// The first wish that the surface offers; with another one, the next frame has new images, with the same metadata.
#[test]
fn colour_spaces_change_between_frames() {
    on_all(|gpu, headless, disguise| {
        disguise.offer_hdr(true);
        disguise.take_spaces();
        let wishes = [SurfaceFormat::new(FORMAT, ColorSpace::Hlg), HDR, LINEAR];
        let plain = desc([16, 16]).format(FORMAT);
        let mut swapchain = headless.swapchain(gpu, &plain.formats(&wishes)).unwrap();
        assert_eq!(chosen(&swapchain), HDR);
        let mut painter = Painter::new(gpu.device(), FORMAT);
        swapchain.set_hdr_metadata(&HdrMetadata::new(0.1, 600.0)).unwrap();
        assert_eq!(disguise.take_described(), (vec![600.0], 1));
        for (number, wish) in (1..).zip([LINEAR, HDR, LINEAR, HDR]) {
            swapchain.set_formats(&[wish]);
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
            assert_eq!(chosen(&swapchain), wish);
            assert!(frame(gpu, &mut swapchain, &mut painter, number).unwrap());
        }
        let (linear, hdr) = (vk::ColorSpaceKHR::SRGB_NONLINEAR, vk::ColorSpaceKHR::HDR10_ST2084_EXT);
        assert_eq!(disguise.take_spaces(), [hdr, linear, hdr, linear, hdr]);
        assert_eq!(disguise.take_described(), (vec![600.0; 4], 4));
        let refused = swapchain.set_hdr_metadata(&HdrMetadata::new(0.1, -1.0)).unwrap_err();
        assert!(refused.to_string().contains("max_luminance = -1"), "{refused}");
        // The window has moved to another screen: the images change with the next resize.
        disguise.offer_hdr(false);
        assert!(frame(gpu, &mut swapchain, &mut painter, 7).unwrap());
        swapchain.resize([24, 24]).unwrap();
        assert_eq!(swapchain.color_space(), ColorSpace::Srgb);
        // Back again: the format stays until the wishes are set.
        disguise.offer_hdr(true);
        swapchain.set_modes(&[PresentMode::Mailbox]);
        assert!(frame(gpu, &mut swapchain, &mut painter, 8).unwrap());
        assert_eq!((swapchain.color_space(), swapchain.mode()), (ColorSpace::Srgb, PresentMode::Mailbox));
        swapchain.set_formats(&wishes);
        assert!(frame(gpu, &mut swapchain, &mut painter, 9).unwrap());
        assert_eq!(chosen(&swapchain), HDR);
        end(gpu, swapchain);
    });
}

/// A wish that chooses the same costs nothing, and a resize in the same frame includes the wishes.
#[test]
fn only_another_choice_makes_a_chain() {
    on_all(|gpu, headless, disguise| {
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16]).format(FORMAT)).unwrap();
        let mut painter = Painter::new(gpu.device(), FORMAT);
        let made = disguise.calls(CREATE);
        swapchain.set_modes(&[PresentMode::Immediate, PresentMode::Fifo]);
        swapchain.set_formats(&[HDR, LINEAR]);
        assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
        assert_eq!((disguise.calls(CREATE), swapchain.mode()), (made, PresentMode::Fifo));
        swapchain.set_modes(&[PresentMode::Immediate, PresentMode::Mailbox]);
        swapchain.resize([24, 16]).unwrap();
        assert!(frame(gpu, &mut swapchain, &mut painter, 2).unwrap());
        assert_eq!((disguise.calls(CREATE), swapchain.mode()), (made + 1, PresentMode::Mailbox));
        swapchain.set_modes(&[]);
        swapchain.set_formats(&[]);
        assert!(frame(gpu, &mut swapchain, &mut painter, 3).unwrap());
        assert_eq!((disguise.calls(CREATE), swapchain.mode()), (made + 2, PresentMode::Fifo));
        assert_eq!((chosen(&swapchain), swapchain.extent()), (LINEAR, [24, 16]));
        swapchain.resize([0, 0]).unwrap();
        swapchain.set_modes(&[PresentMode::Mailbox]);
        assert!(swapchain.acquire().unwrap().is_none(), "minimised");
        swapchain.resize([16, 16]).unwrap();
        assert!(frame(gpu, &mut swapchain, &mut painter, 4).unwrap());
        assert_eq!(swapchain.mode(), PresentMode::Mailbox);
        end(gpu, swapchain);
    });
}

/// A list without an offered format changes nothing, also when the format of the description is no longer offered.
#[test]
fn images_stay_when_no_wish_is_offered() {
    on_all(|gpu, headless, disguise| {
        disguise.offer_hdr(true);
        let mut swapchain = headless.swapchain(gpu, &SwapchainDesc::new([16, 16]).format(HDR)).unwrap();
        let mut painter = Painter::new(gpu.device(), FORMAT);
        swapchain.set_formats(&[LINEAR]);
        assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
        assert_eq!(chosen(&swapchain), LINEAR);
        disguise.offer_hdr(false);
        let made = disguise.calls(CREATE);
        for wishes in [&[][..], &[HDR]] {
            swapchain.set_formats(wishes);
            assert!(frame(gpu, &mut swapchain, &mut painter, 2).unwrap());
            assert_eq!((chosen(&swapchain), disguise.calls(CREATE)), (LINEAR, made));
        }
        disguise.offer_hdr(true);
        assert!(frame(gpu, &mut swapchain, &mut painter, 3).unwrap());
        swapchain.set_formats(&[]);
        assert!(frame(gpu, &mut swapchain, &mut painter, 4).unwrap());
        assert_eq!(chosen(&swapchain), HDR, "the format of the description");
        end(gpu, swapchain);
    });
}

/// The frame that has an image goes on with it. A dropped image is let go, unless a recording waits for it.
#[test]
fn a_change_waits_for_the_image_of_the_frame() {
    on_all(|gpu, headless, disguise| {
        disguise.offer_hdr(true);
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16]).format(FORMAT)).unwrap();
        let mut painter = Painter::new(gpu.device(), FORMAT);
        let image = swapchain.acquire().unwrap().unwrap();
        swapchain.set_formats(&[HDR]);
        breaks(swapchain.acquire(), SwapchainRule::OneAtATime);
        let mut recording = gpu.record(Queue::Graphics, "picture").unwrap();
        image.finish(&mut recording).unwrap();
        recording.submit().unwrap();
        swapchain.present(image).unwrap();
        assert_eq!(chosen(&swapchain), LINEAR);
        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(chosen(&swapchain), HDR);
        swapchain.set_formats(&[]);
        let mut recording = gpu.record(Queue::Graphics, "picture").unwrap();
        image.finish(&mut recording).unwrap();
        drop(image);
        breaks(swapchain.acquire(), SwapchainRule::ImageHeld);
        recording.submit().unwrap();
        assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
        assert_eq!(chosen(&swapchain), LINEAR);
        end(gpu, swapchain);
    });
}

/// A shortage in the middle of a change: the next resize makes the images.
#[test]
fn a_change_that_fails_is_made_later() {
    let memory = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    on_all(|gpu, headless, disguise| {
        disguise.offer_hdr(true);
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16]).format(FORMAT)).unwrap();
        let mut painter = Painter::new(gpu.device(), FORMAT);
        for wish in [HDR, LINEAR] {
            assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
            swapchain.set_formats(&[wish]);
            disguise.fail("vkGetPhysicalDeviceSurfaceFormatsKHR", memory);
            let before = chosen(&swapchain);
            assert!(swapchain.acquire().is_err());
            assert!(chosen(&swapchain) == before && !swapchain.is_outdated(), "the images are there");
            for call in [CREATE, "vkGetSwapchainImagesKHR"] {
                disguise.fail(call, memory);
                let refused = swapchain.acquire().map(drop).and_then(|()| swapchain.resize([16, 16]));
                assert!(refused.is_err(), "{call}");
                assert!(swapchain.is_outdated() && swapchain.acquire().unwrap().is_none());
            }
            swapchain.resize([16, 16]).unwrap();
            assert_eq!(chosen(&swapchain), wish);
        }
        end(gpu, swapchain);
    });
}

#[test]
fn a_lost_device_changes_nothing() {
    on_all(|gpu, headless, disguise| {
        disguise.offer_hdr(true);
        let mut swapchain = headless.swapchain(gpu, &desc([16, 16]).format(FORMAT)).unwrap();
        let mut painter = Painter::new(gpu.device(), FORMAT);
        assert!(frame(gpu, &mut swapchain, &mut painter, 1).unwrap());
        swapchain.set_formats(&[HDR]);
        disguise.fail(CREATE, vk::Result::ERROR_DEVICE_LOST);
        let begun = Instant::now();
        for _ in 0..2 {
            assert!(swapchain.acquire().unwrap_err().is_device_lost());
        }
        assert!(swapchain.set_hdr_metadata(&HdrMetadata::new(0.0, 1.0)).unwrap_err().is_device_lost());
        // The device beneath is not lost, and still draws.
        // SAFETY: nothing else uses its queue.
        unsafe { gpu.device().raw().device_wait_idle() }.unwrap();
        painter.end_frames();
        drop(swapchain);
        assert!(begun.elapsed() < Duration::from_secs(3));
    });
}

#[test]
fn metadata_needs_its_extension() {
    let [options, _] = all_options();
    let harness = disguised(options, false);
    let gpu = Gpu::new(harness.device(), Config::default()).unwrap();
    if let Some(headless) = Headless::new(gpu.device()) {
        let mut swapchain = headless.swapchain(&gpu, &desc([16, 16])).unwrap();
        let refused = swapchain.set_hdr_metadata(&HdrMetadata::new(0.0, 1000.0)).unwrap_err();
        let is_unsupported = matches!(refused, Error::Device { source: DeviceError::Unsupported { .. }, .. });
        assert!(is_unsupported && refused.to_string().contains("VK_EXT_hdr_metadata"), "{refused}");
    }
    drop(gpu);
    harness.end();
}
