//! The validity check of plans. It shares no code with the planner.

use std::collections::BTreeMap;

use crate::{Fault, Item};

/// Whether the offsets are a valid plan of the items, and its peak in bytes.
///
/// In a valid plan each item has an aligned offset, pinned items have their fixed offset, and no two items of one
/// class share bytes while both are alive. The peak is the sum over all classes of the highest end of an item. Takes
/// O(n log n).
///
/// # Errors
/// The first [`Fault`] found.
///
/// ```
/// use tenure_plan::{Fault, Item, check};
///
/// let items = [Item::new(0..2, 10), Item::new(1..3, 10), Item::new(2..4, 10)];
/// assert_eq!(check(&items, &[0, 10, 0]), Ok(20));
/// assert_eq!(check(&items, &[0, 5, 0]), Err(Fault::Overlap { item: 0, other: 1 }));
/// ```
pub fn check(items: &[Item], offsets: &[u64]) -> Result<u64, Fault> {
    if items.len() != offsets.len() {
        return Err(Fault::Count { items: items.len(), offsets: offsets.len() });
    }
    let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
    for (item, (it, &offset)) in items.iter().zip(offsets).enumerate() {
        let top = check_one(item, it, offset)?;
        if it.size > 0 {
            let peak = peaks.entry(it.class).or_default();
            *peak = top.max(*peak);
        }
    }
    check_pairs(items, offsets)?;
    Ok(peaks.values().fold(0, |sum, peak| sum.saturating_add(*peak)))
}

fn check_one(item: usize, it: &Item, offset: u64) -> Result<u64, Fault> {
    if it.alignment == 0 || !offset.is_multiple_of(it.alignment) {
        return Err(Fault::Misaligned { item, offset, alignment: it.alignment });
    }
    if let Some(pinned) = it.pinned.filter(|pinned| *pinned != offset) {
        return Err(Fault::NotWherePinned { item, offset, pinned });
    }
    offset.checked_add(it.size).ok_or(Fault::Overflow { item, offset, size: it.size })
}

/// Sweeps over time. Among the live items, ordered by offset, the first overlap is between neighbours.
fn check_pairs(items: &[Item], offsets: &[u64]) -> Result<(), Fault> {
    let mut events = Vec::with_capacity(2 * items.len());
    for (item, it) in items.iter().enumerate() {
        if it.size > 0 && it.first < it.last {
            events.push((it.first, true, item));
            events.push((it.last, false, item));
        }
    }
    // Ends sort before beginnings at the same time.
    events.sort_unstable();
    let mut alive: BTreeMap<(u32, u64), (u64, usize)> = BTreeMap::new();
    for (_, begins, item) in events {
        let (it, offset) = (&items[item], offsets[item]);
        let place = (it.class, offset);
        if !begins {
            alive.remove(&place);
            continue;
        }
        let end = offset + it.size;
        let below = alive.range(..place).next_back();
        if let Some((_, &(_, other))) = below.filter(|(at, (top, _))| at.0 == it.class && *top > offset) {
            return Err(Fault::Overlap { item: other, other: item });
        }
        let above = alive.range(place..).next();
        if let Some((_, &(_, other))) = above.filter(|(at, _)| at.0 == it.class && at.1 < end) {
            return Err(Fault::Overlap { item: other, other: item });
        }
        alive.insert(place, (end, item));
    }
    Ok(())
}
