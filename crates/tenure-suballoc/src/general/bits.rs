//! A bitmap with one bit for each size class that may have holes, in two levels.

/// Words of the lower level: one for each bit of the upper level, which is more than the classes need.
const WORDS: usize = 64;

/// The word of a class. (The remainder never changes the result; it lets the compiler drop the bounds check.)
#[inline]
const fn word_of(class: u32) -> usize {
    (class / 64) as usize % WORDS
}

/// A bit for each class, and a bit for each word of these bits. A search reads three words at most.
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
        let word = word_of(class);
        let before = self.words[word];
        self.words[word] = before | 1 << (class % 64);
        if before == 0 {
            self.top |= 1 << word;
        }
    }

    /// Clears a class's bit if a condition holds, without a branch.
    #[inline(always)]
    pub(super) fn clear_if(&mut self, condition: bool, class: u32) {
        let word = word_of(class);
        let bits = self.words[word] & !(u64::from(condition) << (class % 64));
        self.words[word] = bits;
        if bits == 0 {
            self.top &= !(1 << word);
        }
    }

    #[inline]
    pub(super) fn contains(&self, class: u32) -> bool {
        self.words[word_of(class)] >> (class % 64) & 1 != 0
    }

    /// The first class that is set, from `class` on.
    #[inline]
    pub(super) fn first_from(&self, class: u32) -> Option<u32> {
        let word = word_of(class);
        let bits = self.words[word] & (u64::MAX << (class % 64));
        if bits != 0 {
            return Some(word as u32 * 64 + bits.trailing_zeros());
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
