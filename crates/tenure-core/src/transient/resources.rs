//! What a pass finds of its resources.

use super::graph::{Graph, PassUse, ResourceId};
use super::object::Object;
use super::pool::{Seating, mixed_up};
use crate::device::Device;
use crate::{Buffer, BufferViewDesc, Error, Name, Texture, TextureViewDesc, View};

/// A resource while passes use it.
pub(super) struct Slot<D: Device> {
    pub(super) object: Object<D>,
    pub(super) seating: Seating,
}

/// The resources of a pass that is being recorded: those that it declared, and no others.
pub struct Resources<'p, D: Device> {
    pub(super) graph: &'p Graph,
    pub(super) uses: &'p [PassUse],
    pub(super) slots: &'p [Option<Slot<D>>],
}

impl<D: Device> Resources<'_, D> {
    /// A texture of the graph. O(uses of the pass).
    ///
    /// # Errors
    /// [`Error::Transient`] for what the pass did not declare, or declared as a buffer.
    pub fn texture(&self, id: ResourceId) -> Result<&Texture<D>, Error> {
        match self.object(id)? {
            Object::Texture(texture) => Ok(&texture.resource),
            Object::Buffer(_) => Err(mixed_up(&self.name(id))),
        }
    }

    /// A buffer of the graph. O(uses of the pass).
    ///
    /// # Errors
    /// [`Error::Transient`] for what the pass did not declare, or declared as a texture.
    pub fn buffer(&self, id: ResourceId) -> Result<&Buffer<D>, Error> {
        match self.object(id)? {
            Object::Buffer(buffer) => Ok(&buffer.resource),
            Object::Texture(_) => Err(mixed_up(&self.name(id))),
        }
    }

    /// A view of a texture, which is kept with the API resource: made once, not each frame. O(views of
    /// it, and uses of the pass).
    ///
    /// # Errors
    /// As [`texture`](Self::texture) and
    /// [`Gpu::create_texture_view`](crate::Gpu::create_texture_view).
    pub fn texture_view(&self, id: ResourceId, desc: &TextureViewDesc) -> Result<&View<D>, Error> {
        match self.object(id)? {
            Object::Texture(texture) => texture.view(desc),
            Object::Buffer(_) => Err(mixed_up(&self.name(id))),
        }
    }

    /// A view of a buffer; as [`texture_view`](Self::texture_view).
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer) and [`Gpu::create_buffer_view`](crate::Gpu::create_buffer_view).
    pub fn buffer_view(&self, id: ResourceId, desc: &BufferViewDesc) -> Result<&View<D>, Error> {
        match self.object(id)? {
            Object::Buffer(buffer) => buffer.view(desc),
            Object::Texture(_) => Err(mixed_up(&self.name(id))),
        }
    }

    fn object(&self, id: ResourceId) -> Result<&Object<D>, Error> {
        let is_declared = self.uses.iter().any(|known| known.resource == id);
        let slot = self.slots.get(id.index()).and_then(Option::as_ref).filter(|_| is_declared);
        let rule = "a pass uses only what it declared";
        slot.map(|slot| &slot.object).ok_or_else(|| Error::Transient { name: self.name(id), rule })
    }

    fn name(&self, id: ResourceId) -> Name {
        self.graph.desc(id).map(|desc| desc.name().clone()).unwrap_or_default()
    }
}
