//! The evictable memory blocks that a recording uses, each once.

use std::cell::RefCell;
use std::num::NonZeroU32;

/// The number of an evictable block, unique while the block exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockKey(NonZeroU32);

impl BlockKey {
    pub fn new(index: usize) -> Option<Self> {
        u32::try_from(index).ok()?.checked_add(1).and_then(NonZeroU32::new).map(Self)
    }

    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A set of blocks: a bit per block, and a list of the bits that are set. O(1) per use, without hashing;
/// allocates only when it grows.
#[derive(Debug, Default)]
pub struct BlockSet {
    bits: Vec<u64>,
    keys: Vec<BlockKey>,
}

impl BlockSet {
    /// Adds a block, unless it is already in the set.
    #[inline]
    pub fn note(&mut self, key: BlockKey) {
        let (word, bit) = (key.index() / 64, 1_u64 << (key.index() % 64));
        match self.bits.get_mut(word) {
            Some(bits) if *bits & bit != 0 => {}
            Some(bits) => {
                *bits |= bit;
                self.keys.push(key);
            }
            None => self.note_beyond(key),
        }
    }

    #[cold]
    fn note_beyond(&mut self, key: BlockKey) {
        self.bits.resize((key.index() / 64 + 1).next_power_of_two(), 0);
        self.note(key);
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = BlockKey> + '_ {
        self.keys.iter().copied()
    }

    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub const fn has_capacity(&self) -> bool {
        self.bits.capacity() > 0
    }

    /// Empties the set. O(blocks in it).
    pub fn clear(&mut self) {
        if self.keys.len() >= self.bits.len() {
            self.bits.fill(0);
            self.keys.clear();
        }
        for key in self.keys.drain(..) {
            if let Some(bits) = self.bits.get_mut(key.index() / 64) {
                *bits = 0;
            }
        }
    }
}

/// The blocks of a recording's descriptors. Separate from the set of the commands, because a recording's
/// commands and its scratch memory are borrowed at the same time.
#[derive(Debug, Default)]
pub struct NotedBlocks(RefCell<Vec<BlockKey>>);

impl NotedBlocks {
    #[inline]
    pub fn note(&self, key: BlockKey) {
        if let Ok(mut keys) = self.0.try_borrow_mut()
            && keys.last() != Some(&key)
        {
            keys.push(key);
        }
    }

    /// Adds all blocks to a set, and clears the list.
    pub fn move_to(&mut self, set: &mut BlockSet) {
        self.0.get_mut().drain(..).for_each(|key| set.note(key));
    }
}

// Excluded from the models, which have no proptest.
#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::{BlockKey, BlockSet};
    use proptest::prelude::*;

    proptest! {
        /// The set holds each block noted since the last clear, once.
        #[test]
        fn it_is_a_set(uses in proptest::collection::vec((any::<bool>(), 0_usize..700), 0..200)) {
            let (mut set, mut oracle) = (BlockSet::default(), BTreeSet::new());
            for (clears, index) in uses {
                if clears && index % 8 == 0 {
                    set.clear();
                    oracle.clear();
                }
                set.note(BlockKey::new(index).expect("a small index"));
                oracle.insert(index);
                let found: BTreeSet<usize> = set.keys().map(BlockKey::index).collect();
                prop_assert_eq!(set.keys().len(), found.len());
                prop_assert_eq!(&found, &oracle);
            }
        }
    }
}
