//! The barrier that one subresource needs before a recording.

use super::cell::Part;
use super::part_use::Uses;
use super::rules::{Rules, Step, is_unordered};
use super::{ResourceKind, StateError};
use crate::device::{MAX_QUEUES, QueueId, QueueKind, QueueProperties, QueueSerial, State, StateModel};

/// The queue that executes a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierPosition {
    /// In front of the recording.
    Here,
    /// On another queue, before the submission.
    Elsewhere(QueueId),
    /// Released by that queue, acquired in front of the recording.
    Handover(QueueId),
}

/// The step before a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// No step; the state stays the same.
    Keep,
    /// No barrier; the state changes to this one implicitly.
    Free(State),
    /// An unordered barrier.
    Unordered,
    /// A transition. `discarded`: executed in front of the recording, with a discard in that state in between.
    Transition { position: BarrierPosition, before: State, after: State, discarded: Option<State> },
}

impl Plan {
    /// True for a transition with a discard.
    const fn discards(&self) -> bool {
        matches!(self, Self::Transition { discarded: Some(_), .. })
    }
}

/// A submission in progress, as seen by one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) rules: Rules,
    pub(super) submission: QueueSerial,
    pub(super) queues: &'a [QueueProperties],
    /// The kind of the submission's queue.
    pub(super) kind: QueueKind,
    /// The number of the queue's unordered barriers on the resource.
    pub(super) epoch: u32,
}

impl Context<'_> {
    /// The step that `part`, already settled, needs before `wanted`.
    pub(super) fn plan(&self, part: &Part, wanted: &Uses) -> Result<Plan, StateError> {
        if wanted.fresh {
            return Ok(Plan::Keep);
        }
        match self.rules.model {
            StateModel::Promotion => self.plan_promotion(part, wanted),
            StateModel::Explicit => self.plan_explicit(part, wanted),
        }
    }

    /// D3D12: states are global, memory is ordered between submissions, and copy queues share only `COMMON` with the other
    /// queues.
    fn plan_promotion(&self, part: &Part, wanted: &Uses) -> Result<Plan, StateError> {
        let same_submission = part.at == Some(self.submission);
        if self.kind == QueueKind::Copy && !same_submission && !part.state.is_empty() {
            let queue = self.capable(part, part.state, |queue| queue.kind != QueueKind::Copy)?;
            let position = BarrierPosition::Elsewhere(queue);
            return Ok(Plan::Transition {
                position,
                before: part.state,
                after: State::COMMON,
                discarded: None,
            });
        }
        let before = part.state;
        // A resource that is activated at the beginning of the recording had another owner before.
        let is_new = part.uninitialized && !wanted.begins_taken;
        let discarded = self.rules.discarded_in.filter(|_| is_new);
        if !self.may_name(before) {
            // The queue supports neither a part of the state nor a wider state.
            let after = wanted.first;
            let queue = self.capable(part, before | after, |queue| queue.kind != QueueKind::Copy)?;
            let position = BarrierPosition::Elsewhere(queue);
            return Ok(Plan::Transition { position, before, after, discarded });
        }
        if discarded.is_some() {
            let after = wanted.first;
            return Ok(Plan::Transition { position: BarrierPosition::Here, before, after, discarded });
        }
        Ok(match self.step(part, before, part.promoted, wanted) {
            Step::Transition(after) => {
                Plan::Transition { position: BarrierPosition::Here, before, after, discarded: None }
            }
            Step::Free(state) => Plan::Free(state),
            Step::Unordered => Plan::Unordered,
            Step::Keep => Plan::Keep,
        })
    }

    /// True if the submission's queue owns the part, and no other queue has used it. Only for `Explicit`.
    #[inline]
    pub(super) fn is_alone(&self, part: &Part, uses: &[u64; MAX_QUEUES]) -> bool {
        let queue = self.submission.queue;
        // Branchless: this is called for each resource of each recording.
        let of_others = |(index, serial): (usize, &u64)| if index == queue.index() { 0 } else { *serial };
        self.rules.model == StateModel::Explicit
            && part.at.is_some_and(|owner| owner.queue == queue)
            && !part.uninitialized
            && uses.iter().enumerate().map(of_others).fold(0, |all, serial| all | serial) == 0
    }

    /// As [`plan`](Self::plan), for a part with the queue as its [only user](Self::is_alone). `None` for rare cases: unordered
    /// accesses, contents of another owner, transitions that the queue does not support.
    #[inline]
    pub(super) fn plan_alone(&self, part: &Part, wanted: &Uses) -> Option<Plan> {
        if !wanted.is_plain() {
            return None;
        }
        let to = wanted.first;
        let step = self.rules.step(part.state, part.promoted, to, wanted.ordered);
        let differs = match step {
            Step::Transition(state) => state != to,
            Step::Keep | Step::Free(_) => !part.state.is_empty() && !to.contains(part.open),
            Step::Unordered => return None,
        };
        let after = match step {
            _ if differs && wanted.is_exact() => to,
            Step::Transition(after) => after,
            Step::Free(state) => return Some(Plan::Free(state)),
            Step::Keep | Step::Unordered => return Some(Plan::Keep),
        };
        let (position, before) = (BarrierPosition::Here, part.state);
        self.may_name(before).then_some(Plan::Transition { position, before, after, discarded: None })
    }

    /// As [`after`](Self::after), for a step of [`plan_alone`](Self::plan_alone).
    #[inline]
    pub(super) fn leave_alone(&self, part: &mut Part, plan: Plan, wanted: &Uses, changes: bool) {
        let at = self.submission;
        let open = match plan {
            Plan::Keep | Plan::Free(_) if !wanted.left && part.state.is_empty() => wanted.first,
            Plan::Keep | Plan::Free(_) if !wanted.left => part.open | wanted.first,
            _ => wanted.open,
        };
        if changes || plan != Plan::Keep {
            (part.state, part.promoted) = self.left_in(part, plan, wanted);
            (part.unordered, part.at) = (0, Some(at));
        } else if part.at != Some(at) {
            // As a later submission finds it.
            part.at = Some(QueueSerial { serial: 0, ..at });
        }
        part.open = open;
    }

    /// Vulkan: memory is ordered by barriers within a queue and by waits between queues, and contents belong to a queue family.
    fn plan_explicit(&self, part: &Part, wanted: &Uses) -> Result<Plan, StateError> {
        if wanted.overwrites && self.rules.discards_in_undefined() && self.is_fresh(part) {
            // The wait for the other queue orders its uses.
            let (position, before) = (BarrierPosition::Here, State::COMMON);
            return Ok(Plan::Transition { position, before, after: wanted.first, discarded: None });
        }
        let before = self.found_by_this_queue(part);
        // Undefined contents need no transfer.
        let owner = part.at.filter(|_| !part.state.is_empty()).map(|at| at.queue);
        if let Some(owner) = owner.filter(|owner| self.is_handed_over_from(*owner)) {
            let position = BarrierPosition::Handover(owner);
            let (before, after) = (part.state, wanted.first);
            return Ok(Plan::Transition { position, before, after, discarded: None });
        }
        let step = if self.is_fresh(part) {
            // No earlier use, or the wait for the other queue made all writes visible: only the layout may differ.
            match wanted.first {
                first if self.rules.same_layout(part.state, first) => Step::Free(first),
                first => Step::Transition(first),
            }
        } else {
            self.step(part, before, part.promoted || self.is_reader(part), wanted)
        };
        let after = match step {
            Step::Transition(after) => after,
            Step::Free(state) => return Ok(Plan::Free(state)),
            Step::Unordered => return Ok(Plan::Unordered),
            Step::Keep => return Ok(Plan::Keep),
        };
        if self.may_name(before) {
            return Ok(Plan::Transition { position: BarrierPosition::Here, before, after, discarded: None });
        }
        let queue = self.capable(part, before, |_| true)?;
        let position = if self.is_handed_over_from(queue) {
            BarrierPosition::Handover(queue)
        } else {
            BarrierPosition::Elsewhere(queue)
        };
        Ok(Plan::Transition { position, before, after: wanted.first, discarded: None })
    }

    /// The step of the rules, made exact if the recording names its first state.
    fn step(&self, part: &Part, from: State, promoted: bool, wanted: &Uses) -> Step {
        let to = wanted.first;
        let unsettled = !is_unordered(to) || part.unordered == self.epoch;
        let step = self.rules.step(from, promoted, to, wanted.ordered && unsettled);
        let differs = match (step, self.rules.model) {
            (Step::Transition(state), _) | (Step::Free(state), StateModel::Promotion) => state != to,
            (Step::Keep, StateModel::Promotion) => from != to,
            // The barrier that leaves `to` must come after the reads that no barrier has followed.
            (Step::Keep | Step::Free(_), StateModel::Explicit) => !to.contains(self.open(part)),
            (Step::Unordered, _) => false,
        };
        if wanted.is_exact() && differs { Step::Transition(to) } else { step }
    }

    /// The uses of the part on this queue since the last barrier. None while it is undefined: earlier uses belong to other
    /// resources.
    fn open(&self, part: &Part) -> State {
        match part.state.is_empty() {
            true => State::COMMON,
            false if self.is_foreign(part) => self.own_reads(part),
            false => part.open,
        }
    }

    /// True when the submission's queue supports transitions from `state`.
    const fn may_name(&self, state: State) -> bool {
        State::allowed_on(self.kind).contains(state)
    }

    /// The state from the point of view of the submission's queue.
    fn found_by_this_queue(&self, part: &Part) -> State {
        if self.is_reader(part) { self.own_reads(part) } else { part.state }
    }

    /// True when the queue has only read since another one led to the state.
    fn is_reader(&self, part: &Part) -> bool {
        self.is_foreign(part) && !self.own_reads(part).is_empty()
    }

    /// True when the queue has not used the part since another one led to the state, or no queue has.
    fn is_fresh(&self, part: &Part) -> bool {
        part.at.is_none() || (self.is_foreign(part) && self.own_reads(part).is_empty())
    }

    fn is_foreign(&self, part: &Part) -> bool {
        part.at.is_some_and(|at| at.queue != self.submission.queue)
    }

    fn own_reads(&self, part: &Part) -> State {
        part.reads.get(self.submission.queue.index()).copied().unwrap_or_default()
    }

    /// True when contents owned by `queue` must be released there and acquired here: contents of textures, whose layout belongs
    /// to a queue family. Buffers are shared by all families.
    fn is_handed_over_from(&self, queue: QueueId) -> bool {
        if self.rules.is_of_all_families {
            return false;
        }
        let (from, to) = (self.family(queue), self.family(self.submission.queue));
        self.rules.kind == ResourceKind::Texture && from.is_some() && from != to
    }

    fn family(&self, queue: QueueId) -> Option<u32> {
        self.queues.get(queue.index()).map(|queue| queue.family)
    }

    /// A queue that supports `states`: the owner, else one of this family, else any.
    fn capable(
        &self,
        part: &Part,
        states: State,
        fits: impl Fn(&QueueProperties) -> bool,
    ) -> Result<QueueId, StateError> {
        let mine = self.family(self.submission.queue);
        let owner = part.at.map(|at| at.queue);
        (0u8..)
            .map(QueueId)
            .zip(self.queues)
            .filter(|(_, queue)| fits(queue) && State::allowed_on(queue.kind).contains(states))
            .min_by_key(|(id, queue)| (Some(*id) != owner, Some(queue.family) != mine, *id))
            .map(|(id, _)| id)
            .ok_or(StateError::NoCapableQueue { state: part.state })
    }

    /// True when, with this plan, the recording writes or transitions the part.
    #[inline]
    pub(super) fn changes(&self, plan: Plan, wanted: &Uses) -> bool {
        let moved = match plan {
            Plan::Transition { position: BarrierPosition::Here, before, after, .. } => {
                self.rules.model == StateModel::Promotion || !self.rules.same_layout(before, after)
            }
            Plan::Transition { .. } => true,
            Plan::Keep | Plan::Free(_) | Plan::Unordered => false,
        };
        moved || wanted.changes()
    }

    /// The part after the submission, which [changes](Self::changes) it or not. `unordered` is the new value of
    /// [`Part::unordered`].
    pub(super) fn after(
        &self,
        part: Part,
        plan: Plan,
        wanted: &Uses,
        (changes, unordered): (bool, u32),
    ) -> Part {
        if !wanted.changes() && self.rules.model == StateModel::Explicit {
            match plan {
                // The other queue made the change; this one only reads.
                Plan::Transition { position: BarrierPosition::Elsewhere(queue), after, .. } => {
                    let moved = Part::in_state(after, Some(QueueSerial { queue, serial: 0 }));
                    return self.also_read(moved, wanted.first);
                }
                Plan::Keep | Plan::Free(_) if self.is_foreign(&part) => {
                    return self.also_read(part, wanted.first);
                }
                _ => {}
            }
        }
        let open = self.left_open(&part, plan, wanted);
        if !changes && plan == Plan::Keep {
            return Part { open, ..part };
        }
        let (state, promoted) = self.left_in(&part, plan, wanted);
        let reads = if changes { Part::NO_READS } else { part.reads };
        let copied = self.rules.model == StateModel::Promotion && self.kind == QueueKind::Copy;
        // A written part has contents, whether or not it was discarded before.
        let was_new = wanted.is_taken() || (part.uninitialized && !plan.discards());
        let uninitialized = was_new && !wanted.initialized;
        Part { state, promoted, open, reads, unordered, at: Some(self.submission), copied, uninitialized }
    }

    /// The value of [`Part::open`] after the recording.
    fn left_open(&self, part: &Part, plan: Plan, wanted: &Uses) -> State {
        match plan {
            _ if self.rules.model == StateModel::Promotion => State::COMMON,
            Plan::Keep | Plan::Free(_) if !wanted.left => self.open(part) | wanted.first,
            _ => wanted.open,
        }
    }

    /// The part, owned by another queue, after reads on this one.
    fn also_read(&self, mut part: Part, state: State) -> Part {
        if let Some(reads) = part.reads.get_mut(self.submission.queue.index()) {
            *reads |= state;
        }
        part
    }

    /// The state after the recording, and whether it was reached without a barrier.
    #[inline]
    fn left_in(&self, part: &Part, plan: Plan, wanted: &Uses) -> (State, bool) {
        if wanted.left {
            return (wanted.current, wanted.promoted);
        }
        match plan {
            Plan::Keep | Plan::Unordered => (part.state, part.promoted),
            Plan::Free(state) => (state, true),
            // On a copy queue, from `COMMON`.
            Plan::Transition { position: BarrierPosition::Elsewhere(_), after, .. } if after.is_empty() => {
                (wanted.first, true)
            }
            Plan::Transition { after, .. } => (after, false),
        }
    }
}
