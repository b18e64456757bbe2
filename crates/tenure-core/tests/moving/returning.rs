//! Resources return from slower memory.

use tenure_core::{
    AllocationFlags, Buffer, BufferDesc, CompactionBudget, Config, Format, Gpu, Queue, State, Subresource,
    TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use crate::buffers::{SOON, by_hand, end, end_frame};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A card with a budget of `mib` MiB, and unlimited system memory.
fn granted(mib: u64, lag: Lag) -> Gpu<Device> {
    let gpu =
        Gpu::new(Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(lag)), Config::default())
            .unwrap();
    gpu.device().set_budget(0, mib * MIB).unwrap();
    end_frame(&gpu);
    gpu
}

pub(crate) fn desc(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ).movable().name("mesh")
}

/// Bytes of live objects of this name outside of the first memory heap, the card's.
fn slow(gpu: &Gpu<Device>, name: &str) -> u64 {
    let objects = gpu.report().objects;
    let named = objects.iter().filter(|object| object.name == name);
    named.filter(|object| object.heap != Some(0)).map(|object| object.bytes).sum()
}

fn make(gpu: &Gpu<Device>, count: usize, size: u64) -> Vec<(Buffer<Device>, u8)> {
    let make = |byte: usize| {
        let data = vec![byte as u8; size as usize];
        (gpu.create_buffer_with(&desc(size), &data).unwrap(), byte as u8)
    };
    (0..count).map(make).collect()
}

#[track_caller]
pub(crate) fn assert_holds(gpu: &Gpu<Device>, all: &[(Buffer<Device>, u8)]) {
    for (buffer, byte) in all {
        let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|found| found == byte), "{byte}: {:?}", &found[..8]);
    }
}

fn name_all(gpu: &Gpu<Device>, all: &[(Buffer<Device>, u8)]) {
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    for (buffer, _) in all {
        recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }
    recording.submit().unwrap();
}

/// Ranges, placed and committed resources return when there is room, with their bytes, once.
#[test]
fn spilled_resources_return_when_there_is_room() {
    for (count, size) in [(200, 100 * KIB), (40, 3 * MIB), (6, 20 * MIB)] {
        let gpu = granted(8, Lag::Submissions(3));
        let all = make(&gpu, count, size);
        gpu.flush_uploads().unwrap();
        let before = slow(&gpu, "mesh");
        assert!(before > 0, "{size}");
        (0..30).for_each(|_| end_frame(&gpu));
        assert!(slow(&gpu, "mesh") > before / 2, "there is no room: {size}");
        gpu.device().set_budget(0, 1024 * MIB).unwrap();
        (0..60).for_each(|_| end_frame(&gpu));
        assert_eq!(slow(&gpu, "mesh"), 0, "{size}");
        assert_holds(&gpu, &all);
        let moves = || all.iter().map(|(buffer, _)| buffer.moves()).collect::<Vec<_>>();
        let once = moves();
        (0..60).for_each(|_| end_frame(&gpu));
        assert_eq!(moves(), once);
        assert!(all.iter().all(|(buffer, _)| !buffer.is_pinned()));
        drop(all);
        end(gpu);
    }
}

/// The same with explicit compaction, within its budget.
#[test]
fn spilled_resources_return_by_hand() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let gpu = Gpu::new(device, by_hand()).unwrap();
    gpu.device().set_budget(0, 4 * MIB).unwrap();
    end_frame(&gpu);
    let all = make(&gpu, 40, MIB);
    gpu.flush_uploads().unwrap();
    gpu.device().set_budget(0, 256 * MIB).unwrap();
    (0..20).for_each(|_| end_frame(&gpu));
    let before = slow(&gpu, "mesh");
    assert!(before > 20 * MIB);
    // Others may move within their memory, which counts towards the same budget.
    let report = gpu.compact(CompactionBudget { bytes: 3 * MIB, moves: 100, pieces: 100 }).unwrap();
    assert_eq!(report.bytes, 3 * MIB);
    let came = before - slow(&gpu, "mesh");
    assert!((1..=3 * MIB).contains(&came), "{came}");
    let report = gpu.compact(CompactionBudget { bytes: 30 * MIB, moves: 5, pieces: 100 }).unwrap();
    assert_eq!((report.bytes, report.moves), (5 * MIB, 5));
    let all_came = before - slow(&gpu, "mesh");
    assert!((came + 1..=8 * MIB).contains(&all_came), "{all_came}");
    assert_holds(&gpu, &all);
    drop(all);
    end(gpu);
}

/// One budget is for both: moves out of sparse blocks, and moves back from slower memory.
#[test]
fn a_call_moves_no_more_than_its_budget() {
    let gpu = granted(8, Lag::None);
    let all = make(&gpu, 300, 60 * KIB);
    gpu.flush_uploads().unwrap();
    let mut number = 0..;
    let all: Vec<_> = all.into_iter().filter(|_| number.next().is_some_and(|it| it % 3 == 0)).collect();
    gpu.wait(&gpu.submitted(), SOON).unwrap();
    gpu.reclaim().unwrap();
    gpu.device().set_budget(0, 1024 * MIB).unwrap();
    assert!(slow(&gpu, "mesh") > 0);
    let (mut most, mut calls, mut is_done) = (0, 0, false);
    while !is_done {
        let report = gpu.compact(CompactionBudget { bytes: MIB, moves: 3, pieces: 100 }).unwrap();
        gpu.wait(&gpu.submitted(), SOON).unwrap();
        gpu.reclaim().unwrap();
        most = most.max(report.moves);
        is_done = report.is_done;
        calls += 1;
        assert!(calls < 1000, "{report:?}");
    }
    assert_eq!((most, slow(&gpu, "mesh")), (3, 0));
    assert_holds(&gpu, &all);
    drop(all);
    end(gpu);
}

/// Used resources come first, if there is room for only a part.
#[test]
fn recently_used_resources_return_first() {
    let gpu = granted(2, Lag::None);
    let all = make(&gpu, 40, MIB);
    gpu.flush_uploads().unwrap();
    (0..8).for_each(|_| end_frame(&gpu));
    let hot = &all[25..30];
    name_all(&gpu, hot);
    gpu.device().run_until_idle();
    let usage = gpu.memory().heaps[0].usage;
    gpu.device().set_budget(0, usage + 10 * MIB).unwrap();
    (0..20).for_each(|_| end_frame(&gpu));
    assert!(hot.iter().all(|(buffer, _)| buffer.moves() > 0));
    assert!(slow(&gpu, "mesh") > 20 * MIB);
    assert!(gpu.memory().heaps[0].headroom.unwrap() > 0, "a part of the budget stays free");
    assert_holds(&gpu, &all);
    drop(all);
    end(gpu);
}

/// A budget that goes up and down around the limit moves nothing twice.
#[test]
fn an_oscillating_budget_moves_no_resource_twice() {
    let gpu = granted(8, Lag::Submissions(2));
    let all = make(&gpu, 30, MIB);
    gpu.flush_uploads().unwrap();
    for frame in 0..200 {
        gpu.device().set_budget(0, if frame % 10 < 5 { 64 * MIB } else { 20 * MIB }).unwrap();
        end_frame(&gpu);
    }
    assert!(all.iter().all(|(buffer, _)| buffer.moves() <= 1));
    assert_holds(&gpu, &all);
    drop(all);
    end(gpu);
}

/// Pinned, used and refused resources stay, and the rest returns; nothing leaks.
#[test]
fn pinned_and_refused_resources_stay() {
    for call in [CallKind::Submit, CallKind::CreateCommitted, CallKind::CreateHeap, CallKind::CreatePlaced] {
        let gpu = granted(4, Lag::Submissions(2));
        let all = make(&gpu, 60, 300 * KIB);
        gpu.flush_uploads().unwrap();
        let is_slow = |at: &usize| *at > 30;
        let pinned: Vec<_> = (0..60).filter(is_slow).step_by(3).map(|at| (at, all[at].0.offset())).collect();
        let mut recording = gpu.record(Queue::Graphics, "keep").unwrap();
        recording.use_resource(&all[50].0, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        gpu.device().set_budget(0, 512 * MIB).unwrap();
        gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(call));
        for _ in 0..10 {
            // The frame's own submissions may be refused, too.
            let _ended = gpu.begin_frame().and_then(|frame| frame.end());
        }
        gpu.device().faults().clear();
        assert_eq!(all[50].0.moves(), 0);
        recording.submit().unwrap();
        (0..140).for_each(|_| end_frame(&gpu));
        assert!(pinned.iter().all(|(at, offset)| all[*at].0.offset() == *offset));
        assert_eq!(slow(&gpu, "mesh"), pinned.len() as u64 * 300 * KIB, "{call:?}");
        assert_holds(&gpu, &all);
        drop(all);
        end(gpu);
    }
}

/// Resources that may not leave the card's memory are not affected.
#[test]
fn device_local_resources_do_not_move() {
    let gpu = granted(64, Lag::None);
    let local = desc(MIB).allocation(AllocationFlags::DEVICE_LOCAL_ONLY);
    let all: Vec<_> = (0..20).map(|_| gpu.create_buffer_with(&local, &[3; 64]).unwrap()).collect();
    (0..20).for_each(|_| end_frame(&gpu));
    assert!(all.iter().all(|buffer| buffer.moves() == 0));
    drop(all);
    end(gpu);
}

/// Resources return to holes in blocks even if the budget allows no further blocks: a random tenth of the
/// card's contents is dropped.
#[test]
fn spilled_resources_return_to_holes() {
    let granted = 64 * MIB;
    let card = DeviceConfig::new(Profile::VULKAN_NVIDIA).heap_sizes([granted, 1 << 30, MIB]);
    for by_hand_alone in [false, true] {
        let mut config = Config::default();
        config.compaction.is_automatic = !by_hand_alone;
        let gpu = Gpu::new(Device::with_config(card.clone()), config).unwrap();
        let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ).movable().name("tile");
        let size = gpu.texture_cost(&desc).unwrap().size;
        let budget = gpu.memory().heaps[0].budget.unwrap();
        let mut tiles: Vec<_> =
            (0..budget * 102 / 100 / size).map(|_| Some(gpu.create_texture(&desc).unwrap())).collect();
        let before = slow(&gpu, "tile");
        assert!(before > 0);
        tiles.iter_mut().step_by(10).for_each(|tile| *tile = None);
        for _ in 0..100 {
            let submitted = gpu.record(Queue::Graphics, "frame").unwrap().submit().unwrap();
            gpu.wait(&submitted, SOON).unwrap();
            end_frame(&gpu);
        }
        if by_hand_alone {
            assert!(slow(&gpu, "tile") >= before * 3 / 4);
            let all = CompactionBudget { bytes: 1 << 30, moves: 100_000, pieces: 10_000_000 };
            while !gpu.compact(all).unwrap().is_done {
                end_frame(&gpu);
            }
        }
        assert_eq!(slow(&gpu, "tile"), 0, "of {before}");
        let heap = &gpu.memory().heaps[0];
        assert!(heap.usage <= budget, "{heap:?}");
        drop(tiles);
        end(gpu);
    }
}

/// Resources return while their old ranges, which nothing has freed yet, are in blocks that are being emptied: the moves that
/// were chosen for these ranges are not made.
#[test]
fn returned_resources_are_not_moved_from_where_they_were() {
    const SIZE: u64 = 70 * KIB;
    let budget = CompactionBudget { bytes: 64 * MIB, moves: 1000, pieces: 50 };
    let keep = |all: Vec<_>| -> Vec<_> { all.into_iter().step_by(5).collect() };
    // The blocks in slower memory are filled, then moves are chosen, and then made: a return may come at any time.
    for steps in 0..20 {
        let gpu = Gpu::new(Device::new(Profile::VULKAN_NVIDIA), by_hand()).unwrap();
        gpu.device().set_budget(0, 24 * MIB).unwrap();
        end_frame(&gpu);
        let (fast, spilled) = (make(&gpu, 300, SIZE), make(&gpu, 1000, SIZE));
        gpu.flush_uploads().unwrap();
        let spilled = keep(spilled);
        end_frame(&gpu);
        for _ in 0..steps {
            gpu.compact(budget).unwrap();
        }
        let fast = keep(fast);
        end_frame(&gpu);
        // The old ranges stay until this recording ends.
        let open = gpu.record(Queue::Graphics, "open").unwrap();
        gpu.device().set_budget(0, 1024 * MIB).unwrap();
        for _ in 0..12 {
            gpu.compact(budget).unwrap();
        }
        drop(open);
        assert_holds(&gpu, &fast);
        assert_holds(&gpu, &spilled);
        drop((fast, spilled));
        end(gpu);
    }
}
