//! Descriptors and sets of one recording.

use super::Scratch;
use crate::descriptor::{Bind, Descriptors, Set, SetDescriptor, SetLayout};
use crate::device::Device;
use crate::error::Error;

impl<'r, D: Device> Scratch<'r, D> {
    /// Allocates contiguous descriptors that shaders access by index, for this submission: all of views and constants, or all
    /// of samplers. The views may be dropped right after.
    ///
    /// Command lists that use them must call [`Commands::set_descriptor_heaps`](crate::Commands::set_descriptor_heaps) first.
    ///
    /// O(descriptors): no lock and no allocation within a chunk of [`DescriptorConfig::chunk`](crate::DescriptorConfig::chunk),
    /// except for more than 16 descriptors at once. Each recording has its own chunks, so threads do not contend. Ranges of
    /// more than half a chunk are allocated separately. The descriptors go through the release queue when the recording ends;
    /// the rest of the last chunk is used by a later recording, and no descriptor is reused before its submission is complete.
    ///
    /// # Errors
    /// [`Error::NoDescriptors`] when a chunk is needed and none is free; [`Error::Foreign`] for a view of another manager;
    /// [`Error::Device`] for an empty list, a mix of views and samplers, views of targets, `Unsupported` on a device without
    /// descriptor indexing, or a lost device.
    ///
    /// ```
    /// use tenure::{BufferDesc, BufferViewDesc, Config, Gpu, Queue, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mesh = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).name("mesh"))?;
    /// let mesh = gpu.create_buffer_view(&mesh, &BufferViewDesc::raw())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (commands, scratch) = recording.split();
    /// commands.set_descriptor_heaps()?;
    /// let camera = scratch.constants(&[1.0_f32; 64])?;
    /// let table = scratch.descriptors(&[camera.into(), (&mesh).into()])?;
    /// let _draw = (commands.raw(), table.heap(), table.first());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// They are valid until the recording is submitted. The compiler rejects the last line:
    ///
    /// ```compile_fail,E0505
    /// # use tenure::{Config, Gpu, Queue};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let scratch = recording.split().1;
    /// let table = scratch.descriptors(&[scratch.constants(&[1.0_f32; 64])?.into()])?;
    /// recording.submit()?;
    /// table.first();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn descriptors(&self, binds: &[Bind<'_, D>]) -> Result<Descriptors<'r, D>, Error> {
        let _call = self.services.context.call();
        let taken = Descriptors::take(
            &self.services.descriptors,
            &**self.services,
            self.chunks,
            self.name,
            self.held_objects(),
            binds,
        )?;
        binds.iter().filter_map(Bind::block).for_each(|block| self.shown.note(block));
        self.note_binds(binds.iter().copied());
        Ok(taken)
    }

    /// Allocates and writes a descriptor set for this submission: each descriptor by binding and element. The views may be
    /// dropped right after. Shaders must not use unwritten descriptors.
    ///
    /// O(descriptors): no lock and no allocation within a block of
    /// [`DescriptorConfig::set_pool`](crate::DescriptorConfig::set_pool) sets, except for more than 16 descriptors at once.
    /// Each recording has its own blocks, so threads do not contend; the blocks return to the layout through the release queue
    /// when the recording ends, and no set is written again before its submission is complete.
    ///
    /// If the layout has [`DynamicConstants`](crate::device::BindingKind::DynamicConstants) and constants are given for them,
    /// bind the set with their [`offset`](crate::BufferSlice::offset).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a layout or a view of another manager; [`Error::Device`] for a binding, an element or a kind that
    /// the layout does not have, a duplicate descriptor, a shortage, or a lost device.
    ///
    /// ```
    /// use tenure::{
    ///     Config, Gpu, Queue, SetDescriptor, SetLayoutDesc, descriptor::{BindingKind, SetBinding},
    ///     sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let binding = SetBinding::new(0, BindingKind::Constants);
    /// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("camera"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (commands, scratch) = recording.split();
    /// let camera = scratch.constants(&[1.0_f32; 64])?;
    /// let set = scratch.set(&layout, &[SetDescriptor::new(0, camera)])?;
    /// let _draw = (commands.raw(), set.block(), set.index());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// It is valid until the recording is submitted. The compiler rejects the last line:
    ///
    /// ```compile_fail,E0505
    /// # use tenure::{
    /// #     Config, Gpu, Queue, SetDescriptor, SetLayoutDesc,
    /// #     descriptor::{BindingKind, SetBinding}, sim,
    /// # };
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// # let binding = SetBinding::new(0, BindingKind::Constants);
    /// # let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("camera"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let scratch = recording.split().1;
    /// let set = scratch.set(&layout, &[SetDescriptor::new(0, scratch.constants(&[1.0_f32; 64])?)])?;
    /// recording.submit()?;
    /// set.index();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn set(&self, layout: &SetLayout<D>, binds: &[SetDescriptor<'_, D>]) -> Result<Set<'r, D>, Error> {
        let _call = self.services.context.call();
        let taken = {
            let (service, held) = (&*self.services.descriptors, self.held_objects());
            Set::take(service, &**self.services, self.sets, self.name, held, layout, binds)?
        };
        binds.iter().filter_map(|it| it.bind.block()).for_each(|block| self.shown.note(block));
        self.note_binds(binds.iter().map(|it| it.bind));
        Ok(taken)
    }
}
