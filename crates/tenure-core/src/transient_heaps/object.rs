//! Cached API resources with their views.

use std::iter;
use std::sync::{Arc, OnceLock};

use super::request::{Request, ResourceRequest};
use crate::api_resource::ApiResource;
use crate::descriptor::DescriptorService;
use crate::device::{Device, ResourceDesc};
use crate::memory::{AliasedRange, Backing, Location, MakeRoom};
use crate::resource::HandleInner;
use crate::{Buffer, BufferViewDesc, Error, Texture, TextureViewDesc, View};

/// A handle that can be transient: [`Buffer`] and [`Texture`].
pub trait TransientResource<D: Device>: private::Sealed<D, Self::ViewDesc> {
    /// The description of a view.
    type ViewDesc: Clone + PartialEq + Send;
}

mod private {
    use std::sync::Arc;

    use super::{
        Buffer, BufferViewDesc, DescriptorService, Device, Error, MakeRoom, Texture, TextureViewDesc, View,
    };

    /// The arguments for the creation of views.
    pub struct Views<'a, D: Device> {
        pub(crate) service: &'a Arc<DescriptorService<D>>,
        pub(crate) room: &'a dyn MakeRoom,
    }

    debug_fields!([D: Device] Views<'_, D>, "Views", _this,);

    pub trait Sealed<D: Device, V> {
        fn create_view(&self, views: Views<'_, D>, desc: &V) -> Result<View<D>, Error>;
    }

    impl<D: Device> Sealed<D, TextureViewDesc> for Texture<D> {
        fn create_view(&self, views: Views<'_, D>, desc: &TextureViewDesc) -> Result<View<D>, Error> {
            View::of_texture(views.service, views.room, self, desc)
        }
    }

    impl<D: Device> Sealed<D, BufferViewDesc> for Buffer<D> {
        fn create_view(&self, views: Views<'_, D>, desc: &BufferViewDesc) -> Result<View<D>, Error> {
            View::of_buffer(views.service, views.room, self, desc)
        }
    }
}

impl<D: Device> TransientResource<D> for Texture<D> {
    type ViewDesc = TextureViewDesc;
}

impl<D: Device> TransientResource<D> for Buffer<D> {
    type ViewDesc = BufferViewDesc;
}

/// An API resource and its views, each created once.
pub(crate) struct Cached<D: Device, R: TransientResource<D>> {
    /// The head of a list to which any thread may append.
    views: NextView<D, R>,
    pub(crate) resource: R,
}

type NextView<D, R> = OnceLock<Box<CachedView<D, R>>>;

struct CachedView<D: Device, R: TransientResource<D>> {
    desc: R::ViewDesc,
    view: View<D>,
    next: NextView<D, R>,
}

impl<D: Device, R: TransientResource<D>> Cached<D, R> {
    pub(crate) fn new(resource: R) -> Self {
        Self { views: OnceLock::new(), resource }
    }

    /// The view of this description, created if there is none. O(views of the resource).
    pub(crate) fn view(
        &self,
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        desc: &R::ViewDesc,
    ) -> Result<&View<D>, Error> {
        let mut place = &self.views;
        loop {
            match place.get() {
                Some(known) if known.desc == *desc => return Ok(&known.view),
                Some(other) => place = &other.next,
                None => {
                    let view = self.resource.create_view(private::Views { service, room }, desc)?;
                    // Another thread may append first, with this description or another.
                    place.get_or_init(|| {
                        Box::new(CachedView { desc: desc.clone(), view, next: OnceLock::new() })
                    });
                }
            }
        }
    }

    fn view_count(&self) -> usize {
        iter::successors(self.views.get(), |view| view.next.get()).count()
    }
}

/// A cached texture or buffer.
pub(crate) enum Object<D: Device> {
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
    /// A handle for a resource that was just created.
    pub(crate) fn new(wanted: &ResourceRequest<'_, D>, backing: Backing<D>) -> Self {
        let ResourceRequest { request: Request { context, name, .. }, description, .. } = *wanted;
        match &description.desc {
            ResourceDesc::Texture(info) => {
                let size = description.needs.size;
                let texture = Texture::from_backing(context, name, info.clone(), backing, size);
                Self::Texture(Arc::new(Cached::new(texture)))
            }
            ResourceDesc::Buffer(info) => {
                Self::Buffer(Arc::new(Cached::new(Buffer::from_backing(context, name, info, backing))))
            }
        }
    }

    pub(crate) fn texture(&self) -> Option<&Arc<Cached<D, Texture<D>>>> {
        if let Self::Texture(texture) = self { Some(texture) } else { None }
    }

    pub(crate) fn buffer(&self) -> Option<&Arc<Cached<D, Buffer<D>>>> {
        if let Self::Buffer(buffer) = self { Some(buffer) } else { None }
    }

    fn handle(&self) -> &HandleInner<D> {
        match self {
            Self::Texture(texture) => &texture.resource.inner,
            Self::Buffer(buffer) => &buffer.resource.inner,
        }
    }

    pub(crate) fn api_resource(&self) -> &Arc<ApiResource<D>> {
        self.handle().api_resource()
    }

    /// The range of a heap; `None` when it has dedicated memory.
    pub(crate) fn aliased_range(&self) -> Option<&Arc<AliasedRange<D>>> {
        match self.handle().fixed_location() {
            Some(Location::Transient(aliased_range)) => Some(aliased_range),
            _ => None,
        }
    }

    /// Number of views kept with it.
    pub(crate) fn views(&self) -> usize {
        match self {
            Self::Texture(texture) => texture.view_count(),
            Self::Buffer(buffer) => buffer.view_count(),
        }
    }

    pub(crate) const fn is_texture(&self) -> bool {
        matches!(self, Self::Texture(_))
    }

    /// True when no handle and no recording refers to it, so that its submitted states are its final ones.
    pub(crate) fn is_idle(&self) -> bool {
        let handles = match self {
            Self::Texture(texture) => Arc::strong_count(texture),
            Self::Buffer(buffer) => Arc::strong_count(buffer),
        };
        handles == 1 && !self.is_recorded()
    }

    /// Whether an open recording has used it.
    pub(crate) fn is_recorded(&self) -> bool {
        Arc::strong_count(self.api_resource()) > 1
    }
}
