//! Hook for recording all allocations of a program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::callback::run_caught;
use crate::device::{Properties, QueueSerial};
use crate::memory::{LocationKind, MemoryUse};
use crate::registry::ObjectKind;
use crate::time::SyncPoint;

/// An allocation, for a [`Recorder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedAllocation {
    /// Unique id within a [`Gpu`](crate::Gpu), from 1.
    pub id: u64,
    /// Bytes requested.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
    /// CPU and GPU access.
    pub memory_use: MemoryUse,
    /// True for a texture; false for a buffer.
    pub is_texture: bool,
}

/// A place in memory. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedPlace {
    /// Id of the place in [`Recorder::released`], unique among places at any one time.
    pub key: u64,
    /// Location of the bytes.
    pub location: LocationKind,
    /// The memory type; `None` for memory not owned by the manager.
    pub memory_type: Option<u8>,
    /// Index of the pool in [`Stats::pools`](crate::Stats::pools).
    pub pool: Option<usize>,
    /// The [number](crate::BlockReport::number) of the pool's block.
    pub block: Option<usize>,
    /// Offset of the place in the block or page.
    pub offset: Option<u64>,
    /// Bytes taken there, including alignment and rounding.
    pub reserved: u64,
}

/// The placement of an allocation, for tools that draw memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedPlacement<'a> {
    /// The allocation: its [`RecordedAllocation::id`].
    pub id: u64,
    /// The name; empty when it has none.
    pub name: &'a str,
    /// The tag; empty when it has none.
    pub tag: &'a str,
    /// The kind.
    pub kind: ObjectKind,
    /// The place.
    pub place: RecordedPlace,
}

/// Records the allocations and frees of a program as they happen.
///
/// Called on any thread, inside creation, drop, moves and the ends of frames: keep it short. The manager holds locks meanwhile.
/// A recorder must not call the manager, and must not take a lock that is held elsewhere during a call of the manager: both
/// would deadlock. The events of one allocation are ordered: its creation, its placement, its moves, its drop. The release of
/// its place follows, before the place is reported for another allocation; otherwise calls of different threads may come in any
/// order. A panic is caught and logged, because the calling function has other work to finish; so is a panic of the recorder's
/// destructor, which runs when the last handle of the manager is dropped. The crate `tenure-trace` has a recorder that writes a
/// file.
pub trait Recorder: Send + Sync {
    /// Called once, before the other functions, with the properties of the device.
    fn begun(&self, device: &Properties) {
        let _ = device;
    }

    /// Called when a resource was created.
    fn allocated(&self, allocation: &RecordedAllocation);

    /// Called when a resource was placed: follows [`allocated`](Self::allocated) in the same call.
    fn placed(&self, placement: &RecordedPlacement<'_>) {
        let _ = placement;
    }

    /// Called when the contents of the place with this [key](RecordedPlace::key) have moved to another. The old
    /// place is reclaimed once the GPU has completed the work that uses it.
    fn moved(&self, from: u64, to: &RecordedPlace) {
        let _ = (from, to);
    }

    /// Called when the bytes with this [key](RecordedPlace::key) were reclaimed, because they are no longer in use. Keys that
    /// were never reported belong to allocations of the manager itself.
    fn released(&self, key: u64) {
        let _ = key;
    }

    /// Called when a resource of `size` bytes was dropped.
    fn freed(&self, id: u64, size: u64);

    /// Called at the end of a frame.
    fn frame_ended(&self, frame: u64);

    /// Called when work of the program was submitted: a recording, external work or tiles, but not the manager's own copies.
    /// Called once for recordings in one submission ([`Frame::submit_all`](crate::Frame::submit_all)).
    fn submitted(&self, submission: QueueSerial) {
        let _ = submission;
    }

    /// Called when the manager has found that all submissions covered by `point` are complete.
    fn completed(&self, point: &SyncPoint) {
        let _ = point;
    }
}

/// The number of an allocation in the recording; 0 for one made before recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceId(u64);

impl TraceId {
    /// The number; `None` for an allocation that is not recorded.
    pub(crate) fn get(self) -> Option<u64> {
        (self.0 > 0).then_some(self.0)
    }
}

/// Calls the recorder, and catches its panic, so that the caller can finish its work. Not inlined: most programs have no recorder.
#[cold]
#[inline(never)]
fn tell(call: impl FnOnce()) {
    run_caught("a recorder", call);
}

/// The recorder, if there is one.
#[derive(Default)]
pub(crate) struct RecorderSlot {
    recorder: OnceLock<Box<dyn Recorder>>,
    next: AtomicU64,
}

impl Drop for RecorderSlot {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            run_caught("a recorder's destructor", || drop(recorder));
        }
    }
}

impl RecorderSlot {
    /// Begins recording; `false` if a recorder is already set.
    pub(crate) fn set(&self, recorder: Box<dyn Recorder>, device: &Properties) -> bool {
        if self.is_set() {
            return false;
        }
        // Before other threads can call it.
        tell(|| recorder.begun(device));
        self.recorder.set(recorder).is_ok()
    }

    #[inline(always)]
    pub(crate) fn allocate(
        &self,
        size: u64,
        alignment: u64,
        memory_use: MemoryUse,
        is_texture: bool,
    ) -> TraceId {
        let Some(recorder) = self.recorder.get() else { return TraceId::default() };
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let allocation = RecordedAllocation { id, size, alignment, memory_use, is_texture };
        tell(|| recorder.allocated(&allocation));
        TraceId(id)
    }

    #[inline]
    pub(crate) fn free(&self, id: TraceId, size: u64) {
        if let Some(recorder) = self.recorder.get().filter(|_| id.0 > 0) {
            tell(|| recorder.freed(id.0, size));
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.recorder.get().is_some()
    }

    /// Reports details that are costly to collect.
    #[inline]
    pub(crate) fn tell_with(&self, call: impl FnOnce(&dyn Recorder)) {
        if let Some(recorder) = self.recorder.get() {
            tell(|| call(&**recorder));
        }
    }

    pub(crate) fn release(&self, key: u64) {
        self.tell_with(|recorder| recorder.released(key));
    }

    pub(crate) fn end_frame(&self, frame: u64) {
        if let Some(recorder) = self.recorder.get() {
            tell(|| recorder.frame_ended(frame));
        }
    }
}
