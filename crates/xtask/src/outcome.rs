//! Results of steps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of a step.
pub(crate) type Outcome = Result<(), Trouble>;

/// The reason why a step did not pass.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Trouble {
    Failed(String),
    /// The tool is not available on this machine; the remedy.
    NoTool(String),
    /// The device is not available on this machine; the remedy.
    NoDevice(String),
    /// The step runs only on request; the way to request it.
    NotAsked(String),
}

impl Trouble {
    /// The outcome, in which a missing device is a failure with `--strict`, as in CI.
    pub(crate) fn judged(self, is_strict: bool) -> Self {
        match self {
            Self::NoDevice(remedy) if is_strict => Self::Failed(remedy),
            other => other,
        }
    }

    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => write!(f, "FAILED: {reason}"),
            Self::NoTool(remedy) | Self::NoDevice(remedy) => write!(f, "NOT RUN on this machine: {remedy}"),
            Self::NotAsked(how) => write!(f, "NOT RUN, only on request: {how}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Trouble::{Failed, NoDevice, NoTool, NotAsked};

    fn remedy() -> String {
        "buy one".to_owned()
    }

    #[test]
    fn strictness_is_about_devices_alone() {
        assert_eq!(NoDevice(remedy()).judged(true), Failed(remedy()));
        assert_eq!(NoDevice(remedy()).judged(false), NoDevice(remedy()));
        assert_eq!(NoTool(remedy()).judged(true), NoTool(remedy()));
        assert_eq!(NotAsked(remedy()).judged(true), NotAsked(remedy()));
        assert!(!NotAsked(remedy()).is_failure());
    }
}
