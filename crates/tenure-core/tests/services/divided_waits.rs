//! Divided uploads and readbacks in a shortage of memory: the kinds and the length of their waits.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tenure_core::{
    AllocationFlags, Buffer, BufferDesc, Config, Error, FrameConfig, Gpu, MemoryUse, PoolConfig, Queue,
    StagingConfig, SyncPoint, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::divided::{KIB, MIB, buffer, bytes, config, small_host};
use super::in_place::staged;
use super::{SECOND, end, gpu};

/// A buffer that is filled, and that can be read back.
fn filled(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let desc = BufferDesc::new(size, usage).name("volume");
    gpu.create_buffer_with(&desc, &bytes(size, 1)).unwrap()
}

/// Fills the host's memory with buffers of at least 64 KiB.
fn fill_host(gpu: &Gpu<Device>) -> Vec<Buffer<Device>> {
    let mut all = Vec::new();
    for size in [MIB, 256 * KIB, 64 * KIB] {
        let desc = BufferDesc::new(size, Usage::COPY_SRC).memory(MemoryUse::Upload);
        let desc = desc.allocation(AllocationFlags::NEVER_WAIT).name("other");
        all.extend(std::iter::from_fn(|| gpu.create_buffer(&desc).ok()));
    }
    all
}

/// The host's memory is full, and the GPU still uses a part of it.
#[test]
fn the_time_that_a_call_may_take_is_not_multiplied() {
    type Call = fn(&Gpu<Device>, &Buffer<Device>) -> Result<(), Error>;
    let calls: [(&str, Call); 4] = [
        ("never waits", |gpu, _| {
            let desc = BufferDesc::new(MIB, Usage::SHADER_READ).allocation(AllocationFlags::NEVER_WAIT);
            gpu.create_buffer_with(&desc, &[1; 1 << 20]).map(drop)
        }),
        ("reads", |gpu, volume| {
            gpu.read_back_into(volume, 0, &mut vec![0; 8 << 20], Duration::from_millis(5))
        }),
        ("uploads", |gpu, volume| gpu.upload(volume, 0, &vec![0; 8 << 20]).map(drop)),
        ("uploads little", |gpu, volume| gpu.upload(volume, 0, &[0; 100 << 10]).map(drop)),
    ];
    for (name, call) in calls {
        let device = small_host(Profile::VULKAN_AMD_SMALL_BAR, MIB, Lag::Manual);
        let max_wait = Duration::from_secs(10);
        let pools = PoolConfig::default().max_wait(max_wait);
        let frames = FrameConfig::default().timeout(Duration::from_millis(20));
        let gpu = gpu(&device, config(64 * MIB).pools(pools).frames(frames));
        let volume = buffer(&gpu, 8 * MIB);
        drop((0..4).map(|_| gpu.read_back(&volume, 0, 60 * KIB).unwrap()).collect::<Vec<_>>());
        let others = fill_host(&gpu);
        let begun = Instant::now();
        call(&gpu, &volume).unwrap_err();
        assert!(begun.elapsed() < max_wait / 2, "{name}: {:?}", begun.elapsed());
        drop((volume, others));
        // The bytes read were never written.
        device.run_until_idle();
        let _unwritten = device.take_hazards();
        end(gpu, &device);
    }
}

/// Page sizes that have grown shrink again if there is no memory for a large page.
#[test]
fn page_sizes_shrink_after_a_refusal() {
    for profile in [Profile::VULKAN_AMD_SMALL_BAR, Profile::D3D12_TIER2] {
        let device = small_host(profile, 8 * MIB, Lag::None);
        let staging = StagingConfig::default().readback_page(4 * MIB).upload_page(4 * MIB);
        let gpu = gpu(&device, Config::default().staging(staging).in_place(staged()));
        let volume = filled(&gpu, MIB);
        gpu.flush_uploads().unwrap();
        let mut tickets: Vec<_> = (0..40).map(|_| gpu.read_back(&volume, 0, 50 * KIB).unwrap()).collect();
        let mut others = fill_host(&gpu);
        others.truncate(others.len() - 2);
        gpu.reclaim().unwrap();
        gpu.trim();
        let mut out = vec![0; 30 << 10];
        while gpu.read_back_into(&volume, 0, &mut out, SECOND).is_ok() {
            let Ok(ticket) = gpu.read_back(&volume, 0, 30 * KIB) else { break };
            tickets.push(ticket);
        }
        for _ in 0..3 {
            let again = gpu.read_back(&volume, 0, 30 * KIB);
            assert!(matches!(again, Err(Error::OutOfMemory(_))), "{}", profile.name());
        }
        drop((volume, tickets, others));
        end(gpu, &device);
    }
}

/// Inside the program's own submission, while another thread submits pending uploads.
#[test]
fn an_upload_is_submitted_once_all_of_its_batches_are() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::VULKAN_LAVAPIPE] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let gpu = gpu(&device, config(MIB));
        let (volume, data) = (buffer(&gpu, 16 * MIB), bytes(16 * MIB, 2));
        let (begun, is_over) = (Barrier::new(2), AtomicBool::new(false));
        let upload = thread::scope(|scope| {
            scope.spawn(|| {
                begun.wait();
                while !is_over.load(Ordering::Relaxed) {
                    gpu.flush_uploads().unwrap();
                }
            });
            let (upload, _) = gpu
                .submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
                    begun.wait();
                    let upload = gpu.upload(&volume, 0, &data);
                    is_over.store(true, Ordering::Relaxed);
                    upload
                })
                .unwrap();
            upload
        });
        assert!(gpu.wait_upload(&upload, SECOND).unwrap(), "{}", profile.name());
        assert!(upload.error().is_none() && upload.sync_point().is_some());
        let mut found = vec![0; data.len()];
        gpu.read_back_into(&volume, 0, &mut found, 10 * SECOND).unwrap();
        assert!(found == data, "{}", profile.name());
        drop(volume);
        end(gpu, &device);
    }
}

#[test]
fn a_shortage_at_one_submission_ends_no_upload() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::VULKAN_LAVAPIPE] {
        for n in 1..6 {
            let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
            let gpu = gpu(&device, config(MIB));
            let (volume, data) = (buffer(&gpu, 8 * MIB), bytes(8 * MIB, 3));
            device.faults().inject(Fault::nth(n, FaultKind::OutOfHostMemory).of(CallKind::Submit));
            let upload = gpu.upload(&volume, 0, &data).unwrap();
            assert!(gpu.wait_upload(&upload, SECOND).unwrap(), "{} {n}", profile.name());
            device.faults().clear();
            let mut found = vec![0; data.len()];
            gpu.read_back_into(&volume, 0, &mut found, SECOND).unwrap();
            assert!(found == data, "{} {n}", profile.name());
            drop(volume);
            end(gpu, &device);
        }
    }
}

/// Each holds memory only briefly.
#[test]
fn threads_wait_for_one_another_where_memory_is_short() {
    for profile in [Profile::VULKAN_AMD_SMALL_BAR, Profile::D3D12_TIER2] {
        for host in [MIB, 256 * KIB] {
            let device = small_host(profile, host, Lag::Random { max: 4 });
            // A machine with other work must not end the waits.
            let patient = FrameConfig::default().timeout(60 * SECOND);
            let gpu = gpu(&device, config(64 * MIB).frames(patient));
            let volumes: Vec<_> = (0..4).map(|_| filled(&gpu, 2 * MIB)).collect();
            thread::scope(|scope| {
                for (volume, seed) in volumes.iter().zip(0..) {
                    let gpu = &gpu;
                    scope.spawn(move || {
                        let (data, mut found) = (bytes(2 * MIB, seed), vec![0; 2 << 20]);
                        for _ in 0..3 {
                            gpu.upload(volume, 0, &data).unwrap();
                            gpu.read_back_into(volume, 0, &mut found, 20 * SECOND).unwrap();
                            assert!(found == data);
                        }
                    });
                }
            });
            drop(volumes);
            end(gpu, &device);
        }
    }
}

/// Incomplete submissions count as staged, also while another thread submits.
#[test]
fn threads_stay_within_the_staging_limit() {
    for threads in [1, 4, 8] {
        let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(8)));
        let gpu = gpu(&device, config(4 * MIB));
        let volumes: Vec<_> = (0..threads).map(|_| buffer(&gpu, 16 * MIB)).collect();
        let before = gpu.stats().reserved;
        let data = bytes(16 * MIB, 4);
        thread::scope(|scope| {
            for volume in &volumes {
                scope.spawn(|| gpu.upload(volume, 0, &data).unwrap());
            }
        });
        let staged = gpu.stats().peak_reserved - before;
        assert!(staged <= (4 + threads) * MIB, "{threads} threads: {staged}");
        drop(volumes);
        end(gpu, &device);
    }
}
