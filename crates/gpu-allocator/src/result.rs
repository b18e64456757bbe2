//! Errors.

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum AllocationError {
    /// Every memory type, block size and dedicated memory was refused.
    #[error("Out of memory")]
    OutOfMemory,
    /// Memory could not be mapped. A shortage of address space is [`OutOfMemory`](Self::OutOfMemory) instead, after
    /// other memory was tried.
    #[error("Failed to map memory: {0}")]
    FailedToMap(String),
    /// The device has no memory type for the request.
    #[error("No compatible memory type available")]
    NoCompatibleMemoryTypeFound,
    /// An impossible size or alignment.
    #[error("Invalid AllocationCreateDesc")]
    InvalidAllocationCreateDesc,
    /// An allocator cannot be created from this description.
    #[error("Invalid AllocatorCreateDesc {0}")]
    InvalidAllocatorCreateDesc(String),
    /// Any other error: the device is lost, the driver broke its rules, or the freed allocation belongs to
    /// another allocator.
    #[error("Internal error: {0}")]
    Internal(String),
    /// An initial layout was given to a device without enhanced barriers.
    #[error("Initial `BARRIER_LAYOUT` needs at least `Device10`")]
    BarrierLayoutNeedsDevice10,
    /// Castable formats were given together with an initial state.
    #[error("Castable formats require enhanced barriers")]
    CastableFormatsRequiresEnhancedBarriers,
    /// Castable formats were given to a device without them.
    #[error("Castable formats require at least `Device12`")]
    CastableFormatsRequiresAtLeastDevice12,
}

/// The result of most calls.
pub type Result<V, E = AllocationError> = ::core::result::Result<V, E>;
