//! Every line that is logged, provoked, with its exact text.
//!
//! The table is `snapshots/log__lines__lines.snap`; `INSTA_UPDATE=always` writes it anew. The test of the crate `messages`
//! looks there for each place in the sources that logs.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::device::{
    CommandList as _, MemoryDevice as _, MemoryTypeId, Permit, QueueDevice as _, QueueId, ResourceDesc,
};
use tenure_core::{
    BufferDesc, BufferInfo, BufferViewDesc, CompactionBudget, CompactionConfig, Config, DescriptorConfig,
    DescriptorTableDesc, Format, FrameConfig, Gpu, Graph, MemoryUse, PoolConfig, PressureConfig, Queue,
    RecordedAllocation, Recorder, StagingConfig, State, TextureDesc, UploadRingDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, NativeQueue, Paging, Profile};

use crate::logged;

const MIB: u64 = 1 << 20;

fn gpu(options: DeviceConfig, config: impl Into<Config>) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), config.into()).unwrap()
}

fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

fn short(gpu: &Gpu<Device>, calls: &[CallKind]) {
    for call in calls {
        gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(*call).onwards());
    }
}

/// Blocks, a failed allocation, and handles and recordings that are left.
fn memory() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    let rock = BufferDesc::new(4096, Usage::VERTEX).name("rock");
    let rock = gpu.create_buffer_with(&rock, &[7; 4096]).unwrap();
    end_frame(&gpu);
    short(&gpu, &[CallKind::CreateHeap, CallKind::CreateCommitted]);
    let level = BufferDesc::new(64 * MIB, Usage::VERTEX).name("level");
    assert!(gpu.create_buffer(&level).is_err());
    gpu.device().faults().clear();
    drop(rock);
    let many: Vec<_> = (0..20)
        .map(|_| gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("stone")).unwrap())
        .collect();
    let open: Vec<_> = (0..20).map(|_| gpu.record(Queue::Graphics, "forgotten").unwrap()).collect();
    (0..32).for_each(|_| end_frame(&gpu));
    drop(gpu);
    drop((many, open));
}

/// A budget that is nearly used up, and a card that has no memory left.
fn budgets() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets(vec![64 * MIB, 1 << 40, 0]);
    let gpu = gpu(options, PressureConfig::default().interval(1));
    gpu.on_pressure(|_, _| {});
    let desc = BufferDesc::new(20 * MIB, Usage::SHADER_READ).name("mesh");
    let meshes: Vec<_> = (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    end_frame(&gpu);
    drop(meshes);
}

/// A transient heap for which there is no memory.
fn transient() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    let mut graph = Graph::new();
    let info = TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("bloom");
    let bloom = graph.texture(info);
    let _pass = graph.pass(Queue::Graphics, "light").uses(bloom, State::RENDER_TARGET).id();
    short(&gpu, &[CallKind::CreateHeap, CallKind::CreateCommitted]);
    let frame = gpu.begin_frame().unwrap();
    assert!(frame.execute(&graph, |_, _, _| Ok::<(), tenure_core::Error>(())).is_err());
    gpu.device().faults().clear();
    frame.end().unwrap();
}

/// A frame, an upload ring, an allocation and a large upload that wait for the GPU.
fn waits() {
    let lag = || DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(6));
    let close = gpu(lag(), FrameConfig::default().in_flight(1));
    for _ in 0..2 {
        let frame = close.begin_frame().unwrap();
        frame.submit(frame.record(Queue::Graphics, "draw").unwrap()).unwrap();
        frame.end().unwrap();
    }
    let staging = StagingConfig::default().max_pending(256 << 10);
    let staged = gpu(lag(), staging);
    let gpu = gpu(lag(), Config::default());
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring")).unwrap();
    for _ in 0..2 {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "draw").unwrap();
        ring.allocate(recording.split().1, 40 << 10, 4).unwrap().write(0, &[1]).unwrap();
        frame.submit(recording).unwrap();
        frame.end().unwrap();
    }
    let level = BufferDesc::new(20 * MIB, Usage::VERTEX).own_resource().name("level");
    let first = gpu.create_buffer(&level).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    recording.use_resource(&first, tenure_core::Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    recording.submit().unwrap();
    drop(first);
    short(&gpu, &[CallKind::CreateHeap, CallKind::CreateCommitted]);
    let _second = gpu.create_buffer(&level.name("next"));
    let volume = staged.create_buffer(&BufferDesc::new(MIB, Usage::VERTEX).name("volume")).unwrap();
    staged.upload(&volume, 0, &[7; MIB as usize]).unwrap();
}

/// Descriptors that do not suffice, of tables and of samplers.
fn descriptors() {
    let config = DescriptorConfig::default().static_resources(Some(16));
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
    let buffer = gpu.create_buffer(&BufferDesc::new(256, Usage::SHADER_READ).name("grass")).unwrap();
    let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw().name("grass view")).unwrap();
    let binds = vec![(&view).into(); 17];
    assert!(gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("meadow")).is_err());
}

/// Uploads that no list can be had for, and the loss of the device.
fn losses() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    let rock = BufferDesc::new(4096, Usage::VERTEX).name("rock");
    let _rock = gpu.create_buffer_with(&rock, &[7; 4096]).unwrap();
    gpu.device()
        .faults()
        .inject(Fault::nth(1, FaultKind::Removed("unplugged".to_owned())).of(CallKind::Submit));
    assert!(gpu.begin_frame().unwrap().end().is_err());
    gpu.shutdown();
}

/// A list of the program's own that reads a released buffer.
fn page_fault() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).page_faults(true));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let level = gpu.create_buffer(&BufferDesc::new(64 * MIB, Usage::SHADER_READ).name("level")).unwrap();
    let mut list = device.create_list(Permit::checked(), QueueId(0)).unwrap();
    list.begin().unwrap();
    list.use_buffer(level.raw(), 4096, 256, State::NON_PIXEL_SHADER);
    list.close().unwrap();
    drop(level);
    gpu.trim();
    let run = |mut queue: NativeQueue<'_>| queue.submit(&[&list], &[], &[]).map_err(tenure_core::Error::from);
    let _submitted = gpu.submit_external(Queue::Graphics, &tenure_core::SyncPoint::NONE, run);
    assert!(gpu.begin_frame().is_err());
}

/// A recording whose second scope reads a destroyed buffer.
fn markers() {
    let config = DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).page_faults(true).markers(true);
    let device = Device::with_config(config);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = ResourceDesc::Buffer(BufferInfo::new(256, Usage::SHADER_READ));
    let level = device.create_committed(&desc, MemoryTypeId(0)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "main").unwrap();
    for scope in ["sky", "shadows"] {
        let begun = recording.begin_gpu_time(scope).unwrap();
        if scope == "shadows" {
            recording.raw().use_buffer(&level, 0, 256, State::NON_PIXEL_SHADER);
        }
        recording.end_gpu_time(begun).unwrap();
    }
    device.destroy_resource(Permit::checked(), level);
    let _lost_inside = recording.submit();
    assert!(gpu.begin_frame().is_err());
}

/// Memory that is compacted, also where that is refused.
fn compaction() {
    let config = CompactionConfig::default().is_automatic(false);
    let budget = CompactionBudget { bytes: 16 * MIB, moves: 128, pieces: 1000 };
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
    let desc = BufferDesc::new(100 << 10, Usage::SHADER_READ).movable().name("mesh");
    let all: Vec<_> = (0..400).map(|_| gpu.create_buffer_with(&desc, &[1; 100 << 10]).unwrap()).collect();
    gpu.flush_uploads().unwrap();
    let kept: Vec<_> = all.into_iter().step_by(10).collect();
    let show = |buffer| gpu.create_buffer_view(buffer, &BufferViewDesc::raw()).unwrap();
    let views: Vec<_> = kept.iter().map(show).collect();
    (0..8).for_each(|_| end_frame(&gpu));
    let refuse = Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::WriteDescriptor).onwards();
    gpu.device().faults().inject(refuse);
    let _refused = gpu.compact(budget);
    gpu.device().faults().clear();
    for _ in 0..20 {
        let frame = gpu.begin_frame().unwrap();
        gpu.compact(budget).unwrap();
        frame.end().unwrap();
    }
    drop((views, kept));
}

/// Ends of frames that may move something, and have no list for it.
fn refused_compaction() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), CompactionConfig::default().quiet_frames(0));
    let desc = BufferDesc::new(100 << 10, Usage::VERTEX).movable().name("mesh");
    let all: Vec<_> = (0..400).map(|_| gpu.create_buffer_with(&desc, &[1; 100 << 10]).unwrap()).collect();
    gpu.flush_uploads().unwrap();
    let kept: Vec<_> = all.into_iter().step_by(10).collect();
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit).onwards());
    (0..20).for_each(|_| drop(gpu.begin_frame().unwrap().end()));
    gpu.device().faults().clear();
    drop(kept);
}

/// A world larger than the budget.
fn paging() {
    let options = DeviceConfig::new(Profile::DISCRETE).budgets([32 * MIB]).paging(Paging::PCIE4_X16);
    let gpu = gpu(options, Config::default());
    let target = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST).name("target")).unwrap();
    let desc = BufferDesc::new(2 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).evictable().name("tile");
    let world: Vec<_> =
        (0..32).map(|_| gpu.create_buffer_with(&desc, &vec![7; desc.size as usize]).unwrap()).collect();
    for first in 0..32 {
        let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
        for index in first..first + 8 {
            recording.copy_buffer(&world[index % world.len()], 0, &target, 0, 64).unwrap();
        }
        recording.submit().unwrap();
        end_frame(&gpu);
    }
    drop((world, target));
}

/// A GPU that does not finish, neither for the end of the manager nor for the last handle.
fn hung() {
    let config = || FrameConfig::default().shutdown_timeout(Duration::from_millis(1));
    let endless = || DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual);
    let ended = gpu(endless(), config());
    ended.record(Queue::Graphics, "endless").unwrap().submit().unwrap();
    drop(ended);
    let gpu = gpu(endless(), config());
    let last = gpu.record(Queue::Graphics, "last").unwrap();
    gpu.shutdown();
    drop(gpu);
    last.submit().unwrap();
}

/// An object of the program whose destructor panics where the panic cannot be passed on.
fn panics() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
    }
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    drop(gpu.defer("pipeline", Panics));
}

/// A recorder that panics.
fn recorder() {
    struct Panics;
    impl Recorder for Panics {
        fn allocated(&self, _: &RecordedAllocation) {
            std::panic::resume_unwind(Box::new("on purpose"));
        }

        fn freed(&self, _: u64, _: u64) {}

        fn frame_ended(&self, _: u64) {}
    }
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), Config::default());
    assert!(gpu.set_recorder(Box::new(Panics)));
    drop(gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap());
}

/// A buffer for the CPU: its block is a buffer of the driver's own.
fn mapped() {
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), PoolConfig::default());
    drop(gpu.create_buffer(&BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).name("camera")));
    gpu.shutdown();
}

/// A buffer to be written in place, whose block is not mapped.
fn unmapped() {
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_LAVAPIPE), Config::default());
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Map));
    drop(gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX).filled().name("rock")).unwrap());
    gpu.shutdown();
}

/// A resource that a recording binds through a table and does not name.
fn unnamed() {
    let config = DescriptorConfig::default().report_unnamed(true);
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
    let lights = BufferDesc::new(100 << 10, Usage::SHADER_READ).name("lights");
    let lights = gpu.create_buffer_with(&lights, &[1; 100 << 10]).unwrap();
    let view = gpu.create_buffer_view(&lights, &BufferViewDesc::raw()).unwrap();
    let binds = [(&view).into()];
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("meadow")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "opaque").unwrap();
    let _row = recording.split().1.table(&table).unwrap();
    recording.submit().unwrap();
    drop((table, view, lights));
    gpu.shutdown();
}

/// The line without the values that differ between runs.
fn steady(line: &str) -> String {
    let words = line.trim().split(' ').map(|word| match word.split_once('=') {
        Some(("waited", _)) => "waited=…",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_line_has_its_exact_text() {
    let programs: [fn(); 17] = [
        recorder,
        memory,
        budgets,
        transient,
        waits,
        descriptors,
        losses,
        page_fault,
        markers,
        compaction,
        refused_compaction,
        paging,
        hung,
        panics,
        mapped,
        unmapped,
        unnamed,
    ];
    let mut lines = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for line in logged(|| programs.iter().for_each(|program| program())) {
        let line = steady(&line);
        // Of the lines that differ in their numbers alone the first is kept.
        let text: String = line.chars().filter(|found| !found.is_ascii_digit()).collect();
        if texts.insert(text) {
            lines.insert(line);
        }
    }
    let table = lines.into_iter().collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("lines", table);
}
