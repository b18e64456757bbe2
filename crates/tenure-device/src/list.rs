//! The few commands that tenure itself records.

use super::{
    Block, CallRule, Device, DeviceError, Features, Format, Plane, QueueId, QueueKind, State, TextureInfo,
};

/// Which part of a resource a barrier is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// All of it.
    All,
    /// Subresource `mip + layer * mips`.
    One(u32),
}

/// Hands a texture from one queue family to another (Vulkan). The same barrier is recorded on
/// both queues: first on `from` (release), then on `to` (acquire). Buffers are never handed over
/// between queues: see [`QueueProperties::family`](super::QueueProperties::family).
///
/// [`QueueId::PEER`] on one side hands a resource of [`Usage::SHARED`](super::Usage::SHARED), a buffer or all of a
/// texture, to another device or process, or takes it from there. It is recorded on the other side's queue alone, from
/// and to the same state, and for [`Usage::SHARED_ACROSS_DRIVERS`](super::Usage::SHARED_ACROSS_DRIVERS) by the queue family
/// `FOREIGN` in place of `EXTERNAL`; where states are not the driver's business (Direct3D 12), it records nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTransfer {
    /// The queue that gives it up.
    pub from: QueueId,
    /// The queue that takes it.
    pub to: QueueId,
}

/// A dependency between two uses of a resource.
pub enum Barrier<'a, D: Device> {
    /// A change of state.
    Transition {
        /// The resource.
        resource: &'a D::Resource,
        /// Which part of it.
        subresource: Subresource,
        /// How it was used.
        before: State,
        /// How it will be used.
        after: State,
        /// The change of owner, if any; textures only.
        transfer: Option<QueueTransfer>,
    },
    /// Unordered accesses before it are done before those after it.
    Unordered {
        /// The resource.
        resource: &'a D::Resource,
    },
    /// From here on `after` owns the bytes that it shares with `before`, with undefined contents:
    /// what used them is done before `after` does.
    ///
    /// On [`StateModel::Explicit`](super::StateModel::Explicit) `after` is in [`State::COMMON`] from
    /// here on, and its first transition, from there, may be in the same call. On
    /// [`StateModel::Promotion`](super::StateModel::Promotion) it keeps its state.
    Aliasing {
        /// The resource that owned them; `None`: any.
        before: Option<&'a D::Resource>,
        /// The resource that owns them now.
        after: &'a D::Resource,
        /// How the bytes were used on this queue since they were last put in order: any union of
        /// states, several write states together too. Empty: not at all, so that there is nothing to
        /// order; [`State::all`]: in any way.
        from: State,
        /// How `after` is used before the next barrier on each part of it: any union of states.
        /// Empty: unknown.
        to: State,
    },
}

impl<D: Device> Clone for Barrier<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Barrier<'_, D> {}

/// A box of texels in one plane of one subresource of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureRegion {
    /// Mip level.
    pub mip: u32,
    /// Array layer.
    pub layer: u32,
    /// Its colour or depth, or its stencil: copies move one at a time.
    pub plane: Plane,
    /// First texel: x, y, z.
    pub origin: [u32; 3],
    /// Texels: width, height, depth.
    pub extent: [u32; 3],
}

/// Texels that the CPU writes to a region of a texture: see
/// [`Device::write_texture`](super::Device::write_texture).
#[derive(Clone, Copy, Debug)]
pub struct TextureWrite<'a> {
    /// Where to.
    pub region: TextureRegion,
    /// Bytes from one row of blocks to the next, a multiple of the bytes of a block.
    pub row_pitch: u64,
    /// Rows of blocks from one slice to the next.
    pub rows: u32,
    /// The rows of blocks, slice by slice, from the first byte on.
    pub bytes: &'a [u8],
}

impl TextureWrite<'_> {
    /// The subresource that it is in.
    #[must_use]
    pub const fn subresource(&self, info: &TextureInfo) -> u32 {
        self.region.layer.saturating_mul(info.mips).saturating_add(self.region.mip)
    }
}

impl TextureInfo {
    /// All texels of one mip level of one layer, in the first plane.
    ///
    /// ```
    /// use tenure::{Format, TextureDesc, Usage};
    ///
    /// let desc = TextureDesc::d2(640, 480, Format::Rgba8Unorm, Usage::COPY_SRC).mips(2);
    /// assert_eq!(desc.info.region(1, 0).extent, [320, 240, 1]);
    /// ```
    #[must_use]
    pub fn region(&self, mip: u32, layer: u32) -> TextureRegion {
        TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent: self.mip_extent(mip) }
    }
}

impl TextureRegion {
    /// The size of one block of its texels in a buffer; of a plane that the format lacks, the format's own.
    #[must_use]
    pub const fn block(&self, format: Format) -> Block {
        match format.plane_block(self.plane) {
            Some(block) => block,
            None => format.block(),
        }
    }

    /// Checks that the plane exists, that the box is not empty, lies within the texture, and begins and ends at whole
    /// blocks (or at the mip's edge); and that the texture is not multisampled, because no API
    /// copies such texels to or from a buffer.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] with the rule that it breaks.
    pub fn check(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        let outside =
            |rule: CallRule, value: u32, limit: u32| Err(DeviceError::invalid_call(rule, value, limit));
        if self.mip >= info.mips {
            return outside(CallRule::MipExists, self.mip, info.mips);
        }
        if self.layer >= info.layers() {
            return outside(CallRule::LayerExists, self.layer, info.layers());
        }
        if info.format.plane_block(self.plane).is_none() {
            return Err(DeviceError::invalid_call(CallRule::PlaneExists, self.plane, info.format));
        }
        if info.samples > 1 {
            return outside(CallRule::CopySamples, info.samples, 1);
        }
        let block = info.format.block();
        let blocks = [block.width, block.height, 1];
        let sides = self.origin.into_iter().zip(self.extent).zip(info.mip_extent(self.mip)).zip(blocks);
        for (((origin, size), side), block) in sides {
            let end = u64::from(origin) + u64::from(size);
            if size == 0 || end > u64::from(side) {
                return Err(DeviceError::invalid_call(CallRule::TexelsInside, end, side));
            }
            let ends_whole = end.is_multiple_of(u64::from(block)) || end == u64::from(side);
            if !origin.is_multiple_of(block) || !ends_whole {
                return Err(DeviceError::invalid_call(CallRule::TexelsWholeBlocks, end, block));
            }
        }
        Ok(())
    }

    /// As [`check`](Self::check), and that graphics APIs allow this copy between a buffer and a texture on a queue of this
    /// kind.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] with the rule that it breaks; [`DeviceError::Unsupported`].
    pub fn check_copy(
        &self,
        info: &TextureInfo,
        features: Features,
        queue: QueueKind,
    ) -> Result<(), DeviceError> {
        self.check(info)?;
        if !info.format.is_depth() {
            return Ok(());
        }
        if info.format.has_stencil() && !features.contains(Features::STENCIL_COPIES) {
            return Err(DeviceError::Unsupported { feature: "copies of depth and stencil, each by itself" });
        }
        if queue != QueueKind::Graphics {
            return Err(DeviceError::broken_rule("depth is copied on a graphics queue"));
        }
        let is_whole = self.origin == [0; 3] && self.extent == info.mip_extent(self.mip);
        if is_whole { Ok(()) } else { Err(DeviceError::broken_rule("depth is copied a whole mip at a time")) }
    }
}

/// How texels lie in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout {
    /// Byte of the first texel; a multiple of `copy_offset_alignment`.
    pub offset: u64,
    /// Bytes from one row of blocks to the next; a multiple of `copy_pitch_alignment`.
    pub row_pitch: u64,
    /// Rows of blocks from one slice to the next.
    pub rows: u32,
}

impl BufferLayout {
    /// Bytes from the first texel to the end of the last, for a box of so many texels in such blocks; `None` when
    /// that overflows, a row is longer than the pitch (even if it is the only one: no API takes
    /// that), or slices would overlap.
    #[must_use]
    pub fn bytes(&self, block: Block, extent: [u32; 3]) -> Option<u64> {
        let [width, height, depth] = extent;
        let row = u64::from(width.div_ceil(block.width)).checked_mul(u64::from(block.bytes))?;
        let rows = height.div_ceil(block.height);
        if self.row_pitch < row || (depth > 1 && self.rows < rows) {
            return None;
        }
        let full_slices = u64::from(depth.saturating_sub(1)).checked_mul(u64::from(self.rows))?;
        let full_rows = full_slices.checked_add(u64::from(rows.saturating_sub(1)))?;
        full_rows.checked_mul(self.row_pitch)?.checked_add(row)
    }
}

/// A command allocator and the list recorded from it, as one thing that is recycled as one.
///
/// A list is made open for recording by [`begin`](Self::begin), which also resets it; the caller
/// makes sure that its last submission has completed.
pub trait CommandList<D: Device>: Send {
    /// Forgets what was recorded and starts anew.
    ///
    /// # Errors
    /// As the driver reports, after which the list can only be destroyed;
    /// [`DeviceError::InvalidCall`] for one that is open, and for one that `begin` or
    /// [`close`](Self::close) has refused before.
    fn begin(&mut self) -> Result<(), DeviceError>;

    /// Ends recording; what was wrong with what was recorded is reported here, as D3D12 does.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for the first command that broke a rule, or what the driver
    /// reports. The list can only be destroyed then, because Direct3D 12 refuses to reset a list
    /// whose `Close` failed.
    fn close(&mut self) -> Result<(), DeviceError>;

    /// Records barriers, all at once.
    fn barriers(&mut self, barriers: &[Barrier<'_, D>]);

    /// Copies bytes between buffers.
    fn copy_buffer(
        &mut self,
        src: &D::Resource,
        src_offset: u64,
        dst: &D::Resource,
        dst_offset: u64,
        size: u64,
    );

    /// Copies texels from a buffer to a texture.
    fn copy_buffer_to_texture(
        &mut self,
        src: &D::Resource,
        layout: BufferLayout,
        dst: &D::Resource,
        region: TextureRegion,
    );

    /// Copies texels from a texture to a buffer.
    fn copy_texture_to_buffer(
        &mut self,
        src: &D::Resource,
        region: TextureRegion,
        dst: &D::Resource,
        layout: BufferLayout,
    );

    /// Copies whole subresources of a texture, all their planes, to the same subresources of another texture. The
    /// two are of one device and their descriptions are equal in all but usage, clear value and view formats; see
    /// [`check::texture_copy`](super::check::texture_copy). Formats of all kinds, several samples and three
    /// dimensions are copied.
    ///
    /// The source's subresources are in [`State::COPY_SRC`], the destination's in [`State::COPY_DST`]. Colour
    /// with one sample is copied on queues of all kinds. Depth, stencil and multisampled texels are copied on
    /// graphics queues alone, because not all drivers and validation layers take them on other queues.
    ///
    /// On Direct3D 12 a copy of all subresources is one command, and a copy of one subresource is a command for each
    /// plane. On Vulkan it is one command with a region for each mip.
    fn copy_texture(&mut self, src: &D::Resource, dst: &D::Resource, subresource: Subresource);

    /// From here to the end of the list copies may read bytes that were never written, which stay unwritten where they
    /// go: what is moved as a whole may have content in a part alone. For devices that report such reads; others do
    /// nothing.
    fn keep_unwritten(&mut self) {}

    /// The contents of a texture's subresources do not matter any more: they are undefined from here
    /// on. The subresources are in the state that [`State::to_discard`] says.
    ///
    /// Direct3D 12 asks for it, or for a clear, a copy or a barrier that discards, before the first use of a target that
    /// was created, or whose memory was another resource's; with legacy barriers no barrier does it. It is in order with
    /// the commands before and after it. On Vulkan, where leaving `COMMON` does that,
    /// nothing is recorded.
    fn discard(&mut self, resource: &D::Resource, subresource: Subresource);

    /// What the commands before it wrote in the states `written` (any union, also of several that write)
    /// to memory that the CPU maps is visible to the CPU once the submission is complete.
    ///
    /// Recorded last, and only into lists that write such memory: where
    /// [`Properties::has_host_barriers`](super::Properties::has_host_barriers), some GPUs flush their caches
    /// for it. Elsewhere nothing is recorded.
    fn make_visible_to_cpu(&mut self, written: State);

    /// The heaps in which the shaders of the commands that follow find their descriptors, where
    /// [`Properties::sets_descriptor_heaps`](super::Properties::sets_descriptor_heaps): one of each kind at a time.
    /// Where a program binds them itself (sets on Vulkan), nothing is recorded.
    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&D::DescriptorHeap>,
        samplers: Option<&D::DescriptorHeap>,
    );
    /// Makes queries ready for use that no list in flight uses, outside of render passes: those of a new heap,
    /// where [`QueryLimits::must_reset`](super::QueryLimits::must_reset). Elsewhere nothing is recorded.
    fn reset_queries(&mut self, heap: &D::QueryHeap, first: u32, count: u32);

    /// Writes the time at which the commands recorded before it are done. The query is ready for use.
    fn write_timestamp(&mut self, heap: &D::QueryHeap, query: u32);

    /// Begins a query over the commands that follow. It is ready for use, and no other of its kind has begun
    /// in this list and not ended.
    fn begin_query(&mut self, heap: &D::QueryHeap, query: u32);

    /// Ends the query that this list has begun; on Vulkan in the subpass in which it began, if it began in
    /// one.
    fn end_query(&mut self, heap: &D::QueryHeap, query: u32);

    /// Copies an acceleration structure that is built to another, outside of render passes; `compact`: into
    /// as many bytes as a query of [`QueryKind::CompactedSize`](super::QueryKind::CompactedSize) has
    /// answered. Both are in [`State::ACCELERATION_STRUCTURE`].
    fn copy_acceleration_structure(
        &mut self,
        src: &D::AccelerationStructure,
        dst: &D::AccelerationStructure,
        compact: bool,
    );

    /// Writes the bytes that an acceleration structure would take if it were compacted. It is built, in
    /// [`State::ACCELERATION_STRUCTURE`], by a build that allows that. The query is ready for use.
    fn write_compacted_size(&mut self, structure: &D::AccelerationStructure, heap: &D::QueryHeap, query: u32);

    /// Copies the results of queries that this list has written or ended to a buffer, outside of render
    /// passes: numbers of 64 bits, one after the other, at a multiple of 8 bytes. The buffer is in
    /// [`State::COPY_DST`]. The queries are ready for use again after it.
    fn resolve_queries(
        &mut self,
        heap: &D::QueryHeap,
        first: u32,
        count: u32,
        dst: &D::Resource,
        offset: u64,
    );
}
