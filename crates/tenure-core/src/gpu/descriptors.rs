//! Views, samplers, tables and sets.

use super::Gpu;
use crate::Name;
use crate::device::{DescriptorKind, Device};
use crate::{
    Buffer, BufferViewDesc, DescriptorOwner, DescriptorSet, DescriptorSetDesc, DescriptorTable,
    DescriptorTableDesc, Error, Sampler, SamplerDesc, SetLayout, SetLayoutDesc, Texture, TextureViewDesc,
    Used, View,
};

impl<D: Device> Gpu<D> {
    /// Creates a view of a buffer. O(1); one API call, and rarely a new heap.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when it leaves the buffer; [`Error::Device`] for an empty range, a partial element, an offset that
    /// is not aligned, more elements than the device allows, a usage that the buffer was not created for, a format that buffers
    /// cannot have, a shortage, or a lost device; [`Error::Foreign`]. Nothing is left allocated.
    #[inline(never)]
    pub fn create_buffer_view(&self, buffer: &Buffer<D>, desc: &BufferViewDesc) -> Result<View<D>, Error> {
        let _call = self.shared.call()?;
        View::of_buffer(&self.shared.services.descriptors, &*self.shared.services, buffer, desc)
    }

    /// Creates a view of a texture, for shaders or as a target. O(1); one API call, and rarely a new heap.
    ///
    /// # Errors
    /// [`Error::Device`] for mips or layers that the texture does not have, a shape that does not match them, a format that is
    /// neither its own nor one of its `view_formats`, a usage that it was not created for, a shortage, or a lost device;
    /// [`Error::Foreign`]. Nothing is left allocated.
    #[inline(never)]
    pub fn create_texture_view(
        &self,
        texture: &Texture<D>,
        desc: &TextureViewDesc,
    ) -> Result<View<D>, Error> {
        let _call = self.shared.call()?;
        View::of_texture(&self.shared.services.descriptors, &*self.shared.services, texture, desc)
    }

    /// Fails after a shutdown, and for a resource of another manager. For the C interface, which passes the manager beside a
    /// transient resource, and whose creations all fail after a shutdown.
    #[doc(hidden)]
    pub fn check_creates(&self, resource: Option<Used<'_, D>>) -> Result<(), Error> {
        self.shared.check_open()?;
        resource.map_or(Ok(()), |resource| resource.check_manager(&self.shared.context))
    }

    /// Creates a sampler, or shares an equal one. O(1); a lock and a look-up.
    ///
    /// # Errors
    /// [`Error::NoDescriptors`] when the device's maximum of distinct samplers is alive; [`Error::Device`] for a field out of
    /// range, a shortage, or a lost device.
    #[inline(never)]
    pub fn create_sampler(&self, desc: &SamplerDesc) -> Result<Sampler<D>, Error> {
        let _call = self.shared.call()?;
        Sampler::create(&self.shared.services.descriptors, &*self.shared.services, desc)
    }

    /// Creates a table: contiguous descriptors that shaders access by index, either all of views or all of samplers.
    /// O(descriptors).
    ///
    /// # Errors
    /// [`Error::NoDescriptors`], with the current holders, when no such range is free; [`Error::Device`] for an empty table,
    /// views beside samplers, views of targets, constants of a recording, `Unsupported` on a device without descriptor
    /// indexing, a shortage, or a lost device; [`Error::Foreign`]. Nothing is left allocated.
    #[inline(never)]
    pub fn create_descriptor_table(
        &self,
        desc: &DescriptorTableDesc<'_, D>,
    ) -> Result<DescriptorTable<D>, Error> {
        let _call = self.shared.call()?;
        DescriptorTable::create(&self.shared.services.descriptors, &*self.shared.services, desc)
    }

    /// The shader-visible heap that all tables of a kind are in, for pipelines that are created before the first table. The first call
    /// creates the heap, as the first table does.
    ///
    /// # Errors
    /// [`Error::Device`]: `Unsupported` on a device without descriptor indexing, a shortage, or a lost device;
    /// [`Error::ShutDown`].
    ///
    /// ```
    /// use tenure::{Config, Gpu, descriptor::DescriptorKind, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let _pipelines_use = gpu.descriptor_heap(DescriptorKind::Resource)?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn descriptor_heap(&self, kind: DescriptorKind) -> Result<&D::DescriptorHeap, Error> {
        let _call = self.shared.call()?;
        let name = Name::from("descriptor heap");
        let services = &self.shared.services;
        services.descriptors.visible(&**services, &name, kind).map(|heap| &heap.heap)
    }

    /// Creates a layout of descriptor sets.
    ///
    /// # Errors
    /// [`Error::Device`] for a layout without bindings, two bindings of one number, one without descriptors, `Unsupported` on a
    /// device without sets, a shortage, or a lost device.
    #[inline(never)]
    pub fn create_set_layout(&self, desc: &SetLayoutDesc<'_>) -> Result<SetLayout<D>, Error> {
        let _call = self.shared.call()?;
        SetLayout::create(&self.shared.services.descriptors, &*self.shared.services, desc)
    }

    /// Creates a persistent descriptor set. Descriptors that are not given must not be used by a shader. O(descriptors); rarely
    /// a new pool of sets.
    ///
    /// # Errors
    /// [`Error::Device`] for a binding, an element or a kind that the layout does not have, a descriptor
    /// that is given twice, constants of a recording, a shortage, or a lost device;
    /// [`Error::Foreign`]. Nothing is left allocated.
    #[inline(never)]
    pub fn create_descriptor_set(&self, desc: &DescriptorSetDesc<'_, D>) -> Result<DescriptorSet<D>, Error> {
        let _call = self.shared.call()?;
        DescriptorSet::create(&self.shared.services.descriptors, &*self.shared.services, desc)
    }

    /// The owner of a descriptor in the shader-visible heap, for messages. Cost for dynamic descriptors: O(descriptors of open
    /// recordings and of those in flight).
    ///
    /// ```
    /// use tenure::{
    ///     Config, DescriptorTableDesc, Gpu, SamplerDesc, config::DescriptorConfig,
    ///     descriptor::{DescriptorKind, DescriptorOwner}, sim,
    /// };
    ///
    /// let config = Config::from(DescriptorConfig::default().poison(true));
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), config)?;
    /// let smooth = gpu.create_sampler(&SamplerDesc::default().name("smooth"))?;
    /// let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&smooth).into()]).name("terrain"))?;
    /// let index = table.first();
    /// drop(table);
    /// gpu.reclaim()?;
    /// let owner = gpu.descriptor_owner(DescriptorKind::Sampler, index);
    /// assert_eq!(owner, DescriptorOwner::Freed { name: "terrain".into() });
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    #[inline(never)]
    pub fn descriptor_owner(&self, kind: DescriptorKind, index: u32) -> DescriptorOwner {
        self.shared.services.descriptors.owner(kind, index)
    }
}
