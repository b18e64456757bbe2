//! A program on the simulated device that replays a recording, with its history and its statistics.

use std::collections::{BTreeMap, HashMap};

use tenure_core::device::Usage;
use tenure_core::{
    Buffer, BufferDesc, CompactionBudget, Config, Format, Gpu, LiveObject, MemoryUse, PoolReport, Queue,
    State, Stats, Subresource, Texture, TextureDesc,
};
use tenure_report::{History, HistoryRecorder};
use tenure_sim as sim;
use tenure_trace::{Event, Layout, MemoryKind};
use test_random::Rng;

/// The live objects of a test program.
#[expect(dead_code, reason = "objects are only held and dropped")]
enum Object {
    Buffer(Buffer<sim::Device>),
    Texture(Texture<sim::Device>),
}

/// A history, and the manager's figures at the end of each of its frames.
pub(crate) struct Run {
    pub(crate) history: History,
    pub(crate) frames: Vec<(Stats, Vec<PoolReport>)>,
}

/// Replays the events. `labels` gives each allocation, by its id, a name and a tag.
pub(crate) fn run(events: impl IntoIterator<Item = Event>, labels: impl Fn(u64) -> (String, String)) -> Run {
    let options = sim::DeviceConfig::new(sim::Profile::DISCRETE).seed(1).lag(sim::Lag::Random { max: 9 });
    let gpu = Gpu::new(sim::Device::with_config(options), Config::default()).unwrap();
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
            _ => {}
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
    // Declares a use of all objects, so that they wait for the GPU when dropped.
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

/// A run with moving buffers, and the place of each in the report at the end of each frame, by name: pool,
/// block and byte.
pub(crate) struct Moves {
    pub(crate) run: Run,
    pub(crate) places: Vec<BTreeMap<String, (usize, usize, u64)>>,
    /// The reports, a line for each.
    #[allow(dead_code, reason = "the tests in the browser do not read them")]
    pub(crate) snapshots: Vec<u8>,
}

/// Creates and drops movable buffers at random, with numbers as names, and compacts in each frame.
pub(crate) fn movable(seed: u64, frame_count: u64) -> Moves {
    let options = sim::DeviceConfig::new(sim::Profile::DISCRETE).seed(seed).lag(sim::Lag::Random { max: 4 });
    let gpu = Gpu::new(sim::Device::with_config(options), Config::default()).unwrap();
    let recorder = HistoryRecorder::new(&gpu);
    assert!(gpu.set_recorder(recorder.hook()));
    let (mut live, mut frames, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let (mut random, mut snapshots) = (Rng::new(seed), Vec::new());
    let budget = CompactionBudget { bytes: 1 << 20, moves: 8, pieces: 100 };
    for frame in 0..frame_count {
        let begun = gpu.begin_frame().unwrap();
        // A level is loaded, and most of it is dropped.
        let created = if frame % 20 == 0 { 40 } else { 2 };
        for _ in 0..created {
            let desc = BufferDesc::new(5000 + random.below(85_000), Usage::VERTEX).movable();
            let name = format!("{}", recorder.objects());
            live.push(gpu.create_buffer(&desc.name(name).tag("level")).unwrap());
        }
        for _ in 0..if frame % 20 == 4 { 30 } else { 2 } {
            live.swap_remove(random.below(live.len() as u64) as usize);
        }
        let mut recording = gpu.record(Queue::Graphics, "work").unwrap();
        let used = &live[random.below(live.len() as u64) as usize];
        recording.use_resource(used, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
        recording.submit().unwrap();
        gpu.compact(budget).unwrap();
        begun.end().unwrap();
        recorder.end_frame(&gpu);
        frames.push((gpu.stats(), gpu.pool_reports()));
        let place =
            |object: LiveObject| Some((object.name, (object.pool_index?, object.block?, object.offset?)));
        let report = gpu.report();
        serde_json::to_writer(&mut snapshots, &report).unwrap();
        snapshots.push(b'\n');
        places.push(report.objects.into_iter().filter_map(place).collect());
    }
    Moves { run: Run { history: recorder.finish("what moves"), frames }, places, snapshots }
}
