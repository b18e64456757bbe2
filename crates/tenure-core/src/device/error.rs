//! What a device can answer instead of success.

use super::MemoryTypeId;

/// Why a call of the [`Device`](super::Device) contract failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The driver has no memory of that kind left for this request.
    #[error("the driver refused {requested} B of memory type {}", memory.0)]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// The memory type asked for.
        memory: MemoryTypeId,
    },
    /// The driver has no host memory or no object slots left.
    #[error("the driver is out of host memory or objects ({what})")]
    OutOfHostMemory {
        /// The call that failed.
        what: &'static str,
    },
    /// The driver has no device memory left for something other than an allocation: descriptors,
    /// command buffers, page tables, a submission.
    #[error("the driver is out of device memory of its own ({what})")]
    OutOfDeviceMemory {
        /// The call that failed.
        what: &'static str,
    },
    /// The limit on live memory allocations is reached.
    #[error("the device allows {limit} memory allocations at once and all are in use")]
    TooManyAllocations {
        /// The device's limit.
        limit: u64,
    },
    /// The device lacks a feature that the call needs.
    #[error("the device does not support {feature}")]
    Unsupported {
        /// The feature, in the API's own words.
        feature: &'static str,
    },
    /// A description no device accepts, or one beyond this device's limits.
    #[error("invalid description: {field} = {value}")]
    InvalidDesc {
        /// The field that is wrong.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A call that breaks a rule of the API: wrong heap, misaligned offset, out of range.
    #[error("invalid call: {rule} ({value}, limit {limit})")]
    InvalidCall {
        /// The rule that is broken.
        rule: &'static str,
        /// The offending number.
        value: u64,
        /// What it is measured against.
        limit: u64,
    },
    /// The device was removed, reset or lost. Nothing works any more.
    #[error("the device is lost: {reason}")]
    Lost {
        /// The driver's reason.
        reason: String,
    },
}

impl DeviceError {
    /// True for the failures that another block size, memory type or a later try may cure.
    #[must_use]
    pub const fn is_shortage(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::OutOfHostMemory { .. }
                | Self::OutOfDeviceMemory { .. }
                | Self::TooManyAllocations { .. }
        )
    }
}
