//! The division of passes into recordings, their waits for each other, and the acquires and discards of each pass.
//!
//! A queue's passes stay in one recording until two of them must be separated: another queue waits for the first, the second
//! waits for another queue, or the second is declared to begin a recording.

use super::flow::{Flow, Grouped, writes};
use super::order::join;
use super::{Graph, PassId, Resource, ResourceId};
use crate::device::{MAX_QUEUES, QueueId, QueueKind, State, StateModel};

/// Passes that follow each other on one queue, for one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The queue.
    pub queue: QueueId,
    /// The passes, in the order in which they run.
    pub passes: Vec<PassId>,
    /// The earlier batches of other queues that it must wait for, by index, without waits implied by others. The waits for
    /// earlier frames come from [`resolve`](tenure_track::state::resolve).
    pub waits: Vec<usize>,
}

/// The batches in an order in which they can be submitted: by their ends.
pub(super) fn batches<R>(graph: &Graph<R>, queues: &[QueueId], dependencies: &Grouped<usize>) -> Vec<Batch> {
    let mut builder = BatchBuilder::default();
    for (pass, queue) in queues.iter().enumerate() {
        if graph.passes.get(pass).is_some_and(|declared| declared.is_first) {
            builder.cut(queue.index());
        }
        builder.add(pass, *queue, dependencies.get(pass));
    }
    builder.finish()
}

/// The number of ended batches of each queue, from the first one on.
type Known = [usize; MAX_QUEUES];

/// A batch under construction. Drafts are numbered in the order in which they begin.
struct BatchDraft {
    queue: QueueId,
    /// Number of earlier batches of its queue.
    position: usize,
    passes: Vec<PassId>,
    /// The drafts that it waits for.
    waits: Vec<usize>,
    /// The batches that have ended when it begins.
    before: Known,
}

#[derive(Default)]
struct BatchBuilder {
    drafts: Vec<BatchDraft>,
    /// The drafts of each queue.
    drafts_of_queue: [Vec<usize>; MAX_QUEUES],
    /// Whether the last draft of each queue can still be extended.
    open: [bool; MAX_QUEUES],
    /// The draft of each pass.
    of_pass: Vec<usize>,
    /// The drafts that have ended, in that order.
    ended: Vec<usize>,
}

impl BatchBuilder {
    fn add(&mut self, pass: usize, queue: QueueId, dependencies: &[usize]) {
        let own = queue.index();
        let missing = self.missing(own, dependencies);
        if self.open[own] && !missing.is_empty() {
            self.end(own);
        }
        if !self.open[own] {
            for draft in &missing {
                let waited = &self.drafts[*draft];
                let other = waited.queue.index();
                if waited.position + 1 == self.drafts_of_queue[other].len() && self.open[other] {
                    self.end(other);
                }
            }
            self.begin(queue, missing);
        }
        if let Some(&draft) = self.drafts_of_queue[own].last() {
            self.of_pass.push(draft);
            self.drafts[draft].passes.push(PassId::new(pass));
        }
    }

    /// The batches that have ended when the next pass of a queue begins, without further waits.
    fn known(&self, queue: usize) -> Known {
        let Some(&last) = self.drafts_of_queue[queue].last() else { return [0; MAX_QUEUES] };
        let last = &self.drafts[last];
        let mut known = last.before;
        if !self.open[queue] {
            known[queue] = last.position + 1;
        }
        known
    }

    /// The drafts that the next pass of a queue must wait for, without waits implied by earlier ones.
    fn missing(&self, queue: usize, dependencies: &[usize]) -> Vec<usize> {
        let known = self.known(queue);
        let mut newest: [Option<usize>; MAX_QUEUES] = [None; MAX_QUEUES];
        for draft in dependencies.iter().map(|&pass| self.of_pass[pass]) {
            let BatchDraft { queue: other, position, .. } = self.drafts[draft];
            let other = other.index();
            if other != queue && position >= known[other] {
                newest[other] = newest[other].max(Some(draft));
            }
        }
        let newest: Vec<usize> = newest.into_iter().flatten().collect();
        let is_implied = |draft: &usize| {
            let BatchDraft { queue, position, .. } = self.drafts[*draft];
            newest.iter().any(|other| self.drafts[*other].before[queue.index()] > position)
        };
        newest.iter().copied().filter(|draft| !is_implied(draft)).collect()
    }

    fn begin(&mut self, queue: QueueId, waits: Vec<usize>) {
        let own = queue.index();
        let mut before = self.known(own);
        for &wait in &waits {
            let waited = &self.drafts[wait];
            join(&mut before, &waited.before);
            let other = waited.queue.index();
            before[other] = before[other].max(waited.position + 1);
        }
        let position = self.drafts_of_queue[own].len();
        self.drafts_of_queue[own].push(self.drafts.len());
        self.drafts.push(BatchDraft { queue, position, passes: Vec::new(), waits, before });
        self.open[own] = true;
    }

    /// Starts a new batch with the next pass of a queue.
    fn cut(&mut self, queue: usize) {
        if self.open[queue] {
            self.end(queue);
        }
    }

    fn end(&mut self, queue: usize) {
        self.ended.extend(self.drafts_of_queue[queue].last());
        self.open[queue] = false;
    }

    fn finish(mut self) -> Vec<Batch> {
        let still_open = (0..MAX_QUEUES).filter(|&queue| self.open[queue]);
        let mut rest: Vec<usize> =
            still_open.filter_map(|queue| self.drafts_of_queue[queue].last().copied()).collect();
        rest.sort_unstable();
        self.ended.append(&mut rest);
        let mut index = vec![0; self.drafts.len()];
        for (at, draft) in self.ended.iter().enumerate() {
            index[*draft] = at;
        }
        let mut batches: Vec<(usize, Batch)> = Vec::with_capacity(self.drafts.len());
        for (draft, BatchDraft { queue, passes, waits, .. }) in self.drafts.into_iter().enumerate() {
            let mut waits: Vec<usize> = waits.into_iter().map(|wait| index[wait]).collect();
            waits.sort_unstable();
            batches.push((index[draft], Batch { queue, passes, waits }));
        }
        batches.sort_unstable_by_key(|(at, _)| *at);
        batches.into_iter().map(|(_, batch)| batch).collect()
    }
}

/// The resources to acquire, discard or leave in `COMMON` around each pass.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// The resources first used by each pass.
    pub(super) acquires: Grouped<ResourceId>,
    /// The resources last used by each pass, in the order of the batches.
    pub(super) discards: Grouped<ResourceId>,
    /// The subset of these that must be left in `COMMON`.
    pub(super) to_common: Grouped<ResourceId>,
}

/// First and last use of a resource, in the order of the batches.
#[derive(Clone, Copy)]
struct Life {
    first: usize,
    last: usize,
    /// The possible states after the last use.
    state: State,
}

impl Lists {
    pub(super) fn new<R: Resource>(
        graph: &Graph<R>,
        flow: &Flow,
        batches: &[Batch],
        model: StateModel,
    ) -> Self {
        let lifetimes = lifetimes(flow, batches);
        let (mut acquires, mut discards, mut to_common) = (Vec::new(), Vec::new(), Vec::new());
        for (index, lifetime) in lifetimes.iter().enumerate() {
            let Some(lifetime) = lifetime else { continue };
            let resource = ResourceId::new(index);
            acquires.push((lifetime.first, resource));
            discards.push((lifetime.last, resource));
            let is_texture = graph.resources.get(index).is_some_and(Resource::is_texture);
            if model == StateModel::Promotion && is_texture && !can_follow(flow, *lifetime) {
                to_common.push((lifetime.last, resource));
            }
        }
        let count = flow.queues.len();
        Self {
            acquires: Grouped::of_pairs(count, acquires),
            discards: Grouped::of_pairs(count, discards),
            to_common: Grouped::of_pairs(count, to_common),
        }
    }
}

fn lifetimes(flow: &Flow, batches: &[Batch]) -> Vec<Option<Life>> {
    let mut lifetimes: Vec<Option<Life>> = vec![None; flow.resources];
    let passes = batches.iter().flat_map(|batch| &batch.passes).map(|pass| pass.index());
    for pass in passes {
        for one in flow.uses.get(pass) {
            let lifetime = &mut lifetimes[one.resource.index()];
            let before = lifetime.map_or(State::COMMON, |lifetime| lifetime.state);
            let state = match () {
                // After a use on a copy queue, resources are in `COMMON`.
                () if flow.kinds[pass] == QueueKind::Copy => State::COMMON,
                () if writes(one.states | before) => one.states,
                () => one.states | before,
            };
            let first = lifetime.map_or(pass, |lifetime| lifetime.first);
            *lifetime = Some(Life { first, last: pass, state });
        }
    }
    lifetimes
}

/// Whether the acquiring queue can take a texture from its last state, on an API whose states belong to the device. Buffers are
/// in `COMMON` after each submission.
fn can_follow(flow: &Flow, lifetime: Life) -> bool {
    match flow.kinds[lifetime.first] {
        QueueKind::Copy => lifetime.state.is_empty(),
        kind => State::allowed_on(kind).contains(lifetime.state),
    }
}
