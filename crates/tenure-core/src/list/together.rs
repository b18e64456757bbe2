//! Submission of several lists in the order given, with few submissions of the device.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::open::Open;
use super::pool::ListPool;
use super::submit::{Closed, MOST_TOGETHER};
use crate::Error;
use crate::context::Context;
use crate::device::{Device, QueueId, QueueSerial};
use crate::time::SyncPoint;

/// A list to submit.
struct Listed<D: Device> {
    queue: QueueId,
    /// The list; `None` once it is submitted or discarded.
    closed: Option<Closed<D>>,
    submitted: Option<QueueSerial>,
}

/// The outcome of each list, in the given order, and the first error with its list.
pub(crate) struct Outcomes<D: Device> {
    lists: Vec<Listed<D>>,
    pub(crate) refused: Option<(usize, Error)>,
}

impl<D: Device> Outcomes<D> {
    /// The submission of each list, up to the first one that could not be closed.
    pub(crate) fn submitted(&self) -> impl Iterator<Item = Option<QueueSerial>> {
        self.lists.iter().map(|list| list.submitted)
    }
}

/// Lists that a later list would overtake.
#[derive(Default)]
struct Passed {
    count: usize,
    /// Their resources by state cell id, and whether all of them only read it.
    resources: FxHashMap<u64, bool>,
    /// Whether no list may overtake them.
    is_fixed: bool,
}

/// Whether a list must keep its position among the lists of other queues for other reasons than its resources: external points
/// may order them, and memory has been passed from one resource to another in the order of recording.
fn is_fixed<D: Device>(closed: &Closed<D>) -> bool {
    let has_points = !closed.external_waits().is_empty() || !closed.external_signals().is_empty();
    has_points || !closed.open.aliased_ranges.is_empty()
}

/// The resources of a list whose uses have an order, by state cell id, and whether the list only reads them.
fn shared<D: Device>(closed: &Closed<D>) -> impl Iterator<Item = (u64, bool)> {
    let resources = closed.recorded.resources().map(|(resource, is_read)| (&resource.0.states, is_read));
    let ordered = resources.filter(|(states, _)| !states.has_disjoint_uses());
    ordered.map(|(states, is_read)| (states.id(), is_read))
}

impl Passed {
    fn add<D: Device>(&mut self, closed: &Closed<D>) {
        self.count += 1;
        self.is_fixed |= is_fixed(closed);
        for (id, is_read) in shared(closed) {
            *self.resources.entry(id).or_insert(true) &= is_read;
        }
    }

    /// Whether a list may overtake the passed ones: all only read their shared resources.
    fn may_be_passed_by<D: Device>(&self, closed: &Closed<D>) -> bool {
        let is_free = |(id, is_read): (u64, bool)| self.resources.get(&id).is_none_or(|all| *all && is_read);
        self.count == 0 || (!self.is_fixed && !is_fixed(closed) && shared(closed).all(is_free))
    }
}

/// The lists to submit with the first remaining one: lists of the same queue that may overtake the lists of other queues in
/// between. Only the first one waits for external points, and only the last one signals some.
fn together<D: Device>(
    lists: &[Listed<D>],
    first: usize,
    queue: QueueId,
) -> SmallVec<[usize; MOST_TOGETHER]> {
    let near = lists.iter().enumerate().skip(first).take(MOST_TOGETHER);
    let near = near.filter_map(|(index, list)| Some((index, list.queue == queue, list.closed.as_ref()?)));
    let last = near.clone().filter(|(_, is_same, _)| *is_same).last().map_or(first, |(index, ..)| index);
    let (mut found, mut passed) = (SmallVec::new(), Passed::default());
    for (index, is_same, closed) in near.take_while(|(index, ..)| *index <= last) {
        if !is_same {
            passed.add(closed);
            continue;
        }
        let is_joined = found.is_empty() || closed.external_waits().is_empty();
        if !is_joined || !passed.may_be_passed_by(closed) {
            break;
        }
        found.push(index);
        if !closed.external_signals().is_empty() {
            break;
        }
    }
    found
}

impl<D: Device> ListPool<D> {
    /// Closes and submits lists as if one after the other, up to the first error, and returns them and their trackers to the
    /// contexts. Lists of one queue share a submission if no wait comes between them. `lists` ends with its first error, or
    /// when a list could not be closed.
    pub(crate) fn submit_all(
        &self,
        context: &Context<D>,
        lists: impl ExactSizeIterator<Item = Result<(QueueId, Open<D>, SyncPoint), Error>>,
    ) -> Outcomes<D> {
        let mut outcomes = Outcomes { lists: Vec::with_capacity(lists.len()), refused: None };
        for list in lists {
            let closed = list.and_then(|(queue, open, waits)| {
                let closed = Some(self.close(context, queue, open, &waits)?);
                Ok(Listed { queue, closed, submitted: None })
            });
            match closed {
                Ok(list) => outcomes.lists.push(list),
                Err(error) => {
                    outcomes.refused = Some((outcomes.lists.len(), error));
                    break;
                }
            }
        }
        let lists = &mut outcomes.lists;
        let mut first = 0;
        while let Some(Listed { queue, closed, .. }) = lists.get(first) {
            if closed.is_none() {
                first += 1;
                continue;
            }
            let queue = *queue;
            let found = together(lists, first, queue);
            let answer = {
                let mut found = found.iter().peekable();
                let chosen =
                    lists.iter_mut().enumerate().filter(|(index, _)| found.next_if_eq(&index).is_some());
                let chosen = chosen.filter_map(|(_, list)| list.closed.as_mut());
                self.submit_first(context, queue, &mut chosen.collect::<SmallVec<[_; MOST_TOGETHER]>>())
            };
            match answer {
                Ok((at, count)) => {
                    for index in found.into_iter().take(count) {
                        let list = lists.get_mut(index);
                        if let Some((list, closed)) =
                            list.and_then(|list| list.closed.take().map(|closed| (list, closed)))
                        {
                            list.submitted = Some(at);
                            self.end(context, queue, closed, Some(at));
                        }
                    }
                }
                Err(error) => {
                    outcomes.refused = Some((first, error));
                    break;
                }
            }
        }
        for Listed { queue, closed, .. } in lists {
            if let Some(closed) = closed.take() {
                self.end(context, *queue, closed, None);
            }
        }
        outcomes
    }
}
