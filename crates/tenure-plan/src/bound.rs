//! Lower bounds of the peak.
//!
//! Items alive together do not overlap, so the greatest load is a bound. Aligned items take whole multiples of their
//! alignment, except for the topmost one, which needs no padding: this gives a bound for each alignment. The end of
//! each pinned item is a bound, too.

use crate::Item;
use crate::sections::{Scale, Sections};

/// The greatest of the bounds, in bytes.
pub(crate) fn of(
    all: &[&Item],
    pinned: &impl Fn(usize) -> Option<u64>,
    sections: &Sections,
    load: &[u64],
    scale: &Scale,
) -> u64 {
    let mut levels: Vec<u64> = all.iter().map(|item| item.alignment).filter(|a| *a > scale.unit).collect();
    levels.sort_unstable();
    levels.dedup();
    let is_padded = all.iter().any(|item| scale.padding(item.size, 1) > 0);
    let mut best = if is_padded {
        of_level(all, scale.grain(), sections, scale)
    } else {
        load.iter().copied().max().unwrap_or(0) * scale.unit
    };
    for alignment in levels {
        best = best.max(of_level(all, alignment, sections, scale));
    }
    let tops = all.iter().enumerate().filter_map(|(k, item)| Some(pinned(k)? + item.size));
    best.max(tops.max().unwrap_or(0))
}

/// The bound from the items that are aligned to `alignment` at least.
fn of_level(all: &[&Item], alignment: u64, sections: &Sections, scale: &Scale) -> u64 {
    let mut members: Vec<usize> = (0..all.len()).filter(|&k| all[k].alignment >= alignment).collect();
    let range = |k: usize| (sections.start[k], sections.end[k]);
    let padding = |k: usize| scale.padding(all[k].size, alignment);
    let mut load = vec![0; sections.count];
    add_up(&mut load, members.iter().map(|&k| range(k)), members.iter().map(|&k| all[k].size + padding(k)));
    // The greatest padding in each section, from the first item that reaches it in descending order.
    members.sort_by_key(|&k| core::cmp::Reverse(padding(k)));
    let mut next: Vec<u32> = (0..=sections.count as u32).collect();
    let mut best = 0;
    for k in members {
        let (start, end) = range(k);
        let mut at = unpainted(&mut next, start);
        while at < end {
            best = best.max(load[at as usize] - padding(k));
            next[at as usize] = at + 1;
            at = unpainted(&mut next, at + 1);
        }
    }
    best
}

/// The first unpainted section from `at` on: union-find with path halving.
fn unpainted(next: &mut [u32], mut at: u32) -> u32 {
    while next[at as usize] != at {
        let skip = next[next[at as usize] as usize];
        next[at as usize] = skip;
        at = skip;
    }
    at
}

/// For each section, the sum of the amounts of the ranges that cover it.
pub(crate) fn add_up(
    sections: &mut [u64],
    ranges: impl Iterator<Item = (u32, u32)>,
    amounts: impl Iterator<Item = u64>,
) {
    for ((start, end), amount) in ranges.zip(amounts) {
        sections[start as usize] = sections[start as usize].wrapping_add(amount);
        if let Some(after) = sections.get_mut(end as usize) {
            *after = after.wrapping_sub(amount);
        }
    }
    let mut sum = 0u64;
    for section in sections {
        sum = sum.wrapping_add(*section);
        *section = sum;
    }
}
