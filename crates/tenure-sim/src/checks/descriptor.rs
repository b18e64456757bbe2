//! Descriptors point at something alive.

use std::sync::Arc;

use tenure_core::device::{State, Subresource};

use crate::descriptor::TableState;
use crate::execute::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;

impl Execution<'_> {
    pub(crate) fn descriptor(&mut self, table: &Arc<TableState>, slot: u32, state: State) {
        let Some(resource) = table.get(slot) else {
            if self.is_on(Checks::DESCRIPTORS) {
                let detail = format!("slot {slot} was never written");
                self.report(HazardKind::DeadDescriptor, &[&table.label], detail);
            }
            return;
        };
        if let Some(freed) = resource.freed() {
            if self.is_on(Checks::DESCRIPTORS) {
                let detail = format!("slot {slot} points at {}, and {freed} was destroyed", resource.label);
                self.report(HazardKind::DeadDescriptor, &[&table.label, &resource.label], detail);
            }
            return;
        }
        self.uses_one(&resource, Span::Subresource(Subresource::All), state);
    }
}
