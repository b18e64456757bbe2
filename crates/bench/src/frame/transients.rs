//! A transient resource, acquired and dropped.

use std::hint::black_box;

use tenure_core::{Error, Format, Queue, TextureDesc, Usage};
use tenure_sim::Profile;

use super::{Line, gpu, line, try_time};

const TEXTURES: usize = 200;

/// Transient textures, eight of them live at a time, as between the passes of a frame. The comparison is
/// the creation and the drop of the same textures.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let descs: Vec<_> =
        (0..8_u32).map(|step| TextureDesc::d2(64 << (step % 4), 256, Format::Rgba8Unorm, usage)).collect();
    let mut times = Vec::new();
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let list = frame.record(Queue::Graphics, "transients")?;
        let acquired = try_time(|| with_eight_alive(&descs, |desc| list.transient_texture(desc)))?;
        let created = try_time(|| with_eight_alive(&descs, |desc| gpu.create_texture(desc)))?;
        frame.submit(list)?;
        frame.end()?;
        times.push((acquired, created));
    }
    Ok(vec![line("transient texture, acquired and dropped", "created and dropped", TEXTURES, times)])
}

/// Makes textures, each after the oldest of eight went.
fn with_eight_alive<T>(
    descs: &[TextureDesc],
    make: impl Fn(&TextureDesc) -> Result<T, Error>,
) -> Result<(), Error> {
    let mut live = Vec::with_capacity(descs.len());
    for desc in descs.iter().cycle().take(TEXTURES) {
        if live.len() == descs.len() {
            live.swap_remove(0);
        }
        live.push(make(black_box(desc))?);
    }
    Ok(())
}
