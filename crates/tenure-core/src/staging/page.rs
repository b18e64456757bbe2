//! Pages: mapped ranges that are filled from front to back, and those of one recording.

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

/// The last number given to a page.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// A mapped range of a buffer that only pages share, or a buffer of its own where the policy or the fallback
/// chain says so.
///
/// It is no handle: whoever holds it gives it back with [`release`](Self::release).
pub(crate) struct Page<D: Device> {
    backing: Backing<D>,
    /// A number that no other page of this process has.
    id: u64,
    size: u64,
    /// Byte of the API buffer at which it begins.
    base: u64,
    /// The GPU address of its first byte.
    address: Option<u64>,
    born: Stamp,
    /// It is filled from front to back, and may be again.
    pub(super) is_common: bool,
    /// Its uses, as reported by the holders that have let go of it.
    uses: Mutex<Uses>,
}

/// The uses of a page that its holder lets go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// These submissions, and no recording that is open.
    Submitted(SyncPoint),
    /// Recordings that are open, perhaps.
    Recordings,
}

impl Uses {
    /// None.
    pub(crate) const NONE: Self = Self::Submitted(SyncPoint::NONE);

    fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Submitted(point), Self::Submitted(other)) => point.merge(&other),
            _ => *self = Self::Recordings,
        }
    }
}

impl<D: Device> Page<D> {
    /// A page as `desc` says; of mapped memory.
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

    /// Bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn resource(&self) -> &D::Resource {
        &self.backing.api_resource.object
    }

    /// Byte of the API buffer at which the page begins.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// The GPU address of the page's first byte, where the API has such.
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

    /// What no page answers: its memory is of a use that is mapped.
    #[cold]
    #[inline(never)]
    fn not_mapped(&self, offset: u64) -> DeviceError {
        DeviceError::invalid_call("pages are mapped", offset, self.size)
    }

    /// A share in the API buffer, by which states are followed.
    pub(crate) fn tracked(&self) -> Tracked<D> {
        Tracked(self.backing.api_resource.clone())
    }

    /// What it must outlive, if nothing more is recorded with it.
    pub(super) fn needs(&self, context: &Context<D>) -> SyncPoint {
        context.clock.submissions().since(self.born)
    }

    /// Notes the uses of one holder.
    pub(super) fn note_uses(&self, uses: Uses) {
        self.uses.lock().merge(uses);
    }

    /// Takes the uses that were noted since the page was last taken.
    pub(super) fn take_uses(&mut self) -> Uses {
        std::mem::replace(self.uses.get_mut(), Uses::NONE)
    }

    /// Gives it back once `point` is complete: the caller knows all its uses.
    pub(super) fn release_after(self, context: &Context<D>, point: SyncPoint) {
        let bytes = self.backing.location.reserved();
        context.release_after(Retired::from(self.backing), point, bytes);
    }

    /// Gives it back after these uses.
    pub(super) fn release_used(self, context: &Context<D>, uses: Uses) {
        match uses {
            Uses::Submitted(point) => self.release_after(context, point),
            Uses::Recordings => self.release(context),
        }
    }

    /// Gives it back after the uses that were noted.
    pub(super) fn release_noted(mut self, context: &Context<D>) {
        let uses = self.take_uses();
        self.release_used(context, uses);
    }

    /// Gives it back once no recording and no GPU work can use it any more.
    pub(crate) fn release(self, context: &Context<D>) {
        let bytes = self.backing.location.reserved();
        context.release(Retired::from(self.backing), self.born, bytes);
    }
}

/// The pages that a recording fills. The current one may have begun with an earlier recording.
pub(crate) struct Pages<D: Device> {
    /// The index of the pages in the [pool](super::PagePool) that they go back to.
    thread_pages: usize,
    pages: AppendList<Box<Page<D>>>,
    current: Cell<usize>,
    /// The next free byte of the current page, and its end; both 0 while there is none.
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

    /// Lets them go back to the pages of another thread.
    pub(super) const fn move_to(&mut self, thread_pages: usize) {
        self.thread_pages = thread_pages;
    }

    /// The next bytes of the current page at a multiple of `align`, a power of two: the page's
    /// index, and the offset in it.
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

    /// Takes a page in, of which the first `used` bytes are given out and the rest is to be filled
    /// from here on. Its index.
    pub(crate) fn begin(&self, mut page: Box<Page<D>>, used: u64) -> (usize, &Page<D>) {
        page.is_common = true;
        self.end.set(page.size());
        self.next.set(used);
        let (index, page) = self.keep(page);
        self.current.set(index);
        (index, page)
    }

    /// Takes a page in that is full from the beginning. Its index.
    pub(crate) fn keep(&self, page: Box<Page<D>>) -> (usize, &Page<D>) {
        (self.pages.len(), self.pages.push(page))
    }

    /// The recording was submitted, as `submission`, or discarded: gives back every page that was made for one thing, and
    /// makes the current one the first.
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

    /// Hands out the full pages of a recording that is over. The iterator must run to its end.
    pub(super) fn take_filled(&mut self) -> impl Iterator<Item = Box<Page<D>>> {
        let kept = self.kept();
        self.pages.drain(kept)
    }

    /// How many pages stay when the recording is over: the current one, if there is one.
    fn kept(&self) -> usize {
        usize::from(self.end.get() > 0).min(self.pages.len())
    }

    /// Gives back every page, after the recordings that have ended.
    pub(super) fn release(mut self, context: &Context<D>) {
        self.pages.drain(0).for_each(|page| page.release_noted(context));
    }
}
