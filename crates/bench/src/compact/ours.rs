//! tenure's pools of heaps.

use std::collections::HashMap;
use std::time::Instant;

use tenure_core::device::{Device as _, DeviceHeaps, HeapCategory, Permit};
use tenure_core::memory::heap_pools::{
    CompactionBudget, HeapPools, HeapPoolsConfig, MemoryRange, MemoryRequest,
};
use tenure_core::memory::{MemoryUse, TypeOrder, type_order};
use tenure_trace::MemoryKind;

use super::{Compactor, FRAME_BYTES, FRAME_MOVES, Frames};
use crate::null;
use crate::recordings::script::Request;
use crate::suballoc::singles::nanoseconds;

/// Pieces that a frame looks at, which bounds its time.
const FRAME_PIECES: usize = 250;
/// Frames after which it should have come to an end.
const TOO_MANY: usize = 1_000_000;

/// Pools of a device whose heaps cost nothing.
pub(super) struct Pools {
    pools: HeapPools<DeviceHeaps<Box<null::Device>>>,
    orders: [TypeOrder; MemoryKind::ALL.len()],
}

impl Compactor for Pools {
    type Handle = MemoryRange;

    fn new() -> Result<Self, String> {
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
        let config = HeapPoolsConfig { compacts: true, ..HeapPoolsConfig::default() };
        let pools = HeapPools::new(heaps, config).map_err(|error| error.to_string())?;
        Ok(Self { pools, orders })
    }

    fn allocate(&mut self, request: &Request) -> Result<MemoryRange, String> {
        let order = &self.orders[request.kind.memory as usize];
        let wanted = MemoryRequest::new(request.size, request.align, order, HeapCategory::Any);
        let (range, ()) = self.pools.allocate(wanted, |_| ()).map_err(|error| error.to_string())?;
        Ok(range)
    }

    fn free(&mut self, range: MemoryRange) -> Result<(), String> {
        self.pools.free(&range).map_err(|error| error.to_string())
    }

    fn place(&self, range: &MemoryRange) -> (u64, u64) {
        (self.pools.heap(range).map_or(0, null::Heap::number), range.offset())
    }

    fn reserved(&self) -> u64 {
        self.pools.totals().reserved
    }

    fn compact(&mut self, handles: &mut [Option<MemoryRange>]) -> Result<Frames, String> {
        let slots = handles.iter().enumerate();
        let mut slots: HashMap<_, _> =
            slots.filter_map(|(slot, range)| Some((range.as_ref()?.serial(), slot))).collect();
        let budget =
            CompactionBudget { bytes: FRAME_BYTES, moves: FRAME_MOVES as usize, pieces: FRAME_PIECES };
        let (mut frames, mut moves) = (Frames::default(), Vec::new());
        while frames.times.len() < TOO_MANY {
            let start = Instant::now();
            let is_done = self.pools.compact(budget, |_| true, &mut moves);
            for moved in &moves {
                self.pools.free(&moved.from).map_err(|error| error.to_string())?;
            }
            frames.times.push(nanoseconds(start));
            for moved in moves.drain(..) {
                frames.moves += 1;
                frames.bytes += moved.from.size();
                let slot = slots.remove(&moved.from.serial()).ok_or("something unknown has moved")?;
                slots.insert(moved.to.serial(), slot);
                handles[slot] = Some(moved.to);
            }
            if is_done {
                return Ok(frames);
            }
        }
        Err("compaction does not end".to_owned())
    }
}
