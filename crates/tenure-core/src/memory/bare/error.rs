//! Why no range was found, or none given back.

use crate::Name;
use crate::device::{DeviceError, MemoryTypeId};

/// Why a call of [`MemoryPools`](super::MemoryPools) failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// A field of the request that nobody could serve.
    #[error("invalid request: {field} = {value}")]
    InvalidRequest {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The request allows no memory type that the device has.
    #[error("no memory type of the device is allowed")]
    NoMemoryType,
    /// Every rung of the ladder was short of memory.
    #[error(
        "out of memory for {name}: {size} B aligned to {alignment} in memory type {} (largest free range of \
         its pool {largest_free} B; last refusal: {refusal})",
        memory.0
    )]
    OutOfMemory {
        /// Whom the memory was for.
        name: Name,
        /// Bytes asked for.
        size: u64,
        /// Bytes.
        alignment: u64,
        /// The memory type preferred.
        memory: MemoryTypeId,
        /// Bytes.
        largest_free: u64,
        /// What the driver said last.
        refusal: DeviceError,
    },
    /// The driver refused for another reason.
    #[error("{name}: {source}")]
    Device {
        /// Whom the memory was for.
        name: Name,
        /// The driver's answer.
        source: DeviceError,
    },
    /// The range was given back before.
    #[error("the range was freed before")]
    DoubleFree,
    /// The range was had from somebody else.
    #[error("the range belongs to other pools")]
    Foreign,
}
