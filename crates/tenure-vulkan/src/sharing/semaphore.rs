//! Timeline semaphores shared by two processes.

use core::fmt;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use tenure_core::device::DeviceError;
use tenure_core::{Deferred, Gpu, Name};

use super::info::DeviceIds;
use super::info::ShareError;
use super::memory::created;
use crate::device::Device;
use crate::error::unsupported;
use crate::loaded::{Loaded, SemaphoreFdCalls, TimelineCalls};
use crate::queue::{ExternalSemaphore, nanoseconds};

const OPAQUE_FD: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;

/// A timeline semaphore shared by two processes: created by [`Sharing`](super::Sharing). Recordings wait for its
/// [values](Self::at) and signal them. After it is dropped it is destroyed when the GPU has completed everything
/// submitted by then; the other process keeps its own handle.
///
/// Work that waits for a value which the other process never signals, because it has ended, waits forever, and so
/// do later submissions. [`wait`](Self::wait) with a limit before the submission detects this in time; afterwards
/// [`signal`](Self::signal) ends the wait.
pub struct SharedSemaphore {
    owned: Deferred<Device, OwnedSemaphore>,
}

/// Destroys the semaphore when it is dropped.
struct OwnedSemaphore {
    loaded: Arc<Loaded>,
    raw: vk::Semaphore,
    /// It was created for export.
    is_exported: bool,
}

impl Drop for OwnedSemaphore {
    fn drop(&mut self) {
        // SAFETY: it is of this device, and the manager has waited for the GPU.
        unsafe { self.loaded.api.device.destroy_semaphore(self.raw, None) };
    }
}

impl Loaded {
    fn semaphore_calls(&self) -> Result<(TimelineCalls, SemaphoreFdCalls), DeviceError> {
        let calls = self.api.timeline.zip(self.api.semaphore_fds);
        calls.ok_or_else(|| unsupported("shared timeline semaphores (VK_KHR_external_semaphore_fd)"))
    }

    /// Checks the driver's support of timeline semaphores of that handle type.
    fn check_semaphores(&self, wanted: vk::ExternalSemaphoreFeatureFlags) -> Result<(), DeviceError> {
        self.alive()?;
        self.semaphore_calls()?;
        let mut timeline = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::PhysicalDeviceExternalSemaphoreInfo::default()
            .handle_type(OPAQUE_FD)
            .push_next(&mut timeline);
        let mut found = vk::ExternalSemaphoreProperties::default();
        let (instance, physical) = (&self.api.instance, self.api.physical);
        // SAFETY: the physical device belongs to the instance, and the structure in the chain to an enabled
        // feature.
        unsafe { instance.get_physical_device_external_semaphore_properties(physical, &info, &mut found) };
        match found.external_semaphore_features.contains(wanted) {
            true => Ok(()),
            false => Err(unsupported("timeline semaphores shared by opaque file descriptors")),
        }
    }

    fn make_semaphore(
        self: &Arc<Self>,
        value: u64,
        is_exported: bool,
    ) -> Result<OwnedSemaphore, DeviceError> {
        let mut timeline = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(value);
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(OPAQUE_FD);
        let mut info = vk::SemaphoreCreateInfo::default().push_next(&mut timeline);
        if is_exported {
            info = info.push_next(&mut export);
        }
        // SAFETY: the structures in the chain belong to enabled features.
        let made = unsafe { self.api.device.create_semaphore(&info, None) };
        let raw = made.map_err(|result| self.error("vkCreateSemaphore", result))?;
        Ok(OwnedSemaphore { loaded: self.clone(), raw, is_exported })
    }
}

impl SharedSemaphore {
    pub(super) fn create(gpu: &Gpu<Device>, name: impl Into<Name>, value: u64) -> Result<Self, ShareError> {
        let loaded = gpu.device().loaded();
        loaded.check_semaphores(vk::ExternalSemaphoreFeatureFlags::EXPORTABLE)?;
        Ok(Self { owned: gpu.defer(name, loaded.make_semaphore(value, true)?) })
    }

    /// `handle` stays open.
    ///
    /// # Safety
    /// As [`Sharing::import_semaphore`](super::Sharing::import_semaphore).
    pub(super) unsafe fn import(
        gpu: &Gpu<Device>,
        handle: &OwnedFd,
        ids: &DeviceIds,
        name: impl Into<Name>,
    ) -> Result<Self, ShareError> {
        let loaded = gpu.device().loaded();
        loaded.check_semaphores(vk::ExternalSemaphoreFeatureFlags::IMPORTABLE)?;
        loaded.check_ids(*ids)?;
        let (_, calls) = loaded.semaphore_calls()?;
        let owned = loaded.make_semaphore(0, false)?;
        // The driver closes an imported handle.
        let copy = handle.try_clone();
        let copy = copy.map_err(|error| ShareError::Descriptor { reason: error.to_string() })?;
        let info = vk::ImportSemaphoreFdInfoKHR::default()
            .semaphore(owned.raw)
            .handle_type(OPAQUE_FD)
            .fd(copy.as_raw_fd());
        // SAFETY: the semaphore is new and unused, and the caller promises that the handle is one of a timeline
        // semaphore.
        let result = unsafe { (calls.import)(loaded.api.handle(), &raw const info) };
        loaded.check("vkImportSemaphoreFdKHR", result)?;
        let _the_drivers = copy.into_raw_fd();
        Ok(Self { owned: gpu.defer(name, owned) })
    }

    /// A handle for the other process, and the ids of the devices that can import it. Each call creates a new one.
    ///
    /// # Errors
    /// [`ShareError::Device`]: `Unsupported` for a semaphore that was imported, a shortage, or a lost device.
    pub fn export(&self) -> Result<(OwnedFd, DeviceIds), ShareError> {
        let loaded = &self.owned.loaded;
        loaded.alive()?;
        if !self.owned.is_exported {
            return Err(unsupported("exports of imported semaphores").into());
        }
        let (_, calls) = loaded.semaphore_calls()?;
        let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(self.owned.raw).handle_type(OPAQUE_FD);
        let mut fd = -1;
        // SAFETY: the semaphore is alive, and was created for export by such a handle.
        let result = unsafe { (calls.get)(loaded.api.handle(), &raw const info, &raw mut fd) };
        loaded.check("vkGetSemaphoreFdKHR", result)?;
        // SAFETY: the driver has just created it, for the caller to close.
        Ok((unsafe { created("vkGetSemaphoreFdKHR", fd) }?, loaded.ids()))
    }

    /// A value of it, for [`Recording::wait_for_external`](tenure_core::Recording::wait_for_external) and
    /// [`signal_external`](tenure_core::Recording::signal_external).
    ///
    /// # Safety
    /// Signalled values increase, in both processes together, and none differs by more than the device's
    /// `maxTimelineSemaphoreValueDifference`. The recording that gets the value was begun before this is dropped:
    /// the value itself does not keep the semaphore alive.
    #[must_use]
    pub unsafe fn at(&self, value: u64) -> ExternalSemaphore {
        // SAFETY: it is destroyed only after all recordings begun before it is dropped are complete; the caller
        // promises the rest.
        unsafe { ExternalSemaphore::timeline(self.owned.raw, value) }
    }

    /// The value that it has reached.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    pub fn value(&self) -> Result<u64, DeviceError> {
        let loaded = &self.owned.loaded;
        loaded.alive()?;
        let (calls, _) = loaded.semaphore_calls()?;
        let mut value = 0;
        // SAFETY: it is a timeline semaphore of the device.
        let result = unsafe { (calls.value)(loaded.api.handle(), self.owned.raw, &raw mut value) };
        loaded.check("vkGetSemaphoreCounterValue", result)?;
        Ok(value)
    }

    /// Blocks until it has reached a value, or until the timeout. `false` after a timeout: the other process may
    /// have ended.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    pub fn wait(&self, value: u64, timeout: Duration) -> Result<bool, DeviceError> {
        let loaded = &self.owned.loaded;
        loaded.alive()?;
        let (calls, _) = loaded.semaphore_calls()?;
        let (semaphores, values) = ([self.owned.raw], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: it is a timeline semaphore of the device.
        let result = unsafe { (calls.wait)(loaded.api.handle(), &raw const info, nanoseconds(timeout)) };
        match result {
            vk::Result::SUCCESS => Ok(true),
            vk::Result::TIMEOUT => Ok(false),
            result => Err(loaded.error("vkWaitSemaphores", result)),
        }
    }

    /// Signals a value from the CPU: also one that the other process was to signal, and has ended before.
    ///
    /// # Errors
    /// [`DeviceError::Lost`]; a shortage.
    ///
    /// # Safety
    /// As [`at`](Self::at): `value` is more than the current value, and less than the values of pending signals.
    pub unsafe fn signal(&self, value: u64) -> Result<(), DeviceError> {
        let loaded = &self.owned.loaded;
        loaded.alive()?;
        let (_, calls) = loaded.semaphore_calls()?;
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.owned.raw).value(value);
        // SAFETY: it is a timeline semaphore of the device; the caller promises that the value is in order.
        let result = unsafe { (calls.signal)(loaded.api.handle(), &raw const info) };
        loaded.check("vkSignalSemaphore", result)
    }

    /// The API's semaphore. Do not destroy it.
    #[must_use]
    pub fn raw(&self) -> vk::Semaphore {
        self.owned.raw
    }
}

impl fmt::Debug for SharedSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSemaphore").field("raw", &self.owned.raw).finish_non_exhaustive()
    }
}
