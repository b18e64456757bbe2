//! Heaps of descriptors that shaders see (spec D2).

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::dynamic_part::{DynamicPart, PieceId};
use super::exhausted::{DescriptorPart, DescriptorUser, NoDescriptors};
use super::owners::DescriptorOwner;
use super::sizes::Parts;
use super::static_part::{PartUse, StaticPart, StaticRange};
use crate::device::{
    DescriptorHeapDesc, DescriptorKind, DescriptorLimits, DescriptorSource, Device, DeviceError, ObjectRef,
    Permit,
};
use crate::gpu::Shared;
use crate::{Config, ConfigError, Error, Name};

/// The heap of one kind.
pub(crate) struct VisibleHeap<D: Device> {
    pub(super) kind: DescriptorKind,
    pub(super) heap: D::DescriptorHeap,
    parts: Parts,
    lasting: Mutex<StaticPart>,
    pub(super) dynamic: Mutex<DynamicPart>,
    poisons: bool,
}

impl<D: Device> VisibleHeap<D> {
    fn new(config: &Config, kind: DescriptorKind, heap: D::DescriptorHeap, parts: Parts) -> Self {
        let chunk = match kind {
            DescriptorKind::Sampler => config.descriptor_chunk / 16,
            _ => config.descriptor_chunk,
        };
        Self {
            kind,
            heap,
            parts,
            lasting: Mutex::new(StaticPart::new(parts.lasting)),
            dynamic: Mutex::new(DynamicPart::new(parts.lasting, parts.dynamic, chunk)),
            poisons: config.poison_descriptors,
        }
    }

    /// Fills descriptors that nothing in flight reads.
    pub(super) fn fill(
        &self,
        shared: &Shared<D>,
        name: &Name,
        first: u32,
        sources: &[DescriptorSource<'_, D>],
    ) -> Result<(), Error> {
        let filled = shared.device().fill_descriptors(Permit::own(), &self.heap, first, sources);
        filled.map_err(|source| shared.refused(name, source))
    }

    /// Descriptors in a row for a table.
    pub(super) fn take_static(
        &self,
        shared: &Shared<D>,
        count: u32,
        name: &Name,
    ) -> Result<StaticRange, Error> {
        let take = || self.lasting.lock().take(count, name);
        let found = take().or_else(|| {
            shared.reclaim();
            take()
        });
        found.ok_or_else(|| {
            let part = self.lasting.lock();
            self.exhausted(name, count, StaticPart::PART, part.usage(), part.users())
        })
    }

    /// A table that was made in vain.
    pub(super) fn return_static(&self, range: &StaticRange) {
        self.lasting.lock().free(range, false, false);
    }

    /// The descriptors of a table wait for the GPU.
    pub(super) fn note_dropped(&self, range: &StaticRange) {
        self.lasting.lock().note_dropped(range);
    }

    /// Nothing reads the descriptors of a table any more.
    pub(super) fn release_static(&self, device: &D, range: &StaticRange) {
        let mut part = self.lasting.lock();
        let name = part.name(range).filter(|_| self.poisons).map(Name::as_str);
        device.clear_descriptors(Permit::own(), &self.heap, range.first, range.count, name);
        part.free(range, true, self.poisons);
    }

    /// Nothing reads the descriptors of a recording any more.
    pub(super) fn release_dynamic(&self, device: &D, last: PieceId) {
        self.dynamic.lock().release(last, self.poisons, |first, count, recording| {
            if count > 0 {
                device.clear_descriptors(
                    Permit::own(),
                    &self.heap,
                    first,
                    count,
                    self.poisons.then_some(recording),
                );
            }
        });
    }

    pub(super) fn exhausted(
        &self,
        name: &Name,
        requested: u32,
        part: DescriptorPart,
        usage: PartUse,
        users: Vec<DescriptorUser>,
    ) -> Error {
        let PartUse { capacity, free, largest_free, waiting, .. } = usage;
        let (name, kind) = (name.clone(), self.kind);
        NoDescriptors { name, kind, part, requested, capacity, free, largest_free, waiting, users }.into()
    }

    fn owner(&self, index: u32) -> DescriptorOwner {
        if index >= self.parts.total() {
            DescriptorOwner::OutOfRange
        } else if index < self.parts.lasting {
            self.lasting.lock().owner(index)
        } else {
            self.dynamic.lock().owner(index)
        }
    }

    /// How full both parts are.
    pub(super) fn usage(&self) -> [(DescriptorPart, PartUse); 2] {
        [(StaticPart::PART, self.lasting.lock().usage()), (DynamicPart::PART, self.dynamic.lock().usage())]
    }
}

/// Both heaps, made when they are first needed.
pub(super) struct VisibleHeaps<D: Device> {
    parts: [Parts; 2],
    heaps: [OnceLock<VisibleHeap<D>>; 2],
    /// Held while one is made.
    making: Mutex<()>,
}

impl<D: Device> VisibleHeaps<D> {
    pub(super) fn new(config: &Config, limits: &DescriptorLimits) -> Result<Self, ConfigError> {
        let parts = [
            Parts::of(config, DescriptorKind::Resource, limits)?,
            Parts::of(config, DescriptorKind::Sampler, limits)?,
        ];
        let heaps = [OnceLock::new(), OnceLock::new()];
        Ok(Self { parts, heaps, making: Mutex::new(()) })
    }

    /// The heap of a kind, if there is one by now.
    #[inline]
    pub(super) fn get(&self, kind: DescriptorKind) -> Option<&VisibleHeap<D>> {
        self.heaps.get(kind as usize)?.get()
    }

    /// The heaps that there are by now.
    pub(super) fn each(&self) -> impl Iterator<Item = &VisibleHeap<D>> {
        self.heaps.iter().filter_map(OnceLock::get)
    }

    /// Whether the device and the configuration have such a heap.
    pub(super) fn has(&self, kind: DescriptorKind) -> bool {
        self.parts.get(kind as usize).is_some_and(|parts| parts.total() > 0)
    }

    #[cold]
    fn make(&self, shared: &Shared<D>, kind: DescriptorKind) -> Result<&VisibleHeap<D>, DeviceError> {
        let unsupported = DeviceError::Unsupported { feature: "descriptor indexing" };
        if !self.has(kind) {
            return Err(unsupported);
        }
        let (Some(place), Some(parts)) = (self.heaps.get(kind as usize), self.parts.get(kind as usize))
        else {
            return Err(unsupported);
        };
        let _making = self.making.lock();
        if let Some(heap) = place.get() {
            return Ok(heap);
        }
        let desc = DescriptorHeapDesc { kind, count: parts.total(), shader_visible: true };
        let heap = shared.device().create_descriptor_heap(&desc)?;
        shared.descriptors.note_made();
        let name = match kind {
            DescriptorKind::Sampler => "samplers for shaders",
            _ => "views for shaders",
        };
        shared.device().set_name(Permit::own(), ObjectRef::DescriptorHeap(&heap), name);
        Ok(place.get_or_init(|| VisibleHeap::new(&shared.config, kind, heap, *parts)))
    }

    /// Both heaps, to be destroyed.
    pub(super) fn take_all(&mut self) -> Vec<D::DescriptorHeap> {
        self.heaps.iter_mut().filter_map(OnceLock::take).map(|heap| heap.heap).collect()
    }
}

impl<D: Device> Shared<D> {
    /// The heap that shaders see of a kind.
    #[inline]
    pub(super) fn visible(&self, name: &Name, kind: DescriptorKind) -> Result<&VisibleHeap<D>, Error> {
        match self.descriptors.visible.get(kind) {
            Some(heap) => Ok(heap),
            None => self.make_visible(name, kind),
        }
    }

    #[cold]
    fn make_visible(&self, name: &Name, kind: DescriptorKind) -> Result<&VisibleHeap<D>, Error> {
        self.clock.check().map_err(|source| Error::device(name, source))?;
        let visible = &self.descriptors.visible;
        let made = self.retry(|| visible.make(self, kind));
        made.map_err(|source| self.refused(name, source))
    }

    /// Whose a descriptor that shaders see is.
    pub(crate) fn descriptor_owner(&self, kind: DescriptorKind, index: u32) -> DescriptorOwner {
        match self.descriptors.visible.get(kind) {
            Some(heap) => heap.owner(index),
            None if self.descriptors.visible.has(kind) => DescriptorOwner::Free,
            None => DescriptorOwner::OutOfRange,
        }
    }
}
