//! Nothing reads bytes that were never written.

use crate::execute::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::layout::Ranges;
use crate::owners::Part;

impl Execution<'_> {
    pub(crate) fn check_written(&self, used: &Use<'_>, ranges: &Ranges) {
        if !self.is_on(Checks::INITIALIZED) {
            return;
        }
        let written = &used.resource.written;
        if used.fills() {
            ranges.iter().for_each(|range| written.insert(range.clone()));
        }
        if !used.reads() {
            return;
        }
        if let Some(gap) = ranges.iter().find_map(|range| written.first_gap(range.clone())) {
            let detail = format!("bytes {}..{} were never written", gap.start, gap.end);
            let part = Part { resource: used.resource, range: gap };
            self.report(HazardKind::UninitializedRead, &[&part], detail);
        }
    }
}
