//! Replays on the simulated device.

use tenure::sim;
use tenure_trace::{Header, Trace};

use super::checker::{InSimulation, SimulatedChecker};
use super::counted::Counted;
use super::meter::{DriverTime, Meter};
use super::observer::{Observer, Unobserved};
use super::outcome::{Found, Outcome, Watch};
use super::{Job, NoDevice, Program, ReplayError, Shape, Target, session};

/// Ticks of simulated time in a frame of a replay: one submission and two polls.
pub const TICKS_A_FRAME: u64 = 3;

/// Simulated devices of one profile. The same job has the same outcome, apart from measured times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated {
    /// The hardware to simulate.
    pub profile: sim::Profile,
}

/// The profile of a recording's device, or a similar one; `None` if the recording names none.
pub fn recorded_profile(header: &Header) -> Option<sim::Profile> {
    let named = header.get("profile").and_then(sim::Profile::by_name);
    named.or_else(|| match header.get("api")? {
        "vulkan" => Some(sim::Profile::VULKAN_NVIDIA),
        "d3d12" => Some(sim::Profile::default()),
        _ => None,
    })
}

impl Target for Simulated {
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice> {
        let device = sim::Device::new(self.profile);
        // Recorded sizes are those of the recorded device.
        let is_another = recorded_profile(&trace.header) != Some(self.profile);
        Ok(Program::new(trace, is_another, |wanted| Shape::wanted(&device, wanted)))
    }

    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError> {
        let device = self.device(job);
        self.run(device.clone(), &device, &mut Unobserved, job)
    }
}

impl Simulated {
    /// Creates a device for a job.
    pub fn device(&self, job: &Job<'_>) -> sim::Device {
        let frames = u64::from(job.settings.config.frames.in_flight);
        let lag = sim::Lag::Random { max: frames.saturating_mul(TICKS_A_FRAME) };
        let options = sim::DeviceConfig::new(self.profile).seed(job.settings.seed).lag(lag);
        sim::Device::with_config(options)
    }

    /// Like [`replay`](Target::replay), with an observer, on a wrapped [`device`](Self::device). The outcome is
    /// the same.
    pub fn replay_observed(
        &self,
        device: Counted<sim::Device>,
        observer: &mut impl Observer<Counted<sim::Device>>,
        job: &Job<'_>,
    ) -> Result<Outcome, ReplayError> {
        let inner = device.inner().clone();
        self.run(device, &inner, observer, job)
    }

    /// Like [`replay`](Target::replay), with an observer. The outcome is the same.
    pub fn replay_watched(
        &self,
        observer: &mut impl Observer<sim::Device>,
        job: &Job<'_>,
    ) -> Result<Outcome, ReplayError> {
        let device = self.device(job);
        self.run(device.clone(), &device, observer, job)
    }

    fn run<D: InSimulation>(
        &self,
        wrapped: D,
        device: &sim::Device,
        observer: &mut impl Observer<D>,
        job: &Job<'_>,
    ) -> Result<Outcome, ReplayError> {
        let hazards = || device.hazards().iter().map(ToString::to_string).collect();
        let mut checker = SimulatedChecker::default();
        let measured = session::run(wrapped, &|| Meter::of(device), &mut checker, observer, job)
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
