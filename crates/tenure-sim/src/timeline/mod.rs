//! Queues and simulated time.

mod queues;
mod residency;
mod rng;

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::SyncPoint;
use tenure_core::device::{CallRule, DeviceError, Properties, QueueId, QueueKind, QueueSerial, check};

pub(crate) use self::queues::Queues;
use self::rng::Rng;
use crate::clock::Clock;
use crate::command::{Recorded, TileChange};
use crate::config::Lag;
use crate::execution::Execution;
use crate::journal::Step;
use crate::paging::BlockUse;
use crate::points::{ExternalPoint, Points};
use crate::shared::Shared;
use crate::states::ExecutionPoint;

/// The work of a submission.
pub(crate) enum Job {
    Lists(SmallVec<[Recorded; 2]>),
    Tiles(Vec<TileChange>),
}

/// A checked part of a submission.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) waits: SmallVec<[QueueSerial; 4]>,
    pub(crate) external_waits: Points,
    pub(crate) external_signals: Points,
    /// The blocks that it uses, where paging is simulated.
    pub(crate) uses: Vec<BlockUse>,
    /// The paging point that it waits for.
    pub(crate) paging: u64,
    /// Whether the submission is complete with it: no further part follows.
    pub(crate) is_last: bool,
}

impl Work {
    pub(crate) fn new(job: Job, waits: SmallVec<[QueueSerial; 4]>) -> Self {
        let (external_waits, external_signals) = (Points::new(), Points::new());
        Self { job, waits, external_waits, external_signals, uses: Vec::new(), paging: 0, is_last: true }
    }
}

struct Submission {
    serial: u64,
    work: Work,
    due: u64,
    /// The submissions that the CPU had seen complete when it submitted.
    observed: Clock,
}

struct Queue {
    kind: QueueKind,
    family: u32,
    pending: VecDeque<Submission>,
    submitted: u64,
    completed: u64,
    /// The submissions that came before the end of the queue's newest completed submission.
    clock: Clock,
    /// By serial, the `clock` at the end of each earlier submission that another queue may still wait for.
    clocks: VecDeque<(u64, Clock)>,
    /// The newest of its own submissions that other queues had waited for when it waited for them: the writes up
    /// to it are visible to it without a barrier.
    heard_of: u64,
    /// The newest paging point that it has waited for.
    paged: u64,
}

/// Ticks until blocks are resident after the call: more than from one submission to the next.
const PAGING_TICKS: u64 = 2;

/// All queues, under one lock, because their progress is interdependent.
pub(crate) struct Timeline {
    now: u64,
    lag: Lag,
    rng: Rng,
    /// The queues of the device; on Vulkan followed by the presentation engine.
    queues: Vec<Queue>,
    /// The paging points that are not reached, with their ticks.
    paging: VecDeque<(u64, u64)>,
    /// The newest paging point that is reached.
    paging_reached: u64,
}

impl Timeline {
    pub(crate) fn new(properties: &Properties, lag: Lag, seed: u64) -> Self {
        let queue = |kind, family| Queue {
            kind,
            family,
            pending: VecDeque::new(),
            submitted: 0,
            completed: 0,
            clock: Clock::default(),
            clocks: VecDeque::new(),
            heard_of: 0,
            paged: 0,
        };
        let family = properties.queues.first().map_or(0, |first| first.family);
        let of_device = properties.queues.iter().map(|each| queue(each.kind, each.family));
        let queues = of_device.chain([queue(QueueKind::Graphics, family)]).collect();
        Self { now: 0, lag, rng: Rng::new(seed), queues, paging: VecDeque::new(), paging_reached: 0 }
    }

    /// Drops the submissions in flight: the device is lost and they never complete.
    pub(crate) fn abandon(&mut self) {
        for queue in &mut self.queues {
            queue.pending.clear();
        }
    }

    /// The number of queues of the device.
    fn device_queues(&self) -> usize {
        self.queues.len() - 1
    }

    /// The serial of the next work of the presentation engine.
    pub(crate) fn next_present(&self) -> QueueSerial {
        let queue = self.device_queues();
        QueueSerial { queue: queue_id(queue), serial: self.queues[queue].submitted + 1 }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The newest paging point that is reached.
    pub(crate) fn paging_reached(&self) -> u64 {
        self.paging_reached
    }

    /// Begins to make blocks resident. Their point is reached after some ticks, or immediately with [`Lag::None`].
    pub(crate) fn page_in(&mut self, point: u64) {
        let is_new = self.paging.back().is_none_or(|(_, last)| *last < point) && point > self.paging_reached;
        if is_new {
            let lag = if self.lag == Lag::None { 0 } else { PAGING_TICKS };
            self.paging.push_back((self.now.saturating_add(lag), point));
        }
        self.reach_paging_points();
    }

    fn reach_paging_points(&mut self) {
        while let Some((due, point)) = self.paging.front().copied()
            && due <= self.now
        {
            self.paging_reached = point;
            self.paging.pop_front();
        }
    }

    /// The tick at which a paging point is reached; 0 if it is reached.
    fn paging_due(&self, point: u64) -> u64 {
        let awaited = self.paging.iter().find(|(_, later)| *later >= point);
        awaited.filter(|_| point > self.paging_reached).map_or(0, |(due, _)| *due)
    }

    /// Checks a submission without changing anything. The result holds while the lock is held: the device cannot be
    /// lost meanwhile.
    pub(crate) fn check(
        &self,
        shared: &Shared,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        shared.alive()?;
        shared.queue(queue)?;
        check::serial(signal, self.queues[queue.index()].submitted)?;
        for wait in waits {
            shared.queue(wait.queue)?;
            if wait.queue == queue && wait.serial >= signal {
                return Err(DeviceError::invalid_call(CallRule::WaitsForItself, wait.serial, signal));
            }
        }
        Ok(())
    }

    /// Takes a checked submission, which never happens if the device was lost since.
    pub(crate) fn push(&mut self, shared: &Shared, queue: QueueId, work: Work) {
        if shared.alive().is_err() {
            return;
        }
        self.now = self.now.saturating_add(1);
        let lag = match self.lag {
            Lag::None => 0,
            Lag::Submissions(ticks) => ticks,
            Lag::Random { max } => self.rng.up_to(max),
            Lag::Manual => u64::MAX,
        };
        // The presentation engine only waits.
        let is_present = queue.index() == self.device_queues();
        let lag = if is_present { 0 } else { lag.saturating_add(shared.faults.fence_delay()) };
        let due = self.now.saturating_add(lag);
        let observed = shared.observed.load();
        let state = &mut self.queues[queue.index()];
        let serial = state.submitted + 1;
        state.submitted += u64::from(work.is_last);
        state.pending.push_back(Submission { serial, work, due, observed });
        self.run_due(shared);
    }

    /// Lets one tick pass, and returns the newest completed serial of the queue.
    pub(crate) fn poll(&mut self, shared: &Shared, queue: QueueId) -> Option<u64> {
        self.now = self.now.saturating_add(1);
        self.run_due(shared);
        let completed = self.queues.get(queue.index())?.completed;
        self.observe(shared, queue, completed);
        Some(completed)
    }

    /// The newest completed serial, without letting time pass or the CPU see it.
    pub(crate) fn completed(&self, queue: QueueId) -> Option<u64> {
        self.queues.get(queue.index()).map(|queue| queue.completed)
    }

    /// Notes that the CPU has seen this serial complete, and thereby everything that it waited for.
    pub(crate) fn observe(&mut self, shared: &Shared, queue: QueueId, serial: u64) {
        if let Some(clock) = self.clock_of(queue, serial) {
            shared.observed.join(&clock);
        }
        shared.observed.raise(queue, serial);
        self.forget_clocks(shared, queue);
    }

    /// Lets time pass until `target` is complete. False if that needs a later submission, or a call of the test with
    /// [`Lag::Manual`].
    pub(crate) fn advance_to(&mut self, shared: &Shared, target: QueueSerial) -> bool {
        loop {
            if self.completed(target.queue).is_some_and(|completed| completed >= target.serial) {
                return true;
            }
            let Some((due, queue)) = self.next_ready() else { return false };
            if due == u64::MAX {
                return false;
            }
            self.now = self.now.max(due);
            self.run_head(shared, queue);
        }
    }

    /// Completes the oldest submission of a queue, if it has no pending wait.
    pub(crate) fn complete_one(&mut self, shared: &Shared, queue: QueueId) -> Option<u64> {
        if !self.is_ready(queue.index()) {
            return None;
        }
        self.run_head(shared, queue.index());
        self.completed(queue)
    }

    /// Completes all submissions that can complete; true if none is left.
    pub(crate) fn run_until_idle(&mut self, shared: &Shared) -> bool {
        while let Some((_, queue)) = self.next_ready() {
            self.run_head(shared, queue);
        }
        for index in 0..self.queues.len() {
            self.observe(shared, queue_id(index), self.queues[index].completed);
        }
        self.queues.iter().all(|queue| queue.pending.is_empty())
    }

    pub(crate) fn run_due(&mut self, shared: &Shared) {
        while let Some((due, queue)) = self.next_ready() {
            if due > self.now {
                return;
            }
            self.run_head(shared, queue);
        }
    }

    fn is_ready(&self, index: usize) -> bool {
        let head = self.queues.get(index).and_then(|queue| queue.pending.front());
        head.is_some_and(|head| {
            let Work { waits, external_waits, .. } = &head.work;
            waits.iter().all(|wait| self.queues[wait.queue.index()].completed >= wait.serial)
                && external_waits.iter().all(|point| point.state.is_reached(point.value))
        })
    }

    /// The queue whose oldest submission is due first among the submissions with no pending wait; on a tie the
    /// first queue. This order makes runs repeatable.
    fn next_ready(&self) -> Option<(u64, usize)> {
        (0..self.queues.len())
            .filter(|&index| self.is_ready(index))
            .filter_map(|index| {
                let head = self.queues[index].pending.front()?;
                Some((head.due.max(self.paging_due(head.work.paging)), index))
            })
            .min()
    }

    fn run_head(&mut self, shared: &Shared, index: usize) {
        let id = queue_id(index);
        let Some(submission) = self.queues[index].pending.pop_front() else { return };
        let mut clock = self.queues[index].clock;
        let mut heard_of = self.queues[index].heard_of;
        clock.join(&submission.observed);
        let Work { job, waits, external_waits, external_signals, uses, paging, is_last } = submission.work;
        self.reach_paging_points();
        let paged = waits.iter().map(|wait| self.queues[wait.queue.index()].paged).fold(paging, u64::max);
        let paged = paged.max(self.queues[index].paged);
        self.queues[index].paged = paged;
        for wait in &waits {
            // Without a clock, the CPU had seen that submission complete before this one was submitted.
            let known = self.clock_of(wait.queue, wait.serial).unwrap_or(submission.observed);
            clock.join(&known);
            if wait.queue != id {
                heard_of = heard_of.max(known.get(id));
            }
        }
        for point in &external_waits {
            let known = point.state.clock_at(point.value);
            clock.join(&known);
            heard_of = heard_of.max(known.get(id));
        }
        clock.raise(id, submission.serial);
        let queue = &self.queues[index];
        let at = QueueSerial { queue: id, serial: submission.serial };
        let point = ExecutionPoint {
            d3d12: shared.is_d3d12(),
            at,
            kind: queue.kind,
            family: queue.family,
            heard_of,
            observed: submission.observed.get(id),
        };
        let mut execution = Execution::new(shared, point, clock, self.floor(shared, id, &clock));
        shared.journal.note(|| Step::Submission {
            at,
            waits: waits.to_vec(),
            observed: (0..self.device_queues())
                .map(|index| submission.observed.get(queue_id(index)))
                .collect(),
        });
        match job {
            Job::Lists(lists) => lists.iter().for_each(|list| execution.list(list)),
            Job::Tiles(changes) => changes.iter().for_each(|change| execution.tiles(change)),
        }
        execution.finish();
        if index < self.device_queues() {
            shared.note_ran(at, &uses, paged);
        }
        if shared.alive().is_err() {
            self.abandon();
            return;
        }
        let queue = &mut self.queues[index];
        queue.clock = clock;
        queue.heard_of = heard_of;
        if is_last {
            queue.completed = submission.serial;
            queue.clocks.push_back((submission.serial, clock));
        }
        for point in &external_signals {
            shared.check_shared(&point.state, point.value, "submit");
            point.state.reach(point.value, clock);
        }
    }

    /// The unreached points that the oldest submission of each queue waits for.
    pub(crate) fn unreached(&self) -> Vec<(QueueSerial, ExternalPoint)> {
        let mut unreached = Vec::new();
        for (index, queue) in self.queues.iter().enumerate() {
            let Some(head) = queue.pending.front() else { continue };
            let at = QueueSerial { queue: queue_id(index), serial: head.serial };
            let missing = |point: &&ExternalPoint| !point.state.is_reached(point.value);
            unreached
                .extend(head.work.external_waits.iter().filter(missing).map(|point| (at, point.clone())));
        }
        unreached
    }

    /// A point that must be reached before `until` is complete, and that no submission signals, with the
    /// submission that waits for it.
    pub(crate) fn unpromised(&self, until: &SyncPoint) -> Option<(QueueSerial, ExternalPoint)> {
        let mut seen: Vec<u64> = self.queues.iter().map(|queue| queue.completed).collect();
        let mut open: Vec<QueueSerial> = until.iter().collect();
        while let Some(QueueSerial { queue: id, serial: last }) = open.pop() {
            let first = seen[id.index()];
            seen[id.index()] = last.max(first);
            let is_new = |each: &&Submission| (first + 1..=last).contains(&each.serial);
            for Submission { serial, work, .. } in self.queues[id.index()].pending.iter().filter(is_new) {
                open.extend(&work.waits);
                for point in work.external_waits.iter().filter(|point| !point.state.is_reached(point.value)) {
                    if !point.state.is_promised(point.value) {
                        return Some((QueueSerial { queue: id, serial: *serial }, point.clone()));
                    }
                    open.extend(self.signal_of(point));
                }
            }
        }
        None
    }

    /// The submission that will reach a point.
    fn signal_of(&self, point: &ExternalPoint) -> Option<QueueSerial> {
        let signals = |work: &Work| {
            work.external_signals
                .iter()
                .any(|signal| Arc::ptr_eq(&signal.state, &point.state) && signal.value >= point.value)
        };
        self.queues.iter().enumerate().find_map(|(index, queue)| {
            let found = queue.pending.iter().find(|each| signals(&each.work))?;
            Some(QueueSerial { queue: queue_id(index), serial: found.serial })
        })
    }

    /// The submissions that all pending and later work is ordered after.
    fn floor(&self, shared: &Shared, running: QueueId, clock: &Clock) -> Clock {
        let mut floor = shared.observed.load();
        floor.meet(clock, running);
        for (index, queue) in self.queues.iter().enumerate() {
            if let Some(head) = queue.pending.front() {
                let mut known = queue.clock;
                known.join(&head.observed);
                floor.meet(&known, queue_id(index));
            }
        }
        floor
    }

    fn clock_of(&self, queue: QueueId, serial: u64) -> Option<Clock> {
        let clocks = &self.queues.get(queue.index())?.clocks;
        let index = clocks.binary_search_by_key(&serial, |(serial, _)| *serial).ok()?;
        Some(clocks[index].1)
    }

    /// Removes the clocks of submissions that the CPU has seen complete and that no pending submission waits for. A
    /// submission that waits for one of them later needs no clock: the CPU's knowledge includes it.
    fn forget_clocks(&mut self, shared: &Shared, queue: QueueId) {
        const KEPT: usize = 64;
        let Some(state) = self.queues.get(queue.index()) else { return };
        if state.clocks.len() <= KEPT {
            return;
        }
        let waits =
            self.queues.iter().flat_map(|other| &other.pending).flat_map(|pending| &pending.work.waits);
        let waited = waits.filter(|wait| wait.queue == queue).map(|wait| wait.serial).min();
        let keep = waited.unwrap_or(u64::MAX).min(shared.observed.load().get(queue).saturating_add(1));
        let state = &mut self.queues[queue.index()];
        while state.clocks.front().is_some_and(|(serial, _)| *serial < keep) {
            state.clocks.pop_front();
        }
    }
}

fn queue_id(index: usize) -> QueueId {
    QueueId(u8::try_from(index).unwrap_or(u8::MAX))
}
