//! A wgpu device without a window: frames in flight, and the last of them read back.

use std::collections::VecDeque;

pub use picture::{Arguments, Picture, Result};
use wgpu::wgt::PollType;

/// Frames that the GPU may be behind.
const IN_FLIGHT: usize = 2;

/// A device, and its recent submissions.
pub struct Stage {
    /// The device, with the limits of its adapter and no feature beyond WebGPU's.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    in_flight: VecDeque<wgpu::SubmissionIndex>,
}

impl Stage {
    /// The first Vulkan device.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub fn new() -> Result<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
        let wanted = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&wanted))?;
        Ok(Self { device, queue, in_flight: VecDeque::new() })
    }

    /// Submits a frame, and waits for the one before the last.
    ///
    /// # Errors
    /// The device is lost.
    pub fn submit(&mut self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> Result<()> {
        self.in_flight.push_back(self.queue.submit(commands));
        if self.in_flight.len() > IN_FLIGHT {
            self.device
                .poll(PollType::Wait { submission_index: self.in_flight.pop_front(), timeout: None })?;
        }
        Ok(())
    }
}

/// The target of the frames.
pub struct Canvas {
    /// The texture, in the requested format.
    pub texture: wgpu::Texture,
    /// All of it.
    pub view: wgpu::TextureView,
}

impl Canvas {
    /// Pixels across.
    pub const WIDTH: u32 = 960;
    /// Pixels down.
    pub const HEIGHT: u32 = 640;

    /// A canvas of a format with four bytes a pixel.
    pub fn new(stage: &Stage, format: wgpu::TextureFormat, usage: wgpu::TextureUsages) -> Self {
        let texture = stage.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("canvas"),
            size: Self::size(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: usage | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        Self { texture, view }
    }

    /// Its size.
    pub fn size() -> wgpu::Extent3d {
        wgpu::Extent3d { width: Self::WIDTH, height: Self::HEIGHT, depth_or_array_layers: 1 }
    }

    /// Reads the picture.
    ///
    /// # Errors
    /// The device is lost.
    pub fn read(&self, stage: &Stage) -> Result<Picture> {
        const ROW: u32 = Canvas::WIDTH * 4;
        const { assert!(ROW.is_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)) };
        let buffer = stage.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(ROW) * u64::from(Self::HEIGHT),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(ROW), rows_per_image: None };
        let to = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(self.texture.as_image_copy(), to, Self::size());
        stage.queue.submit([encoder.finish()]);
        // `get_mapped_range` reports whether that worked.
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        stage.device.poll(PollType::wait_indefinitely())?;
        let bytes = buffer.get_mapped_range(..)?.to_vec();
        Ok(Picture { width: Self::WIDTH, bytes })
    }
}

/// Numbers that are the same in every run.
pub struct Random(u64);

impl Random {
    /// The random numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number from 0 to below 1.
    pub fn unit(&mut self) -> f32 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    /// A random number from `least` to below `most`.
    pub fn between(&mut self, least: f32, most: f32) -> f32 {
        least + self.unit() * (most - least)
    }
}
