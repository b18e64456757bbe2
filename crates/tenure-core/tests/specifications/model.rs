//! The rules of the specifications, written down anew and naively: a check of the executed commands,
//! independent of tenure's state tracking and of the simulated device's checks.
//!
//! The whole history since the last write is kept for each subresource, and each use is compared with all of it
//! along the barriers in between.

use std::collections::HashMap;

use tenure_core::device::{Api, Properties, QueueSerial, QueueTransfer, StateModel};
use tenure_core::{QueueKind, State, Subresource};
use tenure_sim::Step;

/// The violation, in words.
pub(crate) type Verdict = Result<(), String>;

/// Unordered accesses: by shaders of any stage, and by shaders of one kind.
const UNORDERED: State = State::UNORDERED_ACCESS
    .union(State::MESH_UNORDERED_ACCESS)
    .union(State::COMPUTE_UNORDERED_ACCESS)
    .union(State::RAY_TRACING_UNORDERED_ACCESS);

const WRITES: State = UNORDERED
    .union(State::RENDER_TARGET)
    .union(State::DEPTH_WRITE)
    .union(State::COPY_DST)
    .union(State::RESOLVE_DST);

fn writes(state: State) -> bool {
    state.intersects(WRITES)
}

/// The state of Direct3D 12 without enhanced barriers, which has one for all unordered accesses. It also has one for all shaders
/// but the pixel shader; the simulated device is stricter there, and finds uses that other APIs would not order.
fn legacy(state: State) -> State {
    let mut legacy = state.difference(UNORDERED);
    legacy.set(State::UNORDERED_ACCESS, state.intersects(UNORDERED));
    legacy
}

/// The scope of a state in a barrier: that of any stage has all stages.
fn scope(state: State) -> State {
    if state.contains(State::UNORDERED_ACCESS) { state | UNORDERED } else { state }
}

/// Everything about the submission that is being executed.
struct Now {
    at: QueueSerial,
    kind: QueueKind,
    family: u32,
    /// Per queue, the newest serial complete before it.
    complete: [u64; 8],
    /// The newest submission of its own queue known through other queues' semaphores.
    heard_of: u64,
    /// The newest of its own queue that the CPU had seen complete.
    observed: u64,
}

/// The events of a subresource.
#[derive(Clone, Debug)]
enum Event {
    Access {
        at: QueueSerial,
        state: State,
    },
    /// A barrier; one that moved the subresource to another layout, or another family, wrote it.
    Barrier {
        at: QueueSerial,
        before: State,
        after: State,
        wrote: bool,
        /// The newest submission of its queue that is complete before it, with its writes available.
        over: u64,
    },
}

#[derive(Clone, Debug, Default)]
struct Part {
    /// Direct3D 12's legacy state; where states are explicit, the one whose layout the texture is in.
    state: State,
    is_undefined: bool,
    is_promoted: bool,
    owner: Option<u32>,
    released: Option<(QueueTransfer, State, State)>,
    events: Vec<Event>,
    /// With explicit states: the submission and the new state of the last transition.
    led: Option<(QueueSerial, State)>,
    touched: Option<QueueSerial>,
}

/// A resource of the model.
#[derive(Clone)]
struct Resource {
    is_texture: bool,
    parts: Vec<Part>,
}

/// The state of all resources and queues.
pub(crate) struct Model {
    properties: Properties,
    resources: HashMap<u64, Resource>,
    /// Per submission, the newest serials complete at its end.
    known: HashMap<(u8, u64), [u64; 8]>,
    /// Per queue, the serials known to its last submission, and the newest of its own that it has observed.
    last: [([u64; 8], u64); 8],
    now: Option<Now>,
}

/// The layouts of the specifications' tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Undefined,
    ShaderRead,
    CopySource,
    CopyDest,
    Target,
    DepthWrite,
    DepthRead,
    General,
    // Direct3D 12 alone.
    Common,
    UnorderedAccess,
    ResolveSource,
    ResolveDest,
    DirectQueueGenericRead,
}

const SHADERS: State = State::PIXEL_SHADER.union(State::NON_PIXEL_SHADER);

/// The layout of an image on Vulkan.
fn vulkan_layout(state: State) -> Layout {
    let within = |states: State| states.contains(state);
    match () {
        () if state.is_empty() => Layout::Undefined,
        () if within(SHADERS) => Layout::ShaderRead,
        () if within(State::COPY_SRC | State::RESOLVE_SRC) => Layout::CopySource,
        () if within(State::COPY_DST | State::RESOLVE_DST) => Layout::CopyDest,
        () if within(State::RENDER_TARGET) => Layout::Target,
        () if within(State::DEPTH_WRITE) => Layout::DepthWrite,
        () if within(State::DEPTH_READ | SHADERS) => Layout::DepthRead,
        () => Layout::General,
    }
}

/// The layout of a texture with enhanced barriers: for states of every queue, the common layout.
fn d3d12_layout(state: State) -> Layout {
    let reads = state.iter().filter(|bit| !writes(*bit)).count();
    match () {
        () if state.is_empty() => Layout::Undefined,
        () if state == State::COPY_DST || (SHADERS | State::COPY_SRC).contains(state) => Layout::Common,
        () if reads > 1 => Layout::DirectQueueGenericRead,
        () if state == State::RENDER_TARGET => Layout::Target,
        () if UNORDERED.contains(state) => Layout::UnorderedAccess,
        () if state == State::DEPTH_WRITE => Layout::DepthWrite,
        () if state == State::DEPTH_READ => Layout::DepthRead,
        () if state == State::RESOLVE_SRC => Layout::ResolveSource,
        () if state == State::RESOLVE_DST => Layout::ResolveDest,
        () => Layout::DirectQueueGenericRead,
    }
}

/// "Layout Access Compatibility" and "Command Queue Layout Compatibility" of the specification of enhanced
/// barriers.
fn d3d12_allows(layout: Layout, kind: QueueKind, wanted: State) -> bool {
    let (accesses, is_everywhere) = match layout {
        Layout::Common => (SHADERS | State::COPY_SRC | State::COPY_DST, true),
        Layout::UnorderedAccess => (UNORDERED, kind != QueueKind::Copy),
        Layout::DirectQueueGenericRead => (!WRITES, false),
        Layout::DepthWrite => (State::DEPTH_WRITE | State::DEPTH_READ, false),
        Layout::Target => (State::RENDER_TARGET, false),
        Layout::DepthRead => (State::DEPTH_READ, false),
        Layout::ResolveSource => (State::RESOLVE_SRC, false),
        Layout::ResolveDest => (State::RESOLVE_DST, false),
        _ => (State::COMMON, false),
    };
    accesses.contains(wanted) && (is_everywhere || kind == QueueKind::Graphics)
}

impl Model {
    pub(crate) fn new(properties: &Properties) -> Self {
        let properties = properties.clone();
        let (resources, known) = (HashMap::new(), HashMap::new());
        Self { properties, resources, known, last: [([0; 8], 0); 8], now: None }
    }

    pub(crate) fn add(&mut self, number: u64, is_texture: bool, subresources: u32) {
        let part = Part { is_undefined: true, ..Part::default() };
        let parts = vec![part; subresources as usize];
        self.resources.insert(number, Resource { is_texture, parts });
    }

    fn is_legacy(&self) -> bool {
        self.properties.state_model == StateModel::Promotion
    }

    /// Checks the steps executed since the last call, up to the first mistake.
    pub(crate) fn judge(&mut self, steps: &[Step]) -> Verdict {
        steps.iter().try_for_each(|step| self.step(step).map_err(|error| format!("{step:?}: {error}")))?;
        self.end();
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Verdict {
        if let Step::Submission { at, waits, observed } = step {
            self.end();
            self.begin(*at, waits, observed);
            return Ok(());
        }
        let (legacy, d3d12) = (self.is_legacy(), self.properties.api == Api::Direct3D12);
        let Self { properties, resources, now: Some(now), .. } = self else { return Ok(()) };
        let number = match step {
            Step::Transition { resource, .. }
            | Step::Unordered { resource }
            | Step::Aliasing { resource, .. }
            | Step::Discard { resource, .. }
            | Step::Use { resource, .. } => resource,
            Step::Submission { .. } | Step::MakeVisible { .. } => return Ok(()),
        };
        let Some(resource) = resources.get_mut(number) else { return Ok(()) };
        let rules = Rules { now, d3d12, is_texture: resource.is_texture };
        match step {
            Step::Use { subresources, state, .. } => {
                let range = subresources.start as usize..subresources.end as usize;
                let used = |part: &mut Part| match legacy {
                    true => rules.legacy_use(part, *state),
                    false => rules.explicit_use(part, *state),
                };
                resource.parts[range].iter_mut().try_for_each(used)
            }
            Step::Transition { subresource, before, after, transfer, .. } => {
                let range = match *subresource {
                    Subresource::All => 0..resource.parts.len(),
                    Subresource::One(index) => index as usize..index as usize + 1,
                };
                let family = |queue: usize| properties.queues[queue].family;
                let moved = |part: &mut Part| match *transfer {
                    _ if legacy => rules.legacy_transition(part, *before, *after),
                    None => rules.transition(part, *before, *after),
                    Some(transfer) if transfer.from == now.at.queue => {
                        rules.release(part, transfer, *before, *after)
                    }
                    Some(transfer) => {
                        assert_eq!(family(transfer.to.index()), now.family);
                        rules.acquire(part, transfer, *before, *after)
                    }
                };
                resource.parts[range].iter_mut().try_for_each(moved)
            }
            // Microsoft's specification of enhanced barriers, "Synchronous Copy, Discard and Resolve".
            Step::Discard { subresources, .. } => {
                let range = subresources.start as usize..subresources.end as usize;
                let (at, state) = (now.at, UNORDERED);
                let over = rules.done(false);
                let barrier = Event::Barrier { at, before: state, after: state, wrote: false, over };
                let discarded = resource.parts[range].iter_mut().filter(|_| legacy);
                discarded.for_each(|part| part.events.push(barrier.clone()));
                Ok(())
            }
            Step::Unordered { .. } => {
                let (at, state) = (now.at, UNORDERED);
                let barrier =
                    Event::Barrier { at, before: state, after: state, wrote: false, over: rules.done(false) };
                resource.parts.iter_mut().for_each(|part| part.events.push(barrier.clone()));
                Ok(())
            }
            Step::Aliasing { .. } | Step::Submission { .. } | Step::MakeVisible { .. } => Ok(()),
        }
    }

    fn begin(&mut self, at: QueueSerial, waits: &[QueueSerial], observed: &[u64]) {
        let queue = at.queue.index();
        let (mut complete, mut heard_of) = self.last[queue];
        for (mine, seen) in complete.iter_mut().zip(observed) {
            *mine = (*mine).max(*seen);
        }
        for wait in waits {
            let Some(theirs) = self.known.get(&(wait.queue.0, wait.serial)) else { continue };
            for (mine, theirs) in complete.iter_mut().zip(theirs) {
                *mine = (*mine).max(*theirs);
            }
            if wait.queue != at.queue {
                heard_of = heard_of.max(theirs[queue]);
            }
        }
        self.last[queue] = (complete, heard_of);
        let mut after = complete;
        after[queue] = at.serial;
        self.last[queue].0[queue] = at.serial;
        self.known.insert((at.queue.0, at.serial), after);
        let properties = &self.properties.queues[queue];
        let (kind, family, observed) = (properties.kind, properties.family, observed[queue]);
        self.now = Some(Now { at, kind, family, complete, heard_of, observed });
    }

    /// The end of a submission: legacy states decay.
    fn end(&mut self) {
        let Some(now) = self.now.take() else { return };
        if !self.is_legacy() {
            return;
        }
        for resource in self.resources.values_mut() {
            for part in resource.parts.iter_mut().filter(|part| part.touched == Some(now.at)) {
                let is_read = part.is_promoted && !writes(part.state);
                if !resource.is_texture || now.kind == QueueKind::Copy || is_read {
                    part.state = State::COMMON;
                }
                part.is_promoted = false;
            }
        }
    }
}

/// The rules for one command of one submission on one resource.
#[derive(Clone, Copy)]
struct Rules<'a> {
    now: &'a Now,
    d3d12: bool,
    is_texture: bool,
}

impl Rules<'_> {
    /// Microsoft, "Using Resource Barriers to Synchronize Resource States": the states that command lists of
    /// each type may use.
    fn legacy_visit(&self, part: &mut Part) -> Verdict {
        const COMPUTE: State = State::VERTEX_OR_CONSTANT
            .union(State::UNORDERED_ACCESS)
            .union(State::NON_PIXEL_SHADER)
            .union(State::INDIRECT)
            .union(State::COPY_DST)
            .union(State::COPY_SRC);
        let is_first = part.touched != Some(self.now.at);
        let is_known = match self.now.kind {
            QueueKind::Graphics => true,
            QueueKind::Compute => COMPUTE.contains(part.state),
            QueueKind::Copy => !is_first || part.state.is_empty(),
        };
        part.touched = Some(self.now.at);
        if is_known { Ok(()) } else { Err(format!("{:?} on a {:?} queue", part.state, self.now.kind)) }
    }

    fn legacy_use(&self, part: &mut Part, wanted: State) -> Verdict {
        let wanted = legacy(wanted);
        self.legacy_visit(part)?;
        self.race(part, writes(wanted))?;
        if !part.state.contains(wanted) {
            let both = part.state | wanted;
            let reads = (State::PIXEL_SHADER | State::NON_PIXEL_SHADER | State::COPY_SRC).contains(both);
            let is_possible = match self.is_texture {
                true => reads || both == State::COPY_DST,
                false => !writes(both) || both.bits().count_ones() == 1,
            };
            let is_free = part.state.is_empty() || (part.is_promoted && !writes(part.state));
            if !is_possible || !is_free {
                return Err(format!("is {:?}", part.state));
            }
            (part.state, part.is_promoted) = (both, true);
        }
        if wanted == State::UNORDERED_ACCESS {
            self.unordered(part)?;
        }
        self.note(part, wanted);
        Ok(())
    }

    fn legacy_transition(&self, part: &mut Part, before: State, after: State) -> Verdict {
        let (before, after) = (legacy(before), legacy(after));
        self.legacy_visit(part)?;
        self.race(part, true)?;
        if part.state != before {
            return Err(format!("is {:?}", part.state));
        }
        (part.state, part.is_promoted) = (after, false);
        part.events = vec![self.barrier(before, after, true)];
        Ok(())
    }

    fn note(&self, part: &mut Part, state: State) {
        let now = self.now.at;
        // A command ordered after a write is ordered after everything before that write, and a read after an
        // older one in the same state on the same queue.
        part.events.retain(|event| {
            let is_older =
                matches!(event, Event::Access { at, state: old } if at.queue == now.queue && *old == state);
            !writes(state) && !is_older
        });
        // Barriers with nothing before them order nothing.
        let is_idle = |event: &Event| matches!(event, Event::Barrier { at, wrote: false, .. } if *at != now);
        let idle = part.events.iter().take_while(|event| is_idle(event)).count();
        part.events.drain(..idle);
        part.events.push(Event::Access { at: now, state });
    }

    /// Between queues: of two accesses, one a write, one waits for the other.
    fn race(&self, part: &Part, write: bool) -> Verdict {
        let races = part.events.iter().find(|event| {
            let (at, wrote) = match event {
                Event::Access { at, state } => (at, writes(*state)),
                Event::Barrier { at, wrote, .. } => (at, *wrote),
            };
            let is_done = self.now.complete[at.queue.index()] >= at.serial;
            at.queue != self.now.at.queue && (write || wrote) && !is_done
        });
        races.map_or(Ok(()), |other| Err(format!("races {other:?}")))
    }

    /// Unordered accesses have a barrier between them, or the end of a submission.
    fn unordered(&self, part: &Part) -> Verdict {
        let ordered = part.events.iter().rev().take_while(|event| {
            !matches!(event, Event::Access { at, state: State::UNORDERED_ACCESS } if *at == self.now.at)
        });
        let is_first = ordered.clone().count() == part.events.len();
        let has_barrier = ordered.clone().any(|event| matches!(event, Event::Barrier { .. }));
        if is_first || has_barrier { Ok(()) } else { Err("no barrier between unordered accesses".into()) }
    }

    /// The events of this queue, each with the scopes that later barriers reach from it.
    fn led<'p>(&self, part: &'p Part) -> impl Iterator<Item = (&'p Event, State)> {
        let mine = self.now.at.queue;
        part.events.iter().enumerate().filter_map(move |(index, event)| {
            let (at, mut led) = match event {
                Event::Access { at, state } => (at, *state),
                Event::Barrier { at, after, wrote: true, .. } => (at, *after),
                Event::Barrier { wrote: false, .. } => return None,
            };
            if at.queue != mine {
                return None;
            }
            let mut seen_by = if matches!(event, Event::Access { .. }) { State::COMMON } else { led };
            for later in &part.events[index + 1..] {
                if let Event::Barrier { at: barrier, before, after, over, .. } = later
                    && barrier.queue == mine
                    && (before.intersects(led) || at.serial <= *over)
                {
                    led |= *after;
                    seen_by |= *after;
                }
            }
            Some((event, seen_by))
        })
    }

    fn barrier(&self, before: State, after: State, wrote: bool) -> Event {
        let (before, after) = (scope(before), scope(after));
        Event::Barrier { at: self.now.at, before, after, wrote, over: self.done(false) }
    }

    /// The newest submission of this queue that is complete without a barrier; with `to_be_seen`, its writes
    /// are visible, too.
    fn done(&self, to_be_seen: bool) -> u64 {
        match (self.d3d12, to_be_seen) {
            (true, _) => self.now.at.serial - 1,
            (false, true) => self.now.heard_of,
            (false, false) => self.now.heard_of.max(self.now.observed),
        }
    }

    fn own(&self, part: &mut Part) -> Verdict {
        if !self.is_texture {
            return Ok(());
        }
        if part.released.is_some() || part.owner.is_some_and(|owner| owner != self.now.family) {
            return Err(format!("owned by {:?}", part.owner));
        }
        part.owner = Some(self.now.family);
        Ok(())
    }

    fn layout(&self, state: State) -> Layout {
        if self.d3d12 { d3d12_layout(state) } else { vulkan_layout(state) }
    }

    /// Whether a texture in the layout of one state can be used in another.
    fn allows(&self, state: State, wanted: State) -> bool {
        if self.d3d12 {
            return d3d12_allows(d3d12_layout(state), self.now.kind, wanted);
        }
        // Depth that tests and shaders read at once is in a layout for both, and its descriptors name that.
        let is_read_depth = SHADERS.contains(wanted) && state.contains(State::DEPTH_READ | wanted);
        vulkan_layout(state) == vulkan_layout(wanted) || is_read_depth
    }

    fn explicit_use(&self, part: &mut Part, wanted: State) -> Verdict {
        self.own(part)?;
        if self.is_texture && !self.allows(part.state, wanted) {
            return Err(format!("is in the layout of {:?}", part.state));
        }
        self.race(part, writes(wanted))?;
        for (event, seen_by) in self.led(part) {
            let (at, state) = match event {
                Event::Access { at, state } => (at, *state),
                Event::Barrier { at, .. } => (at, State::COMMON),
            };
            let wrote = state.is_empty() || writes(state);
            // Draws to one target are in order.
            let in_order = state == wanted && matches!(wanted, State::RENDER_TARGET | State::DEPTH_WRITE);
            let repeated = state == wanted && writes(wanted);
            let is_done = at.serial <= self.done(!writes(wanted) && !repeated);
            if (wrote || writes(wanted)) && !in_order && !is_done && !seen_by.contains(wanted) {
                return Err(format!("does not come after {event:?}"));
            }
        }
        for bit in wanted.iter() {
            self.note(part, bit);
        }
        Ok(())
    }

    /// All that the queue did comes before a barrier that writes.
    fn follows(&self, part: &Part, before: State) -> Verdict {
        for (event, led) in self.led(part) {
            let (at, own) = match event {
                Event::Access { at, state } => (at, *state),
                Event::Barrier { at, .. } => (at, State::COMMON),
            };
            if at.serial > self.done(false) && !before.intersects(led | own) {
                return Err(format!("does not come after {event:?}"));
            }
        }
        Ok(())
    }

    fn transition(&self, part: &mut Part, before: State, after: State) -> Verdict {
        self.own(part)?;
        self.sequence(part, before)?;
        let from = if before.is_empty() { after } else { before };
        let is_right =
            self.layout(part.state) == self.layout(before) || (part.is_undefined && before.is_empty());
        let wrote = self.is_texture && (before.is_empty() || self.layout(part.state) != self.layout(after));
        if self.is_texture && !is_right {
            return Err(format!("is in the layout of {:?}", part.state));
        }
        if wrote {
            self.follows(part, from)?;
            self.race(part, true)?;
            part.events.clear();
        }
        part.is_undefined = false;
        part.state = after;
        part.led = Some((self.now.at, after));
        part.events.push(self.barrier(from, after, wrote));
        Ok(())
    }

    /// Enhanced barriers, "Sequential Barriers": the scope before contains the scope after of the barrier
    /// before it in the same submission.
    fn sequence(&self, part: &Part, before: State) -> Verdict {
        // Unordered barriers name no subresource, and so say nothing of a single one.
        match part.led.filter(|(at, _)| self.d3d12 && *at == self.now.at) {
            Some((_, after)) if !sync(before).is_superset(&sync(after)) => {
                Err(format!("the last barrier led to {after:?}"))
            }
            _ => Ok(()),
        }
    }

    fn release(&self, part: &mut Part, transfer: QueueTransfer, before: State, after: State) -> Verdict {
        self.own(part)?;
        if self.layout(part.state) != self.layout(before) {
            return Err(format!("is in the layout of {:?}", part.state));
        }
        self.follows(part, before)?;
        self.race(part, true)?;
        part.released = Some((transfer, before, after));
        part.events = vec![self.barrier(before, State::COMMON, true)];
        Ok(())
    }

    fn acquire(&self, part: &mut Part, transfer: QueueTransfer, before: State, after: State) -> Verdict {
        if part.released.take() != Some((transfer, before, after)) {
            return Err("not released so".into());
        }
        self.race(part, true)?;
        part.owner = Some(self.now.family);
        part.state = after;
        part.led = None;
        part.events = vec![self.barrier(before, after, true)];
        Ok(())
    }
}

/// `D3D12_BARRIER_SYNC_*` of a state's uses, by name.
fn sync(state: State) -> std::collections::BTreeSet<&'static str> {
    let table: [(State, &[&str]); 19] = [
        (State::VERTEX_OR_CONSTANT, &["vertex shading", "pixel shading", "compute shading"]),
        (State::INDEX, &["index input"]),
        (State::PIXEL_SHADER, &["pixel shading"]),
        (State::VERTEX_SHADER, &["vertex shading"]),
        (State::MESH_SHADER, &["vertex shading"]),
        (State::COMPUTE_SHADER, &["compute shading"]),
        (State::RAY_TRACING_SHADER, &["ray tracing", "builds"]),
        (State::INDIRECT, &["execute indirect"]),
        (State::COPY_SRC, &["copy"]),
        (State::COPY_DST, &["copy"]),
        (State::RESOLVE_SRC, &["resolve"]),
        (State::RESOLVE_DST, &["resolve"]),
        (State::DEPTH_READ, &["depth stencil"]),
        (State::DEPTH_WRITE, &["depth stencil"]),
        (State::RENDER_TARGET, &["render target"]),
        (
            State::UNORDERED_ACCESS,
            &["vertex shading", "pixel shading", "compute shading", "ray tracing", "builds"],
        ),
        (State::MESH_UNORDERED_ACCESS, &["vertex shading"]),
        (State::COMPUTE_UNORDERED_ACCESS, &["compute shading"]),
        (State::RAY_TRACING_UNORDERED_ACCESS, &["ray tracing", "builds"]),
    ];
    let used = table.into_iter().filter(|(bit, _)| state.contains(*bit));
    used.flat_map(|(_, names)| names.iter().copied()).collect()
}
