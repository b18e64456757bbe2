//! The loading thread: creates buffers and textures with their contents, while other threads draw.

use std::iter::successors;
use std::sync::mpsc::Sender;

use glam::Vec3;
use tenure::prelude::*;
use voxel_world::Result;

use crate::renderer::Backend;
use crate::scene::{self, GEOMETRY, Object, Pattern};

/// Width and height of textures.
const SIDE: usize = 256;

/// A loaded part of the scene.
pub(crate) enum Loaded<B: Backend> {
    /// All meshes, and where they are drawn.
    Objects(Buffer<B::Device>, Vec<Object>),
    /// The next material.
    Material(B::Material),
    /// The last message: why there is nothing more.
    Failed(String),
}

/// Sends everything as soon as it is there.
pub(crate) fn load<B: Backend>(gpu: &Gpu<B::Device>, backend: &B, sender: &Sender<Loaded<B>>) {
    if let Err(error) = load_all(gpu, backend, sender) {
        // Nobody receives it when the window was closed.
        let _closed = sender.send(Loaded::Failed(error.to_string()));
    }
}

fn load_all<B: Backend>(gpu: &Gpu<B::Device>, backend: &B, sender: &Sender<Loaded<B>>) -> Result<()> {
    let (objects, patterns) = scene::read()?;
    // The bytes are copied during the call. Their copy to video memory is submitted before the next recording, together
    // with others, and recordings that use the buffer wait for it on the GPU: there is no fence here.
    let geometry = BufferDesc::new(GEOMETRY.len() as u64, Usage::VERTEX | Usage::INDEX).name("geometry");
    let geometry = gpu.create_buffer_with(&geometry, GEOMETRY)?;
    let send = |loaded| sender.send(loaded).map_err(|_| "the renderer is gone");
    send(Loaded::Objects(geometry, objects))?;
    for pattern in patterns {
        let mips = mips(texels(&pattern));
        let data: Vec<_> = mips.iter().map(|mip| TexelData::new(mip)).collect();
        let desc = TextureDesc::d2(SIDE as u32, SIDE as u32, Format::Rgba8Srgb, Usage::SHADER_READ);
        let texture = gpu.create_texture_with(&desc.mips(mips.len() as u32).name(pattern.name), &data)?;
        // The material's descriptors keep the view, which keeps the texture.
        let view = gpu.create_texture_view(&texture, &TextureViewDesc::sampled())?;
        send(Loaded::Material(backend.create_material(&view)?))?;
    }
    Ok(())
}

/// The texels of the largest mip: linear light.
fn texels(pattern: &Pattern) -> Vec<Vec3> {
    let size = SIDE / (pattern.squares as usize).clamp(1, SIDE);
    let texel = |(x, y): (usize, usize)| {
        // Each square is a little darker or lighter than the others.
        let shade = 0.8 + ((x / size * 7 + y / size * 13) * 31 % 11) as f32 / 25.0;
        if (x % size).min(y % size) * 12 < size { pattern.joint } else { pattern.color * shade }
    };
    places(SIDE).map(texel).collect()
}

/// All mips, in bytes of sRGB. Each texel is the average of four of the mip before, in linear light.
fn mips(largest: Vec<Vec3>) -> Vec<Vec<u8>> {
    let next = |(side, texels): &(usize, Vec<Vec3>)| {
        let average = |(x, y): (usize, usize)| {
            let at = 2 * y * side + 2 * x;
            (texels[at] + texels[at + 1] + texels[at + side] + texels[at + side + 1]) / 4.0
        };
        (*side > 1).then(|| (side / 2, places(side / 2).map(average).collect()))
    };
    let byte = |light: f32| {
        let is_dark = light <= 0.003_130_8;
        let srgb = if is_dark { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
        (srgb * 255.0).round() as u8
    };
    let bytes = |texel: &Vec3| [byte(texel.x), byte(texel.y), byte(texel.z), 255];
    successors(Some((SIDE, largest)), next)
        .map(|(_, texels)| texels.iter().flat_map(bytes).collect())
        .collect()
}

/// The columns and rows of all texels.
fn places(side: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..side).flat_map(move |y| (0..side).map(move |x| (x, y)))
}
