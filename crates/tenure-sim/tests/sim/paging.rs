//! Paging: residency, moves by the operating system, and their cost.

use std::ops::Range;

use proptest::prelude::*;
use tenure_core::device::{Device as _, *};
use tenure_core::{BufferInfo, DeviceError, Usage};
use tenure_sim::{
    BudgetChange, Device, DeviceConfig, HazardKind, Heap, Lag, List, Paging, Profile, Resource, SegmentStats,
};

use crate::common::{COMPUTE, GRAPHICS};
use crate::hazard_table::assert_listed;

const MIB: u64 = 1 << 20;
const PERMIT: fn() -> Permit<Device> = Permit::checked;

/// Heaps of 1 MiB with a buffer in each.
struct Bench {
    device: Device,
    blocks: Vec<(Heap, Resource)>,
    submitted: [u64; 8],
    is_manual: bool,
}

impl Bench {
    fn with(options: DeviceConfig, paging: Paging) -> Self {
        let is_manual = options.lag == Lag::Manual;
        let device = Device::with_config(options.paging(paging));
        Self { device, blocks: Vec::new(), submitted: [0; 8], is_manual }
    }

    /// A Direct3D 12 card with a budget of `mib` MiB.
    fn granted(mib: u64, lag: Lag) -> Self {
        let options = DeviceConfig::new(Profile::DISCRETE).budgets([mib * MIB]).lag(lag);
        Self::with(options, Paging::PCIE3_X16)
    }

    fn block(&mut self, priority: Priority) -> usize {
        let (memory, category) = (MemoryTypeId(0), HeapCategory::Buffers);
        let desc = HeapDesc { size: MIB, alignment: 64 << 10, memory, category, priority };
        let heap = self.device.create_heap(&desc).unwrap();
        let buffer = ResourceDesc::Buffer(BufferInfo::new(MIB, Usage::COPY_DST));
        let resource = self.device.create_placed(PERMIT(), &buffer, &heap, 0).unwrap();
        self.device.set_name(PERMIT(), ObjectRef::Heap(&heap), &format!("block {}", self.blocks.len()));
        self.blocks.push((heap, resource));
        self.blocks.len() - 1
    }

    fn blocks<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| self.block(Priority::Normal))
    }

    /// Submits a use of blocks, which waits for a paging point and for serials.
    fn submit(&mut self, queue: QueueId, used: &[usize], paging: PagingPoint, waits: &[QueueSerial]) {
        let used: Vec<_> = used.iter().map(|block| (*block, 0..MIB)).collect();
        self.submit_parts(queue, &used, paging, waits);
    }

    /// The same for parts of blocks.
    fn submit_parts(
        &mut self,
        queue: QueueId,
        parts: &[(usize, Range<u64>)],
        paging: PagingPoint,
        waits: &[QueueSerial],
    ) {
        let mut list = self.device.create_list(PERMIT(), queue).unwrap();
        list.begin().unwrap();
        for (block, bytes) in parts {
            let size = bytes.end - bytes.start;
            list.use_buffer(&self.blocks[*block].1, bytes.start, size, State::COPY_DST);
        }
        list.close().unwrap();
        self.submit_list(queue, list, paging, waits);
    }

    fn submit_list(&mut self, queue: QueueId, list: List, paging: PagingPoint, waits: &[QueueSerial]) {
        self.submitted[queue.index()] += 1;
        let sync = SubmitSync::new(waits, self.submitted[queue.index()]).paging(paging);
        self.device.submit_with(PERMIT(), queue, &[&list], sync).unwrap();
        // Lists are not tested here.
        std::mem::forget(list);
    }

    fn touch(&mut self, parts: &[(usize, Range<u64>)]) {
        self.submit_parts(GRAPHICS, parts, PagingPoint::RESIDENT, &[]);
        assert!(self.device.run_until_idle());
    }

    fn used(&mut self, used: &[usize]) {
        self.submit(GRAPHICS, used, PagingPoint::RESIDENT, &[]);
        if !self.is_manual {
            assert!(self.device.run_until_idle());
        }
    }

    fn make_resident(&self, block: usize) -> PagingPoint {
        self.device.make_resident(PERMIT(), &[MemoryBlock::Heap(&self.blocks[block].0)]).unwrap()
    }

    fn evict(&self, block: usize) {
        self.device.evict(PERMIT(), &[MemoryBlock::Heap(&self.blocks[block].0)]).unwrap();
    }

    fn local(&self) -> SegmentStats {
        self.device.paging_stats().segments[0]
    }

    fn hazards(&self) -> Vec<HazardKind> {
        let found = self.device.take_hazards();
        found.iter().inspect(|found| assert_listed(found)).map(|hazard| hazard.kind).collect()
    }

    /// Their texts are not compared: a random program has many.
    fn kinds(&self) -> Vec<HazardKind> {
        self.device.take_hazards().iter().map(|hazard| hazard.kind).collect()
    }

    fn destroy(&mut self, block: usize) {
        let (heap, resource) = self.blocks.remove(block);
        self.device.destroy_resource(PERMIT(), resource);
        self.device.destroy_heap(PERMIT(), heap);
    }
}

#[test]
fn residency_is_counted() {
    let mut bench = Bench::granted(100, Lag::None);
    let [block, other] = bench.blocks();
    assert_eq!(bench.local().resident, 2 * MIB);
    assert_eq!(bench.make_resident(block), PagingPoint::RESIDENT, "it is already");
    bench.evict(block);
    assert_eq!(bench.local().resident, 2 * MIB, "it counts one still");
    bench.evict(block);
    assert_eq!((bench.local().resident, bench.local().paged_out), (MIB, MIB));
    bench.used(&[other]);
    assert_eq!(bench.hazards(), []);
    bench.used(&[other, block]);
    let hazards = bench.device.take_hazards();
    assert_listed(&hazards[0]);
    assert_eq!(
        hazards[0].to_string(),
        "used while evicted: heap 'block 0' (#1): submission 2 on queue 0 uses it, in submit"
    );
    bench.evict(block);
    assert_eq!(bench.hazards(), [HazardKind::EvictedTooOften]);
    bench.make_resident(block);
    bench.used(&[block]);
    assert_eq!(bench.hazards(), []);
    assert_eq!((bench.local().resident, bench.local().paged_in), (2 * MIB, MIB));
    bench.evict(other);
    bench.destroy(other);
    bench.destroy(block);
    assert_eq!((bench.local().resident, bench.local().paged_out), (0, 2 * MIB));
}

#[test]
fn submissions_wait_for_blocks_that_are_paged_in() {
    let mut bench = Bench::granted(100, Lag::Submissions(2));
    let [block] = bench.blocks();
    bench.evict(block);
    let point = bench.make_resident(block);
    assert_ne!(point, PagingPoint::RESIDENT);
    bench.submit(GRAPHICS, &[block], point, &[]);
    bench.submit(GRAPHICS, &[block], PagingPoint::RESIDENT, &[]);
    bench.submit(COMPUTE, &[block], PagingPoint::RESIDENT, &[QueueSerial { queue: GRAPHICS, serial: 2 }]);
    assert!(bench.device.run_until_idle());
    assert_eq!(bench.hazards(), [], "the queue has waited, and so has one that waits for it");
    assert_eq!(bench.make_resident(block), PagingPoint::RESIDENT, "it has arrived");

    let [late] = bench.blocks();
    bench.evict(late);
    let point = bench.make_resident(late);
    bench.submit(COMPUTE, &[late], PagingPoint::RESIDENT, &[]);
    assert!(bench.device.run_until_idle());
    let text = bench.device.take_hazards().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let expected = format!("uses it, and has waited for paging point 1, not {}, in submit", point.0);
    assert!(text.starts_with("used while evicted: heap 'block 1'") && text.ends_with(&expected), "{text}");
}

/// The queue waits, not the CPU: a due submission runs only once its blocks are resident.
#[test]
fn blocks_that_are_paged_in_delay_their_submission() {
    let mut bench = Bench::granted(100, Lag::Submissions(0));
    let [block] = bench.blocks();
    bench.evict(block);
    let point = bench.make_resident(block);
    bench.submit(GRAPHICS, &[block], point, &[]);
    assert_eq!(bench.device.paging_stats().submissions, 0);
    assert_eq!(bench.device.completed(GRAPHICS), Ok(1), "a tick later");
    assert_eq!(bench.hazards(), []);
}

#[test]
fn impossible_paging_calls_are_errors() {
    let mut bench = Bench::granted(100, Lag::None);
    let [block] = bench.blocks();
    let placed = [MemoryBlock::Resource(&bench.blocks[block].1)];
    let refused = bench.device.make_resident(PERMIT(), &placed);
    assert!(matches!(refused, Err(DeviceError::InvalidCall { .. })), "{refused:?}");
    assert!(matches!(bench.device.evict(PERMIT(), &placed), Err(DeviceError::InvalidCall { .. })));
    let priority = bench.device.set_priority(PERMIT(), placed[0], Priority::Low);
    assert!(matches!(priority, Err(DeviceError::InvalidCall { .. })));
    let sync = SubmitSync::new(&[], 1).paging(PagingPoint(1));
    let refused = bench.device.submit_with(PERMIT(), GRAPHICS, &[], sync);
    assert!(matches!(refused, Err(DeviceError::InvalidCall { .. })), "nobody has answered that point");

    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA);
    for device in [Device::with_config(options.clone()), Device::with_config(options.paging(Paging::DISK))] {
        let refused = device.make_resident(PERMIT(), &[]);
        assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
    }
}

#[test]
fn evicting_blocks_in_flight_is_a_hazard() {
    let mut bench = Bench::granted(100, Lag::Manual);
    let [block] = bench.blocks();
    bench.used(&[block]);
    bench.device.complete(GRAPHICS, 1);
    bench.evict(block);
    assert_eq!(bench.hazards(), [HazardKind::EvictedInUse], "the CPU has not seen it complete");
    let _seen = bench.device.completed(GRAPHICS);
    bench.make_resident(block);
    bench.evict(block);
    assert_eq!(bench.hazards(), []);
}

/// The budget has room for two of three blocks: the lowest priority is evicted first, then the least recently
/// used.
#[test]
fn the_system_demotes_by_priority_and_age() {
    let mut bench = Bench::granted(2, Lag::None);
    let [first, second] = bench.blocks();
    bench.used(&[first]);
    let high = bench.block(Priority::High);
    assert_eq!((bench.local().resident, bench.local().demoted), (2 * MIB, MIB));
    // The second was used least recently.
    bench.used(&[first, high]);
    assert_eq!((bench.local().promoted, bench.local().read_remotely), (0, 0));
    bench.device.set_priority(PERMIT(), MemoryBlock::Heap(&bench.blocks[first].0), Priority::Low).unwrap();
    bench.used(&[high]);
    bench.used(&[second]);
    assert_eq!(bench.local().promoted, MIB, "in place of the first, which is of low priority");
    bench.used(&[high, second]);
    assert_eq!((bench.local().promoted, bench.local().read_remotely), (MIB, 0));
    bench.used(&[first]);
    assert_eq!(bench.local().promoted, MIB, "nothing of higher priority makes room for it");
    assert_eq!(bench.local().read_remotely, MIB);
    assert_eq!(bench.hazards(), []);
}

#[test]
fn the_system_demotes_low_priorities_even_if_used_last() {
    let mut bench = Bench::granted(2, Lag::None);
    let old = bench.block(Priority::Normal);
    let low = bench.block(Priority::Low);
    bench.used(&[old]);
    bench.used(&[low]);
    bench.block(Priority::High);
    bench.used(&[old]);
    assert_eq!((bench.local().demoted, bench.local().promoted), (MIB, 0), "the old one is there");
}

#[test]
fn the_system_demotes_nothing_in_flight() {
    let mut bench = Bench::granted(2, Lag::Manual);
    let [first, second] = bench.blocks();
    bench.used(&[first, second]);
    let third = bench.block(Priority::Normal);
    assert_eq!(
        (bench.local().resident, bench.local().demoted),
        (2 * MIB, MIB),
        "the new one, which nothing uses"
    );
    bench.device.set_budget(0, MIB).unwrap();
    assert_eq!(bench.local().resident, 2 * MIB, "both others are in flight");
    bench.device.complete(GRAPHICS, 1);
    assert_eq!(bench.local().resident, MIB);
    assert!(bench.local().over_budget > 0);
    let _ = third;
}

#[test]
fn a_submission_larger_than_the_budget_reads_remotely() {
    let mut bench = Bench::granted(2, Lag::None);
    let blocks: [usize; 4] = bench.blocks();
    bench.used(&blocks);
    let stats = bench.device.paging_stats();
    assert_eq!(stats.segments[0].read_remotely, 2 * MIB);
    assert_eq!(stats.segments[0].promoted, 0);
    let transfers = u128::from(4 * MIB) * 1_000_000_000 / 12_000_000_000;
    let overhead = u128::from(2 * Paging::PCIE3_X16.per_block);
    assert!((overhead..overhead + transfers + 4).contains(&stats.stalled), "{}", stats.stalled);
    assert_eq!(
        stats.time - u128::from(Paging::PCIE3_X16.per_submission),
        transfers / 2,
        "before it nothing ran"
    );
}

#[test]
fn the_budget_follows_its_script() {
    let script = [
        BudgetChange { after: 0, heap: 0, bytes: 4 * MIB },
        BudgetChange { after: 2, heap: 0, bytes: MIB },
        BudgetChange { after: 3, heap: 0, bytes: 8 * MIB },
    ];
    let mut bench =
        Bench::with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None), Paging::DISK.script(script));
    let blocks: [usize; 3] = bench.blocks();
    let budget = |bench: &Bench| bench.device.budget().unwrap()[0];
    assert_eq!(budget(&bench), HeapBudget { budget: 4 * MIB, usage: 3 * MIB });
    bench.used(&blocks);
    assert_eq!(budget(&bench).usage, 3 * MIB);
    bench.used(&[blocks[0]]);
    assert_eq!(budget(&bench), HeapBudget { budget: MIB, usage: MIB });
    bench.used(&blocks);
    assert_eq!(budget(&bench), HeapBudget { budget: 8 * MIB, usage: 3 * MIB });
    assert_eq!(bench.local().promoted, 2 * MIB);
    assert_eq!(bench.device.paging_stats().submissions, 3);
}

#[test]
fn unused_paged_in_bytes_are_counted() {
    let mut bench = Bench::granted(100, Lag::None);
    let [idle, used, dropped] = bench.blocks();
    for block in [idle, used, dropped] {
        bench.evict(block);
        bench.make_resident(block);
    }
    bench.used(&[used]);
    bench.evict(idle);
    bench.evict(used);
    assert_eq!(bench.local().unused, MIB);
    bench.destroy(dropped);
    assert_eq!(bench.local().unused, 2 * MIB);
}

/// Of a block used in part the unused rest is counted, with each used byte once, and anew each time the block
/// is paged in.
#[test]
fn the_rest_of_a_partly_used_block_is_unused() {
    const KIB: u64 = 1 << 10;
    let mut bench = Bench::granted(100, Lag::None);
    let [block] = bench.blocks();
    bench.touch(&[(block, 0..MIB)]);
    bench.evict(block);
    assert_eq!(bench.local().unused, 0, "it was made there, and never brought in");
    bench.make_resident(block);
    bench.touch(&[(block, 0..256 * KIB), (block, 128 * KIB..384 * KIB)]);
    bench.touch(&[(block, 512 * KIB..640 * KIB), (block, 0..64 * KIB)]);
    bench.evict(block);
    assert_eq!(bench.local().unused, (128 + 384) * KIB);
    bench.make_resident(block);
    bench.touch(&[(block, 640 * KIB..MIB)]);
    bench.destroy(block);
    assert_eq!(bench.local().unused, (128 + 384 + 640) * KIB);
    assert_eq!(bench.hazards(), []);
}

/// Two buffers in one heap count with their ranges, and the memory between them counts as unused.
#[test]
fn memory_beside_a_buffer_in_its_heap_is_unused() {
    let mut bench = Bench::granted(100, Lag::None);
    let [block] = bench.blocks();
    let desc = ResourceDesc::Buffer(BufferInfo::new(MIB / 4, Usage::COPY_DST));
    let heap = &bench.blocks[block].0;
    let place = |offset| bench.device.create_placed(PERMIT(), &desc, heap, offset).unwrap();
    let placed = [place(0), place(MIB / 2)];
    bench.evict(block);
    bench.make_resident(block);
    let mut list = bench.device.create_list(PERMIT(), GRAPHICS).unwrap();
    list.begin().unwrap();
    placed.iter().for_each(|buffer| list.use_buffer(buffer, 0, MIB / 4, State::COPY_DST));
    list.close().unwrap();
    bench.submit_list(GRAPHICS, list, PagingPoint::RESIDENT, &[]);
    assert!(bench.device.run_until_idle());
    bench.evict(block);
    assert_eq!(bench.local().unused, MIB / 2);
    placed.into_iter().for_each(|buffer| bench.device.destroy_resource(PERMIT(), buffer));
}

/// If the operating system brings a block back, its unused rest counts, too; remote reads have none.
#[test]
fn unused_bytes_promoted_by_the_system_are_counted() {
    let mut bench = Bench::granted(1, Lag::None);
    let [first, second] = bench.blocks();
    bench.touch(&[(first, 0..192), (second, MIB - 64..MIB)]);
    let SegmentStats { promoted, read_remotely, unused, .. } = bench.local();
    assert_eq!((promoted, read_remotely, unused), (0, 192, 0), "the second is there");
    bench.touch(&[(first, 64..192)]);
    assert_eq!((bench.local().promoted, bench.local().unused), (MIB, 0));
    bench.touch(&[(second, 0..64)]);
    assert_eq!((bench.local().promoted, bench.local().unused), (2 * MIB, MIB - 128));
}

/// A card of 8 MiB with 16 MiB of system memory.
#[test]
fn blocks_may_be_as_large_as_all_memory() {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB, 16 * MIB]).lag(Lag::None);
    let mut bench = Bench::with(options, Paging::PCIE3_X16);
    let blocks: [usize; 24] = bench.blocks();
    assert!(bench.local().resident <= 8 * MIB && blocks.len() == 24);
    let (memory, category) = (MemoryTypeId(0), HeapCategory::Buffers);
    let desc = HeapDesc { size: MIB, alignment: 64 << 10, memory, category, priority: Priority::Normal };
    assert!(bench.device.create_heap(&desc).is_err_and(|error| error.is_shortage()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random calls, compared with counts and sums of a model.
    #[test]
    fn random_programs_keep_the_sums(
        granted in prop_oneof![Just(1_000_u64), 2..8_u64],
        calls in prop::collection::vec((0..8_u8, any::<u16>()), 1..200),
    ) {
        let mut bench = Bench::granted(granted, Lag::None);
        let mut counts = Vec::new();
        for (call, choice) in calls {
            let block = usize::from(choice) % counts.len().max(1);
            match call {
                0 if counts.len() < 16 => {
                    bench.block([Priority::Low, Priority::Normal, Priority::High][usize::from(choice % 3)]);
                    counts.push(1_u32);
                }
                1 if !counts.is_empty() => {
                    bench.destroy(block);
                    counts.remove(block);
                }
                2 | 3 if !counts.is_empty() => {
                    bench.make_resident(block);
                    counts[block] += 1;
                }
                4 | 5 if !counts.is_empty() => {
                    bench.evict(block);
                    let wrong = usize::from(counts[block] == 0);
                    prop_assert_eq!(bench.kinds(), vec![HazardKind::EvictedTooOften; wrong]);
                    counts[block] = counts[block].saturating_sub(1);
                }
                _ => {
                    let used: Vec<_> = (0..counts.len()).filter(|block| choice >> block & 1 == 1).collect();
                    let wrong = used.iter().filter(|block| counts[**block] == 0).count();
                    bench.used(&used);
                    prop_assert_eq!(bench.kinds(), vec![HazardKind::UsedWhileEvicted; wrong]);
                }
            }
            let wanted = counts.iter().filter(|count| **count > 0).count() as u64;
            let resident = bench.local().resident / MIB;
            prop_assert!(resident <= wanted.min(granted), "{} of {}", resident, wanted);
            prop_assert!(granted < 1000 || resident == wanted, "nothing is demoted");
        }
    }
}

/// The address leads to the object: `Gpu::loss` names it.
#[test]
fn a_fault_of_evicted_memory_has_its_address() {
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual).page_faults(true);
    let mut bench = Bench::with(options, Paging::PCIE3_X16);
    let [_, block] = bench.blocks();
    let address = bench.device.gpu_address(&bench.blocks[block].1).unwrap();
    bench.evict(block);
    bench.submit_parts(GRAPHICS, &[(block, 4096..8192)], PagingPoint::RESIDENT, &[]);
    let _ends_with_the_loss = bench.device.run_until_idle();
    let [fault] = &bench.device.device_faults()[..] else { panic!("one fault") };
    assert_eq!(fault.addresses, address + 4096..address + 4097);
    assert!(fault.description.contains("'block 1' (#3) is evicted"), "{}", fault.description);
}
