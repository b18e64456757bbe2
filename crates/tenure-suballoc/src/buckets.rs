//! Blocks roughly sorted by their largest free range.

use alloc::vec::Vec;

use crate::bit_tree::BitTree;

/// log₂ of the buckets per power of two.
const STEPS_LOG2: u32 = 2;
/// Buckets for all `u64` sizes.
const BUCKETS: usize = 252;
const WORDS: usize = BUCKETS.div_ceil(64);

/// The bucket number of a full block, which is in no bucket.
const NONE: u8 = u8::MAX;

/// For each block the bucket of its largest free range, and for each bucket the set of its blocks:
/// moving a block, and finding the lowest block of the first bucket at or above a size, hardly
/// depend on the number of blocks (O(log₆₄ blocks)).
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    sets: Vec<BitTree>,
    used: [u64; WORDS],
    bucket_of: Vec<u8>,
    /// The number of blocks that the sets have space for.
    room: u32,
}

/// The bucket of a size: exact below 4, then four per power of two.
#[inline]
fn bucket(size: u64) -> u8 {
    if size < 1 << STEPS_LOG2 {
        return size as u8;
    }
    let shift = size.ilog2() - STEPS_LOG2;
    ((shift << STEPS_LOG2) as u64 + (size >> shift)) as u8
}

/// The first bucket whose sizes are all at least `size`.
#[inline]
fn bucket_above(size: u64) -> u8 {
    let floor = bucket(size);
    if size == 0 || bucket(size - 1) != floor { floor } else { floor + 1 }
}

impl Buckets {
    /// Moves a block to the bucket of its largest free range.
    #[inline]
    pub(crate) fn update(&mut self, block: u32, largest_free: u64) {
        let to = if largest_free == 0 { NONE } else { bucket(largest_free) };
        let from = core::mem::replace(&mut self.bucket_of[block as usize], to);
        if from != to {
            self.leave(block, from);
            self.enter(block, to);
        }
    }

    /// Adds a block, which is in no bucket.
    pub(crate) fn add(&mut self, block: u32) {
        let index = block as usize;
        if index >= self.bucket_of.len() {
            self.bucket_of.resize(index + 1, NONE);
        }
        if block >= self.room {
            self.room = (block + 1).next_multiple_of(64).saturating_mul(2);
            self.sets.resize_with(BUCKETS, || BitTree::new(1));
            for set in &mut self.sets {
                set.grow(self.room);
            }
        }
    }

    fn leave(&mut self, block: u32, bucket: u8) {
        if bucket == NONE {
            return;
        }
        let set = &mut self.sets[usize::from(bucket)];
        set.remove(block);
        if set.is_empty() {
            self.used[usize::from(bucket / 64)] &= !(1 << (bucket % 64));
        }
    }

    fn enter(&mut self, block: u32, bucket: u8) {
        if bucket == NONE {
            return;
        }
        self.sets[usize::from(bucket)].insert(block);
        self.used[usize::from(bucket / 64)] |= 1 << (bucket % 64);
    }

    /// The lowest block of the first bucket that may hold a free range of `size`.
    #[inline]
    pub(crate) fn may_fit(&self, size: u64) -> Option<u32> {
        self.first_from(bucket(size))
    }

    /// The lowest block of the first bucket whose blocks all have a free range of `size`.
    #[inline]
    pub(crate) fn surely_fits(&self, size: u64) -> Option<u32> {
        self.first_from(bucket_above(size))
    }

    #[inline]
    fn first_from(&self, bucket: u8) -> Option<u32> {
        let start = usize::from(bucket / 64);
        let mut mask = u64::MAX << (bucket % 64);
        for (word, &used) in self.used.iter().enumerate().skip(start) {
            let bits = used & mask;
            if bits != 0 {
                return self.sets[word * 64 + bits.trailing_zeros() as usize].first();
            }
            mask = u64::MAX;
        }
        None
    }

    /// The blocks of the last bucket, which are the only ones that can have the largest range.
    pub(crate) fn last(&self) -> impl Iterator<Item = u32> + '_ {
        let mut words = self.used.iter().enumerate().rev();
        let bucket = words.find_map(|(word, &used)| {
            let bit = used.checked_ilog2()?;
            Some(word * 64 + bit as usize)
        });
        bucket.into_iter().flat_map(|bucket| self.sets[bucket].iter())
    }

    /// A block of the last bucket. O(1), unlike [`last`](Self::last).
    pub(crate) fn one_of_last(&self) -> Option<u32> {
        let mut words = self.used.iter().enumerate().rev();
        words.find_map(|(word, &used)| {
            let bit = used.checked_ilog2()?;
            self.sets[word * 64 + bit as usize].first()
        })
    }

    /// Whether a block is in the bucket of its largest free range.
    pub(crate) fn holds(&self, block: u32, largest_free: u64) -> bool {
        let filed = self.bucket_of[block as usize];
        if largest_free == 0 {
            return filed == NONE;
        }
        filed == bucket(largest_free) && self.sets[usize::from(filed)].contains(block)
    }
}
