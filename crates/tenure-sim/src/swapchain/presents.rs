//! The presentation engine of the simulated device.

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{MemoryFlags, MemoryTypeId, QueueSerial, ResourceDesc, Usage};
use tenure_core::{State, Subresource, SyncPoint};

use crate::command::{Command, Recorded};
use crate::device::Device;
use crate::hazard::HazardKind;
use crate::layout::Span;
use crate::object::ObjectKind;
use crate::points::ExternalPoint;
use crate::resource::Resource;
use crate::submit::NativeQueue;
use crate::timeline::{Job, Queues, Timeline, Work};

/// The read for presenting an image.
fn read(queues: &Queues, image: &Resource) -> Recorded {
    let label = queues.register.label(ObjectKind::List);
    label.set_name("presentation");
    let command = Command::Use {
        resource: Arc::clone(&image.state),
        span: Span::Subresource(Subresource::All),
        state: State::PRESENT,
    };
    Recorded { label, commands: Arc::new(vec![command]) }
}

impl NativeQueue<'_> {
    /// Direct3D 12: the queue shows an image.
    pub(super) fn present(&mut self, image: &Resource) {
        self.show(image, read(self.queues, image));
    }
}

impl Device {
    /// An image of a swap chain: presentable, in memory of its own.
    pub(super) fn create_image(
        &self,
        info: &tenure_core::TextureInfo,
    ) -> Result<Resource, tenure_core::DeviceError> {
        let usage = info.usage.difference(Usage::PRESENT);
        let plain = ResourceDesc::Texture(info.clone().usage(usage));
        let needs = self.queues().requirements_of(&plain)?;
        let is_local = |index: &u8| {
            let flags =
                self.queues().properties.memory_types.get(usize::from(*index)).map(|memory| memory.flags);
            needs.memory_types & 1 << index != 0
                && flags.is_some_and(|flags| flags.contains(MemoryFlags::DEVICE_LOCAL))
        };
        let memory = MemoryTypeId((0..32).find(is_local).unwrap_or(0));
        self.create_committed_as(&plain, &ResourceDesc::Texture(info.clone()), memory)
    }
}

impl Queues {
    /// Checks that the signals of a presentation's waits have been submitted
    /// (VUID-vkQueuePresentKHR-pWaitSemaphores-03268).
    fn check_presentable(&self, timeline: &Timeline, frame: &SyncPoint) {
        let Some((at, point)) = timeline.unpromised(frame) else { return };
        let (queue, serial, value) = (at.queue.0, at.serial, point.value);
        let now = point.state.value();
        let detail = format!(
            "its frame waits for submission {serial} on queue {queue}, which waits for a fence to reach {value}: it is \
             at {now}, and nothing that was submitted takes it there"
        );
        self.report_fence(HazardKind::PresentedBeforeSignal, &point.state, detail, "Swapchain::present");
    }

    /// Vulkan: the presentation engine shows an image in place of the previous one, after the semaphore that the
    /// frame signals.
    pub(super) fn present(
        &self,
        before: Option<&Resource>,
        image: &Resource,
        rendered: Option<ExternalPoint>,
        frame: &SyncPoint,
    ) {
        let mut timeline = self.timeline.lock();
        self.check_presentable(&timeline, frame);
        let at = timeline.next_present();
        let images = before.into_iter().chain([image]);
        images.clone().for_each(|image| image.state.last_use.raise(at.queue, at.serial));
        let external_waits = self.note_external_waits(at, rendered.as_slice(), "Swapchain::present");
        let job = Job::Lists(images.map(|image| read(self, image)).collect());
        timeline.push(self, at.queue, Work { external_waits, ..Work::new(job, SmallVec::new()) });
        drop(timeline);
        self.changed.notify_all();
    }

    /// Vulkan: signals a semaphore when everything presented before is shown.
    pub(super) fn signal_acquired(&self, acquired: &ExternalPoint) {
        let mut timeline = self.timeline.lock();
        let at: QueueSerial = timeline.next_present();
        let signals = std::slice::from_ref(acquired);
        let external_signals = self.note_external_signals(at, signals, "Swapchain::acquire");
        let job = Job::Lists(SmallVec::new());
        timeline.push(self, at.queue, Work { external_signals, ..Work::new(job, SmallVec::new()) });
        drop(timeline);
        self.changed.notify_all();
    }

    /// Notes for the CPU which images were shown, as by the fences of presents.
    pub(super) fn settle_presents(&self) {
        let mut timeline = self.timeline.lock();
        let QueueSerial { queue, serial } = timeline.next_present();
        timeline.run_due(self);
        let shown = timeline.completed(queue).unwrap_or(serial);
        timeline.observe(self, queue, shown);
    }
}
