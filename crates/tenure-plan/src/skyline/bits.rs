//! The unplaced items as bit sets, for up to some hundred items.

use super::{Segment, Unplaced};
use crate::problem::Problem;

/// Bits by rank: the first bit of a set is its best item.
pub(super) struct Bits<'a> {
    order: &'a [u32],
    words: usize,
    /// For each section, the items that start there or later.
    from: Vec<u64>,
    /// For each section, the items that end there or earlier.
    until: Vec<u64>,
    /// For each alignment, the items that need at most it.
    aligned: Vec<u64>,
    unplaced: Vec<u64>,
}

impl<'a> Bits<'a> {
    /// All items, best first.
    pub(super) fn new(problem: &Problem, levels: &[u64], order: &'a [u32]) -> Self {
        let words = order.len().div_ceil(64);
        let sections = problem.sections();
        let mut from = vec![0u64; (sections + 1) * words];
        let mut until = vec![0u64; (sections + 1) * words];
        let mut aligned = vec![0u64; levels.len() * words];
        let mut unplaced = vec![0u64; words];
        for (rank, &item) in order.iter().enumerate() {
            let (word, bit) = (rank / 64, 1 << (rank % 64));
            from[problem.start[item as usize] as usize * words + word] |= bit;
            until[problem.end[item as usize] as usize * words + word] |= bit;
            unplaced[word] |= bit;
            for (level, align) in levels.iter().enumerate() {
                if problem.align(item as usize) <= *align {
                    aligned[level * words + word] |= bit;
                }
            }
        }
        for at in (0..sections * words).rev() {
            from[at] |= from[at + words];
        }
        for at in words..(sections + 1) * words {
            until[at] |= until[at - words];
        }
        Self { order, words, from, until, aligned, unplaced }
    }

    /// The items within the segment, word by word.
    fn within(&self, segment: Segment) -> impl Iterator<Item = u64> {
        let from = &self.from[segment.start as usize * self.words..][..self.words];
        let until = &self.until[segment.end as usize * self.words..][..self.words];
        self.unplaced.iter().zip(from).zip(until).map(|((unplaced, from), until)| unplaced & from & until)
    }

    /// The word and the bit of the first item within the segment.
    fn find(&self, segment: Segment) -> Option<(usize, u32)> {
        let from = &self.from[segment.start as usize * self.words..][..self.words];
        let until = &self.until[segment.end as usize * self.words..][..self.words];
        for (word, unplaced) in self.unplaced[..self.words].iter().enumerate() {
            let within = unplaced & from[word] & until[word];
            if within != 0 {
                return Some((word, within.trailing_zeros()));
            }
        }
        None
    }

    fn aligned(&self, level: usize) -> &[u64] {
        &self.aligned[level * self.words..][..self.words]
    }
}

impl Unplaced for Bits<'_> {
    fn take(&mut self, segment: Segment, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32> {
        if self.aligned.is_empty() && fits.is_none() {
            let (word, bit) = self.find(segment)?;
            self.unplaced[word] ^= 1 << bit;
            return Some(self.order[word * 64 + bit as usize]);
        }
        let mut found = None;
        for (word, mut within) in self.within(segment).enumerate() {
            if within != 0 && !self.aligned.is_empty() {
                within &= if segment.levels > 0 { self.aligned(segment.levels - 1)[word] } else { 0 };
            }
            if let Some(fits) = fits {
                while within != 0 && !fits(self.order[word * 64 + within.trailing_zeros() as usize]) {
                    within &= within - 1;
                }
            }
            if within != 0 {
                found = Some((word, within.trailing_zeros()));
                break;
            }
        }
        let (word, bit) = found?;
        self.unplaced[word] ^= 1 << bit;
        Some(self.order[word * 64 + bit as usize])
    }

    fn first(&self, segment: Segment) -> Option<u32> {
        let (word, bit) = self.find(segment)?;
        Some(word as u32 * 64 + bit)
    }

    fn suited(&self, segment: Segment) -> Option<u32> {
        let level = segment.levels.checked_sub(1)?;
        let within = self.within(segment).zip(self.aligned(level)).map(|(within, aligned)| within & aligned);
        let (word, bits) = within.enumerate().find(|(_, bits)| *bits != 0)?;
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    fn item(&self, rank: u32) -> u32 {
        self.order[rank as usize]
    }

    fn remove(&mut self, rank: u32) -> u32 {
        self.unplaced[rank as usize / 64] ^= 1 << (rank % 64);
        self.order[rank as usize]
    }

    fn next_level(&self, segment: Segment, _within: u32) -> Option<usize> {
        let levels = self.aligned.len() / self.words.max(1);
        (segment.levels..levels).find(|&level| {
            let mut within = self.within(segment).zip(self.aligned(level));
            within.any(|(within, aligned)| within & aligned != 0)
        })
    }
}
