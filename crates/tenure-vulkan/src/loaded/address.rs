//! The addresses of images, as the driver reports them (`VK_EXT_device_address_binding_report`).

use core::ffi::c_void;
use std::collections::VecDeque;

use ash::vk;
use ash::vk::Handle as _;
use parking_lot::Mutex;

use super::api::Handles;
use crate::features::OptionalFeatures;

/// The most reports that are kept. The driver reports an image while it is created or bound, and tenure asks right after that:
/// older reports are of the program's own images.
const MAX_REPORTS: usize = 64;

/// The most structures of a chain that are followed, in case a broken driver links it to itself.
const MAX_CHAIN: usize = 16;

/// The newest reports: images, and their addresses.
type Reports = Mutex<VecDeque<(vk::Image, u64)>>;

/// The receiver of the driver's reports about addresses.
pub(crate) struct AddressReports {
    functions: ash::ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    /// Boxed: the messenger has its address.
    reports: Box<Reports>,
}

impl AddressReports {
    /// Registers a messenger with the instance; `None` without the feature or the loader's functions, or if the driver
    /// refuses it.
    pub(crate) fn create(handles: &Handles) -> Option<Self> {
        let entry = handles.entry.as_ref()?;
        if !handles.enabled.contains(OptionalFeatures::ADDRESS_REPORTS) {
            return None;
        }
        let instance = handles.instance.handle();
        let create = c"vkCreateDebugUtilsMessengerEXT";
        // SAFETY: the instance is alive, and the name ends with NUL. `ash` aborts the program if a missing function is called.
        let _exists = unsafe { entry.get_instance_proc_addr(instance, create.as_ptr()) }?;
        let functions = ash::ext::debug_utils::Instance::new(entry, &handles.instance);
        let reports = Box::<Reports>::default();
        let info = vk::DebugUtilsMessengerCreateInfoEXT {
            message_severity: vk::DebugUtilsMessageSeverityFlagsEXT::VERBOSE
                | vk::DebugUtilsMessageSeverityFlagsEXT::INFO
                | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
            message_type: vk::DebugUtilsMessageTypeFlagsEXT::DEVICE_ADDRESS_BINDING,
            pfn_user_callback: Some(receive),
            p_user_data: core::ptr::from_ref::<Reports>(&reports).cast_mut().cast(),
            ..Default::default()
        };
        // SAFETY: the extension is enabled, because names need it; the reports live until the messenger is destroyed.
        let messenger = unsafe { functions.create_debug_utils_messenger(&info, None) }.ok()?;
        Some(Self { functions, messenger, reports })
    }

    /// The address of an image that was just created or bound.
    pub(crate) fn take(&self, image: vk::Image) -> Option<u64> {
        let mut reports = self.reports.lock();
        let newest = reports.iter().rposition(|(of, _)| *of == image)?;
        reports.remove(newest).map(|(_, address)| address)
    }
}

impl Drop for AddressReports {
    fn drop(&mut self) {
        // SAFETY: the instance outlives the device, and the reports are dropped after this.
        unsafe { self.functions.destroy_debug_utils_messenger(self.messenger, None) };
    }
}

/// The callback of the messenger.
///
/// # Safety
/// As Vulkan promises: `data` and its pointers are valid during the call, and `user` is the pointer given to the messenger.
unsafe extern "system" fn receive(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the caller promises that both are valid during the call.
    if let (Some(data), Some(reports)) = unsafe { (data.as_ref(), user.cast::<Reports>().as_ref()) } {
        // SAFETY: as above.
        if let Some((binding, image)) = unsafe { binding_of(data) } {
            note(reports, binding, image);
        }
    }
    vk::FALSE
}

fn note(reports: &Reports, binding: &vk::DeviceAddressBindingCallbackDataEXT<'_>, image: vk::Image) {
    let mut reports = reports.lock();
    if binding.binding_type == vk::DeviceAddressBindingTypeEXT::UNBIND {
        reports.retain(|(of, _)| *of != image);
        return;
    }
    // An image with several ranges has the address of the lowest, where its memory begins.
    let mut address = binding.base_address;
    if let Some(known) = reports.iter().position(|(of, _)| *of == image) {
        address = reports.remove(known).map_or(address, |(_, known)| known.min(address));
    }
    if reports.len() == MAX_REPORTS {
        reports.pop_front();
    }
    reports.push_back((image, address));
}

/// The binding in a message, and its image; `None` for other objects.
///
/// # Safety
/// The pointers in `data` are valid.
unsafe fn binding_of<'a>(
    data: &'a vk::DebugUtilsMessengerCallbackDataEXT<'_>,
) -> Option<(&'a vk::DeviceAddressBindingCallbackDataEXT<'a>, vk::Image)> {
    let mut next = data.p_next.cast::<vk::BaseInStructure<'_>>();
    let mut binding = None;
    for _ in 0..MAX_CHAIN {
        // SAFETY: the caller promises a valid chain.
        let Some(structure) = (unsafe { next.as_ref() }) else { break };
        if structure.s_type == vk::StructureType::DEVICE_ADDRESS_BINDING_CALLBACK_DATA_EXT {
            // SAFETY: its type says so.
            binding = unsafe { next.cast::<vk::DeviceAddressBindingCallbackDataEXT<'_>>().as_ref() };
        }
        next = structure.p_next;
    }
    let count = if data.p_objects.is_null() { 0 } else { usize::try_from(data.object_count).unwrap_or(0) };
    // SAFETY: the caller promises an array with that number of objects.
    let objects = (0..count).map(|index| unsafe { &*data.p_objects.add(index) });
    let image = objects.into_iter().find(|object| object.object_type == vk::ObjectType::IMAGE)?;
    Some((binding?, vk::Image::from_raw(image.object_handle)))
}
