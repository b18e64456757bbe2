//! The use of the program's own heap by an allocation.

use gpu_allocator::{AllocationSizes, MemoryLocation};

use crate::fake::Driver;
use crate::{MIB, ours};

const LOCATIONS: [MemoryLocation; 4] =
    [MemoryLocation::Unknown, MemoryLocation::GpuOnly, MemoryLocation::CpuToGpu, MemoryLocation::GpuToCpu];

#[test]
fn an_allocation_takes_only_its_name_from_the_program_s_heap() {
    let mut allocator = ours::allocator(Driver::discrete(256 * MIB, 256 * MIB), AllocationSizes::default());
    let mut round = |count: u64| {
        let mut live = Vec::with_capacity(count as usize);
        let traffic = allocation_counter::measure(|| {
            for (index, location) in (0..count).zip(LOCATIONS.into_iter().cycle()) {
                let wanted = ours::desc(1 + index * 3, 256, location, index % 2 == 0);
                live.push(allocator.allocate(&wanted).unwrap());
            }
            live.drain(..).for_each(|allocation| allocator.free(allocation).unwrap());
        });
        traffic.count_total
    };
    round(1000);
    assert_eq!(round(1000), 1000, "the names, which reports show");
}
