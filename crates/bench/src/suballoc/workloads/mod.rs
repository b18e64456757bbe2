//! The seven workloads, each drawn from a seed. `Scale` says how long; their shapes stay the same.

mod adversary;
mod frame_ring;
mod log_normal;
mod powers_of_two;
mod textures;
mod uniform;
mod voxel;

pub(crate) use frame_ring::FRAMES_LIVE;

use super::rng::Rng;
use super::trace::{Recorder, Trace};

/// How long the workloads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// About a million calls each, for measuring.
    Full,
    /// A fifth of the calls, with as much live, for tests.
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

/// All workloads, W1 to W7.
#[must_use]
pub fn all(seed: u64, scale: Scale) -> Vec<Trace> {
    NAMES.iter().filter_map(|name| named(name, seed, scale)).collect()
}

/// One of them, the same as in [`all`]; `None` if it is no name of [`NAMES`].
#[must_use]
pub fn named(name: &str, seed: u64, scale: Scale) -> Option<Trace> {
    let makers: [fn(Rng, Scale) -> Trace; 7] = [
        uniform::trace,
        log_normal::trace,
        voxel::trace,
        frame_ring::trace,
        textures::trace,
        adversary::trace,
        powers_of_two::trace,
    ];
    let at = NAMES.iter().position(|it| *it == name)?;
    let number = at as u64 + 1;
    Some(makers[at](Rng::new(Rng::new(seed.wrapping_mul(8).wrapping_add(number)).bits()), scale))
}

/// Keeps about `live` allocations: fills up, then allocates and frees at random, as often.
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
        // The pull towards `live` keeps the number within about a tenth of it.
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
