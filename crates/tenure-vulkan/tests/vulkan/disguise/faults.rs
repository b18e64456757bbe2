//! The faults that the driver reports after the loss of the device.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use tenure_vulkan::ash::vk;

use super::{Disguise, Hook, stage};

/// The vendor's data.
pub(crate) const DATA: [u8; 4] = *b"dump";

impl Disguise {
    /// The driver reports an invalid read of this address.
    pub(crate) fn fault_at(&self, address: u64) {
        self.0.fault.store(address, Ordering::Relaxed);
    }
}

pub(super) fn hooks() -> Vec<Hook> {
    vec![(c"vkGetDeviceFaultInfoEXT", info as *const c_void)]
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
