//! Instances and physical devices.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::chain::find_answer;
use crate::disguise::{Table, Used};
use crate::file::LogFile;
use crate::functions::{InstanceFunctions, next};
use crate::guard::quietly;
use crate::link::{InstanceLink, take_link};
use crate::program::Program;
use crate::registry::Registry;

/// The environment variable with the folder of the logs. Without it nothing is written.
const FOLDER: &str = "TENURE_CAPTURE";
/// The environment variable with the table of the disguise.
const DISGUISE: &str = "TENURE_CAPTURE_AS";
/// The environment variable that has debug names written.
const NAMES: &str = "TENURE_CAPTURE_NAMES";

static INSTANCES: Registry<Instance> = Registry::new();

/// The callbacks of the program for the driver's own memory.
pub(crate) type Callbacks<'a> = *const vk::AllocationCallbacks<'a>;

/// An instance, on the layer's side.
pub(crate) struct Instance {
    pub(crate) functions_of_next: vk::PFN_vkGetInstanceProcAddr,
    pub(crate) next: InstanceFunctions,
    pub(crate) handle: vk::Instance,
    pub(crate) program: Program,
    pub(crate) table: Option<Table>,
    pub(crate) has_names: bool,
    pub(crate) used: Used,
    folder: Option<PathBuf>,
    /// A file that was opened in advance: later, a sandbox may forbid it.
    reserve: Mutex<Option<LogFile>>,
}

impl Instance {
    /// # Safety
    ///
    /// `handle` is null, an instance or a physical device.
    pub(crate) unsafe fn of(handle: impl vk::Handle) -> Option<Arc<Self>> {
        // SAFETY: as the caller promises.
        unsafe { INSTANCES.get(handle) }
    }

    /// A file for a new device.
    pub(crate) fn log_file(&self) -> Option<LogFile> {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = reserve.take();
        let create = || LogFile::create(self.folder.as_deref()?);
        let file = taken.or_else(create);
        *reserve = create();
        file
    }
}

/// A variable of the environment that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub(crate) unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: the program's own call, passed on; the loader has added the link.
    unsafe {
        let Some(link) = take_link::<InstanceLink>((*info).p_next) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let functions_of_next = link.instance_functions;
        let load = |handle, name: &std::ffi::CStr| functions_of_next(handle, name.as_ptr());
        let Some(create) = load(vk::Instance::null(), c"vkCreateInstance") else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let create: vk::PFN_vkCreateInstance = std::mem::transmute(create);
        let result = create(info, callbacks, out);
        if result != vk::Result::SUCCESS {
            return result;
        }
        let handle = *out;
        let folder = variable(FOLDER).map(PathBuf::from);
        let open = || folder.as_deref().and_then(LogFile::create);
        let table = || variable(DISGUISE).and_then(|text| Table::parse(text.to_str()?));
        let instance = Instance {
            functions_of_next,
            next: InstanceFunctions::load(|name| load(handle, name)),
            handle,
            program: quietly(|| Program::of(&*info)).unwrap_or_default(),
            table: quietly(table).flatten(),
            has_names: variable(NAMES).is_some(),
            used: Used::default(),
            reserve: Mutex::new(quietly(open).flatten()),
            folder,
        };
        INSTANCES.insert(handle, Arc::new(instance));
        result
    }
}

pub(crate) unsafe extern "system" fn destroy_instance(handle: vk::Instance, callbacks: Callbacks<'_>) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let Some(instance) = INSTANCES.remove(handle) else { return };
        if let Some(next) = instance.next.destroy_instance {
            next(handle, callbacks);
        }
    }
}

pub(crate) unsafe extern "system" fn get_physical_device_properties(
    handle: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (instance, next) = next!(Instance of handle, get_physical_device_properties);
        next(handle, out);
        if let Some(table) = &instance.table {
            table.limits(&mut (*out).limits);
        }
    }
}

pub(crate) unsafe extern "system" fn get_physical_device_properties2(
    handle: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    // SAFETY: the program's own call, passed on; its chain of answers is the program's memory for this call.
    unsafe {
        let (instance, next) = next!(Instance of handle, get_physical_device_properties2);
        next(handle, out);
        let Some(table) = &instance.table else { return };
        table.limits(&mut (*out).properties.limits);
        let chain = (*out).p_next;
        if let Some(found) = find_answer::<vk::PhysicalDeviceMaintenance3Properties<'_>>(chain) {
            found.max_memory_allocation_size = table.largest(found.max_memory_allocation_size);
        }
        if let Some(found) = find_answer::<vk::PhysicalDeviceVulkan11Properties<'_>>(chain) {
            found.max_memory_allocation_size = table.largest(found.max_memory_allocation_size);
        }
    }
}

pub(crate) unsafe extern "system" fn get_physical_device_memory_properties(
    handle: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (instance, next) = next!(Instance of handle, get_physical_device_memory_properties);
        next(handle, out);
        if let Some(table) = &instance.table {
            table.memory_properties(&mut *out);
        }
    }
}

pub(crate) unsafe extern "system" fn get_physical_device_memory_properties2(
    handle: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: the program's own call, passed on; its chain of answers is the program's memory for this call.
    unsafe {
        let (instance, next) = next!(Instance of handle, get_physical_device_memory_properties2);
        next(handle, out);
        let Some(table) = &instance.table else { return };
        table.memory_properties(&mut (*out).memory_properties);
        let budget = find_answer::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>((*out).p_next);
        if let Some(budget) = budget {
            table.budget(&instance.used, budget);
        }
    }
}
