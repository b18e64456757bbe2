//! Memory for lasting resources: one pool per class, on the memory engine of [`tenure_heap`], which has the
//! fallback chain, the growth of pools, and the limits that both observe.
//!
//! # How a request is served
//! A `Request` states its terms, and `Engine::place` tries the steps of the chain. For each memory type that can hold the resource, in [order of preference](type_order):
//! 1. a range of the pool's blocks;
//! 2. a new block: the preferred size, then a half, a quarter, an eighth of it, as far as the
//!    request fits and the device allows (it replaces the pool's empty blocks, which were too
//!    small);
//! 3. dedicated memory (a committed resource).
//!
//! The types are tried in the order of [`heap_pools::try_each_memory_type`], which lists its steps. Resources
//! that the GPU reads well from system memory (buffers, and textures that are only read) go there before a
//! budget is exceeded. Render targets, depth and storage textures leave the card's memory only when the driver
//! refuses. The last step but one waits, for at most [`PoolConfig::max_wait`](crate::PoolConfig::max_wait), for
//! dropped memory that the GPU still uses. If all steps fail, the request fails with [`OutOfMemory`] (size,
//! class, budget, largest free range, the answer to each step, bytes that await release). A lost device or an
//! invalid description ends the chain at once. Everything made on the way is destroyed. An allocation in memory
//! of another kind is logged as a warning.
//!
//! The closer the number of allocations is to the device's limit, the larger are new blocks. Near the limit,
//! resources to which [the policy](policy) gives dedicated memory share a block as well, if they may.
//!
//! [`OutOfMemory`]: crate::OutOfMemory

mod api_objects;
mod block;
mod budget;
mod class;
mod cost;
mod exchangeable;
mod fallback;
mod flags;
mod freeing;
mod idle_blocks;
pub mod in_place;
mod location;
mod movable;
mod moving;
mod new_blocks;
pub mod policy;
mod pool_settings;
mod pools;
mod pressure;
mod request;
mod residency;
mod shard;
mod sharding;
mod shortage;

pub(crate) use api_objects::{HeapPlace, MapWish, MemoryOwner, MemorySize};
pub(crate) use block::{FreeToken, HeapBlock, Suballocation};
pub(crate) use class::BlockTraits;
pub(crate) use exchangeable::{Exchange, Holder};
pub(crate) use fallback::{AllocationFailure, Engine, no_memory_type, try_memory_types};
pub(crate) use freeing::{RUN, RemoteFreeList};
pub(crate) use location::{
    AdoptedOwner, AliasedRange, AliasingHandoff, Backing, Location, Page, PageRange, RecordedLocation,
    SharedHeap, StructureLocation,
};
pub(crate) use movable::{ApiPlace, Current, MovableBacking, PlaceHold, PlaceHolds, PlaceNeeds, PlannedMove};
pub(crate) use pools::{Pools, allows};
pub(crate) use pressure::Levels;
pub(crate) use request::{RangeRequest, ResourceRequest, TileRequest};
pub(crate) use residency::Paging;
pub(crate) use shard::{PoolShard, ShardTotals};
pub(crate) use sharding::Shards;
pub(crate) use shortage::{MakeRoom, Wanted};

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
