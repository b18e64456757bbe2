//! The descriptors that one recording has taken (spec D3).

use std::cell::Cell;

use super::DescriptorGarbage;
use super::dynamic_part::{DynamicPart, NO_PIECE, PieceId};
use super::visible::VisibleHeap;
use crate::device::{DescriptorKind, Device};
use crate::gpu::Shared;
use crate::time::SyncPoint;
use crate::{Error, Name};

/// Of one heap: a bump through pieces of chunks.
struct Bump {
    /// The piece that was taken last; the others follow from it.
    last: Cell<PieceId>,
    /// The piece that is being filled.
    current: Cell<PieceId>,
    /// The next free index of the current piece, and its end; both 0 while there is none.
    next: Cell<u32>,
    end: Cell<u32>,
}

impl Default for Bump {
    fn default() -> Self {
        let none = || Cell::new(NO_PIECE);
        Self { last: none(), current: none(), next: Cell::new(0), end: Cell::new(0) }
    }
}

/// The kinds of heaps that shaders see, in index order.
const KINDS: [DescriptorKind; 2] = [DescriptorKind::Resource, DescriptorKind::Sampler];

/// Of both heaps.
#[derive(Default)]
pub(crate) struct RecordedChunks {
    bumps: [Bump; KINDS.len()],
}

impl RecordedChunks {
    /// The first of `count` descriptors in a row, which nobody else is given before the recording's
    /// submission is complete.
    #[inline]
    pub(super) fn take<D: Device>(
        &self,
        shared: &Shared<D>,
        heap: &VisibleHeap<D>,
        recording: &'static str,
        count: u32,
    ) -> Result<u32, Error> {
        let bump = &self.bumps[heap.kind as usize % KINDS.len()];
        let first = bump.next.get();
        if count <= bump.end.get() - first {
            bump.next.set(first + count);
            return Ok(first);
        }
        self.take_piece(shared, heap, recording, count)
    }

    #[cold]
    fn take_piece<D: Device>(
        &self,
        shared: &Shared<D>,
        heap: &VisibleHeap<D>,
        recording: &'static str,
        count: u32,
    ) -> Result<u32, Error> {
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
            shared.reclaim();
            take()
        });
        found.ok_or_else(|| {
            let part = heap.dynamic.lock();
            heap.exhausted(&Name::from(recording), count, DynamicPart::PART, part.usage(), part.users())
        })
    }

    /// The recording was submitted, as `submission`, or discarded: what it has taken waits for that, and
    /// the rest is for later ones.
    pub(crate) fn end<D: Device>(&mut self, shared: &Shared<D>, submission: SyncPoint) {
        for (kind, bump) in KINDS.into_iter().zip(&mut self.bumps) {
            let Bump { last, current, next, .. } = std::mem::take(bump);
            let Some(heap) = shared.descriptors.visible.get(kind).filter(|_| last.get() != NO_PIECE) else {
                continue;
            };
            let mut part = heap.dynamic.lock();
            part.end_piece(current.get(), next.get());
            part.note_ended(last.get());
            drop(part);
            shared.release_recorded(DescriptorGarbage::Pieces(kind, last.get()), submission);
        }
    }
}
