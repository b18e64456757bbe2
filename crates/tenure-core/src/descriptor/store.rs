//! All descriptors of a manager, and their numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cpu_heaps::CpuHeaps;
use super::owners::DescriptorOwner;
use super::sampler::Samplers;
use super::set::{LastingSet, RecordedSets, RecordedSetsPool};
use super::set_layout::{SetLayoutInner, SetLayouts};
use super::table::PartUse;
use super::visible::{VisibleHeap, VisibleHeaps};
use crate::context::{Context, CpuSlot, RetiredDescriptor, StaticRange};
use crate::device::{Descriptor, DescriptorKind, DescriptorLimits, Device, Permit};
use crate::error::DescriptorPart;
use crate::repeated::Repeated;
use crate::time::{Stamp, SyncPoint};
use crate::{Config, ConfigError, Error, Name};

/// The heaps, and the blocks of sets.
pub(crate) struct DescriptorStore<D: Device> {
    pub(super) cpu: CpuHeaps<D>,
    pub(super) visible: VisibleHeaps<D>,
    pub(super) samplers: Samplers<D>,
    pub(super) set_layouts: SetLayouts<D>,
    pub(super) recorded_sets: RecordedSetsPool<D>,
    /// Heaps, layouts and blocks of sets that were ever created.
    made: AtomicU64,
    /// Blocks of sets that there are.
    set_blocks: AtomicU64,
    /// Samplers that were refused.
    pub(super) refused_samplers: Repeated,
    /// Views, tables and sets that kept something from moving.
    stuck: Repeated,
}

impl<D: Device> DescriptorStore<D> {
    pub(crate) fn new(config: &Config, limits: &DescriptorLimits) -> Result<Self, ConfigError> {
        Ok(Self {
            cpu: CpuHeaps::default(),
            visible: VisibleHeaps::new(config, limits)?,
            samplers: Samplers::default(),
            set_layouts: SetLayouts::default(),
            recorded_sets: RecordedSetsPool::default(),
            made: AtomicU64::new(0),
            set_blocks: AtomicU64::new(0),
            refused_samplers: Repeated::default(),
            stuck: Repeated::default(),
        })
    }

    /// No descriptor could be made for where something is to move, so that it stays.
    #[cold]
    pub(super) fn note_stuck(&self, error: &impl std::fmt::Display) {
        if let Some(times) = self.stuck.note() {
            event!(debug, %error, times, "a view, table or set keeps its resource from moving");
        }
    }

    /// An API object was created.
    pub(super) fn note_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// API objects that were ever created.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn note_set_block(&self) {
        self.note_made();
        self.set_blocks.fetch_add(1, Ordering::Relaxed);
    }

    /// Destroys a block of sets that nothing uses.
    pub(super) fn destroy_set_block(&self, device: &D, block: D::SetBlock) {
        device.destroy_set_block(Permit::own(), block);
        self.set_blocks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Blocks of sets that there are.
    pub(super) fn set_blocks(&self) -> u64 {
        self.set_blocks.load(Ordering::Relaxed)
    }

    /// Destroys the heaps and blocks that nothing has used for the configured frames. Cost: layouts.
    pub(crate) fn end_frame(&self, context: &Context<D>) {
        let idle_frames = u64::from(context.config.frames.idle);
        self.retire(context.device(), context.current_frame().saturating_sub(idle_frames));
    }

    /// Destroys the heaps and blocks that nothing uses.
    pub(crate) fn trim(&self, device: &D) {
        self.retire(device, u64::MAX);
        self.destroy_blocks(device, SetLayoutInner::trim);
    }

    fn retire(&self, device: &D, oldest: u64) {
        self.cpu.retire(device, oldest);
        self.destroy_blocks(device, |layout_inner, retired| layout_inner.retire(oldest, retired));
    }

    /// Destroys what `take_out` takes out of each layout. The layouts are held until then: on another
    /// thread the last handle of one may be released meanwhile, and a layout outlives its blocks.
    fn destroy_blocks(&self, device: &D, take_out: impl Fn(&SetLayoutInner<D>, &mut Vec<D::SetBlock>)) {
        let (mut retired, mut held) = (Vec::new(), Vec::new());
        self.set_layouts.each(|layout_inner| {
            let before = retired.len();
            take_out(&layout_inner, &mut retired);
            if retired.len() > before {
                held.push(layout_inner);
            }
        });
        retired.into_iter().for_each(|block| self.destroy_set_block(device, block));
    }

    /// Destroys the heaps; the layouts and their blocks went with the last handles.
    pub(crate) fn destroy(mut self, device: &D) {
        let heaps = self.cpu.take_all().into_iter().chain(self.visible.take_all());
        heaps.for_each(|heap| device.destroy_descriptor_heap(Permit::own(), heap));
    }
}

impl<D: Device> DescriptorStore<D> {
    /// Frees descriptors that nothing uses any more.
    pub(crate) fn free(&self, context: &Context<D>, retired: RetiredDescriptor<D>) {
        match retired {
            RetiredDescriptor::Cpu(slot) => self.cpu.release(context, slot),
            RetiredDescriptor::Table(kind, range) => {
                if let Some(heap) = self.visible.get(kind) {
                    heap.release_static(context.device(), &range);
                }
            }
            RetiredDescriptor::Pieces(kind, last) => {
                if let Some(heap) = self.visible.get(kind) {
                    heap.release_dynamic(context.device(), last);
                }
            }
            RetiredDescriptor::Set(set) => {
                if let Ok(set) = set.downcast::<LastingSet<D>>() {
                    let LastingSet { slot, layout_inner, name } = *set;
                    layout_inner.release_lasting(context, slot, &name);
                }
            }
            RetiredDescriptor::Sets(sets) => {
                if let Ok(sets) = sets.downcast::<RecordedSets<D>>() {
                    self.recorded_sets.put_back(sets, context);
                }
            }
            RetiredDescriptor::SetLayout(layout) => {
                if let Ok(layout) = layout.downcast::<Arc<SetLayoutInner<D>>>() {
                    self.free_layout(context, *layout);
                }
            }
        }
    }

    fn free_layout(&self, context: &Context<D>, layout_inner: Arc<SetLayoutInner<D>>) {
        let id = layout_inner.id;
        // Nobody is told of a set once nothing else has the layout.
        let is_told = || Arc::strong_count(&layout_inner) > 1 || layout_inner.is_referred_to();
        let freed = if is_told() { Err(layout_inner) } else { Arc::try_unwrap(layout_inner) };
        match freed {
            Ok(layout_inner) => {
                self.set_layouts.remove(id);
                layout_inner.destroy(self, context.device());
            }
            // Sets of it are not freed yet: once more, next time.
            Err(layout_inner) => {
                let retired = RetiredDescriptor::SetLayout(Box::new(layout_inner));
                context.release_recorded(retired, SyncPoint::NONE);
            }
        }
    }
}

/// What views, samplers, tables and sets hold.
pub(crate) struct DescriptorService<D: Device> {
    pub(crate) store: Arc<DescriptorStore<D>>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> DescriptorService<D> {
    /// Makes a descriptor in a heap that shaders do not see.
    pub(super) fn make_descriptor(
        &self,
        name: &Name,
        descriptor: &Descriptor<'_, D>,
    ) -> Result<CpuSlot<D>, Error> {
        self.context.clock.check().map_err(|source| Error::device(name, source))?;
        let made = self.context.retry(|| self.store.cpu.make(self, descriptor));
        made.map_err(|source| self.context.refused(name, source))
    }

    /// Nobody refers to a descriptor any more that was made at that time or later.
    pub(super) fn retire_descriptor(&self, slot: CpuSlot<D>, born: Stamp) {
        self.store.cpu.note_dropped(slot.kind);
        self.context.release_descriptors(RetiredDescriptor::Cpu(slot), born);
    }

    /// Nobody refers to descriptors of a table any more that were made at that time or later.
    pub(super) fn retire_row(&self, kind: DescriptorKind, range: StaticRange, born: Stamp) {
        if let Some(heap) = self.store.visible.get(kind) {
            heap.note_dropped(&range);
        }
        self.context.release_descriptors(RetiredDescriptor::Table(kind, range), born);
    }

    /// The heap that shaders see of a kind.
    #[inline]
    pub(crate) fn visible(&self, name: &Name, kind: DescriptorKind) -> Result<&VisibleHeap<D>, Error> {
        match self.store.visible.get(kind) {
            Some(heap) => Ok(heap),
            None => self.make_visible(name, kind),
        }
    }

    #[cold]
    fn make_visible(&self, name: &Name, kind: DescriptorKind) -> Result<&VisibleHeap<D>, Error> {
        self.context.clock.check().map_err(|source| Error::device(name, source))?;
        let made = self.context.retry(|| self.store.visible.make(self, kind));
        made.map_err(|source| self.context.refused(name, source))
    }

    /// The heaps that shaders see, as far as the device has them: of views, and of samplers.
    pub(crate) fn visible_heaps(&self, recording: &Name) -> Result<[Option<&D::DescriptorHeap>; 2], Error> {
        let heap = |kind| {
            let has = self.store.visible.has(kind);
            has.then(|| self.visible(recording, kind).map(|heap| &heap.heap)).transpose()
        };
        Ok([heap(DescriptorKind::Resource)?, heap(DescriptorKind::Sampler)?])
    }

    /// The owner of a descriptor that shaders see.
    pub(crate) fn owner(&self, kind: DescriptorKind, index: u32) -> DescriptorOwner {
        match self.store.visible.get(kind) {
            Some(heap) => heap.owner(index),
            None if self.store.visible.has(kind) => DescriptorOwner::Free,
            None => DescriptorOwner::OutOfRange,
        }
    }
}

/// Descriptors of one kind, in heaps that shaders do not see or in one part of the heap that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DescriptorHeapStats {
    /// What they are.
    pub kind: DescriptorKind,
    /// Where they are.
    pub part: DescriptorPart,
    /// How many there are.
    pub capacity: u64,
    /// How many are taken; of the dynamic part, in whole chunks.
    pub used: u64,
    /// The most ever taken at once.
    pub peak: u64,
    /// How many of those taken were dropped, and wait for recordings or the GPU.
    pub waiting: u64,
}

/// Descriptors in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DescriptorStats {
    /// The heaps that were ever needed.
    pub heaps: Vec<DescriptorHeapStats>,
    /// Live views.
    pub views: u64,
    /// Live samplers, equal ones counted once.
    pub samplers: u64,
    /// How often a sampler was asked for that there was already.
    pub samplers_shared: u64,
    /// Layouts of descriptor sets that there are.
    pub set_layouts: u64,
    /// Blocks of descriptor sets that there are.
    pub set_blocks: u64,
    /// Heaps, layouts and blocks of sets ever created.
    pub objects_created: u64,
}

impl<D: Device> DescriptorStore<D> {
    /// Cost: heaps.
    pub(crate) fn stats(&self) -> DescriptorStats {
        let mut stats = DescriptorStats {
            samplers_shared: self.samplers.shared.load(Ordering::Relaxed),
            set_layouts: self.set_layouts.count() as u64,
            set_blocks: self.set_blocks(),
            objects_created: self.made(),
            ..DescriptorStats::default()
        };
        for kind in DescriptorKind::ALL {
            let usage = self.cpu.usage(kind);
            match kind {
                DescriptorKind::Sampler => stats.samplers += usage.alive,
                _ => stats.views += usage.alive,
            }
            if usage.peak > 0 {
                stats.heaps.push(DescriptorHeapStats {
                    kind,
                    part: DescriptorPart::Cpu,
                    capacity: usage.capacity,
                    used: usage.used,
                    peak: usage.peak,
                    waiting: usage.used - usage.alive,
                });
            }
        }
        for heap in self.visible.each() {
            for (part, usage) in heap.usage() {
                let PartUse { capacity, free, peak, waiting, .. } = usage;
                let [capacity, free, peak, waiting] = [capacity, free, peak, waiting].map(u64::from);
                let used = capacity.saturating_sub(free);
                stats.heaps.push(DescriptorHeapStats {
                    kind: heap.kind,
                    part,
                    capacity,
                    used,
                    peak,
                    waiting,
                });
            }
        }
        stats
    }
}
