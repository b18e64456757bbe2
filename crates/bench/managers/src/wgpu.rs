//! wgpu, on its no-op backend and on Vulkan.

use std::collections::VecDeque;
use std::hint::black_box;

use ::wgpu::{
    Backends, Buffer, BufferDescriptor, BufferUsages, Device, DeviceDescriptor, Extent3d, Instance,
    InstanceDescriptor, PollType, Queue, SubmissionIndex, Texture, TextureDescriptor, TextureDimension,
    TextureFormat, TextureUsages,
};
use bench::managers::{
    CONSTANTS, COPIED_BUFFERS, COPIED_BYTES, Call, Contender, DeviceName, Manager, MemoryKind, Program,
    UPLOAD_BYTES, UPLOADS, copies,
};

use crate::FRAMES_IN_FLIGHT;

const NAME: &str = "wgpu 29";
const CONSTANT_BYTES: usize = 64;
/// Bytes of a buffer at most on the no-op backend in the program that creates them: that backend allocates, clears and
/// copies them, which no driver does.
const MAX_NOOP_BYTES: u64 = 64;

/// wgpu on both devices.
pub(crate) fn contenders() -> Vec<Contender> {
    let noop = || open(Backends::NOOP, MAX_NOOP_BYTES);
    let vulkan = || open(Backends::VULKAN, u64::MAX);
    let plays = |_| true;
    vec![
        Contender { manager: NAME, device: DeviceName::Null, plays, target, open: noop },
        Contender { manager: NAME, device: DeviceName::Vulkan, plays, target, open: vulkan },
    ]
}

/// A third of its time on creation, a fifth on uploads, a quarter on passes.
fn target(program: Program) -> Option<f64> {
    match program {
        Program::Buffers | Program::Textures => Some(1.0 / 3.0),
        Program::Uploads => Some(1.0 / 5.0),
        Program::Passes | Program::Lists | Program::Pass => Some(1.0 / 4.0),
        Program::Constants => None,
    }
}

fn open(backends: Backends, max_created: u64) -> Result<Box<dyn Manager>, String> {
    let mut desc = InstanceDescriptor::new_without_display_handle();
    desc.backends = backends;
    desc.backend_options.noop.enable = backends.contains(Backends::NOOP);
    // Without the validation layers.
    desc.flags = ::wgpu::InstanceFlags::empty();
    let instance = Instance::new(desc);
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()));
    let adapter = adapter.map_err(|error| error.to_string())?;
    let limits = adapter.limits();
    let apart = CONSTANT_BYTES.next_multiple_of(limits.min_uniform_buffer_offset_alignment as usize);
    let desc = DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) =
        pollster::block_on(adapter.request_device(&desc)).map_err(|error| error.to_string())?;
    Ok(Box::new(Wgpu {
        device,
        queue,
        apart,
        max_created,
        slots: Vec::new(),
        buffers: Vec::new(),
        in_flight: VecDeque::new(),
    }))
}

struct Wgpu {
    device: Device,
    queue: Queue,
    /// Bytes from one constant to the next.
    apart: usize,
    /// Bytes of a buffer that is created at most.
    max_created: u64,
    /// What was created and not dropped.
    slots: Vec<Option<Resource>>,
    /// Those that are uploaded to, copied between, or have the constants.
    buffers: Vec<Buffer>,
    in_flight: VecDeque<SubmissionIndex>,
}

/// It is only kept.
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
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        self.slots[slot] = made;
    }

    /// Ends a frame with its submission.
    fn end(&mut self, submitted: SubmissionIndex) -> Result<(), String> {
        self.in_flight.push_back(submitted);
        if self.in_flight.len() > FRAMES_IN_FLIGHT {
            let submission_index = self.in_flight.pop_front();
            let wait = PollType::Wait { submission_index, timeout: None };
            self.device.poll(wait).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl Manager for Wgpu {
    fn prepare(&mut self, program: Program) -> Result<(), String> {
        let (count, size, usage) = match program {
            Program::Uploads => (UPLOADS, UPLOAD_BYTES, BufferUsages::VERTEX | BufferUsages::COPY_DST),
            Program::Passes | Program::Lists | Program::Pass => {
                (COPIED_BUFFERS, COPIED_BYTES as usize, BufferUsages::COPY_SRC | BufferUsages::COPY_DST)
            }
            Program::Constants => (1, CONSTANTS * self.apart, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            Program::Buffers | Program::Textures => return Ok(()),
        };
        self.buffers = (0..count).map(|_| self.buffer(size as u64, usage)).collect();
        Ok(())
    }

    fn create(&mut self, calls: &[Call]) -> Result<(), String> {
        calls.iter().for_each(|call| self.call(call));
        Ok(())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        for buffer in &self.buffers {
            self.queue.write_buffer(buffer, 0, black_box(bytes));
        }
        let submitted = self.queue.submit([]);
        self.end(submitted)
    }

    fn record(&mut self, passes: usize) -> Result<(), String> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for (from, to) in copies(passes).flatten() {
            encoder.copy_buffer_to_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES);
        }
        let submitted = self.queue.submit([encoder.finish()]);
        self.end(submitted)
    }

    fn record_lists(&mut self, passes: usize) -> Result<(), String> {
        let list = |pass| {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            for (from, to) in pass {
                encoder.copy_buffer_to_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES);
            }
            encoder.finish()
        };
        let lists: Vec<_> = copies(passes).map(list).collect();
        let submitted = self.queue.submit(lists);
        self.end(submitted)
    }

    /// All of them in one write: with a write for each they would cost as much as uploads.
    fn write_constants(&mut self, values: &[[u32; 16]]) -> Result<(), String> {
        let size = (values.len() * self.apart) as u64;
        let size = size.try_into().map_err(|_| "no constants")?;
        let view = self.buffers.first().and_then(|buffer| self.queue.write_buffer_with(buffer, 0, size));
        let mut view = view.ok_or("no staging memory")?;
        for (index, value) in values.iter().enumerate() {
            let start = index * self.apart;
            let bytes = bytemuck::bytes_of(black_box(value));
            view.slice(start..start + CONSTANT_BYTES).copy_from_slice(bytes);
        }
        drop(view);
        let encoder = self.device.create_command_encoder(&Default::default());
        let submitted = self.queue.submit([encoder.finish()]);
        self.end(submitted)
    }

    fn reserved(&self) -> Option<u64> {
        self.device.generate_allocator_report().map(|report| report.total_reserved_bytes)
    }

    fn driver_creations(&self) -> Option<u64> {
        None
    }
}
