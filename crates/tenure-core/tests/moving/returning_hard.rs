//! Returns from slower memory with obstacles.

use tenure_core::device::prelude::*;
use tenure_core::{Buffer, BufferDesc, CompactionBudget, Config, Gpu, Queue, State, Subresource};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use crate::buffers::{end, end_frame};
use crate::returning::{assert_holds, desc};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn granted(profile: Profile, mib: u64, config: Config) -> Gpu<Device> {
    let gpu =
        Gpu::new(Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2))), config).unwrap();
    gpu.device().set_budget(0, mib * MIB).unwrap();
    end_frame(&gpu);
    gpu
}

fn slow(gpu: &Gpu<Device>) -> usize {
    gpu.report().objects.iter().filter(|object| object.name == "mesh" && object.heap != Some(0)).count()
}

fn make(gpu: &Gpu<Device>, count: usize, desc: &BufferDesc) -> Vec<(Buffer<Device>, u8)> {
    let size = desc.size as usize;
    (0..count).map(|at| (gpu.create_buffer_with(desc, &vec![at as u8; size]).unwrap(), at as u8)).collect()
}

/// Many pinned resources do not prevent the return of the others.
#[test]
fn pinned_resources_do_not_block_others() {
    let gpu = granted(Profile::VULKAN_NVIDIA, 2, Config::default());
    let all = make(&gpu, 400, &desc(70 * KIB));
    gpu.flush_uploads().unwrap();
    end_frame(&gpu);
    let pinned = &all[200..];
    for (buffer, _) in pinned {
        let _ = buffer.offset();
    }
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    for (buffer, _) in pinned {
        recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }
    recording.submit().unwrap();
    gpu.device().set_budget(0, 512 * MIB).unwrap();
    (0..40).for_each(|_| end_frame(&gpu));
    assert!(slow(&gpu) <= 200, "{}", slow(&gpu));
    assert_holds(&gpu, &all);
    drop(all);
    end(gpu);
}

type Filled = Vec<(Buffer<Device>, u8)>;

/// Twenty small buffers, most of them in slower memory, and a large one there, which was used last.
fn with_large_in_slow_memory() -> (Gpu<Device>, Filled, Filled) {
    let gpu = granted(Profile::VULKAN_NVIDIA, 2, Config::default());
    let all = make(&gpu, 20, &desc(300 * KIB));
    let large = make(&gpu, 1, &desc(40 * MIB));
    gpu.flush_uploads().unwrap();
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    recording.use_resource(&large[0].0, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    recording.submit().unwrap();
    (0..8).for_each(|_| end_frame(&gpu));
    assert!(slow(&gpu) > 10);
    (gpu, all, large)
}

/// A resource too large for the free memory does not prevent the return of smaller ones.
#[test]
fn oversized_resources_do_not_block_smaller_ones() {
    let (gpu, all, large) = with_large_in_slow_memory();
    gpu.device().set_budget(0, gpu.memory().heaps[0].usage + 30 * MIB).unwrap();
    (0..40).for_each(|_| end_frame(&gpu));
    assert_eq!(slow(&gpu), 1);
    assert_holds(&gpu, &all);
    assert_holds(&gpu, &large);
    drop((all, large));
    end(gpu);
}

/// Nor does a resource for which the driver has no room despite its budget.
#[test]
fn refused_resources_do_not_block_others() {
    let (gpu, all, large) = with_large_in_slow_memory();
    let fault = Fault::nth(1, FaultKind::OutOfMemory).larger_than(16 * MIB);
    gpu.device().faults().inject(fault.onwards());
    gpu.device().set_budget(0, 4096 * MIB).unwrap();
    (0..40).for_each(|_| end_frame(&gpu));
    assert_eq!(slow(&gpu), 1);
    gpu.device().faults().clear();
    (0..140).for_each(|_| end_frame(&gpu));
    assert_eq!(slow(&gpu), 0);
    assert_holds(&gpu, &all);
    assert_holds(&gpu, &large);
    drop((all, large));
    end(gpu);
}

/// A placed buffer stays aligned as it was asked for, when it comes back and when it moves after that.
#[test]
fn placed_buffers_stay_aligned() {
    for (profile, size) in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::VULKAN_AMD_SMALL_BAR]
        .into_iter()
        .flat_map(|p| [(p, 70 * KIB + 5), (p, 700 * KIB), (p, 20 * MIB)])
    {
        for alignment in [256, 64 * KIB] {
            let gpu = granted(profile, 1, Config::default());
            let heap_alignment = gpu.device().properties().heap_alignment;
            let desc = desc(size).own_resource().alignment(alignment);
            let all = make(&gpu, if size > 16 * MIB { 3 } else { 48 }, &desc);
            gpu.flush_uploads().unwrap();
            let before = slow(&gpu);
            gpu.device().set_budget(0, 4096 * MIB).unwrap();
            (0..60).for_each(|_| end_frame(&gpu));
            assert_eq!(slow(&gpu), 0, "{profile:?} {size} {alignment} {before}");
            // Half of them are dropped, so that the rest is compacted.
            let mut all: Vec<_> =
                all.into_iter().enumerate().filter(|(at, _)| at % 3 == 0).map(|(_, it)| it).collect();
            (0..60).for_each(|_| end_frame(&gpu));
            for _ in 0..30 {
                end_frame(&gpu);
                gpu.compact(CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 10000 }).unwrap();
            }
            assert_holds(&gpu, &all);
            let places: Vec<_> = gpu
                .report()
                .objects
                .iter()
                .filter(|o| o.name == "mesh")
                .map(|o| (o.offset, o.heap))
                .collect();
            for (offset, _) in &places {
                assert!(
                    offset.unwrap_or(0) % alignment.min(heap_alignment) == 0,
                    "{profile:?} {size} {alignment} {places:?}"
                );
            }
            for (buffer, _) in &all {
                assert!(buffer.gpu_address().is_none_or(|address| address % alignment.min(256) == 0));
            }
            assert_eq!(gpu.device().take_hazards(), []);
            all.clear();
            end(gpu);
        }
    }
}

/// A driver that has less memory than its budget is not asked in each frame.
#[test]
fn refused_returns_are_not_retried_each_frame() {
    for size in [100 * KIB, 3 * MIB, 20 * MIB] {
        let gpu = granted(Profile::VULKAN_NVIDIA, 2, Config::default());
        let all = make(&gpu, 10, &desc(size));
        gpu.flush_uploads().unwrap();
        (0..8).for_each(|_| end_frame(&gpu));
        gpu.device().set_budget(0, 4096 * MIB).unwrap();
        let faults = gpu.device().faults();
        for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
            faults.inject(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
        }
        let before = gpu.device().calls();
        (0..64).for_each(|_| end_frame(&gpu));
        let after = gpu.device().calls();
        for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
            let calls = after.made(call) - before.made(call);
            assert!(calls < 20, "{size}: {calls}");
        }
        faults.clear();
        (0..140).for_each(|_| end_frame(&gpu));
        assert_eq!(slow(&gpu), 0);
        assert_holds(&gpu, &all);
        drop(all);
        end(gpu);
    }
}

/// Thousands of waiting resources cost nothing while there is no room.
#[test]
fn waiting_resources_cost_little() {
    let gpu = granted(Profile::VULKAN_NVIDIA, 1, Config::default());
    let all: Vec<_> = (0..20_000).map(|_| gpu.create_buffer(&desc(20 * KIB)).unwrap()).collect();
    (0..8).for_each(|_| end_frame(&gpu));
    let frame = || {
        let start = std::time::Instant::now();
        end_frame(&gpu);
        start.elapsed()
    };
    // Sorting all of them takes several milliseconds.
    let fastest = (0..100).map(|_| frame()).min().unwrap();
    assert!(fastest < std::time::Duration::from_millis(1), "{fastest:?}");
    drop(all);
    end(gpu);
}
