//! The device itself: the contract, and what a test wants beyond it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::device::{
    AccelerationStructureRange, CallRule, Checked, Descriptor, DescriptorHeapDesc, DescriptorSource,
    DeviceError, HeapBudget, HeapDesc, ManagerSlot, MemoryBlock, MemoryTypeId, ObjectRef, PagingPoint,
    Permit, Priority, Properties, QueryHeapDesc, QueueId, QueueSerial, Requirements, ResourceDesc,
    SetBinding, SetWrite, State, SubmitSync, TextureInfo, TextureWrite, TileLayout, TileUpdate, TrimRequest,
};

use crate::calls::{CallKind, Calls};
use crate::costs::Work;
use crate::descriptors::{DescriptorHeap, SetBlock, SetLayout};
use crate::external::{ExternalPoint, Fence, NativeQueue};
use crate::faults::Faults;
use crate::hazard::{Hazard, HazardKind};
use crate::heap::Heap;
use crate::journal::Step;
use crate::layout::Layout;
use crate::list::List;
use crate::mapping::Mapping;
use crate::object::{LiveObject, ObjectKind};
use crate::options::Options;
use crate::paging::{Pager, PagingStats};
use crate::profile::Profile;
use crate::queries::QueryHeap;
use crate::report::Findings;
use crate::resource::{Memory, Resource};
use crate::shared::{Request, Shared};
use crate::structures::AccelerationStructure;
use crate::tiles::buffer_tiles;

/// A GPU in software. Clones are handles to the same device, which any thread may use.
///
/// See the [crate documentation](crate) for what it does and what it checks.
#[derive(Clone)]
pub struct Device {
    shared: Arc<Shared>,
    /// Shared by the clones, and by nothing else.
    handles: Arc<()>,
}

impl Device {
    /// A device of that profile, with the default options.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self::with_options(Options::new(profile))
    }

    /// A device with these options.
    #[must_use]
    pub fn with_options(options: Options) -> Self {
        Self { shared: Arc::new(Shared::new(options)), handles: Arc::new(()) }
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What went wrong so far, oldest first; at most
    /// [`HAZARD_LOG_LIMIT`](crate::HAZARD_LOG_LIMIT) are kept.
    #[must_use]
    pub fn hazards(&self) -> Vec<Hazard> {
        self.shared.hazards.snapshot()
    }

    /// Empties the log of hazards and returns what was in it.
    #[must_use]
    pub fn take_hazards(&self) -> Vec<Hazard> {
        self.shared.hazards.take()
    }

    /// What the queues have executed since the last call, with [`Options::journal`]; else nothing. For tests
    /// that judge barriers by rules of their own.
    ///
    /// ```
    /// use tenure_core::device::{
    ///     BufferInfo, CommandList as _, Device as _, MemoryTypeId, Permit, QueueId, ResourceDesc, State, Usage,
    /// };
    /// use tenure_sim::{Device, Lag, Options, Profile, Step};
    ///
    /// let device = Device::with_options(Options::new(Profile::DISCRETE).lag(Lag::None).journal(true));
    /// let desc = ResourceDesc::Buffer(BufferInfo { size: 256, usage: Usage::COPY_DST });
    /// let buffer = device.create_committed(&desc, MemoryTypeId(0))?;
    /// let permit = Permit::checked();
    /// let mut list = device.create_list(permit, QueueId(0))?;
    /// list.begin()?;
    /// list.fill_buffer(&buffer, 0, 256, 7);
    /// list.close()?;
    /// device.submit(permit, QueueId(0), &[&list], &[], 1)?;
    /// let used = Step::Use { resource: buffer.number(), subresources: 0..1, state: State::COPY_DST };
    /// assert_eq!(device.take_journal()[1..], [used]);
    /// # Ok::<(), tenure_core::device::DeviceError>(())
    /// ```
    #[must_use]
    pub fn take_journal(&self) -> Vec<Step> {
        self.shared.journal.take()
    }

    /// Hazards found since the device was made, kept in the log or not.
    #[must_use]
    pub fn hazards_found(&self) -> u64 {
        self.shared.hazards.found()
    }

    /// Objects created and not destroyed, oldest first. At the end of a program each is a leak.
    /// O(live objects).
    #[must_use]
    pub fn leaks(&self) -> Vec<LiveObject> {
        self.shared.register.live()
    }

    /// This handle and its clones that live: 1 once all others are dropped, so that a test sees when the
    /// program lets go of its device.
    #[must_use]
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.handles)
    }

    /// For the end of a test: `Ok` when there was no hazard and everything is destroyed.
    ///
    /// # Errors
    /// [`Findings`], which shows each hazard and each leak on a line of its own.
    pub fn check_clean(&self) -> Result<(), Findings> {
        let mut findings =
            Findings { hazards: self.hazards(), found: self.hazards_found(), leaks: self.leaks() };
        let unreached = self.shared.unreached();
        findings.found = findings.found.saturating_add(unreached.len() as u64);
        findings.hazards.extend(unreached);
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// A fence of the program's own that counts from 0 (`ID3D12Fence`, a timeline semaphore).
    #[must_use]
    pub fn create_fence(&self, name: &str) -> Fence {
        Fence::new(&self.shared, name, false)
    }

    /// A binary semaphore of the program's own, as Vulkan has them: each signal is waited for once.
    #[must_use]
    pub fn create_semaphore(&self, name: &str) -> Fence {
        Fence::new(&self.shared, name, true)
    }

    /// The failures to come.
    #[must_use]
    pub fn faults(&self) -> Faults {
        Faults::new(&self.shared)
    }

    /// The counters at this moment. O(live objects).
    #[must_use]
    pub fn calls(&self) -> Calls {
        let shared = &self.shared;
        let totals = shared.memory.totals();
        let live = |wanted: &[ObjectKind]| shared.register.count(|kind| wanted.contains(&kind));
        let mut calls = shared.counters.snapshot();
        calls.live_heaps = live(&[ObjectKind::Heap]);
        calls.live_resources = live(&[ObjectKind::Buffer, ObjectKind::Texture]);
        calls.live_lists = live(&[ObjectKind::List]);
        calls.live_descriptor_heaps = live(&[ObjectKind::DescriptorHeap]);
        calls.live_set_layouts = live(&[ObjectKind::SetLayout]);
        calls.live_set_blocks = live(&[ObjectKind::SetBlock]);
        calls.live_query_heaps = live(&[ObjectKind::QueryHeap]);
        calls.live_acceleration_structures = live(&[ObjectKind::AccelerationStructure]);
        calls.allocations = totals.allocations;
        calls.reserved_bytes = totals.reserved;
        calls.peak_reserved_bytes = totals.peak;
        calls
    }

    /// Nanoseconds that all calls so far would have taken by the [cost model](crate::Costs): [`Calls::cost_ns`]
    /// alone, in O(1).
    #[must_use]
    pub fn cost_ns(&self) -> u64 {
        self.shared.counters.cost_ns()
    }

    /// A line for each call since the device was made, where
    /// [`Options::record_calls`](Options::record_calls) asked for it; else nothing.
    #[must_use]
    pub fn call_log(&self) -> Vec<String> {
        self.shared.counters.lines()
    }

    /// Ticks of simulated time since the device was made.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.shared.timeline.lock().now()
    }

    /// Changes what the OS grants of a memory heap, as when another program starts. Nothing is
    /// taken away; [`budget`](tenure_core::device::Device::budget) reports it.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when there is no such heap.
    pub fn set_budget(&self, heap: usize, bytes: u64) -> Result<(), DeviceError> {
        if self.shared.memory.set_budget(heap, bytes) {
            if let Some(pager) = &self.shared.pager {
                pager.set_budget(heap, bytes);
            }
            self.shared.notices.note_budget();
            return Ok(());
        }
        let heaps = self.shared.properties.memory_heaps.len();
        Err(DeviceError::invalid_call("the memory heap exists", heap as u64, heaps as u64))
    }

    /// The operating system asks for memory, as Windows does (`ID3D12Device15::RegisterTrimNotificationCallback`).
    pub fn request_trim(&self, trim: TrimRequest) {
        self.shared.notices.request(trim);
    }

    /// What the operating system was told last that the program cannot do without, by memory heap
    /// ([`reserve`](tenure_core::device::Device::reserve)); nothing before.
    #[must_use]
    pub fn reserved(&self) -> Vec<u64> {
        self.shared.notices.reserved()
    }

    /// What paging has cost so far; nothing where it is not [simulated](Options::paging).
    #[must_use]
    pub fn paging_stats(&self) -> PagingStats {
        self.shared.pager.as_ref().map(Pager::stats).unwrap_or_default()
    }

    /// Completes the oldest submission of a queue now, whatever its lag; its serial, or `None`
    /// when there is none or it waits for another queue. The CPU has not seen it until it polls
    /// or waits.
    pub fn complete_one(&self, queue: QueueId) -> Option<u64> {
        let done = self.shared.timeline.lock().complete_one(&self.shared, queue);
        self.shared.changed.notify_all();
        done
    }

    /// Completes the submissions of a queue up to `serial`; false when it gets stuck before, at
    /// one that waits for another queue or was not made yet.
    pub fn complete(&self, queue: QueueId, serial: u64) -> bool {
        loop {
            let completed = self.shared.timeline.lock().completed(queue);
            if completed.is_some_and(|completed| completed >= serial) {
                return true;
            }
            if self.complete_one(queue).is_none() {
                return false;
            }
        }
    }

    /// Completes everything that can complete on all queues, in the order of its time, and lets
    /// the CPU see it, as a wait for an idle device does; false when something is left that waits
    /// for a submission not made yet.
    pub fn run_until_idle(&self) -> bool {
        let idle = self.shared.timeline.lock().run_until_idle(&self.shared);
        self.shared.changed.notify_all();
        idle
    }
}

impl Checked for Device {}

impl tenure_core::device::Device for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;
    type List = List;
    type DescriptorHeap = DescriptorHeap;
    type SetLayout = SetLayout;
    type SetBlock = SetBlock;
    type QueryHeap = QueryHeap;
    type AccelerationStructure = AccelerationStructure;
    type ExternalPoint = ExternalPoint;
    type NativeQueue<'a> = NativeQueue<'a>;

    fn properties(&self) -> &Properties {
        &self.shared.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.shared.manager_slot
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        let shared = &self.shared;
        shared.call(CallKind::Requirements, Request::default(), || shared.requirements_of(desc))
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.shared.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        self.shared.destroy_heap(&heap);
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.shared.create_committed(desc, memory)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.shared.create_placed(desc, heap, offset)
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.shared.create_reserved(desc)
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        self.shared.destroy_resource(&resource);
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.shared.call(CallKind::Map, Request::default(), || {
            let state = &resource.state;
            if !state.is_host_visible() {
                return Err(DeviceError::invalid_value(CallRule::HostVisible, u64::from(state.flags.bits())));
            }
            if !state.is_buffer() {
                return Err(DeviceError::invalid_value("only buffers are mapped", state.label.id));
            }
            state.mapped.store(true, Ordering::Relaxed);
            Ok(Mapping::new(Arc::clone(&self.shared), Arc::clone(state)))
        })
    }

    fn texture_write_states(&self, info: &TextureInfo) -> State {
        self.shared.texture_write_states(info)
    }

    fn write_texture(
        &self,
        _: Permit<Self>,
        texture: &Resource,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        self.shared.write_texture(texture, states, writes)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        resource.state.address
    }

    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        self.shared.alive()?;
        let state = &resource.state;
        match (&state.memory, &state.desc, &state.layout) {
            (Memory::Reserved(_), ResourceDesc::Buffer(info), _) => {
                Ok(buffer_tiles(info, self.shared.tile_types(&state.desc)?))
            }
            (Memory::Reserved(_), _, Layout::Tiled { tiles, .. }) => Ok(tiles.clone()),
            _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
        }
    }

    fn name_range(&self, buffer: &Resource, offset: u64, size: u64, name: &str) {
        if !self.shared.checks.is_empty() {
            buffer.state.owners.set(offset..offset.saturating_add(size), name);
        }
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        match object {
            ObjectRef::Heap(heap) => heap.state.label.set_name(name),
            ObjectRef::Resource(resource) => resource.state.label.set_name(name),
            ObjectRef::List(list) => list.state.label.set_name(name),
            ObjectRef::DescriptorHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::SetBlock(block) => block.state.label.set_name(name),
            ObjectRef::QueryHeap(heap) => heap.state.label.set_name(name),
            ObjectRef::AccelerationStructure(structure) => structure.state.label.set_name(name),
        }
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.shared.call(CallKind::CreateList, Request::default(), || {
            let queues = &self.shared.properties.queues;
            let Some(properties) = queues.get(queue.index()) else {
                return Err(DeviceError::invalid_call(
                    CallRule::QueueExists,
                    u64::from(queue.0),
                    queues.len() as u64,
                ));
            };
            let label = self.shared.register.create(ObjectKind::List);
            Ok(List::new(&self.shared, label, queue, properties.kind))
        })
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        let shared = &self.shared;
        shared.count(CallKind::DestroyList, Work::default());
        let state = &list.state;
        shared.check_unused(&state.label, &state.last_use, HazardKind::DestroyedInUse, "destroy_list");
        shared.register.destroy(&state.label);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        self.shared.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        self.shared.destroy_descriptor_heap(&heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.shared.write_descriptor(heap, index, descriptor)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        self.shared.fill_descriptors(heap, first, sources)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.shared.clear_descriptors(heap, first, count, freed_by);
    }

    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
        self.shared.create_set_layout(bindings)
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: SetLayout) {
        self.shared.destroy_set_layout(&layout);
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &SetLayout,
        sets: u32,
    ) -> Result<SetBlock, DeviceError> {
        self.shared.create_set_block(layout, sets)
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: SetBlock) {
        self.shared.destroy_set_block(&block);
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        self.shared.write_set(block, set, writes)
    }

    fn clear_set(&self, _: Permit<Self>, block: &SetBlock, set: u32, freed_by: Option<&str>) {
        self.shared.clear_set(block, set, freed_by);
    }

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        self.shared.create_query_heap(desc)
    }

    fn destroy_query_heap(&self, _: Permit<Self>, heap: QueryHeap) {
        self.shared.destroy_query_heap(&heap);
    }

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<AccelerationStructure, DeviceError> {
        self.shared.create_acceleration_structure(range)
    }

    fn destroy_acceleration_structure(&self, _: Permit<Self>, structure: AccelerationStructure) {
        self.shared.destroy_acceleration_structure(&structure);
    }

    fn acceleration_structure_address(&self, structure: &AccelerationStructure) -> u64 {
        structure.address()
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.shared.submit(queue, lists, sync)
    }

    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError> {
        self.shared.submit_external(queue, waits, signal, run)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.shared.update_tiles(queue, updates, waits, signal)
    }

    fn make_resident(
        &self,
        _: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        self.shared.make_resident(blocks)
    }

    fn evict(&self, _: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        self.shared.evict(blocks)
    }

    fn set_priority(
        &self,
        _: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.shared.set_priority(block, priority)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.shared.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.shared.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.shared.call(CallKind::Budget, Request::default(), || Ok(self.shared.budgets()))
    }

    fn budget_changed(&self) -> bool {
        self.shared.budget_changed()
    }

    fn take_trim_request(&self) -> Option<TrimRequest> {
        self.shared.notices.take_trim()
    }

    fn reserve(&self, bytes: &[u64]) {
        self.shared.notices.reserve(bytes);
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.shared.alive()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.shared.properties.name).finish_non_exhaustive()
    }
}
