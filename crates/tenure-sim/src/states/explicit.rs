//! Explicit barriers: Vulkan's, and Direct3D 12's enhanced ones.
//!
//! A texture has a layout, and belongs to the queue family that used it first until a transfer, which exists on
//! Vulkan only; a buffer has neither. Barriers order the [`Accesses`] of both. States with the same layout differ
//! only in the accesses that a barrier from or to them orders and makes visible.

use tenure_core::device::{QueueSerial, State};

use super::accesses::Accesses;
use super::layouts::Layout;
use super::{ExecutionPoint, Wrong};

/// The part of a transfer that is done: released, not yet acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Release {
    to: u32,
    before: State,
    after: State,
}

/// One subresource of a texture, or a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explicit {
    /// `None`: a buffer.
    layout: Option<Layout>,
    /// The state after the last barrier. A wrong use is reported once, and then its state is taken over.
    state: State,
    /// Contents are undefined, so the next transition may come from `COMMON` in any layout.
    fresh: bool,
    /// Whether it took over bytes, and was not used since.
    activated: bool,
    owner: Option<u32>,
    /// Whether all queue families own it.
    is_of_all: bool,
    release: Option<Release>,
    accesses: Accesses,
    /// On Direct3D 12, the submission of the last barrier, and the state after it.
    led: Option<(QueueSerial, State)>,
}

impl Explicit {
    pub(crate) fn new(buffer: bool, is_of_all: bool, d3d12: bool) -> Self {
        Self {
            layout: (!buffer).then_some(Layout::undefined(d3d12)),
            state: State::COMMON,
            fresh: true,
            activated: false,
            owner: None,
            is_of_all,
            release: None,
            accesses: Accesses::default(),
            led: None,
        }
    }

    pub(crate) fn use_as(&mut self, point: ExecutionPoint, wanted: State) -> Result<(), Wrong> {
        let owned = self.own(point);
        let placed = self.check_layout(point, wanted);
        let is = if self.layout.is_some() { self.state } else { self.accesses.used_on(point.at.queue) };
        let seen = self.accesses.use_as(point.known(), wanted);
        let seen = seen.map_err(|after| match std::mem::take(&mut self.activated) {
            true => Wrong::Aliased { to: after, wanted },
            false if is.is_empty() || is == after => Wrong::Use { is: after, wanted },
            false => Wrong::Unordered { is, after, wanted },
        });
        self.activated = false;
        owned.and(placed).and(seen)
    }

    fn check_layout(&mut self, point: ExecutionPoint, wanted: State) -> Result<(), Wrong> {
        let is = self.state;
        let Some(layout) = self.layout else { return Ok(()) };
        let is_known = layout.is_known_to(point.kind);
        if is_known && layout.serves(is, wanted) {
            return Ok(());
        }
        // A mistake is reported once; from here on it counts as corrected.
        self.move_to(wanted);
        self.accesses = Accesses::default();
        Err(if is_known { Wrong::Use { is, wanted } } else { Wrong::Unknown { is, kind: point.kind } })
    }

    fn move_to(&mut self, state: State) {
        self.layout = self.layout.map(|layout| layout.of(state));
        self.state = state;
        self.fresh = false;
    }

    /// A barrier on one queue.
    pub(crate) fn transition(
        &mut self,
        point: ExecutionPoint,
        before: State,
        after: State,
    ) -> Result<(), Wrong> {
        if self.discards(before) {
            // Undefined contents belong to no one.
            (self.owner, self.release, self.fresh) = (None, None, true);
        }
        let owned = self.own(point);
        let placed = self.check_before(before);
        let sequence = self.follow(point, before, after);
        // A transition from an empty state waits for its own stages.
        let from = if before.is_empty() { after } else { before };
        let moves = self.rewrites(before, after);
        let ordered = if moves { self.check_ordered(point, from, after) } else { Ok(()) };
        self.accesses.barrier(point.known(), from, after);
        if moves {
            self.accesses.rewrite(point.known(), after);
        }
        self.activated &= !moves;
        self.move_to(after);
        owned.and(placed).and(ordered).and(sequence)
    }

    /// A barrier between unordered accesses.
    pub(crate) fn order_unordered(&mut self, point: ExecutionPoint) {
        self.accesses.barrier(point.known(), State::UNORDERED_ACCESS, State::UNORDERED_ACCESS);
    }

    /// True when a barrier changes the layout, which is a write.
    pub(crate) fn rewrites(&self, before: State, after: State) -> bool {
        self.layout.is_some_and(|layout| before.is_empty() || layout != layout.of(after))
    }

    /// True when a barrier discards contents. On Direct3D 12 only new contents may be discarded.
    pub(crate) fn discards(&self, before: State) -> bool {
        let may_discard = |layout: Layout| self.fresh || layout.is_vulkan();
        before.is_empty() && self.layout.is_some_and(may_discard)
    }

    /// A write by the CPU while no queue uses it. No queue has accessed its content since it was in `COMMON`.
    pub(crate) fn write_by_cpu(&mut self, (before, after): (State, State)) -> Result<(), Wrong> {
        let placed = self.check_before(before).map_err(|_| Wrong::Written { is: self.state, before });
        if before.is_empty() {
            (self.owner, self.release, self.led, self.activated) = (None, None, None, false);
            self.accesses = Accesses::default();
        }
        self.move_to(after);
        placed
    }

    /// The first half of a transfer.
    pub(crate) fn release(
        &mut self,
        point: ExecutionPoint,
        (before, after): (State, State),
        to: u32,
    ) -> Result<(), Wrong> {
        if self.layout.is_none() {
            return Err(Wrong::HandedOver);
        }
        let owned = self.own(point);
        let placed = self.check_before(before);
        let ordered = self.check_ordered(point, before, after);
        self.accesses.rewrite(point.known(), State::COMMON);
        self.release = Some(Release { to, before, after });
        owned.and(placed).and(ordered)
    }

    /// The second half of a transfer.
    pub(crate) fn acquire(
        &mut self,
        point: ExecutionPoint,
        before: State,
        after: State,
    ) -> Result<(), Wrong> {
        if self.layout.is_none() {
            return Err(Wrong::HandedOver);
        }
        let matched = self.release == Some(Release { to: point.family, before, after });
        self.release = None;
        self.owner = Some(point.family);
        self.led = None;
        self.accesses.rewrite(point.known(), after);
        self.move_to(after);
        if matched { Ok(()) } else { Err(Wrong::NotReleased { to: point.family }) }
    }

    /// Acquires it in the state of a peer's release.
    pub(crate) fn acquire_from_peer(&mut self, point: ExecutionPoint, state: State) {
        self.owner = self.layout.is_some().then_some(point.family);
        (self.release, self.led, self.activated) = (None, None, false);
        let to = if state.is_empty() { State::all() } else { state };
        self.accesses.rewrite(point.known(), to);
        self.move_to(state);
    }

    /// Activates it on aliased bytes. Its next uses are in `to`; empty: any.
    pub(crate) fn activate(&mut self, point: ExecutionPoint, to: State) {
        let to = if to.is_empty() { State::all() } else { to };
        self.fresh = true;
        self.activated = true;
        self.owner = None;
        self.release = None;
        self.led = None;
        self.accesses.rewrite(point.known(), to);
    }

    /// The queue's accesses that a barrier from `from` does not come after, if any.
    pub(crate) fn left_open(&self, point: ExecutionPoint, from: State) -> Option<State> {
        self.accesses.left_open(point.known(), from)
    }

    /// Takes possession, or finds that another queue family has it.
    fn own(&mut self, point: ExecutionPoint) -> Result<(), Wrong> {
        if self.layout.is_none() || self.is_of_all {
            return Ok(());
        }
        let wrong = match self.owner {
            Some(owner) if owner != point.family || self.release.is_some() => {
                let owner = self.release.map_or(owner, |release| release.to);
                Err(Wrong::Owner { owner, user: point.family })
            }
            _ => Ok(()),
        };
        // Reported once; from here on it counts as transferred.
        self.owner = Some(point.family);
        self.release = None;
        wrong
    }

    fn check_before(&self, before: State) -> Result<(), Wrong> {
        let from_nothing = self.fresh && before.is_empty();
        if from_nothing || self.layout.is_none_or(|layout| layout == layout.of(before)) {
            return Ok(());
        }
        Err(Wrong::Transition { is: self.state, before })
    }

    /// A barrier that writes comes after all that its queue did.
    fn check_ordered(&self, point: ExecutionPoint, before: State, after: State) -> Result<(), Wrong> {
        match self.accesses.left_open(point.known(), before) {
            None => Ok(()),
            Some(to) if self.activated => Err(Wrong::Aliased { to, wanted: after }),
            Some(missing) => Err(Wrong::NotAfter { before, missing }),
        }
    }

    /// Direct3D 12: a barrier waits for all stages that the one before it in the same submission led to
    /// (Microsoft's specification of enhanced barriers, "Sequential Barriers").
    fn follow(&mut self, point: ExecutionPoint, before: State, after: State) -> Result<(), Wrong> {
        if !point.d3d12 {
            return Ok(());
        }
        let led = self.led.replace((point.at, after));
        match led.filter(|(at, _)| *at == point.at) {
            Some((_, led)) if !stages(before).contains(&stages(led)) => {
                Err(Wrong::NotAfter { before, missing: led })
            }
            _ => Ok(()),
        }
    }
}

/// The pipeline stages of uses, as far as barriers distinguish them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stages(u32);

impl Stages {
    const fn contains(self, other: &Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// `D3D12_BARRIER_SYNC` of a union of states.
fn stages(state: State) -> Stages {
    const PIXEL: u32 = 1;
    const COMPUTE: u32 = 2;
    /// Mesh shaders are in it.
    const VERTEX: u32 = 512;
    const RAYS: u32 = 1024;
    const SHADING: u32 = PIXEL | COMPUTE | VERTEX | RAYS;
    const COPY: u32 = 4;
    const RESOLVE: u32 = 8;
    const DEPTH: u32 = 16;
    let table: [(State, u32); 13] = [
        (State::VERTEX_OR_CONSTANT | State::UNORDERED_ACCESS, SHADING),
        (State::PIXEL_SHADER, PIXEL),
        (State::VERTEX_SHADER | State::MESH_SHADER | State::MESH_UNORDERED_ACCESS, VERTEX),
        (State::COMPUTE_SHADER | State::COMPUTE_UNORDERED_ACCESS, COMPUTE),
        (State::RAY_TRACING_SHADER | State::RAY_TRACING_UNORDERED_ACCESS, RAYS),
        (State::ACCELERATION_STRUCTURE, SHADING | 128),
        (State::COPY_SRC | State::COPY_DST, COPY),
        (State::RESOLVE_SRC | State::RESOLVE_DST, RESOLVE),
        (State::DEPTH_READ | State::DEPTH_WRITE, DEPTH),
        (State::RENDER_TARGET, 32),
        (State::INDIRECT, 64),
        (State::INDEX, 256),
        // Before and after presentation barriers wait for everything.
        (State::PRESENT, u32::MAX),
    ];
    let used = table.iter().filter(|(states, _)| state.intersects(*states));
    Stages(used.fold(0, |all, (_, stages)| all | stages))
}
