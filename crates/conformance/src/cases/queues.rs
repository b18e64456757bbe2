//! Work on several queues (spec T7). Where a device has one queue, all of it goes there.

use tenure_core::device::{DeviceError, Format, QueueId, TextureRegion, Usage};
use tenure_core::{BufferDesc, Error, Queue, TextureDesc};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::rng::Rng;
use crate::texels::{assert_texels, random, whole};

const SIZE: u64 = 20_000;

/// Filled on one queue and read on another, at once: the waits between them are found.
pub fn bytes_cross_queues<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(51);
    let queues = [Queue::Copy, Queue::Compute, Queue::Graphics];
    for usage in [Usage::SHADER_READ, Usage::UNORDERED_ACCESS] {
        let desc = BufferDesc::new(SIZE, usage | Usage::COPY_SRC).name("crossing");
        let buffer = bench.gpu.create_buffer(&desc).unwrap();
        for from in queues {
            for to in queues {
                let bytes = rng.bytes(SIZE);
                let (staging, readback) = (bench.staging(&bytes), bench.readback(SIZE));
                bench.submit(from, |recording| {
                    recording.copy_buffer(&staging, 0, &buffer, 0, SIZE).unwrap();
                });
                let done = bench.submit(to, |recording| {
                    recording.copy_buffer(&buffer, 0, &readback, 0, SIZE).unwrap();
                });
                bench.wait(&done);
                assert_bytes(&contents(&readback), &bytes, &format!("from {from:?} to {to:?}"));
            }
        }
    }
    textures_cross_queues(&bench, &mut rng);
    bench.end();
}

fn textures_cross_queues<H: Harness>(bench: &Bench<'_, H>, rng: &mut Rng) {
    let desc = TextureDesc::d2(48, 32, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
    for from in [Queue::Copy, Queue::Compute, Queue::Graphics] {
        let texture = bench.gpu.create_texture(&desc).unwrap();
        let texels = random(&desc.info, rng);
        let region: TextureRegion = whole(&desc.info, 0, 0);
        let (staging, layout) = bench.staged_rows(&desc.info, region.extent, &texels[0]);
        bench.submit(from, |recording| {
            recording.copy_buffer_to_texture(&staging, layout, &texture, region).unwrap();
        });
        assert_texels(&bench.download_texels(&texture), &texels, &format!("from {from:?}"));
    }
}

/// A submission that waits for another queue's comes after it.
pub fn waits_order_queues<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(52);
    let readback = bench.readback(SIZE);
    for _ in 0..10 {
        let (first, second) = (rng.bytes(SIZE), rng.bytes(SIZE));
        let (early, late) = (bench.staging(&first), bench.staging(&second));
        let done = bench.submit(Queue::Graphics, |recording| {
            recording.copy_buffer(&early, 0, &readback, 0, SIZE).unwrap();
        });
        let done = bench.submit(Queue::Copy, |recording| {
            recording.wait_for(&done).unwrap();
            recording.copy_buffer(&late, 0, &readback, 0, SIZE).unwrap();
        });
        bench.wait(&done);
        assert_bytes(&contents(&readback), &second, "the later copy");
    }
    drop(readback);
    bench.end();
}

/// A queue that does not exist is an error that says so.
pub fn unknown_queues_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let queues = u8::try_from(bench.properties().queues.len()).unwrap();
    for id in [queues, 8, 200, u8::MAX] {
        let refused = bench.gpu.record(Queue::Id(QueueId(id)), "nowhere").err();
        let Some(Error::Device { source: DeviceError::InvalidCall { value, .. }, .. }) = refused else {
            panic!("queue {id}: {refused:?}");
        };
        assert_eq!(value, u64::from(id));
    }
    assert_eq!(bench.gpu.stats().open_recordings, 0);
    bench.submit(Queue::Id(QueueId(queues - 1)), |_| ());
    bench.end();
}
