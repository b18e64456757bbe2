//! States of resources: the legal uses, and their effect on the state.
//!
//! [`legacy`] has the rules of `Promotion`, [`explicit`] the rules of `Explicit`. States that Direct3D 12 fixes
//! by memory or usage cannot be changed by a barrier under either.

mod accesses;
mod explicit;
mod layouts;
mod legacy;

use std::fmt;
use std::ops::Range;

use tenure_core::device::{
    Api, Features, MemoryFlags, Properties, QueueKind, QueueSerial, ResourceDesc, State, StateModel, Usage,
};

use self::accesses::Known;
pub(crate) use self::accesses::covered;
use self::explicit::Explicit;
use self::legacy::Legacy;
use crate::hazard::HazardKind;

/// The time and the queue of a command, as far as states depend on them.
#[derive(Clone, Copy)]
pub(crate) struct ExecutionPoint {
    pub(crate) d3d12: bool,
    pub(crate) at: QueueSerial,
    pub(crate) kind: QueueKind,
    pub(crate) family: u32,
    /// The newest submission of the queue that other queues had waited for when it waited for them.
    pub(crate) heard_of: u64,
    /// The newest submission of the queue that the CPU had seen complete.
    pub(crate) observed: u64,
}

impl ExecutionPoint {
    pub(crate) fn known(&self) -> Known {
        // On Direct3D 12 the end of a submission orders and flushes everything.
        let visible = if self.d3d12 { self.at.serial.saturating_sub(1) } else { self.heard_of };
        Known { at: self.at, visible, over: visible.max(self.observed) }
    }
}

impl Wrong {
    /// The kind of the hazard.
    pub(crate) const fn kind(&self) -> HazardKind {
        match self {
            Self::Aliased { .. } => HazardKind::MissingAliasingBarrier,
            _ => HazardKind::WrongState,
        }
    }
}

/// The reason why a use or transition is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("used as {} while in state {}", shown(.wanted), shown(.is))]
    Use { is: State, wanted: State },
    #[error("the barrier says it was {}, but it is in state {}", shown(.before), shown(.is))]
    Transition { is: State, before: State },
    #[error("the CPU writes it as if it was {}, but it is in state {}", shown(.before), shown(.is))]
    Written { is: State, before: State },
    #[error("its memory fixes its state to {}, and {} was asked for", shown(.is), shown(.wanted))]
    Fixed { is: State, wanted: State },
    #[error("comes to a copy queue in state {} and not in COMMON", shown(.is))]
    Crossing { is: State },
    #[error("is in state {}, which a {kind:?} queue does not know", shown(.is))]
    Unknown { is: State, kind: QueueKind },
    #[error(
        "used as {} while in state {}, but no barrier orders that after the use as {}",
        shown(.wanted), shown(.is), shown(.after)
    )]
    Unordered { is: State, after: State, wanted: State },
    #[error("the barrier comes after {}, but it was used as {} as well", shown(.before), shown(.missing))]
    NotAfter { before: State, missing: State },
    #[error("owned by queue family {owner} and used by family {user} without a transfer")]
    Owner { owner: u32, user: u32 },
    #[error("acquired by queue family {to} without a matching release before it")]
    NotReleased { to: u32 },
    #[error("a buffer is handed over, though all queue families share it")]
    HandedOver,
    #[error("used as {}, but the aliasing barrier leads to {} only", shown(.wanted), shown(.to))]
    Aliased { to: State, wanted: State },
}

/// A state by its names.
pub(crate) struct Shown(pub(crate) State);

fn shown(state: &State) -> Shown {
    Shown(*state)
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().replace(" | ", "|"))
    }
}

/// The state that the memory or the usage fixes, if any.
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

/// One entry for all subresources while they are equal, otherwise one each.
struct Each<T> {
    count: u32,
    entries: Vec<T>,
}

impl<T: Clone + PartialEq> Each<T> {
    /// The entries of the subresources `which`, split from the others if need be.
    fn get(&mut self, which: &Range<u32>) -> &mut [T] {
        if let [whole] = self.entries.as_slice()
            && *which != (0..self.count)
        {
            self.entries = vec![whole.clone(); self.count as usize];
        }
        let end = (which.end as usize).min(self.entries.len());
        let start = (which.start as usize).min(end);
        if *which == (0..self.count) { &mut self.entries } else { &mut self.entries[start..end] }
    }

    /// Merges the entries when all have become equal.
    fn merge(&mut self) {
        if self.entries.windows(2).all(|pair| pair[0] == pair[1]) {
            self.entries.truncate(1);
        }
    }

    /// The first mistake that a change of some subresources finds, made for all of them.
    fn change(
        &mut self,
        which: &Range<u32>,
        mut change: impl FnMut(&mut T) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let mut found = Ok(());
        for entry in self.get(which) {
            found = found.and(change(entry));
        }
        found
    }
}

enum Model {
    /// The state fixed by memory or usage.
    Fixed(State),
    Legacy(Each<Legacy>),
    Explicit(Each<Explicit>),
}

/// The states of all subresources of a resource.
pub(crate) struct States {
    buffer: bool,
    model: Model,
    /// Resources that shaders read must be in `COPY_SRC`, too.
    copied_reads: bool,
}

impl States {
    pub(crate) fn new(properties: &Properties, desc: &ResourceDesc, flags: MemoryFlags) -> Self {
        let buffer = matches!(desc, ResourceDesc::Buffer(_));
        let count = desc.subresources();
        let model = match (fixed(properties, desc, flags), properties.state_model) {
            (Some(state), _) => Model::Fixed(state),
            (None, StateModel::Promotion) => Model::Legacy(Each { count, entries: vec![Legacy::default()] }),
            (None, StateModel::Explicit) => Model::Explicit(Each {
                count,
                entries: vec![Explicit::new(
                    buffer,
                    desc.usage().is_of_all_queues(),
                    properties.api == Api::Direct3D12,
                )],
            }),
        };
        let copied_reads = !buffer && properties.features.contains(Features::COPY_SRC_WITH_READS);
        Self { buffer, model, copied_reads }
    }

    /// Uses subresources in `wanted`.
    pub(crate) fn use_as(
        &mut self,
        point: ExecutionPoint,
        which: Range<u32>,
        wanted: State,
    ) -> Result<(), Wrong> {
        let buffer = self.buffer;
        let is_copied = self.copied_reads && wanted.intersects(State::SHADER_READ);
        match &mut self.model {
            Model::Fixed(is) if is.contains(wanted) => Ok(()),
            Model::Fixed(is) => Err(Wrong::Fixed { is: *is, wanted }),
            Model::Legacy(parts) if is_copied => parts.change(&which, |part| part.use_copied(point, wanted)),
            Model::Legacy(parts) => parts.change(&which, |part| part.use_as(point, buffer, wanted)),
            Model::Explicit(parts) => parts.change(&which, |part| part.use_as(point, wanted)),
        }
    }

    /// Moves subresources from `before` to `after`.
    pub(crate) fn transition(
        &mut self,
        point: ExecutionPoint,
        which: Range<u32>,
        (before, after): (State, State),
        half: Option<(Role, u32)>,
    ) -> Result<(), Wrong> {
        let found = match &mut self.model {
            Model::Fixed(is) if before == after && is.contains(after) => Ok(()),
            Model::Fixed(is) => Err(Wrong::Fixed { is: *is, wanted: after }),
            Model::Legacy(parts) => parts.change(&which, |part| part.transition(point, before, after)),
            Model::Explicit(parts) => parts.change(&which, |part| match half {
                Some((Role::Acquire, _)) => part.acquire(point, before, after),
                Some((Role::Release, to)) => part.release(point, (before, after), to),
                None => part.transition(point, before, after),
            }),
        };
        self.merge();
        found
    }

    /// A barrier between unordered accesses by shaders of any stage.
    pub(crate) fn order_unordered(&mut self, point: ExecutionPoint) {
        if let Model::Explicit(parts) = &mut self.model {
            parts.entries.iter_mut().for_each(|part| part.order_unordered(point));
        }
    }

    /// A write of texels of subresources by the CPU, while the GPU does not use them.
    pub(crate) fn write_by_cpu(&mut self, which: Range<u32>, states: (State, State)) -> Result<(), Wrong> {
        let found = match &mut self.model {
            Model::Explicit(parts) => parts.change(&which, |part| part.write_by_cpu(states)),
            Model::Fixed(_) | Model::Legacy(_) => Ok(()),
        };
        self.merge();
        found
    }

    /// True if such a barrier writes the bytes of a texture, as seen by other queues.
    pub(crate) fn rewrites(&mut self, which: Range<u32>, (before, after): (State, State)) -> bool {
        match &mut self.model {
            Model::Explicit(parts) => parts.get(&which).iter().any(|part| part.rewrites(before, after)),
            Model::Fixed(_) | Model::Legacy(_) => true,
        }
    }

    /// True if a barrier discards the contents of one of the subresources.
    pub(crate) fn discards(&mut self, which: Range<u32>, before: State) -> bool {
        match &mut self.model {
            Model::Explicit(parts) => parts.get(&which).iter().any(|part| part.discards(before)),
            Model::Fixed(_) | Model::Legacy(_) => false,
        }
    }

    /// Releases all of it to another device, in `state`.
    pub(crate) fn release_to_peer(
        &mut self,
        point: ExecutionPoint,
        which: Range<u32>,
        state: State,
    ) -> Result<(), Wrong> {
        match &mut self.model {
            // Buffers are in the state of their use.
            _ if point.d3d12 && state.is_empty() => Ok(()),
            Model::Fixed(is) if is.contains(state) => Ok(()),
            Model::Fixed(is) => Err(Wrong::Fixed { is: *is, wanted: state }),
            Model::Legacy(parts) => parts.change(&which, |part| part.transition(point, state, state)),
            Model::Explicit(parts) => parts.change(&which, |part| part.transition(point, state, state)),
        }
    }

    /// Acquires all of it from another device, in `state`: earlier accesses of this device are over.
    pub(crate) fn acquire_from_peer(&mut self, point: ExecutionPoint, state: State) {
        match &mut self.model {
            Model::Fixed(_) => {}
            Model::Legacy(parts) => {
                parts.entries.iter_mut().for_each(|part| *part = Legacy::acquired(point, state));
            }
            Model::Explicit(parts) => {
                parts.entries.iter_mut().for_each(|part| part.acquire_from_peer(point, state));
            }
        }
        self.merge();
    }

    fn merge(&mut self) {
        match &mut self.model {
            Model::Fixed(_) => {}
            Model::Legacy(parts) => parts.merge(),
            Model::Explicit(parts) => parts.merge(),
        }
    }

    /// An aliasing barrier to the states `to`: the contents become undefined, on Vulkan also the layout and the
    /// owner, while Direct3D 12's legacy states stay.
    pub(crate) fn activate(&mut self, point: ExecutionPoint, to: State) {
        if let Model::Explicit(parts) = &mut self.model {
            parts.entries.iter_mut().for_each(|part| part.activate(point, to));
        }
        self.merge();
    }

    /// The queue's accesses that a barrier after `from` does not come after, if any. Legacy barriers do not name
    /// them.
    pub(crate) fn left_open(&self, point: ExecutionPoint, from: State) -> Option<State> {
        match &self.model {
            Model::Explicit(parts) => parts.entries.iter().find_map(|part| part.left_open(point, from)),
            Model::Fixed(_) | Model::Legacy(_) => None,
        }
    }

    /// Back to `COMMON`, where Direct3D 12 does so when a submission completes: the subresources that
    /// it used.
    pub(crate) fn decay(&mut self, point: ExecutionPoint) {
        let buffer = self.buffer;
        if let Model::Legacy(parts) = &mut self.model {
            parts.entries.iter_mut().for_each(|part| part.decay(point, buffer));
            parts.merge();
        }
    }
}

/// The half of a transfer that a barrier makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Release,
    Acquire,
}
