//! Scenes that each exceed one limit.

use crate::fake::{Driver, with};
use crate::{MIB, ours, theirs};

/// 96 times 16 MiB on a card with 1 GiB.
#[test]
fn allocations_beyond_the_card_go_to_system_memory() {
    let card = || Driver::discrete(1 << 30, 4 << 30);
    let sizes = original::AllocationSizes::new(128 * MIB, 64 * MIB).with_max_device_memblock_size(256 * MIB);
    let mut original = theirs::allocator(card(), sizes);
    let (found, error) = theirs::scene(&mut original, 96, 16 * MIB);
    assert!(matches!(error, Some(original::AllocationError::OutOfMemory)), "{error:?}");
    assert!(found.len() <= 64, "{} fit into the card's memory", found.len());
    found.into_iter().for_each(|allocation| original.free(allocation).unwrap());
    drop(original);

    let sizes =
        gpu_allocator::AllocationSizes::new(128 * MIB, 64 * MIB).with_max_device_memblock_size(256 * MIB);
    let mut allocator = ours::allocator(card(), sizes);
    let (found, error) = ours::scene(&mut allocator, 96, 16 * MIB);
    assert!(error.is_none(), "{error:?}");
    let local = found
        .iter()
        .filter(|found| found.memory_properties().contains(ash::vk::MemoryPropertyFlags::DEVICE_LOCAL));
    let local = local.count();
    assert!(local >= 64, "the card is full first: {local}");
    assert_eq!(found.len(), 96);
    found.into_iter().for_each(|allocation| allocator.free(allocation).unwrap());
    drop(allocator);
    with(|driver| assert!(driver.live.is_empty() && driver.violations.is_empty(), "{:?}", driver.violations));
}

/// 6,000 times 3 MiB in blocks of 4 MiB on a device with a limit of 4,096 allocations.
#[test]
fn the_limit_on_allocations_is_never_reached() {
    let card = || Driver::discrete(24 << 30, 4 << 30);
    let sizes = original::AllocationSizes::new(4 * MIB, 4 * MIB);
    let mut original = theirs::allocator(card(), sizes);
    let (found, error) = theirs::scene(&mut original, 6000, 3 * MIB);
    assert_eq!(found.len(), 4096);
    let lost = |error: &original::AllocationError| matches!(error, original::AllocationError::Internal(_));
    assert!(error.as_ref().is_some_and(lost), "{error:?}: which wgpu treats as a lost device");
    drop((found, original));

    let mut allocator = ours::allocator(card(), gpu_allocator::AllocationSizes::new(4 * MIB, 4 * MIB));
    let (found, error) = ours::scene(&mut allocator, 6000, 3 * MIB);
    assert!(error.is_none(), "{} were found: {error:?}", found.len());
    with(|driver| assert!(driver.live.len() < 2048, "{} allocations", driver.live.len()));
    found.into_iter().for_each(|allocation| allocator.free(allocation).unwrap());
    drop(allocator);
    with(|driver| assert!(driver.live.is_empty() && driver.violations.is_empty()));
}

/// The budget alone does not move resources out of the card's memory: the operating system pages, and render targets
/// would be slow elsewhere.
#[test]
fn allocations_beyond_the_budget_stay_in_the_card() {
    let mut card = Driver::discrete(8 << 30, 4 << 30);
    card.budget = Some(vec![512 << 20, 4 << 30, 256 << 20]);
    let mut allocator = ours::allocator(card, gpu_allocator::AllocationSizes::default());
    let (found, error) = ours::scene(&mut allocator, 64, 16 * MIB);
    assert!(error.is_none(), "{error:?}");
    with(|driver| assert!(driver.taken(0) >= 1 << 30, "{} MiB of the card", driver.taken(0) >> 20));
    assert_eq!(allocator.spilled_allocations(), 0);
    drop(found);
}

/// On a Vulkan 1.0 instance the budget reads 0. Blocks are created and freed as without a budget.
#[test]
fn a_budget_of_zero_is_unknown() {
    let lives = |budget: Option<Vec<u64>>| {
        let card = Driver { budget, ..Driver::discrete(1 << 30, 1 << 30) };
        let mut allocator = ours::allocator(card, gpu_allocator::AllocationSizes::default());
        let locations = [gpu_allocator::MemoryLocation::GpuOnly, gpu_allocator::MemoryLocation::CpuToGpu];
        let mut lives = Vec::new();
        for size in [MIB, 20 * MIB, 300 * MIB, 40 * MIB] {
            let found = locations.map(|location| allocator.allocate(&ours::desc(size, 256, location, true)));
            found.into_iter().for_each(|found| allocator.free(found.unwrap()).unwrap());
            lives.push(with(|driver| (driver.allocations_made, driver.live.len())));
        }
        lives
    };
    assert_eq!(lives(Some(Vec::new())), lives(None));
    assert_eq!(lives(Some(vec![0, 0, 0])), lives(None));
}

/// All budgets are exceeded, but memory is left: paging is better than an error.
#[test]
fn a_budget_is_no_limit() {
    let mut card = Driver::discrete(1 << 30, 1 << 30);
    card.budget = Some(vec![1, 1, 1]);
    let mut allocator = ours::allocator(card, gpu_allocator::AllocationSizes::default());
    let (found, error) = ours::scene(&mut allocator, 64, 16 * MIB);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.len(), 64);
}

#[test]
fn full_heaps_are_out_of_memory() {
    let mut allocator =
        ours::allocator(Driver::discrete(64 << 20, 64 << 20), gpu_allocator::AllocationSizes::default());
    let (found, error) = ours::scene(&mut allocator, 1000, MIB);
    assert!(matches!(error, Some(gpu_allocator::AllocationError::OutOfMemory)), "{error:?}");
    assert!(found.len() > 64 + 64, "both heaps and the window are used: {} MiB", found.len());
    let report = allocator.generate_report();
    assert_eq!(report.total_allocated_bytes, found.len() as u64 * MIB);
    // Freed memory can be allocated again.
    let mut found = found;
    allocator.free(found.pop().unwrap()).unwrap();
    let (again, error) = ours::scene(&mut allocator, 1, MIB);
    assert!(error.is_none() && again.len() == 1);
    with(|driver| assert!(driver.violations.is_empty(), "{:?}", driver.violations));
}
