//! Checking that events are consistent with the events before them.

use std::collections::HashMap;

use crate::line::Repeated;
use crate::seen_ids::SeenIds;
use crate::{Event, Kind, MAX_ALIGN, MAX_SIZE, Reason};

/// The summary of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of allocations.
    pub allocs: u64,
    /// Number of frees.
    pub frees: u64,
    /// Number of frame marks.
    pub frames: u64,
    /// The most bytes that were live at once.
    pub peak_live_bytes: u64,
    /// The most allocations that were live at once.
    pub peak_live_allocations: u64,
    /// The allocations that were not freed, in the order of the ids: leaks, or the end of an incomplete
    /// recording.
    pub live_at_end: Vec<LiveAllocation>,
}

/// An allocation that is not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAllocation {
    /// Its id.
    pub id: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its alignment, bytes.
    pub align: u64,
    /// The kind of memory and the layout of the resource.
    pub kind: Kind,
}

/// Checks a sequence of events, one at a time, and keeps count.
///
/// [`TraceReader`](crate::TraceReader) and [`TraceWriter`](crate::TraceWriter) check with it, so
/// that both accept the same sequences.
///
/// Memory: the live allocations, and the gaps between the ids that were ever used (one entry of 16
/// bytes for each run of consecutive ids; never anything proportional to the largest id).
/// Time: O(1) for an event, O(log gaps) where the ids have gaps.
///
/// ```
/// use tenure_trace::{Event, Reason, Validator};
///
/// let mut validator = Validator::new();
/// validator.check(&Event::Frame { number: 1 })?;
/// assert_eq!(
///     validator.check(&Event::Free { id: 7, size: 256, frame: 1 }),
///     Err(Reason::UnknownId { id: 7 }),
/// );
/// assert_eq!(validator.summary().frames, 1);
/// # Ok::<(), Reason>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Validator {
    live: HashMap<u64, LiveEntry>,
    seen: SeenIds,
    counts: Counts,
    /// The largest frame column so far.
    frame: u64,
    last_mark: Option<u64>,
}

/// The properties that the free of a live allocation must repeat.
#[derive(Clone, Copy, Debug)]
struct LiveEntry {
    size: u64,
    align: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    allocs: u64,
    frees: u64,
    frames: u64,
    live_bytes: u64,
    peak_live_bytes: u64,
    peak_live_allocations: u64,
}

impl Validator {
    /// A validator at the beginning of a recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next event.
    ///
    /// # Errors
    ///
    /// The [`Reason`] why the event is invalid here. The validator is then unchanged.
    pub fn check(&mut self, event: &Event) -> Result<(), Reason> {
        self.check_line(event, Repeated::default())
    }

    /// The counts so far and, in the order of their ids, the allocations that are live now.
    ///
    /// O(n log n) in the number of live allocations.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut live_at_end: Vec<_> = self
            .live
            .iter()
            .map(|(&id, held)| LiveAllocation { id, size: held.size, align: held.align, kind: held.kind })
            .collect();
        live_at_end.sort_unstable_by_key(|allocation| allocation.id);
        Summary {
            allocs: self.counts.allocs,
            frees: self.counts.frees,
            frames: self.counts.frames,
            peak_live_bytes: self.counts.peak_live_bytes,
            peak_live_allocations: self.counts.peak_live_allocations,
            live_at_end,
        }
    }

    /// The kind of a live allocation; `None` when the id is not live.
    #[must_use]
    pub fn kind_of(&self, id: u64) -> Option<Kind> {
        self.live.get(&id).map(|held| held.kind)
    }

    pub(crate) fn check_line(&mut self, event: &Event, repeated: Repeated) -> Result<(), Reason> {
        match *event {
            Event::Alloc { id, size, align, kind, .. } => {
                self.check_frame(event.frame())?;
                self.alloc(id, LiveEntry { size, align, kind })?;
            }
            Event::Free { id, size, .. } => {
                self.check_frame(event.frame())?;
                self.free(id, size, repeated)?;
            }
            Event::Frame { number } => self.mark(number)?,
        }
        self.frame = event.frame();
        Ok(())
    }

    fn alloc(&mut self, id: u64, held: LiveEntry) -> Result<(), Reason> {
        let LiveEntry { size, align, .. } = held;
        if !(1..=MAX_SIZE).contains(&size) {
            return Err(Reason::BadSize { size });
        }
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(Reason::BadAlign { align });
        }
        if self.seen.contains(id) {
            return Err(Reason::ReusedId { id });
        }
        let counts = &mut self.counts;
        let live_bytes = counts.live_bytes;
        counts.live_bytes = live_bytes.checked_add(size).ok_or(Reason::TooMuchLive { live_bytes, size })?;
        self.seen.insert(id);
        self.live.insert(id, held);
        counts.allocs += 1;
        counts.peak_live_bytes = counts.peak_live_bytes.max(counts.live_bytes);
        counts.peak_live_allocations = counts.peak_live_allocations.max(self.live.len() as u64);
        Ok(())
    }

    fn free(&mut self, id: u64, size: u64, repeated: Repeated) -> Result<(), Reason> {
        let Some(held) = self.live.get(&id) else {
            return Err(if self.seen.contains(id) {
                Reason::DoubleFree { id }
            } else {
                Reason::UnknownId { id }
            });
        };
        held.check_free(id, size, repeated)?;
        self.live.remove(&id);
        self.counts.live_bytes -= size;
        self.counts.frees += 1;
        Ok(())
    }

    fn mark(&mut self, number: u64) -> Result<(), Reason> {
        self.check_frame(number)?;
        if self.last_mark == Some(number) {
            return Err(Reason::FrameRepeated { number });
        }
        self.last_mark = Some(number);
        self.counts.frames += 1;
        Ok(())
    }

    fn check_frame(&self, frame: u64) -> Result<(), Reason> {
        if frame < self.frame {
            return Err(Reason::FrameBackwards { frame, previous: self.frame });
        }
        Ok(())
    }
}

impl LiveEntry {
    fn check_free(&self, id: u64, size: u64, repeated: Repeated) -> Result<(), Reason> {
        if size != self.size {
            return Err(Reason::SizeMismatch { id, freed: size, allocated: self.size });
        }
        if let Some(freed) = repeated.align.filter(|&align| align != self.align) {
            return Err(Reason::AlignMismatch { id, freed, allocated: self.align });
        }
        if let Some(freed) = repeated.kind.filter(|&kind| kind != self.kind) {
            return Err(Reason::KindMismatch { id, freed, allocated: self.kind });
        }
        Ok(())
    }
}
