//! The calls of the device, and what submissions tell the pager.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::device::{
    CallRule, DeviceError, HeapBudget, MemoryBlock, MemoryTypeId, PagingPoint, Priority, QueueSerial,
};

use super::pager::{BlockUse, Found};
use crate::calls::CallKind;
use crate::clock::SharedClock;
use crate::device::Device;
use crate::hazard::{Checks, HazardKind};
use crate::interval::IntervalSet;
use crate::list::List;
use crate::object::Label;
use crate::resource::{Memory, ResourceState};
use crate::shared::{Request, Shared};

type Block<'a> = MemoryBlock<'a, Device>;

/// The label of a block, and what uses it.
fn found<'a>(block: &Block<'a>) -> Result<(&'a Arc<Label>, &'a SharedClock), DeviceError> {
    match block {
        MemoryBlock::Heap(heap) => Ok((&heap.state.label, &heap.state.last_use)),
        MemoryBlock::Resource(resource) => match &resource.state.memory {
            Memory::Committed { .. } => Ok((&resource.state.label, &resource.state.last_use)),
            _ => Err(DeviceError::broken_rule(CallRule::IsBlock)),
        },
    }
}

/// The number of the block that a resource is in, and the byte where it begins; none for what tiles are mapped to.
fn place(resource: &ResourceState) -> Option<(u64, u64)> {
    match &resource.memory {
        Memory::Committed { is_counted: false, .. } => None,
        Memory::Committed { .. } => Some((resource.label.id, 0)),
        Memory::Placed { heap, offset, .. } => Some((heap.label.id, *offset)),
        Memory::Reserved(_) => None,
    }
}

fn numbers(blocks: &[Block<'_>]) -> Result<Vec<u64>, DeviceError> {
    blocks.iter().map(|block| Ok(found(block)?.0.id)).collect()
}

impl Shared {
    pub(crate) fn make_resident(&self, blocks: &[Block<'_>]) -> Result<PagingPoint, DeviceError> {
        let bytes = self.pager.as_ref().map_or(0, |pager| {
            let blocks = blocks.iter().filter_map(|block| found(block).ok());
            pager.missing(blocks.map(|(label, _)| label.id))
        });
        self.call(CallKind::MakeResident, Request { bytes, ..Request::default() }, || {
            let pager = self.pager.as_ref().filter(|_| self.is_d3d12()).ok_or(UNSUPPORTED)?;
            let blocks = numbers(blocks)?;
            let mut timeline = self.timeline.lock();
            let point = pager.make_resident(&blocks);
            timeline.page_in(self, point);
            if point > timeline.paging_reached() {
                return Ok(PagingPoint(point));
            }
            pager.arrived(&blocks);
            Ok(PagingPoint::RESIDENT)
        })
    }

    pub(crate) fn evict(&self, blocks: &[Block<'_>]) -> Result<(), DeviceError> {
        self.call(CallKind::Evict, Request::default(), || {
            let pager = self.pager.as_ref().filter(|_| self.is_d3d12()).ok_or(UNSUPPORTED)?;
            let numbers = numbers(blocks)?;
            for block in blocks {
                let (label, last_use) = found(block)?;
                self.check_unused(label, last_use, HazardKind::EvictedInUse, "evict");
            }
            for label in pager.evict(&numbers) {
                let detail = || "it is not resident".to_owned();
                let kind = HazardKind::EvictedTooOften;
                self.report(Checks::RESIDENCY, kind, vec![label.to_string()], detail, "evict");
            }
            Ok(())
        })
    }

    pub(crate) fn set_priority(&self, block: Block<'_>, priority: Priority) -> Result<(), DeviceError> {
        self.call(CallKind::SetPriority, Request::default(), || {
            let (label, _) = found(&block)?;
            if let Some(pager) = &self.pager {
                pager.set_priority(label.id, priority);
            }
            Ok(())
        })
    }

    /// What is granted and used of each memory heap.
    pub(crate) fn budgets(&self) -> Vec<HeapBudget> {
        match &self.pager {
            Some(pager) => {
                let budgets = pager.budgets().into_iter();
                budgets.map(|(budget, usage)| HeapBudget { budget, usage }).collect()
            }
            None => self.memory.budgets(),
        }
    }

    pub(crate) fn note_block(&self, label: &Arc<Label>, memory: MemoryTypeId, size: u64, priority: Priority) {
        if let Some(pager) = &self.pager {
            pager.created(label, memory, size, priority);
        }
    }

    pub(crate) fn forget_block(&self, label: &Label) {
        if let Some(pager) = &self.pager {
            pager.destroyed(label.id);
        }
    }

    pub(crate) fn check_paging_point(&self, point: PagingPoint) -> Result<(), DeviceError> {
        let exists = point == PagingPoint::RESIDENT
            || self.pager.as_ref().is_some_and(|pager| pager.has_point(point.0));
        if exists { Ok(()) } else { Err(DeviceError::broken_rule(CallRule::PagingPointExists)) }
    }

    /// The blocks that lists use, each once; they are in flight from now on.
    pub(crate) fn note_block_uses(&self, lists: &[&List]) -> Vec<BlockUse> {
        let Some(pager) = &self.pager else { return Vec::new() };
        let mut blocks = BTreeMap::<u64, IntervalSet>::new();
        let recorded: Vec<_> = lists.iter().filter_map(|list| list.closed()).collect();
        for command in recorded.iter().flat_map(|commands| commands.iter()) {
            command.resources(|resource| {
                if let Some((block, _)) = place(resource) {
                    blocks.entry(block).or_default();
                }
            });
            command.touches(|resource, span| {
                if let Some((block, offset)) = place(resource) {
                    let touched = blocks.entry(block).or_default();
                    let ranges = resource.layout.ranges(&span).into_iter();
                    ranges.for_each(|range| touched.insert(range.start + offset..range.end + offset));
                }
            });
        }
        let uses: Vec<_> = blocks.into_iter().map(|(block, touched)| BlockUse { block, touched }).collect();
        pager.submitted(&uses);
        uses
    }

    /// A submission has run whose queue has waited for the paging points up to `paged`.
    pub(crate) fn note_ran(&self, at: QueueSerial, uses: &[BlockUse], paged: u64) {
        let Some(pager) = &self.pager else { return };
        for found in pager.ran(uses, paged) {
            let QueueSerial { queue, serial } = at;
            let who = format!("submission {serial} on queue {}", queue.0);
            let (label, detail) = match found {
                Found::Usable => continue,
                Found::Evicted(label) => (label, format!("{who} uses it")),
                Found::NotWaitedFor(label, point) => {
                    let detail =
                        format!("{who} uses it, and has waited for paging point {paged}, not {point}");
                    (label, detail)
                }
            };
            let kind = HazardKind::UsedWhileEvicted;
            self.report(Checks::RESIDENCY, kind, vec![label.to_string()], || detail, "submit");
        }
    }
}

const UNSUPPORTED: DeviceError = DeviceError::Unsupported { feature: "residency" };
