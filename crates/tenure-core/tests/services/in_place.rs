//! Direct uploads by the CPU: their conditions, and that all reads find the same bytes as with staging.

use std::thread;

use proptest::prelude::*;
use tenure_core::device::prelude::*;
use tenure_core::memory::PoolKind;
use tenure_core::memory::in_place::writable_types;
use tenure_core::time::SyncPoint;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, FrameConfig, Gpu, InPlaceConfig, PoolConfig, Queue, QueueId, Readback,
    Recording, StagingConfig, State, Strategy as Placing, Subresource, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, HazardKind, Lag, Profile};

use super::{SECOND, device, end, finish, gpu, live};
use test_random::Rng;

/// Unified memory, and cards whose whole memory is CPU-visible.
const REACHED: [Profile; 5] = [
    Profile::VULKAN_LAVAPIPE,
    Profile::VULKAN_INTEL,
    Profile::VULKAN_MOBILE,
    Profile::D3D12_REBAR,
    Profile::D3D12_ENHANCED,
];

pub(super) fn staged() -> InPlaceConfig {
    InPlaceConfig::default().initial_data(false).uploads(false)
}

fn mesh(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    gpu.create_buffer(&desc(size)).unwrap()
}

fn desc(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::VERTEX | Usage::COPY_SRC).filled().name("mesh")
}

/// The next submission finds `bytes` in the buffer.
fn expect(gpu: &Gpu<Device>, queue: Queue, buffer: &Buffer<Device>, bytes: &[u8]) {
    let mut recording = gpu.record(queue, "expect").unwrap();
    recording.use_resource(buffer, Subresource::All, State::COPY_SRC).unwrap();
    recording.barriers();
    recording.raw().use_buffer(buffer.raw(), buffer.offset(), bytes.len() as u64, State::COPY_SRC);
    recording.raw().expect_bytes(buffer.raw(), buffer.offset(), bytes);
    recording.submit().unwrap();
}

/// Uploads in place, and bytes that were staged.
fn roads(gpu: &Gpu<Device>) -> (u64, u64) {
    let stats = gpu.upload_stats();
    (stats.in_place, stats.bytes)
}

/// Buffers that no command can name are written at once, however busy the GPU is, and nothing is staged or
/// submitted for them.
#[test]
fn buffers_that_no_command_can_name_are_written_at_once() {
    for profile in REACHED {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let busy = gpu.create_buffer_with(&desc(100), &[1; 100]).unwrap();
        expect(&gpu, Queue::Graphics, &busy, &[1; 100]);
        let submitted = gpu.submitted();
        for usage in [Usage::VERTEX, Usage::SHADER_READ, Usage::INDIRECT, Usage::UNORDERED_ACCESS] {
            for size in [3, 1000, 40_000] {
                let data = Rng::new(size).bytes(size);
                let desc = BufferDesc::new(size, usage | Usage::COPY_SRC);
                let whole = gpu.create_buffer_with(&desc, &data).unwrap();
                let parts = gpu.create_buffer(&desc.filled()).unwrap();
                let (first, second) = data.split_at(data.len() / 2);
                let upload = gpu.upload(&parts, first.len() as u64, second).unwrap();
                assert_eq!(upload.sync_point(), Some(SyncPoint::NONE));
                assert!(gpu.wait_upload(&upload, SECOND).unwrap());
                gpu.upload(&parts, 0, first).unwrap();
                assert!(matches!(parts.write(0, &[1]), Err(Error::NotMapped { .. })), "the manager's window");
                for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
                    expect(&gpu, queue, &whole, &data);
                    expect(&gpu, queue, &parts, &data);
                }
            }
        }
        assert_eq!(gpu.upload_stats().bytes, 0);
        assert_eq!((gpu.upload_stats().submissions, live(&gpu, PoolKind::UploadPages)), (0, 0));
        assert_ne!(gpu.submitted(), submitted);
        drop(busy);
        end(gpu, &device);
    }
}

/// Uploads to buffers that commands may be reading or writing are staged, and written directly again once the
/// GPU is idle.
#[test]
fn uploads_to_buffers_in_use_are_staged() {
    for profile in REACHED {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let buffer = gpu.create_buffer_with(&desc(1000), &[1; 1000]).unwrap();
        let source = gpu.create_buffer_with(&desc(500).own_resource(), &[9; 500]).unwrap();
        assert_eq!(roads(&gpu), (2, 0));
        expect(&gpu, Queue::Graphics, &buffer, &[1; 1000]);
        gpu.upload(&buffer, 100, &[2; 100]).unwrap();
        assert_eq!(roads(&gpu), (2, 100), "it is being read");
        let model = |parts: &[(usize, u8)]| {
            let mut model = vec![1; 1000];
            parts.iter().for_each(|(start, byte)| model[*start..start + 100].fill(*byte));
            model
        };
        expect(&gpu, Queue::Graphics, &buffer, &model(&[(100, 2)]));
        finish(&gpu);
        gpu.upload(&buffer, 200, &[3; 100]).unwrap();
        assert_eq!(roads(&gpu), (3, 100), "the GPU is through, whatever the CPU knew of it");
        expect(&gpu, Queue::Graphics, &buffer, &model(&[(100, 2), (200, 3)]));
        finish(&gpu);
        let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
        recording.copy_buffer(&source, 0, &buffer, 300, 100).unwrap();
        recording.submit().unwrap();
        gpu.upload(&buffer, 350, &[4; 100]).unwrap();
        assert_eq!(roads(&gpu), (3, 200), "it is being written");
        let mut all = model(&[(100, 2), (200, 3), (300, 9)]);
        all[350..450].fill(4);
        expect(&gpu, Queue::Graphics, &buffer, &all);
        finish(&gpu);
        gpu.upload(&buffer, 300, &[5; 10]).unwrap();
        all[300..310].fill(5);
        assert_eq!(roads(&gpu), (4, 200), "what commands wrote is written again");
        let readback = gpu.read_back(&buffer, 0, 1000).unwrap();
        device.run_until_idle();
        assert_eq!(readback.wait(SECOND).unwrap(), all, "and the rest of it survives");
        drop((buffer, source, readback));
        end(gpu, &device);
    }
}

/// A pending upload is executed before a later one, also if the GPU has finished everything else.
#[test]
fn uploads_keep_their_order() {
    for profile in REACHED {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let buffer = gpu.create_buffer_with(&desc(100), &[1; 100]).unwrap();
        expect(&gpu, Queue::Graphics, &buffer, &[1; 100]);
        let first = gpu.upload(&buffer, 0, &[2; 100]).unwrap();
        finish_submitted(&gpu);
        assert_eq!(first.sync_point(), None, "it is pending");
        gpu.upload(&buffer, 50, &[3; 50]).unwrap();
        assert_eq!(roads(&gpu), (1, 150));
        let all: Vec<u8> = [2; 50].into_iter().chain([3; 50]).collect();
        expect(&gpu, Queue::Graphics, &buffer, &all);
        drop(buffer);
        end(gpu, &device);
    }
}

/// Completes all submissions, and submits nothing.
fn finish_submitted(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
}

/// Commands recorded before an upload and submitted after it read the new bytes, staged or direct.
#[test]
fn later_submissions_read_uploads_made_after_their_recording() {
    for profile in REACHED {
        for in_place in [InPlaceConfig::default(), staged()] {
            let device = device(profile, Lag::Manual);
            let gpu = gpu(&device, Config::from(in_place));
            let buffer = gpu.create_buffer_with(&desc(64), &[1; 64]).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
            recording.use_resource(&buffer, Subresource::All, State::COPY_SRC).unwrap();
            recording.barriers();
            recording.raw().use_buffer(buffer.raw(), buffer.offset(), 64, State::COPY_SRC);
            recording.raw().expect_bytes(buffer.raw(), buffer.offset(), &[2; 64]);
            gpu.upload(&buffer, 0, &[2; 64]).unwrap();
            recording.submit().unwrap();
            drop(buffer);
            end(gpu, &device);
        }
    }
}

/// Each path can be disabled, and large uploads have limits.
#[test]
fn each_road_can_be_switched_off() {
    let run = |profile, in_place: InPlaceConfig, size: u64| {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::from(in_place));
        let data = vec![1; usize::try_from(size).unwrap()];
        let buffer = gpu.create_buffer_with(&desc(size), &data).unwrap();
        expect(&gpu, Queue::Graphics, &buffer, &data);
        let initial = gpu.upload_stats().in_place;
        finish(&gpu);
        gpu.upload(&buffer, 0, &data).unwrap();
        expect(&gpu, Queue::Graphics, &buffer, &data);
        let later = gpu.upload_stats().in_place - initial;
        drop(buffer);
        end(gpu, &device);
        (initial, later)
    };
    let on = InPlaceConfig::default;
    for profile in REACHED {
        let is_unified = device(profile, Lag::None).properties().uma;
        assert_eq!(run(profile, on(), 1000), (1, 1));
        assert_eq!(run(profile, on().uploads(false), 1000), (1, 0));
        let later = u64::from(is_unified);
        let no_initial = on().initial_data(false);
        assert_eq!(
            run(profile, no_initial, 1000),
            (0, later),
            "what is not placed for it is in other memory"
        );
        assert_eq!(run(profile, staged(), 1000), (0, 0));
        assert_eq!(run(profile, on().max_upload(999), 1000), (1, 0));
        assert_eq!(run(profile, on().max_over_bus(999), 1000), (later, later));
        assert_eq!(run(profile, on(), (4 << 20) + 1), (later, 0));
    }
    for profile in
        [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::VULKAN_AMD_SMALL_BAR, Profile::D3D12_UMA]
    {
        assert_eq!(writable_types(device(profile, Lag::None).properties()), 0);
        assert_eq!(run(profile, on(), 1000), (0, 0), "the CPU does not reach what the GPU prefers");
    }
}

/// Movable and evictable resources are in memory that is not mapped.
#[test]
fn uploads_to_movable_buffers_are_staged() {
    let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let movable = gpu.create_buffer_with(&desc(1000).movable(), &[1; 1000]).unwrap();
    assert_eq!(roads(&gpu), (0, 1000));
    drop(movable);
    end(gpu, &device);
}

/// A buffer that the program does not map is created even if the driver maps no more memory.
#[test]
fn uploads_to_unmappable_buffers_are_staged() {
    for size in [1000, 17 << 20] {
        let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
        let gpu = gpu(&device, Config::default());
        device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Map));
        let buffer = mesh(&gpu, size);
        device.faults().clear();
        gpu.upload(&buffer, 0, &[1; 100]).unwrap();
        assert_eq!(roads(&gpu), (0, 100));
        expect(&gpu, Queue::Graphics, &buffer, &[1; 100]);
        drop(buffer);
        end(gpu, &device);
    }
}

/// The device detects a CPU write to a resource of a submission in flight: were the rules of this file broken,
/// all tests of uploads would say so.
#[test]
fn a_write_that_races_a_submission_is_a_hazard() {
    let device = device(Profile::VULKAN_LAVAPIPE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let buffer = gpu.create_buffer_with(&desc(100), &[1; 100]).unwrap();
    let beside = gpu.create_buffer_with(&desc(100), &[1; 100]).unwrap();
    expect(&gpu, Queue::Graphics, &buffer, &[1; 100]);
    let window = device.map(buffer.raw()).unwrap();
    window.write(beside.offset(), &[2; 100]).unwrap();
    assert_eq!(device.take_hazards(), [], "nothing uses it");
    window.write(buffer.offset() + 99, &[2]).unwrap();
    let hazards = device.take_hazards();
    assert_eq!(hazards.iter().map(|hazard| hazard.kind).collect::<Vec<_>>(), [HazardKind::MappingHazard]);
    device.run_until_idle();
    // The bytes that it should read are overwritten, too.
    assert_eq!(device.take_hazards().len(), 1);
    drop((window, buffer, beside));
    end(gpu, &device);
}

/// A thread that submits work with a buffer while another is just uploading to it finds all of the upload or nothing.
#[test]
fn concurrent_submissions_see_whole_uploads() {
    const SIZE: usize = 200_000;
    for round in 0..40_u8 {
        let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
        let gpu = gpu(&device, Config::default());
        let buffer = gpu.create_buffer_with(&desc(SIZE as u64), &[0; SIZE]).unwrap();
        let found = thread::scope(|scope| {
            let uploading = scope.spawn(|| {
                for byte in 1..5 {
                    gpu.upload(&buffer, 0, &[byte; SIZE]).unwrap();
                }
            });
            if round % 2 == 0 {
                thread::yield_now();
            }
            let found = (0..3).map(|_| gpu.read_back(&buffer, 0, SIZE as u64).unwrap().wait(SECOND).unwrap());
            let found: Vec<Vec<u8>> = found.collect();
            uploading.join().unwrap();
            found
        });
        for bytes in found {
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "parts of two uploads");
        }
        drop(buffer);
        end(gpu, &device);
    }
}

/// A buffer, and its contents as seen by a submission now.
struct Modelled {
    buffer: Buffer<Device>,
    bytes: Vec<u8>,
}

impl Modelled {
    /// A resource with random bytes, made in one of two ways.
    fn new(gpu: &Gpu<Device>, rng: &mut Rng) -> Self {
        let usage = [Usage::VERTEX, Usage::UNORDERED_ACCESS, Usage::SHADER_READ][pick(rng, 3)];
        let size = 1 + rng.below(20_000);
        let bytes = rng.bytes(size);
        let desc = BufferDesc::new(bytes.len() as u64, usage | Usage::COPY_SRC);
        let desc = if rng.below(3) == 0 { desc.own_resource() } else { desc };
        if rng.below(2) == 0 {
            return Self { buffer: gpu.create_buffer_with(&desc, &bytes).unwrap(), bytes };
        }
        let buffer = gpu.create_buffer(&desc.filled()).unwrap();
        let (first, second) = bytes.split_at(pick(rng, bytes.len()));
        gpu.upload(&buffer, first.len() as u64, second).unwrap();
        gpu.upload(&buffer, 0, first).unwrap();
        Self { buffer, bytes }
    }

    fn upload(&mut self, gpu: &Gpu<Device>, rng: &mut Rng) {
        let start = pick(rng, self.bytes.len());
        let size = 1 + rng.below((self.bytes.len() - start) as u64);
        let part = rng.bytes(size);
        gpu.upload(&self.buffer, start as u64, &part).unwrap();
        self.bytes[start..start + part.len()].copy_from_slice(&part);
    }
}

fn pick(rng: &mut Rng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).unwrap()
}

/// A recording that is open while other things happen, with a readback of one of the buffers.
struct OpenReadback {
    recording: Recording<Device>,
    readback: Readback<Device>,
    index: usize,
}

/// Uploads, copies, recordings, submissions and readbacks in any order, compared with plain arrays; returns the
/// readbacks.
fn random_program(profile: Profile, strategy: Placing, in_place: InPlaceConfig, seed: u64) -> Vec<Vec<u8>> {
    let device = device(profile, Lag::Random { max: 6 });
    let config = Config::default()
        .pools(PoolConfig::default().strategy(strategy))
        .staging(StagingConfig::default().upload_page(64 << 10).max_pending(256 << 10))
        .frames(FrameConfig::default().idle(1))
        .in_place(in_place);
    let gpu = gpu(&device, config);
    let queues = u64::try_from(device.properties().queues.len()).unwrap();
    let mut rng = Rng::new(seed);
    let (mut alive, mut read, mut open) = (Vec::<Modelled>::new(), Vec::new(), None::<OpenReadback>);
    for _ in 0..200 {
        let queue = Queue::Id(QueueId(u8::try_from(rng.below(queues)).unwrap()));
        match rng.below(13) {
            0..=2 if alive.len() < 8 => alive.push(Modelled::new(&gpu, &mut rng)),
            // A resource used in an open recording may be dropped; here its index is needed.
            3 if !alive.is_empty() && open.is_none() => drop(alive.swap_remove(pick(&mut rng, alive.len()))),
            4 if !alive.is_empty() => {
                let Modelled { buffer, bytes } = &alive[pick(&mut rng, alive.len())];
                expect(&gpu, queue, buffer, bytes);
            }
            5 => gpu.begin_frame().unwrap().end().unwrap(),
            6 => assert!(gpu.wait(&gpu.submitted(), SECOND).unwrap()),
            7 if alive.len() > 1 => copy_between(&gpu, queue, &mut alive, &mut rng),
            8 | 9 if !alive.is_empty() => match open.take() {
                Some(OpenReadback { recording, readback, index }) => {
                    recording.submit().unwrap();
                    let bytes = readback.wait(SECOND).unwrap();
                    assert_eq!(bytes, alive[index].bytes, "what was uploaded before the submission");
                    read.push(bytes);
                }
                None => {
                    let index = pick(&mut rng, alive.len());
                    let buffer = &alive[index].buffer;
                    let mut recording = gpu.record(queue, "open").unwrap();
                    let readback = recording.read_back(buffer, 0, buffer.size()).unwrap();
                    open = Some(OpenReadback { recording, readback, index });
                }
            },
            _ if !alive.is_empty() => {
                let index = pick(&mut rng, alive.len());
                alive[index].upload(&gpu, &mut rng);
            }
            _ => {}
        }
    }
    drop((alive, open));
    end(gpu, &device);
    read
}

/// The GPU copies from one buffer to another, unless both are ranges of one API buffer.
fn copy_between(gpu: &Gpu<Device>, queue: Queue, alive: &mut [Modelled], rng: &mut Rng) {
    let [from, .., to] = alive else { return };
    let size = 1 + rng.below(from.buffer.size().min(to.buffer.size()));
    let mut recording = gpu.record(queue, "copy").unwrap();
    if recording.copy_buffer(&from.buffer, 0, &to.buffer, 0, size).is_err() {
        return;
    }
    recording.submit().unwrap();
    let size = usize::try_from(size).unwrap();
    to.bytes[..size].copy_from_slice(&from.bytes[..size]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn staged_and_direct_uploads_write_the_same_bytes(seed: u64, profile in 0..REACHED.len(), placed: bool) {
        let strategy = if placed { Placing::Placed } else { Placing::Pooled };
        let run = |in_place| random_program(REACHED[profile], strategy, in_place, seed);
        prop_assert_eq!(run(InPlaceConfig::default()), run(staged()));
    }
}
