//! Textures that commands only read, and recordings do not name.

use tenure_core::device::{Device as _, Features, Properties};
use tenure_core::{Format, QueueKind, State, Subresource, TexelData, TextureDesc, Usage};
use test_random::Rng;

use super::{happens, one_of, recordings};
use crate::world::{Checked, World};

/// The most that exist at once.
const MOST: usize = 12;

const SIDE: u32 = 64;

fn texels(rng: &mut Rng) -> Vec<u8> {
    rng.bytes(u64::from(SIDE * SIDE * 4))
}

/// Creates one, filled or not, and drops another.
pub(super) fn create(world: &mut World, rng: &mut Rng) -> Checked {
    if world.read_only.len() >= MOST {
        world.read_only.swap_remove(rng.below(MOST as u64) as usize);
    }
    let number = world.number();
    let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, Usage::SHADER_READ).name(format!("t{number}"));
    let mut desc = if happens(rng, 60) { desc.movable() } else { desc };
    let is_declared = happens(rng, 60);
    world.say(|| format!("create t{number}, read-only {}", if is_declared { "at once" } else { "later" }));
    let made = if is_declared {
        world.gpu.create_texture_with(&desc.read_only(State::SHADER_READ), &[TexelData::new(&texels(rng))])
    } else {
        desc.info.usage |= Usage::ALL_QUEUES;
        world.gpu.create_texture_with(&desc, &[TexelData::new(&texels(rng))])
    };
    let Some(texture) = world.allow("create a read-only texture", made)? else { return Ok(()) };
    if !is_declared {
        let declared = world.gpu.make_read_only(&texture, State::SHADER_READ);
        if world.allow("declare as read-only", declared)?.is_none() {
            return Ok(());
        }
    }
    world.read_only.push(texture);
    Ok(())
}

/// Uploads to one that recordings of any queue may be reading.
pub(super) fn upload(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.read_only) else { return Ok(()) };
    let name = world.read_only[at].name().clone();
    world.say(|| format!("upload to {name}, which is read-only"));
    let texture = &world.read_only[at];
    let uploaded =
        world.gpu.upload_texture(texture, texture.info().region(0, 0), TexelData::new(&texels(rng)));
    if let Some(upload) = world.allow("upload to a read-only texture", uploaded)? {
        world.uploads.push(upload);
    }
    Ok(())
}

/// A recording reads some, without a name.
pub(super) fn read(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = recordings::pick(world, rng)? else { return Ok(()) };
    if world.is_lost || world.read_only.is_empty() {
        return Ok(());
    }
    world.say(|| "read read-only textures".to_owned());
    let recording = &mut world.open[at].recording;
    let Properties { queues, features, .. } = world.gpu.device().properties();
    let state = match queues[recording.queue().index()].kind {
        QueueKind::Graphics => State::SHADER_READ,
        // There the state for pixel shaders stays, and compute queues do not know it.
        QueueKind::Compute if features.contains(Features::COPY_SRC_WITH_READS) => return Ok(()),
        QueueKind::Compute => State::NON_PIXEL_SHADER,
        QueueKind::Copy => return Ok(()),
    };
    for texture in &world.read_only {
        if happens(rng, 40) {
            let (commands, scratch) = recording.split();
            let Ok(object) = scratch.texture(texture) else { continue };
            commands.raw().use_texture(object, Subresource::All, state);
        }
    }
    if happens(rng, 30) {
        let Some(texture) = world.read_only.first() else { return Ok(()) };
        let named = world.open[at].recording.use_resource(texture, Subresource::All, state);
        world.allow("name a read-only texture", named)?;
    }
    Ok(())
}

/// Drops one.
pub(super) fn drop_one(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.read_only) {
        drop(world.read_only.swap_remove(at));
    }
    Ok(())
}
