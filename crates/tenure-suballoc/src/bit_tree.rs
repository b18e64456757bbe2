//! A set of small numbers with a fast minimum.

use alloc::vec;
use alloc::vec::Vec;

/// Enough for 2³⁶ members.
const MAX_LEVELS: usize = 6;

/// A set of numbers below a fixed bound: one bit each, and for every 64 words one word with a bit for each
/// nonzero word, and so on up to a single word.
///
/// `first`, `insert` and `remove` touch one word per level: O(log₆₄ bound), three for 16,384.
#[derive(Debug)]
pub(crate) struct BitTree {
    words: Vec<u64>,
    /// The start of each level in `words`, from the members up.
    starts: [u32; MAX_LEVELS],
    levels: usize,
}

impl BitTree {
    /// An empty set of numbers below `bound` (at least one).
    pub(crate) fn new(bound: u32) -> Self {
        let mut starts = [0; MAX_LEVELS];
        let mut total = 0;
        let mut levels = 0;
        let mut width = bound.max(1);
        loop {
            width = width.div_ceil(64);
            starts[levels] = total;
            total += width;
            levels += 1;
            if width == 1 {
                break;
            }
        }
        Self { words: vec![0; total as usize], starts, levels }
    }

    #[inline]
    fn word(&self, level: usize, index: u32) -> usize {
        (self.starts[level] + index) as usize
    }

    #[inline]
    pub(crate) fn contains(&self, member: u32) -> bool {
        self.words[self.word(0, member >> 6)] >> (member & 63) & 1 != 0
    }

    #[inline]
    pub(crate) fn insert(&mut self, member: u32) {
        let mut index = member;
        for level in 0..self.levels {
            let word = self.word(level, index >> 6);
            let before = self.words[word];
            self.words[word] = before | 1 << (index & 63);
            if before != 0 {
                return;
            }
            index >>= 6;
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, member: u32) {
        let mut index = member;
        for level in 0..self.levels {
            let word = self.word(level, index >> 6);
            self.words[word] &= !(1 << (index & 63));
            if self.words[word] != 0 {
                return;
            }
            index >>= 6;
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words[self.word(self.levels - 1, 0)] == 0
    }

    /// The least member.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let mut index = 0;
        for level in (0..self.levels).rev() {
            let bits = self.words[self.word(level, index)];
            index = index << 6 | bits.trailing_zeros();
        }
        Some(index)
    }

    /// All members, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let members = self.words.len().min(match self.levels {
            1 => 1,
            _ => self.starts[1] as usize,
        });
        (0..members as u32 * 64).filter(|&member| self.contains(member))
    }

    /// Grows the set to numbers below `bound`, keeping the members.
    pub(crate) fn grow(&mut self, bound: u32) {
        let mut grown = Self::new(bound);
        for member in self.iter() {
            grown.insert(member);
        }
        *self = grown;
    }
}
