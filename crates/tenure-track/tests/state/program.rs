//! The work of the queues, in the order of submission, for the oracles.

use std::ops::Range;
use std::sync::Arc;

use tenure_track::device::{QueueProperties, QueueTransfer};
use tenure_track::device::{State, Subresource};
use tenure_track::state::{StateBarrier, StateCell};

/// One thing a queue does.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A barrier that the tracker or the resolver asked for.
    Transition {
        resource: usize,
        subresource: Subresource,
        before: State,
        after: State,
        transfer: Option<QueueTransfer>,
    },
    /// A transition that discards the contents on the way.
    Initialize { resource: usize, subresource: Subresource, before: State, discarded_in: State, after: State },
    /// An unordered barrier that one of them asked for.
    Unordered { resource: usize },
    /// The resource takes over bytes.
    Aliasing { resource: usize, from: State, to: State },
    /// A command's use of one subresource.
    Use { resource: usize, subresource: u32, state: State, ordered: bool },
}

/// One submission.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) queue: usize,
    pub(crate) serial: u64,
    /// Pairs of queue and serial.
    pub(crate) waits: Vec<(usize, u64)>,
    pub(crate) events: Vec<Event>,
}

/// A world and everything submitted to it.
pub(crate) struct Program {
    pub(crate) queues: Vec<QueueProperties>,
    pub(crate) resources: Vec<Arc<StateCell>>,
    /// The bytes that each resource shares with others; none for most.
    pub(crate) bytes: Vec<Range<usize>>,
    pub(crate) batches: Vec<Batch>,
}

/// Why an oracle rejects a program.
pub(crate) type Verdict = Result<(), String>;

impl Program {
    /// The number of barriers.
    pub(crate) fn barriers(&self) -> usize {
        let events = self.batches.iter().flat_map(|batch| &batch.events);
        events.filter(|event| !matches!(event, Event::Use { .. })).count()
    }

    /// The program with barrier number `skipped` left out.
    pub(crate) fn events(&self, skipped: Option<usize>) -> impl Iterator<Item = (&Batch, Vec<&Event>)> {
        let mut next = 0;
        self.batches.iter().map(move |batch| {
            let kept = batch.events.iter().filter(|event| {
                if matches!(event, Event::Use { .. }) {
                    return true;
                }
                next += 1;
                skipped != Some(next - 1)
            });
            (batch, kept.collect())
        })
    }

    /// The subresources that a barrier names.
    pub(crate) fn range(&self, resource: usize, subresource: Subresource) -> std::ops::Range<usize> {
        match subresource {
            Subresource::All => 0..self.resources[resource].subresources() as usize,
            Subresource::One(index) => index as usize..index as usize + 1,
        }
    }

    /// Takes a barrier down.
    pub(crate) fn event<H: AsRef<StateCell>>(&self, barrier: &StateBarrier<H>) -> Event {
        let id = barrier.resource().as_ref().id();
        let resource = self.resources.iter().position(|cell| cell.id() == id).unwrap();
        match *barrier {
            StateBarrier::Transition { subresource, before, after, transfer, .. } => {
                Event::Transition { resource, subresource, before, after, transfer }
            }
            StateBarrier::Initialize { subresource, before, discarded_in, after, .. } => {
                Event::Initialize { resource, subresource, before, discarded_in, after }
            }
            StateBarrier::Unordered { .. } => Event::Unordered { resource },
            StateBarrier::Aliasing { from, to, .. } => Event::Aliasing { resource, from, to },
        }
    }
}

/// Who has which of the shared bytes.
#[derive(Clone)]
pub(crate) struct Owners([Option<usize>; 8]);

impl Owners {
    pub(crate) const fn new() -> Self {
        Self([None; 8])
    }

    /// Gives the bytes to a resource; the others that had some, once each.
    pub(crate) fn take(&mut self, resource: usize, bytes: Range<usize>) -> Vec<usize> {
        let mut previous_owners: Vec<usize> = self.0[bytes.clone()].iter().flatten().copied().collect();
        previous_owners.sort_unstable();
        previous_owners.dedup();
        previous_owners.retain(|previous_owner| *previous_owner != resource);
        self.0[bytes].fill(Some(resource));
        previous_owners
    }

    /// A user of bytes owns them, or finds them free.
    pub(crate) fn check(&mut self, resource: usize, bytes: Range<usize>) -> Verdict {
        match self.take(resource, bytes).as_slice() {
            [] => Ok(()),
            previous_owners => Err(format!("{previous_owners:?} have bytes of {resource}")),
        }
    }
}

/// Per queue, the last submission that is known to be complete before the current one.
#[derive(Clone, Default)]
pub(crate) struct Clocks {
    /// The knowledge of each submission so far.
    known: Vec<(usize, u64, [u64; 8])>,
}

impl Clocks {
    /// The complete serials at the beginning of `batch`: those known to its queue, and those it waits for.
    pub(crate) fn begin(&mut self, batch: &Batch) -> [u64; 8] {
        let mut mine = [0; 8];
        let last = self.known.iter().rev().find(|(queue, ..)| *queue == batch.queue);
        let waited = batch.waits.iter().map(|wait| {
            self.known.iter().rev().find(|(queue, serial, _)| (*queue, *serial) == *wait).unwrap()
        });
        for (queue, serial, known) in waited.chain(last) {
            for (mine, known) in mine.iter_mut().zip(known) {
                *mine = (*mine).max(*known);
            }
            mine[*queue] = mine[*queue].max(*serial);
        }
        self.known.push((batch.queue, batch.serial, mine));
        mine
    }
}

/// True for the states in which the GPU may write.
pub(crate) fn writes(state: State) -> bool {
    state.is_write() || state.contains(State::ACCELERATION_STRUCTURE)
}
