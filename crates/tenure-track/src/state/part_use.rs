//! What one recording does with one subresource.

use super::ResourceKind;
use super::rules::{Rules, Step, is_read, is_unordered};
use crate::device::{State, StateModel};

/// A barrier that the next flush hands out.
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

/// Where in a recording a use is, as far as unordered barriers are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The batch of barriers that comes before the next command, counted from 1.
    pub(super) batch: u32,
    /// The last batch with an unordered barrier on the resource; 0: none yet.
    pub(super) barrier: u32,
}

/// The uses of one subresource up to some point of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// False: not used in this recording.
    pub(super) used: bool,
    /// The state that the recording expects to begin with.
    pub(super) first: State,
    /// The first use depends on what earlier recordings did in the same state.
    pub(super) ordered: bool,
    /// The recording has left `first`.
    pub(super) left: bool,
    /// A barrier of the recording names `first` as what it was.
    exact: bool,
    /// Nothing is expected, because the first thing done was to take over other resources' bytes (on
    /// `Explicit` alone), or to take the resource from a peer.
    pub(super) fresh: bool,
    /// Other resources' bytes were taken over, or a peer had the resource: contents changed.
    taken: bool,
    /// On `Promotion`: other resources' bytes were taken over before the first use.
    pub(super) begins_taken: bool,
    /// A discard or a write came since the recording began, or since the bytes were taken over; or it needs none.
    pub(super) initialized: bool,
    /// The state now. On `Explicit`, `COMMON` from the taking over to the next use.
    pub(super) current: State,
    /// `current` was reached without a barrier since `COMMON`.
    pub(super) promoted: bool,
    /// The states used since the last barrier; where nothing was, those that the barrier leads to.
    pub(super) open: State,
    /// The batch of barriers before the first use.
    since: u32,
    /// The batch of barriers before the last unordered access; 0: there was none.
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
        begins_taken: false,
        initialized: false,
        current: State::COMMON,
        promoted: false,
        open: State::COMMON,
        since: 0,
        unordered: 0,
    };

    /// Adds one more use. Returns the barrier before it.
    #[inline(always)]
    fn add(&mut self, rules: Rules, wanted: State, ordered: bool, clock: Clock) -> Pending {
        if !self.used {
            // An unordered barrier recorded for other subresources holds for all.
            let ordered = ordered && !(is_unordered(wanted) && clock.barrier > 0);
            let unordered = if is_unordered(wanted) { clock.batch } else { 0 };
            let first = Self { used: true, first: wanted, current: wanted, ordered, ..Self::NONE };
            let initialized = !rules.needs_initialization || wanted.is_write();
            *self = Self { open: wanted, since: clock.batch, unordered, initialized, ..first };
            return Pending::No;
        }
        if !self.initialized {
            if self.taken && rules.discarded_in.is_some() {
                self.initialized = true;
                self.unordered = if is_unordered(wanted) { clock.batch } else { 0 };
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
            self.unordered = clock.batch;
        }
        if self.awaits_use(rules) {
            // The aliasing barrier leads to the first use; only a layout is still to be changed. When
            // it came earlier it leads to all uses that there may be.
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

    /// The state becomes another one.
    fn leave(&mut self, current: State, promoted: bool) {
        self.exact |= !self.left;
        self.left = true;
        (self.current, self.promoted) = (current, promoted);
    }

    /// After other resources' bytes were taken over. `found` is the state that the subresource is in
    /// on `Promotion` when the recording has not used it yet.
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
            // With `first` named no transition is put in front of the recording.
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

    /// True between taking over other resources' bytes and the first use of them.
    fn awaits_use(&self, rules: Rules) -> bool {
        rules.model == StateModel::Explicit && self.used && self.current.is_empty()
    }

    /// True when the first use needs exactly the state it asked for, not one that contains it.
    pub(super) const fn is_exact(&self) -> bool {
        self.exact || self.first.is_empty()
    }

    /// True when the recording changes the subresource for others: it writes, or moves it.
    pub(super) const fn changes(&self) -> bool {
        self.left || self.taken || !is_read(self.first)
    }

    /// True when other resources' bytes were taken over in it, or a peer had the resource.
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

    /// Without the times that no later barrier depends on.
    fn key(&self, clock: Clock) -> Self {
        Self {
            since: if self.since == clock.batch { self.since } else { 0 },
            unordered: u32::from(self.is_unsettled(clock.barrier)),
            ..*self
        }
    }
}

/// The uses of one subresource, before and after the requests since the last flush. All that is
/// requested between two flushes is for one command, so each request starts anew from `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartUse {
    /// As the last command left it.
    base: Uses,
    /// As the next command finds it.
    pub(super) now: Uses,
    pub(super) pending: Pending,
    /// What was requested in `batch`, and whether any of it was ordered.
    asked: State,
    ordered: bool,
    batch: u32,
}

impl PartUse {
    /// A subresource not used yet.
    pub(super) const UNUSED: Self = Self {
        base: Uses::NONE,
        now: Uses::NONE,
        pending: Pending::No,
        asked: State::COMMON,
        ordered: false,
        batch: 0,
    };

    /// Notes a request. Inlined where there is one use for all, which is most of what is recorded.
    #[inline(always)]
    pub(super) fn require(&mut self, rules: Rules, wanted: State, ordered: bool, clock: Clock) {
        if self.batch == clock.batch {
            self.asked = if rules.combines(self.asked, wanted) { self.asked | wanted } else { wanted };
            self.ordered |= ordered;
            self.now = self.base;
        } else {
            (self.base, self.batch) = (self.now, clock.batch);
            (self.asked, self.ordered) = (wanted, ordered);
        }
        self.pending = self.now.add(rules, self.asked, self.ordered, clock);
    }

    /// A subresource that a peer has left in `state`, taken from it in front of all uses.
    pub(super) fn acquired(state: State, batch: u32) -> Self {
        let now = Uses {
            used: true,
            first: state,
            left: true,
            fresh: true,
            taken: true,
            initialized: true,
            current: state,
            open: state,
            since: batch,
            ..Uses::NONE
        };
        Self { base: now, now, batch, ..Self::UNUSED }
    }

    /// A peer has it after this recording, and may do anything: all that used it comes before.
    pub(super) fn release(&mut self, batch: u32) {
        if self.now.used {
            (self.base.taken, self.now.taken) = (true, true);
        } else {
            // Its state does not matter.
            *self = Self::acquired(State::COMMON, batch);
        }
    }

    /// Notes that other resources' bytes are taken over. What was requested since the last flush is
    /// forgotten: no command has come in between.
    pub(super) fn take_over(&mut self, rules: Rules, found: State, clock: Clock) {
        let base = if self.batch == clock.batch { self.base } else { self.now };
        let base = base.taken_over(rules, found);
        *self = Self { base, now: base, batch: clock.batch, ..Self::UNUSED };
    }

    /// What was requested for the batch; nothing is `COMMON`.
    pub(super) fn asked_in(&self, batch: u32) -> State {
        if self.batch == batch { self.asked } else { State::COMMON }
    }

    /// An aliasing barrier between such uses has been handed out.
    pub(super) fn aliased(&mut self, rules: Rules, from: State, to: State) {
        if self.now.awaits_use(rules) {
            self.now.open = to;
        } else if from.is_empty() && rules.kind == ResourceKind::Buffer {
            // Nothing was in the way.
            self.now.promoted = rules.model == StateModel::Explicit || self.now.promoted;
        }
    }

    /// The transition that is pending, if it is one: the states before and after, and whether it discards.
    pub(super) fn transition(&self) -> Option<(State, State, bool)> {
        let discards = match self.pending {
            Pending::Transition => false,
            Pending::Discard => true,
            Pending::No | Pending::Unordered => return None,
        };
        Some((self.base.current, self.now.current, discards))
    }

    /// What was pending has been handed out.
    pub(super) const fn flushed(&mut self) {
        self.pending = Pending::No;
    }

    /// An unordered barrier on the resource is in the batch: it also orders what came before the
    /// recording, for subresources first used after this batch.
    pub(super) fn covered_by(&mut self, batch: u32) {
        if self.now.since == batch && !self.now.left && is_unordered(self.now.first) {
            self.now.ordered = false;
        }
    }

    /// The one use that stands for all of these, if they agree in all that still matters.
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
        if self.batch == clock.batch {
            Self { base: self.base.key(clock), now, ..*self }
        } else {
            Self { now, ..Self::UNUSED }
        }
    }
}
