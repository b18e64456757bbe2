//! Memory that changes hands in one call.
//!
//! A texture's first transition in the call waits for those who had the memory by itself, and
//! discards. It cannot flush what they wrote through other resources: that takes a global barrier, as
//! does everything that has no such transition in the call; one for all.

use smallvec::SmallVec;
use tenure_core::device::State;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_ACCESS_COMMON, D3D12_BARRIER_SYNC, D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_SYNC_NONE,
    D3D12_GLOBAL_BARRIER,
};

use super::scope::{Scope, Stage};

/// Every use, whatever it is.
const ANY: Scope = Scope { sync: D3D12_BARRIER_SYNC_ALL, access: D3D12_BARRIER_ACCESS_COMMON };

/// Both at once. "Common" is any access, and no bit.
fn either(one: Scope, other: Scope) -> Scope {
    if one.access == D3D12_BARRIER_ACCESS_COMMON || other.access == D3D12_BARRIER_ACCESS_COMMON {
        return ANY;
    }
    Scope { sync: one.sync | other.sync, access: one.access | other.access }
}

/// A resource that takes over memory; `K` tells resources apart.
struct Takeover<K> {
    resource: K,
    /// Subresources without a transition so far.
    left: u32,
    from: Scope,
    to: Scope,
    writes: bool,
}

/// All that take over memory in one call.
pub(super) struct Takeovers<K>(SmallVec<[Takeover<K>; 4]>);

impl<K> Default for Takeovers<K> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<K: PartialEq> Takeovers<K> {
    /// A resource with so many subresources has memory that was used in the states `from`, and is
    /// used in `to` next, or in any where that is empty.
    pub(super) fn add(
        &mut self,
        stage: Stage,
        (resource, subresources): (K, u32),
        (from, to): (State, State),
    ) {
        let known = State::allowed_on(stage.kind);
        let was = if from == State::all() { ANY } else { stage.of(from & known) };
        let is = if (to & known).is_empty() { ANY } else { stage.of(to & known) };
        self.0.push(Takeover { resource, left: subresources, from: was, to: is, writes: from.is_write() });
    }

    /// A transition from `COMMON` of so many subresources; what it waits for, if the resource takes
    /// over memory in this call.
    pub(super) fn transition(&mut self, resource: &K, subresources: u32) -> Option<D3D12_BARRIER_SYNC> {
        let takeover = self.0.iter_mut().find(|takeover| takeover.resource == *resource)?;
        takeover.left = takeover.left.saturating_sub(subresources);
        Some(takeover.from.sync)
    }

    /// The barrier for what the transitions do not order.
    pub(super) fn global(&self) -> Option<D3D12_GLOBAL_BARRIER> {
        let needs = |takeover: &&Takeover<K>| {
            takeover.from.sync != D3D12_BARRIER_SYNC_NONE && (takeover.left > 0 || takeover.writes)
        };
        let both = self.0.iter().filter(needs).map(|takeover| (takeover.from, takeover.to));
        let (from, to) = both.reduce(|one, other| (either(one.0, other.0), either(one.1, other.1)))?;
        Some(D3D12_GLOBAL_BARRIER {
            SyncBefore: from.sync,
            SyncAfter: to.sync,
            AccessBefore: from.access,
            AccessAfter: to.access,
        })
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::QueueKind;
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_BARRIER_ACCESS_RENDER_TARGET, D3D12_BARRIER_SYNC_PIXEL_SHADING,
        D3D12_BARRIER_SYNC_RENDER_TARGET,
    };

    use super::*;

    const GRAPHICS: Stage = Stage { kind: QueueKind::Graphics, is_traced: false };

    #[test]
    fn a_texture_that_follows_reads_waits_by_itself() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 2), (State::PIXEL_SHADER, State::RENDER_TARGET));
        assert_eq!(takeovers.transition(&"shadow", 1), None);
        assert_eq!(takeovers.transition(&"bloom", 1), Some(D3D12_BARRIER_SYNC_PIXEL_SHADING));
        let global = takeovers.global().expect("one subresource is left");
        assert_eq!(global.SyncBefore, D3D12_BARRIER_SYNC_PIXEL_SHADING);
        assert_eq!(global.SyncAfter, D3D12_BARRIER_SYNC_RENDER_TARGET);
        assert_eq!(takeovers.transition(&"bloom", 1), Some(D3D12_BARRIER_SYNC_PIXEL_SHADING));
        assert!(takeovers.global().is_none());
    }

    #[test]
    fn what_others_wrote_is_flushed_by_one_global_barrier() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 1), (State::RENDER_TARGET, State::UNORDERED_ACCESS));
        takeovers.add(GRAPHICS, ("hits", 1), (State::PIXEL_SHADER, State::COPY_DST));
        assert_eq!(takeovers.transition(&"bloom", 1), Some(D3D12_BARRIER_SYNC_RENDER_TARGET));
        let global = takeovers.global().expect("bloom follows writes, hits is a buffer");
        let sync = D3D12_BARRIER_SYNC_RENDER_TARGET | D3D12_BARRIER_SYNC_PIXEL_SHADING;
        assert_eq!(global.SyncBefore, sync);
        assert!(global.AccessBefore.contains(D3D12_BARRIER_ACCESS_RENDER_TARGET));
        let to = either(GRAPHICS.of(State::UNORDERED_ACCESS), GRAPHICS.of(State::COPY_DST));
        assert_eq!((global.SyncAfter, global.AccessAfter), (to.sync, to.access));
    }

    #[test]
    fn the_unknown_is_everything_and_nothing_is_nothing() {
        let mut takeovers = Takeovers::default();
        takeovers.add(GRAPHICS, ("bloom", 1), (State::COMMON, State::COPY_DST));
        assert_eq!(takeovers.transition(&"bloom", 1), Some(D3D12_BARRIER_SYNC_NONE));
        assert!(takeovers.global().is_none());
        takeovers.add(GRAPHICS, ("hits", 1), (State::INDEX, State::COPY_DST));
        takeovers.add(GRAPHICS, ("rays", 1), (State::all(), State::COMMON));
        let global = takeovers.global().expect("rays may follow anything");
        assert_eq!((global.SyncBefore, global.SyncAfter), (D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_SYNC_ALL));
        let any = D3D12_BARRIER_ACCESS_COMMON;
        assert_eq!((global.AccessBefore, global.AccessAfter), (any, any));
    }
}
