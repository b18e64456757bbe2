//! Batches of dropped entries, the inboxes that threads push entries into, and the store of empty batches.

use std::vec::Drain;

use super::Entry;
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::time::{Stamp, Submissions, SyncPoint};

/// Number of lanes of an [`Inbox`]: enough that threads rarely contend for one.
#[cfg(not(loom))]
const LANES: usize = 16;
/// Model checking explores all orders of all locks, so there is only one.
#[cfg(loom)]
const LANES: usize = 1;

/// Maximum number of empty batches kept.
const MAX_SPARE_BATCHES: usize = 64;

/// Entries, with bounds on their tags and creation stamps. A batch moves as a whole from the lane in which it was filled to the
/// release of its items, so that entries are rarely moved individually.
#[doc(hidden)]
#[derive(Debug)]
pub struct Batch<T> {
    entries: Vec<Entry<T>>,
    /// The lowest and the highest tag of an entry.
    oldest_tag: u64,
    newest_tag: u64,
    /// The earliest and the latest stamp of an item's creation.
    oldest: Stamp,
    newest: Stamp,
    bytes: u64,
    /// The lane whose threads fill the batch; `None` for a batch that reclaims fill.
    lane: Option<u8>,
}

impl<T> Batch<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            lane: None,
            oldest_tag: u64::MAX,
            newest_tag: 0,
            oldest: Stamp::LAST,
            newest: Stamp::FIRST,
            bytes: 0,
        }
    }

    fn of_lane(lane: usize) -> Self {
        Self { lane: Some(lane as u8), ..Self::new() }
    }

    /// Reuses the capacity for another lane.
    fn into_lane(self, lane: usize) -> Self {
        debug_assert!(self.is_empty(), "a batch with entries stays in its lane");
        Self { entries: self.entries, ..Self::of_lane(lane) }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        self.oldest_tag = self.oldest_tag.min(entry.tag);
        self.newest_tag = self.newest_tag.max(entry.tag);
        self.oldest = self.oldest.min(entry.born);
        self.newest = self.newest.max(entry.born);
        self.bytes = self.bytes.wrapping_add(entry.bytes);
        self.entries.push(entry);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The newest recording that may use any of the items.
    pub(super) const fn newest_tag(&self) -> u64 {
        self.newest_tag
    }

    /// The tag of all entries, if it is the same.
    pub(super) fn common_tag(&self) -> Option<u64> {
        (self.oldest_tag == self.newest_tag).then_some(self.newest_tag)
    }

    /// Whether no submission uses any of the items.
    pub(super) fn is_unused(&self) -> bool {
        self.oldest == Stamp::LAST
    }

    /// The sync point that all items must outlive, if it is the same.
    pub(super) fn common_need(&self, submitted: &Submissions) -> Option<SyncPoint> {
        let need = submitted.since(self.oldest);
        // Needs are monotonic in the creation stamp: if the needs of the first and the last item are equal, all are.
        (self.oldest == self.newest || need == submitted.since(self.newest)).then_some(need)
    }

    /// Bytes held by the items.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes out every entry. The batch is then empty and keeps its capacity. If `take` panics, the entries after that one are
    /// kept.
    pub(super) fn take_entries(&mut self, take: impl FnMut(Entry<T>)) {
        let mut entries = std::mem::take(&mut self.entries);
        let mut left = Left { entries: entries.drain(..), batch: &mut self.entries };
        left.entries.by_ref().for_each(take);
        drop(left);
        *self = Self { entries, lane: self.lane, ..Self::new() };
    }

    /// Takes out every item. The batch is then empty and keeps its capacity.
    pub fn take_items(&mut self, mut take: impl FnMut(T)) {
        self.take_entries(|entry| take(entry.item));
    }

    /// Drops every item. The batch is then empty and keeps its capacity.
    pub fn clear(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        *self = Self { entries, lane: self.lane, ..Self::new() };
    }

    /// Takes out the items for which `is_wanted` is true. The batch's bounds and bytes stay unchanged.
    pub fn extract(&mut self, is_wanted: impl Fn(&T) -> bool, mut take: impl FnMut(T)) {
        let wanted = self.entries.extract_if(.., |entry| is_wanted(&entry.item));
        wanted.for_each(|entry| take(entry.item));
    }

    /// The items, in runs of up to `most`.
    pub fn runs(&self, most: usize) -> impl Iterator<Item = impl Iterator<Item = &T> + Clone> {
        self.entries.chunks(most).map(|run| run.iter().map(|entry| &entry.item))
    }
}

/// The entries that are still to be taken out of a batch. They return to it when this is dropped by a panic.
struct Left<'a, T> {
    entries: Drain<'a, Entry<T>>,
    batch: &'a mut Vec<Entry<T>>,
}

impl<T> Drop for Left<'_, T> {
    fn drop(&mut self) {
        self.batch.extend(&mut self.entries);
    }
}

/// Empty batches, kept for their capacity.
///
/// Each lane gets back the batches filled by its own threads. Otherwise each reclaim would move their memory from one processor's
/// cache to another's.
#[derive(Debug)]
pub(super) struct SpareBatches<T> {
    of_lanes: [Vec<Batch<T>>; LANES],
    others: Vec<Batch<T>>,
    count: usize,
}

impl<T> SpareBatches<T> {
    pub(super) fn new() -> Self {
        Self { of_lanes: std::array::from_fn(|_| Vec::new()), others: Vec::new(), count: 0 }
    }

    /// An empty batch, with capacity if there is one.
    pub(super) fn take(&mut self) -> Batch<T> {
        let spare = self.others.pop();
        self.count -= usize::from(spare.is_some());
        spare.unwrap_or_else(Batch::new)
    }

    /// An empty batch for a lane, with capacity if there is one.
    fn take_for(&mut self, lane: usize) -> Batch<T> {
        let spare = self.of_lanes[lane].pop().or_else(|| self.others.pop());
        self.count -= usize::from(spare.is_some());
        spare.map_or_else(|| Batch::of_lane(lane), |batch| batch.into_lane(lane))
    }

    /// Keeps an empty batch, or frees it when there are enough.
    pub(super) fn put(&mut self, batch: Batch<T>) {
        debug_assert!(batch.is_empty(), "the entries of a spare batch would be lost");
        if self.count < MAX_SPARE_BATCHES {
            self.count += 1;
            match batch.lane.map(usize::from) {
                Some(lane) => self.of_lanes[lane].push(batch),
                None => self.others.push(batch),
            }
        }
    }
}

/// The data guarded by the lock of a lane.
#[derive(Debug)]
struct LaneContents<T> {
    batch: Batch<T>,
    /// Entries ever pushed into this lane, and their bytes.
    pushed: u64,
    bytes: u64,
}

/// Whether the lane has any entries; set and cleared under the lane's lock.
///
/// The flag is on separate cache lines: a reclaim reads the flag of each lane, and would otherwise take the cache line of the
/// lock from a thread that has pushed nothing since the last reclaim.
#[derive(Debug)]
#[repr(align(128))]
struct HasEntries(AtomicBool);

/// One lane of an [`Inbox`], on separate cache lines, so that threads in neighbouring lanes do not slow each other down.
#[derive(Debug)]
#[repr(align(128))]
struct Lane<T> {
    contents: Mutex<LaneContents<T>>,
    has_entries: HasEntries,
}

impl<T> Lane<T> {
    fn new(lane: usize) -> Self {
        let contents = LaneContents { batch: Batch::of_lane(lane), pushed: 0, bytes: 0 };
        Self { contents: Mutex::new(contents), has_entries: HasEntries(AtomicBool::new(false)) }
    }

    #[inline(always)]
    fn push(&self, mut contents: MutexGuard<'_, LaneContents<T>>, entry: Entry<T>) {
        if contents.batch.is_empty() {
            self.has_entries.0.store(true, Ordering::Release);
        }
        contents.pushed += 1;
        contents.bytes = contents.bytes.wrapping_add(entry.bytes);
        contents.batch.push(entry);
    }

    /// Takes the lane's batch and leaves `spare` in its place; `None` if there are no entries. All entries
    /// that any thread has pushed before this call are in the batch, unless another call has taken them.
    fn take(&self, spare: impl FnOnce() -> Batch<T>) -> Option<Batch<T>> {
        if !self.has_entries.0.load(Ordering::Acquire) {
            return None;
        }
        let mut contents = self.contents.lock();
        self.has_entries.0.store(false, Ordering::Release);
        // Another call may have taken the entries since the flag was read.
        if contents.batch.is_empty() { None } else { Some(std::mem::replace(&mut contents.batch, spare())) }
    }
}

/// The inbox of pushed entries: several lanes, each a batch behind its own lock. A thread uses one lane as long as no other
/// thread has locked it.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    lanes: [Lane<T>; LANES],
    /// Bit *i* is set once an entry was pushed into lane *i*: most programs use few lanes, and the others are never visited.
    used: AtomicU64,
}

impl<T> Inbox<T> {
    pub(super) fn new() -> Self {
        Self { lanes: std::array::from_fn(Lane::new), used: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub(super) fn push(&self, entry: Entry<T>) {
        let own = own_lane();
        let lane = &self.lanes[own];
        match lane.contents.try_lock() {
            Some(contents) => self.push_into(own, contents, entry),
            None => self.push_elsewhere(own, entry),
        }
    }

    #[inline(always)]
    fn push_into(&self, number: usize, contents: MutexGuard<'_, LaneContents<T>>, entry: Entry<T>) {
        if contents.batch.is_empty() {
            let bit = 1 << number;
            // Set under the lock of the lane: a thread that finds it set has locked the lane after the thread that set it.
            if self.used.load(Ordering::Relaxed) & bit == 0 {
                self.used.fetch_or(bit, Ordering::Release);
            }
        }
        self.lanes[number].push(contents, entry);
    }

    /// The lanes that were ever used, with their numbers.
    fn used(&self) -> impl Iterator<Item = (usize, &Lane<T>)> {
        let used = self.used.load(Ordering::Acquire);
        let numbers = std::iter::successors(Some(used), |left| Some(left & left.wrapping_sub(1)));
        let numbers = numbers.take_while(|left| *left != 0).map(|left| left.trailing_zeros() as usize);
        numbers.map(|number| (number, &self.lanes[number]))
    }

    /// Pushes into another unlocked lane; if all are locked, waits for the thread's own lane.
    #[cold]
    fn push_elsewhere(&self, own: usize, entry: Entry<T>) {
        let mut others = (1..LANES).map(|step| (own + step) % LANES);
        let (lane, contents) = others
            .find_map(|lane| Some((lane, self.lanes[lane].contents.try_lock()?)))
            .unwrap_or_else(|| (own, self.lanes[own].contents.lock()));
        self.push_into(lane, contents, entry);
    }

    /// Takes out the batch of each lane with entries, and puts a spare batch in its place. An entry pushed during the call may
    /// or may not be included.
    pub(super) fn drain(
        &self,
        spares: &mut SpareBatches<T>,
        mut take: impl FnMut(Batch<T>, &mut SpareBatches<T>),
    ) {
        for (number, lane) in self.used() {
            if let Some(batch) = lane.take(|| spares.take_for(number)) {
                take(batch, spares);
            }
        }
    }

    /// Entries and bytes ever pushed.
    pub(super) fn pushed(&self) -> (u64, u64) {
        self.used().fold((0, 0), |(pushed, bytes), (_, lane)| {
            let contents = lane.contents.lock();
            (pushed + contents.pushed, u64::wrapping_add(bytes, contents.bytes))
        })
    }

    /// Visits each entry.
    pub(super) fn each(&self, mut visit: impl FnMut(&Entry<T>)) {
        self.used().for_each(|(_, lane)| lane.contents.lock().batch.entries.iter().for_each(&mut visit));
    }

    /// Bytes of the entries with this tag or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = |(_, lane): (usize, &Lane<T>)| {
            let contents = lane.contents.lock();
            let entries = contents.batch.entries.iter().filter(|entry| entry.tag >= recording);
            entries.map(|entry| entry.bytes).fold(0, u64::wrapping_add)
        };
        self.used().map(tagged).fold(0, u64::wrapping_add)
    }
}

/// The lane that the current thread tries first.
#[cfg(not(loom))]
#[inline]
fn own_lane() -> usize {
    crate::thread_slot::current() % LANES
}

#[cfg(loom)]
fn own_lane() -> usize {
    0
}
