//! Checks that destroyed objects are not used.

use std::sync::Arc;

use tenure_core::device::{DeviceFault, FaultAccess};

use crate::execution::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::layout::TILE;
use crate::memory::Memory;
use crate::resource::ResourceState;

impl Execution<'_> {
    /// False, with a hazard, if the resource or its memory is destroyed. Without a hazard if its accesses lose the device: other
    /// commands do not access it.
    pub(crate) fn is_alive(&self, resource: &Arc<ResourceState>, writes: bool) -> bool {
        let kind = if writes { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
        if let Some(freed) = resource.freed() {
            if !self.shared.page_faults {
                let detail = format!("{freed} was destroyed before the command ran");
                self.report(Checks::LIFETIME, kind, &[&resource.label], detail);
            }
            return false;
        }
        self.tiles_are_alive(resource, kind);
        true
    }

    fn tiles_are_alive(&self, resource: &ResourceState, kind: HazardKind) {
        let (Memory::Reserved(table), true) = (&resource.memory, self.is_on(Checks::LIFETIME)) else {
            return;
        };
        let dead = table.lock().first_dead_heap();
        let Some((tile, heap)) = dead else { return };
        if !self.shared.page_faults {
            let detail = format!("tile {tile} is mapped to a heap that was destroyed");
            self.report(Checks::LIFETIME, kind, &[&resource.label, &heap], detail);
            return;
        }
        let access = if kind == HazardKind::WriteOfFreed { FaultAccess::Write } else { FaultAccess::Read };
        let first = resource.virtual_address.saturating_add(tile * TILE);
        self.shared.lose_by(|| DeviceFault::new(access, first..first + TILE, ""));
    }

    /// Loses the device by an access to destroyed memory, if the device does so.
    pub(crate) fn fault(&self, used: &Use<'_>) {
        if self.shared.page_faults {
            let access = if used.fills() { FaultAccess::Write } else { FaultAccess::Read };
            let ranges = used.resource.layout.ranges(&used.span);
            let start = ranges.first().map_or(0, |range| range.start);
            let first = used.resource.virtual_address.saturating_add(start);
            self.shared.lose_by(|| DeviceFault::new(access, first..first + 1, ""));
        }
    }
}
