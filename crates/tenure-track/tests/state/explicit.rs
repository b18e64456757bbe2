//! A naive simulation of Vulkan's rules: every access is kept, with its visibility, until a later write is
//! ordered after it. Direct3D 12's enhanced barriers are judged by the same rules, with layouts of their own.

use tenure_track::device::QueueTransfer;
use tenure_track::device::State;
use tenure_track::state::ResourceKind;

use super::program::{Clocks, Event, Owners, Program, Verdict, writes};
use super::property::Rules;

/// The layout of a texture in a state, by the name that the specification gives it.
pub(crate) fn layout(rules: Rules, state: State) -> &'static str {
    const SHADERS: State = State::PIXEL_SHADER.union(State::NON_PIXEL_SHADER);
    let vulkan = [
        (SHADERS, "SHADER_READ_ONLY"),
        (State::COPY_SRC | State::RESOLVE_SRC, "TRANSFER_SRC"),
        (State::COPY_DST | State::RESOLVE_DST, "TRANSFER_DST"),
        (State::RENDER_TARGET, "COLOR_ATTACHMENT"),
        (State::DEPTH_WRITE, "DEPTH_STENCIL_ATTACHMENT"),
        (State::DEPTH_READ | SHADERS, "DEPTH_STENCIL_READ_ONLY"),
        (State::all(), "GENERAL"),
    ];
    let d3d12 = [
        (SHADERS | State::COPY_SRC, "COMMON"),
        (State::COPY_DST, "COMMON"),
        (State::RENDER_TARGET, "RENDER_TARGET"),
        (State::UNORDERED, "UNORDERED_ACCESS"),
        (State::DEPTH_WRITE, "DEPTH_STENCIL_WRITE"),
        (State::DEPTH_READ, "DEPTH_STENCIL_READ"),
        (State::RESOLVE_SRC, "RESOLVE_SOURCE"),
        (State::RESOLVE_DST, "RESOLVE_DEST"),
        (State::all(), "DIRECT_QUEUE_GENERIC_READ"),
    ];
    let table: &[_] = if rules == Rules::Vulkan { &vulkan } else { &d3d12 };
    let found = table.iter().find(|(states, _)| !state.is_empty() && states.contains(state));
    found.map_or("UNDEFINED", |(_, layout)| layout)
}

/// One access in one state, or a barrier that wrote (a layout change, an acquire).
#[derive(Clone)]
struct Access {
    queue: usize,
    serial: u64,
    /// A single bit, or empty for a barrier.
    state: State,
    write: bool,
    /// The states on its own queue that come after it.
    reach: State,
    /// Of a resource that had the bytes before.
    foreign: bool,
}

#[derive(Clone)]
struct Sub {
    rules: Rules,
    texture: bool,
    layout: &'static str,
    owner: Option<u32>,
    in_flight: Option<(QueueTransfer, State, State, u64)>,
    accesses: Vec<Access>,
}

/// The submission that an event happens in.
struct ExecutionPoint<'a> {
    queue: usize,
    serial: u64,
    family: u32,
    allowed: State,
    known: &'a [u64; 8],
}

/// Runs a program without one of its barriers.
pub(crate) fn judge(rules: Rules, program: &Program, skipped: Option<usize>) -> Verdict {
    let mut clocks = Clocks::default();
    let mut subs: Vec<Vec<Sub>> = program
        .resources
        .iter()
        .map(|cell| {
            let sub = Sub {
                rules,
                texture: cell.kind() == ResourceKind::Texture,
                layout: layout(rules, cell.initial()),
                owner: None,
                in_flight: None,
                accesses: Vec::new(),
            };
            vec![sub; cell.subresources() as usize]
        })
        .collect();
    let mut owners = Owners::new();
    for (batch, events) in program.events(skipped) {
        let properties = &program.queues[batch.queue];
        let known = clocks.begin(batch);
        let point = ExecutionPoint {
            queue: batch.queue,
            serial: batch.serial,
            family: properties.family,
            allowed: State::allowed_on(properties.kind),
            known: &known,
        };
        for event in events {
            let explain = |error| format!("{event:?} on {}: {error}", batch.queue);
            match *event {
                Event::Transition { resource, subresource, before, after, transfer } => {
                    owners.check(resource, program.bytes[resource].clone())?;
                    for index in program.range(resource, subresource) {
                        let sub = &mut subs[resource][index];
                        match transfer {
                            None => sub.barrier(&point, before, after),
                            Some(transfer) => sub.hand_over(&point, transfer, before, after),
                        }
                        .map_err(explain)?;
                    }
                }
                Event::Initialize { .. } => return Err(format!("{event:?}: leaving `COMMON` does that")),
                Event::Unordered { resource } => {
                    let ordered = State::UNORDERED | State::ACCELERATION_STRUCTURE;
                    for sub in &mut subs[resource] {
                        ordered.iter().for_each(|state| sub.pick_up(&point, state, state));
                    }
                }
                Event::Aliasing { resource, from, to } => {
                    let previous_owners = owners.take(resource, program.bytes[resource].clone());
                    let parts = previous_owners.iter().flat_map(|owner| &subs[*owner]);
                    let mut inherited: Vec<Access> = parts.flat_map(|sub| sub.accesses.clone()).collect();
                    for access in &mut inherited {
                        let mine = access.queue == point.queue;
                        if !mine && !access.precedes(&point, from) {
                            return Err(explain(format!("does not wait for {}", access.queue)));
                        }
                        if mine && access.precedes(&point, from) {
                            access.reach |= to;
                        }
                        (access.write, access.foreign) = (true, true);
                    }
                    // Work of other queues is complete.
                    inherited.retain(|access| access.queue == point.queue);
                    for sub in &mut subs[resource] {
                        // Its own earlier accesses are among those of later owners of the bytes.
                        let accesses = inherited.clone();
                        let (layout, owner, in_flight) = ("UNDEFINED", None, None);
                        *sub = Sub { rules, texture: sub.texture, layout, owner, in_flight, accesses };
                    }
                }
                Event::Use { resource, subresource, state, ordered } => {
                    owners.check(resource, program.bytes[resource].clone())?;
                    subs[resource][subresource as usize].access(&point, state, ordered).map_err(explain)?;
                }
            }
        }
    }
    Ok(())
}

impl Access {
    /// True when a barrier from `before` on that queue comes after the access.
    fn precedes(&self, point: &ExecutionPoint<'_>, before: State) -> bool {
        match self.queue == point.queue {
            // An aliasing barrier alone makes it available.
            true if self.foreign => before.intersects(self.reach),
            true => before.intersects(self.state | self.reach),
            false => point.known[self.queue] >= self.serial,
        }
    }

    /// True when a use in `state` comes after the access and sees it.
    fn is_seen(&self, point: &ExecutionPoint<'_>, state: State) -> bool {
        match self.queue == point.queue {
            true => self.reach.contains(state),
            false => point.known[self.queue] >= self.serial,
        }
    }
}

impl Sub {
    fn own(&mut self, point: &ExecutionPoint<'_>) -> Verdict {
        if !self.texture {
            return Ok(()); // buffers belong to all families
        }
        if self.in_flight.is_some() || self.owner.is_some_and(|owner| owner != point.family) {
            return Err(format!("owned by family {:?}", self.owner));
        }
        self.owner = Some(point.family);
        Ok(())
    }

    fn pick_up(&mut self, point: &ExecutionPoint<'_>, before: State, after: State) {
        for access in self.accesses.iter_mut().filter(|access| access.queue == point.queue) {
            if access.precedes(point, before) {
                access.reach |= after;
            }
        }
    }

    fn barrier(&mut self, point: &ExecutionPoint<'_>, before: State, after: State) -> Verdict {
        self.own(point)?;
        if !point.allowed.contains(before | after) {
            return Err("illegal".into());
        }
        if self.texture && layout(self.rules, before) != self.layout {
            return Err(format!("the layout is {}", self.layout));
        }
        // A transition without earlier uses waits for its own stages.
        let before = if before.is_empty() { after } else { before };
        self.pick_up(point, before, after);
        if self.texture && layout(self.rules, after) != self.layout {
            self.all_precede(point, before)?;
            self.rewrite(point, after);
        }
        Ok(())
    }

    fn hand_over(
        &mut self,
        point: &ExecutionPoint<'_>,
        transfer: QueueTransfer,
        before: State,
        after: State,
    ) -> Verdict {
        if !self.texture {
            return Err("buffers are not handed over".into());
        }
        if transfer.from.index() == point.queue {
            self.own(point)?;
            self.all_precede(point, before)?;
            if !point.allowed.contains(before) || layout(self.rules, before) != self.layout {
                return Err("illegal release".into());
            }
            self.in_flight = Some((transfer, before, after, point.serial));
            return Ok(());
        }
        let Some((released, from, to, serial)) = self.in_flight.take() else {
            return Err("acquired without a release".into());
        };
        let waited = point.known[transfer.from.index()] >= serial;
        let mine = transfer.to.index() == point.queue;
        if (released, from, to) != (transfer, before, after) || !waited || !mine {
            return Err("the acquire does not match the release".into());
        }
        if !point.allowed.contains(after) {
            return Err("illegal acquire".into());
        }
        self.owner = Some(point.family);
        self.rewrite(point, after);
        Ok(())
    }

    fn all_precede(&self, point: &ExecutionPoint<'_>, before: State) -> Verdict {
        match self.accesses.iter().find(|access| !access.precedes(point, before)) {
            Some(access) => Err(format!("not after {:?} on {}", access.state, access.queue)),
            None => Ok(()),
        }
    }

    /// Notes the write of the barrier itself, after all earlier accesses.
    fn rewrite(&mut self, point: &ExecutionPoint<'_>, after: State) {
        self.layout = layout(self.rules, after);
        let (queue, serial) = (point.queue, point.serial);
        self.accesses =
            vec![Access { queue, serial, state: State::COMMON, write: true, reach: after, foreign: false }];
    }

    fn access(&mut self, point: &ExecutionPoint<'_>, state: State, ordered: bool) -> Verdict {
        self.own(point)?;
        if self.texture && layout(self.rules, state) != self.layout {
            return Err(format!("the layout is {}", self.layout));
        }
        let write = writes(state);
        let exempt = |access: &Access| {
            !ordered && !access.foreign && access.queue == point.queue && access.state == state
        };
        for access in self.accesses.iter().filter(|access| access.write || write) {
            if !exempt(access) && !access.is_seen(point, state) {
                return Err(format!("hazard with {:?} on {}", access.state, access.queue));
            }
        }
        if write {
            self.accesses.retain(exempt);
        }
        for bit in state.iter() {
            // A newer access of the same kind is the harder one to come after.
            let same =
                |access: &Access| !access.foreign && (access.queue, access.state) == (point.queue, bit);
            self.accesses.retain(|access| !same(access));
            let (queue, serial) = (point.queue, point.serial);
            self.accesses.push(Access {
                queue,
                serial,
                state: bit,
                write,
                reach: State::COMMON,
                foreign: false,
            });
        }
        Ok(())
    }
}
