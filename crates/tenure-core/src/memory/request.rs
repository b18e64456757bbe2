//! What is wanted of the pools, and who makes room for it.

use super::objects::{MemoryOwner, MemorySize};
use super::policy::Placement;
use super::pools::allows;
use super::{AllocationFlags, BlockTraits, MemoryUse, PoolKind};
use crate::Name;
use crate::device::{BufferInfo, DeviceError, MemoryTypeId, Requirements, ResourceDesc};

/// A range of a shared buffer is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeRequest<'a> {
    pub(crate) kind: PoolKind,
    pub(crate) memory_use: MemoryUse,
    /// Its content comes with its creation: it goes where the CPU can write it.
    pub(crate) is_filled: bool,
    /// Bytes of the range.
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// What to create, should it get memory of its own.
    pub(crate) alone: &'a BufferInfo,
    pub(crate) flags: AllocationFlags,
    pub(crate) traits: BlockTraits,
    pub(crate) name: &'a Name,
}

/// An API resource of its own is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) desc: &'a ResourceDesc,
    pub(crate) needs: &'a Requirements,
    pub(crate) placement: Placement,
    pub(crate) memory_use: MemoryUse,
    /// Its content comes with its creation: it goes where the CPU can write it.
    pub(crate) is_filled: bool,
    /// What counts the memory, should it get memory of its own.
    pub(crate) owner: MemoryOwner,
    pub(crate) flags: AllocationFlags,
    pub(crate) traits: BlockTraits,
    pub(crate) name: &'a Name,
}

/// What gives memory back that is not used, or no longer: passed to each function that may need new memory.
pub(crate) trait MakeRoom {
    /// Gives back what nothing uses, and evicts what leaves room for the wanted bytes.
    fn make_room(&self, wanted: Option<Wanted>);

    /// Gives back what the GPU is done with to the blocks that it is from.
    fn release_completed(&self);

    /// Called before a request allocates from the driver, to reclaim memory that may be enough for it.
    fn prepare_growth(&self) {}

    /// Waits for what the GPU still uses, for a bounded time, and gives it back; false when there is nothing.
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

/// What a request takes at least, in the memory type that it prefers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) own: MemorySize,
    /// The driver has refused it, so that it has less than the budget says.
    pub(crate) is_refused: bool,
}

impl Wanted {
    /// Of the first memory type that is allowed; `None` if none is.
    pub(crate) fn new(order: &[MemoryTypeId], memory_types: u32, size: u64) -> Option<Self> {
        first_allowed(order, memory_types)
            .map(|memory| Self { own: MemorySize { memory, size }, is_refused: false })
    }

    /// A memory type was short.
    pub(crate) fn note_refusal(this: &mut Option<Self>, memory: MemoryTypeId, refusal: &DeviceError) {
        if let (Some(wanted), DeviceError::OutOfMemory { .. }) = (this, refusal) {
            wanted.is_refused |= wanted.own.memory == memory;
        }
    }
}

/// The first memory type that is allowed.
pub(super) fn first_allowed(order: &[MemoryTypeId], memory_types: u32) -> Option<MemoryTypeId> {
    order.iter().copied().find(|memory| allows(memory_types, *memory))
}
