//! Choices that repeat, among things and by chance.

use test_random::Rng;

pub(crate) struct Random(Rng);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// The index of one of `bound` things.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).unwrap()
    }

    /// True with this probability in percent.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.0.below(100) < chance
    }
}
