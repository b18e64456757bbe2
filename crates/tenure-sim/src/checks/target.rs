//! Checks that targets are initialised before any other use (Direct3D 12's legacy barriers).
//!
//! Render targets and depth buffers have compression data, which a clear, a discard, or a copy to all of a subresource
//! sets up after creation, after an aliasing barrier, and after new tile mappings. No barrier does, and drawing over
//! all of it does not either (Microsoft's specification of enhanced barriers, "Placed Resource Metadata
//! Initialization").

use tenure_core::device::TextureRegion;

use crate::execution::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::layout::{Layout, Ranges, Span};
use crate::resource::{Part, ResourceState};

impl Execution<'_> {
    /// A command that sets up the compression data of its resource.
    pub(crate) fn initialize(&self, resource: &ResourceState, span: &Span) {
        if let Some(initialized) = resource.initialized.as_ref().filter(|_| self.is_on(Checks::INITIALIZED)) {
            resource.layout.ranges(span).into_iter().for_each(|range| initialized.insert(range));
        }
    }

    /// A copy to a region initialises if it covers a whole plane of a mip, or, in a reserved texture, whole
    /// tiles.
    pub(crate) fn initialize_by_copy(&self, resource: &ResourceState, region: &TextureRegion) {
        let is_tiled = matches!(resource.layout, Layout::Tiled { .. });
        let covers = |extent: [u32; 3]| is_tiled || (region.origin == [0; 3] && region.extent == extent);
        if resource.layout.texture().is_some_and(|info| covers(info.mip_extent(region.mip))) {
            self.initialize(resource, &Span::Region(*region));
        }
    }

    pub(crate) fn check_initialized(&self, used: &Use<'_>, ranges: &Ranges) {
        let Some(initialized) = &used.resource.initialized else { return };
        if !self.is_on(Checks::INITIALIZED) || !used.fills() {
            return;
        }
        if let Some(gap) = ranges.iter().find_map(|range| initialized.first_gap(range.clone())) {
            let detail = "written before a clear, a discard or a copy to all of the subresource initialised it, \
                          after it was created or had new memory";
            let part = Part { resource: used.resource, range: gap };
            self.report(Checks::INITIALIZED, HazardKind::UninitializedTarget, &[&part], detail);
            // Reported once for each subresource.
            let std::ops::Range { start, end } = used.resource.layout.subresources(&used.span);
            self.initialize(used.resource, &Span::Subresources { start, end });
        }
    }
}
