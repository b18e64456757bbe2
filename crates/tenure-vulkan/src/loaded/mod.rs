//! The loaded device: its handles, functions and properties, its loss, and its destruction.

mod api;
mod fault;
mod khr_fault;
mod marker;
mod tables;

use core::fmt;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ash::vk;
use tenure_core::device::{CallRule, DeviceError, DeviceFault, MemoryFlags, MemoryTypeId};
use tenure_core::emit;

pub(crate) use self::api::{Api, Handles, HostImageCalls};
#[cfg(unix)]
pub(crate) use self::api::{MemoryFdCalls, SemaphoreFdCalls, TimelineCalls};
use self::marker::Markers;
pub(crate) use self::tables::{Facts, TILE, Tables, power_of_two};
use crate::error::meaning;
use crate::instance::{AddressReports, Instance};

/// Lets a part of the backend deref to its device.
macro_rules! part_of_device {
    ($part:ident) => {
        impl core::ops::Deref for $part {
            type Target = crate::loaded::Loaded;

            fn deref(&self) -> &Self::Target {
                &self.loaded
            }
        }
    };
}

pub(crate) use part_of_device;

/// The owner of the device, which destroys it.
pub(crate) enum Owner {
    /// tenure: it created the device, on its own instance.
    Tenure(Arc<Instance>),
    /// The program that created it.
    Caller,
}

/// A device as all parts of the backend share it. Each part and each object holds a reference, so it is destroyed
/// with the last of them.
pub(crate) struct Loaded {
    pub(crate) api: Api,
    pub(crate) tables: Tables,
    /// The families of all queues that use buffers of tenure, each once: they share all buffers.
    pub(crate) families: Vec<u32>,
    lost: OnceLock<String>,
    /// A call has returned that the device is lost: other failures, after which tenure can do nothing more, count as a loss, too.
    is_lost_for_driver: AtomicBool,
    /// The faults that caused the loss, once queried.
    faults: OnceLock<Vec<DeviceFault>>,
    /// The GPU did not finish in time: no object is destroyed.
    is_abandoned: AtomicBool,
    markers: Option<Markers>,
    /// The addresses of images, if the driver reports them. Before `owner`, which has the instance.
    addresses: Option<Arc<AddressReports>>,
    owner: Owner,
}

impl Loaded {
    /// A device; `marked`: the queues whose lists write markers, unless the driver refuses the memory for them.
    pub(crate) fn new(
        api: Api,
        mut tables: Tables,
        mut families: Vec<u32>,
        (owner, marked): (Owner, Vec<vk::Queue>),
        addresses: Option<Arc<AddressReports>>,
    ) -> Self {
        families.sort_unstable();
        families.dedup();
        let (lost, faults, is_abandoned) = (OnceLock::new(), OnceLock::new(), AtomicBool::new(false));
        let markers = Markers::create(&api, &tables, &families, marked);
        if markers.is_some() {
            tables.properties.markers = Markers::limits(&api);
        }
        Self {
            api,
            tables,
            families,
            lost,
            faults,
            is_abandoned,
            markers,
            addresses,
            owner,
            is_lost_for_driver: AtomicBool::new(false),
        }
    }

    /// `Err` once the device is lost.
    pub(crate) fn alive(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.clone() }),
        }
    }

    /// Converts a call's failure. A loss is recorded.
    pub(crate) fn error(&self, call: &'static str, result: vk::Result) -> DeviceError {
        self.error_of(call, result, None)
    }

    /// As [`error`](Self::error), for a call that allocates memory, with its size and type.
    pub(crate) fn error_of(
        &self,
        call: &'static str,
        result: vk::Result,
        asked: Option<(u64, MemoryTypeId)>,
    ) -> DeviceError {
        let max_allocations = self.tables.properties.max_allocations;
        meaning(call, result, asked, max_allocations).unwrap_or_else(|| {
            self.is_lost_for_driver.store(true, Ordering::Relaxed);
            self.lose(format!("{call} returned {result:?}"))
        })
    }

    /// Whether the driver may be queried for the reasons of a loss.
    fn is_lost_for_driver(&self) -> bool {
        self.is_lost_for_driver.load(Ordering::Relaxed)
    }

    /// Converts the result of a function called by pointer; success is `Ok`.
    pub(crate) fn check(&self, call: &'static str, result: vk::Result) -> Result<(), DeviceError> {
        result.result().map_err(|result| self.error(call, result))
    }

    /// Records that the device is lost. The first reason is kept: it is the cause of the later ones.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let reason = self.lost.get_or_init(|| reason);
        DeviceError::Lost { reason: reason.clone() }
    }

    /// Checks the owner, because handles are invalid on other devices.
    pub(crate) fn check_same(&self, other: &Self) -> Result<(), DeviceError> {
        match core::ptr::eq(self, other) {
            true => Ok(()),
            false => Err(DeviceError::broken_rule(CallRule::SameDevice)),
        }
    }

    /// The flags of a memory type.
    pub(crate) fn memory_flags(&self, kind: MemoryTypeId) -> Result<MemoryFlags, DeviceError> {
        let types = &self.tables.properties.memory_types;
        let found = types.get(usize::from(kind.0)).map(|found| found.flags);
        found.ok_or(DeviceError::invalid_call(
            CallRule::MemoryTypeExists,
            u64::from(kind.0),
            types.len() as u64,
        ))
    }

    /// Names an object for debuggers and messages.
    pub(crate) fn name<T: vk::Handle>(&self, handle: T, name: &CString) {
        let Some(functions) = &self.api.names else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(name);
        // SAFETY: the object is alive and of this device. A refused name has no consequences.
        let _refused = unsafe { functions.set_debug_utils_object_name(&info) };
    }

    /// The address of an image that was just created or bound, if the driver has reported it.
    pub(crate) fn address_of_image(&self, image: vk::Image) -> Option<u64> {
        self.addresses.as_ref()?.take(image)
    }

    /// Waits for the program's own submissions, which have no serial; false if the driver fails. On a wrapped
    /// device the program must wait for them.
    pub(crate) fn wait_idle(&self) -> bool {
        if matches!(self.owner, Owner::Caller) || self.lost.get().is_some() {
            return true;
        }
        // SAFETY: no other code uses the queues: their users hold the device's queues, which end with this call.
        let waited = unsafe { self.api.device.device_wait_idle() };
        matches!(waited, Ok(()) | Err(vk::Result::ERROR_DEVICE_LOST))
    }

    /// Leaves the device to the process, because the GPU did not finish in time.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
        emit(|| tracing::error!(target: "tenure_vulkan", "the GPU did not finish; its device is left alone"));
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let is_abandoned = *self.is_abandoned.get_mut();
        if let Some(markers) = self.markers.take().filter(|_| !is_abandoned) {
            // SAFETY: all parts and objects of the device hold this, so they are dropped, and their submissions complete.
            unsafe { markers.destroy(&self.api) };
        }
        let Owner::Tenure(instance) = &self.owner else { return };
        // The program may have used its own queues since the others ended.
        if !*self.is_abandoned.get_mut() && !self.wait_idle() {
            self.abandon();
        }
        if *self.is_abandoned.get_mut() {
            std::mem::forget(instance.clone());
            return;
        }
        // SAFETY: all parts and objects of the device hold this, so they are dropped; the GPU is idle.
        unsafe { self.api.device.destroy_device(None) };
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("name", &self.tables.properties.name).finish_non_exhaustive()
    }
}
