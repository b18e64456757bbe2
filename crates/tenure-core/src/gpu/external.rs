//! Submissions of the program's own work.

use super::Gpu;
use crate::command::submit_external;
use crate::device::{Device, QueueId, QueueSerial, State, Subresource};
use crate::memory::{Holder, PlaceHolds};
use crate::resource::{Subresources, Used};
use crate::state::StateError;
use crate::time::SyncPoint;
use crate::{Error, Queue};

impl<D: Device> Gpu<D> {
    /// Runs the program's own submission to a queue, and counts it as one of tenure's: objects dropped from now on outlive it,
    /// its frame waits for it, and the returned sync point can be waited for. `run` gets exclusive access to the API's queue,
    /// and may submit any number of times, or present.
    ///
    /// The work of `run` begins after `waits` is complete: the work of other queues that it depends on. It comes after
    /// everything submitted to its own queue. Pending uploads are submitted before, and it comes after the uploads to
    /// [read-only](crate::TextureDesc::read_only) resources on other queues, too. Until this returns, no other thread may
    /// upload to a read-only resource that `run` reads.
    ///
    /// Every object it uses must be alive when this is called, and may be dropped right after. `run` records its own barriers:
    /// it finds a texture in the state in which a recording left it, and reports a different final state by
    /// [`declare_state`](Self::declare_state).
    ///
    /// Adds one signal of the queue's fence, and on Vulkan an empty submission for it.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] and [`Error::Foreign`] for `waits`; the errors of [`flush_uploads`](Self::flush_uploads);
    /// [`Error::Device`]: lost, or a shortage. Then `run` was not called, or the device is lost. The error of `run`; its
    /// submissions before the error are counted all the same.
    ///
    /// Inside `run`, nothing can be submitted through tenure: calls that do so return an error, and so do calls that submit
    /// pending uploads first (`reclaim`, the end of a frame); the uploads stay pending. Submissions of other threads to the queue
    /// wait until `run` returns: it must not wait for one of them.
    ///
    /// # Panics
    /// With the panic of `run`, after its submissions were counted.
    ///
    /// ```
    /// use tenure::device::{Permit, prelude::*};
    /// use tenure::{BufferDesc, Config, Gpu, Queue, State, SyncPoint, Usage, device::QueueId, sim};
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

    /// Declares that the program itself has brought a resource into `state`, with the submissions `at` (see
    /// [`submit_external`](Self::submit_external)): the next recording that uses the resource is submitted with the barriers
    /// and waits that follow from there. Pass [`SyncPoint::NONE`] where all earlier uses are known to be complete.
    ///
    /// On Vulkan the queue of `at` owns the resource afterwards. If `at` names several queues, the owner is the last one
    /// submitted to among the queues that can use the resource in that state; where another queue owns it, pass the point of
    /// that queue alone, whose submission waits for the others.
    ///
    /// Call it between the submission that changed the state and the next one that uses the resource; open recordings may use
    /// it. [`State::COMMON`] declares undefined contents (Vulkan), or the state of that name (Direct3D 12).
    ///
    /// O(subresources). Thread-safe.
    ///
    /// # Errors
    /// [`Error::State`] for a state that the resource's usage forbids, a subresource that it lacks, or a buffer that shares its
    /// API buffer with others (see [`BufferDesc::own_resource`](crate::BufferDesc::own_resource)), [`Error::FixedState`],
    /// [`Error::Foreign`]; [`Error::NeverSubmitted`] for `at`.
    #[inline(never)]
    pub fn declare_state<'a>(
        &self,
        resource: impl Into<Used<'a, D>>,
        part: impl Into<Subresources>,
        state: State,
        at: &SyncPoint,
    ) -> Result<(), Error> {
        self.shared.context.check_submitted(at)?;
        let used: Used<'a, D> = resource.into();
        used.pin();
        let parts = part.into().each(used.info).map_err(|source| used.refuse(source))?;
        let mut parts = parts.map(|part| self.declare_part(&used, part, state, at));
        parts.try_for_each(std::convert::identity)
    }

    /// Declares that commands only read a resource from now on, in these states. Afterwards no recording on any queue needs to
    /// name it: before the next submission, tenure brings it into the states, and all later submissions come after that. For
    /// resources that commands have written, such as a texture whose mips they have made; a texture that is filled by uploads
    /// alone is better [created as read-only](crate::TextureDesc::read_only), and the same rules apply to both.
    ///
    /// All recordings that write it must have been submitted: a later submission of one that does is refused. There is no way
    /// back; uploads remain allowed. Another call with the same states does nothing.
    ///
    /// On Vulkan, a texture that is not [of all queues](crate::Usage::is_of_all_queues) belongs to the graphics queue family
    /// afterwards, and only graphics queues can read it, if the device has several families.
    ///
    /// O(1). Thread-safe.
    ///
    /// # Errors
    /// [`Error::State`] for a write state, for states that its usage forbids or that no layout of Vulkan serves together, for
    /// other states than an earlier declaration named, and, with the reason, for a resource that cannot be read-only: it is
    /// mapped, shares its API buffer ([`BufferDesc::own_resource`](crate::BufferDesc::own_resource)), or is shared, transient,
    /// reserved, evictable or of a swap chain. [`Error::FixedState`], [`Error::Foreign`]; [`Error::Device`] for a lost device.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, Queue, State, Subresource, TextureDesc, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    /// let probe = gpu.create_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage).name("probe"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "capture")?;
    /// recording.use_resource(&probe, Subresource::All, State::RENDER_TARGET)?;
    /// let _draw = recording.raw();
    /// recording.submit()?;
    /// gpu.make_read_only(&probe, State::SHADER_READ)?;
    ///
    /// let mut recording = gpu.record(Queue::Graphics, "scene")?;
    /// let _draw = (recording.raw(), probe.raw()); // no use_resource
    /// let error = recording.use_resource(&probe, Subresource::All, State::RENDER_TARGET).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "probe: the resource is read-only in PIXEL_SHADER | NON_PIXEL_SHADER, and cannot be used in RENDER_TARGET"
    /// );
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn make_read_only<'a>(&self, resource: impl Into<Used<'a, D>>, states: State) -> Result<(), Error> {
        let _call = self.shared.call()?;
        let (context, used): (_, Used<'a, D>) = (&self.shared.context, resource.into());
        context.clock.check().map_err(|source| Error::device(used.name(), source))?;
        let mut holds = PlaceHolds::new(Holder::NO_RECORDING);
        let tracked = used.check(context, Subresource::All, states, &mut holds)?;
        if used.is_to_be_published(&tracked, states)? {
            self.shared.services.uploads.publish(context, (tracked, holds), states);
        }
        self.shared.settle_uploads()
    }

    fn declare_part(
        &self,
        used: &Used<'_, D>,
        part: Subresource,
        state: State,
        at: &SyncPoint,
    ) -> Result<(), Error> {
        let mut holds = PlaceHolds::new(Holder::NO_RECORDING);
        let tracked = used.check(&self.shared.context, part, state, &mut holds)?;
        let cell = tracked.as_ref();
        let shared = if used.is_shared() { Err(StateError::Shared) } else { Ok(()) };
        let fixed = match cell.read_only() {
            Some(allowed) => Err(StateError::ReadOnly { state, allowed }),
            None => shared,
        };
        let checked = fixed.and_then(|()| cell.check_declared(part, state));
        checked.map_err(|source| used.refuse(source))?;
        cell.declare(part, state, at, self.owner(state, at));
        Ok(())
    }

    /// The queue among these submissions that owns a resource in `state`.
    fn owner(&self, state: State, at: &SyncPoint) -> Option<QueueSerial> {
        let context = &self.shared.context;
        let queues = &context.device().properties().queues;
        let can_use = |queue: QueueId| {
            queues.get(queue.index()).is_some_and(|queue| State::allowed_on(queue.kind).contains(state))
        };
        at.iter().max_by_key(|at| (can_use(at.queue), context.clock.newest(at.queue)))
    }
}
