//! What a heap's cache keeps: API resources with the views that were made of them.

use std::sync::Arc;

use elsa::sync::FrozenVec;

use crate::device::{Device, State, Subresource};
use crate::memory::{Place, Seat};
use crate::resource::Held;
use crate::resource::native::Native;
use crate::{Buffer, BufferViewDesc, Error, Recording, Texture, TextureViewDesc, View};

/// A handle that can be transient: [`Buffer`] and [`Texture`].
pub trait TransientResource<D: Device>: private::Sealed<D> {
    /// What its views show.
    type ViewDesc: Clone + PartialEq + Send;

    /// Makes a view.
    ///
    /// # Errors
    /// As [`Gpu::create_texture_view`](crate::Gpu::create_texture_view) and
    /// [`Gpu::create_buffer_view`](crate::Gpu::create_buffer_view).
    fn create_view(&self, desc: &Self::ViewDesc) -> Result<View<D>, Error>;
}

mod private {
    use super::{Buffer, Device, Texture};

    pub trait Sealed<D: Device> {}

    impl<D: Device> Sealed<D> for Texture<D> {}
    impl<D: Device> Sealed<D> for Buffer<D> {}
}

impl<D: Device> TransientResource<D> for Texture<D> {
    type ViewDesc = TextureViewDesc;

    fn create_view(&self, desc: &TextureViewDesc) -> Result<View<D>, Error> {
        View::of_texture(self.held.shared(), self, desc)
    }
}

impl<D: Device> TransientResource<D> for Buffer<D> {
    type ViewDesc = BufferViewDesc;

    fn create_view(&self, desc: &BufferViewDesc) -> Result<View<D>, Error> {
        View::of_buffer(self.held.shared(), self, desc)
    }
}

/// An API resource, and its views, made once each.
pub(super) struct Cached<D: Device, R: TransientResource<D>> {
    views: FrozenVec<Box<(R::ViewDesc, View<D>)>>,
    pub(super) resource: R,
}

impl<D: Device, R: TransientResource<D>> Cached<D, R> {
    pub(super) fn new(resource: R) -> Self {
        Self { views: FrozenVec::new(), resource }
    }

    /// The view that `desc` says, made if there is none. O(views of the resource).
    pub(super) fn view(&self, desc: &R::ViewDesc) -> Result<&View<D>, Error> {
        let known = (0..self.views.len()).filter_map(|index| self.views.get(index));
        if let Some((_, view)) = known.into_iter().find(|(known, _)| known == desc) {
            return Ok(view);
        }
        let view = self.resource.create_view(desc)?;
        Ok(&self.views.push_get(Box::new((desc.clone(), view))).1)
    }
}

/// Either of what can be cached.
pub(super) enum Object<D: Device> {
    Texture(Arc<Cached<D, Texture<D>>>),
    Buffer(Arc<Cached<D, Buffer<D>>>),
}

impl<D: Device> Clone for Object<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Texture(texture) => Self::Texture(texture.clone()),
            Self::Buffer(buffer) => Self::Buffer(buffer.clone()),
        }
    }
}

impl<D: Device> Object<D> {
    fn held(&self) -> &Held<D> {
        match self {
            Self::Texture(texture) => &texture.resource.held,
            Self::Buffer(buffer) => &buffer.resource.held,
        }
    }

    pub(super) fn native(&self) -> &Arc<Native<D>> {
        self.held().native()
    }

    /// Its share in a heap; `None` when it has memory of its own.
    pub(super) fn seat(&self) -> Option<&Arc<Seat<D>>> {
        match self.held().place() {
            Place::Transient(seat) => Some(seat),
            _ => None,
        }
    }

    /// Brings the resource into a state.
    pub(super) fn require(
        &self,
        recording: &mut Recording<D>,
        part: Subresource,
        state: State,
    ) -> Result<(), Error> {
        match self {
            Self::Texture(texture) => recording.use_resource(&texture.resource, part, state),
            Self::Buffer(buffer) => recording.use_resource(&buffer.resource, part, state),
        }
    }

    /// How many views are kept with it.
    pub(super) fn views(&self) -> usize {
        match self {
            Self::Texture(texture) => texture.views.len(),
            Self::Buffer(buffer) => buffer.views.len(),
        }
    }

    pub(super) const fn is_texture(&self) -> bool {
        matches!(self, Self::Texture(_))
    }

    /// True when no handle and no recording has it: its submitted states are all there is to know.
    pub(super) fn is_idle(&self) -> bool {
        let handles = match self {
            Self::Texture(texture) => Arc::strong_count(texture),
            Self::Buffer(buffer) => Arc::strong_count(buffer),
        };
        handles == 1 && Arc::strong_count(self.native()) == 1
    }
}
