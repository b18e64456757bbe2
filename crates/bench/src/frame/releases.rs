//! A frame end with 10,000 releases.

use std::hint::black_box;

use tenure_core::{BufferDesc, Error, Queue, Usage};
use tenure_sim::Profile;
use tenure_suballoc::{General, Handle, Suballocator as _};

use super::{Line, gpu, line, time, try_time};

const RELEASES: usize = 10_000;
const SIZE: u64 = 4096;

/// Drops of handles and the end of the frame that frees their ranges. The lower bound is freeing as many
/// ranges of a suballocator.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let desc = BufferDesc::new(SIZE, Usage::VERTEX | Usage::INDEX);
    let mut bare = General::new(SIZE * 2 * RELEASES as u64, 16)
        .map_err(|_| Error::Internal { what: "no suballocator of so many bytes" })?;
    let (mut drops, mut ends) = (Vec::new(), Vec::new());
    // Keeps the blocks of the pools alive during the measurement.
    let kept = (0..RELEASES).map(|_| gpu.create_buffer(&desc)).collect::<Result<Vec<_>, _>>()?;
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let buffers = (0..RELEASES).map(|_| gpu.create_buffer(&desc)).collect::<Result<Vec<_>, _>>()?;
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        let ranges: Vec<Handle> =
            (0..RELEASES).filter_map(|_| Some(bare.allocate(SIZE, 16).ok()?.handle)).collect();
        let dropped = time(|| drop(black_box(buffers)));
        let end = try_time(|| frame.end())?;
        let freed = time(|| {
            black_box(ranges.into_iter().all(|range| bare.free(range).is_ok()));
        });
        drops.push((dropped, freed));
        ends.push((end, freed));
    }
    drop(kept);
    Ok(vec![
        line("drop of a buffer", "free of a bare range", RELEASES, drops),
        line("frame end, a release (of 10,000)", "free of a bare range", RELEASES, ends),
    ])
}
