//! The memory heaps of a device: what is granted, what is used, and for what.

use super::MemoryParts;
use crate::context::Context;
use crate::device::{Device, HeapBudget, MemoryTypeId, Residency};
use crate::memory::{Class, Levels, PoolKind, PoolShard, Pressure};

/// One memory heap: what the operating system grants of it, and what is used. Bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeapMemory {
    /// All there is.
    pub size: u64,
    /// It is local to the GPU.
    pub device_local: bool,
    /// It is the [window](crate::device::MemoryHeap::is_window) through which the CPU sees a part of a card's memory.
    pub is_window: bool,
    /// What the operating system grants the process now; `None` when nobody knows.
    pub budget: Option<u64>,
    /// What the process uses: as the operating system said last, with what the manager has taken and given back since.
    /// Where nobody knows, what the manager has.
    pub usage: u64,
    /// The most that the manager takes: see [`Gpu::set_memory_cap`](crate::Gpu::set_memory_cap).
    pub cap: Option<u64>,
    /// What may still be taken before the usage exceeds the budget or the manager its cap; `None` when there is
    /// neither. What is free within
    /// blocks, or in blocks that are idle, comes on top.
    pub headroom: Option<u64>,
    /// How near the usage is to the budget, or what the manager has to its cap, whichever is nearer.
    pub pressure: Pressure,
    /// What the manager has, by what it is for.
    pub ours: MemoryParts,
    /// Of [`MemoryParts::pools`], what is given out, or was dropped and waits for the GPU. The rest is free for what
    /// goes to the same pool.
    pub used: u64,
    /// Of [`MemoryParts::pools`], the bytes of blocks that are empty. They are given back some frames later, at once by
    /// [`Gpu::trim`](crate::Gpu::trim), and before an allocation exceeds the budget.
    pub idle: u64,
    /// Of [`ours`](Self::ours), the bytes of blocks that are evicted. Where a program decides what is resident they
    /// are no part of [`usage`](Self::usage) and count against no cap; where the driver does, they have a low
    /// priority.
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
    /// What the manager has of it, by what it is for.
    pub ours: MemoryParts,
}

/// The memory of a device: what [`Gpu::memory`](crate::Gpu::memory) returns.
///
/// The parts are complete: the sums of `ours` over all heaps, and over all types, are each
/// [`Stats::reserved`](crate::Stats::reserved) while nothing is created or given back on another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryReport {
    /// Each memory heap, by its index in the device's properties.
    pub heaps: Vec<HeapMemory>,
    /// Each memory type, by its index.
    pub types: Vec<TypeMemory>,
    /// Bytes, in all heaps, of what was dropped and waits for recordings or the GPU.
    pub pending_bytes: u64,
}

impl MemoryReport {
    /// The heap that what the GPU alone uses goes to: the largest that is local to it. `None` on a device that has none.
    #[must_use]
    pub fn device_local(&self) -> Option<&HeapMemory> {
        // Of equal ones the first, as in the order of memory types.
        self.heaps.iter().rev().filter(|heap| heap.device_local).max_by_key(|heap| heap.size)
    }

    /// The highest level of the heaps that are local to the GPU, but for a window.
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
            // What is given out of the heaps of slots are blocks of another pool.
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
        // Where the driver decides, what is evicted has a low priority, and is taken all the same.
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

/// What there is of each memory type, but for pools.
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

/// A memory heap's level of pressure has changed. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PressureChange {
    /// The index of the heap.
    pub heap: usize,
    /// The heap is local to the GPU.
    pub device_local: bool,
    /// The level at the end of the frame before.
    pub before: Pressure,
    /// The level now.
    pub now: Pressure,
    /// What the operating system grants; the program's [cap](crate::Gpu::set_memory_cap) where that is nearer.
    pub budget: u64,
    /// What the process uses; where the cap is nearer, what the manager has.
    pub usage: u64,
}
