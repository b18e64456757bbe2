//! Checks that queues that access the same bytes are ordered.

use std::sync::Arc;

use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Ranges;
use crate::memory::Access;
use crate::resource::{Part, ResourceState};

impl Execution<'_> {
    pub(crate) fn check_race(&self, resource: &Arc<ResourceState>, ranges: &Ranges, write: bool) {
        if !self.is_on(Checks::RACES) {
            return;
        }
        let access = Access { queue: self.queue, serial: self.serial, write };
        let mut clash = None;
        for range in ranges {
            resource.memory.pieces(range.clone(), |store, piece| {
                let Some(store) = store else { return };
                let mut history = store.history.lock();
                if clash.is_none() {
                    clash = history.conflict(piece.clone(), write, &self.clock, Some(self.queue));
                }
                history.record(piece, access, &self.floor);
            });
        }
        if let Some((range, other)) = clash {
            let detail = format!(
                "{} bytes {}..{} of its memory, which submission {} on queue {} {}, and nothing orders the two",
                if write { "writes" } else { "reads" },
                range.start,
                range.end,
                other.serial,
                other.queue.0,
                if other.write { "writes" } else { "reads" },
            );
            let range = ranges.first().cloned().unwrap_or_default();
            self.report(Checks::RACES, HazardKind::QueueRace, &[&Part { resource, range }], detail);
        }
    }
}
