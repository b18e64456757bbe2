//! Descriptors of one recording.

use super::bind::{Bind, Sources, gather};
use super::service::DescriptorService;
use crate::descriptor_store::{RecordedChunks, count};
use crate::device::{DescriptorKind, Device};
use crate::held_objects::LazyHeldObjects;
use crate::memory::MakeRoom;
use crate::{Error, Name};

/// Consecutive descriptors for one submission, in a shader-visible heap: from
/// [`Scratch::descriptors`](crate::Scratch::descriptors).
///
/// It borrows its recording, so that it cannot be used after the submission. Callers that cannot hold a borrow
/// store [`first`](Self::first), a plain number; [`DescriptorConfig::poison`](crate::DescriptorConfig::poison)
/// detects a use after the submission.
pub struct Descriptors<'r, D: Device> {
    heap: &'r D::DescriptorHeap,
    kind: DescriptorKind,
    first: u32,
    len: u32,
}

debug_fields!([D: Device] Descriptors<'_, D>, "Descriptors", this, kind: this.kind, first: this.first, len: this.len);

impl<D: Device> Clone for Descriptors<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Descriptors<'_, D> {}

impl<'r, D: Device> Descriptors<'r, D> {
    /// The shader-visible heap.
    #[must_use]
    pub const fn heap(&self) -> &'r D::DescriptorHeap {
        self.heap
    }

    /// The index of the first descriptor in the heap.
    #[must_use]
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// The number of descriptors; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Kind of the descriptors: views or samplers.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// Allocates descriptors for a recording, and writes them.
    pub(crate) fn take(
        service: &'r DescriptorService<D>,
        room: &dyn MakeRoom,
        chunks: &RecordedChunks,
        recording: &Name,
        held: LazyHeldObjects<'_, D>,
        binds: &[Bind<'_, D>],
    ) -> Result<Self, Error> {
        Self::take_boxed(service, room, chunks, recording, held, binds).map_err(|error| *error)
    }

    /// Lasting descriptors, for use in a recording.
    pub(super) const fn lasting(
        heap: &'r D::DescriptorHeap,
        kind: DescriptorKind,
        first: u32,
        len: u32,
    ) -> Self {
        Self { heap, kind, first, len }
    }

    /// [`take`](Self::take) with boxed errors: see [`Bind::source`].
    #[inline]
    fn take_boxed(
        service: &'r DescriptorService<D>,
        room: &dyn MakeRoom,
        chunks: &RecordedChunks,
        recording: &Name,
        held: LazyHeldObjects<'_, D>,
        binds: &[Bind<'_, D>],
    ) -> Result<Self, Box<Error>> {
        let mut sources = Sources::new();
        let kind = gather(service, recording, binds, held, &mut sources)?;
        let heap = service.visible(room, recording, kind)?;
        let len = count(sources.len() as u64);
        let context = &service.context;
        let first = chunks.take(heap, recording, len, || context.reclaim_now())?;
        let filled = heap.fill(context.device(), first, &sources);
        filled.map_err(|source| context.refused(recording, source))?;
        Ok(Self { heap: &heap.heap, kind, first, len })
    }
}
