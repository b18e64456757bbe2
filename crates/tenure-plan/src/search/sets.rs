//! Sets of items.

/// Sets of numbers below a bound, each a row of words.
pub(super) struct Sets {
    words: usize,
    rows: Vec<u64>,
}

impl Sets {
    /// `rows` empty sets of numbers below `bound`.
    pub(super) fn new(bound: usize, rows: usize) -> Self {
        let words = bound.div_ceil(64).max(1);
        Self { words, rows: vec![0; words * rows] }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.words
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows * self.words);
    }

    pub(super) fn push(&mut self, set: &[u64]) {
        self.rows.extend_from_slice(set);
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.rows[row * self.words..][..self.words]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.rows[row * self.words..][..self.words]
    }

    /// Adds to each set all earlier sets.
    pub(super) fn accumulate(&mut self) {
        for at in self.words..self.rows.len() {
            self.rows[at] |= self.rows[at - self.words];
        }
    }

    pub(super) fn insert(&mut self, row: usize, number: u32) {
        insert(&mut self.rows[row * self.words..][..self.words], number);
    }
}

pub(super) fn holds(set: &[u64], number: u32) -> bool {
    set[number as usize / 64] >> (number % 64) & 1 == 1
}

pub(super) fn insert(set: &mut [u64], number: u32) {
    set[number as usize / 64] |= 1 << (number % 64);
}

pub(super) fn remove(set: &mut [u64], number: u32) {
    set[number as usize / 64] &= !(1 << (number % 64));
}

pub(super) fn add(set: &mut [u64], other: &[u64]) {
    for (word, other) in set.iter_mut().zip(other) {
        *word |= other;
    }
}

/// The numbers of a set.
pub(super) fn numbers(set: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    set.enumerate().flat_map(|(at, word)| {
        let mut word = word;
        core::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(at * 64 + bit as usize)
        })
    })
}
