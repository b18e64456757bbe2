//! The memory heaps of a device: budget, and usage by purpose.

use super::MemoryParts;
use crate::context::Context;
use crate::device::{Device, HeapBudget, MemoryTypeId, Residency};
use crate::memory::{Class, Levels, PoolKind, PoolShard, Pressure};

/// One memory heap: its budget and its usage. Bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeapMemory {
    /// Total size.
    pub size: u64,
    /// True for memory local to the GPU.
    pub device_local: bool,
    /// True for the [window](crate::device::MemoryHeap::is_window) through which the CPU accesses a part of a discrete GPU's
    /// memory.
    pub is_window: bool,
    /// The process's current budget from the operating system; `None` if unknown.
    pub budget: Option<u64>,
    /// Usage of the process: the last value of the operating system, plus the manager's changes since. If the operating
    /// system reports none, the manager's usage.
    pub usage: u64,
    /// Cap of the manager's usage: see [`Gpu::set_memory_cap`](crate::Gpu::set_memory_cap).
    pub cap: Option<u64>,
    /// Bytes that can be allocated before the usage exceeds the budget or the manager's usage the cap; `None` without both.
    /// Free ranges in blocks, and idle blocks, are available in addition.
    pub headroom: Option<u64>,
    /// The higher level of two: the usage against the budget, and the manager's usage against its cap.
    pub pressure: Pressure,
    /// The manager's usage, by purpose.
    pub ours: MemoryParts,
    /// The part of [`MemoryParts::pools`] that is allocated, or dropped and waiting for the GPU. The rest is free for
    /// allocations from the same pool.
    pub used: u64,
    /// The part of [`MemoryParts::pools`] in empty blocks. They are freed some frames later, by
    /// [`Gpu::trim`](crate::Gpu::trim), or before an allocation exceeds the budget.
    pub idle: u64,
    /// The part of [`ours`](Self::ours) in evicted blocks. If the program controls residency, they are not part of
    /// [`usage`](Self::usage) and do not count against the cap; if the driver does, they have a low priority.
    pub evicted: u64,
}

/// One memory type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TypeMemory {
    /// The index of its heap.
    pub heap: usize,
    /// The manager's usage, by purpose.
    pub ours: MemoryParts,
}

/// The memory of a device, as returned by [`Gpu::memory`](crate::Gpu::memory).
///
/// The parts are complete: the sums of `ours` over all heaps, and over all types, are each
/// [`Stats::reserved`](crate::Stats::reserved) while nothing is created or reclaimed on another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryReport {
    /// Each memory heap, by its index in the device's properties.
    pub heaps: Vec<HeapMemory>,
    /// Each memory type, by its index.
    pub types: Vec<TypeMemory>,
    /// Bytes, in all heaps, of dropped objects that wait for recordings or the GPU.
    pub pending_bytes: u64,
}

impl MemoryReport {
    /// The heap for GPU-only resources: the largest that is local to the GPU. `None` on a device without one.
    #[must_use]
    pub fn device_local(&self) -> Option<&HeapMemory> {
        // Of equally large heaps the first, as in the order of memory types.
        self.heaps.iter().rev().filter(|heap| heap.device_local).max_by_key(|heap| heap.size)
    }

    /// The highest pressure of the heaps that are local to the GPU, except for a window.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        let heaps = self.heaps.iter().filter(|heap| heap.device_local && !heap.is_window);
        heaps.map(|heap| heap.pressure).max().unwrap_or_default()
    }

    pub(crate) fn collect<D: Device>(context: &Context<D>, budgets: &[HeapBudget], levels: &Levels) -> Self {
        let mut types = type_memories(context);
        let properties = context.device().properties();
        let mut heaps = Vec::new();
        for (index, heap) in properties.memory_heaps.iter().enumerate() {
            let HeapBudget { budget, usage } = budgets.get(index).copied().unwrap_or_default();
            let is_known = budget != 0;
            let cap = context.pools.objects.limits.cap(index);
            let nearer = context.pools.objects.budgets.nearer(index, HeapBudget { budget, usage }, cap);
            heaps.push(HeapMemory {
                size: heap.size,
                device_local: heap.device_local,
                is_window: heap.is_window(&properties.memory_heaps),
                budget: is_known.then_some(budget),
                usage,
                cap,
                headroom: is_known.then(|| budget.min(heap.size).saturating_sub(usage)),
                pressure: levels.of(index).after(nearer, &context.config.pressure),
                ours: MemoryParts::default(),
                used: 0,
                idle: 0,
                evicted: context.pools.residency.evicted(index),
            });
        }
        context.pools.each_class(|shards| {
            let Class { memory, kind, .. } = shards.first().class;
            let (reserved, _) = shards.reserved();
            let Some(of_type) = types.get_mut(usize::from(memory.0)) else { return };
            of_type.ours.pools += reserved;
            let Some(heap) = heaps.get_mut(of_type.heap) else { return };
            // Allocations from the heaps of slots are blocks of another pool.
            if kind != PoolKind::SmallBufferSlots {
                heap.used += shards.totals().pool.used;
            }
            heap.idle += shards.each().map(PoolShard::idle).sum::<u64>();
        });
        for found in &types {
            if let Some(heap) = heaps.get_mut(found.heap) {
                heap.ours = heap.ours.with(found.ours);
            }
        }
        // If the driver controls residency, evicted blocks have a low priority, but stay allocated.
        let leaves = properties.residency == Residency::Explicit;
        for heap in &mut heaps {
            let resident = heap.ours.total().saturating_sub(if leaves { heap.evicted } else { 0 });
            if heap.budget.is_none() {
                heap.usage = heap.usage.max(resident);
            }
            let left = heap.cap.map(|cap| cap.saturating_sub(resident));
            heap.headroom = [heap.headroom, left].into_iter().flatten().min();
        }
        Self { heaps, types, pending_bytes: context.releases.stats().pending_bytes }
    }
}

/// The manager's usage of each memory type, without pools.
fn type_memories<D: Device>(context: &Context<D>) -> Vec<TypeMemory> {
    let objects = &context.pools.objects;
    let types = context.device().properties().memory_types.iter();
    let of_type = |(memory, found): (u8, &crate::device::MemoryType)| {
        let memory = MemoryTypeId(memory);
        let ours = MemoryParts {
            pools: 0,
            committed: objects.committed_memory.of_type(memory),
            pages: objects.page_memory.of_type(memory),
            transient: objects.transient_memory.of_type(memory),
        };
        TypeMemory { heap: usize::from(found.heap), ours }
    };
    (0_u8..).zip(types).map(of_type).collect()
}

/// A change of a memory heap's level of pressure. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PressureChange {
    /// The index of the heap.
    pub heap: usize,
    /// Whether the heap is local to the GPU.
    pub device_local: bool,
    /// The level at the end of the previous frame.
    pub before: Pressure,
    /// The level now.
    pub now: Pressure,
    /// The budget of the operating system, or the program's [cap](crate::Gpu::set_memory_cap) if that is closer to being
    /// reached.
    pub budget: u64,
    /// The usage of the process, or the manager's usage if the cap is closer to being reached.
    pub usage: u64,
}
