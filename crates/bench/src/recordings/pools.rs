//! tenure's memory without resources: its pools, their growth, and a record of what lives.

use tenure_core::device::{Device as _, DeviceHeaps, HeapCategory, Permit};
use tenure_core::memory::heap_pools::{HeapPools, HeapPoolsConfig, MemoryRange, MemoryRequest};
use tenure_core::memory::{MemoryUse, TypeOrder, type_order};
use tenure_trace::MemoryKind;

use super::play::Player;
use crate::null;
use crate::script::Request;

/// Pools of a device whose heaps cost nothing.
pub(crate) struct Pools {
    pub(crate) pools: HeapPools<DeviceHeaps<Box<null::Device>>>,
    orders: [TypeOrder; MemoryKind::ALL.len()],
}

impl Pools {
    pub(crate) fn with(config: HeapPoolsConfig) -> Result<Self, String> {
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
        let pools = HeapPools::new(heaps, config);
        Ok(Self { pools: pools.map_err(|error| error.to_string())?, orders })
    }
}

impl Player for Pools {
    /// The range, and the number of its heap.
    type Handle = (MemoryRange, u64);

    fn new() -> Result<Self, String> {
        Self::with(HeapPoolsConfig::default())
    }

    #[inline]
    fn allocate(&mut self, request: &Request) -> Result<Self::Handle, String> {
        let order = &self.orders[request.kind.memory as usize];
        let mut wanted = MemoryRequest::new(request.size, request.align, order, HeapCategory::Any);
        wanted.name = "(wgpu internal) Staging".into();
        self.pools.allocate(wanted, null::Heap::number).map_err(|error| error.to_string())
    }

    #[inline]
    fn free(&mut self, (range, _): Self::Handle) -> Result<(), String> {
        self.pools.free(&range).map_err(|error| error.to_string())
    }

    fn place(&self, (range, heap): &Self::Handle) -> (u64, u64) {
        (*heap, range.offset())
    }

    fn peak_reserved(&self) -> u64 {
        self.pools.totals().peak_reserved
    }
}
