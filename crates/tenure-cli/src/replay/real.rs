//! Replays on devices that neither count nor check by themselves.

use std::sync::Arc;

use tenure::device::Device;
use tenure_trace::Trace;

use super::counted::{Counted, Live};
use super::hazards::Hazards;
use super::meter::DriverTime;
use super::outcome::{Found, Outcome, Watch};
use super::readbacks::Readbacks;
use super::{Job, NoDevice, Program, ReplayError, Shape, Target, session};

/// Opens devices of one kind.
pub trait Open {
    /// The device.
    type Device: Device;

    /// Opens a fresh device, whose validation layer, if it has one, reports to `hazards` until the
    /// device is gone.
    ///
    /// # Errors
    /// [`NoDevice`]
    fn open(&self, hazards: &Arc<Hazards>) -> Result<Opened<Self::Device>, NoDevice>;
}

/// A device that was opened.
pub struct Opened<D> {
    device: D,
    watch: Watch,
    afterwards: Box<dyn FnOnce(&Hazards)>,
}

impl<D> Opened<D> {
    /// A device, and who looks for hazards. It must not be held by anything else, so that it ends
    /// when all that it made is gone.
    pub fn new(device: D, watch: Watch) -> Self {
        Self { device, watch, afterwards: Box::new(|_| ()) }
    }

    /// What is to be done when all that it made should be gone; the last that keeps the device.
    #[must_use]
    pub fn afterwards(self, look: impl FnOnce(&Hazards) + 'static) -> Self {
        Self { afterwards: Box::new(look), ..self }
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }
}

/// Devices that are [counted](Counted) and asked for the bytes that draws would read.
pub struct Real<O>(pub O);

impl<O: Open> Target for Real<O> {
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice> {
        let opened = self.0.open(&Arc::default())?;
        Ok(Program::new(trace, |size, align| Shape::of(opened.device(), size, align)))
    }

    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError> {
        let hazards = Arc::<Hazards>::default();
        let Opened { device, watch, afterwards } = self.0.open(&hazards)?;
        let (name, profile) = (device.properties().backend, device.properties().name.clone());
        let device = Counted::new(device);
        let gauge = device.gauge();
        let measured = session::run(device, &|| gauge.meter(), &mut Readbacks::new(&hazards), job);
        afterwards(&hazards);
        // The device is gone now, and everything that can be said against it was said.
        let measured = measured.map_err(|source| ReplayError::broken(source, hazards.kept()))?;
        let left = LeftOver { live: gauge.live(), is_device_held: Arc::strong_count(&hazards) > 1 };
        let found = Found {
            device: name,
            profile,
            driver_time: DriverTime::Measured,
            watch,
            leaks: left.in_words(),
            leaks_found: left.count(),
            hazards: hazards.kept(),
            hazards_found: hazards.found(),
        };
        Ok(Outcome::new(job, found, measured))
    }
}

/// What should be gone and is not.
struct LeftOver {
    live: Live,
    /// Its layer could still report.
    is_device_held: bool,
}

impl LeftOver {
    fn counts(&self) -> [(u64, &'static str); 4] {
        let Live { heaps, resources, lists } = self.live;
        let devices = u64::from(self.is_device_held);
        [(heaps, "heaps"), (resources, "resources"), (lists, "command lists"), (devices, "devices")]
    }

    fn count(&self) -> u64 {
        self.counts().iter().fold(0, |sum, (count, _)| sum.saturating_add(*count))
    }

    /// A line for each kind of object.
    fn in_words(&self) -> Vec<String> {
        let left = self.counts().into_iter().filter(|(count, _)| *count > 0);
        left.map(|(count, kind)| format!("{kind} never destroyed: {count}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{LeftOver, Live};

    #[test]
    fn what_is_left_over_is_counted_and_named_by_kind() {
        let nothing = LeftOver { live: Live::default(), is_device_held: false };
        assert_eq!((nothing.count(), nothing.in_words()), (0, Vec::new()));
        let live = Live { heaps: 2, resources: 30, lists: 0 };
        let some = LeftOver { live, is_device_held: true };
        assert_eq!(some.count(), 33);
        let words =
            ["heaps never destroyed: 2", "resources never destroyed: 30", "devices never destroyed: 1"];
        assert_eq!(some.in_words(), words);
    }
}
