//! Particles that a compute shader moves from one buffer to the other, and a histogram of them that is read
//! back every frame.

use bytemuck::{Pod, Zeroable};
use picture::{Picture, Result};
use stage::{Canvas, Random, Stage};
use wgpu::{BufferUsages, TextureFormat, TextureUsages};

use crate::pipeline::{Drawing, bind, cleared, filled};

const FORMAT: TextureFormat = TextureFormat::Rgba8Unorm;
const PARTICLES: u32 = 4096;
/// Invocations of a workgroup.
const GROUP: u32 = 64;
/// Cells of the histogram.
const CELLS: u64 = 256;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Particle {
    position: [f32; 2],
    velocity: [f32; 2],
}

pub(crate) fn draw(mut stage: Stage, frames: u32) -> Result<Picture> {
    let canvas = Canvas::new(&stage, FORMAT, TextureUsages::RENDER_ATTACHMENT);
    let device = stage.device.clone();
    let shader = device.create_shader_module(wgpu::include_wgsl!("particles.wgsl"));
    let moving = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("move"),
        layout: None,
        module: &shader,
        entry_point: Some("advance"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let drawing = Drawing {
        shader: &shader,
        vertex: "vertex",
        fragment: Some(("fragment", FORMAT)),
        buffers: &[],
        depth: false,
        samples: 1,
        blend: None,
    };
    let drawing = drawing.pipeline(&device);
    let (mut old, mut new) = (particles(&device), particles(&device));
    for _ in 0..frames {
        let cells = counters(&device, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
        let read = counters(&device, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let resources = [&old, &new, &cells].map(wgpu::Buffer::as_entire_binding).to_vec();
        let moved = bind(&device, &moving.get_bind_group_layout(0), resources);
        // The vertex shader has only the one at binding 1.
        let drawn = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &drawing.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 1, resource: new.as_entire_binding() }],
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&moving);
        pass.set_bind_group(0, &moved, &[]);
        pass.dispatch_workgroups(PARTICLES / GROUP, 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&cells, 0, &read, 0, cells.size());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[cleared(&canvas.view, None)],
            ..Default::default()
        });
        pass.set_pipeline(&drawing);
        pass.set_bind_group(0, &drawn, &[]);
        pass.draw(0..3, 0..PARTICLES);
        drop(pass);
        stage.submit([encoder.finish()])?;
        all_are_counted(&stage, &read)?;
        std::mem::swap(&mut old, &mut new);
    }
    canvas.read(&stage)
}

fn particles(device: &wgpu::Device) -> wgpu::Buffer {
    let mut random = Random::new(3);
    let mut pair = |most: f32| [random.between(-most, most), random.between(-most, most)];
    let all: Vec<_> =
        (0..PARTICLES).map(|_| Particle { position: pair(0.9), velocity: pair(0.01) }).collect();
    filled(device, "particles", &all, BufferUsages::STORAGE)
}

fn counters(device: &wgpu::Device, usage: BufferUsages) -> wgpu::Buffer {
    let size = CELLS * size_of::<u32>() as u64;
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("cells"),
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// Checks that every particle is in one of the cells.
fn all_are_counted(stage: &Stage, read: &wgpu::Buffer) -> Result<()> {
    read.map_async(wgpu::MapMode::Read, .., |_| ());
    stage.device.poll(wgpu::PollType::wait_indefinitely())?;
    let bytes = read.get_mapped_range(..)?;
    let counted: u32 = bytemuck::cast_slice::<u8, u32>(&bytes).iter().sum();
    if counted == PARTICLES { Ok(()) } else { Err(format!("{counted} of {PARTICLES} particles").into()) }
}
