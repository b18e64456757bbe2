//! Recording the allocations of a manager while the program runs.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::{MemoryUse, RecordedAllocation, Recorder};

use crate::{Encoding, Event, Kind, Layout, MemoryKind, TraceError, TraceWriter};

/// Frames between two flushes: the most frames that a crash removes from the recording.
const FRAMES_A_FLUSH: u32 = 32;

/// Writes the allocations, frees and frames of a [`Gpu`](tenure_core::Gpu) to any sink.
///
/// Pass the [`hook`](Self::hook) to the manager before any resource is created, and call
/// [`finish`](Self::finish) at the end of the program: later events are not recorded. A recorder
/// serves one manager; the ids in the recording are the numbers that this manager assigns.
///
/// Buffers are recorded as `linear`, textures as `optimal`;
/// [`MemoryUse::GpuOnly`] as `gpu_only`, [`Upload`](MemoryUse::Upload) and
/// [`GpuUpload`](MemoryUse::GpuUpload) as `cpu_to_gpu`, [`Readback`](MemoryUse::Readback) as
/// `gpu_to_cpu`. The sink is flushed every 32 frames.
///
/// Hooks may be called from any thread; a mutex orders the events. An event costs some hundred
/// nanoseconds, and occasionally a write to the sink.
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
    /// Records through a writer to which no event was written yet.
    pub fn new(writer: TraceWriter<W>) -> Self {
        let state = State { writer: Some(writer), frame: 0, unflushed: 0, error: None };
        Self { shared: Arc::new(Mutex::new(state)) }
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
    /// The first error since the beginning, because hooks cannot report any.
    /// [`TraceError::Refused`] says that an event was left out, for example one of a second manager;
    /// the sink then holds a valid recording of the other events. After [`TraceError::Write`] the
    /// recording in the sink is incomplete.
    ///
    /// # Panics
    ///
    /// Never: the writer is taken only here, and this method consumes the recorder.
    pub fn finish(self) -> Result<W, TraceError> {
        let mut state = self.shared.lock();
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
    /// `None` once the recording is finished.
    writer: Option<TraceWriter<W>>,
    /// The last frame marked.
    frame: u64,
    /// Frames marked since the last flush.
    unflushed: u32,
    /// The first error.
    error: Option<TraceError>,
}

impl<W: Write> State<W> {
    fn write(&mut self, event: &Event) {
        self.attempt(|writer| writer.event(event));
    }

    fn attempt(&mut self, write: impl FnOnce(&mut TraceWriter<W>) -> Result<(), TraceError>) {
        let written = self.writer.as_mut().map_or(Ok(()), write);
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    fn end_frame(&mut self, number: u64) {
        // Frames that end at the same time on two threads may come in either order.
        if number <= self.frame {
            return;
        }
        self.frame = number;
        self.write(&Event::Frame { number });
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
    fn allocated(&self, allocation: &RecordedAllocation) {
        let RecordedAllocation { id, size, alignment: align, memory_use, is_texture, .. } = *allocation;
        let layout = if is_texture { Layout::Optimal } else { Layout::Linear };
        let kind = Kind::new(memory_kind(memory_use), layout);
        let mut state = self.shared.lock();
        let frame = state.frame;
        state.write(&Event::Alloc { id, size, align, kind, frame });
    }

    fn freed(&self, id: u64, size: u64) {
        let mut state = self.shared.lock();
        let frame = state.frame;
        state.write(&Event::Free { id, size, frame });
    }

    fn frame_ended(&self, frame: u64) {
        self.shared.lock().end_frame(frame);
    }
}

/// The memory kind that `memory_use` is recorded as; memory uses added in future count as memory
/// that only the GPU accesses.
const fn memory_kind(memory_use: MemoryUse) -> MemoryKind {
    match memory_use {
        MemoryUse::Upload | MemoryUse::GpuUpload => MemoryKind::CpuToGpu,
        MemoryUse::Readback => MemoryKind::GpuToCpu,
        _ => MemoryKind::GpuOnly,
    }
}
