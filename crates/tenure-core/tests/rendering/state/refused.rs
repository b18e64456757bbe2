//! Submissions that the driver refuses, one of several at a time: the states of earlier submissions stay valid,
//! and the next submission continues from them.

use tenure_core::{
    Config, Format, Gpu, Plane, Queue, QueueId, Recording, State, Subresource, TexelData, Texture,
    TextureDesc, TextureRegion, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const ALL: Subresource = Subresource::All;
const WHOLE: TextureRegion =
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 16, 1] };

fn gpu(profile: Profile) -> (Device, Gpu<Device>) {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    (device, gpu)
}

/// A texture full of 7, uploaded, and so owned by the copy queue's family where queues have families.
fn uploaded(gpu: &Gpu<Device>) -> Texture<Device> {
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST | Usage::EXCLUSIVE;
    let texture =
        gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage).name("moss")).unwrap();
    gpu.upload_texture(&texture, WHOLE, TexelData::new(&[7; 1024])).unwrap();
    gpu.flush_uploads().unwrap();
    texture
}

fn read(gpu: &Gpu<Device>, texture: &Texture<Device>, queue: Queue) -> Recording<Device> {
    let mut recording = gpu.record(queue, "read").unwrap();
    recording.use_resource(texture, ALL, State::COPY_SRC).unwrap();
    recording.barriers();
    recording.raw().use_texture(texture.raw(), ALL, State::COPY_SRC);
    recording
}

fn clean(device: &Device, profile: Profile, what: &str) {
    let found = device.take_hazards();
    assert!(found.is_empty(), "{} {what}: {}", profile.name(), found[0]);
}

#[test]
fn a_half_submitted_transfer_is_finished_by_the_next_use() {
    for profile in Profile::ALL {
        for retry in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            for refused in 1..=3 {
                let (device, gpu) = gpu(*profile);
                let texture = uploaded(&gpu);
                let first = read(&gpu, &texture, Queue::Graphics);
                device.faults().inject(Fault::nth(refused, FaultKind::OutOfHostMemory).of(CallKind::Submit));
                let is_refused = first.submit().is_err();
                // The retry itself may be refused, by the same fault or by one more.
                let second = read(&gpu, &texture, retry).submit();
                assert!(is_refused || second.is_err() || refused > 1, "{}", profile.name());
                device.faults().clear();
                device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit));
                assert!(read(&gpu, &texture, Queue::Compute).submit().is_err());
                device.faults().clear();
                read(&gpu, &texture, retry).submit().unwrap();
                let mut last = gpu.record(Queue::Graphics, "read back").unwrap();
                let bytes = last.read_back_texture(&texture, WHOLE).unwrap();
                last.submit().unwrap();
                assert_eq!(bytes.wait(std::time::Duration::from_secs(1)).unwrap(), [7; 1024]);
                drop((texture, bytes));
                assert!(gpu.shutdown().is_clean());
                drop(gpu);
                clean(&device, *profile, &format!("{retry:?} {refused}"));
            }
        }
    }
}

/// Nothing is submitted for a texture that another thread has dropped or that is never used again.
#[test]
fn textures_dropped_during_a_transfer_are_forgotten() {
    let (device, gpu) = gpu(Profile::VULKAN_NVIDIA);
    let texture = uploaded(&gpu);
    let first = read(&gpu, &texture, Queue::Graphics);
    device.faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    assert!(first.submit().is_err());
    drop(texture);
    let other = uploaded(&gpu);
    read(&gpu, &other, Queue::Graphics).submit().unwrap();
    drop(other);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A third queue waits for both halves.
#[test]
fn a_third_queue_waits_for_both_halves_of_a_transfer() {
    let (device, gpu) = gpu(Profile::VULKAN_NVIDIA);
    let texture = uploaded(&gpu);
    let first = read(&gpu, &texture, Queue::Graphics);
    device.faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    assert!(first.submit().is_err());
    read(&gpu, &texture, Queue::Id(QueueId(1))).submit().unwrap();
    clean(&device, Profile::VULKAN_NVIDIA, "compute");
}
