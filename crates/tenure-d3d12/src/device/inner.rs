//! The shared state of all handles of one device.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::device::{
    CallRule, DeviceError, Properties, QueueId, Requirements, SingleManager, TextureCache,
};
use windows::Win32::Graphics::Direct3D12::ID3D12Device;
use windows::Win32::Graphics::Dxgi::IDXGIAdapter3;
use windows::core::Error;

use crate::device::error::{Asked, is_removal, refusal, removal_reason};
use crate::device::memory::notices::Notices;
use crate::device::memory::residency::Paging;
use crate::device::queue::Events;
use crate::device::queue::Queue;
use crate::device::resource::desc::Described;
use crate::device::setup::adapter::AdapterReport;
use crate::device::setup::caps::{Caps, Interfaces};
use crate::device::setup::format_support::FormatSupport;
use crate::device::setup::message::Messages;
use crate::drivers::Workarounds;

/// Live objects of a device, and errors in the order of their destruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveObjects {
    /// Heaps.
    pub heaps: u64,
    /// Resources that the device created; adopted ones are the program's.
    pub resources: u64,
    /// Command lists.
    pub lists: u64,
    /// Heaps of descriptors.
    pub descriptor_heaps: u64,
    /// Heaps of queries.
    pub query_heaps: u64,
    /// Heaps that were destroyed while resources were placed in them, since the device was made. Their memory
    /// stayed until these were destroyed.
    pub heaps_destroyed_early: u64,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) heaps: AtomicU64,
    pub(crate) resources: AtomicU64,
    pub(crate) lists: AtomicU64,
    pub(crate) descriptor_heaps: AtomicU64,
    pub(crate) query_heaps: AtomicU64,
    heaps_destroyed_early: AtomicU64,
}

impl Counters {
    pub(crate) fn heap_destroyed_early(&self) {
        self.heaps_destroyed_early.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> LiveObjects {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LiveObjects {
            heaps: load(&self.heaps),
            resources: load(&self.resources),
            lists: load(&self.lists),
            descriptor_heaps: load(&self.descriptor_heaps),
            query_heaps: load(&self.query_heaps),
            heaps_destroyed_early: load(&self.heaps_destroyed_early),
        }
    }
}

pub(crate) struct Inner {
    pub(crate) raw: ID3D12Device,
    pub(crate) single_manager: SingleManager,
    pub(crate) interfaces: Interfaces,
    pub(crate) caps: Caps,
    pub(crate) formats: FormatSupport,
    /// The creation descriptions of textures, and their requirements.
    pub(crate) textures: TextureCache<(Described, Requirements)>,
    pub(crate) properties: Properties,
    pub(crate) workarounds: Workarounds,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    pub(crate) adapter_info: AdapterReport,
    pub(crate) messages: Messages,
    pub(crate) counters: Counters,
    pub(crate) paging: Paging,
    pub(crate) notices: Notices,
    lost: OnceLock<String>,
    pub(crate) queues: Vec<Queue>,
    /// Declared after the queues: their fences may still set an event.
    pub(crate) events: Events,
}

/// The parameters of a new [`Inner`].
pub(crate) struct Parts {
    pub(crate) raw: ID3D12Device,
    pub(crate) interfaces: Interfaces,
    pub(crate) caps: Caps,
    pub(crate) properties: Properties,
    pub(crate) workarounds: Workarounds,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    pub(crate) adapter_info: AdapterReport,
    pub(crate) messages: Messages,
    pub(crate) queues: Vec<Queue>,
}

impl Inner {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { raw, interfaces, caps, properties, workarounds, adapter, adapter_info, messages, queues } =
            parts;
        let notices = Notices::new(&raw, adapter.as_ref());
        Self {
            single_manager: SingleManager::default(),
            raw,
            interfaces,
            caps,
            formats: FormatSupport::new(),
            textures: TextureCache::new(),
            properties,
            workarounds,
            adapter,
            adapter_info,
            messages,
            counters: Counters::default(),
            paging: Paging::default(),
            notices,
            lost: OnceLock::new(),
            queues,
            events: Events::default(),
        }
    }

    /// `Err` once the device is known to be lost. Does not query it.
    #[inline]
    pub(crate) fn alive(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.clone() }),
        }
    }

    /// `Err` once the device is lost. Queries it.
    #[inline]
    pub(crate) fn look(&self) -> Result<(), DeviceError> {
        self.alive()?;
        // SAFETY: the interface is alive.
        match unsafe { self.raw.GetDeviceRemovedReason() } {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lose(removal_reason(error.code()))),
        }
    }

    /// Records that the device is lost. The first reason is kept: it is the cause.
    #[cold]
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let reason = self.lost.get_or_init(|| reason).clone();
        DeviceError::Lost { reason }
    }

    /// Converts a failed call; a removed device is recorded.
    #[cold]
    pub(crate) fn fail(&self, error: &Error, asked: Asked) -> DeviceError {
        self.messages.deliver();
        if let Err(lost) = self.look() {
            return lost;
        }
        let result = error.code();
        if is_removal(result) { self.lose(removal_reason(result)) } else { refusal(result, asked) }
    }

    pub(crate) fn queue(&self, id: QueueId) -> Result<&Queue, DeviceError> {
        let count = self.queues.len() as u64;
        self.queues.get(id.index()).ok_or(DeviceError::invalid_call(
            CallRule::QueueExists,
            u64::from(id.0),
            count,
        ))
    }
}

/// The object created by a successful call.
pub(crate) fn made<T>(object: Option<T>, what: &'static str) -> Result<T, DeviceError> {
    object.ok_or(DeviceError::broken_rule(what))
}
