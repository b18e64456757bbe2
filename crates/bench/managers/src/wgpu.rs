//! wgpu, on its no-op backend and on Vulkan.

use std::collections::VecDeque;
use std::hint::black_box;

use ::wgpu::{
    Backends, Buffer, BufferDescriptor, BufferUsages, CommandBuffer, Device, DeviceDescriptor, Extent3d, Instance,
    InstanceDescriptor, PollType, Queue, SubmissionIndex, Texture, TextureDescriptor, TextureDimension,
    TextureFormat, TextureUsages,
};
use bench::Result;
use bench::managers::{
    COPIED_BYTES, Call, Contender, DeviceName, Frame, Manager, MemoryKind, Program, Slots, UPLOADED, VALUES, copies,
};

use crate::FRAMES_IN_FLIGHT;

const NAME: &str = "wgpu 29";
const CONSTANT_BYTES: usize = 64;
/// Limit on the bytes of a created buffer on the no-op backend, which allocates, clears and copies them, unlike
/// a driver.
const MAX_NOOP_BYTES: u64 = 64;

/// wgpu on both devices.
pub(crate) fn contenders() -> Vec<Contender> {
    let noop = || open(Backends::NOOP, MAX_NOOP_BYTES);
    let vulkan = || open(Backends::VULKAN, u64::MAX);
    let plays = |_| true;
    vec![
        Contender { manager: NAME, device: DeviceName::Null, plays, target: null_target, open: noop },
        Contender { manager: NAME, device: DeviceName::Vulkan, plays, target: vulkan_target, open: vulkan },
    ]
}

/// The goals on the null device, where the time is that of the managers alone.
fn null_target(program: Program) -> Option<f64> {
    match program {
        Program::Buffers => Some(0.65),
        Program::Textures => Some(1.0),
        Program::Uploads => Some(0.15),
        Program::Passes | Program::Lists => Some(0.28),
        Program::Pass => Some(0.45),
        Program::Constants => None,
    }
}

/// The goals on Vulkan, where the driver has a part in each.
fn vulkan_target(program: Program) -> Option<f64> {
    match program {
        Program::Textures | Program::Lists => Some(0.6),
        Program::Passes => Some(0.45),
        Program::Buffers | Program::Pass => Some(0.3),
        Program::Uploads | Program::Constants => None,
    }
}

fn open(backends: Backends, max_created: u64) -> Result<Box<dyn Manager>> {
    let mut desc = InstanceDescriptor::new_without_display_handle();
    desc.backends = backends;
    desc.backend_options.noop.enable = backends.contains(Backends::NOOP);
    // Without the validation layers.
    desc.flags = ::wgpu::InstanceFlags::empty();
    let instance = Instance::new(desc);
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    let limits = adapter.limits();
    let apart = CONSTANT_BYTES.next_multiple_of(limits.min_uniform_buffer_offset_alignment as usize);
    let desc = DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&desc))?;
    let (slots, buffers, in_flight) = (Slots(Vec::new()), Vec::new(), VecDeque::new());
    Ok(Box::new(Wgpu { device, queue, apart, max_created, slots, buffers, in_flight }))
}

struct Wgpu {
    device: Device,
    queue: Queue,
    /// Bytes from one constant to the next.
    apart: usize,
    /// Limit on the bytes of a created buffer.
    max_created: u64,
    slots: Slots<Resource>,
    /// For uploads, copies or constants.
    buffers: Vec<Buffer>,
    in_flight: VecDeque<SubmissionIndex>,
}

/// A resource, which is only kept.
#[expect(dead_code, reason = "a handle is dropped, and not used")]
enum Resource {
    Buffer(Buffer),
    Texture(Texture),
}

impl Wgpu {
    fn buffer(&self, size: u64, usage: BufferUsages) -> Buffer {
        self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn texture(&self, width: u32, height: u32) -> Texture {
        self.device.create_texture(&TextureDescriptor {
            label: None,
            size: Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: TextureFormat::Rgba8Unorm,
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            view_formats: &[],
        })
    }

    fn call(&mut self, call: &Call) {
        let (slot, made) = match *call {
            Call::Buffer { slot, size, memory } => {
                let usage = match memory {
                    MemoryKind::GpuOnly => {
                        BufferUsages::VERTEX | BufferUsages::INDEX | BufferUsages::COPY_DST
                    }
                    MemoryKind::CpuToGpu => BufferUsages::COPY_SRC | BufferUsages::MAP_WRITE,
                    MemoryKind::GpuToCpu => BufferUsages::COPY_DST | BufferUsages::MAP_READ,
                };
                (slot, Some(Resource::Buffer(self.buffer(size.min(self.max_created), usage))))
            }
            Call::Texture { slot, width, height } => {
                (slot, Some(Resource::Texture(self.texture(width, height))))
            }
            Call::Drop { slot } => (slot, None),
        };
        self.slots.put(slot, made);
    }

    /// A list of commands with these copies.
    fn list(&self, copies: impl Iterator<Item = (usize, usize)>) -> CommandBuffer {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for (from, to) in copies {
            encoder.copy_buffer_to_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES);
        }
        encoder.finish()
    }

    /// All constants in one write: single writes would cost as much as uploads.
    fn write_constants(&self) -> Result {
        let size = (VALUES.len() * self.apart) as u64;
        let view = self.buffers.first().and_then(|it| self.queue.write_buffer_with(it, 0, size.try_into().ok()?));
        let mut view = view.ok_or("no staging memory")?;
        for (index, value) in VALUES.iter().enumerate() {
            let start = index * self.apart;
            let bytes = bytemuck::bytes_of(black_box(value));
            view.slice(start..start + CONSTANT_BYTES).copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Manager for Wgpu {
    fn prepare(&mut self, program: Program) -> Result {
        let (count, size) = match program {
            Program::Constants => (1, (VALUES.len() * self.apart) as u64),
            program => program.buffers(),
        };
        let usage = match program {
            Program::Uploads => BufferUsages::VERTEX | BufferUsages::COPY_DST,
            Program::Constants => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            _ => BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
        };
        self.buffers = (0..count).map(|_| self.buffer(size, usage)).collect();
        Ok(())
    }

    fn play(&mut self, frame: &Frame) -> Result {
        let submitted = match frame {
            Frame::Create(calls) => {
                calls.iter().for_each(|call| self.call(call));
                return Ok(());
            }
            Frame::Upload => {
                for buffer in &self.buffers {
                    self.queue.write_buffer(buffer, 0, black_box(&UPLOADED));
                }
                self.queue.submit([])
            }
            Frame::Passes(passes) => self.queue.submit([self.list(copies(*passes).flatten())]),
            Frame::Lists(passes) => {
                let lists: Vec<_> = copies(*passes).map(|pass| self.list(pass)).collect();
                self.queue.submit(lists)
            }
            Frame::Constants => {
                self.write_constants()?;
                self.queue.submit([self.list(std::iter::empty())])
            }
        };
        self.in_flight.push_back(submitted);
        if self.in_flight.len() > FRAMES_IN_FLIGHT {
            let submission_index = self.in_flight.pop_front();
            self.device.poll(PollType::Wait { submission_index, timeout: None })?;
        }
        Ok(())
    }

    fn reserved(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_reserved_bytes)
    }
}
