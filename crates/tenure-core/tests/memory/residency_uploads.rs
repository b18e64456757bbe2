//! Uploads to evictable resources: destinations that cannot be resident together are filled one after the
//! other, and nothing is lost.

use std::time::Duration;

use tenure_core::{Buffer, Error, Format, Gpu, Queue, State, Subresource, TexelData, TextureDesc, Usage};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};
use test_random::Rng;

use crate::evictable::{end_frame, evict_all, evictable, with};

const MIB: u64 = 1 << 20;
const SOON: Duration = Duration::from_secs(10);

/// Ends frames until all idle blocks are evicted, and restores the memory.
fn evict_once(gpu: &Gpu<Device>) {
    evict_all(gpu);
    gpu.device().set_budget(0, 64 * MIB).unwrap();
    end_frame(gpu);
}

/// Limits the bytes that the driver makes resident at once.
fn limit(gpu: &Gpu<Device>, bytes: u64) {
    let fault = Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::MakeResident);
    gpu.device().faults().inject(fault.larger_than(bytes).onwards());
}

fn assert_holds(gpu: &Gpu<Device>, buffer: &Buffer<Device>, offset: u64, byte: u8) {
    let found = gpu.read_back(buffer, offset, 64).unwrap().wait(SOON).unwrap();
    assert_eq!(found, [byte; 64]);
}

#[track_caller]
fn end(gpu: Gpu<Device>) {
    let device = gpu.device().clone();
    device.faults().clear();
    assert!(device.run_until_idle());
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

/// Uploads to five blocks, with a driver that makes only two resident at once.
#[test]
fn uploads_to_more_than_can_be_resident_are_submitted_in_parts() {
    for lag in [Lag::None, Lag::Submissions(4)] {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(lag).budgets([64 * MIB]));
        let buffers: Vec<_> = (0..5).map(|_| gpu.create_buffer(&evictable(4 * MIB)).unwrap()).collect();
        evict_once(&gpu);
        assert_eq!(gpu.memory().heaps[0].evicted, 20 * MIB);
        limit(&gpu, 9 * MIB);
        for (byte, buffer) in (1..).zip(&buffers) {
            // The second is written over the first: their order matters.
            gpu.upload(buffer, 0, &[99; 128]).unwrap();
            gpu.upload(buffer, 64, &[byte; 128]).unwrap();
        }
        let done = gpu.flush_uploads().unwrap();
        assert_eq!(gpu.upload_stats().pending_bytes, 0);
        assert!(gpu.wait(&done, SOON).unwrap());
        for (byte, buffer) in (1..).zip(&buffers) {
            assert_holds(&gpu, buffer, 0, 99);
            assert_holds(&gpu, buffer, 64, byte);
            assert_holds(&gpu, buffer, 128, byte);
        }
        drop(buffers);
        end(gpu);
    }
}

/// Textures use the graphics queue, and those of one block are filled together.
#[test]
fn textures_that_cannot_be_resident_at_once_are_filled() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let desc = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
    let texels = vec![7; 4 << 20];
    let made = |_| gpu.create_texture(&desc.clone().evictable()).unwrap();
    let textures: Vec<_> = (0..4).map(made).collect();
    evict_once(&gpu);
    limit(&gpu, 5 * MIB);
    let region = tenure_core::TextureRegion {
        mip: 0,
        layer: 0,
        plane: tenure_core::Plane::First,
        origin: [0; 3],
        extent: [1024, 1024, 1],
    };
    for texture in &textures {
        gpu.upload_texture(texture, region, TexelData::new(&texels)).unwrap();
    }
    let part = tenure_core::TextureRegion { extent: [4, 4, 1], ..region };
    for texture in &textures {
        let found = gpu.read_back_texture(texture, part).unwrap().wait(SOON).unwrap();
        assert_eq!(found, [7; 64]);
    }
    drop(textures);
    end(gpu);
}

/// A block that cannot be resident by itself keeps uploads pending, with an error; they are made when it can be.
#[test]
fn an_upload_to_a_non_resident_block_stays_pending() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let buffers: Vec<_> = [2, 8].map(|mib| gpu.create_buffer(&evictable(mib * MIB)).unwrap()).into();
    evict_once(&gpu);
    limit(&gpu, 4 * MIB);
    let uploads: Vec<_> = buffers.iter().map(|buffer| gpu.upload(buffer, 0, &[5; 64]).unwrap()).collect();
    let refused = gpu.flush_uploads().unwrap_err();
    assert!(matches!(&refused, Error::Device { source, .. } if source.is_shortage()), "{refused}");
    assert!(gpu.upload_stats().pending_bytes > 0);
    assert!(uploads.iter().all(|upload| upload.error().is_none()), "none is given up");
    let mut recording = gpu.record(Queue::Graphics, "early").unwrap();
    recording.make_resident(&buffers[0]).unwrap();
    recording.submit().unwrap_err();
    gpu.device().faults().clear();
    for (upload, buffer) in uploads.iter().zip(&buffers) {
        assert!(gpu.wait_upload(upload, SOON).unwrap());
        assert_holds(&gpu, buffer, 0, 5);
    }
    drop(buffers);
    end(gpu);
}

/// A block that can never be resident is dropped: its upload no longer delays others, unless a recording uses
/// it.
#[test]
fn an_upload_to_a_dropped_block_delays_no_others() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let [small, large] = [2, 8].map(|mib| gpu.create_buffer(&evictable(mib * MIB)).unwrap());
    evict_once(&gpu);
    limit(&gpu, 4 * MIB);
    let upload = gpu.upload(&large, 0, &[5; 64]).unwrap();
    gpu.upload(&large, 128, &[5; 64]).unwrap();
    gpu.upload(&small, 0, &[6; 64]).unwrap();
    gpu.flush_uploads().unwrap_err();
    let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
    recording.use_resource(&large, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    drop(large);
    gpu.flush_uploads().unwrap_err();
    drop(recording);
    gpu.flush_uploads().unwrap();
    assert!(upload.error().is_none());
    assert_holds(&gpu, &small, 0, 6);
    let stats = gpu.upload_stats();
    assert_eq!((stats.copies, stats.pending_bytes), (1, 0));
    drop(small);
    end(gpu);
}

/// The destination of an upload is dropped before the submission: it is destroyed once the upload is done.
#[test]
fn destinations_dropped_meanwhile_are_reclaimed() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let buffers: Vec<_> = (0..6).map(|_| gpu.create_buffer(&evictable(4 * MIB)).unwrap()).collect();
    evict_once(&gpu);
    limit(&gpu, 5 * MIB);
    for buffer in &buffers {
        gpu.upload(buffer, 0, &[1; 64]).unwrap();
    }
    drop(buffers);
    gpu.flush_uploads().unwrap();
    gpu.device().run_until_idle();
    (0..40).for_each(|_| end_frame(&gpu));
    gpu.trim();
    let heap = gpu.memory().heaps[0].clone();
    assert_eq!((heap.evicted, heap.ours.total()), (0, 0));
    end(gpu);
}

/// The device is lost while uploads wait for residency: each says so.
#[test]
fn a_loss_discards_uploads() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([64 * MIB]));
    let buffers: Vec<_> = (0..3).map(|_| gpu.create_buffer(&evictable(4 * MIB)).unwrap()).collect();
    evict_once(&gpu);
    let uploads: Vec<_> = buffers.iter().map(|buffer| gpu.upload(buffer, 0, &[5; 64]).unwrap()).collect();
    // Of two errors the first is returned.
    let lost = Fault::nth(3, FaultKind::Removed("pulled out".into())).of(CallKind::MakeResident);
    gpu.device().faults().inject(lost);
    limit(&gpu, 5 * MIB);
    gpu.flush_uploads().unwrap_err();
    assert!(uploads.iter().all(|upload| upload.error().is_some()));
    assert_eq!(gpu.upload_stats().pending_bytes, 0);
    drop(buffers);
    let device = gpu.device().clone();
    drop(gpu);
    assert_eq!(device.leaks(), []);
}

/// One thread's part: each buffer holds the byte that was written to it last.
fn stream(gpu: &Gpu<Device>, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut buffers: Vec<(Buffer<Device>, u8)> = Vec::new();
    let queues = [Queue::Graphics, Queue::Compute, Queue::Copy];
    // On a busy machine the other thread may run late.
    let has_evicted = || gpu.device().calls().made(CallKind::Evict) > 0;
    for step in (0..20_000).take_while(|step| *step < 120 || !has_evicted()) {
        if buffers.len() < 3 || rng.below(3) == 0 {
            let size = [3000, 300_000, MIB, 3 * MIB][rng.below(4) as usize];
            let byte = rng.below(256) as u8;
            let data = vec![byte; size.min(4096) as usize];
            let buffer = gpu.create_buffer(&evictable(size)).unwrap();
            gpu.upload(&buffer, 0, &data).unwrap();
            buffers.push((buffer, byte));
        }
        let index = rng.below(buffers.len() as u64) as usize;
        let (buffer, byte) = &mut buffers[index];
        if rng.below(4) == 0 {
            *byte = byte.wrapping_add(1);
            gpu.upload(buffer, 0, &[*byte; 64]).unwrap();
        }
        let mut recording = gpu.record(queues[rng.below(3) as usize], "use").unwrap();
        recording.make_resident(&*buffer).unwrap();
        let readback = recording.read_back(buffer, 0, 64).unwrap();
        if rng.below(6) > 0 {
            recording.submit().unwrap();
            if rng.below(4) == 0 {
                let found = readback.wait(SOON).unwrap();
                assert!(found.iter().all(|found| found == byte), "seed {seed}, step {step}: {found:?}");
            }
        }
        if rng.below(4) == 0 {
            buffers.swap_remove(rng.below(buffers.len() as u64) as usize);
        }
        match rng.below(8) {
            0 => gpu.trim(),
            1 => gpu.reclaim().unwrap(),
            _ => {}
        }
    }
}

/// Threads create, fill, read and drop while another changes the budget and ends frames.
#[test]
fn threads_find_their_bytes() {
    for lag in [Lag::None, Lag::Submissions(3), Lag::Random { max: 9 }] {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(lag).seed(3).budgets([12 * MIB]));
        std::thread::scope(|scope| {
            let gpu = &gpu;
            let threads: Vec<_> = (0..3).map(|seed| scope.spawn(move || stream(gpu, seed))).collect();
            let mut rng = Rng::new(77);
            while !threads.iter().all(|thread| thread.is_finished()) {
                gpu.device().set_budget(0, (1 + rng.below(24)) * MIB).unwrap();
                end_frame(gpu);
            }
        });
        assert!(gpu.device().calls().made(CallKind::Evict) > 0);
        assert!(gpu.device().run_until_idle());
        assert_eq!(gpu.device().take_hazards(), [], "{lag:?}");
        (0..40).for_each(|_| end_frame(&gpu));
        gpu.trim();
        let heap = gpu.memory().heaps[0].clone();
        assert_eq!((heap.evicted, heap.ours.total() - heap.ours.transient), (0, 0), "{lag:?}: {heap:?}");
        end(gpu);
    }
}
