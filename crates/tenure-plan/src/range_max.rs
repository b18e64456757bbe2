//! The greatest value in a range.

/// Answers in O(log n), or by looking where there are few values anyway.
pub(crate) struct RangeMax<'a> {
    values: &'a [u64],
    /// Node k covers nodes 2k and 2k + 1; the values are behind the inner nodes. Empty if there are few.
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

    /// The greatest value of the range, 0 if it is empty.
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
