//! The faults that the driver reports after the loss of the device.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use tenure_vulkan::ash::vk;

use super::{Disguise, Hook, stage};

/// The vendor's data.
pub(crate) const DATA: [u8; 4] = *b"dump";

/// The words of the report of `VK_KHR_device_fault`.
pub(crate) const KHR_WORDS: &[u8] = b"the newer extension";

impl Disguise {
    /// The driver has a report of `VK_KHR_device_fault`, which it gives once.
    pub(crate) fn has_khr_report(&self) {
        self.0.has_khr_report.store(true, Ordering::Relaxed);
    }

    /// The driver reports an invalid read of this address.
    pub(crate) fn fault_at(&self, address: u64) {
        self.0.fault.store(address, Ordering::Relaxed);
    }
}

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkGetDeviceFaultInfoEXT", info as *const c_void),
        (c"vkGetDeviceFaultReportsKHR", khr_reports as *const c_void),
        (c"vkGetDeviceFaultDebugInfoKHR", khr_data as *const c_void),
    ]
}

unsafe extern "system" fn info(
    _: vk::Device,
    counts: *mut vk::DeviceFaultCountsEXT<'_>,
    info: *mut vk::DeviceFaultInfoEXT<'_>,
) -> vk::Result {
    // SAFETY: as the API has it.
    unsafe {
        let counts = &mut *counts;
        if let Some(info) = info.as_mut() {
            let reported_address = stage().fault.load(Ordering::Relaxed);
            info.p_address_infos.write(vk::DeviceFaultAddressInfoEXT {
                address_type: vk::DeviceFaultAddressTypeEXT::READ_INVALID,
                reported_address,
                address_precision: 1,
            });
            if counts.vendor_binary_size > 0 {
                assert_eq!(counts.vendor_binary_size, DATA.len() as u64);
                info.p_vendor_binary_data.cast::<[u8; 4]>().write(DATA);
            }
        } else {
            *counts = vk::DeviceFaultCountsEXT::default().address_info_count(1).vendor_binary_size(4);
        }
    }
    vk::Result::SUCCESS
}

/// A `VkDeviceFaultInfoKHR`.
type KhrReport = [u8; 608];

unsafe extern "system" fn khr_reports(
    _: vk::Device,
    _: u64,
    count: *mut u32,
    reports: *mut KhrReport,
) -> vk::Result {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        *count = u32::from(stage.has_khr_report.load(Ordering::Relaxed));
        if *count == 0 {
            return vk::Result::TIMEOUT;
        }
        if !reports.is_null() {
            stage.has_khr_report.store(false, Ordering::Relaxed);
            let report = &mut *reports;
            let address = stage.fault.load(Ordering::Relaxed);
            // The flags: a lost device, with an address. Then the words, the kind of access, the address and its precision.
            report[16..20].copy_from_slice(&3_u32.to_ne_bytes());
            report[32..32 + KHR_WORDS.len()].copy_from_slice(KHR_WORDS);
            let kind = vk::DeviceFaultAddressTypeEXT::READ_INVALID.as_raw();
            report[288..292].copy_from_slice(&kind.to_ne_bytes());
            report[296..304].copy_from_slice(&address.to_ne_bytes());
            report[304..312].copy_from_slice(&1_u64.to_ne_bytes());
        }
    }
    vk::Result::SUCCESS
}

/// A `VkDeviceFaultDebugInfoKHR` without data.
unsafe extern "system" fn khr_data(_: vk::Device, info: *mut [u32; 8]) -> vk::Result {
    // SAFETY: as the API has it.
    unsafe { (&mut *info)[4] = 0 };
    vk::Result::SUCCESS
}
