//! Locations of resources, and of their descriptors, for one recording.

use std::sync::Arc;

use super::Scratch;
use crate::api_resource::ApiResource;
use crate::context::Context;
use crate::descriptor::{
    Bind, BoundUse, DescriptorSet, DescriptorTable, Descriptors, Set, ShaderStages, ShownUse, View,
};
use crate::device::Device;
use crate::held_objects::LazyHeldObjects;
use crate::memory::Holder;
use crate::resource::{Buffer, BufferSlice, HandleInner, Texture};
use crate::{Error, Name};

impl<'r, D: Device> Scratch<'r, D> {
    /// The location of a buffer for this recording: the API buffer, the offset in it, and the GPU address. For a
    /// [movable](crate::BufferDesc::movable) buffer it is valid until the recording is submitted; the buffer does not move
    /// meanwhile. An [evictable](crate::BufferDesc::evictable) buffer is made resident for the submission.
    ///
    /// O(1). Declare the states that commands need with [`use_resource`](crate::Commands::use_resource).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a buffer of another manager.
    #[inline(never)]
    pub fn buffer(&self, buffer: &'r Buffer<D>) -> Result<BufferSlice<'r, D>, Error> {
        self.check_owner(&buffer.inner)?;
        let (api_resource, offset) = match buffer.inner.as_movable() {
            Some(movable) => self.held_objects().get().hold(movable),
            None => (&**buffer.api_resource(), buffer.offset()),
        };
        self.note_block(api_resource);
        let address = api_resource.address.map(|base| base + offset);
        let (resource, size) = (&api_resource.object, buffer.size());
        Ok(BufferSlice { context: &self.services.context, resource, offset, size, address })
    }

    /// The API texture of a texture for this recording. For a [movable](crate::TextureDesc::movable) texture it is valid until
    /// the recording is submitted; the texture does not move meanwhile. An [evictable](crate::TextureDesc::evictable) texture
    /// is made resident for the submission.
    ///
    /// O(1). Declare the states that commands need with [`use_resource`](crate::Commands::use_resource).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a texture of another manager.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, Queue, TextureDesc, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).movable();
    /// let grass = gpu.create_texture(&grass)?;
    /// let mut recording = gpu.record(Queue::Graphics, "meadow")?;
    /// let (commands, scratch) = recording.split();
    /// let _bind = (commands.raw(), scratch.texture(&grass)?);
    /// recording.submit()?;
    /// assert!(!grass.is_pinned());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn texture(&self, texture: &'r Texture<D>) -> Result<&'r D::Resource, Error> {
        self.check_owner(&texture.inner)?;
        let api_resource = match texture.inner.as_movable() {
            Some(movable) => self.held_objects().get().hold(movable).0,
            None => texture.inner.api_resource(),
        };
        self.note_block(api_resource);
        Ok(&api_resource.object)
    }

    /// The descriptor of a view for this recording, in a heap that is not shader-visible: for render passes. A
    /// [movable](crate::TextureDesc::movable) resource does not move meanwhile; an [evictable](crate::TextureDesc::evictable)
    /// one is made resident for the submission.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a view of another manager.
    #[inline(never)]
    pub fn view(&self, view: &'r View<D>) -> Result<Descriptors<'r, D>, Error> {
        self.check_context(view.context(), view.name())?;
        let descriptor = view.hold(self.held_objects());
        view.each_block(|block| self.shown.note(block));
        Ok(descriptor)
    }

    /// The range of a table for this recording: the index of its first descriptor in the shader-visible heap.
    /// [Movable](crate::TextureDesc::movable) resources do not move meanwhile; [evictable](crate::TextureDesc::evictable) ones
    /// are made resident for the submission.
    ///
    /// O(1) if none of its resources is movable or evictable, else O(descriptors).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a table of another manager.
    ///
    /// ```
    /// use tenure::{
    ///     Config, DescriptorTableDesc, Format, Gpu, Queue, TextureDesc, TextureViewDesc, Usage, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).movable();
    /// let grass = gpu.create_texture(&grass)?;
    /// let view = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
    /// let meadow = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]))?;
    ///
    /// let mut recording = gpu.record(Queue::Graphics, "meadow")?;
    /// let (commands, scratch) = recording.split();
    /// commands.set_descriptor_heaps()?;
    /// let table = scratch.table(&meadow)?;
    /// let _draw = (commands.raw(), table.heap(), table.first());
    /// recording.submit()?;
    /// assert!(!grass.is_pinned());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn table(&self, table: &'r DescriptorTable<D>) -> Result<Descriptors<'r, D>, Error> {
        self.check_context(table.context(), table.name())?;
        let row = table.hold(self.held_objects());
        table.each_block(|block| self.shown.note(block));
        if self.reports_unnamed_uses() && self.bound.is_first(table.registry_key_bits()) {
            let container = Some((table.registry_key_bits(), table.name()));
            table.shown(ShaderStages::All).for_each(|shown| self.note_bound(container, &shown));
        }
        Ok(row)
    }

    /// The API set of a persistent set for this recording. [Movable](crate::TextureDesc::movable) resources do not move
    /// meanwhile; [evictable](crate::TextureDesc::evictable) ones are made resident for the submission.
    ///
    /// O(1) if none of its resources is movable or evictable, else O(descriptors).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a set of another manager.
    #[inline(never)]
    pub fn lasting_set(&self, set: &'r DescriptorSet<D>) -> Result<Set<'r, D>, Error> {
        self.check_context(set.context(), set.name())?;
        let found = set.hold(self.held_objects());
        set.each_block(|block| self.shown.note(block));
        if self.reports_unnamed_uses() && self.bound.is_first(set.registry_key_bits()) {
            let container = Some((set.registry_key_bits(), set.name()));
            set.shown(ShaderStages::All).for_each(|shown| self.note_bound(container, &shown));
        }
        Ok(found)
    }

    fn reports_unnamed_uses(&self) -> bool {
        self.services.context.config.descriptors.report_unnamed
    }

    /// Notes the resources of these descriptors, in debug builds.
    pub(super) fn note_binds<'a>(&self, binds: impl Iterator<Item = Bind<'a, D>>)
    where
        D: 'a,
    {
        if self.reports_unnamed_uses() {
            for bind in binds {
                if let Ok(Some(BoundUse::View(shown))) = bind.shown(ShaderStages::All) {
                    self.note_bound(None, &shown);
                }
            }
        }
    }

    /// Notes a resource whose use must be declared: the GPU writes it, and it is not read-only.
    fn note_bound(&self, container: Option<(u64, &Name)>, shown: &ShownUse<'_, D>) {
        shown.resource.with_states(|cell| self.bound.note(container, cell, shown.resource.name()));
    }

    pub(super) fn held_objects(&self) -> LazyHeldObjects<'r, D> {
        let pool = &self.services.context.held_objects;
        LazyHeldObjects { noted: self.held, pool, holder: Holder(self.id.get()) }
    }

    fn note_block(&self, api_resource: &ApiResource<D>) {
        if let Some(block) = api_resource.block {
            self.shown.note(block);
        }
    }

    fn check_owner(&self, inner: &HandleInner<D>) -> Result<(), Error> {
        self.check_context(inner.context(), &inner.name)
    }

    fn check_context(&self, context: &Arc<Context<D>>, name: &Name) -> Result<(), Error> {
        match Arc::ptr_eq(context, &self.services.context) {
            true => Ok(()),
            false => Err(Error::Foreign { name: name.clone() }),
        }
    }
}
