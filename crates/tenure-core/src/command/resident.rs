//! What a recording uses without naming a state for it.

use std::sync::Arc;

use super::Commands;
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::descriptor::{DescriptorSet, DescriptorTable, View};
use crate::device::Device;
use crate::memory::MovableBacking;
use crate::resource::HandleInner;
use crate::{Buffer, Error, Name, Texture};

/// What a submission finds in resident memory, for [`Commands::make_resident`]: made from a reference to a
/// [`Buffer`], a [`Texture`], a [`View`], a [`DescriptorTable`] or a [`DescriptorSet`].
pub struct Needed<'a, D: Device> {
    name: &'a Name,
    context: &'a Arc<Context<D>>,
    blocks: &'a [BlockKey],
    /// What of it can move.
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
    /// The submission of this recording finds a resource in memory that the GPU can use, or all that a view, a table
    /// or a set shows, if it is [evictable](crate::BufferDesc::evictable): for what commands find without its being
    /// named in a [use](Self::use_resource), a copy, or descriptors made in this recording. Anything else is
    /// resident as long as it lives, so that naming it does nothing.
    ///
    /// O(what it shows), a few nanoseconds each; no allocation in steady state.
    ///
    /// # Errors
    /// [`Error::Foreign`] for what is of another manager.
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
        if !Arc::ptr_eq(context, self.context()) {
            return Err(Error::Foreign { name: name.clone() });
        }
        blocks.iter().for_each(|block| self.open.blocks.note(*block));
        for movable in movables {
            let place = self.holds.hold(movable, None);
            place.api_resource.block.into_iter().for_each(|block| self.open.blocks.note(block));
        }
        Ok(())
    }
}
