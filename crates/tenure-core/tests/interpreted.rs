//! Frames of two threads with all that writes or reads mapped memory: small enough to be interpreted, which finds undefined
//! behaviour (`cargo xtask test miri`).
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::thread;
use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, Config, DescriptorConfig, DescriptorTableDesc, Error, Gpu, MemoryUse,
    Queue, State, Subresource, UploadRing, UploadRingDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const SOON: Duration = Duration::from_secs(600);
const SIZE: u64 = 512;

/// The operations of a thread in a frame: an upload, bytes of a ring, constants, descriptors, a readback,
/// mapped memory.
fn work(gpu: &Gpu<Device>, ring: &UploadRing<Device>, byte: u8) -> Result<(), Error> {
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let mesh = gpu.create_buffer_with(&BufferDesc::new(SIZE, usage).name("mesh"), &[byte; SIZE as usize])?;
    let mapped: Buffer<Device> =
        gpu.create_buffer(&BufferDesc::new(SIZE, Usage::SHADER_READ).memory(MemoryUse::Upload))?;
    mapped.write(16, &[byte; 64])?;
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    let (commands, scratch) = recording.split();
    let constants = scratch.constant_bytes(&[byte; 20])?;
    assert!(constants.size() >= 20);
    let slice = ring.allocate(scratch, 100, 4)?;
    slice.write(0, &[byte + 1; 100])?;
    commands.copy_slice(&slice, 0, &mesh, 100, 100)?;
    let view = gpu.create_buffer_view(&mapped, &BufferViewDesc::raw())?;
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]))?;
    let dynamic = scratch.descriptors(&[(&view).into()])?;
    assert_eq!((dynamic.len(), table.len()), (1, 1));
    recording.use_resource(&mesh, Subresource::All, State::COPY_SRC)?;
    let read = recording.read_back(&mesh, 0, SIZE)?;
    recording.submit()?;
    drop((view, table, mapped));
    let found = read.wait(SOON)?;
    assert!(found[..100].iter().chain(&found[200..]).all(|found| *found == byte), "the upload");
    assert!(found[100..200].iter().all(|found| *found == byte + 1), "the ring");
    Ok(())
}

/// Small heaps: each descriptor of a new heap is written.
fn config() -> Config {
    let config = DescriptorConfig::default().block(64).chunk(16);
    let resources = config.static_resources(Some(64)).dynamic_resources(Some(64));
    resources.static_samplers(Some(16)).dynamic_samplers(Some(16)).into()
}

#[test]
fn two_threads_use_every_service() {
    // The code that accesses mapped memory is the same for all devices.
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(1)));
    let gpu = Gpu::new(device, config()).unwrap();
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(1024)).unwrap();
    for frame in 0..2 {
        let begun = gpu.begin_frame().unwrap();
        thread::scope(|scope| {
            for byte in [1, 101] {
                let (gpu, ring) = (&gpu, &ring);
                scope.spawn(move || work(gpu, ring, byte + frame).unwrap());
            }
        });
        begun.end().unwrap();
    }
    drop(ring);
    assert!(gpu.shutdown().is_clean());
}
