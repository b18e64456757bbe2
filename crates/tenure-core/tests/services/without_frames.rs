//! Programs without frames that only ever wait, by whatever means: nothing grows.

use tenure_core::{BufferDesc, Config, Gpu, Queue, State, Subresource, SyncPoint, Usage};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, device, end, gpu};

/// Command lists and reserved bytes after so many rounds of upload, use, submission and `wait`.
fn rounds(gpu: &Gpu<Device>, rounds: u32, wait: impl Fn(&Gpu<Device>, SyncPoint)) -> (u64, u64) {
    let device = gpu.device();
    let desc = BufferDesc::new(64 << 10, Usage::SHADER_READ | Usage::COPY_SRC).name("parameters");
    let parameters = gpu.create_buffer(&desc).unwrap();
    for _ in 0..rounds {
        gpu.upload(&parameters, 0, &[1; 16 << 10]).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "compute").unwrap();
        recording.use_resource(&parameters, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        let _ = recording.split().1.constants(&[1_u8; 4096]).unwrap();
        let time = recording.write_timestamp().unwrap();
        wait(gpu, recording.submit().unwrap());
        drop(time);
    }
    let calls = device.calls();
    (calls.live_lists, calls.reserved_bytes)
}

#[test]
fn whatever_waits_recycles_what_every_queue_used() {
    type Wait = fn(&Gpu<Device>, SyncPoint);
    let waits: [(&str, Wait); 4] = [
        ("wait", |gpu, at| assert!(gpu.wait(&at, SECOND).unwrap())),
        ("completed", |gpu, at| assert!(at.is_covered_by(&gpu.completed().unwrap()))),
        ("purge", |gpu, _| gpu.purge().unwrap()),
        // The program has fences of its own.
        ("by itself", |_, _| {}),
    ];
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2] {
        for (name, wait) in waits {
            let device = device(profile, Lag::None);
            let gpu = gpu(&device, Config::default());
            let few = rounds(&gpu, 300, wait);
            let many = rounds(&gpu, 1200, wait);
            assert!(many.0 <= few.0.max(8), "{}, {name}: lists {few:?} {many:?}", profile.name());
            assert!(many.1 <= few.1 + (1 << 20), "{}, {name}: bytes {few:?} {many:?}", profile.name());
            end(gpu, &device);
        }
    }
}
