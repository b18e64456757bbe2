//! What evictable blocks add to a submission when all of them are resident.

use std::hint::black_box;

use tenure_core::{BufferDesc, Config, Error, Gpu, Queue, Usage};
use tenure_sim::Profile;

use super::{Line, line, time};
use crate::null;

const CYCLES: u64 = 200;

/// Submissions that need so many distinct blocks, beside those that need as many buffers that always stay.
const BLOCKS: [(&str, &str, u64); 3] = [
    ("submission of 1 evictable block", "of 1 that stays", 1),
    ("submission of 32 evictable blocks", "of 32 that stay", 32),
    ("submission of 256 evictable blocks", "of 256 that stay", 256),
];

/// A recording that names each block, and its submission. Above the same with what always stays: at most 100 ns and
/// 5 ns a block.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    BLOCKS.iter().map(|(what, bound, blocks)| submissions(rounds, what, bound, *blocks)).collect()
}

fn submissions(rounds: u32, what: &'static str, bound: &'static str, blocks: u64) -> Result<Line, Error> {
    let gpu = Gpu::new(null::Device::with_residency(Profile::D3D12_TIER2), Config::default())?;
    let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ);
    let make =
        |desc: &BufferDesc| (0..blocks).map(|_| gpu.create_buffer(desc)).collect::<Result<Vec<_>, _>>();
    let (leaving, staying) = (make(&desc.clone().evictable())?, make(&desc)?);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let submit = |buffers: &[_]| {
            (0..CYCLES).try_for_each(|_| {
                let mut recording = frame.record(Queue::Graphics, "cycle")?;
                buffers.iter().try_for_each(|buffer| recording.make_resident(black_box(buffer)))?;
                black_box(frame.submit(recording)?);
                Ok::<(), Error>(())
            })
        };
        let (mut ours, mut least) = (Ok(()), Ok(()));
        let with_blocks = time(|| ours = submit(&leaving));
        let without = time(|| least = submit(&staying));
        ours.and(least)?;
        frame.end()?;
        times.push((with_blocks, without));
    }
    Ok(line(what, bound, CYCLES as usize, times))
}
