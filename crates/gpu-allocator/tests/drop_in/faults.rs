//! Failing drivers.

use ash::vk;
use gpu_allocator::{AllocationError, AllocationSizes, MemoryLocation};

use crate::MIB;
use crate::fake::{Call, Driver, Fault, with};
use crate::ours::{allocator, desc};

const SHORTAGES: [vk::Result; 4] = [
    vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
    vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    vk::Result::ERROR_TOO_MANY_OBJECTS,
    vk::Result::ERROR_MEMORY_MAP_FAILED,
];
const LOCATIONS: [MemoryLocation; 4] =
    [MemoryLocation::Unknown, MemoryLocation::GpuOnly, MemoryLocation::CpuToGpu, MemoryLocation::GpuToCpu];

/// Creates buffers and images of all sizes and locations, and frees them in another order. Returns the number of
/// refusals.
fn program(fault: Option<Fault>) -> u64 {
    let mut allocator =
        allocator(Driver::discrete(1 << 30, 1 << 30), AllocationSizes::new(16 * MIB, 8 * MIB));
    with(|driver| driver.fault = fault);
    let mut live = Vec::new();
    let mut refused = 0;
    for step in 0..120_u64 {
        let location = LOCATIONS[step as usize % 4];
        let size = [100, 5000, 300 << 10, 3 << 20, 20 << 20][step as usize % 5] + step * 16;
        match allocator.allocate(&desc(size, 256, location, step % 3 > 0)) {
            Ok(found) => live.push(found),
            Err(AllocationError::OutOfMemory) => refused += 1,
            Err(error) => panic!("{error} at {fault:?}"),
        }
        if step % 3 == 2 && !live.is_empty() {
            allocator.free(live.swap_remove(step as usize % live.len())).unwrap();
        }
    }
    assert_eq!(allocator.generate_report().allocations.len(), live.len());
    live.into_iter().for_each(|found| allocator.free(found).unwrap());
    assert_eq!(allocator.generate_report().total_allocated_bytes, 0);
    drop(allocator);
    with(|driver| {
        assert!(driver.live.is_empty(), "{:?} leaked at {fault:?}", driver.live.keys());
        assert!(driver.violations.is_empty(), "{:?} at {fault:?}", driver.violations);
    });
    refused
}

#[test]
fn a_single_refusal_causes_no_error() {
    assert_eq!(program(None), 0);
    let calls = with(|driver| driver.allocations_made);
    assert!(calls > 5, "{calls}");
    for call in [Call::Allocate, Call::Map] {
        for (after, result) in (0..calls).zip(SHORTAGES.into_iter().cycle()) {
            assert_eq!(program(Some(Fault { call, after, onwards: false, result })), 0);
        }
    }
}

#[test]
fn permanent_refusals_are_out_of_memory() {
    for call in [Call::Allocate, Call::Map] {
        for after in 0..8 {
            for result in SHORTAGES {
                let refused = program(Some(Fault { call, after, onwards: true, result }));
                assert!(refused > 0, "{call:?} {after} {result}");
            }
        }
    }
}

#[test]
fn a_lost_device_is_not_out_of_memory() {
    let mut allocator = allocator(Driver::discrete(1 << 30, 1 << 30), AllocationSizes::default());
    let result = vk::Result::ERROR_DEVICE_LOST;
    with(|driver| driver.fault = Some(Fault { call: Call::Allocate, after: 0, onwards: true, result }));
    let error = allocator.allocate(&desc(1, 1, MemoryLocation::GpuOnly, true)).unwrap_err();
    assert!(matches!(error, AllocationError::Internal(_)), "{error:?}");
}

#[test]
fn impossible_sizes_and_alignments_are_refused() {
    let mut allocator = allocator(Driver::discrete(1 << 30, 1 << 30), AllocationSizes::default());
    let gpu = MemoryLocation::GpuOnly;
    for (size, alignment) in [(0, 1), (1, 0), (1, 3), (u64::MAX, 1), (u64::MAX, 256), (1, 1 << 63)] {
        for linear in [true, false] {
            let error = allocator.allocate(&desc(size, alignment, gpu, linear)).unwrap_err();
            assert!(matches!(error, AllocationError::InvalidAllocationCreateDesc), "{size}: {error:?}");
        }
    }
    let error = allocator.allocate(&desc(2 << 30, 1, gpu, true)).unwrap_err();
    assert!(matches!(error, AllocationError::OutOfMemory), "{error:?}");
    let mut none = desc(1, 1, gpu, true);
    none.requirements.memory_type_bits = 0;
    let error = allocator.allocate(&none).unwrap_err();
    assert!(matches!(error, AllocationError::NoCompatibleMemoryTypeFound), "{error:?}");
    with(|driver| assert!(driver.allocations_made == 0 && driver.violations.is_empty()));
}
