//! The uses of resources in one recording, during recording.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::activation::Activation;
use super::flush::{Flush, Ready};
use super::part_use::{Clock, PartUse, Pending};
use super::recorded::{Entry, Recorded};
use super::rules::{Rules, is_valid};
use super::{StateCell, StateError};
use crate::device::{QueueId, QueueKind, State, StateModel, Subresource};

/// Tracks the states of resources through one recording and finds the barriers to record.
///
/// Before each command: one [`require`](Self::require) for each resource of the command, then one [`flush`](Self::flush). The
/// states of the resources before the recording are not known yet; their first uses are therefore only stored, for
/// [`resolve`](super::resolve).
///
/// * Requests for one subresource between two flushes are folded: `A → B → C` becomes `A → C`, and `A → B → A` becomes nothing.
///   Read states among them are combined; otherwise the last request wins.
/// * After a request, a command must make the use: on D3D12 the use itself promotes.
/// * On [`StateModel::Explicit`], [`State::COMMON`] is refused: it is the state of resources that were never used, or were
///   activated in memory of other resources.
///
/// A request takes O(1) for a subresource or a whole resource whose subresources agree, O(count) for a whole resource whose
/// subresources differ. Eight trackers at a time find resources by their slot; further ones hash the resource's id. No allocation after its
/// largest recording.
///
/// Must be used by one thread at a time; many trackers may use the same resources at once.
#[derive(Debug)]
pub struct Tracker<H> {
    pub(super) model: StateModel,
    pub(super) kind: QueueKind,
    /// The queue, if known.
    pub(super) queue: Option<QueueId>,
    slot: Option<Slot>,
    /// Finds entries by the cell's id when there is no slot.
    map: FxHashMap<u64, usize>,
    pub(super) entries: Vec<Entry<H>>,
    pub(super) spill: Vec<PartUse>,
    /// Previous owners of activated memory, to be waited for.
    pub(super) previous_owners: Vec<H>,
    /// The aliasing barriers of the next group of barriers.
    pub(super) activations: Vec<Activation>,
    /// Entries and subresources with possibly pending barriers.
    pending: Vec<(usize, Subresource)>,
    pub(super) ready: Vec<Ready>,
    /// The number of the next group of barriers, from 1.
    pub(super) group: u32,
    is_publishing: bool,
}

impl<H: Clone + AsRef<StateCell>> Tracker<H> {
    /// A tracker for recordings for one kind of queue.
    #[must_use]
    pub fn new(model: StateModel, kind: QueueKind) -> Self {
        Self {
            model,
            kind,
            queue: None,
            slot: Slot::acquire(),
            map: FxHashMap::default(),
            entries: Vec::new(),
            spill: Vec::new(),
            previous_owners: Vec::new(),
            activations: Vec::new(),
            pending: Vec::new(),
            ready: Vec::new(),
            group: 1,
            is_publishing: false,
        }
    }

    /// The kind of queue the recordings are for.
    #[must_use]
    pub const fn queue_kind(&self) -> QueueKind {
        self.kind
    }

    /// The rules of its API.
    #[doc(hidden)]
    #[must_use]
    pub const fn model(&self) -> StateModel {
        self.model
    }

    /// Requests a use of a resource in `state` by the next command, after and depending on its earlier uses.
    ///
    /// # Errors
    /// [`StateError::OutOfRange`], [`StateError::InvalidCombination`], [`StateError::NotAllowedForUsage`],
    /// [`StateError::NotAllowedOnQueue`], [`StateError::Fixed`], [`StateError::NotToCommon`]; the request has no effect then.
    pub fn require(
        &mut self,
        resource: &H,
        subresource: Subresource,
        state: State,
    ) -> Result<(), StateError> {
        self.check(resource, subresource, state)?;
        self.note(resource.as_ref(), || resource.clone(), subresource, state, true);
        Ok(())
    }

    /// As [`require`](Self::require), but the command does not depend on the preceding uses in the same state: copies to other
    /// bytes, dispatches that write elsewhere, traces that only read. No barrier is recorded between such uses.
    ///
    /// # Errors
    /// As [`require`](Self::require).
    pub fn require_overlapping(
        &mut self,
        resource: &H,
        subresource: Subresource,
        state: State,
    ) -> Result<(), StateError> {
        self.check(resource, subresource, state)?;
        self.note(resource.as_ref(), || resource.clone(), subresource, state, false);
        Ok(())
    }

    /// Acquires a whole resource from a peer, which has left it in `state`; the submission waits for uses in earlier
    /// recordings, which say nothing about its state. Pass [`State::COMMON`] for resources without tracked states (buffers on
    /// Direct3D 12).
    ///
    /// # Errors
    /// As [`require`](Self::require); [`StateError::UsedBeforeAcquired`] when this recording has used it.
    pub fn acquire(&mut self, resource: &H, state: State) -> Result<(), StateError> {
        let cell = resource.as_ref();
        if !state.is_empty() {
            cell.check(Subresource::All, state, self.model, self.kind)?;
        }
        let index = self.find_or_insert(cell, || resource.clone());
        let Some(entry) = self.entries.get_mut(index) else { return Ok(()) };
        let uses = entry.parts(&self.spill).unwrap_or(std::slice::from_ref(&entry.whole));
        if uses.iter().any(|part| part.now.used) {
            return Err(StateError::UsedBeforeAcquired);
        }
        let group = self.group;
        entry.update(Subresource::All, &mut self.spill, |part| *part = PartUse::acquired(state, group));
        Ok(())
    }

    /// Releases a whole resource to a peer after this recording, in the last [required](Self::require) state: the submission
    /// waits for all earlier uses, also reads. Must follow the [`flush`](Self::flush) for that state.
    pub fn release(&mut self, resource: &H) {
        let index = self.find_or_insert(resource.as_ref(), || resource.clone());
        let group = self.group;
        if let Some(entry) = self.entries.get_mut(index) {
            entry.update(Subresource::All, &mut self.spill, |part| part.release(group));
        }
    }

    /// The barriers to record before the next command, aliasing barriers first. All of them are taken, even if the iterator is
    /// not run to its end.
    ///
    /// O(requests since the last flush), and O(subresources) for activated resources.
    pub fn flush(&mut self) -> Flush<'_, H> {
        self.ready.clear();
        if !self.activations.is_empty() {
            self.flush_activations();
        }
        let (group, ready) = (self.group, &mut self.ready);
        for &(index, subresource) in &self.pending {
            match self.entries.get_mut(index) {
                Some(entry) if entry.pending == 0 => {}
                Some(entry) if !entry.split => entry.flush_whole(index, group, ready),
                Some(entry) => entry.flush_parts(index, subresource, &mut self.spill, group, ready),
                None => {}
            }
        }
        self.pending.clear();
        self.group = self.group.saturating_add(1);
        Flush::new((&self.entries, &self.previous_owners), &self.ready, self.kind)
    }

    /// Ends the recording; the tracker is empty and ready for the next one.
    ///
    /// # Errors
    /// [`StateError::Unflushed`] when barriers are pending; then nothing has changed.
    pub fn close(&mut self) -> Result<Recorded<H>, StateError> {
        let pending = self.entries.iter().map(|entry| entry.pending).sum::<usize>();
        let pending = pending.saturating_add(self.activations.len());
        if pending > 0 {
            return Err(StateError::Unflushed { pending });
        }
        let entries = std::mem::take(&mut self.entries);
        let spill = std::mem::take(&mut self.spill);
        let previous_owners = std::mem::take(&mut self.previous_owners);
        let is_publishing = self.is_publishing;
        self.reset();
        Ok(Recorded { entries, spill, previous_owners, model: self.model, kind: self.kind, is_publishing })
    }

    /// Discards the recording, which will not be submitted.
    pub fn reset(&mut self) {
        self.entries.clear();
        self.spill.clear();
        self.previous_owners.clear();
        self.activations.clear();
        self.pending.clear();
        self.map.clear();
        self.group = 1;
        self.is_publishing = false;
    }

    /// Declares that this recording may change read-only resources, and leaves them in their declared states. Other
    /// recordings only read them.
    #[doc(hidden)]
    pub fn set_publishing(&mut self) {
        self.is_publishing = true;
    }

    /// Takes back the memory of a recording that will not be submitted again. Has no effect in the middle of the next
    /// recording.
    pub fn recycle(&mut self, recorded: Recorded<H>) {
        if self.entries.is_empty() {
            self.entries = recorded.entries;
            self.spill = recorded.spill;
            self.previous_owners = recorded.previous_owners;
            self.reset();
        }
    }

    /// Adds a [checked](Self::check) request. `resource` creates a handle, for the first request.
    ///
    /// `ordered`: the command depends on the uses in the same state right before.
    #[inline]
    #[doc(hidden)]
    pub fn note(
        &mut self,
        cell: &StateCell,
        resource: impl FnOnce() -> H,
        subresource: Subresource,
        state: State,
        ordered: bool,
    ) {
        let rules = Rules::of(self.model, cell, self.kind);
        let state = rules.named(state);
        let subresource = if cell.count() == 1 { Subresource::All } else { subresource };
        let index = self.find_or_insert(cell, resource);
        if let Some(entry) = self.entries.get_mut(index) {
            let added = match subresource {
                Subresource::All if !entry.split => entry.require_whole(rules, state, ordered, self.group),
                _ => entry.require(subresource, &mut self.spill, rules, state, ordered, self.group),
            };
            if added {
                self.pending.push((index, subresource));
            }
        }
    }

    /// Notes that the command of the last request writes all of the subresource, which is in use. If no use precedes it, the
    /// contents from before the recording are not needed.
    #[doc(hidden)]
    pub fn note_overwrite(&mut self, cell: &StateCell, subresource: Subresource) {
        let subresource = if cell.count() == 1 { Subresource::All } else { subresource };
        if let Some(entry) = self.find(cell).and_then(|index| self.entries.get_mut(index)) {
            entry.update(subresource, &mut self.spill, PartUse::overwrite);
        }
    }

    /// Returns the error of [`require`](Self::require), without a request. O(1).
    ///
    /// # Errors
    /// As [`require`](Self::require).
    pub fn check(&self, resource: &H, subresource: Subresource, state: State) -> Result<(), StateError> {
        self.check_cell(resource.as_ref(), subresource, state)
    }

    /// As [`check`](Self::check), by the resource's cell.
    #[inline]
    #[doc(hidden)]
    pub fn check_cell(
        &self,
        cell: &StateCell,
        subresource: Subresource,
        state: State,
    ) -> Result<(), StateError> {
        cell.check(subresource, state, self.model, self.kind)
    }

    /// `state` together with the states requested for the same command, of all of these subresources.
    ///
    /// O(1); O(subresources) for all of them, if their uses differ.
    ///
    /// # Errors
    /// [`StateError::InvalidCombination`].
    pub fn combined(
        &self,
        cell: &StateCell,
        subresource: Subresource,
        state: State,
    ) -> Result<State, StateError> {
        let state = state | self.requested(cell, subresource);
        if is_valid(state) { Ok(state) } else { Err(StateError::InvalidCombination { state }) }
    }

    /// The states requested for the next command, of all of these subresources. O(1); O(subresources) for all of them, if their
    /// uses differ.
    #[doc(hidden)]
    #[must_use]
    pub fn requested(&self, cell: &StateCell, subresource: Subresource) -> State {
        let Some(entry) = self.find(cell).and_then(|index| self.entries.get(index)) else {
            return State::COMMON;
        };
        let parts = match (entry.parts(&self.spill), subresource) {
            (None, _) => std::slice::from_ref(&entry.whole),
            (Some(parts), Subresource::All) => parts,
            (Some(parts), Subresource::One(index)) => {
                parts.get(index as usize).map(std::slice::from_ref).unwrap_or_default()
            }
        };
        let rules = Rules::of(self.model, cell, self.kind);
        parts.iter().fold(State::COMMON, |state, part| state | rules.unnamed(part.asked_in(self.group)))
    }

    /// The resources in use.
    #[doc(hidden)]
    pub fn resources(&self) -> impl Iterator<Item = &StateCell> {
        self.entries.iter().map(Entry::cell)
    }

    /// Whether barriers of this resource are pending: for its uses, or because of an activation.
    /// O([activations](Self::activate) since the last flush).
    pub fn is_pending(&self, resource: &H) -> bool {
        let Some(index) = self.find(resource.as_ref()) else { return false };
        self.entries.get(index).is_some_and(|entry| entry.pending > 0)
            || self.activations.iter().any(|activation| activation.entry == index)
    }

    /// The index of the resource's entry, if it has one.
    #[inline]
    pub(super) fn find(&self, cell: &StateCell) -> Option<usize> {
        let found = match &self.slot {
            Some(slot) => Some(cell.hints().get(slot)),
            None => self.map.get(&cell.id()).copied(),
        };
        let is_here = |index: &usize| self.entries.get(*index).is_some_and(|e| std::ptr::eq(e.cell(), cell));
        found.filter(is_here)
    }

    /// The index of the resource's entry, added if necessary.
    #[inline]
    pub(super) fn find_or_insert(&mut self, cell: &StateCell, resource: impl FnOnce() -> H) -> usize {
        self.find(cell).unwrap_or_else(|| self.insert(resource(), cell))
    }

    fn insert(&mut self, resource: H, cell: &StateCell) -> usize {
        let index = self.entries.len();
        match &self.slot {
            Some(slot) => cell.hints().set(slot, index),
            None => {
                self.map.insert(cell.id(), index);
            }
        }
        self.entries.push(Entry {
            resource,
            whole: PartUse::UNUSED,
            split: false,
            parts: None,
            pending: 0,
            barrier: 0,
            led: None,
        });
        index
    }
}

impl<H: AsRef<StateCell>> Entry<H> {
    /// Adds a request for all subresources, with one common use. True if a barrier became pending.
    #[inline]
    fn require_whole(&mut self, rules: Rules, state: State, ordered: bool, group: u32) -> bool {
        let was_pending = self.pending > 0;
        self.whole.require(rules, state, ordered, Clock { group, barrier: self.barrier });
        let is_pending = self.whole.pending != Pending::No;
        self.pending = if is_pending { self.cell().count() } else { 0 };
        is_pending && !was_pending
    }

    /// Adds a request for all or one of the subresources. True if a barrier became pending.
    fn require(
        &mut self,
        subresource: Subresource,
        spill: &mut Vec<PartUse>,
        rules: Rules,
        state: State,
        ordered: bool,
        group: u32,
    ) -> bool {
        let clock = Clock { group, barrier: self.barrier };
        let mut added = false;
        self.update(subresource, spill, |part| {
            let was = part.pending;
            part.require(rules, state, ordered, clock);
            added |= was == Pending::No && part.pending != Pending::No;
        });
        if subresource == Subresource::All {
            self.collapse(spill, clock);
        }
        added
    }

    /// Applies a change to all or one of the subresources and updates the number of pending barriers.
    pub(super) fn update(
        &mut self,
        subresource: Subresource,
        spill: &mut Vec<PartUse>,
        mut change: impl FnMut(&mut PartUse),
    ) {
        let mut counted = |part: &mut PartUse, weight: usize, pending: usize| {
            let was = usize::from(part.pending != Pending::No) * weight;
            change(part);
            pending - was + usize::from(part.pending != Pending::No) * weight
        };
        let count = self.cell().count();
        match subresource {
            Subresource::All if !self.split => {
                self.pending = counted(&mut self.whole, count, self.pending);
            }
            Subresource::All => {
                let mut pending = self.pending;
                for part in self.split(spill) {
                    pending = counted(part, 1, pending);
                }
                self.pending = pending;
            }
            Subresource::One(index) => {
                let mut pending = self.pending;
                if let Some(part) = self.split(spill).get_mut(index as usize) {
                    pending = counted(part, 1, pending);
                }
                self.pending = pending;
            }
        }
    }

    /// The separate uses of the subresources, created from the common one if necessary.
    fn split<'a>(&mut self, spill: &'a mut Vec<PartUse>) -> &'a mut [PartUse] {
        let count = self.cell().count();
        let start = *self.parts.get_or_insert_with(|| {
            let start = spill.len();
            spill.resize(start + count, PartUse::UNUSED);
            start
        });
        let parts = spill.get_mut(start..start + count).unwrap_or_default();
        if !self.split {
            self.split = true;
            parts.fill(self.whole);
        }
        parts
    }

    /// Returns to one common use if all agree.
    pub(super) fn collapse(&mut self, spill: &[PartUse], clock: Clock) {
        if let Some(whole) = self.parts(spill).and_then(|parts| PartUse::common(parts, clock)) {
            self.whole = whole;
            self.split = false;
        }
    }

    /// Moves the pending barriers of a request into the group.
    fn flush_parts(
        &mut self,
        index: usize,
        subresource: Subresource,
        spill: &mut Vec<PartUse>,
        group: u32,
        ready: &mut Vec<Ready>,
    ) {
        self.flush_agreeing(index, spill, ready);
        let parts = match subresource {
            Subresource::All => 0..self.cell().subresources(),
            Subresource::One(part) => part..part.saturating_add(1),
        };
        for part in parts {
            self.flush_one(index, part, spill, group, ready);
        }
    }

    /// Moves the pending barrier of all subresources, with one common use, into the group.
    #[inline]
    fn flush_whole(&mut self, index: usize, group: u32, ready: &mut Vec<Ready>) {
        if let Some(states) = self.whole.transition() {
            ready.push(Ready::Transition { entry: index, subresource: Subresource::All, states });
        } else {
            self.order(index, group, ready);
        }
        self.whole.flushed();
        self.pending = 0;
    }

    /// Adds one transition for the whole resource if the same is pending for every subresource.
    fn flush_agreeing(&mut self, index: usize, spill: &mut [PartUse], ready: &mut Vec<Ready>) {
        let count = self.cell().count();
        if self.pending < count {
            return;
        }
        let Some(parts) = self.parts.and_then(|start| spill.get_mut(start..start + count)) else {
            return;
        };
        let Some(states) = parts.first().and_then(PartUse::transition) else { return };
        if parts.iter().any(|part| part.transition() != Some(states)) {
            return;
        }
        parts.iter_mut().for_each(PartUse::flushed);
        self.pending = 0;
        ready.push(Ready::Transition { entry: index, subresource: Subresource::All, states });
    }

    /// Moves the pending barrier of one subresource into the group.
    fn flush_one(
        &mut self,
        index: usize,
        part: u32,
        spill: &mut Vec<PartUse>,
        group: u32,
        ready: &mut Vec<Ready>,
    ) {
        let Some(found) = self.split(spill).get_mut(part as usize) else { return };
        let pending = found.pending;
        if pending == Pending::No {
            return;
        }
        if let Some(states) = found.transition() {
            ready.push(Ready::Transition { entry: index, subresource: Subresource::One(part), states });
        }
        found.flushed();
        self.pending -= 1;
        if pending == Pending::Unordered && self.order(index, group, ready) {
            self.split(spill).iter_mut().for_each(|part| part.covered_by(group));
        }
    }

    /// Adds an unordered barrier to the group, unless there is one. True if added.
    fn order(&mut self, index: usize, group: u32, ready: &mut Vec<Ready>) -> bool {
        let is_new = self.barrier != group;
        if is_new {
            ready.push(Ready::Unordered { entry: index });
            self.barrier = group;
        }
        is_new
    }
}

/// Number of trackers that can be live at once without a map.
const SLOTS: usize = 8;

/// Bit *i* is set while slot *i* is held.
static HELD_SLOTS: AtomicU8 = AtomicU8::new(0);

/// A slot of a live tracker, freed when it is dropped.
///
/// Slots let a tracker find a resource without hashing. Each cell stores a number for each slot: the index at which the tracker
/// in that slot keeps the resource. The number may be left over from an earlier recording, so the tracker verifies that the
/// resource is really there (Briggs and Torczon's sparse set). No other tracker writes the numbers of a slot during the
/// lifetime of its tracker, so a resource that is not found there is not in the tracker. Trackers without a slot use a map.
#[derive(Debug)]
struct Slot(usize);

impl Slot {
    /// The lowest free slot, if any.
    fn acquire() -> Option<Self> {
        let taken = HELD_SLOTS.fetch_update(Ordering::Acquire, Ordering::Relaxed, |held| {
            (held != u8::MAX).then(|| held | (held + 1))
        });
        taken.ok().map(|held| Self(held.trailing_ones() as usize))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        HELD_SLOTS.fetch_and(!(1 << self.0), Ordering::Release);
    }
}

/// The index hints of one cell, one for each slot.
#[derive(Debug, Default)]
pub(super) struct Hints([AtomicU32; SLOTS]);

impl Hints {
    /// The last index of the resource in the slot's tracker.
    fn get(&self, slot: &Slot) -> usize {
        self.0[slot.0].load(Ordering::Relaxed) as usize
    }

    /// Sets the index of the resource in the slot's tracker.
    fn set(&self, slot: &Slot, index: usize) {
        // An index beyond 32 bits needs 2^32 live resources; its hint is never valid.
        self.0[slot.0].store(u32::try_from(index).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}
