//! Pages: mapped ranges that are filled from front to back, and the pages of one recording.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::append_list::AppendList;
use crate::context::{Context, Retired};
use crate::device::{Device, DeviceError, Mapping};
use crate::memory::{Backing, MakeRoom};
use crate::resource::{Tracked, place_page};
use crate::time::{Stamp, SyncPoint};
use crate::{BufferDesc, Error};

/// The last page id.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// A mapped range of a buffer shared by pages, or a dedicated buffer if the policy or the fallback chain requires it.
///
/// A page is not a handle: its holder frees it with [`release`](Self::release).
pub(crate) struct Page<D: Device> {
    backing: Backing<D>,
    /// Id, unique in the process.
    id: u64,
    size: u64,
    /// Offset in the API buffer, in bytes.
    base: u64,
    /// GPU address of its first byte.
    address: Option<u64>,
    born: Stamp,
    /// True for a page that is filled from front to back, and may be filled again.
    pub(super) is_common: bool,
    /// The uses, as reported by former holders.
    uses: Mutex<Uses>,
}

/// The uses of a page, as reported by a holder that releases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// These submissions, and no open recording.
    Submitted(SyncPoint),
    /// Possibly open recordings.
    Recordings,
}

impl Uses {
    /// No use.
    pub(crate) const NONE: Self = Self::Submitted(SyncPoint::NONE);

    fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Submitted(point), Self::Submitted(other)) => point.merge(&other),
            _ => *self = Self::Recordings,
        }
    }
}

impl<D: Device> Page<D> {
    /// Creates a page with this description, in mapped memory.
    pub(crate) fn new(context: &Context<D>, room: &dyn MakeRoom, desc: &BufferDesc) -> Result<Self, Error> {
        let backing = place_page(context, room, desc)?;
        let base = backing.location.offset();
        let address = backing.api_resource.address.map(|address| address + base);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Self {
            backing,
            id,
            size: desc.size,
            base,
            address,
            born: context.clock.stamp(),
            is_common: false,
            uses: Mutex::new(Uses::NONE),
        })
    }

    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// Size in bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn resource(&self) -> &D::Resource {
        &self.backing.api_resource.object
    }

    /// Offset of the page in the API buffer, in bytes.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// GPU address of its first byte, if the API has addresses.
    pub(crate) const fn address(&self) -> Option<u64> {
        self.address
    }

    pub(crate) fn mapping(&self) -> Option<&D::Mapping> {
        self.backing.api_resource.mapping.as_ref()
    }

    /// Copies bytes to an offset of the page.
    #[inline]
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        match &self.backing.api_resource.mapping {
            Some(mapping) => mapping.write(self.base + offset, bytes),
            None => Err(self.not_mapped(offset)),
        }
    }

    /// Copies bytes from an offset of the page.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        match &self.backing.api_resource.mapping {
            Some(mapping) => mapping.read(self.base + offset, out),
            None => Err(self.not_mapped(offset)),
        }
    }

    /// The error for a page without a mapping, which cannot happen: page memory is always mapped.
    #[cold]
    #[inline(never)]
    fn not_mapped(&self, offset: u64) -> DeviceError {
        DeviceError::invalid_call("pages are mapped", offset, self.size)
    }

    /// A reference to the API buffer, by which states are tracked.
    pub(crate) fn tracked(&self) -> Tracked<D> {
        Tracked(self.backing.api_resource.clone())
    }

    /// The submissions that must complete before it is freed, if no further commands are recorded with it.
    pub(super) fn needs(&self, context: &Context<D>) -> SyncPoint {
        context.clock.submissions().since(self.born)
    }

    /// Records the uses of one holder.
    pub(super) fn note_uses(&self, uses: Uses) {
        self.uses.lock().merge(uses);
    }

    /// Takes the uses recorded since the page was last taken.
    pub(super) fn take_uses(&mut self) -> Uses {
        std::mem::replace(self.uses.get_mut(), Uses::NONE)
    }

    /// Frees the page once `point` is complete, which must cover all its uses.
    pub(super) fn release_after(self, context: &Context<D>, point: SyncPoint) {
        let bytes = self.backing.location.reserved();
        context.release_after(Retired::from(self.backing), point, bytes);
    }

    /// Frees the page after these uses.
    pub(super) fn release_used(self, context: &Context<D>, uses: Uses) {
        match uses {
            Uses::Submitted(point) => self.release_after(context, point),
            Uses::Recordings => self.release(context),
        }
    }

    /// Frees the page after its recorded uses.
    pub(super) fn release_noted(mut self, context: &Context<D>) {
        let uses = self.take_uses();
        self.release_used(context, uses);
    }

    /// Frees the page once no recording and no GPU work can use it.
    pub(crate) fn release(self, context: &Context<D>) {
        let bytes = self.backing.location.reserved();
        context.release(Retired::from(self.backing), self.born, bytes);
    }
}

/// The pages filled by a recording. An earlier recording may have begun to fill the current one.
pub(crate) struct Pages<D: Device> {
    /// Index of the thread pages in the [pool](super::PagePool) that they return to.
    thread_pages: usize,
    pages: AppendList<Box<Page<D>>>,
    current: Cell<usize>,
    /// The next free byte of the current page, and its end; both 0 without a current page.
    next: Cell<u64>,
    end: Cell<u64>,
}

impl<D: Device> Pages<D> {
    pub(super) fn new(thread_pages: usize) -> Self {
        Self {
            thread_pages,
            pages: AppendList::new(),
            current: Cell::new(0),
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    pub(crate) const fn thread_pages(&self) -> usize {
        self.thread_pages
    }

    /// Makes them return to the pages of another thread.
    pub(super) const fn move_to(&mut self, thread_pages: usize) {
        self.thread_pages = thread_pages;
    }

    /// The next bytes of the current page at a multiple of `align`, a power of two. Returns the page's index, and the offset in
    /// the page.
    #[inline]
    pub(crate) fn bump(&self, size: u64, align: u64) -> Option<(usize, u64)> {
        let offset = self.next.get().checked_add(align - 1)? & !(align - 1);
        let end = offset.checked_add(size).filter(|end| *end <= self.end.get())?;
        self.next.set(end);
        Some((self.current.get(), offset))
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&Page<D>> {
        self.pages.get(index).map(|page| &**page)
    }

    /// Adds a page with its first `used` bytes allocated; the rest is filled next. Returns its index.
    pub(crate) fn begin(&self, mut page: Box<Page<D>>, used: u64) -> (usize, &Page<D>) {
        page.is_common = true;
        self.end.set(page.size());
        self.next.set(used);
        let (index, page) = self.keep(page);
        self.current.set(index);
        (index, page)
    }

    /// Adds a page that is full from the beginning. Returns its index.
    pub(crate) fn keep(&self, page: Box<Page<D>>) -> (usize, &Page<D>) {
        (self.pages.len(), self.pages.push(page))
    }

    /// The index and the id of the last page.
    pub(crate) fn last(&self) -> Option<(usize, u64)> {
        let index = self.pages.len().checked_sub(1)?;
        Some((index, self.get(index)?.id()))
    }

    /// Ends the recording, submitted as `submission`, or discarded: frees every page made for a single allocation, and makes
    /// the current page the first.
    pub(super) fn end_recording(&mut self, context: &Context<D>, submission: SyncPoint) {
        if self.next == self.end {
            // It is full, too.
            self.next.set(0);
            self.end.set(0);
        }
        let current = self.current.replace(0);
        let kept = self.kept();
        if kept > 0 {
            self.pages.swap(0, current);
            self.get(0).into_iter().for_each(|page| page.note_uses(Uses::Submitted(submission)));
        }
        for index in kept..self.pages.len() {
            if self.pages.get(index).is_some_and(|page| !page.is_common)
                && let Some(page) = self.pages.take(index)
            {
                page.release_after(context, submission);
            }
        }
    }

    /// Takes out the full pages of an ended recording. The iterator must run to its end.
    pub(super) fn take_filled(&mut self) -> impl Iterator<Item = Box<Page<D>>> {
        let kept = self.kept();
        self.pages.drain(kept)
    }

    /// Number of pages kept at the end of the recording: the current one, if any.
    fn kept(&self) -> usize {
        usize::from(self.end.get() > 0).min(self.pages.len())
    }

    /// Frees all pages, after the recordings that have ended.
    pub(super) fn release(mut self, context: &Context<D>) {
        self.pages.drain(0).for_each(|page| page.release_noted(context));
    }
}
