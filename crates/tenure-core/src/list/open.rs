//! Open lists: the state of a recording in progress.

use std::sync::Arc;

use smallvec::SmallVec;

use super::copies::{CopiedParts, KeptCopy, MOST_KEPT, record_copies};
use super::pool::{ListPool, Tracking};
use super::submit::{ExternalPoints, record};
use crate::api_resource::ApiResource;
use crate::block_set::BlockSet;
use crate::context::Context;
use crate::device::{CommandList, Device, DeviceError, QueueId, State, Subresource};
use crate::markers::Marks;
use crate::memory::AliasedRange;
use crate::query::RecordedQueries;
use crate::resource::Tracked;
use crate::state::{Recorded, StateError, Tracker};
use crate::ticket::Ticket;
use crate::time::SyncPoint;
use crate::{Error, Name};

/// The states in which commands may write.
const MAY_WRITE: State = State::WRITES.union(State::ACCELERATION_STRUCTURE);

/// An open list and the states of the resources in use.
pub(crate) struct Open<D: Device> {
    pub(super) list: D::List,
    pub(crate) tracker: Box<Tracker<Tracked<D>>>,
    /// Tickets of its readbacks and swap-chain images.
    pub(crate) tickets: Vec<Arc<Ticket>>,
    /// Memory ranges of the transient resources that it activated.
    pub(super) aliased_ranges: Vec<Arc<AliasedRange<D>>>,
    /// The queries, created on first use.
    pub(crate) queries: Option<Box<RecordedQueries<D>>>,
    /// Submissions that used its memory before.
    pub(super) waits: SyncPoint,
    /// External semaphores and fences.
    pub(crate) external: Option<Box<ExternalPoints<D>>>,
    /// The evictable blocks that it uses.
    pub(crate) blocks: BlockSet,
    /// The write states of CPU-readable memory.
    written: State,
    /// True while barriers for declared uses are pending.
    is_due: bool,
    /// Deferred copies, which share barriers. None depends on another. While there are any, all pending uses are theirs.
    pub(super) kept: Vec<KeptCopy<D>>,
    /// True for a list of moves: its uses do not predict the next use of the resources.
    pub(crate) is_move: bool,
    /// Whether the list may change read-only resources. Other lists do not track their states.
    pub(super) changes_read_only: bool,
    /// Whether the list leaves the read-only resources that it changes in their declared states, for all later submissions.
    pub(super) is_publishing: bool,
    /// The markers of a recording, on a device with markers.
    pub(crate) marks: Option<Box<Marks>>,
    /// Whether the list was closed, and can be submitted or begun again.
    pub(super) is_closed: bool,
}

impl<D: Device> Open<D> {
    fn new(list: D::List, Tracking { tracker, kept }: Tracking<D>, blocks: BlockSet) -> Self {
        Self {
            list,
            tracker,
            kept,
            tickets: Vec::new(),
            aliased_ranges: Vec::new(),
            queries: None,
            waits: SyncPoint::NONE,
            external: None,
            blocks,
            written: State::COMMON,
            is_due: false,
            is_move: false,
            changes_read_only: false,
            is_publishing: false,
            marks: None,
            is_closed: false,
        }
    }

    /// Activates a transient resource: orders its first use, after other resources have used its memory, behind their uses.
    #[inline(never)]
    pub(crate) fn begin_handoff(
        &mut self,
        resource: &Arc<ApiResource<D>>,
        aliased_range: &Arc<AliasedRange<D>>,
    ) {
        if let Some(handoff) = aliased_range.begin() {
            self.record_kept();
            let previous_owners: SmallVec<[_; 4]> =
                handoff.previous_owners.into_iter().map(Tracked).collect();
            // Barriers requested while the previous owners had the bytes must precede the handover.
            if self.is_due
                && previous_owners.iter().any(|previous_owner| self.tracker.is_pending(previous_owner))
            {
                self.record_barriers();
            }
            self.tracker.activate(&Tracked(resource.clone()), &previous_owners, handoff.others);
            self.is_due = true;
            self.waits.merge(&handoff.waits);
            self.aliased_ranges.push(aliased_range.clone());
        }
    }

    /// Undoes the activations of a list that was not submitted.
    pub(super) fn rewind_handoffs(aliased_ranges: &[Arc<AliasedRange<D>>], submitted: &SyncPoint) {
        aliased_ranges.iter().for_each(|aliased_range| aliased_range.rewind(submitted));
    }

    /// Declares that the next command uses a resource.
    pub(crate) fn require(
        &mut self,
        resource: &Tracked<D>,
        subresource: Subresource,
        state: State,
    ) -> Result<(), StateError> {
        self.tracker.check(resource, subresource, state)?;
        self.note(&resource.0, subresource, state);
        Ok(())
    }

    /// As [`require`](Self::require), for a command that writes all of the part: earlier contents are not needed.
    pub(crate) fn overwrite(
        &mut self,
        resource: &Tracked<D>,
        subresource: Subresource,
        state: State,
    ) -> Result<(), StateError> {
        self.require(resource, subresource, state)?;
        self.tracker.note_overwrite(&resource.0.states, subresource);
        Ok(())
    }

    /// As [`require`](Self::require), for a checked use: the tracker allows it.
    #[inline]
    pub(crate) fn note(&mut self, resource: &Arc<ApiResource<D>>, subresource: Subresource, state: State) {
        self.record_kept();
        self.note_use(resource, subresource, state);
    }

    /// Records pending barriers before the uses of a copy that may be deferred: they belong to an earlier command.
    #[inline]
    pub(crate) fn begin_copy(&mut self) {
        if self.kept.is_empty() {
            self.record_pending();
        }
    }

    /// Adds a checked copy, after [`begin_copy`](Self::begin_copy) and activations of its resources. It is recorded before the
    /// next command that depends on it, or that is not a copy.
    pub(crate) fn keep_copy(
        &mut self,
        (src, src_part): (&Arc<ApiResource<D>>, Subresource),
        (dst, dst_part): (&Arc<ApiResource<D>>, Subresource),
        parts: CopiedParts,
    ) {
        if !self.kept.is_empty() && self.depends((src, src_part), (dst, dst_part), &parts) {
            self.record_pending();
        }
        self.note_use(src, src_part, State::COPY_SRC);
        self.note_use(dst, dst_part, State::COPY_DST);
        self.is_due = true;
        self.kept.push(KeptCopy { src: src.clone(), dst: dst.clone(), parts });
    }

    /// Whether a copy must come after a deferred one.
    fn depends(
        &self,
        (src, src_part): (&Arc<ApiResource<D>>, Subresource),
        (dst, dst_part): (&Arc<ApiResource<D>>, Subresource),
        parts: &CopiedParts,
    ) -> bool {
        let [read, written] = [(src, src_part), (dst, dst_part)]
            .map(|(resource, part)| self.tracker.requested(&resource.states, part));
        self.kept.len() >= MOST_KEPT
            || read.intersects(State::COPY_DST)
            || written.intersects(State::COPY_SRC)
            || (!written.is_empty() && self.kept.iter().any(|kept| kept.may_overlap(dst, parts)))
    }

    /// The list to record into, after the deferred copies. Barriers stay pending.
    #[inline]
    pub(crate) fn list(&mut self) -> &mut D::List {
        self.record_kept();
        &mut self.list
    }

    /// As [`list`](Self::list), with the queries.
    pub(crate) fn list_and_queries(&mut self) -> (&mut D::List, Option<&mut RecordedQueries<D>>) {
        self.record_kept();
        (&mut self.list, self.queries.as_deref_mut())
    }

    /// The list behind [`record_pending`](Self::record_pending), with nothing pending.
    pub(crate) fn recorded(&mut self) -> &D::List {
        self.record_pending();
        &self.list
    }

    /// Records the deferred copies, and their barriers.
    #[inline]
    pub(crate) fn record_kept(&mut self) {
        if !self.kept.is_empty() {
            self.record_barriers();
        }
    }

    #[inline]
    fn note_use(&mut self, resource: &Arc<ApiResource<D>>, subresource: Subresource, state: State) {
        if !self.changes_read_only && resource.states.read_only().is_some() {
            return;
        }
        self.tracker.note(&resource.states, || Tracked(resource.clone()), subresource, state, true);
        self.is_due = true;
        if let Some(block) = resource.block {
            self.blocks.note(block);
        }
        if resource.is_read_by_cpu {
            self.written |= state & MAY_WRITE;
        }
    }

    /// Lets the list change read-only resources. `is_publishing`: it leaves all of these in their declared states, so that
    /// later submissions read them; otherwise a following list does.
    pub(crate) fn change_read_only(&mut self, is_publishing: bool) {
        self.changes_read_only = true;
        self.is_publishing = is_publishing;
        self.tracker.set_publishing();
    }

    /// Brings a read-only resource into its declared states.
    pub(crate) fn publish(&mut self, resource: &Tracked<D>) -> Result<(), StateError> {
        match resource.as_ref().read_only() {
            Some(declared) => {
                let state = resource.as_ref().published_in(declared, self.tracker.model());
                self.require(resource, Subresource::All, state)
            }
            None => Ok(()),
        }
    }

    /// Declares that a peer has left a whole resource in `state`. Makes its writes visible to the CPU where the CPU reads the
    /// memory.
    pub(crate) fn acquire(&mut self, resource: &Tracked<D>, state: State) -> Result<(), StateError> {
        self.record_kept();
        self.tracker.acquire(resource, state)?;
        if resource.0.is_read_by_cpu {
            self.written |= state;
        }
        Ok(())
    }

    /// Declares that a peer owns a whole resource after the commands so far.
    pub(crate) fn release(&mut self, resource: &Tracked<D>) {
        self.record_pending();
        self.tracker.release(resource);
    }

    /// Records the barriers of the uses declared since the last call, before anything else is recorded: later uses belong to
    /// another command.
    #[inline]
    pub(crate) fn record_pending(&mut self) {
        if self.is_due {
            self.record_barriers();
        }
    }

    #[inline(never)]
    fn record_barriers(&mut self) {
        self.is_due = false;
        record::<D>(&mut self.list, self.tracker.flush());
        if !self.kept.is_empty() {
            let copies = self.kept.iter().map(KeptCopy::objects);
            record_copies::<D>(&mut self.list, copies);
            self.kept.clear();
        }
    }

    /// Marks the begin of a scope, or of the recording, if it has markers.
    #[inline]
    pub(crate) fn mark_begin(&mut self, name: &Name, scope: Option<u32>) {
        if self.marks.is_some() {
            self.record_pending();
        }
        if let Some(marks) = &mut self.marks {
            marks.begin(&mut self.list, name.clone(), scope);
        }
    }

    /// Marks the end of a scope, or of the recording, if it has markers.
    #[inline]
    pub(crate) fn mark_end(&mut self, scope: Option<u32>) {
        if self.marks.is_some() {
            self.record_pending();
        }
        if let Some(marks) = &mut self.marks {
            marks.end(&mut self.list, scope);
        }
    }

    /// Records pending barriers and closes list and tracker.
    pub(super) fn close(&mut self) -> Result<Recorded<Tracked<D>>, Error> {
        self.record_pending();
        if !self.written.is_empty() {
            self.list.make_visible_to_cpu(self.written);
        }
        let closed = self.list.close();
        self.is_closed = closed.is_ok();
        let recorded =
            self.tracker.close().map_err(|source| Error::State { name: Name::default(), source })?;
        closed?;
        Ok(recorded)
    }
}

impl<D: Device> ListPool<D> {
    /// An open list with its tracker, both recycled if possible.
    pub(crate) fn take_open(&self, context: &Context<D>, queue: QueueId) -> Result<Open<D>, DeviceError> {
        let tracking = self.take_tracking(queue)?;
        match self.take_list(&context.clock, context.device(), queue) {
            Ok(list) => Ok(Open::new(list, tracking, context.pools.residency.take_set())),
            Err(error) => {
                self.return_tracking(queue, tracking);
                Err(error)
            }
        }
    }

    /// Returns a list that was not submitted.
    pub(super) fn return_list(&self, context: &Context<D>, queue: QueueId, list: D::List, is_closed: bool) {
        if is_closed {
            self.return_unused(queue, list);
        } else {
            self.destroy_broken(context.device(), queue, list);
        }
    }

    /// Returns an open list that will not be submitted.
    pub(crate) fn discard_open(&self, context: &Context<D>, queue: QueueId, open: Open<D>) {
        let Open { mut list, tracker, kept, aliased_ranges, blocks, .. } = open;
        context.pools.residency.return_set(blocks);
        Open::<D>::rewind_handoffs(&aliased_ranges, &context.clock.submitted());
        // A list must be closed before it can be reset.
        let is_closed = list.close().is_ok();
        self.return_list(context, queue, list, is_closed);
        self.return_tracking(queue, Tracking { tracker, kept });
    }
}
