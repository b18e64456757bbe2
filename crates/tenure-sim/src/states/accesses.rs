//! Explicit barriers: the accesses of a queue that a barrier comes after, and the uses that see them.
//!
//! The scopes of Vulkan's synchronization chapter, by states instead of stages: a barrier from `before` comes
//! after the accesses in those states and after the accesses that earlier barriers lead to them (a dependency
//! chain); these are then visible to the uses in `after`. Reads need no order among themselves. Direct3D 12 has
//! the same rules within one submission; the end of a submission orders everything.
//!
//! The race check covers accesses of other queues: a queue that waited for them sees them.

use smallvec::SmallVec;
use tenure_core::device::{QueueId, QueueSerial, State};

/// States that are ordered by barriers even against themselves.
const EXCLUSIVE: State = State::WRITES.union(State::ACCELERATION_STRUCTURE);

/// The states that a barrier covers which names these: accesses of all shaders include those of one stage alone.
pub(crate) fn covered(state: State) -> State {
    if state.contains(State::UNORDERED_ACCESS) { state | State::UNORDERED } else { state }
}

/// One access in one state, or a barrier that wrote: a change of layout, or the taking over of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    at: QueueSerial,
    /// One bit; empty for a barrier.
    state: State,
    write: bool,
    /// The states of its queue with uses that come after it and see it.
    reach: State,
}

/// The work that a queue knows to be done when it reaches a command.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) at: QueueSerial,
    /// The queue's submissions up to this one are visible without a barrier: on Direct3D 12 all but the current
    /// one, on Vulkan the ones it waited for, directly or not, through the semaphores of other queues.
    pub(crate) visible: u64,
    /// The queue's submissions up to this one are complete, and their writes available: the visible ones, and the
    /// ones that the CPU has seen complete.
    pub(crate) over: u64,
}

impl Access {
    /// True when a barrier from `before` comes after it.
    fn precedes(&self, known: Known, before: State) -> bool {
        let is_over = self.at.queue != known.at.queue || self.at.serial <= known.over;
        is_over || before.intersects(self.state | self.reach)
    }

    /// True when a use in `state` comes after it and sees it.
    fn is_seen(&self, known: Known, state: State) -> bool {
        let needs_order_alone = state.intersects(EXCLUSIVE);
        let done = if needs_order_alone { known.over } else { known.visible };
        self.at.queue != known.at.queue || self.at.serial <= done || self.reach.contains(state)
    }

    /// The states that a barrier must have before it to come after the access.
    fn named(&self) -> State {
        if self.state.is_empty() { self.reach } else { self.state }
    }
}

/// The accesses to one subresource, or to one buffer, that later ones may have to come after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accesses(SmallVec<[Access; 3]>);

impl Accesses {
    /// A use on a queue.
    ///
    /// Two writes in one state are not looked at here: draws to one target are in order, and the
    /// others conflict by bytes, not by subresource.
    ///
    /// # Errors
    /// The states of the accesses that must precede it, but are not ordered before it.
    pub(crate) fn use_as(&mut self, known: Known, state: State) -> Result<(), State> {
        let write = state.intersects(EXCLUSIVE);
        let conflicts = |access: &&Access| (write || access.write) && !(write && access.state == state);
        let unseen = self.0.iter().filter(conflicts).filter(|access| !access.is_seen(known, state));
        let unseen = unseen.map(Access::named).reduce(State::union);
        if write {
            // A use that is ordered after this one is also ordered after all earlier ones.
            self.0.clear();
        }
        if unseen.is_some() {
            // A mistake is reported once: from here on the barrier counts as present.
            self.barrier(known, State::all(), state);
        }
        for bit in state.iter() {
            // A newer access of the same kind is the harder one to come after.
            self.0.retain(|access| (access.at.queue, access.state) != (known.at.queue, bit));
            self.0.push(Access { at: known.at, state: bit, write, reach: State::COMMON });
        }
        unseen.map_or(Ok(()), Err)
    }

    /// A barrier on a queue without a rewrite.
    pub(crate) fn barrier(&mut self, known: Known, before: State, after: State) {
        let (before, after) = (covered(before), covered(after));
        let mine = self.0.iter_mut().filter(|access| access.at.queue == known.at.queue);
        for access in mine.filter(|access| access.precedes(known, before)) {
            access.reach |= after;
        }
    }

    /// The queue's accesses that a barrier from `before` does not come after, if any.
    pub(crate) fn left_open(&self, known: Known, before: State) -> Option<State> {
        let before = covered(before);
        let open = self.0.iter().filter(|access| !access.precedes(known, before));
        open.map(Access::named).reduce(State::union)
    }

    /// A barrier after all accesses, which writes: only the barrier and its state after remain.
    pub(crate) fn rewrite(&mut self, known: Known, after: State) {
        self.0.clear();
        self.0.push(Access { at: known.at, state: State::COMMON, write: true, reach: covered(after) });
    }

    /// The states in which a queue has used it since it was last written or moved.
    pub(crate) fn used_on(&self, queue: QueueId) -> State {
        self.0.iter().filter(|access| access.at.queue == queue).map(|access| access.state).collect()
    }
}
