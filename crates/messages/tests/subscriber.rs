//! A subscriber of events that calls the manager, and one that panics: no lock is held when it is called, and nothing is
//! lost. A program of its own, because `tracing` has one subscriber for each program.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure_core::device::{CommandList as _, Permit, QueueDevice as _, QueueId};
use tenure_core::{
    AccelerationStructureDesc, Bind, BufferDesc, BufferViewDesc, CompactionBudget, CompactionConfig, Config,
    DescriptorTableDesc, Error, Format, FrameConfig, Gpu, Graph, PoolConfig, PressureConfig, Queue, State,
    Subresource, SyncPoint, TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Fault, FaultKind, Lag, NativeQueue, Paging, Profile};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, span};

static GPU: Mutex<Option<Gpu<Device>>> = Mutex::new(None);
static EVENTS: AtomicU32 = AtomicU32::new(0);
static QUESTIONS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Asks for all numbers, creates, uploads and records; then panics, every other time it gets an event, and every third time
/// it is asked whether it wants one.
struct Caller;

impl Caller {
    fn call_back() -> bool {
        let gpu = GPU.lock().unwrap().clone();
        let Some(gpu) = gpu.filter(|_| !IS_CALLED.replace(true)) else { return false };
        let _ = (gpu.stats(), gpu.upload_stats(), gpu.memory(), gpu.report(), gpu.pool_reports());
        let _ = (gpu.compaction_stats(), gpu.loss(), gpu.whose(1 << 32));
        let desc = BufferDesc::new(1000, Usage::SHADER_READ | Usage::COPY_SRC);
        if let Ok(buffer) = gpu.create_buffer(&desc) {
            let _ = gpu.upload(&buffer, 0, &[1; 1000]);
            let _ = gpu.read_back(&buffer, 0, 10);
        }
        let _ = gpu.reclaim();
        drop(gpu);
        IS_CALLED.set(false);
        true
    }
}

impl Subscriber for Caller {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        if Self::call_back() {
            assert!(!QUESTIONS.fetch_add(1, Ordering::Relaxed).is_multiple_of(3), "a filter of the test");
        }
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        if Self::call_back() {
            assert!(EVENTS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2), "a subscriber of the test");
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// How often the subscriber was called: an event whose filter panics reaches it no further.
fn calls() -> u32 {
    EVENTS.load(Ordering::Relaxed) + QUESTIONS.load(Ordering::Relaxed)
}

fn end_frame(gpu: &Gpu<Device>) {
    let _ = gpu.begin_frame().and_then(|frame| frame.end());
}

fn movable() -> BufferDesc {
    BufferDesc::new(100_000, Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST).movable()
}

/// Blocks that come and go.
fn blocks(gpu: &Gpu<Device>) {
    for _ in 0..30 {
        drop(gpu.create_buffer(&BufferDesc::new(5 << 20, Usage::SHADER_READ)));
        end_frame(gpu);
    }
}

fn little_memory(gpu: &Gpu<Device>) {
    gpu.device().set_budget(0, 1 << 20).unwrap();
    let desc = BufferDesc::new(200 << 20, Usage::SHADER_READ);
    let create = |_| {
        end_frame(gpu);
        gpu.create_buffer(&desc)
    };
    drop((0..60).map(create).collect::<Vec<_>>());
}

fn uploads_without_memory(gpu: &Gpu<Device>) {
    let buffer = gpu.create_buffer(&movable()).unwrap();
    let _ = gpu.upload(&buffer, 0, &[1; 1000]);
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).onwards());
    for _ in 0..5 {
        let _ = gpu.flush_uploads();
        end_frame(gpu);
    }
    gpu.device().faults().clear();
}

fn loss(gpu: &Gpu<Device>) {
    let buffer = gpu.create_buffer(&movable()).unwrap();
    let _ = gpu.upload(&buffer, 0, &[1; 1000]);
    gpu.device().faults().remove("pulled");
    let _ = gpu.flush_uploads();
    end_frame(gpu);
}

/// A list of the program's own that reads a released buffer: the first of a frame's calls, or a question, meets the loss.
fn page_fault(gpu: &Gpu<Device>) {
    let device = gpu.device();
    let level = gpu.create_buffer(&BufferDesc::new(64 << 20, Usage::SHADER_READ)).unwrap();
    let mut list = device.create_list(Permit::checked(), QueueId(0)).unwrap();
    list.begin().unwrap();
    list.use_buffer(level.raw(), 4096, 256, State::NON_PIXEL_SHADER);
    list.close().unwrap();
    drop(level);
    gpu.trim();
    let run = |mut queue: NativeQueue<'_>| queue.submit(&[&list], &[], &[]).map_err(Error::from);
    let _ = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, run);
    let _ = gpu.wait(&gpu.submitted(), Duration::from_secs(1));
    assert_eq!(gpu.loss().unwrap().faults.len(), 1);
    device.destroy_list(Permit::checked(), list);
}

fn forgotten(gpu: &Gpu<Device>) {
    let recording = gpu.record(Queue::Graphics, "forgotten").unwrap();
    (0..40).for_each(|_| end_frame(gpu));
    drop(recording);
}

fn moves(gpu: &Gpu<Device>) {
    let mut all: Vec<_> = (0..300).map(|_| gpu.create_buffer(&movable()).unwrap()).collect();
    all.iter().for_each(|buffer| drop(gpu.upload(buffer, 0, &[1; 100]).unwrap()));
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        number % 7 == 0
    });
    for _ in 0..60 {
        end_frame(gpu);
        let _ = gpu.compact(CompactionBudget { bytes: 1 << 20, moves: 20, pieces: 1000 });
    }
}

fn evictions(gpu: &Gpu<Device>) {
    let desc = BufferDesc::new(10 << 20, Usage::SHADER_READ | Usage::COPY_SRC).evictable();
    let all: Vec<_> = (0..30).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    gpu.device().set_budget(0, 100 << 20).unwrap();
    for buffer in all.iter().cycle().take(60) {
        let mut recording = gpu.record(Queue::Graphics, "evictions").unwrap();
        let _ = recording.use_resource(buffer, Subresource::All, State::COPY_SRC);
        let _ = recording.submit();
        end_frame(gpu);
    }
}

fn graphs(gpu: &Gpu<Device>) {
    for number in 0..30 {
        let frame = gpu.begin_frame().unwrap();
        let mut graph = Graph::new();
        let desc = TextureDesc::d2(64 << (number % 5), 64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
        let target = graph.texture(desc);
        graph.pass(Queue::Graphics, "draw").uses(target, State::RENDER_TARGET);
        let _ = frame.execute(&graph, |_, _, _| Ok::<(), Error>(()));
        let _ = frame.end();
    }
}

fn descriptors(gpu: &Gpu<Device>) {
    let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::SHADER_READ)).unwrap();
    let views: Vec<_> =
        (0..20_000).filter_map(|_| gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).ok()).collect();
    let binds: Vec<Bind<'_, Device>> = views.iter().map(Into::into).collect();
    let all: Vec<_> =
        (0..3).map(|_| gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds))).collect();
    let mut recording = gpu.record(Queue::Graphics, "binds").unwrap();
    let scratch = recording.split().1;
    assert!((0..20).any(|_| scratch.descriptors(&binds).is_err()));
    assert!(all.iter().any(Result::is_err));
}

/// Recordings that create compacted copies of a structure.
fn structures(gpu: &Gpu<Device>) {
    let desc = AccelerationStructureDesc::bottom(256 << 10);
    let rock = gpu.create_acceleration_structure(&desc).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    recording.use_structures([&rock]).unwrap();
    let (commands, scratch) = recording.split();
    let room = scratch.build_scratch(1000).unwrap();
    let room = (room.raw(), room.offset(), room.size());
    commands.raw().build_acceleration_structure(rock.raw(), room, 200 << 10, &[]);
    let size = recording.query_compacted_size(&rock).unwrap();
    recording.submit().unwrap();
    let size = size.wait(Duration::from_secs(5)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "compact").unwrap();
    // Each takes a part of a block: some of them take a new one.
    drop((0..40).map(|_| recording.compact(&rock, size).unwrap()).collect::<Vec<_>>());
    recording.submit().unwrap();
}

#[test]
fn a_subscriber_may_call_the_manager_and_panic() {
    type Program = fn(&Gpu<Device>);
    tracing::subscriber::set_global_default(Caller).unwrap();
    let programs: [Program; 11] = [
        blocks,
        little_memory,
        uploads_without_memory,
        loss,
        page_fault,
        forgotten,
        moves,
        evictions,
        graphs,
        descriptors,
        structures,
    ];
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for program in programs {
            let options = DeviceConfig::new(profile)
                .lag(Lag::Submissions(3))
                .paging(Paging::PCIE4_X16)
                .page_faults(true);
            let device = Device::with_config(options);
            let short = Duration::from_millis(100);
            let config = Config::default()
                .pools(PoolConfig::default().max_wait(Duration::from_millis(2)))
                .pressure(PressureConfig::default().interval(1))
                .frames(FrameConfig::default().shutdown_timeout(short))
                .compaction(CompactionConfig::default().quiet_frames(0));
            let gpu = Gpu::new(device.clone(), config).unwrap();
            *GPU.lock().unwrap() = Some(gpu.clone());
            let before = calls();
            program(&gpu);
            assert!(calls() > before);
            GPU.lock().unwrap().take();
            let report = gpu.shutdown();
            assert!(report.leaks.is_empty() && report.open_recordings.is_empty(), "{report:?}");
            drop(gpu);
            device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
        }
    }
}
