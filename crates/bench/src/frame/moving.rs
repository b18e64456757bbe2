//! Where movable resources are, beside those that stay.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, CompactionBudget, CompactionConfig, Config, Error, Gpu, Queue, Usage};
use tenure_sim::Profile;

use super::{Line, gpu, line, time, try_time};
use crate::null::Device;

/// Buffers, each of which is asked for once in a recording.
const BUFFERS: usize = 1000;

fn make(gpu: &Gpu<Device>, desc: &BufferDesc) -> Result<Vec<Buffer<Device>>, Error> {
    (0..BUFFERS).map(|_| gpu.create_buffer(desc)).collect()
}

/// The place of a buffer for a recording, asked for once and again, and for good; the bound is the place of a buffer that
/// does not move.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let desc = BufferDesc::new(4096, Usage::SHADER_READ);
    let (fixed, movable) = (make(&gpu, &desc)?, make(&gpu, &desc.clone().movable())?);
    let pinned = make(&gpu, &desc.movable())?;
    pinned.iter().for_each(|buffer| {
        black_box(buffer.raw());
    });
    let raw = |buffers: &[Buffer<Device>]| {
        time(|| {
            for buffer in buffers {
                black_box((buffer.raw(), buffer.offset()));
            }
        })
    };
    let (mut once, mut again, mut for_good, mut ended) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut recording = gpu.record(Queue::Graphics, "places")?;
        let (_, scratch) = recording.split();
        let ask = |buffers: &[Buffer<Device>]| {
            try_time(|| {
                buffers.iter().try_for_each(|buffer| {
                    let place = scratch.buffer(buffer)?;
                    black_box((place.raw(), place.offset()));
                    Ok::<(), Error>(())
                })
            })
        };
        let stays = ask(&fixed)?;
        once.push((ask(&movable)?, stays));
        again.push((ask(&movable)?, stays));
        for_good.push((raw(&pinned), raw(&fixed)));
        let with_holds = time(|| drop(recording));
        let other = gpu.record(Queue::Graphics, "places")?;
        ended.push((with_holds, time(|| drop(other))));
    }
    let compacted = (0..rounds.min(7)).map(|_| worst_call()).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        line("place of a movable buffer in a recording", "of one that stays", BUFFERS, once),
        line("the same again", "of one that stays", BUFFERS, again),
        line("end of a recording, each movable buffer", "of one without", BUFFERS, ended),
        line("raw() and offset() of a pinned buffer", "of one that stays", BUFFERS, for_good),
        line("longest of the calls that compact 20,000 buffers", "a call with nothing to do", 1, compacted),
    ])
}

/// The longest of the calls that compact what is left of 60,000 buffers, a third, and the last, which finds nothing to do.
fn worst_call() -> Result<(Duration, Duration), Error> {
    let compaction = CompactionConfig { is_automatic: false, ..CompactionConfig::default() };
    let gpu = Gpu::new(Device::new(Profile::VULKAN_NVIDIA), Config::from(compaction))?;
    let mut rng = test_random::Rng::new(1);
    let mut kept = Vec::new();
    for index in 0..60_000 {
        let size = 512 + rng.below(32 << 10);
        let buffer = gpu.create_buffer(&BufferDesc::new(size, Usage::SHADER_READ).movable())?;
        // What is dropped later makes the holes.
        kept.push((rng.below(3) == 0, buffer));
        if index % 1000 == 0 {
            gpu.upload(&kept[index].1, 0, &[1; 64])?;
        }
    }
    kept.retain(|(is_kept, _)| *is_kept);
    (0..4).try_for_each(|_| gpu.begin_frame()?.end())?;
    let budget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 250 };
    let mut worst = Duration::ZERO;
    loop {
        let frame = gpu.begin_frame()?;
        let mut is_done = false;
        let took = try_time(|| {
            is_done = gpu.compact(budget)?.is_done;
            Ok::<(), Error>(())
        })?;
        frame.end()?;
        if is_done {
            return Ok((worst, took));
        }
        worst = worst.max(took);
    }
}
