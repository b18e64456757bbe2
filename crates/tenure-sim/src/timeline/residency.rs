//! Blocks in use by submissions, and the budgets that the pager grants.

use std::collections::BTreeMap;
use std::ops::Range;

use tenure_core::device::{
    CallRule, DeviceError, DeviceFault, FaultAccess, HeapBudget, PagingPoint, QueueSerial,
};

use crate::command::Recorded;
use crate::hazard::{Checks, HazardKind};
use crate::interval::IntervalSet;
use crate::memory::Memory;
use crate::paging::{BlockUse, Found, Pager};
use crate::resource::ResourceState;
use crate::shared::Shared;

/// The number of a resource's block, and its offset there; `None` for resources with tiles.
fn place(resource: &ResourceState) -> Option<(u64, u64)> {
    match &resource.memory {
        Memory::Committed { is_counted: false, .. } => None,
        Memory::Committed { .. } => Some((resource.label.id, 0)),
        Memory::Placed { heap, offset, .. } => Some((heap.label.id, *offset)),
        Memory::Reserved(_) => None,
    }
}

impl Shared {
    /// The budget and usage of each memory heap.
    pub(crate) fn budgets(&self) -> Vec<HeapBudget> {
        self.pager.as_ref().map_or_else(|| self.memory.budgets(), Pager::budgets)
    }

    /// Whether a budget has changed, as Windows' notification.
    pub(crate) fn budget_changed(&self) -> bool {
        let by_script = self.pager.as_ref().is_some_and(Pager::take_change);
        let by_hand = self.notices.take_budget();
        self.is_d3d12() && (by_script || by_hand)
    }

    pub(crate) fn check_paging_point(&self, point: PagingPoint) -> Result<(), DeviceError> {
        let exists = point == PagingPoint::RESIDENT
            || self.pager.as_ref().is_some_and(|pager| pager.has_point(point.0));
        if exists { Ok(()) } else { Err(DeviceError::broken_rule(CallRule::PagingPointExists)) }
    }

    /// The blocks that lists use, each once; they are in flight from now on.
    pub(crate) fn note_block_uses(&self, lists: &[Recorded]) -> Vec<BlockUse> {
        let Some(pager) = &self.pager else { return Vec::new() };
        let mut blocks = BTreeMap::<u64, (IntervalSet, Range<u64>)>::new();
        for command in lists.iter().flat_map(|list| list.commands.iter()) {
            command.resources(|resource| {
                if let Some((block, _)) = place(resource) {
                    blocks.entry(block).or_default();
                }
            });
            command.touches(|resource, span| {
                if let Some((block, offset)) = place(resource) {
                    let (touched, first) = blocks.entry(block).or_default();
                    for range in resource.layout.ranges(&span) {
                        if first.is_empty() {
                            let address = resource.virtual_address.saturating_add(range.start);
                            *first = address..address.saturating_add(1);
                        }
                        touched.insert(range.start + offset..range.end + offset);
                    }
                }
            });
        }
        let uses: Vec<_> =
            blocks.into_iter().map(|(block, (touched, first))| BlockUse { block, touched, first }).collect();
        pager.submitted(&uses);
        uses
    }

    /// Notes a completed submission whose queue has waited for the paging points up to `paged`.
    pub(crate) fn note_ran(&self, at: QueueSerial, uses: &[BlockUse], paged: u64) {
        let Some(pager) = &self.pager else { return };
        for (found, first) in pager.ran(uses, paged) {
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
            if self.page_faults {
                self.lose_by(|| {
                    DeviceFault::new(FaultAccess::Unknown, first, format!("{label} is evicted, and {detail}"))
                });
                return;
            }
            let kind = HazardKind::UsedWhileEvicted;
            self.report(Checks::RESIDENCY, kind, &[&label], detail, "submit");
        }
    }
}
