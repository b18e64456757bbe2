//! Recordings submitted in one call, with every kind of resource, and with errors in the middle.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, CompactionBudget, Config, Error, Format, Gpu, Queue, Readback, Recording, State,
    SubmitAllError, Subresource, SyncPoint, TexelData, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Fence, Lag, Profile, Step};
use test_random::Rng;

use super::{SECOND, device, end, gpu};

const ALL: Subresource = Subresource::All;
const MIB: u64 = 1 << 20;
const LONG: Duration = Duration::from_secs(10);
const QUEUES: [Queue; 3] = [Queue::Graphics, Queue::Compute, Queue::Copy];

fn own_buffer(gpu: &Gpu<Device>) -> Buffer<Device> {
    let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::UNORDERED_ACCESS;
    gpu.create_buffer_with(&BufferDesc::new(256, usage).own_resource(), &[0; 256]).unwrap()
}

fn shared_buffer(gpu: &Gpu<Device>) -> Buffer<Device> {
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    gpu.create_buffer_with(&BufferDesc::new(256, usage).name("shared").shared(), &[7; 256]).unwrap()
}

fn was_submitted(points: &[SyncPoint]) -> Vec<bool> {
    points.iter().map(|point| *point != SyncPoint::NONE).collect()
}

/// The peer owns the buffer after the release, so a read on another queue comes before it, as in the order given.
#[test]
fn a_release_to_a_peer_comes_after_reads_on_other_queues() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::D3D12_ENHANCED]
    {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device, Config::default());
        let (shared, target) = (shared_buffer(&gpu), own_buffer(&gpu));
        gpu.flush_uploads().unwrap();
        gpu.wait(&gpu.submitted(), SECOND).unwrap();
        let first = gpu.record(Queue::Graphics, "first").unwrap();
        let mut reading = gpu.record(Queue::Compute, "reads").unwrap();
        reading.copy_buffer(&shared, 0, &target, 0, 256).unwrap();
        let mut releasing = gpu.record(Queue::Graphics, "releases").unwrap();
        let read = releasing.read_back(&shared, 0, 256).unwrap();
        releasing.release_to_peer(&shared, State::COPY_SRC).unwrap();
        let frame = gpu.begin_frame().unwrap();
        let points = frame.submit_all(vec![first, reading, releasing]).unwrap();
        frame.end().unwrap();
        assert!(gpu.wait(&points[2], SECOND).unwrap());
        assert!(points[1].is_covered_by(&gpu.completed().unwrap()), "{}", profile.name());
        assert_eq!(read.wait(SECOND).unwrap(), [7; 256]);
        drop((shared, target, read));
        end(gpu, &device);
    }
}

/// A recording that joins a submission waits for the other queue's writes, as it does alone: the wait makes them visible, also when
/// they are complete.
#[test]
fn a_recording_that_joins_waits_for_complete_writes() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).journal(true));
        let gpu = gpu(&device, Config::default());
        let [written, other] = [own_buffer(&gpu), own_buffer(&gpu)];
        let record = |queue, buffer: &Buffer<Device>, state| {
            let mut recording = gpu.record(queue, "pass").unwrap();
            recording.use_resource(buffer, ALL, state).unwrap();
            recording
        };
        // The graphics queue has waited for the uploads.
        record(Queue::Graphics, &written, State::COPY_SRC).submit().unwrap();
        record(Queue::Graphics, &other, State::COPY_SRC).submit().unwrap();
        let write = record(Queue::Compute, &written, State::UNORDERED_ACCESS).submit().unwrap();
        assert!(gpu.wait(&write, SECOND).unwrap());
        let _earlier = device.take_journal();
        let reads = [&other, &written].map(|buffer| record(Queue::Graphics, buffer, State::COPY_SRC));
        let frame = gpu.begin_frame().unwrap();
        frame.submit_all(reads.into()).unwrap();
        frame.end().unwrap();
        let waits = device.take_journal().into_iter().find_map(|step| match step {
            Step::Submission { waits, .. } => Some(waits),
            _ => None,
        });
        assert_eq!(waits, Some(write.iter().collect()), "{}", profile.name());
        drop((written, other));
        end(gpu, &device);
    }
}

/// A thousand recordings on three queues in turn share few submissions, and each is complete in the end.
#[test]
fn a_thousand_recordings_share_few_submissions() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2] {
        let device = device(profile, Lag::Random { max: 3 });
        let gpu = gpu(&device, Config::default());
        let buffers: Vec<_> = (0..1000).map(|_| own_buffer(&gpu)).collect();
        gpu.flush_uploads().unwrap();
        gpu.wait(&gpu.submitted(), LONG).unwrap();
        for round in 1..3_u8 {
            let passes = buffers.iter().zip(QUEUES.into_iter().cycle()).map(|(buffer, queue)| {
                let mut pass = gpu.record(queue, "pass").unwrap();
                pass.use_resource(buffer, ALL, State::COPY_DST).unwrap();
                pass.raw().fill_buffer(buffer.raw(), 0, 256, round);
                pass
            });
            let before = device.calls().made(CallKind::Submit);
            let frame = gpu.begin_frame().unwrap();
            let points = frame.submit_all(passes.collect()).unwrap();
            frame.end().unwrap();
            let count = device.calls().made(CallKind::Submit) - before;
            // 64 recordings are looked at for one submission.
            assert!(count <= 1000_u64.div_ceil(64) * 3 + 3, "{count}");
            assert!(points.iter().all(|point| gpu.wait(point, LONG).unwrap()));
            for buffer in [&buffers[0], &buffers[500], &buffers[999]] {
                assert_eq!(gpu.read_back(buffer, 0, 256).unwrap().wait(LONG).unwrap(), [round; 256]);
            }
        }
        drop(buffers);
        end(gpu, &device);
    }
}

/// The recording with an open query is refused; later ones are discarded, also on other queues, and their readbacks say so.
#[test]
fn tickets_of_discarded_recordings_say_so() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = own_buffer(&gpu);
    let reading = |queue| {
        let mut recording = gpu.record(queue, "reads").unwrap();
        let read = recording.read_back(&buffer, 0, 256).unwrap();
        (recording, read)
    };
    let ((first, read), (last, unread)) = (reading(Queue::Graphics), reading(Queue::Compute));
    let mut wrong = gpu.record(Queue::Graphics, "wrong").unwrap();
    let _open = wrong.begin_occlusion().unwrap();
    let frame = gpu.begin_frame().unwrap();
    let SubmitAllError { error, points, .. } = frame.submit_all(vec![first, wrong, last]).unwrap_err();
    frame.end().unwrap();
    assert!(matches!(error, Error::Query { .. }), "{error}");
    assert_eq!(was_submitted(&points), [true, false, false]);
    assert_eq!(read.wait(SECOND).unwrap(), [0; 256]);
    assert!(matches!(unread.wait(SECOND), Err(Error::Discarded { .. })));
    drop((buffer, read, unread));
    end(gpu, &device);
}

/// The device is lost at the second submission: the first recordings were submitted, all others are discarded.
#[test]
fn a_loss_in_the_middle_discards_the_rest() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = own_buffer(&gpu);
    gpu.flush_uploads().unwrap();
    gpu.wait(&gpu.submitted(), SECOND).unwrap();
    let passes = QUEUES.into_iter().cycle().take(6).map(|queue| {
        let mut pass = gpu.record(queue, "pass").unwrap();
        pass.use_resource(&buffer, ALL, State::COPY_DST).unwrap();
        pass
    });
    let passes = passes.collect();
    device.faults().inject(Fault::nth(2, FaultKind::Removed("a test".to_owned())).of(CallKind::Submit));
    let frame = gpu.begin_frame().unwrap();
    let SubmitAllError { error, points, .. } = frame.submit_all(passes).unwrap_err();
    assert!(error.is_device_lost(), "{error}");
    assert_eq!(was_submitted(&points), [true, false, false, false, false, false]);
    let after = gpu.record(Queue::Graphics, "after");
    assert!(after.is_err_and(|error| error.is_device_lost()));
    assert!(frame.end().is_err());
    assert_eq!(gpu.stats().open_recordings, 0);
    drop(buffer);
    assert!(gpu.shutdown().lost.is_some());
}

/// The recording that probably hung is the oldest of those that are not complete.
#[test]
fn the_report_of_a_loss_names_the_oldest_of_many_recordings() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let frame = gpu.begin_frame().unwrap();
    let passes = (0..150).map(|number| frame.record(Queue::Graphics, format!("pass {number}")).unwrap());
    let points = frame.submit_all(passes.collect()).unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::Removed("a test".to_owned())).of(CallKind::Submit));
    assert!(frame.record(Queue::Graphics, "lost").unwrap().submit().is_err());
    assert!(frame.end().is_err());
    let report = gpu.loss().unwrap();
    let unfinished = &report.unfinished[0].recordings;
    let names: Vec<_> = unfinished.iter().map(|recording| recording.name.clone()).collect();
    assert_eq!(names, (0..150).map(|number| format!("pass {number}")).collect::<Vec<_>>());
    let serials = |point: &SyncPoint| point.iter().next().unwrap().serial;
    assert!(unfinished.iter().zip(&points).all(|(recording, point)| recording.serial == serials(point)));
    drop(gpu);
}

/// As `submit` does, `submit_all` submits recordings that were open at the shutdown.
#[test]
fn recordings_open_at_a_shutdown_are_submitted_together() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = own_buffer(&gpu);
    gpu.flush_uploads().unwrap();
    let frame = gpu.begin_frame().unwrap();
    let passes: Vec<_> = QUEUES
        .into_iter()
        .map(|queue| {
            let mut pass = frame.record(queue, "pass").unwrap();
            pass.use_resource(&buffer, ALL, State::COPY_DST).unwrap();
            pass
        })
        .collect();
    assert_eq!(gpu.shutdown().open_recordings.len(), 3);
    drop(buffer);
    let points = frame.submit_all(passes).unwrap();
    assert_eq!(was_submitted(&points), [true; 3]);
    frame.end().unwrap();
    end(gpu, &device);
}

/// Inside a submission of the program's own, nothing is submitted and nothing hangs.
#[test]
fn an_external_submission_refuses_recordings() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = own_buffer(&gpu);
    gpu.flush_uploads().unwrap();
    let frame = gpu.begin_frame().unwrap();
    for (is_empty, uploads) in [(true, false), (false, false), (true, true), (false, true)] {
        let passes: Vec<_> = QUEUES
            .into_iter()
            .map(|queue| {
                let mut pass = frame.record(queue, "pass").unwrap();
                if !is_empty {
                    pass.use_resource(&buffer, ALL, State::COPY_DST).unwrap();
                }
                pass
            })
            .collect();
        let (refused, _) = gpu
            .submit_external(Queue::Compute, &SyncPoint::NONE, |_| {
                if uploads {
                    gpu.upload(&buffer, 0, &[1; 256])?;
                }
                Ok::<_, Error>(frame.submit_all(passes).unwrap_err())
            })
            .unwrap();
        assert_eq!(was_submitted(&refused.points), [false; 3]);
        assert!(matches!(refused.error, Error::Device { .. }), "{}", refused.error);
    }
    frame.end().unwrap();
    drop(buffer);
    end(gpu, &device);
}

/// Submits recordings when it is woken.
struct Submits {
    gpu: Gpu<Device>,
    left: Mutex<Vec<Recording<Device>>>,
    woken: AtomicU32,
}

impl Wake for Submits {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
        let left = std::mem::take(&mut *self.left.lock().unwrap());
        let frame = self.gpu.begin_frame().unwrap();
        assert_eq!(was_submitted(&frame.submit_all(left).unwrap()), [true; 2]);
        frame.end().unwrap();
    }
}

/// Wakers run in `submit_all`, for readbacks that a refused recording discards, and may submit.
#[test]
fn a_waker_submits_recordings() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = own_buffer(&gpu);
    let record = |queue| {
        let mut recording = gpu.record(queue, "late").unwrap();
        recording.use_resource(&buffer, ALL, State::COPY_DST).unwrap();
        recording
    };
    let left = Mutex::new(vec![record(Queue::Compute), record(Queue::Graphics)]);
    let mut discarded = gpu.record(Queue::Graphics, "discarded").unwrap();
    let mut task = Box::pin(discarded.read_back(&buffer, 0, 256).unwrap());
    discarded.raw().fill_buffer(buffer.raw(), u64::MAX, 1, 0);
    let submits = Arc::new(Submits { gpu: gpu.clone(), left, woken: AtomicU32::new(0) });
    let waker = Waker::from(submits.clone());
    assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let frame = gpu.begin_frame().unwrap();
    let refused =
        frame.submit_all(vec![record(Queue::Graphics), discarded, record(Queue::Compute)]).unwrap_err();
    frame.end().unwrap();
    assert_eq!(was_submitted(&refused.points), [true, false, false]);
    assert_eq!(submits.woken.load(Ordering::Relaxed), 1);
    let answer = task.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(answer, Poll::Ready(Err(Error::Discarded { .. }))));
    drop((task, waker, submits, buffer));
    end(gpu, &device);
}

/// Threads submit recordings together, each on all queues, while uploads and moves happen on others. Each thread counts in its own
/// buffer, and reads a shared one.
#[test]
fn threads_submit_recordings_together() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::D3D12_ENHANCED] {
        let device = device(profile, Lag::Random { max: 4 });
        let gpu = gpu(&device, Config::default());
        let usage = Usage::COPY_SRC | Usage::COPY_DST;
        let movable = || gpu.create_buffer_with(&BufferDesc::new(256, usage).movable(), &[5; 256]).unwrap();
        let shared = movable();
        let own: Vec<_> = (0..3).map(|_| [movable(), own_buffer(&gpu)]).collect();
        gpu.flush_uploads().unwrap();
        std::thread::scope(|scope| {
            for [from, to] in &own {
                let (gpu, shared) = (&gpu, &shared);
                scope.spawn(move || {
                    for round in 0..40_u8 {
                        gpu.upload(from, 0, &[round; 256]).unwrap();
                        let mut reads = Vec::new();
                        let passes = QUEUES.into_iter().cycle().take(6).map(|queue| {
                            let mut pass = gpu.record(queue, "pass").unwrap();
                            reads.push((pass.read_back(shared, 0, 256).unwrap(), 5));
                            pass.copy_buffer(from, 0, to, 0, 256).unwrap();
                            reads.push((pass.read_back(to, 0, 256).unwrap(), round));
                            pass
                        });
                        let passes = passes.collect();
                        let frame = gpu.begin_frame().unwrap();
                        frame.submit_all(passes).unwrap();
                        frame.end().unwrap();
                        for (read, expected) in reads {
                            assert_eq!(read.wait(LONG).unwrap(), [expected; 256]);
                        }
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..40 {
                    gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap();
                }
            });
        });
        drop((shared, own));
        end(gpu, &device);
    }
}

/// An effect of a recording, in the order of its commands.
enum Effect {
    Copy { from: usize, to: usize },
    Read(Readback<Device>, usize),
    ReadShared(Readback<Device>),
}

/// A recording with its effects, and the value of the fence that it signals.
struct Pass {
    recording: Recording<Device>,
    effects: Vec<Effect>,
    signals: Option<u64>,
}

/// A random program.
struct World {
    rng: Rng,
    gpu: Gpu<Device>,
    /// Some with an API object of their own, some in one that moves.
    buffers: Vec<Buffer<Device>>,
    model: Vec<u8>,
    textures: Vec<Texture<Device>>,
    /// With planes, where the device has such a format.
    depth: Option<Texture<Device>>,
    /// Handed to a peer and back.
    shared: Buffer<Device>,
    is_with_peer: bool,
    /// Not all of them fit a small budget.
    evictable: Vec<Buffer<Device>>,
    read_only: Texture<Device>,
    fence: Fence,
    signalled: u64,
    reads: Vec<(Readback<Device>, Option<u8>)>,
}

impl World {
    fn new(gpu: Gpu<Device>, seed: u64) -> Self {
        let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::UNORDERED_ACCESS;
        let mut buffers: Vec<_> = (0..3).map(|_| own_buffer(&gpu)).collect();
        buffers.extend(
            (0..3)
                .map(|_| gpu.create_buffer_with(&BufferDesc::new(256, usage).movable(), &[0; 256]).unwrap()),
        );
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET | Usage::COPY_DST;
        let texture = |usage, mips, layers| {
            let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage).mips(mips).layers(layers);
            gpu.create_texture(&desc).unwrap()
        };
        let textures = vec![
            texture(usage, 2, 2),
            texture(usage | Usage::EXCLUSIVE, 3, 1),
            texture(usage | Usage::ALL_QUEUES, 1, 1),
        ];
        for texture in &textures {
            let mut recording = gpu.record(Queue::Graphics, "clear").unwrap();
            recording.use_resource(texture, ALL, State::RENDER_TARGET).unwrap();
            recording.raw().clear_texture(texture.raw(), ALL, &[1; 4]);
            recording.submit().unwrap();
        }
        let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST);
        let read_only = gpu
            .create_texture_with(&desc.read_only(State::SHADER_READ), &[TexelData::new(&[3; 1024])])
            .unwrap();
        let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
        let format = gpu.depth_stencil_format(Format::D32FloatS8Uint, usage);
        let depth = format.map(|format| {
            let texture = gpu.create_texture(&TextureDesc::d2(16, 16, format, usage)).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "discard").unwrap();
            recording.discard(&texture, ALL).unwrap();
            recording.raw().use_texture(texture.raw(), ALL, State::DEPTH_WRITE);
            recording.submit().unwrap();
            texture
        });
        let desc = BufferDesc::new(64 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).evictable();
        Self {
            evictable: (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect(),
            rng: Rng::new(seed),
            model: vec![0; buffers.len()],
            fence: gpu.device().create_fence("own"),
            shared: shared_buffer(&gpu),
            gpu,
            buffers,
            textures,
            depth,
            is_with_peer: false,
            read_only,
            signalled: 0,
            reads: Vec::new(),
        }
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn index(&mut self) -> usize {
        self.rng.below(self.buffers.len() as u64) as usize
    }

    fn shader_reads(queue: Queue) -> State {
        if queue == Queue::Graphics { State::SHADER_READ } else { State::NON_PIXEL_SHADER }
    }

    /// Uses a part of a texture by commands that the device checks.
    fn use_texture(&mut self, recording: &mut Recording<Device>, queue: Queue) {
        let texture = &self.textures[self.rng.below(self.textures.len() as u64) as usize];
        let count = texture.info().mips * texture.info().layers();
        let part = match self.rng.below(u64::from(count) + 1) as u32 {
            part if part < count => Subresource::One(part),
            _ => ALL,
        };
        let state = match self.rng.below(8) {
            0 => State::UNORDERED_ACCESS,
            1 if queue == Queue::Graphics => State::RENDER_TARGET,
            2 if queue == Queue::Graphics => State::PIXEL_SHADER,
            3 => State::COMPUTE_UNORDERED_ACCESS,
            4 => State::COMPUTE_SHADER,
            5 if queue == Queue::Graphics => State::VERTEX_SHADER,
            6 => State::COPY_DST,
            _ => Self::shader_reads(queue),
        };
        if state == State::RENDER_TARGET && self.rng.below(2) == 0 {
            // Draws that follow write all of it.
            recording.discard(texture, part).unwrap();
        }
        recording.use_resource(texture, part, state).unwrap();
        recording.raw().use_texture(texture.raw(), part, state);
    }

    /// Uses the planes of a depth texture, each in its own state.
    fn use_planes(&mut self, recording: &mut Recording<Device>) {
        let Some(depth) = &self.depth else { return };
        let states = [State::DEPTH_WRITE, State::DEPTH_READ, State::PIXEL_SHADER];
        let planes = (0..depth.info().subresources()).map(Subresource::One);
        let uses: Vec<_> = planes.map(|part| (part, states[self.rng.below(3) as usize])).collect();
        for (part, state) in &uses {
            recording.use_resource(depth, *part, *state).unwrap();
        }
        for (part, state) in uses {
            recording.raw().use_texture(depth.raw(), part, state);
        }
    }

    /// Draws to a transient texture in memory that others had, and reads it.
    fn use_transient(&mut self, recording: &mut Recording<Device>) {
        let side = [16, 32][self.rng.below(2) as usize];
        let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
        let target =
            recording.transient_texture(&TextureDesc::d2(side, side, Format::Rgba8Unorm, usage)).unwrap();
        recording.use_resource(&target, ALL, State::RENDER_TARGET).unwrap();
        recording.raw().clear_texture(target.raw(), ALL, &[9; 4]);
        recording.use_resource(&target, ALL, State::PIXEL_SHADER).unwrap();
        recording.raw().use_texture(target.raw(), ALL, State::PIXEL_SHADER);
    }

    fn pass(&mut self) -> Pass {
        let queue = QUEUES[self.rng.below(3) as usize];
        let mut recording = self.gpu.record(queue, "pass").unwrap();
        let mut effects = Vec::new();
        for _ in 0..self.rng.below(4) {
            match self.rng.below(8) {
                0 | 1 => {
                    let (from, to) = (self.index(), self.index());
                    if recording.copy_buffer(&self.buffers[from], 0, &self.buffers[to], 0, 256).is_ok() {
                        effects.push(Effect::Copy { from, to });
                    }
                }
                2 => {
                    let of = self.index();
                    effects.push(Effect::Read(recording.read_back(&self.buffers[of], 0, 256).unwrap(), of));
                }
                3 | 4 if queue != Queue::Copy => self.use_texture(&mut recording, queue),
                5 if queue == Queue::Graphics => self.use_transient(&mut recording),
                6 if queue == Queue::Graphics => self.use_planes(&mut recording),
                7 if queue != Queue::Copy => {
                    let state = Self::shader_reads(queue);
                    let (commands, scratch) = recording.split();
                    let object = scratch.texture(&self.read_only).unwrap();
                    commands.raw().use_texture(object, ALL, state);
                }
                _ => {}
            }
        }
        if queue != Queue::Copy && self.happens(15) {
            let evictable = &self.evictable[self.rng.below(4) as usize];
            recording.use_resource(evictable, ALL, State::NON_PIXEL_SHADER).unwrap();
        }
        if self.happens(10) {
            recording.wait_for(&self.gpu.submitted()).unwrap();
        }
        Pass { recording, effects, signals: None }
    }

    /// Takes the shared buffer from the peer, reads it, and perhaps hands it to the peer, in the order of submission. Returns the
    /// indices of these two recordings.
    fn share(&mut self, passes: &mut [Pass]) -> Vec<(usize, bool)> {
        let mut steps = Vec::new();
        let mut is_with_peer = self.is_with_peer;
        for (index, pass) in passes.iter_mut().enumerate() {
            if self.rng.below(3) > 0 {
                continue;
            }
            if is_with_peer {
                pass.recording.acquire_from_peer(&self.shared, State::COPY_SRC).unwrap();
                is_with_peer = false;
                steps.push((index, false));
            }
            let read = pass.recording.read_back(&self.shared, 0, 256).unwrap();
            pass.effects.push(Effect::ReadShared(read));
            if self.rng.below(3) == 0 {
                pass.recording.release_to_peer(&self.shared, State::COPY_SRC).unwrap();
                is_with_peer = true;
                steps.push((index, true));
            }
        }
        steps
    }

    /// Recordings in another order than that of their commands, with points of a fence in the order of submission.
    fn passes(&mut self) -> Vec<Pass> {
        let mut passes: Vec<_> = (0..self.rng.below(14)).map(|_| self.pass()).collect();
        self.rng.shuffle(&mut passes);
        let mut signalled = self.signalled;
        for pass in &mut passes {
            if self.happens(10) && signalled > self.signalled {
                pass.recording.wait_for_external(self.fence.at(signalled));
            }
            if self.happens(10) {
                signalled += 1;
                pass.recording.signal_external(self.fence.at(signalled));
                pass.signals = Some(signalled);
            }
        }
        passes
    }

    fn submit(&mut self, is_refused: bool) {
        let mut passes = self.passes();
        let steps = self.share(&mut passes);
        for _ in 0..self.rng.below(3) {
            let (at, byte) = (self.index(), self.rng.next() as u8);
            self.gpu.upload(&self.buffers[at], 0, &[byte; 256]).unwrap();
            self.model[at] = byte;
        }
        if self.happens(50) || is_refused {
            self.gpu.flush_uploads().unwrap();
        }
        if is_refused {
            let kind = [CallKind::Submit, CallKind::CloseList][usize::from(self.happens(30))];
            let fault = Fault::nth(1 + self.rng.below(6), FaultKind::OutOfHostMemory);
            self.gpu.device().faults().inject(fault.of(kind));
        }
        let (mut recordings, mut notes) = (Vec::new(), Vec::new());
        for Pass { recording, effects, signals } in passes {
            recordings.push(recording);
            notes.push((effects, signals));
        }
        let gpu = self.gpu.clone();
        let frame = gpu.begin_frame().unwrap();
        let points = match frame.submit_all(recordings) {
            Ok(points) => points,
            Err(refused) if is_refused => refused.points,
            Err(refused) => panic!("{refused}"),
        };
        gpu.device().faults().clear();
        for ((effects, signals), point) in notes.into_iter().zip(&points) {
            let is_submitted = *point != SyncPoint::NONE;
            self.apply(effects, is_submitted);
            if let Some(value) = signals {
                self.signalled = value;
                if !is_submitted {
                    self.fence.signal(value);
                }
            }
        }
        let was_submitted = was_submitted(&points);
        if let Some((_, is_with_peer)) = steps.iter().rfind(|(index, _)| was_submitted[*index]) {
            self.is_with_peer = *is_with_peer;
        }
        frame.end().unwrap();
        if self.happens(10) {
            let budget = [160, 1024][self.rng.below(2) as usize];
            gpu.device().set_budget(0, budget * MIB).unwrap();
        }
        if self.happens(20) {
            gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap();
        }
    }

    fn apply(&mut self, effects: Vec<Effect>, is_submitted: bool) {
        for effect in effects {
            match effect {
                Effect::Copy { from, to } if is_submitted => self.model[to] = self.model[from],
                Effect::Copy { .. } => {}
                Effect::ReadShared(read) => self.reads.push((read, is_submitted.then_some(7))),
                Effect::Read(read, of) => self.reads.push((read, is_submitted.then_some(self.model[of]))),
            }
        }
    }

    fn check(&mut self, context: &str) {
        for (read, expected) in self.reads.drain(..) {
            match (read.wait(LONG), expected) {
                (Ok(bytes), Some(expected)) => assert_eq!(bytes, [expected; 256], "{context}"),
                (Err(Error::Discarded { .. }), None) => {}
                (answer, expected) => panic!("{context}: {answer:?} instead of {expected:?}"),
            }
        }
    }
}

/// Recordings on all queues, submitted in another order than recorded: parts of textures, transient resources, reads that no
/// recording names, readbacks, fences, uploads and moves. Each byte that is read is the one that the order given leaves there, and
/// the device finds no hazard.
#[test]
fn random_recordings_of_all_kinds_run_in_the_order_given() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6);
    for (profile, seed) in Profile::ALL.iter().flat_map(|profile| (0..seeds).map(move |seed| (profile, seed)))
    {
        let context = format!("{}, seed {seed}", profile.name());
        let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 6 }][seed as usize % 3];
        let device = device(*profile, lag);
        let mut world = World::new(gpu(&device, Config::default()), seed);
        for _ in 0..30 {
            let is_refused = world.happens(25);
            world.submit(is_refused);
            let hazards = device.take_hazards();
            assert!(hazards.is_empty(), "{context}: {hazards:?}");
        }
        world.check(&context);
        let gpu = world.gpu.clone();
        drop(world);
        end(gpu, &device);
    }
}
