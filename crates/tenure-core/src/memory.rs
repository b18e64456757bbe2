//! Memory for lasting resources: the [placement policy](policy), classes of pools, and the order of memory types.

pub(crate) use tenure_memory::api_objects::{HeapPlace, MapWish, MemoryOwner, MemorySize};
pub(crate) use tenure_memory::block::{FreeToken, HeapBlock, Suballocation};
pub(crate) use tenure_memory::class::{BlockTraits, allows};
pub(crate) use tenure_memory::engine::Engine;
pub(crate) use tenure_memory::exchangeable::{Exchange, Holder};
pub(crate) use tenure_memory::fallback::{AllocationFailure, no_memory_type, try_memory_types};
pub(crate) use tenure_memory::freeing::RUN;
pub(crate) use tenure_memory::location::{
    AdoptedOwner, AliasedRange, AliasingHandoff, Backing, Location, Page, PageRange, RecordedLocation,
    SharedHeap, StructureLocation,
};
pub(crate) use tenure_memory::movable::{
    ApiPlace, Current, MovableBacking, PlaceHold, PlaceHolds, PlaceNeeds, PlannedMove,
};
pub(crate) use tenure_memory::pools::Pools;
pub(crate) use tenure_memory::pressure::Levels;
pub(crate) use tenure_memory::remote_frees::RemoteFreeList;
pub(crate) use tenure_memory::request::{RangeRequest, ResourceRequest, TileRequest};
pub(crate) use tenure_memory::residency::Paging;
pub(crate) use tenure_memory::shard::{PoolShard, ShardTotals};
pub(crate) use tenure_memory::sharding::Shards;
pub(crate) use tenure_memory::shortage::{MakeRoom, Wanted};

/// Pools of heaps alone, for programs that create their API resources themselves.
pub use tenure_heap as heap_pools;
#[doc(inline)]
pub use tenure_memory::{
    AllocationFlags, Class, Cost, LocationKind, Name, PoolKind, Pressure, TypeOrder, in_place, policy,
    target_type_order, type_order,
};
#[doc(no_inline)]
pub use tenure_memory::{CompactionBudget, MemoryUse, MovableId};
