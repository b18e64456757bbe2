//! The part of the manager that views, samplers, tables and sets reference.

use std::sync::Arc;

use super::followers::Followers;
use super::sampler::Samplers;
use crate::context::Context;
use crate::descriptor_store::{
    CpuSlot, DescriptorOwner, DescriptorStore, RetiredDescriptor, StaticRange, VisibleHeap,
};
use crate::device::{Descriptor, DescriptorKind, Device};
use crate::memory::MakeRoom;
use crate::time::Stamp;
use crate::{Error, Name};

/// The shared state of views, samplers, tables and sets.
pub(crate) struct DescriptorService<D: Device> {
    pub(super) samplers: Samplers<D>,
    pub(super) followers: Followers<D>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> DescriptorService<D> {
    pub(crate) fn new(context: &Arc<Context<D>>) -> Self {
        Self { samplers: Samplers::default(), followers: Followers::default(), context: context.clone() }
    }

    /// The heaps, and the pools of sets.
    #[inline]
    pub(super) fn store(&self) -> &DescriptorStore<D> {
        &self.context.descriptors
    }

    /// Makes a descriptor in a heap that is not shader-visible.
    pub(super) fn make_descriptor(
        &self,
        room: &dyn MakeRoom,
        name: &Name,
        descriptor: &Descriptor<'_, D>,
    ) -> Result<CpuSlot<D>, Error> {
        self.context.clock.check().map_err(|source| Error::device(name, source))?;
        let (context, store) = (&self.context, self.store());
        if !store.cpu.has_room(descriptor.kind()) {
            context.reclaim_without_frames();
        }
        let make = || store.cpu.make(store, context.device(), context.current_frame(), descriptor);
        let made = room.retry(make);
        made.map_err(|source| self.context.refused(name, source))
    }

    /// Queues an unreferenced descriptor, created at `born`, for release.
    pub(super) fn retire_descriptor(&self, slot: CpuSlot<D>, born: Stamp) {
        self.store().cpu.note_dropped(slot.kind);
        self.context.release_descriptors(RetiredDescriptor::Cpu(slot), born);
    }

    /// Queues unreferenced descriptors of a table, created at `born`, for release.
    pub(super) fn retire_row(&self, kind: DescriptorKind, range: StaticRange, born: Stamp) {
        if let Some(heap) = self.store().visible.get(kind) {
            heap.note_dropped(&range);
        }
        self.context.release_descriptors(RetiredDescriptor::Table(kind, range), born);
    }

    /// The shader-visible heap of a kind.
    #[inline]
    pub(crate) fn visible(
        &self,
        room: &dyn MakeRoom,
        name: &Name,
        kind: DescriptorKind,
    ) -> Result<&VisibleHeap<D>, Error> {
        match self.store().visible.get(kind) {
            Some(heap) => Ok(heap),
            None => self.make_visible(room, name, kind),
        }
    }

    #[cold]
    fn make_visible(
        &self,
        room: &dyn MakeRoom,
        name: &Name,
        kind: DescriptorKind,
    ) -> Result<&VisibleHeap<D>, Error> {
        self.context.clock.check().map_err(|source| Error::device(name, source))?;
        let made = room.retry(|| self.store().visible.make(self.store(), self.context.device(), kind));
        made.map_err(|source| self.context.refused(name, source))
    }

    /// The shader-visible heaps of the device, if any: of views, and of samplers.
    pub(crate) fn visible_heaps(
        &self,
        room: &dyn MakeRoom,
        recording: &Name,
    ) -> Result<[Option<&D::DescriptorHeap>; 2], Error> {
        let heap = |kind| {
            let has = self.store().visible.has(kind);
            has.then(|| self.visible(room, recording, kind).map(|heap| &heap.heap)).transpose()
        };
        Ok([heap(DescriptorKind::Resource)?, heap(DescriptorKind::Sampler)?])
    }

    /// The owner of a shader-visible descriptor.
    pub(crate) fn owner(&self, kind: DescriptorKind, index: u32) -> DescriptorOwner {
        match self.store().visible.get(kind) {
            Some(heap) => heap.owner(index),
            None if index < self.store().visible.count(kind) => DescriptorOwner::Free,
            None => DescriptorOwner::OutOfRange,
        }
    }
}
