//! The faults of the GPU after the loss of the device (`VK_KHR_device_fault`, `VK_EXT_device_fault`).

use core::ffi::c_char;
use core::ops::Range;
use core::ptr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ash::vk;
use tenure_core::device::{DeviceFault, FaultAccess};

use super::Loaded;
use super::api::FaultCalls;
use super::khr_fault;
use crate::features::OptionalFeatures;

/// Maximum number of faults of each kind that are read. Drivers report a few; a broken one may report any number.
pub(super) const MAX_FAULTS: u32 = 64;

/// The coarsest precision of an address, in bytes: no GPU has larger pages.
const MAX_PRECISION: u64 = 1 << 30;

/// Maximum number of bytes of the vendor's data that are kept. A part of it is useless, so larger data is not kept.
const MAX_DATA: u64 = 64 << 20;

impl Loaded {
    /// The faults reported by the driver; none before the loss of the device. The driver is queried once.
    pub(crate) fn faults(&self) -> Vec<DeviceFault> {
        if !self.is_lost_for_driver() {
            return Vec::new();
        }
        let device = self.api.handle();
        let folder = |feature| self.api.fault_folder.as_deref().filter(|_| self.api.uses(feature));
        let khr_folder = folder(OptionalFeatures::KHR_DEVICE_FAULT_DATA);
        let ext_folder = folder(OptionalFeatures::DEVICE_FAULT_DATA);
        let khr = || self.api.khr_faults.map(|calls| khr_fault::query(calls, device, khr_folder));
        let ext = || self.api.faults.map(|calls| query(calls, device, ext_folder));
        // The newer extension, unless only the older one has data that is asked for, or reports.
        let asked = || {
            let first = if khr_folder.is_none() && ext_folder.is_some() { ext() } else { khr() };
            first.filter(|faults| !faults.is_empty()).or_else(ext).unwrap_or_default()
        };
        self.faults.get_or_init(asked).clone()
    }
}

pub(super) const fn is_answer(result: vk::Result) -> bool {
    matches!(result, vk::Result::SUCCESS | vk::Result::INCOMPLETE)
}

/// A fault without an address.
pub(super) fn without_address(words: impl Into<String>) -> DeviceFault {
    DeviceFault::new(FaultAccess::Unknown, 0..0, words.into())
}

/// The vendor's description of a fault.
pub(super) fn vendors_words(words: &vk::DeviceFaultVendorInfoEXT) -> DeviceFault {
    let vk::DeviceFaultVendorInfoEXT { vendor_fault_code, vendor_fault_data, .. } = words;
    let description = text(&words.description);
    without_address(format!("{description} (code {vendor_fault_code}, data {vendor_fault_data})"))
}

pub(super) fn too_much(offered: u64) -> DeviceFault {
    without_address(format!("{offered} B of the vendor's data: too much to keep"))
}

/// Queries the faults of a lost device. The vendor's data goes to a file in `folder`; `None` without the feature for it.
fn query(calls: FaultCalls, device: vk::Device, folder: Option<&Path>) -> Vec<DeviceFault> {
    let mut counts = vk::DeviceFaultCountsEXT::default();
    // SAFETY: the device is lost, and the structure is valid.
    if !is_answer(unsafe { (calls.info)(device, &raw mut counts, ptr::null_mut()) }) {
        return Vec::new();
    }
    counts.address_info_count = counts.address_info_count.min(MAX_FAULTS);
    counts.vendor_info_count = counts.vendor_info_count.min(MAX_FAULTS);
    let mut addresses = vec![vk::DeviceFaultAddressInfoEXT::default(); counts.address_info_count as usize];
    let mut words = vec![vk::DeviceFaultVendorInfoEXT::default(); counts.vendor_info_count as usize];
    let offered = counts.vendor_binary_size;
    let mut data = folder.map(|_| zeroed(offered)).unwrap_or_default();
    let is_too_much = folder.is_some() && data.is_empty() && offered > 0;
    // Without the feature for the vendor's data, its size must be 0.
    counts.vendor_binary_size = data.len() as u64;
    let mut info = vk::DeviceFaultInfoEXT {
        p_address_infos: addresses.as_mut_ptr(),
        p_vendor_infos: words.as_mut_ptr(),
        p_vendor_binary_data: if data.is_empty() { ptr::null_mut() } else { data.as_mut_ptr().cast() },
        ..Default::default()
    };
    // SAFETY: the arrays have the lengths of `counts`.
    if !is_answer(unsafe { (calls.info)(device, &raw mut counts, &raw mut info) }) {
        return Vec::new();
    }
    addresses.truncate(counts.address_info_count as usize);
    addresses.retain(|at| at.address_type != vk::DeviceFaultAddressTypeEXT::NONE);
    words.truncate(counts.vendor_info_count as usize);
    data.truncate(usize::try_from(counts.vendor_binary_size).unwrap_or(usize::MAX));
    let description = text(&info.description);
    let at =
        addresses.iter().map(|at| DeviceFault::new(access(at.address_type), reported(at), &*description));
    let mut faults: Vec<_> = at.collect();
    if faults.is_empty() && !description.is_empty() {
        faults.push(without_address(description));
    }
    if is_too_much {
        faults.push(too_much(offered));
    }
    if let Some(folder) = folder.filter(|_| !data.is_empty()) {
        faults.push(without_address(kept(folder, &data)));
    }
    faults.extend(words.iter().map(vendors_words));
    faults
}

/// A buffer for the vendor's data; empty if the data is too large, or memory is short.
pub(super) fn zeroed(size: u64) -> Vec<u8> {
    let mut data = Vec::new();
    if size <= MAX_DATA
        && let Ok(size) = usize::try_from(size)
        && data.try_reserve_exact(size).is_ok()
    {
        data.resize(size, 0);
    }
    data
}

/// Keeps the vendor's data as a file. Returns a text with its path.
pub(super) fn kept(folder: &Path, data: &[u8]) -> String {
    let bytes = data.len();
    match write_new(folder, data) {
        Ok(path) => format!("{bytes} B of the vendor's data, in '{}'", path.display()),
        Err(error) => {
            format!(
                "{bytes} B of the vendor's data, which could not be written to '{}': {error}",
                folder.display()
            )
        }
    }
}

/// Writes a file with a new name.
fn write_new(folder: &Path, data: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let process = std::process::id();
    let mut number = 0_u32;
    loop {
        let path = folder.join(format!("gpu-fault-{process}-{number}.bin"));
        match File::create_new(&path) {
            Ok(mut file) => {
                let written = file.write_all(data);
                if written.is_err() {
                    // A part of the data would mislead the vendor's tool.
                    let _left = fs::remove_file(&path);
                }
                return written.map(|()| path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn access(kind: vk::DeviceFaultAddressTypeEXT) -> FaultAccess {
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
pub(super) fn reported(at: &vk::DeviceFaultAddressInfoEXT) -> Range<u64> {
    let precision = match at.address_precision {
        1..=MAX_PRECISION => at.address_precision.next_power_of_two(),
        // The driver does not know.
        _ => 1,
    };
    let first = at.reported_address & !(precision - 1);
    first..first.saturating_add(precision)
}

/// The text of an array that a driver has filled, with or without a zero at its end.
pub(super) fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> =
        chars.iter().flat_map(|char| char.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use core::cell::RefCell;
    use std::path::{Path, PathBuf};
    use std::{env, fs, process};

    use ash::vk;
    use tenure_core::device::{DeviceFault, FaultAccess};

    use super::{FaultCalls, MAX_DATA, MAX_FAULTS, query, reported, text};

    /// The results of a driver.
    #[derive(Clone, Copy)]
    struct Driver {
        /// The counts of the call without room for faults.
        counted: (u32, u32),
        /// The counts of the call with room; it fills the room up to them.
        filled: (u32, u32),
        /// Bytes of the vendor's data: as counted, and as filled.
        data: [u64; 2],
        results: [vk::Result; 2],
        description: &'static str,
        kind: vk::DeviceFaultAddressTypeEXT,
    }

    const HONEST: Driver = Driver {
        counted: (1, 1),
        filled: (1, 1),
        data: [5, 5],
        results: [vk::Result::SUCCESS; 2],
        description: "MMU fault",
        kind: vk::DeviceFaultAddressTypeEXT::READ_INVALID,
    };

    thread_local! {
        static DRIVER: RefCell<Driver> = const { RefCell::new(HONEST) };
        /// The room that the last call with room has had.
        static ROOM: RefCell<(u32, u32, u64)> = const { RefCell::new((0, 0, 0)) };
    }

    unsafe extern "system" fn answer(
        _: vk::Device,
        counts: *mut vk::DeviceFaultCountsEXT<'_>,
        info: *mut vk::DeviceFaultInfoEXT<'_>,
    ) -> vk::Result {
        let driver = DRIVER.with_borrow(|driver| *driver);
        // SAFETY: the structures of the API, with arrays of the lengths in the counts.
        let (counts, info) = unsafe { (&mut *counts, info.as_mut()) };
        let Some(info) = info else {
            (counts.address_info_count, counts.vendor_info_count) = driver.counted;
            counts.vendor_binary_size = driver.data[0];
            return driver.results[0];
        };
        let room = (counts.address_info_count, counts.vendor_info_count, counts.vendor_binary_size);
        assert_eq!(info.p_vendor_binary_data.is_null(), room.2 == 0);
        ROOM.set(room);
        for index in 0..room.0.min(driver.filled.0) as usize {
            let fault = vk::DeviceFaultAddressInfoEXT {
                address_type: driver.kind,
                reported_address: 0x1000 + index as u64,
                address_precision: 1,
            };
            // SAFETY: as above.
            unsafe { info.p_address_infos.add(index).write(fault) };
        }
        for index in 0..room.1.min(driver.filled.1) as usize {
            let fault = vk::DeviceFaultVendorInfoEXT { vendor_fault_code: 3, ..Default::default() };
            // SAFETY: as above.
            unsafe { info.p_vendor_infos.add(index).write(fault) };
        }
        for index in 0..room.2.min(driver.data[1]) as usize {
            // SAFETY: as above.
            unsafe { info.p_vendor_binary_data.cast::<u8>().add(index).write(7) };
        }
        counts.vendor_binary_size = driver.data[1];
        for (to, from) in info.description.iter_mut().zip(driver.description.bytes()) {
            *to = core::ffi::c_char::from_ne_bytes([from]);
        }
        (counts.address_info_count, counts.vendor_info_count) = driver.filled;
        driver.results[1]
    }

    fn faults(driver: Driver) -> Vec<DeviceFault> {
        faults_with(driver, None)
    }

    fn faults_with(driver: Driver, folder: Option<&Path>) -> Vec<DeviceFault> {
        DRIVER.set(driver);
        query(FaultCalls { info: answer }, vk::Device::null(), folder)
    }

    /// A folder that is gone after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(env::temp_dir().join(format!("tenure-fault-{}-{name}", process::id())))
        }

        /// The files and their bytes, by name.
        fn files(&self) -> Vec<(String, Vec<u8>)> {
            let Ok(entries) = fs::read_dir(&self.0) else { return Vec::new() };
            let mut files: Vec<_> = entries
                .map(|entry| entry.unwrap().path())
                .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
                .collect();
            files.sort();
            files
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _nothing_there = fs::remove_dir_all(&self.0);
        }
    }

    /// The words about the vendor's data, which are between the address and the vendor's words.
    fn words_about_data(driver: Driver, folder: &Folder) -> String {
        let [_, data, _] = faults_with(driver, Some(&folder.0)).try_into().unwrap();
        data.description
    }

    #[test]
    fn faults_are_read() {
        let [at, vendor] = faults(HONEST).try_into().unwrap();
        assert_eq!(at, DeviceFault::new(FaultAccess::Read, 0x1000..0x1001, "MMU fault"));
        assert_eq!(vendor, DeviceFault::new(FaultAccess::Unknown, 0..0, " (code 3, data 0)"));
    }

    /// The counts of a driver are no reason to run out of memory, or to read bytes that it has not written.
    #[test]
    fn counts_of_a_broken_driver_do_no_harm() {
        for counted in [(u32::MAX, u32::MAX), (u32::MAX, 0), (0, u32::MAX)] {
            faults(Driver { counted, filled: counted, ..HONEST });
            assert_eq!(ROOM.take(), (counted.0.min(MAX_FAULTS), counted.1.min(MAX_FAULTS), 0));
        }
        let few = Driver { counted: (9, 9), results: [vk::Result::INCOMPLETE; 2], ..HONEST };
        assert_eq!(faults(few).len(), 2, "as many as were written");
        assert_eq!(faults(Driver { filled: (u32::MAX, u32::MAX), ..HONEST }).len(), 2);
        let none = Driver { filled: (0, 0), ..HONEST };
        assert_eq!(faults(none), [DeviceFault::new(FaultAccess::Unknown, 0..0, "MMU fault")]);
        assert_eq!(faults(Driver { description: "", ..none }), []);
        for results in [0, 1].map(|failing| {
            let mut results = HONEST.results;
            results[failing] = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
            results
        }) {
            assert_eq!(faults(Driver { results, ..HONEST }), []);
        }
    }

    #[test]
    fn the_vendors_data_becomes_a_new_file_where_asked_for() {
        let folder = Folder::new("new");
        assert_eq!((faults(HONEST).len(), ROOM.take().2), (2, 0), "not asked for");
        assert_eq!(faults_with(Driver { data: [0, 0], ..HONEST }, Some(&folder.0)).len(), 2);
        assert_eq!(folder.files(), [], "no data");
        for count in 1..3 {
            let words = words_about_data(HONEST, &folder);
            let files = folder.files();
            assert_eq!((files.len(), &files[count - 1].1), (count, &vec![7; 5]));
            assert_eq!(words, format!("5 B of the vendor's data, in '{}'", files[count - 1].0));
        }
    }

    /// The size that a driver states has a limit, and only bytes that it has written are kept.
    #[test]
    fn sizes_of_a_broken_driver_do_no_harm() {
        let folder = Folder::new("sizes");
        let kept = |data: [u64; 2]| {
            let driver = Driver { data, results: [vk::Result::INCOMPLETE; 2], ..HONEST };
            words_about_data(driver, &folder).split(' ').next().unwrap().to_owned()
        };
        assert_eq!([kept([9, 5]), kept([5, u64::MAX])], ["5", "5"]);
        assert_eq!(kept([MAX_DATA, 3]), "3");
        assert_eq!(ROOM.take().2, MAX_DATA);
        assert_eq!(kept([MAX_DATA + 1, 3]), (MAX_DATA + 1).to_string());
        assert_eq!(ROOM.take().2, 0);
        let none = Driver { data: [5, 0], ..HONEST };
        assert_eq!(faults_with(none, Some(&folder.0)).len(), 2);
        assert_eq!(folder.files().len(), 3);
    }

    #[test]
    fn a_folder_that_is_none_is_in_the_words() {
        let folder = Folder::new("none");
        fs::write(&folder.0, b"a file").unwrap();
        let words = words_about_data(HONEST, &folder);
        let text =
            format!("5 B of the vendor's data, which could not be written to '{}': ", folder.0.display());
        assert!(words.starts_with(&text), "{words}");
        fs::remove_file(&folder.0).unwrap();
    }

    /// An entry without an address says nothing: the description remains.
    #[test]
    fn entries_without_an_address_are_skipped() {
        let kind = vk::DeviceFaultAddressTypeEXT::NONE;
        let found = faults(Driver { kind, counted: (2, 0), filled: (2, 0), ..HONEST });
        assert_eq!(found, [DeviceFault::new(FaultAccess::Unknown, 0..0, "MMU fault")]);
        let [described, _vendor] = faults(Driver { kind, ..HONEST }).try_into().unwrap();
        assert_eq!(described.description, "MMU fault");
    }

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
        assert_eq!([at(5, 1 << 30), at(5, (1 << 30) + 1)], [0..1 << 30, 5..6]);
        let last = DeviceFault::new(FaultAccess::Read, at(u64::MAX, 1), "");
        assert!(last.has_address());
    }

    #[test]
    fn texts_end_at_a_zero_or_with_their_array() {
        assert_eq!(text(&[104, 105, 0, 7]), "hi");
        assert_eq!(text(&[104; 4]), "hhhh");
    }
}
