//! Cards whose memory is shared with other programs.

use ash::vk::{self, MemoryPropertyFlags as Flags};
use gpu_allocator::{AllocationSizes, MemoryLocation};

use crate::fake::{Driver, with};
use crate::{MIB, ours};

const LOCAL: Flags = Flags::DEVICE_LOCAL;
const MAPPED: Flags = Flags::from_raw(Flags::HOST_VISIBLE.as_raw() | Flags::HOST_COHERENT.as_raw());
const CACHED: Flags = Flags::HOST_CACHED;
const GIB: u64 = 1 << 30;

/// Memory types as listed by drivers, with the bytes of each heap. The first heap is the card's.
fn cards() -> Vec<(&'static str, Driver)> {
    let card = |types: &[(Flags, u32)], heaps: &[u64]| Driver {
        types: types.to_vec(),
        heaps: heaps.to_vec(),
        ..Driver::discrete(0, 0)
    };
    let nvidia = [(Flags::empty(), 1), (LOCAL, 0), (MAPPED, 1), (MAPPED | CACHED, 1), (LOCAL | MAPPED, 2)];
    let amd = [(LOCAL, 0), (MAPPED, 1), (LOCAL | MAPPED, 2), (MAPPED | CACHED, 1)];
    let rebar = [(LOCAL, 0), (LOCAL | MAPPED, 0), (MAPPED, 1), (MAPPED | CACHED, 1)];
    vec![
        ("a card with a window", card(&nvidia, &[4 * GIB, 16 * GIB, 246 * MIB])),
        ("a card with a window, in the order of others", card(&amd, &[4 * GIB, 16 * GIB, 256 * MIB])),
        ("a card that is mapped as a whole", card(&rebar, &[4 * GIB, 16 * GIB])),
    ]
}

fn is_local(found: &gpu_allocator::vulkan::Allocation) -> bool {
    found.memory_properties().contains(LOCAL)
}

/// Another program uses most of the card, so the budget is small. Render targets and sampled textures are placed in
/// the card's memory while the driver allows it; staging buffers stay in their preferred memory.
#[test]
fn pressure_of_other_programs_moves_no_resource_from_the_card() {
    for (name, mut card) in cards() {
        let heaps = card.heaps.clone();
        card.budget = Some(heaps.iter().map(|size| size / 8).collect());
        let mut allocator = ours::allocator(card, AllocationSizes::default());
        let mut live = Vec::new();
        for number in 0..64 {
            let target = ours::desc(32 * MIB, 64 << 10, MemoryLocation::GpuOnly, false);
            let found = allocator.allocate(&target).unwrap();
            assert!(is_local(&found), "{name}: target {number}");
            live.push(found);
            let staging = ours::desc(MIB / 2, 256, MemoryLocation::CpuToGpu, true);
            live.push(allocator.allocate(&staging).unwrap());
        }
        assert!(with(|driver| driver.taken(0)) > heaps[0] / 8, "{name}: more than was granted");
        assert_eq!((allocator.spilled_allocations(), allocator.spilled_bytes()), (0, 0), "{name}");
        live.into_iter().for_each(|found| allocator.free(found).unwrap());
        drop(allocator);
        with(|driver| assert!(driver.live.is_empty() && driver.violations.is_empty(), "{name}"));
    }
}

/// A full card refuses: later resources are placed elsewhere, and counted.
#[test]
fn refused_placements_are_counted() {
    for (name, card) in cards() {
        let size = card.heaps[0];
        let mut allocator = ours::allocator(card, AllocationSizes::default());
        let mut live = Vec::new();
        let target = ours::desc(32 * MIB, 64 << 10, MemoryLocation::GpuOnly, false);
        for _ in 0..size / (32 * MIB) + 16 {
            live.push(allocator.allocate(&target).unwrap());
        }
        let of_card = |found: &&gpu_allocator::vulkan::Allocation| is_local(found);
        let outside = live.iter().filter(|found| !of_card(found)).count() as u64;
        let spilled = allocator.spilled_allocations();
        // The BAR window is part of the card's memory, but not preferred for targets.
        assert!(spilled >= outside.max(1) && spilled <= 32, "{name}: {spilled} counted, {outside} outside");
        assert_eq!(allocator.spilled_bytes(), spilled * 32 * MIB, "{name}");
        // Freed memory of the card is reused first.
        let local = live.iter().position(is_local).unwrap();
        allocator.free(live.swap_remove(local)).unwrap();
        let again = allocator.allocate(&target).unwrap();
        assert!(is_local(&again), "{name}");
        assert_eq!(allocator.spilled_allocations(), spilled, "{name}: no more than before");
        live.push(again);
        live.into_iter().for_each(|found| allocator.free(found).unwrap());
    }
}

/// Dedicated memory of an image is counted as well.
#[test]
fn dedicated_images_are_counted() {
    let mut allocator = ours::allocator(Driver::discrete(768 * MIB, GIB), AllocationSizes::default());
    let mut desc = ours::desc(500 * MIB, 64 << 10, MemoryLocation::GpuOnly, false);
    desc.allocation_scheme = gpu_allocator::vulkan::AllocationScheme::DedicatedImage(vk::Image::null());
    let first = allocator.allocate(&desc).unwrap();
    assert_eq!(allocator.spilled_bytes(), 0);
    let second = allocator.allocate(&desc).unwrap();
    assert!(is_local(&first));
    assert_eq!((allocator.spilled_allocations(), allocator.spilled_bytes()), (1, 500 * MIB));
    allocator.free(first).unwrap();
    allocator.free(second).unwrap();
}
