//! The faults of the GPU after the loss of the device (`VK_EXT_device_fault`).

use core::ffi::c_char;
use core::ops::Range;
use core::ptr;

use ash::vk;
use tenure_core::device::{DeviceFault, FaultAccess};

use super::Loaded;

impl Loaded {
    /// The faults that the driver reports; none before the loss of the device.
    pub(crate) fn faults(&self) -> Vec<DeviceFault> {
        let (Some(calls), Some(_)) = (self.api.faults, self.lost.get()) else { return Vec::new() };
        let device = self.api.device.handle();
        let mut counts = vk::DeviceFaultCountsEXT::default();
        // SAFETY: the device is lost, and the structure is valid.
        let counted = unsafe { (calls.info)(device, &raw mut counts, ptr::null_mut()) };
        if counted != vk::Result::SUCCESS {
            return Vec::new();
        }
        let mut addresses =
            vec![vk::DeviceFaultAddressInfoEXT::default(); counts.address_info_count as usize];
        let mut words = vec![vk::DeviceFaultVendorInfoEXT::default(); counts.vendor_info_count as usize];
        // Without the feature for the vendor's data, its size must be 0.
        counts.vendor_binary_size = 0;
        let mut info = vk::DeviceFaultInfoEXT {
            p_address_infos: addresses.as_mut_ptr(),
            p_vendor_infos: words.as_mut_ptr(),
            ..Default::default()
        };
        // SAFETY: the arrays have the lengths of `counts`.
        let found = unsafe { (calls.info)(device, &raw mut counts, &raw mut info) };
        if !matches!(found, vk::Result::SUCCESS | vk::Result::INCOMPLETE) {
            return Vec::new();
        }
        addresses.truncate(counts.address_info_count as usize);
        words.truncate(counts.vendor_info_count as usize);
        let vendor = words.iter().map(|word| {
            let code = format!(
                "{} (code {}, data {})",
                text(&word.description),
                word.vendor_fault_code,
                word.vendor_fault_data
            );
            DeviceFault::new(FaultAccess::Unknown, 0..0, code)
        });
        let description = text(&info.description);
        let at =
            addresses.iter().map(|at| DeviceFault::new(access(at.address_type), reported(at), &*description));
        let mut faults: Vec<_> = at.chain(vendor).collect();
        if faults.is_empty() && !description.is_empty() {
            faults.push(DeviceFault::new(FaultAccess::Unknown, 0..0, description));
        }
        faults
    }
}

fn access(kind: vk::DeviceFaultAddressTypeEXT) -> FaultAccess {
    match kind {
        vk::DeviceFaultAddressTypeEXT::READ_INVALID => FaultAccess::Read,
        vk::DeviceFaultAddressTypeEXT::WRITE_INVALID => FaultAccess::Write,
        vk::DeviceFaultAddressTypeEXT::EXECUTE_INVALID => FaultAccess::Execute,
        vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_UNKNOWN
        | vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_INVALID
        | vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_FAULT => FaultAccess::Instruction,
        _ => FaultAccess::Unknown,
    }
}

/// The addresses that may have caused the fault: the driver reports one, and a power of two as its precision.
fn reported(at: &vk::DeviceFaultAddressInfoEXT) -> Range<u64> {
    let precision = at.address_precision.max(1).checked_next_power_of_two().unwrap_or(1);
    let first = at.reported_address & !(precision - 1);
    first..first.saturating_add(precision)
}

/// The text of an array that a driver has filled, with or without a zero at its end.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> =
        chars.iter().map(|char| char.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use ash::vk;

    use super::{reported, text};

    #[test]
    fn addresses_are_reported_as_exactly_as_known() {
        let at = |address, precision| {
            reported(&vk::DeviceFaultAddressInfoEXT {
                reported_address: address,
                address_precision: precision,
                ..Default::default()
            })
        };
        assert_eq!(at(0x1234, 1), 0x1234..0x1235);
        assert_eq!(at(0x1234, 0x1000), 0x1000..0x2000);
        assert_eq!(at(0x1234, 0), 0x1234..0x1235, "a driver that does not know");
        assert_eq!(at(u64::MAX, 0x1000), u64::MAX - 0xfff..u64::MAX);
        assert_eq!(at(5, u64::MAX), 5..6);
    }

    #[test]
    fn texts_end_at_a_zero_or_with_their_array() {
        assert_eq!(text(&[104, 105, 0, 7]), "hi");
        assert_eq!(text(&[104; 4]), "hhhh");
    }
}
