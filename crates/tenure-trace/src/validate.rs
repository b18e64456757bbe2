//! Consistency checks of events against earlier events.

use std::collections::{HashMap, HashSet};

use crate::details::Details;
use crate::line::Repeated;
use crate::seen_ids::SeenIds;
use crate::summary::{LiveAllocation, Peak, Summary};
use crate::{Event, Kind, MAX_ALIGN, MAX_SIZE, Reason};

/// Checks a sequence of events, one at a time, and counts them.
///
/// [`TraceReader`](crate::TraceReader) and [`TraceWriter`](crate::TraceWriter) use it, so both accept the same
/// sequences.
///
/// Memory: the live allocations and blocks, the incomplete submissions, and the gaps between all ids used so far (one
/// entry of 16 bytes for each run of consecutive ids; never proportional to the largest id). Time: O(1) per event,
/// O(log gaps) if the ids have gaps.
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
    resources: HashMap<u64, Resource>,
    seen: SeenIds,
    blocks: HashMap<u64, Block>,
    seen_blocks: SeenIds,
    /// Submissions that are not done.
    submitted: HashSet<u64>,
    seen_submissions: SeenIds,
    live: Peak,
    reserved: Peak,
    /// The counts, without peaks and live allocations.
    counts: Summary,
    /// The largest frame column so far.
    frame: u64,
    last_mark: Option<u64>,
}

/// The memory of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Own,
    /// Imported memory, or another resource's.
    Other,
}

/// The properties that the free of a live resource must repeat.
#[derive(Clone, Copy, Debug)]
struct Resource {
    size: u64,
    align: u64,
    kind: Kind,
    memory: Memory,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    size: u64,
    is_import: bool,
}

impl Validator {
    /// A validator at the beginning of a recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next event, without details.
    ///
    /// # Errors
    ///
    /// The [`Reason`] why the event is invalid. The validator is then unchanged.
    pub fn check(&mut self, event: &Event) -> Result<(), Reason> {
        self.check_with(event, &Details::default())
    }

    /// Checks the next event, with its details.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_with(&mut self, event: &Event, details: &Details) -> Result<(), Reason> {
        self.check_line(event, details, Repeated::default())
    }

    /// The counts so far, and the live allocations in order of their ids.
    ///
    /// O(n log n) in the number of live allocations.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let live = self.resources.iter().filter(|(_, resource)| resource.memory == Memory::Own);
        let mut live_at_end: Vec<_> = live
            .map(|(&id, &Resource { size, align, kind, .. })| LiveAllocation { id, size, align, kind })
            .collect();
        live_at_end.sort_unstable_by_key(|allocation| allocation.id);
        Summary {
            peak_live_bytes: self.live.peak_bytes,
            peak_live_allocations: self.live.peak_count,
            peak_block_bytes: self.reserved.peak_bytes,
            peak_blocks: self.reserved.peak_count,
            live_at_end,
            ..self.counts.clone()
        }
    }

    /// The kind of a live allocation or alias; `None` if the id is not live.
    #[must_use]
    pub fn kind_of(&self, id: u64) -> Option<Kind> {
        self.resources.get(&id).map(|resource| resource.kind)
    }

    pub(crate) fn check_line(
        &mut self,
        event: &Event,
        details: &Details,
        repeated: Repeated,
    ) -> Result<(), Reason> {
        let frame = event.frame();
        if frame < self.frame {
            return Err(Reason::FrameBackwards { frame, previous: self.frame });
        }
        details.check()?;
        match *event {
            Event::Alloc { id, size, align, kind, .. } => {
                let memory = if details.is_import { Memory::Other } else { Memory::Own };
                self.create(id, Resource { size, align, kind, memory }, details)?;
            }
            Event::Alias { id, size, align, kind, .. } => {
                self.check_alias(size, details)?;
                self.create(id, Resource { size, align, kind, memory: Memory::Other }, details)?;
                self.counts.aliases += 1;
            }
            Event::Free { id, size, .. } => self.free(id, size, details.is_final, repeated)?,
            Event::Frame { number } => self.mark(number)?,
            Event::Submit { number, .. } => self.submit(number)?,
            Event::Done { number, .. } => self.done(number)?,
            Event::Block { id, size, .. } => self.block(id, size, details.is_import)?,
            Event::Unblock { id, size, .. } => self.unblock(id, size)?,
            Event::Map { id, .. } | Event::Unmap { id, .. } => {
                self.blocks.get(&id).ok_or(Reason::UnknownBlock { id }).map(drop)?;
            }
        }
        self.frame = frame;
        Ok(())
    }

    fn create(&mut self, id: u64, resource: Resource, details: &Details) -> Result<(), Reason> {
        let Resource { size, align, memory, .. } = resource;
        check_size(size)?;
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(Reason::BadAlign { align });
        }
        if self.seen.contains(id) {
            return Err(Reason::ReusedId { id });
        }
        if let Some(block) = details.block {
            let &Block { size: block_size, .. } =
                self.blocks.get(&block).ok_or(Reason::UnknownBlock { id: block })?;
            // The offset of an alias is relative to the other resource.
            let offset = if details.of.is_none() { details.offset.unwrap_or(0) } else { 0 };
            if !fits(offset, size, block_size) {
                return Err(Reason::OutsideBlock { id: block, offset, size, block_size });
            }
        }
        if memory == Memory::Own {
            self.live.add(size).map_err(|live_bytes| Reason::TooMuchLive { live_bytes, size })?;
            self.counts.allocs += 1;
        }
        self.counts.imports += u64::from(details.is_import);
        self.seen.insert(id);
        self.resources.insert(id, resource);
        Ok(())
    }

    fn check_alias(&self, size: u64, details: &Details) -> Result<(), Reason> {
        let id = details.of.ok_or(Reason::MissingWord { word: "of" })?;
        let other = self.resources.get(&id).ok_or(Reason::UnknownResource { id })?;
        let offset = details.offset.unwrap_or(0);
        if fits(offset, size, other.size) {
            return Ok(());
        }
        Err(Reason::OutsideResource { id, offset, size, resource_size: other.size })
    }

    fn free(&mut self, id: u64, size: u64, is_final: bool, repeated: Repeated) -> Result<(), Reason> {
        let Some(resource) = self.resources.get(&id) else {
            return Err(if self.seen.contains(id) {
                Reason::DoubleFree { id }
            } else {
                Reason::UnknownId { id }
            });
        };
        resource.check_free(id, size, repeated)?;
        if resource.memory == Memory::Own {
            self.live.remove(size);
            self.counts.frees += 1;
            self.counts.final_frees += u64::from(is_final);
        }
        self.resources.remove(&id);
        Ok(())
    }

    fn mark(&mut self, number: u64) -> Result<(), Reason> {
        if self.last_mark == Some(number) {
            return Err(Reason::FrameRepeated { number });
        }
        self.last_mark = Some(number);
        self.counts.frames += 1;
        Ok(())
    }

    fn submit(&mut self, number: u64) -> Result<(), Reason> {
        if self.seen_submissions.contains(number) {
            return Err(Reason::ReusedSubmission { number });
        }
        self.seen_submissions.insert(number);
        self.submitted.insert(number);
        self.counts.submissions += 1;
        Ok(())
    }

    fn done(&mut self, number: u64) -> Result<(), Reason> {
        if self.submitted.remove(&number) {
            return Ok(());
        }
        Err(if self.seen_submissions.contains(number) {
            Reason::DoneTwice { number }
        } else {
            Reason::UnknownSubmission { number }
        })
    }

    fn block(&mut self, id: u64, size: u64, is_import: bool) -> Result<(), Reason> {
        check_size(size)?;
        if self.seen_blocks.contains(id) {
            return Err(Reason::ReusedBlock { id });
        }
        if !is_import {
            self.reserved.add(size).map_err(|live_bytes| Reason::TooMuchLive { live_bytes, size })?;
            self.counts.blocks += 1;
        }
        self.seen_blocks.insert(id);
        self.blocks.insert(id, Block { size, is_import });
        Ok(())
    }

    fn unblock(&mut self, id: u64, freed: u64) -> Result<(), Reason> {
        let &Block { size, is_import } = self.blocks.get(&id).ok_or(Reason::UnknownBlock { id })?;
        if freed != size {
            return Err(Reason::BlockSizeMismatch { id, freed, allocated: size });
        }
        if !is_import {
            self.reserved.remove(size);
        }
        self.blocks.remove(&id);
        Ok(())
    }
}

const fn check_size(size: u64) -> Result<(), Reason> {
    if size >= 1 && size <= MAX_SIZE { Ok(()) } else { Err(Reason::BadSize { size }) }
}

/// Whether `size` bytes at `offset` fit in `whole` bytes.
fn fits(offset: u64, size: u64, whole: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= whole)
}

impl Resource {
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
