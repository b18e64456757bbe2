//! The random numbers of the simulated device: the delays of each seed are published behaviour, so this is a
//! separate generator from the tests' own, `test-random`.

/// SplitMix64 (Steele, Lea and Flood, 2014): 64 bits of state, passes BigCrush, period 2^64.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..=max`; the bias of the modulus does not matter here.
    pub(crate) fn up_to(&mut self, max: u64) -> u64 {
        let drawn = self.next();
        max.checked_add(1).map_or(drawn, |choices| drawn % choices)
    }
}
