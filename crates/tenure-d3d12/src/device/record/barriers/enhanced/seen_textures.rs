//! The set of textures with barriers in a list.

/// A set of addresses with false positives but no false negatives (a Bloom filter). Every operation takes the
/// same short time, and none allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen([u64; 4]);

impl Seen {
    /// The word and the bit of an address; neighbours differ.
    const fn place(address: usize) -> (usize, u64) {
        // Fibonacci hashing; the upper bits are the mixed ones.
        let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        ((mixed >> 6) as usize, 1 << (mixed & 63))
    }

    pub(super) fn insert(&mut self, address: usize) {
        let (word, bit) = Self::place(address);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn may_contain(&self, address: usize) -> bool {
        let (word, bit) = Self::place(address);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn inserted_objects_are_found_with_few_false_positives() {
        let mut seen = Seen::default();
        let objects: Vec<usize> = (0..32).map(|index| 0x7f00_0000_1000 + index * 0x160).collect();
        assert!(objects.iter().all(|object| !seen.may_contain(*object)));
        objects.iter().for_each(|object| seen.insert(*object));
        assert!(objects.iter().all(|object| seen.may_contain(*object)));
        let others = (0..1000).map(|index| 0x7f00_0010_0000 + index * 0x160);
        let wrong = others.filter(|other| seen.may_contain(*other)).count();
        assert!(wrong < 250, "{wrong} of 1000, where an eighth is to be expected");
    }
}
