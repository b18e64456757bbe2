//! Work on several queues. If a device has one queue, all work goes to it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tenure_core::time::SyncPoint;
use tenure_core::{
    Buffer, BufferDesc, DeviceError, Error, Format, Queue, QueueId, Subresource, TextureDesc, TextureRegion,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::texels::{assert_texels, random, whole};
use test_random::Rng;

const SIZE: u64 = 20_000;

/// Buffers are filled on one queue and read on another without a wait by the program: tenure adds the waits.
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

/// A submission that waits for a submission on another queue is executed after it.
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
        assert_bytes(&contents(&readback), &second, "the bytes of the later copy");
    }
    drop(readback);
    bench.end();
}

/// A buffer that a queue fills, and the sync point of the copy.
type Handed<D> = (Buffer<D>, SyncPoint);

/// Copies each received buffer to a new buffer on one queue, and sends the new buffer on. The received buffer is
/// dropped as soon as the copy is recorded.
fn relay<H: Harness>(
    bench: &Bench<'_, H>,
    queue: Queue,
    input: &Receiver<Handed<H::Device>>,
    output: &Sender<Handed<H::Device>>,
    make: impl Fn() -> Buffer<H::Device>,
) {
    while let Ok((from, filled)) = input.recv() {
        let to = make();
        let mut recording = bench.gpu.record(queue, "relay").unwrap();
        recording.wait_for(&filled).unwrap();
        recording.copy_buffer(&from, 0, &to, 0, SIZE).unwrap();
        drop(from);
        let done = recording.submit().unwrap();
        if output.send((to, done)).is_err() {
            return;
        }
    }
}

/// Three threads, each with a queue of its own, pass buffers on with their sync points. Every handle is dropped
/// while the GPU may still have to execute the copies.
pub fn queues_work_side_by_side<H: Harness>(harness: &H) {
    const ROUNDS: usize = 40;
    let bench = Bench::new(harness);
    let mut rng = Rng::new(53);
    let contents_of: Vec<_> = (0..ROUNDS).map(|_| rng.bytes(SIZE)).collect();
    // Each buffer has an API buffer of its own, because an API buffer cannot be copied to itself.
    let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
    let make = || bench.gpu.create_buffer(&BufferDesc::new(SIZE, usage).name("handed on")).unwrap();
    let ((staged, first), (copied, second)) = (channel(), channel());
    let ((computed, third), (read, results)) = (channel(), channel());
    thread::scope(|scope| {
        let bench = &bench;
        scope.spawn(move || relay(bench, Queue::Copy, &first, &copied, make));
        scope.spawn(move || relay(bench, Queue::Compute, &second, &computed, make));
        scope.spawn(move || relay(bench, Queue::Graphics, &third, &read, || bench.readback(SIZE)));
        for bytes in &contents_of {
            staged.send((bench.staging(bytes), SyncPoint::NONE)).unwrap();
        }
        drop(staged);
    });
    let results: Vec<_> = results.iter().collect();
    assert_eq!(results.len(), ROUNDS);
    for ((readback, done), bytes) in results.into_iter().zip(&contents_of) {
        bench.wait(&done);
        assert_bytes(&contents(&readback), bytes, "bytes copied over three queues");
    }
    bench.end();
}

/// The use of a queue that does not exist is an error that names the queue.
pub fn unknown_queues_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let queues = u8::try_from(bench.properties().queues.len()).unwrap();
    for id in [queues, 8, 200, u8::MAX] {
        let refused = bench.gpu.record(Queue::Id(QueueId(id)), "nowhere").err();
        let Some(Error::Device { source: DeviceError::InvalidCall { value, .. }, .. }) = refused else {
            panic!("queue {id}: {refused:?}");
        };
        assert_eq!(value, Some(u64::from(id).into()));
    }
    assert_eq!(bench.gpu.stats().open_recordings, 0);
    bench.submit(Queue::Id(QueueId(queues - 1)), |_| ());
    bench.end();
}

/// Recordings submitted in one call run as if one after the other: in a chain on one queue, where all complete together, and on
/// all queues in turn.
pub fn recordings_submitted_together_run_in_order<H: Harness>(harness: &H) {
    const COUNT: usize = 6;
    let bench = Bench::new(harness);
    let mut rng = Rng::new(54);
    for queues in [[Queue::Graphics; 3], [Queue::Graphics, Queue::Compute, Queue::Copy]] {
        let desc = TextureDesc::d2(48, 32, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
        let textures: Vec<_> = (0..COUNT).map(|_| bench.gpu.create_texture(&desc).unwrap()).collect();
        let texels = random(&desc.info, &mut rng);
        let region: TextureRegion = whole(&desc.info, 0, 0);
        let (staging, layout) = bench.staged_rows(&desc.info, region.extent, &texels[0]);
        let frame = bench.gpu.begin_frame().unwrap();
        let mut recordings = Vec::new();
        for (index, queue) in queues.into_iter().cycle().take(COUNT).enumerate() {
            let mut recording = frame.record(queue, "link").unwrap();
            match index.checked_sub(1) {
                None => recording.copy_buffer_to_texture(&staging, layout, &textures[0], region).unwrap(),
                Some(before) => {
                    recording.copy_texture(&textures[before], &textures[index], Subresource::All).unwrap()
                }
            }
            recordings.push(recording);
        }
        let points = frame.submit_all(recordings).unwrap();
        frame.end().unwrap();
        drop(staging);
        assert_eq!(points.len(), COUNT);
        let is_one_queue = queues[0] == queues[1] || bench.properties().queues.len() == 1;
        assert_eq!(points.iter().all(|point| *point == points[0]), is_one_queue, "{queues:?}");
        let found = bench.download_texels(&textures[COUNT - 1]);
        assert_texels(&found, &texels, &format!("the end of a chain on {queues:?}"));
    }
    bench.end();
}
