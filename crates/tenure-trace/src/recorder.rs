//! Recording the allocations of a manager while the program runs.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tenure_core::device::{Api, MemoryFlags, MemoryType, Properties, QueueSerial};
use tenure_core::memory::LocationKind;
use tenure_core::{MemoryUse, RecordedAllocation, RecordedPlacement, Recorder, SyncPoint};

use crate::{Details, Encoding, Event, Header, HeapKind, Kind, Layout, MemoryKind, TraceError, TraceWriter};

/// Frames between two flushes, and so the maximum number of frames lost in a crash.
const FRAMES_A_FLUSH: u32 = 32;

/// Writes the allocations, frees, frames and submissions of a [`Gpu`](tenure_core::Gpu) to any sink.
///
/// Pass the [`hook`](Self::hook) to the manager before any resource is created, and call [`finish`](Self::finish) at
/// the end of the program: later events are not recorded. A recorder serves one manager; the ids in the recording are
/// assigned by this manager.
///
/// Buffers are recorded as `linear`, textures as `optimal`; [`MemoryUse::GpuOnly`] as `gpu_only`,
/// [`Upload`](MemoryUse::Upload) and [`GpuUpload`](MemoryUse::GpuUpload) as `cpu_to_gpu`,
/// [`Readback`](MemoryUse::Readback) as `gpu_to_cpu`. The details are the memory type, its location, dedicated
/// memory, the time and the thread; with [`with_names`](Self::with_names) also the names. The API, the device, its
/// memory types and limits are added to the [writer's header](TraceWriter::set_header). The sink is flushed every 32
/// frames.
///
/// A free is recorded when the handle is dropped, while the GPU may still use the memory: it is not final.
///
/// Hooks may be called from any thread; a mutex orders the events. An event costs a few hundred nanoseconds, and
/// occasionally a write to the sink.
///
/// ```
/// use tenure_core::device::Usage;
/// use tenure_core::{BufferDesc, Config, Gpu};
/// use tenure_sim as sim;
/// use tenure_trace::{Encoding, TraceRecorder, TraceWriter, read_all};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let recorder = TraceRecorder::new(TraceWriter::new(Vec::new(), Encoding::Gzip)?);
/// gpu.set_recorder(recorder.hook());
///
/// let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX))?;
/// gpu.begin_frame()?.end()?;
/// drop(rock);
///
/// let trace = read_all(recorder.finish()?.as_slice(), "rock.csv.gz")?;
/// assert_eq!((trace.summary.allocs, trace.summary.frees, trace.summary.frames), (1, 1, 1));
/// assert_eq!(trace.summary.peak_live_bytes, 48 * 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a recording is complete only after `finish`"]
pub struct TraceRecorder<W: Write> {
    shared: Arc<Mutex<State<W>>>,
}

impl TraceRecorder<File> {
    /// Creates a file, or empties one that exists, and begins a recording in it, compressed when
    /// the name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    ///
    /// Those of [`TraceWriter::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        Ok(Self::new(TraceWriter::create(path, Encoding::of_name(path))?))
    }
}

impl<W: Write> TraceRecorder<W> {
    /// Records to a writer that has no events yet.
    pub fn new(writer: TraceWriter<W>) -> Self {
        let state = State {
            writer: Some(writer),
            frame: 0,
            unflushed: 0,
            error: None,
            began: Instant::now(),
            has_names: false,
            memory_types: Vec::new(),
            unplaced: Vec::new(),
            submissions: 0,
            in_flight: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// Also records the names of resources, which may reveal more about a program than sizes.
    pub fn with_names(self) -> Self {
        self.shared.lock().has_names = true;
        self
    }

    /// The hook to pass to [`Gpu::set_recorder`](tenure_core::Gpu::set_recorder).
    #[must_use]
    pub fn hook(&self) -> Box<dyn Recorder>
    where
        W: Send + 'static,
    {
        Box::new(Hook { shared: Arc::clone(&self.shared) })
    }

    /// Completes and flushes the recording, and returns the sink. Later calls of hooks have no
    /// effect.
    ///
    /// # Errors
    ///
    /// The first error since the beginning, because hooks cannot report any. After [`TraceError::Refused`], for
    /// example for an event of a second manager, the sink holds a valid recording of the other events. After
    /// [`TraceError::Write`] the recording is incomplete.
    ///
    /// # Panics
    ///
    /// Never: the writer is taken only here, and this method consumes the recorder.
    pub fn finish(self) -> Result<W, TraceError> {
        let mut state = self.shared.lock();
        state.write_unplaced(|_| true);
        let (writer, error) = (state.writer.take(), state.error.take());
        // Other threads' hooks need not wait for the sink.
        drop(state);
        let Some(writer) = writer else { unreachable!("finishing consumes the recorder") };
        let finished = writer.finish();
        error.map_or(finished, Err)
    }
}

impl<W: Write> fmt::Debug for TraceRecorder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("TraceRecorder")
            .field("frame", &state.frame)
            .field("error", &state.error)
            .finish_non_exhaustive()
    }
}

struct State<W: Write> {
    /// `None` after the recording is finished.
    writer: Option<TraceWriter<W>>,
    /// The last frame marked.
    frame: u64,
    /// Frames marked since the last flush.
    unflushed: u32,
    /// The first error.
    error: Option<TraceError>,
    /// The beginning of the recording.
    began: Instant,
    has_names: bool,
    memory_types: Vec<MemoryType>,
    /// Allocations whose location is not known yet: at most one per thread.
    unplaced: Vec<(Event, Details)>,
    /// The number of submissions so far.
    submissions: u64,
    /// Submissions not known to be complete, with their numbers in the recording.
    in_flight: Vec<(QueueSerial, u64)>,
}

impl<W: Write> State<W> {
    fn write(&mut self, event: &Event, details: &Details) {
        self.attempt(|writer| writer.event_with(event, details));
    }

    fn details(&self) -> Details {
        let time_us = u64::try_from(self.began.elapsed().as_micros()).ok();
        Details { time_us, thread: Some(thread_number()), ..Details::default() }
    }

    /// Writes the allocations with these ids, whose location is unknown.
    fn write_unplaced(&mut self, is_wanted: impl Fn(u64) -> bool) {
        while let Some(index) = self
            .unplaced
            .iter()
            .position(|(event, _)| matches!(event, Event::Alloc { id, .. } if is_wanted(*id)))
        {
            self.write_alloc(index);
        }
    }

    /// Writes an allocation with the current frame: frames may have ended since it was created.
    fn write_alloc(&mut self, index: usize) {
        let (mut event, details) = self.unplaced.swap_remove(index);
        if let Event::Alloc { frame, .. } = &mut event {
            *frame = self.frame;
        }
        self.write(&event, &details);
    }

    fn placed(&mut self, placement: &RecordedPlacement<'_>) {
        let is_it =
            |(event, _): &(Event, Details)| matches!(event, Event::Alloc { id, .. } if *id == placement.id);
        let Some(index) = self.unplaced.iter().position(is_it) else { return };
        let memory_type = placement.place.memory_type;
        let found = memory_type.and_then(|number| self.memory_types.get(usize::from(number)));
        let is_local = found.map(|found| found.flags.contains(MemoryFlags::DEVICE_LOCAL));
        let heap = is_local.map(|is_local| if is_local { HeapKind::Local } else { HeapKind::Host });
        let has_names = self.has_names && !placement.name.is_empty();
        if let Some((_, details)) = self.unplaced.get_mut(index) {
            details.memory_type = memory_type.map(u32::from);
            details.heap = heap;
            details.is_dedicated =
                matches!(placement.place.location, LocationKind::Committed | LocationKind::Memoryless);
            if has_names {
                *details = std::mem::take(details).named(placement.name);
            }
        }
        self.write_alloc(index);
    }

    fn attempt(&mut self, write: impl FnOnce(&mut TraceWriter<W>) -> Result<(), TraceError>) {
        let written = self.writer.as_mut().map_or(Ok(()), write);
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    fn submitted(&mut self, submission: QueueSerial) {
        self.submissions += 1;
        self.in_flight.push((submission, self.submissions));
        let (event, details) =
            (Event::Submit { number: self.submissions, frame: self.frame }, self.details());
        self.write(&event, &details);
    }

    fn completed(&mut self, point: &SyncPoint) {
        // Only roughly in order: submissions of several threads may be reported in any order.
        let is_done = |at: &QueueSerial| at.serial <= point.serial(at.queue);
        while let Some(index) = self.in_flight.iter().position(|(at, _)| is_done(at)) {
            let (_, number) = self.in_flight.remove(index);
            let (event, details) = (Event::Done { number, frame: self.frame }, self.details());
            self.write(&event, &details);
        }
    }

    fn end_frame(&mut self, number: u64) {
        // Frames that end at the same time on two threads may be reported in either order.
        if number <= self.frame {
            return;
        }
        self.frame = number;
        let details = self.details();
        self.write(&Event::Frame { number }, &details);
        self.unflushed += 1;
        if self.unflushed == FRAMES_A_FLUSH {
            self.unflushed = 0;
            self.attempt(TraceWriter::flush);
        }
    }
}

struct Hook<W: Write> {
    shared: Arc<Mutex<State<W>>>,
}

impl<W: Write + Send> Recorder for Hook<W> {
    fn begun(&self, device: &Properties) {
        let mut state = self.shared.lock();
        state.memory_types.clone_from(&device.memory_types);
        state.attempt(|writer| {
            let mut header = described(device);
            for (key, value) in writer.header().iter() {
                header.set(key, value);
            }
            writer.set_header(header)
        });
    }

    fn allocated(&self, allocation: &RecordedAllocation) {
        let RecordedAllocation { id, size, alignment: align, memory_use, is_texture, .. } = *allocation;
        let layout = if is_texture { Layout::Optimal } else { Layout::Linear };
        let kind = Kind::new(memory_kind(memory_use), layout);
        let mut state = self.shared.lock();
        let (frame, details) = (state.frame, state.details());
        state.unplaced.push((Event::Alloc { id, size, align, kind, frame }, details));
    }

    fn placed(&self, placement: &RecordedPlacement<'_>) {
        self.shared.lock().placed(placement);
    }

    fn freed(&self, id: u64, size: u64) {
        let mut state = self.shared.lock();
        state.write_unplaced(|unplaced| unplaced == id);
        let (frame, details) = (state.frame, state.details());
        state.write(&Event::Free { id, size, frame }, &details);
    }

    fn frame_ended(&self, frame: u64) {
        self.shared.lock().end_frame(frame);
    }

    fn submitted(&self, submission: QueueSerial) {
        self.shared.lock().submitted(submission);
    }

    fn completed(&self, point: &SyncPoint) {
        self.shared.lock().completed(point);
    }
}

/// The recorded memory kind of `memory_use`; future uses count as GPU-only memory.
const fn memory_kind(memory_use: MemoryUse) -> MemoryKind {
    match memory_use {
        MemoryUse::Upload | MemoryUse::GpuUpload => MemoryKind::CpuToGpu,
        MemoryUse::Readback => MemoryKind::GpuToCpu,
        _ => MemoryKind::GpuOnly,
    }
}

fn described(device: &Properties) -> Header {
    /// A longer name may not fit in a line.
    const NAME_CHARACTERS: usize = 128;
    let mut header = Header::default();
    header.set(
        "api",
        match device.api {
            Api::Direct3D12 => "d3d12",
            Api::Vulkan => "vulkan",
        },
    );
    header.set("device", device.name.chars().take(NAME_CHARACTERS).collect::<String>());
    header.set("limit.allocations", device.max_allocations.to_string());
    header.set("limit.heap-bytes", device.max_heap_size.to_string());
    for (number, MemoryType { flags, heap }) in device.memory_types.iter().enumerate() {
        // The same bits as those of `VkMemoryPropertyFlags`.
        let bits = flags.difference(MemoryFlags::SPECIAL).bits();
        header.set(format!("type.{number}"), format!("{bits},{heap}"));
    }
    header
}

/// The number of the calling thread, from 1, in order of first calls.
fn thread_number() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: u32 = THREADS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    }
    // A thread that is ending no longer has a number.
    NUMBER.try_with(|number| *number).unwrap_or_default()
}
