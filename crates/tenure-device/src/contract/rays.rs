//! Acceleration structures.

use super::MemoryDevice;
use crate::{
    AccelerationStructureKind, Allowed, BufferInfo, CallRule, DeviceError, Features, Permit, Properties,
    Usage, check,
};

/// A device with acceleration structures ([`Features::ACCELERATION_STRUCTURES`]).
///
/// Devices without acceleration structures use [`Infallible`](std::convert::Infallible) as the type and keep the defaults:
/// creation is unsupported, and destruction drops the structure. Any thread may call the methods at any time.
pub trait RayDevice: MemoryDevice {
    /// An acceleration structure in a range of a buffer (`VkAccelerationStructureKHR`; an address on Direct3D
    /// 12).
    type AccelerationStructure: Send + Sync + 'static;

    /// Creates an acceleration structure in a range of a buffer. The buffer must outlive it. The structure is empty until a
    /// list builds it or copies to it. Direct3D 12 needs no API call for it.
    ///
    /// # Errors
    /// As [`AccelerationStructureRange::check`]; a shortage, [`DeviceError::Lost`].
    fn create_acceleration_structure(
        &self,
        permit: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<Self::AccelerationStructure, DeviceError> {
        let _unused = (permit, range);
        Err(DeviceError::Unsupported { feature: "acceleration structures" })
    }

    /// Destroys an acceleration structure, but not its buffer.
    fn destroy_acceleration_structure(&self, permit: Permit<Self>, structure: Self::AccelerationStructure) {
        let _unused = (permit, structure);
    }

    /// The GPU address of an acceleration structure, for instances and shaders.
    fn acceleration_structure_address(&self, structure: &Self::AccelerationStructure) -> u64 {
        let _unused = structure;
        0
    }
}

/// The range of a buffer for an acceleration structure.
pub struct AccelerationStructureRange<'a, D: MemoryDevice> {
    /// The buffer, of [`Usage::ACCELERATION_STRUCTURE`].
    pub buffer: &'a D::Resource,
    /// Offset in bytes, a multiple of [`acceleration_structure_alignment`](Properties::acceleration_structure_alignment).
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The kind.
    pub kind: AccelerationStructureKind,
}

impl<D: MemoryDevice> AccelerationStructureRange<'_, D> {
    /// Checks the range against the description of the buffer.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], [`DeviceError::MissingUsage`], [`DeviceError::InvalidDesc`] for a size of 0,
    /// [`DeviceError::InvalidCall`] for a range that is not aligned or not inside the buffer.
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
