//! Limits of memory pressure.

use super::error::Check;
use super::{ConfigError, ConfigUnit};

/// Fractions of the budget at which memory counts as scarce: part of [`Config`](crate::Config). See
/// `Gpu::on_pressure`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PressureConfig {
    /// Percent of the budget at which [`Pressure::High`](crate::Pressure::High) begins. Default 85; 1 to `critical`.
    ///
    /// A lower value notifies the program earlier; a higher one lets it use more memory before that.
    pub high: u32,
    /// Percent of the budget at which [`Pressure::Critical`](crate::Pressure::Critical) begins. Default 95; 1 to 100.
    pub critical: u32,
    /// Percentage of the budget by which usage must fall below the beginning of a level to end it. Default 5; 0 to
    /// 50.
    ///
    /// A larger value means fewer changes of the level; a smaller one reports available memory sooner.
    pub hysteresis: u32,
    /// Frames between two budget queries, if the program has a listener. Default 4; 1 to 1,000.
    ///
    /// A longer interval saves driver calls, which can be slow; a shorter one detects allocations of other programs
    /// sooner. The program's own allocations and frees are included in each frame.
    pub interval: u32,
}

tenure_heap::setters!(PressureConfig { high: u32, critical: u32, hysteresis: u32, interval: u32 });

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
