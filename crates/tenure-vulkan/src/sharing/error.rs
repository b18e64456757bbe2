//! Why something was not shared.

use tenure_core::Error;
use tenure_core::device::DeviceError;

use super::info::{DeviceIds, HandleKind};

/// Why memory or a semaphore was not exported or imported.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum ShareError {
    /// The handle is for another device, or for another driver of the same one. Of memory, only a DMA-BUF
    /// crosses drivers, with a description that is [shared across drivers](tenure_core::BufferDesc::shared_across_drivers).
    #[error("exported by {exporter}; this is {importer}")]
    OtherDevice {
        /// Where it was exported.
        exporter: DeviceIds,
        /// Where it was to be imported.
        importer: DeviceIds,
    },
    /// The exporter's resource was created otherwise than the importer's description asks: with other dimensions or
    /// uses, or on a device on which other features are used.
    #[error(
        "the exported resource was created with {exporter:016x}, and the description gives {importer:016x}: size, format, usage or features differ"
    )]
    OtherDescription {
        /// The hash of what it was created with.
        exporter: u64,
        /// The hash of what it would be created with here.
        importer: u64,
    },
    /// The memory is smaller than the resource needs.
    #[error("the resource needs {needed} B, and the memory has {size}")]
    TooSmall {
        /// Bytes of the memory.
        size: u64,
        /// Bytes that the resource needs.
        needed: u64,
    },
    /// None of the memory types that the memory can be imported as is one that the resource can be in.
    #[error("the memory can be of types {found:#b}, and the resource in {allowed:#b}")]
    MemoryType {
        /// A bit for each type that the memory can be.
        found: u32,
        /// A bit for each type that the resource can be in.
        allowed: u32,
    },
    /// The memory was not created to be exported by such a handle: the usage lacks `SHARED`, or the device does not offer
    /// it for such a resource.
    #[error("the memory was not created to be exported as {kind:?}")]
    NotExportable {
        /// The handle asked for.
        kind: HandleKind,
    },
    /// Host memory does not begin and end at multiples of what the device asks for.
    #[error("host memory begins at {address:#x} and has {size} B, and both must be multiples of {alignment}")]
    Unaligned {
        /// The address.
        address: usize,
        /// Its bytes.
        size: usize,
        /// What the device asks for.
        alignment: u64,
    },
    /// The operating system did not copy the file descriptor.
    #[error("the file descriptor cannot be copied: {reason}")]
    Descriptor {
        /// What it said.
        reason: String,
    },
    /// The device refused, or lacks what is needed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The manager refused.
    #[error(transparent)]
    Manager(#[from] Error),
}
