//! Pools of GPU memory heaps: the memory engine of `tenure::Gpu`, for programs that create their API resources
//! themselves.
//!
//! [`HeapPools`] allocates ranges of heaps from any [`HeapDevice`], which creates and destroys the heaps. It has no
//! API resources, frames or deferred release: a range is reusable as soon as it is freed.
//!
//! Its parts are public, because `tenure-core` builds `Gpu` from them, with locks for several threads, and with
//! blocks that are buffers as well as heaps:
//! * [`Pool`]: blocks with one suballocator; it keeps empty blocks for a while, and has its own statistics.
//! * [`Growth`]: the size of the next block.
//! * [`try_each_memory_type`]: the fallback chain, the order of attempts until memory is found.
//! * [`MemoryLimits`]: the limits of the chain: the operating system's budgets, which only the last round may exceed,
//!   the device's largest heap and its number of allocations.
//!
//! # The fallback chain
//! For each memory type of a request, in its order of preference:
//! 1. a range of the pool's blocks;
//! 2. a new block: the size from the growth of the pool, then a half, a quarter, an eighth of it;
//! 3. dedicated memory (a dedicated heap, or a committed resource).
//!
//! In the first round no request to the driver exceeds the budget ([`HeapDevice::budget`]): another memory type is
//! better than paging. After all types have refused, empty blocks are freed, and all types are tried once more
//! regardless of the budget, because the driver decides. Then the request fails.
//!
//! As the number of allocations approaches the device's limit, blocks become larger.

#![warn(missing_debug_implementations)]

mod caught;
mod chain;
mod device;
mod growth;
mod limits;
mod name;
mod pool;
mod pools;
mod retention;
mod setters;
mod suballocator;

#[doc(hidden)]
pub use caught::run_caught;
pub use chain::{
    AllocationFailure, Answer, Answers, Fallback, Round, ShortageRules, Spill, Step, try_each_memory_type,
};
pub use device::{
    HeapBudget, HeapCategory, HeapDesc, HeapDevice, HeapDeviceError, HeapError, HeapProperties,
    InvalidProperties, MAX_MEMORY_TYPES, MemoryFlags, MemoryHeap, MemoryType, MemoryTypeId, Priority,
};
pub use growth::{BlockShape, Growth};
pub use limits::{MemoryCounter, MemoryLimits};
pub use name::Name;
pub use pool::{CompactionBudget, Pool, PoolTotals, RangeMove, RangeNeeds, Unfit};
pub use pools::{
    BlockSizes, HeapPools, HeapPoolsConfig, InvalidSetup, LiveMemory, MemoryBlock, MemoryBlockId,
    MemoryError, MemoryMove, MemoryRange, MemoryRequest, MemoryTotals, RequestField,
};
pub use suballocator::PoolSuballocator;
