//! An examination: independent steps, each on a new device.

use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::device::{Device, MemoryFlags, MemoryTypeId, Permit, Properties};
use tenure::error::DeviceError;
use tenure::sim;

use super::memory::{Allocation, Budget, Capacity, Mapped};
use super::placement::{Placement, Sizes};
use super::tiles::Tiles;
use super::times::Times;
use super::uploads::Uploads;
use super::{memory, placement, tiles, times, uploads};
use crate::adapter_properties::About;
use crate::devices::Found;
use crate::examined::{Failure, Presentation, VERSION};

/// The bounds of an examination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The maximum fraction of each heap's free memory to allocate, from 0 to 1.
    pub(super) share: f64,
    /// The time limit of all steps together.
    pub(super) time: Duration,
}

/// The limits of one step, and its deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) share: f64,
    /// The time limit of one measurement.
    pub(super) measured: Duration,
    end: Instant,
}

impl Bounds {
    pub(super) fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// An error after the deadline.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.is_over() { Err(Failure::out_of_time()) } else { Ok(()) }
    }

    /// Bounds with a shorter deadline, for one of several measurements of a step.
    pub(super) fn within(&self, time: Duration) -> Self {
        Self { end: self.end.min(Instant::now() + time), ..*self }
    }
}

/// The text of an error that ends one measurement. The loss of the device is returned as an error and ends the
/// step.
pub(super) fn noted(error: DeviceError) -> Result<String, Failure> {
    match error {
        DeviceError::Lost { .. } => Err(error.into()),
        _ => Ok(error.to_string()),
    }
}

pub(super) fn permit<D>() -> Permit<D> {
    // SAFETY: the examination destroys objects of its own, which no command uses: commands are recorded by managers only. It
    // creates each of them with the same device.
    unsafe { Permit::new() }
}

/// The first memory type of a heap that can hold ordinary resources.
pub(super) fn type_in(properties: &Properties, heap: usize) -> Option<MemoryTypeId> {
    let excluded = MemoryFlags::SPECIAL | MemoryFlags::LAZILY_ALLOCATED;
    let types = (0_u8..).zip(&properties.memory_types);
    let mut fitting =
        types.filter(|(_, found)| usize::from(found.heap) == heap && !found.flags.intersects(excluded));
    fitting.next().map(|(index, _)| MemoryTypeId(index))
}

/// The outcome of a step.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// Everything was measured.
    Done,
    /// The device failed; the result has the measurements made before.
    Failed,
    /// The device does not support it, or no time was left; the result has the measurements made before.
    Skipped,
}

/// A step of an examination.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Step<T> {
    pub(super) status: Status,
    pub(super) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    pub(super) result: T,
}

/// Opens devices of the same kind.
pub(super) trait Opener {
    type Device: Device;

    fn open(&self) -> Result<Self::Device, Failure>;

    /// Describes the device.
    fn about(&self, device: &Self::Device) -> (String, About);

    /// Presents images without a window.
    fn present(&self, found: &mut Presentation) -> Result<(), Failure>;

    /// The simulated device similar to the examined one.
    fn like(&self, found: &Found) -> sim::Profile {
        found.like()
    }
}

/// An adapter of an API.
#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
pub(super) struct Real<'a, A: crate::api::Api> {
    pub(super) adapter: &'a A::Adapter,
    pub(super) index: usize,
}

#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
impl<A: crate::api::Api> Opener for Real<'_, A> {
    type Device = A::Device;

    fn open(&self) -> Result<A::Device, Failure> {
        let opened = A::open(self.adapter, &crate::api::Layer::off());
        opened.map(crate::replay::Opened::into_device).map_err(|missing| Failure::Failed(missing.reason))
    }

    fn about(&self, device: &A::Device) -> (String, About) {
        (self.index.to_string(), A::about(self.adapter, device))
    }

    fn present(&self, found: &mut Presentation) -> Result<(), Failure> {
        A::present(self.index, found)
    }
}

/// A simulated device, with settings for each opened instance.
pub(super) struct Simulated {
    pub(super) profile: sim::Profile,
    pub(super) make: Box<dyn Fn(sim::Profile) -> sim::Device>,
}

impl Simulated {
    pub(super) fn new(profile: sim::Profile) -> Self {
        Self { profile, make: Box::new(sim::Device::new) }
    }
}

impl Opener for Simulated {
    type Device = sim::Device;

    fn open(&self) -> Result<sim::Device, Failure> {
        Ok((self.make)(self.profile))
    }

    fn about(&self, device: &sim::Device) -> (String, About) {
        (self.profile.name().to_owned(), crate::devices::about_simulated(device))
    }

    fn present(&self, _: &mut Presentation) -> Result<(), Failure> {
        Err(Failure::Unsupported("the simulated device has windows of its own".to_owned()))
    }

    fn like(&self, _: &Found) -> sim::Profile {
        self.profile
    }
}

/// The results of all steps. Sizes are in bytes, times in nanoseconds unless the name states another unit.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Examination {
    /// [`VERSION`]
    pub(super) doctor: u32,
    /// The version of tenure.
    pub(super) tenure: &'static str,
    /// The operating system and the processor, such as `linux x86_64`.
    pub(super) system: String,
    pub(super) seconds: f64,
    /// The simulated device of the comparison.
    pub(super) profile: String,
    pub(super) device: Step<Option<Found>>,
    pub(super) placement: Step<Option<Placement>>,
    pub(super) sizes: Step<Sizes>,
    pub(super) budgets: Step<Vec<Budget>>,
    pub(super) allocations: Step<Vec<Allocation>>,
    pub(super) capacity: Step<Vec<Capacity>>,
    pub(super) mapping: Step<Vec<Mapped>>,
    pub(super) uploads: Step<Uploads>,
    pub(super) tiles: Step<Tiles>,
    pub(super) timestamps: Step<Times>,
    pub(super) presentation: Step<Presentation>,
}

/// The number of steps after the first.
const STEPS: u32 = 10;
/// A measurement takes at most the time limit divided by this number.
const MEASUREMENTS: u32 = 1_000;
const LONGEST_MEASUREMENT: Duration = Duration::from_millis(100);
/// The maximum time limit.
const LONGEST: Duration = Duration::from_secs(3600);

struct Steps<'a, P> {
    opener: &'a P,
    limits: Limits,
    end: Instant,
    left: u32,
}

impl<P: Opener> Steps<'_, P> {
    /// Runs a step on a new device, within its share of the remaining time.
    fn step<T: Default>(
        &mut self,
        examine: impl FnOnce(&P, &Bounds, &mut T) -> Result<(), Failure>,
    ) -> Step<T> {
        let begun = Instant::now();
        let left = self.end.saturating_duration_since(begun);
        // A share of twice the average: short steps leave their time to later ones.
        let part = left / self.left.max(1) * 2;
        self.left = self.left.saturating_sub(1);
        let mut result = T::default();
        let done = if left.is_zero() {
            Err(Failure::out_of_time())
        } else {
            let Limits { share, time } = self.limits;
            let measured = (time / MEASUREMENTS).min(LONGEST_MEASUREMENT);
            let bounds = Bounds { share, measured, end: begun + part.min(left) };
            examine(self.opener, &bounds, &mut result)
        };
        let (status, error) = match done {
            Ok(()) => (Status::Done, None),
            Err(Failure::Unsupported(error)) => (Status::Skipped, Some(error)),
            Err(Failure::Failed(error)) => (Status::Failed, Some(error)),
        };
        Step { status, seconds: begun.elapsed().as_secs_f64(), error, result }
    }
}

impl Examination {
    pub(super) fn of<P: Opener>(opener: &P, limits: &Limits) -> Self {
        let begun = Instant::now();
        let limits = Limits { time: limits.time.min(LONGEST), ..*limits };
        let mut steps = Steps { opener, limits, end: begun + limits.time, left: STEPS + 1 };
        let device = steps.step(|opener, _, found| {
            let device = opener.open()?;
            let (id, about) = opener.about(&device);
            *found = Some(Found::new(id, about, &device)?);
            Ok(())
        });
        let profile = device.result.as_ref().map_or_else(sim::Profile::default, |found| opener.like(found));
        let mut examination = Self {
            doctor: VERSION,
            tenure: env!("CARGO_PKG_VERSION"),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            seconds: 0.0,
            profile: profile.name().to_owned(),
            device,
            placement: steps.step(|opener, _, found| {
                *found = Some(placement::examine(&opener.open()?)?);
                Ok(())
            }),
            sizes: steps.step(|opener, bounds, sizes| placement::compare(opener, bounds, profile, sizes)),
            budgets: steps.step(memory::budgets),
            allocations: steps.step(memory::allocations),
            capacity: steps.step(memory::capacity),
            mapping: steps.step(memory::mapping),
            tiles: steps.step(tiles::examine),
            timestamps: steps.step(times::examine),
            presentation: steps.step(|opener, _, found| opener.present(found)),
            uploads: steps.step(uploads::examine),
        };
        examination.seconds = begun.elapsed().as_secs_f64();
        examination
    }

    pub(super) fn steps(&self) -> [(&'static str, Status, Option<&str>); 11] {
        macro_rules! steps {
            ($($name:ident)*) => {
                [$((stringify!($name), self.$name.status, self.$name.error.as_deref())),*]
            };
        }
        steps!(device placement sizes budgets allocations capacity mapping uploads tiles timestamps presentation)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.steps().iter().any(|(_, status, _)| *status == Status::Failed)
    }
}
