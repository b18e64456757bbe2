//! Buffers.

use std::sync::Arc;

use super::{HandleInner, Labels, PlaceRef};
use crate::api_resource::ApiResource;
use crate::context::Context;
use crate::device::{
    Allowed, Api, BufferInfo, Device, DeviceError, Mapping, Priority, Requirements, Residency, ResourceDesc,
    Usage,
};
use crate::memory::policy::{Placement, buffer_subject, page_pool, place_buffer, place_buffer_alone};
use crate::memory::{
    AllocationFlags, Backing, BlockTraits, Cost, Location, LocationKind, MemoryOwner, MemoryUse, MovableId,
    PlaceNeeds, PoolKind, RangeRequest, ResourceRequest,
};
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::{Error, Name};

/// A buffer to create.
///
/// ```
/// use tenure::{BufferDesc, MemoryUse, Usage};
/// let rock = BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock").stride(20);
/// let camera = BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).tag("ui");
/// # let _ = (rock, camera);
/// ```
#[derive(Clone, Debug)]
pub struct BufferDesc {
    /// Bytes; at least 1.
    pub size: u64,
    /// Everything it may be used as.
    pub usage: Usage,
    /// Who reads and writes it.
    pub memory: MemoryUse,
    /// Bytes of one element; its offset in the API buffer becomes a multiple of this, any number.
    /// 0 or 1: no matter.
    pub stride: u32,
    /// Bytes; a power of two. The larger of this and what the usage needs is honoured: the offset in the API
    /// buffer is a multiple of it. Where the buffer has an API resource of its own in a heap, the offset in the
    /// heap and the GPU address are, up to the alignment of heaps
    /// ([`Properties::heap_alignment`](crate::device::Properties::heap_alignment), 64 KiB on Direct3D 12);
    /// memory that a buffer has to itself begins where the driver puts it.
    ///
    /// A mapped buffer of 4 KiB or more that copies read, or that is for reading back, begins where
    /// copies between buffers and textures may begin; a smaller one only if it asks for that here
    /// (512 on Direct3D 12), because the small ones are many.
    pub alignment: u64,
    /// An API resource of its own even where the policy would have it share one. Such a buffer has
    /// a state of its own: it can be copied to and from others that would share its API resource.
    /// The price is an API call, and on most Direct3D 12 devices 64 KiB.
    pub own_resource: bool,
    /// What the request for its memory may not do; empty by default.
    pub allocation: AllocationFlags,
    /// How much it matters that it stays in fast memory; `None`, the default: by what it is used for.
    pub priority: Option<Priority>,
    /// It may be evicted while no work that was submitted uses it: see [`evictable`](Self::evictable).
    pub is_evictable: bool,
    /// It may move to another place in memory: see [`movable`](Self::movable).
    pub is_movable: bool,
    /// Its content comes with its creation: see [`filled`](Self::filled).
    pub is_filled: bool,
    /// Its name.
    pub name: Name,
    /// What it is for, in words of the program ("terrain", "ui"): the [report](crate::Report) adds up what lives by
    /// tag.
    pub tag: Name,
}

impl BufferDesc {
    /// A buffer for the GPU alone, filled by copies: [`Usage::COPY_DST`] is added.
    #[must_use]
    pub fn new(size: u64, usage: Usage) -> Self {
        let usage = usage | Usage::COPY_DST;
        let (memory, name) = (MemoryUse::GpuOnly, Name::default());
        let allocation = AllocationFlags::empty();
        Self {
            size,
            usage,
            memory,
            stride: 0,
            alignment: 1,
            own_resource: false,
            allocation,
            priority: None,
            is_evictable: false,
            is_movable: false,
            is_filled: false,
            name,
            tag: Name::default(),
        }
    }

    /// Sets who reads and writes it.
    #[must_use]
    pub fn memory(self, memory: MemoryUse) -> Self {
        Self { memory, ..self }
    }

    /// Sets the size of an element in bytes, so that [`Buffer::first_element`] is whole.
    #[must_use]
    pub fn stride(self, stride: u32) -> Self {
        Self { stride, ..self }
    }

    /// Asks for an alignment in bytes, a power of two.
    #[must_use]
    pub fn alignment(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    /// Adds to what the request for its memory may not do.
    #[must_use]
    pub fn allocation(self, flags: AllocationFlags) -> Self {
        Self { allocation: self.allocation | flags, ..self }
    }

    /// Sets how much it matters that it stays in fast memory when there is too little. A block of memory has one
    /// priority, so that buffers of different priorities share none. It reaches the API where that has priorities
    /// (`ID3D12Device1::SetResidencyPriority`, `VK_EXT_memory_priority`).
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// Lets the manager evict it while no work that was submitted uses it. It is made resident again, and the queue
    /// waits for that, before a submission whose recording has named it:
    /// in a [use](crate::Commands::use_resource), a copy, [descriptors](crate::Scratch::descriptors) or a
    /// [set](crate::Scratch::set) of the recording, or by [`make_resident`](crate::Commands::make_resident). So
    /// **each recording that uses it has to name it**, in whatever state it is already; what finds it otherwise (a
    /// bindless index, a GPU address) names it by the latter. The program's own submissions
    /// ([`Gpu::submit_external`]) must not use it.
    ///
    /// It has an effect where a program decides what is resident, or says so by priorities
    /// ([`Properties::residency`](crate::device::Properties::residency)), and none for memory that the CPU maps, nor for
    /// what is adopted, transient, or in a page of a [`PageAllocator`](crate::PageAllocator).
    /// What is evicted shares blocks of at most 4 MiB with nothing else, and has memory of its own from 1 MiB on, so
    /// that little is moved that is not needed.
    ///
    /// [`Gpu::submit_external`]: crate::Gpu::submit_external
    #[must_use]
    pub fn evictable(self) -> Self {
        Self { is_evictable: true, ..self }
    }

    /// Lets the manager move it to another place, so that memory of which little is used can be given back: see
    /// [`Gpu::compact`]. Its content goes with it; [`Usage::COPY_SRC`] is added for that. It stays where it is while a
    /// recording that is open, or an upload that is pending, uses it.
    ///
    /// Whoever uses it asks in each recording where it is: what [`Scratch::buffer`](crate::Scratch::buffer),
    /// [`Scratch::view`](crate::Scratch::view), [`Scratch::table`](crate::Scratch::table) and
    /// [`Scratch::lasting_set`](crate::Scratch::lasting_set) say is right until the recording is submitted, and what copies,
    /// readbacks, [descriptors](crate::Scratch::descriptors) and [sets](crate::Scratch::set) of a recording name is found.
    /// So **each recording that uses it has to name it**, in one of these or by
    /// [`use_resource`](crate::Commands::use_resource). Its views, and the tables and sets of those, show it wherever it is.
    ///
    /// What [`Buffer::raw`], [`Buffer::offset`] and [`Buffer::gpu_address`] say is right for good: it does not move any more
    /// after that. The same goes for [`View::index`](crate::View::index), for
    /// [`DescriptorTable::first`](crate::DescriptorTable::first), for [`DescriptorSet::index`](crate::DescriptorSet::index)
    /// and what is beside them. [`Buffer::is_pinned`] says whether that has happened.
    ///
    /// It may come to lie in one API buffer with another one, so copies between two movable buffers need one with
    /// [`own_resource`](Self::own_resource), and states that it is left in are those of all that share its API buffer.
    ///
    /// It has no effect on memory that the CPU maps, on buffers for acceleration structures, on what has memory of its
    /// own, and on what is adopted, transient, or in a page of a [`PageAllocator`](crate::PageAllocator).
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Queue, State, Subresource, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_buffer_with(&BufferDesc::new(4096, Usage::VERTEX).movable(), &[7; 4096])?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// recording.use_resource(&rock, Subresource::All, State::VERTEX_OR_CONSTANT)?;
    /// let (commands, scratch) = recording.split();
    /// let place = scratch.buffer(&rock)?; // where it is for this recording
    /// let _draw = (commands.raw(), place.raw(), place.offset());
    /// recording.submit()?;
    /// assert!(!rock.is_pinned());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// [`Gpu::compact`]: crate::Gpu::compact
    #[must_use]
    pub fn movable(self) -> Self {
        Self { is_movable: true, usage: self.usage | Usage::COPY_SRC | Usage::COPY_DST, ..self }
    }

    /// Says that its content comes with its creation, or soon after and before commands use it, and seldom changes. On a
    /// card whose whole memory the CPU sees it goes where the CPU can write it, so that uploads need no staging; see
    /// [`InPlaceConfig`](crate::InPlaceConfig). [`create_buffer_with`](crate::Gpu::create_buffer_with) says it of itself.
    ///
    /// On unified memory it says the same of buffers that shaders write; of others the CPU can write all.
    /// It has no effect on buffers that the CPU maps, and on what is [evictable](Self::evictable) or
    /// [movable](Self::movable).
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::D3D12_REBAR), Config::default())?;
    /// let rock = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX).filled().name("rock"))?;
    /// gpu.upload(&rock, 0, &[1; 2048])?;
    /// gpu.upload(&rock, 2048, &[2; 2048])?;
    /// assert_eq!((gpu.upload_stats().in_place, gpu.upload_stats().bytes), (2, 0));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn filled(self) -> Self {
        Self { is_filled: true, ..self }
    }

    /// Whether it is to be where the CPU can write it.
    #[inline]
    fn is_filled_in_place<D: Device>(&self, context: &Context<D>, traits: BlockTraits) -> bool {
        self.is_filled
            && self.memory == MemoryUse::GpuOnly
            && context.pools.in_place.allows(self.size)
            && !traits.is_evictable
            && !traits.is_movable
    }

    /// What holds for the block that it lies in. To evict and to move is for memory of the GPU alone.
    fn traits<D: Device>(&self, context: &Context<D>) -> BlockTraits {
        let is_gpu_only = self.memory == MemoryUse::GpuOnly && !self.usage.contains(Usage::SHARED);
        let has_residency = || context.device().properties().residency != Residency::None;
        let is_evictable = self.is_evictable && is_gpu_only && has_residency();
        let copied = Usage::COPY_SRC | Usage::COPY_DST;
        let can_move = self.usage.contains(copied) && !self.usage.contains(Usage::ACCELERATION_STRUCTURE);
        let is_movable = self.is_movable && is_gpu_only && can_move;
        BlockTraits { priority: self.priority, is_evictable, is_movable, is_gathered: false }
    }

    /// Shares its memory with other devices, processes or APIs ([`Usage::SHARED`]): the backend exports it. It has
    /// memory of its own, whatever its size, and is neither evicted nor moved, even where it is asked to be
    /// [evictable](Self::evictable) or [movable](Self::movable).
    ///
    /// Before the other side uses it, a recording hands it over
    /// ([`release_to_peer`](crate::Commands::release_to_peer)); before it is used here again, another takes it back
    /// ([`acquire_from_peer`](crate::Commands::acquire_from_peer)).
    ///
    /// Creating it is an error where the device lacks
    /// [`Features::SHARED_MEMORY`](crate::device::Features::SHARED_MEMORY).
    #[must_use]
    pub fn shared(self) -> Self {
        Self { usage: self.usage | Usage::SHARED, ..self }
    }

    /// Asks for an API resource of its own.
    #[must_use]
    pub fn own_resource(self) -> Self {
        Self { own_resource: true, ..self }
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

/// A buffer, owned: dropping it frees it once no recording and no GPU work uses it any more; at the next
/// purge, when neither it nor its place was ever asked for.
///
/// It may be an API buffer of its own or a range of a shared one: always use
/// [`raw`](Self::raw) together with [`offset`](Self::offset).
/// `Send` and `Sync`; methods may be called from any thread.
pub struct Buffer<D: Device> {
    pub(crate) inner: HandleInner<D>,
    /// Byte of the API buffer at which this one begins.
    pub(super) offset: u64,
    usage: Usage,
    memory: MemoryUse,
}

debug_fields!([D: Device] Buffer<D>, "Buffer", this, name: this.name(), size: this.size(), usage: this.usage, memory: this.memory, location: this.location());

impl<D: Device> Buffer<D> {
    pub(crate) fn create(context: &Arc<Context<D>>, desc: &BufferDesc) -> Result<Self, Error> {
        let Wanted { align, step, size, placement } = Wanted::of(context, desc)?;
        let backing = place_buffer_bytes(context, desc, placement, size, align)?;
        let begin = backing.location.offset();
        let offset = match step {
            // Offset 0, that of whole API resources, is a multiple of everything.
            Some(step) if step > align => begin.next_multiple_of(step),
            _ => begin,
        };
        if let Location::Range(_) = backing.location {
            context.device().name_range(&backing.api_resource.object, offset, desc.size, desc.name.as_str());
        }
        let trace = context.recorder.allocate(desc.size, align, desc.memory, false);
        let inner = HandleInner::new(
            context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Buffer,
            backing,
            desc.size,
            trace,
        );
        let inner = if desc.traits(context).is_movable {
            let resource = ResourceDesc::Buffer(BufferInfo { size: desc.size, usage: desc.usage });
            // What has memory of its own now may be placed, or a range, when it comes back from there.
            let (alignment, memory_types) = match placement {
                Placement::Range(kind) => {
                    let needs = context.pools.range_needs(context.device(), kind);
                    (align, needs.map_err(|source| context.refused(&desc.name, source))?.memory_types)
                }
                _ => {
                    let needs = placed_needs(context, desc, &resource)?;
                    (needs.alignment, needs.memory_types)
                }
            };
            let (step, traits) = (step.unwrap_or(1), desc.traits(context));
            inner.movable(memory_types, |range| PlaceNeeds {
                desc: resource,
                // Of a range, what it takes with room to begin at its step.
                size: if matches!(placement, Placement::Range(_)) { size } else { range },
                alignment,
                step,
                placement,
                traits,
                memory_types,
            })
        } else {
            inner
        };
        Ok(Self { inner, offset, usage: desc.usage, memory: desc.memory })
    }

    /// What creating it would take.
    pub(crate) fn cost(context: &Context<D>, desc: &BufferDesc) -> Result<Cost, Error> {
        context.clock.check().map_err(|source| Error::device(&desc.name, source))?;
        let Wanted { align, size, placement, .. } = Wanted::of(context, desc)?;
        let alone = BufferInfo { size: desc.size, usage: desc.usage };
        let (memory_use, flags, name) = (desc.memory, desc.allocation, &desc.name);
        let traits = desc.traits(context);
        let is_filled = desc.is_filled_in_place(context, traits);
        let found = if let Placement::Range(kind) = placement {
            let request =
                RangeRequest { kind, memory_use, is_filled, size, align, alone: &alone, flags, traits, name };
            context.pools.range_cost(context.device(), &context.config, request)
        } else {
            let resource = ResourceDesc::Buffer(alone);
            let needs = placed_needs(context, desc, &resource)?;
            let placement = if needs.wants_dedicated() { Placement::Committed } else { placement };
            let owner = MemoryOwner::Resource;
            let request = ResourceRequest {
                desc: &resource,
                needs: &needs,
                placement,
                memory_use,
                is_filled,
                owner,
                flags,
                traits,
                name,
            };
            context.pools.resource_cost(context.device(), &context.config, request)
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
        // Others have had the memory, and take it over by commands.
        inner.note_named();
        Self { inner, offset: 0, usage: info.usage, memory: MemoryUse::GpuOnly }
    }

    pub(super) const fn from_parts(inner: HandleInner<D>, usage: Usage, memory: MemoryUse) -> Self {
        Self { inner, offset: 0, usage, memory }
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        self.inner.context()
    }

    pub(crate) fn api_resource(&self) -> &Arc<ApiResource<D>> {
        self.inner.api_resource()
    }

    /// Bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.inner.size()
    }

    /// The API buffer and where this one begins in it, for commands that are recorded at once, by who holds it.
    pub(crate) fn place(&self) -> PlaceRef<'_, D> {
        self.inner.place(self.offset)
    }

    /// The API buffer that holds it, perhaps with others. Do not destroy or keep it. A
    /// [movable](BufferDesc::movable) buffer stays where it is from now on: a recording asks
    /// [`Scratch::buffer`](crate::Scratch::buffer).
    #[must_use]
    pub fn raw(&self) -> &D::Resource {
        &self.inner.api_resource().object
    }

    /// Byte of the API buffer at which this one begins. A [movable](BufferDesc::movable) buffer stays there from now on.
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

    /// The offset in elements of `stride` bytes, for a draw's base vertex or first index; `None`
    /// when it is not whole (create the buffer with that stride) or the stride is 0.
    #[must_use]
    pub fn first_element(&self, stride: u32) -> Option<u64> {
        let stride = u64::from(stride);
        let offset = self.offset();
        let is_whole = stride > 0 && offset.is_multiple_of(stride);
        is_whole.then(|| offset / stride)
    }

    /// The GPU address of its first byte, where the API has such. A [movable](BufferDesc::movable) buffer stays there
    /// from now on.
    #[must_use]
    pub fn gpu_address(&self) -> Option<u64> {
        self.inner.api_resource().address.map(|base| base + self.offset())
    }

    /// Whether it is [movable](BufferDesc::movable) and stays where it is all the same, because its place, or that of
    /// something that shows it, was asked for outside of a recording.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }

    /// What tells it from all other movable resources in [`Gpu::take_moved`](crate::Gpu::take_moved); `None` if it does not
    /// move: it was not created as [movable](BufferDesc::movable), or has memory of its own.
    #[must_use]
    pub fn movable_id(&self) -> Option<MovableId> {
        self.inner.movable_id()
    }

    /// How often it has moved. What a program has written down about the place of a [movable](BufferDesc::movable)
    /// buffer is out of date when this has changed.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.inner.moves()
    }

    /// Everything it may be used as.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Who reads and writes it.
    #[must_use]
    pub const fn memory(&self) -> MemoryUse {
        self.memory
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.inner.name
    }

    /// Where its bytes are.
    #[must_use]
    pub fn location(&self) -> LocationKind {
        self.inner.location_kind()
    }

    /// Copies `bytes` to `offset` of a mapped buffer, for submissions made from now on.
    ///
    /// The GPU must not be reading those bytes: either nothing that reads them was submitted, or
    /// it is complete. When that is not known, replace the buffer by a new one; the old bytes then
    /// live as long as the GPU needs them.
    ///
    /// # Errors
    /// [`Error::NotMapped`] unless it was created for the CPU, [`Error::OutOfRange`],
    /// [`Error::Device`].
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let mapping = self.mapping(offset, bytes.len() as u64)?;
        mapping.write(self.offset + offset, bytes).map_err(|source| self.refused(source))
    }

    /// Copies from `offset` of a mapped buffer to `out` what completed submissions, or the CPU,
    /// wrote.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let mapping = self.mapping(offset, out.len() as u64)?;
        mapping.read(self.offset + offset, out).map_err(|source| self.refused(source))
    }

    /// The CPU address of its first byte, if it is mapped, in memory that needs nothing but accesses.
    /// Valid as long as the buffer. Other threads access the same bytes by
    /// [`device::mapped`](crate::device::mapped).
    ///
    /// `None` on the simulated device, for what is read back on Direct3D 12 (it is mapped for each
    /// read), and where memory must be flushed or invalidated (Vulkan memory that is not
    /// `HOST_COHERENT`): [`write`](Self::write) and [`read`](Self::read) do what is needed there.
    #[must_use]
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

    /// The CPU's window, where the program asked for one.
    fn program_mapping(&self) -> Option<&D::Mapping> {
        if self.memory.is_mapped() { self.inner.mapping() } else { None }
    }

    /// The CPU's window into a buffer for the GPU alone, by which the manager writes what is uploaded, and the byte of it at
    /// which the buffer begins.
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

/// Where the policy sends a buffer, and what it takes there.
struct Wanted {
    align: u64,
    /// What its offset in a shared buffer must be a multiple of.
    step: Option<u64>,
    /// Bytes of a range.
    size: u64,
    placement: Placement,
}

impl Wanted {
    #[inline]
    fn of<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<Self, Error> {
        let align = buffer_alignment(context, desc)?;
        let subject = buffer_subject(desc.usage, desc.memory);
        let step = step(desc.size, align, desc.stride).filter(|_| !desc.own_resource);
        let alone = || place_buffer_alone(subject, desc.size, &context.config);
        // Offsets are multiples of the alignment, so that less than a step lies before one that is
        // a multiple of both.
        let size = desc.size.saturating_add(step.map_or(0, |step| step - align));
        let placement = step.map_or_else(alone, |_| place_buffer(subject, size, &context.config));
        let traits = desc.traits(context);
        let placement = match placement {
            _ if traits.wants_own_memory(desc.size) => Placement::Committed,
            _ if desc.usage.contains(Usage::SHARED) => Placement::Committed,
            // The slots of small buffers lie in heaps that they cannot leave; what is movable needs none.
            Placement::Range(PoolKind::SmallBuffers) if traits.is_movable => {
                Placement::Range(PoolKind::ReadOnlyBuffers)
            }
            placement => placement,
        };
        Ok(Self { align, step, size, placement })
    }
}

/// What the offset in a shared buffer must be a multiple of: the least common multiple of the
/// alignment, a power of two, and the stride. `None` when room to move to such an offset would cost
/// more than sharing saves.
fn step(size: u64, align: u64, stride: u32) -> Option<u64> {
    /// A resource of its own costs up to 64 KiB and a driver call: this much is nothing beside it.
    const CHEAP: u64 = 4 << 10;
    let stride = u64::from(stride.max(1));
    let step = align.checked_mul(stride >> stride.trailing_zeros().min(align.trailing_zeros()))?;
    (step - align <= size.max(CHEAP)).then_some(step)
}

/// Mapped buffers from this size on lie where copies between buffers and textures may begin.
const COPIED_FROM: u64 = 4 << 10;

/// The alignment a buffer needs inside a larger one.
pub(super) fn buffer_alignment<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<u64, Error> {
    let refuse = |field, value: u64, allowed| {
        Err(Error::device(&desc.name, DeviceError::invalid_desc(field, value, allowed)))
    };
    if !desc.alignment.is_power_of_two() {
        return refuse("alignment", desc.alignment, Allowed::POWER_OF_TWO);
    }
    if desc.size == 0 {
        return refuse("size", 0, Allowed::AtLeast(1));
    }
    if desc.size > context.max_buffer_size {
        return refuse("size", desc.size, Allowed::AtMost(context.max_buffer_size));
    }
    let mut align = desc.alignment.max(4);
    if desc.usage.contains(Usage::CONSTANT) {
        align = align.max(context.alignments.constant);
    }
    if desc.usage.contains(Usage::UNORDERED_ACCESS)
        || (desc.usage.contains(Usage::SHADER_READ) && !has_structured_views(context, desc))
    {
        align = align.max(context.alignments.storage);
    }
    if desc.usage.contains(Usage::ACCELERATION_STRUCTURE) {
        align = align.max(context.alignments.acceleration_structure);
    }
    align = align.max(table_alignment(context, desc.usage));
    let is_copied = match desc.memory {
        MemoryUse::GpuOnly => false,
        MemoryUse::Upload | MemoryUse::GpuUpload => desc.usage.contains(Usage::COPY_SRC),
        MemoryUse::Readback => desc.usage.contains(Usage::COPY_DST),
    };
    if is_copied && desc.size >= COPIED_FROM {
        align = align.max(context.alignments.copy_offset);
    }
    Ok(align)
}

/// Where the GPU address of a buffer must be aligned as shader binding tables are.
fn table_alignment<D: Device>(context: &Context<D>, usage: Usage) -> u64 {
    match usage.contains(Usage::SHADER_BINDING_TABLE) {
        true => context.alignments.shader_binding_table,
        false => 1,
    }
}

/// Views of structured buffers begin at any element on Direct3D 12; elsewhere they are storage
/// buffers like others.
fn has_structured_views<D: Device>(context: &Context<D>, desc: &BufferDesc) -> bool {
    desc.stride > 0 && context.device().properties().api == Api::Direct3D12
}

/// Memory for a page of the manager's own: never in an API buffer that buffers of the program share.
pub(crate) fn place_page<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<Backing<D>, Error> {
    let align = buffer_alignment(context, desc)?;
    let subject = buffer_subject(desc.usage, desc.memory);
    let placement = match place_buffer(subject, desc.size, &context.config) {
        Placement::Range(_) => Placement::Range(page_pool(desc.memory)),
        alone => alone,
    };
    place_buffer_bytes(context, desc, placement, desc.size, align)
}

/// Memory where the policy sent a buffer, of `size` bytes where it is a range.
pub(super) fn place_buffer_bytes<D: Device>(
    context: &Context<D>,
    desc: &BufferDesc,
    placement: Placement,
    size: u64,
    align: u64,
) -> Result<Backing<D>, Error> {
    let alone = BufferInfo { size: desc.size, usage: desc.usage };
    let (memory_use, flags, name) = (desc.memory, desc.allocation, &desc.name);
    let traits = desc.traits(context);
    match placement {
        Placement::Range(kind) => {
            let is_filled = desc.is_filled_in_place(context, traits);
            let alone = &alone;
            let request =
                RangeRequest { kind, memory_use, is_filled, size, align, alone, flags, traits, name };
            if flags.allows_usual(memory_use)
                && traits.is_usual()
                && let Some((suballocation, api_resource)) = context.take_range(&request)
            {
                return Ok(Backing { api_resource, location: Location::Range(suballocation) });
            }
            context.place_range(request)
        }
        placement => place_buffer_resource(context, desc, alone, placement),
    }
}

/// What a buffer with an API resource of its own needs of a heap: what the driver says, and what the
/// program asks for, up to the alignment of the heap itcontext.
pub(super) fn placed_needs<D: Device>(
    context: &Context<D>,
    desc: &BufferDesc,
    resource: &ResourceDesc,
) -> Result<Requirements, Error> {
    let mut needs = context.requirements(&desc.name, resource)?;
    let asked = desc.alignment.max(table_alignment(context, desc.usage));
    let asked = asked.min(context.device().properties().heap_alignment);
    needs.alignment = needs.alignment.max(asked);
    Ok(needs)
}

fn place_buffer_resource<D: Device>(
    context: &Context<D>,
    desc: &BufferDesc,
    info: BufferInfo,
    placement: Placement,
) -> Result<Backing<D>, Error> {
    let resource = ResourceDesc::Buffer(info);
    let needs = placed_needs(context, desc, &resource)?;
    let placement = if needs.wants_dedicated() { Placement::Committed } else { placement };
    let traits = desc.traits(context);
    let request = ResourceRequest {
        desc: &resource,
        needs: &needs,
        placement,
        memory_use: desc.memory,
        is_filled: desc.is_filled_in_place(context, traits),
        owner: MemoryOwner::Resource,
        flags: desc.allocation,
        traits,
        name: &desc.name,
    };
    context.place_resource(request)
}
