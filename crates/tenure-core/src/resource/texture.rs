//! Textures.

use std::sync::Arc;

use super::read_only::{READ_ONLY_EVICTABLE, check_declared_reads};
use super::{Buffer, BufferDesc, HandleInner, Labels, PlaceRef};
use crate::context::{Context, TextureNeeds};
use crate::device::{
    Allowed, ClearValue, Device, DeviceError, Dimension, Format, Priority, Properties, Requirements,
    Residency, ResourceDesc, State, TextureInfo, Usage,
};
use crate::memory::policy::{PlacementKind, place_texture};
use crate::memory::{
    AllocationFlags, Backing, BlockTraits, Cost, LocationKind, MakeRoom, MemoryUse, MovableId, PlaceNeeds,
    ResourceRequest,
};
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::state::StateCell;
use crate::{Error, Name};

/// A texture to create.
///
/// ```
/// use tenure::{Format, TextureDesc, Usage};
/// let grass = TextureDesc::d2(1024, 1024, Format::Bc7Unorm, Usage::SHADER_READ).mips(11).name("grass");
/// # let _ = grass;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TextureDesc {
    /// Its shape, format and usages.
    pub info: TextureInfo,
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

impl TextureDesc {
    /// A 2D texture of one mip, layer and sample, filled by copies or used as a target: [`Usage::COPY_DST`] is
    /// added unless it is a target.
    #[must_use]
    pub fn d2(width: u32, height: u32, format: Format, usage: Usage) -> Self {
        let copied = if usage.intersects(Usage::TEXTURE_ONLY) { Usage::empty() } else { Usage::COPY_DST };
        let info = TextureInfo::new(Dimension::D2, width, height, format, usage | copied);
        Self::from(info)
    }

    /// A 3D texture of one mip.
    #[must_use]
    pub fn d3(width: u32, height: u32, depth: u32, format: Format, usage: Usage) -> Self {
        let flat = Self::d2(width, height, format, usage);
        Self { info: flat.info.dimension(Dimension::D3).depth_or_layers(depth), ..flat }
    }

    /// Sets the number of mip levels.
    #[must_use]
    pub fn mips(mut self, mips: u32) -> Self {
        self.info.mips = mips;
        self
    }

    /// Sets the number of array layers.
    #[must_use]
    pub fn layers(mut self, layers: u32) -> Self {
        self.info.depth_or_layers = layers;
        self
    }

    /// Sets the samples per texel.
    #[must_use]
    pub fn samples(mut self, samples: u32) -> Self {
        self.info.samples = samples;
        self
    }

    /// Sets the most frequent clear value.
    #[must_use]
    pub fn clear(mut self, clear: ClearValue) -> Self {
        self.info.clear = Some(clear);
        self
    }

    /// Allows views in other formats, too: of the same texel size, no depth formats.
    #[must_use]
    pub fn view_formats(mut self, formats: impl IntoIterator<Item = Format>) -> Self {
        self.info.view_formats.extend(formats);
        self
    }

    /// Adds restrictions on the request for its memory.
    #[must_use]
    pub fn allocation(self, flags: AllocationFlags) -> Self {
        Self { allocation: self.allocation | flags, ..self }
    }

    /// Sets the importance of keeping it in fast memory; like
    /// [`BufferDesc::priority`](crate::BufferDesc::priority).
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// Lets the manager evict it while no submitted work uses it; like
    /// [`BufferDesc::evictable`](crate::BufferDesc::evictable), with the same duty.
    #[must_use]
    pub fn evictable(self) -> Self {
        Self { is_evictable: true, ..self }
    }

    /// Lets the manager move it to another place, so that sparse blocks can be emptied; like
    /// [`BufferDesc::movable`](crate::BufferDesc::movable), with the same duty. [`Usage::COPY_SRC`] and
    /// [`Usage::COPY_DST`] are added. A recording gets the API texture from
    /// [`Scratch::texture`](crate::Scratch::texture); [`Texture::raw`] pins the texture, so that it never moves
    /// again. It does not move, either, while several queues have each used a part of it, and none all of it. A
    /// [`Usage::TRANSIENT_ATTACHMENT`] has no content to copy, and is refused.
    #[must_use]
    pub fn movable(mut self) -> Self {
        self.info.usage |= Usage::COPY_SRC | Usage::COPY_DST;
        Self { is_movable: true, ..self }
    }

    /// Declares that its content comes with its creation, or soon after and before commands use it, and seldom
    /// changes. If the CPU can write such a texture without making it slower for the GPU, it is created as
    /// writable, and uploads need no staging; see [`InPlaceConfig`](crate::InPlaceConfig).
    /// [`create_texture_with`](crate::Gpu::create_texture_with) implies it.
    ///
    /// It has no effect on depth formats, on multisampled, [shared](Self::shared), [evictable](Self::evictable)
    /// and [movable](Self::movable) textures, and without [`Usage::COPY_DST`].
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, TextureDesc, Usage, resource::TexelData, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_LAVAPIPE), Config::default())?;
    /// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).filled().name("grass");
    /// let grass = gpu.create_texture(&grass)?;
    /// gpu.upload_texture(&grass, grass.info().region(0, 0), TexelData::new(&[7; 64 * 64 * 4]))?;
    /// assert_eq!((gpu.upload_stats().in_place, gpu.upload_stats().bytes), (1, 0));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn filled(self) -> Self {
        Self { is_filled: true, ..self }
    }

    /// Declares that its content comes from uploads ([`Gpu::create_texture_with`](crate::Gpu::create_texture_with),
    /// [`Gpu::upload_texture`](crate::Gpu::upload_texture)), and that commands only read it, in these states. No
    /// recording on any queue needs to name it: tenure brings it into the states after its uploads and before the
    /// next submission, and all later submissions come after that. For a texture that commands write first, there
    /// is [`Gpu::make_read_only`](crate::Gpu::make_read_only).
    ///
    /// A declared use ([`use_resource`](crate::Commands::use_resource), a set, a copy) costs a test of its states,
    /// and needs no barrier. Other states are an [`Error::State`].
    ///
    /// Later uploads are allowed, too, and seen by the submissions after them. They wait on the GPU for all
    /// earlier submissions of all queues, because any of them may read the texture; so fill all of it before the
    /// first submission.
    ///
    /// [`Usage::ALL_QUEUES`] is added, so that queues of all families can read it on Vulkan. One layout must serve
    /// all of the states there: shader reads, and depth tests beside them. On Direct3D 12, states beside shader
    /// reads and [`State::COPY_SRC`] keep other queues than graphics queues from reading it.
    ///
    /// It cannot be [shared](Self::shared), [evictable](Self::evictable) or transient. A
    /// [movable](Self::movable) one may move; recordings then ask for its place, as always.
    ///
    /// ```
    /// use tenure::{
    ///     Config, Format, Gpu, Queue, State, TextureDesc, Usage, resource::TexelData, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    /// let grass = grass.read_only(State::SHADER_READ);
    /// let grass = gpu.create_texture_with(&grass, &[TexelData::new(&[7; 64 * 64 * 4])])?;
    /// let mut recording = gpu.record(Queue::Compute, "meadow")?;
    /// let _dispatch = (recording.raw(), grass.raw()); // no use_resource
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn read_only(mut self, states: State) -> Self {
        self.info.usage |= Usage::ALL_QUEUES;
        Self { read_only: states, ..self }
    }

    /// Shares its memory with other devices, processes or APIs; like
    /// [`BufferDesc::shared`](crate::BufferDesc::shared), with the same duties.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.info.usage |= Usage::SHARED;
        self
    }

    /// [Shares](Self::shared) its memory with other drivers or other devices than this GPU; like
    /// [`BufferDesc::shared_across_drivers`](crate::BufferDesc::shared_across_drivers).
    #[must_use]
    pub fn shared_across_drivers(mut self) -> Self {
        self.info.usage |= Usage::SHARING;
        self
    }

    /// Whether it is placed like most textures.
    #[inline]
    fn is_usual(&self) -> bool {
        let Self { priority, is_evictable, is_movable, allocation, .. } = self;
        let has_traits = priority.is_some() || *is_evictable || *is_movable;
        !has_traits && !allocation.contains(AllocationFlags::DEVICE_LOCAL_ONLY)
    }

    /// Whether it may move, and copies can move it.
    fn can_move(&self) -> bool {
        let usage = self.info.usage;
        self.is_movable && usage.contains(Usage::COPY_SRC | Usage::COPY_DST) && !usage.contains(Usage::SHARED)
    }

    /// Refuses a movable texture that copies cannot reach. The device would refuse it for the added copy
    /// usages, which the program did not request.
    fn check_moves(&self) -> Result<(), DeviceError> {
        let usage = self.info.usage;
        if !usage.contains(Usage::TRANSIENT_ATTACHMENT) {
            return Ok(());
        }
        let allowed = Allowed::Rule("without TRANSIENT_ATTACHMENT, because the texture is movable");
        Err(DeviceError::invalid_desc("usage", usage - Usage::COPY_SRC - Usage::COPY_DST, allowed))
    }

    /// The traits of its block, and its placement.
    fn place<D: Device>(&self, context: &Context<D>, needs: &Requirements) -> (BlockTraits, PlacementKind) {
        let has_residency = context.device().properties().residency != Residency::None;
        let is_evictable = self.is_evictable && has_residency && !self.info.usage.contains(Usage::SHARED);
        let is_movable = self.can_move();
        let traits = BlockTraits { priority: self.priority, is_evictable, is_movable };
        match traits.wants_own_memory(needs.size) {
            true => (traits, PlacementKind::Committed),
            false => (traits, place_texture(&self.info, needs, &context.config)),
        }
    }

    /// The requirements of the texture, and the states in which the CPU may write it in place. `resource` is its plain
    /// description, and gets the usage for that, if in-place writes are possible.
    ///
    /// Inlined, with few results, because the description is large.
    #[inline(always)]
    fn resolve<D: Device>(
        &self,
        context: &Context<D>,
        resource: &mut ResourceDesc,
    ) -> Result<(TextureNeeds, State), Error> {
        if self.is_movable {
            self.check_moves().map_err(|source| Error::device(&self.name, source))?;
        }
        let needs = context.texture_needs(&self.name, (resource, &self.info))?;
        let is_filled = self.is_filled || self.info.usage.contains(Usage::CPU_WRITE);
        Ok(if is_filled { self.resolve_filled(context, resource, needs) } else { (needs, State::COMMON) })
    }

    /// As [`resolve`](Self::resolve), for a texture that the CPU may be able to write.
    #[inline(never)]
    fn resolve_filled<D: Device>(
        &self,
        context: &Context<D>,
        resource: &mut ResourceDesc,
        found: TextureNeeds,
    ) -> (TextureNeeds, State) {
        let (device, (traits, _)) = (context.device(), self.place(context, &found.needs));
        let states = context.pools.in_place.texture_states(device, &self.info, traits);
        if states.is_empty() {
            return (found, states);
        }
        let info = self.info.clone().usage(self.info.usage | Usage::CPU_WRITE);
        let writable = ResourceDesc::Texture(info.clone());
        match context.texture_needs(&self.name, (&writable, &info)) {
            // Only if it does not exclude memory types that the texture could use otherwise.
            Ok(other) if found.needs.memory_types & !other.needs.memory_types == 0 => {
                *resource = writable;
                (other, states)
            }
            _ => (found, State::COMMON),
        }
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

    /// The request for an API resource.
    fn request<'a>(
        &'a self,
        (resource, needs): (&'a ResourceDesc, &'a Requirements),
        placement: PlacementKind,
        traits: BlockTraits,
    ) -> ResourceRequest<'a> {
        let request = ResourceRequest::new(resource, needs, placement, &self.name);
        ResourceRequest { flags: self.allocation, traits, ..request }
    }
}

impl From<TextureInfo> for TextureDesc {
    fn from(info: TextureInfo) -> Self {
        Self {
            info,
            allocation: AllocationFlags::empty(),
            priority: None,
            is_evictable: false,
            is_movable: false,
            is_filled: false,
            read_only: State::empty(),
            name: Name::default(),
            tag: Name::default(),
        }
    }
}

/// An owned texture: dropping it frees it once no recording and no GPU work uses it any more.
///
/// `Send` and `Sync`; methods may be called from any thread.
pub struct Texture<D: Device> {
    pub(crate) inner: HandleInner<D>,
    info: TextureInfo,
    /// The states in which the CPU may write it in place; none if uploads are staged.
    write_states: State,
}

debug_fields!([D: Device] Texture<D>, "Texture", this, name: this.name(), info: this.info(), size: this.size(), location: this.location());

impl<D: Device> Texture<D> {
    pub(crate) fn create(
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        desc: &TextureDesc,
    ) -> Result<Self, Error> {
        let mut resource = ResourceDesc::Texture(desc.info.clone());
        let (TextureNeeds { needs, usual }, write_states) = desc.resolve(context, &mut resource)?;
        if !desc.read_only.is_empty() {
            let rule = desc.is_evictable.then_some(READ_ONLY_EVICTABLE);
            check_declared_reads(context, (&desc.name, &resource), desc.read_only, rule)?;
        }
        let usual = usual.filter(|_| desc.is_usual());
        let (traits, placement) = match usual {
            Some(class) => (BlockTraits::default(), PlacementKind::Placed(class.kind)),
            None => desc.place(context, &needs),
        };
        let request = desc.request((&resource, &needs), placement, traits);
        let backing = context.place_resource_in(room, request, usual)?;
        if !desc.read_only.is_empty() {
            backing.api_resource.states.set_read_only(desc.read_only);
        }
        let trace = context.recorder.allocate(needs.size, needs.alignment, MemoryUse::GpuOnly, true);
        let mut inner = HandleInner::new(
            context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Texture,
            backing,
            needs.size,
            trace,
        );
        if desc.can_move() {
            let (alignment, memory_types) = (needs.alignment, needs.memory_types);
            inner.make_movable(memory_types, |size| {
                let desc = ResourceDesc::Texture(desc.info.clone());
                PlaceNeeds { desc, size, alignment, step: 1, placement, traits, memory_types }
            });
        }
        let info = match resource {
            ResourceDesc::Texture(info) if write_states.is_empty() => info,
            // The usage for CPU writes was not requested by the program, and is not reported.
            _ => desc.info.clone(),
        };
        Ok(Self { inner, info, write_states })
    }

    /// The cost of creating the texture.
    pub(crate) fn cost(context: &Context<D>, desc: &TextureDesc) -> Result<Cost, Error> {
        let mut resource = ResourceDesc::Texture(desc.info.clone());
        let (TextureNeeds { needs, .. }, _) = desc.resolve(context, &mut resource)?;
        let (traits, placement) = desc.place(context, &needs);
        let request = desc.request((&resource, &needs), placement, traits);
        let found = context.engine().resource_cost(request);
        found.map_err(|source| context.refused(&desc.name, source))
    }

    pub(crate) const fn from_parts(inner: HandleInner<D>, info: TextureInfo) -> Self {
        Self { inner, info, write_states: State::COMMON }
    }

    /// A texture with a given backing, which the placement policy did not choose. Allocation traces do not
    /// contain it.
    pub(crate) fn from_backing(
        context: &Arc<Context<D>>,
        name: &Name,
        info: TextureInfo,
        backing: Backing<D>,
        size: u64,
    ) -> Self {
        let inner = HandleInner::new(
            context,
            Labels::named(name),
            ObjectKind::Texture,
            backing,
            size,
            TraceId::default(),
        );
        // Other resources used the memory before; commands hand it over.
        inner.note_named();
        Self { inner, info, write_states: State::COMMON }
    }

    /// The API texture. Do not destroy or keep it. Pins a [movable](TextureDesc::movable) texture for good:
    /// recordings should use [`Scratch::texture`](crate::Scratch::texture) instead.
    #[must_use]
    pub fn raw(&self) -> &D::Resource {
        &self.inner.api_resource().object
    }

    /// The API texture, for commands recorded immediately. The caller must hold the place.
    pub(crate) fn place(&self) -> PlaceRef<'_, D> {
        self.inner.place(0)
    }

    /// Whether a [movable](TextureDesc::movable) texture is pinned, because its API texture, or the place of a
    /// descriptor of it, was requested outside a recording.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }

    /// Its unique id, like [`Buffer::movable_id`](crate::Buffer::movable_id).
    #[must_use]
    pub fn movable_id(&self) -> Option<MovableId> {
        self.inner.movable_id()
    }

    /// The number of its moves, like [`Buffer::moves`](crate::Buffer::moves).
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.inner.moves()
    }

    /// Its API texture with its states, and the states in which the CPU may write it in place, if any. Commands
    /// must not use the texture through this.
    pub(crate) fn in_place(&self) -> Option<(&D::Resource, &StateCell, State)> {
        let states = Some(self.write_states).filter(|states| !states.is_empty())?;
        self.inner.placed_resource().map(|found| (&found.object, &found.states, states))
    }

    /// Its shape, format, usages and clear value.
    #[must_use]
    pub const fn info(&self) -> &TextureInfo {
        &self.info
    }

    /// Bytes, as reported by the device.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.inner.size()
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

/// Layout of one subresource in a [`ReadbackTexture`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubresourceLayout {
    /// Byte of its first texel.
    pub offset: u64,
    /// Bytes from one row of blocks to the next.
    pub row_pitch: u64,
    /// Rows of blocks in one slice.
    pub rows: u32,
    /// Slices.
    pub depth: u32,
}

/// A texture for the CPU to read: a readback buffer with the layout that copies from a texture need.
pub struct ReadbackTexture<D: Device> {
    buffer: Buffer<D>,
    layouts: Vec<SubresourceLayout>,
}

debug_fields!([D: Device] ReadbackTexture<D>, "ReadbackTexture", this, buffer: this.buffer);

impl<D: Device> ReadbackTexture<D> {
    pub(crate) fn create(
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        desc: &TextureDesc,
    ) -> Result<Self, Error> {
        let refuse = |source| Error::device(&desc.name, source);
        desc.info.validate().map_err(refuse)?;
        check_limits(&desc.info, context.device().properties()).map_err(refuse)?;
        // At least a whole block, also if the device needs less.
        let block = u64::from(desc.info.format.block().bytes);
        let (pitch, offset) =
            (context.alignments.copy_pitch.max(block), context.alignments.copy_offset.max(block.max(4)));
        let most = context.max_buffer_size;
        let too_large = || DeviceError::invalid_desc("size", u64::MAX, Allowed::AtMost(most));
        let (layouts, size) = layouts(&desc.info, pitch, offset).ok_or_else(|| refuse(too_large()))?;
        let buffer = BufferDesc::new(size, Usage::COPY_DST)
            .memory(MemoryUse::Readback)
            .alignment(offset)
            .name(desc.name.clone())
            .tag(desc.tag.clone());
        Ok(Self { buffer: Buffer::create(context, room, &buffer)?, layouts })
    }

    /// The buffer.
    #[must_use]
    pub const fn buffer(&self) -> &Buffer<D> {
        &self.buffer
    }

    /// The buffer alone, for callers that keep the layouts.
    #[must_use]
    pub fn into_buffer(self) -> Buffer<D> {
        self.buffer
    }

    /// The layout of subresource `mip + layer * mips`, followed by the stencil planes of all subresources;
    /// `None` beyond.
    #[must_use]
    pub fn layout(&self, subresource: u32) -> Option<SubresourceLayout> {
        self.layouts.get(usize::try_from(subresource).ok()?).copied()
    }
}

/// Checks that copies can read such a texture: it must be within the device's limits, and not multisampled.
fn check_limits(info: &TextureInfo, properties: &Properties) -> Result<(), DeviceError> {
    let (side, depth) = match info.dimension {
        Dimension::D3 => (properties.max_texture_3d, properties.max_texture_3d),
        _ => (properties.max_texture_2d, properties.max_layers),
    };
    let limits = [
        ("width", info.width, side),
        ("height", info.height, side),
        ("depth_or_layers", info.depth_or_layers, depth),
        ("samples", info.samples, 1),
    ];
    match limits.into_iter().find(|(_, value, limit)| value > limit) {
        Some((field, value, limit)) => {
            Err(DeviceError::invalid_desc(field, value, Allowed::AtMost(u64::from(limit))))
        }
        None => Ok(()),
    }
}

/// The layouts of all subresources in sequence, and the total bytes; `None` on overflow.
fn layouts(info: &TextureInfo, pitch: u64, offset: u64) -> Option<(Vec<SubresourceLayout>, u64)> {
    let mut end = 0_u64;
    let mut layouts = Vec::new();
    let blocks = info.format.planes().iter().filter_map(|plane| info.format.plane_block(*plane));
    for block in blocks.flat_map(|block| (0..info.layers()).map(move |_layer| block)) {
        for mip in 0..info.mips {
            let [width, height, depth] = info.mip_extent(mip);
            let row = u64::from(width.div_ceil(block.width)).checked_mul(u64::from(block.bytes))?;
            let row_pitch = row.checked_next_multiple_of(pitch)?;
            let rows = height.div_ceil(block.height);
            let start = end.checked_next_multiple_of(offset)?;
            layouts.push(SubresourceLayout { offset: start, row_pitch, rows, depth });
            let bytes = row_pitch.checked_mul(u64::from(rows))?.checked_mul(u64::from(depth))?;
            end = start.checked_add(bytes)?;
        }
    }
    Some((layouts, end))
}
