//! Numbers that look random and depend on their arguments alone.

/// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) const fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// log2 in 1/1024, to within a tenth; the same on every machine.
pub(crate) const fn log2(value: u64) -> u64 {
    if value == 0 {
        return 0;
    }
    let whole = 63 - value.leading_zeros() as u64;
    let fraction = ((value << (63 - whole)) >> 53) & 1023;
    whole * 1024 + fraction
}
