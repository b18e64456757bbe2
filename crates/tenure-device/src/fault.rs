//! Faults that the GPU reports when the device is lost.

use std::fmt;
use std::ops::Range;

/// The kind of access of a [`DeviceFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FaultAccess {
    /// A read of memory.
    Read,
    /// A write to memory.
    Write,
    /// The fetch of an instruction.
    Execute,
    /// An instruction that was running; its address is not that of data.
    Instruction,
    /// Not reported by the driver.
    Unknown,
}

impl fmt::Display for FaultAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "fetch of an instruction",
            Self::Instruction => "instruction",
            Self::Unknown => "access",
        })
    }
}

/// A GPU fault, as reported by the driver after the loss of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeviceFault {
    /// The access.
    pub access: FaultAccess,
    /// The GPU addresses that contain the address of the access, as exactly as the driver knows it; `0..0` without one. For
    /// an access at `u64::MAX` this is `u64::MAX..u64::MAX`, because a range cannot end after it.
    pub addresses: Range<u64>,
    /// The driver's description; empty if it has none.
    pub description: String,
}

impl DeviceFault {
    /// Creates a fault. `description`: the driver's text.
    pub fn new(access: FaultAccess, addresses: Range<u64>, description: impl Into<String>) -> Self {
        Self { access, addresses, description: description.into() }
    }

    /// Whether the driver knows the address.
    #[must_use]
    pub const fn has_address(&self) -> bool {
        self.addresses.end > 0
    }
}

impl fmt::Display for DeviceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { access, description, .. } = self;
        f.write_str("the GPU reports ")?;
        match (access, self.has_address()) {
            (FaultAccess::Instruction, true) => f.write_str("a fault of the instruction")?,
            (_, true) => write!(f, "an invalid {access}")?,
            (_, false) if description.is_empty() => write!(f, "a fault without an address ({access})")?,
            (_, false) => return f.write_str(description),
        }
        if description.is_empty() { Ok(()) } else { write!(f, " ({description})") }
    }
}
