//! Sprites in batches with new buffers in every frame, and textures that are created and dropped.

use std::collections::VecDeque;

use bytemuck::{Pod, Zeroable};
use picture::{Picture, Result};
use stage::{Canvas, Random, Stage};
use wgpu::{BufferUsages, TextureFormat, TextureUsages};

use crate::pipeline::{Drawing, bind, cleared, filled, texture};

const FORMAT: TextureFormat = TextureFormat::Rgba8Unorm;
/// Batches a frame.
const BATCHES: usize = 48;
/// Sprites a batch, at most.
const SPRITES: usize = 160;
/// Textures that live at a time; one comes and one goes every frame.
const TEXTURES: usize = 40;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Sprite {
    center: [f32; 2],
    radius: f32,
    turn: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Batch {
    tint: [f32; 4],
}

pub(crate) fn draw(mut stage: Stage, frames: u32) -> Result<Picture> {
    let canvas = Canvas::new(&stage, FORMAT, TextureUsages::RENDER_ATTACHMENT);
    let shader = stage.device.create_shader_module(wgpu::include_wgsl!("sprites.wgsl"));
    let drawing = Drawing {
        shader: &shader,
        vertex: "vertex",
        fragment: Some(("fragment", FORMAT)),
        buffers: &[],
        depth: false,
        samples: 1,
        blend: Some(wgpu::BlendState::ALPHA_BLENDING),
    };
    let pipeline = drawing.pipeline(&stage.device);
    let sampler = stage.device.create_sampler(&wgpu::SamplerDescriptor::default());
    let mut random = Random::new(2);
    let mut textures: VecDeque<_> = (0..TEXTURES).map(|_| spotted(&stage, &mut random)).collect();
    for _ in 0..frames {
        textures.pop_front();
        textures.push_back(spotted(&stage, &mut random));
        let batches: Vec<_> = (0..BATCHES)
            .map(|number| {
                let view = &textures[number % TEXTURES];
                let (tint, sprites) = batch(&stage, &mut random);
                let resources = vec![
                    tint.as_entire_binding(),
                    sprites.as_entire_binding(),
                    wgpu::BindingResource::TextureView(view),
                    wgpu::BindingResource::Sampler(&sampler),
                ];
                let count = sprites.size() / size_of::<Sprite>() as u64;
                (bind(&stage.device, &pipeline.get_bind_group_layout(0), resources), count as u32)
            })
            .collect();
        let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[cleared(&canvas.view, None)],
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        for (group, count) in &batches {
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..6, 0..*count);
        }
        drop(pass);
        stage.submit([encoder.finish()])?;
    }
    canvas.read(&stage)
}

/// The buffers of a batch.
fn batch(stage: &Stage, random: &mut Random) -> (wgpu::Buffer, wgpu::Buffer) {
    let tint = Batch { tint: [random.unit(), random.unit(), random.unit(), 0.8] };
    let count = random.between(1.0, SPRITES as f32) as usize;
    let sprite = |_| Sprite {
        center: [random.between(-1.0, 1.0), random.between(-1.0, 1.0)],
        radius: random.between(0.01, 0.05),
        turn: random.between(0.0, 6.0),
    };
    let sprites: Vec<_> = (0..count).map(sprite).collect();
    (
        filled(&stage.device, "tint", &[tint], BufferUsages::UNIFORM),
        filled(&stage.device, "sprites", &sprites, BufferUsages::STORAGE),
    )
}

/// A texture of 16 to 512 texels each way.
fn spotted(stage: &Stage, random: &mut Random) -> wgpu::TextureView {
    let [width, height]: [u32; 2] = std::array::from_fn(|_| 16 << (random.unit() * 6.0) as u32);
    let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
    let made = texture(&stage.device, [width, height], [1, 1], FORMAT, usage);
    let spot = random.between(4.0, 9.0) as u32;
    let texel = |index: u32| {
        let on = (index % width / spot + index / width / spot) % 2 == 0;
        if on { [255, 255, 255, 255] } else { [90, 90, 120, 160] }
    };
    let texels: Vec<u8> = (0..width * height).flat_map(texel).collect();
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(width * 4), rows_per_image: None };
    stage.queue.write_texture(made.as_image_copy(), &texels, layout, made.size());
    made.create_view(&wgpu::TextureViewDescriptor::default())
}
