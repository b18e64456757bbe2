//! Rings over a floor, lit by a moving light that casts shadows: depth, mipmaps, 4x MSAA; the targets are
//! recreated every few frames, as for a resized window.

use std::f32::consts::TAU;
use std::mem::size_of;

use bytemuck::{Pod, Zeroable};
use glam::camera::rh::proj::directx::{orthographic, perspective};
use glam::camera::rh::view::look_at_mat4;
use glam::{Mat4, Vec3};
use picture::{Picture, Result};
use stage::{Canvas, Stage};
use wgpu::{BufferUsages, TextureFormat, TextureUsages, TextureView};

use crate::pipeline::{DEPTH, Drawing, bind, cleared, far, filled, texture};

const FORMAT: TextureFormat = TextureFormat::Rgba8UnormSrgb;
const SAMPLES: u32 = 4;
/// The side of the shadow map, in texels.
const SHADOW: u32 = 1024;
/// The side of the tiles, in texels.
const TILES: u32 = 512;
const RINGS: usize = 60;
/// Frames that a set of targets lasts.
const LASTS: u32 = 6;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Vertex {
    position: Vec3,
    normal: Vec3,
    at: [f32; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct View {
    camera: Mat4,
    light: Mat4,
    to_light: [f32; 4],
}

/// Persistent resources.
struct Scene {
    shadow_pass: wgpu::RenderPipeline,
    main_pass: wgpu::RenderPipeline,
    shadow_group: wgpu::BindGroup,
    main_group: wgpu::BindGroup,
    shadow_map: TextureView,
    view: wgpu::Buffer,
    rings: wgpu::Buffer,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    count: u32,
}

/// Resources that depend on the size of the picture.
struct Targets {
    color: TextureView,
    depth: TextureView,
}

impl Targets {
    fn new(stage: &Stage) -> Self {
        let target = |format| {
            let size = [Canvas::WIDTH, Canvas::HEIGHT];
            let made = texture(&stage.device, size, [1, SAMPLES], format, TextureUsages::RENDER_ATTACHMENT);
            made.create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self { color: target(FORMAT), depth: target(DEPTH) }
    }
}

pub(crate) fn draw(mut stage: Stage, frames: u32) -> Result<Picture> {
    let canvas = Canvas::new(&stage, FORMAT, TextureUsages::RENDER_ATTACHMENT);
    let scene = Scene::new(&stage);
    let mut targets = Targets::new(&stage);
    for frame in 0..frames {
        if frame % LASTS == LASTS - 1 {
            targets = Targets::new(&stage);
        }
        let time = frame as f32 / 60.0;
        stage.queue.write_buffer(&scene.view, 0, bytemuck::bytes_of(&view(time)));
        stage.queue.write_buffer(&scene.rings, 0, bytemuck::cast_slice(&rings(time)));
        let commands = scene.record(&stage, &targets, &canvas);
        stage.submit([commands])?;
    }
    canvas.read(&stage)
}

impl Scene {
    fn new(stage: &Stage) -> Self {
        let device = &stage.device;
        let shader = device.create_shader_module(wgpu::include_wgsl!("shadows.wgsl"));
        let layout = wgpu::VertexBufferLayout {
            array_stride: size_of::<Vertex>() as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32x2],
        };
        let shadow = Drawing {
            shader: &shader,
            vertex: "shadow",
            fragment: None,
            buffers: &[Some(layout)],
            depth: true,
            samples: 1,
            blend: None,
        };
        let shadow_pass = shadow.pipeline(device);
        let main =
            Drawing { vertex: "vertex", fragment: Some(("fragment", FORMAT)), samples: SAMPLES, ..shadow };
        let main_pass = main.pipeline(device);

        let uniform = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let view = filled(device, "view", &[view(0.0)], uniform);
        let rings = filled(device, "rings", &rings(0.0), BufferUsages::STORAGE | BufferUsages::COPY_DST);
        let shadow_map = texture(
            device,
            [SHADOW; 2],
            [1, 1],
            DEPTH,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        )
        .create_view(&wgpu::TextureViewDescriptor::default());
        let compared = device.create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        });
        let trilinear = device.create_sampler(&wgpu::SamplerDescriptor {
            address_mode_u: wgpu::AddressMode::Repeat,
            address_mode_v: wgpu::AddressMode::Repeat,
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let tiles = tiles(stage).create_view(&wgpu::TextureViewDescriptor::default());
        let seen = || vec![view.as_entire_binding(), rings.as_entire_binding()];
        let lit = [
            wgpu::BindingResource::TextureView(&shadow_map),
            wgpu::BindingResource::Sampler(&compared),
            wgpu::BindingResource::TextureView(&tiles),
            wgpu::BindingResource::Sampler(&trilinear),
        ];
        let shadow_group = bind(device, &shadow_pass.get_bind_group_layout(0), seen());
        let all = seen().into_iter().chain(lit).collect();
        let main_group = bind(device, &main_pass.get_bind_group_layout(0), all);

        let (vertices, indices) = ring();
        Self {
            shadow_pass,
            main_pass,
            shadow_group,
            main_group,
            shadow_map,
            view,
            rings,
            vertices: filled(device, "ring", &vertices, BufferUsages::VERTEX),
            indices: filled(device, "ring", &indices, BufferUsages::INDEX),
            count: u32::try_from(indices.len()).unwrap_or(u32::MAX),
        }
    }

    fn record(&self, stage: &Stage, targets: &Targets, canvas: &Canvas) -> wgpu::CommandBuffer {
        let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            depth_stencil_attachment: Some(far(&self.shadow_map)),
            ..Default::default()
        });
        self.all(&mut pass, &self.shadow_pass, &self.shadow_group);
        drop(pass);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[cleared(&targets.color, Some(&canvas.view))],
            depth_stencil_attachment: Some(far(&targets.depth)),
            ..Default::default()
        });
        self.all(&mut pass, &self.main_pass, &self.main_group);
        drop(pass);
        encoder.finish()
    }

    fn all(&self, pass: &mut wgpu::RenderPass<'_>, pipeline: &wgpu::RenderPipeline, group: &wgpu::BindGroup) {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.set_vertex_buffer(0, self.vertices.slice(..));
        pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..self.count, 0, 0..RINGS as u32);
    }
}

fn view(time: f32) -> View {
    let sun = Vec3::new(12.0 * (time * 0.7).cos(), 18.0, 12.0 * (time * 0.7).sin());
    let aspect = Canvas::WIDTH as f32 / Canvas::HEIGHT as f32;
    View {
        camera: perspective(0.9, aspect, 0.1, 100.0)
            * look_at_mat4(Vec3::new(0.0, 13.0, 19.0), Vec3::ZERO, Vec3::Y),
        light: orthographic(-16.0, 16.0, -16.0, 16.0, 1.0, 50.0) * look_at_mat4(sun, Vec3::ZERO, Vec3::Y),
        to_light: sun.normalize().extend(0.0).to_array(),
    }
}

/// Where each ring is; the first is so large and flat that it is the floor.
fn rings(time: f32) -> Vec<Mat4> {
    let floor =
        Mat4::from_translation(Vec3::new(0.0, -2.5, 0.0)) * Mat4::from_scale(Vec3::new(9.0, 0.4, 9.0));
    let hovering = (1..RINGS).map(|number| {
        let (turn, out) = (number as f32 * 2.4 + time * 0.3, (number as f32).sqrt() * 1.4);
        let height = (time * 2.0 + number as f32).sin() + 1.0;
        Mat4::from_translation(Vec3::new(out * turn.cos(), height, out * turn.sin()))
            * Mat4::from_rotation_x(time + number as f32)
            * Mat4::from_scale(Vec3::splat(0.45))
    });
    std::iter::once(floor).chain(hovering).collect()
}

/// A torus.
fn ring() -> (Vec<Vertex>, Vec<u32>) {
    const AROUND: u32 = 48;
    const THROUGH: u32 = 24;
    let corner = |index: u32| {
        let (u, v) = ((index / THROUGH) as f32 / AROUND as f32, (index % THROUGH) as f32 / THROUGH as f32);
        let (around, through) = (u * TAU, v * TAU);
        let out = Vec3::new(around.cos(), 0.0, around.sin());
        let normal = out * through.cos() + Vec3::Y * through.sin();
        Vertex { position: out + normal * 0.45, normal, at: [u * 8.0, v * 3.0] }
    };
    let quad = |index: u32| {
        let (u, v) = (index / THROUGH, index % THROUGH);
        let at = |u: u32, v: u32| (u % AROUND) * THROUGH + v % THROUGH;
        [at(u, v), at(u, v + 1), at(u + 1, v), at(u + 1, v), at(u, v + 1), at(u + 1, v + 1)]
    };
    ((0..AROUND * THROUGH).map(corner).collect(), (0..AROUND * THROUGH).flat_map(quad).collect())
}

/// A texture whose smaller levels are drawn from the larger.
fn tiles(stage: &Stage) -> wgpu::Texture {
    let levels = TILES.ilog2() + 1;
    let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::RENDER_ATTACHMENT;
    let tiles = texture(&stage.device, [TILES; 2], [levels, 1], FORMAT, usage);
    let texel = |index: u32| {
        let (x, y) = (index % TILES, index / TILES);
        let edge = if x % 64 < 4 || y % 64 < 4 { 60 } else { 255 };
        [edge, (160 + x % 64) as u8, (120 + y % 64) as u8, 255]
    };
    let texels: Vec<u8> = (0..TILES * TILES).flat_map(texel).collect();
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(TILES * 4), rows_per_image: None };
    stage.queue.write_texture(tiles.as_image_copy(), &texels, layout, tiles.size());
    let blitter = wgpu::util::TextureBlitterBuilder::new(&stage.device, FORMAT)
        .sample_type(wgpu::FilterMode::Linear)
        .build();
    let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let level = |level| {
        tiles.create_view(&wgpu::TextureViewDescriptor {
            base_mip_level: level,
            mip_level_count: Some(1),
            ..Default::default()
        })
    };
    for smaller in 1..levels {
        blitter.copy(&stage.device, &mut encoder, &level(smaller - 1), &level(smaller));
    }
    stage.queue.submit([encoder.finish()]);
    tiles
}
