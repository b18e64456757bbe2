//! Checks that only written bytes are read.

use crate::execution::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::layout::Ranges;
use crate::resource::{Part, ResourceState};

impl Execution<'_> {
    /// Notes a copy of bytes that may include unwritten ones: their destinations count as unwritten, too.
    pub(crate) fn copy_written(
        &self,
        (src, src_at): (&ResourceState, u64),
        (dst, dst_at): (&ResourceState, u64),
        size: u64,
    ) {
        if !self.is_on(Checks::INITIALIZED) || !self.keeps_unwritten {
            return;
        }
        let written = src.written.within(src_at..src_at + size);
        dst.written.remove(dst_at..dst_at + size);
        for range in written {
            dst.written.insert(range.start - src_at + dst_at..range.end - src_at + dst_at);
        }
    }

    pub(crate) fn check_written(&self, used: &Use<'_>, ranges: &Ranges) {
        if !self.is_on(Checks::INITIALIZED) || self.keeps_unwritten {
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
            self.report(Checks::INITIALIZED, HazardKind::UninitializedRead, &[&part], detail);
        }
    }
}
