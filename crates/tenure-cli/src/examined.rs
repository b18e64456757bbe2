//! The results of `tenure doctor` that other modules produce or report.

use serde::Serialize;
use tenure::Error;
use tenure::error::DeviceError;

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The reason for the end of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The device does not support it, or no time was left.
    Unsupported(String),
    /// The device failed.
    Failed(String),
}

impl Failure {
    pub(crate) fn out_of_time() -> Self {
        Self::Unsupported("no time was left".to_owned())
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Unsupported { .. } => Self::Unsupported(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Device { source: DeviceError::Unsupported { .. }, .. } => {
                Self::Unsupported(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// The presentation of images without a window.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(crate) struct Presentation {
    /// The images that were presented.
    pub(crate) presented: u32,
    /// Whether fences report the end of presentations.
    pub(crate) has_fences: bool,
    /// Time to destroy the swap chain after the GPU was idle; half a second if fences are never signalled.
    pub(crate) destroyed_nanoseconds: u64,
}

/// The reason why no profile can be made from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidExamination {
    /// The text is not a result of `tenure doctor`.
    #[error("not a result of `tenure doctor`: {0}")]
    Format(#[from] serde_json::Error),
    /// The format has another version.
    #[error("version {found} of the format; this program reads version {VERSION}")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// A step failed that a profile requires.
    #[error("the step `{step}` was not done on that device: {error}")]
    Missing {
        /// The step.
        step: &'static str,
        /// The error of the device.
        error: String,
    },
    /// No device has such properties.
    #[error("a device that does not exist: {reason}")]
    Device {
        /// The property.
        reason: String,
    },
    /// The simulated device in the file does not exist.
    #[error("{name:?} is not a simulated device")]
    Profile {
        /// The name in the file.
        name: String,
    },
}
