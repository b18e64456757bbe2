//! Checks that destroyed objects are not used.

use std::sync::Arc;

use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::memory::Memory;
use crate::resource::ResourceState;

impl Execution<'_> {
    /// False, with a hazard, if the resource or the memory behind it is destroyed.
    pub(crate) fn is_alive(&self, resource: &Arc<ResourceState>, writes: bool) -> bool {
        let kind = if writes { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
        if let Some(freed) = resource.freed() {
            let detail = format!("{freed} was destroyed before the command ran");
            self.report(Checks::LIFETIME, kind, &[&resource.label], detail);
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
        if let Some((tile, heap)) = dead {
            let detail = format!("tile {tile} is mapped to a heap that was destroyed");
            self.report(Checks::LIFETIME, kind, &[&resource.label, &heap], detail);
        }
    }
}
