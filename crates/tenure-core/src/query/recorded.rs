//! The queries of one recording.

use std::sync::Arc;

use super::QueryService;
use super::pool::{Chunk, KINDS, QueryStore};
use super::times::{PendingTimes, Scope};
use crate::device::{Device, QueryKind, QueueSerial};
use crate::ticket::Progress;
use crate::time::{RecordingId, SyncPoint};

/// A chunk that a recording has taken.
pub(crate) struct Used<D: Device> {
    pub(crate) chunk: Arc<Chunk<D>>,
    /// Number of used queries, from the first on.
    pub(crate) count: u32,
    /// The state shared by its tickets, created on first use.
    lease: Option<Arc<Lease<D>>>,
}

/// The state shared by the tickets of one chunk: keeps the chunk from being reused, and the manager's services alive.
pub(crate) struct Lease<D: Device> {
    pub(super) recording: RecordingId,
    pub(super) chunk: Arc<Chunk<D>>,
    /// Declared last, as in every handle.
    pub(super) service: Arc<QueryService<D>>,
}

/// A query of a recording: the index of the chunk among the chunks of its kind, and the index in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) kind: QueryKind,
    pub(crate) chunk: u32,
    pub(crate) query: u32,
}

/// The queries of a recording; the allocation is reused by a later one.
pub(crate) struct RecordedQueries<D: Device> {
    used: [Vec<Used<D>>; KINDS],
    /// Queries that have begun and not ended: of samples, and of statistics.
    begun: [Option<Slot>; 2],
    pub(super) scopes: Vec<Scope>,
    /// Scopes that have begun and not ended.
    pub(super) open_scopes: u32,
    /// On a queue without timestamps: whether each scope is open.
    pub(super) unmeasured: Vec<bool>,
}

impl<D: Device> Default for RecordedQueries<D> {
    fn default() -> Self {
        Self {
            used: Default::default(),
            begun: [None; 2],
            scopes: Vec::new(),
            open_scopes: 0,
            unmeasured: Vec::new(),
        }
    }
}

impl<D: Device> RecordedQueries<D> {
    /// A query of the chunk that is being filled; `None` when it is full.
    #[inline]
    pub(crate) fn next(&mut self, kind: QueryKind) -> Option<Slot> {
        let used = &mut self.used[kind as usize % KINDS];
        let chunk = used.len().checked_sub(1)? as u32;
        let last = used.last_mut()?;
        if last.count == last.chunk.size() {
            return None;
        }
        let query = last.count;
        last.count += 1;
        Some(Slot { kind, chunk, query })
    }

    /// Adds a chunk, which is filled next.
    pub(crate) fn add(&mut self, chunk: Arc<Chunk<D>>) {
        self.used[chunk.kind() as usize % KINDS].push(Used { chunk, count: 0, lease: None });
    }

    /// The chunk of a query.
    #[inline]
    pub(crate) fn chunk(&self, slot: Slot) -> Option<&Arc<Chunk<D>>> {
        self.used[slot.kind as usize % KINDS].get(slot.chunk as usize).map(|used| &used.chunk)
    }

    /// The reference that a ticket of a query keeps.
    #[inline]
    pub(crate) fn lease(
        &mut self,
        slot: Slot,
        recording: RecordingId,
        service: &Arc<QueryService<D>>,
    ) -> Option<Arc<Lease<D>>> {
        let Used { chunk, lease, .. } = self.used[slot.kind as usize % KINDS].get_mut(slot.chunk as usize)?;
        let new = || Arc::new(Lease { recording, chunk: chunk.clone(), service: service.clone() });
        Some(lease.get_or_insert_with(new).clone())
    }

    /// The chunks with used queries.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Used<D>> {
        self.used.iter().flatten().filter(|used| used.count > 0)
    }

    /// The open query that uses the same counting unit as `kind`: one for samples, or one for pipeline statistics.
    pub(crate) fn begun(&mut self, kind: QueryKind) -> &mut Option<Slot> {
        let [samples, statistics] = &mut self.begun;
        if kind == QueryKind::PipelineStatistics { statistics } else { samples }
    }

    /// An open query.
    pub(crate) fn first_begun(&self) -> Option<Slot> {
        self.begun.iter().flatten().next().copied()
    }

    /// Ends the recording: submitted, so that results arrive, or discarded.
    pub(crate) fn end(mut self: Box<Self>, store: &QueryStore<D>, submitted: Option<QueueSerial>) {
        let progress = submitted.map_or(Progress::Discarded, |at| Progress::Submitted(SyncPoint::from(at)));
        for used in self.used.iter_mut().flatten() {
            used.lease = None;
            used.chunk.ticket.settle(progress);
            store.return_chunk(used.chunk.clone(), submitted.map(|at| at.serial));
        }
        self.begun = [None; 2];
        self.open_scopes = 0;
        match submitted.filter(|_| !self.scopes.is_empty()) {
            Some(at) => store.times.lock().add(PendingTimes { at, recorded: self }, store),
            None => self.keep(store),
        }
    }

    /// Keeps the list for a later recording.
    pub(super) fn keep(mut self: Box<Self>, store: &QueryStore<D>) {
        self.used.iter_mut().for_each(Vec::clear);
        self.scopes.clear();
        self.unmeasured.clear();
        store.keep_recorded(self);
    }
}
