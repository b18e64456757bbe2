//! The lowest peak of a few items, by exhaustive search.

use tenure_plan::Item;

/// The lowest possible peak of items of one class, if it is at most `most`.
pub(crate) fn lowest_peak(items: &[Item], most: u64) -> Option<u64> {
    let mut sorted = items.to_vec();
    // Items that are hard to place come first.
    sorted
        .sort_by_key(|item| (item.pinned.is_none(), std::cmp::Reverse(item.size * (item.last - item.first))));
    let starts = items.iter().map(|item| item.first);
    let load =
        |time| items.iter().filter(|item| item.first <= time && time < item.last).map(|item| item.size).sum();
    let least = starts.map(load).max().unwrap_or(0);
    (least..=most).find(|&peak| fits(&sorted, &mut Vec::new(), peak))
}

/// Whether the remaining items fit beside the placed ones.
fn fits(items: &[Item], placed: &mut Vec<u64>, peak: u64) -> bool {
    let Some(item) = items.get(placed.len()) else { return true };
    let mut offset = 0;
    while offset + item.size <= peak {
        let collides = |(other, at): (&Item, &u64)| {
            other.overlaps_in_time(item) && *at < offset + item.size && offset < at + other.size
        };
        let is_free = !items.iter().zip(&*placed).any(collides);
        if is_free && item.pinned.is_none_or(|pinned| pinned == offset) {
            placed.push(offset);
            if fits(items, placed, peak) {
                return true;
            }
            placed.pop();
        }
        offset += item.alignment;
    }
    false
}
