//! Copies that wait for their batch to be submitted.

use std::sync::Arc;

use crate::command::Open;
use crate::device::{BufferLayout, CommandList, Device, State, Subresource, TextureRegion};
use crate::memory::{PlaceHold, PlaceHolds};
use crate::resource::Tracked;
use crate::staging::{Page, Part};
use crate::state::StateError;

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Bytes of an API buffer.
    Bytes { offset: u64, size: u64 },
    /// Texels of an API texture, in rows of so many bytes and slices of so many rows.
    Texels { region: TextureRegion, row_pitch: u64, rows: u32, subresource: u32 },
}

/// A copy out of a page.
pub(super) struct Copy<D: Device> {
    pub(super) page: Arc<Page<D>>,
    /// Byte of the page.
    pub(super) from: u64,
    pub(super) to: Tracked<D>,
    pub(super) target: Target,
    /// Only graphics queues can, or it comes after such a one.
    pub(super) on_graphics: bool,
    /// It writes what another copy of its batch writes, too: their order matters.
    pub(super) is_ordered: bool,
    /// Its place among those of its batch.
    pub(super) number: usize,
    /// What it goes to stays where it is until it is submitted.
    _holds: Vec<PlaceHold<D>>,
}

impl<D: Device> Copy<D> {
    pub(super) fn new(
        staged: Part<D>,
        (to, holds): (Tracked<D>, PlaceHolds<D>),
        target: Target,
        on_graphics: bool,
    ) -> Self {
        let (Part { page, offset: from }, holds) = (staged, holds.into_inner());
        Self { page, from, to, target, on_graphics, is_ordered: false, number: 0, _holds: holds }
    }

    pub(super) fn into_part(self) -> Part<D> {
        Part { page: self.page, offset: self.from }
    }

    pub(super) fn cell(&self) -> u64 {
        self.to.as_ref().id()
    }

    /// Takes in a copy that begins where this one ends, on both sides.
    pub(super) fn merge(&mut self, next: &Self) -> bool {
        let (Target::Bytes { offset, size }, Target::Bytes { offset: next_offset, size: more }) =
            (&mut self.target, next.target)
        else {
            return false;
        };
        let is_adjacent = self.from + *size == next.from && *offset + *size == next_offset;
        let is_same = Arc::ptr_eq(&self.page, &next.page) && Arc::ptr_eq(&self.to.0, &next.to.0);
        if is_adjacent && is_same {
            *size += more;
        }
        is_adjacent && is_same
    }

    /// Notes what it uses.
    pub(super) fn require(&self, open: &mut Open<D>) -> Result<(), StateError> {
        let part = match self.target {
            Target::Bytes { .. } => Subresource::All,
            Target::Texels { subresource, .. } => Subresource::One(subresource),
        };
        open.require(&self.page.tracked(), Subresource::All, State::COPY_SRC)?;
        open.require(&self.to, part, State::COPY_DST)
    }

    pub(super) fn record(&self, list: &mut D::List) {
        let (from, to) = (self.page.resource(), &self.to.0.object);
        let start = self.page.base() + self.from;
        match self.target {
            Target::Bytes { offset, size } => list.copy_buffer(from, start, to, offset, size),
            Target::Texels { region, row_pitch, rows, .. } => {
                list.copy_buffer_to_texture(
                    from,
                    BufferLayout { offset: start, row_pitch, rows },
                    to,
                    region,
                );
            }
        }
    }

    /// What it writes, in units of its own kind.
    fn span(&self) -> Span {
        match self.target {
            Target::Bytes { offset, size } => {
                Span { part: 0, start: [offset, 0, 0], end: [offset + size, 1, 1] }
            }
            Target::Texels { region, subresource, .. } => {
                let start = region.origin.map(u64::from);
                let size = region.extent.map(u64::from);
                let end = std::array::from_fn(|axis| start[axis] + size[axis]);
                Span { part: subresource, start, end }
            }
        }
    }
}

/// A box of bytes or texels in one subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    part: u32,
    start: [u64; 3],
    end: [u64; 3],
}

impl Span {
    fn overlaps(&self, other: &Self) -> bool {
        let axis = |axis: usize| self.start[axis] < other.end[axis] && other.start[axis] < self.end[axis];
        self.part == other.part && (0..3).all(axis)
    }
}

/// Finds out which copies of a batch depend on each other; vectors are kept from batch to batch.
#[derive(Default)]
pub(super) struct Sorter {
    spans: Vec<Span>,
    /// Those that reach beyond where the sweep is.
    active: Vec<Span>,
}

impl Sorter {
    /// Sorts copies by where they go, and by number among those of one resource; says of each
    /// resource which queue takes its copies, and whether their order matters.
    ///
    /// O(n log n) for n copies, times those beside each other in one texture.
    pub(super) fn sort<D: Device>(&mut self, copies: &mut [Copy<D>]) {
        copies.sort_unstable_by_key(|copy| (copy.cell(), copy.number));
        for group in copies.chunk_by_mut(|one, other| one.cell() == other.cell()) {
            let on_graphics = group.iter().any(|copy| copy.on_graphics);
            let is_ordered = self.has_overlaps(group);
            for copy in group {
                copy.on_graphics = on_graphics;
                copy.is_ordered = is_ordered;
            }
        }
    }

    /// Whether any two copies to one resource touch the same bytes or texels: a sweep along x.
    fn has_overlaps<D: Device>(&mut self, group: &[Copy<D>]) -> bool {
        self.spans.clear();
        self.spans.extend(group.iter().map(Copy::span));
        self.spans.sort_unstable_by_key(|span| (span.part, span.start));
        self.active.clear();
        for span in &self.spans {
            self.active.retain(|other| other.part == span.part && other.end[0] > span.start[0]);
            if self.active.iter().any(|other| other.overlaps(span)) {
                return true;
            }
            self.active.push(*span);
        }
        false
    }
}
