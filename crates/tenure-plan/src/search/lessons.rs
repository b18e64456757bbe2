//! What earlier failures taught.
//!
//! A lesson is a set of placements together with which an item cannot lie at an offset. It holds for
//! every search of the problem within the capacity, whatever else is placed.

use super::nogood::Fingerprint;
use super::sets::Sets;

/// Lessons, by the item and the offset that they forbid.
pub(super) struct Lessons {
    /// The placed items that a lesson is about.
    sets: Sets,
    /// A sum over those and their offsets.
    sums: Vec<Fingerprint>,
    /// What each lesson forbids.
    forbids: Vec<(u32, u64)>,
    /// The latest lesson of each bucket, and the one before each lesson.
    heads: Vec<u32>,
    before: Vec<u32>,
    most: usize,
}

const NONE: u32 = u32::MAX;
const BUCKETS: usize = 1 << 12;
/// Words that all sets take at most.
const WORDS: usize = 1 << 19;
/// Lessons of a bucket that are looked at, the latest first.
const LOOKS: usize = 64;

impl Lessons {
    pub(super) fn new(items: usize) -> Self {
        Self {
            sets: Sets::new(items, 0),
            sums: Vec::new(),
            forbids: Vec::new(),
            heads: Vec::new(),
            before: Vec::new(),
            most: WORDS / items.div_ceil(64).max(1),
        }
    }

    /// Forgets everything.
    fn clear(&mut self) {
        self.sets.truncate(0);
        self.sums.clear();
        self.forbids.clear();
        self.before.clear();
        self.heads.fill(NONE);
    }

    pub(super) fn keep(&mut self, item: u32, offset: u64, set: &[u64], sum: Fingerprint) {
        if self.heads.is_empty() {
            self.heads = vec![NONE; BUCKETS];
        }
        if self.sums.len() >= self.most {
            self.clear();
        }
        let head = &mut self.heads[bucket(item, offset)];
        self.before.push(core::mem::replace(head, self.sums.len() as u32));
        self.sets.push(set);
        self.sums.push(sum);
        self.forbids.push((item, offset));
    }

    /// The placements that forbid it, if any do.
    pub(super) fn find(
        &self,
        item: u32,
        offset: u64,
        placed: &[u64],
        sum: impl Fn(&[u64]) -> Fingerprint,
    ) -> Option<&[u64]> {
        let mut at = *self.heads.get(bucket(item, offset))?;
        for _ in 0..LOOKS {
            if at == NONE {
                break;
            }
            let lesson = at as usize;
            let set = self.sets.row(lesson);
            let applies = self.forbids[lesson] == (item, offset)
                && set.iter().zip(placed).all(|(set, placed)| set & !placed == 0)
                && sum(set) == self.sums[lesson];
            if applies {
                return Some(set);
            }
            at = self.before[lesson];
        }
        None
    }
}

fn bucket(item: u32, offset: u64) -> usize {
    let mixed = (u64::from(item) << 32 ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 52) as usize & (BUCKETS - 1)
}
