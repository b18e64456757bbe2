//! Replays on real devices, wrapped to count calls and check bytes.

use std::sync::Arc;

use tenure::device::Device;
use tenure_trace::Trace;

use super::counted::{Counted, Live};
use super::hazards::Hazards;
use super::meter::DriverTime;
use super::observer::Unobserved;
use super::outcome::{Found, Outcome, Watch};
use super::readbacks::Readbacks;
use super::{Job, NoDevice, Program, ReplayError, Shape, Target, session};

/// Opens devices of one kind.
pub trait Open {
    /// The device.
    type Device: Device;

    /// Opens a new device. Its validation layer, if any, reports to `hazards` until the device is destroyed.
    ///
    /// # Errors
    /// [`NoDevice`]
    fn open(&self, hazards: &Arc<Hazards>) -> Result<Opened<Self::Device>, NoDevice>;
}

/// An opened device.
pub struct Opened<D> {
    device: D,
    watch: Watch,
    afterwards: Box<dyn FnOnce(&Hazards)>,
}

impl<D> Opened<D> {
    /// A device, and the source of its hazard reports. There must be no other reference to the device, which is
    /// destroyed with its last object.
    pub fn new(device: D, watch: Watch) -> Self {
        Self { device, watch, afterwards: Box::new(|_| ()) }
    }

    /// Sets a function to call after all objects of the device should have been destroyed. It may hold the last
    /// reference to the device.
    #[must_use]
    pub fn afterwards(self, check: impl FnOnce(&Hazards) + 'static) -> Self {
        Self { afterwards: Box::new(check), ..self }
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device, without the final check.
    pub fn into_device(self) -> D {
        self.device
    }
}

/// Replays on real devices with [`Counted`] calls; bytes that draws would read are read back.
pub struct Real<O>(pub O);

impl<O: Open> Target for Real<O> {
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice> {
        let opened = self.0.open(&Arc::default())?;
        Ok(Program::new(trace, true, |wanted| Shape::wanted(opened.device(), wanted)))
    }

    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError> {
        let hazards = Arc::<Hazards>::default();
        let Opened { device, watch, afterwards } = self.0.open(&hazards)?;
        let (name, profile) = (device.properties().backend, device.properties().name.clone());
        let device = Counted::new(device);
        let gauge = device.gauge();
        let mut checker = Readbacks::new(&hazards);
        let measured = session::run(device, &|| gauge.meter(), &mut checker, &mut Unobserved, job);
        afterwards(&hazards);
        // The device is destroyed now, so all hazards have been reported.
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

/// Objects that were never destroyed.
struct LeftOver {
    live: Live,
    /// Whether the device still exists: its validation layer holds a reference to the hazards.
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

    fn in_words(&self) -> Vec<String> {
        let left = self.counts().into_iter().filter(|(count, _)| *count > 0);
        left.map(|(count, kind)| format!("{kind} never destroyed: {count}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{LeftOver, Live};

    #[test]
    fn remaining_objects_are_counted_and_named_by_kind() {
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
