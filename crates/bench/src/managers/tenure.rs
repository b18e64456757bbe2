//! Tenure, on any device.

use std::hint::black_box;

use tenure_core::device::Device;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Frame, Gpu, MemoryUse, Queue, Texture, TextureDesc, Usage,
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

    /// Plays a frame.
    fn frame(&mut self, play: impl FnOnce(&mut Self, &Frame<D>) -> Result<(), Error>) -> Result<(), String> {
        let frame = self.gpu.begin_frame().map_err(|error| error.to_string())?;
        play(self, &frame).and_then(|()| frame.end()).map_err(|error| error.to_string())
    }

    /// Records these copies and submits them.
    fn copy(
        &self,
        frame: &Frame<D>,
        name: &'static str,
        copies: impl Iterator<Item = (usize, usize)>,
    ) -> Result<(), Error> {
        let mut recording = frame.record(Queue::Graphics, name)?;
        let (commands, _) = recording.split();
        for (from, to) in copies {
            commands.copy_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES)?;
        }
        frame.submit(recording).map(drop)
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
        self.frame(|this, _| calls.iter().try_for_each(|call| this.call(call)))
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.frame(|this, _| {
            this.buffers.iter().try_for_each(|buffer| this.gpu.upload(buffer, 0, black_box(bytes)).map(drop))
        })
    }

    fn record(&mut self, passes: usize) -> Result<(), String> {
        self.frame(|this, frame| this.copy(frame, "frame", copies(passes).flatten()))
    }

    /// It has no submission of several recordings.
    fn record_lists(&mut self, passes: usize) -> Result<(), String> {
        self.frame(|this, frame| copies(passes).try_for_each(|pass| this.copy(frame, "pass", pass)))
    }

    fn write_constants(&mut self, values: &[[u32; 16]]) -> Result<(), String> {
        self.frame(|_, frame| {
            let mut recording = frame.record(Queue::Graphics, "frame")?;
            let (_, scratch) = recording.split();
            for value in values {
                black_box(scratch.constants(black_box(value))?.offset());
            }
            frame.submit(recording).map(drop)
        })
    }

    fn reserved(&self) -> Option<u64> {
        Some(self.gpu.stats().reserved)
    }

    fn driver_creations(&self) -> Option<u64> {
        let stats = self.gpu.stats();
        Some(stats.objects_created())
    }
}
