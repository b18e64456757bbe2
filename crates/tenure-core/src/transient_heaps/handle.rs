//! Handles of transient resources.

use std::ops::Deref;
use std::sync::Arc;

use super::object::{Cached, TransientResource};
use super::pool::{EntryRef, Inner};
use crate::device::Device;
use crate::{Buffer, Error, Name, Texture, Used, View};

/// A resource that lives for some passes of a frame and shares its memory with others, from
/// [`Recording::transient_texture`](crate::Recording::transient_texture) or
/// [`Recording::transient_buffer`](crate::Recording::transient_buffer).
///
/// It is used as any [`Texture`] or [`Buffer`], which it leads to. Its contents are undefined at first:
/// the first use must clear or fully write it. The barrier that hands the memory over comes
/// with its first use ([`use_resource`](crate::Commands::use_resource), and all that asks for states by
/// itself).
///
/// Until the recording that acquired it is submitted, no other recording may use it:
/// [`Error::NotAcquired`]. After the handle is dropped, the same recording can acquire the bytes again, and
/// others can once it is submitted. If other recordings that are open have used the resource as well, its bytes are
/// available once all those open at that time have ended.
///
/// With Direct3D 12's legacy barriers, leave a texture that was acquired on a compute queue, and used last
/// in a state that only graphics queues know, in [`State::COMMON`](crate::device::State::COMMON): otherwise
/// compute queues cannot take it from the cache, and it is created again each time. Graphs do so by themselves.
///
/// `Send` and `Sync`.
pub struct Transient<D: Device, R: TransientResource<D>> {
    cached: Arc<Cached<D, R>>,
    name: Name,
    entry_ref: EntryRef,
    /// Declared last, as in every handle.
    pool: Arc<Inner<D>>,
}

debug_fields!([D: Device, R: TransientResource<D> + std::fmt::Debug] Transient<D, R>, "Transient", this, name: this.name, resource: this.cached.resource);

/// A transient [`Texture`].
pub type TransientTexture<D> = Transient<D, Texture<D>>;

/// A transient [`Buffer`].
pub type TransientBuffer<D> = Transient<D, Buffer<D>>;

impl<D: Device, R: TransientResource<D>> Transient<D, R> {
    pub(crate) const fn new(
        pool: Arc<Inner<D>>,
        cached: Arc<Cached<D, R>>,
        name: Name,
        entry_ref: EntryRef,
    ) -> Self {
        Self { cached, name, entry_ref, pool }
    }

    /// The name from its description.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// A view of it, which is kept with the API resource: created once, not each frame. O(views of it).
    ///
    /// # Errors
    /// As [`Gpu::create_texture_view`](crate::Gpu::create_texture_view) and
    /// [`Gpu::create_buffer_view`](crate::Gpu::create_buffer_view).
    #[inline(never)]
    pub fn view(&self, desc: &R::ViewDesc) -> Result<&View<D>, Error> {
        self.cached.view(&self.pool.descriptors, desc)
    }
}

impl<D: Device, R: TransientResource<D>> Deref for Transient<D, R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.cached.resource
    }
}

impl<'a, D: Device> From<&'a TransientTexture<D>> for Used<'a, D> {
    fn from(texture: &'a TransientTexture<D>) -> Self {
        Self::from(&**texture)
    }
}

impl<'a, D: Device> From<&'a TransientBuffer<D>> for Used<'a, D> {
    fn from(buffer: &'a TransientBuffer<D>) -> Self {
        Self::from(&**buffer)
    }
}

impl<D: Device, R: TransientResource<D>> Drop for Transient<D, R> {
    #[inline(never)]
    fn drop(&mut self) {
        self.pool.release(self.entry_ref);
    }
}
