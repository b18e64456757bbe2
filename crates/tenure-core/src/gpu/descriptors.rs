//! Views, samplers, tables and sets.

use super::Gpu;
use crate::device::{DescriptorKind, Device, SamplerDesc, SetBinding};
use crate::{
    Bind, Buffer, BufferViewDesc, DescriptorOwner, DescriptorSet, DescriptorTable, Error, Name, Sampler,
    SetLayout, Texture, TextureViewDesc, View,
};

impl<D: Device> Gpu<D> {
    /// Creates a view of a buffer. O(1); an API call, and rarely a heap more.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when it leaves the buffer; [`Error::Device`] for no bytes at all, bytes
    /// that are no whole elements, an offset that is not aligned, more than the device shows at once,
    /// a usage that the buffer was not created for, a format that buffers cannot have, a shortage, or a
    /// lost device; [`Error::Foreign`]. Nothing is left allocated.
    pub fn create_buffer_view(&self, buffer: &Buffer<D>, desc: &BufferViewDesc) -> Result<View<D>, Error> {
        View::of_buffer(&self.shared, buffer, desc)
    }

    /// Creates a view of a texture, for shaders or as a target. O(1); an API call, and rarely a heap
    /// more.
    ///
    /// # Errors
    /// [`Error::Device`] for mips or layers that the texture does not have, a shape that they do not
    /// make, a format that is not its own nor one of its `view_formats`, a usage that it was not created
    /// for, a shortage, or a lost device; [`Error::Foreign`]. Nothing is left allocated.
    pub fn create_texture_view(
        &self,
        texture: &Texture<D>,
        desc: &TextureViewDesc,
    ) -> Result<View<D>, Error> {
        View::of_texture(&self.shared, texture, desc)
    }

    /// Creates a sampler, or shares an equal one. O(1); a lock and a look-up.
    ///
    /// # Errors
    /// [`Error::NoDescriptors`] when as many different ones live as the device takes;
    /// [`Error::Device`] for a field out of range, a shortage, or a lost device.
    pub fn create_sampler(&self, desc: &SamplerDesc, name: impl Into<Name>) -> Result<Sampler<D>, Error> {
        Sampler::create(&self.shared, desc, name.into())
    }

    /// Puts descriptors in a row where shaders find them by index: all of views, or all of samplers.
    /// O(descriptors).
    ///
    /// # Errors
    /// [`Error::NoDescriptors`], with who has them, when there is no such row;
    /// [`Error::Device`] for no descriptors at all, views beside samplers, views of targets, constants
    /// of a recording, `Unsupported` on a device without descriptor indexing, a shortage, or a lost
    /// device; [`Error::Foreign`]. Nothing is left allocated.
    pub fn create_descriptor_table(
        &self,
        binds: &[Bind<'_, D>],
        name: impl Into<Name>,
    ) -> Result<DescriptorTable<D>, Error> {
        DescriptorTable::create(&self.shared, binds, name.into())
    }

    /// Creates a form of descriptor sets.
    ///
    /// # Errors
    /// [`Error::Device`] for no bindings at all, two of one number, one without descriptors,
    /// `Unsupported` on a device without sets, a shortage, or a lost device.
    pub fn create_set_layout(
        &self,
        bindings: &[SetBinding],
        name: impl Into<Name>,
    ) -> Result<SetLayout<D>, Error> {
        SetLayout::create(&self.shared, bindings, name.into())
    }

    /// Creates a descriptor set that lasts: each descriptor by binding and element. Those that are not
    /// given hold nothing that a shader may use. O(descriptors); rarely a block of sets more.
    ///
    /// # Errors
    /// [`Error::Device`] for a binding, an element or a kind that the layout does not have, a descriptor
    /// that is given twice, constants of a recording, a shortage, or a lost device;
    /// [`Error::Foreign`]. Nothing is left allocated.
    pub fn create_descriptor_set(
        &self,
        layout: &SetLayout<D>,
        binds: &[(u32, u32, Bind<'_, D>)],
        name: impl Into<Name>,
    ) -> Result<DescriptorSet<D>, Error> {
        DescriptorSet::create(&self.shared, layout, binds, name.into())
    }

    /// Whose a descriptor in the heap is that shaders see, for messages. Cost: for dynamic ones what
    /// recordings have, open or in flight.
    ///
    /// ```
    /// use tenure::device::{DescriptorKind, SamplerDesc};
    /// use tenure::{Config, DescriptorOwner, Gpu};
    /// use tenure::sim;
    ///
    /// let config = Config { poison_descriptors: true, ..Config::default() };
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), config)?;
    /// let smooth = gpu.create_sampler(&SamplerDesc::default(), "smooth")?;
    /// let table = gpu.create_descriptor_table(&[(&smooth).into()], "terrain")?;
    /// let index = table.first();
    /// drop(table);
    /// gpu.purge()?;
    /// let owner = gpu.descriptor_owner(DescriptorKind::Sampler, index);
    /// assert_eq!(owner, DescriptorOwner::Freed { name: "terrain".into() });
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn descriptor_owner(&self, kind: DescriptorKind, index: u32) -> DescriptorOwner {
        self.shared.descriptor_owner(kind, index)
    }
}
