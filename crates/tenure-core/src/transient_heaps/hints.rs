//! Placement hints: a plan of the last frame for the next one.
//!
//! Acquisitions pass by pass do not announce future resources, but consecutive frames are similar. The acquisitions of one
//! frame, with their lifetimes, are planned like a graph, and the next frame gets these offsets as hints, in the same order. A
//! hint is used only if its bytes are free at that time, so a different frame is merely placed by first fit.
//!
//! A frame that differs from the one before is planned into the existing heaps. After two equal frames, if a plan into new
//! heaps takes less memory than the heaps in use, the third frame creates the new heaps.

use tenure_plan::{Item, PlanConfig, plan};

use super::desc_table::DescriptionId;
use super::heap::HeapKind;
use super::request::{Requester, ResourceRequest};
use super::used_ranges::Users;
use crate::device::Device;

/// Heaps are replaced by smaller ones after this multiple of the latency.
const SHRINK_AFTER: u64 = 4;

/// A resource acquired in the frame.
#[derive(Clone, Copy, Debug)]
struct Acquisition {
    description: DescriptionId,
    size: u64,
    alignment: u64,
    /// Alignment of the heap in bytes.
    heap_alignment: u64,
    kind: HeapKind,
    place: Hint,
    /// The index of its recording.
    owner: usize,
    /// The number of acquires and drops in the frame before it.
    first: u64,
    /// The same number when its bytes became available to other resources; `None` if that was not within the frame.
    last: Option<u64>,
}

impl Acquisition {
    fn shape(&self) -> (DescriptionId, u64, Option<u64>) {
        (self.description, self.first, self.last)
    }
}

/// A recording with acquisitions in the frame.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// The number of the recording.
    recording: u64,
    /// False once it is known to have ended.
    is_open: bool,
    /// The number of acquires and drops in the frame, after the last acquisition by another recording while it was open: until
    /// then no other recording could have its bytes.
    held_until: u64,
}

/// A heap in which hints may be given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapInfo {
    pub(crate) kind: HeapKind,
    pub(crate) heap: u64,
    pub(crate) size: u64,
}

/// The limits of new heaps, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapLimit {
    /// The largest, unless a resource is larger by itself.
    pub(crate) most: u64,
    /// Sizes are multiples of this.
    pub(crate) alignment: u64,
    /// The reserved size up to which new heaps are not worth their creation.
    pub(crate) small: u64,
}

/// A planned heap that replaces several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewHeap {
    pub(crate) kind: HeapKind,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
}

/// A location in a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hint {
    pub(crate) heap: HintedHeap,
    pub(crate) offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HintedHeap {
    /// The number of a heap.
    Known(u64),
    /// The index of a heap that is planned.
    New(usize),
}

/// The acquisitions of the current frame, and the hints from the acquisitions of the last one.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    frame: u64,
    events: u64,
    current: Vec<Acquisition>,
    owners: Vec<Owner>,
    /// True when more was acquired than is recorded.
    has_overflowed: bool,
    /// The acquisitions of the frame that hints were made from.
    previous: Vec<Acquisition>,
    /// The hint for each of `previous`.
    hinted: Vec<Hint>,
    /// The heaps that were made by a plan.
    made: Vec<u64>,
    /// New heaps that hints refer to and that do not exist yet.
    new_heaps: Vec<NewHeap>,
    /// True when frames like `previous` have been planned into fewer heaps, or need none.
    is_merged: bool,
    /// Number of consecutive frames like `previous`, since the last one that was planned into smaller heaps.
    alike: u64,
    /// Index of the next hint to give.
    next: usize,
}

/// Identifies an acquisition: the frame, and its index in that frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AcquisitionId {
    frame: u64,
    index: usize,
}

impl Hints {
    /// The hint for a resource of this description. Hints before it that the frame skipped are discarded.
    pub(crate) fn next(&mut self, description: DescriptionId) -> Option<Hint> {
        /// Maximum number of acquisitions that a frame similar to the last one may skip.
        const MAX_SKIPPED: usize = 8;
        let ahead = self.previous.get(self.next..)?.iter().take(MAX_SKIPPED);
        let at = self.next + ahead.into_iter().position(|previous| previous.description == description)?;
        self.next = at + 1;
        self.hinted.get(at).copied()
    }

    /// Records an acquisition. Frames with excessively many acquisitions are not planned, nor are programs without frames.
    pub(crate) fn acquired<D: Device>(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
        alignment: u64,
        kind: HeapKind,
        place: Hint,
    ) -> Option<AcquisitionId> {
        let ResourceRequest { requester, description, .. } = *wanted;
        const MAX_PLANNED: usize = 1024;
        if self.current.len() >= MAX_PLANNED {
            self.has_overflowed = true;
            return None;
        }
        let first = self.tick();
        let owner = self.owner(requester, first);
        self.current.push(Acquisition {
            description: description.id,
            size: description.needs.size,
            alignment,
            heap_alignment: description.heap_alignment,
            kind,
            place,
            owner,
            first,
            last: None,
        });
        Some(AcquisitionId { frame: self.frame, index: self.current.len() - 1 })
    }

    /// The index of the recording that acquires now. The bytes of other open recordings are not available to it.
    fn owner(&mut self, requester: Requester<'_>, now: u64) -> usize {
        let recording = requester.recording;
        for other in self.owners.iter_mut().filter(|other| other.is_open && other.recording != recording) {
            other.is_open = requester.is_blocked_by(Users::One(other.recording));
            if other.is_open {
                other.held_until = now + 1;
            }
        }
        let known = self.owners.iter().rposition(|owner| owner.recording == recording);
        known.unwrap_or_else(|| {
            self.owners.push(Owner { recording, is_open: true, held_until: 0 });
            self.owners.len() - 1
        })
    }

    /// Notes that an acquired resource was dropped.
    pub(crate) fn dropped(&mut self, id: AcquisitionId) {
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

    /// The planned heap with this index.
    pub(crate) fn new_heap(&self, index: usize) -> Option<NewHeap> {
        self.new_heaps.get(index).copied()
    }

    /// Records the creation of the planned heap; `None` if memory was too short for it.
    pub(crate) fn note_made(&mut self, index: usize, heap: Option<u64>) {
        match heap {
            Some(heap) => {
                self.made.push(heap);
                let hints = self.hinted.iter_mut().filter(|hint| hint.heap == HintedHeap::New(index));
                hints.for_each(|hint| hint.heap = HintedHeap::Known(heap));
            }
            None => self.hinted.clear(),
        }
    }

    /// Ends the frame, and plans it for the next one: into the existing heaps if it differs from the previous frame; otherwise
    /// once into new heaps.
    pub(crate) fn end_frame(
        &mut self,
        heaps: impl Iterator<Item = HeapInfo>,
        limit: HeapLimit,
        latency: u64,
        may_merge: bool,
    ) {
        if std::mem::take(&mut self.has_overflowed) {
            self.current.clear();
        }
        for Acquisition { owner, last, .. } in &mut self.current {
            if let (Some(owner), Some(last)) = (self.owners.get(*owner), last) {
                *last = owner.held_until.max(*last);
            }
        }
        let heaps: Vec<HeapInfo> = heaps.collect();
        self.made.retain(|made| heaps.iter().any(|heap| heap.heap == *made));
        let shapes = self.current.iter().map(Acquisition::shape);
        if !shapes.eq(self.previous.iter().map(Acquisition::shape)) {
            self.hinted = self.planned(&heaps).unwrap_or_else(|| self.hints_as_placed());
            std::mem::swap(&mut self.previous, &mut self.current);
            (self.is_merged, self.alike) = (false, 0);
        } else {
            self.alike += 1;
            // First-fit heaps are replaced immediately, planned ones only after many equal frames: until the GPU has finished
            // with the larger heap, memory holds both.
            let shrinks = self.alike.is_multiple_of(SHRINK_AFTER * latency);
            if may_merge && (!self.is_merged || shrinks) {
                self.is_merged = true;
                if let Some((hints, new_heaps)) = self.merged(&heaps, limit, shrinks) {
                    (self.hinted, self.new_heaps) = (hints, new_heaps);
                }
            }
        }
        self.current.clear();
        self.owners.clear();
        (self.events, self.next) = (0, 0);
        self.frame += 1;
    }

    fn hints_as_placed(&self) -> Vec<Hint> {
        self.current.iter().map(|acquisition| acquisition.place).collect()
    }

    /// The kinds of the heaps with acquisitions in the current frame, sorted.
    fn kinds(&self) -> Vec<HeapKind> {
        let mut kinds: Vec<HeapKind> = self.current.iter().map(|acquisition| acquisition.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The acquisitions in heaps of a kind, by index.
    fn of_kind(&self, kind: HeapKind) -> Vec<usize> {
        let all = (0..).zip(&self.current).filter(|(_, acquisition)| acquisition.kind == kind);
        all.map(|(index, _)| index).collect()
    }

    /// Offsets that take fewer bytes than the offsets of the current frame; `None` if the gain is too small.
    fn planned(&self, heaps: &[HeapInfo]) -> Option<Vec<Hint>> {
        let mut hints = self.hints_as_placed();
        let (before, before_heaps) = (self.footprint(&hints), reserved(heaps, &hints));
        for kind in self.kinds() {
            let mut heaps: Vec<HeapInfo> = heaps.iter().copied().filter(|heap| heap.kind == kind).collect();
            heaps.sort_by_key(|heap| (std::cmp::Reverse(heap.size), heap.heap));
            let mut rest = self.of_kind(kind);
            for heap in heaps {
                rest = self.plan_heap(rest, HintedHeap::Known(heap.heap), heap.size, &mut hints)?;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        // An API resource that moves must be created again.
        let gains = self.footprint(&hints) < before - before / 64
            || reserved(heaps, &hints) < before_heaps - before_heaps / 20;
        gains.then_some(hints)
    }

    /// A plan into new heaps for the kinds whose new heaps are smaller than the heaps of the current frame; `None` without
    /// such kinds. Unless `shrinks`, only for kinds with first-fit heaps.
    fn merged(
        &self,
        heaps: &[HeapInfo],
        limit: HeapLimit,
        shrinks: bool,
    ) -> Option<(Vec<Hint>, Vec<NewHeap>)> {
        let (mut hints, mut new_heaps) = (self.hinted.clone(), Vec::new());
        for kind in self.kinds() {
            let all = self.of_kind(kind);
            let acquisitions = || all.iter().filter_map(|index| self.current.get(*index));
            let heap_alignments = acquisitions().map(|acquisition| acquisition.heap_alignment);
            let alignment = heap_alignments.fold(limit.alignment, u64::max);
            let largest = acquisitions().map(|acquisition| acquisition.size).max()?;
            let (mut planned, mut made) = (hints.clone(), Vec::new());
            let mut rest = all.clone();
            while !rest.is_empty() {
                let heap = HintedHeap::New(new_heaps.len() + made.len());
                rest = self.plan_heap(rest, heap, limit.most.max(largest), &mut planned)?;
                let placed = self.current.iter().zip(&planned).filter(|(_, hint)| hint.heap == heap);
                let end = placed.map(|(acquisition, hint)| hint.offset + acquisition.size).max()?;
                let size = end.checked_next_multiple_of(alignment)?;
                made.push(NewHeap { kind, size, alignment });
            }
            let placed: Vec<Hint> = acquisitions().map(|acquisition| acquisition.place).collect();
            let used = || used_heaps(heaps, &placed);
            let sizes = made.iter().map(|heap| heap.size).sum::<u64>();
            let is_smaller = used().map(|heap| heap.size).sum::<u64>() > limit.small.max(sizes + sizes / 20);
            if is_smaller && (shrinks || used().any(|heap| !self.made.contains(&heap.heap))) {
                hints = planned;
                new_heaps.append(&mut made);
            }
        }
        (!new_heaps.is_empty()).then_some((hints, new_heaps))
    }

    /// Plans acquisitions into a heap of this size, and returns the acquisitions that do not fit.
    fn plan_heap(
        &self,
        all: Vec<usize>,
        heap: HintedHeap,
        size: u64,
        hints: &mut [Hint],
    ) -> Option<Vec<usize>> {
        let items: Vec<Item> = all.iter().filter_map(|index| self.item(*index)).collect();
        let planned = plan(&items, &PlanConfig::new().nodes(0)).ok()?.offsets;
        let mut rest = Vec::new();
        for (index, offset) in all.into_iter().zip(planned) {
            if offset.saturating_add(self.current.get(index)?.size) <= size {
                *hints.get_mut(index)? = Hint { heap, offset };
            } else {
                rest.push(index);
            }
        }
        Some(rest)
    }

    fn item(&self, index: usize) -> Option<Item> {
        let acquisition = self.current.get(index)?;
        let last = acquisition.last.unwrap_or(self.events + 1);
        Some(Item::new(acquisition.first..last, acquisition.size).aligned(acquisition.alignment))
    }

    /// Bytes up to the highest end in each heap, added over all heaps.
    fn footprint(&self, hints: &[Hint]) -> u64 {
        let mut tops: Vec<(HintedHeap, u64)> = Vec::new();
        for (acquisition, hint) in self.current.iter().zip(hints) {
            let end = hint.offset.saturating_add(acquisition.size);
            match tops.iter_mut().find(|(heap, _)| *heap == hint.heap) {
                Some((_, top)) => *top = end.max(*top),
                None => tops.push((hint.heap, end)),
            }
        }
        tops.iter().fold(0, |sum, (_, top)| sum.saturating_add(*top))
    }
}

/// The heaps that hints refer to.
fn used_heaps<'a>(heaps: &'a [HeapInfo], hints: &'a [Hint]) -> impl Iterator<Item = &'a HeapInfo> {
    heaps.iter().filter(|heap| hints.iter().any(|hint| hint.heap == HintedHeap::Known(heap.heap)))
}

/// Bytes of these heaps.
fn reserved(heaps: &[HeapInfo], hints: &[Hint]) -> u64 {
    used_heaps(heaps, hints).map(|heap| heap.size).sum()
}
