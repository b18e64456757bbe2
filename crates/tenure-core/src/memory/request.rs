//! Requests to the pools, and the interface that makes room for them.

use super::objects::{MemoryOwner, MemorySize};
use super::policy::Placement;
use super::pools::allows;
use super::{AllocationFlags, BlockTraits, MemoryUse, PoolKind};
use crate::Name;
use crate::device::{BufferInfo, DeviceError, MemoryTypeId, Requirements, ResourceDesc};

/// A request for a range of a shared buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeRequest<'a> {
    pub(crate) kind: PoolKind,
    pub(crate) memory_use: MemoryUse,
    /// Whether the content comes with the creation: the range then goes to memory that the CPU can write.
    pub(crate) is_filled: bool,
    /// Bytes of the range.
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// The buffer to create if the request gets dedicated memory.
    pub(crate) alone: &'a BufferInfo,
    pub(crate) flags: AllocationFlags,
    pub(crate) traits: BlockTraits,
    pub(crate) name: &'a Name,
}

/// A request for an API resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) desc: &'a ResourceDesc,
    pub(crate) needs: &'a Requirements,
    pub(crate) placement: Placement,
    pub(crate) memory_use: MemoryUse,
    /// Whether the content comes with the creation: the resource then goes to memory that the CPU can write.
    pub(crate) is_filled: bool,
    /// The counter for the memory, if it is dedicated.
    pub(crate) owner: MemoryOwner,
    pub(crate) flags: AllocationFlags,
    pub(crate) traits: BlockTraits,
    pub(crate) name: &'a Name,
}

/// Gives back unused memory: passed to each function that may need new memory.
pub(crate) trait MakeRoom {
    /// Gives back all unused memory, and evicts blocks to make room for the wanted bytes.
    fn make_room(&self, wanted: Option<Wanted>);

    /// Returns ranges that the GPU has finished with to their blocks.
    fn release_completed(&self);

    /// Called before a request allocates from the driver, to reclaim memory that may be enough for it.
    fn prepare_growth(&self) {}

    /// Waits, for a bounded time, for memory that the GPU still uses, and gives it back; false when there is
    /// none.
    fn wait_for_room(&self, wanted: Option<Wanted>) -> bool;
}

impl dyn MakeRoom + '_ {
    /// Calls `ask`; if the device is short of memory, makes room and calls it once more.
    pub(crate) fn retry<T>(&self, mut ask: impl FnMut() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        match ask() {
            Err(error) if error.is_shortage() => {
                self.make_room(None);
                ask()
            }
            answer => answer,
        }
    }
}

/// The minimum bytes of a request, in its preferred memory type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) own: MemorySize,
    /// The driver has refused the request, so that it has less memory than the budget says.
    pub(crate) is_refused: bool,
}

impl Wanted {
    /// In the first allowed memory type; `None` if none is allowed.
    pub(crate) fn new(order: &[MemoryTypeId], memory_types: u32, size: u64) -> Option<Self> {
        first_allowed(order, memory_types)
            .map(|memory| Self { own: MemorySize { memory, size }, is_refused: false })
    }

    /// Notes that a memory type was short.
    pub(crate) fn note_refusal(this: &mut Option<Self>, memory: MemoryTypeId, refusal: &DeviceError) {
        if let (Some(wanted), DeviceError::OutOfMemory { .. }) = (this, refusal) {
            wanted.is_refused |= wanted.own.memory == memory;
        }
    }
}

/// The first allowed memory type.
pub(super) fn first_allowed(order: &[MemoryTypeId], memory_types: u32) -> Option<MemoryTypeId> {
    order.iter().copied().find(|memory| allows(memory_types, *memory))
}
