//! States of resources: what use is legal now, and what it changes.
//!
//! `Promotion` follows Direct3D 12's implicit state transitions: from `COMMON`, buffers are
//! promoted to any state and textures to shader reads and copies; reads promoted add up; when the
//! submission completes, buffers, what was promoted to reads, and everything on a copy queue
//! decay to `COMMON`.
//!
//! Copy queues share `COMMON` and nothing else with other queues.
//!
//! `Explicit` follows Vulkan: an image must be in the state (layout) it is used in, and belongs to
//! the queue family that used it first, until a transfer. For buffers see [`scopes`](super::scopes).

use std::fmt;

use tenure_core::device::{
    Api, MemoryFlags, Properties, QueueSerial, ResourceDesc, State, StateModel, Usage,
};

use super::order::Order;
use super::scopes::Scopes;
use crate::hazard::HazardKind;

/// The part of a transfer that is done: released, not yet acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Release {
    to: u32,
    before: State,
    after: State,
}

/// The state of one subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Current {
    state: State,
    /// It came into this state by a use, not by a barrier.
    implied: bool,
    /// Contents are undefined, so the next transition may come from `COMMON` whatever the state.
    fresh: bool,
    owner: Option<u32>,
    release: Option<Release>,
    /// The submission that touched it last.
    at: Option<QueueSerial>,
    /// On `Explicit`, what each queue has to put in order before others may have the bytes.
    order: Order,
}

/// Where a command runs, as far as states care.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) model: StateModel,
    pub(crate) at: QueueSerial,
    pub(crate) copy_queue: bool,
    pub(crate) family: u32,
}

impl Wrong {
    /// The hazard that it is.
    pub(crate) const fn kind(&self) -> HazardKind {
        match self {
            Self::Aliased { .. } => HazardKind::MissingAliasingBarrier,
            _ => HazardKind::WrongState,
        }
    }
}

/// Why a use or transition is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Use { is: State, wanted: State },
    Transition { is: State, before: State },
    Fixed { is: State, wanted: State },
    Crossing { is: State },
    Owner { owner: u32, user: u32 },
    NotReleased { to: u32 },
    HandedOver,
    Aliased { to: State, wanted: State },
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Use { is, wanted } => {
                write!(f, "used as {} while in state {}", Shown(*wanted), Shown(*is))
            }
            Self::Transition { is, before } => {
                write!(f, "the barrier says it was {}, but it is in state {}", Shown(*before), Shown(*is))
            }
            Self::Fixed { is, wanted } => write!(
                f,
                "its memory fixes its state to {}, and {} was asked for",
                Shown(*is),
                Shown(*wanted)
            ),
            Self::Crossing { is } => {
                write!(f, "comes to a copy queue in state {} and not in COMMON", Shown(*is))
            }
            Self::Owner { owner, user } => {
                write!(f, "owned by queue family {owner} and used by family {user} without a transfer")
            }
            Self::NotReleased { to } => {
                write!(f, "acquired by queue family {to} without a matching release before it")
            }
            Self::Aliased { to, wanted } => {
                write!(f, "used as {}, but the aliasing barrier leads to {} only", Shown(*wanted), Shown(*to))
            }
            Self::HandedOver => f.write_str("a buffer is handed over, though all queue families share it"),
        }
    }
}

/// A state by its names.
pub(crate) struct Shown(pub(crate) State);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("COMMON");
        }
        for (index, (name, _)) in self.0.iter_names().enumerate() {
            write!(f, "{}{name}", if index == 0 { "" } else { "|" })?;
        }
        Ok(())
    }
}

/// What the memory or the usage forbids to change, if anything.
fn fixed(properties: &Properties, desc: &ResourceDesc, flags: MemoryFlags) -> Option<State> {
    if properties.api == Api::Vulkan {
        return None;
    }
    let host = flags.contains(MemoryFlags::HOST_VISIBLE) && !flags.contains(MemoryFlags::DEVICE_LOCAL);
    match (host, flags.contains(MemoryFlags::HOST_CACHED)) {
        (true, true) => Some(State::COPY_DST),
        // GENERIC_READ: every read state at once.
        (true, false) => Some(State::all().difference(State::WRITES)),
        _ if desc.usage().contains(Usage::ACCELERATION_STRUCTURE) => Some(State::ACCELERATION_STRUCTURE),
        _ => None,
    }
}

/// Which states a texture is promoted to from `COMMON`.
const TEXTURE_PROMOTION: State = State::SHADER_READ.union(State::COPY_SRC).union(State::COPY_DST);

/// The states of all subresources of a resource.
pub(crate) struct States {
    buffer: bool,
    count: u32,
    fixed: Option<State>,
    /// Of a buffer on `Explicit`, in place of `current`.
    scopes: Option<Box<Scopes>>,
    /// One entry while all are alike.
    current: Vec<Current>,
}

impl States {
    pub(crate) fn new(properties: &Properties, desc: &ResourceDesc, flags: MemoryFlags) -> Self {
        let model = properties.state_model;
        let buffer = matches!(desc, ResourceDesc::Buffer(_));
        Self {
            buffer,
            count: desc.subresources(),
            fixed: fixed(properties, desc, flags),
            scopes: (buffer && model == StateModel::Explicit).then(Box::default),
            current: vec![Current { fresh: true, ..Current::default() }],
        }
    }

    /// The entries of the subresources `which`, split from the others if need be.
    fn entries(&mut self, which: std::ops::Range<u32>) -> &mut [Current] {
        if self.current.len() == 1 && which == (0..self.count) {
            return &mut self.current;
        }
        if self.current.len() == 1 {
            self.current = vec![self.current[0]; self.count as usize];
        }
        let end = (which.end as usize).min(self.current.len());
        let start = (which.start as usize).min(end);
        &mut self.current[start..end]
    }

    /// Uses subresources in `wanted`.
    pub(crate) fn use_as(
        &mut self,
        place: Place,
        which: std::ops::Range<u32>,
        wanted: State,
    ) -> Result<(), Wrong> {
        if let Some(fixed) = self.fixed {
            return if fixed.contains(wanted) { Ok(()) } else { Err(Wrong::Fixed { is: fixed, wanted }) };
        }
        if let Some(scopes) = &mut self.scopes {
            return scopes.use_as(place.at.queue, wanted);
        }
        let buffer = self.buffer;
        let mut result = Ok(());
        for current in self.entries(which) {
            let owned = current.own(place);
            let used = match place.model {
                StateModel::Promotion => current.promote(place, buffer, wanted),
                StateModel::Explicit => {
                    current.order.use_as(place.at.queue, wanted);
                    current.use_image(wanted)
                }
            };
            current.at = Some(place.at);
            result = result.and(owned).and(used);
        }
        result
    }

    /// Moves subresources from `before` to `after`.
    pub(crate) fn transition(
        &mut self,
        place: Place,
        which: std::ops::Range<u32>,
        (before, after): (State, State),
        half: Option<(Role, u32)>,
    ) -> Result<(), Wrong> {
        if let Some(fixed) = self.fixed {
            let stays = before == after && fixed.contains(after);
            return if stays { Ok(()) } else { Err(Wrong::Fixed { is: fixed, wanted: after }) };
        }
        if let Some(scopes) = &mut self.scopes {
            return match half {
                None => scopes.barrier(place.at.queue, before, after),
                Some(_) => Err(Wrong::HandedOver),
            };
        }
        let whole = which == (0..self.count);
        let mut result = Ok(());
        for current in self.entries(which) {
            let moved = match half {
                Some((Role::Acquire, _)) => current.acquire(place.family, before, after),
                Some((Role::Release, to)) => {
                    let matched = current.own(place).and(current.check_before(before));
                    current.release = Some(Release { to, before, after });
                    matched
                }
                None => {
                    let matched = current.own(place).and(current.check_before(before));
                    let led = current.check_led(place, before, after);
                    current.enter(after);
                    matched.and(led)
                }
            };
            if place.model == StateModel::Explicit {
                let released = matches!(half, Some((Role::Release, _)));
                current.order.barrier(place.at.queue, if released { State::COMMON } else { after });
            }
            current.at = Some(place.at);
            result = result.and(moved);
        }
        if whole {
            self.merge();
        }
        result
    }

    /// Back to one entry when all have become alike.
    fn merge(&mut self) {
        if self.current.windows(2).all(|pair| pair[0] == pair[1]) {
            self.current.truncate(1);
        }
    }

    /// An aliasing barrier to the states `to`: the contents became undefined, on Vulkan with them
    /// what the layout was and who owned it, while Direct3D 12 keeps its states.
    pub(crate) fn activate(&mut self, place: Place, to: State) {
        if let Some(scopes) = &mut self.scopes {
            scopes.activate(place.at.queue, to);
        }
        for current in &mut self.current {
            current.fresh = place.model == StateModel::Explicit;
            current.owner = None;
            current.release = None;
            if place.model == StateModel::Explicit {
                current.order.barrier(place.at.queue, to);
            }
        }
    }

    /// What the queue has done that a barrier after `from` does not come after, if anything. On
    /// Direct3D 12 barriers name no such thing.
    pub(crate) fn left_open(&self, place: Place, from: State) -> Option<State> {
        if place.model == StateModel::Promotion {
            return None;
        }
        match &self.scopes {
            Some(scopes) => scopes.left_open(place.at.queue, from),
            None => self.current.iter().find_map(|current| current.order.left_open(place.at.queue, from)),
        }
    }

    /// Back to `COMMON`, where Direct3D 12 does so when a submission completes: the subresources that
    /// it used.
    pub(crate) fn decay(&mut self, place: Place) {
        let everything = self.buffer || place.copy_queue;
        for current in self.current.iter_mut().filter(|current| current.at == Some(place.at)) {
            if everything || (current.implied && !current.state.is_write()) {
                current.state = State::COMMON;
                current.implied = false;
            }
        }
        self.merge();
    }
}

/// Which half of a transfer a barrier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Release,
    Acquire,
}

impl Current {
    fn enter(&mut self, state: State) {
        self.state = state;
        self.implied = false;
        self.fresh = false;
    }

    /// Takes possession, or finds that somebody else has it.
    fn own(&mut self, place: Place) -> Result<(), Wrong> {
        if place.model == StateModel::Promotion {
            return Ok(());
        }
        match self.owner {
            Some(owner) if owner != place.family || self.release.is_some() => {
                let wrong = Wrong::Owner {
                    owner: self.release.map_or(owner, |release| release.to),
                    user: place.family,
                };
                // Said once; from here on it is taken as moved.
                self.owner = Some(place.family);
                self.release = None;
                Err(wrong)
            }
            _ => {
                self.owner = Some(place.family);
                Ok(())
            }
        }
    }

    fn acquire(&mut self, family: u32, before: State, after: State) -> Result<(), Wrong> {
        let wanted = Release { to: family, before, after };
        let matched = self.release == Some(wanted);
        self.release = None;
        self.owner = Some(family);
        self.enter(after);
        if matched { Ok(()) } else { Err(Wrong::NotReleased { to: family }) }
    }

    fn check_before(&self, before: State) -> Result<(), Wrong> {
        let reads = |state: State| !state.is_empty() && !state.is_write();
        let wider_read = reads(self.state) && reads(before) && before.contains(self.state);
        let from_nothing = self.fresh && before.is_empty();
        if self.state == before || from_nothing || (self.implied && wider_read) {
            Ok(())
        } else {
            Err(Wrong::Transition { is: self.state, before })
        }
    }

    /// The first transition after an aliasing barrier is to what that leads to.
    fn check_led(&self, place: Place, before: State, after: State) -> Result<(), Wrong> {
        let to = self.order.led_to(place.at.queue);
        if place.model == StateModel::Explicit && before.is_empty() && !to.is_empty() && !to.contains(after) {
            return Err(Wrong::Aliased { to, wanted: after });
        }
        Ok(())
    }

    fn promote(&mut self, place: Place, buffer: bool, wanted: State) -> Result<(), Wrong> {
        if place.copy_queue && !self.state.is_empty() && self.at != Some(place.at) {
            let wrong = Err(Wrong::Crossing { is: self.state });
            self.enter(wanted);
            return wrong;
        }
        if self.state == wanted || (!wanted.is_empty() && self.state.contains(wanted)) {
            return Ok(());
        }
        let allowed = buffer || TEXTURE_PROMOTION.contains(wanted);
        let reads_add_up = self.implied && !self.state.is_write() && !wanted.is_write() && !wanted.is_empty();
        if allowed && (self.state.is_empty() || reads_add_up) {
            self.state |= wanted;
            self.implied = true;
            self.fresh = false;
            return Ok(());
        }
        let wrong = Err(Wrong::Use { is: self.state, wanted });
        self.enter(wanted);
        wrong
    }

    fn use_image(&mut self, wanted: State) -> Result<(), Wrong> {
        if self.state == wanted || (!wanted.is_empty() && self.state.contains(wanted)) {
            return Ok(());
        }
        let wrong = Err(Wrong::Use { is: self.state, wanted });
        self.enter(wanted);
        wrong
    }
}
