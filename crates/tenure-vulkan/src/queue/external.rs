//! Semaphores of the program's own, and its own submissions.

use ash::vk;
use tenure_core::device::{DeviceError, QueueId, QueueSerial};

use super::Queues;
use super::clock::Clock;
use super::send::{SemaphorePoint, Work};
use super::submit::Sync;
use crate::error::unsupported;

/// A semaphore of the program's own that a recording waits for or signals: see
/// [`Recording::wait_for_external`](tenure_core::Recording::wait_for_external).
///
/// ```no_run
/// use ash::vk;
/// use tenure_core::{Error, Recording};
/// use tenure_vulkan::{Device, ExternalSemaphore};
///
/// /// Draws once another library, which signals `drawn` to `value`, is done with what the pixels show.
/// fn draw_after(recording: &mut Recording<Device>, drawn: vk::Semaphore, value: u64) {
///     // SAFETY: the semaphore is a timeline of this device and lives until the GPU is done.
///     let drawn = unsafe { ExternalSemaphore::timeline(drawn, value) };
///     recording.wait_for_external(drawn.at_stages(vk::PipelineStageFlags2::FRAGMENT_SHADER));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalSemaphore {
    semaphore: vk::Semaphore,
    /// `None`: a binary one.
    value: Option<u64>,
    stages: vk::PipelineStageFlags2,
}

impl ExternalSemaphore {
    /// A binary semaphore.
    ///
    /// # Safety
    /// It belongs to the device that it is used with, and lives until the submissions that use it are
    /// complete. Each wait has a signal of its own, which is submitted before the wait is, and each signal
    /// a wait before the next.
    #[must_use]
    pub const unsafe fn binary(semaphore: vk::Semaphore) -> Self {
        Self { semaphore, value: None, stages: vk::PipelineStageFlags2::ALL_COMMANDS }
    }

    /// A value of a timeline semaphore.
    ///
    /// # Safety
    /// It belongs to the device that it is used with, and lives until the submissions that use it are
    /// complete. Values that are signalled rise, and none is more than the device's
    /// `maxTimelineSemaphoreValueDifference` away. The signal of a value that an image of a swap chain waits for, directly or
    /// through other submissions, is submitted or made before the image is presented.
    #[must_use]
    pub const unsafe fn timeline(semaphore: vk::Semaphore, value: u64) -> Self {
        Self { semaphore, value: Some(value), stages: vk::PipelineStageFlags2::ALL_COMMANDS }
    }

    /// With the stages that wait for it, and those that are done when it is signalled; at first all.
    /// Barriers of tenure's around states other than `PRESENT` do not name them: choose stages
    /// that include those of the uses that are to wait. None, and on a device without synchronization2 those
    /// that came with it, mean all.
    #[must_use]
    pub const fn at_stages(self, stages: vk::PipelineStageFlags2) -> Self {
        Self { stages, ..self }
    }

    /// The semaphore.
    #[must_use]
    pub const fn semaphore(&self) -> vk::Semaphore {
        self.semaphore
    }

    /// The value of a timeline semaphore; `None` for a binary one.
    #[must_use]
    pub const fn value(&self) -> Option<u64> {
        self.value
    }

    /// The stages that wait for it, or are done when it is signalled.
    #[must_use]
    pub const fn stages(&self) -> vk::PipelineStageFlags2 {
        self.stages
    }

    pub(super) fn to_point(self) -> SemaphorePoint {
        let stages = match self.stages.is_empty() {
            true => vk::PipelineStageFlags2::ALL_COMMANDS,
            false => self.stages,
        };
        SemaphorePoint { semaphore: self.semaphore, value: self.value.unwrap_or(0), stages }
    }
}

impl Queues {
    /// Values need timeline semaphores.
    pub(super) fn check_external(&self, sync: &Sync<'_>) -> Result<(), DeviceError> {
        let mut points = sync.external_waits.iter().chain(sync.external_signals);
        if self.api.timeline.is_none() && points.any(|point| point.value.is_some()) {
            return Err(unsupported("timeline semaphores"));
        }
        Ok(())
    }

    /// Lets the program submit to a queue between the serials waited for and the signal of `signal`.
    pub(crate) fn submit_external<T>(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(vk::Queue) -> T,
    ) -> Result<T, DeviceError> {
        self.alive()?;
        self.check_waits(queue, waits, signal)?;
        let found = self.queue(queue)?;
        match &found.clock {
            Clock::Timeline(timeline) => self.hold_timeline((queue, timeline), waits, signal)?,
            Clock::Fences(fences) => self.hold_with_fence((queue, fences), waits, signal)?,
        }
        let answer = found.with(run);
        // The end of a batch comes after all that was submitted to the queue before.
        let sent = self.execute(queue, Work::Lists(&[]), Sync::new(&[], signal));
        match sent {
            Ok(()) => Ok(answer),
            Err(lost @ DeviceError::Lost { .. }) => Err(lost),
            // What was submitted would never be known to be complete.
            Err(error) => {
                Err(self.lose(format!("the program's own submission could not be counted: {error}")))
            }
        }
    }
}
