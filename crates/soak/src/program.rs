//! Programs determined by seeds.

use test_random::Rng;

use crate::setup::Setup;
use crate::verbs;

/// One step: an operation, its thread, and its random parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub(crate) verb: u16,
    pub(crate) thread: u8,
    /// The seed of the step's random choices.
    pub(crate) choice: u64,
}

/// The program of a seed.
#[derive(Clone, Debug)]
pub struct Program {
    /// The seed.
    pub seed: u64,
    /// The device and its configuration.
    pub setup: Setup,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// The number of bytes of a step in [`Program::from_bytes`].
const STEP_BYTES: usize = 4;
/// The maximum number of steps of such a program.
const MOST_STEPS: usize = 250;

impl Program {
    /// Decodes a program from bytes, for fuzzing: the first eight are the seed of the setup, and each four
    /// after them are a step. All bytes are valid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (seed, steps) = bytes.split_at(bytes.len().min(8));
        let seed = seed.iter().fold(0_u64, |seed, byte| seed << 8 | u64::from(*byte));
        let setup = Setup::new(seed, &mut Rng::new(seed));
        let step = |bytes: &[u8]| match *bytes {
            [verb, thread, high, low] => Some(Step {
                verb: verbs::possible(setup.trouble, verb),
                thread: thread % setup.threads,
                choice: u64::from(high) << 8 | u64::from(low),
            }),
            _ => None,
        };
        let steps = steps.chunks(STEP_BYTES).take(MOST_STEPS).filter_map(step).collect();
        Self { seed, setup, steps }
    }

    /// The program of a seed: the same on every machine.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let setup = Setup::new(seed, &mut rng);
        let count = 40 + rng.below(200);
        let weights = verbs::weights(setup.trouble);
        // Programs with few kinds of operations find other bugs than programs with all kinds (swarm testing:
        // Groce et al., ISSTA 2012).
        let chosen: Vec<u64> =
            weights.iter().map(|weight| if rng.below(3) == 0 { 0 } else { *weight }).collect();
        let weights = if chosen.iter().sum::<u64>() == 0 { weights } else { chosen };
        let sum: u64 = weights.iter().sum();
        let steps = (0..count).map(|_| {
            let verb = verbs::pick(&weights, rng.below(sum));
            Step { verb, thread: rng.below(setup.threads.into()) as u8, choice: rng.next() }
        });
        let steps = steps.collect();
        Self { seed, setup, steps }
    }
}
