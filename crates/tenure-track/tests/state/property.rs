//! Random recordings, submitted in random order to random queues, must satisfy the oracles with
//! all barriers and fail with any one of them left out.

use std::sync::Arc;

use tenure_track::device::{Api, QueueProperties, QueueSerial, StateModel};
use tenure_track::device::{QueueId, QueueKind, State, Subresource, Usage};
use tenure_track::state::{Fixups, Recorded, ResourceKind, StateCell, StateError, Tracker, resolve};

use super::program::{Batch, Event, Program, Verdict};
use super::random::Random;
use super::{explicit, promotion};

type Handle = Arc<StateCell>;

/// The three sets of rules that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Direct3D 12's resource states.
    Legacy,
    /// Direct3D 12's enhanced barriers.
    Enhanced,
    Vulkan,
}

impl Rules {
    pub(crate) fn model(self) -> StateModel {
        if self == Self::Legacy { StateModel::Promotion } else { StateModel::Explicit }
    }

    fn api(self) -> Api {
        if self == Self::Vulkan { Api::Vulkan } else { Api::Direct3D12 }
    }
}

/// An open recording, and the effects of its commands.
struct Recording {
    kind: QueueKind,
    events: Vec<Event>,
    closed: Option<Recorded<Handle>>,
}

pub(crate) fn queues(rules: Rules, random: &mut Random) -> Vec<QueueProperties> {
    use QueueKind::{Compute, Copy, Graphics};
    let shapes: &[&[(QueueKind, u32)]] = match rules {
        Rules::Legacy => {
            &[&[(Graphics, 0), (Compute, 0), (Copy, 0)], &[(Graphics, 0)], &[(Graphics, 0), (Copy, 0)]]
        }
        Rules::Enhanced => &[
            &[(Graphics, 0), (Compute, 0), (Copy, 0)],
            &[(Graphics, 0), (Graphics, 0), (Compute, 0)],
            &[(Graphics, 0), (Compute, 0), (Compute, 0), (Copy, 0)],
            &[(Graphics, 0), (Copy, 0)],
            &[(Graphics, 0)],
        ],
        Rules::Vulkan => &[
            &[(Graphics, 0), (Compute, 1), (Copy, 2)],
            &[(Graphics, 0), (Graphics, 0), (Graphics, 0)],
            &[(Graphics, 0), (Graphics, 0), (Copy, 1)],
            &[(Graphics, 0), (Compute, 0), (Compute, 1)],
            &[(Graphics, 0)],
        ],
    };
    let shape = shapes[random.below(shapes.len())];
    shape.iter().map(|&(kind, family)| QueueProperties { kind, family }).collect()
}

pub(crate) fn resource(rules: Rules, random: &mut Random) -> Handle {
    let copies = Usage::COPY_SRC | Usage::COPY_DST;
    let count = u32::try_from(1 + random.below(4)).unwrap();
    let (kind, count, usage, initial) = match random.below(6) {
        0 => (ResourceKind::Buffer, 1, Usage::READ_ONLY | Usage::COPY_DST, State::COMMON),
        1 => (ResourceKind::Buffer, 1, Usage::UNORDERED_ACCESS | Usage::SHADER_READ | copies, State::COMMON),
        2 => {
            let usage = Usage::ACCELERATION_STRUCTURE | Usage::UNORDERED_ACCESS;
            (ResourceKind::Buffer, 1, usage, State::ACCELERATION_STRUCTURE)
        }
        3 => {
            let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ | copies;
            (ResourceKind::Texture, count, usage, State::COMMON)
        }
        4 => {
            let target = if random.percent(50) { Usage::RENDER_TARGET } else { Usage::empty() };
            let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | copies | target;
            (ResourceKind::Texture, count, usage, State::COMMON)
        }
        _ => {
            let usage = Usage::RENDER_TARGET | Usage::SHADER_READ | copies;
            let initial = if random.percent(20) { State::COPY_DST } else { State::COMMON };
            (ResourceKind::Texture, count, usage, initial)
        }
    };
    let unused = rules != Rules::Legacy && kind == ResourceKind::Buffer;
    let initial = if unused { State::COMMON } else { initial };
    let cell = StateCell::new(kind, count, usage, initial).with_layouts_of(rules.api());
    // The others were made by the program itself.
    Arc::new(if initial.is_empty() { cell.with_initialization() } else { cell })
}

/// A state that the resource may be used in on such a queue, if there is one.
pub(crate) fn wanted(cell: &StateCell, rules: Rules, kind: QueueKind, random: &mut Random) -> Option<State> {
    let allowed = cell.allowed() & State::allowed_on(kind);
    let fixed = State::ACCELERATION_STRUCTURE;
    if rules == Rules::Legacy && cell.initial() == fixed {
        return allowed.contains(fixed).then_some(fixed);
    }
    if rules == Rules::Legacy && random.percent(3) {
        return Some(State::COMMON);
    }
    let alone = (State::WRITES | fixed) & allowed;
    let reads = allowed - alone;
    let writes: Vec<State> = alone.iter().collect();
    if !writes.is_empty() && (reads.is_empty() || random.percent(40)) {
        return Some(writes[random.below(writes.len())]);
    }
    let reads: Vec<State> = reads.iter().collect();
    let mut state = *reads.get(random.below(reads.len().max(1)))?;
    if random.percent(25) {
        state |= reads[random.below(reads.len())];
    }
    Some(state)
}

/// The combination of several requests for one command: reads that one state serves are taken together, else
/// the last request counts.
pub(crate) fn fold(rules: Rules, kind: ResourceKind, one: State, other: State) -> State {
    let read = |state: State| !state.is_empty() && !super::program::writes(state);
    let together = rules != Rules::Vulkan
        || kind == ResourceKind::Buffer
        || explicit::layout(rules, one) == explicit::layout(rules, other);
    if read(one) && read(other) && together { one | other } else { other }
}

/// The requests for one command, then its barriers, then the command.
fn step(
    program: &Program,
    rules: Rules,
    recording: &mut Recording,
    tracker: &mut Tracker<Handle>,
    random: &mut Random,
) {
    let mut uses: Vec<(usize, u32, State, bool)> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let resource = random.below(program.resources.len());
        let cell = &program.resources[resource];
        let Some(state) = wanted(cell, rules, recording.kind, random) else { continue };
        let count = cell.subresources();
        let part = u32::try_from(random.below(count as usize)).unwrap();
        let subresource = if random.percent(40) { Subresource::All } else { Subresource::One(part) };
        let ordered = !random.percent(20);
        match ordered {
            true => tracker.require(cell, subresource, state).unwrap(),
            false => tracker.require_overlapping(cell, subresource, state).unwrap(),
        }
        for index in program.range(resource, subresource) {
            let index = u32::try_from(index).unwrap();
            match uses.iter_mut().find(|(r, i, ..)| (*r, *i) == (resource, index)) {
                Some(last) => {
                    last.2 = fold(rules, cell.kind(), last.2, state);
                    last.3 |= ordered;
                }
                None => uses.push((resource, index, state, ordered)),
            }
        }
    }
    recording.events.extend(tracker.flush().map(|barrier| program.event(&barrier)));
    recording.events.extend(uses.into_iter().map(|(resource, subresource, state, ordered)| Event::Use {
        resource,
        subresource,
        state,
        ordered,
    }));
}

/// Makes recordings at the same time, with trackers that are used again and again.
fn record(
    program: &Program,
    rules: Rules,
    trackers: &mut [Tracker<Handle>],
    random: &mut Random,
) -> Vec<Recording> {
    let kinds: Vec<QueueKind> = program.queues.iter().map(|queue| queue.kind).collect();
    let mut recordings: Vec<Recording> = trackers
        .iter_mut()
        .map(|tracker| {
            let kind = kinds[random.below(kinds.len())];
            if random.percent(10) {
                *tracker = Tracker::new(rules.model(), kind);
            }
            Recording { kind: tracker.queue_kind(), events: Vec::new(), closed: None }
        })
        .collect();
    for _ in 0..recordings.len() * 5 {
        let index = random.below(recordings.len());
        step(program, rules, &mut recordings[index], &mut trackers[index], random);
    }
    for (recording, tracker) in recordings.iter_mut().zip(trackers) {
        recording.closed = Some(tracker.close().unwrap());
    }
    recordings.retain(|recording| kinds.contains(&recording.kind));
    recordings
}

/// The counts of rarer events.
#[derive(Debug, Default)]
struct Seen {
    joined: usize,
    elsewhere: usize,
    splits: usize,
}

/// Submits recordings, some of them together or twice.
fn submit(program: &mut Program, recordings: &[Recording], random: &mut Random, seen: &mut Seen) {
    let mut serials = [0u64; 8];
    let mut open: Option<Batch> = None;
    let mut fixups = Fixups::new();
    for _ in 0..recordings.len() {
        let recording = &recordings[random.below(recordings.len())];
        let recorded = recording.closed.as_ref().unwrap();
        let able: Vec<usize> =
            (0..program.queues.len()).filter(|q| program.queues[*q].kind == recording.kind).collect();
        let queue = able[random.below(able.len())];
        if open.as_ref().is_some_and(|batch| batch.queue != queue) || random.percent(50) {
            program.batches.extend(open.take());
        }
        let id = QueueId(u8::try_from(queue).unwrap());
        let mut batch = open.take().unwrap_or_else(|| begin(queue, &mut serials));
        let submission = QueueSerial { queue: id, serial: batch.serial };
        if let Err(error) = resolve(recorded, submission, &program.queues, &mut fixups) {
            assert_eq!(error, StateError::SplitSubmission { submission });
            assert!(!batch.events.is_empty(), "a fresh submission cannot be split");
            seen.splits += 1;
            program.batches.push(batch);
            batch = begin(queue, &mut serials);
            let submission = QueueSerial { queue: id, serial: batch.serial };
            resolve(recorded, submission, &program.queues, &mut fixups).unwrap();
        }
        seen.joined += usize::from(!batch.events.is_empty());
        seen.elsewhere += fixups.elsewhere.len();
        for other in &fixups.elsewhere {
            let mut elsewhere = begin(other.queue.index(), &mut serials);
            elsewhere.waits = other.waits.iter().map(|wait| (wait.queue.index(), wait.serial)).collect();
            elsewhere.events = other.barriers.iter().map(|barrier| program.event(barrier)).collect();
            batch.waits.push((elsewhere.queue, elsewhere.serial));
            program.batches.push(elsewhere);
        }
        batch.waits.extend(fixups.waits.iter().map(|wait| (wait.queue.index(), wait.serial)));
        batch.events.extend(fixups.here.iter().map(|barrier| program.event(barrier)));
        batch.events.extend(recording.events.iter().cloned());
        open = Some(batch);
    }
    program.batches.extend(open);
}

pub(crate) fn begin(queue: usize, serials: &mut [u64; 8]) -> Batch {
    serials[queue] += 1;
    Batch { queue, serial: serials[queue], waits: Vec::new(), events: Vec::new() }
}

pub(crate) fn judge(rules: Rules, program: &Program, skipped: Option<usize>) -> Verdict {
    match rules {
        Rules::Legacy => promotion::judge(program, skipped),
        Rules::Enhanced | Rules::Vulkan => explicit::judge(rules, program, skipped),
    }
}

pub(crate) fn explain(program: &Program) -> String {
    let mut text = format!("{:?}\n", program.queues);
    let mut barriers = 0;
    for batch in &program.batches {
        text += &format!("queue {} serial {} waits {:?}\n", batch.queue, batch.serial, batch.waits);
        for event in &batch.events {
            let barrier = !matches!(event, Event::Use { .. });
            let number = if barrier { barriers.to_string() } else { String::new() };
            text += &format!("{number:>4} {event:?}\n");
            barriers += usize::from(barrier);
        }
    }
    text
}

/// Runs worlds until that many uses were judged.
fn run(rules: Rules, uses: usize) {
    let mut judged = 0;
    let mut barriers = 0;
    let mut seen = Seen::default();
    let kinds = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];
    // More trackers than there are slots for hints.
    let mut trackers: Vec<Tracker<Handle>> =
        (0..12).map(|index| Tracker::new(rules.model(), kinds[index % 3])).collect();
    for seed in 0.. {
        let mut random = Random::new(seed);
        let queues = queues(rules, &mut random);
        let resources: Vec<Handle> = (0..2 + random.below(3)).map(|_| resource(rules, &mut random)).collect();
        let bytes = vec![0..0; resources.len()];
        let mut program = Program { queues, resources, bytes, batches: Vec::new() };
        let recordings = record(&program, rules, &mut trackers, &mut random);
        if recordings.is_empty() {
            continue;
        }
        submit(&mut program, &recordings, &mut random, &mut seen);
        if let Err(error) = judge(rules, &program, None) {
            panic!("{rules:?} seed {seed}: {error}\n{}", explain(&program));
        }
        for skipped in 0..program.barriers() {
            if judge(rules, &program, Some(skipped)).is_ok() {
                panic!("{rules:?} seed {seed}: barrier {skipped} is not needed\n{}", explain(&program));
            }
        }
        let events = program.batches.iter().map(|batch| batch.events.len()).sum::<usize>();
        barriers += program.barriers();
        judged += events - program.barriers();
        if judged >= uses {
            break;
        }
    }
    assert!(barriers * 10 > judged, "{barriers} barriers for {judged} uses: the worlds are too easy");
    assert!(seen.joined > 100 && seen.elsewhere > 100 && seen.splits > 10, "{seen:?}");
}

#[test]
fn promotion_is_right_and_minimal() {
    run(Rules::Legacy, 150_000);
}

#[test]
fn enhanced_is_right_and_minimal() {
    run(Rules::Enhanced, 150_000);
}

#[test]
fn explicit_is_right_and_minimal() {
    run(Rules::Vulkan, 150_000);
}
