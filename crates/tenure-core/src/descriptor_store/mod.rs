//! The API objects behind descriptors: heaps of both kinds and pools of sets, their free slots, and the
//! release queue of descriptors. Independent of handles, which are in `descriptor`.

mod cpu_heaps;
mod dynamic_part;
mod owners;
mod set_pools;
mod static_part;
mod visible;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::DescriptorConfig;
use crate::device::{DescriptorKind, DescriptorLimits, Device, Permit};
use crate::error::DescriptorPart;
use crate::permit::OwnPermit as _;
use crate::repeated::Repeated;
use crate::time::{Batches, Clock, Recordings, ReleaseQueue, SyncPoint};
use crate::{Config, ConfigError};

use cpu_heaps::CpuHeaps;
pub(crate) use cpu_heaps::CpuSlot;
pub(crate) use dynamic_part::{PieceId, RecordedChunks};
pub use owners::DescriptorOwner;
pub(crate) use owners::{count, users_by_name};
pub(crate) use set_pools::{LastingSet, RecordedBlock, RecordedSets, SetLayoutInner};
use set_pools::{RecordedSetsPool, SetLayouts};
use static_part::PartUse;
pub(crate) use static_part::StaticRange;
pub(crate) use visible::VisibleHeap;
use visible::VisibleHeaps;

/// Dropped descriptors, to be freed when the GPU has finished with them.
pub(crate) enum RetiredDescriptor<D: Device> {
    /// The descriptor of a view or a sampler.
    Cpu(CpuSlot<D>),
    /// The descriptors of a table.
    Table(DescriptorKind, StaticRange),
    /// The descriptors of a recording, by its latest piece.
    Pieces(DescriptorKind, PieceId),
    /// A lasting set.
    Set(Box<LastingSet<D>>),
    /// The sets of a recording.
    Sets(Box<RecordedSets<D>>),
    /// A layout, with its blocks.
    SetLayout(Arc<SetLayoutInner<D>>),
}

/// The heaps, and the pools of sets.
pub(crate) struct DescriptorStore<D: Device> {
    pub(crate) cpu: CpuHeaps<D>,
    pub(crate) visible: VisibleHeaps<D>,
    /// Dropped descriptors.
    pub(crate) releases: ReleaseQueue<RetiredDescriptor<D>>,
    config: DescriptorConfig,
    idle_frames: u64,
    pub(crate) set_layouts: SetLayouts<D>,
    pub(crate) recorded_sets: RecordedSetsPool<D>,
    /// The number of heaps, layouts and pools of sets ever created.
    made: AtomicU64,
    /// The number of existing pools of sets.
    set_pools: AtomicU64,
    /// Requests for samplers that existed already.
    pub(crate) samplers_shared: AtomicU64,
    /// Views, tables and sets that prevented a move.
    stuck: Repeated,
}

impl<D: Device> DescriptorStore<D> {
    pub(crate) fn new(config: &Config, limits: &DescriptorLimits) -> Result<Self, ConfigError> {
        Ok(Self {
            cpu: CpuHeaps::default(),
            visible: VisibleHeaps::new(config, limits)?,
            releases: ReleaseQueue::new(),
            config: config.descriptors.clone(),
            idle_frames: config.frames.idle.into(),
            set_layouts: SetLayouts::default(),
            recorded_sets: RecordedSetsPool::default(),
            made: AtomicU64::new(0),
            set_pools: AtomicU64::new(0),
            samplers_shared: AtomicU64::new(0),
            stuck: Repeated::default(),
        })
    }

    /// Notes that no descriptor could be created for the new location, so that the resource stays.
    #[cold]
    pub(crate) fn note_stuck(&self, error: &impl std::fmt::Display) {
        if let Some(times) = self.stuck.note() {
            event!(debug, %error, times, "a view, table or set keeps its resource from moving");
        }
    }

    /// Counts a created API object.
    pub(crate) fn note_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of API objects ever created.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn note_set_pool(&self) {
        self.note_made();
        self.set_pools.fetch_add(1, Ordering::Relaxed);
    }

    /// Destroys an unused pool of sets.
    pub(crate) fn destroy_set_pool(&self, device: &D, block: D::SetPool) {
        device.destroy_set_pool(Permit::own(), block);
        self.set_pools.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of existing pools of sets.
    pub(crate) fn set_pools(&self) -> u64 {
        self.set_pools.load(Ordering::Relaxed)
    }

    /// Destroys the heaps and blocks that were unused for the configured frames. Cost: proportional to the
    /// layouts.
    pub(crate) fn end_frame(&self, device: &D, frame: u64) {
        self.trim_older(device, frame.saturating_sub(self.idle_frames));
    }

    /// Destroys unused heaps and blocks.
    pub(crate) fn trim(&self, device: &D) {
        self.trim_older(device, u64::MAX);
        self.destroy_blocks(device, SetLayoutInner::trim);
    }

    fn trim_older(&self, device: &D, oldest: u64) {
        // The rest locks each kind of heap.
        if self.made() == 0 {
            return;
        }
        self.cpu.trim_older(device, oldest);
        self.destroy_blocks(device, |layout_inner, retired| layout_inner.trim_older(oldest, retired));
    }

    /// Destroys the blocks that `take_out` takes out of each layout. The layouts are referenced until then:
    /// another thread may release the last handle of a layout meanwhile, and a layout must outlive its blocks.
    fn destroy_blocks(&self, device: &D, take_out: impl Fn(&SetLayoutInner<D>, &mut Vec<D::SetPool>)) {
        let (mut retired, mut held) = (Vec::new(), Vec::new());
        self.set_layouts.each(|layout_inner| {
            let before = retired.len();
            take_out(&layout_inner, &mut retired);
            if retired.len() > before {
                held.push(layout_inner);
            }
        });
        retired.into_iter().for_each(|block| self.destroy_set_pool(device, block));
    }

    /// Leaks all API objects: the GPU may still use them.
    pub(crate) fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.releases));
        std::mem::forget((self.cpu.take_all(), self.visible.take_all()));
    }

    /// Destroys the heaps; the layouts and their blocks were destroyed with the last handles.
    pub(crate) fn destroy(&mut self, device: &D) {
        let heaps = self.cpu.take_all().into_iter().chain(self.visible.take_all());
        heaps.for_each(|heap| device.destroy_descriptor_heap(Permit::own(), heap));
    }
}

impl<D: Device> DescriptorStore<D> {
    /// Frees the dropped descriptors, of handles and of recordings, that nothing can use any more according to
    /// `clock`; all of them once the device is lost.
    pub(crate) fn reclaim(&self, device: &D, frame: u64, recordings: &Recordings, clock: &Clock) {
        // Without heaps and layouts nothing was dropped.
        if self.made() == 0 {
            return;
        }
        let mut ready = Batches::new();
        // Refused while the device works and commands are in flight; the rest is freed later.
        if clock.loss().is_none() || self.releases.reclaim_all_batches(recordings, clock, &mut ready).is_err()
        {
            self.releases.reclaim_batches(recordings, clock, &mut ready);
        }
        if ready.is_empty() {
            return;
        }
        // Sets before their layouts.
        for batch in &mut ready {
            let is_layout = |retired: &_| matches!(retired, RetiredDescriptor::SetLayout(_));
            batch.extract(|retired| !is_layout(retired), |retired| self.reclaim_one(device, frame, retired));
        }
        for batch in &mut ready {
            batch.take_items(|retired| self.reclaim_one(device, frame, retired));
        }
        self.releases.recycle(&mut ready);
    }

    fn reclaim_one(&self, device: &D, frame: u64, retired: RetiredDescriptor<D>) {
        let poisons = self.config.poison;
        match retired {
            RetiredDescriptor::Cpu(slot) => self.cpu.release(device, frame, slot),
            RetiredDescriptor::Table(kind, range) => {
                if let Some(heap) = self.visible.get(kind) {
                    heap.release_static(device, &range);
                }
            }
            RetiredDescriptor::Pieces(kind, last) => {
                if let Some(heap) = self.visible.get(kind) {
                    heap.release_dynamic(device, last);
                }
            }
            RetiredDescriptor::Set(set) => {
                let LastingSet { slot, layout_inner, name } = *set;
                layout_inner.free_lasting(device, frame, slot, poisons.then_some(name.as_str()));
            }
            RetiredDescriptor::Sets(sets) => self.recorded_sets.recycle(sets, device, poisons),
            RetiredDescriptor::SetLayout(layout_inner) => self.reclaim_layout(device, layout_inner),
        }
    }

    fn reclaim_layout(&self, device: &D, layout_inner: Arc<SetLayoutInner<D>>) {
        let id = layout_inner.id;
        // A recording cannot get a set unless something else references the layout.
        let is_told = || Arc::strong_count(&layout_inner) > 1 || layout_inner.is_referred_to();
        let freed = if is_told() { Err(layout_inner) } else { Arc::try_unwrap(layout_inner) };
        match freed {
            Ok(layout_inner) => {
                self.set_layouts.remove(id);
                layout_inner.destroy(self, device);
            }
            // Some of its sets are not freed yet: retry next time.
            Err(layout_inner) => {
                self.releases.push_after(RetiredDescriptor::SetLayout(layout_inner), SyncPoint::NONE, 0);
            }
        }
    }
}

/// Usage of descriptors of one kind, in heaps that are not shader-visible, or in one part of the shader-visible
/// heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DescriptorHeapStats {
    /// The kind.
    pub kind: DescriptorKind,
    /// The heap or part.
    pub part: DescriptorPart,
    /// The number of descriptors.
    pub capacity: u64,
    /// Descriptors in use; in the dynamic part, in whole chunks.
    pub used: u64,
    /// The most ever in use at once.
    pub peak: u64,
    /// Descriptors in use that were dropped, and await recordings or the GPU.
    pub waiting: u64,
}

/// Counts of descriptors and related objects.
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
    /// Requests for samplers that existed already.
    pub samplers_shared: u64,
    /// Existing layouts of descriptor sets.
    pub set_layouts: u64,
    /// Existing blocks of descriptor sets.
    pub set_pools: u64,
    /// Heaps, layouts and pools of sets ever created.
    pub objects_created: u64,
}

impl<D: Device> DescriptorStore<D> {
    /// Cost: proportional to the heaps.
    pub(crate) fn stats(&self) -> DescriptorStats {
        let mut stats = DescriptorStats {
            samplers_shared: self.samplers_shared.load(Ordering::Relaxed),
            set_layouts: self.set_layouts.count() as u64,
            set_pools: self.set_pools(),
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
