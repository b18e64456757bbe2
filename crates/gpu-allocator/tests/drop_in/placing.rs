//! Locations and lifetimes of allocations.

use ash::vk::{self, Handle as _};
use gpu_allocator::vulkan::{Allocation, AllocationScheme};
use gpu_allocator::{AllocationError, AllocationSizes, MemoryLocation};
use presser::Slab as _;
use test_random::Rng;

use crate::MIB;
use crate::fake::{Driver, objects, with};
use crate::ours::{allocator, desc};

fn card() -> Driver {
    Driver::discrete(1 << 30, 1 << 30)
}

/// The memory handle and byte range of an allocation.
fn span(found: &Allocation) -> (u64, u64, u64) {
    // SAFETY: the handle is only compared.
    let memory = unsafe { found.memory() };
    (memory.as_raw(), found.offset(), found.offset() + found.size())
}

/// Creates and frees buffers and images; returns their locations.
fn program(granularity: u64) -> Vec<(bool, (u64, u64, u64))> {
    let mut allocator = allocator(Driver { granularity, ..card() }, AllocationSizes::new(16 * MIB, 8 * MIB));
    let mut live: Vec<(bool, Allocation)> = Vec::new();
    let mut spans = Vec::new();
    let mut rng = Rng::new(7);
    for _ in 0..2000 {
        if rng.below(3) == 0 && !live.is_empty() {
            let (_, gone) = live.swap_remove(rng.below(live.len() as u64) as usize);
            allocator.free(gone).unwrap();
            continue;
        }
        let linear = rng.below(2) == 0;
        let most = if rng.below(20) == 0 { 2 * MIB } else { 20_000 };
        let size = 1 + rng.below(most);
        let align = 1 << rng.below(10);
        let found = allocator.allocate(&desc(size, align, MemoryLocation::GpuOnly, linear)).unwrap();
        assert!(found.offset().is_multiple_of(align) && found.size() == size);
        let (memory, begin, end) = span(&found);
        for (other_linear, other) in &live {
            let (other_memory, other_begin, other_end) = span(other);
            if memory != other_memory {
                continue;
            }
            assert!(end <= other_begin || other_end <= begin, "{found:?} overlaps {other:?}");
            let pages = |begin: u64, end: u64| (begin / granularity, (end - 1) / granularity);
            let (page, other_page) = (pages(begin, end), pages(other_begin, other_end));
            let share = page.0 <= other_page.1 && other_page.0 <= page.1;
            assert!(linear == *other_linear || !share, "{found:?} shares a page with {other:?}");
        }
        spans.push((linear, (memory, begin, end)));
        live.push((linear, found));
    }
    with(|driver| {
        assert!(driver.live.values().all(|memory| memory.has_address && !memory.dedicated));
        assert!(driver.violations.is_empty());
    });
    spans
}

#[test]
fn nothing_overlaps_and_images_keep_their_distance() {
    for granularity in [1, 64, 1024, 4096, 64 << 10] {
        program(granularity);
    }
}

#[test]
fn placement_repeats() {
    assert_eq!(program(1024), program(1024));
}

#[test]
fn mapped_memory_is_at_its_reported_address() {
    let mut allocator = allocator(card(), AllocationSizes::default());
    let mut found: Vec<Allocation> = [MemoryLocation::CpuToGpu, MemoryLocation::GpuToCpu]
        .into_iter()
        .cycle()
        .take(64)
        .map(|location| allocator.allocate(&desc(1000, 64, location, true)).unwrap())
        .collect();
    for (number, allocation) in (0_u8..).zip(&mut found) {
        allocation.mapped_slice_mut().unwrap().fill(number);
        assert_eq!(allocation.size(), 1000);
    }
    for (number, allocation) in (0_u8..).zip(&mut found) {
        assert!(allocation.mapped_slice().unwrap().iter().all(|byte| *byte == number));
        let address = allocation.mapped_ptr().unwrap().as_ptr();
        assert_eq!(allocation.base_ptr(), address.cast_const().cast());
        presser::copy_from_slice_to_offset(&[255_u8; 10], allocation, 5).unwrap();
        assert_eq!(allocation.mapped_slice().unwrap()[4..7], [number, 255, 255]);
        assert_eq!(allocation.try_as_mapped_slab().unwrap().size(), 1000);
    }
    let mut local = allocator.allocate(&desc(1000, 64, MemoryLocation::GpuOnly, true)).unwrap();
    assert!(local.mapped_ptr().is_none() && local.mapped_slice().is_none());
    assert!(local.mapped_slice_mut().is_none() && local.try_as_mapped_slab().is_none());
}

#[test]
fn dedicated_memory_has_the_exact_size_and_is_freed_at_once() {
    let mut allocator = allocator(card(), AllocationSizes::default());
    let mut image = desc(100_001, 64, MemoryLocation::GpuOnly, false);
    image.allocation_scheme = AllocationScheme::DedicatedImage(vk::Image::from_raw(9));
    let found = allocator.allocate(&image).unwrap();
    assert!(found.is_dedicated() && found.offset() == 0);
    with(|driver| {
        let memory = driver.live.values().next().unwrap();
        assert!(memory.dedicated && memory.size == 100_001);
    });
    assert_eq!(allocator.capacity(), 100_001);
    allocator.free(found).unwrap();
    assert_eq!(allocator.capacity(), 0);
}

#[test]
fn null_allocations_are_empty() {
    let mut allocator = allocator(card(), AllocationSizes::default());
    let null = Allocation::default();
    assert!(null.is_null() && null.chunk_id().is_none() && !null.is_dedicated());
    assert_eq!((null.offset(), null.size()), (0, 0));
    // SAFETY: the handle is only compared.
    assert!(unsafe { null.memory() }.is_null());
    allocator.free(null).unwrap();
}

#[test]
fn memory_of_another_allocator_is_refused_without_side_effects() {
    let mut mine = allocator(card(), AllocationSizes::default());
    let (instance, device, physical_device) = objects();
    let mut other = gpu_allocator::vulkan::Allocator::new(&gpu_allocator::vulkan::AllocatorCreateDesc {
        instance,
        device,
        physical_device,
        debug_settings: Default::default(),
        buffer_device_address: false,
        allocation_sizes: AllocationSizes::default(),
    })
    .unwrap();
    let wanted = desc(1000, 64, MemoryLocation::GpuOnly, true);
    let found = mine.allocate(&wanted).unwrap();
    let bystander = other.allocate(&wanted).unwrap();
    let error = other.free(found).unwrap_err();
    assert!(matches!(error, AllocationError::Internal(_)), "{error:?}");
    assert_eq!(other.generate_report().allocations.len(), 1);
    assert_eq!(mine.generate_report().allocations.len(), 1, "the leak is reported");
    other.free(bystander).unwrap();
}

#[test]
fn reports_have_names() {
    let mut allocator = allocator(card(), AllocationSizes::default());
    let wanted = desc(1000, 64, MemoryLocation::GpuOnly, true);
    let mut rock = allocator.allocate(&wanted).unwrap();
    allocator.allocate(&wanted).map(|_dropped_unfreed| ()).unwrap();
    allocator.rename_allocation(&mut rock, "rock").unwrap();
    let report = allocator.generate_report();
    let names: Vec<&str> = report.allocations.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["rock", "thing"]);
    assert_eq!(report.blocks.len(), 1);
    assert_eq!(report.blocks[0].allocations, 0..2);
    assert_eq!(report.total_allocated_bytes, 2000);
    assert_eq!(report.total_capacity_bytes, allocator.capacity());
    allocator.free(rock).unwrap();
    let report = allocator.generate_report();
    assert_eq!(report.allocations.len(), 1, "a dropped allocation is still listed");
    assert_eq!(report.allocations[0].name, "thing");
    allocator.report_memory_leaks(log::Level::Info);
    assert!(format!("{allocator:?}").contains("thing"));
}

#[test]
fn blocks_follow_demand() {
    let sizes = AllocationSizes::new(128 * MIB, 64 * MIB);
    let mut allocator = allocator(card(), sizes);
    let wanted = desc(MIB, 256, MemoryLocation::GpuOnly, true);
    let first = allocator.allocate(&wanted).unwrap();
    assert!(allocator.capacity() <= 2 * MIB, "{} B for 1 MiB", allocator.capacity());
    let more: Vec<Allocation> = (0..500).map(|_| allocator.allocate(&wanted).unwrap()).collect();
    let full = allocator.capacity();
    // At most a sixteenth more than the live bytes: the peak of a program that loads a scene is no higher than with
    // few large blocks.
    assert!(full <= 501 * MIB * 17 / 16, "{full} B for 501 MiB");
    with(|driver| assert!(driver.allocations_made < 64, "{} driver calls", driver.allocations_made));
    more.into_iter().for_each(|found| allocator.free(found).unwrap());
    assert!(allocator.capacity() < full / 2, "{} B of {full} B are kept", allocator.capacity());
    allocator.free(first).unwrap();
    // A program with small allocations in each frame makes no driver calls.
    let calls = with(|driver| driver.allocations_made);
    for _ in 0..1000 {
        let found = allocator.allocate(&wanted).unwrap();
        allocator.free(found).unwrap();
    }
    with(|driver| assert_eq!(driver.allocations_made, calls));
}
