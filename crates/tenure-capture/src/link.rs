//! The links between layers, in the create infos that the loader passes: `vk_layer.h`, which `ash` lacks.

use std::ffi::c_void;

use ash::vk;

/// `VK_LAYER_LINK_INFO`
const LINK: i32 = 0;

/// `VkLayerInstanceLink`: the next layer of an instance.
#[repr(C)]
pub(crate) struct InstanceLink {
    next: *mut InstanceLink,
    pub(crate) instance_functions: vk::PFN_vkGetInstanceProcAddr,
    physical_device_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
}

/// `VkLayerDeviceLink`: the next layer of a device.
#[repr(C)]
pub(crate) struct DeviceLink {
    next: *mut DeviceLink,
    pub(crate) instance_functions: vk::PFN_vkGetInstanceProcAddr,
    pub(crate) device_functions: vk::PFN_vkGetDeviceProcAddr,
}

/// `VkLayerInstanceCreateInfo` and `VkLayerDeviceCreateInfo`, in the chain of a create info.
#[repr(C)]
struct LinkInfo<L> {
    structure: vk::StructureType,
    next: *const c_void,
    function: i32,
    link: *mut L,
}

/// A link of a chain of layers.
pub(crate) trait LayerLink: Sized {
    /// The type of the structure that holds the link.
    const STRUCTURE: vk::StructureType;

    fn following(&self) -> *mut Self;
}

impl LayerLink for InstanceLink {
    const STRUCTURE: vk::StructureType = vk::StructureType::LOADER_INSTANCE_CREATE_INFO;

    fn following(&self) -> *mut Self {
        self.next
    }
}

impl LayerLink for DeviceLink {
    const STRUCTURE: vk::StructureType = vk::StructureType::LOADER_DEVICE_CREATE_INFO;

    fn following(&self) -> *mut Self {
        self.next
    }
}

/// Takes this layer's link out of a chain of create infos, so that the next layer finds its own.
///
/// # Safety
///
/// `chain` is the chain of a create info that the loader has passed.
pub(crate) unsafe fn take_link<'a, L: LayerLink>(chain: *const c_void) -> Option<&'a L> {
    let mut info = chain.cast::<LinkInfo<L>>().cast_mut();
    // SAFETY: each structure of a chain begins with its type and the next one, and the loader's are its own memory,
    // which each layer advances.
    unsafe {
        while !info.is_null() {
            if (*info).structure == L::STRUCTURE && (*info).function == LINK {
                let link = (*info).link.as_ref()?;
                (*info).link = link.following();
                return Some(link);
            }
            info = (*info).next.cast::<LinkInfo<L>>().cast_mut();
        }
    }
    None
}
