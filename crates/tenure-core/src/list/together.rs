//! Submission of several lists in the order given, with few submissions of the device.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::open::Open;
use super::pool::ListPool;
use super::submit::{Closed, MOST_TOGETHER};
use crate::Error;
use crate::context::Context;
use crate::device::{Device, QueueId, QueueSerial};
use crate::time::SyncPoint;

/// A list that is left to submit.
struct Left<D: Device> {
    queue: QueueId,
    closed: Closed<D>,
}

/// The outcome of each list, by the order given, and the first error with the list that it is about.
pub(crate) struct Outcomes {
    pub(crate) submitted: Vec<Option<QueueSerial>>,
    pub(crate) refused: Option<(usize, Error)>,
}

/// The lists that a later list would be submitted before.
#[derive(Default)]
struct Passed {
    count: usize,
    /// Their resources by the ids of the state cells, and whether all only read it.
    resources: HashMap<u64, bool>,
    /// Whether nothing may be submitted before the lists.
    is_fixed: bool,
}

/// Whether the place of a list among the lists of other queues matters for more than its resources: external points may order
/// them, and memory has passed from one resource to another in the order of recording.
fn is_fixed<D: Device>(closed: &Closed<D>) -> bool {
    let has_points = !closed.external_waits().is_empty() || !closed.external_signals().is_empty();
    has_points || !closed.open.aliased_ranges.is_empty()
}

impl Passed {
    fn add<D: Device>(&mut self, closed: &Closed<D>) {
        self.count += 1;
        self.is_fixed |= is_fixed(closed);
        for (resource, is_read) in closed.recorded.resources() {
            *self.resources.entry(resource.0.states.id()).or_insert(true) &= is_read;
        }
    }

    /// Whether a list may come before the passed ones: all only read their shared resources.
    fn may_be_passed_by<D: Device>(&self, closed: &Closed<D>) -> bool {
        let is_free = |(id, is_read): (u64, bool)| self.resources.get(&id).is_none_or(|all| *all && is_read);
        let mut resources =
            closed.recorded.resources().map(|(resource, is_read)| (resource.0.states.id(), is_read));
        self.count == 0 || (!self.is_fixed && !is_fixed(closed) && resources.all(is_free))
    }
}

/// The lists to submit with the first one that is left: of the same queue, if they may come before the lists of other queues in
/// between. Only the first one waits for external points, and only the last one signals some.
fn together<D: Device>(
    left: &[Option<Left<D>>],
    first: usize,
    queue: QueueId,
) -> SmallVec<[usize; MOST_TOGETHER]> {
    let is_same = |left: &Left<D>| left.queue == queue;
    let near = left.iter().enumerate().skip(first).take(MOST_TOGETHER);
    let near = near.filter_map(|(index, left)| Some((index, left.as_ref()?)));
    let last = near.clone().filter(|(_, left)| is_same(left)).last().map_or(first, |(index, _)| index);
    let (mut found, mut passed) = (SmallVec::new(), Passed::default());
    for (index, left) in near.take_while(|(index, _)| *index <= last) {
        if !is_same(left) {
            passed.add(&left.closed);
            continue;
        }
        let is_joined = found.is_empty() || left.closed.external_waits().is_empty();
        if !is_joined || !passed.may_be_passed_by(&left.closed) {
            break;
        }
        found.push(index);
        if !left.closed.external_signals().is_empty() {
            break;
        }
    }
    found
}

impl<D: Device> ListPool<D> {
    /// Closes and submits lists as if one after the other, up to the first error, and returns them and their trackers to the
    /// contexts. Lists of one queue share a submission where no wait comes between them.
    pub(crate) fn submit_all(
        &self,
        context: &Context<D>,
        lists: Vec<(QueueId, Open<D>, SyncPoint)>,
    ) -> Outcomes {
        let mut outcomes = Outcomes { submitted: vec![None; lists.len()], refused: None };
        let mut left = Vec::with_capacity(lists.len());
        for (index, (queue, open, waits)) in lists.into_iter().enumerate() {
            if outcomes.refused.is_some() {
                self.discard_open(context, queue, open);
                continue;
            }
            match self.close(context, queue, open, &waits) {
                Ok(closed) => left.push(Some(Left { queue, closed })),
                Err(error) => outcomes.refused = Some((index, error)),
            }
        }
        let mut first = 0;
        while let Some(queue) = left.get(first).map(|left| left.as_ref().map(|left| left.queue)) {
            let Some(queue) = queue else {
                first += 1;
                continue;
            };
            let found = together(&left, first, queue);
            let answer = {
                let mut found = found.iter().peekable();
                let chosen =
                    left.iter_mut().enumerate().filter(|(index, _)| found.next_if_eq(&index).is_some());
                let chosen = chosen.filter_map(|(_, left)| Some(&mut left.as_mut()?.closed));
                self.submit_first(context, queue, &mut chosen.collect::<SmallVec<[_; MOST_TOGETHER]>>())
            };
            let count = answer.as_ref().map_or(0, |(_, count)| *count);
            let at = answer.as_ref().ok().map(|(at, _)| *at);
            for index in found.into_iter().take(count) {
                let ended = left.get_mut(index).and_then(Option::take);
                if let (Some(ended), Some(outcome)) = (ended, outcomes.submitted.get_mut(index)) {
                    *outcome = at;
                    self.end(context, queue, ended.closed, at);
                }
            }
            if let Err(error) = answer {
                outcomes.refused = Some((first, error));
                break;
            }
        }
        // The newest use of memory is undone first.
        for Left { queue, closed } in left.into_iter().rev().flatten() {
            self.end(context, queue, closed, None);
        }
        outcomes
    }
}
