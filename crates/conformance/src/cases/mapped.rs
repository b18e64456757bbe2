//! Buffers that the CPU accesses.

use tenure_core::{BufferDesc, Config, Error, MemoryUse, PoolConfig, Queue, UploadConfig, Usage};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use test_random::Rng;

fn check_written_bytes<H: Harness>(bench: &Bench<'_, H>, memory: MemoryUse) {
    let mut rng = Rng::new(21);
    let mut alive = Vec::new();
    for size in [1, 255, 256, 4096, 64 << 10, (64 << 10) + 1, 300_000] {
        let usage = Usage::VERTEX | Usage::CONSTANT | Usage::COPY_SRC;
        let desc = BufferDesc::new(size, usage).memory(memory).name("dynamic");
        let buffer = bench.gpu.create_buffer(&desc).unwrap();
        let mut model = rng.bytes(size);
        buffer.write(0, &model).unwrap();
        for offset in [0, size - 1, rng.below(size)] {
            let byte = rng.bytes(1);
            buffer.write(offset, &byte).unwrap();
            model[usize::try_from(offset).unwrap()] = byte[0];
        }
        let mut seen = vec![0; model.len()];
        buffer.read(0, &mut seen).unwrap();
        assert_bytes(&seen, &model, "what the CPU sees");
        alive.push((buffer, model));
    }
    for (buffer, model) in &alive {
        assert_bytes(&bench.download(buffer, 0, buffer.size()), model, "what the GPU sees");
    }
}

/// The CPU and the GPU read the CPU's writes to upload buffers: small, large and committed ones.
pub fn upload_buffers_hold_written_bytes<H: Harness>(harness: &H) {
    let config = Config::from(UploadConfig::default().max_pooled(128 << 10));
    let bench = Bench::with(harness, config);
    check_written_bytes(&bench, MemoryUse::Upload);
    bench.end();
}

/// The CPU and the GPU read the CPU's writes to `GpuUpload` buffers. They are in device-local memory that the
/// CPU maps, or in other mapped memory if the device has none.
pub fn gpu_upload_buffers_fall_back_to_other_memory<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    check_written_bytes(&bench, MemoryUse::GpuUpload);
    bench.end();
}

/// The CPU reads the GPU's copies to readback buffers: pooled and committed ones.
pub fn readback_buffers_show_copied_bytes<H: Harness>(harness: &H) {
    let config = Config::from(PoolConfig::default().max_pooled_buffer(64 << 10));
    let bench = Bench::with(harness, config);
    let mut rng = Rng::new(22);
    let source = rng.bytes(100_000);
    let staging = bench.staging(&source);
    let sizes = [1, 2, 511, 512, 65_536, 99_999];
    let readbacks: Vec<_> = sizes.iter().map(|size| bench.readback(*size)).collect();
    let done = bench.submit(Queue::Copy, |recording| {
        for readback in &readbacks {
            let size = readback.size();
            recording.copy_buffer(&staging, 100_000 - size, readback, 0, size).unwrap();
        }
    });
    bench.wait(&done);
    for readback in &readbacks {
        let start = source.len() - usize::try_from(readback.size()).unwrap();
        assert_bytes(&contents(readback), &source[start..], "readback");
    }
    drop((readbacks, staging));
    bench.end();
}

/// CPU accesses to buffers that are not mapped are errors.
pub fn only_mapped_buffers_are_reached_by_the_cpu<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for usage in [Usage::VERTEX, Usage::UNORDERED_ACCESS] {
        let buffer = bench.gpu.create_buffer(&BufferDesc::new(64, usage).name("far")).unwrap();
        let written = buffer.write(0, &[1; 64]);
        assert!(matches!(&written, Err(Error::NotMapped { name }) if name.as_str() == "far"), "{written:?}");
        let read = buffer.read(0, &mut [0; 64]);
        assert!(matches!(read, Err(Error::NotMapped { .. })), "{read:?}");
        assert_eq!(buffer.mapped_ptr(), None);
    }
    bench.end();
}
