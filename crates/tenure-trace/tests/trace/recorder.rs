//! A recording holds the calls of a manager from all threads.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tenure_core::device::prelude::*;
use tenure_core::{Buffer, BufferDesc, Config, Format, Gpu, MemoryUse, Queue, TextureDesc, Usage};
use tenure_sim as sim;
use tenure_trace::{
    Encoding, Event, Header, HeapKind, Kind, Layout, MemoryKind, Trace, TraceError, TraceRecorder,
    TraceWriter, read_all,
};

type SimGpu = Gpu<sim::Device>;

fn gpu() -> SimGpu {
    Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default()).unwrap()
}

fn recorder(gpu: &SimGpu, encoding: Encoding) -> TraceRecorder<Vec<u8>> {
    let recorder = TraceRecorder::new(TraceWriter::new(Vec::new(), encoding).unwrap());
    assert!(!gpu.has_recorder());
    assert!(gpu.set_recorder(recorder.hook()));
    assert!(gpu.has_recorder());
    recorder
}

fn finish(recorder: TraceRecorder<Vec<u8>>) -> Trace {
    read_all(recorder.finish().unwrap().as_slice(), "recording").unwrap()
}

/// The buffer number `index` of thread `thread`, and its kind in the recording.
fn buffer(thread: u64, index: u64) -> (BufferDesc, MemoryKind) {
    let size = 1 + (thread * 7919 + index * 104_729) % 100_000;
    let (usage, memory, kind) = match index % 4 {
        0 => (Usage::VERTEX, MemoryUse::GpuOnly, MemoryKind::GpuOnly),
        1 => (Usage::VERTEX, MemoryUse::Upload, MemoryKind::CpuToGpu),
        2 => (Usage::VERTEX, MemoryUse::GpuUpload, MemoryKind::CpuToGpu),
        _ => (Usage::COPY_DST, MemoryUse::Readback, MemoryKind::GpuToCpu),
    };
    (BufferDesc::new(size, usage).memory(memory).alignment(16), kind)
}

#[test]
fn threads_and_frames_are_recorded() {
    const THREADS: u64 = 4;
    const EACH: u64 = 200;
    const FRAMES: u64 = 10;
    for encoding in crate::common::encodings() {
        let gpu = gpu();
        let recorder = recorder(&gpu, encoding);
        let mut kept: Vec<Buffer<sim::Device>> = Vec::new();
        for frame in 0..FRAMES {
            let begun = gpu.begin_frame().unwrap();
            let create = |thread: u64| {
                let mine = (0..EACH).filter(|index| index % FRAMES == frame);
                let mut created: Vec<_> =
                    mine.map(|index| gpu.create_buffer(&buffer(thread, index).0).unwrap()).collect();
                // Every second buffer is dropped in its frame, on the thread that created it.
                let mut at = 0;
                created.retain(|_| {
                    at += 1;
                    at % 2 == 0
                });
                created
            };
            kept.extend(thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..THREADS).map(|thread| scope.spawn(move || create(thread))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            }));
            begun.end().unwrap();
        }
        let live = kept.len();
        let trace = finish(recorder);
        drop(kept);

        assert_eq!(trace.summary.frames, FRAMES);
        assert_eq!(trace.summary.allocs, THREADS * EACH);
        assert_eq!(trace.summary.live_at_end.len(), live, "dropped after the recording was finished");
        let count = |list: Vec<(u64, MemoryKind)>| {
            let mut counts = BTreeMap::new();
            list.into_iter().for_each(|key| *counts.entry(key).or_insert(0) += 1);
            counts
        };
        let recorded = trace.events.iter().filter_map(|event| match *event {
            Event::Alloc { size, kind, align, .. } => {
                // The recorded alignment is the required one: larger readbacks are aligned for copies.
                let is_copied = kind.memory == MemoryKind::GpuToCpu && size >= 4096;
                assert_eq!((align, kind.layout), (if is_copied { 512 } else { 16 }, Layout::Linear));
                Some((size, kind.memory))
            }
            _ => None,
        });
        let made = (0..THREADS).flat_map(|thread| (0..EACH).map(move |index| buffer(thread, index)));
        assert_eq!(count(recorded.collect()), count(made.map(|(desc, kind)| (desc.size, kind)).collect()));
    }
}

#[test]
fn the_frame_column_is_the_last_mark() {
    let gpu = gpu();
    let recorder = recorder(&gpu, Encoding::Plain);
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let first = gpu.create_texture(&texture).unwrap();
    gpu.begin_frame().unwrap().end().unwrap();
    let frame = gpu.begin_frame().unwrap();
    drop(first);
    frame.end().unwrap();
    let second = gpu.create_texture(&texture).unwrap();
    let size = second.size();

    let (kind, align) = (Kind::new(MemoryKind::GpuOnly, Layout::Optimal), 4096);
    let expected = [
        Event::Alloc { id: 1, size, align, kind, frame: 0 },
        Event::Frame { number: 1 },
        Event::Free { id: 1, size, frame: 1 },
        Event::Frame { number: 2 },
        Event::Alloc { id: 2, size, align, kind, frame: 2 },
    ];
    assert_eq!(finish(recorder).events, expected);
}

#[test]
fn the_device_and_the_details_are_recorded() {
    let device = sim::Device::new(sim::Profile::VULKAN_NVIDIA);
    let properties = device.properties().clone();
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let record = |has_names: bool| {
        let mut header = Header::default();
        header.set("profile", "vulkan-nvidia");
        header.set("device", "a card");
        let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain).unwrap();
        writer.set_header(header).unwrap();
        let recorder = TraceRecorder::new(writer);
        if has_names { recorder.with_names() } else { recorder }
    };
    let recorder = record(true);
    assert!(gpu.set_recorder(recorder.hook()));
    let rock = BufferDesc::new(5000, Usage::VERTEX).name("rock, grey");
    drop(gpu.create_buffer(&rock).unwrap());
    gpu.begin_frame().unwrap().end().unwrap();
    let staging = BufferDesc::new(70_000, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let target = TextureDesc::d2(4096, 4096, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target");
    thread::scope(|scope| scope.spawn(|| drop(gpu.create_buffer(&staging).unwrap())).join().unwrap());
    drop(gpu.create_texture(&target).unwrap());
    let trace = finish(recorder);

    let header = &trace.header;
    let keys = ["api", "device", "profile", "limit.allocations"].map(|key| header.get(key).unwrap());
    let limit = properties.max_allocations.to_string();
    assert_eq!(keys, ["vulkan", "a card", "vulkan-nvidia", limit.as_str()], "the program's keys come first");
    let types = (0..).map_while(|number| header.memory_type(number));
    let recorded: Vec<_> = types.map(|recorded| (recorded.is_local(), recorded.heap)).collect();
    let expected = properties.memory_types.iter().map(|memory| {
        (properties.memory_heaps[usize::from(memory.heap)].device_local, u32::from(memory.heap))
    });
    assert_eq!(recorded, expected.collect::<Vec<_>>());

    let allocs: Vec<_> = trace.iter().filter(|(event, _)| matches!(event, Event::Alloc { .. })).collect();
    let names: Vec<_> = allocs.iter().map(|(_, details)| details.name.as_deref()).collect();
    assert_eq!(names, [Some("rock, grey"), None, Some("target")]);
    let heaps: Vec<_> = allocs.iter().map(|(_, details)| details.heap.unwrap()).collect();
    assert_eq!(heaps, [HeapKind::Local, HeapKind::Host, HeapKind::Local]);
    let dedicated: Vec<_> = allocs.iter().map(|(_, details)| details.is_dedicated).collect();
    assert_eq!(dedicated, [false, false, true]);
    for (_, details) in &allocs {
        let memory = header.memory_type(details.memory_type.unwrap()).unwrap();
        assert_eq!(memory.is_local(), details.heap == Some(HeapKind::Local));
    }
    let threads: Vec<_> = trace.iter().map(|(_, details)| details.thread.unwrap()).collect();
    assert!(threads[3] != threads[0] && threads[5] == threads[0], "{threads:?}");
    let times: Vec<_> = trace.iter().map(|(_, details)| details.time_us.unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(trace.summary.final_frees, 0, "the GPU may still use the memory");

    let gpu = self::gpu();
    let recorder = record(false);
    assert!(gpu.set_recorder(recorder.hook()));
    drop(gpu.create_buffer(&rock).unwrap());
    assert_eq!(finish(recorder).details(0).name, None, "names are asked for");
}

#[test]
fn submissions_are_recorded_with_their_ends() {
    let options = sim::DeviceConfig::new(sim::Profile::VULKAN_NVIDIA).lag(sim::Lag::Submissions(2));
    let gpu = Gpu::new(sim::Device::with_config(options), Config::default()).unwrap();
    let recorder = recorder(&gpu, Encoding::Plain);
    for _ in 0..5 {
        let frame = gpu.begin_frame().unwrap();
        frame.submit(frame.record(Queue::Graphics, "work").unwrap()).unwrap();
        frame.end().unwrap();
    }
    assert!(gpu.wait(&gpu.submitted(), std::time::Duration::from_secs(1)).unwrap());
    gpu.reclaim().unwrap();
    let trace = finish(recorder);
    assert_eq!(trace.summary.submissions, 5);
    let done = trace.events.iter().filter_map(|event| match event {
        Event::Done { number, .. } => Some(*number),
        _ => None,
    });
    assert_eq!(done.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let place = |wanted: fn(&Event) -> bool| trace.events.iter().position(wanted).unwrap();
    let first_done = place(|event| matches!(event, Event::Done { number: 1, .. }));
    let next_frame = place(|event| matches!(event, Event::Frame { number: 1 }));
    assert!(first_done > next_frame, "the GPU lags: {:?}", trace.events);
}

/// A sink that fails after a number of bytes.
struct Full {
    room: usize,
    flushes: Arc<AtomicUsize>,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn run_frames(room: usize) -> (Result<Full, TraceError>, usize) {
    let gpu = gpu();
    let flushes = Arc::new(AtomicUsize::new(0));
    let sink = Full { room, flushes: Arc::clone(&flushes) };
    let recorder = TraceRecorder::new(TraceWriter::new(sink, Encoding::Plain).unwrap());
    assert!(gpu.set_recorder(recorder.hook()));
    for _ in 0..100 {
        let _dropped_at_once = gpu.create_buffer(&buffer(0, 0).0).unwrap();
        gpu.begin_frame().unwrap().end().unwrap();
    }
    let before_the_end = flushes.load(Ordering::Relaxed);
    (recorder.finish(), before_the_end)
}

#[test]
fn the_sink_is_flushed_regularly() {
    let (finished, flushes) = run_frames(usize::MAX);
    assert!(finished.is_ok());
    assert_eq!(flushes, 3);
}

#[test]
fn a_full_disk_is_reported_only_at_the_end() {
    let (finished, _) = run_frames(100);
    let Err(TraceError::Write { error }) = finished else { panic!("the sink was full") };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(error.to_string(), io::Error::from(io::ErrorKind::StorageFull).to_string(), "the first error");
}

#[test]
fn a_second_manager_is_refused_and_the_first_one_recorded() {
    let (first, second) = (gpu(), gpu());
    let sink = Vec::new();
    let recorder = TraceRecorder::new(TraceWriter::new(sink, Encoding::Plain).unwrap());
    assert!(first.set_recorder(recorder.hook()));
    assert!(second.set_recorder(recorder.hook()));
    assert!(!first.set_recorder(recorder.hook()), "one recorder a manager");
    let buffers = [&first, &second].map(|gpu| gpu.create_buffer(&buffer(0, 0).0).unwrap());
    drop(buffers);
    let refused = recorder.finish().unwrap_err();
    assert!(refused.to_string().contains("id 1 is allocated a second time"), "{refused}");
}
