//! Giving many ranges back with few locks.

use super::mailbox::OpenMailbox;
use super::pool::{HeldPool, PoolId, Receipt};
use super::pools::Pools;
use crate::device::Device;

/// Ranges given back under one lock: enough that it costs little beside them, few enough that nobody
/// waits long for it.
const RUN: u32 = 64;

/// Gives ranges back, those that follow each other into the same pool under one lock.
///
/// It may hold a pool: nothing else may be asked of the pools until it is dropped.
pub(crate) struct Freeing<'a, D: Device> {
    pools: &'a Pools<D>,
    open: Option<Open<'a, D>>,
}

/// A pool that ranges are being given back to.
struct Open<'a, D: Device> {
    id: PoolId,
    way: Way<'a, D>,
    /// Ranges until others have their turn.
    left: u32,
}

enum Way<'a, D: Device> {
    /// Into the pool.
    Pool(HeldPool<'a, D>),
    /// Into its mailbox, because the pool is another thread's.
    Mail(OpenMailbox<'a>),
}

impl<'a, D: Device> Freeing<'a, D> {
    pub(super) const fn new(pools: &'a Pools<D>) -> Self {
        Self { pools, open: None }
    }

    /// Gives a range back.
    #[inline]
    pub(crate) fn free(&mut self, receipt: &Receipt) {
        match &mut self.open {
            Some(open) if open.id == receipt.pool && open.left > 0 => open.free(receipt),
            _ => self.free_elsewhere(receipt),
        }
    }

    fn free_elsewhere(&mut self, receipt: &Receipt) {
        // One lock at a time.
        self.open = None;
        let id = receipt.pool;
        let Some((pool, shards)) = self.pools.get_with_shards(id) else {
            debug_assert!(false, "a range belongs to a pool that was made");
            return;
        };
        let is_own = shards.is_of_thread(id.shard());
        let way = if is_own { Way::Pool(pool.hold()) } else { Way::Mail(pool.open_mail()) };
        self.open.insert(Open { id, way, left: RUN }).free(receipt);
    }
}

impl<D: Device> Open<'_, D> {
    #[inline]
    fn free(&mut self, receipt: &Receipt) {
        self.left -= 1;
        match &mut self.way {
            Way::Pool(pool) => pool.free(receipt),
            Way::Mail(mail) => mail.post(*receipt),
        }
    }
}
