//! Drivers with the faults of the table `drivers`. Those of presentation are in `swapchain/faults.rs`.

use conformance::Harness as _;
use tenure_core::device::prelude::*;
use tenure_core::{BufferDesc, Config, Gpu, MemoryUse, Usage};
use tenure_vulkan::drivers::{TABLE, Workaround};
use tenure_vulkan::{DeviceConfig, OptionalFeatures};

use crate::disguise::Costume;
use crate::harness::Vulkan;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The machine's memory, as programs of the system count it.
#[cfg(target_os = "linux")]
fn machine() -> u64 {
    let file = std::fs::read_to_string("/proc/meminfo").unwrap();
    let line = file.lines().find(|line| line.starts_with("MemTotal")).unwrap();
    let kibibytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes << 10
}

/// True if the driver has `VK_EXT_memory_budget`. Debian's own lavapipe lacks it.
fn reports_budgets(vulkan: &Vulkan) -> bool {
    vulkan.device().optional_features().contains(OptionalFeatures::MEMORY_BUDGET)
}

/// The budget of a heap that grants `most` bytes: all of them, or four fifths if the driver does not report budgets.
fn limited(vulkan: &Vulkan, most: u64) -> u64 {
    if reports_budgets(vulkan) { most } else { most - most / 5 }
}

/// Fails to compile for a new workaround, which needs a test here or in `swapchain/faults.rs`.
const fn is_tested(workaround: Workaround) -> bool {
    matches!(
        workaround,
        Workaround::LimitToHeap
            | Workaround::LimitToSystem
            | Workaround::CountUsage
            | Workaround::FallBack
            | Workaround::BoundWaits
            | Workaround::KeepChain
    )
}

#[test]
fn each_fault_of_the_table_is_played() {
    assert!(TABLE.iter().all(|fault| is_tested(fault.workaround)));
}

#[test]
fn budgets_above_a_heap_of_a_discrete_card_are_limited() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let device = vulkan.device();
    for untrue in [u64::MAX, u64::MAX - 40, 47 * GIB] {
        vulkan.disguise().grant(&[untrue, untrue]);
        let budgets = device.budget().unwrap();
        assert_eq!(budgets[0].budget, limited(&vulkan, 6 * GIB));
        assert!(budgets[1].budget <= 8 * GIB);
    }
    vulkan.disguise().grant(&[GIB, GIB]);
    vulkan.disguise().charge(0_u64.wrapping_sub(30));
    let used: Vec<_> = device.budget().unwrap().iter().map(|heap| heap.usage).collect();
    assert_eq!(used, [0, 0], "a usage below 0 is replaced by the count");
    drop(device);
    vulkan.end();
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_heap_of_a_discrete_card_grants_no_more_than_the_machine_has() {
    let costume = Costume { heaps: vec![6 * GIB, 1 << 50], ..Costume::discrete() };
    let vulkan = Vulkan::disguised(costume, &DeviceConfig::default());
    let device = vulkan.device();
    vulkan.disguise().grant(&[1 << 50, 1 << 50]);
    let granted: Vec<_> = device.budget().unwrap().iter().map(|heap| heap.budget).collect();
    assert_eq!(granted, [6 * GIB, machine()].map(|most| limited(&vulkan, most)));
    drop(device);
    vulkan.end();
}

/// RADV charges imports to another heap than it credits them to.
#[cfg(unix)]
#[test]
fn usage_is_counted_after_an_import_on_one_driver() {
    use tenure_vulkan::ash::vk;
    use tenure_vulkan::{HandleKind, Sharing as _};

    for (driver, is_counted) in [(vk::DriverId::MESA_RADV, true), (vk::DriverId::NVIDIA_PROPRIETARY, false)] {
        let options = DeviceConfig::default().assumed_driver(Some(driver));
        let vulkan = Vulkan::disguised(Costume::plain(), &options);
        if !reports_budgets(&vulkan) {
            // Every usage is a count.
            return vulkan.end();
        }
        let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let desc = BufferDesc::new(4 * MIB, Usage::COPY_SRC | Usage::COPY_DST).name("frame").shared();
        let frame = gpu.create_buffer(&desc).unwrap();
        vulkan.disguise().grant(&[4 * GIB]);
        vulkan.disguise().charge(3 * GIB);
        let usage = || gpu.device().budget().unwrap()[0].usage;
        assert!(usage() >= 3 * GIB, "the report before any import is correct");
        let exported = gpu.export_buffer(&frame, HandleKind::OpaqueFd).unwrap();
        // SAFETY: the handle and its description are of one export.
        let imported = unsafe { gpu.import_buffer(exported.handle, &exported.info, &desc) }.unwrap();
        assert_eq!(usage() < 3 * GIB, is_counted, "{driver:?}: {}", usage());
        drop((imported, frame));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        vulkan.end();
    }
}

/// The window reports room, and the driver refuses all of it.
#[test]
fn a_full_window_of_a_discrete_card_refuses_no_program() {
    let vulkan = Vulkan::disguised(Costume::full_window(), &DeviceConfig::default());
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let mut kept = Vec::new();
    for memory in [MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::GpuUpload, MemoryUse::Readback] {
        for size in [256, 64 << 10, 4 * MIB, 32 * MIB] {
            let desc = BufferDesc::new(size, Usage::COPY_SRC | Usage::COPY_DST).memory(memory);
            kept.push(gpu.create_buffer(&desc).unwrap_or_else(|error| panic!("{memory:?}, {size}: {error}")));
        }
    }
    drop(kept);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
