//! When resources live, as intervals of passes in the order of declaration.
//!
//! Two resources may share bytes if every use of the one has ended before the first of the other
//! begins. Passes that may run at the same time have an order of declaration, too, but it says nothing.
//! So the uses on all queues but one are extended over all passes that may run meanwhile: of two uses
//! that may be at the same time, one is on a queue that is extended, and its interval contains the other.
//! Resources whose intervals do not overlap may then share.

use core::ops::Range;

use super::flow::Flow;
use super::order::Order;

/// The lifetime of each resource; `None` for one that no pass uses. On every queue but `kept` uses are
/// extended over all passes that may run at the same time.
pub(super) fn extended(flow: &Flow, order: &Order, kept: usize) -> Vec<Option<Range<usize>>> {
    spans(flow, |pass| if order.queue(pass) == kept { (pass, pass) } else { order.concurrent(pass) })
}

/// The lifetime of each resource from its first use to its last, each pass being at its time.
///
/// If no pass is at the time of one that comes before it, or earlier, then whatever overlaps must never
/// share bytes: of two resources that may, one has its last use at an earlier time than the other its first.
pub(super) fn plain(flow: &Flow, times: &[usize]) -> Vec<Option<Range<usize>>> {
    spans(flow, |pass| (times[pass], times[pass]))
}

/// From the first time to behind the last of those from and to which each pass extends.
fn spans(flow: &Flow, extent: impl Fn(usize) -> (usize, usize)) -> Vec<Option<Range<usize>>> {
    let mut lives: Vec<Option<Range<usize>>> = vec![None; flow.resources];
    for (pass, uses) in flow.uses.iter().enumerate() {
        let (first, last) = extent(pass);
        for one in uses {
            let life = lives[one.resource.index()].get_or_insert(first..last);
            *life = life.start.min(first)..life.end.max(last + 1);
        }
    }
    lives
}

/// The only queue that uses each resource; `None` if there are several, or none.
pub(super) fn sole_queues(flow: &Flow, order: &Order) -> Vec<Option<usize>> {
    let mut queues: Vec<(Option<usize>, bool)> = vec![(None, true); flow.resources];
    for (pass, uses) in flow.uses.iter().enumerate() {
        let queue = order.queue(pass);
        for one in uses {
            let (known, is_sole) = &mut queues[one.resource.index()];
            *is_sole &= known.is_none_or(|known| known == queue);
            *known = Some(queue);
        }
    }
    queues.into_iter().map(|(queue, is_sole)| queue.filter(|_| is_sole)).collect()
}
