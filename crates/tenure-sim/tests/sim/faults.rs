//! Injected failures, and the lost device.

use std::time::{Duration, Instant};

use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use crate::common::*;

/// Makes each call that can fail once; returns the failed ones with their errors.
fn every_call(device: &Device) -> Vec<(CallKind, DeviceError)> {
    let mut failed = Vec::new();
    let mut note =
        |call, result: Result<(), DeviceError>| failed.extend(result.err().map(|error| (call, error)));
    let heap_desc = HeapDesc {
        size: 1 << 20,
        alignment: 64 << 10,
        memory: MemoryTypeId(0),
        category: HeapCategory::Any,
        priority: Priority::Normal,
    };
    note(CallKind::CreateHeap, device.create_heap(&heap_desc).map(drop));
    let heap = device.create_heap(&heap_desc);
    note(
        CallKind::CreateCommitted,
        device.create_committed(&buffer(8, Usage::COPY_SRC), MemoryTypeId(1)).map(drop),
    );
    if let Ok(heap) = &heap {
        note(
            CallKind::CreatePlaced,
            device.create_placed(Permit::checked(), &buffer(8, Usage::VERTEX), heap, 0).map(drop),
        );
    }
    note(CallKind::CreateReserved, device.create_reserved(&buffer(8, Usage::VERTEX)).map(drop));
    note(CallKind::CreateList, device.create_list(Permit::checked(), GRAPHICS).map(drop));
    note(CallKind::Submit, device.submit(Permit::checked(), GRAPHICS, &[], &[], 1));
    let serial = device.completed(GRAPHICS).unwrap_or(0) + 1;
    note(CallKind::UpdateTiles, device.update_tiles(Permit::checked(), GRAPHICS, &[], &[], serial));
    failed
}

#[test]
fn the_nth_call_fails_once_and_changes_nothing() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let calls = every_call(&device).len();
    assert_eq!(calls, 0);
    for n in 1..=8 {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
        device.faults().inject(Fault::nth(n, FaultKind::OutOfHostMemory));
        let failed = every_call(&device);
        // Errors of the second heap are not noted.
        assert_eq!(failed.len(), usize::from(n != 2), "{n}: {failed:?}");
        let calls = device.calls();
        let failures: u64 = CallKind::ALL.iter().map(|call| calls.failed(*call)).sum();
        assert_eq!(failures, 1);
        if n <= 2 {
            assert_eq!((calls.live_heaps, calls.reserved_bytes), (1, (1 << 20) + (64 << 10)));
        }
    }
}

#[test]
fn faults_choose_their_calls() {
    let device = Device::new(Profile::DISCRETE);
    let faults = device.faults();
    faults.inject(Fault::nth(2, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards());
    let create = || device.create_committed(&buffer(8, Usage::VERTEX), MemoryTypeId(0)).map(drop);
    device.create_list(Permit::checked(), GRAPHICS).unwrap();
    create().unwrap();
    let refused = DeviceError::OutOfMemory { requested: 65536, memory: MemoryTypeId(0) };
    assert_eq!([create(), create()], [Err(refused.clone()), Err(refused)]);
    device.create_list(Permit::checked(), GRAPHICS).unwrap();
    faults.clear();
    create().unwrap();
    faults.inject(Fault::nth(1, FaultKind::TooManyAllocations));
    assert_eq!(create().unwrap_err(), DeviceError::TooManyAllocations { limit: 65_536 });
}

#[test]
fn a_mapping_can_fail() {
    let device = Device::new(Profile::DISCRETE);
    let up = upload(&device, "up", 64);
    device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Map));
    assert_eq!(device.map(&up).unwrap_err(), DeviceError::OutOfHostMemory { what: "map" });
    device.map(&up).unwrap();
}

#[test]
fn after_a_removal_calls_return_the_loss_without_blocking() {
    let device = manual(Profile::DISCRETE);
    let up = upload(&device, "up", 64);
    let mapping = device.map(&up).unwrap();
    let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
    list.begin().unwrap();
    list.use_buffer(&up, 0, 4, State::COPY_SRC);
    list.close().unwrap();
    device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1).unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::Removed("hung".into())));
    let lost = DeviceError::Lost { reason: "hung".into() };
    assert_eq!(device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 2).unwrap_err(), lost);
    assert!(every_call(&device).iter().all(|(_, error)| *error == lost));
    let start = Instant::now();
    assert_eq!(device.wait(after(GRAPHICS, 1), Duration::MAX).unwrap_err(), lost);
    assert!(start.elapsed() < Duration::from_secs(5));
    let answers = [
        device.completed(GRAPHICS).err(),
        device.budget().err(),
        device.status().err(),
        device.requirements(&buffer(8, Usage::VERTEX)).err(),
        device.map(&up).err(),
        mapping.write(0, &[1]).err(),
        mapping.read(0, &mut [1]).err(),
        list.begin().err(),
        list.close().err(),
    ];
    assert!(answers.iter().all(|answer| answer.as_ref() == Some(&lost)), "{answers:?}");
    // Submissions in flight never execute.
    assert_eq!(device.complete_one(GRAPHICS), None);
    // A second reason does not hide the first.
    device.faults().remove("again");
    assert_eq!(device.status().unwrap_err(), lost);
    device.destroy_list(Permit::checked(), list);
    device.destroy_resource(Permit::checked(), up);
    device.check_clean().unwrap();
    assert_eq!(device.calls().reserved_bytes, 0);
}

#[test]
fn removal_wakes_waiting_threads() {
    let device = manual(Profile::DISCRETE);
    device.submit(Permit::checked(), GRAPHICS, &[], &[], 1).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| device.wait(after(GRAPHICS, 1), Duration::MAX));
        std::thread::sleep(Duration::from_millis(20));
        device.faults().remove("pulled out");
        let lost = DeviceError::Lost { reason: "pulled out".into() };
        assert_eq!(waiter.join().unwrap().unwrap_err(), lost);
    });
}

#[test]
fn fences_can_be_late() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    device.faults().delay_fences(3);
    device.submit(Permit::checked(), GRAPHICS, &[], &[], 1).unwrap();
    let seen: Vec<u64> = (0..4).map(|_| device.completed(GRAPHICS).unwrap()).collect();
    assert_eq!(seen, [0, 0, 1, 1]);
}
