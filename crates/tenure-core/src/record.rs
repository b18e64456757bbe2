//! The hook by which everything a program allocates can be recorded.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::MemoryUse;

/// What was allocated, as far as a recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedAllocation {
    /// Unique for the life of a [`Gpu`](crate::Gpu), from 1.
    pub id: u64,
    /// Bytes asked for.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
    /// Who reads and writes it.
    pub memory_use: MemoryUse,
    /// A texture; else a buffer.
    pub is_texture: bool,
}

/// Takes down what a program allocates and frees, as it happens.
///
/// Called from any thread, inside creation and drop: keep it short. The free of an allocation
/// comes after the allocation; apart from that, calls of different threads may come in any order.
/// The crate `tenure-trace` has one that writes a file.
pub trait Recorder: Send + Sync {
    /// A resource was created.
    fn allocated(&self, allocation: &RecordedAllocation);

    /// A resource of `size` bytes was dropped.
    fn freed(&self, id: u64, size: u64);

    /// A frame has ended.
    fn frame_ended(&self, frame: u64);
}

/// The number of an allocation in the recording; 0 for one made before recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceId(u64);

/// The recorder, if there is one.
#[derive(Default)]
pub(crate) struct RecorderSlot {
    recorder: OnceLock<Box<dyn Recorder>>,
    next: AtomicU64,
}

impl RecorderSlot {
    /// Begins recording; `false` when a recorder is there already.
    pub(crate) fn set(&self, recorder: Box<dyn Recorder>) -> bool {
        self.recorder.set(recorder).is_ok()
    }

    #[inline]
    pub(crate) fn allocate(
        &self,
        size: u64,
        alignment: u64,
        memory_use: MemoryUse,
        is_texture: bool,
    ) -> TraceId {
        let Some(recorder) = self.recorder.get() else { return TraceId::default() };
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        recorder.allocated(&RecordedAllocation { id, size, alignment, memory_use, is_texture });
        TraceId(id)
    }

    #[inline]
    pub(crate) fn free(&self, id: TraceId, size: u64) {
        if let Some(recorder) = self.recorder.get().filter(|_| id.0 > 0) {
            recorder.freed(id.0, size);
        }
    }

    pub(crate) fn end_frame(&self, frame: u64) {
        if let Some(recorder) = self.recorder.get() {
            recorder.frame_ended(frame);
        }
    }
}
