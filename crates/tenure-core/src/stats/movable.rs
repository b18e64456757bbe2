//! Movable resources in reports.

use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::device::Device;
use crate::memory::MovableBacking;
use crate::registry::{RegistryKey, RegistrySlot};

/// State of a [movable](crate::BufferDesc::movable) resource: obstacles to a move, and its moves so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MovableReport {
    /// Permanently pinned: see [`Buffer::is_pinned`](crate::Buffer::is_pinned).
    pub is_pinned: bool,
    /// Number of open recordings and pending uploads that use it; it can move if there are none.
    pub users: u32,
    /// Number of its moves.
    pub moves: u64,
}

impl MovableReport {
    /// `None` when the resource was dropped.
    fn of<D: Device>(movable: &MovableBacking<D>) -> Option<(RegistrySlot, Self)> {
        let slot = RegistryKey::from_bits(movable.registry_key()?).slot();
        let current = movable.current.lock();
        // The entry of a dropped resource may have been reused.
        current.value().location.as_ref()?;
        let report =
            Self { is_pinned: current.is_pinned(), users: current.holders(), moves: current.value().moves };
        Some((slot, report))
    }

    /// All movable resources, by their registry slots. Cost: proportional to their number.
    pub(super) fn collect<D: Device>(context: &Context<D>) -> FxHashMap<RegistrySlot, Self> {
        context.pools.movables().iter().filter_map(|movable| Self::of(movable)).collect()
    }
}
