//! The commands of an open recording.

use std::sync::Arc;

use crate::context::Context;
use crate::device::{
    Allowed, Api, BufferLayout, BufferRegion, CallRule, CommandList, Device, DeviceError, Permit, QueueId,
    QueueKind, State, Subresource, TextureRegion, check,
};
use crate::list::{CopiedParts, Open};
use crate::memory::{AliasedRange, AllocationFlags, Holder, PlaceHolds};
use crate::readback::{Readback, Rows};
use crate::resource::{Buffer, PlaceRef, Subresources, Texture, Tracked, Used};
use crate::scratch::RingSlice;
use crate::services::Services;
use crate::staging::Footprint;
use crate::state::{Layout, ResourceKind, StateCell, StateError};
use crate::time::RecordingId;
use crate::{Error, Name};

/// The commands of a [`Recording`](crate::Recording), which derefs to them; [`Recording::split`](crate::Recording::split) returns
/// them together with the recording's memory.
///
/// Every object it records must be alive when it is recorded, and may be dropped right after.
///
/// The type is unsized and only ever borrowed: a recording keeps objects alive that were dropped while its commands were
/// recorded, so two recordings must not swap their commands. Leave `Tail` at its default.
///
/// ```compile_fail,E0277
/// # fn example<D: tenure::device::Device>(
/// #     a: &mut tenure::Recording<D>,
/// #     b: &mut tenure::Recording<D>,
/// # ) {
/// std::mem::swap(&mut **a, &mut **b);
/// # }
/// ```
pub struct Commands<D: Device, Tail: ?Sized = [()]> {
    pub(super) open: Open<D>,
    pub(super) queue: QueueId,
    pub(super) id: RecordingId,
    /// Holds the places of the movable resources in use.
    pub(super) holds: PlaceHolds<D>,
    /// Name of the recording.
    pub(super) name: Name,
    /// Declared last, as in every handle.
    pub(super) services: Arc<Services<D>>,
    /// Empty. Makes the struct unsized.
    _tail: Tail,
}

debug_fields!([D: Device, Tail: ?Sized] Commands<D, Tail>, "Commands", this, name: this.name, id: this.id, queue: this.queue);

impl<D: Device> Commands<D, [(); 0]> {
    pub(super) fn new(
        services: Arc<Services<D>>,
        open: Open<D>,
        queue: QueueId,
        id: RecordingId,
        name: Name,
    ) -> Self {
        Self { open, queue, id, holds: PlaceHolds::new(Holder(id.get())), name, services, _tail: [] }
    }
}

impl<D: Device> Commands<D> {
    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.services.context
    }

    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// The queue of the recording.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        self.queue
    }

    /// The id of the recording.
    #[must_use]
    pub const fn id(&self) -> RecordingId {
        self.id
    }

    /// The API's command list, to record into. The pending barriers of earlier [`use_resource`](Self::use_resource) calls have
    /// been recorded: declare the uses of a command, then ask for the list, then record the command. Inside a render pass
    /// neither API allows these barriers: declare every use of the pass before it begins.
    ///
    /// The list stays in its recording, which keeps alive the objects dropped meanwhile. Two recordings cannot swap their
    /// lists:
    ///
    /// ```compile_fail,E0308
    /// # fn example<D: tenure::device::Device>(
    /// #     a: &mut tenure::Recording<D>,
    /// #     b: &mut tenure::Recording<D>,
    /// # ) {
    /// std::mem::swap(a.raw(), b.raw());
    /// # }
    /// ```
    #[must_use]
    pub fn raw(&mut self) -> &D::List {
        self.open.recorded()
    }

    /// The device's command list, for commands that this recording lacks, such as copies of resources that the program tracks
    /// itself. The caller must not close, begin, replace or swap it; all resources in its commands must be in the right state,
    /// belong to the same device, and be alive. Barriers as for [`raw`](Self::raw).
    pub fn raw_mut(&mut self, _: Permit<D>) -> &mut D::List {
        self.open.record_pending();
        self.open.list()
    }

    /// Declares that the next command uses a resource in `state`. The necessary barriers are recorded by
    /// [`barriers`](Self::barriers), when the list is requested ([`raw`](Self::raw)), before the next command of the recording
    /// itself, or at its end. So programs need not call `barriers`, unless they keep a handle from the
    /// list: then call it before each command. A range of a buffer shares the state of the whole buffer.
    ///
    /// The next command must make the declared use: do not declare the use of a command that is skipped. On Direct3D 12 with
    /// resource states, the first use in a submission promotes a resource into its state, so after a use that was declared but
    /// not made, later barriers begin from a state that the resource is not in.
    ///
    /// Declare all uses of a render pass before it begins, because neither API allows these barriers inside one.
    ///
    /// Writes of commands to a mapped buffer in a declared state are visible to the CPU when the submission is complete.
    ///
    /// The part of a texture is a [`Subresource`], or a range of mips and layers: [`Subresources`]. For all resources of a set
    /// or a table at once: [`use_set`](Self::use_set), [`use_table`](Self::use_table), [`use_binds`](Self::use_binds).
    ///
    /// # Errors
    /// [`Error::State`] for a state that the resource or this queue does not allow, and for a part that does not exist;
    /// [`Error::FixedState`] for a state that its memory does not allow; [`Error::Foreign`] for a resource of another manager.
    #[inline(never)]
    pub fn use_resource<'a>(
        &mut self,
        resource: impl Into<Used<'a, D>>,
        part: impl Into<Subresources>,
        state: State,
    ) -> Result<(), Error> {
        let (used, parts) = (resource.into(), part.into());
        match parts.single() {
            Some(part) => self.use_part(&used, part, state),
            None => self.use_parts(&used, parts, state),
        }
    }

    #[inline(always)]
    fn use_part(&mut self, used: &Used<'_, D>, part: Subresource, state: State) -> Result<(), Error> {
        let place = self.check(used, part, state)?;
        self.enter(&place);
        self.open.note(place.api_resource(), part, state);
        Ok(())
    }

    #[cold]
    fn use_parts(&mut self, used: &Used<'_, D>, parts: Subresources, state: State) -> Result<(), Error> {
        let mut parts = parts.each(used.info).map_err(|source| used.refuse(source))?;
        parts.try_for_each(|part| self.use_part(used, part, state))
    }

    /// Keeps a buffer in its place until the recording ends.
    fn hold(&mut self, buffer: &Buffer<D>) {
        if let Some(movable) = buffer.inner.as_movable() {
            self.holds.hold(movable, None);
        }
    }

    /// The API object of a resource and its location in it, if `state` is allowed here. Holds the location, but records no use.
    #[inline(always)]
    pub(super) fn check<'a>(
        &mut self,
        used: &Used<'a, D>,
        subresource: Subresource,
        state: State,
    ) -> Result<PlaceRef<'a, D>, Error> {
        let place = used.check_place(&self.services.context, subresource, state, &mut self.holds)?;
        self.check_found(used.name(), &place, subresource, state)?;
        Ok(place)
    }

    /// The checks that depend on the location of a resource.
    #[inline(always)]
    pub(super) fn check_found(
        &self,
        name: &Name,
        place: &PlaceRef<'_, D>,
        subresource: Subresource,
        state: State,
    ) -> Result<(), Error> {
        if let Some(aliased_range) = place.aliased_range() {
            self.check_acquired(name, aliased_range)?;
        }
        let cell = &place.api_resource().states;
        if let Some(declared) = cell.read_only() {
            return self
                .check_read(cell, (subresource, state), declared)
                .map_err(|source| refused(name, source));
        }
        let checked = self.check_layout(cell, state);
        let checked = checked.and_then(|()| self.open.tracker.check_cell(cell, subresource, state));
        checked.map_err(|source| refused(name, source))
    }

    /// Checks a use of a read-only resource.
    fn check_read(
        &self,
        cell: &StateCell,
        (part, state): (Subresource, State),
        declared: State,
    ) -> Result<(), StateError> {
        let model = self.services.context.device().properties().state_model;
        cell.check_read_only(state, declared, model, self.open.tracker.queue_kind())?;
        self.open.tracker.check_cell(cell, part, state)
    }

    /// Checks that no other open recording has acquired a transient resource.
    fn check_acquired(&self, name: &Name, aliased_range: &AliasedRange<D>) -> Result<(), Error> {
        let acquired_by = aliased_range.acquired_by();
        if acquired_by != self.id.get() && self.services.context.recordings.is_open(acquired_by) {
            let (name, recording, id) = (name.clone(), self.name.clone(), self.id);
            return Err(Error::NotAcquired { name, acquired_by, recording, id });
        }
        Ok(())
    }

    /// Activates a transient resource in its memory. Must precede the use that [`check`](Self::check) has checked.
    #[inline]
    pub(super) fn enter(&mut self, place: &PlaceRef<'_, D>) {
        if let Some(aliased_range) = place.aliased_range() {
            self.open.begin_handoff(place.api_resource(), aliased_range);
        }
    }

    #[inline]
    pub(super) fn check_layout(&self, cell: &StateCell, state: State) -> Result<(), StateError> {
        let is_vulkan = || self.services.context.device().properties().api == Api::Vulkan;
        let is_texture = cell.kind() == ResourceKind::Texture;
        match is_texture && is_vulkan() && state.is_valid() && has_no_layout(state) {
            true => Err(StateError::NoCommonLayout { state }),
            false => Ok(()),
        }
    }

    /// As [`use_resource`](Self::use_resource), for readback memory.
    fn use_page(&mut self, name: &Name, page: &Tracked<D>) -> Result<(), Error> {
        let required = self.open.require(page, Subresource::All, State::COPY_DST);
        required.map_err(|source| Error::State { name: name.clone(), source })
    }

    /// Records the barriers of all uses declared since the last call, in one group: call it after the
    /// [`use_resource`](Self::use_resource) calls of a command. The next command would record them anyway; this call determines
    /// their position.
    #[inline]
    pub fn barriers(&mut self) {
        self.open.record_pending();
    }

    /// Sets the manager's descriptor heaps for the following commands: the heaps of [tables](crate::DescriptorTable) and of
    /// [`Scratch::descriptors`](crate::Scratch::descriptors). Call it once for each list that uses them, before their first use,
    /// and again after the program has set its own heaps. On Direct3D 12, and on Vulkan with descriptor buffers, a heap of each
    /// kind is set, and created on first use. In a graph, call it in each pass that uses them: a pass may begin a list, and
    /// setting the same heaps again is cheap. No effect on devices without such heaps, and for programs that bind descriptors
    /// themselves (sets on Vulkan).
    ///
    /// # Errors
    /// [`Error::Device`] on a copy queue, which runs no shaders, for a shortage when the heaps are created, or a lost device.
    #[inline(never)]
    pub fn set_descriptor_heaps(&mut self) -> Result<(), Error> {
        if self.open.tracker.queue_kind() == QueueKind::Copy {
            let rule = "queues for copies alone run no shaders (queue)";
            let source = DeviceError::invalid_value(rule, u64::from(self.queue.0));
            return Err(Error::device(&self.name, source));
        }
        if !self.services.context.device().properties().sets_descriptor_heaps() {
            return Ok(());
        }
        let [resources, samplers] = self.services.descriptors.visible_heaps(&*self.services, &self.name)?;
        if resources.is_some() || samplers.is_some() {
            self.open.list().set_descriptor_heaps(resources, samplers);
        }
        Ok(())
    }

    /// Copies bytes from one buffer to another, barriers included.
    ///
    /// Consecutive copies between buffers, and between buffers and textures, are recorded together, before the first command that
    /// depends on one of them or is not such a copy: they share barriers, and copies between the same two API objects become one
    /// Vulkan command. A program that keeps a handle from the list must therefore call [`barriers`](Self::barriers) after copies,
    /// too.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::State`]; [`Error::Device`] when both are ranges of the same
    /// API buffer, which cannot be source and destination at once.
    #[inline(never)]
    pub fn copy_buffer(
        &mut self,
        src: &Buffer<D>,
        src_offset: u64,
        dst: &Buffer<D>,
        dst_offset: u64,
        size: u64,
    ) -> Result<(), Error> {
        check_range(src, src_offset, size)?;
        check_range(dst, dst_offset, size)?;
        let copied = self.keep_copy((src, Subresource::All), (dst, Subresource::All), |from, to| {
            let (src_offset, dst_offset) = (from + src_offset, to + dst_offset);
            CopiedParts::Bytes(BufferRegion { src_offset, dst_offset, size })
        });
        copied.map_err(|error| self.why_not_copied(src, dst, error))
    }

    /// Copies texels from a buffer to a texture, barriers included. `layout.offset` counts from
    /// the beginning of `src`.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::OutOfRange`] when the texels exceed the buffer; [`Error::Device`] for a
    /// region outside the texture, or an offset or pitch without the alignment that the device's properties require.
    #[inline(never)]
    pub fn copy_buffer_to_texture(
        &mut self,
        src: &Buffer<D>,
        layout: BufferLayout,
        dst: &Texture<D>,
        region: TextureRegion,
    ) -> Result<(), Error> {
        let features = self.services.context.device().properties().features;
        check::copy_to_plane(features, region.plane).map_err(|source| Error::device(dst.name(), source))?;
        self.hold(src);
        let bytes = self.check_texels((src.name(), src.place().offset()), layout, dst, region)?;
        check_range(src, layout.offset, bytes)?;
        self.keep_copy((src, Subresource::All), (dst, subresource(dst, region)), |from, _| {
            CopiedParts::ToTexture(BufferLayout { offset: from + layout.offset, ..layout }, region)
        })
    }

    /// Copies texels from a texture to a buffer, barriers included. `layout.offset` counts from
    /// the beginning of `dst`.
    ///
    /// # Errors
    /// As [`copy_buffer_to_texture`](Self::copy_buffer_to_texture).
    #[inline(never)]
    pub fn copy_texture_to_buffer(
        &mut self,
        src: &Texture<D>,
        region: TextureRegion,
        dst: &Buffer<D>,
        layout: BufferLayout,
    ) -> Result<(), Error> {
        self.hold(dst);
        let bytes = self.check_texels((dst.name(), dst.place().offset()), layout, src, region)?;
        check_range(dst, layout.offset, bytes)?;
        self.keep_copy((src, subresource(src, region)), (dst, Subresource::All), |_, to| {
            CopiedParts::ToBuffer(region, BufferLayout { offset: to + layout.offset, ..layout })
        })
    }

    /// Copies whole subresources of a texture to the same subresources of another texture, barriers included: all samples, and
    /// both depth and stencil. The textures must be equal in dimension, format, width, height, depth or layers, mips and samples;
    /// usage, clear value and view formats may differ. Takes time linear in the number of subresources.
    ///
    /// Queues of all kinds copy colour with one sample; only graphics queues copy depth, stencil and several samples.
    ///
    /// # Errors
    /// [`Error::Device`] for textures that are not equal, with the two values, for equal source and destination, for a
    /// subresource that does not exist, and for texels that the queue cannot copy; otherwise as
    /// [`use_resource`](Self::use_resource). On error nothing is recorded.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{
    ///     Config, Format, Gpu, Queue, Subresource, TextureDesc, Usage, resource::TexelData, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = TextureDesc::d2(2, 2, Format::R8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
    /// let rock = gpu.create_texture_with(&desc, &[TexelData::new(&[1, 2, 3, 4])])?;
    /// let copy = gpu.create_texture(&desc)?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "move")?;
    /// recording.copy_texture(&rock, &copy, Subresource::All)?;
    /// drop(rock);
    /// let texels = recording.read_back_texture(&copy, desc.info.region(0, 0))?;
    /// frame.submit(recording)?;
    /// frame.end()?;
    /// assert_eq!(texels.wait(Duration::from_secs(1))?, [1, 2, 3, 4]);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn copy_texture(
        &mut self,
        src: &Texture<D>,
        dst: &Texture<D>,
        part: impl Into<Subresources>,
    ) -> Result<(), Error> {
        let parts = part.into();
        let mut parts = parts.each(Some(src.info())).map_err(|source| Used::from(src).refuse(source))?;
        parts.try_for_each(|part| self.copy_subresource(src, dst, part))
    }

    fn copy_subresource(
        &mut self,
        src: &Texture<D>,
        dst: &Texture<D>,
        subresource: Subresource,
    ) -> Result<(), Error> {
        let kind = self.open.tracker.queue_kind();
        let features = self.services.context.device().properties().features;
        let checked = match std::ptr::eq(&src.inner, &dst.inner) {
            true => Err(DeviceError::broken_rule(CallRule::CopyToAnother)),
            false => check::texture_copy((src.info(), dst.info()), subresource, kind)
                .and_then(|()| check::copy_to_layers(features, dst.info(), subresource)),
        };
        checked.map_err(|source| Error::device(dst.name(), source))?;
        let (from, to) = self.use_both((src, subresource), (dst, subresource))?;
        self.open.list().copy_texture(from.object(), to.object(), subresource);
        Ok(())
    }

    /// Discards the contents of a texture's subresources, barriers included: they are undefined afterwards, and Direct3D 12 need
    /// not preserve them. The manager itself discards render targets that are new or have new memory before their first use.
    ///
    /// The texture ends in the state given by [`State::to_discard`]: a target state, or unordered access.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::Device`] for a texture that this queue cannot
    /// discard.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, Queue, Subresource, TextureDesc, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    /// let target = gpu.create_texture(&desc)?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "resolve")?;
    /// recording.discard(&target, Subresource::All)?;
    /// // … draw over all of it …
    /// frame.submit(recording)?;
    /// frame.end()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn discard(&mut self, texture: &Texture<D>, part: impl Into<Subresources>) -> Result<(), Error> {
        let (usage, parts) = (texture.info().usage, part.into());
        let Some(state) = State::to_discard(usage, self.open.tracker.queue_kind()) else {
            let source = DeviceError::cannot_discard(usage);
            return Err(Error::device(texture.name(), source));
        };
        self.barriers();
        self.use_resource(texture, parts, state)?;
        self.barriers();
        let parts = parts.each(Some(texture.info())).map_err(|source| Used::from(texture).refuse(source))?;
        parts.for_each(|part| self.open.list().discard(texture.place().object(), part));
        Ok(())
    }

    /// Copies bytes of an upload ring to a buffer, barriers included.
    ///
    /// # Errors
    /// As [`copy_buffer`](Self::copy_buffer).
    #[inline(never)]
    pub fn copy_slice(
        &mut self,
        src: &RingSlice<'_, D>,
        src_offset: u64,
        dst: &Buffer<D>,
        dst_offset: u64,
        size: u64,
    ) -> Result<(), Error> {
        src.check_copied(&self.services.context)?;
        src.check(src_offset, size)?;
        check_range(dst, dst_offset, size)?;
        self.barriers();
        self.use_resource(dst, Subresource::All, State::COPY_DST)?;
        self.barriers();
        let (from, to) = (src.offset() + src_offset, dst.place());
        self.open.list().copy_buffer(src.raw(), from, to.object(), to.offset() + dst_offset, size);
        Ok(())
    }

    /// Copies texels of an upload ring to a texture, barriers included. `layout.offset` counts from
    /// the beginning of `src`.
    ///
    /// # Errors
    /// As [`copy_buffer_to_texture`](Self::copy_buffer_to_texture).
    #[inline(never)]
    pub fn copy_slice_to_texture(
        &mut self,
        src: &RingSlice<'_, D>,
        layout: BufferLayout,
        dst: &Texture<D>,
        region: TextureRegion,
    ) -> Result<(), Error> {
        src.check_copied(&self.services.context)?;
        let bytes = self.check_texels((src.name(), src.offset()), layout, dst, region)?;
        src.check(layout.offset, bytes)?;
        self.barriers();
        self.use_resource(dst, subresource(dst, region), State::COPY_DST)?;
        self.barriers();
        let layout = BufferLayout { offset: src.offset() + layout.offset, ..layout };
        self.open.list().copy_buffer_to_texture(src.raw(), layout, dst.place().object(), region);
        Ok(())
    }

    /// Copies `size` bytes at `offset` of a buffer to the CPU, barriers included. They are available when the submission is
    /// complete.
    ///
    /// The copy is never divided: the GPU writes all bytes in one submission, so all of them need readback memory at once. For
    /// sizes beyond that memory, submit the recording and call [`Gpu::read_back_into`](crate::Gpu::read_back_into).
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::State`], [`Error::FixedState`], [`Error::Foreign`]; [`Error::OutOfMemory`];
    /// [`Error::Device`] for a size of 0, or a lost device.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{BufferDesc, Config, Gpu, Queue, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = BufferDesc::new(4, Usage::UNORDERED_ACCESS | Usage::COPY_SRC).name("hits");
    /// let hits = gpu.create_buffer_with(&desc, &7_u32.to_le_bytes())?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "picking")?;
    /// let readback = recording.read_back(&hits, 0, 4)?;
    /// assert_eq!(readback.poll()?, None);
    /// frame.submit(recording)?;
    /// frame.end()?;
    /// assert_eq!(readback.wait(Duration::from_secs(1))?, 7_u32.to_le_bytes());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn read_back(&mut self, buffer: &Buffer<D>, offset: u64, size: u64) -> Result<Readback<D>, Error> {
        self.read_back_as(buffer, (offset, size), AllocationFlags::empty())
    }

    /// As [`read_back`](Self::read_back), with allocation flags for the memory.
    pub(crate) fn read_back_as(
        &mut self,
        buffer: &Buffer<D>,
        (offset, size): (u64, u64),
        flags: AllocationFlags,
    ) -> Result<Readback<D>, Error> {
        /// Alignment of readbacks, in bytes.
        const ALIGNMENT: u64 = 16;
        check_range(buffer, offset, size)?;
        self.barriers();
        if size == 0 {
            let source = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
            return Err(Error::device(buffer.name(), source));
        }
        let used = Used::from(buffer);
        let source = self.check(&used, Subresource::All, State::COPY_SRC)?;
        let rows = Rows::Bytes(size);
        let memory = (ALIGNMENT, flags);
        let readback = Readback::reserve(&self.services, &self.name, buffer.name(), rows, memory)?;
        let page = readback.page();
        self.enter(&source);
        self.open.note(source.api_resource(), Subresource::All, State::COPY_SRC);
        self.use_page(buffer.name(), &page.tracked())?;
        self.barriers();
        let (from, to) = (buffer.place(), readback.start());
        self.open.list().copy_buffer(from.object(), from.offset() + offset, page.resource(), to, size);
        self.open.tickets.push(readback.ticket().clone());
        Ok(readback)
    }

    /// Copies texels of a texture to the CPU, barriers included. They are available when the submission is complete, without
    /// padding between rows and slices.
    ///
    /// # Errors
    /// As [`read_back`](Self::read_back), and as
    /// [`copy_texture_to_buffer`](Self::copy_texture_to_buffer) for the region.
    #[inline(never)]
    pub fn read_back_texture(
        &mut self,
        texture: &Texture<D>,
        region: TextureRegion,
    ) -> Result<Readback<D>, Error> {
        self.read_back_texture_as(texture, region, AllocationFlags::empty())
    }

    /// As [`read_back_texture`](Self::read_back_texture), with allocation flags for the memory.
    pub(crate) fn read_back_texture_as(
        &mut self,
        texture: &Texture<D>,
        region: TextureRegion,
        flags: AllocationFlags,
    ) -> Result<Readback<D>, Error> {
        let (name, info) = (texture.name(), texture.info());
        let refuse = |source| Error::device(name, source);
        let features = self.services.context.device().properties().features;
        region.check_copy(info, features, self.open.tracker.queue_kind()).map_err(refuse)?;
        self.barriers();
        let used = Used::from(texture);
        let source = self.check(&used, subresource(texture, region), State::COPY_SRC)?;
        let block = region.block(info.format);
        let alignments = &self.services.context.alignments;
        let rows = Footprint::new(block, region.extent, alignments.copy_pitch.max(block.bytes.into()));
        let rows = rows.map_err(refuse)?;
        let align = alignments.copy_offset.max(info.format.copy_alignment(region.plane));
        let texels = Rows::Texels(rows);
        let readback = Readback::reserve(&self.services, &self.name, name, texels, (align, flags))?;
        let page = readback.page();
        self.enter(&source);
        self.open.note(source.api_resource(), subresource(texture, region), State::COPY_SRC);
        self.use_page(name, &page.tracked())?;
        self.barriers();
        let layout = BufferLayout { offset: readback.start(), row_pitch: rows.row_pitch, rows: rows.rows };
        self.open.list().copy_texture_to_buffer(texture.place().object(), region, page.resource(), layout);
        self.open.tickets.push(readback.ticket().clone());
        Ok(readback)
    }

    /// The error of a copy: a shared API buffer takes precedence over other errors.
    #[cold]
    fn why_not_copied(&mut self, src: &Buffer<D>, dst: &Buffer<D>, error: Error) -> Error {
        [src, dst].into_iter().for_each(|buffer| self.hold(buffer));
        match std::ptr::eq(src.place().object(), dst.place().object()) {
            true => shared_buffer(dst.name()),
            false => error,
        }
    }

    /// Declares both uses of a copy and records the barriers. Returns the locations of source and destination. If either use is
    /// refused, neither is recorded.
    #[inline]
    fn use_both<'a>(
        &mut self,
        (src, src_part): (impl Into<Used<'a, D>>, Subresource),
        (dst, dst_part): (impl Into<Used<'a, D>>, Subresource),
    ) -> Result<(PlaceRef<'a, D>, PlaceRef<'a, D>), Error> {
        self.barriers();
        let (source, target) = self.check_both((src.into(), src_part), (dst.into(), dst_part))?;
        self.open.note(source.api_resource(), src_part, State::COPY_SRC);
        self.open.note(target.api_resource(), dst_part, State::COPY_DST);
        self.barriers();
        Ok((source, target))
    }

    /// Adds a copy that may be deferred; `parts` receives the offsets of the two locations in their API objects.
    #[inline]
    fn keep_copy<'a>(
        &mut self,
        (src, src_part): (impl Into<Used<'a, D>>, Subresource),
        (dst, dst_part): (impl Into<Used<'a, D>>, Subresource),
        parts: impl FnOnce(u64, u64) -> CopiedParts,
    ) -> Result<(), Error> {
        self.open.begin_copy();
        let (source, target) = self.check_both((src.into(), src_part), (dst.into(), dst_part))?;
        let (from, to) = ((source.api_resource(), src_part), (target.api_resource(), dst_part));
        self.open.keep_copy(from, to, parts(source.offset(), target.offset()));
        Ok(())
    }

    /// The locations of the two resources of a copy, which are activated.
    #[inline]
    fn check_both<'a>(
        &mut self,
        (src, src_part): (Used<'a, D>, Subresource),
        (dst, dst_part): (Used<'a, D>, Subresource),
    ) -> Result<(PlaceRef<'a, D>, PlaceRef<'a, D>), Error> {
        let source = self.check(&src, src_part, State::COPY_SRC)?;
        let target = self.check(&dst, dst_part, State::COPY_DST)?;
        if Arc::ptr_eq(source.api_resource(), target.api_resource()) {
            return Err(shared_buffer(dst.name()));
        }
        self.enter(&source);
        self.enter(&target);
        Ok((source, target))
    }

    /// Checks that a copy stays within the texture and is aligned. `buffer` and `start` are the name of the buffer and its offset
    /// in the API buffer. Returns the bytes that the copy needs in the buffer; later bytes belong to other resources.
    fn check_texels(
        &self,
        (buffer, start): (&Name, u64),
        layout: BufferLayout,
        texture: &Texture<D>,
        region: TextureRegion,
    ) -> Result<u64, Error> {
        let refuse = |name: &Name, rule, value, limit| {
            let source = DeviceError::invalid_call(rule, value, limit);
            Err(Error::Device { name: name.clone(), source })
        };
        let kind = self.open.tracker.queue_kind();
        let features = self.services.context.device().properties().features;
        region
            .check_copy(texture.info(), features, kind)
            .map_err(|source| Error::device(texture.name(), source))?;
        // Whole blocks, even where the device requires less.
        let (format, block) = (texture.info().format, region.block(texture.info().format));
        let align_offset =
            self.services.context.alignments.copy_offset.max(format.copy_alignment(region.plane));
        let align_pitch = self.services.context.alignments.copy_pitch.max(block.bytes.into());
        let offset = start.saturating_add(layout.offset);
        if !offset.is_multiple_of(align_offset) {
            let rule = "the offset of texels must be aligned (see BufferDesc::alignment)";
            return refuse(buffer, rule, offset, align_offset);
        }
        if !layout.row_pitch.is_multiple_of(align_pitch) {
            let rule = "the row pitch of texels must be aligned";
            return refuse(buffer, rule, layout.row_pitch, align_pitch);
        }
        Ok(layout.bytes(block, region.extent).unwrap_or(u64::MAX))
    }
}

fn subresource<D: Device>(texture: &Texture<D>, region: TextureRegion) -> Subresource {
    Subresource::One(region.layer.saturating_mul(texture.info().mips).saturating_add(region.mip))
}

/// The refusal of a copy between ranges of one API buffer.
fn shared_buffer(name: &Name) -> Error {
    let rule = "source and destination of a copy must not share an API buffer";
    Error::device(name, DeviceError::broken_rule(rule))
}

fn check_range<D: Device>(buffer: &Buffer<D>, offset: u64, size: u64) -> Result<(), Error> {
    let capacity = buffer.size();
    let is_inside = offset.checked_add(size).is_some_and(|end| end <= capacity);
    let name = || buffer.name().clone();
    if is_inside { Ok(()) } else { Err(Error::OutOfRange { name: name(), offset, size, capacity }) }
}

#[cold]
fn refused(name: &Name, source: StateError) -> Error {
    Error::State { name: name.clone(), source }
}

/// True for read states whose only Vulkan layout is `GENERAL`, the layout of unordered access.
fn has_no_layout(state: State) -> bool {
    !state.intersects(State::UNORDERED) && Layout::of(state) == Layout::General
}
