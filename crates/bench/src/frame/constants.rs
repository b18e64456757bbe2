//! Constants of 64 bytes.

use std::hint::black_box;

use tenure_core::device::Device as _;
use tenure_core::{Error, Queue};
use tenure_sim::Profile;

use super::{Line, gpu, line, time, try_time};

const PUSHES: usize = 10_000;

/// A push of constants; the lower bound is a plain copy of the same bytes to addresses with the same stride.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let apart = usize::try_from(gpu.device().properties().constant_alignment).unwrap_or(256);
    let mut bare = vec![0_u8; PUSHES * apart];
    let mut times = Vec::new();
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "draws")?;
        let (_, scratch) = recording.split();
        let mut value = [0_u32; 16];
        let ours = try_time(|| {
            (0..PUSHES as u32).try_for_each(|draw| {
                value[0] = draw;
                black_box(scratch.constants(black_box(&value))?.gpu_address());
                Ok::<(), Error>(())
            })
        })?;
        let least = time(|| {
            for (draw, room) in (0..).zip(bare.chunks_exact_mut(apart)) {
                value[0] = draw;
                room[..64].copy_from_slice(bytemuck::bytes_of(black_box(&value)));
            }
            black_box(&mut bare);
        });
        frame.submit(recording)?;
        frame.end()?;
        times.push((ours, least));
    }
    Ok(vec![line("push of 64 B of constants", "the bare copy", PUSHES, times)])
}
