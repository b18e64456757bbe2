//! Which passes go into one recording, and what recordings wait for.
//!
//! A queue's passes stay in one recording until something must happen between two of them: another
//! queue waits for the first, or the second waits for another queue.

use super::PassId;
use super::grouped::Grouped;
use super::order::join;
use crate::device::{MAX_QUEUES, QueueId};

/// Passes that follow each other on one queue, for one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The queue.
    pub queue: QueueId,
    /// The passes, in the order in which they run.
    pub passes: Vec<PassId>,
    /// The earlier batches of other queues that it must wait for, by index; none that are waited for
    /// anyway.
    pub waits: Vec<usize>,
}

/// The batches in an order in which they can be submitted: that in which they end.
pub(super) fn batches(queues: &[QueueId], dependencies: &Grouped<usize>) -> Vec<Batch> {
    let mut cutter = Cutter::default();
    for (pass, queue) in queues.iter().enumerate() {
        cutter.add(pass, *queue, dependencies.get(pass));
    }
    cutter.finish()
}

/// Per queue, a number of its first batches.
type Known = [usize; MAX_QUEUES];

/// A batch in the making, in the order in which they begin.
struct Draft {
    queue: QueueId,
    /// How many batches of its queue come before.
    position: usize,
    passes: Vec<PassId>,
    /// Drafts.
    waits: Vec<usize>,
    /// What has ended when it begins.
    before: Known,
}

#[derive(Default)]
struct Cutter {
    drafts: Vec<Draft>,
    /// The drafts of each queue.
    lanes: [Vec<usize>; MAX_QUEUES],
    /// Whether the last draft of each queue still takes passes.
    open: [bool; MAX_QUEUES],
    /// The draft of each pass.
    of_pass: Vec<usize>,
    /// The drafts that have ended, in that order.
    ended: Vec<usize>,
}

impl Cutter {
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
                if waited.position + 1 == self.lanes[other].len() && self.open[other] {
                    self.end(other);
                }
            }
            self.begin(queue, missing);
        }
        if let Some(&draft) = self.lanes[own].last() {
            self.of_pass.push(draft);
            self.drafts[draft].passes.push(PassId::new(pass));
        }
    }

    /// What has ended when the next pass of a queue begins, if that waits for nothing more.
    fn known(&self, queue: usize) -> Known {
        let Some(&last) = self.lanes[queue].last() else { return [0; MAX_QUEUES] };
        let last = &self.drafts[last];
        let mut known = last.before;
        if !self.open[queue] {
            known[queue] = last.position + 1;
        }
        known
    }

    /// The drafts that the next pass of a queue must wait for, which nothing else makes it wait for.
    fn missing(&self, queue: usize, dependencies: &[usize]) -> Vec<usize> {
        let known = self.known(queue);
        let mut newest: [Option<usize>; MAX_QUEUES] = [None; MAX_QUEUES];
        for draft in dependencies.iter().map(|&pass| self.of_pass[pass]) {
            let Draft { queue: other, position, .. } = self.drafts[draft];
            let other = other.index();
            if other != queue && position >= known[other] {
                newest[other] = newest[other].max(Some(draft));
            }
        }
        let newest: Vec<usize> = newest.into_iter().flatten().collect();
        let is_implied = |draft: &usize| {
            let Draft { queue, position, .. } = self.drafts[*draft];
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
        let position = self.lanes[own].len();
        self.lanes[own].push(self.drafts.len());
        self.drafts.push(Draft { queue, position, passes: Vec::new(), waits, before });
        self.open[own] = true;
    }

    fn end(&mut self, queue: usize) {
        self.ended.extend(self.lanes[queue].last());
        self.open[queue] = false;
    }

    fn finish(mut self) -> Vec<Batch> {
        let still_open = (0..MAX_QUEUES).filter(|&queue| self.open[queue]);
        let mut rest: Vec<usize> = still_open.filter_map(|queue| self.lanes[queue].last().copied()).collect();
        rest.sort_unstable();
        self.ended.append(&mut rest);
        let mut index = vec![0; self.drafts.len()];
        for (at, draft) in self.ended.iter().enumerate() {
            index[*draft] = at;
        }
        let mut batches: Vec<(usize, Batch)> = Vec::with_capacity(self.drafts.len());
        for (draft, Draft { queue, passes, waits, .. }) in self.drafts.into_iter().enumerate() {
            let mut waits: Vec<usize> = waits.into_iter().map(|wait| index[wait]).collect();
            waits.sort_unstable();
            batches.push((index[draft], Batch { queue, passes, waits }));
        }
        batches.sort_unstable_by_key(|(at, _)| *at);
        batches.into_iter().map(|(_, batch)| batch).collect()
    }
}
