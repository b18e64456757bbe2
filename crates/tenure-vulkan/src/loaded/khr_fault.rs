//! The faults of the GPU after the loss of the device, by `VK_KHR_device_fault`.

use core::ptr;
use std::collections::VecDeque;
use std::path::Path;

use ash::vk;
use tenure_core::device::DeviceFault;

use super::api::KhrFaultCalls;
use super::fault::{
    MAX_FAULTS, access, is_answer, kept, reported, text, too_much, vendors_words, without_address, zeroed,
};
use crate::newer;

/// Maximum number of queries for reports: a broken driver may always have more.
const MAX_ROUNDS: u32 = 64;

/// Queries the faults of a lost device. The vendor's data goes to a file in `folder`; `None` without the feature for it.
pub(super) fn query(calls: KhrFaultCalls, device: vk::Device, folder: Option<&Path>) -> Vec<DeviceFault> {
    let mut reports = reports(calls, device);
    // The report of the fault that caused the loss is the last one: it and those of its group come first.
    let cause = reports.iter().rfind(|report| report.flags & newer::FAULT_LOST_DEVICE != 0);
    let cause = cause.map(|report| report.group_id);
    reports.sort_by_key(|report| Some(report.group_id) != cause);
    let mut faults: Vec<_> = reports.iter().flat_map(faults_of).collect();
    faults.extend(folder.and_then(|folder| vendors_data(calls, device, folder)));
    faults
}

/// The newest reports. The driver returns each report once, the oldest first.
fn reports(calls: KhrFaultCalls, device: vk::Device) -> Vec<newer::DeviceFaultInfoKHR> {
    let mut newest = VecDeque::new();
    for _ in 0..MAX_ROUNDS {
        let mut count = 0;
        // SAFETY: the device is lost. The call does not wait.
        let counted = unsafe { (calls.reports)(device, 0, &raw mut count, ptr::null_mut()) };
        if !is_answer(counted) || count == 0 {
            break;
        }
        count = count.min(MAX_FAULTS);
        let mut some = vec![newer::DeviceFaultInfoKHR::default(); count as usize];
        // SAFETY: the array has the length of `count`.
        if !is_answer(unsafe { (calls.reports)(device, 0, &raw mut count, some.as_mut_ptr()) }) {
            break;
        }
        newest.extend(some.into_iter().take(count as usize));
        let left = newest.len().saturating_sub(MAX_FAULTS as usize);
        newest.drain(..left);
    }
    newest.into()
}

/// The faults of a report.
fn faults_of(report: &newer::DeviceFaultInfoKHR) -> Vec<DeviceFault> {
    let has = |flag| report.flags & flag != 0;
    let mut words = text(&report.description);
    let notes = [
        (newer::FAULT_WAS_TIMEOUT, "the GPU did not finish in time"),
        (newer::FAULTS_ARE_MISSING, "the driver has lost earlier reports"),
    ];
    for (_, note) in notes.iter().filter(|(flag, _)| has(*flag)) {
        let comma = if words.is_empty() { "" } else { ", " };
        words = format!("{words}{comma}{note}");
    }
    let at = [
        (newer::FAULT_HAS_ADDRESS, &report.fault_address),
        (newer::FAULT_HAS_INSTRUCTION, &report.instruction_address),
    ];
    let at = at
        .into_iter()
        .filter(|(flag, at)| has(*flag) && at.address_type != vk::DeviceFaultAddressTypeEXT::NONE);
    let mut faults: Vec<_> =
        at.map(|(_, at)| DeviceFault::new(access(at.address_type), reported(at), &*words)).collect();
    if faults.is_empty() && !words.is_empty() {
        faults.push(without_address(words));
    }
    faults.extend(has(newer::FAULT_HAS_VENDOR).then(|| vendors_words(&report.vendor)));
    faults
}

/// The vendor's data, as a file.
fn vendors_data(calls: KhrFaultCalls, device: vk::Device, folder: &Path) -> Option<DeviceFault> {
    let mut info = newer::DeviceFaultDebugInfoKHR::new(0, ptr::null_mut());
    // SAFETY: the device is lost, and the structure has no room.
    if !is_answer(unsafe { (calls.data)(device, &raw mut info) }) || info.vendor_binary_size == 0 {
        return None;
    }
    let offered = info.vendor_binary_size;
    let mut data = zeroed(offered.into());
    if data.is_empty() {
        return Some(too_much(offered.into()));
    }
    let mut info = newer::DeviceFaultDebugInfoKHR::new(offered, data.as_mut_ptr().cast());
    // SAFETY: the room has the size of the structure.
    if unsafe { (calls.data)(device, &raw mut info) } != vk::Result::SUCCESS || info.vendor_binary_size == 0 {
        return None;
    }
    data.truncate(info.vendor_binary_size as usize);
    Some(without_address(kept(folder, &data)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use core::cell::{Cell, RefCell};
    use std::{env, fs, process};

    use tenure_core::device::FaultAccess;

    use super::*;

    thread_local! {
        static REPORTS: RefCell<Vec<newer::DeviceFaultInfoKHR>> = const { RefCell::new(Vec::new()) };
        /// The result of the second call, and its count in place of the number of reports.
        static SECOND: Cell<(vk::Result, Option<u32>)> = const { Cell::new((vk::Result::SUCCESS, None)) };
        /// The driver returns the same reports repeatedly.
        static IS_ENDLESS: Cell<bool> = const { Cell::new(false) };
        static DATA: Cell<u32> = const { Cell::new(0) };
    }

    unsafe extern "system" fn reports(
        _: vk::Device,
        timeout: u64,
        count: *mut u32,
        out: *mut newer::DeviceFaultInfoKHR,
    ) -> vk::Result {
        assert_eq!(timeout, 0, "the device is lost: nothing to wait for");
        REPORTS.with_borrow_mut(|reports| {
            let all = u32::try_from(reports.len()).unwrap();
            // SAFETY: as the API has it.
            unsafe {
                if out.is_null() {
                    *count = all;
                    return if all == 0 { vk::Result::TIMEOUT } else { vk::Result::SUCCESS };
                }
                let given = (*count).min(all);
                for (index, report) in reports.iter().take(given as usize).enumerate() {
                    assert_eq!((*out.add(index)).s_type, report.s_type);
                    out.add(index).write(*report);
                }
                let (result, counted) = SECOND.get();
                *count = counted.unwrap_or(given);
                if !IS_ENDLESS.get() {
                    reports.drain(..given as usize);
                }
                result
            }
        })
    }

    unsafe extern "system" fn data(_: vk::Device, info: *mut newer::DeviceFaultDebugInfoKHR) -> vk::Result {
        // SAFETY: as the API has it.
        unsafe {
            let info = &mut *info;
            if !info.vendor_binary.is_null() {
                assert_eq!(info.vendor_binary_size, DATA.get());
                info.vendor_binary.cast::<u8>().write_bytes(7, DATA.get() as usize);
            }
            info.vendor_binary_size = DATA.get();
        }
        vk::Result::SUCCESS
    }

    fn faults(all: &[newer::DeviceFaultInfoKHR], folder: Option<&Path>) -> Vec<DeviceFault> {
        REPORTS.set(all.to_vec());
        query(KhrFaultCalls { reports, data }, vk::Device::null(), folder)
    }

    fn report(flags: u32, words: &[u8]) -> newer::DeviceFaultInfoKHR {
        let mut report = newer::DeviceFaultInfoKHR { flags, ..Default::default() };
        for (to, from) in report.description.iter_mut().zip(words) {
            *to = core::ffi::c_char::from_ne_bytes([*from]);
        }
        report.fault_address = vk::DeviceFaultAddressInfoEXT {
            address_type: vk::DeviceFaultAddressTypeEXT::WRITE_INVALID,
            reported_address: 0x1234,
            address_precision: 0x100,
        };
        report.instruction_address = vk::DeviceFaultAddressInfoEXT {
            address_type: vk::DeviceFaultAddressTypeEXT::INSTRUCTION_POINTER_FAULT,
            reported_address: 64,
            address_precision: 1,
        };
        report.vendor.vendor_fault_code = 3;
        report
    }

    #[test]
    fn a_report_has_the_parts_that_its_flags_name() {
        assert!(faults(&[], None).is_empty(), "the driver has timed out");
        let both = newer::FAULT_HAS_ADDRESS | newer::FAULT_HAS_INSTRUCTION;
        let mut timeout = report(newer::FAULT_LOST_DEVICE | newer::FAULT_WAS_TIMEOUT, b"");
        timeout.group_id = 7;
        let all = [report(both, b"MMU fault"), report(newer::FAULT_HAS_VENDOR, b""), timeout];
        let found = faults(&all, None);
        let kinds: Vec<_> = found.iter().map(|fault| (fault.access, fault.addresses.clone())).collect();
        let none = (FaultAccess::Unknown, 0..0);
        assert_eq!(
            kinds,
            [none.clone(), (FaultAccess::Write, 0x1200..0x1300), (FaultAccess::Instruction, 64..65), none]
        );
        let words: Vec<_> = found.iter().map(|fault| fault.description.as_str()).collect();
        assert_eq!(words, ["the GPU did not finish in time", "MMU fault", "MMU fault", " (code 3, data 0)"]);
        let missing = faults(&[report(newer::FAULTS_ARE_MISSING, b"fault")], None);
        assert_eq!(missing[0].description, "fault, the driver has lost earlier reports");
    }

    #[test]
    fn the_newest_reports_are_kept() {
        let numbered = |number: u64| {
            let mut report = report(newer::FAULT_HAS_ADDRESS, b"");
            report.fault_address.address_precision = 1;
            report.fault_address.reported_address = number;
            report
        };
        let all: Vec<_> = (0..1000).map(numbered).collect();
        let found = faults(&all, None);
        assert!(found.iter().map(|fault| fault.addresses.start).eq(936..1000));
    }

    #[test]
    fn counts_of_a_broken_driver_are_bounded() {
        let all = vec![report(1, b"fault"); 3];
        SECOND.set((vk::Result::INCOMPLETE, Some(u32::MAX)));
        assert_eq!(faults(&all, None).len(), 3);
        IS_ENDLESS.set(true);
        assert_eq!(faults(&all, None).len(), MAX_FAULTS as usize);
        SECOND.set((vk::Result::ERROR_OUT_OF_HOST_MEMORY, None));
        assert!(faults(&all, None).is_empty());
    }

    #[test]
    fn the_vendors_data_becomes_a_file() {
        let folder = env::temp_dir().join(format!("tenure-khr-fault-{}", process::id()));
        assert!(faults(&[], Some(&folder)).is_empty() && !folder.exists(), "no data");
        DATA.set(5);
        let found = faults(&[], Some(&folder));
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read(&file).unwrap(), [7; 5]);
        assert_eq!(found[0].description, format!("5 B of the vendor's data, in '{}'", file.display()));
        fs::remove_dir_all(&folder).unwrap();
        DATA.set(u32::MAX);
        assert!(faults(&[], Some(&folder))[0].description.ends_with("too much to keep"));
    }
}
