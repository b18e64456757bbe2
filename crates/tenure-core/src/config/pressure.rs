//! When memory is short.

use super::error::Check;
use super::{ConfigError, ConfigUnit};

/// From which part of a budget on memory counts as short: part of [`Config`](crate::Config). See
/// [`Gpu::on_pressure`](crate::Gpu::on_pressure).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PressureConfig {
    /// Percent of the budget at which [`Pressure::High`](crate::Pressure::High) begins. Default 85; 1 to `critical`.
    ///
    /// Lower tells the program earlier; higher lets it use more before.
    pub high: u32,
    /// Percent of the budget at which [`Pressure::Critical`](crate::Pressure::Critical) begins. Default 95; 1 to 100.
    pub critical: u32,
    /// Percent of the budget by which the usage must fall below the beginning of a level for that to end. Default 5;
    /// 0 to 50.
    ///
    /// Larger means fewer changes of the level; smaller tells the program sooner that there is room again.
    pub hysteresis: u32,
    /// Frames from one question to the operating system to the next, where the program listens. Default 4; 1 to 1,000.
    ///
    /// Larger saves calls of the driver, some of which are slow; smaller notices sooner what other programs take. What
    /// the program itself takes and gives back counts in each frame.
    pub interval: u32,
}

impl Default for PressureConfig {
    fn default() -> Self {
        Self { high: 85, critical: 95, hysteresis: 5, interval: 4 }
    }
}

impl PressureConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let percent = |field, value: u32| Check::new(field, value.into(), ConfigUnit::Percent);
        percent("pressure.critical", self.critical).range(1, 100)?;
        percent("pressure.high", self.high).up_to(1, "pressure.critical", self.critical.into())?;
        percent("pressure.hysteresis", self.hysteresis).range(0, 50)?;
        Check::new("pressure.interval", self.interval.into(), ConfigUnit::Frames).range(1, 1000)
    }
}
