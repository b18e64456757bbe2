//! A removed device: each call returns the error, and none waits.

use crate::harness::PERMIT;
use std::time::{Duration, Instant};

use tenure_core::device::{BufferView, Descriptor, DescriptorSource, HeapCategory, QueueSerial, prelude::*};
use tenure_core::{
    BufferAccess, BufferDesc, Config, DescriptorKind, DeviceError, Elements, Error, Format, Gpu, MemoryUse,
    Queue, Usage,
};
use tenure_d3d12::Device;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Device5;
use tenure_d3d12::windows::core::Interface;

use crate::bench::{Bench, COPY, GPU_ONLY, GRAPHICS, LONG, MIB, UPLOAD, buffer, device, heap_desc, texture};
use crate::harness::Gate;
use crate::viewer::heap_of;

/// The effect of Windows on the fences of a removed device.
fn remove(device: &Device) {
    for id in [GRAPHICS, COPY] {
        // SAFETY: the fence is alive.
        unsafe { device.fence(id).unwrap().Signal(u64::MAX) }.unwrap();
    }
}

#[track_caller]
fn lost<T>(answer: Result<T, DeviceError>) {
    match answer.err() {
        Some(DeviceError::Lost { reason }) => assert!(reason.contains("DEVICE_REMOVED"), "{reason}"),
        other => panic!("not lost: {other:?}"),
    }
}

#[test]
fn every_call_reports_the_lost_device() {
    let bench = Bench::new(device());
    let device = &bench.device;
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let staging = device.create_committed(&buffer(64, Usage::COPY_SRC), UPLOAD).unwrap();
    let mapping = device.map(&staging).unwrap();
    let closed = bench.recorded(GRAPHICS, |_| ()).unwrap();
    let mut fresh = device.create_list(PERMIT, GRAPHICS).unwrap();
    let mut open = device.create_list(PERMIT, GRAPHICS).unwrap();
    open.begin().unwrap();
    let hidden = heap_of(device, DescriptorKind::Resource, false);
    let visible = heap_of(device, DescriptorKind::Resource, true);
    remove(device);
    lost(device.completed(GRAPHICS));

    let desc = buffer(64, Usage::VERTEX);
    lost(device.status());
    lost(device.requirements(&desc));
    lost(device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)));
    lost(device.create_committed(&desc, GPU_ONLY));
    lost(device.create_placed(PERMIT, &desc, &heap, 0));
    lost(device.create_reserved(&texture(64, Format::R8Unorm, Usage::SHADER_READ)));
    lost(device.map(&staging));
    lost(device.tile_layout(&staging));
    lost(device.create_list(PERMIT, GRAPHICS));
    lost(device.submit(PERMIT, GRAPHICS, &[&closed], &[], 1));
    lost(device.update_tiles(PERMIT, GRAPHICS, &[], &[], 1));
    lost(device.completed(COPY));
    lost(device.wait(QueueSerial { queue: GRAPHICS, serial: 1 }, LONG));
    lost(device.budget());
    lost(mapping.write(0, &[1; 4]));
    lost(mapping.read(0, &mut [1; 4]));
    let view = BufferView { offset: 0, size: 16, access: BufferAccess::Read(Elements::Raw) };
    let descriptor = Descriptor::Buffer { resource: &staging, view };
    lost(device.create_descriptor_heap(visible.desc()));
    lost(device.write_descriptor(PERMIT, &hidden, 0, &descriptor));
    lost(device.fill_descriptors(PERMIT, &visible, 0, &[DescriptorSource::Copy { heap: &hidden, index: 0 }]));
    device.clear_descriptors(PERMIT, &visible, 0, 1, Some("gone"));
    open.set_descriptor_heaps(Some(&visible), None);
    lost(fresh.begin());
    open.copy_buffer(&staging, 0, &staging, 0, 4);
    lost(open.close());
    // Objects are still destroyed.
    drop((mapping, closed, open, fresh));
    device.destroy_resource(PERMIT, staging);
    device.destroy_heap(PERMIT, heap);
    device.destroy_descriptor_heap(PERMIT, hidden);
    device.destroy_descriptor_heap(PERMIT, visible);
    assert_eq!(device.live_objects(), Default::default());
}

/// A wait that began earlier ends when the device is removed.
#[test]
fn waits_end_when_the_device_is_lost() {
    let mut bench = Bench::new(device());
    let gate = Gate::new(&bench.device);
    gate.close();
    let held = bench.submit(GRAPHICS, &[], &[]);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let device = &bench.device;
        let waiting = scope.spawn(move || device.wait(held, Duration::MAX));
        std::thread::sleep(Duration::from_millis(100));
        remove(device);
        lost(waiting.join().unwrap());
    });
    assert!(begun.elapsed() < Duration::from_secs(10));
}

/// The manager shuts down; nothing hangs and nothing is left.
#[test]
fn the_manager_survives_the_loss() {
    let device = device();
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let staging =
        gpu.create_buffer(&BufferDesc::new(100, Usage::COPY_SRC).memory(MemoryUse::Upload)).unwrap();
    let target = gpu.create_buffer(&BufferDesc::new(100, Usage::VERTEX)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "lost").unwrap();
    recording.copy_buffer(&staging, 0, &target, 0, 100).unwrap();
    remove(&device);
    let refused = recording.submit();
    assert!(refused.is_err() || gpu.wait(&gpu.submitted(), LONG).is_err(), "it is noticed");
    let refusal = gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX)).err();
    let is_lost = matches!(&refusal, Some(Error::Device { source: DeviceError::Lost { .. }, .. }));
    assert!(is_lost, "{refusal:?}");
    drop((staging, target));
    let begun = Instant::now();
    let report = gpu.shutdown();
    drop(gpu);
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing waits for a GPU that is gone");
    assert!(report.lost.is_some() && report.leaks.is_empty(), "{report:?}");
    assert_eq!(device.live_objects(), Default::default());
}

/// `RemoveDevice` of Windows: the next call knows. Some runtimes accept the call and do nothing; the device
/// must then still work.
#[test]
fn a_removed_device_is_noticed_with_its_reason() {
    let device = device();
    let newer: ID3D12Device5 = device.raw().cast().expect("every runtime of interest has it");
    // SAFETY: the interface is alive, and nothing is in flight.
    unsafe { newer.RemoveDevice() };
    // SAFETY: as above.
    let removed = unsafe { device.raw().GetDeviceRemovedReason() };
    let made = device.create_committed(&buffer(64, Usage::VERTEX), GPU_ONLY);
    match removed {
        Err(_) => lost(made),
        Ok(()) => {
            made.unwrap();
            assert_eq!(device.status(), Ok(()));
        }
    }
    // No command has run.
    assert_eq!(device.device_faults(), []);
}
