//! Dropped resources are kept until the GPU has finished using them, and no longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::memory::PoolKind;
use tenure_core::{Buffer, BufferDesc, Queue, Usage};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use test_random::Rng;

const SIZE: u64 = 3000;

fn mesh<H: Harness>(bench: &Bench<'_, H>) -> Buffer<H::Device> {
    let usage = Usage::VERTEX | Usage::COPY_SRC;
    bench.gpu.create_buffer(&BufferDesc::new(SIZE, usage).name("mesh")).unwrap()
}

/// A mesh with known bytes, whose upload is complete.
fn filled<H: Harness>(bench: &Bench<'_, H>, seed: u64) -> (Buffer<H::Device>, Vec<u8>) {
    let (mesh, bytes) = (mesh(bench), Rng::new(seed).bytes(SIZE));
    bench.upload(&mesh, 0, &bytes);
    bench.finish();
    (mesh, bytes)
}

/// Creates buffers that would overwrite memory that was freed too early.
fn trample<H: Harness>(bench: &Bench<'_, H>) {
    for seed in 0..20 {
        let other = mesh(bench);
        bench.upload(&other, 0, &Rng::new(1000 + seed).bytes(SIZE));
    }
}

/// A resource is dropped while a recording that uses it is open. It is kept until the GPU has finished that
/// recording.
pub fn resources_outlive_their_handles_while_a_recording_is_open<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let (mesh, bytes) = filled(&bench, 41);
    let readback = bench.readback(SIZE);
    let mut recording = bench.gpu.record(Queue::Graphics, "late").unwrap();
    recording.copy_buffer(&mesh, 0, &readback, 0, SIZE).unwrap();
    drop(mesh);
    trample(&bench);
    bench.finish();
    assert!(bench.live(PoolKind::SmallBuffers) >= 1, "the buffer was freed while the recording is open");
    assert!(bench.gpu.stats().pending_releases >= 1);
    let report = bench.gpu.report();
    assert_eq!(report.open_recordings.len(), 1);
    assert_eq!(report.open_recordings[0].name, "late");
    assert!(report.open_recordings[0].held_back >= SIZE);
    let held = harness.hold();
    let done = recording.submit().unwrap();
    bench.gpu.reclaim().unwrap();
    assert!(!held || bench.live(PoolKind::SmallBuffers) >= 1, "the buffer was freed while the GPU reads it");
    harness.settle();
    bench.wait(&done);
    bench.gpu.reclaim().unwrap();
    assert_eq!(bench.live(PoolKind::SmallBuffers), 0, "the buffer was not freed");
    assert_eq!(bench.gpu.stats().pending_releases, 0);
    assert_bytes(&contents(&readback), &bytes, "the buffer dropped while recording");
    drop(readback);
    bench.end();
}

/// A resource is dropped between a submission that uses it and the completion of that submission.
pub fn resources_outlive_their_handles_while_the_gpu_uses_them<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let (mesh, bytes) = filled(&bench, 42);
    let readback = bench.readback(SIZE);
    let held = harness.hold();
    let done = bench.submit(Queue::Graphics, |recording| {
        recording.copy_buffer(&mesh, 0, &readback, 0, SIZE).unwrap();
    });
    drop(mesh);
    bench.gpu.reclaim().unwrap();
    assert!(!held || bench.live(PoolKind::SmallBuffers) == 1, "the buffer was freed while the GPU reads it");
    trample(&bench);
    harness.settle();
    bench.wait(&done);
    bench.finish();
    assert_eq!(bench.live(PoolKind::SmallBuffers), 0, "the buffer was not freed");
    assert_bytes(&contents(&readback), &bytes, "the buffer dropped in flight");
    drop(readback);
    bench.end();
}

/// A recording that is discarded, or fails, releases the resources that it used.
pub fn a_discarded_recording_holds_nothing_back<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let (mesh, _) = filled(&bench, 43);
    let readback = bench.readback(SIZE);
    let mut recording = bench.gpu.record(Queue::Graphics, "discarded").unwrap();
    recording.copy_buffer(&mesh, 0, &readback, 0, SIZE).unwrap();
    drop(mesh);
    bench.gpu.reclaim().unwrap();
    assert_eq!(bench.live(PoolKind::SmallBuffers), 1, "the buffer was freed while the recording is open");
    drop(recording);
    bench.finish();
    assert_eq!(bench.live(PoolKind::SmallBuffers), 0);
    assert_eq!(bench.gpu.stats().open_recordings, 0);
    drop(readback);
    bench.end();
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A deferred object of the program, such as a pipeline, is kept as long as a buffer would be.
pub fn objects_of_the_program_are_deferred<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = || dropped.load(Ordering::Relaxed);
    let pipeline = bench.gpu.defer("pipeline", Counted(dropped.clone()));
    let recording = bench.gpu.record(Queue::Graphics, "draw").unwrap();
    drop(pipeline);
    bench.gpu.reclaim().unwrap();
    assert_eq!(count(), 0, "dropped while a recording is open");
    let held = harness.hold();
    recording.submit().unwrap();
    bench.gpu.reclaim().unwrap();
    assert!(!held || count() == 0, "dropped before the GPU has finished");
    bench.finish();
    assert_eq!(count(), 1);
    bench.end();
}

/// `release_after` waits for its sync point and for nothing else.
pub fn values_wait_for_their_sync_point<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = || dropped.load(Ordering::Relaxed);
    let open = bench.gpu.record(Queue::Graphics, "unrelated").unwrap();
    let held = harness.hold();
    let done = bench.submit(Queue::Graphics, |_| ());
    bench.gpu.release_after(Counted(dropped.clone()), done).unwrap();
    bench.gpu.reclaim().unwrap();
    assert!(!held || count() == 0, "dropped before its submission is complete");
    bench.finish();
    assert_eq!(count(), 1, "kept because of an open recording");
    drop(open);
    bench.end();
}
