//! Recording.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, BegunQueries, BufferLayout, CallRule, CommandList, DescriptorKind, DeviceError, QueueId,
    QueueKind, State, Subresource, TextureRegion,
};
use windows::Win32::Graphics::Direct3D12::{
    ID3D12CommandAllocator, ID3D12DescriptorHeap, ID3D12GraphicsCommandList, ID3D12GraphicsCommandList7,
    ID3D12PipelineState, ID3D12Resource,
};
use windows::core::Interface;

use crate::device::error::Asked;
use crate::device::inner::Inner;
use crate::device::queue::list_type;
use crate::device::record::barriers::{Seen, Takeovers};
use crate::device::record::copies;
use crate::device::resource::object::Resource;
use crate::{AccelerationStructure, DescriptorHeap, Device, QueryHeap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Never begun.
    New,
    Open,
    Closed,
    /// It could not be closed, or begun: it can only be destroyed.
    Broken,
}

/// A command allocator with the list recorded from it.
///
/// Tenure's commands are checked when they are recorded, and [`close`](CommandList::close) returns the error; an
/// invalid command never reaches the driver. Through [`raw`](Self::raw) the program records its own commands.
pub struct List {
    pub(crate) raw: ID3D12GraphicsCommandList,
    /// The same list, if it supports enhanced barriers.
    pub(crate) raw7: Option<ID3D12GraphicsCommandList7>,
    pub(crate) allocator: ID3D12CommandAllocator,
    pub(crate) queue: QueueId,
    pub(crate) kind: QueueKind,
    phase: Phase,
    error: Option<DeviceError>,
    /// Queries that have begun and not ended.
    pub(crate) begun: BegunQueries,
    /// Resources, by their interfaces' addresses, that have taken over memory since the list was begun;
    /// for enhanced barriers.
    pub(crate) takeovers: Takeovers<usize>,
    /// Textures with an enhanced barrier in this recording.
    pub(crate) seen: Seen,
    /// A command was recorded since the list was begun.
    has_commands: Cell<bool>,
    /// The program has accessed the list, and may record into it whenever it is open.
    was_lent: Cell<bool>,
    /// The heaps of descriptors that tenure set last, as identities.
    heaps: Cell<[Option<NonZero<usize>>; 2]>,
    /// Declared last: the device outlives all of its objects.
    pub(crate) device: Arc<Inner>,
}

const NO_STATE: Option<&ID3D12PipelineState> = None;

/// A resource for the structures of the API, without a counted reference: they are read in one call, during
/// which the resource is borrowed.
pub(crate) fn borrowed(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: an interface and an optional interface have the same representation, a pointer. The
    // copy is never dropped, so that the count of references stays right.
    unsafe { std::mem::transmute_copy(resource) }
}

impl Inner {
    pub(crate) fn create_list(self: &Arc<Self>, id: QueueId) -> Result<List, DeviceError> {
        self.look()?;
        let queue = self.queue(id)?;
        let kind = list_type(queue.kind);
        // SAFETY: takes no pointers.
        let allocator: ID3D12CommandAllocator = unsafe { self.raw.CreateCommandAllocator(kind) }
            .map_err(|error| self.fail(&error, Asked::Object("CreateCommandAllocator")))?;
        // SAFETY: the allocator is alive and of the same type; the list is created open and closed at
        // once.
        let raw: ID3D12GraphicsCommandList = unsafe {
            let list = self.raw.CreateCommandList(0, kind, &allocator, NO_STATE);
            list.and_then(|list: ID3D12GraphicsCommandList| list.Close().map(|()| list))
        }
        .map_err(|error| self.fail(&error, Asked::Object("CreateCommandList")))?;
        let raw7 = if self.caps.enhanced_barriers {
            let newer = raw.cast::<ID3D12GraphicsCommandList7>();
            Some(newer.map_err(|error| self.fail(&error, Asked::Object("enhanced barriers in lists")))?)
        } else {
            None
        };
        self.counters.lists.fetch_add(1, Ordering::Relaxed);
        self.messages.deliver();
        Ok(List {
            raw,
            raw7,
            allocator,
            queue: id,
            kind: queue.kind,
            phase: Phase::New,
            error: None,
            begun: BegunQueries::default(),
            takeovers: Takeovers::default(),
            seen: Seen::default(),
            has_commands: Cell::new(false),
            was_lent: Cell::new(false),
            heaps: Cell::new([None; 2]),
            device: Arc::clone(self),
        })
    }
}

impl List {
    /// The list, for commands of the program between
    /// [`begin`](CommandList::begin) and [`close`](CommandList::close). Do not reset or close it.
    /// After setting descriptor heaps of the program, see
    /// [`forget_descriptor_heaps`](Self::forget_descriptor_heaps).
    #[must_use]
    pub fn raw(&self) -> &ID3D12GraphicsCommandList {
        self.was_lent.set(true);
        &self.raw
    }

    /// Notes that the program has set its own descriptor heaps: the next
    /// [`set_descriptor_heaps`](CommandList::set_descriptor_heaps) is recorded, even if tenure's last heaps are
    /// the same.
    pub fn forget_descriptor_heaps(&self) {
        self.heaps.set([None; 2]);
    }

    /// Sets the shader-visible heaps, unless they are set. Setting one heap unsets the other, so both are set at
    /// once.
    fn record_heaps(&mut self, heaps: [Option<&DescriptorHeap>; 2]) -> Result<(), DeviceError> {
        for (heap, kind) in heaps.iter().zip([DescriptorKind::Resource, DescriptorKind::Sampler]) {
            let Some(heap) = heap else { continue };
            heap.check_device(&self.device)?;
            if heap.desc.kind != kind || !heap.desc.shader_visible {
                return Err(DeviceError::broken_rule(
                    "shaders see the heap of descriptors, as one of its kind",
                ));
            }
        }
        // Copy queues have no shaders.
        let identities = heaps.map(|heap| heap.and_then(|heap| NonZero::new(heap.raw.as_raw().addr())));
        if self.kind == QueueKind::Copy || identities == [None; 2] || identities == self.heaps.get() {
            return Ok(());
        }
        let raw: SmallVec<[Option<ID3D12DescriptorHeap>; 2]> =
            heaps.into_iter().flatten().map(|heap| Some(heap.raw.clone())).collect();
        // SAFETY: the list is open and has shaders; the heaps are alive, of this device, visible to
        // shaders, and one of a kind.
        unsafe { self.raw.SetDescriptorHeaps(&raw) };
        self.heaps.set(identities);
        Ok(())
    }

    /// True once it was closed without an error.
    pub(crate) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// The list holds a command, and so a submission has to execute it.
    pub(crate) fn note_command(&self) {
        self.has_commands.set(true);
    }

    /// False if it contains nothing to execute.
    pub(crate) fn may_have_commands(&self) -> bool {
        self.has_commands.get() || self.was_lent.get()
    }

    /// Records a command with `record` if the list is open; keeps the first error for `close`.
    fn record(&mut self, record: impl FnOnce(&mut Self) -> Result<(), DeviceError>) {
        self.note_command();
        self.attempt(record);
    }

    /// As [`record`](Self::record), for calls that may record no command.
    fn attempt(&mut self, record: impl FnOnce(&mut Self) -> Result<(), DeviceError>) {
        let recorded = match (self.phase, self.device.alive()) {
            (Phase::Open, Ok(())) => record(self),
            (_, Err(lost)) => Err(lost),
            (Phase::New | Phase::Closed | Phase::Broken, Ok(())) => {
                Err(DeviceError::broken_rule(CallRule::RecordedOpen))
            }
        };
        if let Err(error) = recorded {
            self.error.get_or_insert(error);
        }
    }
}

impl CommandList<Device> for List {
    fn begin(&mut self) -> Result<(), DeviceError> {
        self.device.look()?;
        if self.phase == Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::BegunClosed));
        }
        if self.phase == Phase::Broken {
            return Err(DeviceError::broken_rule(CallRule::BegunSound));
        }
        self.phase = Phase::Broken;
        // SAFETY: both are alive; the caller has made sure that the GPU has completed the commands recorded from
        // the allocator, and the list, its only one, is closed.
        let begun =
            unsafe { self.allocator.Reset().and_then(|()| self.raw.Reset(&self.allocator, NO_STATE)) };
        begun.map_err(|error| self.device.fail(&error, Asked::Object("ID3D12GraphicsCommandList::Reset")))?;
        self.error = None;
        self.begun = BegunQueries::default();
        self.takeovers.clear();
        self.seen = Seen::default();
        self.has_commands.set(false);
        self.heaps.set([None; 2]);
        self.phase = Phase::Open;
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.device.look()?;
        if self.phase != Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::ClosedOpen));
        }
        self.phase = Phase::Broken;
        // SAFETY: the list is alive and open.
        let closed = unsafe { self.raw.Close() };
        self.device.messages.deliver();
        let all_ended = self.begun.close();
        if let Some(error) = self.error.take().or(all_ended.err()) {
            return Err(error);
        }
        closed
            .map_err(|error| self.device.fail(&error, Asked::Object("ID3D12GraphicsCommandList::Close")))?;
        self.phase = Phase::Closed;
        Ok(())
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Device>]) {
        self.attempt(|list| list.record_barriers(barriers));
    }

    fn discard(&mut self, resource: &Resource, subresource: Subresource) {
        self.record(|list| list.record_discard(resource, subresource));
    }

    /// The end of a submission makes everything visible.
    fn make_visible_to_cpu(&mut self, _: State) {}

    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&DescriptorHeap>,
        samplers: Option<&DescriptorHeap>,
    ) {
        self.record(|list| list.record_heaps([resources, samplers]));
    }

    fn copy_buffer(&mut self, src: &Resource, src_offset: u64, dst: &Resource, dst_offset: u64, size: u64) {
        self.record(|list| copies::buffer(list, (src, src_offset), (dst, dst_offset), size));
    }

    fn copy_buffer_to_texture(
        &mut self,
        src: &Resource,
        layout: BufferLayout,
        dst: &Resource,
        region: TextureRegion,
    ) {
        self.record(|list| copies::to_texture(list, (src, layout), (dst, region)));
    }

    fn copy_texture_to_buffer(
        &mut self,
        src: &Resource,
        region: TextureRegion,
        dst: &Resource,
        layout: BufferLayout,
    ) {
        self.record(|list| copies::to_buffer(list, (src, region), (dst, layout)));
    }

    fn copy_texture(&mut self, src: &Resource, dst: &Resource, subresource: Subresource) {
        self.record(|list| copies::subresources(list, src, dst, subresource));
    }

    fn generate_mip(&mut self, texture: &Resource, mip: u32, layers: Range<u32>) {
        self.record(|list| copies::generate_mip(list, texture, mip, &layers));
    }

    /// Does nothing: queries of Direct3D 12 need no reset.
    fn reset_queries(&mut self, _: &QueryHeap, _: u32, _: u32) {}

    fn write_timestamp(&mut self, heap: &QueryHeap, query: u32) {
        self.record(|list| list.timestamp(heap, query));
    }

    fn begin_query(&mut self, heap: &QueryHeap, query: u32) {
        self.record(|list| list.begin_ranged(heap, query));
    }

    fn end_query(&mut self, heap: &QueryHeap, query: u32) {
        self.record(|list| list.end_ranged(heap, query));
    }

    fn copy_acceleration_structure(
        &mut self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) {
        self.record(|list| list.copy_structure(src, dst, compact));
    }

    fn write_compacted_size(&mut self, structure: &AccelerationStructure, heap: &QueryHeap, query: u32) {
        self.record(|list| list.compacted_size(structure, heap, query));
    }

    fn resolve_queries(&mut self, heap: &QueryHeap, first: u32, count: u32, dst: &Resource, offset: u64) {
        self.record(|list| list.resolve(heap, (first, count), (dst, offset)));
    }
}

impl Drop for List {
    fn drop(&mut self) {
        self.device.counters.lists.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("List").field("queue", &self.queue).field("phase", &self.phase).finish_non_exhaustive()
    }
}
