//! What a buffer is to be.

use crate::Name;
use crate::context::Context;
use crate::device::{Device, Priority, Requirements, Residency, ResourceDesc, Usage};
use crate::memory::policy::Placement;
use crate::memory::{AllocationFlags, BlockTraits, MemoryOwner, MemoryUse, ResourceRequest};

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

    /// Sets the size of an element in bytes, so that [`Buffer::first_element`](crate::Buffer::first_element) is whole.
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
    /// Evictable resources share blocks with each other alone. Those of 1 MiB or more have memory of their own, and
    /// smaller ones share blocks of at most 1 MiB, so that little is moved that is not needed.
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
    /// What [`Buffer::raw`](crate::Buffer::raw), [`Buffer::offset`](crate::Buffer::offset) and
    /// [`Buffer::gpu_address`](crate::Buffer::gpu_address) say is right for good: it does not move any more after that. The
    /// same goes for [`View::index`](crate::View::index), for
    /// [`DescriptorTable::first`](crate::DescriptorTable::first), for [`DescriptorSet::index`](crate::DescriptorSet::index)
    /// and what is beside them. [`Buffer::is_pinned`](crate::Buffer::is_pinned) says whether that has happened.
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
    pub(super) fn is_filled_in_place<D: Device>(&self, context: &Context<D>, traits: BlockTraits) -> bool {
        self.is_filled
            && self.memory == MemoryUse::GpuOnly
            && context.pools.in_place.allows(self.size)
            && !traits.is_evictable
            && !traits.is_movable
    }

    /// What holds for the block that it lies in. To evict and to move is for memory of the GPU alone.
    pub(super) fn traits<D: Device>(&self, context: &Context<D>) -> BlockTraits {
        let is_gpu_only = self.memory == MemoryUse::GpuOnly && !self.usage.contains(Usage::SHARED);
        let has_residency = || context.device().properties().residency != Residency::None;
        let is_evictable = self.is_evictable && is_gpu_only && has_residency();
        let copied = Usage::COPY_SRC | Usage::COPY_DST;
        let can_move = self.usage.contains(copied) && !self.usage.contains(Usage::ACCELERATION_STRUCTURE);
        let is_movable = self.is_movable && is_gpu_only && can_move;
        BlockTraits { priority: self.priority, is_evictable, is_movable }
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

    /// [Shares](Self::shared) its memory with other drivers or other devices than this GPU
    /// ([`Usage::SHARED_ACROSS_DRIVERS`]): a compositor on another GPU, a camera, a video decoder, by a DMA-BUF. Both sides
    /// ask for it. It serves peers with the same driver, too, but drivers may then use it at less speed.
    ///
    /// Creating it is an error where the device lacks
    /// [`Features::SHARED_ACROSS_DRIVERS`](crate::device::Features::SHARED_ACROSS_DRIVERS).
    #[must_use]
    pub fn shared_across_drivers(self) -> Self {
        Self { usage: self.usage | Usage::SHARING, ..self }
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

    /// An API resource of its own for this buffer.
    pub(super) fn request<'a, D: Device>(
        &'a self,
        context: &Context<D>,
        (resource, needs): (&'a ResourceDesc, &'a Requirements),
        placement: Placement,
        traits: BlockTraits,
    ) -> ResourceRequest<'a> {
        ResourceRequest {
            desc: resource,
            needs,
            placement,
            memory_use: self.memory,
            is_filled: self.is_filled_in_place(context, traits),
            owner: MemoryOwner::Resource,
            flags: self.allocation,
            traits,
            name: &self.name,
        }
    }
}
