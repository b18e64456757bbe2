//! Pools of bare heaps on simulated devices.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

use tenure_core::DeviceError;
use tenure_core::device::{DeviceHeaps, HeapCategory, MemoryTypeId, Permit, prelude::*};
use tenure_core::memory::heap_pools::{
    BlockSizes, HeapPools, HeapPoolsConfig, MemoryError, MemoryRange, MemoryRequest,
};
use tenure_core::memory::{MemoryUse, TypeOrder, type_order};
use tenure_sim as sim;
use test_random::Rng;

const MIB: u64 = 1 << 20;

type Heaps = DeviceHeaps<Box<sim::Device>>;
type Pools = HeapPools<Heaps>;

fn heaps(device: sim::Device) -> Heaps {
    DeviceHeaps::new(Box::new(device), Permit::checked())
}

fn pools(options: sim::DeviceConfig) -> (Pools, TypeOrder, sim::Faults) {
    let device = sim::Device::with_config(options);
    let (order, faults) = (type_order(device.properties(), MemoryUse::GpuOnly), device.faults());
    (HeapPools::new(heaps(device), HeapPoolsConfig::default()).unwrap(), order, faults)
}

fn take(
    pools: &mut Pools,
    order: &[MemoryTypeId],
    size: u64,
) -> Result<MemoryRange, MemoryError<DeviceError>> {
    let request = MemoryRequest::new(size, 256, order, HeapCategory::Any);
    pools.allocate(request, |_| ()).map(|(range, ())| range)
}

#[test]
fn totals_are_those_of_live_ranges() {
    let (mut pools, order, _) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
    let mut rng = Rng::new(3);
    let mut live: Vec<MemoryRange> = Vec::new();
    for _ in 0..3000 {
        if rng.below(2) == 0 && !live.is_empty() {
            let gone = live.swap_remove(rng.below(live.len() as u64) as usize);
            pools.free(&gone).unwrap();
            assert_eq!(pools.free(&gone), Err(MemoryError::DoubleFree));
        } else {
            let most = if rng.below(50) == 0 { 100 * MIB } else { 200_000 };
            live.push(take(&mut pools, &order, 1 + rng.below(most)).unwrap());
        }
        let totals = pools.totals();
        assert_eq!(totals.allocations, live.len() as u64);
        assert_eq!(totals.requested, live.iter().map(MemoryRange::size).sum::<u64>());
        assert!(totals.requested <= totals.reserved);
    }
    let blocks = pools.blocks();
    assert_eq!(blocks.iter().map(|block| block.size).sum::<u64>(), pools.totals().reserved);
    assert_eq!(blocks.len() as u64, pools.totals().heaps);
    assert_eq!(blocks.iter().map(|block| block.allocations.len()).sum::<usize>(), live.len());
    for block in &blocks {
        let mut end = 0;
        let mut inside = block.allocations.clone();
        inside.sort_by_key(|found| found.offset);
        for found in inside {
            assert!(found.offset >= end && found.offset + found.size <= block.size, "{found:?}");
            end = found.offset + found.size;
        }
    }
    live.iter().for_each(|range| pools.free(range).unwrap());
    pools.trim();
    assert_eq!((pools.totals().heaps, pools.totals().reserved), (0, 0));
}

/// Drivers without a budget report 0: this frees no block, and uses no other memory.
#[test]
fn a_budget_of_zero_is_unknown() {
    let run = |budgets: Vec<u64>| {
        let options = sim::DeviceConfig::new(sim::Profile::DISCRETE).budgets(budgets);
        let (mut pools, order, _) = pools(options);
        let mut reserved = Vec::new();
        for size in [MIB, 20 * MIB, 200 * MIB, 40 * MIB] {
            let found = take(&mut pools, &order, size).unwrap();
            assert_eq!(found.memory(), order[0]);
            pools.free(&found).unwrap();
            reserved.push((pools.totals().heaps, pools.totals().reserved));
        }
        reserved
    };
    assert_eq!(run(vec![0; 2]), run(Vec::new()));
}

#[test]
fn each_of_many_ranges_keeps_its_name() {
    let (mut pools, order, _) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
    let mut rng = Rng::new(5);
    let mut live: Vec<(MemoryRange, String)> = Vec::new();
    // Each wave needs more records than exist: it takes all vacant ones and creates others.
    for wave in 1..8 {
        for number in 0..200 * wave {
            let mut request = MemoryRequest::new(1000, 256, &order, HeapCategory::Any);
            let name = format!("{wave} {number}");
            request.name = name.clone().into();
            live.push((pools.allocate(request, |_| ()).unwrap().0, name));
        }
        for _ in 0..150 * wave {
            let (gone, name) = live.swap_remove(rng.below(live.len() as u64) as usize);
            assert_eq!(pools.name(&gone).unwrap().as_str(), name);
            pools.free(&gone).unwrap();
            assert_eq!(pools.name(&gone), None);
            assert_eq!(pools.free(&gone), Err(MemoryError::DoubleFree));
        }
        live.sort_by_key(|(range, _)| range.serial());
        let told: Vec<_> = pools.live().into_iter().map(|found| (found.serial, found.name)).collect();
        let known = live.iter().map(|(range, name)| (range.serial(), name.clone().into()));
        assert_eq!(told, known.collect::<Vec<_>>());
        let placed = pools.blocks().iter().map(|block| block.allocations.len()).sum::<usize>();
        assert_eq!(placed, live.len());
    }
    assert!(live.len() > 1000);
}

#[test]
fn other_pools_are_not_touched() {
    let (mut mine, order, _) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
    let (mut others, ..) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
    let range = take(&mut mine, &order, 1000).unwrap();
    let theirs = take(&mut others, &order, 1000).unwrap();
    assert_eq!(others.free(&range), Err(MemoryError::Foreign));
    assert_eq!(others.rename(&range, "x".into()), Err(MemoryError::Foreign));
    mine.rename(&range, "rock".into()).unwrap();
    assert_eq!(mine.live()[0].name.as_str(), "rock");
    others.free(&theirs).unwrap();
    mine.free(&range).unwrap();
}

#[test]
fn one_refusal_is_never_seen_and_many_are_out_of_memory() {
    for kind in
        [sim::FaultKind::OutOfMemory, sim::FaultKind::OutOfHostMemory, sim::FaultKind::TooManyAllocations]
    {
        for nth in 1..20 {
            let (mut pools, order, faults) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
            faults.inject(sim::Fault::nth(nth, kind.clone()).of(sim::CallKind::CreateHeap));
            let live: Vec<_> =
                (0..200).map(|step| take(&mut pools, &order, MIB + step * 10_000).unwrap()).collect();
            live.iter().for_each(|range| pools.free(range).unwrap());
        }
        let (mut pools, order, faults) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
        let first = take(&mut pools, &order, 1000).unwrap();
        faults.inject(sim::Fault::nth(1, kind).of(sim::CallKind::CreateHeap).onwards());
        let error = take(&mut pools, &order, 3 * MIB).unwrap_err();
        assert!(matches!(error, MemoryError::OutOfMemory { size, .. } if size == 3 * MIB), "{error}");
        assert!(take(&mut pools, &order, 1000).is_ok(), "what there is still serves");
        faults.clear();
        assert!(take(&mut pools, &order, 3 * MIB).is_ok());
        pools.free(&first).unwrap();
    }
}

#[test]
fn impossible_requests_are_refused() {
    let (mut pools, order, _) = pools(sim::DeviceConfig::new(sim::Profile::DISCRETE));
    let mut refuse = |size, alignment, memory: &[MemoryTypeId]| {
        let request = MemoryRequest::new(size, alignment, memory, HeapCategory::Any);
        pools.allocate(request, |_| ()).map(|_| ()).unwrap_err()
    };
    for (size, alignment) in [(0, 1), (u64::MAX, 1), (1, 0), (1, 3), (1, 1 << 63)] {
        let error = refuse(size, alignment, &order);
        assert!(
            matches!(error, MemoryError::InvalidRequest { .. }),
            "{size} aligned to {alignment}: {error}"
        );
    }
    assert_eq!(refuse(1, 1, &[]), MemoryError::NoMemoryType);
    assert_eq!(refuse(1, 1, &[MemoryTypeId(77)]), MemoryError::NoMemoryType);
    assert!(matches!(refuse(1 << 47, 1, &order), MemoryError::OutOfMemory { .. }));
    assert_eq!(pools.totals().heaps_made, 0);
}

#[test]
fn configurations_are_checked() {
    let fine = HeapPoolsConfig::default();
    for wrong in [
        fine.granule(48),
        fine.growth_divisor(0),
        fine.device_blocks(BlockSizes { min: 2 * MIB, max: MIB }),
        fine.host_blocks(BlockSizes { min: 1, max: MIB }),
    ] {
        assert!(HeapPools::new(heaps(sim::Device::new(sim::Profile::DISCRETE)), wrong).is_err(), "{wrong:?}");
    }
}
