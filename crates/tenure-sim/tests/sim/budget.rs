//! Sizes, budgets and counts of driver memory.

use tenure_core::device::{Device as _, *};
use tenure_sim::{Device, DeviceConfig, Profile};

use crate::common::*;

const MIB: u64 = 1 << 20;

fn heap_desc(size: u64) -> HeapDesc {
    HeapDesc {
        size,
        alignment: 64 << 10,
        memory: MemoryTypeId(0),
        category: HeapCategory::Any,
        priority: Priority::Normal,
    }
}

#[test]
fn usage_counts_heaps_and_committed_resources_only() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).budgets([100 * MIB]));
    let heap = device.create_heap(&heap_desc(4 * MIB)).unwrap();
    let rock = committed(&device, "rock", &buffer(100, Usage::VERTEX));
    let placed = device.create_placed(Permit::checked(), &buffer(MIB, Usage::VERTEX), &heap, 0).unwrap();
    let used = 4 * MIB + (64 << 10);
    assert_eq!(device.budget().unwrap()[0], HeapBudget { budget: 100 * MIB, usage: used });
    let calls = device.calls();
    assert_eq!((calls.allocations, calls.reserved_bytes, calls.live_resources), (2, used, 2));
    device.destroy_resource(Permit::checked(), placed);
    device.destroy_resource(Permit::checked(), rock);
    device.destroy_heap(Permit::checked(), heap);
    assert_eq!(device.budget().unwrap()[0].usage, 0);
    let calls = device.calls();
    assert_eq!((calls.allocations, calls.reserved_bytes, calls.peak_reserved_bytes), (0, 0, used));
    committed(&device, "small", &buffer(100, Usage::VERTEX));
    assert_eq!(device.calls().peak_reserved_bytes, used);
}

#[test]
fn a_full_memory_heap_refuses_and_nothing_is_lost() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).heap_sizes([10 * MIB]));
    let heap = device.create_heap(&heap_desc(8 * MIB)).unwrap();
    let refused = DeviceError::OutOfMemory { requested: 4 * MIB, memory: MemoryTypeId(0) };
    assert_eq!(device.create_heap(&heap_desc(4 * MIB)).unwrap_err(), refused);
    let error = device.create_committed(&buffer(3 * MIB, Usage::VERTEX), MemoryTypeId(0)).unwrap_err();
    assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
    // The other segment has its own bytes.
    device.create_committed(&buffer(3 * MIB, Usage::VERTEX), MemoryTypeId(1)).unwrap();
    device.destroy_heap(Permit::checked(), heap);
    device.create_heap(&heap_desc(10 * MIB)).unwrap();
}

#[test]
fn the_budget_can_change_and_may_be_exceeded() {
    let device = Device::new(Profile::DISCRETE);
    device.set_budget(0, MIB).unwrap();
    device.create_heap(&heap_desc(4 * MIB)).unwrap();
    assert_eq!(device.budget().unwrap()[0], HeapBudget { budget: MIB, usage: 4 * MIB });
    assert!(device.set_budget(2, 0).is_err());
}

#[test]
fn live_allocations_are_limited() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let limit = device.properties().max_allocations;
    let desc = buffer(16, Usage::VERTEX);
    let mut live: Vec<_> = (0..limit).map(|_| committed(&device, "", &desc)).collect();
    let error = device.create_committed(&desc, MemoryTypeId(1)).unwrap_err();
    assert_eq!(error, DeviceError::TooManyAllocations { limit });
    device.destroy_resource(Permit::checked(), live.pop().unwrap());
    committed(&device, "", &desc);
}

#[test]
fn a_tebibyte_is_as_cheap_as_a_page() {
    let size = 1 << 40;
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).heap_sizes([size]));
    let heap = device.create_heap(&heap_desc(size)).unwrap();
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let rock = device.create_placed(Permit::checked(), &buffer(65_536, usage), &heap, size - 65_536).unwrap();
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.fill_buffer(&rock, 65_535, 1, 7);
        list.expect_bytes(&rock, 65_534, &[0, 7]);
    });
    assert_clean(&hazards(&device));
    assert_eq!(device.budget().unwrap()[0].usage, size);
    let other = device.create_heap(&HeapDesc { memory: MemoryTypeId(1), ..heap_desc(size) });
    assert!(matches!(other, Err(DeviceError::OutOfMemory { .. })));
}
