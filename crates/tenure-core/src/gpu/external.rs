//! Work that the program submits itself.

use super::Gpu;
use crate::command::submit_external;
use crate::device::{Device, QueueId, QueueSerial, State, Subresource};
use crate::memory::{Holder, PlaceHolds};
use crate::resource::Used;
use crate::state::StateError;
use crate::time::SyncPoint;
use crate::{Error, Queue};

impl<D: Device> Gpu<D> {
    /// Runs the program's own submission to a queue, and counts it as one of tenure's: what is dropped from
    /// now on outlives it, a frame in which it is made waits for it, and the sync point that this returns
    /// can be waited for. `run` gets the API's queue, which nothing else uses meanwhile, and may submit any
    /// number of times, or present.
    ///
    /// `waits` is complete before what `run` submits begins: what it needs of other queues. It comes after
    /// all that was submitted to its own queue. Uploads that are pending are submitted before.
    ///
    /// Whatever it uses must be alive when this is called, and may be dropped right after. Barriers are
    /// its own business: it finds a texture in the state that a recording left it in, and says with
    /// [`declare_state`](Self::declare_state) if it leaves it in another.
    ///
    /// Adds one signal of the queue's fence, and on Vulkan an empty submission that makes it.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] and [`Error::Foreign`] for `waits`; those of
    /// [`flush_uploads`](Self::flush_uploads); [`Error::Device`]: lost, or a shortage. Then `run` was not
    /// called, or the device is lost. The error of `run`, after which what it submitted before is counted
    /// all the same.
    ///
    /// Inside `run` nothing can be submitted through tenure: that is an error there, also of calls that submit
    /// pending uploads first (`purge`, the end of a frame), which stay pending. Submissions of other threads
    /// to the queue wait until it returns: it must not wait for one of those.
    ///
    /// # Panics
    /// With the panic of `run`, after what it submitted was counted.
    ///
    /// ```
    /// use tenure::device::{CommandList as _, Device as _, Permit};
    /// use tenure::{BufferDesc, Config, Gpu, Queue, QueueId, State, SyncPoint, Usage, sim};
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let gpu = Gpu::new(device.clone(), Config::default())?;
    /// let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::COPY_DST))?;
    ///
    /// // Another library's commands.
    /// let mut list = device.create_list(Permit::checked(), QueueId(0))?;
    /// list.begin()?;
    /// list.fill_buffer(buffer.raw(), buffer.offset(), 4096, 7);
    /// list.close()?;
    /// let ((), point) = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |mut queue| {
    ///     queue.submit(&[&list], &[], &[]).map_err(tenure::Error::from)
    /// })?;
    /// drop(buffer); // it lives until the GPU is past that point
    /// assert!(gpu.wait(&point, std::time::Duration::from_secs(1))?);
    /// # device.destroy_list(Permit::checked(), list);
    /// # drop(gpu);
    /// # device.check_clean().expect("nothing was released too early");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn submit_external<T, E: From<Error>>(
        &self,
        queue: Queue,
        waits: &SyncPoint,
        run: impl FnOnce(D::NativeQueue<'_>) -> Result<T, E>,
    ) -> Result<(T, SyncPoint), E> {
        let _call = self.shared.call()?;
        let queue = queue.id(self.shared.context.device().properties());
        submit_external(&self.shared.services, queue, waits, run)
    }

    /// Says that the program itself has brought a resource into `state`, with the submissions `at` (see
    /// [`submit_external`](Self::submit_external)): the next recording that uses it is submitted with the
    /// barriers and waits that lead on from there. [`SyncPoint::NONE`] where whatever has used it is known
    /// to be done.
    ///
    /// On Vulkan the queue of `at` owns the resource from then on. Of several queues, that is the one that was
    /// submitted to last, among those that can use it in that state; where another one owns it, pass the point of
    /// that one alone, whose submission waits for the others.
    ///
    /// Call it between the submission that changed the state and the next that uses the resource;
    /// recordings that are open may use it. [`State::COMMON`] says that the contents are undefined (Vulkan), or
    /// names the state of that name (Direct3D 12).
    ///
    /// O(1). Thread-safe.
    ///
    /// # Errors
    /// [`Error::State`] for a state that the resource's usage forbids, a subresource that it lacks, or a buffer
    /// that shares its API buffer with others (see [`BufferDesc::own_resource`](crate::BufferDesc::own_resource)),
    /// [`Error::FixedState`], [`Error::Foreign`]; [`Error::NeverSubmitted`] for `at`.
    #[inline(never)]
    pub fn declare_state<'a>(
        &self,
        resource: impl Into<Used<'a, D>>,
        subresource: Subresource,
        state: State,
        at: &SyncPoint,
    ) -> Result<(), Error> {
        self.shared.context.check_submitted(at)?;
        let used: Used<'a, D> = resource.into();
        used.pin();
        let tracked =
            used.check(&self.shared.context, subresource, state, &mut PlaceHolds::new(Holder::NO_RECORDING))?;
        let cell = tracked.as_ref();
        let shared = if used.is_shared() { Err(StateError::Shared) } else { Ok(()) };
        let checked = shared.and_then(|()| cell.check_declared(subresource, state));
        checked.map_err(|source| Error::State { name: used.name().clone(), source })?;
        cell.declare(subresource, state, at, self.owner(state, at));
        Ok(())
    }

    /// Of the queues of submissions after which a resource is in `state`, the one that is taken for its owner.
    fn owner(&self, state: State, at: &SyncPoint) -> Option<QueueSerial> {
        let context = &self.shared.context;
        let queues = &context.device().properties().queues;
        let can_use = |queue: QueueId| {
            queues.get(queue.index()).is_some_and(|queue| State::allowed_on(queue.kind).contains(state))
        };
        at.iter().max_by_key(|at| (can_use(at.queue), context.clock.newest(at.queue)))
    }
}
