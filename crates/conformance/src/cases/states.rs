//! State tracking, verified by the checks of the device.

use std::thread;

use tenure_core::device::{CommandList as _, Device as _};
use tenure_core::{
    BufferDesc, Error, Format, Queue, QueueKind, State, Subresource, TextureDesc, TextureRegion, Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::permit;
use crate::texels::{assert_texels, random, whole};
use test_random::Rng;

const SIZE: u64 = 6000;

/// Recordings of many threads are submitted in another order, and each reads the writes of the submission
/// before it.
pub fn recordings_take_effect_in_the_order_of_submission<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for usage in [Usage::VERTEX, Usage::UNORDERED_ACCESS] {
        let target = bench.gpu.create_buffer(&BufferDesc::new(SIZE, usage | Usage::COPY_SRC)).unwrap();
        bench.upload(&target, 0, &Rng::new(60).bytes(SIZE));
        let record = |seed: u64| {
            let bytes = Rng::new(seed).bytes(SIZE);
            let (staging, seen) = (bench.staging(&bytes), bench.readback(SIZE));
            let mut recording = bench.gpu.record(Queue::Graphics, "thread").unwrap();
            // Reads the bytes of the previous submission, then writes new bytes.
            recording.copy_buffer(&target, 0, &seen, 0, SIZE).unwrap();
            recording.copy_buffer(&staging, 0, &target, 0, SIZE).unwrap();
            (recording, seen, bytes)
        };
        let mut recorded = thread::scope(|scope| {
            let threads: Vec<_> = (61..67).map(|seed| scope.spawn(move || record(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        recorded.swap(0, 5);
        recorded.swap(1, 3);
        let mut before = Rng::new(60).bytes(SIZE);
        for (recording, seen, bytes) in recorded {
            let done = recording.submit().unwrap();
            bench.wait(&done);
            assert_bytes(&contents(&seen), &before, "the bytes of the previous submission");
            before = bytes;
        }
        assert_bytes(&bench.download(&target, 0, SIZE), &before, "the bytes of the last submission");
    }
    bench.end();
}

/// Uses by shaders of one kind alone, between writes and copies whose bytes arrive. What a device or a queue does not have
/// counts as another stage.
pub fn shaders_of_one_kind_have_states_of_their_own<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | Usage::COPY_SRC;
    let target = bench.gpu.create_buffer(&BufferDesc::new(SIZE, usage).name("results")).unwrap();
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(3);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    let (reads, writes) = (State::NON_PIXEL_SHADER, State::UNORDERED);
    for queue in [Queue::Graphics, Queue::Compute] {
        let mut rng = Rng::new(70);
        let bytes = rng.bytes(SIZE);
        let texels = random(&desc.info, &mut rng);
        bench.upload(&target, 0, &bytes);
        bench.upload_texels(&texture, &texels);
        for state in (reads | writes).iter() {
            let mut recording = bench.gpu.record(queue, "dispatch").unwrap();
            let queues = &bench.gpu.device().properties().queues;
            let known = State::allowed_on(queues[recording.queue().index()].kind);
            // Alone, again, and within the union that contains it.
            let union = if state.is_write() { State::UNORDERED_ACCESS } else { reads };
            for state in [state, state, union, state] {
                let used = recording.use_resource(&target, Subresource::All, state);
                assert_eq!(used.is_ok(), known.contains(state), "{state} on {queue:?}: {used:?}");
                let used = recording.use_resource(&texture, Subresource::One(1), state);
                assert_eq!(used.is_ok(), known.contains(state), "{state} on {queue:?}: {used:?}");
                recording.barriers();
            }
            recording.submit().unwrap();
        }
        assert_bytes(&bench.download(&target, 0, SIZE), &bytes, "results");
        assert_texels(&bench.download_texels(&texture), &texels, "results");
    }
    drop((target, texture));
    bench.end();
}

/// Mips and layers are transitioned one by one, and then all together.
pub fn subresources_have_states_of_their_own<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(68);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(3).layers(2);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    let mut texels = random(&desc.info, &mut rng);
    bench.upload_texels(&texture, &texels);
    for round in 0..6_u32 {
        let (mip, layer) = (round % 3, round % 2);
        let index = (layer * 3 + mip) as usize;
        texels[index] = rng.bytes(texels[index].len() as u64);
        let region: TextureRegion = whole(&desc.info, mip, layer);
        let (staging, layout) = bench.staged_rows(&desc.info, region.extent, &texels[index]);
        bench.submit(Queue::Graphics, |recording| {
            recording.use_resource(&texture, Subresource::All, State::SHADER_READ).unwrap();
            recording.barriers();
            recording.copy_buffer_to_texture(&staging, layout, &texture, region).unwrap();
            let other = Subresource::One(((index + 1) % 6) as u32);
            recording.use_resource(&texture, other, State::PIXEL_SHADER).unwrap();
            recording.barriers();
        });
    }
    assert_texels(&bench.download_texels(&texture), &texels, "subresources");
    drop(texture);
    bench.end();
}

/// States that the resource or the queue does not allow are errors, and nothing is recorded.
pub fn impossible_states_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mesh = bench.gpu.create_buffer(&BufferDesc::new(64, Usage::UNORDERED_ACCESS).name("mesh")).unwrap();
    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = bench.gpu.create_texture(&desc).unwrap();
    let mut recording = bench.gpu.record(Queue::Graphics, "wrong").unwrap();
    let named = |result: Result<(), Error>, wanted: &str| {
        let Err(Error::State { name, .. }) = result else { panic!("{wanted}: {result:?}") };
        assert_eq!(name.as_str(), wanted);
    };
    named(recording.use_resource(&mesh, Subresource::All, State::VERTEX_OR_CONSTANT), "mesh");
    named(recording.use_resource(&mesh, Subresource::One(1), State::COPY_DST), "mesh");
    named(recording.use_resource(&grass, Subresource::All, State::UNORDERED_ACCESS), "grass");
    named(recording.use_resource(&grass, Subresource::All, State::COPY_DST | State::COPY_SRC), "grass");
    named(recording.use_resource(&grass, Subresource::One(1), State::SHADER_READ), "grass");
    recording.use_resource(&grass, Subresource::One(0), State::COPY_DST).unwrap();
    recording.barriers();
    recording.raw_mut(permit()).barriers(&[]);
    recording.submit().unwrap();
    let copy = Queue::Copy.id(bench.properties());
    if bench.properties().queues[copy.index()].kind == QueueKind::Copy {
        let mut recording = bench.gpu.record(Queue::Copy, "copies").unwrap();
        named(recording.use_resource(&grass, Subresource::All, State::PIXEL_SHADER), "grass");
    }
    bench.finish();
    drop((mesh, grass));
    bench.end();
}
