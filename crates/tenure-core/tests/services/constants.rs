//! Constants.

use std::thread;

use tenure_core::device::{Allowed, Features, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Config, Constant, DeviceError, Error, FrameConfig, Gpu, PoolConfig, Queue, Recording, StagingConfig,
    State, Strategy as Placing, UploadConfig,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{device, end, finish, gpu, live};

const PAGE: u64 = 64 << 10;

/// The GPU finds `bytes` where the constant says, in the state that draws read it in.
fn expect(recording: &mut Recording<Device>, bytes: &[u8]) -> (u64, u64) {
    let (commands, scratch) = recording.split();
    let constant = scratch.constant_bytes(bytes).unwrap();
    commands.raw().use_buffer(constant.raw(), constant.offset(), constant.size(), State::VERTEX_OR_CONSTANT);
    commands.raw().expect_bytes(constant.raw(), constant.offset(), bytes);
    (constant.offset(), constant.size())
}

#[test]
fn constants_are_at_their_reported_addresses() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Random { max: 5 });
        let (align, has_addresses) = {
            let properties = device.properties();
            (properties.constant_alignment, properties.features.contains(Features::DEVICE_ADDRESS))
        };
        for strategy in [Placing::Pooled, Placing::Placed, Placing::Committed] {
            let gpu = gpu(
                &device,
                Config::default()
                    .pools(PoolConfig::default().strategy(strategy))
                    .staging(StagingConfig::default().constant_page(4 << 10)),
            );
            let mut recording = gpu.record(Queue::Graphics, "constants").unwrap();
            let (commands, scratch) = recording.split();
            let mut addresses = Vec::new();
            for index in 0..200_u32 {
                let value = [index; 19];
                let constant = scratch.constants(&value).unwrap();
                assert!(constant.offset().is_multiple_of(align));
                assert_eq!(constant.size(), 76);
                assert_eq!(constant.gpu_address().is_some(), has_addresses);
                let base = device.gpu_address(constant.raw());
                assert_eq!(constant.gpu_address(), base.map(|base| base + constant.offset()));
                addresses.extend(constant.gpu_address());
                commands.raw().expect_bytes(constant.raw(), constant.offset(), bytemuck::bytes_of(&value));
            }
            addresses.sort_unstable();
            assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 76), "two share bytes");
            recording.submit().unwrap();
            end(gpu, &device);
        }
    }
}

/// The rest of a page serves the next recording; a full page serves another, once the GPU is done with it.
#[test]
fn pages_are_filled_to_their_end_and_recycled() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let mut recording = gpu.record(Queue::Graphics, "first").unwrap();
    let (first, _) = expect(&mut recording, &[1; 256]);
    recording.submit().unwrap();
    let mut recording = gpu.record(Queue::Compute, "second").unwrap();
    assert_eq!(expect(&mut recording, &[2; 256]).0, first + 256, "the rest of the page");
    assert_eq!(live(&gpu, PoolKind::UploadPages), 1);
    for index in 2..PAGE / 256 {
        assert_eq!(expect(&mut recording, &[3; 200]).0, first + index * 256);
    }
    assert_eq!(live(&gpu, PoolKind::UploadPages), 1, "to the last byte");
    expect(&mut recording, &[4; 200]);
    assert_eq!(live(&gpu, PoolKind::UploadPages), 2);
    recording.submit().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(live(&gpu, PoolKind::UploadPages), 2, "the GPU still reads the full one");
    // The first page is still in use, although the second is full now.
    let mut recording = gpu.record(Queue::Graphics, "third").unwrap();
    for _ in 1..PAGE / 256 {
        expect(&mut recording, &[5; 256]);
    }
    let (third, _) = expect(&mut recording, &[5; 256]);
    assert_eq!(live(&gpu, PoolKind::UploadPages), 3);
    recording.submit().unwrap();
    finish(&gpu);
    assert_eq!(live(&gpu, PoolKind::UploadPages), 3, "all wait for a recording");
    let mut recording = gpu.record(Queue::Graphics, "fourth").unwrap();
    for index in 1..PAGE / 256 {
        assert_eq!(expect(&mut recording, &[6; 256]).0, third + index * 256);
    }
    for _ in 0..2 * PAGE / 256 {
        expect(&mut recording, &[6; 256]);
    }
    assert_eq!(live(&gpu, PoolKind::UploadPages), 3, "none is made while there are such");
    recording.submit().unwrap();
    finish(&gpu);
    end(gpu, &device);
}

#[test]
fn a_discarded_recording_releases_its_pages() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::from(StagingConfig::default().constant_page(4 << 10)));
    let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
    for _ in 0..100 {
        recording.split().1.constant_bytes(&[1; 1024]).unwrap();
    }
    assert_eq!(live(&gpu, PoolKind::UploadPages), 25);
    drop(recording);
    let mut recording = gpu.record(Queue::Graphics, "another").unwrap();
    for _ in 0..100 {
        expect(&mut recording, &[2; 1024]);
    }
    assert_eq!(live(&gpu, PoolKind::UploadPages), 25, "they are had again");
    drop(recording);
    for _ in 0..=gpu.config().frames.idle + 1 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    gpu.reclaim().unwrap();
    assert_eq!(live(&gpu, PoolKind::UploadPages), 0);
    end(gpu, &device);
}

/// A page lasts longer than idle pages are kept: the other page stays for the next change.
#[test]
fn slowly_filled_pages_are_not_allocated_again() {
    for (count, size) in [(1, 3000), (3, 3000), (5, 4096)] {
        let device = device(Profile::DISCRETE, Lag::Submissions(1));
        let config = Config::default()
            .pools(PoolConfig::default().strategy(Placing::Committed))
            .frames(FrameConfig::default().idle(4));
        let gpu = gpu(&device, config);
        let frames = |frames: u32| {
            for _ in 0..frames {
                let frame = gpu.begin_frame().unwrap();
                let mut recording = frame.record(Queue::Graphics, "constants").unwrap();
                for _ in 0..count {
                    let _ = recording.split().1.constant_bytes(&vec![1; size]).unwrap();
                }
                frame.submit(recording).unwrap();
                frame.end().unwrap();
            }
            device.calls().made(CallKind::CreateCommitted)
        };
        let (few, many) = (frames(40), frames(200));
        assert_eq!(few, many, "pages allocated in 40 frames of {count} times {size} B, and in 200 more");
        end(gpu, &device);
    }
}

#[test]
fn idle_pages_are_freed_after_the_configured_frames() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::from(FrameConfig::default().idle(3)));
    let frame = |constants: usize| {
        let frame = gpu.begin_frame().unwrap();
        let mut open: Vec<_> =
            (0..constants).map(|_| frame.record(Queue::Graphics, "frame").unwrap()).collect();
        for recording in &mut open {
            expect(recording, &[1; 64]);
        }
        // A recording without constants keeps no pages in use.
        frame.record(Queue::Graphics, "empty").unwrap().submit().unwrap();
        for recording in open {
            recording.submit().unwrap();
        }
        frame.end().unwrap();
        live(&gpu, PoolKind::UploadPages)
    };
    assert_eq!(frame(4), 4, "one for each recording that is open at once");
    assert_eq!([frame(1), frame(1), frame(1)], [4, 4, 4]);
    frame(1);
    assert_eq!(frame(1), 1, "those that nobody took are gone");
    (0..4).for_each(|_| assert!(frame(0) <= 1));
    assert_eq!(frame(0), 0);
    end(gpu, &device);
}

/// After a burst its pages are freed, also while others stay in use.
#[test]
fn pages_of_a_burst_are_freed_after_the_configured_frames() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::from(FrameConfig::default().idle(4)));
    let frame = |pages: u64| {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        for _ in 0..pages * PAGE / 256 {
            expect(&mut recording, &[7; 256]);
        }
        recording.submit().unwrap();
        frame.end().unwrap();
        live(&gpu, PoolKind::UploadPages)
    };
    let frames = |count: u32| (0..count).fold(0, |_, _| frame(2));
    let steady = frames(10);
    assert!(frame(20) >= 20);
    assert!(frame(2) >= 20, "kept for the next burst");
    let after = frames(10);
    assert!(after <= steady + 2, "{after} instead of {steady}");
    end(gpu, &device);
}

/// Pages that wait for a recording can be freed for other requests.
#[test]
fn pages_are_freed_when_memory_is_short() {
    let device = device(Profile::DISCRETE, Lag::None);
    let config = Config::default()
        .pools(PoolConfig::default().strategy(Placing::Committed))
        .staging(StagingConfig::default().constant_page(4 << 10));
    let gpu = gpu(&device, config);
    let mut recording = gpu.record(Queue::Graphics, "many").unwrap();
    for _ in 0..100 {
        recording.split().1.constant_bytes(&[1; 1024]).unwrap();
    }
    recording.submit().unwrap();
    let before = gpu.stats().committed_resources;
    assert!(before >= 25, "each page has memory of its own");
    // The driver has no memory for the next request, until memory is freed.
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards());
    let desc = tenure_core::BufferDesc::new(1 << 20, tenure_core::Usage::VERTEX);
    assert!(gpu.create_buffer(&desc).is_err());
    device.faults().clear();
    assert!(gpu.stats().committed_resources <= before - 24, "they were given back before it was refused");
    end(gpu, &device);
}

/// A page that one thread has filled serves another before memory is asked for.
#[test]
fn threads_take_each_others_free_pages_before_new_ones() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::from(StagingConfig::default().constant_page(4 << 10)));
    for _ in 0..20 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut recording = gpu.record(Queue::Graphics, "on another thread").unwrap();
                for index in 0..64 {
                    expect(&mut recording, &[index; 256]);
                }
                recording.submit().unwrap();
            });
        });
        gpu.reclaim().unwrap();
        assert!(live(&gpu, PoolKind::UploadPages) <= 5, "{}", live(&gpu, PoolKind::UploadPages));
    }
    end(gpu, &device);
}

#[test]
fn constants_larger_than_a_page_get_their_own_page() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    // The block has room for a page and the first of the large constants.
    let pools = tenure_core::PoolConfig::default().min_block(192 << 10);
    let uploads = UploadConfig::default().max_pooled(256 << 10);
    let gpu = gpu(&device, Config::default().pools(pools).uploads(uploads));
    let mut recording = gpu.record(Queue::Graphics, "large").unwrap();
    let (small, _) = expect(&mut recording, &[1; 64]);
    expect(&mut recording, &vec![2; 100_000]);
    expect(&mut recording, &vec![3; 300_000]);
    assert_eq!(gpu.stats().committed_resources, 2, "one block, and what the pool does not take");
    assert_eq!(expect(&mut recording, &[4; 64]).0, small + 256, "the page goes on");
    recording.submit().unwrap();
    finish(&gpu);
    assert_eq!((live(&gpu, PoolKind::UploadPages), gpu.stats().committed_resources), (1, 1));
    end(gpu, &device);
}

fn refused(result: Result<Constant<'_, Device>, Error>) -> Error {
    result.expect_err("it is refused")
}

#[test]
fn the_recording_stays_usable_after_refused_constants() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let mut recording = gpu.record(Queue::Graphics, "poor").unwrap();
    let empty = refused(recording.split().1.constant_bytes(&[]));
    let expected = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
    assert!(matches!(&empty, Error::Device { source, .. } if *source == expected), "{empty}");
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards());
    let error = refused(recording.split().1.constant_bytes(&[1; 64]));
    assert!(matches!(error, Error::OutOfMemory(_)), "{error}");
    device.faults().clear();
    expect(&mut recording, &[1; 64]);
    let empty = refused(recording.split().1.constant_bytes(&[]));
    assert!(matches!(empty, Error::Device { .. }), "{empty}");
    expect(&mut recording, &[2; 64]);
    recording.submit().unwrap();
    end(gpu, &device);
}

/// The untyped escape: other recordings refuse it by name, also those of other managers.
#[test]
fn untyped_constants_are_refused_by_other_recordings() {
    let device = device(Profile::DISCRETE, Lag::None);
    let elsewhere = super::device(Profile::DISCRETE, Lag::None);
    let (mine, other) = (gpu(&device, Config::default()), gpu(&elsewhere, Config::default()));
    let mut first = mine.record(Queue::Graphics, "first").unwrap();
    let untyped = first.split().1.untyped_constants(&[7; 100]).unwrap();
    let second_untyped = first.split().1.untyped_constants(&[8; 100]).unwrap();
    assert_eq!(untyped.recording(), first.id());
    {
        let (commands, scratch) = first.split();
        for (untyped, byte) in [(untyped, 7), (second_untyped, 8)] {
            let found = scratch.find(untyped).unwrap();
            assert_eq!(found.size(), 100);
            commands.raw().expect_bytes(found.raw(), found.offset(), &[byte; 100]);
        }
    }
    let stranger = |recording: &mut Recording<Device>| {
        let (id, name) = (recording.id(), "stranger");
        match recording.split().1.find(untyped).err() {
            Some(Error::OtherRecording { name: of, used_name, used_id, .. }) => {
                assert_eq!((of.as_str(), used_name.as_str(), used_id), ("first", name, id));
            }
            other => panic!("{other:?}"),
        }
    };
    let mut open = mine.record(Queue::Graphics, "stranger").unwrap();
    stranger(&mut open);
    first.submit().unwrap();
    // Recordings share this page.
    open.split().1.untyped_constants(&[9; 100]).unwrap();
    stranger(&mut open);
    // Their numbers are equal.
    let mut theirs = other.record(Queue::Graphics, "stranger").unwrap();
    theirs.split().1.untyped_constants(&[9; 100]).unwrap();
    assert_eq!(theirs.id(), untyped.recording());
    stranger(&mut theirs);
    drop((open, theirs));
    assert!(other.shutdown().is_clean());
    drop(other);
    end(mine, &device);
}

fn lost(gpu: &Gpu<Device>, device: &Device) {
    let mut recording = gpu.record(Queue::Graphics, "lost").unwrap();
    recording.split().1.constant_bytes(&[1; 64]).unwrap();
    device.faults().remove("hung");
    let error = refused(recording.split().1.constant_bytes(&[1; 64]));
    assert!(error.is_device_lost(), "{error}");
    let error = refused(recording.split().1.constant_bytes(&vec![1; 1 << 20]));
    assert!(error.is_device_lost(), "{error}");
    assert!(recording.submit().unwrap_err().is_device_lost());
}

#[test]
fn a_lost_device_takes_its_pages_with_it() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let mut recording = gpu.record(Queue::Graphics, "in flight").unwrap();
    for _ in 0..3 {
        expect(&mut recording, &vec![1; 60_000]);
    }
    recording.submit().unwrap();
    lost(&gpu, &device);
    assert!(gpu.reclaim().unwrap_err().is_device_lost());
    assert_eq!(gpu.shutdown().lost.as_deref(), Some("hung"));
    drop(gpu);
    device.check_clean().unwrap();
}

/// A recording may outlive its manager, constants and all.
#[test]
fn recordings_that_outlive_their_manager_release_their_pages() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let mut late = gpu.record(Queue::Graphics, "late").unwrap();
    let mut later = gpu.record(Queue::Graphics, "later").unwrap();
    for _ in 0..3 {
        expect(&mut late, &vec![1; 60_000]);
    }
    expect(&mut later, &[2; 64]);
    assert_eq!(gpu.shutdown().open_recordings, ["late", "later"]);
    drop(gpu);
    expect(&mut late, &[3; 64]);
    late.submit().unwrap();
    drop(later);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}
