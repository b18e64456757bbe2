//! Dropped things that go the same way together.

use super::Entry;
use crate::time::{Stamp, Submissions, SyncPoint};

/// Entries, and what there is to know of all of them. Kept as one vector from the lane they are dropped
/// in to where they are given back, so that no entry is moved that need not be.
#[derive(Debug)]
pub(crate) struct Pile<T> {
    entries: Vec<Entry<T>>,
    /// The recordings that the entries wait for lie between these.
    oldest_tag: u64,
    newest_tag: u64,
    /// The entries were created between these.
    oldest: Stamp,
    newest: Stamp,
    bytes: u64,
    /// The lane whose thread fills it; none for one that purges fill.
    lane: Option<u8>,
}

impl<T> Pile<T> {
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

    pub(super) fn of_lane(lane: usize) -> Self {
        Self { lane: Some(lane as u8), ..Self::new() }
    }

    /// The same memory, for another lane.
    pub(super) fn into_lane(self, lane: usize) -> Self {
        debug_assert!(self.is_empty(), "a pile that is filled belongs to whoever does");
        Self { entries: self.entries, ..Self::of_lane(lane) }
    }

    pub(super) fn lane(&self) -> Option<usize> {
        self.lane.map(usize::from)
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        self.oldest_tag = self.oldest_tag.min(entry.tag);
        self.newest_tag = self.newest_tag.max(entry.tag);
        self.oldest = self.oldest.min(entry.born);
        self.newest = self.newest.max(entry.born);
        self.bytes += entry.bytes;
        self.entries.push(entry);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    /// The newest recording that may use any of them.
    pub(super) const fn newest_tag(&self) -> u64 {
        self.newest_tag
    }

    /// The newest recording that may use each of them, where that is the same.
    pub(super) fn common_tag(&self) -> Option<u64> {
        (self.oldest_tag == self.newest_tag).then_some(self.newest_tag)
    }

    /// What each of them must outlive, where that is the same.
    pub(super) fn common_need(&self, submitted: &Submissions) -> Option<SyncPoint> {
        let need = submitted.since(self.oldest);
        // Who was created between two who need the same needs that, too.
        (need == submitted.since(self.newest)).then_some(need)
    }

    /// Bytes they hold.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Hands out every entry; the pile is as new, but for its capacity.
    pub(super) fn take_entries(&mut self, take: impl FnMut(Entry<T>)) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.drain(..).for_each(take);
        *self = Self { entries, lane: self.lane, ..Self::new() };
    }

    /// Hands out every item.
    pub(crate) fn take_items(&mut self, mut take: impl FnMut(T)) {
        self.take_entries(|entry| take(entry.item));
    }

    /// Drops every item; the pile is as new, but for its capacity.
    pub(crate) fn clear(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        *self = Self { entries, lane: self.lane, ..Self::new() };
    }

    /// Hands out the items that `is_wanted`. What is known of all entries stays as it was.
    pub(crate) fn extract(&mut self, is_wanted: impl Fn(&T) -> bool, mut take: impl FnMut(T)) {
        let wanted = self.entries.extract_if(.., |entry| is_wanted(&entry.item));
        wanted.for_each(|entry| take(entry.item));
    }

    /// The items, up to `most` at a time.
    pub(crate) fn runs(&self, most: usize) -> impl Iterator<Item = impl Iterator<Item = &T> + Clone> {
        self.entries.chunks(most).map(|run| run.iter().map(|entry| &entry.item))
    }
}
