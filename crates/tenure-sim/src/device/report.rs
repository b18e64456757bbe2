//! The report at the end of a test.

use std::fmt;

use crate::hazard::Hazard;
use crate::object::LiveObject;

/// All findings of a device: see [`Device::check_clean`](crate::Device::check_clean).
///
/// `Debug` shows the same lines as `Display`, so that `unwrap` in a test is readable.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub struct Findings {
    /// The hazards in the log.
    pub hazards: Vec<Hazard>,
    /// Number of hazards found, including those not kept.
    pub found: u64,
    /// Objects still alive.
    pub leaks: Vec<LiveObject>,
}

impl Findings {
    pub(crate) fn is_empty(&self) -> bool {
        self.hazards.is_empty() && self.leaks.is_empty()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hazards found, {} objects leaked", self.found, self.leaks.len())?;
        for hazard in &self.hazards {
            write!(f, "\n  {hazard}")?;
        }
        for leak in &self.leaks {
            write!(f, "\n  leaked: {leak}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
