//! Failures recorded during the search: failed states, and learned nogoods.

use super::sets::Sets;

/// A 128-bit hash, large enough to neglect collisions.
pub(super) type Fingerprint = [u64; 2];

/// A hash table of failed states. Newer states overwrite older ones.
pub(super) struct FailedStates {
    table: Vec<Fingerprint>,
    kept: usize,
}

const FIRST_LEN: usize = 1 << 12;
const MOST_LEN: usize = 1 << 18;

impl FailedStates {
    pub(super) const fn new() -> Self {
        Self { table: Vec::new(), kept: 0 }
    }

    pub(super) fn holds(&self, of: Fingerprint) -> bool {
        !self.table.is_empty() && self.table[of[0] as usize & (self.table.len() - 1)] == of
    }

    pub(super) fn keep(&mut self, of: Fingerprint) {
        if self.table.is_empty() {
            self.table = vec![[0; 2]; FIRST_LEN];
        } else if self.kept > 4 * FIRST_LEN && self.table.len() < MOST_LEN {
            let old = core::mem::replace(&mut self.table, vec![[0; 2]; MOST_LEN]);
            for fingerprint in old {
                self.put(fingerprint);
            }
        }
        self.kept += 1;
        self.put(of);
    }

    fn put(&mut self, of: Fingerprint) {
        let slot = of[0] as usize & (self.table.len() - 1);
        self.table[slot] = of;
    }
}

/// Learned nogoods, by the forbidden item and offset.
///
/// A nogood is a set of placements that prevent an item from being at an offset. It is valid for every search of the
/// problem within the capacity, independent of other placements.
pub(super) struct LearnedNogoods {
    /// The placed items of each nogood.
    sets: Sets,
    /// A hash of these placements and their offsets.
    sums: Vec<Fingerprint>,
    /// The item and offset forbidden by each nogood.
    forbids: Vec<(u32, u64)>,
    /// The latest nogood of each bucket, and for each nogood the previous one in its bucket.
    newest: Vec<u32>,
    before: Vec<u32>,
    most: usize,
}

const NONE: u32 = u32::MAX;
const BUCKETS: usize = 1 << 12;
/// The maximum number of words of all sets.
const WORDS: usize = 1 << 19;
/// The maximum number of nogoods that a lookup compares, latest first.
const MAX_PROBES: usize = 64;

impl LearnedNogoods {
    pub(super) fn new(items: usize) -> Self {
        Self {
            sets: Sets::new(items, 0),
            sums: Vec::new(),
            forbids: Vec::new(),
            newest: Vec::new(),
            before: Vec::new(),
            most: WORDS / items.div_ceil(64).max(1),
        }
    }

    /// Removes all nogoods.
    fn clear(&mut self) {
        self.sets.truncate(0);
        self.sums.clear();
        self.forbids.clear();
        self.before.clear();
        self.newest.fill(NONE);
    }

    pub(super) fn keep(&mut self, item: u32, offset: u64, set: &[u64], sum: Fingerprint) {
        if self.newest.is_empty() {
            self.newest = vec![NONE; BUCKETS];
        }
        if self.sums.len() >= self.most {
            self.clear();
        }
        let head = &mut self.newest[bucket(item, offset)];
        self.before.push(core::mem::replace(head, self.sums.len() as u32));
        self.sets.push(set);
        self.sums.push(sum);
        self.forbids.push((item, offset));
    }

    /// The placements of a nogood that forbids the item at this offset, if one applies.
    pub(super) fn find(
        &self,
        item: u32,
        offset: u64,
        placed: &[u64],
        sum: impl Fn(&[u64]) -> Fingerprint,
    ) -> Option<&[u64]> {
        let mut at = *self.newest.get(bucket(item, offset))?;
        for _ in 0..MAX_PROBES {
            if at == NONE {
                break;
            }
            let nogood = at as usize;
            let set = self.sets.row(nogood);
            let applies = self.forbids[nogood] == (item, offset)
                && set.iter().zip(placed).all(|(set, placed)| set & !placed == 0)
                && sum(set) == self.sums[nogood];
            if applies {
                return Some(set);
            }
            at = self.before[nogood];
        }
        None
    }
}

fn bucket(item: u32, offset: u64) -> usize {
    let mixed = (u64::from(item) << 32 ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 52) as usize & (BUCKETS - 1)
}
