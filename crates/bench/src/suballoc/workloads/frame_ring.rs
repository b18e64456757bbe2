//! W4: data that lives for three frames.

use std::collections::VecDeque;

use super::Scale;
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::{Recorder, Trace};

/// Frames that a frame's data lives for.
pub(crate) const FRAMES_LIVE: usize = 3;

/// 2,000 allocations a frame of 256 to 4096, align 256, freed in order 3 frames later; 250 frames.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let mut recorder = Recorder::default();
    let mut frames: VecDeque<Vec<u32>> = VecDeque::new();
    for _ in 0..scale.calls(250) {
        if frames.len() == FRAMES_LIVE
            && let Some(oldest) = frames.pop_front()
        {
            oldest.into_iter().for_each(|slot| recorder.free(slot));
        }
        let allocate = |_| recorder.allocate(rng.between(256, 4096), 256);
        frames.push_back((0..2_000).map(allocate).collect());
        recorder.end_frame();
    }
    Trace { is_ring: true, ..recorder.finish("W4", "frame ring 256..4 Ki", 256) }
}
