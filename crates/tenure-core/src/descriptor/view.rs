//! Views of resources, for shaders and render passes.

use std::sync::Arc;

use super::declared_uses::{Part, read_state};
use super::movable_slot::{MovableSlot, Shows};
use super::service::DescriptorService;
use super::{Descriptors, ShaderStages, ShownUse, TextureViewDesc};
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::descriptor_store::CpuSlot;
use crate::device::{
    Allowed, Api, BindingKind, BufferAccess, BufferView, DescriptorKind, Device, DeviceError, Elements,
    Format, Properties, Usage,
};
use crate::held_objects::LazyHeldObjects;
use crate::memory::{MakeRoom, MemoryUse, MovableBacking};
use crate::registry::RegistryKey;
use crate::resource::{HandleInner, ViewGuard};
use crate::time::Stamp;
use crate::{Buffer, Error, Name, Texture};

/// A view of a buffer or a texture: a descriptor in a heap that is not shader-visible, the source of
/// [tables](crate::DescriptorTable), [sets](crate::DescriptorSet) and render passes.
///
/// It keeps its resource alive: the buffer or texture may be dropped, and is freed after the last of its views, and
/// of the tables and sets with these views, is dropped. Dropping a view frees its descriptor once no recording and no
/// GPU work uses it any more. `Send` and `Sync`.
///
/// ```
/// use tenure::{Config, Format, Gpu, TextureDesc, TextureViewDesc, Usage, sim};
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

debug_fields!([D: Device] View<D>, "View", this, name: this.inner.name, kind: this.kind(), binding: this.inner.binding);

/// The part of a view that handles, tables and sets share.
pub(super) struct ViewInner<D: Device> {
    pub(super) name: Name,
    /// `None` only inside `drop`.
    slot: Option<ViewSlot<D>>,
    pub(super) kind: DescriptorKind,
    /// The kind of binding in sets; `None` for targets.
    pub(super) binding: Option<BindingKind>,
    /// True if shaders write through it.
    is_written: bool,
    part: Part,
    /// The evictable block of its resource, if that does not move.
    block: Option<BlockKey>,
    registry_key: RegistryKey,
    born: Stamp,
    /// Declared before the service, so that the resource is released before its manager.
    resource: Arc<ViewGuard<D>>,
    /// Declared last, as in every handle.
    pub(super) service: Arc<DescriptorService<D>>,
}

/// The descriptor.
enum ViewSlot<D: Device> {
    Fixed(CpuSlot<D>),
    /// Replaced after each move of the resource.
    Movable(Arc<MovableSlot<D>>),
}

impl<D: Device> ViewInner<D> {
    const fn slot(&self) -> &ViewSlot<D> {
        match &self.slot {
            Some(slot) => slot,
            None => unreachable!(),
        }
    }

    /// The descriptor, if the resource can move.
    pub(super) const fn as_movable(&self) -> Option<&Arc<MovableSlot<D>>> {
        match self.slot() {
            ViewSlot::Movable(slot) => Some(slot),
            ViewSlot::Fixed(_) => None,
        }
    }

    /// Pins the resource, and returns the final descriptor.
    fn pinned(&self) -> (&D::DescriptorHeap, u32) {
        match self.slot() {
            ViewSlot::Fixed(slot) => (slot.heap(), slot.index()),
            ViewSlot::Movable(slot) => slot.pin(),
        }
    }

    /// The descriptor for a recording; the resource does not move until that is submitted.
    #[inline]
    pub(super) fn held<'s>(&'s self, held: LazyHeldObjects<'s, D>) -> (&'s D::DescriptorHeap, u32) {
        match self.slot() {
            ViewSlot::Fixed(slot) => (slot.heap(), slot.index()),
            ViewSlot::Movable(slot) => slot.hold(held),
        }
    }

    /// The descriptor after the current move.
    pub(super) fn next(&self) -> (Arc<D::DescriptorHeap>, u32) {
        match self.slot() {
            ViewSlot::Fixed(slot) => (slot.slot.object.clone(), slot.index()),
            ViewSlot::Movable(slot) => slot.next(),
        }
    }

    /// The declared use of its resource; `None` for targets.
    pub(super) fn shown(&self, stages: ShaderStages) -> Option<ShownUse<'_, D>> {
        let binding = self.binding?;
        let state = if self.is_written { stages.writes() } else { read_state(binding, stages) };
        Some(ShownUse { resource: &self.resource, part: self.part, state })
    }

    /// The evictable block of its resource, if that does not move.
    pub(super) const fn fixed_block(&self) -> Option<BlockKey> {
        self.block
    }

    /// The evictable block that now contains its resource.
    #[inline]
    pub(super) fn block(&self) -> Option<BlockKey> {
        match self.slot() {
            ViewSlot::Fixed(_) => self.block,
            ViewSlot::Movable(slot) => slot.movable.place().api_resource.block,
        }
    }
}

impl<D: Device> View<D> {
    /// Another handle of this view. For the C interface, which cannot borrow the cached views of transient resources.
    #[doc(hidden)]
    #[must_use]
    pub fn share(&self) -> Self {
        Self { inner: self.inner.clone() }
    }

    pub(crate) fn of_buffer(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        buffer: &Buffer<D>,
        desc: &BufferViewDesc,
    ) -> Result<Self, Error> {
        check_owner(service, &buffer.inner)?;
        let view = desc.resolve(buffer, service.context.device().properties())?;
        let resource = (&buffer.inner, buffer.memory());
        Self::create(service, room, resource, &desc.name, (Shows::Buffer(view), Part::All))
    }

    pub(crate) fn of_texture(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        texture: &Texture<D>,
        desc: &TextureViewDesc,
    ) -> Result<Self, Error> {
        check_owner(service, &texture.inner)?;
        let view = desc.resolve(texture.info());
        let view = view.map_err(|source| Error::device(texture.name(), source))?;
        let part = Part::of(&view, texture.info());
        let resource = (&texture.inner, MemoryUse::GpuOnly);
        Self::create(service, room, resource, &desc.name, (Shows::Texture(view), part))
    }

    fn create(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        (held, memory): (&HandleInner<D>, MemoryUse),
        name: &Name,
        (shows, part): (Shows, Part),
    ) -> Result<Self, Error> {
        let name = if name.is_empty() { &held.name } else { name };
        let (slot, block, kind) = match held.as_movable() {
            Some(movable) => {
                let slot = MovableSlot::make(service, room, movable, name, shows)?;
                let kind = slot.kind();
                (ViewSlot::Movable(slot), None, kind)
            }
            None => {
                let resource = held.api_resource();
                let slot = service.make_descriptor(room, name, &shows.descriptor(&resource.object, 0))?;
                let kind = slot.kind;
                (ViewSlot::Fixed(slot), resource.block, kind)
            }
        };
        let inner = ViewInner {
            name: name.clone(),
            slot: Some(slot),
            kind,
            binding: shows.binding(),
            is_written: shows.is_written(),
            part,
            block,
            registry_key: service.context.register_view(name, held.registry_key_bits()),
            born: service.context.clock.stamp(),
            resource: held.keep(memory),
            service: service.clone(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.inner.name
    }

    pub(crate) fn blocks(&self) -> &[BlockKey] {
        self.inner.block.as_slice()
    }

    /// The descriptor for a recording; the resource does not move until that is submitted.
    pub(crate) fn hold<'r>(&'r self, held: LazyHeldObjects<'r, D>) -> Descriptors<'r, D> {
        let (heap, index) = self.inner.held(held);
        Descriptors::lasting(heap, self.inner.kind, index, 1)
    }

    /// The evictable block that now contains its resource.
    pub(crate) fn each_block(&self, visit: impl FnMut(BlockKey)) {
        self.inner.block().into_iter().for_each(visit);
    }

    /// The resource, if it can move.
    pub(crate) fn movables(&self) -> &[Arc<MovableBacking<D>>] {
        self.inner.as_movable().map_or(&[], |slot| std::slice::from_ref(&slot.movable))
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.inner.service.context
    }

    /// The kind of heap that contains its descriptor.
    #[must_use]
    pub fn kind(&self) -> DescriptorKind {
        self.inner.kind
    }

    /// The heap that contains its descriptor, among others; it is not shader-visible. Pins a movable resource:
    /// recordings should use [`Scratch::view`](crate::Scratch::view) instead.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        self.inner.pinned().0
    }

    /// The index in the heap. Pins a movable resource: recordings should use
    /// [`Scratch::view`](crate::Scratch::view) instead.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.inner.pinned().1
    }
}

/// Checks that a resource belongs to the manager.
fn check_owner<D: Device>(service: &Arc<DescriptorService<D>>, held: &HandleInner<D>) -> Result<(), Error> {
    if Arc::ptr_eq(&service.context, held.context()) {
        Ok(())
    } else {
        Err(Error::Foreign { name: held.name.clone() })
    }
}

impl<D: Device> Drop for ViewInner<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.service.context.unregister(self.registry_key);
            match slot {
                ViewSlot::Fixed(slot) => self.service.retire_descriptor(slot, self.born),
                ViewSlot::Movable(slot) => slot.retire(),
            }
        }
    }
}

/// A view of a buffer to create: the bytes that shaders see, and the access.
///
/// ```
/// use tenure::{BufferViewDesc, Format};
/// let lights = BufferViewDesc::structured(48).name("lights");
/// let histogram = BufferViewDesc::typed_writable(Format::R32Uint).range(1024, 256);
/// # let _ = (lights, histogram);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferViewDesc {
    /// The first byte, from the beginning of the buffer.
    pub offset: u64,
    /// Bytes; `None`: the rest, rounded down to whole elements.
    pub size: Option<u64>,
    /// The access of shaders.
    pub access: BufferAccess,
    /// The name; empty: the buffer's.
    pub name: Name,
}

crate::setters!(BufferViewDesc { offset: u64 });

impl BufferViewDesc {
    /// A view of the whole buffer.
    #[must_use]
    pub fn new(access: BufferAccess) -> Self {
        Self { offset: 0, size: None, access, name: Name::default() }
    }

    /// Constants (a uniform buffer, a constant buffer view).
    #[must_use]
    pub fn constants() -> Self {
        Self::new(BufferAccess::Constants)
    }

    /// Read-only bytes, in words of four.
    #[must_use]
    pub fn raw() -> Self {
        Self::new(BufferAccess::Read(Elements::Raw))
    }

    /// Readable and writable bytes, in words of four.
    #[must_use]
    pub fn raw_writable() -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Raw))
    }

    /// Read-only structures of `stride` bytes.
    #[must_use]
    pub fn structured(stride: u32) -> Self {
        Self::new(BufferAccess::Read(Elements::Structured(stride)))
    }

    /// Readable and writable structures of `stride` bytes.
    #[must_use]
    pub fn structured_writable(stride: u32) -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Structured(stride)))
    }

    /// Read-only texels.
    #[must_use]
    pub fn typed(format: Format) -> Self {
        Self::new(BufferAccess::Read(Elements::Typed(format)))
    }

    /// Readable and writable texels.
    #[must_use]
    pub fn typed_writable(format: Format) -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Typed(format)))
    }

    /// Selects `size` bytes from `offset` on.
    #[must_use]
    pub fn range(self, offset: u64, size: u64) -> Self {
        Self { offset, size: Some(size), ..self }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Resolves the view for the device, with offsets in the API buffer; for a movable buffer, relative to the
    /// buffer.
    pub(super) fn resolve<D: Device>(
        &self,
        buffer: &Buffer<D>,
        properties: &Properties,
    ) -> Result<BufferView, Error> {
        let refuse = |source| Error::device(buffer.name(), source);
        check_usage(buffer.usage(), self.access.usage()).map_err(refuse)?;
        let unit = unit(self.access).map_err(refuse)?;
        let capacity = buffer.size();
        let left = capacity.checked_sub(self.offset);
        let size = self.size.unwrap_or_else(|| left.unwrap_or(0) / unit * unit);
        if left.is_none_or(|left| size > left) {
            let (name, offset) = (buffer.name().clone(), self.offset);
            return Err(Error::OutOfRange { name, offset, size, capacity });
        }
        if size == 0 || !size.is_multiple_of(unit) {
            let allowed = if size == 0 { Allowed::AtLeast(unit) } else { Allowed::MultipleOf(unit) };
            return Err(refuse(DeviceError::invalid_desc("size", size, allowed)));
        }
        let begin = buffer.place().offset();
        check_offset(self.access, begin + self.offset, properties).map_err(refuse)?;
        // For a movable buffer, relative to the buffer.
        let offset = if buffer.inner.as_movable().is_some() { self.offset } else { begin + self.offset };
        let size = match self.access {
            BufferAccess::Constants => {
                let size = constant_size(size, properties).map_err(refuse)?;
                if left.is_some_and(|left| size > left) {
                    let rule = "constants take multiples of 256 bytes, which the buffer has not";
                    return Err(refuse(invalid(rule, size, left.unwrap_or(0))));
                }
                size
            }
            BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements) => {
                check_size(elements, size, properties).map_err(refuse)?;
                size
            }
        };
        Ok(BufferView { offset, size, access: self.access })
    }
}

fn invalid(rule: &'static str, value: u64, limit: u64) -> DeviceError {
    DeviceError::invalid_call(rule, value, limit)
}

/// Checks that a resource was created for this usage.
pub(super) fn check_usage(has: Usage, needs: Usage) -> Result<(), DeviceError> {
    if has.contains(needs) {
        return Ok(());
    }
    Err(DeviceError::MissingUsage { needs, has })
}

/// The bytes of one element; the size of a view is a multiple of it.
fn unit(access: BufferAccess) -> Result<u64, DeviceError> {
    /// Bytes; the largest structure that Direct3D 12 accepts.
    const MAX_STRIDE: u32 = 2048;
    let (BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements)) = access else { return Ok(1) };
    match elements {
        Elements::Structured(stride) if stride == 0 || stride > MAX_STRIDE || !stride.is_multiple_of(4) => {
            let rule = "a multiple of 4, from 4 to 2048";
            Err(DeviceError::invalid_desc("stride", stride, Allowed::Rule(rule)))
        }
        Elements::Typed(format) if format.is_depth() || format.is_compressed() => {
            Err(DeviceError::invalid_value("typed views of buffers have plain colour formats", format))
        }
        elements => Ok(elements.bytes()),
    }
}

/// Checks that a view may begin at this offset of the API buffer.
fn check_offset(access: BufferAccess, offset: u64, properties: &Properties) -> Result<(), DeviceError> {
    let is_d3d12 = properties.api == Api::Direct3D12;
    let aligned = |align: u64| {
        if offset.is_multiple_of(align.max(1)) {
            return Ok(());
        }
        let rule = "a view begins at an aligned offset of the API buffer (BufferDesc::alignment, stride)";
        Err(invalid(rule, offset, align))
    };
    match access {
        BufferAccess::Constants => aligned(properties.constant_alignment),
        BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements) => match elements {
            // On Direct3D 12 such views begin at whole elements.
            Elements::Structured(_) if is_d3d12 => aligned(elements.bytes()),
            Elements::Raw | Elements::Structured(_) => aligned(properties.storage_alignment),
            Elements::Typed(_) => {
                aligned(if is_d3d12 { elements.bytes() } else { 1 })?;
                aligned(properties.descriptors.typed_alignment)
            }
        },
    }
}

/// The size of a view of constants, in bytes: a multiple of 256 on Direct3D 12.
#[inline]
pub(super) fn constant_size(size: u64, properties: &Properties) -> Result<u64, DeviceError> {
    let limit = properties.descriptors.constant_size;
    let size = match properties.api {
        Api::Direct3D12 => size.checked_next_multiple_of(properties.constant_alignment).unwrap_or(u64::MAX),
        Api::Vulkan => size,
    };
    if size <= limit {
        Ok(size)
    } else {
        Err(invalid("the bytes of constants in a view are not too many", size, limit))
    }
}

fn check_size(elements: Elements, size: u64, properties: &Properties) -> Result<(), DeviceError> {
    let limits = &properties.descriptors;
    let (rule, value, limit) = match elements {
        Elements::Typed(_) => {
            ("elements of a typed view", size / elements.bytes().max(1), u64::from(limits.typed_elements))
        }
        Elements::Raw | Elements::Structured(_) => ("bytes of a view", size, limits.storage_size),
    };
    if value <= limit { Ok(()) } else { Err(invalid(rule, value, limit)) }
}
