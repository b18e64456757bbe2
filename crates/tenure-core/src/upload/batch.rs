//! Uploads that are submitted together, and who wants to know when.

use std::sync::{Arc, OnceLock};

use super::copies::Copy;
use crate::Error;
use crate::device::Device;
use crate::time::{RecordingId, SyncPoint};

/// What became of a batch: what must be complete before it is, or why it was not submitted.
#[derive(Debug, Default)]
pub(super) struct BatchState {
    outcome: OnceLock<Result<SyncPoint, Error>>,
    /// The batches of an upload that is in several; none for a batch itself.
    batches: Vec<Arc<Self>>,
}

impl BatchState {
    /// Said once, by whoever takes the batch.
    pub(super) fn settle(&self, outcome: Result<SyncPoint, Error>) {
        let settled = self.outcome.set(outcome);
        debug_assert!(settled.is_ok(), "a batch is submitted or given up once");
    }

    pub(super) fn outcome(&self) -> Option<&Result<SyncPoint, Error>> {
        if self.outcome.get().is_none() && !self.batches.is_empty() {
            let all = self.outcome_of_all()?;
            return Some(self.outcome.get_or_init(|| all));
        }
        self.outcome.get()
    }

    /// The outcome of all batches, or the first error; `None` while some wait to be submitted.
    fn outcome_of_all(&self) -> Option<Result<SyncPoint, Error>> {
        let mut all = SyncPoint::NONE;
        for batch in &self.batches {
            match batch.outcome()? {
                Ok(point) => all.merge(point),
                Err(error) => return Some(Err(error.clone())),
            }
        }
        Some(Ok(all))
    }
}

/// Copies that will be submitted together. It counts as an open recording, so that what they go to
/// may be dropped.
pub(super) struct Batch<D: Device> {
    pub(super) state: Arc<BatchState>,
    pub(super) recording: RecordingId,
    pub(super) copies: Vec<Copy<D>>,
    /// Copies ever pushed.
    pub(super) pushed: usize,
    /// Bytes staged.
    pub(super) bytes: u64,
    /// What was submitted of it so far.
    pub(super) point: SyncPoint,
}

impl<D: Device> Batch<D> {
    pub(super) fn new(recording: RecordingId, copies: Vec<Copy<D>>) -> Self {
        let state = Arc::new(BatchState::default());
        Self { state, recording, copies, pushed: 0, bytes: 0, point: SyncPoint::NONE }
    }

    pub(super) fn push(&mut self, mut copy: Copy<D>) {
        if self.copies.last_mut().is_some_and(|last| last.merge(&copy)) {
            return;
        }
        copy.number = self.pushed;
        self.pushed += 1;
        self.copies.push(copy);
    }

    /// Takes the copies of a queue to the first resource out, if nobody can read any more what they write: the program has
    /// dropped it, and only the release queue and these copies still hold it.
    pub(super) fn take_unread(&mut self, on_graphics: bool) -> Vec<Copy<D>> {
        let Some(first) = self.first_copies(on_graphics, 1).next() else { return Vec::new() };
        let (cell, resource) = (first.cell(), &first.to.0);
        let holders = 1 + self.copies.iter().filter(|copy| copy.cell() == cell).count();
        if !resource.is_dropped() || Arc::strong_count(resource) > holders {
            return Vec::new();
        }
        self.copies.extract_if(.., |copy| copy.cell() == cell).collect()
    }

    /// Of its copies, which are sorted, those of a queue to the first so many resources.
    pub(super) fn first_copies(
        &self,
        on_graphics: bool,
        resources: usize,
    ) -> impl Iterator<Item = &Copy<D>> + Clone {
        let (mut last, mut found) = (None, 0);
        self.copies.iter().filter(move |copy| copy.on_graphics == on_graphics).take_while(move |copy| {
            found += usize::from(last.replace(copy.cell()) != Some(copy.cell()));
            found <= resources
        })
    }
}

/// An upload on its way: from [`Gpu::upload`](crate::Gpu::upload). Dropping it changes nothing.
///
/// Whatever is submitted later finds what was uploaded, without asking.
#[derive(Clone, Debug)]
pub struct Upload {
    /// `None`: the bytes are there.
    batch: Option<Arc<BatchState>>,
}

impl Upload {
    /// Nothing has to be waited for.
    pub(super) const DONE: Self = Self { batch: None };

    pub(super) const fn of(batch: Arc<BatchState>) -> Self {
        Self { batch: Some(batch) }
    }

    /// An upload that is in several batches.
    pub(super) fn of_all(batches: Vec<Arc<BatchState>>) -> Self {
        Self::of(Arc::new(BatchState { outcome: OnceLock::new(), batches }))
    }

    pub(crate) fn outcome(&self) -> Option<&Result<SyncPoint, Error>> {
        static DONE: Result<SyncPoint, Error> = Ok(SyncPoint::NONE);
        match &self.batch {
            Some(batch) => batch.outcome(),
            None => Some(&DONE),
        }
    }

    /// What must be complete before the bytes are there; `None` while that is not known, because
    /// the upload waits to be submitted with others, or when it could not be.
    #[must_use]
    pub fn sync_point(&self) -> Option<SyncPoint> {
        self.outcome().and_then(|outcome| outcome.as_ref().ok()).copied()
    }

    /// Why it could not be submitted, if that is so: the device is lost, or refused for good.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.outcome().and_then(|outcome| outcome.as_ref().err())
    }
}
