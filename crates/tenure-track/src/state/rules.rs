//! The rules of the two kinds of API, as one function from the current and the wanted state to a step. The table is in the
//! documentation of [`state`](super).

use super::{D3d12Layout, Layout, StateCell};
use crate::device::{Api, QueueKind, ResourceDesc, State, StateModel};

/// The kind of a resource, which selects its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// No layout; decays to `COMMON` after each submission on D3D12.
    Buffer,
    /// Has a layout per subresource on `Explicit`.
    Texture,
}

impl ResourceKind {
    #[inline]
    pub(crate) const fn of(desc: &ResourceDesc) -> Self {
        match desc {
            ResourceDesc::Buffer(_) => Self::Buffer,
            ResourceDesc::Texture(_) => Self::Texture,
        }
    }
}

/// The states that D3D12's textures reach from `COMMON` without a barrier.
const PROMOTED_TEXTURE: State = State::SHADER_READ.union(State::COPY_SRC).union(State::COPY_DST);

/// States ordered by unordered barriers; builds of acceleration structures write in a state that is otherwise read-only.
const UNORDERED: State = State::UNORDERED.union(State::ACCELERATION_STRUCTURE);

/// Unordered accesses of one kind of shaders alone. Unordered barriers name the stages of all shaders, transitions those of
/// their states.
const OF_ONE_STAGE: State = State::UNORDERED.difference(State::UNORDERED_ACCESS);

/// Exclusive states: states with GPU writes, and the state of presentation, which queues do not order.
const EXCLUSIVE: State = State::WRITES.union(State::ACCELERATION_STRUCTURE).union(State::PRESENT);

/// True for exclusive states.
pub(super) const fn is_exclusive(state: State) -> bool {
    state.intersects(EXCLUSIVE)
}

/// True for states ordered by unordered barriers.
pub(super) const fn is_unordered(state: State) -> bool {
    state.intersects(UNORDERED)
}

/// True for combinations of read states.
pub(super) const fn is_read(state: State) -> bool {
    !state.is_empty() && !is_exclusive(state)
}

/// True for states that one use may request.
pub(super) const fn is_valid(state: State) -> bool {
    !is_exclusive(state) || state.bits().count_ones() == 1
}

/// The step before a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// No step; the state stays the same.
    Keep,
    /// No barrier; the state changes to this one implicitly.
    Free(State),
    /// An unordered barrier.
    Unordered,
    /// A transition to this state.
    Transition(State),
}

/// The rules for one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) model: StateModel,
    pub(super) kind: ResourceKind,
    /// The API whose texture layouts apply, on `Explicit`.
    layouts: Api,
    /// True if shader reads need a barrier to `COPY_SRC`, too.
    pub(super) reads_are_copied: bool,
    /// True for a target that must be discarded in new memory before its use.
    pub(super) needs_initialization: bool,
    /// The state in which the queue discards it; `None` if it cannot, or need not.
    pub(super) discarded_in: Option<State>,
    /// True if queue families do not own its contents.
    pub(super) is_of_all_families: bool,
}

impl Rules {
    /// The rules for the resource of a cell.
    #[inline]
    pub(super) fn of(model: StateModel, cell: &StateCell, queue: QueueKind) -> Self {
        let is_promotion = model == StateModel::Promotion;
        let reads_are_copied = cell.reads_are_copied() && is_promotion;
        let needs_initialization = cell.needs_initialization() && is_promotion;
        let discarded_in = if needs_initialization { cell.discarded_in(queue) } else { None };
        let (kind, layouts) = (cell.kind(), cell.layouts());
        let is_of_all_families = cell.is_of_all_families();
        Self {
            model,
            kind,
            layouts,
            reads_are_copied,
            needs_initialization,
            discarded_in,
            is_of_all_families,
        }
    }

    /// The state to request for a use in `state`.
    pub(super) const fn named(self, state: State) -> State {
        if self.reads_are_copied && state.intersects(State::SHADER_READ) {
            state.union(State::COPY_SRC)
        } else {
            state
        }
    }

    /// The state without the `COPY_SRC` that [`named`](Self::named) adds to shader reads. A `COPY_SRC` of the program's own
    /// beside them is removed as well.
    pub(super) const fn unnamed(self, state: State) -> State {
        if self.reads_are_copied && state.intersects(State::SHADER_READ) {
            state.difference(State::COPY_SRC)
        } else {
            state
        }
    }

    /// The step that a use in state `to` needs after one in state `from`.
    ///
    /// `promoted`: further reads are free, because `from` was reached without a barrier.
    /// `ordered`: the use depends on the earlier one.
    #[inline]
    pub(super) fn step(self, from: State, promoted: bool, to: State, ordered: bool) -> Step {
        if from == to && is_exclusive(to) {
            return self.repeat(to, ordered);
        }
        if from == to {
            return Step::Keep;
        }
        if from.is_empty() {
            return if self.promotes(to) { Step::Free(to) } else { Step::Transition(to) };
        }
        if self.merges(from, to) {
            let union = from | to;
            return match () {
                () if union == from => Step::Keep,
                () if promoted && self.widens(union) => Step::Free(union),
                () => Step::Transition(union),
            };
        }
        Step::Transition(to)
    }

    /// A write state entered again.
    const fn repeat(self, state: State, ordered: bool) -> Step {
        match self.model {
            _ if !ordered || state.contains(State::PRESENT) => Step::Keep,
            StateModel::Explicit if OF_ONE_STAGE.contains(state) => Step::Transition(state),
            _ if is_unordered(state) => Step::Unordered,
            StateModel::Promotion => Step::Keep,
            StateModel::Explicit => Step::Transition(state),
        }
    }

    /// True when a resource in `COMMON` reaches `to` without a barrier.
    pub(super) const fn promotes(self, to: State) -> bool {
        match (self.model, self.kind) {
            (_, ResourceKind::Buffer) => true,
            (StateModel::Promotion, ResourceKind::Texture) => {
                let is_moved = self.reads_are_copied && to.intersects(State::SHADER_READ);
                PROMOTED_TEXTURE.contains(to) && !is_moved
            }
            (StateModel::Explicit, ResourceKind::Texture) => to.is_empty(),
        }
    }

    /// True when a transition from `COMMON` discards contents of any layout and any queue family: for Vulkan's textures. On
    /// Direct3D 12 it would leave the compression data of targets undefined.
    pub(super) const fn discards_in_undefined(self) -> bool {
        matches!((self.model, self.kind), (StateModel::Explicit, ResourceKind::Texture))
            && matches!(self.layouts, Api::Vulkan)
    }

    /// True when promoted reads may grow to `union` without a barrier.
    const fn widens(self, union: State) -> bool {
        matches!(self.model, StateModel::Explicit) || self.promotes(union)
    }

    /// True when two consecutive uses are reads that one state serves.
    pub(super) fn merges(self, one: State, other: State) -> bool {
        is_read(one)
            && is_read(other)
            && (self.model == StateModel::Promotion || self.same_layout(one, other))
    }

    /// True when two uses by one command are reads that one state serves. Descriptors of Direct3D 12 name no layouts, so this
    /// holds there for all reads.
    pub(super) fn combines(self, one: State, other: State) -> bool {
        let any_layout = self.layouts == Api::Direct3D12 && is_read(one) && is_read(other);
        any_layout || self.merges(one, other)
    }

    /// True when a change between the two states keeps the layout.
    #[inline]
    pub(super) fn same_layout(self, one: State, other: State) -> bool {
        match (self.kind, self.layouts) {
            (ResourceKind::Buffer, _) => true,
            (ResourceKind::Texture, Api::Vulkan) => Layout::of(one) == Layout::of(other),
            (ResourceKind::Texture, Api::Direct3D12) => D3d12Layout::of(one) == D3d12Layout::of(other),
        }
    }
}
