//! Drivers on which resources had better not be placed in heaps.
//!
//! Adapters are told apart by vendor and device number and the driver's version, never by their
//! name, which drivers translate, shorten and leave garbage behind.
//!
//! A row says what goes wrong and what is committed instead: the device then answers
//! [`prefers_dedicated`] for it. To add one, append it to [`OPT_OUTS`] with a source anybody can
//! check; a driver that is repaired gets its version in [`OptOut::fixed_in`].
//!
//! [`prefers_dedicated`]: tenure_core::device::Requirements::prefers_dedicated

use std::fmt;
use std::ops::RangeInclusive;

/// A display driver's version as Windows numbers it: `31.0.101.4577`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub [u16; 4]);

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [product, version, sub_version, build] = self.0;
        write!(f, "{product}.{version}.{sub_version}.{build}")
    }
}

/// Adapters and drivers that share a fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OptOut {
    /// PCI vendor number.
    pub vendor: u32,
    /// PCI device numbers.
    pub devices: RangeInclusive<u32>,
    /// The first driver without the fault; `None`: none is known.
    pub fixed_in: Option<DriverVersion>,
    /// Buffers are committed.
    pub buffers: bool,
    /// Textures are committed.
    pub textures: bool,
    /// What goes wrong.
    pub fault: &'static str,
}

const INTEL: u32 = 0x8086;

const fn iris_xe(devices: RangeInclusive<u32>) -> OptOut {
    OptOut {
        vendor: INTEL,
        devices,
        fixed_in: None,
        buffers: true,
        textures: true,
        fault: "releasing placed resources leaks their memory (gfx-rs/wgpu issue 3552)",
    }
}

/// The table. The device numbers are those that Mesa's `iris_pci_ids.h` calls Iris Xe.
pub const OPT_OUTS: &[OptOut] = &[
    // Tiger Lake.
    iris_xe(0x9a40..=0x9a49),
    // Alder Lake P.
    iris_xe(0x46a6..=0x46aa),
    // Raptor Lake P and U.
    iris_xe(0xa7a0..=0xa7a1),
    // DG1: Iris Xe and Iris Xe MAX.
    iris_xe(0x4905..=0x4908),
];

/// The row for an adapter, if there is one. `driver` is `None` where Windows did not say: then
/// every fault is taken to be there. O(rows).
///
/// ```
/// use tenure_d3d12::opt_out::{self, DriverVersion};
/// let driver = DriverVersion([31, 0, 101, 4577]);
/// assert!(opt_out::find(0x8086, 0x46a6, Some(driver)).is_some_and(|row| row.textures));
/// assert!(opt_out::find(0x10de, 0x2684, Some(driver)).is_none());
/// ```
#[must_use]
pub fn find(vendor: u32, device: u32, driver: Option<DriverVersion>) -> Option<&'static OptOut> {
    find_in(OPT_OUTS, vendor, device, driver)
}

fn find_in(table: &[OptOut], vendor: u32, device: u32, driver: Option<DriverVersion>) -> Option<&OptOut> {
    table.iter().find(|row| {
        let is_fixed = matches!((row.fixed_in, driver), (Some(fixed), Some(driver)) if driver >= fixed);
        row.vendor == vendor && row.devices.contains(&device) && !is_fixed
    })
}

#[cfg(test)]
mod tests {
    use super::{DriverVersion, INTEL, OPT_OUTS, OptOut, find, find_in};

    #[test]
    fn iris_xe_is_found_and_its_neighbours_are_not() {
        for device in [0x9a40, 0x9a49, 0x46a6, 0x46a8, 0x46aa, 0xa7a0, 0xa7a1, 0x4905, 0x4908] {
            assert!(find(INTEL, device, None).is_some(), "{device:#x}");
            assert_eq!(find(0x1002, device, None), None, "{device:#x} of another vendor");
        }
        // UHD Graphics of the same generations, Iris Plus, Arc.
        for device in [0x9a60, 0x9ac9, 0x4680, 0x46d0, 0xa780, 0x8a52, 0x5690, 0x7d55] {
            assert_eq!(find(INTEL, device, None), None, "{device:#x}");
        }
    }

    #[test]
    fn a_repaired_driver_places_again() {
        let fixed = DriverVersion([32, 0, 101, 5000]);
        let table = [OptOut { fixed_in: Some(fixed), ..OPT_OUTS[0].clone() }];
        let found = |driver| find_in(&table, INTEL, 0x9a49, driver).is_some();
        assert!(found(Some(DriverVersion([31, 9, 999, 9999]))), "older");
        assert!(found(Some(DriverVersion([32, 0, 101, 4999]))), "older");
        assert!(!found(Some(fixed)) && !found(Some(DriverVersion([32, 0, 102, 0]))), "repaired");
        assert!(found(None), "nobody knows");
    }

    #[test]
    fn every_row_says_something() {
        for row in OPT_OUTS {
            assert!(row.buffers || row.textures, "{row:?}");
            assert!(!row.fault.is_empty() && !row.devices.is_empty(), "{row:?}");
        }
        assert_eq!(DriverVersion([31, 0, 101, 4577]).to_string(), "31.0.101.4577");
    }
}
