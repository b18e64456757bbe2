//! Blocks that leave their pools: after some idle frames, when memory is short, before a new peak of memory, and at
//! the shutdown.

use std::ptr;
use std::sync::Arc;

use super::PoolKind;
use super::block::{Block, HeapBlock, Source, Store};
use super::pools::Pools;
use super::shard::PoolShard;
use crate::device::Device;

/// Minimum of the bytes of idle blocks that are freed before a new peak. The size of new blocks grows with
/// the program's memory, so in a program of a few MiB each remaining idle block makes the next blocks, and the
/// peak, larger.
const MAKE_WAY_AT_LEAST: u64 = 4 << 20;

/// Frames for which a block that is used in turns must be empty before it makes way for others: blocks that each frame fills
/// and empties stay.
const MAKE_WAY_FRAMES: u32 = 3;

/// A pool that takes memory for a block.
pub(super) struct Growing<'a, D: Device> {
    pub(super) pool: &'a PoolShard<D>,
    /// Its empty blocks stay until it has grown, because one of them serves the request if the driver refuses.
    pub(super) keeps_empty: bool,
}

impl<D: Device> Clone for Growing<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Growing<'_, D> {}

impl<D: Device> Pools<D> {
    /// Ends a frame: destroys the blocks that were idle long enough for their pool.
    pub fn end_frame(&self, device: &D) {
        self.objects.end_frame(device);
        self.destroy_left_blocks(device);
        let mut retired = Vec::new();
        self.each_class(|shards| {
            shards.end_frame();
            shards.each().for_each(|pool| pool.end_frame(&mut retired));
        });
        if !retired.is_empty() {
            self.destroy_blocks(device, retired);
        }
    }

    /// Gives back every idle block, except the last of each pool if it ran empty lately.
    pub fn trim(&self, device: &D) {
        while self.destroy_chosen(device, PoolShard::trim) {}
    }

    /// Gives back every idle block, because memory is short.
    pub fn free_empty(&self, device: &D) {
        while self.destroy_chosen(device, PoolShard::take_empty) {}
    }

    /// True when any block left its pool: if it was a slot in a heap of another pool, that heap may be idle
    /// now.
    fn destroy_chosen(&self, device: &D, choose: impl Fn(&PoolShard<D>, &mut Vec<Block<D>>) -> bool) -> bool {
        let mut retired = Vec::new();
        let mut has_some = self.destroy_left_blocks(device);
        self.each(|pool| has_some |= choose(pool, &mut retired));
        self.destroy_blocks(device, retired);
        has_some
    }

    /// Gives back idle blocks, because the next `bytes` would exceed the peak: memory
    /// kept for reuse must not raise the peak. Below the peak, kept blocks save driver calls and cost nothing,
    /// so not much more is freed than needed.
    ///
    /// `growing` is the pool that takes the bytes. It usually releases its empty blocks once it has grown, so they go
    /// first; those of [`Growing::keeps_empty`] go then, and count as given back.
    pub(super) fn make_way(&self, device: &D, bytes: u64, growing: Option<Growing<'_, D>>) {
        let over = self.objects.limits.memory().over_peak(bytes);
        if over == 0 {
            return;
        }
        self.destroy_left_blocks(device);
        let mut missing = over.max(MAKE_WAY_AT_LEAST);
        if let Some(Growing { pool, keeps_empty }) = growing {
            missing = missing.saturating_sub(match keeps_empty {
                true => pool.lock().pool.empty_bytes(),
                false => self.destroy_idle(device, pool, false, missing),
            });
        }
        let is_growing = |pool: &PoolShard<D>| growing.is_some_and(|growing| ptr::eq(growing.pool, pool));
        // Blocks that lie in blocks of other pools or shards come last: the driver gets memory back for them
        // only when the outer block is otherwise empty. Many may have to go for that, so all wait for their idle frames.
        for lies_in_others in [false, true] {
            self.each(|pool| {
                if missing > 0 && lies_in_others_blocks(pool) == lies_in_others && !is_growing(pool) {
                    let bytes = if lies_in_others { u64::MAX } else { missing };
                    missing = missing.saturating_sub(self.destroy_idle(device, pool, lies_in_others, bytes));
                }
            });
        }
    }

    /// Destroys blocks of a pool that make way for others, until `bytes` are covered; returns the bytes
    /// that the driver gets back.
    fn destroy_idle(&self, device: &D, pool: &PoolShard<D>, all_wait: bool, bytes: u64) -> u64 {
        let mut retired = Vec::new();
        pool.lock()
            .remove(&mut retired, |pool, blocks| pool.make_way(MAKE_WAY_FRAMES, all_wait, bytes, blocks));
        retired.into_iter().map(|block| self.destroy_with_outer(device, block)).sum()
    }

    /// Gives back a block, and the outer block if it is otherwise empty; returns the bytes that the driver gets
    /// back.
    fn destroy_with_outer(&self, device: &D, block: Block<D>) -> u64 {
        let (outer, size) = (block.lies_in(), block.size);
        self.destroy_block(device, block);
        let Some((pool, block)) = outer else { return size };
        let rest = self.get_with_shards(pool).and_then(|(pool, _)| pool.lock().remove_if_empty(block));
        rest.map_or(0, |block| self.destroy_with_outer(device, block))
    }

    /// Destroys blocks that could not be destroyed before; true when it destroyed any.
    #[inline]
    fn destroy_left_blocks(&self, device: &D) -> bool {
        let mut leaving = self.leaving.lock();
        if leaving.is_empty() {
            return false;
        }
        let left = std::mem::take(&mut *leaving);
        drop(leaving);
        self.destroy_blocks(device, left)
    }

    /// Destroys blocks that have left their pool; true when it destroyed any.
    pub(super) fn destroy_blocks(&self, device: &D, blocks: Vec<Block<D>>) -> bool {
        blocks.into_iter().fold(false, |has_some, block| has_some | self.destroy_block(device, block))
    }

    /// Destroys a block that has left its pool, or returns it to the shard that lent it. While another thread
    /// still holds a reference, it is kept and destroyed together with the next ones. True if it was destroyed
    /// now.
    pub(super) fn destroy_block(&self, device: &D, block: Block<D>) -> bool {
        let destroyed = self.try_destroy_block(device, block);
        destroyed.map_err(|block| self.leaving.lock().push(block)).is_ok()
    }

    /// # Errors
    /// The block, when another thread still holds a reference.
    fn try_destroy_block(&self, device: &D, block: Block<D>) -> Result<(), Block<D>> {
        let Block { store, size, source } = block;
        let left = |store| Block { store, size, source };
        let Some((owner, shards)) = self.get_with_shards(source.pool()) else { return Err(left(store)) };
        let (own, part) = (shards.own(size), &shards.memory);
        match (source, store) {
            (Source::Lent(range), store) => {
                // Drops the reference first: the lending shard may have to destroy the object.
                drop(store);
                let freed = owner.lock().pool.free_lent(range.handle);
                debug_assert!(freed.is_ok(), "a piece is returned once, to where it comes from");
            }
            (Source::Driver(_), Store::Heap(heap)) => {
                let HeapBlock { heap, block } =
                    Arc::try_unwrap(heap).map_err(|heap| left(Store::Heap(heap)))?;
                self.residency.remove(block, &self.objects);
                self.objects.destroy_heap(device, heap, own, part);
            }
            (Source::Driver(_), Store::Buffer(buffer)) => {
                let buffer = buffer.take_apart().map_err(|buffer| left(Store::Buffer(buffer)))?;
                self.residency.remove(buffer.block, &self.objects);
                event!(debug, bytes = size, "block destroyed");
                self.objects.destroy_committed(device, buffer, (own, false), part);
            }
            (Source::Slot(range), Store::Buffer(buffer)) => {
                let buffer = buffer.take_apart().map_err(|buffer| left(Store::Buffer(buffer)))?;
                self.objects.destroy_resource(device, buffer);
                self.free(range.free_token());
            }
            (Source::Slot(_), heap @ Store::Heap(_)) => return Err(left(heap)),
        }
        Ok(())
    }

    /// Destroys every block, even with live ranges; slots before the heaps that contain them. Blocks that other
    /// threads still reference stay.
    pub fn destroy_all_blocks(&self, device: &D) {
        let mut blocks = self.take_all_blocks();
        blocks.sort_by_key(|block| matches!(block.store, Store::Heap(_)));
        self.destroy_blocks(device, blocks);
    }

    fn take_all_blocks(&self) -> Vec<Block<D>> {
        let mut blocks = std::mem::take(&mut *self.leaving.lock());
        self.each(|pool| blocks.extend(pool.lock().take_all()));
        blocks
    }

    /// Leaks every block for good: the GPU may still use it.
    pub fn abandon(&self) {
        std::mem::forget(self.take_all_blocks());
    }
}

/// Whether the blocks of a pool are parts of blocks of another pool or shard. Blocks of small buffers may be.
fn lies_in_others_blocks<D: Device>(pool: &PoolShard<D>) -> bool {
    !pool.is_first() || pool.class.kind == PoolKind::SmallBuffers
}
