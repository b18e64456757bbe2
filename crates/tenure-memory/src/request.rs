//! Requests for memory: a range of a shared buffer, an API resource, or tiles.

use super::api_objects::MemoryOwner;
use super::policy::PlacementKind;
use super::{AllocationFlags, BlockTraits, MemoryUse, PoolKind};
use crate::Name;
use crate::device::{BufferInfo, Requirements, ResourceDesc};

/// A request for a range of a shared buffer.
#[derive(Clone, Copy, Debug)]
pub struct RangeRequest<'a> {
    pub kind: PoolKind,
    pub memory_use: MemoryUse,
    /// Whether the creation includes the content: the range is then placed in memory that the CPU can write.
    pub is_filled: bool,
    /// Bytes of the range.
    pub size: u64,
    pub align: u64,
    /// The buffer to create if the request gets dedicated memory.
    pub alone: &'a BufferInfo,
    pub flags: AllocationFlags,
    pub traits: BlockTraits,
    pub name: &'a Name,
}

/// A request for an API resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceRequest<'a> {
    pub desc: &'a ResourceDesc,
    pub needs: &'a Requirements,
    pub placement: PlacementKind,
    pub memory_use: MemoryUse,
    /// Whether the creation includes the content: the resource is then placed in memory that the CPU can
    /// write.
    pub is_filled: bool,
    /// The counter for the memory, if it is dedicated.
    pub owner: MemoryOwner,
    pub flags: AllocationFlags,
    pub traits: BlockTraits,
    pub name: &'a Name,
}

impl<'a> ResourceRequest<'a> {
    /// A request for a GPU-only resource, without restrictions.
    pub fn new(
        desc: &'a ResourceDesc,
        needs: &'a Requirements,
        placement: PlacementKind,
        name: &'a Name,
    ) -> Self {
        Self {
            desc,
            needs,
            placement,
            memory_use: MemoryUse::GpuOnly,
            is_filled: false,
            owner: MemoryOwner::Resource,
            flags: AllocationFlags::empty(),
            traits: BlockTraits::default(),
            name,
        }
    }
}

/// A request for a run of tiles in a heap; `size` and `tile` in bytes.
#[derive(Clone, Copy, Debug)]
pub struct TileRequest<'a> {
    pub needs: &'a Requirements,
    pub size: u64,
    pub tile: u64,
}
