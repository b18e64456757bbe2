//! Direct3D 12's legacy states: promotion and decay.
//!
//! From `COMMON`, buffers are promoted to any state and textures to shader reads and copies; promoted reads add
//! up; when the submission completes, buffers, textures promoted to reads, and all resources on a copy queue
//! decay to `COMMON`.
//!
//! A queue uses and leaves resources only in states that it knows: copy queues share only `COMMON` with other
//! queues, and for a compute queue pixel shaders do not exist, not even beside other readers (Microsoft's
//! specification of enhanced barriers, "Compute Queues and `D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE`").

use tenure_core::device::{QueueKind, QueueSerial, State};

use super::{ExecutionPoint, Wrong};

/// The states to which a texture is promoted from `COMMON`.
const TEXTURE_PROMOTION: State = State::SHADER_READ.union(State::COPY_SRC).union(State::COPY_DST);

/// The state without the stages of unordered accesses, which resource states do not distinguish. Those of shader reads stay, so
/// that a use is found that other APIs would not order.
const fn without_stages(state: State) -> State {
    match state.intersects(State::UNORDERED) {
        true => state.difference(State::UNORDERED).union(State::UNORDERED_ACCESS),
        false => state,
    }
}

/// The state of one subresource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Legacy {
    state: State,
    /// Whether a use led to this state, not a barrier.
    implied: bool,
    /// The submission that touched it last.
    at: Option<QueueSerial>,
}

impl Legacy {
    pub(crate) fn use_as(&mut self, point: ExecutionPoint, buffer: bool, wanted: State) -> Result<(), Wrong> {
        let wanted = without_stages(wanted);
        let found = self.come_to(point).and_then(|()| self.promote(buffer, wanted));
        if found.is_err() {
            // A mistake is reported once; from here on it counts as corrected.
            self.enter(wanted);
        }
        self.at = Some(point.at);
        found
    }

    /// A read by shaders if the driver requires the copy source state, too, by a barrier.
    pub(crate) fn use_copied(&mut self, point: ExecutionPoint, wanted: State) -> Result<(), Wrong> {
        let (is, wanted) = (self.state, wanted | State::COPY_SRC);
        let is_there = if is.contains(wanted) { Ok(()) } else { Err(Wrong::Use { is, wanted }) };
        let found = self.come_to(point).and(is_there);
        if found.is_err() {
            self.enter(wanted);
        }
        self.at = Some(point.at);
        found
    }

    /// The state in which a peer has left it.
    pub(crate) const fn acquired(point: ExecutionPoint, state: State) -> Self {
        Self { state: without_stages(state), implied: false, at: Some(point.at) }
    }

    pub(crate) fn transition(
        &mut self,
        point: ExecutionPoint,
        before: State,
        after: State,
    ) -> Result<(), Wrong> {
        let (from, to) = (without_stages(before), without_stages(after));
        if from == to && before != after {
            // Between accesses of different stages it is an unordered barrier, which names no state.
            return Ok(());
        }
        let found = self.check_before(from);
        self.enter(to);
        self.at = Some(point.at);
        found
    }

    /// Returns to `COMMON` at the end of a submission, if that used it and the state decays.
    pub(crate) fn decay(&mut self, point: ExecutionPoint, buffer: bool) {
        let everything = buffer || point.kind == QueueKind::Copy;
        if self.at == Some(point.at) && (everything || (self.implied && !self.state.is_write())) {
            self.state = State::COMMON;
            self.implied = false;
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.implied = false;
    }

    /// Checks that the queue supports the current state.
    fn come_to(&self, point: ExecutionPoint) -> Result<(), Wrong> {
        let is = self.state;
        let is_first = self.at != Some(point.at);
        match point.kind {
            QueueKind::Copy if is_first && !is.is_empty() => Err(Wrong::Crossing { is }),
            kind if !State::allowed_on(kind).contains(is) => Err(Wrong::Unknown { is, kind }),
            _ => Ok(()),
        }
    }

    fn check_before(&self, before: State) -> Result<(), Wrong> {
        let reads = |state: State| !state.is_empty() && !state.is_write();
        let wider_read = reads(self.state) && reads(before) && before.contains(self.state);
        if self.state == before || (self.implied && wider_read) {
            Ok(())
        } else {
            Err(Wrong::Transition { is: self.state, before })
        }
    }

    fn promote(&mut self, buffer: bool, wanted: State) -> Result<(), Wrong> {
        if self.state == wanted || (!wanted.is_empty() && self.state.contains(wanted)) {
            return Ok(());
        }
        let allowed = buffer || TEXTURE_PROMOTION.contains(wanted);
        let reads_add_up = self.implied && !self.state.is_write() && !wanted.is_write() && !wanted.is_empty();
        if allowed && (self.state.is_empty() || reads_add_up) {
            self.state |= wanted;
            self.implied = true;
            return Ok(());
        }
        Err(Wrong::Use { is: self.state, wanted })
    }
}
