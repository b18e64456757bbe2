//! Freeing of ranges with few locks, also from other threads.

use super::block::{FreeToken, PoolId};
use super::pools::Pools;
use super::remote_frees::OpenRemoteFrees;
use super::shard::ShardBlocks;
use crate::device::Device;

/// Maximum number of ranges freed under one lock: enough to amortise the lock, but without long waits of
/// other threads.
pub const RUN: usize = 64;

/// Frees ranges; consecutive ranges of one shard are freed under one lock.
///
/// It may hold the lock of a shard: the caller must not use the pools otherwise until it is dropped.
pub struct Freeing<'a, D: Device> {
    pools: &'a Pools<D>,
    open: Option<Open<'a, D>>,
}

/// A shard whose ranges are being freed.
struct Open<'a, D: Device> {
    id: PoolId,
    way: Way<'a, D>,
}

enum Way<'a, D: Device> {
    /// Frees into the shard.
    Shard(parking_lot::MutexGuard<'a, ShardBlocks<D>>),
    /// Queues into the list of remote frees, because the shard belongs to another thread.
    Remote(OpenRemoteFrees<'a>),
}

impl<'a, D: Device> Freeing<'a, D> {
    /// Frees at most [`RUN`] ranges.
    #[inline]
    pub fn free_run<'r>(&mut self, free_tokens: impl Iterator<Item = &'r FreeToken> + Clone) {
        // Unlocks, so that other threads can take the lock in between.
        self.open = None;
        let Some(first) = free_tokens.clone().next() else { return };
        if let Some(open) = self.open(first.pool) {
            open.expect(free_tokens.clone());
        }
        free_tokens.for_each(|free_token| self.free(free_token));
    }

    /// Frees a range.
    #[inline(always)]
    pub fn free(&mut self, free_token: &FreeToken) {
        match &mut self.open {
            Some(open) if open.id == free_token.pool => open.free(free_token),
            _ => {
                if let Some(open) = self.open(free_token.pool) {
                    open.free(free_token);
                }
            }
        }
    }

    fn open(&mut self, id: PoolId) -> Option<&mut Open<'a, D>> {
        // One lock at a time.
        self.open = None;
        let found = self.pools.get_with_shards(id);
        debug_assert!(found.is_some(), "a range belongs to a pool that was made");
        let (shard, shards) = found?;
        let is_own = shards.is_of_thread(id.shard());
        let way =
            if is_own { Way::Shard(shard.lock_as_it_is()) } else { Way::Remote(shard.open_remote_frees()) };
        Some(self.open.insert(Open { id, way }))
    }
}

impl<D: Device> Open<'_, D> {
    /// Touches the ranges to be freed, so that their cache misses overlap.
    #[inline]
    fn expect<'r>(&self, free_tokens: impl Iterator<Item = &'r FreeToken>) {
        if let Way::Shard(blocks) = &self.way {
            blocks.expect_frees(free_tokens.filter(|free_token| free_token.pool == self.id));
        }
    }

    #[inline]
    fn free(&mut self, free_token: &FreeToken) {
        match &mut self.way {
            Way::Shard(blocks) => blocks.free(free_token),
            Way::Remote(list) => list.post(*free_token),
        }
    }
}

impl<D: Device> Pools<D> {
    /// Frees a range.
    pub fn free(&self, free_token: FreeToken) {
        self.freeing().free(&free_token);
    }

    /// Frees several ranges in a row.
    pub const fn freeing(&self) -> Freeing<'_, D> {
        Freeing { pools: self, open: None }
    }
}
