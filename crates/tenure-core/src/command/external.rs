//! External semaphores and fences, and external submissions.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Commands, Recording};
use crate::Error;
use crate::device::{Device, DeviceError, Permit, QueueId};
use crate::list::ExternalPoints;
use crate::permit::OwnPermit as _;
use crate::services::Services;
use crate::ticket::Ticket;
use crate::time::{Clock, SyncPoint};

impl<D: Device> Recording<D> {
    /// Makes the submission wait for a point of an external semaphore or fence: one shared with other code, or one signalled
    /// by a swap chain when an image is available. The whole recording waits; on Vulkan only the stages given by the point,
    /// and later stages.
    ///
    /// Barriers that other queues must record first do not wait, so that these queues are not delayed: on Vulkan, the release
    /// of a texture by the queue that used it last. If the point guards that texture, make the last recording of that queue
    /// wait, or [declare](crate::Gpu::declare_state) the texture's state.
    ///
    /// There is no wait when the recording is discarded, or its submission is refused.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let fence = device.create_fence("streamed");
    /// let gpu = Gpu::new(device, Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "after streaming")?;
    /// recording.wait_for_external(fence.at(1));
    /// let point = recording.submit()?;
    /// assert!(!point.is_covered_by(&gpu.completed()?));
    /// fence.signal(1);
    /// assert!(gpu.wait(&point, std::time::Duration::from_secs(1))?);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn wait_for_external(&mut self, point: D::ExternalPoint) {
        self.external().waits.push(point);
    }

    /// Makes the submission signal a point of an external semaphore or fence, after all commands of the recording.
    ///
    /// There is no signal when the recording is discarded, or its submission is refused.
    #[inline(never)]
    pub fn signal_external(&mut self, point: D::ExternalPoint) {
        self.external().signals.push(point);
    }

    /// A ticket with the outcome of the recording: submitted or discarded.
    pub(crate) fn ticket(&mut self) -> Arc<Ticket> {
        let commands: &mut Commands<D> = self;
        let ticket = Arc::new(Ticket::new(commands.name().clone()));
        commands.open.tickets.push(ticket.clone());
        ticket
    }

    fn external(&mut self) -> &mut ExternalPoints<D> {
        let commands: &mut Commands<D> = self;
        commands.open.external.get_or_insert_default()
    }
}

/// Runs the program's own submission to a queue and counts it as one of tenure's.
pub(crate) fn submit_external<D: Device, T, E: From<Error>>(
    services: &Services<D>,
    queue: QueueId,
    waits: &SyncPoint,
    run: impl FnOnce(D::NativeQueue<'_>) -> Result<T, E>,
) -> Result<(T, SyncPoint), E> {
    let context = &*services.context;
    let _call = context.call();
    context.check_submitted(waits)?;
    Clock::check_outside().map_err(Error::from)?;
    services.flush_pending_uploads()?;
    let mut all = services.lists.published(context);
    waits.iter().for_each(|wait| all.require(wait.queue, wait.serial));
    let waits: SmallVec<[_; crate::device::MAX_QUEUES]> =
        all.iter().filter(|wait| wait.queue != queue).collect();
    // Objects dropped meanwhile wait for the submission, as for a recording that may use them.
    let recording = context.recordings.open("external work", context.current_frame());
    let mut answer = None;
    // Recursive: several may run at once even while a thread waits to move resources, since one may wait for another.
    let not_moving = context.external_work.read_recursive();
    let submitted = context.clock.submit(queue, |serial| {
        // Submissions that `run` made before an error or a panic are counted, too.
        let run =
            |queue: D::NativeQueue<'_>| Clock::run_external(|| catch_unwind(AssertUnwindSafe(|| run(queue))));
        let ran = context.device().submit_external(Permit::own(), queue, &waits, serial, run);
        answer = Some(ran?);
        Ok::<(), DeviceError>(())
    });
    drop(not_moving);
    context.recordings.close(recording);
    context.settle_submission(submitted.as_ref().ok().copied());
    match answer {
        Some(Err(panic)) => resume_unwind(panic),
        Some(Ok(Err(refused))) => Err(refused),
        Some(Ok(Ok(value))) => match submitted {
            Ok(at) => Ok((value, context.clock.point_at(at))),
            Err(error) => Err(Error::from(error).into()),
        },
        None => match submitted {
            Err(error) => Err(Error::from(error).into()),
            Ok(_) => Err(Error::Internal { what: "a submission was counted that was not made" }.into()),
        },
    }
}
