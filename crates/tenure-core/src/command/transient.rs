//! Acquiring transient resources pass by pass.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::device::Device;
use crate::transient_heaps::Transients;
use crate::{
    BufferDesc, Error, Name, Recording, TextureDesc, TransientBuffer, TransientRule, TransientTexture,
};

impl<D: Device> Recording<D> {
    /// Acquires a texture for some passes, with undefined contents, in memory that other resources used before
    /// and will use after: see [`transient`](crate::transient). Creates nothing where the cache has such a
    /// texture. O(transient resources in use), under a lock.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Device`] for an invalid description or a lost device.
    #[inline(never)]
    pub fn transient_texture(&self, desc: &TextureDesc) -> Result<TransientTexture<D>, Error> {
        let _call = self.context().call();
        self.transients(&desc.name)?.texture(self.id(), self.queue(), desc)
    }

    /// Acquires a buffer for some passes; as [`transient_texture`](Self::transient_texture). It is an API
    /// buffer of its own.
    ///
    /// # Errors
    /// As [`transient_texture`](Self::transient_texture); [`Error::Transient`] for memory other than the
    /// GPU's.
    #[inline(never)]
    pub fn transient_buffer(&self, desc: &BufferDesc) -> Result<TransientBuffer<D>, Error> {
        let _call = self.context().call();
        self.transients(&desc.name)?.buffer(self.id(), self.queue(), desc)
    }

    fn transients(&self, name: &Name) -> Result<&Arc<Transients<D>>, Error> {
        if self.context().is_shut_down.load(Ordering::Acquire) {
            return Err(Error::Transient { name: name.clone(), rule: TransientRule::GpuIsGone });
        }
        Ok(&self.service.transients)
    }
}
