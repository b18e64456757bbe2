//! Upload rings.

use tenure_core::{Buffer, Error, Queue, Recording, UploadRing, UploadRingDesc};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use test_random::Rng;

/// Writes bytes to a slice of a ring, and records a copy to a readback buffer.
fn copy<H: Harness>(
    ring: &UploadRing<H::Device>,
    recording: &mut Recording<H::Device>,
    bytes: &[u8],
    readback: &Buffer<H::Device>,
) -> Result<(), Error> {
    let (commands, scratch) = recording.split();
    let slice = ring.allocate(scratch, bytes.len() as u64, 16)?;
    slice.write(0, bytes)?;
    commands.copy_slice(&slice, 0, readback, 0, bytes.len() as u64)
}

/// A small ring is reused many times, on several queues: no byte is overwritten before the GPU has read it.
pub fn rings_keep_bytes_until_the_gpu_has_read_them<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let desc = UploadRingDesc::new(64 << 10).dedicate().name("ring");
    let ring = bench.gpu.create_upload_ring(&desc).unwrap();
    let mut rng = Rng::new(120);
    for round in 0..30 {
        let frame = bench.gpu.begin_frame().unwrap();
        let queue = [Queue::Graphics, Queue::Copy, Queue::Compute][round % 3];
        // Every seventh slice is larger than the ring.
        let size = if round % 7 == 6 { 100_000 } else { 1 + rng.below(24 << 10) };
        let (bytes, readback) = (rng.bytes(size), bench.readback(size));
        let mut recording = frame.record(queue, "ring").unwrap();
        copy::<H>(&ring, &mut recording, &bytes, &readback).unwrap();
        let done = frame.submit(recording).unwrap();
        frame.end().unwrap();
        if round % 5 == 4 {
            bench.wait(&done);
            assert_bytes(&contents(&readback), &bytes, "ring");
        }
    }
    let stats = ring.stats();
    assert_eq!((stats.allocations, stats.dedicated), (30, 4));
    assert!(stats.used <= stats.capacity && stats.peak_used <= stats.capacity, "{stats:?}");
    drop(ring);
    bench.end();
}
