//! Placing items one after the other into gaps between those placed before.

use tenure_plan::Item;

/// Which of the gaps that are large enough is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The lowest.
    First,
    /// The smallest.
    Best,
}

/// The offsets for items placed in an order; quadratic in their number. Alignments are not heard.
pub(super) fn place(items: &[Item], order: &[usize], fit: Fit) -> Vec<u64> {
    let mut offsets = vec![0; items.len()];
    // By offset.
    let mut placed: Vec<usize> = Vec::with_capacity(items.len());
    for &at in order {
        let item = &items[at];
        let (mut free, mut best) = (0, None);
        for &other in placed.iter().filter(|other| items[**other].overlaps_in_time(item)) {
            let bottom = offsets[other];
            if bottom >= free + item.size {
                let gap = bottom - free;
                if best.is_none_or(|(smallest, _)| gap < smallest) {
                    best = Some((gap, free));
                }
                if fit == Fit::First {
                    break;
                }
            }
            free = free.max(bottom + items[other].size);
        }
        offsets[at] = best.map_or(free, |(_, offset)| offset);
        let rank = placed.partition_point(|other| offsets[*other] <= offsets[at]);
        placed.insert(rank, at);
    }
    offsets
}

/// The highest end.
pub(super) fn peak_of(items: &[Item], offsets: &[u64]) -> u64 {
    items.iter().zip(offsets).map(|(item, offset)| offset + item.size).max().unwrap_or(0)
}
