//! Devices.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::disguise::Disguise;
use crate::functions::{DeviceFunctions, next};
use crate::guard::quietly;
use crate::instance::{Callbacks, Instance};
use crate::link::{DeviceLink, take_link};
use crate::log::Log;
use crate::registry::Registry;

static DEVICES: Registry<Device> = Registry::new();

/// A device, on the layer's side.
pub(crate) struct Device {
    pub(crate) functions_of_next: vk::PFN_vkGetDeviceProcAddr,
    pub(crate) next: DeviceFunctions,
    pub(crate) handle: vk::Device,
    pub(crate) instance: Arc<Instance>,
    pub(crate) disguise: Option<Disguise>,
    /// The program has the second version of the functions that ask for requirements, so that the layer may call them.
    pub(crate) has_requirements2: bool,
    log: Mutex<Log>,
}

impl Device {
    /// # Safety
    ///
    /// `handle` is null, a device or a queue.
    pub(crate) unsafe fn of(handle: impl vk::Handle) -> Option<Arc<Self>> {
        // SAFETY: as the caller promises.
        unsafe { DEVICES.get(handle) }
    }

    /// Reads or writes the log; `None` after a fault of the layer.
    pub(crate) fn note<T>(&self, part: impl FnOnce(&mut Log) -> T) -> Option<T> {
        quietly(|| part(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// # Safety
    ///
    /// The handles are those of a new device and of the physical device that it was created on, and the function is the next
    /// layer's.
    unsafe fn new(
        instance: Arc<Instance>,
        physical: vk::PhysicalDevice,
        handle: vk::Device,
        functions_of_next: vk::PFN_vkGetDeviceProcAddr,
    ) -> Self {
        // SAFETY: the handle is valid, and names are strings.
        let get = |name: &CStr| unsafe { functions_of_next(handle, name.as_ptr()) };
        let mut properties = vk::PhysicalDeviceProperties::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties::default();
        // SAFETY: the physical device is valid, and the structures are this function's.
        unsafe {
            if let Some(ask) = instance.next.get_physical_device_properties {
                ask(physical, &raw mut properties);
            }
            if let Some(ask) = instance.next.get_physical_device_memory_properties {
                ask(physical, &raw mut memory);
            }
        }
        let disguise = instance.table.as_ref().map(|table| Disguise::new(table, &memory));
        if let Some(table) = &instance.table {
            table.limits(&mut properties.limits);
            table.memory_properties(&mut memory);
        }
        // Programs that ask for no version get 1.0.
        let version = instance.program.version.max(vk::API_VERSION_1_0).min(properties.api_version);
        let device = Self {
            functions_of_next,
            next: DeviceFunctions::load(get),
            handle,
            disguise,
            has_requirements2: version >= vk::API_VERSION_1_1
                || get(c"vkGetBufferMemoryRequirements2KHR").is_some(),
            log: Mutex::new(Log::new(quietly(|| instance.log_file()).flatten())),
            instance,
        };
        let Instance { program, table, .. } = &*device.instance;
        device.note(|log| log.begin(program, table.as_ref(), version, (&properties, &memory)));
        device
    }
}

pub(crate) unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::Device,
) -> vk::Result {
    // SAFETY: the program's own call, passed on; the loader has added the link.
    unsafe {
        let Some(instance) = Instance::of(physical) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let Some(link) = take_link::<DeviceLink>((*info).p_next) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let functions_of_next = link.device_functions;
        let create = (link.instance_functions)(instance.handle, c"vkCreateDevice".as_ptr());
        let Some(create) = create else { return vk::Result::ERROR_INITIALIZATION_FAILED };
        let create: vk::PFN_vkCreateDevice = std::mem::transmute(create);
        let result = create(physical, info, callbacks, out);
        if result == vk::Result::SUCCESS {
            let device = Device::new(instance, physical, *out, functions_of_next);
            DEVICES.insert(*out, Arc::new(device));
        }
        result
    }
}

pub(crate) unsafe extern "system" fn destroy_device(handle: vk::Device, callbacks: Callbacks<'_>) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, destroy_device);
        let _object = DEVICES.remove(handle);
        device.note(|log| {
            for (index, size) in log.live_memory() {
                if let Some(disguise) = &device.disguise {
                    disguise.give_back(&device.instance.used, index, size);
                }
            }
            log.end();
        });
        next(handle, callbacks);
    }
}
