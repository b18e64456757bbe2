//! Ray tracing: acceleration structures and their checks.

use std::fmt;

use super::{CallRule, DeviceError, QueryHeapDesc, QueryKind, QueueId, check};

/// The kind of an acceleration structure.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccelerationStructureKind {
    /// Instances of bottom-level structures, for traces by shaders (TLAS).
    Top,
    /// Triangles or boxes (BLAS).
    Bottom,
    /// Either: determined by its build, or by a copy. For layers on top of APIs with this kind.
    Generic,
}

impl AccelerationStructureKind {
    /// True if one may be copied to the other.
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

/// Checks a copy between acceleration structures of these kinds and sizes; a copy with `compact` reduces the size, so the sizes
/// are not compared.
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
