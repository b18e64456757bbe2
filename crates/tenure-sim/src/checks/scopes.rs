//! Buffers on Vulkan: which barriers each queue has made for them.
//!
//! A buffer has no layout, so that each queue only has to order its own uses: reads add up; a write
//! comes after a barrier that names what was open, and what comes after a write is named by a
//! barrier. What another queue wrote is visible everywhere to those who waited for it, which is
//! the business of the race check.

use tenure_core::device::{MAX_QUEUES, QueueId, State};

use super::state::Wrong;

/// One queue's uses.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    /// The uses since the last barrier.
    open: State,
    /// After a write on this queue, the uses that may follow without a further barrier; otherwise
    /// all may.
    seen: Option<State>,
    /// `seen` is where an aliasing barrier leads, and nothing has followed it.
    activated: bool,
}

/// The uses of a buffer on all queues.
#[derive(Debug, Default)]
pub(crate) struct Scopes([Scope; MAX_QUEUES]);

const EXCLUSIVE: State = State::WRITES.union(State::ACCELERATION_STRUCTURE);

impl Scope {
    fn use_as(&mut self, wanted: State) -> Result<(), Wrong> {
        let conflicts = (self.open | wanted).intersects(EXCLUSIVE) && !self.open.is_empty();
        let (is, is_right) = match self.seen {
            _ if conflicts => (self.open, self.open == wanted),
            Some(seen) => (seen, seen.contains(wanted)),
            None => (State::COMMON, true),
        };
        let activated = std::mem::take(&mut self.activated);
        // A mistake is reported once; from here on it is taken as put right.
        self.open = if is_right { self.open | wanted } else { wanted };
        if wanted.intersects(EXCLUSIVE) || !is_right {
            self.seen = Some(wanted);
        }
        match is_right {
            true => Ok(()),
            false if activated => Err(Wrong::Aliased { to: is, wanted }),
            false => Err(Wrong::Use { is, wanted }),
        }
    }

    fn barrier(&mut self, before: State, after: State) -> Result<(), Wrong> {
        let is = if self.open.is_empty() { self.seen.unwrap_or_default() } else { self.open };
        let follows_barrier = self.open.is_empty() && (is.is_empty() || before.intersects(is));
        let is_right = follows_barrier || (!self.open.is_empty() && before.contains(self.open));
        let ends_write = self.open.intersects(EXCLUSIVE) || !is_right;
        self.seen = match self.seen {
            Some(seen) if !ends_write => Some(seen | after),
            Some(_) => Some(after),
            None => None,
        };
        self.open = State::COMMON;
        if is_right { Ok(()) } else { Err(Wrong::Transition { is, before }) }
    }
}

impl Scopes {
    /// A use on a queue. What others did before it, a write comes after.
    pub(crate) fn use_as(&mut self, queue: QueueId, wanted: State) -> Result<(), Wrong> {
        if wanted.intersects(EXCLUSIVE) {
            let others = self.0.iter_mut().enumerate().filter(|(index, _)| *index != queue.index());
            others.for_each(|(_, scope)| *scope = Scope::default());
        }
        self.0.get_mut(queue.index()).map_or(Ok(()), |scope| scope.use_as(wanted))
    }

    /// An aliasing barrier on a queue, after all that others did; `to` may be unknown.
    pub(crate) fn activate(&mut self, queue: QueueId, to: State) {
        *self = Self::default();
        if let Some(scope) = self.0.get_mut(queue.index()).filter(|_| !to.is_empty()) {
            *scope = Scope { open: State::COMMON, seen: Some(to), activated: true };
        }
    }

    /// What the queue has done that a barrier after `from` does not come after, if anything.
    pub(crate) fn left_open(&self, queue: QueueId, from: State) -> Option<State> {
        let Scope { open, seen, .. } = *self.0.get(queue.index())?;
        let missing = open.difference(from);
        let led = seen.filter(|seen| open.is_empty() && !seen.is_empty() && !seen.intersects(from));
        led.or_else(|| (!missing.is_empty()).then_some(missing))
    }

    /// A barrier on a queue.
    pub(crate) fn barrier(&mut self, queue: QueueId, before: State, after: State) -> Result<(), Wrong> {
        self.0.get_mut(queue.index()).map_or(Ok(()), |scope| scope.barrier(before, after))
    }
}
