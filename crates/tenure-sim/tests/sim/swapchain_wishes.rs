//! Formats and modes of swap chains: wishes, and changes at run time.

use std::sync::Arc;

use tenure_core::device::{Api, DeviceError, prelude::*};
use tenure_core::{
    ColorSpace, Config, Error, Format, Gpu, HdrMetadata, PresentMode, Queue, State, Subresource,
    SurfaceFormat, SwapchainDesc, SwapchainRule, TextureViewDesc,
};
use tenure_sim::{Device, DeviceConfig, Fault, FaultKind, Lag, Profile, Swapchain};

const BOTH: [Profile; 2] = [Profile::DISCRETE, Profile::VULKAN_NVIDIA];
const SRGB: SurfaceFormat = SurfaceFormat::new(Format::Bgra8Srgb, ColorSpace::Srgb);
const HDR10: SurfaceFormat = SurfaceFormat::HDR10;

fn manager(profile: Profile) -> (Device, Gpu<Device>) {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    (device, gpu)
}

fn chosen(swapchain: &Swapchain) -> SurfaceFormat {
    SurfaceFormat::new(swapchain.format(), swapchain.color_space())
}

fn frame(gpu: &Gpu<Device>, swapchain: &mut Swapchain) -> Result<(), Error> {
    let image = swapchain.acquire()?.expect("an image");
    assert_eq!(image.texture().info().format, swapchain.format());
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
    recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
    image.finish(&mut recording)?;
    recording.submit()?;
    swapchain.present(image)
}

fn end(device: &Device, gpu: Gpu<Device>) {
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap();
}

/// The images follow each change at the next frame; an empty list is the description's own choice.
#[test]
fn wishes_change_between_frames() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let desc = SwapchainDesc::new([64, 48]).formats(&[HDR10, SurfaceFormat::SC_RGB]);
        let mut swapchain = Swapchain::new(&gpu, &desc).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (HDR10, PresentMode::Fifo));
        for wish in [SRGB, SurfaceFormat::SC_RGB, HDR10, Format::Rgba8Unorm.into()] {
            swapchain.set_formats(&[wish]);
            frame(&gpu, &mut swapchain).unwrap();
            assert_eq!(chosen(&swapchain), wish);
        }
        swapchain.set_formats(&[SurfaceFormat::new(Format::R8Unorm, ColorSpace::Hlg)]);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), SRGB, "no wish is offered");
        swapchain.set_formats(&[]);
        swapchain.set_modes(&[]);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (SRGB, PresentMode::Fifo));
        drop(swapchain);
        end(&device, gpu);
    }
}

/// A wish that changes nothing costs no call, and a mode costs none on Direct3D 12.
#[test]
fn only_another_choice_makes_new_images() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
        let before = Arc::downgrade(swapchain.acquire().unwrap().unwrap().shared());
        swapchain.set_formats(&[SRGB]);
        swapchain.set_modes(&[PresentMode::Fifo]);
        drop(swapchain.acquire().unwrap());
        assert_eq!(before.strong_count(), 1);
        swapchain.set_modes(&[PresentMode::FifoRelaxed, PresentMode::Mailbox]);
        let is_vulkan = gpu.device().properties().api == Api::Vulkan;
        drop(swapchain.acquire().unwrap());
        assert_eq!(before.strong_count(), usize::from(!is_vulkan));
        let wanted = if is_vulkan { PresentMode::FifoRelaxed } else { PresentMode::Mailbox };
        assert_eq!(swapchain.mode(), wanted);
        drop(swapchain);
        end(&device, gpu);
    }
}

/// The frame that has an image presents it as it was acquired.
#[test]
fn a_change_waits_for_the_image_of_the_frame() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        swapchain.set_formats(&[HDR10]);
        let refused = swapchain.acquire().unwrap_err();
        assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::OneAtATime, .. }), "{refused}");
        let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
        recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET).unwrap();
        recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
        image.finish(&mut recording).unwrap();
        drop(image);
        // Dropped, and its recording is still open.
        let refused = swapchain.acquire().unwrap_err();
        assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::ImageHeld, .. }), "{refused}");
        assert_eq!(chosen(&swapchain), SRGB);
        recording.submit().unwrap();
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), HDR10);
        // A view holds a buffer back on Direct3D 12: the chain goes on as it was, and changes later.
        let image = swapchain.acquire().unwrap().unwrap();
        let view = gpu.create_texture_view(image.texture(), &TextureViewDesc::render_target()).unwrap();
        drop(image);
        swapchain.set_formats(&[]);
        let changed = frame(&gpu, &mut swapchain);
        assert_eq!(changed.is_ok(), gpu.device().properties().api == Api::Vulkan, "{changed:?}");
        assert_eq!(chosen(&swapchain), if changed.is_ok() { SRGB } else { HDR10 });
        drop(view);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), SRGB);
        drop(swapchain);
        end(&device, gpu);
    }
}

/// A resize and changes of the wishes in one frame are one change of the images.
#[test]
fn a_resize_includes_the_wishes() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
        frame(&gpu, &mut swapchain).unwrap();
        swapchain.set_modes(&[PresentMode::Mailbox]);
        swapchain.set_formats(&[HDR10]);
        swapchain.resize([32, 32]).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (HDR10, PresentMode::Mailbox));
        let before = Arc::downgrade(swapchain.acquire().unwrap().unwrap().shared());
        drop(swapchain.acquire().unwrap());
        assert_eq!(before.strong_count(), 1);
        // Minimised meanwhile.
        swapchain.resize([0, 0]).unwrap();
        swapchain.set_formats(&[]);
        assert!(swapchain.acquire().unwrap().is_none());
        swapchain.resize([32, 32]).unwrap();
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), SRGB);
        drop(swapchain);
        end(&device, gpu);
    }
}

/// Each call of a change fails in turn: the next resize does it.
#[test]
fn a_change_that_fails_is_made_later() {
    for profile in BOTH {
        for nth in 1..12 {
            let (device, gpu) = manager(profile);
            let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
            frame(&gpu, &mut swapchain).unwrap();
            swapchain.set_formats(&[HDR10]);
            device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory));
            let acquired = swapchain.acquire().map(drop);
            device.faults().clear();
            if swapchain.is_outdated() {
                assert!(acquired.is_err() && swapchain.acquire().unwrap().is_none());
                swapchain.resize([64, 48]).unwrap();
            }
            frame(&gpu, &mut swapchain).unwrap();
            assert_eq!(chosen(&swapchain), HDR10, "call {nth}: {acquired:?}");
            drop(swapchain);
            end(&device, gpu);
        }
    }
}

/// A lost device refuses the change, and nothing hangs.
#[test]
fn a_lost_device_changes_nothing() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
        frame(&gpu, &mut swapchain).unwrap();
        swapchain.set_formats(&[HDR10]);
        swapchain.set_modes(&[PresentMode::Mailbox]);
        device.faults().remove("pulled out");
        for _ in 0..2 {
            assert!(swapchain.acquire().unwrap_err().is_device_lost());
        }
        assert!(swapchain.offered_formats().unwrap_err().is_device_lost());
        assert!(swapchain.offered_modes().unwrap_err().is_device_lost());
        assert!(swapchain.set_hdr_metadata(&HdrMetadata::new(0.0, 1000.0)).unwrap_err().is_device_lost());
        drop((swapchain, gpu));
        device.check_clean().unwrap();
    }
}

/// The format stays while the window offers it, also when a better one appears; wishes are then set again.
#[test]
fn another_screen_may_offer_other_formats() {
    for profile in BOTH {
        let (device, gpu) = manager(profile);
        let desc = SwapchainDesc::new([64, 48]).formats(&[HDR10]).modes(&[PresentMode::Immediate]);
        let mut swapchain = Swapchain::new(&gpu, &desc).unwrap();
        swapchain.offer(&[SRGB], &[]);
        assert_eq!(
            (swapchain.offered_formats().unwrap(), swapchain.offered_modes().unwrap()),
            (vec![SRGB], vec![])
        );
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), HDR10);
        swapchain.resize([32, 32]).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (SRGB, PresentMode::Fifo));
        swapchain.offer(&[HDR10, SRGB], &PresentMode::ALL);
        swapchain.resize([64, 48]).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (SRGB, PresentMode::Immediate));
        swapchain.set_modes(&[]);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!((chosen(&swapchain), swapchain.mode()), (SRGB, PresentMode::Fifo), "a mode is no format");
        swapchain.set_formats(&[HDR10]);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), HDR10);
        // Nothing that can be used: an error, and the images stay.
        swapchain.offer(&[], &[]);
        swapchain.set_formats(&[]);
        let refused = swapchain.acquire().unwrap_err();
        assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::Format, .. }), "{refused}");
        swapchain.offer(&[HDR10], &[]);
        swapchain.set_formats(&[HDR10]);
        frame(&gpu, &mut swapchain).unwrap();
        drop(swapchain);
        // The images stay, too, if neither the wishes nor the format of the description are offered.
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([8, 8]).format(HDR10)).unwrap();
        swapchain.set_formats(&[SRGB]);
        frame(&gpu, &mut swapchain).unwrap();
        swapchain.offer(&[SRGB], &[]);
        swapchain.set_formats(&[]);
        frame(&gpu, &mut swapchain).unwrap();
        assert_eq!(chosen(&swapchain), SRGB);
        drop(swapchain);
        let exact = SwapchainDesc::new([8, 8]).format(Format::D32Float);
        let refused = Swapchain::new(&gpu, &exact).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::Format, .. }), "{refused}");
        end(&device, gpu);
    }
}

#[test]
fn metadata_is_checked_and_kept() {
    let (device, gpu) = manager(Profile::DISCRETE);
    let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([8, 8]).formats(&[HDR10])).unwrap();
    let good = HdrMetadata::new(0.01, 1000.0);
    swapchain.set_hdr_metadata(&good).unwrap();
    let refused = swapchain.set_hdr_metadata(&HdrMetadata::new(0.0, f32::INFINITY)).unwrap_err();
    let is_named = matches!(
        refused,
        Error::Device { source: DeviceError::InvalidDesc { field: "max_luminance", .. }, .. }
    );
    assert!(is_named, "{refused}");
    swapchain.resize([16, 16]).unwrap();
    assert_eq!(swapchain.hdr_metadata(), Some(&good));
    drop(swapchain);
    end(&device, gpu);
}
