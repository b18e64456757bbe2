//! Replays on the simulated device.

use tenure::{Config, Error, Strategy, sim};
use tenure_trace::Trace;

use super::outcome::{Outcome, Source};
use super::{Program, Shape, session};

/// Ticks of simulated time in a frame of a replay: its submission, and a poll at either end.
const TICKS_A_FRAME: u64 = 3;

/// How to replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The hardware to simulate.
    pub profile: sim::Profile,
    /// The manager's choices, but for the strategy. Its frames in flight are also the most by
    /// which the GPU is late.
    pub config: Config,
    /// Where all chance comes from.
    pub seed: u64,
}

/// Makes a recording ready for a device of the profile.
#[must_use]
pub fn prepare(trace: &Trace, profile: sim::Profile) -> Program {
    // A device of its own, so that its calls are not counted.
    let device = sim::Device::new(profile);
    Program::new(trace, |size, align| Shape::of(&device, size, align))
}

/// Replays a recording by one strategy. `progress` is told now and then how many of the program's
/// steps are done.
///
/// The same arguments give the same outcome, apart from the times measured.
///
/// # Errors
/// Anything but a failed creation, which is counted: a setting out of range, or a manager that
/// breaks down.
pub fn replay(
    (name, trace): (&str, &Trace),
    program: &Program,
    strategy: Strategy,
    settings: &Settings,
    progress: &dyn Fn(u64),
) -> Result<Outcome, Error> {
    let late = u64::from(settings.config.frames_in_flight).saturating_mul(TICKS_A_FRAME);
    let options = sim::Options::new(settings.profile).seed(settings.seed).lag(sim::Lag::Random { max: late });
    let device = sim::Device::with_options(options);
    let config = Config { strategy, ..settings.config.clone() };
    let measured = session::run(device.clone(), config, settings.seed, program, progress)?;
    let found = Source {
        trace: name,
        summary: &trace.summary,
        device: "sim",
        profile: settings.profile.name(),
        strategy,
        leaks: device.leaks().iter().map(ToString::to_string).collect(),
        hazards: device.hazards().iter().map(ToString::to_string).collect(),
        hazards_found: device.hazards_found(),
    };
    Ok(Outcome::new(found, measured))
}
