//! W5: texture streaming.

use std::collections::VecDeque;

use super::Scale;
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::{Recorder, Trace};

const BUDGET: u64 = 4 << 30;
const KI_64: u64 = 64 << 10;
const MI_4: u64 = 4 << 20;

/// Mip chains of 64 Ki to 85 Mi, align 64 Ki, 2 % multisampled targets aligned 4 Mi; 4 GiB budget;
/// the least recently used go. 400,000 calls.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let mut recorder = Recorder::default();
    // From the least to the most recently used.
    let mut resident: VecDeque<u32> = VecDeque::new();
    let calls = scale.calls(400_000);
    while recorder.calls() < calls {
        touch(&mut rng, &mut resident);
        let (size, align) = texture(&mut rng);
        while recorder.live_bytes() + size > BUDGET {
            let Some(oldest) = resident.pop_front() else { break };
            recorder.free(oldest);
        }
        resident.push_back(recorder.allocate(size, align));
    }
    let trace = recorder.finish("W5", "texture streaming 64 Ki..85 Mi", KI_64);
    Trace { block_bytes: 256 << 20, ..trace }
}

/// Makes some textures the most recently used.
fn touch(rng: &mut Rng, resident: &mut VecDeque<u32>) {
    for _ in 0..2 {
        let index = rng.index(resident.len());
        if let Some(slot) = resident.remove(index) {
            resident.push_back(slot);
        }
    }
}

fn texture(rng: &mut Rng) -> (u64, u64) {
    if rng.percent(2) {
        return (rng.between(1, 16) * MI_4, MI_4);
    }
    let width = 1u64 << rng.between(7, 12);
    let height = if rng.percent(70) { width } else { width / 2 };
    // Half a byte (BC1), one (BC7) or four (RGBA8) a texel.
    let bits = [4, 8, 8, 32][rng.index(4)];
    let chain = width * height * bits / 8 * 4 / 3;
    (chain.next_multiple_of(KI_64), KI_64)
}
