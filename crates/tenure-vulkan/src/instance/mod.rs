//! Instances created by tenure, and the options of instances and devices.

mod address;
mod config;
mod message;

use core::ffi::CStr;
use core::fmt;
use std::ffi::CString;
use std::sync::Arc;

use ash::vk;

pub(crate) use self::address::AddressReports;
use self::message::messenger_info;
use crate::error::CreateError;
use crate::features::{ApiVersion, OptionalFeatures};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Surface extensions of the window systems, and related extensions for swap chains, used if available.
const SURFACES: [&CStr; 12] = [
    ash::khr::xcb_surface::NAME,
    ash::khr::xlib_surface::NAME,
    ash::khr::wayland_surface::NAME,
    ash::khr::win32_surface::NAME,
    ash::khr::android_surface::NAME,
    ash::khr::display::NAME,
    ash::ext::metal_surface::NAME,
    ash::ext::headless_surface::NAME,
    ash::khr::get_surface_capabilities2::NAME,
    ash::ext::surface_maintenance1::NAME,
    KHR_SURFACE_MAINTENANCE1,
    ash::ext::swapchain_colorspace::NAME,
];

/// The newer name of `VK_EXT_surface_maintenance1`.
const KHR_SURFACE_MAINTENANCE1: &CStr = c"VK_KHR_surface_maintenance1";

/// The newer name of `VK_EXT_swapchain_maintenance1`.
pub(crate) const KHR_SWAPCHAIN_MAINTENANCE1: &CStr = c"VK_KHR_swapchain_maintenance1";

pub use self::config::{DeviceConfig, OwnQueues, Validation};
pub use self::message::{Message, MessageKind, MessageSink, Severity};

/// The messenger of an instance, and the sink that it writes to.
struct Messenger {
    functions: ash::ext::debug_utils::Instance,
    handle: vk::DebugUtilsMessengerEXT,
}

/// An instance of our own. Destroyed with its last adapter and device.
pub(crate) struct Instance {
    pub(crate) entry: ash::Entry,
    pub(crate) raw: ash::Instance,
    pub(crate) version: ApiVersion,
    /// `VK_EXT_debug_utils` is enabled.
    pub(crate) debug_utils: bool,
    /// The enabled extensions.
    extensions: Vec<CString>,
    messenger: Option<Messenger>,
    /// The addresses of images, on request.
    pub(crate) addresses: Option<Arc<AddressReports>>,
    /// Boxed: the messenger has its address.
    sink: Box<MessageSink>,
}

/// The parameters of an instance to create.
struct Plan {
    layers: Vec<CString>,
    extensions: Vec<CString>,
    flags: vk::InstanceCreateFlags,
    checks: Vec<vk::ValidationFeatureEnableEXT>,
    debug_utils: bool,
}

impl Instance {
    pub(crate) fn create(options: &DeviceConfig) -> Result<Self, CreateError> {
        // SAFETY: the system's Vulkan loader is as trustworthy as the driver behind it.
        let entry = unsafe { ash::Entry::load() };
        let entry = entry.map_err(|error| CreateError::NoLoader { reason: error.to_string() })?;
        let version = version_of(&entry)?.min(options.api_version);
        if version < ApiVersion::V1_1 {
            return Err(CreateError::TooOld { found: version });
        }
        let plan = Plan::new(&entry, options)?;
        let sink = Box::new(options.sink.clone().unwrap_or_default());
        let raw = plan.create(&entry, version, &sink)?;
        let Plan { debug_utils, extensions, .. } = plan;
        let mut instance =
            Self { entry, raw, version, debug_utils, extensions, messenger: None, addresses: None, sink };
        // Layers may also come from the environment, as VK_INSTANCE_LAYERS.
        if instance.debug_utils && (options.validation.enabled || options.sink.is_some()) {
            instance.listen()?;
        }
        if instance.debug_utils && options.address_reports {
            // SAFETY: the instance is new.
            instance.addresses = unsafe { AddressReports::create(&instance.entry, &instance.raw) };
        }
        Ok(instance)
    }

    /// The device extension for fences of presentations, if the instance has the extensions it needs.
    pub(crate) fn swapchain_maintenance(&self, is_offered: impl Fn(&CStr) -> bool) -> Option<&'static CStr> {
        let has = |name: &CStr| self.extensions.iter().any(|extension| extension.as_c_str() == name);
        let pairs = [
            (ash::ext::surface_maintenance1::NAME, ash::ext::swapchain_maintenance1::NAME),
            (KHR_SURFACE_MAINTENANCE1, KHR_SWAPCHAIN_MAINTENANCE1),
        ];
        let found = pairs.into_iter().find(|(surface, swapchain)| has(surface) && is_offered(swapchain));
        found.map(|(_, swapchain)| swapchain)
    }

    fn listen(&mut self) -> Result<(), CreateError> {
        let functions = ash::ext::debug_utils::Instance::new(&self.entry, &self.raw);
        let info = messenger_info(&self.sink);
        // SAFETY: the extension is enabled, and the sink lives until the messenger is destroyed.
        let handle = unsafe { functions.create_debug_utils_messenger(&info, None) };
        let handle = handle.map_err(CreateError::failed("vkCreateDebugUtilsMessengerEXT"))?;
        self.messenger = Some(Messenger { functions, handle });
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.addresses.take());
        if let Some(messenger) = self.messenger.take() {
            // SAFETY: it is ours, and no other code uses it.
            unsafe { messenger.functions.destroy_debug_utils_messenger(messenger.handle, None) };
        }
        // SAFETY: devices keep their instance alive, so all of them are destroyed.
        unsafe { self.raw.destroy_instance(None) };
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("version", &self.version).finish_non_exhaustive()
    }
}

fn version_of(entry: &ash::Entry) -> Result<ApiVersion, CreateError> {
    // SAFETY: the loader is loaded.
    let packed = unsafe { entry.try_enumerate_instance_version() };
    let packed = packed.map_err(CreateError::failed("vkEnumerateInstanceVersion"))?;
    Ok(ApiVersion::from_packed(packed.unwrap_or(vk::API_VERSION_1_0)))
}

fn extension_names(entry: &ash::Entry, layer: Option<&CStr>) -> Result<Vec<CString>, CreateError> {
    // SAFETY: the loader is loaded, the name a valid string.
    let found = unsafe { entry.enumerate_instance_extension_properties(layer) };
    let found = found.map_err(CreateError::failed("vkEnumerateInstanceExtensionProperties"))?;
    Ok(found.iter().filter_map(|each| each.extension_name_as_c_str().ok()).map(CStr::to_owned).collect())
}

impl Plan {
    fn new(entry: &ash::Entry, options: &DeviceConfig) -> Result<Self, CreateError> {
        let validation = options.validation;
        let mut offered = extension_names(entry, None)?;
        let mut plan = Self {
            layers: Vec::new(),
            extensions: options.instance_extensions.clone(),
            flags: vk::InstanceCreateFlags::empty(),
            checks: Vec::new(),
            debug_utils: false,
        };
        if validation.enabled {
            has_layer(entry, VALIDATION_LAYER)?;
            offered.extend(extension_names(entry, Some(VALIDATION_LAYER))?);
            plan.layers.push(VALIDATION_LAYER.to_owned());
            plan.choose_checks(options);
        }
        let names = options.optional.contains(OptionalFeatures::DEBUG_NAMES);
        if names || validation.enabled {
            plan.debug_utils = plan.add_if_offered(&offered, ash::ext::debug_utils::NAME);
        }
        if options.presentation {
            plan.add(ash::khr::surface::NAME);
            for name in SURFACES {
                plan.add_if_offered(&offered, name);
            }
        }
        if plan.add_if_offered(&offered, ash::khr::portability_enumeration::NAME) {
            plan.flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        if let Some(missing) = plan.extensions.iter().find(|name| !offered.contains(name)) {
            return Err(CreateError::NoExtension { extension: missing.to_string_lossy().into_owned() });
        }
        Ok(plan)
    }

    fn choose_checks(&mut self, options: &DeviceConfig) {
        let validation = options.validation;
        if validation.synchronization {
            self.checks.push(vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION);
        }
        if validation.best_practices {
            self.checks.push(vk::ValidationFeatureEnableEXT::BEST_PRACTICES);
        }
        if !self.checks.is_empty() {
            self.add(ash::ext::validation_features::NAME);
        }
    }

    fn add(&mut self, name: &CStr) {
        if !self.extensions.iter().any(|extension| extension.as_c_str() == name) {
            self.extensions.push(name.to_owned());
        }
    }

    fn add_if_offered(&mut self, offered: &[CString], name: &CStr) -> bool {
        let is_offered = offered.iter().any(|extension| extension.as_c_str() == name);
        if is_offered {
            self.add(name);
        }
        is_offered
    }

    fn create(
        &self,
        entry: &ash::Entry,
        version: ApiVersion,
        sink: &MessageSink,
    ) -> Result<ash::Instance, CreateError> {
        let pointers = |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect::<Vec<_>>();
        let (layers, extensions) = (pointers(&self.layers), pointers(&self.extensions));
        let application =
            vk::ApplicationInfo::default().engine_name(c"tenure").api_version(version.to_packed());
        // Messages about the instance itself come before and after its messenger exists.
        let mut messenger = messenger_info(sink);
        let mut checks = vk::ValidationFeaturesEXT::default().enabled_validation_features(&self.checks);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions)
            .flags(self.flags);
        if !self.checks.is_empty() {
            info = info.push_next(&mut checks);
        }
        if self.debug_utils && !self.layers.is_empty() {
            info = info.push_next(&mut messenger);
        }
        // SAFETY: all pointers in `info` are valid until the call returns, the sink even longer.
        unsafe { entry.create_instance(&info, None) }.map_err(CreateError::failed("vkCreateInstance"))
    }
}

fn has_layer(entry: &ash::Entry, wanted: &CStr) -> Result<(), CreateError> {
    // SAFETY: the loader is loaded.
    let found = unsafe { entry.enumerate_instance_layer_properties() };
    let found = found.map_err(CreateError::failed("vkEnumerateInstanceLayerProperties"))?;
    if found.iter().any(|layer| layer.layer_name_as_c_str() == Ok(wanted)) {
        return Ok(());
    }
    Err(CreateError::NoLayer { layer: wanted.to_string_lossy().into_owned() })
}
