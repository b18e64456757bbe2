//! The part of a heap for descriptors of recordings, allocated in chunks.

use std::cell::Cell;

use slab::Slab;
use tenure_suballoc::{Handle, Slots};

use super::owners::{DescriptorOwner, Owners, users_by_name};
use super::static_part::PartUse;
use super::visible::VisibleHeap;
use super::{DescriptorStore, RetiredDescriptor};
use crate::device::{DescriptorKind, Device};
use crate::error::{DescriptorPart, DescriptorUser};
use crate::time::SyncPoint;
use crate::{Error, Name};

/// The number of a piece of the dynamic part of a heap.
pub(crate) type PieceId = u32;

/// A bump allocator over pieces of chunks, in one heap.
struct Bump {
    /// The latest piece; it links to the earlier ones.
    last: Cell<PieceId>,
    /// The piece that is being filled.
    current: Cell<PieceId>,
    /// The next free index of the current piece, and its end; both 0 without a piece.
    next: Cell<u32>,
    end: Cell<u32>,
}

impl Default for Bump {
    fn default() -> Self {
        let none = || Cell::new(NO_PIECE);
        Self { last: none(), current: none(), next: Cell::new(0), end: Cell::new(0) }
    }
}

/// The kinds of shader-visible heaps, in index order.
const KINDS: [DescriptorKind; 2] = [DescriptorKind::Resource, DescriptorKind::Sampler];

/// The descriptors of a recording in both heaps.
#[derive(Default)]
pub(crate) struct RecordedChunks {
    bumps: [Bump; KINDS.len()],
}

impl RecordedChunks {
    /// Allocates `count` consecutive descriptors, which belong to this recording until its submission is
    /// complete, and returns the first.
    #[inline]
    pub(crate) fn take<D: Device>(
        &self,
        heap: &VisibleHeap<D>,
        recording: &Name,
        count: u32,
        reclaim: impl FnOnce(),
    ) -> Result<u32, Box<Error>> {
        let bump = &self.bumps[heap.kind as usize % KINDS.len()];
        let first = bump.next.get();
        if count <= bump.end.get() - first {
            bump.next.set(first + count);
            return Ok(first);
        }
        self.take_piece(heap, recording, count, reclaim)
    }

    #[cold]
    fn take_piece<D: Device>(
        &self,
        heap: &VisibleHeap<D>,
        recording: &Name,
        count: u32,
        reclaim: impl FnOnce(),
    ) -> Result<u32, Box<Error>> {
        let bump = &self.bumps[heap.kind as usize % KINDS.len()];
        let take = || {
            let mut part = heap.dynamic.lock();
            let taken = part.take(count, recording, bump.last.get())?;
            bump.last.set(taken.piece);
            if !part.is_large(count) {
                part.end_piece(bump.current.get(), bump.next.get());
                bump.current.set(taken.piece);
                bump.next.set(taken.first + count);
                bump.end.set(taken.end);
            }
            Some(taken.first)
        };
        let found = take().or_else(|| {
            reclaim();
            take()
        });
        found.ok_or_else(|| {
            let part = heap.dynamic.lock();
            let (usage, users) = (part.usage(), part.users());
            Box::new(heap.exhausted(recording, count, DynamicPart::PART, usage, users))
        })
    }

    /// Ends a recording that was submitted, as `submission`, or discarded. Its descriptors are freed once the
    /// submission is complete; unused ones go to later recordings.
    pub(crate) fn end<D: Device>(&mut self, store: &DescriptorStore<D>, submission: SyncPoint) {
        for (kind, bump) in KINDS.into_iter().zip(&mut self.bumps) {
            let Bump { last, current, next, .. } = std::mem::take(bump);
            let Some(heap) = store.visible.get(kind).filter(|_| last.get() != NO_PIECE) else {
                continue;
            };
            let mut part = heap.dynamic.lock();
            part.end_piece(current.get(), next.get());
            part.note_ended(last.get());
            drop(part);
            store.releases.push_after(RetiredDescriptor::Pieces(kind, last.get()), submission, 0);
        }
    }
}

/// No piece.
pub(crate) const NO_PIECE: PieceId = u32::MAX;

/// Consecutive descriptors that recordings fill from front to back, one recording after another.
struct Chunk {
    handle: Handle,
    end: u32,
    /// Number of pieces that belong to open or pending recordings.
    pieces: u32,
    /// Whether a recording is filling it.
    is_open: bool,
}

/// The part of a chunk that one recording uses.
struct Piece {
    chunk: usize,
    first: u32,
    /// While the recording fills it, the whole remainder of the chunk.
    count: u32,
    recording: Name,
    /// The previous piece of the same recording.
    before: PieceId,
    /// Whether the piece is closed.
    is_ended: bool,
}

/// The unused end of a chunk that no recording is filling.
#[derive(Clone, Copy)]
struct Rest {
    chunk: usize,
    next: u32,
    end: u32,
}

/// A new piece: a whole chunk, or the unused end of one.
pub(crate) struct Taken {
    pub(crate) piece: PieceId,
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// The dynamic part: the indices from `start` on.
pub(crate) struct DynamicPart {
    start: u32,
    /// The size of a chunk, in descriptors.
    chunk: u32,
    /// `None` when the part is empty.
    slots: Option<Slots>,
    chunks: Slab<Chunk>,
    pieces: Slab<Piece>,
    rests: Vec<Rest>,
    /// The last owners of free descriptors, by offset from `start`.
    freed: Owners,
    peak: u32,
    /// Descriptors of ended recordings that are not freed yet.
    waiting: u32,
}

impl DynamicPart {
    pub(crate) const PART: DescriptorPart = DescriptorPart::Dynamic;

    pub(crate) fn new(start: u32, count: u32, chunk: u32) -> Self {
        Self {
            start,
            chunk: chunk.clamp(1, count.max(1)),
            slots: Slots::new(count).ok(),
            chunks: Slab::new(),
            pieces: Slab::new(),
            rests: Vec::new(),
            freed: Owners::default(),
            peak: 0,
            waiting: 0,
        }
    }

    /// Whether `count` descriptors get a dedicated chunk.
    pub(crate) const fn is_large(&self, count: u32) -> bool {
        count > self.chunk / 2
    }

    /// A piece with room for at least `count` descriptors, in the remainder of an earlier chunk or in a new
    /// chunk; a large request gets a chunk of exactly its size, and a closed piece.
    pub(crate) fn take(&mut self, count: u32, recording: &Name, before: PieceId) -> Option<Taken> {
        if self.is_large(count) {
            let taken = self.take_chunk(count, recording, before)?;
            self.end_piece(taken.piece, taken.end);
            return Some(taken);
        }
        if let Some(index) = self.rests.iter().rposition(|rest| rest.end - rest.next >= count) {
            let Rest { chunk, next, end } = self.rests.swap_remove(index);
            return self.add_piece(chunk, next, end, recording, before);
        }
        // If no full chunk fits, a shorter one is better than none.
        self.take_chunk(self.chunk, recording, before).or_else(|| self.take_chunk(count, recording, before))
    }

    fn take_chunk(&mut self, count: u32, recording: &Name, before: PieceId) -> Option<Taken> {
        let slots = self.slots.as_mut()?;
        let range = slots.allocate(count).ok()?;
        self.peak = self.peak.max(slots.capacity() - slots.free_count());
        let (first, end) = (self.start + range.first, self.start + range.first + range.count);
        let chunk = self.chunks.insert(Chunk { handle: range.handle, end, pieces: 0, is_open: false });
        self.add_piece(chunk, first, end, recording, before)
    }

    fn add_piece(
        &mut self,
        chunk: usize,
        first: u32,
        end: u32,
        recording: &Name,
        before: PieceId,
    ) -> Option<Taken> {
        let taken = self.chunks.get_mut(chunk)?;
        taken.pieces += 1;
        taken.is_open = true;
        let piece =
            Piece { chunk, first, count: end - first, recording: recording.clone(), before, is_ended: false };
        let piece = u32::try_from(self.pieces.insert(piece)).unwrap_or(NO_PIECE);
        Some(Taken { piece, first, end })
    }

    /// Closes a piece: its recording used the descriptors before `next`; other recordings may use the rest.
    pub(crate) fn end_piece(&mut self, id: PieceId, next: u32) {
        let Some(piece) = self.pieces.get_mut(id as usize).filter(|piece| !piece.is_ended) else { return };
        piece.is_ended = true;
        piece.count = next.saturating_sub(piece.first);
        let Some(chunk) = self.chunks.get_mut(piece.chunk) else { return };
        chunk.is_open = false;
        if next < chunk.end {
            self.rests.push(Rest { chunk: piece.chunk, next, end: chunk.end });
        }
    }

    /// Counts the descriptors of an ended recording as waiting; `last` is its latest piece.
    pub(crate) fn note_ended(&mut self, last: PieceId) {
        let mut id = last;
        while let Some(piece) = self.pieces.get(id as usize) {
            self.waiting += piece.count;
            id = piece.before;
        }
    }

    /// Frees the pieces of a recording; `last` is the latest. Calls `clear` for each, with the recording's
    /// name, before other recordings can take it.
    pub(crate) fn release(
        &mut self,
        last: PieceId,
        keep_names: bool,
        mut clear: impl FnMut(u32, u32, &Name),
    ) {
        let mut id = last;
        while let Some(piece) = self.pieces.try_remove(id as usize) {
            id = piece.before;
            self.waiting -= piece.count;
            clear(piece.first, piece.count, &piece.recording);
            if keep_names && piece.count > 0 {
                self.freed.assign(piece.first - self.start, piece.count, piece.recording, true);
            }
            self.drop_piece_of(piece.chunk);
        }
    }

    fn drop_piece_of(&mut self, id: usize) {
        let Some(chunk) = self.chunks.get_mut(id) else { return };
        chunk.pieces -= 1;
        if chunk.pieces > 0 || chunk.is_open {
            return;
        }
        self.rests.retain(|rest| rest.chunk != id);
        let chunk = self.chunks.remove(id);
        if let Some(slots) = &mut self.slots {
            // It was allocated once, and is freed once.
            let _freed = slots.free(chunk.handle);
        }
    }

    pub(crate) fn owner(&self, index: u32) -> DescriptorOwner {
        let has = |piece: &Piece| (piece.first..piece.first + piece.count).contains(&index);
        if let Some((_, piece)) = self.pieces.iter().find(|(_, piece)| has(piece)) {
            return DescriptorOwner::Dynamic { recording: piece.recording.clone() };
        }
        match index.checked_sub(self.start).and_then(|offset| self.freed.find(offset)) {
            Some((name, _)) => DescriptorOwner::Freed { name: name.clone() },
            None => DescriptorOwner::Free,
        }
    }

    pub(crate) fn usage(&self) -> PartUse {
        PartUse::of(self.slots.as_ref(), self.peak, self.waiting)
    }

    pub(crate) fn users(&self) -> Vec<DescriptorUser> {
        users_by_name(self.pieces.iter().map(|(_, piece)| (piece.recording.clone(), piece.count)))
    }
}
