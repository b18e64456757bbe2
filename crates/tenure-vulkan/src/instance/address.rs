//! The addresses of images reported by the driver (`VK_EXT_device_address_binding_report`).

use core::ffi::c_void;
use std::collections::VecDeque;
use std::sync::Arc;

use ash::vk;
use ash::vk::Handle as _;
use parking_lot::Mutex;
use tenure_core::emit;

/// Maximum number of kept reports. The driver reports an image while it is created or bound, and tenure asks right after that:
/// older ones are of images of other owners.
const MAX_REPORTS: usize = 1024;

/// Maximum number of structures followed in a chain, in case a broken driver links it to itself.
const MAX_CHAIN: usize = 16;

/// An image with its addresses.
struct AddressReport {
    image: vk::Image,
    address: u64,
    size: u64,
}

/// The newest reports.
type Reports = Mutex<VecDeque<AddressReport>>;

/// The receiver of the driver's address reports, for all devices of an instance.
pub(crate) struct AddressReports {
    functions: ash::ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    reports: Arc<Reports>,
}

impl AddressReports {
    /// Registers a messenger with the instance; `None` without the loader's function, or if the driver refuses it.
    ///
    /// # Safety
    /// `VK_EXT_debug_utils` is enabled, and no other code uses the instance at the same time.
    pub(crate) unsafe fn create(entry: &ash::Entry, instance: &ash::Instance) -> Option<Arc<Self>> {
        let refused = |reason: String| {
            emit(move || {
                tracing::warn!(target: "tenure_vulkan", reason, "addresses of textures are not reported");
            });
        };
        let create = c"vkCreateDebugUtilsMessengerEXT";
        // SAFETY: the instance is alive, and the name ends with NUL. `ash` aborts the program if a missing function is called.
        if unsafe { entry.get_instance_proc_addr(instance.handle(), create.as_ptr()) }.is_none() {
            refused("vkCreateDebugUtilsMessengerEXT does not exist".to_owned());
            return None;
        }
        let functions = ash::ext::debug_utils::Instance::new(entry, instance);
        let reports = Arc::<Reports>::default();
        let info = vk::DebugUtilsMessengerCreateInfoEXT {
            message_severity: vk::DebugUtilsMessageSeverityFlagsEXT::VERBOSE
                | vk::DebugUtilsMessageSeverityFlagsEXT::INFO
                | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
            message_type: vk::DebugUtilsMessageTypeFlagsEXT::DEVICE_ADDRESS_BINDING,
            pfn_user_callback: Some(receive),
            p_user_data: Arc::as_ptr(&reports).cast_mut().cast(),
            ..Default::default()
        };
        // SAFETY: the caller promises the rest; the reports live until the messenger is destroyed.
        match unsafe { functions.create_debug_utils_messenger(&info, None) } {
            Ok(messenger) => Some(Arc::new(Self { functions, messenger, reports })),
            Err(result) => {
                refused(format!("vkCreateDebugUtilsMessengerEXT returned {result:?}"));
                None
            }
        }
    }

    /// The address of an image that was just created or bound.
    pub(crate) fn take(&self, image: vk::Image) -> Option<u64> {
        take(&self.reports, image)
    }
}

impl Drop for AddressReports {
    fn drop(&mut self) {
        // SAFETY: the instance is destroyed later, and by its owner's promise no other code uses it at the same time.
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

fn take(reports: &Reports, image: vk::Image) -> Option<u64> {
    let mut reports = reports.lock();
    let newest = reports.iter().rposition(|report| report.image == image)?;
    reports.remove(newest).map(|report| report.address)
}

fn note(reports: &Reports, binding: &vk::DeviceAddressBindingCallbackDataEXT<'_>, image: vk::Image) {
    let mut reports = reports.lock();
    let known = reports.iter().rposition(|report| report.image == image);
    let known = known.and_then(|index| reports.remove(index));
    if binding.binding_type == vk::DeviceAddressBindingTypeEXT::UNBIND {
        return;
    }
    let new = AddressReport { image, address: binding.base_address, size: binding.size };
    // Of several ranges of an image, the largest has its texels.
    let kept = known.filter(|known| known.size >= new.size).unwrap_or(new);
    if reports.len() == MAX_REPORTS {
        reports.pop_front();
    }
    reports.push_back(kept);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(reports: &Reports, image: u64, base_address: u64, size: u64) {
        let binding_type = vk::DeviceAddressBindingTypeEXT::BIND;
        let binding = vk::DeviceAddressBindingCallbackDataEXT {
            binding_type,
            base_address,
            size,
            ..Default::default()
        };
        note(reports, &binding, vk::Image::from_raw(image));
    }

    fn taken(reports: &Reports, image: u64) -> Option<u64> {
        take(reports, vk::Image::from_raw(image))
    }

    #[test]
    fn an_image_has_the_address_of_its_largest_range_once() {
        let reports = Reports::default();
        bind(&reports, 1, 64, 16);
        bind(&reports, 2, 5000, 16);
        bind(&reports, 1, 4096, 256);
        bind(&reports, 1, 128, 16);
        assert_eq!((taken(&reports, 1), taken(&reports, 1)), (Some(4096), None));
        assert_eq!(taken(&reports, 2), Some(5000));
    }

    #[test]
    fn the_end_of_an_image_ends_its_address() {
        let reports = Reports::default();
        bind(&reports, 1, 64, 1 << 20);
        let end = vk::DeviceAddressBindingCallbackDataEXT {
            binding_type: vk::DeviceAddressBindingTypeEXT::UNBIND,
            ..Default::default()
        };
        note(&reports, &end, vk::Image::from_raw(1));
        assert_eq!(taken(&reports, 1), None);
        bind(&reports, 1, 4096, 256);
        assert_eq!(taken(&reports, 1), Some(4096), "a later image with this handle");
    }

    #[test]
    fn old_reports_make_way_for_new_ones() {
        let reports = Reports::default();
        let count = MAX_REPORTS as u64 + 1;
        (1..=count).for_each(|image| bind(&reports, image, image * 4096, 4096));
        assert_eq!((taken(&reports, 1), taken(&reports, 2)), (None, Some(8192)));
        assert_eq!(taken(&reports, count), Some(count * 4096));
    }
}
