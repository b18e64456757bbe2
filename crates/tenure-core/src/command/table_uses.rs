//! The uses of all resources of sets and tables, declared together.

use std::sync::Arc;

use super::Commands;
use crate::context::Context;
use crate::descriptor::{Bind, BoundUse, DescriptorSet, DescriptorTable, ShaderStages, ShownUse};
use crate::device::{Device, State, Subresource};
use crate::{Error, Name};

impl<D: Device> Commands<D> {
    /// Declares that the next command uses all resources of a set, as [`use_resource`](Self::use_resource) does for one: views
    /// of textures declare their mips and layers. Samplers and constants of a recording need no declaration.
    ///
    /// | descriptor | state |
    /// | --- | --- |
    /// | read-only buffer, sampled texture (also depth) | the shader states of `stages` |
    /// | writable buffer or texture | [`State::UNORDERED_ACCESS`], or that of `stages` alone |
    /// | constants | [`State::VERTEX_OR_CONSTANT`] |
    /// | input attachment | [`State::PIXEL_SHADER`] |
    /// | acceleration structure | [`State::ACCELERATION_STRUCTURE`] |
    ///
    /// Reads of a resource by several descriptors, sets and calls of [`use_resource`](Self::use_resource) for the same command
    /// are combined. Resources that shaders reach without a descriptor of the set, such as bottom-level acceleration
    /// structures, are declared separately.
    ///
    /// O(descriptors of the set + subresources that its views show in part); no allocation beyond that of
    /// [`use_resource`](Self::use_resource).
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource), with the name of the resource; [`Error::State`] with
    /// [`InvalidCombination`](crate::state::StateError::InvalidCombination) when the same command reads and writes a part of
    /// it, by this call or an earlier one; [`Error::Foreign`] for a set of another manager. The uses of the descriptors before
    /// the refused one are declared.
    ///
    /// ```
    /// use tenure::{
    ///     BufferDesc, BufferViewDesc, Config, DescriptorSetDesc, Format, Gpu, Queue,
    ///     SetDescriptor, SetLayoutDesc, ShaderStages, State, Subresource, TextureDesc,
    ///     TextureViewDesc, Usage, descriptor::{BindingKind, SetBinding}, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    /// let scene = gpu.create_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage).name("scene"))?;
    /// let histogram = gpu.create_buffer(&BufferDesc::new(1024, Usage::UNORDERED_ACCESS).name("histogram"))?;
    /// let (read, written) = (
    ///     gpu.create_texture_view(&scene, &TextureViewDesc::sampled())?,
    ///     gpu.create_buffer_view(&histogram, &BufferViewDesc::raw_writable())?,
    /// );
    /// let bindings = [SetBinding::new(0, BindingKind::Texture), SetBinding::new(1, BindingKind::Buffer)];
    /// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings))?;
    /// let binds = [SetDescriptor::new(0, &read), SetDescriptor::new(1, &written)];
    /// let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("exposure"))?;
    ///
    /// let mut recording = gpu.record(Queue::Graphics, "exposure")?;
    /// recording.use_resource(&scene, Subresource::All, State::RENDER_TARGET)?;
    /// let _draw = recording.raw();
    /// recording.use_set(&set, ShaderStages::NonPixel)?; // the scene is read, the histogram written
    /// let _dispatch = recording.raw();
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn use_set(&mut self, set: &DescriptorSet<D>, stages: ShaderStages) -> Result<(), Error> {
        self.use_all_shown(set.context(), set.name(), set.shown(stages))
    }

    /// Declares that the next command uses all resources of a table: as [`use_set`](Self::use_set), for a pass that accesses
    /// all of them. For shaders that select a few resources of a large table, declare only those with
    /// [`use_resource`](Self::use_resource): the next command must make each declared use.
    ///
    /// O(descriptors of the table + subresources that its views show in part).
    ///
    /// # Errors
    /// As [`use_set`](Self::use_set).
    ///
    /// ```
    /// use tenure::{
    ///     BufferDesc, BufferViewDesc, Config, DescriptorTableDesc, Gpu, Queue, ShaderStages, Usage, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let particles = gpu.create_buffer(&BufferDesc::new(4800, Usage::UNORDERED_ACCESS).name("particles"))?;
    /// let particles = gpu.create_buffer_view(&particles, &BufferViewDesc::structured_writable(48))?;
    /// let binds = [(&particles).into()];
    /// let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("particles"))?;
    ///
    /// let mut recording = gpu.record(Queue::Graphics, "simulate")?;
    /// recording.set_descriptor_heaps()?;
    /// recording.use_table(&table, ShaderStages::NonPixel)?;
    /// let _dispatch = (recording.raw(), table.first());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn use_table(&mut self, table: &DescriptorTable<D>, stages: ShaderStages) -> Result<(), Error> {
        self.use_all_shown(table.context(), table.name(), table.shown(stages))
    }

    /// Declares that the next command uses the resources of these descriptors: as [`use_set`](Self::use_set), for a set or
    /// descriptors of this recording. `binds` are those passed to [`Scratch::set`](crate::Scratch::set) or
    /// [`Scratch::descriptors`](crate::Scratch::descriptors).
    ///
    /// O(descriptors + subresources that views show in part).
    ///
    /// # Errors
    /// As [`use_set`](Self::use_set); [`Error::Device`] for a view of a target.
    ///
    /// ```
    /// use tenure::{BufferDesc, BufferViewDesc, Config, Gpu, Queue, ShaderStages, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mesh = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).name("mesh"))?;
    /// let mesh = gpu.create_buffer_view(&mesh, &BufferViewDesc::raw())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (commands, scratch) = recording.split();
    /// commands.set_descriptor_heaps()?;
    /// let binds = [scratch.constants(&[1.0_f32; 64])?.into(), (&mesh).into()];
    /// let table = scratch.descriptors(&binds)?;
    /// commands.use_binds(&binds, ShaderStages::NonPixel)?;
    /// let _draw = (commands.raw(), table.first());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn use_binds<'a>(
        &mut self,
        binds: impl IntoIterator<Item: Into<Bind<'a, D>>>,
        stages: ShaderStages,
    ) -> Result<(), Error>
    where
        D: 'a,
    {
        binds.into_iter().try_for_each(|bind| self.use_bind(bind.into(), stages))
    }

    #[inline(never)]
    fn use_bind(&mut self, bind: Bind<'_, D>, stages: ShaderStages) -> Result<(), Error> {
        match bind.shown(stages)? {
            Some(BoundUse::View(shown)) => {
                self.check_manager(shown.resource.context(), shown.resource.name())?;
                self.use_shown(&shown)
            }
            Some(BoundUse::Structure(structure)) => {
                self.use_resource(structure, Subresource::All, State::ACCELERATION_STRUCTURE)
            }
            None => Ok(()),
        }
    }

    #[inline]
    fn use_all_shown<'a>(
        &mut self,
        context: &Arc<Context<D>>,
        name: &Name,
        mut shown: impl Iterator<Item = ShownUse<'a, D>>,
    ) -> Result<(), Error>
    where
        D: 'a,
    {
        self.check_manager(context, name)?;
        shown.try_for_each(|shown| self.use_shown(&shown))
    }

    /// Checks that an object belongs to the manager.
    pub(super) fn check_manager(&self, context: &Arc<Context<D>>, name: &Name) -> Result<(), Error> {
        match Arc::ptr_eq(context, self.context()) {
            true => Ok(()),
            false => Err(Error::Foreign { name: name.clone() }),
        }
    }

    /// Unlike in [`use_resource`](Self::use_resource), a use that contradicts another one of the same command is refused,
    /// because callers do not see all resources of a set.
    fn use_shown(&mut self, shown: &ShownUse<'_, D>) -> Result<(), Error> {
        let ShownUse { resource, state, .. } = *shown;
        for part in shown.parts() {
            let place = resource.check_place(part, state, &mut self.holds)?;
            self.check_found(resource.name(), &place, part, state)?;
            self.enter(&place);
            let cell = &place.api_resource().states;
            if cell.read_only().is_some() {
                continue;
            }
            self.open.record_kept();
            let combined = self.open.tracker.combined(cell, part, state);
            let checked = combined.and_then(|state| self.check_layout(cell, state).map(|()| state));
            let combined =
                checked.map_err(|source| Error::State { name: resource.name().clone(), source })?;
            self.open.note(place.api_resource(), part, combined);
        }
        Ok(())
    }
}
