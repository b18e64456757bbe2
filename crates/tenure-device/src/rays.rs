//! Ray tracing: acceleration structures, and the limits of what is beside them.

use std::fmt;

use super::{
    Allowed, BufferInfo, CallRule, Device, DeviceError, Features, Properties, QueryHeapDesc, QueryKind,
    QueueId, Usage, check,
};

/// What an acceleration structure holds.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccelerationStructureKind {
    /// Instances of bottom-level structures; what shaders trace rays through (TLAS).
    Top,
    /// Triangles or boxes (BLAS).
    Bottom,
    /// Either: which one is known when it is built, or copied to. For layers that are written so.
    Generic,
}

impl AccelerationStructureKind {
    /// True when one may be copied to the other.
    #[must_use]
    pub const fn is_compatible(self, other: Self) -> bool {
        matches!((self, other), (Self::Generic, _) | (_, Self::Generic)) || self as u8 == other as u8
    }
}

impl fmt::Display for AccelerationStructureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Top => "top-level",
            Self::Bottom => "bottom-level",
            Self::Generic => "generic",
        })
    }
}

/// The bytes of a buffer that an acceleration structure takes.
pub struct AccelerationStructureRange<'a, D: Device> {
    /// The buffer, of [`Usage::ACCELERATION_STRUCTURE`].
    pub buffer: &'a D::Resource,
    /// The first byte, a multiple of
    /// [`acceleration_structure_alignment`](Properties::acceleration_structure_alignment).
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// What it holds.
    pub kind: AccelerationStructureKind,
}

impl<D: Device> Clone for AccelerationStructureRange<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for AccelerationStructureRange<'_, D> {}

impl<D: Device> AccelerationStructureRange<'_, D> {
    /// Checks the range against what the buffer was created as.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], [`DeviceError::MissingUsage`], [`DeviceError::InvalidDesc`] for no bytes
    /// at all, [`DeviceError::InvalidCall`] for a range that is not aligned or not inside the buffer.
    pub fn check(&self, properties: &Properties, buffer: &BufferInfo) -> Result<(), DeviceError> {
        if !properties.features.contains(Features::ACCELERATION_STRUCTURES) {
            return Err(DeviceError::Unsupported { feature: "acceleration structures" });
        }
        let needs = Usage::ACCELERATION_STRUCTURE;
        if !buffer.usage.contains(needs) {
            return Err(DeviceError::MissingUsage { needs, has: buffer.usage });
        }
        if self.size == 0 {
            return Err(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1)));
        }
        check::multiple(CallRule::OffsetAligned, self.offset, properties.acceleration_structure_alignment)?;
        check::range(CallRule::InsideResource, self.offset, self.size, buffer.size)
    }
}

impl QueryHeapDesc {
    /// Checks that a list of `queue` may write the size of a compacted acceleration structure at `query`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_compacted_size(&self, queue: QueueId, query: u32) -> Result<(), DeviceError> {
        self.check_use(queue, query, 1)?;
        match self.kind {
            QueryKind::CompactedSize => Ok(()),
            _ => Err(DeviceError::broken_rule(CallRule::QueryCompactedSize)),
        }
    }
}

/// Checks that one acceleration structure may be copied to another, of such kinds and sizes; `compact`: it is
/// made smaller by that, which the sizes say nothing about.
///
/// # Errors
/// [`DeviceError::InvalidCall`].
pub fn check_structure_copy(
    (src, src_size): (AccelerationStructureKind, u64),
    (dst, dst_size): (AccelerationStructureKind, u64),
    compact: bool,
) -> Result<(), DeviceError> {
    if !src.is_compatible(dst) {
        return Err(DeviceError::broken_rule(CallRule::StructureKinds));
    }
    if compact { Ok(()) } else { check::at_most(CallRule::StructureFits, src_size, dst_size) }
}
