//! Movable buffers, one rule per test.

use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, CompactionBudget, CompactionConfig, CompactionReport, Config,
    FrameConfig, Gpu, LocationKind, MemoryUse, Queue, State, Subresource, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const KIB: u64 = 1 << 10;
pub(crate) const SOON: Duration = Duration::from_secs(10);
const BUDGET: CompactionBudget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };

pub(crate) fn with(options: DeviceConfig) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), by_hand()).unwrap()
}

/// A configuration without automatic compaction.
pub(crate) fn by_hand() -> Config {
    Config::from(CompactionConfig::default().is_automatic(false))
}

fn discrete() -> Gpu<Device> {
    with(DeviceConfig::new(Profile::DISCRETE))
}

fn desc(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::VERTEX).movable().name("mesh")
}

fn make(gpu: &Gpu<Device>, size: u64, byte: u8) -> Buffer<Device> {
    gpu.create_buffer_with(&desc(size), &vec![byte; size as usize]).unwrap()
}

/// Creates `count` buffers and keeps one in ten, with the value of its bytes.
fn sparse(gpu: &Gpu<Device>, count: usize, size: u64) -> Vec<(Buffer<Device>, u8)> {
    let all: Vec<_> = (0..count).map(|index| (make(gpu, size, index as u8), index as u8)).collect();
    gpu.flush_uploads().unwrap();
    all.into_iter().enumerate().filter(|(index, _)| index % 10 == 0).map(|(_, kept)| kept).collect()
}

pub(crate) fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

/// Ends frames until nothing is left to do; the sum of the reports.
pub(crate) fn compact(gpu: &Gpu<Device>) -> CompactionReport {
    let mut sum = CompactionReport::default();
    for _ in 0..1000 {
        let frame = gpu.begin_frame().unwrap();
        let report = gpu.compact(BUDGET).unwrap();
        frame.end().unwrap();
        sum.moves += report.moves;
        sum.bytes += report.bytes;
        sum.waiting = report.waiting;
        sum.is_done = report.is_done;
        if report.is_done {
            return sum;
        }
    }
    panic!("compaction does not end: {sum:?}");
}

#[track_caller]
fn assert_holds(gpu: &Gpu<Device>, buffer: &Buffer<Device>, byte: u8) {
    let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
    assert!(found.iter().all(|found| *found == byte), "{byte}: {:?}", &found[..8]);
}

#[track_caller]
pub(crate) fn end(gpu: Gpu<Device>) {
    let device = gpu.device().clone();
    device.faults().clear();
    assert!(device.run_until_idle());
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

/// Blocks that are being emptied stay chosen until the next frame, also where no empty block is kept.
#[test]
fn moves_end_where_no_empty_block_is_kept() {
    let mut config = by_hand();
    config.frames = FrameConfig::default().idle(0);
    let gpu = Gpu::new(Device::with_config(DeviceConfig::new(Profile::DISCRETE)), config).unwrap();
    let kept = sparse(&gpu, 1000, 40 * KIB);
    let budget = CompactionBudget { bytes: 1 << 20, moves: 4, pieces: 20 };
    let is_done = (0..2000).any(|_| {
        let frame = gpu.begin_frame().unwrap();
        let report = gpu.compact(budget).unwrap();
        frame.end().unwrap();
        report.is_done
    });
    assert!(is_done);
    assert!(
        kept.iter().any(|(buffer, _)| buffer.moves() > 0)
            && kept.iter().all(|(buffer, _)| buffer.moves() < 2)
    );
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop(kept);
    end(gpu);
}

/// Of many buffers a few are kept: they move together, with their bytes, and the old blocks are freed. Then
/// nothing more happens.
#[test]
fn remaining_buffers_move_together() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::VULKAN_MOBILE] {
        for (count, size) in [(400, 100 * KIB), (4000, 3 * KIB)] {
            let gpu = with(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
            let kept = sparse(&gpu, count, size);
            (0..40).for_each(|_| end_frame(&gpu));
            let before = gpu.stats().reserved;
            let report = compact(&gpu);
            assert!(report.moves > 0);
            (0..40).for_each(|_| end_frame(&gpu));
            let (after, live) = (gpu.stats().reserved, kept.len() as u64 * size);
            assert!(after < before / 3, "{before} -> {after}, {live} live");
            kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
            assert_eq!(compact(&gpu).moves, 0);
            drop(kept);
            end(gpu);
        }
    }
}

/// A buffer of its own API object moves, too.
#[test]
fn a_placed_buffer_moves() {
    let gpu = discrete();
    let mut kept = Vec::new();
    let all: Vec<_> = (0..100)
        .map(|byte| {
            let desc = BufferDesc::new(200 * KIB, Usage::UNORDERED_ACCESS).movable();
            (gpu.create_buffer_with(&desc, &vec![byte; 200 << 10]).unwrap(), byte)
        })
        .collect();
    assert_eq!(all[0].0.location(), LocationKind::Placed);
    kept.extend(all.into_iter().filter(|(_, byte)| byte % 10 == 0));
    assert!(compact(&gpu).moves > 0);
    assert!(kept.iter().any(|(buffer, _)| buffer.moves() > 0));
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop(kept);
    end(gpu);
}

/// A place queried in a recording stays valid until its submission, with any compaction meanwhile; afterwards
/// it moves.
#[test]
fn buffers_of_a_recording_stay_until_it_is_submitted() {
    let gpu = discrete();
    let kept = sparse(&gpu, 400, 100 * KIB);
    let target = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    for (buffer, _) in &kept {
        recording.use_resource(buffer, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    }
    for _ in 0..20 {
        gpu.begin_frame().unwrap().end().unwrap();
        let report = gpu.compact(BUDGET).unwrap();
        assert_eq!(report.moves, 0, "{report:?}");
    }
    let (_, scratch) = recording.split();
    for (buffer, _) in &kept {
        let place = scratch.buffer(buffer).unwrap();
        assert_eq!(place.size(), 100 * KIB);
    }
    for (buffer, _) in &kept {
        recording.copy_buffer(buffer, 0, &target, 0, 64).unwrap();
    }
    recording.submit().unwrap();
    assert!(compact(&gpu).moves > 0);
    assert!(kept.iter().all(|(buffer, _)| !buffer.is_pinned()));
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop((kept, target));
    end(gpu);
}

/// Writes and uploads of a recording after a move was planned are not lost.
#[test]
fn writes_during_a_move_are_not_lost() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(4)));
    let mut kept = sparse(&gpu, 400, 100 * KIB);
    // Not in the API buffer of the copy's destination.
    let source = BufferDesc::new(100 * KIB, Usage::UNORDERED_ACCESS | Usage::COPY_SRC);
    let source = gpu.create_buffer_with(&source, &vec![200; 100 << 10]).unwrap();
    let budget = CompactionBudget { moves: 3, ..BUDGET };
    let mut moves = 0;
    for step in 0..200 {
        let index = step % kept.len();
        let (buffer, byte) = &mut kept[index];
        if step % 2 == 0 {
            *byte = 200;
            let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
            recording.copy_buffer(&source, 0, buffer, 0, 100 * KIB).unwrap();
            moves += gpu.compact(budget).unwrap().moves;
            recording.submit().unwrap();
        } else {
            *byte = step as u8;
            gpu.upload(buffer, 0, &vec![*byte; 100 << 10]).unwrap();
            moves += gpu.compact(budget).unwrap().moves;
        }
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert!(moves > 20, "{moves}");
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop((kept, source));
    end(gpu);
}

/// Pinned buffers stay in place, and the rest moves.
#[test]
fn pinned_buffers_stay() {
    let gpu = discrete();
    let kept = sparse(&gpu, 400, 100 * KIB);
    let pinned = &kept[3].0;
    let before = (pinned.offset(), pinned.gpu_address());
    assert!(pinned.is_pinned() && !kept[4].0.is_pinned());
    let viewed = gpu.create_buffer_view(&kept[5].0, &BufferViewDesc::raw());
    assert!(viewed.is_err() || kept[5].0.is_pinned());
    assert!(compact(&gpu).moves > 0);
    assert_eq!((pinned.offset(), pinned.gpu_address()), before);
    assert_eq!(pinned.moves(), 0);
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop((kept, viewed));
    end(gpu);
}

/// A buffer that is pinned after its new place was found, while it is in use, stays, and does not block others.
#[test]
fn buffers_pinned_while_they_wait_stay() {
    let gpu = discrete();
    let kept = sparse(&gpu, 400, 100 * KIB);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    for (buffer, _) in &kept {
        recording.use_resource(buffer, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    }
    assert!((0..20).any(|_| gpu.compact(BUDGET).unwrap().waiting > 0));
    kept.iter().for_each(|(buffer, _)| {
        let _ = buffer.raw();
    });
    drop(recording);
    let moved = compact(&gpu).moves;
    assert_eq!(moved, 0);
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    drop(kept);
    end(gpu);
}

/// A resource dropped while it waits for its move is released, and so is its new place.
#[test]
fn buffers_dropped_while_they_wait_are_released() {
    let gpu = discrete();
    let kept = sparse(&gpu, 400, 100 * KIB);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    for (buffer, _) in &kept {
        recording.use_resource(buffer, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    }
    assert!((0..20).any(|_| gpu.compact(BUDGET).unwrap().waiting > 0));
    drop(kept);
    assert_eq!(gpu.compact(BUDGET).unwrap().moves, 0);
    recording.submit().unwrap();
    compact(&gpu);
    (0..40).for_each(|_| end_frame(&gpu));
    gpu.trim();
    assert_eq!(gpu.memory().heaps[0].ours.pools, 0);
    end(gpu);
}

/// A submission that is refused moves nothing, and the next one does.
#[test]
fn a_refused_copy_moves_nothing() {
    for call in [CallKind::Submit, CallKind::CreateList] {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(2)));
        let kept = sparse(&gpu, 400, 100 * KIB);
        gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(call).onwards());
        let moves = || kept.iter().map(|(buffer, _)| buffer.moves()).sum::<u64>();
        let (mut refused, mut moved) = (0, 0);
        for _ in 0..10 {
            let before = moves();
            match gpu.compact(BUDGET) {
                Ok(compacted) => moved += compacted.moves,
                Err(_) => {
                    refused += 1;
                    assert_eq!(moves(), before);
                }
            }
        }
        gpu.device().faults().clear();
        // If no list can be created, complete ones are reused.
        assert!(refused > 0 || call == CallKind::CreateList);
        kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
        assert!(moved > 0 || compact(&gpu).moves > 0);
        kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
        drop(kept);
        end(gpu);
    }
}

/// The flag has no effect on CPU-visible resources and those with memory of their own.
#[test]
fn the_flag_has_no_effect_elsewhere() {
    let gpu = discrete();
    let upload = gpu.create_buffer(&desc(4 * KIB).memory(MemoryUse::Upload)).unwrap();
    upload.write(0, &[1; 64]).unwrap();
    let large = gpu.create_buffer(&desc(40 << 20)).unwrap();
    assert_eq!(large.location(), LocationKind::Committed);
    let _ = (upload.raw(), large.raw());
    assert!(!upload.is_pinned() && !large.is_pinned());
    drop((upload, large));
    end(gpu);
}

/// Growth takes precedence over compaction: blocks that are being emptied are used again before the driver
/// allocates more.
#[test]
fn a_growing_program_uses_blocks_that_are_being_emptied() {
    let gpu = discrete();
    let kept = sparse(&gpu, 400, 100 * KIB);
    (0..4).for_each(|_| end_frame(&gpu));
    let budget = CompactionBudget { moves: 1, ..BUDGET };
    gpu.compact(budget).unwrap();
    gpu.compact(budget).unwrap();
    let before = gpu.stats().reserved;
    let more: Vec<_> = (0..200).map(|byte| make(&gpu, 100 * KIB, byte)).collect();
    assert!(gpu.stats().reserved <= before, "{before} -> {}", gpu.stats().reserved);
    kept.iter().for_each(|(buffer, byte)| assert_holds(&gpu, buffer, *byte));
    more.iter().zip(0..).for_each(|(buffer, byte)| assert_holds(&gpu, buffer, byte));
    drop((kept, more));
    end(gpu);
}
