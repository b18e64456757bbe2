//! Reports of the addresses of images (`VK_EXT_device_address_binding_report`).

use core::ffi::c_void;

use tenure_vulkan::ash::vk;
use tenure_vulkan::ash::vk::Handle as _;

use super::{Disguise, Hook, Stage, stage};

/// The messengers of an instance: their callbacks, and the pointers given to them as numbers.
#[derive(Default)]
pub(super) struct Messengers {
    made: u64,
    alive: Vec<(u64, vk::PFN_vkDebugUtilsMessengerCallbackEXT, usize)>,
    /// The next address.
    next: u64,
}

impl Messengers {
    pub(super) fn count(&self) -> usize {
        self.alive.len()
    }
}

/// The address of the first image that is bound; those of the others follow, each at the next multiple of this.
pub(crate) const FIRST: u64 = 1 << 32;

impl Disguise {
    /// Reports a binding that is not of an image that was just bound: of another object, or incomplete.
    pub(crate) fn report(&self, kind: vk::ObjectType, handle: u64, address: Option<u64>) {
        let binding = vk::DeviceAddressBindingTypeEXT::BIND;
        send(&self.0, (kind, handle), address.map(|address| (binding, address, 16)));
    }
}

/// The functions of the loader.
pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCreateDebugUtilsMessengerEXT", create as *const c_void),
        (c"vkDestroyDebugUtilsMessengerEXT", destroy as *const c_void),
    ]
}

unsafe extern "system" fn create(
    _: vk::Instance,
    info: *const vk::DebugUtilsMessengerCreateInfoEXT<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::DebugUtilsMessengerEXT,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkCreateDebugUtilsMessengerEXT") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        assert_eq!((*info).message_type, vk::DebugUtilsMessageTypeFlagsEXT::DEVICE_ADDRESS_BINDING);
        let mut messengers = stage.messengers.lock();
        messengers.made += 1;
        let handle = messengers.made;
        messengers.alive.push((handle, (*info).pfn_user_callback, (*info).p_user_data as usize));
        out.write(vk::DebugUtilsMessengerEXT::from_raw(handle));
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy(
    _: vk::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    _: *const vk::AllocationCallbacks<'_>,
) {
    stage().messengers.lock().alive.retain(|(handle, ..)| *handle != messenger.as_raw());
}

/// Reports that an image is bound: first a small range below, as of other data of the driver, then the texels.
pub(super) fn bound(stage: &Stage, image: vk::Image) {
    let base = {
        let mut messengers = stage.messengers.lock();
        messengers.next += FIRST;
        messengers.next
    };
    for (address, size) in [(base - 65_536, 256), (base, 65_536), (base + 65_536, 256)] {
        let binding = (vk::DeviceAddressBindingTypeEXT::BIND, address, size);
        send(stage, (vk::ObjectType::IMAGE, image.as_raw()), Some(binding));
    }
}

/// Reports that an image is destroyed.
pub(super) fn unbound(stage: &Stage, image: vk::Image) {
    let binding = (vk::DeviceAddressBindingTypeEXT::UNBIND, 0, 0);
    send(stage, (vk::ObjectType::IMAGE, image.as_raw()), Some(binding));
}

fn send(
    stage: &Stage,
    (kind, handle): (vk::ObjectType, u64),
    binding: Option<(vk::DeviceAddressBindingTypeEXT, u64, u64)>,
) {
    let alive = stage.messengers.lock().alive.clone();
    let (binding_type, base_address, size) = binding.unwrap_or_default();
    let reported =
        vk::DeviceAddressBindingCallbackDataEXT { binding_type, base_address, size, ..Default::default() };
    let first = vk::BaseInStructure {
        s_type: vk::StructureType::APPLICATION_INFO,
        p_next: if binding.is_some() { (&raw const reported).cast() } else { core::ptr::null() },
        ..Default::default()
    };
    let object =
        vk::DebugUtilsObjectNameInfoEXT { object_type: kind, object_handle: handle, ..Default::default() };
    let data = vk::DebugUtilsMessengerCallbackDataEXT {
        p_next: (&raw const first).cast(),
        object_count: 1,
        p_objects: &raw const object,
        ..Default::default()
    };
    for (_, callback, user) in alive {
        let (severity, kinds) = (
            vk::DebugUtilsMessageSeverityFlagsEXT::INFO,
            vk::DebugUtilsMessageTypeFlagsEXT::DEVICE_ADDRESS_BINDING,
        );
        // SAFETY: the messenger is alive, and all pointers are valid during the call.
        unsafe { callback.unwrap()(severity, kinds, &raw const data, user as *mut c_void) };
    }
}
