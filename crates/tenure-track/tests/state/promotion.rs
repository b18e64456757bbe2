//! A naive simulation of D3D12's rules.

use tenure_track::device::{QueueKind, State};
use tenure_track::state::{ResourceKind, StateCell};

use super::program::{Clocks, Event, Owners, Program, Verdict, writes};

#[derive(Clone, Default)]
struct Sub {
    state: State,
    /// A target whose compression was not set up.
    raw: bool,
    promoted: bool,
    /// Unordered accesses of this submission without a barrier after them.
    unordered: bool,
    touched: bool,
    used: [u64; 8],
    changed: [u64; 8],
}

/// Runs a program without one of its barriers.
pub(crate) fn judge(program: &Program, skipped: Option<usize>) -> Verdict {
    let mut clocks = Clocks::default();
    let mut subs: Vec<Vec<Sub>> = program
        .resources
        .iter()
        .map(|cell| {
            let sub = Sub { state: cell.initial(), raw: is_initialized(cell), ..Sub::default() };
            vec![sub; cell.subresources() as usize]
        })
        .collect();
    let mut owners = Owners::new();
    for (batch, events) in program.events(skipped) {
        let kind = program.queues[batch.queue].kind;
        let known = clocks.begin(batch);
        for event in events {
            match *event {
                Event::Transition { resource, subresource, before, after, transfer } => {
                    let legal = State::allowed_on(kind);
                    if !legal.contains(before | after) || transfer.is_some() || before == after {
                        return Err(format!("illegal on {kind:?}: {event:?}"));
                    }
                    owners.check(resource, program.bytes[resource].clone())?;
                    for index in program.range(resource, subresource) {
                        let sub = &mut subs[resource][index];
                        sub.enter(kind)?;
                        sub.go(before, after).map_err(|error| format!("{event:?}: {error}"))?;
                        sub.visit(batch.queue, batch.serial, &known, true)?;
                    }
                }
                Event::Initialize { resource, subresource, before, discarded_in, after } => {
                    let may = discards_in(&program.resources[resource], kind);
                    if !State::allowed_on(kind).contains(before | after) || may != Some(discarded_in) {
                        return Err(format!("illegal on {kind:?}: {event:?}"));
                    }
                    owners.check(resource, program.bytes[resource].clone())?;
                    for index in program.range(resource, subresource) {
                        let sub = &mut subs[resource][index];
                        sub.enter(kind)?;
                        if !std::mem::take(&mut sub.raw) {
                            return Err(format!("{event:?} discards contents"));
                        }
                        sub.go(before, after).map_err(|error| format!("{event:?}: {error}"))?;
                        sub.visit(batch.queue, batch.serial, &known, true)?;
                    }
                }
                Event::Unordered { resource } => {
                    subs[resource].iter_mut().for_each(|sub| sub.unordered = false);
                }
                Event::Aliasing { resource, .. } => {
                    // Work of the others is complete, on any queue.
                    for previous_owner in owners.take(resource, program.bytes[resource].clone()) {
                        for sub in &subs[previous_owner] {
                            sub.is_done(batch.queue, &known)?;
                        }
                    }
                    for sub in &mut subs[resource] {
                        sub.raw = is_initialized(&program.resources[resource]);
                        sub.visit(batch.queue, batch.serial, &known, true)?;
                        sub.unordered = false;
                    }
                }
                Event::Use { resource, subresource, state, ordered } => {
                    owners.check(resource, program.bytes[resource].clone())?;
                    let sub = &mut subs[resource][subresource as usize];
                    sub.enter(kind)?;
                    if sub.raw && discards_in(&program.resources[resource], kind).is_some() {
                        return Err(format!("{event:?}, and it was not discarded"));
                    }
                    sub.raw &= !writes(state);
                    sub.visit(batch.queue, batch.serial, &known, writes(state))?;
                    sub.access(program.resources[resource].kind(), state, ordered)
                        .map_err(|error| format!("{event:?}: {error}"))?;
                }
            }
        }
        for (cell, subs) in program.resources.iter().zip(&mut subs) {
            subs.iter_mut().for_each(|sub| sub.end(cell.kind(), kind));
        }
    }
    Ok(())
}

/// True for targets, except the program's own.
fn is_initialized(cell: &StateCell) -> bool {
    cell.initial().is_empty() && cell.allowed().intersects(State::RENDER_TARGET | State::DEPTH_WRITE)
}

/// The state in which such a queue discards a texture.
fn discards_in(cell: &StateCell, kind: QueueKind) -> Option<State> {
    let possible = cell.allowed() & State::allowed_on(kind);
    [State::RENDER_TARGET, State::DEPTH_WRITE, State::UNORDERED_ACCESS]
        .into_iter()
        .find(|state| possible.contains(*state))
}

impl Sub {
    /// A transition.
    fn go(&mut self, before: State, after: State) -> Verdict {
        if self.state != before {
            return Err(format!("it is {:?}", self.state));
        }
        self.state = after;
        self.promoted = false;
        self.unordered = false;
        Ok(())
    }

    /// Copy queues find everything in `COMMON`, compute queues in states that they know.
    fn enter(&mut self, kind: QueueKind) -> Verdict {
        if kind == QueueKind::Copy && !self.touched && !self.state.is_empty() {
            return Err(format!("{:?} on a copy queue", self.state));
        }
        if kind != QueueKind::Copy && !State::allowed_on(kind).contains(self.state) {
            return Err(format!("{:?} on a {kind:?} queue", self.state));
        }
        self.touched = true;
        Ok(())
    }

    /// Accesses that conflict are ordered between queues.
    fn visit(&mut self, queue: usize, serial: u64, known: &[u64; 8], change: bool) -> Verdict {
        all_known(if change { &self.used } else { &self.changed }, queue, known)?;
        self.used[queue] = serial;
        if change {
            self.changed[queue] = serial;
        }
        Ok(())
    }

    /// Checks that no submission is in progress on other queues.
    fn is_done(&self, queue: usize, known: &[u64; 8]) -> Verdict {
        all_known(&self.used, queue, known)
    }

    fn access(&mut self, kind: ResourceKind, wanted: State, ordered: bool) -> Verdict {
        let promotable = |state: State| {
            kind == ResourceKind::Buffer
                || (State::SHADER_READ | State::COPY_SRC).contains(state)
                || state == State::COPY_DST
        };
        let found = if wanted.is_empty() { self.state.is_empty() } else { self.state.contains(wanted) };
        if !found {
            let union = self.state | wanted;
            let from_common = self.state.is_empty();
            let grows = self.promoted && !wanted.is_empty() && !writes(union);
            if !(from_common || grows) || !promotable(union) {
                return Err(format!("it is {:?}", self.state));
            }
            self.state = union;
            self.promoted = true;
        }
        if wanted.intersects(State::UNORDERED | State::ACCELERATION_STRUCTURE) {
            if self.unordered && ordered {
                return Err("no unordered barrier".into());
            }
            self.unordered = true;
        }
        Ok(())
    }

    fn end(&mut self, kind: ResourceKind, queue: QueueKind) {
        let fixed = self.state == State::ACCELERATION_STRUCTURE;
        let buffer = kind == ResourceKind::Buffer && !fixed;
        let copied = queue == QueueKind::Copy && self.touched;
        if buffer || copied || (self.promoted && !writes(self.state)) {
            self.state = State::COMMON;
        }
        self.promoted = false;
        self.unordered = false;
        self.touched = false;
    }
}

fn all_known(serials: &[u64; 8], queue: usize, known: &[u64; 8]) -> Verdict {
    for other in (0..8).filter(|other| *other != queue) {
        if serials[other] > known[other] {
            return Err(format!("queue {queue} does not wait for {} of {other}", serials[other]));
        }
    }
    Ok(())
}
