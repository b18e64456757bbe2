//! The commands that tenure itself records.

use std::ops::Range;

use super::{DescriptorDevice, MemoryDevice, QueryDevice};
use crate::{BufferLayout, BufferRegion, DeviceError, Marker, QueueId, State, Subresource, TextureRegion};

/// A transfer of a texture between queue families (Vulkan). The same barrier is recorded on both queues: first on `from`
/// (release), then on `to` (acquire). Buffers are never transferred between queues: see
/// [`QueueProperties::family`](crate::QueueProperties::family).
///
/// [`QueueId::PEER`] on one side transfers a resource of [`Usage::SHARED`](crate::Usage::SHARED), a buffer or a whole texture,
/// to another device or process, or back. It is recorded on the other side's queue only, with equal states before and after,
/// and for [`Usage::SHARED_ACROSS_DRIVERS`](crate::Usage::SHARED_ACROSS_DRIVERS) with the queue family `FOREIGN` in place of
/// `EXTERNAL`; on APIs where the driver does not track states (Direct3D 12), it records nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTransfer {
    /// The releasing queue.
    pub from: QueueId,
    /// The acquiring queue.
    pub to: QueueId,
}

/// A dependency between two uses of a resource.
pub enum Barrier<'a, D: MemoryDevice> {
    /// A change of state.
    Transition {
        /// The resource.
        resource: &'a D::Resource,
        /// The part of it.
        subresource: Subresource,
        /// State before.
        before: State,
        /// State after.
        after: State,
        /// The ownership transfer, if any; textures only.
        transfer: Option<QueueTransfer>,
    },
    /// Orders unordered accesses before it and after it.
    Unordered {
        /// The resource.
        resource: &'a D::Resource,
    },
    /// Makes `after` the owner of the bytes that it shares with `before`, with undefined contents: earlier uses of the bytes
    /// are ordered before uses of `after`.
    ///
    /// On [`StateModel::Explicit`](crate::StateModel::Explicit) `after` is in [`State::COMMON`] afterwards, and its first
    /// transition, from there, may be in the same call. On [`StateModel::Promotion`](crate::StateModel::Promotion) it keeps its
    /// state.
    Aliasing {
        /// The previous owner; `None`: any.
        before: Option<&'a D::Resource>,
        /// The new owner.
        after: &'a D::Resource,
        /// The uses of the bytes on this queue since the last barrier that orders them: any union of states, also of several
        /// write states. Empty: no use, so that nothing needs ordering; [`State::all`]: any use.
        from: State,
        /// The uses of `after` before the next barrier on each part of it: any union of states. Empty: unknown.
        to: State,
    },
}

/// A command allocator and the list recorded from it, recycled together.
///
/// [`begin`](Self::begin) opens a list for recording, which also resets it; its last submission must have completed.
pub trait CommandList<D: DescriptorDevice + QueryDevice>: Send {
    /// Resets the list and opens it.
    ///
    /// # Errors
    /// The driver's error, after which the list can only be destroyed; [`DeviceError::InvalidCall`] for an open list, and after
    /// an earlier error of `begin` or [`close`](Self::close).
    fn begin(&mut self) -> Result<(), DeviceError>;

    /// Ends recording. Errors of recorded commands are reported here, as D3D12 does.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for the first command that broke a rule, or the driver's error. The list can only be
    /// destroyed then, because Direct3D 12 refuses to reset a list whose `Close` failed.
    fn close(&mut self) -> Result<(), DeviceError>;

    /// Records barriers, in one group.
    fn barriers(&mut self, barriers: &[Barrier<'_, D>]);

    /// True if [`put_in_front`](Self::put_in_front) takes barriers; always the same for the lists of a device. Otherwise another
    /// list takes them.
    fn takes_barriers_in_front(&self) -> bool {
        false
    }

    /// Records barriers that every submission of this closed list executes in front of it, in memory of the list.
    /// [`begin`](Self::begin) discards them.
    ///
    /// # Errors
    /// The error of a barrier, or the driver's; then the list must not be submitted, and can be begun again.
    /// [`DeviceError::InvalidCall`] for a list that is not closed, has barriers in front, or does not
    /// [take any](Self::takes_barriers_in_front).
    fn put_in_front(&mut self, barriers: &[Barrier<'_, D>]) -> Result<(), DeviceError> {
        Err(DeviceError::invalid_value("the list takes barriers in front of it", barriers.len() as u64))
    }

    /// Copies bytes between buffers.
    fn copy_buffer(
        &mut self,
        src: &D::Resource,
        src_offset: u64,
        dst: &D::Resource,
        dst_offset: u64,
        size: u64,
    );

    /// Copies several ranges of bytes from one buffer to another, in any order. No written range overlaps another range. A
    /// single command if the API supports it.
    fn copy_buffer_regions(&mut self, src: &D::Resource, dst: &D::Resource, regions: &[BufferRegion]) {
        for BufferRegion { src_offset, dst_offset, size } in regions {
            self.copy_buffer(src, *src_offset, dst, *dst_offset, *size);
        }
    }

    /// Copies texels from a buffer to several regions of a texture, in any order. The regions do not overlap. A single command
    /// if the API supports it.
    fn copy_buffer_to_regions(
        &mut self,
        src: &D::Resource,
        dst: &D::Resource,
        regions: &[(BufferLayout, TextureRegion)],
    ) {
        for (layout, region) in regions {
            self.copy_buffer_to_texture(src, *layout, dst, *region);
        }
    }

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

    /// Copies whole subresources of a texture, with all planes, to the same subresources of another texture. Both must be of
    /// the same device, with descriptions that differ in usage, clear value and view formats at most; see
    /// [`check::texture_copy`](crate::check::texture_copy). Formats of all kinds, several samples and three dimensions are
    /// supported.
    ///
    /// The source's subresources must be in [`State::COPY_SRC`], the destination's in [`State::COPY_DST`]. Queues of all kinds
    /// copy colour with one sample. Only graphics queues copy depth, stencil and multisampled texels, because not all drivers
    /// and validation layers accept them on other queues.
    ///
    /// On Direct3D 12 a copy of all subresources is one command, and a copy of one subresource is a command for each
    /// plane. On Vulkan it is one command with a region for each mip.
    fn copy_texture(&mut self, src: &D::Resource, dst: &D::Resource, subresource: Subresource);

    /// Fills a mip of some layers from the next larger mip, with a linear filter: `vkCmdBlitImage`. Each side of a mip is half
    /// the larger one's, rounded down, and at least 1; sRGB is filtered in linear space.
    ///
    /// The larger mip of the layers must be in [`State::COPY_SRC`], the filled one in [`State::COPY_DST`]. Where the device, the
    /// format or the queue has no such command, see [`MemoryDevice::generates_mips`] and
    /// [`check::mip_generation`](crate::check::mip_generation), [`close`](Self::close) returns the error.
    fn generate_mip(&mut self, texture: &D::Resource, mip: u32, layers: Range<u32>);

    /// Allows later copies in the list to read bytes that were never written; the destination bytes count as unwritten, too.
    /// For moves of whole resources, which may have contents in a part only. Only for devices that report such reads; others do
    /// nothing.
    fn keep_unwritten(&mut self) {}

    /// Discards the contents of a texture's subresources: they are undefined afterwards. The subresources must be in the state
    /// returned by [`State::to_discard`].
    ///
    /// Direct3D 12 requires it, or a clear, a copy or a discarding barrier, before the first use of a new target, or of a
    /// target with memory of another resource; legacy barriers do not discard. It is ordered with the commands before and after
    /// it. On Vulkan, where the transition from `COMMON` discards, nothing is recorded.
    fn discard(&mut self, resource: &D::Resource, subresource: Subresource);

    /// Makes the writes of earlier commands in the states `written` (any union, also of several write states) to CPU-mapped
    /// memory visible to the CPU once the submission is complete.
    ///
    /// Must be recorded last, and only into lists with such writes: with
    /// [`Properties::has_host_barriers`](crate::Properties::has_host_barriers), some GPUs flush their caches for it. Elsewhere
    /// nothing is recorded.
    fn make_visible_to_cpu(&mut self, written: State);

    /// Sets the shader-visible descriptor heaps for the following commands, where
    /// [`Properties::sets_descriptor_heaps`](crate::Properties::sets_descriptor_heaps): one of each kind at a time. Where a
    /// program binds descriptors itself (sets on Vulkan), nothing is recorded.
    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&D::DescriptorHeap>,
        samplers: Option<&D::DescriptorHeap>,
    );

    /// Resets queries of a new heap, outside of render passes, where
    /// [`QueryLimits::must_reset`](crate::QueryLimits::must_reset). No list in flight may use them. Elsewhere nothing is
    /// recorded.
    fn reset_queries(&mut self, heap: &D::QueryHeap, first: u32, count: u32);

    /// Writes the time at which earlier commands are complete. The query must be reset.
    fn write_timestamp(&mut self, heap: &D::QueryHeap, query: u32);

    /// Begins a query over the following commands. The query must be reset, and no other query of its kind may be open in this
    /// list.
    fn begin_query(&mut self, heap: &D::QueryHeap, query: u32);

    /// Ends the open query of this list; on Vulkan in the subpass in which it began, if it began in one.
    fn end_query(&mut self, heap: &D::QueryHeap, query: u32);

    /// Copies a built acceleration structure to another one, outside of render passes; with `compact`, into a structure of the
    /// size that a query of [`QueryKind::CompactedSize`](crate::QueryKind::CompactedSize) has returned. Both must be in
    /// [`State::ACCELERATION_STRUCTURE`].
    fn copy_acceleration_structure(
        &mut self,
        src: &D::AccelerationStructure,
        dst: &D::AccelerationStructure,
        compact: bool,
    );

    /// Writes the compacted size of an acceleration structure. It must be built with the flag that allows compaction, and be in
    /// [`State::ACCELERATION_STRUCTURE`]. The query must be reset.
    fn write_compacted_size(&mut self, structure: &D::AccelerationStructure, heap: &D::QueryHeap, query: u32);

    /// Copies the results of queries that this list has written or ended to a buffer, outside of render passes: consecutive
    /// 64-bit integers, at a multiple of 8 bytes. The buffer must be in [`State::COPY_DST`]. The queries are reset afterwards.
    fn resolve_queries(
        &mut self,
        heap: &D::QueryHeap,
        first: u32,
        count: u32,
        dst: &D::Resource,
        offset: u64,
    );

    /// Writes a value to a word of [marker memory](crate::MarkerLimits), from which [`Device::marker`](super::Device::marker)
    /// reads it: in render passes only with [`MarkerLimits::in_passes`](crate::MarkerLimits::in_passes). Nothing is recorded for
    /// a word that the device does not have.
    fn write_marker(&mut self, marker: Marker) {
        let _ = marker;
    }
}
