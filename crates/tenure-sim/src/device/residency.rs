//! Residency calls of the program.

use std::sync::Arc;

use tenure_core::device::{
    CallRule, DeviceError, MemoryBlock, PagingPoint, Permit, Priority, ResidencyDevice, TrimRequest,
};

use super::Device;
use crate::calls::{CallKind, Request};
use crate::clock::SharedClock;
use crate::hazard::{Checks, HazardKind};
use crate::memory::Memory;
use crate::object::Label;
use crate::timeline::Queues;

const UNSUPPORTED: DeviceError = DeviceError::Unsupported { feature: "residency" };

type Block<'a> = MemoryBlock<'a, Device>;

/// The label of a block, and the clock of its uses.
fn found<'a>(block: &Block<'a>) -> Result<(&'a Arc<Label>, &'a SharedClock), DeviceError> {
    match block {
        MemoryBlock::Heap(heap) => Ok((&heap.state.label, &heap.state.last_use)),
        MemoryBlock::Resource(resource) => match &resource.state.memory {
            Memory::Committed { .. } => Ok((&resource.state.label, &resource.state.last_use)),
            _ => Err(DeviceError::broken_rule(CallRule::IsBlock)),
        },
    }
}

fn numbers(blocks: &[Block<'_>]) -> Result<Vec<u64>, DeviceError> {
    blocks.iter().map(|block| Ok(found(block)?.0.id)).collect()
}

impl Queues {
    /// The total bytes of the evicted ones among the blocks.
    fn missing(&self, blocks: &[Block<'_>]) -> u64 {
        let blocks = blocks.iter().filter_map(|block| found(block).ok());
        self.pager.as_ref().map_or(0, |pager| pager.missing(blocks.map(|(label, _)| label.id)))
    }
}

impl ResidencyDevice for Device {
    fn make_resident(&self, _: Permit<Self>, blocks: &[Block<'_>]) -> Result<PagingPoint, DeviceError> {
        let queues = &self.queues;
        queues.call(CallKind::MakeResident, Request::of(queues.missing(blocks)), || {
            let pager = queues.pager.as_ref().filter(|_| queues.is_d3d12()).ok_or(UNSUPPORTED)?;
            let blocks = numbers(blocks)?;
            let mut timeline = queues.timeline.lock();
            let point = pager.make_resident(&blocks);
            timeline.page_in(point);
            if point > timeline.paging_reached() {
                return Ok(PagingPoint(point));
            }
            pager.arrived(&blocks);
            Ok(PagingPoint::RESIDENT)
        })
    }

    fn evict(&self, _: Permit<Self>, blocks: &[Block<'_>]) -> Result<(), DeviceError> {
        let queues = &self.queues;
        queues.call(CallKind::Evict, Request::default(), || {
            let pager = queues.pager.as_ref().filter(|_| queues.is_d3d12()).ok_or(UNSUPPORTED)?;
            let numbers = numbers(blocks)?;
            for block in blocks {
                let (label, last_use) = found(block)?;
                queues.check_unused(label, last_use, HazardKind::EvictedInUse, "evict");
            }
            for label in pager.evict(&numbers) {
                let kind = HazardKind::EvictedTooOften;
                queues.report(Checks::RESIDENCY, kind, &[&label], "it is not resident", "evict");
            }
            Ok(())
        })
    }

    fn set_priority(&self, _: Permit<Self>, block: Block<'_>, priority: Priority) -> Result<(), DeviceError> {
        self.queues.call(CallKind::SetPriority, Request::default(), || {
            let (label, _) = found(&block)?;
            if let Some(pager) = &self.queues.pager {
                pager.set_priority(label.id, priority);
            }
            Ok(())
        })
    }

    fn budget_changed(&self) -> bool {
        self.queues.budget_changed()
    }

    fn take_trim_request(&self) -> Option<TrimRequest> {
        self.queues.notices.take_trim()
    }

    fn reserve(&self, bytes: &[u64]) {
        self.queues.notices.reserve(bytes);
    }
}
