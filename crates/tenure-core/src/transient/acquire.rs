//! Acquiring pass by pass (spec X3).

use std::sync::Arc;

use super::{TransientBuffer, TransientTexture, Transients};
use crate::device::Device;
use crate::{BufferDesc, Error, Name, Recording, TextureDesc};

impl<D: Device> Recording<D> {
    /// Acquires a texture for some passes, with undefined contents and memory that others had before and
    /// will have after: see [`transient`](crate::transient). Creates nothing where the cache has such a
    /// texture. O(transient resources in use), under a lock.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Device`] for an invalid description or a lost device.
    pub fn transient_texture(&self, desc: &TextureDesc) -> Result<TransientTexture<D>, Error> {
        self.transients(&desc.name)?.texture(self.id(), self.queue(), desc)
    }

    /// Acquires a buffer for some passes; as [`transient_texture`](Self::transient_texture). It is an API
    /// buffer of its own.
    ///
    /// # Errors
    /// As [`transient_texture`](Self::transient_texture); [`Error::Transient`] for memory other than the
    /// GPU's.
    pub fn transient_buffer(&self, desc: &BufferDesc) -> Result<TransientBuffer<D>, Error> {
        self.transients(&desc.name)?.buffer(self.id(), self.queue(), desc)
    }

    fn transients(&self, name: &Name) -> Result<Arc<Transients<D>>, Error> {
        let rule = "transient resources need their manager, which is gone";
        self.shared().transients().ok_or_else(|| Error::Transient { name: name.clone(), rule })
    }
}
