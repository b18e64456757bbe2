//! The holders of dropped items.

use std::collections::BTreeMap;

use super::stages::Waiting;
use super::{Entry, ReleaseQueue};
use crate::device::QueueSerial;
use crate::time::Recordings;

/// The reason why dropped items are not released yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Holder {
    /// Open recordings, which may use the items.
    OpenRecordings,
    /// A queue, until it has completed this submission. Other queues may follow.
    Submission(QueueSerial),
    /// Unknown: the items were dropped, or a recording was closed, since the last reclaim.
    NextReclaim,
}

/// Dropped items with the same holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldItems {
    /// Their holder.
    pub holder: Holder,
    /// Number of these items.
    pub count: u64,
    /// Bytes of memory held by them.
    pub bytes: u64,
}

/// Counts and bytes, by holder.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<Holder, (u64, u64)>);

impl Sums {
    pub(super) fn add(&mut self, holder: Holder, count: u64, bytes: u64) {
        let sum = self.0.entry(holder).or_default();
        *sum = (sum.0 + count, sum.1.wrapping_add(bytes));
    }

    /// Adds an entry that no reclaim has processed.
    pub(super) fn add_new<T>(&mut self, entry: &Entry<T>, oldest_open: u64) {
        self.add(by_tag(entry.tag, oldest_open), 1, entry.bytes);
    }
}

/// The holder of entries of this tag that wait for recordings.
const fn by_tag(tag: u64, oldest_open: u64) -> Holder {
    if tag < oldest_open { Holder::NextReclaim } else { Holder::OpenRecordings }
}

impl<T> Waiting<T> {
    fn add_to(&self, sums: &mut Sums, oldest_open: u64) {
        self.each(|tag, batch| sums.add(by_tag(tag, oldest_open), batch.len() as u64, batch.bytes()));
    }
}

impl<T> ReleaseQueue<T> {
    /// The dropped items by holder: open recordings first, then submissions by queue and serial. While no other thread drops or
    /// reclaims, the counts and bytes add up to [`stats`](Self::stats). Cost: proportional to the items dropped since the last
    /// reclaim, and to the waiting batches.
    ///
    /// ```
    /// use tenure::time::{Clock, Holder, Recordings, ReleaseQueue};
    ///
    /// let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    /// let recording = recordings.open("shadows", 1);
    /// releases.push(&recordings, "texture", clock.stamp(), 4096);
    /// assert_eq!(releases.held(&recordings)[0].holder, Holder::OpenRecordings);
    /// recordings.close(recording);
    /// assert_eq!((releases.held(&recordings)[0].holder, releases.held(&recordings)[0].bytes), (Holder::NextReclaim, 4096));
    /// ```
    #[must_use]
    pub fn held(&self, recordings: &Recordings) -> Vec<HeldItems> {
        let (stages, oldest_open) = (self.stages.lock(), recordings.oldest_open());
        let mut sums = Sums::default();
        stages.waiting.add_to(&mut sums, oldest_open);
        stages.pending.each(|at, batch| {
            sums.add(at.map_or(Holder::NextReclaim, Holder::Submission), batch.len() as u64, batch.bytes());
        });
        self.inbox.each(|entry| sums.add_new(entry, oldest_open));
        // Only reclaims check submissions.
        self.explicit
            .lock()
            .entries
            .iter()
            .for_each(|(entry, _)| sums.add(Holder::NextReclaim, 1, entry.bytes));
        let held = |(holder, (count, bytes))| HeldItems { holder, count, bytes };
        sums.0.into_iter().map(held).collect()
    }
}
