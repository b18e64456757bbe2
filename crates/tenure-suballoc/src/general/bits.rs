//! Which classes may have holes: one bit each, in two levels.

use super::class::CLASSES;

const WORDS: usize = CLASSES.div_ceil(64) as usize;

/// A bit for each class, and one for each word of them. A search looks at three words at most.
#[derive(Debug)]
pub(super) struct ClassBits {
    words: [u64; WORDS],
    top: u64,
}

impl ClassBits {
    pub(super) const fn new() -> Self {
        Self { words: [0; WORDS], top: 0 }
    }

    #[inline]
    pub(super) fn set(&mut self, class: u32) {
        let word = class / 64;
        self.words[word as usize] |= 1 << (class % 64);
        self.top |= 1 << word;
    }

    #[inline]
    pub(super) fn clear(&mut self, class: u32) {
        let word = class / 64;
        self.words[word as usize] &= !(1 << (class % 64));
        if self.words[word as usize] == 0 {
            self.top &= !(1 << word);
        }
    }

    #[inline]
    pub(super) fn contains(&self, class: u32) -> bool {
        self.words[(class / 64) as usize] >> (class % 64) & 1 != 0
    }

    /// The first class that is set, from `class` on.
    #[inline]
    pub(super) fn first_from(&self, class: u32) -> Option<u32> {
        let word = class / 64;
        let bits = self.words[word as usize] & (u64::MAX << (class % 64));
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros());
        }
        let above = self.top & (u64::MAX << word << 1);
        if above == 0 {
            return None;
        }
        let word = above.trailing_zeros();
        Some(word * 64 + self.words[word as usize].trailing_zeros())
    }

    /// The classes that are set, from the last to the first.
    pub(super) fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        let mut top = self.top;
        let words = core::iter::from_fn(move || {
            let word = 63u32.checked_sub(top.leading_zeros())?;
            top &= !(1 << word);
            Some(word)
        });
        words.flat_map(|word| {
            let mut bits = self.words[word as usize];
            core::iter::from_fn(move || {
                let bit = 63u32.checked_sub(bits.leading_zeros())?;
                bits &= !(1 << bit);
                Some(word * 64 + bit)
            })
        })
    }
}
