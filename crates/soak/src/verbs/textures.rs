//! Textures.

use tenure_core::device::{Barrier, MemoryTypeId, Permit, ResourceDesc, TextureInfo, prelude::*};
use tenure_core::{
    BufferLayout, Dimension, Format, Queue, State, Subresource, Subresources, TexelData, TextureDesc, Usage,
};
use test_random::Rng;

use super::{any, happens, one_of, recordings};
use crate::contents::Effect;
use crate::world::{Checked, Grid, KnownTexture, LONG, World, compare};

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
            let permit = Permit::checked();
            world.device().destroy_resource(permit, rejected.object);
            world.allow::<()>("adopt a texture", Err(rejected.error))?;
        }
    }
    Ok(())
}

/// A texture of a page allocator, which is used like any other.
pub(super) fn in_page(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.pages) else { return Ok(()) };
    let number = world.number();
    let desc = describe(rng, number);
    if !world.gpu.supports_format(desc.info.format, desc.info.usage) {
        return Ok(());
    }
    let made = world.pages[at].create_texture(&desc);
    world.say(|| format!("create t{number} in a page: {:?}", desc.info));
    if let Some(texture) = world.allow("a texture in a page", made)? {
        add(world, KnownTexture { number, texture }, None);
    }
    Ok(())
}

/// Some mips of some layers, and the numbers of their subresources.
pub(super) fn range(rng: &mut Rng, info: &TextureInfo) -> (Subresources, Vec<u32>) {
    let first = rng.below(info.mips.into()) as u32;
    let end = first + 1 + rng.below((info.mips - first).into()) as u32;
    let layer = rng.below(info.layers().into()) as u32;
    let layers = if happens(rng, 50) { layer..layer + 1 } else { layer..info.layers() };
    let parts = layers.clone().flat_map(|layer| (first..end).map(move |mip| layer * info.mips + mip));
    (Subresources::mips(first..end).of_layers(layers), parts.collect())
}

/// Filters mips from the first one of a range.
pub(super) fn generate_mips(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = recordings::pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[index];
    let mips = known.texture.info().mips;
    let (range, parts) = range(rng, known.texture.info());
    let Some(first) = parts.first().map(|part| part % mips) else { return Ok(()) };
    let (sources, filtered): (Vec<u32>, Vec<u32>) = parts.iter().partition(|part| *part % mips == first);
    if filtered.is_empty() || sources.iter().any(|part| !world.contents.is_known(known.part(*part))) {
        return Ok(());
    }
    let generated = world.open[at].recording.generate_mips(&known.texture, range);
    let number = known.number;
    if generated.is_ok() {
        let effects: Vec<_> = filtered.iter().map(|part| Effect::Filter { to: known.part(*part) }).collect();
        effects.into_iter().for_each(|effect| world.open[at].note(effect));
        world.open[at].note_use(number);
    }
    world.say(|| format!("generate parts {filtered:?} of t{number}"));
    world.allow("generate mips", generated)?;
    Ok(())
}

/// Copies all of a texture to one that the CPU reads.
pub(super) fn to_cpu(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[at];
    if (0..known.parts()).any(|part| !world.contents.is_known(known.part(part))) {
        return Ok(());
    }
    let number = known.number;
    let desc = TextureDesc::from(known.texture.info().clone());
    let made = world.gpu.create_readback_texture(&desc.name("of a texture"));
    world.say(|| format!("all of t{number} to the CPU"));
    let Some(target) = world.allow("a texture for the CPU", made)? else { return Ok(()) };
    let known = &world.textures[at];
    let parts = known.parts();
    let copied = world.gpu.record(Queue::Graphics, "to the CPU").and_then(|mut recording| {
        for part in 0..parts {
            let Some(layout) = target.layout(part) else { continue };
            let place =
                BufferLayout { offset: layout.offset, row_pitch: layout.row_pitch, rows: layout.rows };
            recording.copy_texture_to_buffer(
                &known.texture,
                known.grid(part).region,
                target.buffer(),
                place,
            )?;
        }
        recording.submit()
    });
    let Some(point) = world.allow("copy to the CPU", copied)? else { return Ok(()) };
    let waited = world.gpu.wait(&point, LONG);
    if world.allow("wait for the GPU", waited)? != Some(true) {
        return Ok(());
    }
    for part in 0..parts {
        let known = &world.textures[at];
        let (grid, all) = (known.grid(part), known.all(part));
        let Some(layout) = target.layout(part) else { continue };
        let mut found = Vec::new();
        for row in 0..grid.rows {
            let mut bytes = vec![0; grid.row as usize];
            let read = target.buffer().read(layout.offset + row * layout.row_pitch, &mut bytes);
            // The device may be lost since the wait.
            if world.must("read a texture on the CPU", read)?.is_none() {
                return Ok(());
            }
            found.extend(bytes);
        }
        if let Some(expected) = world.contents.known(all) {
            compare(&format!("t{number} part {part} on the CPU"), &found, expected)?;
        }
    }
    Ok(())
}

/// The program brings a texture into another state by a barrier of its own, and says so.
pub(super) fn declare(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[at];
    let number = known.number;
    // Uses in open recordings are not ordered with the program's own barrier.
    if world.is_busy(number) || !known.texture.info().usage.contains(Usage::RENDER_TARGET) {
        return Ok(());
    }
    world.say(|| format!("a barrier brings t{number} into a state that is declared"));
    let texture = &world.textures[at].texture;
    let named = world.gpu.record(Queue::Graphics, "a barrier").and_then(|mut recording| {
        recording.use_resource(texture, Subresource::All, State::RENDER_TARGET)?;
        recording.barriers();
        let (commands, scratch) = recording.split();
        let resource = scratch.texture(texture)?;
        let barrier = Barrier::Transition {
            resource,
            subresource: Subresource::All,
            before: State::RENDER_TARGET,
            after: State::COPY_SRC,
            transfer: None,
        };
        commands.raw_mut(Permit::checked()).barriers(&[barrier]);
        recording.submit()
    });
    let Some(point) = world.allow("a barrier", named)? else { return Ok(()) };
    let texture = &world.textures[at].texture;
    let declared = world.gpu.declare_state(texture, Subresource::All, State::COPY_SRC, &point);
    world.must("declare a state", declared)?;
    Ok(())
}
