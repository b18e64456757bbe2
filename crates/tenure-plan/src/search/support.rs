//! What is held comes to lie on another item, which is low enough to keep it from sinking back.

use super::Unit;
use super::arena::{NONE, View};
use super::ground::Ground;

/// Raises the bounds of held items to the lowest top among what they can lie on. Bounds only rise
/// from a state to its children, so that one whose supporter has not moved is as good as new.
/// Returns from and to which section a bound has risen.
pub(super) fn update<T: Unit>(
    view: View<'_, T>,
    eff: &mut [T],
    support: &mut [u32],
    ground: &Ground<T>,
) -> Option<(usize, usize)> {
    let mut news = None;
    for j in 0..view.len() {
        if !view.is_held(j) {
            continue;
        }
        let own = view.low[j] + view.size[j];
        let by = support[j] as usize;
        if by < eff.len() && eff[by] < own && eff[by] + view.size[by] <= eff[j] {
            continue;
        }
        let (least, by) = lowest_top(view, eff, j, own);
        support[j] = by;
        if least > eff[j] {
            eff[j] = if least < T::FAR { ground.settle(view.item[j], least) } else { least };
            let range = view.range(j);
            let (from, to) = news.unwrap_or((range.start, range.end));
            news = Some((from.min(range.start), to.max(range.end)));
        }
    }
    news
}

/// The lowest top among what overlaps an item and lies below `own`, and whose it is.
fn lowest_top<T: Unit>(view: View<'_, T>, eff: &[T], j: usize, own: T) -> (T, u32) {
    let (s, e) = (view.start[j], view.end[j]);
    let supports = |eff: T, start: T, end: T| (start < e) & (s < end) & (eff < own);
    let lists = || eff.iter().zip(view.size).zip(view.start).zip(view.end);
    let least = lists().enumerate().fold(T::FAR, |least, (k, (((&eff, &size), &start), &end))| {
        let top = if supports(eff, start, end) & (k != j) { eff + size } else { T::FAR };
        if top < least { top } else { least }
    });
    if least == T::FAR {
        return (least, NONE);
    }
    let by = lists().enumerate().position(|(k, (((&eff, &size), &start), &end))| {
        supports(eff, start, end) & (k != j) && eff + size == least
    });
    (least, by.map_or(NONE, |by| by as u32))
}
