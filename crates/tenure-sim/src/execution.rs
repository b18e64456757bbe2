//! A submission being executed: its clocks, its reports, its counters.

use std::fmt::Display;
use std::sync::Arc;

use tenure_core::device::{QueryKind, QueueId, State, StateModel};

use crate::clock::Clock;
use crate::hazard::{Checks, HazardKind, Origin};
use crate::layout::Span;
use crate::resource::ResourceState;
use crate::shared::Shared;
use crate::states::ExecutionPoint;

/// A command's use of a part of a resource.
pub(crate) struct Use<'a> {
    pub(crate) resource: &'a Arc<ResourceState>,
    pub(crate) span: Span,
    /// `None`: its current state.
    pub(crate) state: Option<State>,
}

impl Use<'_> {
    pub(crate) fn writes(&self) -> bool {
        self.state.is_some_and(State::is_write)
    }

    /// Unordered accesses may read or write, and so may accesses to acceleration structures; they count as
    /// writes, so that unwritten bytes are no hazard for them.
    pub(crate) fn fills(&self) -> bool {
        self.writes() || self.state == Some(State::ACCELERATION_STRUCTURE)
    }

    pub(crate) fn reads(&self) -> bool {
        !self.fills() && self.state != Some(State::COMMON)
    }
}

/// One submission being executed.
pub(crate) struct Execution<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) queue: QueueId,
    pub(crate) serial: u64,
    pub(crate) point: ExecutionPoint,
    /// The submissions ordered before this one.
    pub(crate) clock: Clock,
    /// The submissions that all later work is ordered after.
    pub(crate) floor: Clock,
    /// The name of the running list.
    pub(crate) list: String,
    /// The index of the current command in the list.
    pub(crate) index: usize,
    /// The name of the current command.
    pub(crate) name: &'static str,
    /// The statistics since the submission began.
    pub(crate) counters: [u64; QueryKind::STATISTICS],
    /// The descriptor heaps that the list has set, by number: of resources, of samplers.
    pub(crate) heaps: [Option<u64>; 2],
    /// Whether copies of the list may read bytes that were never written.
    pub(crate) keeps_unwritten: bool,
    /// The resources whose states decay at the end.
    touched: Vec<Arc<ResourceState>>,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(shared: &'a Shared, point: ExecutionPoint, clock: Clock, floor: Clock) -> Self {
        Self {
            shared,
            queue: point.at.queue,
            serial: point.at.serial,
            point,
            clock,
            floor,
            list: String::new(),
            index: 0,
            name: "update_tiles",
            counters: [0; QueryKind::STATISTICS],
            heaps: [None; 2],
            keeps_unwritten: false,
            touched: Vec::new(),
        }
    }

    /// Ends the submission: states of Direct3D 12 decay.
    pub(crate) fn finish(self) {
        for resource in &self.touched {
            resource.states.lock().decay(self.point);
        }
    }

    pub(crate) fn is_on(&self, check: Checks) -> bool {
        self.shared.checks.contains(check)
    }

    /// Logs a hazard that a command caused, if that check is on.
    pub(crate) fn report(
        &self,
        check: Checks,
        kind: HazardKind,
        objects: &[&dyn Display],
        detail: impl Display,
    ) {
        if !self.is_on(check) {
            return;
        }
        let origin = Origin::Command {
            name: self.name,
            index: self.index,
            list: self.list.clone(),
            queue: self.queue,
            serial: self.serial,
        };
        self.shared.hazards.push(kind, objects, &detail, origin);
    }

    /// Notes a resource whose states may decay.
    pub(crate) fn touch(&mut self, resource: &Arc<ResourceState>) {
        let known = self.touched.last().is_some_and(|last| Arc::ptr_eq(last, resource));
        if !known && self.shared.properties.state_model == StateModel::Promotion {
            self.touched.push(Arc::clone(resource));
        }
    }

    /// Counts a use in the statistics: there are no shaders, so each use as a target counts as one sample of one
    /// primitive of one draw, each use for vertices as a vertex, each unordered access as a dispatch.
    pub(crate) fn count_use(&mut self, state: State) {
        /// The counters of [`QueryKind::STATISTICS`] that a draw adds to.
        const DRAWN: [usize; 6] = [0, 1, 2, 5, 6, 7];
        if state.intersects(State::RENDER_TARGET | State::DEPTH_WRITE | State::DEPTH_READ) {
            DRAWN.into_iter().for_each(|index| self.counters[index] += 1);
        } else if state.intersects(State::UNORDERED) {
            self.count_dispatch();
        }
    }

    /// Counts a dispatch.
    pub(crate) fn count_dispatch(&mut self) {
        const DISPATCHED: usize = 10;
        self.counters[DISPATCHED] += 1;
    }

    /// Direct3D 12 orders the submissions of a queue; Vulkan only by completion seen by the CPU, or by other
    /// queues that the queue has waited for. The race check covers other queues.
    pub(crate) fn is_settled(&self, (queue, serial): (QueueId, u64)) -> bool {
        if queue != self.queue {
            return true;
        }
        let heard_of = self.point.observed.max(self.point.heard_of);
        serial != self.serial && (self.shared.is_d3d12() || serial <= heard_of)
    }
}
