//! Injected failures, and mistakes of a program.

use tenure_core::Format;
use tenure_core::{BufferDesc, TextureDesc, Usage};
use tenure_sim::{CallKind, Fault, FaultKind};
use test_random::Rng;

use super::{happens, one_of, recordings};
use crate::world::{Checked, World, wrong};

/// One of the next calls fails.
pub(super) fn fault(world: &mut World, rng: &mut Rng) -> Checked {
    let kind = match rng.below(3) {
        0 => FaultKind::OutOfMemory,
        1 => FaultKind::OutOfHostMemory,
        _ => FaultKind::TooManyAllocations,
    };
    let nth = 1 + rng.below(6);
    let fault = Fault::nth(nth, kind);
    let call = CallKind::ALL[rng.below(CallKind::ALL.len() as u64) as usize];
    let is_of_one = call.can_fail() && happens(rng, 60);
    world.say(|| {
        format!("call {nth} fails{}", if is_of_one { format!(" of {}", call.name()) } else { String::new() })
    });
    world.device().faults().inject(if is_of_one { fault.of(call) } else { fault });
    Ok(())
}

/// Loses the device at one of the next calls.
pub(super) fn lose(world: &mut World, rng: &mut Rng) -> Checked {
    let nth = 1 + rng.below(20);
    world.lose(nth);
    Ok(())
}

pub(super) fn leak_recording(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = recordings::pick(world, rng)? else { return Ok(()) };
    let open = world.open.swap_remove(at);
    world.say(|| format!("leak {:?}", open.recording.id()));
    world.has_leaked = true;
    world.leaked += 1;
    std::mem::forget(open);
    Ok(())
}

pub(super) fn leak_frame(world: &mut World, _: &mut Rng) -> Checked {
    if let Some(frame) = world.frame.take() {
        world.say(|| "leak the frame".to_owned());
        world.has_leaked = true;
        std::mem::forget(frame);
    }
    Ok(())
}

/// Calls that must be refused, and change nothing.
pub(super) fn misuse(world: &mut World, rng: &mut Rng) -> Checked {
    let refused = match rng.below(7) {
        0 => world.gpu.create_buffer(&BufferDesc::new(0, Usage::VERTEX)).is_err(),
        1 => world.gpu.create_buffer(&BufferDesc::new(u64::MAX, Usage::VERTEX)).is_err(),
        2 => world.gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX).alignment(3)).is_err(),
        3 => {
            let desc = TextureDesc::d2(0, u32::MAX, Format::Rgba8Unorm, Usage::SHADER_READ);
            world.gpu.create_texture(&desc).is_err()
        }
        4 => {
            let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
            let buffer = &world.buffers[at].buffer;
            world.gpu.upload(buffer, buffer.size(), &[1]).is_err()
        }
        5 => {
            let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
            let buffer = &world.buffers[at].buffer;
            world.gpu.read_back(buffer, u64::MAX, 2).is_err()
        }
        _ => {
            let Some(at) = recordings::pick(world, rng)? else { return Ok(()) };
            let Some(of) = one_of(rng, &world.buffers) else { return Ok(()) };
            let buffer = &world.buffers[of].buffer;
            world.open[at].recording.copy_buffer(buffer, 0, buffer, 0, 1).is_err()
        }
    };
    if refused { Ok(()) } else { wrong("a call succeeds that must be refused") }
}
