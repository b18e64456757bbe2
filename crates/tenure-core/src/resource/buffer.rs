//! Buffers.

use std::sync::Arc;

use super::buffer_place::{BufferPlacement, place_buffer_bytes, placed_needs};
use super::read_only::{READ_ONLY_EVICTABLE, READ_ONLY_MAPPED, check_declared_reads};
use super::{BufferDesc, HandleInner, Labels, PlaceRef};
use crate::api_resource::ApiResource;
use crate::context::Context;
use crate::device::{BufferInfo, Device, DeviceError, Mapping, ResourceDesc, Usage};
use crate::memory::policy::PlacementKind;
use crate::memory::{
    Backing, Cost, Location, LocationKind, MakeRoom, MemoryUse, MovableId, PlaceNeeds, RangeRequest,
};
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::{Error, Name};

/// An owned buffer: dropping it frees it once no recording and no GPU work uses it any more; if the program has
/// never asked for its API object or place, at the next reclaim.
///
/// It may be a separate API buffer or a range of a shared one: always use [`raw`](Self::raw) together with
/// [`offset`](Self::offset). `Send` and `Sync`; methods may be called from any thread.
pub struct Buffer<D: Device> {
    pub(crate) inner: HandleInner<D>,
    /// The byte of the API buffer at which this buffer begins.
    pub(super) offset: u64,
    usage: Usage,
    memory: MemoryUse,
}

debug_fields!([D: Device] Buffer<D>, "Buffer", this, name: this.name(), size: this.size(), usage: this.usage, memory: this.memory, location: this.location());

impl<D: Device> Buffer<D> {
    pub(crate) fn create(
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        desc: &BufferDesc,
    ) -> Result<Self, Error> {
        Self::create_in(context, room, desc, |buffer| buffer)
    }

    /// As [`create`](Self::create), and hands the buffer to `put`, so that it is constructed where `put` stores it: it is large.
    #[inline(always)]
    pub(crate) fn create_in<R>(
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        desc: &BufferDesc,
        put: impl FnOnce(Self) -> R,
    ) -> Result<R, Error> {
        if !desc.read_only.is_empty() {
            check_read_only(context, desc)?;
        }
        let BufferPlacement { align, step, size, placement } = BufferPlacement::of(context, desc)?;
        let backing = place_buffer_bytes(context, room, desc, placement, size, align)?;
        if !desc.read_only.is_empty() {
            backing.api_resource.states.set_read_only(desc.read_only);
        }
        let begin = backing.location.offset();
        let offset = match step {
            // Offset 0, which whole API resources have, is a multiple of everything.
            Some(step) if step > align => begin.next_multiple_of(step),
            _ => begin,
        };
        if let Location::Range(_) = backing.location {
            context.device().name_range(&backing.api_resource.object, offset, desc.size, desc.name.as_str());
        }
        let trace = context.recorder.allocate(desc.size, align, desc.memory, false);
        let labels = Labels::of(&desc.name, &desc.tag);
        let BufferDesc { usage, memory, .. } = *desc;
        let is_movable = desc.traits(context).is_movable;
        let inner = HandleInner::new(context, labels, ObjectKind::Buffer, backing, desc.size, trace);
        if is_movable {
            let placed = BufferPlacement { align, step, size, placement };
            return Self { inner, offset, usage, memory }.made_movable(desc, &placed).map(put);
        }
        // Not the same value as above: a pointer to it would keep this one on the stack first.
        Ok(put(Self { inner, offset, usage, memory }))
    }

    #[cold]
    fn made_movable(mut self, desc: &BufferDesc, placed: &BufferPlacement) -> Result<Self, Error> {
        let BufferPlacement { align, step, size, placement } = *placed;
        let context = self.context();
        let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
        // A buffer that now has dedicated memory may become a placed resource or a range when it moves back.
        let (alignment, memory_types) = match placement {
            PlacementKind::Range(kind) => {
                let needs = context.pools.range_needs(context.device(), kind);
                (align, needs.map_err(|source| context.refused(&desc.name, source))?.memory_types)
            }
            _ => {
                let needs = placed_needs(context, desc, &resource)?;
                (needs.alignment, needs.memory_types)
            }
        };
        let (step, traits) = (step.unwrap_or(1), desc.traits(context));
        self.inner.make_movable(memory_types, |range| PlaceNeeds {
            desc: resource,
            // For a range, the size including room to begin at a multiple of its step.
            size: if matches!(placement, PlacementKind::Range(_)) { size } else { range },
            alignment,
            step,
            placement,
            traits,
            memory_types,
        });
        Ok(self)
    }

    /// The cost of creating the buffer.
    pub(crate) fn cost(context: &Context<D>, desc: &BufferDesc) -> Result<Cost, Error> {
        context.clock.check().map_err(|source| Error::device(&desc.name, source))?;
        let BufferPlacement { align, size, placement, .. } = BufferPlacement::of(context, desc)?;
        let alone = BufferInfo::new(desc.size, desc.usage);
        let (memory_use, flags, name) = (desc.memory, desc.allocation, &desc.name);
        let traits = desc.traits(context);
        let is_filled = desc.is_filled_in_place(context, traits);
        let found = if let PlacementKind::Range(kind) = placement {
            let request =
                RangeRequest { kind, memory_use, is_filled, size, align, alone: &alone, flags, traits, name };
            context.engine().range_cost(request)
        } else {
            let resource = ResourceDesc::Buffer(alone);
            let needs = placed_needs(context, desc, &resource)?;
            let placement = if needs.wants_dedicated() { PlacementKind::Committed } else { placement };
            let request = desc.request(context, (&resource, &needs), placement, traits);
            context.engine().resource_cost(request)
        };
        found.map_err(|source| context.refused(name, source))
    }

    /// A buffer for the GPU alone with a given backing, which the placement policy did not choose. Allocation
    /// traces do not contain it.
    pub(crate) fn from_backing(
        context: &Arc<Context<D>>,
        name: &Name,
        info: &BufferInfo,
        backing: Backing<D>,
    ) -> Self {
        let inner = HandleInner::new(
            context,
            Labels::named(name),
            ObjectKind::Buffer,
            backing,
            info.size,
            TraceId::default(),
        );
        // Other resources used the memory before; commands hand it over.
        inner.note_named();
        Self { inner, offset: 0, usage: info.usage, memory: MemoryUse::GpuOnly }
    }

    pub(crate) const fn from_parts(inner: HandleInner<D>, usage: Usage, memory: MemoryUse) -> Self {
        Self { inner, offset: 0, usage, memory }
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        self.inner.context()
    }

    pub(crate) fn api_resource(&self) -> &Arc<ApiResource<D>> {
        self.inner.api_resource()
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.inner.size()
    }

    /// The API buffer, and the offset in it, for commands recorded immediately. The caller must hold the place.
    pub(crate) fn place(&self) -> PlaceRef<'_, D> {
        self.inner.place(self.offset)
    }

    /// The API buffer that contains it, perhaps with others. Do not destroy or keep it. Pins a
    /// [movable](BufferDesc::movable) buffer for good: recordings should use
    /// [`Scratch::buffer`](crate::Scratch::buffer) instead.
    #[must_use]
    pub fn raw(&self) -> &D::Resource {
        &self.inner.api_resource().object
    }

    /// The byte of the API buffer at which this buffer begins. Pins a [movable](BufferDesc::movable) buffer for
    /// good.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self.inner.as_movable() {
            Some(movable) => movable.pin().offset,
            None => {
                self.inner.note_named();
                self.offset
            }
        }
    }

    /// The offset in elements of `stride` bytes, for a draw's base vertex or first index; `None` if it is not a
    /// multiple of `stride` (create the buffer with that stride), or if the stride is 0.
    #[must_use]
    #[inline(never)]
    pub fn first_element(&self, stride: u32) -> Option<u64> {
        let stride = u64::from(stride);
        let offset = self.offset();
        let is_whole = stride > 0 && offset.is_multiple_of(stride);
        is_whole.then(|| offset / stride)
    }

    /// The GPU address of its first byte, if the API has GPU addresses. Pins a [movable](BufferDesc::movable)
    /// buffer for good.
    #[must_use]
    pub fn gpu_address(&self) -> Option<u64> {
        self.inner.api_resource().address.map(|base| base + self.offset())
    }

    /// Whether a [movable](BufferDesc::movable) buffer is pinned, because its place, or that of a descriptor of
    /// it, was requested outside a recording.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }

    /// Its unique id in [`Gpu::take_moved`](crate::Gpu::take_moved); `None` if it does not move: it was not
    /// created as [movable](BufferDesc::movable), or has dedicated memory.
    #[must_use]
    pub fn movable_id(&self) -> Option<MovableId> {
        self.inner.movable_id()
    }

    /// The number of its moves. When it changes, the place of a [movable](BufferDesc::movable) buffer that a
    /// program has stored is out of date.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.inner.moves()
    }

    /// All its usages.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// CPU and GPU access to its memory.
    #[must_use]
    pub const fn memory(&self) -> MemoryUse {
        self.memory
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

    /// Copies `bytes` to `offset` of a mapped buffer, for submissions made from now on.
    ///
    /// The GPU must not be reading those bytes: all submissions that read them must be complete. If that is not
    /// known, replace the buffer by a new one; the GPU then keeps the old bytes until it has finished with
    /// them.
    ///
    /// # Errors
    /// [`Error::NotMapped`] unless it was created for the CPU, [`Error::OutOfRange`],
    /// [`Error::Device`].
    #[inline(never)]
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let mapping = self.mapping(offset, bytes.len() as u64)?;
        mapping.write(self.offset + offset, bytes).map_err(|source| self.refused(source))
    }

    /// Copies bytes from `offset` of a mapped buffer to `out`, as written by the CPU or by completed
    /// submissions.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[inline(never)]
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let mapping = self.mapping(offset, out.len() as u64)?;
        mapping.read(self.offset + offset, out).map_err(|source| self.refused(source))
    }

    /// The CPU address of its first byte, if it is mapped, and its memory needs no flushes or invalidations.
    /// Valid while the buffer exists. Other threads access the same bytes by
    /// [`device::mapped`](crate::device::mapped).
    ///
    /// `None` on the simulated device, for readback buffers on Direct3D 12 (mapped for each read), and for
    /// memory that must be flushed or invalidated (Vulkan memory that is not `HOST_COHERENT`):
    /// [`write`](Self::write) and [`read`](Self::read) do that.
    #[must_use]
    #[inline(never)]
    pub fn mapped_ptr(&self) -> Option<std::ptr::NonNull<u8>> {
        let base = self.program_mapping()?.as_ptr()?;
        let offset = usize::try_from(self.offset).ok()?;
        std::ptr::NonNull::new(base.as_ptr().wrapping_add(offset))
    }

    fn mapping(&self, offset: u64, size: u64) -> Result<&D::Mapping, Error> {
        let capacity = self.size();
        if offset.checked_add(size).is_none_or(|end| end > capacity) {
            let name = self.inner.name.clone();
            return Err(Error::OutOfRange { name, offset, size, capacity });
        }
        self.program_mapping().ok_or_else(|| Error::NotMapped { name: self.inner.name.clone() })
    }

    /// The CPU mapping, if the program requested one.
    fn program_mapping(&self) -> Option<&D::Mapping> {
        if self.memory.is_mapped() { self.inner.mapping() } else { None }
    }

    /// The CPU mapping of a buffer for the GPU alone, through which the manager writes uploads in place, and
    /// the byte of it at which the buffer begins.
    pub(crate) fn in_place(&self) -> Option<(&D::Mapping, u64)> {
        if self.memory.is_mapped() {
            return None;
        }
        Some((self.inner.mapping()?, self.offset))
    }

    fn refused(&self, source: DeviceError) -> Error {
        self.inner.context().refused(&self.inner.name, source)
    }
}

/// Checks the declared states of a read-only buffer.
#[cold]
fn check_read_only<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<(), Error> {
    let memory = if desc.memory == MemoryUse::GpuOnly { None } else { Some(READ_ONLY_MAPPED) };
    let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
    let rule = memory.or(desc.is_evictable.then_some(READ_ONLY_EVICTABLE));
    check_declared_reads(context, (&desc.name, &resource), desc.read_only, rule)
}
