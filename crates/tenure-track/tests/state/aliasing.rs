//! Random recordings of resources that share bytes, one after the other on random queues, must
//! satisfy the oracles with all barriers and fail with any one of them left out.

use std::sync::Arc;

use tenure_track::device::QueueSerial;
use tenure_track::device::{QueueId, State, Subresource};
use tenure_track::state::{Fixups, Recorded, StateCell, Tracker, resolve};

use super::program::{Event, Owners, Program};
use super::property::{Rules, begin, explain, fold, judge, queues, resource, wanted};
use super::random::Random;

type Handle = Arc<StateCell>;

/// The number of bytes to share.
const BYTES: usize = 4;

/// The counts of rarer events.
#[derive(Debug, Default)]
struct Seen {
    activations: usize,
    again: usize,
    unused: usize,
    crossings: usize,
}

struct World {
    rules: Rules,
    /// Trackers know their queue and all former users, and activated resources are used: no barrier is wider
    /// than necessary.
    is_exact: bool,
    program: Program,
    owners: Owners,
    trackers: Vec<Tracker<Handle>>,
    serials: [u64; 8],
    /// The queue that each resource was activated on last.
    last_queue: Vec<Option<usize>>,
    seen: Seen,
}

/// The use of a resource by one command.
type Uses = Vec<(usize, u32, State, bool)>;

impl World {
    fn new(rules: Rules, random: &mut Random) -> Self {
        let queues = queues(rules, random);
        let resources: Vec<Handle> = (0..3 + random.below(4)).map(|_| resource(rules, random)).collect();
        let mut bytes: Vec<_> = std::iter::once(0..0).collect();
        for _ in 1..resources.len() {
            let start = random.below(BYTES);
            bytes.push(start..start + 1 + random.below(BYTES - start));
        }
        let is_exact = random.percent(80);
        let trackers = queues.iter().zip(0..).map(|(queue, id)| {
            let tracker = Tracker::new(rules.model(), queue.kind);
            if is_exact { tracker.on(QueueId(id)) } else { tracker }
        });
        let trackers = trackers.collect();
        let last_queue = vec![None; resources.len()];
        let program = Program { queues, resources, bytes, batches: Vec::new() };
        let (owners, serials, seen) = (Owners::new(), [0; 8], Seen::default());
        Self { rules, is_exact, program, owners, trackers, serials, last_queue, seen }
    }

    /// Makes sure that a resource has its bytes; false when the queue cannot give it any.
    fn acquire(
        &mut self,
        index: usize,
        queue: usize,
        activated: &mut Vec<usize>,
        random: &mut Random,
    ) -> bool {
        let (bytes, cell) = (self.program.bytes[index].clone(), self.program.resources[index].clone());
        let kind = self.program.queues[queue].kind;
        let may = cell.may_activate_on(kind, self.rules.model()) || activated.contains(&index);
        let mut trial = self.owners.clone();
        let previous_owners = trial.take(index, bytes);
        if previous_owners.is_empty() {
            return true;
        }
        if !may {
            return false;
        }
        self.owners = trial;
        let resources = &self.program.resources;
        let previous_owners: Vec<Handle> =
            previous_owners.iter().map(|index| resources[*index].clone()).collect();
        let others = if !self.is_exact && random.percent(10) { State::all() } else { State::COMMON };
        self.trackers[queue].activate(&cell, &previous_owners, others);
        self.seen.activations += 1;
        self.seen.again += usize::from(activated.contains(&index));
        self.seen.crossings += usize::from(self.last_queue[index].is_some_and(|last| last != queue));
        self.last_queue[index] = Some(queue);
        activated.push(index);
        true
    }

    fn require(&mut self, index: usize, queue: usize, uses: &mut Uses, random: &mut Random) {
        let (kind, cell) = (self.program.queues[queue].kind, self.program.resources[index].clone());
        let count = cell.subresources();
        for _ in 0..1 + random.below(2) {
            let Some(state) = wanted(&cell, self.rules, kind, random) else { return };
            let part = u32::try_from(random.below(count as usize)).unwrap();
            let subresource = if random.percent(60) { Subresource::All } else { Subresource::One(part) };
            let ordered = !random.percent(20);
            match ordered {
                true => self.trackers[queue].require(&cell, subresource, state).unwrap(),
                false => self.trackers[queue].require_overlapping(&cell, subresource, state).unwrap(),
            }
            for part in self.program.range(index, subresource) {
                let part = u32::try_from(part).unwrap();
                match uses.iter_mut().find(|(r, i, ..)| (*r, *i) == (index, part)) {
                    Some(last) => {
                        last.2 = fold(self.rules, cell.kind(), last.2, state);
                        last.3 |= ordered;
                    }
                    None => uses.push((index, part, state, ordered)),
                }
            }
        }
    }

    fn record(&mut self, queue: usize, random: &mut Random) -> (Recorded<Handle>, Vec<Event>) {
        let (mut events, mut activated) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(5) {
            let (mut uses, mut taken) = (Uses::new(), Vec::new());
            for _ in 0..1 + random.below(2) {
                let index = random.below(self.program.resources.len());
                let bytes = self.program.bytes[index].clone();
                // One command uses no byte as two resources.
                if bytes.clone().any(|byte| taken.contains(&byte)) {
                    continue;
                }
                taken.extend(bytes);
                if !self.acquire(index, queue, &mut activated, random) {
                    continue;
                }
                if self.is_exact || random.percent(80) {
                    self.require(index, queue, &mut uses, random);
                    if uses.iter().any(|used| used.0 == index) {
                        self.owners.take(index, self.program.bytes[index].clone());
                    }
                } else {
                    self.seen.unused += 1;
                }
            }
            let program = &self.program;
            events.extend(self.trackers[queue].flush().map(|barrier| program.event(&barrier)));
            events.extend(uses.into_iter().map(|(resource, subresource, state, ordered)| Event::Use {
                resource,
                subresource,
                state,
                ordered,
            }));
        }
        (self.trackers[queue].close().unwrap(), events)
    }

    fn submit(&mut self, queue: usize, recorded: &Recorded<Handle>, events: Vec<Event>) {
        let mut batch = begin(queue, &mut self.serials);
        let id = QueueId(u8::try_from(queue).unwrap());
        let mut fixups = Fixups::new();
        let submission = QueueSerial { queue: id, serial: batch.serial };
        resolve(recorded, submission, &self.program.queues, &mut fixups).unwrap();
        for other in &fixups.elsewhere {
            let mut elsewhere = begin(other.queue.index(), &mut self.serials);
            elsewhere.waits = other.waits.iter().map(|wait| (wait.queue.index(), wait.serial)).collect();
            elsewhere.events = other.barriers.iter().map(|barrier| self.program.event(barrier)).collect();
            batch.waits.push((elsewhere.queue, elsewhere.serial));
            self.program.batches.push(elsewhere);
        }
        batch.waits.extend(fixups.waits.iter().map(|wait| (wait.queue.index(), wait.serial)));
        batch.events.extend(fixups.here.iter().map(|barrier| self.program.event(barrier)));
        batch.events.extend(events);
        self.program.batches.push(batch);
    }
}

/// True for an aliasing barrier whose resource is not used before others have its bytes.
fn is_in_vain(program: &Program, skipped: usize) -> bool {
    let mut barriers = 0;
    let events = program.batches.iter().flat_map(|batch| &batch.events);
    let mut rest = events.skip_while(|event| {
        let is_before = matches!(event, Event::Use { .. }) || barriers < skipped;
        barriers += usize::from(!matches!(event, Event::Use { .. }));
        is_before
    });
    let Some(Event::Aliasing { resource, .. }) = rest.next() else { return false };
    for event in rest {
        match event {
            Event::Use { resource: used, .. }
            | Event::Transition { resource: used, .. }
            | Event::Initialize { resource: used, .. }
                if used == resource =>
            {
                return false;
            }
            Event::Aliasing { resource: taker, .. } => {
                let (mine, theirs) = (&program.bytes[*resource], &program.bytes[*taker]);
                if mine.start < theirs.end && theirs.start < mine.end {
                    return true;
                }
            }
            _ => {}
        }
    }
    true
}

/// Runs worlds until that many uses were judged.
fn run(rules: Rules, uses: usize) {
    let (mut judged, mut seen) = (0, Seen::default());
    for seed in 0.. {
        let mut random = Random::new(seed);
        let mut world = World::new(rules, &mut random);
        for _ in 0..1 + random.below(6) {
            let queue = random.below(world.program.queues.len());
            let (recorded, events) = world.record(queue, &mut random);
            world.submit(queue, &recorded, events);
            world.trackers[queue].recycle(recorded);
        }
        let program = &world.program;
        if let Err(error) = judge(rules, program, None) {
            panic!("{rules:?} seed {seed}: {error}\n{}", explain(program));
        }
        for skipped in 0..program.barriers() {
            if world.is_exact && judge(rules, program, Some(skipped)).is_ok() && !is_in_vain(program, skipped)
            {
                panic!("{rules:?} seed {seed}: barrier {skipped} is not needed\n{}", explain(program));
            }
        }
        let events = program.batches.iter().map(|batch| batch.events.len()).sum::<usize>();
        judged += events - program.barriers();
        seen.activations += world.seen.activations;
        seen.again += world.seen.again;
        seen.unused += world.seen.unused;
        seen.crossings += world.seen.crossings;
        if judged >= uses {
            break;
        }
    }
    let Seen { activations, again, unused, crossings } = seen;
    assert!(activations * 10 > judged, "{seen:?} for {judged} uses: the worlds are too easy");
    assert!(again > 100 && unused > 100 && crossings > 100, "{seen:?}");
}

#[test]
fn promotion_is_right_and_minimal() {
    run(Rules::Legacy, 100_000);
}

#[test]
fn enhanced_is_right_and_minimal() {
    run(Rules::Enhanced, 100_000);
}

#[test]
fn explicit_is_right_and_minimal() {
    run(Rules::Vulkan, 100_000);
}
