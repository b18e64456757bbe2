//! Readbacks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tenure_core::device::{Allowed, StateModel, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Awaited, Buffer, BufferDesc, Config, DeviceError, Error, Format, FrameConfig, Gpu, MemoryUse, ObjectKind,
    Queue, QueueId, Readback, StagingConfig, State, Subresource, TexelData, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::model::{Model, SAMPLED, random_desc, random_region};
use super::{SECOND, device, end, finish, gpu, live};
use test_random::Rng;

const GRAPHICS: QueueId = QueueId(0);

fn rock(gpu: &Gpu<Device>, bytes: &[u8]) -> Buffer<Device> {
    let desc = BufferDesc::new(bytes.len() as u64, Usage::VERTEX | Usage::COPY_SRC).name("rock");
    gpu.create_buffer_with(&desc, bytes).unwrap()
}

/// Bytes can be read only once the GPU is done, and then any number of times.
#[test]
fn polling_finds_completed_readbacks() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let mut recording = gpu.record(Queue::Graphics, "readback").unwrap();
    let readback = recording.read_back(&rock, 20, 60).unwrap();
    assert_eq!(readback.poll(), Ok(None), "not submitted");
    recording.submit().unwrap();
    drop(rock);
    let mut out = [0; 60];
    assert_eq!((readback.poll(), readback.read(&mut out)), (Ok(None), Ok(false)));
    assert!(matches!(readback.wait(Duration::from_millis(10)), Err(Error::Timeout { waited_ms: 10.., .. })));
    assert!(device.run_until_idle());
    assert_eq!((readback.read(&mut out), out), (Ok(true), [7; 60]));
    assert_eq!(readback.poll(), Ok(Some(vec![7; 60])));
    assert_eq!(readback.wait(Duration::ZERO), Ok(vec![7; 60]));
    let short = readback.read(&mut [0; 59]);
    assert_eq!(short, Err(Error::WrongLength { name: "rock".into(), needed: 60, given: 59 }));
    drop(readback);
    end(gpu, &device);
}

fn random_texels(profile: Profile, seed: u64) {
    let device = device(profile, Lag::Random { max: 5 });
    let gpu = gpu(&device, Config::from(StagingConfig::default().readback_page(64 << 10)));
    let mut rng = Rng::new(seed);
    for _ in 0..6 {
        let desc = random_desc(&gpu, &mut rng);
        let model = Model::random(&desc.info, &mut rng);
        let data: Vec<_> = model.parts().into_iter().map(TexelData::new).collect();
        let texture = gpu.create_texture_with(&desc, &data).unwrap();
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "texels").unwrap();
        let mut readbacks = Vec::new();
        for _ in 0..5 {
            let region = random_region(&model.info, &mut rng);
            readbacks.push((region, recording.read_back_texture(&texture, region).unwrap()));
        }
        frame.submit(recording).unwrap();
        frame.end().unwrap();
        for (region, readback) in readbacks {
            let found = readback.wait(SECOND).unwrap();
            assert_eq!(found.len() as u64, readback.size());
            assert!(found == model.get(region), "{region:?} of {:?}", model.info);
        }
    }
    end(gpu, &device);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Any region of any texture comes back without padding.
    #[test]
    fn regions_come_back_without_padding(seed: u64, profile in 0..Profile::ALL.len()) {
        random_texels(Profile::ALL[profile], seed);
    }
}

fn discarded(readback: &Readback<Device>, recording: &'static str) {
    let expected = Error::Discarded { name: "rock".into(), recording: recording.into() };
    assert_eq!(readback.poll(), Err(expected.clone()));
    assert_eq!(readback.read(&mut [0; 100]), Err(expected.clone()));
    assert_eq!(readback.wait(SECOND), Err(expected));
}

#[test]
fn a_discarded_recording_ends_its_readbacks() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    gpu.flush_uploads().unwrap();
    let mut dropped = gpu.record(Queue::Graphics, "dropped").unwrap();
    let first = dropped.read_back(&rock, 0, 100).unwrap();
    drop(dropped);
    discarded(&first, "dropped");
    let mut refused = gpu.record(Queue::Graphics, "refused").unwrap();
    let second = refused.read_back(&rock, 0, 100).unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    assert!(refused.submit().is_err());
    discarded(&second, "refused");
    drop((first, second, rock));
    end(gpu, &device);
}

/// Dropped before its recording is submitted, before that is complete, or before it was read.
#[test]
fn a_readback_may_be_dropped_at_any_time() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::from(StagingConfig::default().readback_page(64 << 10)));
    let rock = rock(&gpu, &[7; 40_000]);
    for size in [100, 40_000] {
        let mut recording = gpu.record(Queue::Graphics, "readback").unwrap();
        drop(recording.read_back(&rock, 0, size).unwrap());
        let in_flight = recording.read_back(&rock, 0, size).unwrap();
        let complete = recording.read_back(&rock, 0, size).unwrap();
        let discarded = gpu.record(Queue::Graphics, "discarded").unwrap().read_back(&rock, 0, size).unwrap();
        recording.submit().unwrap();
        drop((in_flight, discarded));
        finish(&gpu);
        drop(complete);
    }
    finish(&gpu);
    assert_eq!(live(&gpu, PoolKind::ReadbackPages), 1, "the page that is being given out");
    drop(rock);
    end(gpu, &device);
}

/// A page is reused when all readbacks in it were dropped, and freed when it is idle.
#[test]
fn readback_memory_is_recycled() {
    let device = device(Profile::DISCRETE, Lag::Submissions(3));
    let gpu = gpu(&device, Config::from(FrameConfig::default().idle(4)));
    let rock = rock(&gpu, &[7; 700_000]);
    let mut pending: Vec<Readback<Device>> = Vec::new();
    let mut created = 0;
    for number in 0..300 {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        for size in [100, 30_000, 700_000] {
            pending.push(recording.read_back(&rock, 0, size).unwrap());
        }
        frame.submit(recording).unwrap();
        frame.end().unwrap();
        pending.retain(|readback| readback.poll().unwrap().is_none_or(|bytes| bytes[99] != 7));
        if number == 60 {
            created = gpu.stats().resources_created;
        }
    }
    assert!(pending.len() < 12, "{}", pending.len());
    assert_eq!(gpu.stats().resources_created, created, "nothing is made in steady state");
    drop(pending);
    for _ in 0..8 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    finish(&gpu);
    assert_eq!(live(&gpu, PoolKind::ReadbackPages), 0);
    drop(rock);
    end(gpu, &device);
}

#[test]
fn bad_readbacks_leave_the_recording_usable() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let elsewhere = super::device(*profile, Lag::None);
        let (gpu, other) = (gpu(&device, Config::default()), gpu(&elsewhere, Config::default()));
        let rock = rock(&gpu, &[7; 100]);
        let desc = BufferDesc::new(100, Usage::VERTEX).name("closed");
        let closed = gpu.create_buffer(&desc).unwrap();
        let read = BufferDesc::new(100, Usage::COPY_SRC).memory(MemoryUse::Readback).name("read");
        let read = gpu.create_buffer(&read).unwrap();
        let grass = TextureDesc::d2(8, 8, Format::Rgba8Unorm, SAMPLED).name("grass");
        let grass = gpu.create_texture(&grass).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "bad").unwrap();
        for (offset, size) in [(0, 101), (100, 1), (u64::MAX, 1), (1, u64::MAX)] {
            let error = recording.read_back(&rock, offset, size).err();
            assert_eq!(error, Some(Error::OutOfRange { name: "rock".into(), offset, size, capacity: 100 }));
        }
        let error = recording.read_back(&rock, 50, 0).unwrap_err();
        let expected = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
        assert!(matches!(&error, Error::Device { source, .. } if *source == expected), "{error}");
        let error = recording.read_back(&closed, 0, 100).unwrap_err();
        assert!(matches!(&error, Error::State { name, .. } if name.as_str() == "closed"), "{error}");
        if device.properties().state_model == StateModel::Promotion {
            let error = recording.read_back(&read, 0, 100).err();
            assert!(matches!(error, Some(Error::FixedState { .. })), "{error:?}");
        }
        let outside = tenure_core::TextureRegion {
            mip: 0,
            layer: 0,
            plane: tenure_core::Plane::First,
            origin: [4, 0, 0],
            extent: [5, 8, 1],
        };
        let error = recording.read_back_texture(&grass, outside).unwrap_err();
        assert!(error.to_string().contains("grass"), "{error}");
        let mut theirs = other.record(Queue::Graphics, "theirs").unwrap();
        let error = theirs.read_back(&rock, 0, 100).err();
        assert_eq!(error, Some(Error::Foreign { name: "rock".into() }));
        drop(theirs);
        let good = recording.read_back(&rock, 0, 100).unwrap();
        recording.submit().unwrap();
        assert_eq!(good.wait(SECOND), Ok(vec![7; 100]));
        drop((good, rock, closed, read, grass));
        assert!(other.shutdown().is_clean());
        drop(other);
        end(gpu, &device);
    }
}

#[test]
fn no_memory_for_a_readback_leaves_the_recording_usable() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let mut recording = gpu.record(Queue::Graphics, "poor").unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards());
    let error = recording.read_back(&rock, 0, 100).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory(_)), "{error}");
    device.faults().clear();
    let readback = recording.read_back(&rock, 0, 100).unwrap();
    recording.submit().unwrap();
    assert_eq!(readback.wait(SECOND), Ok(vec![7; 100]));
    drop((readback, rock));
    end(gpu, &device);
}

/// Waiting includes the recording that another thread has yet to submit.
#[test]
fn waiting_begins_before_the_submission() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
    let readback = recording.read_back(&rock, 0, 100).unwrap();
    let begun = Instant::now();
    let late = readback.wait(Duration::from_millis(20));
    assert!(matches!(late, Err(Error::Timeout { what: Awaited::ReadbackSubmission, .. })), "{late:?}");
    assert!(begun.elapsed() >= Duration::from_millis(20));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| readback.wait(10 * SECOND));
        thread::sleep(Duration::from_millis(20));
        recording.submit().unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(vec![7; 100]));
    });
    drop(readback);
    let mut recording = gpu.record(Queue::Graphics, "never").unwrap();
    let readback = recording.read_back(&rock, 0, 100).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| readback.wait(10 * SECOND));
        thread::sleep(Duration::from_millis(20));
        drop(recording);
        let expected = Error::Discarded { name: "rock".into(), recording: "never".into() };
        assert_eq!(waiting.join().unwrap(), Err(expected));
    });
    drop((readback, rock));
    end(gpu, &device);
}

/// Counts how often it is woken, and lets its thread go on.
struct Counted(AtomicUsize, thread::Thread);

impl Counted {
    fn new() -> (Arc<Self>, Waker) {
        let counted = Arc::new(Self(AtomicUsize::new(0), thread::current()));
        (counted.clone(), Waker::from(counted))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.unpark();
    }
}

/// Runs a future to its end on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let (_, waker) = Counted::new();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Each call that polls the GPU wakes the task, once.
#[test]
fn tasks_are_woken_when_the_manager_learns_of_it() {
    type Learn = (&'static str, fn(&Gpu<Device>));
    let learn: [Learn; 5] = [
        ("reclaim", |gpu| gpu.reclaim().unwrap()),
        ("frame", |gpu| gpu.begin_frame().unwrap().end().unwrap()),
        ("completed", |gpu| assert!(gpu.completed().is_ok())),
        ("wait", |gpu| assert!(gpu.wait(&gpu.submitted(), SECOND).unwrap())),
        ("dropped frame", |gpu| drop(gpu.begin_frame().unwrap())),
    ];
    for (what, learn) in learn {
        let device = device(Profile::DISCRETE, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let rock = rock(&gpu, &[7; 100]);
        let mut readback = pin!(gpu.read_back(&rock, 0, 100).unwrap());
        let (woken, waker) = Counted::new();
        let mut context = Context::from_waker(&waker);
        assert_eq!(Future::poll(readback.as_mut(), &mut context), Poll::Pending);
        assert_eq!(Future::poll(readback.as_mut(), &mut context), Poll::Pending);
        gpu.reclaim().unwrap();
        assert_eq!(woken.count(), 0, "{what}: nothing is complete");
        assert!(device.run_until_idle());
        learn(&gpu);
        assert_eq!(woken.count(), 1, "{what}");
        assert_eq!(Future::poll(readback.as_mut(), &mut context), Poll::Ready(Ok(vec![7; 100])));
        learn(&gpu);
        assert_eq!(woken.count(), 1, "{what}: once");
        drop(rock);
    }
}

#[test]
fn tasks_are_woken_by_submission_discarding_and_loss() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let mut submitted = gpu.record(Queue::Graphics, "submitted").unwrap();
    let mut first = pin!(submitted.read_back(&rock, 0, 100).unwrap());
    let mut dropped = gpu.record(Queue::Graphics, "dropped").unwrap();
    let mut second = pin!(dropped.read_back(&rock, 0, 100).unwrap());
    let (woken, waker) = Counted::new();
    let mut context = Context::from_waker(&waker);
    assert_eq!(Future::poll(first.as_mut(), &mut context), Poll::Pending);
    assert_eq!(Future::poll(second.as_mut(), &mut context), Poll::Pending);
    drop(dropped);
    assert_eq!(woken.count(), 1);
    let expected = Error::Discarded { name: "rock".into(), recording: "dropped".into() };
    assert_eq!(Future::poll(second.as_mut(), &mut context), Poll::Ready(Err(expected)));
    submitted.submit().unwrap();
    assert_eq!(woken.count(), 2);
    assert_eq!(Future::poll(first.as_mut(), &mut context), Poll::Pending, "submitted, not complete");
    // The last waker counts.
    let (other, waker) = Counted::new();
    let mut context = Context::from_waker(&waker);
    assert_eq!(Future::poll(first.as_mut(), &mut context), Poll::Pending);
    device.faults().remove("hung");
    assert!(gpu.reclaim().unwrap_err().is_device_lost());
    assert_eq!((woken.count(), other.count()), (2, 1));
    let Poll::Ready(Err(error)) = Future::poll(first.as_mut(), &mut context) else { panic!("it is over") };
    assert!(error.is_device_lost(), "{error}");
}

#[test]
fn futures_run_on_any_executor() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Submissions(3));
    let gpu = gpu(&device, Config::default());
    thread::scope(|scope| {
        let gpu = &gpu;
        let threads: Vec<_> = (0..4_u8)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..25 {
                        let rock = rock(gpu, &[thread ^ round; 3000]);
                        let mut recording = gpu.record(Queue::Copy, "task").unwrap();
                        let readback = recording.read_back(&rock, 1000, 1000).unwrap();
                        recording.submit().unwrap();
                        let bytes = block_on(async { readback.await.unwrap() });
                        assert_eq!(bytes, [thread ^ round; 1000]);
                    }
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            gpu.begin_frame().unwrap().end().unwrap();
            thread::yield_now();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    end(gpu, &device);
}

/// A readback that outlives its manager is reported by name, and can still be read.
#[test]
fn a_readback_may_outlive_its_manager() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let kept = gpu.read_back(&rock, 0, 100).unwrap();
    let mut late = gpu.record(Queue::Graphics, "late").unwrap();
    let unsubmitted = late.read_back(&rock, 0, 50).unwrap();
    drop(rock);
    let report = gpu.shutdown();
    drop(gpu);
    let leaks: Vec<_> = report.leaks.iter().map(|leak| (leak.name.as_str(), leak.kind, leak.bytes)).collect();
    assert_eq!(leaks, [("rock", ObjectKind::Readback, 100), ("rock", ObjectKind::Readback, 50)]);
    assert_eq!(kept.wait(SECOND), Ok(vec![7; 100]));
    late.submit().unwrap();
    assert_eq!(unsubmitted.wait(SECOND), Ok(vec![7; 50]));
    drop((kept, unsubmitted));
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

/// After a device loss a readback returns the reason, in any state.
#[test]
fn a_lost_device_ends_readbacks_with_the_reason() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 100]);
    let submitted = gpu.read_back(&rock, 0, 100).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
    let open = recording.read_back(&rock, 0, 100).unwrap();
    device.faults().remove("hung");
    for readback in [&submitted, &open] {
        assert!(readback.wait(10 * SECOND).unwrap_err().is_device_lost());
        assert!(readback.poll().unwrap_err().is_device_lost());
    }
    assert!(recording.read_back(&rock, 0, 100).unwrap_err().is_device_lost());
    drop((recording, submitted, open, rock));
    assert_eq!(gpu.shutdown().lost.as_deref(), Some("hung"));
    drop(gpu);
    device.check_clean().unwrap();
}

/// Readbacks of one buffer on several queues, at once.
#[test]
fn queues_read_side_by_side() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Random { max: 6 });
    let gpu = gpu(&device, Config::default());
    let rock = rock(&gpu, &[7; 5000]);
    let mut readbacks = Vec::new();
    for _ in 0..10 {
        for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            let mut recording = gpu.record(queue, "reader").unwrap();
            readbacks.push(recording.read_back(&rock, 0, 5000).unwrap());
            recording.submit().unwrap();
        }
    }
    for readback in readbacks {
        assert_eq!(readback.wait(SECOND), Ok(vec![7; 5000]));
    }
    let done = gpu.submitted();
    assert!(done.serial(GRAPHICS) >= 10);
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    recording.use_resource(&rock, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    recording.barriers();
    recording.raw().use_buffer(rock.raw(), rock.offset(), 5000, State::VERTEX_OR_CONSTANT);
    recording.submit().unwrap();
    drop(rock);
    end(gpu, &device);
}

/// A page is filled in more frames than idle memory is kept, and the GPU is always behind: two pages take
/// turns, and no third is created and freed.
#[test]
fn pages_that_last_for_many_frames_take_turns() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::from(StagingConfig::default().readback_page(64 << 10)));
    let rock = rock(&gpu, &[7; 3000]);
    let mut made = Vec::new();
    for _ in 0..200 {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "readback").unwrap();
        drop(recording.read_back(&rock, 0, 3000).unwrap());
        frame.submit(recording).unwrap();
        frame.end().unwrap();
        made.push(gpu.stats().resources_created);
    }
    assert_eq!(made[199], made[50], "{made:?}");
    drop(rock);
    end(gpu, &device);
}

/// The results of all queues share the pages of one buffer.
#[test]
fn queues_do_not_wait_for_results_of_others() {
    for profile in [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let desc = BufferDesc::new(64, Usage::COPY_SRC);
        let sources = [1, 2].map(|byte| gpu.create_buffer_with(&desc, &[byte; 64]).unwrap());
        gpu.flush_uploads().unwrap();
        let fence = device.create_fence("order");
        let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
        recording.wait_for_external(fence.at(1));
        let times = [recording.write_timestamp().unwrap(), recording.write_timestamp().unwrap()];
        let late = recording.read_back(&sources[1], 0, 64).unwrap();
        recording.submit().unwrap();
        let mut recording = gpu.record(Queue::Compute, "early").unwrap();
        let time = recording.write_timestamp().unwrap();
        let early = recording.read_back(&sources[0], 0, 64).unwrap();
        let point = recording.submit().unwrap();
        assert!(gpu.wait(&point, SECOND).unwrap(), "{profile:?}");
        assert_eq!(early.wait(SECOND).unwrap(), [1; 64]);
        let mut recording = gpu.record(Queue::Compute, "go").unwrap();
        recording.signal_external(fence.at(1));
        recording.submit().unwrap();
        assert_eq!(late.wait(SECOND).unwrap(), [2; 64]);
        drop((times, time, early, late, sources, fence));
        end(gpu, &device);
    }
}
