//! The program's own fences and submissions.

use std::time::Duration;

use tenure_core::device::CallRule;
use tenure_core::{BufferDesc, Config, DeviceError, Error, Gpu, MemoryUse, Queue, SyncPoint, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{D3D12_FENCE_FLAG_NONE, ID3D12Fence};
use tenure_d3d12::{Device, ExternalFence};

use crate::bench::{LONG, device, distinct_from};

fn fence(device: &Device) -> ID3D12Fence {
    // SAFETY: takes no pointers.
    unsafe { device.raw().CreateFence(0, D3D12_FENCE_FLAG_NONE) }.unwrap()
}

/// A recording waits for a value that the program signals, and signals one that its own submission waits for.
#[test]
fn fences_go_between_recordings_and_the_program() {
    let device = device();
    let (streamed, drawn) = (fence(&device), fence(&device));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let up = BufferDesc::new(64, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let down = BufferDesc::new(64, Usage::COPY_DST).memory(MemoryUse::Readback);
    let (staging, readback) = (gpu.create_buffer(&up).unwrap(), gpu.create_buffer(&down).unwrap());
    for round in 1..=3_u8 {
        let value = u64::from(round);
        staging.write(0, &[round; 64]).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
        recording.wait_for_external(ExternalFence::new(streamed.clone(), value));
        recording.copy_buffer(&staging, 0, &readback, 0, 64).unwrap();
        recording.signal_external(ExternalFence::new(drawn.clone(), value));
        let copied = recording.submit().unwrap();
        assert!(!gpu.wait(&copied, Duration::from_millis(10)).unwrap());
        let ((), after) = gpu
            .submit_external(Queue::Copy, &SyncPoint::NONE, |queue| {
                // SAFETY: both are of this device.
                unsafe { queue.Wait(&drawn, value) }.unwrap();
                Ok::<(), Error>(())
            })
            .unwrap();
        // SAFETY: the fence is alive.
        unsafe { streamed.Signal(value) }.unwrap();
        assert!(gpu.wait(&after, LONG).unwrap());
        // A poll of another queue may lag behind.
        assert!(gpu.wait(&copied, LONG).unwrap());
        let mut bytes = [0; 64];
        readback.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [round; 64]);
    }
    drop((staging, readback));
    assert!(gpu.shutdown().is_clean());
}

/// Fences of submissions in flight are kept, and those of other devices refused.
#[test]
fn fences_are_kept_and_checked() {
    let device = device();
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let own = fence(&device);
    let mut recording = gpu.record(Queue::Graphics, "waits").unwrap();
    recording.wait_for_external(ExternalFence::new(own.clone(), 1));
    let point = recording.submit().unwrap();
    // SAFETY: the fence is alive.
    unsafe { own.Signal(1) }.unwrap();
    drop(own);
    assert!(gpu.wait(&point, LONG).unwrap());

    // Where devices are singletons per adapter there is no other.
    if let Some(other) = distinct_from(&device) {
        let foreign = fence(&other);
        let mut recording = gpu.record(Queue::Graphics, "foreign").unwrap();
        recording.wait_for_external(ExternalFence::new(foreign, 1));
        let refused = recording.submit().unwrap_err();
        assert!(
            matches!(&refused, Error::Device { source, .. } if source == &DeviceError::broken_rule(CallRule::SameDevice)),
            "{refused}"
        );
    }
}
