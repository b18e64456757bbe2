//! Tenure, on any device.

use std::hint::black_box;

use tenure_core::device::Device;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Frame, Gpu, MemoryUse, Queue, Recording, Texture, TextureDesc,
    Usage,
};
use tenure_trace::MemoryKind;

use super::programs::{COPIED_BYTES, Call, Frame as Work, Program, Slots, UPLOADED, VALUES, copies};
use super::{Contender, DeviceName, Manager};
use crate::{Result, devices, null};

/// Its name among the managers.
pub(super) const NAME: &str = "tenure";

/// Tenure on the null device and on Vulkan.
pub(super) fn contenders() -> Vec<Contender> {
    let null = || open(null::Device::new(tenure_sim::Profile::VULKAN_NVIDIA));
    let vulkan = || open(devices::vulkan()?);
    let (plays, target): (fn(_) -> _, fn(_) -> _) = (|_| true, |_| None);
    vec![
        Contender { manager: NAME, device: DeviceName::Null, plays, target, open: null },
        Contender { manager: NAME, device: DeviceName::Vulkan, plays, target, open: vulkan },
    ]
}

fn open<D: Device>(device: D) -> Result<Box<dyn Manager>> {
    let gpu = Gpu::new(device, Config::default())?;
    Ok(Box::new(Tenure { gpu, slots: Slots(Vec::new()), buffers: Vec::new() }))
}

struct Tenure<D: Device> {
    gpu: Gpu<D>,
    slots: Slots<Resource<D>>,
    /// For uploads or copies.
    buffers: Vec<Buffer<D>>,
}

/// A resource, which is only kept.
#[expect(dead_code, reason = "a handle is dropped, and not used")]
enum Resource<D: Device> {
    Buffer(Buffer<D>),
    Texture(Texture<D>),
}

impl<D: Device> Tenure<D> {
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
        self.slots.put(slot, made);
        Ok(())
    }

    /// Records these copies.
    fn copy(
        &self,
        frame: &Frame<D>,
        copies: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Recording<D>, Error> {
        let mut recording = frame.record(Queue::Graphics, "copies")?;
        let (commands, _) = recording.split();
        for (from, to) in copies {
            commands.copy_buffer(&self.buffers[from], 0, &self.buffers[to], 0, COPIED_BYTES)?;
        }
        Ok(recording)
    }
}

impl<D: Device> Manager for Tenure<D> {
    fn prepare(&mut self, program: Program) -> Result {
        let (count, bytes) = program.buffers();
        let desc = match program {
            Program::Uploads => BufferDesc::new(bytes, Usage::VERTEX | Usage::COPY_DST),
            _ => BufferDesc::new(bytes, Usage::COPY_SRC | Usage::COPY_DST).own_resource(),
        };
        self.buffers = (0..count).map(|_| self.gpu.create_buffer(&desc)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn play(&mut self, work: &Work) -> Result {
        let frame = self.gpu.begin_frame()?;
        match work {
            Work::Create(calls) => calls.iter().try_for_each(|call| self.call(call))?,
            Work::Upload => {
                for buffer in &self.buffers {
                    self.gpu.upload(buffer, 0, black_box(&UPLOADED))?;
                }
            }
            Work::Passes(passes) => {
                frame.submit(self.copy(&frame, copies(*passes).flatten())?)?;
            }
            Work::Lists(passes) => {
                let mut lists = Vec::with_capacity(*passes);
                for pass in copies(*passes) {
                    lists.push(self.copy(&frame, pass)?);
                }
                frame.submit_all(lists)?;
            }
            Work::Constants => {
                let mut recording = frame.record(Queue::Graphics, "constants")?;
                let (_, scratch) = recording.split();
                for value in &VALUES {
                    black_box(scratch.constants(black_box(value))?.offset());
                }
                frame.submit(recording)?;
            }
        }
        Ok(frame.end()?)
    }

    fn reserved(&self) -> Option<u64> {
        Some(self.gpu.stats().reserved)
    }

    fn driver_creations(&self) -> Option<u64> {
        Some(self.gpu.stats().objects_created())
    }
}
