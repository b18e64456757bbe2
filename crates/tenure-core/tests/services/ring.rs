//! Upload rings.

use std::thread;
use std::time::{Duration, Instant};

use tenure_core::device::{Features, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::{
    BufferDesc, BufferLayout, Config, DeviceError, Error, Format, FrameConfig, Gpu, MemoryUse, Plane, Queue,
    QueueId, Recording, RingStats, State, TextureDesc, TextureRegion, UntypedSlice, UploadRing,
    UploadRingDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{device, end, finish, gpu, live, waits};

const GRAPHICS: QueueId = QueueId(0);
const KIB: u64 = 1 << 10;

fn ring(gpu: &Gpu<Device>, size: u64) -> UploadRing<Device> {
    gpu.create_upload_ring(&UploadRingDesc::new(size).name("ring")).unwrap()
}

/// Other recordings refuse a slice without a borrow, and values that never were one are an error.
#[test]
fn untyped_slices_are_of_one_recording() {
    let devices = [(); 2].map(|()| device(Profile::DISCRETE, Lag::None));
    let [mine, other] = devices.each_ref().map(|device| gpu(device, Config::default()));
    let ring = mine.create_upload_ring(&UploadRingDesc::new(4 * KIB).dedicate().name("ring")).unwrap();
    let mut first = mine.record(Queue::Graphics, "first").unwrap();
    // In the ring, behind other bytes, and beside it.
    let sizes = [100, 200, 64 * KIB];
    let slices = sizes.map(|size| ring.allocate_untyped(first.split().1, size, 16).unwrap());
    for ((untyped, size), byte) in slices.into_iter().zip(sizes).zip(7..) {
        assert_eq!(UntypedSlice::from_raw(untyped.into_raw()), untyped);
        let (commands, scratch) = first.split();
        let found = ring.find(scratch, untyped).unwrap();
        assert_eq!(found.size(), size);
        let bytes = vec![byte; usize::try_from(size).unwrap()];
        found.write(0, &bytes).unwrap();
        commands.raw().expect_bytes(found.raw(), found.offset(), &bytes);
        assert!(found.write(size, &[0]).is_err());
    }
    let mut open = mine.record(Queue::Graphics, "open").unwrap();
    let mut elsewhere = other.record(Queue::Graphics, "elsewhere").unwrap();
    let second = mine.create_upload_ring(&UploadRingDesc::new(4 * KIB).dedicate().name("second")).unwrap();
    for untyped in slices {
        let refused = second.find(first.split().1, untyped).err();
        let is_other_ring = |source: &DeviceError| source.to_string().contains("that has allocated it");
        assert!(
            matches!(refused, Some(Error::Device { name, source }) if name.as_str() == "second" && is_other_ring(&source))
        );
        let refused = ring.find(open.split().1, untyped).err();
        assert!(matches!(refused, Some(Error::OtherRecording { name, .. }) if name.as_str() == "first"));
        assert!(matches!(ring.find(elsewhere.split().1, untyped), Err(Error::Foreign { .. })));
        for word in 0..6 {
            for value in [0, 1, 5000, u64::MAX] {
                let mut raw = untyped.into_raw();
                raw[word] = value;
                // Never a panic, and nothing outside of the ring and the page.
                if let Ok(found) = ring.find(first.split().1, UntypedSlice::from_raw(raw)) {
                    assert!(found.size() <= 64 * KIB);
                    found.write(0, &[0]).ok();
                }
            }
        }
    }
    // A buffer for one slice has no bytes before it.
    let [recording, id, page, page_id, _, size] = slices[2].into_raw();
    let shifted = UntypedSlice::from_raw([recording, id, page, page_id, 16, size - 16]);
    let refused = ring.find(first.split().1, shifted).map(drop).unwrap_err().to_string();
    assert!(refused.contains("begins at 0"), "{refused}");
    drop((first, open, elsewhere));
    drop((ring, second));
    end(other, &devices[1]);
    end(mine, &devices[0]);
}

/// Allocates bytes, fills them, and has the GPU read them; returns the offset.
fn fill(
    ring: &UploadRing<Device>,
    recording: &mut Recording<Device>,
    size: u64,
    align: u64,
    byte: u8,
) -> Result<u64, Error> {
    let (commands, scratch) = recording.split();
    let slice = ring.allocate(scratch, size, align)?;
    assert_eq!((slice.size(), slice.name().as_str()), (size, "ring"));
    assert!(slice.offset().is_multiple_of(align));
    let bytes = vec![byte; usize::try_from(size).unwrap()];
    slice.write(0, &bytes)?;
    commands.raw().use_buffer(slice.raw(), slice.offset(), size, State::VERTEX_OR_CONSTANT);
    commands.raw().expect_bytes(slice.raw(), slice.offset(), &bytes);
    Ok(slice.offset())
}

/// A frame with one submission that uses bytes of the ring.
fn frame(gpu: &Gpu<Device>, ring: &UploadRing<Device>, size: u64, byte: u8) -> Result<u64, Error> {
    let frame = gpu.begin_frame()?;
    let mut recording = frame.record(Queue::Graphics, "frame")?;
    let offset = fill(ring, &mut recording, size, 256, byte)?;
    frame.submit(recording)?;
    frame.end()?;
    Ok(offset)
}

fn manual(config: Config) -> (Device, Gpu<Device>) {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, config);
    (device, gpu)
}

fn relaxed() -> Config {
    Config::from(FrameConfig::default().in_flight(16))
}

/// A ring that holds frames 3 to 5. The request of frame 6 does not fit: polling finds frame 3 complete, which
/// is not enough, so it waits for frame 4, and then fits.
#[test]
fn the_classic_story() {
    let (device, gpu) = manual(relaxed());
    let ring = ring(&gpu, 64 * KIB);
    assert_eq!(frame(&gpu, &ring, 16_384, 1), Ok(0));
    assert_eq!(frame(&gpu, &ring, 8192, 2), Ok(16_384));
    assert_eq!(frame(&gpu, &ring, 20_480, 3), Ok(24_576));
    assert_eq!(frame(&gpu, &ring, 16_384, 4), Ok(45_056));
    assert!(device.complete(GRAPHICS, 2), "frames 1 and 2 are done");
    assert_eq!(frame(&gpu, &ring, 10_000, 5), Ok(0), "4,096 bytes are left at the end, and skipped");
    let held = 20_480 + 16_384 + (4096 + 10_000);
    let stats = ring.stats();
    assert_eq!((stats.used, stats.frames, stats.waits), (held, 3, 0));

    let sixth = gpu.begin_frame().unwrap();
    let mut recording = sixth.record(Queue::Graphics, "sixth").unwrap();
    assert!(device.complete(GRAPHICS, 3), "and nobody knows yet");
    assert_eq!(ring.stats().used, held);
    let waits_before = waits::begun(&device);
    thread::scope(|scope| {
        let gpu_at_work = scope.spawn(|| {
            waits::until_one_more(&device, waits_before);
            let seen = ring.stats();
            assert!(device.complete(GRAPHICS, 4));
            seen
        });
        assert_eq!(fill(&ring, &mut recording, 40_000, 256, 6), Ok(10_240), "behind frame 5");
        let meanwhile = gpu_at_work.join().unwrap();
        assert_eq!((meanwhile.used, meanwhile.frames), (held - 20_480, 2), "polling freed frame 3");
    });
    let stats = ring.stats();
    assert_eq!((stats.waits, stats.frames), (1, 1), "it waited for frame 4, and frame 5 is still there");
    assert!(u128::from(stats.waited_ns) >= waits::LEAST.as_nanos());
    assert_eq!(stats.used, (4096 + 10_000) + (240 + 40_000));
    assert_eq!((stats.allocations, stats.bytes, stats.dedicated), (6, 111_440, 0));
    assert!(device.run_until_idle(), "frame 5, while the sixth is recorded");
    sixth.submit(recording).unwrap();
    sixth.end().unwrap();
    finish(&gpu);
    let mut empty = stats;
    (empty.used, empty.frames) = (0, 0);
    assert_eq!(ring.stats(), empty);
    drop(ring);
    end(gpu, &device);
}

/// Commands copy from a ring only if that is among its uses.
#[test]
fn rings_are_used_only_as_described() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let desc = UploadRingDesc::new(1 << 16).name("vertices").usage(Usage::VERTEX);
        let ring = gpu.create_upload_ring(&desc).unwrap();
        let mesh = gpu.create_buffer(&BufferDesc::new(1024, Usage::VERTEX).name("mesh")).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
        let (commands, scratch) = recording.split();
        let slice = ring.allocate(scratch, 1024, 16).unwrap();
        let refused = commands.copy_slice(&slice, 0, &mesh, 0, 1024);
        assert!(
            matches!(&refused, Err(Error::State { name, .. }) if name.as_str() == "vertices"),
            "{refused:?}"
        );
        recording.submit().unwrap();
        drop((ring, mesh));
        end(gpu, &device);
    }
}

/// Nothing waits for a recording that only its own thread can end: it is an error that names it.
#[test]
fn a_recording_in_the_way_is_named() {
    let (device, gpu) = manual(relaxed());
    let ring = ring(&gpu, 64 * KIB);
    let forgotten = gpu.record(Queue::Copy, "forgotten").unwrap();
    frame(&gpu, &ring, 40_000, 1).unwrap();
    assert!(device.run_until_idle());
    let mut recording = gpu.record(Queue::Graphics, "asks").unwrap();
    let refused = fill(&ring, &mut recording, 30_000, 1, 2).unwrap_err();
    let expected = Error::HeldByRecording {
        name: "ring".into(),
        size: 30_000,
        used: 40_000,
        capacity: 65_536,
        recording: "forgotten".into(),
        frame: 0,
    };
    assert_eq!(refused, expected);
    assert_eq!(fill(&ring, &mut recording, 20_000, 1, 3), Ok(40_000), "what fits is served");
    drop(forgotten);
    assert_eq!(fill(&ring, &mut recording, 30_000, 1, 4), Ok(0), "now the first frame can end");
    // The frame being recorded holds the rest.
    let refused = fill(&ring, &mut recording, 30_000, 1, 5).unwrap_err();
    assert!(matches!(&refused, Error::HeldByRecording { recording, .. } if recording == "asks"), "{refused}");
    recording.submit().unwrap();
    assert_eq!(ring.stats().waits, 0);
    drop(ring);
    end(gpu, &device);
}

/// Uploads that wait for their submission count as an open recording, and are not in the way.
#[test]
fn pending_uploads_are_submitted_to_make_room() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, relaxed());
    let ring = ring(&gpu, 64 * KIB);
    let mesh = gpu.create_buffer(&BufferDesc::new(100, Usage::VERTEX).name("mesh")).unwrap();
    for round in 0..10 {
        let mut recording = gpu.record(Queue::Graphics, "part").unwrap();
        fill(&ring, &mut recording, 40_000, 4, round).unwrap();
        recording.submit().unwrap();
        gpu.upload(&mesh, 0, &[round; 100]).unwrap();
        ring.close();
    }
    drop((ring, mesh));
    end(gpu, &device);
}

/// One frame may use more than the ring holds, if its recordings are closed on the way.
#[test]
fn a_frame_larger_than_the_ring_is_closed_by_hand() {
    let device = device(Profile::DISCRETE, Lag::Submissions(4));
    let gpu = gpu(&device, Config::default());
    let ring = ring(&gpu, 64 * KIB);
    let frame = gpu.begin_frame().unwrap();
    for part in 0..40_u8 {
        let mut recording = frame.record(Queue::Graphics, "part").unwrap();
        fill(&ring, &mut recording, 30_000, 4, part).unwrap();
        frame.submit(recording).unwrap();
        if part % 2 == 0 {
            ring.close();
        } else {
            gpu.reclaim().unwrap();
        }
    }
    frame.end().unwrap();
    assert!(ring.stats().waits > 10);
    drop(ring);
    end(gpu, &device);
}

#[test]
fn oversized_data_is_refused_or_gets_its_own_buffer() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let strict = ring(&gpu, 64 * KIB);
    let desc = UploadRingDesc::new(64 * KIB).dedicate().name("ring");
    let generous = gpu.create_upload_ring(&desc).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "large").unwrap();
    for size in [65_537, 1 << 20, u64::MAX] {
        let refused = strict.allocate(recording.split().1, size, 4).err();
        assert_eq!(refused, Some(Error::TooLarge { name: "ring".into(), size, capacity: 65_536 }));
    }
    assert_eq!(fill(&strict, &mut recording, 65_536, 4, 1), Ok(0), "all of it");
    for align in [4, 512, 64 * KIB] {
        fill(&generous, &mut recording, 200_000, align, 2).unwrap();
    }
    fill(&generous, &mut recording, 65_536, 4, 3).unwrap();
    let refused = generous.allocate(recording.split().1, u64::MAX, 4).unwrap_err();
    assert!(matches!(refused, Error::Device { source: DeviceError::InvalidDesc { field: "size", .. }, .. }));
    let fault = Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards();
    device.faults().inject(fault);
    let refused = generous.allocate(recording.split().1, 100 << 20, 4).unwrap_err();
    assert!(matches!(refused, Error::OutOfMemory(_)), "{refused}");
    device.faults().clear();
    let stats = generous.stats();
    assert_eq!((stats.dedicated, stats.allocations, stats.bytes), (3, 4, 665_536));
    recording.submit().unwrap();
    finish(&gpu);
    assert_eq!(live(&gpu, PoolKind::UploadPages), 0, "those buffers went with their submission");
    drop((strict, generous));
    end(gpu, &device);
}

fn rule_of(error: &Error) -> String {
    match error {
        Error::Device { name, source: DeviceError::InvalidDesc { field, value, .. } } => {
            format!("{name} {field} {value}")
        }
        Error::Device {
            name,
            source: DeviceError::InvalidCall { value: Some(value), limit: Some(limit), .. },
        } => {
            format!("{name} {value} {limit}")
        }
        Error::Device { name, source: DeviceError::Unsupported { .. } } => format!("{name} unsupported"),
        other => panic!("{other}"),
    }
}

#[test]
fn bad_rings_and_bad_requests_change_nothing() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let properties = device.properties();
        let granule = properties.constant_alignment.max(properties.copy_offset_alignment);
        let too_large = properties.max_buffer_size + granule;
        let gpu = gpu(&device, Config::default());
        let before = gpu.stats();
        let desc = UploadRingDesc::new(64 * KIB).name("bad");
        for (desc, expected) in [
            (desc.clone().size(0), "bad size 0".to_owned()),
            (desc.clone().size(64 * KIB + 1), format!("bad 65537 {granule}")),
            (desc.clone().size(u64::MAX), format!("bad {} {granule}", u64::MAX)),
            (desc.clone().size(too_large), format!("bad size {too_large}")),
            (desc.clone().usage(Usage::UNORDERED_ACCESS), "bad usage UNORDERED_ACCESS".to_owned()),
            (desc.clone().memory(MemoryUse::GpuOnly), "bad unsupported".to_owned()),
            (desc.clone().memory(MemoryUse::Readback), "bad unsupported".to_owned()),
        ] {
            assert_eq!(rule_of(&gpu.create_upload_ring(&desc).unwrap_err()), expected);
        }
        assert_eq!(gpu.stats(), before);
        let ring = ring(&gpu, 64 * KIB);
        let mut recording = gpu.record(Queue::Graphics, "bad").unwrap();
        for (size, align, expected) in
            [(0, 4, "ring size 0"), (100, 0, "ring align 0"), (100, 3, "ring align 3"), (0, 0, "ring size 0")]
        {
            let refused = ring.allocate(recording.split().1, size, align).unwrap_err();
            assert_eq!(rule_of(&refused), expected);
        }
        let mut unused = RingStats::default();
        unused.capacity = 64 * KIB;
        assert_eq!(ring.stats(), unused);
        {
            let (_, scratch) = recording.split();
            let slice = ring.allocate(scratch, 100, 4).unwrap();
            slice.write(0, &[1; 100]).unwrap();
            slice.write(100, &[]).unwrap();
            for (offset, size) in [(0, 101), (100, 1), (u64::MAX, 1), (50, 51)] {
                let refused = slice.write(offset, &vec![1; size]).unwrap_err();
                let size = size as u64;
                assert_eq!(
                    refused,
                    Error::OutOfRange { name: "a slice of ring".into(), offset, size, capacity: 100 }
                );
            }
            let has_addresses = device.properties().features.contains(Features::DEVICE_ADDRESS);
            assert_eq!(slice.gpu_address().is_some(), has_addresses);
            assert_eq!(slice.mapped_ptr(), None, "the simulated device checks each access");
        }
        let other = super::gpu(&super::device(*profile, Lag::None), Config::default());
        let mut theirs = other.record(Queue::Graphics, "theirs").unwrap();
        let refused = ring.allocate(theirs.split().1, 100, 4).err();
        assert_eq!(refused, Some(Error::Foreign { name: "ring".into() }));
        drop((theirs, recording, ring));
        assert!(other.shutdown().is_clean());
        drop(other);
        end(gpu, &device);
    }
}

#[test]
fn a_gpu_that_does_not_finish_is_an_error_after_the_timeout() {
    let (device, gpu) = manual(relaxed());
    let desc = UploadRingDesc::new(64 * KIB).timeout(Duration::from_millis(40)).name("ring");
    let ring = gpu.create_upload_ring(&desc).unwrap();
    frame(&gpu, &ring, 30_000, 1).unwrap();
    frame(&gpu, &ring, 30_000, 2).unwrap();
    let begun = Instant::now();
    let refused = frame(&gpu, &ring, 30_000, 3).unwrap_err();
    assert!(matches!(refused, Error::Timeout { waited_ms: 40.., .. }), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    let stats = ring.stats();
    assert_eq!((stats.waits, stats.allocations), (1, 2));
    assert!(device.complete(GRAPHICS, 1));
    assert_eq!(frame(&gpu, &ring, 30_000, 3), Ok(0));
    drop(ring);
    end(gpu, &device);
}

#[test]
fn a_wait_ends_with_the_device() {
    let (device, gpu) = manual(relaxed());
    let ring = ring(&gpu, 64 * KIB);
    frame(&gpu, &ring, 40_000, 1).unwrap();
    let waits_before = waits::begun(&device);
    thread::scope(|scope| {
        scope.spawn(|| {
            waits::until_one_more(&device, waits_before);
            device.faults().remove("hung");
        });
        let refused = frame(&gpu, &ring, 40_000, 2).unwrap_err();
        assert!(refused.is_device_lost(), "{refused}");
    });
    drop(ring);
    assert_eq!(gpu.shutdown().lost.as_deref(), Some("hung"));
    drop(gpu);
    device.check_clean().unwrap();
}

/// Bytes that two queues read are held by the slower one; a queue that submitted nothing since
/// they were given out holds nothing back.
#[test]
fn every_queue_that_may_read_holds_the_bytes() {
    let (device, gpu) = manual(relaxed());
    let ring = ring(&gpu, 64 * KIB);
    gpu.record(Queue::Compute, "long job").unwrap().submit().unwrap();
    let compute = Queue::Compute.id(device.properties());
    let copy = Queue::Copy.id(device.properties());
    ring.close();
    for queue in [Queue::Graphics, Queue::Copy] {
        let mut recording = gpu.record(queue, "reader").unwrap();
        let (commands, scratch) = recording.split();
        let slice = ring.allocate(scratch, 20_000, 4).unwrap();
        slice.write(0, &[1; 20_000]).unwrap();
        commands.raw().expect_bytes(slice.raw(), slice.offset(), &[1; 20_000]);
        recording.submit().unwrap();
    }
    ring.close();
    assert!(device.complete(GRAPHICS, 1));
    gpu.reclaim().unwrap();
    assert_eq!(ring.stats().used, 40_000, "the copy queue still reads");
    assert!(device.complete(copy, 1));
    gpu.reclaim().unwrap();
    assert_eq!(ring.stats().used, 0, "whatever the compute queue does");
    assert_eq!(gpu.completed().unwrap().serial(compute), 0);
    drop(ring);
    end(gpu, &device);
}

/// The ring's memory outlives its handle as long as the GPU reads it.
#[test]
fn dropped_rings_outlive_their_submissions() {
    let (device, gpu) = manual(relaxed());
    let ring = ring(&gpu, 64 * KIB);
    frame(&gpu, &ring, 40_000, 1).unwrap();
    let mut open = gpu.record(Queue::Graphics, "open").unwrap();
    fill(&ring, &mut open, 10_000, 4, 2).unwrap();
    let created = gpu.stats().resources_created;
    drop(ring);
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().resources_destroyed, 0);
    open.submit().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().resources_destroyed, 0);
    finish(&gpu);
    assert_eq!((created, gpu.stats().resources_destroyed), (1, 1));
    end(gpu, &device);
}

#[test]
fn slices_are_copied_to_buffers_and_textures() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Random { max: 3 });
        let gpu = gpu(&device, Config::default());
        let ring = ring(&gpu, 256 * KIB);
        let desc = BufferDesc::new(5000, Usage::VERTEX | Usage::COPY_SRC).name("rock");
        let rock = gpu.create_buffer(&desc).unwrap();
        let usage = Usage::SHADER_READ | Usage::COPY_SRC;
        let grass = TextureDesc::d2(20, 12, Format::Rgba8Unorm, usage).name("grass");
        let grass = gpu.create_texture(&grass).unwrap();
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [20, 12, 1] };
        let pitch = 80_u64.next_multiple_of(device.properties().copy_pitch_alignment);
        let align = device.properties().copy_offset_alignment;
        let layout = BufferLayout { offset: 0, row_pitch: pitch, rows: 12 };
        let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
        let (commands, scratch) = recording.split();
        let bytes = ring.allocate(scratch, 6000, 4).unwrap();
        bytes.write(1000, &[7; 5000]).unwrap();
        let texels = ring.allocate(scratch, 12 * pitch, align).unwrap();
        texels.write(0, &vec![9; usize::try_from(12 * pitch).unwrap()]).unwrap();
        let outside = commands.copy_slice(&bytes, 1001, &rock, 0, 5000).unwrap_err();
        let expected =
            Error::OutOfRange { name: "a slice of ring".into(), offset: 1001, size: 5000, capacity: 6000 };
        assert_eq!(outside, expected);
        let outside = commands.copy_slice(&bytes, 0, &rock, 4000, 1001).unwrap_err();
        assert!(matches!(&outside, Error::OutOfRange { name, .. } if name.as_str() == "rock"), "{outside}");
        let short = BufferLayout { offset: align, ..layout };
        let outside = commands.copy_slice_to_texture(&texels, short, &grass, region).unwrap_err();
        assert!(
            matches!(&outside, Error::OutOfRange { name, .. } if name.as_str() == "a slice of ring"),
            "{outside}"
        );
        commands.copy_slice(&bytes, 1000, &rock, 0, 5000).unwrap();
        commands.copy_slice_to_texture(&texels, layout, &grass, region).unwrap();
        commands.use_resource(&rock, tenure_core::Subresource::All, State::COPY_SRC).unwrap();
        commands.use_resource(&grass, tenure_core::Subresource::All, State::COPY_SRC).unwrap();
        commands.barriers();
        commands.raw().expect_bytes(rock.raw(), rock.offset(), &[7; 5000]);
        commands.raw().expect_bytes(grass.raw(), 0, &[9; 960]);
        recording.submit().unwrap();
        drop((ring, rock, grass));
        end(gpu, &device);
    }
}
