//! Descriptors in numbers (spec O1).

use std::sync::atomic::Ordering;

use super::DescriptorStore;
use super::exhausted::DescriptorPart;
use super::static_part::PartUse;
use crate::device::{DescriptorKind, Device};

/// Descriptors of one kind, in heaps that shaders do not see or in one part of the heap that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
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
            set_layouts: self.forms.count() as u64,
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
