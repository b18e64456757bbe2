//! Recording contexts: a recording reuses objects that another has returned.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use tenure_core::memory::PoolKind;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Frame, Gpu, Queue, Readback, Recording, State, Subresource,
    UploadRing, UploadRingDesc, Usage,
};
use tenure_sim::{CallKind, Calls, Device, Lag, Profile};

use super::{SECOND, device, end, finish, gpu, live};

const THREADS: usize = 4;
const FRAMES: u64 = 300;

/// Every call that makes an API object.
fn made(calls: &Calls) -> [u64; 5] {
    [
        CallKind::CreateHeap,
        CallKind::CreateCommitted,
        CallKind::CreatePlaced,
        CallKind::CreateReserved,
        CallKind::CreateList,
    ]
    .map(|kind| calls.made(kind))
}

/// The number of recording objects of all threads.
struct Scene<'a> {
    gpu: &'a Gpu<Device>,
    ring: UploadRing<Device>,
    meshes: Vec<Buffer<Device>>,
    targets: Vec<Buffer<Device>>,
}

impl<'a> Scene<'a> {
    fn new(gpu: &'a Gpu<Device>) -> Self {
        let buffer = |usage| gpu.create_buffer(&BufferDesc::new(20_000, usage | Usage::COPY_SRC)).unwrap();
        Self {
            gpu,
            ring: gpu.create_upload_ring(&UploadRingDesc::new(1 << 20)).unwrap(),
            meshes: (0..THREADS).map(|_| buffer(Usage::VERTEX)).collect(),
            targets: (0..THREADS).map(|_| buffer(Usage::UNORDERED_ACCESS)).collect(),
        }
    }

    /// One thread's share of a frame: constants, ring, uploads, copies with barriers, a readback.
    fn record(
        &self,
        frame: &Frame<Device>,
        thread: usize,
    ) -> Result<(Recording<Device>, Readback<Device>), Error> {
        let byte = frame.number() as u8 ^ thread as u8;
        let (mesh, target) = (&self.meshes[thread], &self.targets[thread]);
        self.gpu.upload(mesh, 0, &[byte; 10_000])?;
        let mut recording = frame.record(Queue::Graphics, "thread")?;
        let (commands, scratch) = recording.split();
        for index in 0..100_u8 {
            let constant = scratch.constants(&[byte ^ index; 64])?;
            commands.raw().expect_bytes(constant.raw(), constant.offset(), &[byte ^ index; 64]);
        }
        let slice = self.ring.allocate(scratch, 5000, 16)?;
        slice.write(0, &[byte; 5000])?;
        commands.copy_slice(&slice, 0, target, 10_000, 5000)?;
        commands.copy_buffer(mesh, 0, target, 0, 10_000)?;
        commands.use_resource(mesh, Subresource::All, State::VERTEX_OR_CONSTANT)?;
        commands.barriers();
        commands.raw().use_buffer(mesh.raw(), mesh.offset(), 10_000, State::VERTEX_OR_CONSTANT);
        let readback = commands.read_back(target, 9_000, 3000)?;
        Ok((recording, readback))
    }
}

/// Hundreds of frames of four recording threads: after the first ones no API object is made, nothing
/// is hazardous, and every byte is right.
#[test]
fn a_frame_makes_no_api_object() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let device = device(profile, Lag::Submissions(9));
        let gpu = gpu(&device, Config::default());
        let scene = Scene::new(&gpu);
        let all_open = Barrier::new(THREADS);
        let mut pending: Vec<(u64, usize, Readback<Device>)> = Vec::new();
        let mut warm = [0; 5];
        for _ in 0..FRAMES {
            let frame = gpu.begin_frame().unwrap();
            let recorded: Vec<_> = thread::scope(|scope| {
                let (scene, frame, all_open) = (&scene, &frame, &all_open);
                let work = |thread| {
                    scope.spawn(move || {
                        let recorded = scene.record(frame, thread);
                        // All are open at once in each frame, so each frame needs the same number.
                        all_open.wait();
                        recorded.unwrap()
                    })
                };
                let threads: Vec<_> = (0..THREADS).map(work).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for (thread, (recording, readback)) in recorded.into_iter().enumerate() {
                frame.submit(recording).unwrap();
                pending.push((frame.number(), thread, readback));
            }
            let number = frame.number();
            frame.end().unwrap();
            pending.retain(|(number, thread, readback)| match readback.poll().unwrap() {
                Some(bytes) => {
                    assert!(bytes == [*number as u8 ^ *thread as u8; 3000], "frame {number}");
                    false
                }
                None => true,
            });
            // After this many frames every page has been full once.
            if number == 100 {
                warm = made(&device.calls());
            }
        }
        assert_eq!(made(&device.calls()), warm, "{}", profile.name());
        assert!(pending.len() < 30, "{}", pending.len());
        assert_eq!(device.hazards(), []);
        let stats = gpu.stats();
        assert_eq!((stats.last_frame.created, stats.last_frame.driver_allocations), (0, 0));
        drop((scene, pending));
        end(gpu, &device);
    }
}

/// A context dropped without a submission is available at once.
#[test]
fn a_dropped_context_is_recycled_at_once() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let scene = Scene::new(&gpu);
    for _ in 0..200 {
        let frame = gpu.begin_frame().unwrap();
        let (recording, readback) = scene.record(&frame, 0).unwrap();
        drop(recording);
        assert!(matches!(readback.poll(), Err(Error::Discarded { .. })));
        drop(readback);
        frame.end().unwrap();
        finish(&gpu);
    }
    let calls = device.calls();
    let of_uploads = u64::from(gpu.config().frames.in_flight);
    assert_eq!(
        calls.live_lists,
        1 + of_uploads,
        "the one that is recycled, and one of uploads for each frame"
    );
    let stats = gpu.stats();
    assert_eq!((stats.open_recordings, stats.pending_releases), (0, 0));
    assert_eq!(
        live(&gpu, PoolKind::UploadPages),
        4,
        "constants and staging, and a page of each that was full"
    );
    assert_eq!(live(&gpu, PoolKind::ReadbackPages), 2, "a page, and one that was full");
    drop(scene);
    end(gpu, &device);
}

/// A thread that panics while it records loses its recording, and nothing else.
#[test]
fn a_panic_on_a_recording_thread_does_not_poison_the_rest() {
    let device = device(Profile::DISCRETE, Lag::Submissions(3));
    let gpu = gpu(&device, Config::default());
    let scene = Scene::new(&gpu);
    for round in 0..30 {
        let frame = gpu.begin_frame().unwrap();
        let results: Vec<_> = thread::scope(|scope| {
            let (scene, frame) = (&scene, &frame);
            let work = |thread| {
                scope.spawn(move || {
                    catch_unwind(AssertUnwindSafe(|| {
                        let recorded = scene.record(frame, thread).unwrap();
                        if thread == round % THREADS {
                            std::panic::resume_unwind(Box::new("a bug of the program's own"));
                        }
                        recorded
                    }))
                })
            };
            let threads: Vec<_> = (0..THREADS).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
        for (recording, readback) in results.into_iter().flatten() {
            frame.submit(recording).unwrap();
            assert_eq!(readback.wait(SECOND).unwrap().len(), 3000);
        }
        frame.end().unwrap();
    }
    assert_eq!(gpu.stats().open_recordings, 0);
    drop(scene);
    end(gpu, &device);
}
