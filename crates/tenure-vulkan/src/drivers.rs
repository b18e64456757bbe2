//! Incorrect driver reports about memory and presentation, and their workarounds.
//!
//! [`TABLE`] has a row for each, with a public source. Most workarounds cost nothing on a correct driver, and are applied on
//! all. The others are only for the drivers in the row ([`Fault::is_on`]); [`DeviceConfig::assumed_driver`] has a device behave as
//! on one of them, for tests.
//!
//! ```
//! use tenure_vulkan::ash::vk;
//! use tenure_vulkan::drivers::{Workaround, faults_of};
//!
//! let faults = faults_of(Some(vk::DriverId::MESA_RADV));
//! assert!(faults.iter().any(|fault| fault.workaround == Workaround::CountUsage));
//! for fault in faults_of(None) {
//!     println!("{}: {} ({})", fault.fault, fault.remedy, fault.source);
//! }
//! ```
//!
//! [`DeviceConfig::assumed_driver`]: crate::DeviceConfig::assumed_driver

use ash::vk;

/// The reaction to a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workaround {
    /// A budget is limited to the size of its heap, and a usage below 0 is replaced by tenure's own count.
    LimitToHeap,
    /// The budget of a heap in system memory is limited to the machine's memory.
    LimitToSystem,
    /// From the first import on, the usage is tenure's own count.
    CountUsage,
    /// A refused allocation continues with the next step of the fallback chain, whatever the budget.
    FallBack,
    /// Waits for the fences of presentations are bounded.
    BoundWaits,
    /// A chain that never fits its window is kept if a new one would have the same properties.
    KeepChain,
}

/// A false statement of some drivers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fault {
    /// The drivers for which the workaround is applied; empty: all.
    pub drivers: &'static [vk::DriverId],
    /// The workaround.
    pub workaround: Workaround,
    /// The symptom, and where it was observed.
    pub fault: &'static str,
    /// The effect of the workaround.
    pub remedy: &'static str,
    /// The source of this information.
    pub source: &'static str,
}

impl Fault {
    /// True if the workaround is applied on the driver; `None`: a driver that does not report its id.
    #[must_use]
    pub fn is_on(&self, driver: Option<vk::DriverId>) -> bool {
        self.drivers.is_empty() || driver.is_some_and(|driver| self.drivers.contains(&driver))
    }
}

/// The rows that apply to a driver, in the order of the table. O(rows).
#[must_use]
pub fn faults_of(driver: Option<vk::DriverId>) -> Vec<&'static Fault> {
    TABLE.iter().filter(|fault| fault.is_on(driver)).collect()
}

/// True if a workaround is applied on the driver.
pub(crate) fn works_around(driver: Option<vk::DriverId>, workaround: Workaround) -> bool {
    TABLE.iter().any(|fault| fault.workaround == workaround && fault.is_on(driver))
}

/// Every known fault that matters to tenure.
pub const TABLE: &[Fault] = &[
    Fault {
        drivers: &[],
        workaround: Workaround::LimitToHeap,
        fault: "the budget exceeds the heap: 46.8 GiB of 36.2 GiB (Intel Arc B390, Windows, 101.8860)",
        remedy: "the budget is at most the size of the heap",
        source: "https://github.com/ggml-org/llama.cpp/issues/29277",
    },
    Fault {
        drivers: &[],
        workaround: Workaround::LimitToHeap,
        fault: "the budget is negative, and so close to 2^64: a heap of 16 MiB (RADV)",
        remedy: "the budget is at most the size of the heap",
        source: "https://github.com/GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator/issues/157",
    },
    Fault {
        drivers: &[],
        workaround: Workaround::LimitToSystem,
        fault: "the heaps of an integrated GPU exceed the machine's memory: 135 GB of 128 GB (AMD Strix Halo)",
        remedy: "the budget of a heap in system memory is at most the machine's memory, on Linux and Android",
        source: "https://github.com/GpuZelenograd/memtest_vulkan/issues/66",
    },
    Fault {
        drivers: &[vk::DriverId::MESA_RADV],
        workaround: Workaround::CountUsage,
        fault: "imported DMA-BUFs are charged to the private heap, and credited to the host-visible one when they are freed: the \
                usage of the first grows with each import, that of the second falls below 0 (RADV)",
        remedy: "from the first import on, the usage is tenure's own count",
        source: "https://github.com/gfx-rs/wgpu/issues/9742",
    },
    Fault {
        drivers: &[],
        workaround: Workaround::FallBack,
        fault: "the host-visible window of a card is full with the driver's own memory, so that the first 4 MiB are refused (NVIDIA, \
                Windows, a window of 210 MiB)",
        remedy: "the resource is created in other memory; unless a program requests it, nothing is placed in a window",
        source: "https://github.com/GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator/issues/390, \
                 https://github.com/KhronosGroup/Vulkan-ValidationLayers/issues/9499",
    },
    Fault {
        drivers: &[],
        workaround: Workaround::BoundWaits,
        fault: "the fence of a presentation is never signalled, because a layer drops the presentation (gamescope)",
        remedy: "a resize waits at most 500 ms for fences, and then for the queue",
        source: "https://github.com/ValveSoftware/gamescope/pull/2258",
    },
    Fault {
        drivers: &[],
        workaround: Workaround::KeepChain,
        fault: "every presentation is suboptimal while the screen is rotated (Android 10 and later), so that each frame would make a \
                new swap chain",
        remedy: "the swap chain is kept if a new one would have the same properties",
        source: "https://github.com/libsdl-org/SDL/issues/12950, https://github.com/gfx-rs/wgpu/pull/3525",
    },
];

/// The bytes of the machine's memory, for programs; `None` if unknown.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn system_memory() -> Option<u64> {
    total_memory(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// As above.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const fn system_memory() -> Option<u64> {
    None
}

/// The bytes of the line `MemTotal` of Linux's `/proc/meminfo`; `None` for 0.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn total_memory(file: &str) -> Option<u64> {
    let line = file.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1 << 10).filter(|bytes| *bytes > 0)
}

/// The bytes of each memory heap that a budget may have: see [`Workaround::LimitToSystem`].
///
/// An AMD GPU with memory that the firmware has set aside counts it as local, and the operating system does not count it at
/// all: local heaps are limited only on other shared GPUs.
pub(crate) fn largest_budgets(
    properties: &vk::PhysicalDeviceProperties,
    memory: &vk::PhysicalDeviceMemoryProperties,
    system: Option<u64>,
) -> Vec<u64> {
    const AMD: u32 = 0x1002;
    let kinds = [vk::PhysicalDeviceType::INTEGRATED_GPU, vk::PhysicalDeviceType::CPU];
    let is_shared = kinds.contains(&properties.device_type) && properties.vendor_id != AMD;
    let heaps = memory.memory_heaps_as_slice().iter();
    let limits = heaps.map(|heap| {
        let is_local = heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
        if is_local && !is_shared { heap.size } else { heap.size.min(system.unwrap_or(u64::MAX)) }
    });
    limits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_source_and_its_texts() {
        for fault in TABLE {
            assert!(fault.source.split(", ").all(|address| address.starts_with("https://")), "{fault:?}");
            assert!(!fault.fault.is_empty() && !fault.remedy.is_empty());
        }
    }

    #[test]
    fn rows_of_one_driver_are_for_that_driver_alone() {
        let counted = Workaround::CountUsage;
        assert!(works_around(Some(vk::DriverId::MESA_RADV), counted));
        for driver in [None, Some(vk::DriverId::MESA_LLVMPIPE), Some(vk::DriverId::NVIDIA_PROPRIETARY)] {
            assert!(!works_around(driver, counted), "{driver:?}");
            assert!(works_around(driver, Workaround::LimitToHeap));
        }
    }

    #[test]
    fn the_memory_of_a_machine_is_read_or_unknown() {
        assert_eq!(total_memory("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        for unknown in
            ["", "MemTotal: 0 kB", "MemTotal: many kB", "MemFree: 5 kB", "MemTotal: 16384", "MemTotal: -1 kB"]
        {
            assert_eq!(total_memory(unknown), None, "{unknown}");
        }
        assert_eq!(total_memory(&format!("MemTotal: {} kB", u64::MAX)), None, "too large");
        if cfg!(target_os = "linux") {
            assert!(system_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }

    #[test]
    fn heaps_of_system_memory_grant_no_more_than_the_machine_has() {
        let machine = 32 << 30;
        let limits = |device_type, vendor_id, system| {
            let properties = vk::PhysicalDeviceProperties { device_type, vendor_id, ..Default::default() };
            let mut memory =
                vk::PhysicalDeviceMemoryProperties { memory_heap_count: 2, ..Default::default() };
            memory.memory_heaps[0] =
                vk::MemoryHeap { size: 90 << 30, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
            memory.memory_heaps[1] = vk::MemoryHeap { size: 45 << 30, flags: vk::MemoryHeapFlags::empty() };
            largest_budgets(&properties, &memory, system)
        };
        let (shared, card) = (vk::PhysicalDeviceType::INTEGRATED_GPU, vk::PhysicalDeviceType::DISCRETE_GPU);
        assert_eq!(limits(shared, 0x8086, Some(machine)), [machine, machine]);
        assert_eq!(limits(shared, 0x1002, Some(machine)), [90 << 30, machine], "set aside by the firmware");
        assert_eq!(limits(card, 0x10de, Some(machine)), [90 << 30, machine]);
        assert_eq!(limits(shared, 0x8086, None), [90 << 30, 45 << 30]);
    }
}
