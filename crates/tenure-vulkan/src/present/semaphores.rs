//! The semaphores of acquired images.

use std::collections::VecDeque;

use ash::vk;
use tenure_core::SyncPoint;

use crate::queue::Queues;

/// Semaphores that submissions wait for, until those are complete. Free ones are in the device's pool.
#[derive(Default)]
pub(super) struct Waited(VecDeque<(vk::Semaphore, SyncPoint)>);

impl Waited {
    /// A semaphore that is free when `point` is complete.
    pub(super) fn push(&mut self, semaphore: vk::Semaphore, point: SyncPoint) {
        self.0.push_back((semaphore, point));
    }

    /// Gives back those whose submissions are complete.
    pub(super) fn collect(&mut self, queues: &Queues, completed: &SyncPoint) {
        while let Some((semaphore, point)) = self.0.front() {
            if !point.is_covered_by(completed) {
                break;
            }
            queues.sync.return_semaphores([*semaphore]);
            self.0.pop_front();
        }
    }

    /// Gives all back, when nothing runs any more.
    pub(super) fn give_back(&mut self, queues: &Queues) {
        queues.sync.return_semaphores(self.0.drain(..).map(|(semaphore, _)| semaphore));
    }
}
