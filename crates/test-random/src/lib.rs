//! The random numbers of tests and benchmarks: the same on every machine, and from version to version.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): 64 bits of state,
//! period 2^64, good enough for choices in tests, and short enough to be checked against its reference values.
//!
//! ```
//! let mut rng = test_random::Rng::new(7);
//! let die = 1 + rng.below(6);
//! assert!((1..=6).contains(&die));
//! assert_eq!(test_random::Rng::new(7).bytes(5).len(), 5);
//! ```
#![forbid(unsafe_code)]

/// A generator whose numbers depend on its seed alone.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with a seed; every seed is as good as another.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`, by the remainder; 0 if `limit` is 0. The bias, below `limit` / 2^64, does not matter
    /// in tests.
    pub const fn below(&mut self, limit: u64) -> u64 {
        let bits = self.next();
        if limit == 0 { 0 } else { bits % limit }
    }

    /// A number in `0..limit`, by the upper half of the product; 0 if `limit` is 0. Other numbers than
    /// [`below`](Self::below) gives, as recorded figures depend on either.
    pub const fn scaled(&mut self, limit: u64) -> u64 {
        ((self.next() as u128 * limit as u128) >> 64) as u64
    }

    /// A number from 0 to below 1, a multiple of 2^-53.
    pub const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A size whose order of magnitude is random: in `1..2^bits`. `bits` is from 1 to 63.
    pub const fn size(&mut self, bits: u64) -> u64 {
        let magnitude = self.below(bits);
        (1 << magnitude) + self.below(1 << magnitude)
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::with_capacity(count as usize + 8);
        while (bytes.len() as u64) < count {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(count as usize);
        bytes
    }

    /// Puts items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.scaled(at as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    /// The first numbers of the reference implementation in C (Vigna, <https://prng.di.unimi.it/splitmix64.c>).
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut rng = Rng::new(1_234_567);
        let numbers: [u64; 3] = std::array::from_fn(|_| rng.next());
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn limits_are_kept_and_reached() {
        let mut rng = Rng::new(0);
        let mut seen = [[0_u32; 6]; 2];
        for _ in 0..6000 {
            seen[0][rng.below(6) as usize] += 1;
            seen[1][rng.scaled(6) as usize] += 1;
            assert!((0.0..1.0).contains(&rng.unit()));
            assert!((1..1 << 5).contains(&rng.size(5)));
        }
        assert!(seen.as_flattened().iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!((rng.below(0), rng.scaled(0)), (0, 0));
    }

    #[test]
    fn a_shuffled_list_has_the_same_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..100));
    }
}
