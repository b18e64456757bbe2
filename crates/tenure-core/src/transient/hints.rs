//! Placement hints: a plan of the last frame, offered to the next.
//!
//! Acquiring pass by pass does not tell ahead which resources will be needed; but consecutive frames resemble
//! each other. What one frame acquired, when, and how long it kept it is planned as if it were a graph, and
//! the next frame is offered those offsets, in that order. A hint is taken only if its bytes are free at that
//! time, so a frame that turns out different is merely placed by first fit.

use tenure_plan::{Item, Options, plan};

use super::desc_table::{Description, DescriptionId, Tenants};
use crate::device::MemoryTypeId;

/// A resource acquired in the frame.
#[derive(Clone, Copy, Debug)]
struct Acquisition {
    description: DescriptionId,
    size: u64,
    alignment: u64,
    class: HeapClass,
    offset: HeapOffset,
    /// The number of acquires and drops in the frame when it was acquired.
    first: u64,
    /// The same when it was dropped; `None` if that was not within the frame.
    last: Option<u64>,
}

impl Acquisition {
    fn shape(&self) -> (DescriptionId, u64, Option<u64>) {
        (self.description, self.first, self.last)
    }
}

type HeapClass = (MemoryTypeId, Tenants);

/// An offset in a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeapOffset {
    /// The number of the heap.
    pub(super) heap: u64,
    pub(super) offset: u64,
}

/// A heap in which hints may be given.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapInfo {
    pub(super) class: HeapClass,
    pub(super) heap: u64,
    pub(super) size: u64,
}

/// The acquisitions of the current frame, and the hints made from those of the last.
#[derive(Debug, Default)]
pub(super) struct Hints {
    frame: u64,
    events: u64,
    current: Vec<Acquisition>,
    /// More was acquired than is noted.
    has_overflowed: bool,
    /// The acquisitions of the frame that hints were made from.
    previous: Vec<Acquisition>,
    /// The hint for each of `previous`.
    hinted: Vec<HeapOffset>,
    /// Index of the next hint to give.
    next: usize,
}

/// Identifies an acquisition: the frame, and its index in that frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcquisitionId {
    frame: u64,
    index: usize,
}

impl Hints {
    /// The hint for a resource of this description. Hints before it that the frame skipped are given up.
    pub(super) fn next(&mut self, description: DescriptionId) -> Option<HeapOffset> {
        /// How many acquisitions a frame may skip and still count as similar to the last.
        const MAX_SKIPPED: usize = 8;
        let ahead = self.previous.get(self.next..)?.iter().take(MAX_SKIPPED);
        let at = self.next + ahead.into_iter().position(|previous| previous.description == description)?;
        self.next = at + 1;
        self.hinted.get(at).copied()
    }

    /// Notes an acquisition. A frame with more of them than renderers have is not planned; nor is what a
    /// program acquires that has no frames.
    pub(super) fn acquired(
        &mut self,
        description: &Description,
        alignment: u64,
        class: HeapClass,
        offset: HeapOffset,
    ) -> Option<AcquisitionId> {
        const MAX_PLANNED: usize = 1024;
        if self.current.len() >= MAX_PLANNED {
            self.has_overflowed = true;
            return None;
        }
        let first = self.tick();
        let (description, size) = (description.id, description.needs.size);
        self.current.push(Acquisition { description, size, alignment, class, offset, first, last: None });
        Some(AcquisitionId { frame: self.frame, index: self.current.len() - 1 })
    }

    /// Notes that an acquired resource was dropped.
    pub(super) fn dropped(&mut self, id: AcquisitionId) {
        let now = self.tick();
        if id.frame == self.frame
            && let Some(acquisition) = self.current.get_mut(id.index)
        {
            acquisition.last = Some(now);
        }
    }

    fn tick(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    /// Ends the frame, and plans it for the next one if it differs from the frame before it.
    pub(super) fn end_frame(&mut self, heaps: impl Iterator<Item = HeapInfo>) {
        if std::mem::take(&mut self.has_overflowed) {
            self.current.clear();
        }
        let shapes = self.current.iter().map(Acquisition::shape);
        if !shapes.eq(self.previous.iter().map(Acquisition::shape)) {
            self.hinted = self
                .planned(&heaps.collect::<Vec<_>>())
                .unwrap_or_else(|| self.current.iter().map(|acquisition| acquisition.offset).collect());
            std::mem::swap(&mut self.previous, &mut self.current);
        }
        self.current.clear();
        (self.events, self.next) = (0, 0);
        self.frame += 1;
    }

    /// Offsets that take fewer bytes than those of the current frame; `None` if the gain is too small.
    fn planned(&self, heaps: &[HeapInfo]) -> Option<Vec<HeapOffset>> {
        let mut offsets: Vec<HeapOffset> =
            self.current.iter().map(|acquisition| acquisition.offset).collect();
        let before = self.footprint(&offsets);
        let mut classes: Vec<HeapClass> = self.current.iter().map(|acquisition| acquisition.class).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            self.plan_class(class, heaps, &mut offsets)?;
        }
        // An API resource that moves must be created again.
        (self.footprint(&offsets) < before - before / 64).then_some(offsets)
    }

    /// Plans the acquisitions of one class into the heaps of that class, the largest heap first.
    fn plan_class(&self, class: HeapClass, heaps: &[HeapInfo], offsets: &mut [HeapOffset]) -> Option<()> {
        let mut heaps: Vec<HeapInfo> = heaps.iter().copied().filter(|heap| heap.class == class).collect();
        heaps.sort_by_key(|heap| (std::cmp::Reverse(heap.size), heap.heap));
        let all = (0..).zip(&self.current).filter(|(_, acquisition)| acquisition.class == class);
        let mut rest: Vec<usize> = all.map(|(index, _)| index).collect();
        for heap in heaps {
            let items: Vec<Item> = rest.iter().filter_map(|index| self.item(*index)).collect();
            let planned = plan(&items, &Options::new().nodes(0)).ok()?.offsets;
            let placed: Vec<(usize, u64)> = rest.iter().copied().zip(planned).collect();
            rest.clear();
            for (index, offset) in placed {
                let end = offset.saturating_add(self.current.get(index)?.size);
                if end <= heap.size {
                    *offsets.get_mut(index)? = HeapOffset { heap: heap.heap, offset };
                } else {
                    rest.push(index);
                }
            }
        }
        rest.is_empty().then_some(())
    }

    fn item(&self, index: usize) -> Option<Item> {
        let acquisition = self.current.get(index)?;
        let last = acquisition.last.unwrap_or(self.events + 1);
        Some(Item::new(acquisition.first..last, acquisition.size).aligned(acquisition.alignment))
    }

    /// Bytes up to the highest end in each heap, added over all heaps.
    fn footprint(&self, offsets: &[HeapOffset]) -> u64 {
        let mut tops: Vec<(u64, u64)> = Vec::new();
        for (acquisition, at) in self.current.iter().zip(offsets) {
            let end = at.offset.saturating_add(acquisition.size);
            match tops.iter_mut().find(|(heap, _)| *heap == at.heap) {
                Some((_, top)) => *top = end.max(*top),
                None => tops.push((at.heap, end)),
            }
        }
        tops.iter().fold(0, |sum, (_, top)| sum.saturating_add(*top))
    }
}
