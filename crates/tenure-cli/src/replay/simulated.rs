//! Replays on the simulated device.

use tenure::sim;
use tenure_trace::Trace;

use super::checker::SimulatedChecker;
use super::meter::{DriverTime, Meter};
use super::outcome::{Found, Outcome, Watch};
use super::{Job, NoDevice, Program, ReplayError, Shape, Target, session};

/// Ticks of simulated time in a frame of a replay: its submission, and a poll at either end.
const TICKS_A_FRAME: u64 = 3;

/// Simulated devices of one profile. The same job gives the same outcome, apart from the times
/// measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated {
    /// The hardware to simulate.
    pub profile: sim::Profile,
}

impl Target for Simulated {
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice> {
        let device = sim::Device::new(self.profile);
        Ok(Program::new(trace, |size, align| Shape::of(&device, size, align)))
    }

    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError> {
        let frames = u64::from(job.settings.config.frames.in_flight);
        let lag = sim::Lag::Random { max: frames.saturating_mul(TICKS_A_FRAME) };
        let options = sim::Options::new(self.profile).seed(job.settings.seed).lag(lag);
        let device = sim::Device::with_options(options);
        let hazards = || device.hazards().iter().map(ToString::to_string).collect();
        let measured =
            session::run(device.clone(), &|| Meter::of(&device), &mut SimulatedChecker::default(), job)
                .map_err(|source| ReplayError::broken(source, hazards()))?;
        let leaks = device.leaks();
        let found = Found {
            device: "sim",
            profile: self.profile.name().to_owned(),
            driver_time: DriverTime::Modelled,
            watch: Watch::Device,
            leaks: leaks.iter().map(ToString::to_string).collect(),
            leaks_found: leaks.len() as u64,
            hazards: hazards(),
            hazards_found: device.hazards_found(),
        };
        Ok(Outcome::new(job, found, measured))
    }
}
