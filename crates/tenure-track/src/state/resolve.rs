//! Connection of a recording to the submissions before it.

use parking_lot::MutexGuard;

use super::cell::{Part, Parts, Submitted};
use super::part_use::PartUse;
use super::plan::{BarrierPosition, Context, Plan};
use super::recorded::Entry;
use super::{Elsewhere, Fixups, Recorded, StateBarrier, StateCell, StateError, Waits};
use crate::device::{MAX_QUEUES, QueueProperties, QueueSerial, QueueTransfer, State, Subresource};

/// Finds the work to submit so that the resources of `recorded` are in their expected states, and stores its last states as the
/// resources' submitted states.
///
/// Calls must be made in the order of submission, one at a time, under the caller's lock: locked before
/// [`Clock::submit`](crate::time::Clock::submit), which calls this with the serial, until the driver has returned. The
/// [crate's documentation](crate#several-queues) has an example. Several recordings may be resolved for one `submission` (serials
/// begin at 1); on [`StateModel::Promotion`](crate::device::StateModel::Promotion) there is no decay between them. `queues` are
/// the queues of the device, always the same.
///
/// O(subresources with separate states + previous owners of activated memory); allocates only while `fixups` grows, when
/// another queue is needed, and when subresources begin to differ.
///
/// # Errors
/// [`StateError::UnknownQueue`], [`StateError::WrongQueue`], [`StateError::NoCapableQueue`],
/// [`StateError::SplitSubmission`], [`StateError::Released`]; then no state has changed and `fixups` is empty.
pub fn resolve<H: Clone + AsRef<StateCell>>(
    recorded: &Recorded<H>,
    submission: QueueSerial,
    queues: &[QueueProperties],
    fixups: &mut Fixups<H>,
) -> Result<(), StateError> {
    fixups.clear();
    let index = submission.queue.index();
    let queue = queues
        .get(index)
        .filter(|_| index < MAX_QUEUES)
        .ok_or(StateError::UnknownQueue { queue: submission.queue, count: queues.len().min(MAX_QUEUES) })?;
    if queue.kind != recorded.kind {
        return Err(StateError::WrongQueue { recorded: recorded.kind, actual: queue.kind });
    }
    for (index, entry) in recorded.entries.iter().enumerate() {
        let is_published = !recorded.is_publishing && entry.cell().is_published();
        if let Some(declared) = entry.cell().read_only().filter(|_| is_published) {
            // Used before it was declared as read-only.
            if let Err(error) = check_reads(recorded, entry, declared) {
                fixups.undo(recorded, &[]);
                return Err(error);
            }
            continue;
        }
        let mut submitted = entry.cell().lock();
        let context = Context {
            rules: recorded.rules(entry.cell()),
            submission,
            queues,
            kind: recorded.kind,
            epoch: submitted.epochs.get(submission.queue.index()).copied().unwrap_or(1),
        };
        if apply_alone((index, entry), &context, &mut submitted, fixups) {
            continue;
        }
        let uses = entry.parts(&recorded.spill);
        let resolved = Resolution { index, entry, uses, context, submitted }.apply(recorded, fixups);
        if let Err(error) = resolved {
            fixups.undo(recorded, &[]);
            return Err(error);
        }
    }
    for previous_owner in &recorded.previous_owners {
        fixups.waits.add(&previous_owner.as_ref().lock().uses, submission.queue);
    }
    Ok(())
}

/// Checks that a recording uses a read-only resource in its declared states alone, without barriers.
fn check_reads<H: AsRef<StateCell>>(
    recorded: &Recorded<H>,
    entry: &Entry<H>,
    declared: State,
) -> Result<(), StateError> {
    let uses = entry.parts(&recorded.spill).unwrap_or(std::slice::from_ref(&entry.whole));
    let rules = recorded.rules(entry.cell());
    uses.iter().filter(|part| part.now.used).try_for_each(|part| {
        let state = rules.unnamed(part.now.first);
        entry.cell().check_read_only(state, declared, recorded.model, recorded.kind)?;
        match part.now.left {
            true => Err(StateError::ReadOnly { state: part.now.current, allowed: declared }),
            false => Ok(()),
        }
    })
}

/// Updates the submitted state of a resource that no other queue has ever used, with one common use and one common state: there
/// is nothing to wait for. It has the results of [`Resolution::apply`] in half of the instructions, because most resources are
/// of this kind. False, without a change, in all other cases.
#[inline]
fn apply_alone<H: Clone>(
    (index, entry): (usize, &Entry<H>),
    context: &Context<'_>,
    submitted: &mut Submitted,
    fixups: &mut Fixups<H>,
) -> bool {
    let Parts::Whole(part) = &submitted.parts else { return false };
    let is_common = !entry.split && entry.led.is_none() && submitted.released.is_empty();
    if !is_common || entry.barrier > 0 || !context.is_alone(part, &submitted.uses) {
        return false;
    }
    let (wanted, at) = (&entry.whole.now, context.submission);
    let Some(plan) = context.plan_alone(part, wanted) else { return false };
    fixups.note_before_whole(index, at.queue, submitted, *part);
    if let Plan::Transition { before, after, .. } = plan {
        let (resource, subresource) = (entry.resource.clone(), Subresource::All);
        fixups.here.push(StateBarrier::Transition { resource, subresource, before, after, transfer: None });
    }
    let changes = context.changes(plan, wanted);
    if let Parts::Whole(part) = &mut submitted.parts {
        context.leave_alone(part, plan, wanted, changes);
    }
    submitted.count_use(at, changes);
    true
}

/// One resource of a recording during its resolution.
struct Resolution<'a, H> {
    /// The index of the entry.
    index: usize,
    entry: &'a Entry<H>,
    /// The separate uses of the subresources; `None` for one common use.
    uses: Option<&'a [PartUse]>,
    context: Context<'a>,
    submitted: MutexGuard<'a, Submitted>,
}

impl<H: Clone + AsRef<StateCell>> Resolution<'_, H> {
    /// Updates the resource's submitted state, and adds the necessary work. [`Fixups::undo`] undoes its changes after an error.
    fn apply(&mut self, recorded: &Recorded<H>, fixups: &mut Fixups<H>) -> Result<(), StateError> {
        match (self.uses, &self.submitted.parts) {
            (None, Parts::Whole(part)) if self.submitted.released.is_empty() && self.entry.led.is_none() => {
                let part = *part;
                self.apply_whole(part, fixups)
            }
            _ => {
                self.check(recorded)?;
                self.apply_parts(fixups)
            }
        }
    }

    /// The case of one common use and one common state.
    fn apply_whole(&mut self, part: Part, fixups: &mut Fixups<H>) -> Result<(), StateError> {
        let (entry, wanted, queue) = (self.entry, &self.entry.whole.now, self.context.submission.queue);
        let settled = self.settle(part);
        let mut plan = self.context.plan(&settled, wanted)?;
        self.check_plan(plan)?;
        fixups.note_before_whole(self.index, queue, &self.submitted, part);
        if plan == Plan::Unordered {
            self.order_unordered(fixups);
            plan = self.context.plan(&settled, wanted)?;
        }
        emit(entry, Subresource::All, plan, self.context.submission, fixups);
        let epoch = self.epoch_after();
        let unordered = if wanted.is_unsettled(entry.barrier) { epoch } else { 0 };
        let changes = self.context.changes(plan, wanted);
        let left = self.context.after(settled, plan, wanted, (changes, unordered));
        self.submitted.parts = Parts::Whole(left);
        if let Some(count) = self.submitted.epochs.get_mut(queue.index()) {
            *count = epoch;
        }
        self.wait(changes, fixups);
        Ok(())
    }

    /// Finds errors before any change.
    fn check(&self, recorded: &Recorded<H>) -> Result<(), StateError> {
        if let Some(released) = self.submitted.released.first()
            && self.entry.uses_contents(recorded)
        {
            return Err(StateError::Released { to: released.transfer.to });
        }
        self.plans().try_for_each(|plan| self.check_plan(plan?))
    }

    /// Refuses a transition on another queue after this submission has already used the resource.
    fn check_plan(&self, plan: Plan) -> Result<(), StateError> {
        let elsewhere = match plan {
            Plan::Transition { position, .. } => position != BarrierPosition::Here,
            Plan::Keep | Plan::Free(_) | Plan::Unordered => false,
        };
        let submission = self.context.submission;
        let last_use = || self.submitted.uses.get(submission.queue.index()).copied().unwrap_or(0);
        match elsewhere && last_use() >= submission.serial {
            true => Err(StateError::SplitSubmission { submission }),
            false => Ok(()),
        }
    }

    /// The plan of each subresource with a separate state or use.
    fn plans(&self) -> impl Iterator<Item = Result<Plan, StateError>> {
        let whole = self.uses.is_none() && matches!(self.submitted.parts, Parts::Whole(_));
        let count = if whole { 1 } else { self.entry.cell().count() };
        (0..count).filter_map(|index| {
            let wanted = self.uses.map_or(Some(&self.entry.whole), |uses| uses.get(index))?;
            let part = self.submitted.parts.get(index).filter(|_| wanted.now.used)?;
            Some(self.context.plan(&self.settle(part), &wanted.now))
        })
    }

    fn settle(&self, part: Part) -> Part {
        part.settled(self.context.rules, self.context.submission)
    }

    fn apply_parts(&mut self, fixups: &mut Fixups<H>) -> Result<(), StateError> {
        fixups.note_before(self.index, &self.submitted);
        if self.plans().any(|plan| plan == Ok(Plan::Unordered)) {
            self.order_unordered(fixups);
        }
        let (context, epoch) = (self.context, self.epoch_after());
        let mut changes = false;
        let entry = self.entry;
        for_each(entry, self.uses, &mut self.submitted.parts, |subresource, part, wanted| {
            let wanted = &wanted.now;
            let settled = part.settled(context.rules, context.submission);
            let plan = context.plan(&settled, wanted)?;
            emit(entry, subresource, plan, context.submission, fixups);
            let changes_part = context.changes(plan, wanted);
            changes |= changes_part;
            let unordered = if wanted.is_unsettled(entry.barrier) { epoch } else { 0 };
            *part = context.after(settled, plan, wanted, (changes_part, unordered));
            Ok(())
        })?;
        // An activated resource needs no acquire.
        self.submitted.released.clear();
        if let Some(to) = entry.led {
            self.submitted.led = Some((context.submission.queue, to));
        }
        if let Some(count) = self.submitted.epochs.get_mut(context.submission.queue.index()) {
            *count = epoch;
        }
        self.submitted.parts.collapse(|part| part.settled(context.rules, context.submission));
        self.wait(changes, fixups);
        merge(&mut fixups.here, entry.cell());
        for other in &mut fixups.elsewhere {
            merge(&mut other.barriers, entry.cell());
        }
        Ok(())
    }

    /// One unordered barrier, for all subresources.
    fn order_unordered(&mut self, fixups: &mut Fixups<H>) {
        fixups.here.push(StateBarrier::Unordered { resource: self.entry.resource.clone() });
        self.context.epoch = next_epoch(self.context.epoch);
    }

    /// The number of unordered barriers after the recording, whose own barriers affect the whole resource as well.
    const fn epoch_after(&self) -> u32 {
        if self.entry.barrier > 0 { next_epoch(self.context.epoch) } else { self.context.epoch }
    }

    /// Adds waits for the other queues' uses and counts this one.
    fn wait(&mut self, changes: bool, fixups: &mut Fixups<H>) {
        let Submitted { uses, changes: changed, .. } = &*self.submitted;
        let id = self.entry.cell().id();
        for other in &mut fixups.elsewhere {
            if other.barriers.last().is_some_and(|barrier| barrier.resource().as_ref().id() == id) {
                other.waits.add(uses, other.queue);
            }
        }
        let submission = self.context.submission;
        if !self.entry.cell().has_disjoint_uses() {
            fixups.waits.add(if changes { uses } else { changed }, submission.queue);
        }
        self.submitted.count_use(submission, changes);
    }
}

/// The count after `epoch`; 0 means "none" in parts.
const fn next_epoch(epoch: u32) -> u32 {
    match epoch.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

/// Visits the used subresources with separate states or uses.
fn for_each<H: AsRef<StateCell>>(
    entry: &Entry<H>,
    uses: Option<&[PartUse]>,
    parts: &mut Parts<Part>,
    mut visit: impl FnMut(Subresource, &mut Part, &PartUse) -> Result<(), StateError>,
) -> Result<(), StateError> {
    match (uses, parts) {
        (None, Parts::Whole(part)) => visit(Subresource::All, part, &entry.whole),
        (None, Parts::Each(parts)) => {
            (0..).zip(parts).try_for_each(|(index, part)| visit(Subresource::One(index), part, &entry.whole))
        }
        (Some(uses), parts) => (0..)
            .zip(parts.split(entry.cell().count()))
            .zip(uses)
            .filter(|(_, wanted)| wanted.now.used)
            .try_for_each(|((index, part), wanted)| visit(Subresource::One(index), part, wanted)),
    }
}

/// Adds a transition for the queues that execute it.
fn emit<H: Clone>(
    entry: &Entry<H>,
    subresource: Subresource,
    plan: Plan,
    submission: QueueSerial,
    fixups: &mut Fixups<H>,
) {
    let Plan::Transition { position, before, after, discarded } = plan else { return };
    let transfer = match position {
        BarrierPosition::Handover(from) => Some(QueueTransfer { from, to: submission.queue }),
        BarrierPosition::Here | BarrierPosition::Elsewhere(_) => None,
    };
    let resource = || entry.resource.clone();
    let barrier = || StateBarrier::Transition { resource: resource(), subresource, before, after, transfer };
    if let Some(discarded_in) = discarded {
        let before = if position == BarrierPosition::Here { before } else { after };
        let resource = resource();
        fixups.here.push(StateBarrier::Initialize { resource, subresource, before, discarded_in, after });
    }
    if let BarrierPosition::Elsewhere(queue) | BarrierPosition::Handover(queue) = position
        && let Some(other) = fixups.on(queue)
    {
        other.barriers.push(barrier());
    }
    if let BarrierPosition::Here | BarrierPosition::Handover(_) = position
        && discarded.is_none()
    {
        fixups.here.push(barrier());
    }
}

/// Replaces barriers on every subresource of the last resource by one, if they agree.
fn merge<H: AsRef<StateCell>>(barriers: &mut Vec<StateBarrier<H>>, cell: &StateCell) {
    let count = cell.count();
    let Some(tail) = barriers.len().checked_sub(count).filter(|_| count > 1) else { return };
    let Some(agreed) = barriers.last().and_then(|last| moves(last, cell)) else { return };
    if barriers.iter().skip(tail).all(|barrier| moves(barrier, cell) == Some(agreed)) {
        barriers.truncate(tail + 1);
        if let Some(
            StateBarrier::Transition { subresource, .. } | StateBarrier::Initialize { subresource, .. },
        ) = barriers.last_mut()
        {
            *subresource = Subresource::All;
        }
    }
}

/// The states of a transition of one subresource of `cell`: before, during the discard, after.
fn moves<H: AsRef<StateCell>>(
    barrier: &StateBarrier<H>,
    cell: &StateCell,
) -> Option<([State; 2], Option<State>, Option<QueueTransfer>)> {
    if barrier.resource().as_ref().id() != cell.id() {
        return None;
    }
    match *barrier {
        StateBarrier::Transition { subresource: Subresource::One(_), before, after, transfer, .. } => {
            Some(([before, after], None, transfer))
        }
        StateBarrier::Initialize {
            subresource: Subresource::One(_), before, discarded_in, after, ..
        } => Some(([before, after], Some(discarded_in), None)),
        _ => None,
    }
}

/// The missing acquires of transfers that a recording depends on: one queue has released a resource, and the submission with
/// the acquire on the other queue was refused.
///
/// Call it before [`resolve`], under the same lock. For each result: wait for its waits, submit its barriers to its queue, and
/// call [`Elsewhere::acquired`]. An activated resource needs none: its contents are undefined.
///
/// O(resources of the recording). Allocates only for a result; there is none while [`Fixups::has_released`] is false.
#[must_use]
pub fn unfinished<H: Clone + AsRef<StateCell>>(recorded: &Recorded<H>) -> Vec<Elsewhere<H>> {
    let mut all: Vec<Elsewhere<H>> = Vec::new();
    for entry in recorded.entries.iter().filter(|entry| entry.uses_contents(recorded)) {
        let submitted = entry.cell().lock();
        for released in &submitted.released {
            let queue = released.transfer.to;
            let found = all.iter().position(|other| other.queue == queue);
            let index = found.unwrap_or(all.len());
            if found.is_none() {
                all.push(Elsewhere { queue, waits: Waits::default(), barriers: Vec::new() });
            }
            let Some(other) = all.get_mut(index) else { continue };
            other.waits.add(&submitted.uses, queue);
            other.barriers.push(StateBarrier::Transition {
                resource: entry.resource.clone(),
                subresource: released.subresource,
                before: released.before,
                after: released.after,
                transfer: Some(released.transfer),
            });
        }
    }
    all
}

impl<H: AsRef<StateCell>> Entry<H> {
    /// True when the recording needs the earlier contents of the resource.
    pub(super) fn uses_contents(&self, recorded: &Recorded<H>) -> bool {
        let uses = self.parts(&recorded.spill).unwrap_or(std::slice::from_ref(&self.whole));
        uses.iter().any(|part| part.now.used && !part.now.fresh)
    }
}

impl<H: AsRef<StateCell>> Elsewhere<H> {
    /// Records the submission of these barriers, from [`unfinished`].
    pub fn acquired(&self, at: QueueSerial) {
        for barrier in &self.barriers {
            if let StateBarrier::Transition { resource, subresource, after, .. } = barrier {
                resource.as_ref().note_acquired(*subresource, *after, at);
            }
        }
    }
}
