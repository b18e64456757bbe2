//! The order of passes: dependencies, precedence, and lifetimes derived from them.
//!
//! Passes on one queue run one after the other, so the passes that have ended before a pass begins are, for
//! each queue, a number of its first passes: a vector clock. So the order takes memory linear in the passes,
//! and the passes that may run at the same time as a pass are consecutive on each other queue.
//!
//! # Lifetimes
//!
//! Lifetimes are intervals of passes in the order of declaration. Two resources may share bytes if all uses of one end before
//! the first use of the other begins. For passes that may run at the same time, the order of declaration does not imply that.
//! So the uses on all queues except one are extended over all passes that may run meanwhile: of two simultaneous uses, at least
//! one is on an extended queue, and its interval contains the other. Resources whose intervals do not overlap may then share.

use core::ops::Range;

use super::flow::{Flow, Grouped, writes};
use crate::device::{MAX_QUEUES, QueueId};

/// For each pass, the passes that have ended before it begins.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The passes of each queue.
    passes_of_queue: [Vec<usize>; MAX_QUEUES],
    passes: Vec<PassPosition>,
}

/// The position of a pass on its queue and among the other queues.
#[derive(Clone, Debug)]
struct PassPosition {
    queue: usize,
    /// Number of earlier passes on its queue.
    position: usize,
    /// Number of earlier passes on each queue.
    before: [usize; MAX_QUEUES],
}

impl Order {
    /// The order of passes by their queues and direct dependencies on earlier ones.
    pub(super) fn new(queues: &[QueueId], dependencies: &Grouped<usize>) -> Self {
        let mut order =
            Self { passes_of_queue: Default::default(), passes: Vec::with_capacity(queues.len()) };
        for (pass, queue) in queues.iter().map(|queue| queue.index()).enumerate() {
            let same = order.passes_of_queue[queue].last().copied();
            let mut before = [0; MAX_QUEUES];
            for &earlier in dependencies.get(pass).iter().chain(&same) {
                let earlier = &order.passes[earlier];
                join(&mut before, &earlier.before);
                before[earlier.queue] = before[earlier.queue].max(earlier.position + 1);
            }
            let position = order.passes_of_queue[queue].len();
            order.passes_of_queue[queue].push(pass);
            order.passes.push(PassPosition { queue, position, before });
        }
        order
    }

    /// The number of passes.
    pub(super) fn len(&self) -> usize {
        self.passes.len()
    }

    /// The queue of a pass.
    pub(super) fn queue(&self, pass: usize) -> usize {
        self.passes[pass].queue
    }

    /// The queues that have passes.
    pub(super) fn queues(&self) -> impl Iterator<Item = usize> {
        self.passes_of_queue
            .iter()
            .enumerate()
            .filter(|(_, passes)| !passes.is_empty())
            .map(|(queue, _)| queue)
    }

    /// Whether one pass has ended before the other begins.
    pub(super) fn is_before(&self, one: usize, other: usize) -> bool {
        let PassPosition { queue, position, .. } = self.passes[one];
        self.passes[other].before[queue] > position
    }

    /// The first and the last of the passes that may run at the same time as this one, itself included.
    pub(super) fn concurrent(&self, pass: usize) -> (usize, usize) {
        let own = self.passes[pass].queue;
        let others = (0..MAX_QUEUES).filter(|queue| *queue != own);
        let runs = others.filter_map(|queue| {
            let passes = &self.passes_of_queue[queue];
            let start = self.passes[pass].before[queue];
            let end = passes.partition_point(|&other| !self.is_before(pass, other));
            passes.get(start..end).and_then(|run| Some((*run.first()?, *run.last()?)))
        });
        runs.fold((pass, pass), |(first, last), run| (first.min(run.0), last.max(run.1)))
    }

    /// The length of the longest chain of passes before each pass: passes with equal numbers may run at the same time.
    pub(super) fn earliest(&self) -> Vec<usize> {
        let mut levels = vec![0; self.len()];
        for pass in 0..self.len() {
            levels[pass] = self.just_before(pass).map(|earlier| levels[earlier] + 1).max().unwrap_or(0);
        }
        levels
    }

    /// The same from the end: the latest level of each pass at which no chain becomes longer than the longest.
    pub(super) fn latest(&self) -> Vec<usize> {
        let height = self.earliest().into_iter().max().unwrap_or(0);
        let mut levels = vec![height; self.len()];
        for pass in (0..self.len()).rev() {
            for earlier in self.just_before(pass) {
                // Chains are no longer than the height.
                levels[earlier] = levels[earlier].min(levels[pass].saturating_sub(1));
            }
        }
        levels
    }

    /// On each queue the last pass that has ended before this one begins.
    fn just_before(&self, pass: usize) -> impl Iterator<Item = usize> {
        let passes_of_queue = self.passes_of_queue.iter().zip(self.passes[pass].before);
        passes_of_queue.filter_map(|(passes, count)| passes.get(count.checked_sub(1)?).copied())
    }
}

/// The union of the passes before either of two.
pub(super) fn join(one: &mut [usize; MAX_QUEUES], other: &[usize; MAX_QUEUES]) {
    for (one, other) in one.iter_mut().zip(other) {
        *one = (*one).max(*other);
    }
}

/// The direct dependencies of each pass on earlier ones. Passes on one queue follow each other anyway.
///
/// A read depends on the write before it, a write on the reads since the previous write and on that write.
pub(super) fn dependencies(flow: &Flow) -> Grouped<usize> {
    let mut resources = vec![LastUses::default(); flow.resources];
    let mut found = Grouped::new();
    for (pass, uses) in flow.uses.iter().enumerate() {
        let mut direct: Vec<usize> = flow.after.get(pass).to_vec();
        for one in uses {
            let last_uses = &mut resources[one.resource.index()];
            direct.extend(last_uses.write);
            if writes(one.states) {
                direct.append(&mut last_uses.reads);
                last_uses.write = Some(pass);
            } else {
                last_uses.reads.push(pass);
            }
        }
        direct.sort_unstable();
        direct.dedup();
        for earlier in direct {
            found.push(earlier);
        }
        found.finish();
    }
    found
}

/// The last write of a resource, and the reads since.
#[derive(Clone, Default)]
struct LastUses {
    write: Option<usize>,
    reads: Vec<usize>,
}

/// The lifetime of each resource; `None` for one that no pass uses. On every queue but `kept` uses are
/// extended over all passes that may run at the same time.
pub(super) fn extended(flow: &Flow, order: &Order, kept: usize) -> Vec<Option<Range<usize>>> {
    spans(flow, |pass| if order.queue(pass) == kept { (pass, pass) } else { order.concurrent(pass) })
}

/// The lifetime of each resource from its first use to its last, with each pass at its time in `times`.
///
/// If every pass has a later time than the passes before it, resources that overlap can never share bytes: of two resources
/// that can, one has its last use at an earlier time than the first use of the other.
pub(super) fn plain(flow: &Flow, times: &[usize]) -> Vec<Option<Range<usize>>> {
    spans(flow, |pass| (times[pass], times[pass]))
}

/// The range of each resource from the earliest start to one past the latest end of its passes' extents.
fn spans(flow: &Flow, extent: impl Fn(usize) -> (usize, usize)) -> Vec<Option<Range<usize>>> {
    let mut lifetimes: Vec<Option<Range<usize>>> = vec![None; flow.resources];
    for (pass, uses) in flow.uses.iter().enumerate() {
        let (first, last) = extent(pass);
        for one in uses {
            let lifetime = lifetimes[one.resource.index()].get_or_insert(first..last);
            *lifetime = lifetime.start.min(first)..lifetime.end.max(last + 1);
        }
    }
    lifetimes
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
