//! Memory that changes hands.
//!
//! "Resource Aliasing" of the specification, in two calls. The first has global barriers: they flush the writes
//! of the previous owners of the memory, and order the uses of resources without a transition of their own. The
//! second has the textures' first transitions, from undefined contents. A barrier that discards must not be
//! combined with one that flushes the same memory: textures whose memory was written before are discarded by a
//! separate command, all others by their transition.

use smallvec::SmallVec;
use tenure_core::device::State;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_ACCESS_COMMON, D3D12_BARRIER_SYNC, D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_SYNC_NONE,
    D3D12_GLOBAL_BARRIER,
};

use super::scope::{NO_USE, Scope, Stage};

/// Every possible later use.
const ANY_USE: Scope = Scope { sync: D3D12_BARRIER_SYNC_ALL, access: D3D12_BARRIER_ACCESS_COMMON };

/// States in which the GPU may write to memory: builds write acceleration structures.
const WRITES: State = State::WRITES.union(State::ACCELERATION_STRUCTURE);

/// Both at once.
fn union(one: Scope, other: Scope) -> Scope {
    if one == NO_USE {
        return other;
    }
    if other == NO_USE {
        return one;
    }
    let is_all = one.sync.contains(D3D12_BARRIER_SYNC_ALL) || other.sync.contains(D3D12_BARRIER_SYNC_ALL);
    let sync = if is_all { D3D12_BARRIER_SYNC_ALL } else { one.sync | other.sync };
    // "Common" is any access, and no bit.
    let is_any = one.access == D3D12_BARRIER_ACCESS_COMMON || other.access == D3D12_BARRIER_ACCESS_COMMON;
    let access = if is_any { D3D12_BARRIER_ACCESS_COMMON } else { one.access | other.access };
    Scope { sync, access }
}

/// The scope that the first transition of a texture follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Follows {
    pub(super) sync: D3D12_BARRIER_SYNC,
    /// A barrier before it flushes the memory.
    pub(super) is_flushed: bool,
}

/// A resource that takes over memory; `K` identifies it.
struct Takeover<K> {
    resource: K,
    /// Whether the resource is a buffer, which has no transitions that could order it.
    is_buffer: bool,
    /// Subresources without a transition so far.
    left: u32,
    from: Scope,
    to: Scope,
    /// Stages of earlier uses in the same list, when the resource owned the memory before.
    own: D3D12_BARRIER_SYNC,
    writes: bool,
    /// The barrier was in an earlier call of the list.
    is_earlier: bool,
}

impl<K> Takeover<K> {
    const fn is_flushed(&self) -> bool {
        self.writes && self.from.sync.0 != D3D12_BARRIER_SYNC_NONE.0
    }
}

/// The resources that take over memory in a list: all resources of this call, and the resources of earlier calls
/// that still have subresources without a transition.
pub(crate) struct Takeovers<K>(SmallVec<[Takeover<K>; 4]>);

impl<K> Default for Takeovers<K> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<K> Takeovers<K> {
    /// Forgets all, for a new list.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: PartialEq> Takeovers<K> {
    /// Adds a resource that takes over memory used in the states `from`. `subresources` is the number that have
    /// transitions (0 for a buffer). Its next use is in `to`, or in any state if that is empty. `own`: the states
    /// in which it was used before in the same list, if any.
    pub(super) fn add(
        &mut self,
        stage: Stage,
        (resource, subresources): (K, u32),
        (from, to, own): (State, State, State),
    ) {
        let known = State::allowed_on(stage.kind);
        let was = if from == State::all() { stage.any_write() } else { stage.of(from & known) };
        let is = if (to & known).is_empty() { ANY_USE } else { stage.of(to & known) };
        let own = stage.of(own & known).sync;
        let writes = (from & known).intersects(WRITES);
        // Several barriers for it in this call are combined; barriers of an earlier call no longer apply.
        self.0.retain(|other| other.resource != resource || !other.is_earlier);
        if let Some(other) = self.0.iter_mut().find(|other| other.resource == resource) {
            (other.from, other.to) = (union(other.from, was), union(other.to, is));
            other.own |= own;
            other.writes |= writes;
            return;
        }
        self.0.push(Takeover {
            resource,
            is_buffer: subresources == 0,
            left: subresources,
            from: was,
            to: is,
            own,
            writes,
            is_earlier: false,
        });
    }

    /// Notes a transition from `COMMON` of `subresources` subresources; returns the scope that it follows, if the
    /// resource takes over memory.
    pub(super) fn transition(&mut self, resource: &K, subresources: u32) -> Option<Follows> {
        let flushed = self.flush().map(|(_, to)| to.sync);
        let takeover = self.0.iter_mut().find(|takeover| takeover.resource == *resource)?;
        takeover.left = takeover.left.saturating_sub(subresources);
        let is_flushed = takeover.is_flushed();
        let sync = match flushed {
            // Its wait contains the scope after the earlier global barrier.
            _ if takeover.is_earlier && takeover.from.sync != D3D12_BARRIER_SYNC_NONE => takeover.to.sync,
            Some(flushed) if is_flushed => flushed,
            _ => takeover.from.sync,
        };
        // "Sequential Barriers": it contains the scope after the earlier barriers on the texture.
        Some(Follows { sync: sync | takeover.own, is_flushed })
    }

    /// The scopes of the flushing global barrier, if this call needs one.
    fn flush(&self) -> Option<(Scope, Scope)> {
        self.combined(|takeover| takeover.is_flushed())
    }

    /// The global barriers of this call, to be executed before its transitions: one that flushes writes, and one
    /// for reads that no transition orders.
    pub(super) fn globals(&self) -> impl Iterator<Item = D3D12_GLOBAL_BARRIER> {
        let is_open = |takeover: &Takeover<K>| {
            let is_used = takeover.from.sync != D3D12_BARRIER_SYNC_NONE;
            is_used && !takeover.is_flushed() && (takeover.left > 0 || takeover.is_buffer)
        };
        [self.flush(), self.combined(is_open)].into_iter().flatten().map(|(from, to)| D3D12_GLOBAL_BARRIER {
            SyncBefore: from.sync,
            SyncAfter: to.sync,
            AccessBefore: from.access,
            AccessAfter: to.access,
        })
    }

    fn combined(&self, needs: impl Fn(&Takeover<K>) -> bool) -> Option<(Scope, Scope)> {
        let these = self.0.iter().filter(|takeover| !takeover.is_earlier && needs(takeover));
        let scopes = these.map(|takeover| (takeover.from, takeover.to));
        scopes.reduce(|one, other| (union(one.0, other.0), union(one.1, other.1)))
    }

    /// Ends a call: removes the resources whose transitions are complete.
    pub(super) fn end_call(&mut self) {
        self.0.retain(|takeover| takeover.left > 0);
        self.0.iter_mut().for_each(|takeover| takeover.is_earlier = true);
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::QueueKind;
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_BARRIER_ACCESS_COPY_SOURCE, D3D12_BARRIER_ACCESS_RENDER_TARGET,
        D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS, D3D12_BARRIER_SYNC_COPY,
        D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_SYNC_RENDER_TARGET,
    };

    use super::*;

    const GRAPHICS: Stage = Stage { kind: QueueKind::Graphics, is_traced: false };
    const COPY: Stage = Stage { kind: QueueKind::Copy, is_traced: false };

    fn globals<K: PartialEq>(takeovers: &Takeovers<K>) -> Vec<D3D12_GLOBAL_BARRIER> {
        takeovers.globals().collect()
    }

    fn read(sync: D3D12_BARRIER_SYNC) -> Option<Follows> {
        Some(Follows { sync, is_flushed: false })
    }

    #[test]
    fn a_texture_that_follows_reads_waits_by_itself() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 2), (State::PIXEL_SHADER, State::RENDER_TARGET, State::COMMON));
        assert_eq!(takeovers.transition(&"shadow", 1), None);
        assert_eq!(takeovers.transition(&"bloom", 1), read(D3D12_BARRIER_SYNC_PIXEL_SHADING));
        let [global] = globals(&takeovers)[..] else { panic!("one subresource is left") };
        assert_eq!(global.SyncBefore, D3D12_BARRIER_SYNC_PIXEL_SHADING);
        assert_eq!(global.SyncAfter, D3D12_BARRIER_SYNC_RENDER_TARGET);
        assert_eq!(takeovers.transition(&"bloom", 1), read(D3D12_BARRIER_SYNC_PIXEL_SHADING));
        assert!(globals(&takeovers).is_empty());
    }

    #[test]
    fn writes_of_other_resources_are_flushed_first() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 1), (State::RENDER_TARGET, State::UNORDERED_ACCESS, State::COMMON));
        takeovers.add(GRAPHICS, ("hits", 0), (State::PIXEL_SHADER, State::COPY_DST, State::COMMON));
        let unordered = GRAPHICS.of(State::UNORDERED_ACCESS);
        let follows = Follows { sync: unordered.sync, is_flushed: true };
        assert_eq!(takeovers.transition(&"bloom", 1), Some(follows), "what the flush leads to");
        let [flush, order] = globals(&takeovers)[..] else { panic!("one for each") };
        assert_eq!(flush.SyncBefore, D3D12_BARRIER_SYNC_RENDER_TARGET);
        assert_eq!(flush.AccessBefore, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        assert_eq!((flush.SyncAfter, flush.AccessAfter), (unordered.sync, unordered.access));
        assert_eq!(order.SyncBefore, D3D12_BARRIER_SYNC_PIXEL_SHADING);
        assert_eq!(order.AccessBefore, D3D12_BARRIER_ACCESS_SHADER_RESOURCE);
    }

    /// "Sequential Barriers": the sync before of a texture's barrier contains the sync after of its last barrier.
    #[test]
    fn a_texture_that_had_memory_before_waits_for_its_own_uses() {
        let mut takeovers = Takeovers::default();
        let own = State::RENDER_TARGET | State::PIXEL_SHADER;
        for (from, expected) in [
            (State::COPY_SRC, D3D12_BARRIER_SYNC_COPY),
            (State::COMMON, D3D12_BARRIER_SYNC_NONE),
            (State::COPY_DST, GRAPHICS.of(State::RENDER_TARGET).sync),
        ] {
            takeovers.clear();
            takeovers.add(GRAPHICS, ("bloom", 1), (from, State::RENDER_TARGET, own));
            let follows = takeovers.transition(&"bloom", 1).expect("it takes over memory");
            assert_eq!(follows.sync, expected | GRAPHICS.of(own).sync, "{from:?}");
        }
    }

    /// A texture may take over memory of several resources.
    #[test]
    fn barriers_for_one_texture_add_up() {
        let mut takeovers = Takeovers::default();
        for from in [State::COMMON, State::COPY_SRC, State::RENDER_TARGET] {
            takeovers.add(GRAPHICS, ("bloom", 1), (from, State::RENDER_TARGET, State::COMMON));
        }
        assert!(takeovers.transition(&"bloom", 1).is_some_and(|follows| follows.is_flushed));
        let [global] = globals(&takeovers)[..] else { panic!("one flush") };
        assert_eq!(global.SyncBefore, D3D12_BARRIER_SYNC_COPY | D3D12_BARRIER_SYNC_RENDER_TARGET);
        let access = D3D12_BARRIER_ACCESS_COPY_SOURCE | D3D12_BARRIER_ACCESS_RENDER_TARGET;
        assert_eq!(global.AccessBefore, access);
    }

    /// Builds write structures, though the state is not a write state.
    #[test]
    fn structures_are_written() {
        let mut takeovers = Takeovers::default();
        takeovers.add(
            GRAPHICS,
            ("bloom", 1),
            (State::ACCELERATION_STRUCTURE, State::COPY_DST, State::COMMON),
        );
        assert!(takeovers.transition(&"bloom", 1).is_some_and(|follows| follows.is_flushed));
        assert_eq!(globals(&takeovers).len(), 1);
    }

    #[test]
    fn unused_takeovers_need_no_sync_and_unknown_ones_every_write() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 1), (State::COMMON, State::COPY_DST, State::COMMON));
        assert_eq!(takeovers.transition(&"bloom", 1), read(D3D12_BARRIER_SYNC_NONE));
        assert!(globals(&takeovers).is_empty());
        takeovers.add(GRAPHICS, ("rays", 0), (State::all(), State::COMMON, State::COMMON));
        let [global] = globals(&takeovers)[..] else { panic!("rays may follow anything") };
        assert_eq!((global.SyncBefore, global.SyncAfter), (D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_SYNC_ALL));
        // The debug layer warns of "common" in this place.
        assert_ne!(global.AccessBefore, D3D12_BARRIER_ACCESS_COMMON);
        assert!(global.AccessBefore.contains(D3D12_BARRIER_ACCESS_UNORDERED_ACCESS));
        assert_eq!(global.AccessAfter, D3D12_BARRIER_ACCESS_COMMON);
        // A use that the queue does not support was made by another queue, for which it has waited.
        let mut copies = Takeovers::default();
        copies.add(
            COPY,
            ("rays", 0),
            (State::RENDER_TARGET | State::COPY_SRC, State::COPY_DST, State::COMMON),
        );
        let [global] = globals(&copies)[..] else { panic!("a copy was made here") };
        assert_eq!(global.AccessBefore, D3D12_BARRIER_ACCESS_COPY_SOURCE);
    }

    /// Subresources with a transition in a later call follow the scope after the first call.
    #[test]
    fn later_transitions_follow_the_earlier_call() {
        let mut takeovers = Takeovers::default();
        let to = State::COPY_DST | State::RENDER_TARGET;
        takeovers.add(GRAPHICS, ("bloom", 2), (State::PIXEL_SHADER, to, State::COMMON));
        assert_eq!(takeovers.transition(&"bloom", 1), read(D3D12_BARRIER_SYNC_PIXEL_SHADING));
        assert_eq!(globals(&takeovers).len(), 1);
        takeovers.end_call();
        assert_eq!(takeovers.transition(&"bloom", 1), read(GRAPHICS.of(to).sync));
        assert!(globals(&takeovers).is_empty(), "it has been recorded");
        takeovers.end_call();
        assert_eq!(takeovers.transition(&"bloom", 1), None, "the next first use is of new contents");
    }
}
