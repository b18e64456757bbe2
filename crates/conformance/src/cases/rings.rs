//! Upload rings.

use tenure_core::device::Allowed;
use tenure_core::{Buffer, DeviceError, Error, Queue, Recording, UploadRing, UploadRingDesc};

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

/// A full ring waits for its oldest frame and no longer. A slice larger than the ring is refused.
pub fn full_rings_wait_frame_by_frame<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let ring = bench.gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring")).unwrap();
    let mut rng = Rng::new(121);
    let bytes = rng.bytes(40_000);
    for _ in 0..10 {
        let frame = bench.gpu.begin_frame().unwrap();
        let readback = bench.readback(40_000);
        let mut recording = frame.record(Queue::Graphics, "ring").unwrap();
        let refused = ring.allocate(recording.split().1, 65_537, 4).err();
        assert_eq!(refused, Some(Error::TooLarge { name: "ring".into(), size: 65_537, capacity: 65_536 }));
        let empty = ring.allocate(recording.split().1, 0, 4).err();
        let expected = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
        assert!(matches!(&empty, Some(Error::Device { source, .. }) if *source == expected), "{empty:?}");
        copy::<H>(&ring, &mut recording, &bytes, &readback).unwrap();
        let held = copy::<H>(&ring, &mut recording, &bytes, &readback);
        assert!(
            matches!(&held, Err(Error::HeldByRecording { recording, .. }) if *recording == "ring"),
            "{held:?}"
        );
        let done = frame.submit(recording).unwrap();
        frame.end().unwrap();
        bench.wait(&done);
        assert_bytes(&contents(&readback), &bytes, "ring");
    }
    assert_eq!(ring.stats().allocations, 10);
    drop(ring);
    bench.end();
}
