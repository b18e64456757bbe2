//! Defragmentation: moves resources, so that sparse blocks become empty and can be freed.
//!
//! # Algorithm
//! The pools of movable resources select the blocks that can be emptied and a target for each allocation in them
//! ([`Pool::compact`](tenure_heap::Pool::compact)). The GPU copies the contents of all resources that no recording uses, in one
//! submission; every later recording finds these resources in their new places. Resources in use wait for the next call. The
//! range that a resource leaves goes through the release queue, as if it had been dropped.
//!
//! While the copies are being submitted, queries for the location of one of the resources block: every submission that uses the
//! new place therefore comes after the copy. If the submission is refused, everything stays in its old place.

mod moving;
mod returning;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use tenure_heap::CompactionBudget;

use crate::config::CompactionConfig;
use crate::context::Context;
use crate::device::{Device, Properties, QueueId, QueueKind, QueueSerial, ResourceDesc};
use crate::memory::{MovableBacking, MovableId, PlannedMove};
use crate::services::Services;
use crate::time::Clock;
use crate::{Error, Name, Queue};

use moving::{Ends, Followers, Moving, Outcome, begin, record, used};

const NAME: &str = "compaction";

/// Frames after which the end of a frame retries a refused move.
const TRY_AGAIN: u64 = 64;

/// Result of a call of [`Gpu::compact`](crate::Gpu::compact).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionReport {
    /// Resources that have moved.
    pub moves: usize,
    /// Bytes that the GPU copies for these moves.
    pub bytes: u64,
    /// Resources that have a target, but are in use by recordings or uploads, or did not fit into the budget: the next call
    /// tries again.
    pub waiting: usize,
    /// Resources that this call could not move for lack of memory or descriptors, or because the submission was refused: a
    /// later call tries again.
    pub refused: usize,
    /// True when nothing is left to do until a resource is created or dropped.
    pub is_done: bool,
}

/// Cumulative compaction statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionStats {
    /// Moves of resources; a resource that moved twice counts twice.
    pub moves: u64,
    /// Bytes that the GPU copied for these moves.
    pub bytes: u64,
    /// Submissions with copies for these moves.
    pub submissions: u64,
}

/// A movable resource that has moved: see [`Gpu::take_moved`](crate::Gpu::take_moved).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedResource {
    /// The unique id: see [`Buffer::movable_id`](crate::Buffer::movable_id).
    pub id: MovableId,
    /// The name.
    pub name: Name,
    /// Number of moves since its creation.
    pub moves: u64,
}

/// Moves movable resources.
pub(crate) struct Compactor<D: Device> {
    /// Planned moves that are not made yet.
    planned: Mutex<Vec<PlannedMove<D>>>,
    /// Resources that have moved since the last call of `take_moved`.
    moved: Mutex<Vec<Weak<MovableBacking<D>>>>,
    /// First frame whose end retries moves.
    next_try: AtomicU64,
    /// First frame whose end retries bringing back spilled resources of more than `largest_return` bytes.
    next_return: AtomicU64,
    largest_return: AtomicU64,
    stats: Mutex<CompactionStats>,
    copy: QueueId,
    graphics: QueueId,
}

/// A move to be made now.
struct Due<D: Device> {
    movable: Arc<MovableBacking<D>>,
    planned: PlannedMove<D>,
    /// The queue that copies it.
    queue: QueueId,
}

/// The budget that is left for new moves. Waiting moves take at most half of it, so that a resource used for long by a
/// recording does not block the others.
fn left_beside<D: Device>(waiting: &[PlannedMove<D>], budget: CompactionBudget) -> CompactionBudget {
    let bytes: u64 = waiting.iter().map(|planned| planned.to.size).sum();
    CompactionBudget {
        bytes: budget.bytes - bytes.min(budget.bytes / 2),
        moves: budget.moves - waiting.len().min(budget.moves / 2),
        ..budget
    }
}

/// Takes out the moves to make now: the newest ones, and the first `waiting` ones that fit into the budget. Moves that must
/// wait again go to the end, for fairness.
fn take_due<D: Device>(
    planned: &mut Vec<PlannedMove<D>>,
    waiting: usize,
    budget: CompactionBudget,
) -> Vec<PlannedMove<D>> {
    let mut due = planned.split_off(waiting);
    let mut bytes: u64 = due.iter().map(|planned| planned.to.size).sum();
    let fits = |(count, next): &(usize, &PlannedMove<D>)| {
        let is_first = due.len() + count == 0;
        bytes += next.to.size;
        due.len() + count < budget.moves && (bytes <= budget.bytes || is_first)
    };
    let count = planned.iter().enumerate().take_while(fits).count();
    due.extend(planned.drain(..count));
    due
}

impl<D: Device> Compactor<D> {
    pub(crate) fn new(properties: &Properties) -> Self {
        let graphics = Queue::Graphics.id(properties);
        let copy = Queue::Copy.id(properties);
        let is_for_copies =
            properties.queues.get(copy.index()).is_some_and(|queue| queue.kind == QueueKind::Copy);
        let copy = if is_for_copies { copy } else { graphics };
        let (planned, moved, stats) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()), Mutex::default());
        let [next_try, next_return, largest_return] = [0; 3].map(AtomicU64::new);
        Self { planned, moved, next_try, next_return, largest_return, stats, copy, graphics }
    }

    /// Continues to empty blocks, within a budget, and brings spilled resources back, within the same budget.
    ///
    /// # Errors
    /// The errors of a submission; the resources stay in their old places then.
    pub(crate) fn run(
        &self,
        services: &Services<D>,
        budget: CompactionBudget,
    ) -> Result<CompactionReport, Error> {
        // Before the lock: its holder may be waiting for an external submission of this thread.
        Clock::check_outside()?;
        let planned = &mut *self.planned.lock();
        let mut report = self.run_with(services, budget, None, planned)?;
        let before = report.moves;
        let mut largest = u64::MAX;
        self.bring_back(services, budget, &mut largest, &mut report)?;
        // There may be more to move, into the space freed by these resources.
        report.is_done &= report.moves == before;
        Ok(report)
    }

    /// Ends a frame: continues compaction where worthwhile, unless another thread is compacting.
    pub(crate) fn end_frame(&self, services: &Services<D>) {
        let context = &*services.context;
        // Most programs have no movable resources, and the following code visits every pool.
        if !context.pools.had_movables() {
            return;
        }
        let config = &context.config.compaction;
        let is_over = context.clock.loss().is_some() || context.is_shut_down.load(Ordering::Acquire);
        let frame = context.current_frame();
        if !config.is_automatic {
            self.forget_gone(context);
        }
        if !config.is_automatic || is_over || frame < self.next_try.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut planned) = self.planned.try_lock() else { return };
        let is_refused = match self.run_with(services, config.budget(), Some(config), &mut planned) {
            Ok(report) => {
                // Resources that find no other memory do not block the rest.
                self.bring_back_at_end(services, config.budget(), frame);
                report.refused > 0
            }
            // A loss of the device is reported by the next call; a shortage is temporary.
            Err(error) => {
                event!(debug, %error, "nothing was moved at the end of this frame");
                true
            }
        };
        if is_refused {
            self.next_try.store(frame + TRY_AGAIN, Ordering::Relaxed);
        }
    }

    /// Frees the targets of resources that were dropped before their move.
    fn forget_gone(&self, context: &Context<D>) {
        let Some(mut planned) = self.planned.try_lock() else { return };
        for gone in planned.extract_if(.., |planned| planned.movable.strong_count() == 0) {
            context.pools.cancel_move(&gone);
        }
    }

    /// Ends a frame: brings back spilled resources, but does not retry refused ones in each frame.
    fn bring_back_at_end(&self, services: &Services<D>, budget: CompactionBudget, frame: u64) {
        let is_due = frame >= self.next_return.load(Ordering::Relaxed);
        let before = if is_due { u64::MAX } else { self.largest_return.load(Ordering::Relaxed) };
        let (mut largest, mut report) = (before, CompactionReport::default());
        let came_back = self.bring_back(services, budget, &mut largest, &mut report);
        // A refusal despite free memory does not depend on the size.
        if came_back.is_err() || (report.refused > 0 && largest == before) {
            largest = 0;
        }
        if largest < before {
            self.largest_return.store(largest, Ordering::Relaxed);
            self.next_return.store(frame + TRY_AGAIN, Ordering::Relaxed);
        }
    }

    /// Ends the manager: stops moving and frees all reserved targets.
    pub(crate) fn end(&self, context: &Context<D>) {
        // Fails if a destructor of the program ends the manager during a move.
        let Some(mut planned) = self.planned.try_lock() else { return };
        planned.drain(..).for_each(|planned| context.pools.cancel_move(&planned));
        context.pools.stop_compaction();
    }

    fn run_with(
        &self,
        services: &Services<D>,
        budget: CompactionBudget,
        only_where: Option<&CompactionConfig>,
        planned: &mut Vec<PlannedMove<D>>,
    ) -> Result<CompactionReport, Error> {
        let context = &*services.context;
        context.clock.check()?;
        // Resources with pending uploads do not move.
        services.flush_pending_uploads()?;
        let (waiting, left) = (planned.len(), left_beside(planned, budget));
        let is_done = context.pools.compact(context.device(), left, only_where, planned);
        let mut report = CompactionReport { is_done: is_done && planned.is_empty(), ..Default::default() };
        let all = self.sort(services, take_due(planned, waiting, budget));
        let mut moved = Ok(());
        for same in all.chunk_by(|one, other| one.queue == other.queue) {
            match moved {
                Ok(()) => moved = self.move_all(services, same, planned, &mut report),
                Err(_) => planned.extend(same.iter().map(|due| due.planned.clone())),
            }
        }
        report.waiting = planned.len();
        moved.map(|()| report)
    }

    /// Groups moves by the queue that copies them. Dropped resources are left out.
    fn sort(&self, services: &Services<D>, planned: Vec<PlannedMove<D>>) -> Vec<Due<D>> {
        let mut all = Vec::with_capacity(planned.len());
        for planned in planned {
            match planned.movable.upgrade() {
                Some(movable) => {
                    let queue = self.queue_of(services, &movable);
                    all.push(Due { movable, planned, queue });
                }
                None => services.context.pools.cancel_move(&planned),
            }
        }
        all.sort_by_key(|due| due.queue);
        all
    }

    /// The queue that copies a resource. A resource with views may be used without a declared state, so it stays with the queue
    /// that owns it, in its state.
    fn queue_of(&self, services: &Services<D>, movable: &MovableBacking<D>) -> QueueId {
        // Recordings of any queue read it without declaring it, so that it returns to the state for all of them at once.
        if movable.place().api_resource.states.read_only().is_some() {
            return self.graphics;
        }
        let ResourceDesc::Texture(info) = &movable.needs.desc else {
            return if services.descriptors.has_followers(movable) { self.graphics } else { self.copy };
        };
        let queues = &services.context.device().properties().queues;
        let is_compute =
            |queue: &QueueId| queues.get(queue.index()).is_some_and(|queue| queue.kind == QueueKind::Compute);
        // Other queues cannot copy every texture.
        let is_simple = info.samples == 1 && !info.format.is_depth();
        let owner = movable.place().api_resource.states.owner(0).filter(is_compute);
        owner.filter(|_| is_simple).unwrap_or(self.graphics)
    }

    /// Moves the resources that one queue copies; moves of resources in use are appended to `waiting`.
    fn move_all(
        &self,
        services: &Services<D>,
        all: &[Due<D>],
        waiting: &mut Vec<PlannedMove<D>>,
        report: &mut CompactionReport,
    ) -> Result<(), Error> {
        let context = &*services.context;
        // An external submission blocks all others, and may query the location of a moving resource.
        let Some(_no_external) = context.external_work.try_write() else {
            waiting.extend(all.iter().map(|due| due.planned.clone()));
            return Ok(());
        };
        let (mut moving, mut ends) = (Vec::new(), Ends::new());
        for Due { movable, planned, .. } in all {
            match begin(context, movable, planned) {
                Outcome::Moves(found) if ends.add(&found) => moving.push(*found),
                // Placed resources are always separate, so nothing was created for this one.
                Outcome::Moves(_) | Outcome::Waits => waiting.push(planned.clone()),
                Outcome::Stays => context.pools.stop_compaction(),
                Outcome::Refused => {
                    context.pools.stop_compaction();
                    report.refused += 1;
                }
                Outcome::Gone => {}
            }
        }
        match all.first() {
            Some(due) if !moving.is_empty() => self.finish_all(services, due.queue, moving, report),
            _ => Ok(()),
        }
    }

    /// Completes the moves of the locked resources; all of them, or none.
    fn finish_all(
        &self,
        services: &Services<D>,
        queue: QueueId,
        mut moving: Vec<Moving<'_, D>>,
        report: &mut CompactionReport,
    ) -> Result<(), Error> {
        let context = &*services.context;
        let followers = Followers::of(&services.descriptors, &moving);
        // Before the copy is submitted: a resource dropped right after the move then outlives the copy, too.
        let born = context.clock.stamp();
        let is_followed = followers.follow(services, &moving);
        let submitted = if is_followed { self.submit(services, queue, &moving) } else { Ok(None) };
        match &submitted {
            Ok(copied) if is_followed => {
                followers.finish();
                let bytes = moving.iter().map(|moved| moved.movable.needs.size).sum();
                self.note_moved(report, moving.len(), bytes, copied.is_some());
                self.list_moved(&mut moving);
                let left: Vec<_> =
                    moving.into_iter().map(|moved| moved.finish(context, *copied, born)).collect();
                left.into_iter().for_each(|left| left.release(context));
            }
            _ => {
                report.refused += moving.len();
                followers.cancel();
                let made: Vec<_> = moving.into_iter().map(Moving::undo).collect();
                for (planned, made) in made {
                    planned.iter().for_each(|planned| context.pools.keep_in_place(planned));
                    made.release_unused(context);
                }
            }
        }
        followers.settle();
        submitted.map(drop)
    }

    fn note_moved(&self, report: &mut CompactionReport, moves: usize, bytes: u64, is_submitted: bool) {
        report.moves += moves;
        report.bytes += bytes;
        let mut stats = self.stats.lock();
        let before = stats.moves;
        stats.moves += moves as u64;
        stats.bytes += bytes;
        stats.submissions += u64::from(is_submitted);
        // Logged when the count reaches a power of two: memory may be compacted in every frame.
        if before.checked_ilog2() != stats.moves.checked_ilog2() {
            let (all_moves, all_bytes) = (stats.moves, stats.bytes);
            event!(debug, moves, bytes, all_moves, all_bytes, "memory was compacted");
        }
    }

    /// Adds the moved resources to the list, unless they are in it.
    fn list_moved(&self, moving: &mut [Moving<'_, D>]) {
        let moved = &mut *self.moved.lock();
        for found in moving {
            if !std::mem::replace(&mut found.exchange.value_mut().is_listed, true) {
                // Dropped resources are removed before the vector grows.
                if moved.len() == moved.capacity() {
                    moved.retain(|moved| moved.strong_count() > 0);
                }
                moved.push(Arc::downgrade(found.movable));
            }
        }
    }

    /// The resources that have moved since the last call and still exist.
    pub(crate) fn take_moved(&self) -> Vec<MovedResource> {
        let moved = std::mem::take(&mut *self.moved.lock());
        let each = moved.iter().filter_map(Weak::upgrade).filter_map(|movable| {
            let moves = movable.current.change(|current| {
                current.is_listed = false;
                // Open recordings keep dropped resources.
                current.location.as_ref().map(|_| current.moves)
            })?;
            Some(MovedResource { id: movable.id, name: movable.name.clone(), moves })
        });
        each.collect()
    }

    pub(crate) fn stats(&self) -> CompactionStats {
        *self.stats.lock()
    }

    /// Submits copies of the contents of the moving resources, if any has contents. Each resource ends in its earlier state, if
    /// the queue can transition it to that state.
    fn submit(
        &self,
        services: &Services<D>,
        queue: QueueId,
        moving: &[Moving<'_, D>],
    ) -> Result<Option<QueueSerial>, Error> {
        let Services { lists, context, .. } = services;
        let copied = || moving.iter().filter(|moved| !moved.exchange.value().used_parts.is_empty());
        if copied().next().is_none() {
            return Ok(None);
        }
        let name = Name::from(NAME);
        let is_read_only = copied().any(|moved| moved.to.api_resource.states.read_only().is_some());
        // Another thread may have declared one as read-only since its queue was chosen.
        let queue = if is_read_only { self.graphics } else { queue };
        let mut open = lists.take_open(context, queue).map_err(|source| context.refused(&name, source))?;
        open.is_move = true;
        if is_read_only {
            open.change_read_only(true);
        }
        if let Err(source) = record(context, &mut open, copied) {
            lists.discard_open(context, queue, open);
            return Err(Error::State { name, source });
        }
        let submitted = lists.submit_open(context, queue, open, &used(context, copied()));
        submitted.map(Some).map_err(|error| error.named(&name))
    }
}
