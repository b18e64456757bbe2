//! A program on the simulated device that does what a recording says, with its history and its statistics.

use std::collections::HashMap;

use tenure_core::device::Usage;
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, MemoryUse, PoolReport, Queue, Stats, Texture, TextureDesc,
};
use tenure_report::{History, HistoryRecorder};
use tenure_sim as sim;
use tenure_trace::{Event, Layout, MemoryKind};

/// What the program of a test holds, so that it lives.
#[expect(dead_code, reason = "objects are only held and dropped")]
enum Object {
    Buffer(Buffer<sim::Device>),
    Texture(Texture<sim::Device>),
}

/// A history, and what the manager said at the end of each of its frames.
pub(crate) struct Run {
    pub(crate) history: History,
    pub(crate) frames: Vec<(Stats, Vec<PoolReport>)>,
}

/// Does what the events say. `labels` gives each allocation, by its id, a name and a tag.
pub(crate) fn run(events: impl IntoIterator<Item = Event>, labels: impl Fn(u64) -> (String, String)) -> Run {
    let options = sim::Options::new(sim::Profile::DISCRETE).seed(1).lag(sim::Lag::Random { max: 9 });
    let gpu = Gpu::new(sim::Device::with_options(options), Config::default()).unwrap();
    let recorder = HistoryRecorder::new(&gpu);
    assert!(gpu.set_recorder(recorder.hook()));
    let (mut objects, mut frames) = (HashMap::new(), Vec::new());
    let mut frame = gpu.begin_frame().unwrap();
    for event in events {
        match event {
            Event::Alloc { id, size, align, kind, .. } => {
                let labels = labels(id);
                let object = match kind.layout {
                    Layout::Linear => buffer(&gpu, size, align, kind.memory, labels),
                    Layout::Optimal => texture(&gpu, size, labels),
                };
                objects.insert(id, object);
            }
            Event::Free { id, .. } => {
                objects.remove(&id);
            }
            Event::Frame { .. } => {
                gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
                frame.end().unwrap();
                recorder.end_frame(&gpu);
                frames.push((gpu.stats(), gpu.pool_reports()));
                frame = gpu.begin_frame().unwrap();
            }
        }
    }
    frame.end().unwrap();
    drop(objects);
    Run { history: recorder.finish("a program"), frames }
}

fn buffer(
    gpu: &Gpu<sim::Device>,
    size: u64,
    align: u64,
    memory: MemoryKind,
    (name, tag): (String, String),
) -> Object {
    let (memory, usage) = match memory {
        MemoryKind::GpuOnly => (MemoryUse::GpuOnly, Usage::VERTEX | Usage::COPY_DST),
        MemoryKind::CpuToGpu => (MemoryUse::Upload, Usage::COPY_SRC),
        MemoryKind::GpuToCpu => (MemoryUse::Readback, Usage::COPY_DST),
    };
    let desc = BufferDesc::new(size, usage).memory(memory).alignment(align).name(name).tag(tag);
    let buffer = gpu.create_buffer(&desc).unwrap();
    // Whatever is named may be used, so that it waits for the GPU when it is dropped.
    let _named = buffer.raw();
    Object::Buffer(buffer)
}

fn texture(gpu: &Gpu<sim::Device>, size: u64, (name, tag): (String, String)) -> Object {
    let width = u32::try_from((size / 1024).clamp(1, 4096)).unwrap();
    let desc = TextureDesc::d2(width, 256, Format::Rgba8Unorm, Usage::SHADER_READ);
    let texture = gpu.create_texture(&desc.name(name).tag(tag)).unwrap();
    let _named = texture.raw();
    Object::Texture(texture)
}
