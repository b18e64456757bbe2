//! The rules, one file each.

mod aliasing;
mod barrier;
mod lifetime;
mod race;
mod sharing;
mod target;
mod uninitialized_reads;
mod unordered;
mod visible;

use std::sync::Arc;

use tenure_core::device::State;

use crate::execution::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::journal::Step;
use crate::layout::Span;
use crate::resource::{Part, ResourceState};
use crate::states::Shown;

impl Execution<'_> {
    /// Checks one use; false if it must have no effect.
    pub(crate) fn uses_one(&mut self, resource: &Arc<ResourceState>, span: Span, state: State) -> bool {
        self.check(&Use { resource, span, state: Some(state) })
    }

    /// Runs all checks of one use; false if it must have no effect because the memory is destroyed.
    pub(crate) fn check(&mut self, used: &Use<'_>) -> bool {
        if let Some(state) = used.state {
            let (resource, subresources) =
                (used.resource.label.id, used.resource.layout.subresources(&used.span));
            self.shared.journal.note(|| Step::Use { resource, subresources, state });
        }
        if !self.is_alive(used.resource, used.fills()) {
            self.fault(used);
            return false;
        }
        if self.shared.checks.is_empty() {
            return true;
        }
        self.check_usage(used);
        self.check_held(used.resource);
        self.check_aliasing(used.resource);
        self.check_state(used);
        let ranges = used.resource.layout.ranges(&used.span);
        self.check_unordered(used, &ranges);
        self.check_race(used.resource, &ranges, used.writes());
        self.check_initialized(used, &ranges);
        self.check_written(used, &ranges);
        self.note_hidden(used, &ranges);
        true
    }

    fn check_usage(&self, used: &Use<'_>) {
        let (Some(state), true) = (used.state, self.is_on(Checks::USAGE)) else { return };
        let allowed = State::allowed_for(used.resource.desc.usage());
        if !allowed.contains(state) {
            let detail = format!("used as {}, but its usage allows only {}", Shown(state), Shown(allowed));
            let range = used.resource.layout.ranges(&used.span).first().cloned().unwrap_or_default();
            self.report(
                Checks::USAGE,
                HazardKind::InvalidUse,
                &[&Part { resource: used.resource, range }],
                detail,
            );
        }
    }
}
