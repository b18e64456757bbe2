//! Views: how shaders and render passes see a resource (spec D1).

use std::sync::Arc;

use super::{BufferViewDesc, CpuSlot, DescriptorGarbage, TextureViewDesc};
use crate::device::{BindingKind, Descriptor, DescriptorKind, Device, TextureAccess};
use crate::gpu::Shared;
use crate::registry::{ObjectKind, RecordKey};
use crate::resource::{Held, Keeper};
use crate::time::Stamp;
use crate::{Buffer, Error, Name, Texture};

/// A view of a buffer or a texture: a descriptor in a heap that shaders do not see, from which
/// [tables](crate::DescriptorTable), [sets](crate::DescriptorSet) and render passes are made.
///
/// It keeps its resource: the buffer or texture may be dropped, and lives on until the last of its
/// views, and of the tables and sets with such, is gone. Dropping a view frees its descriptor once no
/// recording and no GPU work uses it any more. `Send` and `Sync`.
///
/// ```
/// use tenure::device::{Format, Usage};
/// use tenure::{Config, Gpu, TextureDesc, TextureViewDesc};
/// use tenure::sim;
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
/// let grass = gpu.create_texture(&grass)?;
/// let view = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
/// drop(grass); // the view keeps it
/// assert_eq!(view.name().as_str(), "grass");
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct View<D: Device> {
    pub(super) inner: Arc<ViewInner<D>>,
}

/// What handles, tables and sets share of a view.
pub(super) struct ViewInner<D: Device> {
    pub(super) name: Name,
    /// `None` only inside `drop`.
    slot: Option<CpuSlot<D>>,
    /// What sets may bind it as; nothing for targets.
    pub(super) binding: Option<BindingKind>,
    record: RecordKey,
    born: Stamp,
    /// Declared before the manager, whose it is.
    _resource: Arc<Keeper<D>>,
    /// Declared last, as in every handle.
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Device> ViewInner<D> {
    pub(super) const fn slot(&self) -> &CpuSlot<D> {
        match &self.slot {
            Some(slot) => slot,
            None => unreachable!(),
        }
    }
}

impl<D: Device> View<D> {
    pub(crate) fn of_buffer(
        shared: &Arc<Shared<D>>,
        buffer: &Buffer<D>,
        desc: &BufferViewDesc,
    ) -> Result<Self, Error> {
        check_owner(shared, &buffer.held)?;
        let view = desc.resolve(buffer, shared.device().properties())?;
        let descriptor = Descriptor::Buffer { resource: buffer.raw(), view };
        Self::create(shared, &buffer.held, &desc.name, &descriptor, Some(desc.access.into()))
    }

    pub(crate) fn of_texture(
        shared: &Arc<Shared<D>>,
        texture: &Texture<D>,
        desc: &TextureViewDesc,
    ) -> Result<Self, Error> {
        check_owner(shared, &texture.held)?;
        let view = desc.resolve(texture.info());
        let view = view.map_err(|source| Error::device(texture.name(), source))?;
        let descriptor = Descriptor::Texture { resource: texture.raw(), view };
        let binding = match desc.access {
            TextureAccess::Sampled => Some(BindingKind::Texture),
            TextureAccess::Storage => Some(BindingKind::StorageTexture),
            TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. } => None,
        };
        Self::create(shared, &texture.held, &desc.name, &descriptor, binding)
    }

    fn create(
        shared: &Arc<Shared<D>>,
        held: &Held<D>,
        name: &Name,
        descriptor: &Descriptor<'_, D>,
        binding: Option<BindingKind>,
    ) -> Result<Self, Error> {
        let name = if name.is_empty() { &held.name } else { name };
        let slot = shared.make_descriptor(name, descriptor)?;
        let inner = ViewInner {
            name: name.clone(),
            slot: Some(slot),
            binding,
            record: shared.register(name, ObjectKind::View, 0),
            born: shared.clock.stamp(),
            _resource: held.keep(),
            shared: shared.clone(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.inner.name
    }

    /// The kind of heap that it is in.
    #[must_use]
    pub fn kind(&self) -> DescriptorKind {
        self.inner.slot().kind
    }

    /// The heap that it is in, with others; shaders do not see it.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        self.inner.slot().heap()
    }

    /// Its index in the heap.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.inner.slot().index()
    }
}

/// A resource is used with the manager that it belongs to.
fn check_owner<D: Device>(shared: &Arc<Shared<D>>, held: &Held<D>) -> Result<(), Error> {
    if Arc::ptr_eq(shared, held.shared()) { Ok(()) } else { Err(Error::Foreign { name: held.name.clone() }) }
}

impl<D: Device> Drop for ViewInner<D> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.shared.registry.remove(self.record);
            self.shared.descriptors.cpu.note_dropped(slot.kind);
            self.shared.release_descriptors(DescriptorGarbage::Cpu(slot), self.born);
        }
    }
}
