//! What the report says of resources that can move.

use rustc_hash::FxHashMap;

use crate::context::Context;
use crate::device::Device;
use crate::memory::MovableBacking;
use crate::registry::{RecordKey, RecordSlot};

/// What keeps a [movable](crate::BufferDesc::movable) resource from moving, and how often it has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MovableReport {
    /// It stays where it is for good: see [`Buffer::is_pinned`](crate::Buffer::is_pinned).
    pub is_pinned: bool,
    /// Open recordings and pending uploads that use it; it moves once there are none.
    pub users: u32,
    /// How often it has moved.
    pub moves: u64,
}

impl MovableReport {
    /// `None` when nobody has it any more.
    fn of<D: Device>(movable: &MovableBacking<D>) -> Option<(RecordSlot, Self)> {
        let record = RecordKey::from_bits(movable.record()?).slot();
        let current = movable.current.lock();
        // Its record may be another object's once it is gone.
        current.value().location.as_ref()?;
        let report =
            Self { is_pinned: current.is_pinned(), users: current.holders(), moves: current.value().moves };
        Some((record, report))
    }

    /// All that can move, by their records. Cost: proportional to their number.
    pub(super) fn collect<D: Device>(context: &Context<D>) -> FxHashMap<RecordSlot, Self> {
        context.pools.movables().iter().filter_map(|movable| Self::of(movable)).collect()
    }
}
