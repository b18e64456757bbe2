//! The environment of a case: a manager on a new device, and functions that write and read bytes.

use std::time::Duration;

use tenure_core::device::Properties;
use tenure_core::memory::PoolKind;
use tenure_core::time::SyncPoint;
use tenure_core::{Buffer, BufferDesc, Config, Gpu, MemoryUse, Queue, Recording, Usage};

use crate::Harness;

/// A timeout that no working device reaches.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A manager, and the harness of its device.
pub(crate) struct Bench<'h, H: Harness> {
    pub(crate) harness: &'h H,
    pub(crate) gpu: Gpu<H::Device>,
}

impl<'h, H: Harness> Bench<'h, H> {
    pub(crate) fn new(harness: &'h H) -> Self {
        Self::with(harness, Config::default())
    }

    pub(crate) fn with(harness: &'h H, config: Config) -> Self {
        Self { harness, gpu: Gpu::new(harness.device(), config).unwrap() }
    }

    /// A manager whose configuration is derived from the device.
    pub(crate) fn of_device(harness: &'h H, config: impl FnOnce(&Properties) -> Config) -> Self {
        use tenure_core::device::prelude::*;
        let device = harness.device();
        let config = config(device.properties());
        Self { harness, gpu: Gpu::new(device, config).unwrap() }
    }

    pub(crate) fn properties(&self) -> &Properties {
        use tenure_core::device::prelude::*;
        self.gpu.device().properties()
    }

    /// A mapped buffer that holds `bytes`, to be copied from.
    pub(crate) fn staging(&self, bytes: &[u8]) -> Buffer<H::Device> {
        let desc = BufferDesc::new(bytes.len() as u64, Usage::COPY_SRC).memory(MemoryUse::Upload);
        let buffer = self.gpu.create_buffer(&desc.alignment(512).name("staging")).unwrap();
        buffer.write(0, bytes).unwrap();
        buffer
    }

    /// A mapped buffer to be copied to.
    pub(crate) fn readback(&self, size: u64) -> Buffer<H::Device> {
        let desc = BufferDesc::new(size, Usage::COPY_DST).memory(MemoryUse::Readback);
        self.gpu.create_buffer(&desc.alignment(512).name("readback")).unwrap()
    }

    /// A buffer of the GPU's alone, to be copied to and from.
    pub(crate) fn between(&self, size: u64) -> Buffer<H::Device> {
        let desc = BufferDesc::new(size, Usage::COPY_SRC | Usage::COPY_DST).memory(MemoryUse::GpuOnly);
        self.gpu.create_buffer(&desc.alignment(512).name("between")).unwrap()
    }

    /// Records commands and submits them.
    pub(crate) fn submit(&self, queue: Queue, record: impl FnOnce(&mut Recording<H::Device>)) -> SyncPoint {
        let mut recording = self.gpu.record(queue, "bench").unwrap();
        record(&mut recording);
        recording.submit().unwrap()
    }

    /// Waits for all submissions and frees dropped resources.
    pub(crate) fn finish(&self) {
        self.harness.settle();
        assert!(self.gpu.wait(&self.gpu.submitted(), LONG).unwrap(), "the device did not finish its work");
        self.gpu.reclaim().unwrap();
    }

    /// Copies bytes into a buffer, through a staging buffer that is dropped at once.
    pub(crate) fn upload(&self, buffer: &Buffer<H::Device>, offset: u64, bytes: &[u8]) {
        let staging = self.staging(bytes);
        self.submit(Queue::Graphics, |recording| {
            recording.copy_buffer(&staging, 0, buffer, offset, bytes.len() as u64).unwrap();
            drop(staging);
        });
    }

    /// Copies bytes out of a buffer and waits for them.
    pub(crate) fn download(&self, buffer: &Buffer<H::Device>, offset: u64, size: u64) -> Vec<u8> {
        let readback = self.readback(size);
        let done = self.submit(Queue::Graphics, |recording| {
            recording.copy_buffer(buffer, offset, &readback, 0, size).unwrap();
        });
        self.wait(&done);
        contents(&readback)
    }

    pub(crate) fn wait(&self, point: &SyncPoint) {
        assert!(self.gpu.wait(point, LONG).unwrap(), "a submission did not complete");
    }

    /// The number of live ranges in the pools of a kind.
    pub(crate) fn live(&self, kind: PoolKind) -> u64 {
        let pools = self.gpu.stats().pools;
        pools.iter().filter(|pool| pool.kind == kind).map(|pool| pool.allocations).sum()
    }

    /// Shuts down after all handles were dropped, and checks that no problems were reported.
    pub(crate) fn end(self) {
        let Self { harness, gpu } = self;
        harness.settle();
        let report = gpu.shutdown();
        drop(gpu);
        assert!(report.is_clean(), "{report:?}");
        no_problems(harness);
    }
}

pub(crate) fn no_problems<H: Harness>(harness: &H) {
    let problems = harness.problems();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// All bytes of a readback buffer.
pub(crate) fn contents<D: tenure_core::device::Device>(readback: &Buffer<D>) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(readback.size()).unwrap()];
    readback.read(0, &mut bytes).unwrap();
    bytes
}

/// Compares bytes. A failure prints the first difference and the number of differences, not all bytes.
#[track_caller]
pub(crate) fn assert_bytes(found: &[u8], expected: &[u8], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: bytes");
    let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
    if let Some(at) = wrong {
        let count = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
        panic!(
            "{what}: byte {at} of {} is {} instead of {}; {count} are wrong",
            found.len(),
            found[at],
            expected[at]
        );
    }
}
