//! Batches of uploads, and the handle of an upload.

use std::sync::{Arc, OnceLock};

use super::copies::{Copy, Publication};
use crate::Error;
use crate::device::Device;
use crate::time::{RecordingId, SyncPoint};

/// The outcome of a batch: the sync point that completes it, or the error that prevented its submission.
#[derive(Debug, Default)]
pub(super) struct BatchState {
    outcome: OnceLock<Result<SyncPoint, Error>>,
    /// The batches of an upload that spans several; empty for a batch itself.
    batches: Vec<Arc<Self>>,
}

impl BatchState {
    /// Sets the outcome. Called once, by the thread that took the batch.
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

/// Copies to be submitted together. A batch counts as an open recording, so that its destinations may be dropped.
pub(super) struct Batch<D: Device> {
    pub(super) state: Arc<BatchState>,
    pub(super) recording: RecordingId,
    pub(super) copies: Vec<Copy<D>>,
    /// Read-only resources to publish after the copies.
    pub(super) published: Vec<Publication<D>>,
    /// Number of copies ever pushed.
    pub(super) pushed: usize,
    /// Bytes staged.
    pub(super) bytes: u64,
    /// Covers the copies that were submitted so far.
    pub(super) point: SyncPoint,
}

impl<D: Device> Batch<D> {
    pub(super) fn new(recording: RecordingId, copies: Vec<Copy<D>>) -> Self {
        let state = Arc::new(BatchState::default());
        Self { state, recording, copies, published: Vec::new(), pushed: 0, bytes: 0, point: SyncPoint::NONE }
    }

    pub(super) fn push(&mut self, mut copy: Copy<D>) {
        if self.copies.last_mut().is_some_and(|last| last.merge(&copy)) {
            return;
        }
        copy.number = self.pushed;
        self.pushed += 1;
        self.copies.push(copy);
    }

    /// Takes out the copies of a queue to the first resource, if no one can read the result: the program has dropped the
    /// resource, and only the release queue and these copies still hold it.
    pub(super) fn take_unread(&mut self, on_graphics: bool) -> Vec<Copy<D>> {
        let Some(first) = self.first_copies(on_graphics, 1).next() else { return Vec::new() };
        let (cell, resource) = (first.cell(), &first.to.0);
        let holders = 1 + self.copies.iter().filter(|copy| copy.cell() == cell).count();
        if !resource.is_dropped() || Arc::strong_count(resource) > holders {
            return Vec::new();
        }
        self.copies.extract_if(.., |copy| copy.cell() == cell).collect()
    }

    /// The copies of a queue to the first `resources` resources. The copies must be sorted.
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

/// An upload in progress: from [`Gpu::upload`](crate::Gpu::upload). Dropping it has no effect.
///
/// Every later submission sees the uploaded data, without waiting.
#[derive(Clone, Debug)]
pub struct Upload {
    /// `None`: the upload is complete.
    batch: Option<Arc<BatchState>>,
}

impl Upload {
    /// A complete upload.
    pub(super) const DONE: Self = Self { batch: None };

    pub(super) const fn of(batch: Arc<BatchState>) -> Self {
        Self { batch: Some(batch) }
    }

    /// An upload that spans several batches.
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

    /// The sync point that completes the upload; `None` while it waits to be submitted with others, or if its submission
    /// failed.
    #[must_use]
    pub fn sync_point(&self) -> Option<SyncPoint> {
        self.outcome().and_then(|outcome| outcome.as_ref().ok()).copied()
    }

    /// The error of its submission, if that failed: the device is lost, or has permanently refused it.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.outcome().and_then(|outcome| outcome.as_ref().err())
    }
}
