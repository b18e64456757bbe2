//! Residency: the calls that reach the runtime, their order, and the waits of queues.

use std::time::Duration;

use tenure_core::device::{
    HeapCategory, MemoryBlock, PagingPoint, Priority, QueueSerial, Residency, SubmitSync, prelude::*,
};
use tenure_core::{DeviceError, QueueId, Usage};
use tenure_d3d12::windows::Win32::Foundation::E_OUTOFMEMORY;
use tenure_d3d12::windows::Win32::Graphics::Dxgi::DXGI_ERROR_DEVICE_REMOVED;
use tenure_d3d12::windows::core::Interface;
use tenure_d3d12::{Device, Heap, List};

use crate::bench::{
    Bench, COPY, GPU_ONLY, GRAPHICS, LONG, MIB, buffer, device, distinct_from, heap_desc, refused,
};
use crate::harness::PERMIT;
use crate::interposed::{Call, Spy};

fn heap(device: &Device) -> Heap {
    device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Buffers)).unwrap()
}

fn address(heap: &Heap) -> usize {
    heap.raw().as_raw().addr()
}

/// A list with a command.
fn list(bench: &Bench, queue: QueueId) -> List {
    let (source, target) = (bench.staging(&[7; 64]), bench.readback(64));
    let copy =
        |list: &mut List| tenure_core::device::CommandList::copy_buffer(list, &source, 0, &target, 0, 64);
    let list = bench.recorded(queue, copy).unwrap();
    // The list uses them until the end of the test.
    std::mem::forget((source, target));
    list
}

fn submit(bench: &mut Bench, queue: QueueId, list: &List, paging: PagingPoint) -> QueueSerial {
    let serial = bench.next(queue);
    let sync = SubmitSync::new(&[], serial).paging(paging);
    bench.device.submit_with(PERMIT, queue, &[list], sync).unwrap();
    QueueSerial { queue, serial }
}

/// Each block reaches the runtime once, in one call, with any budget; values rise by one.
#[test]
fn blocks_are_enqueued_and_evicted_together() {
    let device = device();
    assert_eq!(device.properties().residency, Residency::Explicit);
    let spy = Spy::on(&device);
    let (one, two) = (heap(&device), heap(&device));
    let committed = device.create_committed(&buffer(64, Usage::VERTEX), GPU_ONLY).unwrap();
    assert_eq!(spy.take(), [], "what is new is resident, and has the priority of everything");
    let blocks = [MemoryBlock::Heap(&one), MemoryBlock::Heap(&two), MemoryBlock::Resource(&committed)];
    let all = vec![address(&one), address(&two), committed.raw().as_raw().addr()];
    device.evict(PERMIT, &blocks).unwrap();
    assert!(device.make_resident(PERMIT, &blocks).unwrap() <= PagingPoint(1));
    device.evict(PERMIT, &blocks[..1]).unwrap();
    assert!(device.make_resident(PERMIT, &blocks[..1]).unwrap() <= PagingPoint(2));
    assert_eq!(device.make_resident(PERMIT, &[]).unwrap(), PagingPoint::RESIDENT);
    device.evict(PERMIT, &[]).unwrap();
    let first = vec![address(&one)];
    let expected = [
        Call::Evict(all.clone()),
        Call::Enqueue(0, all, 1),
        Call::Evict(first.clone()),
        Call::Enqueue(0, first, 2),
    ];
    assert_eq!(spy.take(), expected);
}

/// The queue waits, before the lists, and the CPU does not.
#[test]
fn queues_wait_until_blocks_are_resident() {
    let mut bench = Bench::new(device());
    let spy = Spy::on(&bench.device);
    let (heap, drawn, copied) = (heap(&bench.device), list(&bench, GRAPHICS), list(&bench, COPY));
    let block = [MemoryBlock::Heap(&heap)];
    spy.hold();
    let points = [(); 2].map(|()| bench.device.make_resident(PERMIT, &block).unwrap());
    assert_eq!(points, [PagingPoint(1), PagingPoint(2)]);
    spy.take();
    let first = submit(&mut bench, COPY, &copied, points[0]);
    let second = submit(&mut bench, GRAPHICS, &drawn, points[1]);
    let waited = |value| [Call::WaitsForPaging(value), Call::Executes(1)];
    assert_eq!(spy.take(), [waited(1), waited(2)].concat());
    let device = bench.device.clone();
    assert!(!device.wait(first, Duration::from_millis(20)).unwrap());
    spy.reach(1);
    assert!(device.wait(first, LONG).unwrap());
    assert!(!device.wait(second, Duration::from_millis(20)).unwrap(), "it needs the later one");
    spy.reach(2);
    assert!(device.wait(second, LONG).unwrap());
    for reached in [PagingPoint::RESIDENT, points[0], points[1]] {
        let copied = list(&bench, COPY);
        let done = submit(&mut bench, COPY, &copied, reached);
        assert_eq!(spy.take(), [Call::Executes(1)], "there is nothing to wait for");
        assert!(device.wait(done, LONG).unwrap());
    }
    let sync = SubmitSync::new(&[], bench.next(COPY)).paging(PagingPoint(3));
    let rule = "a submission waits for a paging point that make_resident has answered";
    assert_eq!(refused(device.submit_with(PERMIT, COPY, &[&copied], sync), rule), (3, 2));
    assert_eq!(spy.take(), []);
}

#[test]
fn a_refusal_is_a_shortage_and_takes_no_point() {
    let device = device();
    let (spy, heap) = (Spy::on(&device), heap(&device));
    let block = [MemoryBlock::Heap(&heap)];
    spy.hold();
    spy.fail(E_OUTOFMEMORY);
    let refusal = device.make_resident(PERMIT, &block).unwrap_err();
    assert_eq!(refusal, DeviceError::OutOfMemory { requested: MIB, memory: GPU_ONLY });
    assert_eq!(device.make_resident(PERMIT, &block), Ok(PagingPoint(1)));
    spy.fail(DXGI_ERROR_DEVICE_REMOVED);
    let lost = device.evict(PERMIT, &block);
    assert!(matches!(lost, Err(DeviceError::Lost { .. })), "{lost:?}");
    spy.take();
    for lost in [
        device.make_resident(PERMIT, &block).map(drop),
        device.evict(PERMIT, &block),
        device.set_priority(PERMIT, block[0], Priority::Low),
    ] {
        assert!(matches!(lost, Err(DeviceError::Lost { .. })), "{lost:?}");
    }
    assert_eq!(spy.take(), [], "nothing is asked of a device that is gone");
}

#[test]
fn only_blocks_of_the_device_are_paged() {
    let device = device();
    let (spy, heap) = (Spy::on(&device), heap(&device));
    let placed = device.create_placed(PERMIT, &buffer(64, Usage::VERTEX), &heap, 0).unwrap();
    let other = distinct_from(&device).map(|other| (self::heap(&other), other));
    let mut wrong = vec![(
        MemoryBlock::Resource(&placed),
        "only heaps and committed resources are made resident, evicted or given a priority",
    )];
    wrong.extend(
        other
            .iter()
            .map(|(heap, _)| (MemoryBlock::Heap(heap), "an object is used with the device that made it")),
    );
    for (block, rule) in wrong {
        let blocks = [MemoryBlock::Heap(&heap), block];
        refused(device.make_resident(PERMIT, &blocks), rule);
        refused(device.evict(PERMIT, &blocks), rule);
        refused(device.set_priority(PERMIT, block, Priority::High), rule);
    }
    assert_eq!(spy.take(), []);
    device.destroy_resource(PERMIT, placed);
}

/// The order by size that Windows gives to its own high priorities stays.
#[test]
fn priorities_change_and_change_back() {
    let device = device();
    let spy = Spy::on(&device);
    let heap = device.create_heap(&heap_desc(64 * MIB, GPU_ONLY, HeapCategory::Buffers)).unwrap();
    for (priority, expected) in
        [(Priority::High, 0xa001_0006), (Priority::Low, 0x5000_0000), (Priority::Normal, 0x7800_0000)]
    {
        device.set_priority(PERMIT, MemoryBlock::Heap(&heap), priority).unwrap();
        assert_eq!(spy.take(), [Call::Priority(address(&heap), expected)], "{priority:?}");
    }
}
