//! Frames, shutdown and loss of the device.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use tenure_core::time::SyncPoint;
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, MemoryUse, Queue, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

mod deferred_objects;
mod lists;
mod loss;
mod pace;
mod shutdown;

/// A device that completes nothing by itself, and its manager.
fn manual(config: Config) -> (Gpu<Device>, Device) {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    (Gpu::new(device.clone(), config).unwrap(), device)
}

fn mesh(gpu: &Gpu<Device>, name: &'static str, size: u64) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name(name)).unwrap()
}

fn submit(gpu: &Gpu<Device>) -> SyncPoint {
    gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap()
}

/// A frame with one submission.
fn frame(gpu: &Gpu<Device>) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    frame.submit(frame.record(Queue::Graphics, "frame")?)?;
    frame.end()
}

/// A recording that reads `buffer` on the GPU.
fn read(gpu: &Gpu<Device>, buffer: &Buffer<Device>) -> Result<Buffer<Device>, Error> {
    let desc = BufferDesc::new(buffer.size(), Usage::COPY_DST).memory(MemoryUse::Readback);
    let readback = gpu.create_buffer(&desc.name("readback"))?;
    let mut recording = gpu.record(Queue::Graphics, "read")?;
    recording.copy_buffer(buffer, 0, &readback, 0, buffer.size())?;
    recording.submit()?;
    Ok(readback)
}
