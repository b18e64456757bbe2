//! A gate that blocks all queues.

use tenure_core::QueueId;
use tenure_core::device::prelude::*;
use tenure_vulkan::ash::vk;
use tenure_vulkan::{ApiVersion, Device};

/// Work that waits on each queue for a value that the CPU signals: later submissions follow it. Needs timeline
/// semaphores; later submissions must not wait for binary ones, because the API requires that all of their
/// dependencies are submitted.
pub(crate) struct Gate {
    device: Device,
    /// One a queue.
    lanes: Vec<(QueueId, vk::Semaphore)>,
    /// The value of each semaphore when the gate is open: even.
    opened: u64,
    is_closed: bool,
}

impl Gate {
    pub(crate) fn new(device: &Device) -> Self {
        let queues = 0..u8::try_from(device.properties().queues.len()).unwrap();
        let lane = |queue| {
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            // SAFETY: the device is alive, and timeline semaphores are enabled.
            let semaphore = unsafe { device.raw().create_semaphore(&info, None) }.unwrap();
            (QueueId(queue), semaphore)
        };
        Self { device: device.clone(), lanes: queues.map(lane).collect(), opened: 0, is_closed: false }
    }

    /// Closes the gate: later submissions do not complete until [`open`](Self::open).
    pub(crate) fn close(&mut self) {
        assert!(!self.is_closed, "held once at a time");
        let (wait, signal) = ([self.opened + 1], [self.opened + 2]);
        for (queue, semaphore) in &self.lanes {
            let (semaphores, stages) = ([*semaphore], [vk::PipelineStageFlags::ALL_COMMANDS]);
            let mut values = vk::TimelineSemaphoreSubmitInfo::default()
                .wait_semaphore_values(&wait)
                .signal_semaphore_values(&signal);
            let submit = vk::SubmitInfo::default()
                .wait_semaphores(&semaphores)
                .wait_dst_stage_mask(&stages)
                .signal_semaphores(&semaphores)
                .push_next(&mut values);
            self.device.with_queue(*queue, |queue| {
                // SAFETY: the semaphore is ours, and its values rise.
                unsafe { self.device.raw().queue_submit(queue, &[submit], vk::Fence::null()) }.unwrap();
            });
        }
        self.is_closed = true;
    }

    /// Lets everything through, and waits until the gate itself is.
    pub(crate) fn open(&mut self) {
        if !std::mem::take(&mut self.is_closed) {
            return;
        }
        let device = self.device.raw().handle();
        for (_, semaphore) in &self.lanes {
            let semaphores = [*semaphore];
            let (go, gone) = ([self.opened + 1], [self.opened + 2]);
            let signal = vk::SemaphoreSignalInfo::default().semaphore(*semaphore).value(go[0]);
            let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&gone);
            let (signal_semaphore, wait_semaphores) = self.functions();
            // SAFETY: the semaphore is ours, and its values rise.
            unsafe {
                signal_semaphore(device, &raw const signal).result().unwrap();
                wait_semaphores(device, &raw const wait, u64::MAX).result().unwrap();
            }
        }
        self.opened += 2;
    }

    fn functions(&self) -> (vk::PFN_vkSignalSemaphore, vk::PFN_vkWaitSemaphores) {
        if self.device.api_version() >= ApiVersion::V1_2 {
            let functions = self.device.raw().fp_v1_2();
            return (functions.signal_semaphore, functions.wait_semaphores);
        }
        let (instance, device) = (self.device.instance(), self.device.raw());
        let extension = tenure_vulkan::ash::khr::timeline_semaphore::Device::new(instance, device);
        (extension.fp().signal_semaphore_khr, extension.fp().wait_semaphores_khr)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
        for (_, semaphore) in &self.lanes {
            // SAFETY: it is ours, and nothing of it is in flight.
            unsafe { self.device.raw().destroy_semaphore(*semaphore, None) };
        }
    }
}
