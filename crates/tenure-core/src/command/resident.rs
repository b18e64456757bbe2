//! Residency of resources that a recording uses without declaring a state.

use std::sync::Arc;

use super::Commands;
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::descriptor::{DescriptorSet, DescriptorTable, View};
use crate::device::Device;
use crate::memory::MovableBacking;
use crate::resource::HandleInner;
use crate::{Buffer, Error, Name, Texture};

/// An object to make resident, for [`Commands::make_resident`]: converts from a reference to a [`Buffer`], a [`Texture`], a
/// [`View`], a [`DescriptorTable`] or a [`DescriptorSet`].
pub struct Needed<'a, D: Device> {
    name: &'a Name,
    context: &'a Arc<Context<D>>,
    blocks: &'a [BlockKey],
    /// The movable resources.
    movables: &'a [Arc<MovableBacking<D>>],
}

debug_fields!([D: Device] Needed<'_, D>, "Needed", this, name: this.name);

impl<'a, D: Device> Needed<'a, D> {
    fn of(inner: &'a HandleInner<D>) -> Self {
        let (blocks, movables): (&[_], &[_]) = match inner.as_movable() {
            None => (inner.api_resource().block.as_slice(), &[]),
            Some(movable) => (&[], std::slice::from_ref(movable)),
        };
        Self { name: &inner.name, context: inner.context(), blocks, movables }
    }
}

impl<'a, D: Device> From<&'a Buffer<D>> for Needed<'a, D> {
    fn from(buffer: &'a Buffer<D>) -> Self {
        Self::of(&buffer.inner)
    }
}

impl<'a, D: Device> From<&'a Texture<D>> for Needed<'a, D> {
    fn from(texture: &'a Texture<D>) -> Self {
        Self::of(&texture.inner)
    }
}

macro_rules! shown {
    ($($handle:ident),*) => {$(
        impl<'a, D: Device> From<&'a $handle<D>> for Needed<'a, D> {
            fn from(handle: &'a $handle<D>) -> Self {
                let (blocks, movables) = (handle.blocks(), handle.movables());
                Self { name: handle.name(), context: handle.context(), blocks, movables }
            }
        }
    )*};
}

shown!(View, DescriptorTable, DescriptorSet);

impl<D: Device> Commands<D> {
    /// Makes an [evictable](crate::BufferDesc::evictable) resource, or all evictable resources of a view, a table or a set,
    /// resident for the submission of this recording: for resources that commands access without a declared
    /// [use](Self::use_resource), a copy, or descriptors made in this recording. All other resources are always resident, so
    /// that this has no effect on them.
    ///
    /// O(resources of the view, table or set), a few nanoseconds each; no allocation in steady state.
    ///
    /// # Errors
    /// [`Error::Foreign`] for an object of another manager.
    ///
    /// ```
    /// use tenure::{
    ///     Config, DescriptorTableDesc, Format, Gpu, Queue, TextureDesc, TextureViewDesc, Usage, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::SHADER_READ).evictable();
    /// let rock = gpu.create_texture(&rock)?;
    /// let rock = gpu.create_texture_view(&rock, &TextureViewDesc::sampled())?;
    /// let materials = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&rock).into()]))?;
    ///
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// recording.make_resident(&materials)?; // shaders find it by index
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn make_resident<'a>(&mut self, needed: impl Into<Needed<'a, D>>) -> Result<(), Error> {
        let Needed { name, context, blocks, movables } = needed.into();
        self.check_manager(context, name)?;
        blocks.iter().for_each(|block| self.open.blocks.note(*block));
        for movable in movables {
            let place = self.holds.hold(movable, None);
            place.api_resource.block.into_iter().for_each(|block| self.open.blocks.note(block));
        }
        Ok(())
    }
}
