//! Last frame's plan, as a hint for the next.
//!
//! Who acquires pass by pass does not say what is to come; but frames resemble each other. What one frame
//! acquired, when, and how long it kept it is planned as if it were a graph, and the next frame is offered
//! those places, in that order. A hint is taken only if the place is free then, so a frame that turns out
//! different is merely placed by first fit.

use tenure_plan::{Item, Options, plan};

use super::kind::{Kind, KindId};
use crate::device::{HeapCategory, MemoryTypeId};

/// Something that was acquired in the frame.
#[derive(Clone, Copy, Debug)]
struct Seen {
    kind: KindId,
    size: u64,
    alignment: u64,
    class: HeapClass,
    spot: Spot,
    /// The count of acquires and drops at its own.
    first: u64,
    /// That at its drop; none within the frame.
    last: Option<u64>,
}

impl Seen {
    fn shape(&self) -> (KindId, u64, Option<u64>) {
        (self.kind, self.first, self.last)
    }
}

type HeapClass = (MemoryTypeId, HeapCategory);

/// A place: the number of a heap, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) heap: u64,
    pub(super) offset: u64,
}

/// A heap in which hints may be given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) class: HeapClass,
    pub(super) heap: u64,
    pub(super) size: u64,
}

/// What the frame did so far, and where the last one says that things should go.
#[derive(Debug, Default)]
pub(super) struct Hints {
    frame: u64,
    events: u64,
    seen: Vec<Seen>,
    /// More was acquired than is noted.
    is_crowded: bool,
    /// The frame that hints were made from.
    known: Vec<Seen>,
    /// For each of it, where it should go.
    spots: Vec<Spot>,
    /// What of it comes next.
    next: usize,
}

/// The name of something acquired: the frame, and its place in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    frame: u64,
    index: usize,
}

impl Hints {
    /// Where the last frame says that such a resource should go. What it skipped is given up.
    pub(super) fn next(&mut self, kind: KindId) -> Option<Spot> {
        /// How far frames may differ and still be taken for the same.
        const AHEAD: usize = 8;
        let ahead = self.known.get(self.next..)?.iter().take(AHEAD);
        let at = self.next + ahead.into_iter().position(|seen| seen.kind == kind)?;
        self.next = at + 1;
        self.spots.get(at).copied()
    }

    /// Something was acquired. A frame with more than a renderer has is not planned, nor what a program acquires
    /// that has no frames.
    pub(super) fn acquired(
        &mut self,
        kind: &Kind,
        alignment: u64,
        class: HeapClass,
        spot: Spot,
    ) -> Option<Ticket> {
        const MOST: usize = 1024;
        if self.seen.len() >= MOST {
            self.is_crowded = true;
            return None;
        }
        let first = self.tick();
        let (kind, size) = (kind.id, kind.needs.size);
        self.seen.push(Seen { kind, size, alignment, class, spot, first, last: None });
        Some(Ticket { frame: self.frame, index: self.seen.len() - 1 })
    }

    /// It was dropped.
    pub(super) fn dropped(&mut self, ticket: Ticket) {
        let now = self.tick();
        if ticket.frame == self.frame
            && let Some(seen) = self.seen.get_mut(ticket.index)
        {
            seen.last = Some(now);
        }
    }

    fn tick(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    /// The frame has ended: the next one gets its plan, if it was another than the one before it.
    pub(super) fn end_frame(&mut self, rooms: impl Iterator<Item = Room>) {
        if std::mem::take(&mut self.is_crowded) {
            self.seen.clear();
        }
        let shapes = self.seen.iter().map(Seen::shape);
        if !shapes.eq(self.known.iter().map(Seen::shape)) {
            self.spots = self
                .planned(&rooms.collect::<Vec<_>>())
                .unwrap_or_else(|| self.seen.iter().map(|seen| seen.spot).collect());
            std::mem::swap(&mut self.known, &mut self.seen);
        }
        self.seen.clear();
        (self.events, self.next) = (0, 0);
        self.frame += 1;
    }

    /// Better places than those that the frame had.
    fn planned(&self, rooms: &[Room]) -> Option<Vec<Spot>> {
        let mut spots: Vec<Spot> = self.seen.iter().map(|seen| seen.spot).collect();
        let before = self.footprint(&spots);
        let mut classes: Vec<HeapClass> = self.seen.iter().map(|seen| seen.class).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            self.plan_class(class, rooms, &mut spots)?;
        }
        // What moves is made again.
        (self.footprint(&spots) < before - before / 64).then_some(spots)
    }

    /// Plans what is of one class into the heaps of it, the largest first.
    fn plan_class(&self, class: HeapClass, rooms: &[Room], spots: &mut [Spot]) -> Option<()> {
        let mut rooms: Vec<Room> = rooms.iter().copied().filter(|room| room.class == class).collect();
        rooms.sort_by_key(|room| (std::cmp::Reverse(room.size), room.heap));
        let all = (0..).zip(&self.seen).filter(|(_, seen)| seen.class == class);
        let mut rest: Vec<usize> = all.map(|(index, _)| index).collect();
        for room in rooms {
            let items: Vec<Item> = rest.iter().filter_map(|index| self.item(*index)).collect();
            let offsets = plan(&items, &Options::new().nodes(0)).ok()?.offsets;
            let placed: Vec<(usize, u64)> = rest.iter().copied().zip(offsets).collect();
            rest.clear();
            for (index, offset) in placed {
                let end = offset.saturating_add(self.seen.get(index)?.size);
                if end <= room.size {
                    *spots.get_mut(index)? = Spot { heap: room.heap, offset };
                } else {
                    rest.push(index);
                }
            }
        }
        rest.is_empty().then_some(())
    }

    fn item(&self, index: usize) -> Option<Item> {
        let seen = self.seen.get(index)?;
        let last = seen.last.unwrap_or(self.events + 1);
        Some(Item::new(seen.first..last, seen.size).aligned(seen.alignment))
    }

    /// The ends of the highest places, of all heaps together.
    fn footprint(&self, spots: &[Spot]) -> u64 {
        let mut tops: Vec<(u64, u64)> = Vec::new();
        for (seen, spot) in self.seen.iter().zip(spots) {
            let end = spot.offset.saturating_add(seen.size);
            match tops.iter_mut().find(|(heap, _)| *heap == spot.heap) {
                Some((_, top)) => *top = end.max(*top),
                None => tops.push((spot.heap, end)),
            }
        }
        tops.iter().fold(0, |sum, (_, top)| sum.saturating_add(*top))
    }
}
