//! tenure's memory without resources: its pools, their growth, and a record of live allocations.

use tenure_core::device::{DeviceHeaps, HeapCategory, Permit, prelude::*};
use tenure_core::memory::heap_pools::{HeapPools, HeapPoolsConfig, MemoryRange, MemoryRequest};
use tenure_core::memory::{MemoryUse, TypeOrder, type_order};
use tenure_trace::MemoryKind;

use super::play::Player;
use crate::script::Request;
use crate::{Result, null};

/// Pools of a device whose heaps cost nothing.
pub(crate) struct Pools {
    pub(crate) pools: HeapPools<DeviceHeaps<Box<null::Device>>>,
    orders: [TypeOrder; MemoryKind::ALL.len()],
}

impl Pools {
    pub(crate) fn with(config: HeapPoolsConfig) -> Result<Self> {
        let device = null::Device::new(tenure_sim::Profile::DISCRETE);
        let orders = MemoryKind::ALL.map(|kind| {
            let memory_use = match kind {
                MemoryKind::GpuOnly => MemoryUse::GpuOnly,
                MemoryKind::CpuToGpu => MemoryUse::Upload,
                MemoryKind::GpuToCpu => MemoryUse::Readback,
            };
            type_order(device.properties(), memory_use)
        });
        let heaps = DeviceHeaps::new(Box::new(device), Permit::checked());
        Ok(Self { pools: HeapPools::new(heaps, config)?, orders })
    }
}

impl Player for Pools {
    /// The range, and the number of its heap.
    type Handle = (MemoryRange, u64);

    fn new() -> Result<Self> {
        Self::with(HeapPoolsConfig::default())
    }

    #[inline]
    fn allocate(&mut self, request: &Request) -> Result<Self::Handle> {
        let order = &self.orders[request.kind.memory as usize];
        let mut wanted = MemoryRequest::new(request.size, request.align, order, HeapCategory::Any);
        wanted.name = "(wgpu internal) Staging".into();
        Ok(self.pools.allocate(wanted, null::Heap::number)?)
    }

    #[inline]
    fn free(&mut self, (range, _): Self::Handle) -> Result {
        Ok(self.pools.free(&range)?)
    }

    fn place(&self, (range, heap): &Self::Handle) -> (u64, u64) {
        (*heap, range.offset())
    }

    fn peak_reserved(&self) -> u64 {
        self.pools.totals().peak_reserved
    }

    fn driver_allocations(&self) -> u64 {
        self.pools.totals().heaps_made
    }
}
