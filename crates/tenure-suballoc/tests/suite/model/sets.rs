//! The contract of sets of blocks.

use tenure_suballoc::{Buddy, General, GeneralBlocks, Growing};

use super::blocks::BlockRules;
use super::buddy::BuddyRules;
use super::general::GeneralRules;
use super::one_range::Rules;
use super::ranges::Ranges;

/// `GeneralBlocks` with this granule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneSetOfLists(pub(crate) u64);

impl BlockRules for OneSetOfLists {
    type Allocator = GeneralBlocks;
    type One = GeneralRules;

    fn make(&self) -> GeneralBlocks {
        GeneralBlocks::new(self.0).unwrap()
    }

    fn one(&self, capacity: u64) -> GeneralRules {
        GeneralRules { capacity, granule: self.0 }
    }

    fn must_serve(&self, one: &GeneralRules, live: &Ranges, size: u64, align: u64) -> bool {
        // Of several empty blocks only the last is always considered.
        live.len() > 0 && one.must_serve(live, size, align)
    }
}

/// `Growing<Buddy>` with this smallest block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buddies(pub(crate) u64);

impl BlockRules for Buddies {
    type Allocator = Growing<Buddy>;
    type One = BuddyRules;

    fn make(&self) -> Growing<Buddy> {
        let min_block = self.0;
        Growing::new(move |capacity| Buddy::with_min_block(capacity, min_block))
    }

    fn one(&self, capacity: u64) -> BuddyRules {
        BuddyRules { capacity, min_block: self.0 }
    }

    fn must_serve(&self, one: &BuddyRules, live: &Ranges, size: u64, align: u64) -> bool {
        one.must_serve(live, size, align)
    }
}

/// `Growing<General>` with this granule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generals(pub(crate) u64);

impl BlockRules for Generals {
    type Allocator = Growing<General>;
    type One = GeneralRules;

    fn make(&self) -> Growing<General> {
        let granule = self.0;
        Growing::new(move |capacity| General::new(capacity, granule))
    }

    fn one(&self, capacity: u64) -> GeneralRules {
        GeneralRules { capacity, granule: self.0 }
    }

    fn must_serve(&self, one: &GeneralRules, live: &Ranges, size: u64, align: u64) -> bool {
        // Its largest range must reach the next bucket, a quarter above at most.
        let more = size.saturating_add(align).saturating_mul(4) / 3;
        live.len() > 0 && one.must_serve(live, more, 1)
    }
}
