//! Chance that repeats.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`; `limit` is at least 1.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// So many bytes that no two calls repeat.
    pub(crate) fn bytes(&mut self, count: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::with_capacity(usize::try_from(count).unwrap() + 8);
        while (bytes.len() as u64) < count {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(usize::try_from(count).unwrap());
        bytes
    }

    /// A size whose magnitude is as random as its digits: `1..2^bits`.
    pub(crate) const fn size(&mut self, bits: u64) -> u64 {
        let magnitude = self.below(bits);
        (1 << magnitude) + self.below(1 << magnitude)
    }
}
