//! Frames and windows.

use tenure_core::{
    Awaited, ColorSpace, Error, Format, Frame, PresentMode, Queue, State, Subresource, SurfaceFormat,
    SwapchainDesc,
};
use tenure_sim::{Swapchain, SwapchainEvent};
use test_random::Rng;

use super::{any, happens, recordings};
use crate::callbacks::survive;
use crate::world::{Checked, World};

pub(super) fn begin(world: &mut World, _: &mut Rng) -> Checked {
    if world.frame.is_some() {
        return Ok(());
    }
    world.say(|| "begin a frame".to_owned());
    let begun = world.gpu.begin_frame();
    world.frame = world.allow("begin a frame", begun)?;
    Ok(())
}

pub(super) fn end(world: &mut World, _: &mut Rng) -> Checked {
    let Some(frame) = world.frame.take() else { return Ok(()) };
    world.say(|| "end the frame".to_owned());
    let ended = survive(|| frame.end());
    world.allow("end a frame", ended)?;
    Ok(())
}

/// Some frames with nothing in them, or with all that is open.
pub(super) fn whole(world: &mut World, rng: &mut Rng) -> Checked {
    end(world, rng)?;
    for _ in 0..1 + rng.below(4) {
        begin(world, rng)?;
        if happens(rng, 40) && !world.open.is_empty() {
            recordings::submit(world, rng)?;
        }
        end(world, rng)?;
    }
    Ok(())
}

/// A frame that is dropped ends as well.
pub(super) fn drop_open(world: &mut World, _: &mut Rng) -> Checked {
    if world.frame.take().is_some() {
        world.say(|| "drop the frame".to_owned());
    }
    Ok(())
}

/// A frame that draws to a window, which may be resized, out of date, or not ready.
pub(super) fn swapchain(world: &mut World, rng: &mut Rng) -> Checked {
    end(world, rng)?;
    if world.swapchain.is_none() {
        let made = Swapchain::new(&world.gpu, &SwapchainDesc::new([64, 48]).images(2 + rng.below(2) as u32));
        world.swapchain = world.allow("a swap chain", made)?;
    }
    let Some(mut swapchain) = world.swapchain.take() else { return Ok(()) };
    world.say(|| "draw to the window".to_owned());
    if happens(rng, 25) {
        let event =
            any(rng, [SwapchainEvent::OutOfDate, SwapchainEvent::NotReady, SwapchainEvent::OutOfDate]);
        if happens(rng, 50) {
            swapchain.script(1, event);
        } else {
            swapchain.script_present(1, event);
        }
    }
    // A resize reclaims.
    let presented = survive(|| present(world, rng, &mut swapchain));
    world.swapchain = Some(swapchain);
    match presented {
        Err(Error::Timeout { what: Awaited::SwapchainImage, .. }) => Ok(()),
        presented => world.allow("draw to the window", presented).map(|_| ()),
    }
}

fn present(world: &World, rng: &mut Rng, swapchain: &mut Swapchain) -> Result<(), Error> {
    let frame: Frame<_> = world.gpu.begin_frame()?;
    if swapchain.is_outdated() || happens(rng, 20) {
        let width = if happens(rng, 20) { 0 } else { 32 + rng.below(40) as u32 };
        swapchain.resize([width, 48])?;
    }
    if let Some(image) = swapchain.acquire()? {
        if happens(rng, 10) {
            // Not drawn to, and not presented: it comes again.
            drop(image);
            return frame.end();
        }
        let mut recording = frame.record(Queue::Graphics, "window")?;
        image.begin(&mut recording)?;
        recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
        recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
        image.finish(&mut recording)?;
        frame.submit(recording)?;
        swapchain.present(image)?;
    }
    frame.end()
}

/// The window moves to another screen, or the program prefers other formats and modes.
pub(super) fn wishes(world: &mut World, rng: &mut Rng) -> Checked {
    const SRGB: SurfaceFormat = SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::Srgb);
    let Some(swapchain) = &mut world.swapchain else { return Ok(()) };
    if happens(rng, 40) {
        let formats = any(rng, [&[SRGB][..], &[SRGB, SurfaceFormat::HDR10], &[SurfaceFormat::SC_RGB, SRGB]]);
        swapchain.offer(formats, any(rng, [&PresentMode::ALL[..], &[PresentMode::Fifo]]));
    }
    if happens(rng, 60) {
        let wishes = [&[][..], &[SurfaceFormat::HDR10], &[SurfaceFormat::SC_RGB, SurfaceFormat::HDR10]];
        swapchain.set_formats(any(rng, wishes));
    }
    if happens(rng, 60) {
        swapchain.set_modes(any(rng, [&[][..], &[PresentMode::Mailbox], &[PresentMode::Immediate]]));
    }
    world.say(|| "other formats and modes of the window".to_owned());
    self::swapchain(world, rng)
}

/// Closes the window.
pub(super) fn drop_swapchain(world: &mut World, _: &mut Rng) -> Checked {
    if world.swapchain.take().is_some() {
        world.say(|| "close the window".to_owned());
    }
    Ok(())
}
