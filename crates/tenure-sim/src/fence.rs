//! Semaphores and fences of the program.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::hazard::HazardKind;
use crate::points::{ExternalPoint, FenceState, Progress};
use crate::timeline::Queues;

/// A fence or semaphore of the program's own, for tests of synchronisation with tenure: Direct3D 12's fence or
/// Vulkan's timeline semaphore ([`Device::create_fence`](crate::Device::create_fence)), or a binary semaphore
/// ([`Device::create_semaphore`](crate::Device::create_semaphore)).
///
/// The device notes as a [`Hazard`](crate::Hazard) a point that is waited for and never reached, one that is
/// signalled twice, and a fence that is destroyed while a submission that uses it was not seen complete.
/// Dropping it destroys it.
pub struct Fence {
    queues: Arc<Queues>,
    state: Arc<FenceState>,
}

impl Fence {
    pub(crate) fn new(queues: &Arc<Queues>, name: &str, progress: &Arc<Mutex<Progress>>) -> Self {
        Self { queues: Arc::clone(queues), state: FenceState::new(queues, name, progress) }
    }

    /// Notes that other devices may use it from now on; returns the shared state.
    pub(crate) fn share(&self) -> &Arc<Mutex<Progress>> {
        let progress = &self.state.progress;
        progress.lock().note_shared();
        self.queues.fences.note(progress);
        progress
    }

    /// The point at which it reaches a value. For a binary semaphore the next signal or wait, for any value.
    #[must_use]
    pub fn at(&self, value: u64) -> ExternalPoint {
        ExternalPoint { state: Arc::clone(&self.state), value }
    }

    /// The value that it has reached; for a binary semaphore, the number of its signals.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.state.value()
    }

    /// Signals a value from the CPU. No effect on a binary semaphore, which only queues signal, and once the
    /// device is lost, because the process has ended.
    pub fn signal(&self, value: u64) {
        if self.state.is_binary || self.queues.alive().is_err() {
            return;
        }
        let (queues, state, call) = (&*self.queues, &*self.state, "Fence::signal");
        let mut timeline = queues.timeline.lock();
        queues.promise(state, value, call);
        queues.check_shared(state, value, call);
        state.reach(value, queues.observed.load());
        timeline.run_due(queues);
        drop(timeline);
        queues.changed.notify_all();
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence")
            .field("label", &self.state.label.to_string())
            .field("value", &self.value())
            .finish_non_exhaustive()
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        let (label, last_use) = (&self.state.label, &self.state.last_use);
        self.queues.check_unused(label, last_use, HazardKind::DestroyedInUse, "the drop of a fence");
        self.queues.register.destroy(label);
    }
}
