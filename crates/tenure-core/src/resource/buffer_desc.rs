//! Descriptions of buffers.

use crate::Name;
use crate::context::Context;
use crate::device::{Device, Priority, Requirements, Residency, ResourceDesc, State, Usage};
use crate::memory::policy::PlacementKind;
use crate::memory::{AllocationFlags, BlockTraits, MemoryUse, ResourceRequest};

/// A buffer to create.
///
/// ```
/// use tenure::{BufferDesc, MemoryUse, Usage};
/// let rock = BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock").stride(20);
/// let camera = BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).tag("ui");
/// # let _ = (rock, camera);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BufferDesc {
    /// Bytes; at least 1.
    pub size: u64,
    /// All its usages.
    pub usage: Usage,
    /// CPU and GPU access to its memory.
    pub memory: MemoryUse,
    /// Bytes of one element, any number; its offset in the API buffer becomes a multiple of this. 0 or 1: no
    /// constraint.
    pub stride: u32,
    /// Alignment in bytes; a power of two. The larger of this and the alignment of the usage applies to the
    /// offset in the API buffer. For a placed buffer it applies to the offset in the heap and to the GPU
    /// address, up to the alignment of heaps
    /// ([`Properties::heap_alignment`](crate::device::Properties::heap_alignment), 64 KiB on Direct3D 12). The
    /// driver chooses the address of dedicated memory.
    ///
    /// A mapped buffer of 4 KiB or more that copies read, or that is for reading back, is aligned for copies
    /// between buffers and textures (512 on Direct3D 12). A smaller one is so only on request here, because
    /// there are many small buffers.
    pub alignment: u64,
    /// A separate API resource, even if the policy would share one. Such a buffer has its own state: it can be
    /// copied to and from others that would share its API resource. It costs an API call, and on most Direct3D
    /// 12 devices 64 KiB.
    pub own_resource: bool,
    /// Restrictions on the request for its memory; empty by default.
    pub allocation: AllocationFlags,
    /// The importance of keeping it in fast memory; `None`, the default: derived from the usage.
    pub priority: Option<Priority>,
    /// Whether it may be evicted while no submitted work uses it: see [`evictable`](Self::evictable).
    pub is_evictable: bool,
    /// Whether it may move to another place in memory: see [`movable`](Self::movable).
    pub is_movable: bool,
    /// Whether its content comes with its creation: see [`filled`](Self::filled).
    pub is_filled: bool,
    /// The states that it is read in after its uploads; none: it is not read-only. See
    /// [`read_only`](Self::read_only).
    pub read_only: State,
    /// Its name.
    pub name: Name,
    /// Its purpose, in the program's words ("terrain", "ui"): the [report](crate::Report) sums live objects by
    /// tag.
    pub tag: Name,
}

crate::setters!(BufferDesc { size: u64 });

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
            read_only: State::empty(),
            name,
            tag: Name::default(),
        }
    }

    /// Sets the usages to exactly these, without the [`Usage::COPY_DST`] that [`new`](Self::new) adds.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// Sets the CPU and GPU access.
    #[must_use]
    pub fn memory(self, memory: MemoryUse) -> Self {
        Self { memory, ..self }
    }

    /// Sets the size of an element in bytes, so that [`Buffer::first_element`](crate::Buffer::first_element) is
    /// whole.
    #[must_use]
    pub fn stride(self, stride: u32) -> Self {
        Self { stride, ..self }
    }

    /// Sets the minimum alignment in bytes, a power of two. Default 1: the alignment of the usage applies alone.
    /// Every buffer begins at a multiple of 4 bytes.
    #[must_use]
    pub fn alignment(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    /// Adds restrictions on the request for its memory.
    #[must_use]
    pub fn allocation(self, flags: AllocationFlags) -> Self {
        Self { allocation: self.allocation | flags, ..self }
    }

    /// Sets the importance of keeping it in fast memory when that is scarce. A block of memory has one
    /// priority, so buffers of different priorities never share a block. It is passed to APIs with priorities
    /// (`ID3D12Device1::SetResidencyPriority`, `VK_EXT_memory_priority`).
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// Lets the manager evict it while no submitted work uses it. Before a submission whose recording names it,
    /// it is made resident again, and the queue waits for that. A recording names it in a
    /// [use](crate::Commands::use_resource), a copy, [descriptors](crate::Scratch::descriptors) or a
    /// [set](crate::Scratch::set) of the recording, or by [`make_resident`](crate::Commands::make_resident). So
    /// **each recording that uses it must name it**, whatever its state; for other accesses (a bindless index,
    /// a GPU address), call `make_resident`. The program's own submissions ([`Gpu::submit_external`]) must not
    /// use it.
    ///
    /// It has an effect on devices where the program controls residency, or influences it by priorities
    /// ([`Properties::residency`](crate::device::Properties::residency)). It has none on mapped memory, nor on
    /// adopted or transient resources, or those in a page of a [`PageAllocator`](crate::PageAllocator).
    /// Evictable resources share blocks only with each other. Those of 1 MiB or more have dedicated memory, and
    /// smaller ones share blocks of at most 1 MiB, so that few unneeded bytes are paged.
    ///
    /// [`Gpu::submit_external`]: crate::Gpu::submit_external
    #[must_use]
    pub fn evictable(self) -> Self {
        Self { is_evictable: true, ..self }
    }

    /// Lets the manager move it to another place, so that sparse blocks can be emptied: see [`Gpu::compact`].
    /// Its content is copied along; [`Usage::COPY_SRC`] is added for that. It does not move while an open
    /// recording or a pending upload uses it.
    ///
    /// Each recording must ask for its place: the results of [`Scratch::buffer`](crate::Scratch::buffer),
    /// [`Scratch::view`](crate::Scratch::view), [`Scratch::table`](crate::Scratch::table) and
    /// [`Scratch::lasting_set`](crate::Scratch::lasting_set) are valid until the recording is submitted.
    /// Copies, readbacks, [descriptors](crate::Scratch::descriptors) and [sets](crate::Scratch::set) of a
    /// recording find the place themselves. So **each recording that uses it must name it**, in one of these or
    /// by [`use_resource`](crate::Commands::use_resource). Its views, and the tables and sets of those, always
    /// show its current place.
    ///
    /// The results of [`Buffer::raw`](crate::Buffer::raw), [`Buffer::offset`](crate::Buffer::offset) and
    /// [`Buffer::gpu_address`](crate::Buffer::gpu_address) stay valid for good: these calls pin the buffer, so
    /// that it never moves again. So do [`View::index`](crate::View::index),
    /// [`DescriptorTable::first`](crate::DescriptorTable::first),
    /// [`DescriptorSet::index`](crate::DescriptorSet::index) and their siblings.
    /// [`Buffer::is_pinned`](crate::Buffer::is_pinned) tells whether that has happened.
    ///
    /// It may come to share an API buffer with another movable buffer. So copies between two movable buffers
    /// need one with [`own_resource`](Self::own_resource), and all buffers in the API buffer share a state.
    ///
    /// It has no effect on mapped memory, on buffers for acceleration structures, on buffers with dedicated
    /// memory, and on adopted or transient ones, or those in a page of a
    /// [`PageAllocator`](crate::PageAllocator).
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

    /// Declares that its content comes with its creation, or soon after and before commands use it, and seldom
    /// changes. On a card with all of its memory CPU-visible (resizable BAR) it goes to memory that the CPU can
    /// write, so that uploads need no staging; see [`InPlaceConfig`](crate::InPlaceConfig).
    /// [`create_buffer_with`](crate::Gpu::create_buffer_with) implies it.
    ///
    /// On unified memory it does the same for buffers that shaders write; the CPU can write all others anyway.
    /// It has no effect on mapped, [evictable](Self::evictable) and [movable](Self::movable) buffers.
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

    /// Declares that its content comes from uploads, and that commands only read it, in these states: as
    /// [`TextureDesc::read_only`](crate::TextureDesc::read_only). It gets an API buffer of its own, as with
    /// [`own_resource`](Self::own_resource): neighbours in a shared one would be written.
    ///
    /// It must be for the GPU alone.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Queue, State, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = BufferDesc::new(4096, Usage::VERTEX | Usage::INDEX).name("rock");
    /// let rock = rock.read_only(State::VERTEX_OR_CONSTANT | State::INDEX);
    /// let rock = gpu.create_buffer_with(&rock, &[7; 4096])?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let _draw = (recording.raw(), rock.raw(), rock.offset()); // no use_resource
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn read_only(self, states: State) -> Self {
        Self { read_only: states, own_resource: true, ..self }
    }

    /// Whether it goes to memory that the CPU can write.
    #[inline]
    pub(super) fn is_filled_in_place<D: Device>(&self, context: &Context<D>, traits: BlockTraits) -> bool {
        self.is_filled
            && self.memory == MemoryUse::GpuOnly
            && context.pools.in_place.allows(self.size)
            && !traits.is_evictable
            && !traits.is_movable
    }

    /// The traits of its block. Only memory for the GPU alone is evicted and moved.
    pub(super) fn traits<D: Device>(&self, context: &Context<D>) -> BlockTraits {
        let is_gpu_only = self.memory == MemoryUse::GpuOnly && !self.usage.contains(Usage::SHARED);
        let has_residency = || context.device().properties().residency != Residency::None;
        let is_evictable = self.is_evictable && is_gpu_only && has_residency();
        let copied = Usage::COPY_SRC | Usage::COPY_DST;
        let can_move = self.usage.contains(copied) && !self.usage.contains(Usage::ACCELERATION_STRUCTURE);
        let is_movable = self.is_movable && is_gpu_only && can_move;
        BlockTraits { priority: self.priority, is_evictable, is_movable }
    }

    /// Shares its memory with other devices, processes or APIs ([`Usage::SHARED`]): the backend exports it. It
    /// has dedicated memory, whatever its size, and is neither evicted nor moved, even if requested as
    /// [evictable](Self::evictable) or [movable](Self::movable).
    ///
    /// Before the other side uses it, a recording must hand it over
    /// ([`release_to_peer`](crate::Commands::release_to_peer)); before it is used here again, another must take
    /// it back ([`acquire_from_peer`](crate::Commands::acquire_from_peer)).
    ///
    /// Creation fails if the device lacks [`Features::SHARED_MEMORY`](crate::device::Features::SHARED_MEMORY).
    #[must_use]
    pub fn shared(self) -> Self {
        Self { usage: self.usage | Usage::SHARED, ..self }
    }

    /// [Shares](Self::shared) its memory with other drivers or other devices than this GPU
    /// ([`Usage::SHARED_ACROSS_DRIVERS`]): a compositor on another GPU, a camera, a video decoder, by a
    /// DMA-BUF. Both sides must request it. It works for peers with the same driver, too, but drivers may then
    /// use it at less speed.
    ///
    /// Creation fails if the device lacks
    /// [`Features::SHARED_ACROSS_DRIVERS`](crate::device::Features::SHARED_ACROSS_DRIVERS).
    #[must_use]
    pub fn shared_across_drivers(self) -> Self {
        Self { usage: self.usage | Usage::SHARING, ..self }
    }

    /// Requests a separate API resource.
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

    /// The request for a separate API resource.
    pub(super) fn request<'a, D: Device>(
        &'a self,
        context: &Context<D>,
        (resource, needs): (&'a ResourceDesc, &'a Requirements),
        placement: PlacementKind,
        traits: BlockTraits,
    ) -> ResourceRequest<'a> {
        let is_filled = self.is_filled_in_place(context, traits);
        let request = ResourceRequest::new(resource, needs, placement, &self.name);
        ResourceRequest { memory_use: self.memory, is_filled, flags: self.allocation, traits, ..request }
    }
}
