//! The device itself.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tenure_core::device::{
    Descriptor, DescriptorHeapDesc, DescriptorSource, DeviceError, HeapBudget, HeapDesc, MAX_QUEUES,
    ManagerSlot, MemoryTypeId, ObjectRef, Permit, Properties, QueueId, QueueKind, QueueSerial, Requirements,
    ResourceDesc, SetBinding, SetWrite, TileLayout, TileUpdate,
};
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_QUEUE_DESC, D3D12_FENCE_FLAG_NONE, D3D12CreateDevice, ID3D12CommandList,
    ID3D12CommandQueue, ID3D12Device, ID3D12Fence,
};
use windows::Win32::Graphics::Dxgi::IDXGIAdapter3;
use windows::core::Interface;

use crate::adapter::{Adapter, AdapterInfo, adapters, by_luid, warp};
use crate::caps::{Caps, Interfaces};
use crate::drivers::Workarounds;
use crate::error::{invalid, unreachable_api};
use crate::feature_level::{FeatureLevel, feature_level};
use crate::inner::{Inner, LiveObjects, Parts, made};
use crate::messages::{Messages, enable_debug_layer};
use crate::names;
use crate::properties::{Facts, properties};
use crate::queue::{Queue, list_type, queue_kind};
use crate::resource::is_same;
use crate::{DescriptorHeap, DriverFaults, Heap, List, Mapping, Options, Resource};

/// A Direct3D 12 device with its queues. Clones are handles to the same device, which any thread
/// may use.
///
/// ```no_run
/// use tenure_core::{BufferDesc, Config, Gpu};
/// use tenure_core::device::Usage;
/// use tenure_d3d12::{Device, Options};
///
/// let gpu = Gpu::new(Device::create(&Options::default())?, Config::default())?;
/// let rock = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX).name("rock"))?;
/// println!("{:?}, {} B into {:?}", rock.location(), rock.offset(), rock.raw().raw());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
}

impl Device {
    /// Wraps a device of the program's own. The queues are those that tenure is to submit to, a
    /// direct one first; the program may submit to them, too. Each gets a fence that counts
    /// tenure's submissions.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when a queue is another device's or for video, the first is not
    /// direct, or there are none or more than [`MAX_QUEUES`]; what the driver answers.
    ///
    /// ```no_run
    /// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{ID3D12CommandQueue, ID3D12Device};
    /// use tenure_d3d12::{Device, Options};
    ///
    /// fn wrap(own: &ID3D12Device, direct: &ID3D12CommandQueue) -> Result<(), Box<dyn std::error::Error>> {
    ///     let device = Device::new(own, &[direct.clone()], &Options::default())?;
    ///     println!("{}", device.adapter().name);
    ///     Ok(())
    /// }
    /// ```
    pub fn new(
        device: &ID3D12Device,
        queues: &[ID3D12CommandQueue],
        options: &Options,
    ) -> Result<Self, DeviceError> {
        // SAFETY: the interface is alive; the number is returned by value.
        let adapter = by_luid(unsafe { device.GetAdapterLuid() })?;
        Self::wrap(device, queues, &adapter, options)
    }

    /// Creates a device on the fastest adapter that can have one, hardware before software, with a
    /// direct, a compute and a copy queue.
    ///
    /// # Errors
    /// What the software adapter answers, the last to be tried.
    pub fn create(options: &Options) -> Result<Self, DeviceError> {
        let listed = if options.software { Vec::new() } else { adapters()? };
        for adapter in listed.iter().filter(|adapter| !adapter.info().software) {
            match Self::create_on(adapter, options) {
                Ok(device) => return Ok(device),
                Err(error) => {
                    let name = &adapter.info().name;
                    tracing::warn!(target: "tenure", name, %error, "no Direct3D 12 device on this adapter");
                }
            }
        }
        Self::create_on(&warp()?, options)
    }

    /// Creates a device of feature level 11.0 on an adapter, with a direct, a compute and a copy
    /// queue.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn create_on(adapter: &Adapter, options: &Options) -> Result<Self, DeviceError> {
        if options.validation {
            // Where it is not installed the device is as good without: `is_validated` tells.
            let _enabled = enable_debug_layer();
        }
        let mut raw: Option<ID3D12Device> = None;
        // SAFETY: the adapter is alive and the pointer is to a local that outlives the call.
        unsafe { D3D12CreateDevice(adapter.raw(), D3D_FEATURE_LEVEL_11_0, &raw mut raw) }
            .map_err(|error| unreachable_api("D3D12CreateDevice", &error))?;
        let raw = made(raw, "D3D12CreateDevice makes a device")?;
        let queues = [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy];
        let queues = queues.iter().map(|kind| create_queue(&raw, *kind)).collect::<Result<Vec<_>, _>>()?;
        Self::wrap(&raw, &queues, adapter, options)
    }

    fn wrap(
        device: &ID3D12Device,
        queues: &[ID3D12CommandQueue],
        adapter: &Adapter,
        options: &Options,
    ) -> Result<Self, DeviceError> {
        let queues = wrap_queues(device, queues)?;
        let interfaces = Interfaces::of(device);
        let caps = Caps::of(device, &interfaces, options);
        let info = adapter.info();
        let workarounds = match options.driver_faults {
            DriverFaults::Table => Workarounds::of(&info.id()),
            DriverFaults::Ignored => Workarounds::default(),
            DriverFaults::Of(adapter) => Workarounds::of(&adapter),
        };
        let budget = adapter.raw().cast::<IDXGIAdapter3>().ok();
        let properties = properties(&Facts {
            caps: &caps,
            adapter: info,
            queues: &queues.iter().map(|queue| queue.kind).collect::<SmallVec<[_; MAX_QUEUES]>>(),
            has_budget: budget.is_some(),
            has_priorities: interfaces.device1.is_some(),
            workarounds: &workarounds,
        });
        let messages = Messages::new(device, options.validation, options.messages.clone());
        let inner = Inner::new(Parts {
            raw: device.clone(),
            interfaces,
            caps,
            properties,
            workarounds,
            adapter: budget,
            adapter_info: info.clone(),
            messages,
            queues,
        });
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The device itself.
    #[must_use]
    pub fn raw(&self) -> &ID3D12Device {
        &self.inner.raw
    }

    /// A queue itself, if there is one of that number.
    #[must_use]
    pub fn queue(&self, id: QueueId) -> Option<&ID3D12CommandQueue> {
        self.inner.queues.get(id.index()).map(|queue| &queue.raw)
    }

    /// The fence that counts a queue's submissions: its value is the newest completed serial. Wait
    /// for it; never signal it.
    #[must_use]
    pub fn fence(&self, id: QueueId) -> Option<&ID3D12Fence> {
        self.inner.queues.get(id.index()).map(|queue| &queue.fence)
    }

    /// The adapter that it is on.
    #[must_use]
    pub fn adapter(&self) -> &AdapterInfo {
        &self.inner.adapter_info
    }

    /// The highest feature level that it has. Asks the driver.
    #[must_use]
    pub fn feature_level(&self) -> FeatureLevel {
        feature_level(&self.inner.raw)
    }

    /// The faults of the driver that are worked around: see [`Options::driver_faults`].
    #[must_use]
    pub fn workarounds(&self) -> &Workarounds {
        &self.inner.workarounds
    }

    /// True when the debug layer is installed and watches the device.
    #[must_use]
    pub fn is_validated(&self) -> bool {
        self.inner.messages.is_watched()
    }

    /// Hands the debug layer's messages to where they go, up to now. Calls of tenure do so
    /// themselves; this is for those of the program's own.
    pub fn deliver_messages(&self) {
        self.inner.messages.deliver();
    }

    /// How many of its objects live. At the end of a program each is a leak.
    #[must_use]
    pub fn live_objects(&self) -> LiveObjects {
        self.inner.counters.snapshot()
    }
}

fn create_queue(device: &ID3D12Device, kind: QueueKind) -> Result<ID3D12CommandQueue, DeviceError> {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type(kind), ..Default::default() };
    // SAFETY: the pointer is to a local that outlives the call.
    unsafe { device.CreateCommandQueue(&raw const desc) }
        .map_err(|error| unreachable_api("CreateCommandQueue", &error))
}

fn wrap_queues(device: &ID3D12Device, queues: &[ID3D12CommandQueue]) -> Result<Vec<Queue>, DeviceError> {
    if queues.is_empty() || queues.len() > MAX_QUEUES {
        return Err(invalid("there are 1 to 8 queues", queues.len() as u64, MAX_QUEUES as u64));
    }
    let wrapped = queues.iter().map(|queue| wrap_queue(device, queue)).collect::<Result<Vec<_>, _>>()?;
    match wrapped.first() {
        Some(first) if first.kind == QueueKind::Graphics => Ok(wrapped),
        _ => Err(invalid("the first queue is a direct one", 0, 0)),
    }
}

fn wrap_queue(device: &ID3D12Device, raw: &ID3D12CommandQueue) -> Result<Queue, DeviceError> {
    let mut owner: Option<ID3D12Device> = None;
    // SAFETY: the pointer is to a local that outlives the call.
    let answer = unsafe { raw.GetDevice(&raw mut owner) };
    if answer.is_err() || owner.is_none_or(|owner| !is_same(&owner, device)) {
        return Err(invalid("the queue belongs to the device", 0, 1));
    }
    // SAFETY: the interface is alive; the description is returned by value.
    let list = unsafe { raw.GetDesc() }.Type;
    let rule = "a queue is direct, compute or copy (list type)";
    let kind = queue_kind(list).ok_or(invalid(rule, u64::from(list.0.cast_unsigned()), 3))?;
    // SAFETY: takes no pointers.
    let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }
        .map_err(|error| unreachable_api("CreateFence", &error))?;
    Ok(Queue::new(raw.clone(), fence, kind))
}

impl Inner {
    fn submit(
        self: &Arc<Self>,
        id: QueueId,
        lists: &[&List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.look()?;
        for list in lists {
            if !Arc::ptr_eq(self, &list.device) {
                return Err(invalid("a list is submitted to the device that made it", 0, 1));
            }
            if list.queue != id {
                let rule = "a list is submitted to the queue it was made for";
                return Err(invalid(rule, u64::from(id.0), u64::from(list.queue.0)));
            }
            if !list.is_closed() {
                return Err(invalid("a submitted list is closed", 0, 1));
            }
        }
        // Handing a texture to another queue often changes no layout.
        let to_execute = lists.iter().filter(|list| list.may_have_commands());
        let raw: SmallVec<[Option<ID3D12CommandList>; 4]> =
            to_execute.map(|list| Some(<&ID3D12CommandList>::from(&list.raw).clone())).collect();
        self.in_order(id, waits, signal, |queue| {
            if !raw.is_empty() {
                // SAFETY: the lists are alive, closed, of this device and of the queue's type.
                unsafe { queue.ExecuteCommandLists(&raw) };
            }
        })
    }
}

impl tenure_core::device::Device for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;
    type List = List;
    type DescriptorHeap = DescriptorHeap;
    type SetLayout = Infallible;
    type SetBlock = Infallible;

    fn properties(&self) -> &Properties {
        &self.inner.properties
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.inner.manager_slot
    }

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.inner.look()?;
        self.inner.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.inner.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        let residents = heap.core.residents();
        if residents > 0 {
            self.inner.counters.heap_destroyed_early();
            tracing::error!(target: "tenure", residents, "a heap is destroyed before what is placed in it");
        }
        drop(heap);
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.inner.create_committed(desc, memory)
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.inner.create_placed(desc, heap, offset)
    }

    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.inner.create_reserved(desc)
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        drop(resource);
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.inner.map(resource)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        (resource.address != 0).then_some(resource.address)
    }

    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        self.inner.tile_layout(resource)
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        names::name(&object, name);
    }

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.inner.create_list(queue)
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        drop(list);
    }

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        self.inner.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        drop(heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.inner.write_descriptor(heap, index, descriptor)
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        self.inner.fill_descriptors(heap, first, sources)
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        self.inner.clear_descriptors(heap, first, count, freed_by);
    }

    fn create_set_layout(&self, _: &[SetBinding]) -> Result<Infallible, DeviceError> {
        Err(DeviceError::Unsupported { feature: "descriptor sets" })
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: Infallible) {
        match layout {}
    }

    fn create_set_block(
        &self,
        _: Permit<Self>,
        layout: &Infallible,
        _: u32,
    ) -> Result<Infallible, DeviceError> {
        match *layout {}
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: Infallible) {
        match block {}
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &Infallible,
        _: u32,
        _: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        match *block {}
    }

    fn clear_set(&self, _: Permit<Self>, block: &Infallible, _: u32, _: Option<&str>) {
        match *block {}
    }

    fn submit(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.inner.submit(queue, lists, waits, signal)
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.inner.update_tiles(queue, updates, waits, signal)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.inner.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.inner.wait(target, timeout)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.inner.budget()
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.inner.look()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("name", &self.inner.properties.name).finish_non_exhaustive()
    }
}
