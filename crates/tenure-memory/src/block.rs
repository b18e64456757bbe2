//! The blocks of pools, and ranges of them.

use std::sync::Arc;

use tenure_suballoc::{BlockAllocation, BlockId, Handle};

use crate::api_resource::ApiResource;
use crate::block_set::BlockKey;
use crate::config::MAX_POOL_SHARDS as MAX_SHARDS;
use crate::device::Device;

/// A heap of a pool.
pub struct HeapBlock<D: Device> {
    pub heap: D::Heap,
    /// The key of the block, if it is evictable.
    pub block: Option<BlockKey>,
}

/// The API object behind a block of a pool.
pub enum Store<D: Device> {
    /// A heap, for placed resources.
    Heap(Arc<HeapBlock<D>>),
    /// A buffer, for ranges.
    Buffer(Arc<ApiResource<D>>),
}

impl<D: Device> Clone for Store<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Heap(heap) => Self::Heap(heap.clone()),
            Self::Buffer(buffer) => Self::Buffer(buffer.clone()),
        }
    }
}

/// The owner of a block's memory.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// An allocation of the driver, counted in the class of this pool.
    Driver(PoolId),
    /// A heap of another pool, in which the buffer is placed.
    Slot(Suballocation),
    /// A block of the first shard, which lends a range of it.
    Lent(Suballocation),
}

impl Source {
    /// The pool that owns the memory.
    pub(super) const fn pool(self) -> PoolId {
        match self {
            Self::Driver(pool) => pool,
            Self::Slot(range) | Self::Lent(range) => range.pool,
        }
    }
}

/// A block that a pool suballocates.
pub struct Block<D: Device> {
    pub(super) store: Store<D>,
    /// Bytes.
    pub(super) size: u64,
    pub(super) source: Source,
}

impl<D: Device> Block<D> {
    /// The offset of the block in the API object.
    #[inline]
    pub(super) const fn base(&self) -> u64 {
        match &self.source {
            Source::Lent(range) => range.offset,
            Source::Driver(_) | Source::Slot(_) => 0,
        }
    }

    /// The block of another pool or shard that contains it.
    pub(super) fn lies_in(&self) -> Option<(PoolId, BlockId)> {
        match &self.source {
            Source::Driver(_) => None,
            Source::Slot(range) | Source::Lent(range) => Some((range.pool, range.block)),
        }
    }

    /// The block of the first shard that contains it, if it is lent.
    pub(super) fn lender(&self) -> Option<BlockId> {
        match &self.source {
            Source::Lent(range) => Some(range.block),
            Source::Driver(_) | Source::Slot(_) => None,
        }
    }

    /// Bytes in a heap of another pool. The bytes of a lent piece are counted with the block that lent it.
    pub(super) const fn borrowed(&self) -> u64 {
        if matches!(self.source, Source::Slot(_)) { self.size } else { 0 }
    }
}

/// The number of a pool: the index of its class, and of the shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolId(u16);

impl PoolId {
    /// The maximum number of classes with pools on a device.
    pub(super) const MAX_CLASSES: usize = (1 << 16) / MAX_SHARDS;

    pub(super) const fn new(class: u16, shard: usize) -> Self {
        Self(class * MAX_SHARDS as u16 + shard as u16)
    }

    #[inline]
    pub const fn class(self) -> u16 {
        self.0 / MAX_SHARDS as u16
    }

    #[inline]
    pub(super) const fn shard(self) -> usize {
        self.0 as usize % MAX_SHARDS
    }
}

/// A range of a block of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Suballocation {
    pub pool: PoolId,
    pub block: BlockId,
    pub handle: Handle,
    pub offset: u64,
    /// Bytes requested.
    pub size: u64,
    /// Bytes taken, including rounding.
    pub reserved: u64,
}

impl Suballocation {
    /// A range of a block at offset `base` of its API object; `size` bytes were requested.
    #[inline(always)]
    pub(super) const fn new(pool: PoolId, found: &BlockAllocation, base: u64, size: u64) -> Self {
        let BlockAllocation { block, handle, offset, size: reserved, .. } = *found;
        Self { pool, block, handle, offset: base + offset, size, reserved }
    }

    /// The token that frees the range.
    #[inline]
    pub const fn free_token(&self) -> FreeToken {
        FreeToken { pool: self.pool, block: self.block, handle: self.handle, size: self.size }
    }
}

/// The id of a range, without its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeId {
    pub pool: PoolId,
    pub handle: Handle,
}

/// The token that frees a range.
#[derive(Clone, Copy, Debug)]
pub struct FreeToken {
    pub pool: PoolId,
    block: BlockId,
    pub handle: Handle,
    /// Bytes requested.
    pub size: u64,
}

impl FreeToken {
    /// A number that is unique until the range is freed. It includes the block, because each block of small
    /// uploads numbers its own ranges, at most 2²⁶.
    pub fn key(&self) -> u64 {
        let in_pool = (u64::from(u32::from(self.block)) << 27).wrapping_add(self.handle.index() as u64);
        1 << 63 | u64::from(self.pool.0) << 47 | in_pool & ((1 << 47) - 1)
    }
}
