//! Giving many ranges back with few locks.

use super::mailbox::OpenMailbox;
use super::pool::{HeldPool, PoolId, Receipt};
use super::pools::Pools;
use crate::device::Device;

/// Ranges given back under one lock: enough that it costs little beside them, few enough that nobody
/// waits long for it.
pub(crate) const RUN: usize = 64;

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

    /// Gives ranges back, [`RUN`] at most.
    #[inline]
    pub(crate) fn free_run<'r>(&mut self, receipts: impl Iterator<Item = &'r Receipt> + Clone) {
        // Others have their turn.
        self.open = None;
        let Some(first) = receipts.clone().next() else { return };
        if let Some(open) = self.open(first.pool) {
            open.expect(receipts.clone());
        }
        receipts.for_each(|receipt| self.free(receipt));
    }

    /// Gives a range back.
    #[inline]
    pub(crate) fn free(&mut self, receipt: &Receipt) {
        match &mut self.open {
            Some(open) if open.id == receipt.pool => open.free(receipt),
            _ => {
                if let Some(open) = self.open(receipt.pool) {
                    open.free(receipt);
                }
            }
        }
    }

    fn open(&mut self, id: PoolId) -> Option<&mut Open<'a, D>> {
        // One lock at a time.
        self.open = None;
        let found = self.pools.get_with_shards(id);
        debug_assert!(found.is_some(), "a range belongs to a pool that was made");
        let (pool, shards) = found?;
        let is_own = shards.is_of_thread(id.shard());
        let way = if is_own { Way::Pool(pool.hold()) } else { Way::Mail(pool.open_mail()) };
        Some(self.open.insert(Open { id, way }))
    }
}

impl<D: Device> Open<'_, D> {
    /// Looks at what is about to be given back, where that has to wait for memory.
    #[inline]
    fn expect<'r>(&self, receipts: impl Iterator<Item = &'r Receipt>) {
        if let Way::Pool(pool) = &self.way {
            pool.expect(receipts.filter(|receipt| receipt.pool == self.id));
        }
    }

    #[inline]
    fn free(&mut self, receipt: &Receipt) {
        match &mut self.way {
            Way::Pool(pool) => pool.free(receipt),
            Way::Mail(mail) => mail.post(*receipt),
        }
    }
}
