//! The hook by which everything a program allocates can be recorded.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::callback::run_caught;
use crate::memory::{LocationKind, MemoryUse};
use crate::registry::ObjectKind;

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

/// A place in memory. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedPlace {
    /// Names what is given back in [`Recorder::released`]: no two places have the same number at one time.
    pub key: u64,
    /// Where the bytes are.
    pub location: LocationKind,
    /// The memory type; `None` for memory that is not the manager's.
    pub memory_type: Option<u8>,
    /// The index in [`Stats::pools`](crate::Stats::pools) of the pool.
    pub pool: Option<usize>,
    /// The [number](crate::BlockReport::number) of the pool's block.
    pub block: Option<usize>,
    /// The byte of the block or page at which the place begins.
    pub offset: Option<u64>,
    /// What is taken there, with what is added for alignment and by rounding.
    pub reserved: u64,
}

/// Where an allocation was placed, for who draws it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedPlacement<'a> {
    /// The allocation: its [`RecordedAllocation::id`].
    pub id: u64,
    /// Its name; empty when it has none.
    pub name: &'a str,
    /// Its tag; empty when it has none.
    pub tag: &'a str,
    /// What it is.
    pub kind: ObjectKind,
    /// Where it begins.
    pub place: RecordedPlace,
}

/// Takes down what a program allocates and frees, as it happens.
///
/// Called from any thread, inside creation, drop, moves and the ends of frames: keep it short. The manager has locks meanwhile,
/// so a recorder calls nothing of it, and has no lock that is held elsewhere while the manager is called: each would wait for
/// the other. What happens to an allocation is told in order: its creation, its place, its moves, its drop. A place is given
/// back after that, and before it is told of as another one's; apart from that, calls of different threads may come in any
/// order. A panic is caught and logged: the call that tells has other work to finish. So is one of the recorder's destructor,
/// which runs when the last handle of the manager is dropped.
/// The crate `tenure-trace` has one that writes a file.
pub trait Recorder: Send + Sync {
    /// A resource was created.
    fn allocated(&self, allocation: &RecordedAllocation);

    /// A resource was placed: follows [`allocated`](Self::allocated) in the same call.
    fn placed(&self, placement: &RecordedPlacement<'_>) {
        let _ = placement;
    }

    /// What was in the place with this [key](RecordedPlace::key) is in another one from now on. The place that it leaves is
    /// given back once the GPU has completed what uses it.
    fn moved(&self, from: u64, to: &RecordedPlace) {
        let _ = (from, to);
    }

    /// The bytes with this [key](RecordedPlace::key) were given back, because nothing uses them any more. Keys
    /// that were never told belong to what the manager itself allocates.
    fn released(&self, key: u64) {
        let _ = key;
    }

    /// A resource of `size` bytes was dropped.
    fn freed(&self, id: u64, size: u64);

    /// A frame has ended.
    fn frame_ended(&self, frame: u64);
}

/// The number of an allocation in the recording; 0 for one made before recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceId(u64);

impl TraceId {
    /// The number; `None` for what is not recorded.
    pub(crate) fn get(self) -> Option<u64> {
        (self.0 > 0).then_some(self.0)
    }
}

/// Calls the recorder, and catches its panic: the caller's work must not stay half done.
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
