//! Release of idle blocks before a program exceeds its peak of memory.

use super::PoolKind;
use super::pool::{Block, PoolShard, Store};
use super::pools::Pools;
use crate::device::Device;

/// Minimum of the bytes of idle blocks that are given back before a new peak. The size of new blocks grows with
/// the program's memory, so in a program of a few MiB each remaining idle block makes the next blocks, and the
/// peak, larger.
const MAKE_WAY_AT_LEAST: u64 = 4 << 20;

impl<D: Device> Pools<D> {
    /// Gives back blocks that were idle for some frames, because the next `bytes` would exceed the peak: memory
    /// kept for reuse must not raise the peak. Below the peak, kept blocks save driver calls and cost nothing,
    /// so not much more is given back than needed.
    ///
    /// `growing` is the pool that takes the bytes. It releases its empty blocks in any case once it has grown,
    /// so they go first.
    pub(super) fn make_way(&self, device: &D, bytes: u64, growing: Option<&PoolShard<D>>) {
        let over = self.objects.limits.memory().over_peak(bytes);
        if over == 0 {
            return;
        }
        self.unmake_left(device);
        let mut missing = over.max(MAKE_WAY_AT_LEAST);
        let mut retired = Vec::new();
        if let Some(pool) = growing {
            pool.make_way(missing, &mut retired);
            missing = missing.saturating_sub(self.let_all_go(device, &mut retired));
        }
        // Blocks that lie in blocks of other pools or shards come last: the driver gets memory back for them
        // only when the outer block is otherwise empty.
        for lies_in_others in [false, true] {
            self.each(|pool| {
                if missing > 0 && lies_in_others_blocks(pool) == lies_in_others {
                    pool.make_way(if lies_in_others { u64::MAX } else { missing }, &mut retired);
                    missing = missing.saturating_sub(self.let_all_go(device, &mut retired));
                }
            });
        }
    }

    /// Gives back all these blocks; returns the bytes that the driver gets back.
    fn let_all_go(&self, device: &D, retired: &mut Vec<Block<D>>) -> u64 {
        retired.drain(..).map(|block| self.let_go_with_rest(device, block)).sum()
    }

    /// Gives back a block, and the outer block if it is otherwise empty; returns the bytes that the driver gets
    /// back.
    fn let_go_with_rest(&self, device: &D, block: Block<D>) -> u64 {
        let around = block.lies_in();
        let own = match &block.store {
            Store::Heap { heap, .. } => heap.size,
            Store::Buffer { size, .. } | Store::Slot { size, .. } => *size,
        };
        self.let_go(device, block);
        let Some((pool, block)) = around else { return own };
        let rest = self.get_with_shards(pool).and_then(|(pool, _)| pool.remove_if_empty(block));
        rest.map_or(0, |block| self.let_go_with_rest(device, block))
    }
}

/// Whether the blocks of a pool are parts of blocks of another pool or shard. Blocks of small buffers may be.
fn lies_in_others_blocks<D: Device>(pool: &PoolShard<D>) -> bool {
    !pool.is_first() || pool.class.kind == PoolKind::SmallBuffers
}
