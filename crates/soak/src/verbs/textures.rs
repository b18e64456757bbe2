//! Textures.

use tenure_core::device::{Device as _, MemoryTypeId, ResourceDesc};
use tenure_core::{Dimension, Format, State, TexelData, TextureDesc, Usage};
use test_random::Rng;

use super::{any, happens, one_of};
use crate::world::{Checked, Grid, KnownTexture, World};

const FORMATS: [Format; 7] = [
    Format::Rgba8Unorm,
    Format::Rgba8Unorm,
    Format::R8Unorm,
    Format::Rgba16Float,
    Format::R32Float,
    Format::Bc1Unorm,
    Format::D32Float,
];

fn describe(rng: &mut Rng, number: u64) -> TextureDesc {
    let format = any(rng, FORMATS);
    let usage = match format {
        Format::D32Float => Usage::DEPTH_STENCIL | Usage::SHADER_READ,
        Format::Bc1Unorm => Usage::SHADER_READ,
        _ => any(
            rng,
            [
                Usage::SHADER_READ,
                Usage::SHADER_READ | Usage::RENDER_TARGET,
                Usage::SHADER_READ | Usage::UNORDERED_ACCESS,
            ],
        ),
    };
    let usage = usage | Usage::COPY_SRC | Usage::COPY_DST;
    let side = if happens(rng, 5) { 512 } else { any(rng, [4, 8, 16, 64, 100]) };
    let most = 32 - u32::leading_zeros(side);
    let mut desc = if happens(rng, 8) && format == Format::Rgba8Unorm {
        TextureDesc::d3(
            side.min(16),
            side.min(16),
            4,
            format,
            Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST,
        )
    } else {
        TextureDesc::d2(side, any(rng, [4, side]), format, usage).layers(1 + rng.below(3) as u32)
    };
    desc = desc.mips((1 + rng.below(4) as u32).min(most)).name(format!("t{number}"));
    if desc.info.dimension == Dimension::D3 {
        desc = desc.mips(1);
    }
    if happens(rng, 40) {
        desc = desc.movable();
    }
    if happens(rng, 30) {
        desc = desc.evictable();
    }
    desc
}

/// A texture, with contents or without.
pub(super) fn create(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let desc = describe(rng, number);
    if !world.gpu.supports_format(desc.info.format, desc.info.usage) {
        return Ok(());
    }
    world.say(|| format!("create t{number}: {:?}", desc.info));
    if happens(rng, 50) {
        let made = world.gpu.create_texture(&desc);
        if let Some(texture) = world.allow("create a texture", made)? {
            add(world, KnownTexture { number, texture }, None);
        }
        return Ok(());
    }
    let parts: Vec<Vec<u8>> = (0..desc.info.mips * desc.info.layers())
        .map(|part| rng.bytes(Grid::new(&desc.info, part).size()))
        .collect();
    let texels: Vec<TexelData<'_>> = parts.iter().map(|bytes| TexelData::new(bytes)).collect();
    let made = world.gpu.create_texture_with(&desc, &texels);
    drop(texels);
    if let Some(texture) = world.allow("create a texture with texels", made)? {
        add(world, KnownTexture { number, texture }, Some(parts));
    }
    Ok(())
}

fn add(world: &mut World, known: KnownTexture, parts: Option<Vec<Vec<u8>>>) {
    let mut parts = parts.map(Vec::into_iter);
    for index in 0..known.parts() {
        match parts.as_mut().and_then(Iterator::next) {
            Some(bytes) => world.contents.add(known.part(index), bytes),
            None => world.contents.add_undefined(known.part(index), known.all(index).size),
        }
    }
    world.textures.push(known);
}

pub(super) fn drop_one(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.textures) {
        let known = world.textures.swap_remove(at);
        world.say(|| format!("drop t{}", known.number));
    }
    Ok(())
}

/// A texture that the program created itself.
pub(super) fn adopt(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let side = 1 + rng.below(64) as u32;
    let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).name(format!("t{number}"));
    let made = world.device().create_committed(&ResourceDesc::Texture(desc.info.clone()), MemoryTypeId(0));
    let Ok(object) = made else { return Ok(()) };
    world.say(|| format!("adopt t{number}"));
    match world.gpu.adopt_texture(object, &desc, State::COMMON) {
        Ok(texture) => add(world, KnownTexture { number, texture }, None),
        Err(rejected) => {
            let permit = tenure_core::device::Permit::checked();
            world.device().destroy_resource(permit, rejected.object);
            world.allow::<()>("adopt a texture", Err(rejected.error))?;
        }
    }
    Ok(())
}
