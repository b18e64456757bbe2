//! Activation of resources in memory of other resources: aliasing barriers and their scopes.

use super::cell::{Part, Parts};
use super::flush::Ready;
use super::part_use::{Clock, PartUse};
use super::recorded::Entry;
use super::rules::Rules;
use super::{StateCell, Tracker};
use crate::device::{Api, QueueId, State, StateModel, Subresource};

/// An aliasing barrier for the next group of barriers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    pub(super) entry: usize,
    /// Index of the previous owner, if there is exactly one.
    before: Option<usize>,
    from: State,
    /// The states after the aliasing barriers that activated the previous owners.
    led: State,
}

impl Activation {
    /// The uses covered by the barrier. Uses before the activation of the previous owners are ordered by their own aliasing
    /// barriers; but Vulkan's synchronization validation does not follow such a chain through a barrier on one image, so the
    /// barrier also includes the states after theirs. On Direct3D 12, writes among these would be flushed a second time.
    fn named(&self, layouts: Api) -> State {
        if self.from.is_empty() || layouts == Api::Direct3D12 { self.from } else { self.from | self.led }
    }
}

impl<H: Clone + AsRef<StateCell>> Tracker<H> {
    /// Sets the queue of the recordings. Uses of memory on other queues are then left out of the aliasing barriers, because the
    /// submission waits for them.
    #[must_use]
    pub const fn on(mut self, queue: QueueId) -> Self {
        self.queue = Some(queue);
        self
    }

    /// Activates `resource` in bytes of `previous_owners`, and of `others`, the states in which unknown former owners used the
    /// bytes; its contents are undefined. Must precede the first [`require`](Self::require) of the first command that uses it.
    ///
    /// * The next flush returns one [`StateBarrier::Aliasing`](super::StateBarrier::Aliasing) before all other barriers. It
    ///   names the uses of the bytes by the previous owners since the last ordering barrier, on this recording's queue (see
    ///   [`on`](Self::on)); on Vulkan, if there is any such use, also the states after their own aliasing
    ///   barriers; and the states requested of `resource` until that flush: unless every subresource is requested, all states
    ///   allowed by its usage and the queue.
    /// * On [`StateModel::Explicit`] all subresources are in [`State::COMMON`], as if new. On [`StateModel::Promotion`] they
    ///   keep their states, and the subresources of a [target](StateCell::with_initialization) are initialized by the barrier
    ///   before their next use. Either way no barrier in front of the recording affects a subresource that was not used before.
    /// * The submission waits for the uses by previous owners on other queues.
    /// * Requests for `resource` since the last flush are discarded.
    ///
    /// A resource that no other has replaced in its bytes since its last activation needs no activation: its states continue,
    /// also across frames. On [`StateModel::Explicit`] an activation without previous owners would leave its next use unordered
    /// after its own earlier uses.
    ///
    /// `resource` must not be in use by another recording that is not submitted yet, and [`StateCell::may_activate_on`] must
    /// hold. On [`StateModel::Promotion`] its state is taken from the submissions so far; if another one is submitted in
    /// between, barriers go in front of the recording after all. It may be activated again in the same recording, used or not.
    ///
    /// O(previous owners), and O(subresources) for a resource or a previous owner with different states of subresources.
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
        let (rules, group) = (Rules::of(self.model, cell, self.kind), self.group);
        if let Some(entry) = self.entries.get_mut(entry) {
            entry.take_over(rules, group, &mut self.spill);
        }
    }

    /// The uses of a resource on this queue since the last barrier that orders them.
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
        // Activated itself, and replaced before any use.
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
            // If one of the two is common to all subresources, it applies to each of the other.
            let parts =
                if whole || parts.len() == 1 { parts } else { parts.get(index..=index).unwrap_or(&[]) };
            // A barrier before the recording orders reads that the first use does not extend.
            let stays = |state: &State| !now.used || self.queue.is_none() || rules.merges(*state, now.first);
            all |= parts.iter().map(earlier).filter(stays).collect::<State>();
        }
        all
    }

    /// The states after the aliasing barrier that activated a resource, on this queue.
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

    /// Puts the aliasing barriers at the beginning of the group.
    pub(super) fn flush_activations(&mut self) {
        for activation in self.activations.drain(..) {
            let Activation { entry: index, before, from, .. } = activation;
            let Some(entry) = self.entries.get_mut(index) else { continue };
            let cell = entry.resource.as_ref();
            let rules = Rules::of(self.model, cell, self.kind);
            let on_queue = State::allowed_on(self.kind);
            let allowed = cell.allowed() & on_queue;
            // Never empty: if the resource is not used at all, the next owner of the bytes is ordered after these states.
            let possible = if allowed.is_empty() { on_queue } else { allowed };
            let count = cell.count();
            let uses = match entry.parts.filter(|_| entry.split) {
                Some(start) => self.spill.get_mut(start..start + count).unwrap_or_default(),
                None => std::slice::from_mut(&mut entry.whole),
            };
            let asked = |part: &PartUse| part.asked_in(self.group);
            let is_known = uses.iter().all(|part| !asked(part).is_empty());
            let to = if is_known { uses.iter().map(asked).collect() } else { possible };
            uses.iter_mut().for_each(|part| part.aliased(rules, from, to));
            let from = activation.named(cell.layouts());
            entry.led = Some(if from.is_empty() { State::COMMON } else { to });
            self.ready.push(Ready::Aliasing { entry: index, before, from, to });
        }
    }
}

impl<H: AsRef<StateCell>> Entry<H> {
    /// Activates all subresources.
    fn take_over(&mut self, rules: Rules, group: u32, spill: &mut Vec<PartUse>) {
        let clock = Clock { group, barrier: self.barrier };
        // The state of unused subresources at the beginning of the recording.
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
