//! Copies in a batch that is not submitted yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::device::{BufferLayout, BufferRegion, Device, State, Subresource, TextureRegion};
use crate::list::{CopiedParts, Open};
use crate::memory::{PlaceHold, PlaceHolds};
use crate::resource::Tracked;
use crate::staging::{Page, Part};
use crate::state::StateError;

/// The destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Bytes of an API buffer.
    Bytes { offset: u64, size: u64 },
    /// Texels of an API texture, in rows of `row_pitch` bytes and slices of `rows` rows. `is_whole`: all texels of the
    /// subresource.
    Texels { region: TextureRegion, row_pitch: u64, rows: u32, subresource: u32, is_whole: bool },
}

/// A copy out of a page.
pub(super) struct Copy<D: Device> {
    pub(super) page: Arc<Page<D>>,
    /// Offset in the page, in bytes.
    pub(super) from: u64,
    pub(super) to: Tracked<D>,
    pub(super) target: Target,
    /// Needs a graphics queue, or follows a copy to the same resource that does.
    pub(super) on_graphics: bool,
    /// Length of the longest chain of copies of its batch that must run before it, because they write the same bytes or texels.
    pub(super) layer: usize,
    /// The index in its batch.
    pub(super) number: usize,
    /// Keeps the destination from moving until the copy is submitted.
    _holds: Vec<PlaceHold<D>>,
}

/// A read-only resource to bring into its declared states.
pub(super) struct Publication<D: Device> {
    pub(super) resource: Tracked<D>,
    /// Keeps it from moving until then.
    _holds: Vec<PlaceHold<D>>,
}

impl<D: Device> Publication<D> {
    pub(super) fn new((resource, holds): (Tracked<D>, PlaceHolds<D>)) -> Self {
        Self { resource, _holds: holds.into_inner() }
    }
}

impl<D: Device> Copy<D> {
    pub(super) fn new(
        staged: Part<D>,
        (to, holds): (Tracked<D>, PlaceHolds<D>),
        target: Target,
        on_graphics: bool,
    ) -> Self {
        let (Part { page, offset: from }, holds) = (staged, holds.into_inner());
        Self { page, from, to, target, on_graphics, layer: 0, number: 0, _holds: holds }
    }

    pub(super) fn into_part(self) -> Part<D> {
        Part { page: self.page, offset: self.from }
    }

    /// The page of a submitted copy, and the destination if it is read-only.
    pub(super) fn into_parts(self) -> (Arc<Page<D>>, Option<Publication<D>>) {
        let is_read_only = self.to.as_ref().read_only().is_some();
        let published = is_read_only.then(|| Publication { resource: self.to, _holds: self._holds });
        (self.page, published)
    }

    pub(super) fn cell(&self) -> u64 {
        self.to.as_ref().id()
    }

    /// Merges a copy that continues this one, in source and destination.
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

    /// Declares the uses of the copy.
    pub(super) fn require(&self, open: &mut Open<D>) -> Result<(), StateError> {
        open.require(&self.page.tracked(), Subresource::All, State::COPY_SRC)?;
        match self.target {
            Target::Bytes { .. } => open.require(&self.to, Subresource::All, State::COPY_DST),
            Target::Texels { subresource, is_whole: true, .. } => {
                open.overwrite(&self.to, Subresource::One(subresource), State::COPY_DST)
            }
            Target::Texels { subresource, .. } => {
                open.require(&self.to, Subresource::One(subresource), State::COPY_DST)
            }
        }
    }

    /// The two objects, and the parts that it copies.
    pub(super) fn parts(&self) -> (&D::Resource, &D::Resource, CopiedParts) {
        let src_offset = self.page.base() + self.from;
        let parts = match self.target {
            Target::Bytes { offset: dst_offset, size } => {
                CopiedParts::Bytes(BufferRegion { src_offset, dst_offset, size })
            }
            Target::Texels { region, row_pitch, rows, .. } => {
                CopiedParts::ToTexture(BufferLayout { offset: src_offset, row_pitch, rows }, region)
            }
        };
        (self.page.resource(), &self.to.0.object, parts)
    }

    /// The range of bytes that it writes.
    fn bytes(&self) -> Option<(u64, u64)> {
        match self.target {
            Target::Bytes { offset, size } => Some((offset, offset + size)),
            Target::Texels { .. } => None,
        }
    }

    /// Adds the texels that it writes, one span per slice.
    fn add_spans(&self, spans: &mut Vec<Span>) {
        let Target::Texels { region, subresource: part, .. } = self.target else { return };
        let ([x, y, z], [width, height, depth]) = (region.origin, region.extent);
        spans.extend((z..z + depth).map(|slice| Span { part, slice, x: (x, x + width), y: (y, y + height) }));
    }
}

/// Texels of one slice of a subresource that a copy writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    part: u32,
    slice: u32,
    /// The columns, from the first to one past the last; `y`: the rows, likewise.
    x: (u32, u32),
    y: (u32, u32),
}

/// Finds the dependencies between the copies of a batch. Its memory is reused from batch to batch.
#[derive(Default)]
pub(super) struct Sorter {
    /// Begin and end of the written bytes.
    bytes: Vec<(u64, u64)>,
    spans: Vec<Span>,
    /// Subresources with overlapping copies, with the number of their copies so far.
    overlapping: Vec<(u32, usize)>,
}

impl Sorter {
    /// Sorts copies by destination, and by index within one resource; sets the queue of the copies of each resource, and the
    /// number of copies before each copy.
    ///
    /// O(n log n) for n copies to buffers and n slices of copies to textures.
    pub(super) fn sort<D: Device>(&mut self, copies: &mut [Copy<D>]) {
        copies.sort_unstable_by_key(|copy| (copy.cell(), copy.number));
        for group in copies.chunk_by_mut(|one, other| one.cell() == other.cell()) {
            // Published resources are in use: one submission transitions them and back.
            let is_published = group.first().is_some_and(|copy| copy.to.as_ref().is_published());
            let on_graphics = is_published || group.iter().any(|copy| copy.on_graphics);
            for copy in &mut *group {
                copy.on_graphics = on_graphics;
                copy.layer = 0;
            }
            if group.len() > 1 {
                self.order_bytes(group);
                self.order_texels(group);
            }
        }
    }

    /// Copies to a buffer: each comes after the copies that it overlaps.
    fn order_bytes<D: Device>(&mut self, group: &mut [Copy<D>]) {
        self.bytes.clear();
        self.bytes.extend(group.iter().filter_map(Copy::bytes));
        self.bytes.sort_unstable();
        let overlap = |pair: &[(u64, u64)]| matches!(pair, [one, next] if next.0 < one.1);
        if self.bytes.windows(2).any(overlap) {
            let mut written = Written::default();
            for copy in group {
                copy.layer = copy.bytes().map_or(0, |bytes| written.write(bytes));
            }
        }
    }

    /// Copies to a texture: if any two copies to a subresource overlap, all copies to it are in order.
    fn order_texels<D: Device>(&mut self, group: &mut [Copy<D>]) {
        self.spans.clear();
        group.iter().for_each(|copy| copy.add_spans(&mut self.spans));
        self.spans.sort_unstable();
        self.overlapping.clear();
        for part in self.spans.chunk_by(|one, other| one.part == other.part) {
            let mut slices = part.chunk_by(|one, other| one.slice == other.slice);
            if slices.any(has_overlaps) {
                self.overlapping.extend(part.first().map(|span| (span.part, 0)));
            }
        }
        for copy in group {
            let Target::Texels { subresource, .. } = copy.target else { continue };
            let found = self.overlapping.binary_search_by_key(&subresource, |(part, _)| *part);
            if let Some((_, count)) = found.ok().and_then(|index| self.overlapping.get_mut(index)) {
                copy.layer = *count;
                *count += 1;
            }
        }
    }
}

/// Whether any two spans of a slice overlap. The spans are sorted by their begin along x, for a sweep. The active spans do not
/// overlap along y, so that a new span is compared only with its neighbours.
fn has_overlaps(slice: &[Span]) -> bool {
    // Keyed by their begin along y; some may have ended along x.
    let mut active = BTreeMap::new();
    for span in slice {
        while let Some((&start, &(end, right))) = active.range(..span.y.1).next_back() {
            if end <= span.y.0 {
                break;
            }
            if right > span.x.0 {
                return true;
            }
            active.remove(&start);
        }
        active.insert(span.y.0, (span.y.1, span.x.1));
    }
    false
}

/// Byte ranges written by copies, keyed by their begin: the end, and the number of copies before the last writer.
#[derive(Default)]
struct Written(BTreeMap<u64, (u64, usize)>);

impl Written {
    /// Adds a write of a copy. Returns the length of the chain of copies before it.
    fn write(&mut self, (start, end): (u64, u64)) -> usize {
        let mut layer = 0;
        while let Some((&from, &(to, before))) = self.0.range(..end).next_back() {
            if to <= start {
                break;
            }
            layer = layer.max(before + 1);
            self.0.remove(&from);
            if to > end {
                self.0.insert(end, (to, before));
            }
            if from < start {
                self.0.insert(from, (start, before));
            }
        }
        self.0.insert(start, (end, layer));
        layer
    }
}
