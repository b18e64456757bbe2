//! Checks that the GPU's writes to mapped memory are made visible to the CPU (Vulkan).
//!
//! A submission's fence signals that it is complete; the GPU's caches are flushed by a barrier to the host, for
//! the queue's earlier writes in the states given by the barrier.

use crate::execution::{Execution, Use};
use crate::hazard::Checks;
use crate::layout::Ranges;

impl Execution<'_> {
    /// Notes bytes that the CPU does not see until a barrier makes them visible.
    pub(crate) fn note_hidden(&self, used: &Use<'_>, ranges: &Ranges) {
        let is_followed = self.is_on(Checks::MAPPING) && self.shared.properties.has_host_barriers();
        if let Some(state) = used.state
            && is_followed
            && used.fills()
            && used.resource.is_host_visible()
        {
            used.resource.hidden.lock().write(&self.shared.host_barriers, (self.queue, state), ranges);
        }
    }
}
