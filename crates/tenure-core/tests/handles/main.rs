//! Handles and recordings in a careless program: invalid calls are refused before they do harm, and dropped
//! objects are released exactly once, in any order.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Gpu, MemoryUse, Queue, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

mod addresses;
mod afterwards;
mod boxes;
mod broken_lists;
mod clones;
mod destructors;
mod devices;
mod every_call;
mod flushes;
mod foreign;
mod hung;
mod names;
mod open_frames;
mod outliving;
mod pages;
mod raw_values;
mod recorders;
mod refusals;
mod texels;
mod tiles;
mod trimmed_queries;
mod unused;

const SECOND: Duration = Duration::from_secs(1);

fn device(profile: Profile, lag: Lag) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(lag))
}

fn gpu(device: &Device) -> Gpu<Device> {
    Gpu::new(device.clone(), Config::default()).unwrap()
}

fn mesh(gpu: &Gpu<Device>, name: &'static str, size: u64) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name(name)).unwrap()
}

/// A mapped buffer full of `byte`, aligned for copies of texels on every device.
fn upload<D: tenure_core::device::Device>(gpu: &Gpu<D>, size: usize, byte: u8) -> Buffer<D> {
    let desc = BufferDesc::new(size as u64, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let buffer = gpu.create_buffer(&desc.alignment(512).name("upload")).unwrap();
    buffer.write(0, &vec![byte; size]).unwrap();
    buffer
}

/// A buffer to read, aligned for copies of texels on every device.
fn readback<D: tenure_core::device::Device>(gpu: &Gpu<D>, name: &'static str, size: u64) -> Buffer<D> {
    let desc = BufferDesc::new(size, Usage::COPY_DST).memory(MemoryUse::Readback);
    gpu.create_buffer(&desc.alignment(512).name(name)).unwrap()
}

fn bytes<D: tenure_core::device::Device>(buffer: &Buffer<D>) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(buffer.size()).unwrap()];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

/// One submission with nothing in it.
fn submit(gpu: &Gpu<Device>) {
    gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Self(count.clone()), count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}
