//! Idle blocks go before a program takes more memory than ever.

use super::PoolKind;
use super::pool::{Block, PoolShard, Store};
use super::pools::Pools;
use crate::device::Device;

/// Bytes of idle blocks that are given back before a new peak at the least. New blocks are larger the more memory a program
/// has, so in a program of a few MiB each idle block that stays makes the next ones, and the peak, larger.
const MAKE_WAY_AT_LEAST: u64 = 4 << 20;

impl<D: Device> Pools<D> {
    /// Gives blocks back that were not used for some frames, because so many bytes more are about to be taken, and there
    /// would be more than ever: what is kept to be used again must not make the peak higher. Later it saves calls of the
    /// driver and costs nothing; so not much more goes than is needed for that.
    ///
    /// `growing` is the pool that takes the bytes: what is empty there goes in any case once it has grown, so it goes first.
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
        // What lies in blocks of other pools and shards comes last: the driver gets something back for it only when
        // nothing else is left there.
        for lies_in_others in [false, true] {
            self.each(|pool| {
                if missing > 0 && lies_in_others_blocks(pool) == lies_in_others {
                    pool.make_way(if lies_in_others { u64::MAX } else { missing }, &mut retired);
                    missing = missing.saturating_sub(self.let_all_go(device, &mut retired));
                }
            });
        }
    }

    /// The bytes that the driver gets back.
    fn let_all_go(&self, device: &D, retired: &mut Vec<Block<D>>) -> u64 {
        retired.drain(..).map(|block| self.let_go_with_rest(device, block)).sum()
    }

    /// Lets go of a block, and of the block that it lay in when nothing else does. The bytes that the driver gets back.
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

/// Whether a pool's blocks are parts of those of another pool or shard. Blocks of small buffers may be.
fn lies_in_others_blocks<D: Device>(pool: &PoolShard<D>) -> bool {
    !pool.is_first() || pool.class.kind == PoolKind::SmallBuffers
}
