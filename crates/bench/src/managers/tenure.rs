//! Tenure, on any device.

use std::hint::black_box;

use tenure_core::device::Device;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, MemoryUse, Queue, Texture, TextureDesc, Usage,
};
use tenure_trace::MemoryKind;

use super::programs::{COPIED_BUFFERS, COPIED_BYTES, Call, Program, UPLOAD_BYTES, UPLOADS, copies};
use super::{Contender, DeviceName, Manager};
use crate::null;

/// Its name among the managers.
pub(super) const NAME: &str = "tenure";

/// Tenure on the null device and on Vulkan.
pub(super) fn contenders() -> Vec<Contender> {
    let null = || open::<_, String>(Ok(null::Device::new(tenure_sim::Profile::VULKAN_NVIDIA)));
    let vulkan = || open(tenure_vulkan::Device::create(&tenure_vulkan::Options::default()));
    let (plays, target): (fn(_) -> _, fn(_) -> _) = (|_| true, |_| None);
    vec![
        Contender { manager: NAME, device: DeviceName::Null, plays, target, open: null },
        Contender { manager: NAME, device: DeviceName::Vulkan, plays, target, open: vulkan },
    ]
}

fn open<D: Device, E: ToString>(device: Result<D, E>) -> Result<Box<dyn Manager>, String> {
    let device = device.map_err(|error| error.to_string())?;
    let gpu = Gpu::new(device, Config::default()).map_err(|error| error.to_string())?;
    Ok(Box::new(Tenure { gpu, slots: Vec::new(), buffers: Vec::new() }))
}

struct Tenure<D: Device> {
    gpu: Gpu<D>,
    /// What was created and not dropped.
    slots: Vec<Option<Resource<D>>>,
    /// Those that are uploaded to, or copied between.
    buffers: Vec<Buffer<D>>,
}

/// It is only kept.
#[expect(dead_code, reason = "a handle is dropped, and not used")]
enum Resource<D: Device> {
    Buffer(Buffer<D>),
    Texture(Texture<D>),
}

impl<D: Device> Tenure<D> {
    fn make(&mut self, count: usize, desc: &BufferDesc) -> Result<(), Error> {
        self.buffers = (0..count).map(|_| self.gpu.create_buffer(desc)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Error> {
        let (slot, made) = match *call {
            Call::Buffer { slot, size, memory } => {
                let (usage, memory) = match memory {
                    MemoryKind::GpuOnly => {
                        (Usage::VERTEX | Usage::INDEX | Usage::COPY_DST, MemoryUse::GpuOnly)
                    }
                    MemoryKind::CpuToGpu => (Usage::COPY_SRC, MemoryUse::Upload),
                    MemoryKind::GpuToCpu => (Usage::COPY_DST, MemoryUse::Readback),
                };
                let desc = BufferDesc::new(size, usage).memory(memory);
                (slot, Some(Resource::Buffer(self.gpu.create_buffer(&desc)?)))
            }
            Call::Texture { slot, width, height } => {
                let usage = Usage::SHADER_READ | Usage::COPY_DST;
                let desc = TextureDesc::d2(width, height, Format::Rgba8Unorm, usage);
                (slot, Some(Resource::Texture(self.gpu.create_texture(&desc)?)))
            }
            Call::Drop { slot } => (slot, None),
        };
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        self.slots[slot] = made;
        Ok(())
    }

    fn create_frame(&mut self, calls: &[Call]) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        calls.iter().try_for_each(|call| self.call(call))?;
        frame.end()
    }

    fn upload_frame(&self, bytes: &[u8]) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        for buffer in &self.buffers {
            self.gpu.upload(buffer, 0, black_box(bytes))?;
        }
        frame.end()
    }

    fn record_frame(&self, passes: usize) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "frame")?;
        let (commands, _) = recording.split();
        for (from, to) in copies(passes).flatten() {
            commands.copy_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES)?;
        }
        frame.submit(recording)?;
        frame.end()
    }

    /// It has no submission of several recordings.
    fn lists_frame(&self, passes: usize) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        for pass in copies(passes) {
            let mut recording = frame.record(Queue::Graphics, "pass")?;
            let (commands, _) = recording.split();
            for (from, to) in pass {
                commands.copy_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES)?;
            }
            frame.submit(recording)?;
        }
        frame.end()
    }

    fn constants_frame(&self, values: &[[u32; 16]]) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "frame")?;
        let (_, scratch) = recording.split();
        for value in values {
            black_box(scratch.constants(black_box(value))?.offset());
        }
        frame.submit(recording)?;
        frame.end()
    }
}

impl<D: Device> Manager for Tenure<D> {
    fn prepare(&mut self, program: Program) -> Result<(), String> {
        let made = match program {
            Program::Uploads => {
                self.make(UPLOADS, &BufferDesc::new(UPLOAD_BYTES as u64, Usage::VERTEX | Usage::COPY_DST))
            }
            Program::Passes | Program::Lists | Program::Pass => {
                let usage = Usage::COPY_SRC | Usage::COPY_DST;
                self.make(COPIED_BUFFERS, &BufferDesc::new(COPIED_BYTES, usage).own_resource())
            }
            Program::Buffers | Program::Textures | Program::Constants => Ok(()),
        };
        made.map_err(|error| error.to_string())
    }

    fn create(&mut self, calls: &[Call]) -> Result<(), String> {
        self.create_frame(calls).map_err(|error| error.to_string())
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.upload_frame(bytes).map_err(|error| error.to_string())
    }

    fn record(&mut self, passes: usize) -> Result<(), String> {
        self.record_frame(passes).map_err(|error| error.to_string())
    }

    fn record_lists(&mut self, passes: usize) -> Result<(), String> {
        self.lists_frame(passes).map_err(|error| error.to_string())
    }

    fn write_constants(&mut self, values: &[[u32; 16]]) -> Result<(), String> {
        self.constants_frame(values).map_err(|error| error.to_string())
    }

    fn reserved(&self) -> Option<u64> {
        Some(self.gpu.stats().reserved)
    }

    fn driver_creations(&self) -> Option<u64> {
        let stats = self.gpu.stats();
        Some(stats.objects_created())
    }
}
