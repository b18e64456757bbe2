//! Uploads of bytes; those of texels are in `texels`.

use std::thread;

use tenure_core::device::{Api, Features, StateModel, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::time::SyncPoint;
use tenure_core::{
    Buffer, BufferDesc, Config, DeviceError, Error, FrameConfig, Gpu, InPlaceConfig, MemoryUse, Queue,
    QueueId, QueueKind, StagingConfig, State, Subresource, UploadStats, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile, Step};

use super::in_place::staged;
use super::{SECOND, device, end, finish, gpu, live};
use test_random::Rng;

fn mesh(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    let desc = BufferDesc::new(size, Usage::VERTEX | Usage::COPY_SRC).name("mesh");
    gpu.create_buffer(&desc).unwrap()
}

/// The next submission finds `bytes` in the buffer.
fn expect_on(gpu: &Gpu<Device>, queue: Queue, buffer: &Buffer<Device>, bytes: &[u8]) {
    let mut recording = gpu.record(queue, "expect").unwrap();
    recording.use_resource(buffer, Subresource::All, State::COPY_SRC).unwrap();
    recording.barriers();
    recording.raw().use_buffer(buffer.raw(), buffer.offset(), bytes.len() as u64, State::COPY_SRC);
    recording.raw().expect_bytes(buffer.raw(), buffer.offset(), bytes);
    recording.submit().unwrap();
}

fn expect(gpu: &Gpu<Device>, buffer: &Buffer<Device>, bytes: &[u8]) {
    expect_on(gpu, Queue::Graphics, buffer, bytes);
}

fn bytes(rng: &mut Rng, size: usize) -> Vec<u8> {
    (0..size).map(|_| rng.next() as u8).collect()
}

/// Mapped buffers are written at once, and nothing is submitted for them.
#[test]
fn initial_data_of_mapped_buffers_is_written_at_once() {
    let device = device(Profile::D3D12_REBAR, Lag::None);
    let gpu = gpu(&device, Config::default());
    for memory in [MemoryUse::Upload, MemoryUse::GpuUpload] {
        let desc = BufferDesc::new(500, Usage::CONSTANT).memory(memory);
        let buffer = gpu.create_buffer_with(&desc, &[4; 400]).unwrap();
        let mut read = [0; 400];
        buffer.read(0, &mut read).unwrap();
        assert_eq!(read, [4; 400]);
    }
    assert_eq!(gpu.upload_stats(), UploadStats::default());
    assert_eq!(gpu.submitted(), SyncPoint::NONE);
    end(gpu, &device);
}

#[test]
fn neighbours_become_one_copy() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::VULKAN_INTEL] {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, Config::from(staged()));
        let (large, other) = (mesh(&gpu, 64_000), mesh(&gpu, 64_000));
        let data = bytes(&mut Rng::new(2), 64_000);
        for part in 0..1000_usize {
            let start = part * 64;
            gpu.upload(&large, start as u64, &data[start..start + 64]).unwrap();
        }
        let mut pending = UploadStats::default();
        (pending.uploads, pending.bytes, pending.pending_bytes) = (1000, 64_000, 64_000);
        assert_eq!(gpu.upload_stats(), pending);
        gpu.flush_uploads().unwrap();
        let stats = gpu.upload_stats();
        assert_eq!((stats.copies, stats.submissions, stats.pending_bytes), (1, 1, 0));
        // Parts in reverse order and in alternation are not merged.
        for part in (0..10_usize).rev() {
            let start = part * 64;
            gpu.upload(&large, start as u64, &data[start..start + 64]).unwrap();
        }
        for part in 0..10_usize {
            let start = part * 64;
            gpu.upload(&large, 1000 + start as u64, &data[1000 + start..1064 + start]).unwrap();
            gpu.upload(&other, start as u64, &data[start..start + 64]).unwrap();
        }
        gpu.flush_uploads().unwrap();
        assert_eq!(gpu.upload_stats().copies, 1 + 10 + 20);
        expect(&gpu, &large, &data);
        expect(&gpu, &other, &data[..640]);
        drop((large, other));
        end(gpu, &device);
    }
}

/// The copy queue is used if there is one; uses of uploaded resources wait for it.
#[test]
fn uploads_go_to_the_copy_queue_and_are_waited_for() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Manual);
        let gpu = gpu(&device, Config::from(staged()));
        let copy = Queue::Copy.id(device.properties());
        let has_one = device.properties().queues[copy.index()].kind == QueueKind::Copy;
        let queue = if has_one { copy } else { QueueId(0) };
        let buffer = mesh(&gpu, 1000);
        let upload = gpu.upload(&buffer, 0, &[5; 1000]).unwrap();
        assert_eq!((upload.sync_point(), gpu.submitted()), (None, SyncPoint::NONE));
        let flushed = gpu.flush_uploads().unwrap();
        assert_eq!((flushed, upload.sync_point()), (SyncPoint::at(queue, 1), Some(flushed)));
        assert_eq!(gpu.flush_uploads(), Ok(flushed), "nothing more");
        expect(&gpu, &buffer, &[5; 1000]);
        if has_one {
            assert_eq!(device.complete_one(QueueId(0)), None, "it waits for the copy queue");
        }
        assert_eq!(gpu.completed().unwrap(), SyncPoint::NONE);
        assert!(device.run_until_idle());
        assert!(gpu.wait_upload(&upload, SECOND).unwrap());
        drop(buffer);
        end(gpu, &device);
    }
}

/// A resource dropped while uploads to it are pending or in flight outlives them.
#[test]
fn targets_of_uploads_may_be_dropped() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    for size in [1000, 100_000, 17 << 20] {
        let buffer = mesh(&gpu, size);
        gpu.upload(&buffer, 0, &[1; 1000]).unwrap();
        drop(buffer);
    }
    assert_eq!(gpu.stats().open_recordings, 1, "the uploads");
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().pending_releases, 3, "not submitted");
    let frame = gpu.begin_frame().unwrap();
    frame.end().unwrap();
    let stats = gpu.stats();
    assert_eq!((stats.pending_releases, stats.open_recordings), (3, 0), "submitted at the end of the frame");
    finish(&gpu);
    assert_eq!((gpu.stats().pending_releases, gpu.stats().live_objects), (0, 0));
    end(gpu, &device);
}

#[test]
fn staging_memory_is_recycled_and_freed_when_idle() {
    let device = device(Profile::DISCRETE, Lag::Submissions(3));
    let gpu = gpu(
        &device,
        Config::default()
            .frames(FrameConfig::default().idle(4))
            .staging(StagingConfig::default().upload_page(64 << 10)),
    );
    let (small, large) = (mesh(&gpu, 10_000), mesh(&gpu, 300_000));
    let data = bytes(&mut Rng::new(4), 300_000);
    let mut created = 0;
    for number in 0..200 {
        let frame = gpu.begin_frame().unwrap();
        for part in 0..20 {
            gpu.upload(&small, part * 500, &data[..500]).unwrap();
        }
        gpu.upload(&large, 0, &data).unwrap();
        frame.end().unwrap();
        if number == 50 {
            created = gpu.stats().resources_created;
        }
    }
    assert_eq!(gpu.stats().resources_created, created, "nothing is made in steady state");
    finish(&gpu);
    assert_eq!(live(&gpu, PoolKind::UploadPages), 2, "the page that is being filled, and the spare one");
    for _ in 0..6 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert_eq!(live(&gpu, PoolKind::UploadPages), 0);
    drop((small, large));
    end(gpu, &device);
}

/// A program that never submits and has no frames does not fill the memory with staged bytes.
#[test]
fn pending_uploads_beyond_the_limit_are_submitted() {
    let device = device(Profile::DISCRETE, Lag::Submissions(1));
    let config = Config::from(StagingConfig::default().max_pending(1 << 20).upload_page(64 << 10));
    let gpu = gpu(&device, config);
    let buffer = mesh(&gpu, 1 << 20);
    let data = vec![7; 100_000];
    for _ in 0..1000 {
        gpu.upload(&buffer, 1000, &data).unwrap();
        assert!(gpu.upload_stats().pending_bytes < 1 << 20);
    }
    let stats = gpu.stats();
    assert!(stats.peak_reserved < 8 << 20, "{}", stats.peak_reserved);
    assert!(gpu.upload_stats().submissions > 80);
    drop(buffer);
    end(gpu, &device);
}

fn untouched(gpu: &Gpu<Device>, call: impl FnOnce() -> Result<tenure_core::Upload, Error>) -> Error {
    let before = (gpu.upload_stats(), gpu.stats().open_recordings, live(gpu, PoolKind::UploadPages));
    let error = call().expect_err("it is refused");
    assert_eq!((gpu.upload_stats(), gpu.stats().open_recordings, live(gpu, PoolKind::UploadPages)), before);
    error
}

#[test]
fn bad_uploads_change_nothing() {
    let roads = [staged(), InPlaceConfig::default()];
    for (profile, in_place) in
        Profile::ALL.iter().flat_map(|profile| roads.clone().map(|road| (profile, road)))
    {
        let device = device(*profile, Lag::None);
        let elsewhere = super::device(*profile, Lag::None);
        let (gpu, other) = (gpu(&device, Config::from(in_place)), gpu(&elsewhere, Config::default()));
        let buffer = mesh(&gpu, 1000);
        for (offset, size) in [(0, 1001), (1, 1000), (1001, 0), (u64::MAX, 1), (u64::MAX, 0), (500, 501)] {
            let error = untouched(&gpu, || gpu.upload(&buffer, offset, &vec![1; size]));
            let size = size as u64;
            assert_eq!(error, Error::OutOfRange { name: "mesh".into(), offset, size, capacity: 1000 });
        }
        let error = untouched(&other, || other.upload(&buffer, 0, &[1]));
        assert_eq!(error, Error::Foreign { name: "mesh".into() });
        let desc = BufferDesc::new(100, Usage::VERTEX).usage(Usage::VERTEX);
        let closed = gpu.create_buffer(&desc.name("closed")).unwrap();
        let error = untouched(&gpu, || gpu.upload(&closed, 0, &[1]));
        assert!(matches!(&error, Error::State { name, .. } if name.as_str() == "closed"), "{error}");
        let dynamic = BufferDesc::new(100, Usage::VERTEX).memory(MemoryUse::Upload).name("dynamic");
        let dynamic = gpu.create_buffer(&dynamic).unwrap();
        if device.properties().state_model == StateModel::Promotion {
            let error = untouched(&gpu, || gpu.upload(&dynamic, 0, &[1]));
            assert!(matches!(error, Error::FixedState { memory: MemoryUse::Upload, .. }), "{error}");
            let usage = Usage::ACCELERATION_STRUCTURE;
            let tlas = gpu.create_buffer(&BufferDesc::new(1000, usage).name("tlas")).unwrap();
            let error = untouched(&gpu, || gpu.upload(&tlas, 0, &[1]));
            assert!(matches!(&error, Error::State { name, .. } if name.as_str() == "tlas"), "{error}");
        }
        let nothing = gpu.upload(&buffer, 1000, &[]).unwrap();
        assert_eq!(
            (nothing.sync_point(), gpu.upload_stats()),
            (Some(SyncPoint::NONE), UploadStats::default())
        );
        let theirs = gpu.upload(&buffer, 0, &[1; 10]).unwrap();
        if theirs.sync_point().is_none() {
            assert_eq!(other.wait_upload(&theirs, SECOND), Err(Error::Foreign { name: "upload".into() }));
        }
        let too_much = gpu.create_buffer_with(&BufferDesc::new(10, Usage::VERTEX), &[1; 11]).err();
        assert!(matches!(too_much, Some(Error::OutOfRange { size: 11, capacity: 10, .. })), "{too_much:?}");
        drop((buffer, closed, dynamic));
        assert!(other.shutdown().is_clean());
        drop(other);
        end(gpu, &device);
    }
}

/// Whichever call fails for lack of memory, nothing is lost: a refused upload is refused as a whole, an
/// accepted one arrives.
#[test]
fn a_shortage_at_any_call_loses_nothing() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_INTEL] {
        for kind in [CallKind::CreateCommitted, CallKind::CreateList, CallKind::Submit] {
            for n in 1..6 {
                let device = device(profile, Lag::Submissions(2));
                let staging = StagingConfig::default().upload_page(64 << 10);
                let gpu = gpu(&device, Config::default().staging(staging).in_place(staged()));
                let buffers: Vec<_> = (0..6).map(|_| mesh(&gpu, 50_000)).collect();
                let mut models = vec![None; 6];
                let fault = Fault::nth(n, FaultKind::OutOfHostMemory).of(kind);
                device.faults().inject(fault);
                for round in 0..3_u8 {
                    for (buffer, model) in buffers.iter().zip(&mut models) {
                        if gpu.upload(buffer, 0, &[round; 50_000]).is_ok() {
                            *model = Some(round);
                        }
                    }
                    let flushed = gpu.flush_uploads();
                    let is_pending = gpu.upload_stats().pending_bytes > 0;
                    assert_eq!(flushed.is_err(), is_pending, "{flushed:?}");
                }
                device.faults().clear();
                gpu.flush_uploads().unwrap();
                for (buffer, model) in buffers.iter().zip(models) {
                    let model = model.expect("one call in all fails");
                    expect(&gpu, buffer, &[model; 50_000]);
                }
                drop(buffers);
                end(gpu, &device);
            }
        }
    }
}

/// A submission is refused when the uploads that it may need cannot be submitted.
#[test]
fn nothing_is_submitted_ahead_of_uploads_that_are_stuck() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = mesh(&gpu, 100);
    let upload = gpu.upload(&buffer, 0, &[1; 100]).unwrap();
    let recording = gpu.record(Queue::Graphics, "early").unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    let refused = recording.submit().unwrap_err();
    assert!(matches!(&refused, Error::Device { name, .. } if name.as_str() == "uploads"), "{refused}");
    assert_eq!((gpu.submitted(), upload.sync_point()), (SyncPoint::NONE, None));
    assert_eq!(upload.error(), None, "it is not given up");
    expect(&gpu, &buffer, &[1; 100]);
    assert!(gpu.wait_upload(&upload, SECOND).unwrap());
    drop(buffer);
    end(gpu, &device);
}

#[test]
fn a_lost_device_ends_uploads_with_the_reason() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let (buffer, gone) = (mesh(&gpu, 1000), mesh(&gpu, 1000));
    let submitted = gpu.upload(&buffer, 0, &[1; 1000]).unwrap();
    gpu.flush_uploads().unwrap();
    let pending = gpu.upload(&buffer, 0, &[2; 1000]).unwrap();
    gpu.upload(&gone, 0, &[2; 1000]).unwrap();
    drop(gone);
    device.faults().remove("hung");
    assert!(gpu.reclaim().unwrap_err().is_device_lost());
    assert_eq!((gpu.stats().pending_releases, gpu.stats().open_recordings), (0, 0));
    assert!(submitted.sync_point().is_some());
    assert!(pending.error().is_some_and(Error::is_device_lost), "{pending:?}");
    for upload in [&submitted, &pending] {
        assert!(gpu.wait_upload(upload, SECOND).unwrap_err().is_device_lost());
    }
    assert!(gpu.upload(&buffer, 0, &[1]).unwrap_err().is_device_lost());
    assert!(gpu.flush_uploads().unwrap_err().is_device_lost());
    drop(buffer);
    assert_eq!(gpu.shutdown().lost.as_deref(), Some("hung"));
    drop(gpu);
    device.check_clean().unwrap();
}

/// Uploads that are pending when the manager ends are submitted: their targets may live on.
#[test]
fn pending_uploads_are_submitted_at_the_end() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let kept = mesh(&gpu, 1000);
    let upload = gpu.upload(&kept, 0, &[1; 1000]).unwrap();
    let report = gpu.shutdown();
    drop(gpu);
    assert_eq!((report.leaks.len(), report.open_recordings.len()), (1, 0));
    assert!(upload.sync_point().is_some());
    drop(kept);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

#[test]
fn threads_upload_side_by_side() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Random { max: 4 });
    let gpu = gpu(&device, Config::from(StagingConfig::default().upload_page(64 << 10)));
    let shared = mesh(&gpu, 4 * 10_000);
    thread::scope(|scope| {
        let (gpu, shared) = (&gpu, &shared);
        let threads: Vec<_> = (0..4_u8)
            .map(|thread| {
                scope.spawn(move || {
                    let mut rng = Rng::new(thread.into());
                    let own = mesh(gpu, 5000);
                    for round in 0..60 {
                        let data = bytes(&mut rng, 5000);
                        gpu.upload(&own, 0, &data).unwrap();
                        let part = u64::from(thread) * 10_000;
                        gpu.upload(shared, part, &[thread ^ round; 10_000]).unwrap();
                        if round % 7 == 0 {
                            gpu.flush_uploads().unwrap();
                        }
                        expect(gpu, &own, &data);
                    }
                })
            })
            .collect();
        for _ in 0..40 {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let last: Vec<u8> = (0..4_u8).flat_map(|thread| [thread ^ 59; 10_000]).collect();
    expect(&gpu, &shared, &last);
    drop(shared);
    end(gpu, &device);
}

/// A permanent refusal is returned to the caller that waits, and delays nothing else.
#[test]
fn permanently_refused_uploads_are_discarded() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = mesh(&gpu, 100);
    let upload = gpu.upload(&buffer, 0, &[1; 100]).unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::Removed("reset".into())).of(CallKind::CreateList));
    let refused = gpu.wait_upload(&upload, SECOND).unwrap_err();
    assert!(
        matches!(&refused, Error::Device { source: DeviceError::Lost { reason }, .. } if reason == "reset")
    );
    assert_eq!(upload.error(), Some(&refused));
    assert_eq!((gpu.upload_stats().pending_bytes, gpu.stats().open_recordings), (0, 0));
    drop(buffer);
    drop(gpu);
    device.check_clean().unwrap();
}

/// Without GPU upload heaps, their resources are in an upload heap, which copies cannot write.
#[test]
fn upload_heaps_are_no_destination() {
    for &profile in Profile::ALL {
        let device = device(profile, Lag::None);
        let properties = device.properties();
        if properties.api != Api::Direct3D12 || properties.features.contains(Features::GPU_UPLOAD) {
            continue;
        }
        let gpu = gpu(&device, Config::default());
        let desc = BufferDesc::new(64, Usage::VERTEX).memory(MemoryUse::GpuUpload);
        let buffer = gpu.create_buffer(&desc).unwrap();
        let refused = gpu.upload(&buffer, 0, &[1; 64]);
        assert!(matches!(refused, Err(Error::FixedState { .. })), "{refused:?}");
        buffer.write(0, &[1; 64]).unwrap();
        drop(buffer);
        end(gpu, &device);
    }
}

/// Small buffers share a buffer of the API: one that is written twice orders its own copies alone.
#[test]
fn only_overlapping_copies_are_ordered() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::D3D12_ENHANCED] {
        let barriers = |twice: usize| {
            let device = Device::with_config(DeviceConfig::new(profile).journal(true));
            let mut config = Config::default();
            config.in_place.max_over_bus = 0;
            let gpu = gpu(&device, config);
            let desc = BufferDesc::new(1024, Usage::SHADER_READ | Usage::COPY_SRC).name("light");
            let all: Vec<_> = (0..1000).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
            for buffer in all.iter().rev() {
                gpu.upload(buffer, 0, &[1; 1024]).unwrap();
            }
            for buffer in all.iter().take(twice) {
                gpu.upload(buffer, 0, &[2; 1024]).unwrap();
            }
            gpu.flush_uploads().unwrap();
            device.run_until_idle();
            let is_barrier = |step: &&Step| matches!(step, Step::Transition { .. } | Step::Unordered { .. });
            let count = device.take_journal().iter().filter(is_barrier).count();
            for (number, buffer) in all.iter().enumerate().take(10) {
                let found = gpu.read_back(buffer, 0, 1024).unwrap().wait(SECOND).unwrap();
                assert_eq!(found, [if number < twice { 2 } else { 1 }; 1024]);
            }
            drop(all);
            end(gpu, &device);
            count
        };
        let once = barriers(0);
        for twice in [1, 1000] {
            let found = barriers(twice);
            // A barrier for each buffer of the API.
            assert!(found <= once + 16, "{}: {once} barriers, and {found}", profile.name());
        }
    }
}

/// Only the submissions of uploads use the manager's own pages.
#[test]
fn an_open_recording_holds_no_staging_memory() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2] {
        let reserved = |is_open: bool| {
            let device = device(profile, Lag::Submissions(2));
            let gpu = gpu(&device, Config::from(staged()));
            let open = is_open.then(|| gpu.record(Queue::Graphics, "open").unwrap());
            let mesh = mesh(&gpu, 4096);
            for _ in 0..1000 {
                gpu.upload(&mesh, 0, &[3; 4096]).unwrap();
                let frame = gpu.begin_frame().unwrap();
                drop(gpu.read_back(&mesh, 0, 4096).unwrap());
                frame.end().unwrap();
            }
            let reserved = device.calls().peak_reserved_bytes;
            drop((open, mesh));
            end(gpu, &device);
            reserved
        };
        assert_eq!(reserved(true), reserved(false), "{}", profile.name());
    }
}
