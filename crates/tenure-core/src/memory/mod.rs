//! Memory for lasting resources: a pool for each class of them, on the memory engine of [`tenure_heap`], which has
//! the fallback chain, the growth of pools, and the limits that both mind.
//!
//! # How a request is served
//! For each memory type that can hold the resource, in [order of preference](type_order):
//! 1. a range of the pool's blocks;
//! 2. a new block: the preferred size, then a half, a quarter, an eighth of it, as far as the
//!    request fits and the device allows (it takes the place of the pool's empty blocks, which
//!    were too small);
//! 3. memory of its own (a committed resource).
//!
//! The types are tried in the order of [`heap_pools::try_each_memory_type`], which lists its steps. What the GPU reads
//! well from system memory (buffers, and textures that are only read) goes there before a budget is exceeded. Render
//! targets, depth and storage textures leave the card's memory only when the driver refuses. The last step but one
//! waits, for at most [`PoolConfig::max_wait`](crate::PoolConfig::max_wait), for what was dropped and the GPU still
//! uses. Where all steps fail, the request fails with [`OutOfMemory`] (size, class, budget, largest free range, what
//! each step was answered, what awaits release). A lost device or an invalid description ends the chain at once.
//! Whatever was made on the way is unmade. What goes to memory of another kind is logged, as a warning.
//!
//! The closer the number of allocations is to the device's limit, the larger are new blocks. When it is near, what
//! [the policy](policy) gives memory of its own shares a block as well, if it may.
//!
//! [`OutOfMemory`]: crate::OutOfMemory

mod budget;
mod class;
mod cost;
mod fallback;
mod flags;
mod freeing;
pub mod in_place;
mod location;
mod make;
mod make_way;
mod maker;
mod movable;
mod moving;
mod notices;
mod objects;
mod parts;
pub mod policy;
mod pool;
mod pools;
mod pressure;
mod request;
mod residency;
mod shards;

pub(crate) use class::BlockTraits;
pub(crate) use fallback::{AllocationFailure, no_memory_type, try_memory_types};
pub(crate) use freeing::{RUN, RemoteFreeList};
pub(crate) use location::{
    AdoptedOwner, AliasedRange, AliasingHandoff, Backing, Location, Page, PageRange, RecordedLocation,
    SharedHeap, StructureLocation,
};
pub(crate) use movable::{
    ApiPlace, Current, Exchange, Holder, MovableBacking, PlaceHold, PlaceHolds, PlaceNeeds, PlannedMove,
};
pub(crate) use objects::{HeapPlace, MapWish, MemoryOwner, MemorySize};
pub(crate) use pool::{FreeToken, PoolShard, ShardTotals, Store, Suballocation};
pub(crate) use pools::{Pools, allows};
pub(crate) use pressure::Levels;
pub(crate) use request::{MakeRoom, RangeRequest, ResourceRequest, Wanted};
pub(crate) use residency::Paging;
pub(crate) use shards::Shards;

#[doc(no_inline)]
pub use class::MemoryUse;
pub use class::{Class, PoolKind, TypeOrder, target_type_order, type_order};
#[doc(no_inline)]
pub use cost::Cost;
#[doc(no_inline)]
pub use flags::AllocationFlags;
#[doc(no_inline)]
pub use location::LocationKind;
#[doc(no_inline)]
pub use movable::MovableId;
#[doc(no_inline)]
pub use pressure::Pressure;
/// Pools of heaps alone, for programs that create their API resources themselves.
pub use tenure_heap as heap_pools;
#[doc(no_inline)]
pub use tenure_heap::CompactionBudget;
