//! Errors of creating pools, and of allocating and freeing ranges.

use std::fmt;

use crate::{Answer, Answers, MemoryTypeId, Name};

/// The error of [`HeapPools::new`](super::HeapPools::new).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSetup {
    /// A field of the configuration is out of range.
    #[error("configuration: {field} = {value} is not in {min}..={max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The configured value.
        value: u64,
        /// The smallest value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// A field of the configuration is not a power of two.
    #[error("configuration: {field} = {value} is not a power of two")]
    NotPowerOfTwo {
        /// The field.
        field: &'static str,
        /// The configured value.
        value: u64,
    },
    /// The device's properties are inconsistent.
    #[error(transparent)]
    Properties(#[from] crate::InvalidProperties),
}

/// A numeric field of a [`MemoryRequest`](super::MemoryRequest).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestField {
    /// [`MemoryRequest::size`](super::MemoryRequest::size).
    Size,
    /// [`MemoryRequest::alignment`](super::MemoryRequest::alignment).
    Alignment,
}

impl RequestField {
    const fn allowed(self) -> &'static str {
        match self {
            Self::Size => "1 B to 2^48 B",
            Self::Alignment => "a power of two up to 2^32 B",
        }
    }
}

impl fmt::Display for RequestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Size => "size",
            Self::Alignment => "alignment",
        })
    }
}

/// The error of a call of [`HeapPools`](super::HeapPools); `E` is the device's error.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError<E> {
    /// A field of the request has a value that no device can serve.
    #[error("invalid request: {field} = {value}: must be {}", field.allowed())]
    InvalidRequest {
        /// The field.
        field: RequestField,
        /// The value.
        value: u64,
    },
    /// The request allows none of the device's memory types.
    #[error("the request allows none of the device's memory types")]
    NoMemoryType,
    /// Each step of the fallback chain was short of memory.
    #[error(
        "out of memory for {name}: {size} B aligned to {alignment} in memory type {} (largest free range of \
         its pool {largest_free} B; tried: {})",
        memory.0, Answers(answers)
    )]
    OutOfMemory {
        /// The name of the range.
        name: Name,
        /// Requested bytes.
        size: u64,
        /// Bytes.
        alignment: u64,
        /// The preferred memory type.
        memory: MemoryTypeId,
        /// Bytes.
        largest_free: u64,
        /// The refusal of each step.
        answers: Vec<Answer<E>>,
    },
    /// The driver refused for another reason.
    #[error("{name}: {source}")]
    Device {
        /// The name of the range.
        name: Name,
        /// The driver's error.
        source: E,
    },
    /// The range was already freed.
    #[error("the range was freed before")]
    DoubleFree,
    /// The range belongs to other pools.
    #[error("the range belongs to other pools")]
    Foreign,
}
