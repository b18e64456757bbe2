//! Which pass has ended before which begins, whatever the GPU does in what time.
//!
//! Passes on one queue follow each other, so what comes before a pass is, for each queue, a number of
//! its first passes: a vector clock. That makes the order linear in the passes, and the passes that may
//! run at the same time as one a run of passes on each other queue.

use crate::device::{MAX_QUEUES, QueueId};

use super::grouped::Grouped;

/// Which pass has ended before which begins.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The passes of each queue.
    lanes: [Vec<usize>; MAX_QUEUES],
    passes: Vec<Place>,
}

/// A pass among the others.
#[derive(Clone, Debug)]
struct Place {
    queue: usize,
    /// How many passes of its queue come before.
    position: usize,
    /// How many passes of each queue come before.
    before: [usize; MAX_QUEUES],
}

impl Order {
    /// The order of passes by their queues and direct dependencies on earlier ones.
    pub(super) fn new(queues: &[QueueId], dependencies: &Grouped<usize>) -> Self {
        let mut order = Self { lanes: Default::default(), passes: Vec::with_capacity(queues.len()) };
        for (pass, queue) in queues.iter().map(|queue| queue.index()).enumerate() {
            let same = order.lanes[queue].last().copied();
            let mut before = [0; MAX_QUEUES];
            for &earlier in dependencies.get(pass).iter().chain(&same) {
                let earlier = &order.passes[earlier];
                join(&mut before, &earlier.before);
                before[earlier.queue] = before[earlier.queue].max(earlier.position + 1);
            }
            let position = order.lanes[queue].len();
            order.lanes[queue].push(pass);
            order.passes.push(Place { queue, position, before });
        }
        order
    }

    /// How many passes there are.
    pub(super) fn len(&self) -> usize {
        self.passes.len()
    }

    /// The queue of a pass.
    pub(super) fn queue(&self, pass: usize) -> usize {
        self.passes[pass].queue
    }

    /// The queues that have passes.
    pub(super) fn queues(&self) -> impl Iterator<Item = usize> {
        self.lanes.iter().enumerate().filter(|(_, lane)| !lane.is_empty()).map(|(queue, _)| queue)
    }

    /// Whether one pass has ended before the other begins.
    pub(super) fn is_before(&self, one: usize, other: usize) -> bool {
        let Place { queue, position, .. } = self.passes[one];
        self.passes[other].before[queue] > position
    }

    /// The first and the last of the passes that may run at the same time as this one, itself included.
    pub(super) fn concurrent(&self, pass: usize) -> (usize, usize) {
        let own = self.passes[pass].queue;
        let others = (0..MAX_QUEUES).filter(|queue| *queue != own);
        let runs = others.filter_map(|queue| {
            let lane = &self.lanes[queue];
            let start = self.passes[pass].before[queue];
            let end = lane.partition_point(|&other| !self.is_before(pass, other));
            lane.get(start..end).and_then(|run| Some((*run.first()?, *run.last()?)))
        });
        runs.fold((pass, pass), |(first, last), run| (first.min(run.0), last.max(run.1)))
    }

    /// For each pass the length of the longest chain of passes before it: passes with equal numbers may
    /// run at the same time.
    pub(super) fn earliest(&self) -> Vec<usize> {
        let mut levels = vec![0; self.len()];
        for pass in 0..self.len() {
            levels[pass] = self.just_before(pass).map(|earlier| levels[earlier] + 1).max().unwrap_or(0);
        }
        levels
    }

    /// The same from the other end: each pass as late as no chain behind it becomes longer than the
    /// longest of all.
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
        let lanes = self.lanes.iter().zip(self.passes[pass].before);
        lanes.filter_map(|(lane, count)| lane.get(count.checked_sub(1)?).copied())
    }
}

/// What comes before either.
pub(super) fn join(one: &mut [usize; MAX_QUEUES], other: &[usize; MAX_QUEUES]) {
    for (one, other) in one.iter_mut().zip(other) {
        *one = (*one).max(*other);
    }
}
