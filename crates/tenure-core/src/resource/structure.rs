//! Acceleration structures.

use std::sync::Arc;

use super::buffer_place::{buffer_alignment, place_buffer_bytes};
use super::{HandleInner, Labels};
use crate::context::Context;
use crate::device::{
    AccelerationStructureKind, AccelerationStructureRange, Device, ObjectRef, Permit, Usage,
};
use crate::memory::policy::{buffer_subject, place_buffer};
use crate::memory::{Backing, Location, LocationKind, MakeRoom, StructureLocation};
use crate::permit::OwnPermit as _;
use crate::registry::ObjectKind;
use crate::{BufferDesc, Error, MemoryUse, Name};

/// An acceleration structure to create.
///
/// ```
/// use tenure::{AccelerationStructureDesc, resource::AccelerationStructureKind};
/// let rock = AccelerationStructureDesc::bottom(4096).name("rock");
/// assert_eq!(rock.kind, AccelerationStructureKind::Bottom);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccelerationStructureDesc {
    /// Its kind: top or bottom level.
    pub kind: AccelerationStructureKind,
    /// Bytes: the size that the API reports for the geometry (`vkGetAccelerationStructureBuildSizesKHR`,
    /// `GetRaytracingAccelerationStructurePrebuildInfo`), or a compacted size.
    pub size: u64,
    /// Its name.
    pub name: Name,
    /// Its purpose, in the program's words ("terrain", "ui"): the [report](crate::Report) sums live objects by
    /// tag.
    pub tag: Name,
}

impl AccelerationStructureDesc {
    /// A structure of `size` bytes.
    #[must_use]
    pub fn new(kind: AccelerationStructureKind, size: u64) -> Self {
        Self { kind, size, name: Name::default(), tag: Name::default() }
    }

    /// A bottom-level structure, of geometry (BLAS).
    #[must_use]
    pub fn bottom(size: u64) -> Self {
        Self::new(AccelerationStructureKind::Bottom, size)
    }

    /// A top-level structure, of instances (TLAS).
    #[must_use]
    pub fn top(size: u64) -> Self {
        Self::new(AccelerationStructureKind::Top, size)
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Tags it: see [`tag`](Self::tag).
    #[must_use]
    pub fn tag(self, tag: impl Into<Name>) -> Self {
        Self { tag: tag.into(), ..self }
    }
}

/// An owned acceleration structure: dropping it destroys it and frees its memory once no recording and no GPU
/// work uses it any more.
///
/// Its memory is a range of a buffer that acceleration structures share, or a separate buffer if it is large;
/// [`Gpu::create_acceleration_structure`](crate::Gpu::create_acceleration_structure) has an example. A
/// top-level structure refers to its bottom-level ones by address, and does not keep them alive. A program may
/// drop those together with the top-level structure, or earlier while the last recording that traces through it
/// is open. `Send` and `Sync`; methods may be called from any thread.
pub struct AccelerationStructure<D: Device> {
    pub(crate) inner: HandleInner<D>,
    /// The byte of the API buffer at which it begins.
    offset: u64,
    kind: AccelerationStructureKind,
    address: u64,
}

debug_fields!([D: Device] AccelerationStructure<D>, "AccelerationStructure", this, name: this.name(), kind: this.kind, size: this.size(), address: this.address, location: this.location());

impl<D: Device> AccelerationStructure<D> {
    pub(crate) fn create(
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        desc: &AccelerationStructureDesc,
    ) -> Result<Self, Error> {
        let AccelerationStructureDesc { kind, size, name, tag } = desc;
        let usage = Usage::ACCELERATION_STRUCTURE;
        let bytes = BufferDesc { usage, ..BufferDesc::new(*size, usage).name(name.clone()) };
        let align = buffer_alignment(context, &bytes)?;
        let subject = buffer_subject(usage, MemoryUse::GpuOnly);
        let placement = place_buffer(subject, *size, &context.config);
        let Backing { api_resource, location: place } =
            place_buffer_bytes(context, room, &bytes, placement, *size, align)?;
        let (device, offset) = (context.device(), place.offset());
        let range =
            AccelerationStructureRange { buffer: &api_resource.object, offset, size: *size, kind: *kind };
        let made = room.retry(|| device.create_acceleration_structure(Permit::own(), &range));
        let object = match made {
            Ok(object) => object,
            Err(source) => {
                let backing = Backing { api_resource, location: place };
                // Nothing else references a separate buffer, so it is destroyed at once.
                let _given_back =
                    context.pools.release(device, backing, || {}, |range| context.pools.free(range));
                return Err(context.refused(name, source));
            }
        };
        if !name.is_empty() {
            device.set_name(Permit::own(), ObjectRef::AccelerationStructure(&object), name.as_str());
        }
        let address = device.acceleration_structure_address(&object);
        let location = Location::Structure(Box::new(StructureLocation { object, place }));
        let trace = context.recorder.allocate(*size, align, MemoryUse::GpuOnly, false);
        let backing = Backing { api_resource, location };
        let inner = HandleInner::new(
            context,
            Labels::of(name, tag),
            ObjectKind::AccelerationStructure,
            backing,
            *size,
            trace,
        );
        Ok(Self { inner, offset, kind: *kind, address })
    }

    /// Its kind: top or bottom level.
    #[must_use]
    pub const fn kind(&self) -> AccelerationStructureKind {
        self.kind
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.inner.size()
    }

    /// The API's acceleration structure. Do not destroy or keep it.
    #[must_use]
    pub fn raw(&self) -> &D::AccelerationStructure {
        self.inner.note_named();
        match self.inner.fixed_location() {
            Some(Location::Structure(structure)) => &structure.object,
            _ => unreachable!("a structure is created with an object"),
        }
    }

    /// The API buffer that contains it, perhaps with others.
    #[must_use]
    pub fn raw_buffer(&self) -> &D::Resource {
        &self.inner.api_resource().object
    }

    /// The byte of the API buffer at which it begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.inner.note_named();
        self.offset
    }

    /// The GPU address, for instances and shaders.
    #[must_use]
    pub fn gpu_address(&self) -> u64 {
        self.inner.note_named();
        self.address
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.inner.name
    }

    /// Location of its bytes.
    #[must_use]
    #[inline(never)]
    pub fn location(&self) -> LocationKind {
        self.inner.location_kind()
    }
}
