//! Resources that take over bytes which others had: aliasing barriers and their scopes.

use super::batch::Ready;
use super::cell::{Part, Parts};
use super::part_use::{Clock, PartUse};
use super::recorded::Entry;
use super::rules::Rules;
use super::{StateCell, Tracker};
use crate::device::{QueueId, State, StateModel, Subresource};

/// An aliasing barrier for the next batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    pub(super) entry: usize,
    /// The number of the previous owner, while there is only one.
    before: Option<usize>,
    from: State,
    /// The states that the barriers led to by which the previous owners got the bytes.
    led: State,
}

impl Activation {
    /// The uses that the barrier names. What was done before the previous owners got the bytes is in
    /// order by their barriers; but synchronization validation on Vulkan does not follow such a chain through a
    /// barrier on one image, and so the barrier leads on from where theirs led.
    fn named(&self) -> State {
        if self.from.is_empty() { State::COMMON } else { self.from | self.led }
    }
}

impl<H: Clone + AsRef<StateCell>> Tracker<H> {
    /// The recordings are for this queue. What others did with bytes that change hands is then left
    /// out of the barriers: it is waited for.
    #[must_use]
    pub const fn on(mut self, queue: QueueId) -> Self {
        self.queue = Some(queue);
        self
    }

    /// From here on `resource` has bytes that `previous_owners` had, and `others`, no longer known, used in
    /// those states; its contents are undefined. To be called before the first
    /// [`require`](Self::require) for the first command that uses it so.
    ///
    /// * The next flush hands out one [`StateBarrier::Aliasing`](super::StateBarrier::Aliasing) in
    ///   front of all else. It names how the previous owners have used the bytes since they were last put in
    ///   order, on this recording's queue (see [`on`](Self::on)); on [`StateModel::Explicit`], if
    ///   there is any such use, also what the barriers led to by which they had them; and what is requested of `resource`
    ///   until that flush: when that is not a request for every subresource, all that its usage and
    ///   the queue allow.
    /// * On [`StateModel::Explicit`] all subresources are in [`State::COMMON`], as if new. On
    ///   [`StateModel::Promotion`] they stay what they are, and those of a [target](StateCell::with_initialization)
    ///   are initialized by the barrier before their next use. Either way no barrier in front of the
    ///   recording touches what is not used before.
    /// * The submission waits for what the previous owners did on other queues.
    /// * What was requested of `resource` since the last flush is forgotten.
    ///
    /// `resource` must not be in use by another recording that is not submitted yet, and
    /// [`StateCell::may_activate_on`] must hold. On [`StateModel::Promotion`] its state is taken from
    /// the submissions so far; should another be submitted in between, barriers go in front of the
    /// recording after all. It may be activated again in the same recording, used or not.
    ///
    /// O(previous owners), and O(subresources) where those of a resource or of a previous owner differ.
    pub fn activate(&mut self, resource: &H, previous_owners: &[H], others: State) {
        let cell = resource.as_ref();
        let from = previous_owners
            .iter()
            .fold(others, |from, previous_owner| from | self.uses_of(previous_owner.as_ref()));
        let led = previous_owners.iter().map(|previous_owner| self.led_to(previous_owner.as_ref())).collect();
        let first = self.previous_owners.len();
        self.previous_owners.extend_from_slice(previous_owners);
        let before = (previous_owners.len() == 1 && others.is_empty()).then_some(first);
        let entry = self.find_or_insert(cell, || resource.clone());
        match self.activations.iter_mut().find(|other| other.entry == entry) {
            Some(other) => {
                *other = Activation { entry, before: None, from: other.from | from, led: other.led | led };
            }
            None => self.activations.push(Activation { entry, before, from, led }),
        }
        let (rules, batch) = (Rules::of(self.model, cell, self.kind), self.batch);
        if let Some(entry) = self.entries.get_mut(entry) {
            entry.take_over(rules, batch, &mut self.spill);
        }
    }

    /// How a resource was used on this queue since it was last put in order.
    fn uses_of(&self, cell: &StateCell) -> State {
        let rules = Rules::of(self.model, cell, self.kind);
        let known = State::allowed_on(self.kind);
        let earlier = |part: &Part| match self.model {
            StateModel::Explicit => part.open_on(self.queue) & known,
            // The end of a submission orders everything before it.
            StateModel::Promotion => State::COMMON,
        };
        let found = self.find(cell).and_then(|index| Some((index, self.entries.get(index)?)));
        let submitted = cell.lock();
        let parts = submitted.parts.as_slice();
        let Some((index, entry)) = found else { return parts.iter().map(earlier).collect() };
        // Taken over itself, and given away again before anything was done with it.
        let pending = self.activations.iter().find(|activation| activation.entry == index);
        let mut all = pending.map_or(State::COMMON, |activation| activation.from);
        let uses = entry.parts(&self.spill).unwrap_or(std::slice::from_ref(&entry.whole));
        let whole = !entry.split;
        for (index, wanted) in uses.iter().enumerate() {
            let now = &wanted.now;
            all |= now.open;
            if now.used && !now.continues() {
                continue;
            }
            // While one of the two stands for all, it does for each of the other.
            let parts =
                if whole || parts.len() == 1 { parts } else { parts.get(index..=index).unwrap_or(&[]) };
            // Reads that the first use does not add to are ordered by a barrier before the recording.
            let stays = |state: &State| !now.used || self.queue.is_none() || rules.merges(*state, now.first);
            all |= parts.iter().map(earlier).filter(stays).collect::<State>();
        }
        all
    }

    /// Where the aliasing barrier led by which a resource had its bytes, on this queue.
    fn led_to(&self, cell: &StateCell) -> State {
        if self.model == StateModel::Promotion {
            return State::COMMON;
        }
        let here = self.find(cell).and_then(|index| self.entries.get(index)?.led);
        let earlier = || {
            let led = cell.lock().led.filter(|(queue, _)| self.queue.is_none_or(|mine| mine == *queue));
            led.map_or(State::COMMON, |(_, to)| to & State::allowed_on(self.kind))
        };
        here.unwrap_or_else(earlier)
    }

    /// Puts the aliasing barriers in front of the batch.
    pub(super) fn flush_activations(&mut self) {
        for activation in self.activations.drain(..) {
            let Activation { entry: index, before, from, .. } = activation;
            let Some(entry) = self.entries.get_mut(index) else { continue };
            let cell = entry.resource.as_ref();
            let rules = Rules::of(self.model, cell, self.kind);
            let on_queue = State::allowed_on(self.kind);
            let allowed = cell.allowed() & on_queue;
            // Never empty: should it not be used at all, the next to have the bytes come after these.
            let possible = if allowed.is_empty() { on_queue } else { allowed };
            let count = cell.count();
            let uses = match entry.parts.filter(|_| entry.split) {
                Some(start) => self.spill.get_mut(start..start + count).unwrap_or_default(),
                None => std::slice::from_mut(&mut entry.whole),
            };
            let asked = |part: &PartUse| part.asked_in(self.batch);
            let is_known = uses.iter().all(|part| !asked(part).is_empty());
            let to = if is_known { uses.iter().map(asked).collect() } else { possible };
            uses.iter_mut().for_each(|part| part.aliased(rules, from, to));
            let from = activation.named();
            entry.led = Some(if from.is_empty() { State::COMMON } else { to });
            self.ready.push(Ready::Aliasing { entry: index, before, from, to });
        }
    }
}

impl<H: AsRef<StateCell>> Entry<H> {
    /// Takes over bytes with all subresources.
    fn take_over(&mut self, rules: Rules, batch: u32, spill: &mut Vec<PartUse>) {
        let clock = Clock { batch, barrier: self.barrier };
        // What a subresource that is not used yet will be in when the recording begins.
        let found = match rules.model {
            StateModel::Explicit => Parts::Whole(State::COMMON),
            StateModel::Promotion => self.cell().lock().parts.map(|part| part.settled_after(rules).state),
        };
        match &found {
            Parts::Whole(found) => {
                self.update(Subresource::All, spill, |part| part.take_over(rules, *found, clock));
            }
            Parts::Each(found) => {
                for (index, found) in (0..).zip(found) {
                    self.update(Subresource::One(index), spill, |part| part.take_over(rules, *found, clock));
                }
            }
        }
        self.collapse(spill, clock);
    }
}
