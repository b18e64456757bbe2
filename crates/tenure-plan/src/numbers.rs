//! Numeric helpers: range maximum, hashing and integer logarithms.

/// The greatest value in a range: O(log n) by a segment tree, or linear if there are few values.
pub(crate) struct RangeMax<'a> {
    values: &'a [u64],
    /// Node k covers nodes 2k and 2k + 1; the values follow the inner nodes. Empty for few values.
    tree: Vec<u64>,
}

const FEW: usize = 128;

impl<'a> RangeMax<'a> {
    pub(crate) fn new(values: &'a [u64]) -> Self {
        let n = values.len();
        let mut tree = Vec::new();
        if n > FEW {
            tree.resize(n, 0);
            tree.extend_from_slice(values);
            for node in (1..n).rev() {
                tree[node] = tree[2 * node].max(tree[2 * node + 1]);
            }
        }
        Self { values, tree }
    }

    /// The greatest value of the range; 0 for an empty range.
    pub(crate) fn of(&self, start: u32, end: u32) -> u64 {
        let (start, end) = (start as usize, end as usize);
        if self.tree.is_empty() {
            return self.values[start..end].iter().copied().max().unwrap_or(0);
        }
        let (mut left, mut right) = (start + self.values.len(), end + self.values.len());
        let mut best = 0;
        while left < right {
            if left % 2 == 1 {
                best = best.max(self.tree[left]);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                best = best.max(self.tree[right]);
            }
            left /= 2;
            right /= 2;
        }
        best
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) const fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// log2 in units of 1/1024, accurate to a tenth; the same on every machine.
pub(crate) const fn log2(value: u64) -> u64 {
    if value == 0 {
        return 0;
    }
    let whole = 63 - value.leading_zeros() as u64;
    let fraction = ((value << (63 - whole)) >> 53) & 1023;
    whole * 1024 + fraction
}
