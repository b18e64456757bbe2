//! The device and the objects created with it.

mod contract;
mod descriptor;
mod error;
mod external;
mod format;
mod inner;
mod memory;
mod query;
mod queue;
mod record;
mod resource;
mod setup;
mod sharing;
mod structure;
mod swapchain;

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{CallRule, DeviceError, MAX_QUEUES, QueueId, QueueKind};
use tenure_core::emit;
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_QUEUE_DESC, D3D12_FENCE_FLAG_NONE, D3D12CreateDevice, ID3D12CommandQueue, ID3D12Device,
    ID3D12Fence,
};
use windows::Win32::Graphics::Dxgi::IDXGIAdapter3;
use windows::core::Interface;

use crate::device::error::unreachable_api;
use crate::device::inner::{Inner, Parts, made};
use crate::device::queue::{Queue, list_type, queue_kind};
use crate::device::resource::object::is_same;
use crate::device::setup::adapter::{by_luid, warp};
use crate::device::setup::caps::{Caps, Interfaces, feature_level};
use crate::device::setup::dred;
use crate::device::setup::message::{Messages, enable_debug_layer};
use crate::device::setup::properties::{Facts, properties};
use crate::drivers::Workarounds;

pub use self::{
    descriptor::{heap::DescriptorHeap, raw::RawHandle},
    external::ExternalFence,
    format::to_dxgi_format,
    inner::LiveObjects,
    memory::{heap::Heap, mapping::Mapping},
    query::QueryHeap,
    record::{barriers::to_barrier_layout, list::List, state::to_resource_states},
    resource::object::Resource,
    setup::{
        adapter::{Adapter, AdapterReport, adapters},
        caps::FeatureLevel,
        config::{DeviceConfig, DriverFaults},
        message::{Message, MessageSink, Severity},
    },
    sharing::{AdapterId, Exported, ShareError, SharedFence, Sharing},
    structure::AccelerationStructure,
    swapchain::Swapchain,
};

/// A Direct3D 12 device with its queues. Clones are handles to the same device, which any thread
/// may use.
///
/// ```no_run
/// use tenure_core::{BufferDesc, Config, Gpu};
/// use tenure_core::device::Usage;
/// use tenure_d3d12::{Device, DeviceConfig};
///
/// let gpu = Gpu::new(Device::create(&DeviceConfig::default())?, Config::default())?;
/// let rock = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX).name("rock"))?;
/// println!("{:?}, {} B into {:?}", rock.location(), rock.offset(), rock.raw().raw());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
}

impl Device {
    /// Wraps a device of the program. `queues` are the queues for tenure's submissions, each once, a direct one first;
    /// the program may submit to them, too. Each gets a fence that counts tenure's submissions.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if a queue is another device's, for video, or there twice, the first is not direct, or
    /// there are none or more than [`MAX_QUEUES`]; and the driver's errors.
    ///
    /// ```no_run
    /// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{ID3D12CommandQueue, ID3D12Device};
    /// use tenure_d3d12::{Device, DeviceConfig};
    ///
    /// fn wrap(own: &ID3D12Device, direct: &ID3D12CommandQueue) -> Result<(), Box<dyn std::error::Error>> {
    ///     let device = Device::new(own, &[direct.clone()], &DeviceConfig::default())?;
    ///     println!("{}", device.adapter().name);
    ///     Ok(())
    /// }
    /// ```
    pub fn new(
        device: &ID3D12Device,
        queues: &[ID3D12CommandQueue],
        options: &DeviceConfig,
    ) -> Result<Self, DeviceError> {
        // SAFETY: the interface is alive; the number is returned by value.
        let adapter = by_luid(unsafe { device.GetAdapterLuid() })?;
        Self::wrap(device, queues, &adapter, options)
    }

    /// Creates a device on the fastest adapter that can have one, hardware before software, with a
    /// direct, a compute and a copy queue.
    ///
    /// # Errors
    /// The error of the software adapter, the last to be tried.
    pub fn create(options: &DeviceConfig) -> Result<Self, DeviceError> {
        let listed = if options.software { Vec::new() } else { adapters()? };
        for adapter in listed.iter().filter(|adapter| !adapter.info().software) {
            match Self::create_on(adapter, options) {
                Ok(device) => return Ok(device),
                Err(error) => {
                    let name = adapter.info().name.clone();
                    emit(move || {
                        tracing::warn!(target: "tenure_d3d12", name, %error, "no Direct3D 12 device on this adapter");
                    });
                }
            }
        }
        Self::create_on(&warp()?, options)
    }

    /// Creates a device of feature level 11.0 on an adapter, with a direct, a compute and a copy
    /// queue.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn create_on(adapter: &Adapter, options: &DeviceConfig) -> Result<Self, DeviceError> {
        if options.validation {
            // If it is not installed, the device works without it: `is_validated` returns false.
            let _enabled = enable_debug_layer();
        }
        if options.records_faults {
            dred::enable();
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
        options: &DeviceConfig,
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
            queues: &queues
                .iter()
                .map(|queue| (queue.kind, query::clock(queue)))
                .collect::<SmallVec<[_; MAX_QUEUES]>>(),
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

    /// The queue with that index, if there is one.
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

    /// The adapter.
    #[must_use]
    pub fn adapter(&self) -> &AdapterReport {
        &self.inner.adapter_info
    }

    /// The highest feature level. Queries the driver.
    #[must_use]
    pub fn feature_level(&self) -> FeatureLevel {
        feature_level(&self.inner.raw)
    }

    /// The faults of the driver that are worked around: see [`DeviceConfig::driver_faults`].
    #[must_use]
    pub fn workarounds(&self) -> &Workarounds {
        &self.inner.workarounds
    }

    /// True when the debug layer is installed and watches the device.
    #[must_use]
    pub fn is_validated(&self) -> bool {
        self.inner.messages.is_watched()
    }

    /// Delivers the debug layer's messages so far to their sink. Calls of tenure do so themselves; this is for
    /// the program's own calls.
    pub fn deliver_messages(&self) {
        self.inner.messages.deliver();
    }

    /// The number of its live objects. At the end of a program each is a leak.
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
        return Err(DeviceError::invalid_call(
            "there are 1 to 8 queues",
            queues.len() as u64,
            MAX_QUEUES as u64,
        ));
    }
    let is_twice = |(index, queue)| queues.iter().take(index).any(|known| is_same(known, queue));
    if queues.iter().enumerate().any(is_twice) {
        return Err(DeviceError::broken_rule("each queue is there once"));
    }
    let wrapped = queues.iter().map(|queue| wrap_queue(device, queue)).collect::<Result<Vec<_>, _>>()?;
    match wrapped.first() {
        Some(first) if first.kind == QueueKind::Graphics => Ok(wrapped),
        _ => Err(DeviceError::broken_rule("the first queue is a direct one")),
    }
}

fn wrap_queue(device: &ID3D12Device, raw: &ID3D12CommandQueue) -> Result<Queue, DeviceError> {
    let mut owner: Option<ID3D12Device> = None;
    // SAFETY: the pointer is to a local that outlives the call.
    let answer = unsafe { raw.GetDevice(&raw mut owner) };
    if answer.is_err() || owner.is_none_or(|owner| !is_same(&owner, device)) {
        return Err(DeviceError::broken_rule(CallRule::SameDevice));
    }
    // SAFETY: the interface is alive; the description is returned by value.
    let list = unsafe { raw.GetDesc() }.Type;
    let rule = "a queue is direct, compute or copy (list type)";
    let kind =
        queue_kind(list).ok_or(DeviceError::invalid_call(rule, u64::from(list.0.cast_unsigned()), 3_u64))?;
    // SAFETY: takes no pointers.
    let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }
        .map_err(|error| unreachable_api("CreateFence", &error))?;
    Ok(Queue::new(raw.clone(), fence, kind))
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("name", &self.inner.properties.name).finish_non_exhaustive()
    }
}
