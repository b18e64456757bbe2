//! Allocations that outlive their allocator.

use gpu_allocator::{AllocationSizes, MemoryLocation};

use crate::MIB;
use crate::fake::{Driver, with};
use crate::ours::{allocator, desc};

const MAPPED: [MemoryLocation; 2] = [MemoryLocation::CpuToGpu, MemoryLocation::GpuToCpu];

fn small_card() -> Driver {
    Driver::discrete(64 * MIB, 64 * MIB)
}

/// Blocks and dedicated memory with possible slices are not freed.
#[test]
fn mapped_bytes_stay_valid() {
    for location in MAPPED {
        let mut allocator = allocator(small_card(), AllocationSizes::new(4 * MIB, 4 * MIB));
        let wanted = |size| desc(size, 256, location, true);
        let mut kept: Vec<_> =
            [1000, 5000, 6 * MIB].map(|size| allocator.allocate(&wanted(size)).unwrap()).into();
        let freed = allocator.allocate(&wanted(100)).unwrap();
        let unseen = allocator.allocate(&desc(1000, 256, MemoryLocation::GpuOnly, true)).unwrap();
        allocator.free(freed).unwrap();
        let slices: Vec<_> = kept.iter_mut().map(|found| found.mapped_slice_mut().unwrap()).collect();
        drop(allocator);
        let blocks = with(|driver| driver.live.len());
        assert_eq!(blocks, 2, "a block and the memory for one alone");
        for (byte, slice) in (1..).zip(slices) {
            slice.fill(byte);
        }
        for (byte, found) in (1..).zip(&kept) {
            assert!(found.mapped_slice().unwrap().iter().all(|found| *found == byte));
            assert!(found.mapped_ptr().is_some());
        }
        // The device may be destroyed, so no call is made.
        drop((kept, unseen));
        with(|driver| {
            assert!(driver.live.len() == 2 && driver.violations.is_empty(), "{:?}", driver.live.keys())
        });
    }
}

/// Slices cannot outlive allocations that are dropped without a free.
#[test]
fn slices_end_with_dropped_allocations() {
    for location in MAPPED {
        let mut allocator = allocator(small_card(), AllocationSizes::default());
        for size in [1000, 5000, 40 * MIB] {
            drop(allocator.allocate(&desc(size, 256, location, true)).unwrap());
        }
        assert_eq!(allocator.generate_report().allocations.len(), 3, "they leak");
        drop(allocator);
        with(|driver| {
            assert!(driver.live.is_empty() && driver.violations.is_empty(), "{:?}", driver.live.keys())
        });
    }
}

/// A thread reads and writes while the allocator is dropped.
#[test]
fn slices_may_be_used_on_another_thread() {
    let mut allocator = allocator(small_card(), AllocationSizes::default());
    let mut found = allocator.allocate(&desc(1000, 256, MemoryLocation::CpuToGpu, true)).unwrap();
    let slice = found.mapped_slice_mut().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            (0..200_u8).for_each(|byte| slice.fill(byte));
            slice.iter().all(|byte| *byte == 199)
        });
        drop(allocator);
        assert!(writer.join().unwrap());
    });
}

/// Freed allocations do not keep their blocks: most are destroyed before the allocator, the rest with it.
#[test]
fn freed_allocations_keep_no_block() {
    let mut allocator = allocator(small_card(), AllocationSizes::new(MIB, MIB));
    for _ in 0..3 {
        let found: Vec<_> = (0..8)
            .map(|_| allocator.allocate(&desc(3 * MIB, 256, MemoryLocation::CpuToGpu, true)).unwrap())
            .collect();
        found.into_iter().for_each(|found| allocator.free(found).unwrap());
        with(|driver| assert!(driver.live.len() < 8, "{:?}", driver.live.keys()));
    }
    drop(allocator);
    with(|driver| {
        assert!(driver.live.is_empty() && driver.violations.is_empty(), "{:?}", driver.live.keys())
    });
}
