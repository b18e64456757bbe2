//! Whether items can be planned at all.

use crate::{Fault, Item, MAX_BYTES, MAX_ITEMS, PlanError, check};

/// Finds the first reason why not.
pub(crate) fn validate(items: &[Item]) -> Result<(), PlanError> {
    if items.len() > MAX_ITEMS {
        return Err(PlanError::TooMany { items: items.len() });
    }
    // As if each lay on top of the one before.
    let (mut top, mut pinned, mut pins) = (0u64, 0u64, 0usize);
    for (item, it) in items.iter().enumerate() {
        if it.first >= it.last {
            return Err(PlanError::EmptyLifetime { item, first: it.first, last: it.last });
        }
        if !it.alignment.is_power_of_two() {
            return Err(PlanError::BadAlignment { item, alignment: it.alignment });
        }
        if let Some(offset) = it.pinned {
            if !offset.is_multiple_of(it.alignment) {
                return Err(PlanError::PinnedUnaligned { item, offset, alignment: it.alignment });
            }
            pinned = offset.saturating_add(it.size).max(pinned);
            pins += 1;
        }
        top = top.saturating_add(it.size).saturating_add(it.alignment - 1);
        if top.saturating_add(pinned) > MAX_BYTES {
            return Err(PlanError::TooLarge { item });
        }
    }
    if pins < 2 { Ok(()) } else { validate_pins(items) }
}

fn validate_pins(items: &[Item]) -> Result<(), PlanError> {
    let at: Vec<usize> = (0..items.len()).filter(|&item| items[item].pinned.is_some()).collect();
    let pinned: Vec<Item> = at.iter().map(|&item| items[item]).collect();
    let offsets: Vec<u64> = pinned.iter().filter_map(|item| item.pinned).collect();
    match check(&pinned, &offsets) {
        Err(Fault::Overlap { item, other }) => {
            Err(PlanError::PinnedConflict { item: at[item], other: at[other] })
        }
        _ => Ok(()),
    }
}
