//! The types of `ash`, and those of extensions that it does not support yet: `VK_KHR_device_fault`.

use core::ffi::{CStr, c_char, c_void};
use core::marker::PhantomData;

pub(crate) use ash::vk::*;

/// The extension's name.
pub(crate) const KHR_DEVICE_FAULT: &CStr = c"VK_KHR_device_fault";

/// The features of `VK_KHR_device_fault`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PhysicalDeviceFaultFeaturesKHR<'a> {
    pub(crate) s_type: StructureType,
    pub(crate) p_next: *mut c_void,
    pub(crate) device_fault: Bool32,
    pub(crate) device_fault_vendor_binary: Bool32,
    pub(crate) device_fault_report_masked: Bool32,
    pub(crate) device_fault_device_lost_on_masked: Bool32,
    pub(crate) _marker: PhantomData<&'a ()>,
}

// SAFETY: the type and the fields are the extension's.
unsafe impl TaggedStructure for PhysicalDeviceFaultFeaturesKHR<'_> {
    const STRUCTURE_TYPE: StructureType = StructureType::from_raw(1_000_573_000);
}

// SAFETY: by the extension, the structure extends this one.
unsafe impl ExtendsPhysicalDeviceFeatures2 for PhysicalDeviceFaultFeaturesKHR<'_> {}

impl Default for PhysicalDeviceFaultFeaturesKHR<'_> {
    fn default() -> Self {
        Self {
            s_type: Self::STRUCTURE_TYPE,
            p_next: core::ptr::null_mut(),
            device_fault: FALSE,
            device_fault_vendor_binary: FALSE,
            device_fault_report_masked: FALSE,
            device_fault_device_lost_on_masked: FALSE,
            _marker: PhantomData,
        }
    }
}

/// A fault. The addresses and the vendor's words have the layout of `VK_EXT_device_fault`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DeviceFaultInfoKHR {
    pub(crate) s_type: StructureType,
    pub(crate) p_next: *mut c_void,
    pub(crate) flags: u32,
    pub(crate) group_id: u64,
    pub(crate) description: [c_char; MAX_DESCRIPTION_SIZE],
    pub(crate) fault_address: DeviceFaultAddressInfoEXT,
    pub(crate) instruction_address: DeviceFaultAddressInfoEXT,
    pub(crate) vendor: DeviceFaultVendorInfoEXT,
}

/// The fault caused the loss of the device.
pub(crate) const FAULT_LOST_DEVICE: u32 = 1;
/// The fault has a memory address.
pub(crate) const FAULT_HAS_ADDRESS: u32 = 2;
/// The fault has the address of an instruction.
pub(crate) const FAULT_HAS_INSTRUCTION: u32 = 4;
/// The fault has a description of the vendor.
pub(crate) const FAULT_HAS_VENDOR: u32 = 8;
/// A watchdog has ended the work.
pub(crate) const FAULT_WAS_TIMEOUT: u32 = 16;
/// Reports of earlier faults were lost.
pub(crate) const FAULTS_ARE_MISSING: u32 = 32;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::{offset_of, size_of};
    assert!(size_of::<DeviceFaultInfoKHR>() == 608 && size_of::<DeviceFaultDebugInfoKHR>() == 32);
    assert!(offset_of!(DeviceFaultInfoKHR, group_id) == 24);
    assert!(offset_of!(DeviceFaultInfoKHR, fault_address) == 288);
    assert!(offset_of!(DeviceFaultInfoKHR, vendor) == 336);
};

impl Default for DeviceFaultInfoKHR {
    fn default() -> Self {
        Self {
            s_type: StructureType::from_raw(1_000_573_002),
            p_next: core::ptr::null_mut(),
            flags: 0,
            group_id: 0,
            description: [0; MAX_DESCRIPTION_SIZE],
            fault_address: DeviceFaultAddressInfoEXT::default(),
            instruction_address: DeviceFaultAddressInfoEXT::default(),
            vendor: DeviceFaultVendorInfoEXT::default(),
        }
    }
}

/// The vendor's data.
#[repr(C)]
pub(crate) struct DeviceFaultDebugInfoKHR {
    pub(crate) s_type: StructureType,
    pub(crate) p_next: *mut c_void,
    pub(crate) vendor_binary_size: u32,
    pub(crate) vendor_binary: *mut c_void,
}

impl DeviceFaultDebugInfoKHR {
    pub(crate) const fn new(vendor_binary_size: u32, vendor_binary: *mut c_void) -> Self {
        let s_type = StructureType::from_raw(1_000_573_003);
        Self { s_type, p_next: core::ptr::null_mut(), vendor_binary_size, vendor_binary }
    }
}

/// `vkGetDeviceFaultReportsKHR`.
#[allow(non_camel_case_types, reason = "as in ash")]
pub(crate) type PFN_vkGetDeviceFaultReportsKHR =
    unsafe extern "system" fn(Device, u64, *mut u32, *mut DeviceFaultInfoKHR) -> Result;

/// `vkGetDeviceFaultDebugInfoKHR`.
#[allow(non_camel_case_types, reason = "as in ash")]
pub(crate) type PFN_vkGetDeviceFaultDebugInfoKHR =
    unsafe extern "system" fn(Device, *mut DeviceFaultDebugInfoKHR) -> Result;
