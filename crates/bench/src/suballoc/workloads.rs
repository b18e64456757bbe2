//! The seven workloads, each generated from a seed. [`Scale`] sets the number of calls; sizes and
//! lifetimes do not depend on it.

use std::collections::VecDeque;

use super::rng::Rng;
use super::trace::{Recorder, Trace};

/// The length of the workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// About a million calls each, for measuring.
    Full,
    /// A fifth of the calls, with as many live allocations, for tests.
    Short,
}

impl Scale {
    fn calls(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Short => full / 5,
        }
    }
}

/// The names of all workloads, in their order.
pub const NAMES: [&str; 7] = ["W1", "W2", "W3", "W4", "W5", "W6", "W7"];

/// The workload of that name; `None` if the name is not in [`NAMES`].
#[must_use]
pub fn named(name: &str, seed: u64, scale: Scale) -> Option<Trace> {
    let makers: [fn(Rng, Scale) -> Trace; 7] =
        [uniform, log_normal, voxel, frame_ring, textures, adversary, powers_of_two];
    let at = NAMES.iter().position(|it| *it == name)?;
    let number = at as u64 + 1;
    Some(makers[at](Rng::new(Rng::new(seed.wrapping_mul(8).wrapping_add(number)).bits()), scale))
}

/// Allocates `live` allocations, then allocates and frees at random and keeps about `live` of them.
fn churn(
    rng: &mut Rng,
    live: usize,
    calls: usize,
    mut request: impl FnMut(&mut Rng) -> (u64, u64),
    mut victim: impl FnMut(&mut Rng, usize) -> usize,
) -> Recorder {
    let mut recorder = Recorder::default();
    let mut slots = Vec::with_capacity(live * 2);
    while recorder.calls() < calls {
        // The probability of a free grows with the number, which so stays within about a tenth of `live`.
        let fewer = (slots.len() as u64 * 50 / live as u64).min(100);
        let filling = recorder.calls() < live;
        if filling || slots.is_empty() || !rng.percent(fewer) {
            let (size, align) = request(rng);
            slots.push(recorder.allocate(size, align));
        } else {
            let victim = victim(rng, slots.len());
            recorder.free(slots.remove(victim));
        }
    }
    recorder
}

/// W1: uniform sizes of 256 to 64 Ki, align 256; about 10,000 live, 1 M calls.
fn uniform(mut rng: Rng, scale: Scale) -> Trace {
    let request = |rng: &mut Rng| (rng.between(256, 64 << 10), 256);
    let recorder = churn(&mut rng, 10_000, scale.calls(1_000_000), request, Rng::index);
    recorder.finish("W1", "uniform 256..64 Ki", 256)
}

/// W2: log-normal sizes (median 16 Ki, sigma 2.2, 256 to 16 Mi), align 256, but 64 Ki for 30 % of the
/// sizes from 64 Ki on; 70 % of the frees concern the youngest fifth; about 5,000 live, 1 M calls.
fn log_normal(mut rng: Rng, scale: Scale) -> Trace {
    let request = |rng: &mut Rng| {
        let size = rng.log_normal(16_384.0, 2.2, 256, 16 << 20);
        let coarse = size >= 64 << 10 && rng.percent(30);
        (size, if coarse { 64 << 10 } else { 256 })
    };
    let mostly_young = |rng: &mut Rng, len: usize| {
        let candidates = if rng.percent(70) { len.div_ceil(5) } else { len };
        len - 1 - rng.index(candidates)
    };
    let live = 5_000;
    let recorder = churn(&mut rng, live, scale.calls(1_000_000), request, mostly_young);
    recorder.finish("W2", "log-normal 256..16 Mi", 256)
}

/// W3: meshes of a voxel world. 20,000 live, log-normal sizes (median 2500, sigma 1, 4 to 40 Ki), align 4
/// to 256; 500,000 re-meshes, each a free and an allocation of another size; a quarter of them allocate
/// before they free.
fn voxel(mut rng: Rng, scale: Scale) -> Trace {
    let mut recorder = Recorder::default();
    let mut meshes: Vec<u32> = (0..20_000).map(|_| allocate_mesh(&mut recorder, &mut rng)).collect();
    for _ in 0..scale.calls(500_000) {
        let index = rng.index(meshes.len());
        let old = meshes[index];
        if rng.percent(25) {
            meshes[index] = allocate_mesh(&mut recorder, &mut rng);
            recorder.free(old);
        } else {
            recorder.free(old);
            meshes[index] = allocate_mesh(&mut recorder, &mut rng);
        }
    }
    recorder.finish("W3", "voxel meshes 4..40 Ki", 4)
}

fn allocate_mesh(recorder: &mut Recorder, rng: &mut Rng) -> u32 {
    let size = rng.log_normal(2_500.0, 1.0, 4, 40 << 10);
    recorder.allocate(size, 1 << rng.between(2, 8))
}

/// The number of frames for which the data of a frame is live.
pub(crate) const FRAMES_LIVE: usize = 3;

/// W4: per-frame data. 2,000 allocations per frame of 256 to 4096, align 256, freed in order 3 frames
/// later; 250 frames.
fn frame_ring(mut rng: Rng, scale: Scale) -> Trace {
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

const TEXTURE_BUDGET: u64 = 4 << 30;
const KI_64: u64 = 64 << 10;
const MI_4: u64 = 4 << 20;

/// W5: texture streaming. Mip chains of 64 Ki to 85 Mi, align 64 Ki; 2 % are multisampled targets with
/// align 4 Mi; a budget of 4 GiB, for which the least recently used textures are freed; 400,000 calls.
fn textures(mut rng: Rng, scale: Scale) -> Trace {
    let mut recorder = Recorder::default();
    // Ordered from the least to the most recently used.
    let mut resident: VecDeque<u32> = VecDeque::new();
    let calls = scale.calls(400_000);
    while recorder.calls() < calls {
        touch(&mut rng, &mut resident);
        let (size, align) = texture_request(&mut rng);
        while recorder.live_bytes() + size > TEXTURE_BUDGET {
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

fn texture_request(rng: &mut Rng) -> (u64, u64) {
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

/// W6: an adversarial workload. Fills 128 Mi with sizes from a power of two up to twice as much, frees
/// every second live allocation, and doubles the size: from 256 to 1 Mi. After Robson, *Bounds for Some
/// Functions Concerning Dynamic Storage Allocation*, 1974.
fn adversary(mut rng: Rng, scale: Scale) -> Trace {
    let bytes = (scale.calls(128) as u64) << 20;
    let mut recorder = Recorder::default();
    let mut live: Vec<u32> = Vec::new();
    for size_log2 in 8..=20 {
        loop {
            let size = rng.between(1 << size_log2, (2 << size_log2) - 1);
            if recorder.live_bytes() + size > bytes {
                break;
            }
            live.push(recorder.allocate(size, 256));
        }
        let odd = rng.index(2);
        let mut count = 0;
        live.retain(|&slot| {
            count += 1;
            let is_freed = count % 2 == odd;
            if is_freed {
                recorder.free(slot);
            }
            !is_freed
        });
    }
    let trace = recorder.finish("W6", "adversary 256..1 Mi", 256);
    Trace { ample_bytes: trace.peak_bytes * 12, ..trace }
}

/// W7: powers of two from 256 to 64 Ki, align 256; about 10,000 live, 1 M calls.
fn powers_of_two(mut rng: Rng, scale: Scale) -> Trace {
    let request = |rng: &mut Rng| (1 << rng.between(8, 16), 256);
    let recorder = churn(&mut rng, 10_000, scale.calls(1_000_000), request, Rng::index);
    recorder.finish("W7", "powers of two 256..64 Ki", 256)
}
