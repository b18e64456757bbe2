//! Transient resources: acquisition pass by pass, and their handles.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::device::{Device, QueueId};
use crate::services::Services;
use crate::time::RecordingId;
use crate::transient_heaps::{Cached, CachedEntry, EntryRef, TransientResource};
use crate::{
    Buffer, BufferDesc, Error, Name, Recording, Scratch, Texture, TextureDesc, TransientRule, Used, View,
};

/// A resource that lives for some passes of a frame and shares its memory with others, from
/// [`Recording::transient_texture`](crate::Recording::transient_texture) or
/// [`Recording::transient_buffer`](crate::Recording::transient_buffer).
///
/// It dereferences to its [`Texture`] or [`Buffer`], and is used like one. Its contents are undefined at first: the first use
/// must clear or fully write it. The barrier that hands the memory over is recorded at its first use
/// ([`use_resource`](crate::Commands::use_resource), and all commands that declare states themselves).
///
/// Until the recording that acquired it is submitted, no other recording may use it: [`Error::NotAcquired`]. After the handle
/// is dropped, the same recording can acquire the bytes again, and others can once it is submitted. If other open recordings
/// have used the resource as well, its bytes are available once all recordings open at that time have ended.
///
/// With Direct3D 12's legacy barriers, leave a texture acquired on a compute queue in
/// [`State::COMMON`](crate::device::State::COMMON) if its last state is valid only on graphics queues: otherwise compute queues
/// cannot reuse it from the cache, and it is created again each time. Graphs do so themselves.
///
/// `Send` and `Sync`.
pub struct Transient<D: Device, R: TransientResource<D>> {
    cached: Arc<Cached<D, R>>,
    name: Name,
    entry_ref: EntryRef,
    /// Declared last, as in every handle.
    services: Arc<Services<D>>,
}

debug_fields!([D: Device, R: TransientResource<D> + std::fmt::Debug] Transient<D, R>, "Transient", this, name: this.name, resource: this.cached.resource);

/// A transient [`Texture`].
pub type TransientTexture<D> = Transient<D, Texture<D>>;

/// A transient [`Buffer`].
pub type TransientBuffer<D> = Transient<D, Buffer<D>>;

impl<D: Device, R: TransientResource<D>> Transient<D, R> {
    /// The name from its description.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// A view of it, which is cached with the API resource: created once, not in each frame. O(views of it).
    ///
    /// # Errors
    /// As [`Gpu::create_texture_view`](crate::Gpu::create_texture_view) and
    /// [`Gpu::create_buffer_view`](crate::Gpu::create_buffer_view).
    #[inline(never)]
    pub fn view(&self, desc: &R::ViewDesc) -> Result<&View<D>, Error> {
        self.cached.view(&self.services.descriptors, &*self.services, desc)
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
        self.services.transients.release(self.entry_ref);
    }
}

impl<D: Device> Recording<D> {
    /// Acquires a texture for some passes, with undefined contents, in memory shared with earlier and later resources: see
    /// [`transient`](crate::transient). Creates nothing where the cache has a matching texture. O(transient resources in use),
    /// under a lock.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Device`] for an invalid description or a lost device.
    #[inline(never)]
    pub fn transient_texture(&self, desc: &TextureDesc) -> Result<TransientTexture<D>, Error> {
        texture(&self.services, (self.id(), self.queue()), desc)
    }

    /// Acquires a buffer for some passes; as [`transient_texture`](Self::transient_texture). It is a separate API buffer.
    ///
    /// # Errors
    /// As [`transient_texture`](Self::transient_texture); [`Error::Transient`] for memory other than GPU memory.
    #[inline(never)]
    pub fn transient_buffer(&self, desc: &BufferDesc) -> Result<TransientBuffer<D>, Error> {
        buffer(&self.services, (self.id(), self.queue()), desc)
    }
}

impl<D: Device> Scratch<'_, D> {
    /// As [`Recording::transient_texture`], between commands: constants and descriptors of the recording stay usable.
    ///
    /// # Errors
    /// As [`Recording::transient_texture`].
    #[inline(never)]
    pub fn transient_texture(&self, desc: &TextureDesc) -> Result<TransientTexture<D>, Error> {
        texture(self.services, (self.id, self.queue), desc)
    }

    /// As [`Recording::transient_buffer`], between commands: constants and descriptors of the recording stay usable.
    ///
    /// # Errors
    /// As [`Recording::transient_buffer`].
    #[inline(never)]
    pub fn transient_buffer(&self, desc: &BufferDesc) -> Result<TransientBuffer<D>, Error> {
        buffer(self.services, (self.id, self.queue), desc)
    }
}

/// A recording, and its queue.
type Acquirer = (RecordingId, QueueId);

fn texture<D: Device>(
    services: &Arc<Services<D>>,
    by: Acquirer,
    desc: &TextureDesc,
) -> Result<TransientTexture<D>, Error> {
    acquire(services, &desc.name, || services.transients.texture(&**services, by, desc))
}

fn buffer<D: Device>(
    services: &Arc<Services<D>>,
    by: Acquirer,
    desc: &BufferDesc,
) -> Result<TransientBuffer<D>, Error> {
    acquire(services, &desc.name, || services.transients.buffer(&**services, by, desc))
}

fn acquire<D: Device, R: TransientResource<D>>(
    services: &Arc<Services<D>>,
    name: &Name,
    acquire: impl FnOnce() -> Result<CachedEntry<D, R>, Error>,
) -> Result<Transient<D, R>, Error> {
    let _call = services.context.call();
    if services.context.is_shut_down.load(Ordering::Acquire) {
        return Err(Error::Transient { name: name.clone(), rule: TransientRule::GpuIsGone });
    }
    let (cached, entry_ref) = acquire()?;
    Ok(Transient { cached, name: name.clone(), entry_ref, services: services.clone() })
}
