//! The uses of one subresource in one recording.

use super::ResourceKind;
use super::rules::{Rules, Step, is_read, is_unordered};
use crate::device::{State, StateModel};

/// A barrier to be returned by the next flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// None.
    No,
    /// A transition.
    Transition,
    /// A transition that discards the contents.
    Discard,
    /// An unordered barrier.
    Unordered,
}

/// The position of a use in a recording, for unordered barriers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The group of barriers before the next command, counted from 1.
    pub(super) group: u32,
    /// The last group with an unordered barrier on the resource; 0: none.
    pub(super) barrier: u32,
}

/// The uses of one subresource up to a point of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// False: not used in this recording.
    pub(super) used: bool,
    /// The expected state at the beginning of the recording.
    pub(super) first: State,
    /// True if the first use depends on earlier recordings' uses in the same state.
    pub(super) ordered: bool,
    /// True after the recording has left `first`.
    pub(super) left: bool,
    /// True if a barrier of the recording names `first` as the state before it.
    exact: bool,
    /// True if no state is expected, because the subresource was first activated in new memory (on `Explicit` only), or
    /// acquired from a peer.
    pub(super) fresh: bool,
    /// True if the contents changed by an activation, or while a peer owned it.
    taken: bool,
    /// True if the first use writes all of the subresource, so that no earlier contents are needed.
    pub(super) overwrites: bool,
    /// On `Promotion`: true if the activation came before the first use.
    pub(super) begins_taken: bool,
    /// True after a discard or a write since the beginning of the recording, or since the activation; or if it needs none.
    pub(super) initialized: bool,
    /// The current state. On `Explicit`, `COMMON` from an activation to the next use.
    pub(super) current: State,
    /// True if `current` was reached without a barrier since `COMMON`.
    pub(super) promoted: bool,
    /// The states used since the last barrier; without a use, the states after that barrier.
    pub(super) open: State,
    /// The group of barriers before the first use.
    since: u32,
    /// The group of barriers before the last unordered access; 0: none.
    unordered: u32,
}

impl Uses {
    const NONE: Self = Self {
        used: false,
        first: State::COMMON,
        ordered: false,
        left: false,
        exact: false,
        fresh: false,
        taken: false,
        overwrites: false,
        begins_taken: false,
        initialized: false,
        current: State::COMMON,
        promoted: false,
        open: State::COMMON,
        since: 0,
        unordered: 0,
    };

    /// Adds a use. Returns the barrier before it.
    #[inline(always)]
    fn add(&mut self, rules: Rules, wanted: State, ordered: bool, clock: Clock) -> Pending {
        if !self.used {
            // An unordered barrier recorded for other subresources affects all.
            let ordered = ordered && !(is_unordered(wanted) && clock.barrier > 0);
            let unordered = if is_unordered(wanted) { clock.group } else { 0 };
            let first = Self { used: true, first: wanted, current: wanted, ordered, ..Self::NONE };
            let initialized = !rules.needs_initialization || wanted.is_write();
            *self = Self { open: wanted, since: clock.group, unordered, initialized, ..first };
            return Pending::No;
        }
        if !self.initialized {
            if self.taken && rules.discarded_in.is_some() {
                self.initialized = true;
                self.unordered = if is_unordered(wanted) { clock.group } else { 0 };
                self.leave(wanted, false);
                self.open = wanted;
                return Pending::Discard;
            }
            self.initialized = wanted.is_write();
        }
        if !self.left && rules.merges(self.first, wanted) {
            self.first |= wanted;
            (self.current, self.open) = (self.first, self.first);
            return Pending::No;
        }
        let ordered = ordered && (!is_unordered(wanted) || self.is_unsettled(clock.barrier));
        if is_unordered(wanted) {
            self.unordered = clock.group;
        }
        if self.awaits_use(rules) {
            // The aliasing barrier leads to the first use; only the layout may need a change. An earlier aliasing barrier leads
            // to all possible uses.
            self.promoted = rules.kind == ResourceKind::Buffer && !self.open.is_empty();
            (self.current, self.open) = (wanted, wanted);
            return if rules.promotes(wanted) { Pending::No } else { Pending::Transition };
        }
        match rules.step(self.current, self.promoted, wanted, ordered) {
            Step::Keep => {
                self.open |= wanted;
                Pending::No
            }
            Step::Free(current) => {
                self.leave(current, true);
                self.open |= wanted;
                Pending::No
            }
            Step::Unordered => {
                self.open |= wanted;
                Pending::Unordered
            }
            Step::Transition(current) => {
                self.leave(current, false);
                self.open = wanted;
                Pending::Transition
            }
        }
    }

    /// Changes the current state.
    fn leave(&mut self, current: State, promoted: bool) {
        self.exact |= !self.left;
        self.left = true;
        (self.current, self.promoted) = (current, promoted);
    }

    /// The uses after an activation. `found` is the state of the subresource on `Promotion` if the recording has not used it
    /// yet.
    fn taken_over(self, rules: Rules, found: State) -> Self {
        let initialized = !rules.needs_initialization;
        match rules.model {
            StateModel::Explicit => Self {
                used: true,
                left: true,
                fresh: self.fresh || !self.used,
                taken: true,
                initialized,
                current: State::COMMON,
                promoted: false,
                open: State::COMMON,
                unordered: 0,
                ..self
            },
            StateModel::Promotion if self.used => Self { taken: true, initialized, unordered: 0, ..self },
            // With `first` set to its state, no transition is put in front of the recording.
            StateModel::Promotion => Self {
                used: true,
                first: found,
                left: true,
                exact: true,
                taken: true,
                begins_taken: true,
                initialized,
                current: found,
                ..Self::NONE
            },
        }
    }

    /// True between an activation and the first use.
    fn awaits_use(&self, rules: Rules) -> bool {
        rules.model == StateModel::Explicit && self.used && self.current.is_empty()
    }

    /// True when the first use needs exactly its requested state, not a wider one.
    pub(super) const fn is_exact(&self) -> bool {
        self.exact || self.first.is_empty()
    }

    /// True when the recording changes the subresource for other recordings: writes or transitions it.
    pub(super) const fn changes(&self) -> bool {
        self.left || self.taken || !is_read(self.first)
    }

    /// True for uses that begin with the contents of earlier recordings, and without unordered accesses.
    pub(super) const fn is_plain(&self) -> bool {
        self.used && !self.fresh && self.initialized && self.unordered == 0 && !is_unordered(self.first)
    }

    /// True if it was activated, or owned by a peer.
    pub(super) const fn is_taken(&self) -> bool {
        self.taken
    }

    /// True when uses of earlier recordings may be open beside those of this one: it has only read.
    pub(super) const fn continues(&self) -> bool {
        !self.left && is_read(self.first)
    }

    /// True when unordered accesses came after `barrier`, the resource's last unordered barrier.
    pub(super) const fn is_unsettled(&self, barrier: u32) -> bool {
        self.unordered != 0 && self.unordered >= barrier
    }

    /// The uses without group numbers that no later barrier depends on.
    fn key(&self, clock: Clock) -> Self {
        Self {
            since: if self.since == clock.group { self.since } else { 0 },
            unordered: u32::from(self.is_unsettled(clock.barrier)),
            ..*self
        }
    }
}

/// The uses of one subresource, before and after the requests since the last flush. All requests between two flushes belong to
/// one command, so each request starts from `base` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartUse {
    /// The uses after the last command.
    base: Uses,
    /// The uses including the requests for the next command.
    pub(super) now: Uses,
    pub(super) pending: Pending,
    /// The states requested in `group`, and whether any request was ordered.
    asked: State,
    ordered: bool,
    group: u32,
}

impl PartUse {
    /// A subresource not used yet.
    pub(super) const UNUSED: Self = Self {
        base: Uses::NONE,
        now: Uses::NONE,
        pending: Pending::No,
        asked: State::COMMON,
        ordered: false,
        group: 0,
    };

    /// Adds a request. Inlined for the most frequent case, one use for all subresources.
    #[inline(always)]
    pub(super) fn require(&mut self, rules: Rules, wanted: State, ordered: bool, clock: Clock) {
        if self.group == clock.group {
            self.asked = if rules.combines(self.asked, wanted) { self.asked | wanted } else { wanted };
            self.ordered |= ordered;
            self.now = self.base;
        } else {
            (self.base, self.group) = (self.now, clock.group);
            (self.asked, self.ordered) = (wanted, ordered);
        }
        self.pending = self.now.add(rules, self.asked, self.ordered, clock);
    }

    /// Notes that the command of the last request, if it is the first one, writes all of the subresource.
    pub(super) fn overwrite(&mut self) {
        self.now.overwrites = !self.base.used && !self.now.left;
    }

    /// A subresource acquired from a peer in `state`, before all uses.
    pub(super) fn acquired(state: State, group: u32) -> Self {
        let now = Uses {
            used: true,
            first: state,
            left: true,
            fresh: true,
            taken: true,
            initialized: true,
            current: state,
            open: state,
            since: group,
            ..Uses::NONE
        };
        Self { base: now, now, group, ..Self::UNUSED }
    }

    /// Releases it to a peer, which may use it in any way: after all earlier uses.
    pub(super) fn release(&mut self, group: u32) {
        if self.now.used {
            (self.base.taken, self.now.taken) = (true, true);
        } else {
            // Its state does not matter.
            *self = Self::acquired(State::COMMON, group);
        }
    }

    /// Activates it in memory of other resources. Requests since the last flush are discarded: there was no command in between.
    pub(super) fn take_over(&mut self, rules: Rules, found: State, clock: Clock) {
        let base = if self.group == clock.group { self.base } else { self.now };
        let base = base.taken_over(rules, found);
        *self = Self { base, now: base, group: clock.group, ..Self::UNUSED };
    }

    /// The states requested for the group; `COMMON` for none.
    pub(super) fn asked_in(&self, group: u32) -> State {
        if self.group == group { self.asked } else { State::COMMON }
    }

    /// Notes that an aliasing barrier between these states was flushed.
    pub(super) fn aliased(&mut self, rules: Rules, from: State, to: State) {
        if self.now.awaits_use(rules) {
            self.now.open = to;
        } else if from.is_empty() && rules.kind == ResourceKind::Buffer {
            // There were no earlier uses to order.
            self.now.promoted = rules.model == StateModel::Explicit || self.now.promoted;
        }
    }

    /// The pending transition, if any: the states before and after, and whether it discards.
    pub(super) fn transition(&self) -> Option<(State, State, bool)> {
        let discards = match self.pending {
            Pending::Transition => false,
            Pending::Discard => true,
            Pending::No | Pending::Unordered => return None,
        };
        Some((self.base.current, self.now.current, discards))
    }

    /// Marks the pending barrier as flushed.
    pub(super) const fn flushed(&mut self) {
        self.pending = Pending::No;
    }

    /// Notes an unordered barrier on the resource in the group: it also orders accesses before the recording, for subresources
    /// first used after this group.
    pub(super) fn covered_by(&mut self, group: u32) {
        if self.now.since == group && !self.now.left && is_unordered(self.now.first) {
            self.now.ordered = false;
        }
    }

    /// The common use of these parts, if they agree in all relevant fields.
    pub(super) fn common(parts: &[Self], clock: Clock) -> Option<Self> {
        let [first, rest @ ..] = parts else { return None };
        let key = first.key(clock);
        if rest.iter().any(|part| part.key(clock) != key) {
            return None;
        }
        let mut whole = *first;
        for part in rest {
            whole.now.unordered = whole.now.unordered.max(part.now.unordered);
            whole.base.unordered = whole.base.unordered.max(part.base.unordered);
        }
        Some(whole)
    }

    fn key(&self, clock: Clock) -> Self {
        let now = self.now.key(clock);
        if self.group == clock.group {
            Self { base: self.base.key(clock), now, ..*self }
        } else {
            Self { now, ..Self::UNUSED }
        }
    }
}
