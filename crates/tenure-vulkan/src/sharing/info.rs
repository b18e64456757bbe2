//! The data that accompanies a handle between processes, and the errors of sharing.

use core::fmt;

use tenure_core::Error;
use tenure_core::device::DeviceError;

/// A kind of handle to memory, a file descriptor each.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandleKind {
    /// For Vulkan on the same device with the same driver, and for APIs of the same vendor that import from there
    /// (CUDA, HIP, OpenGL): `VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`.
    OpaqueFd,
    /// For other drivers and devices, too, video decoders and compositors among them, where both sides describe the
    /// resource as [shared across drivers](tenure_core::BufferDesc::shared_across_drivers):
    /// `VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT`. Where
    /// [`EXTERNAL_MEMORY_DMA_BUF`](crate::OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF) is used, for buffers mostly: few
    /// drivers have it for images of optimal tiling.
    DmaBuf,
}

impl HandleKind {
    const fn code(self) -> u8 {
        match self {
            Self::OpaqueFd => 1,
            Self::DmaBuf => 2,
        }
    }
}

/// The ids of a device and its driver: `VkPhysicalDeviceIDProperties`. Opaque handles require both to be equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceIds {
    /// `deviceUUID`.
    pub device: [u8; 16],
    /// `driverUUID`.
    pub driver: [u8; 16],
}

/// `device 6d657361…, driver 8b2f…`, in hexadecimal.
impl fmt::Display for DeviceIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, driver) = (u128::from_be_bytes(self.device), u128::from_be_bytes(self.driver));
        write!(f, "device {device:032x}, driver {driver:032x}")
    }
}

impl fmt::Debug for DeviceIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The data that an importer needs in addition to the handle of exported memory and the description of its resource. It
/// is sent to the other process as [bytes](Self::to_bytes), or field by field; a program that imports from
/// elsewhere fills it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExportDesc {
    /// The kind of the handle.
    pub kind: HandleKind,
    /// Bytes of the whole allocation.
    pub size: u64,
    /// The number of its memory type. Of no meaning for a DMA-BUF from another device.
    pub memory_type: u32,
    /// The allocation is dedicated to the resource (`VkMemoryDedicatedAllocateInfo`), as all of tenure's exports.
    pub is_dedicated: bool,
    /// The device that allocated it.
    pub ids: DeviceIds,
    /// A hash of the creation parameters of the buffer or image, so that a different one is refused; 0: unknown.
    pub created_with: u64,
}

/// The bytes are not an [`ExportDesc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these are not the bytes of an ExportDesc")]
pub struct InvalidExportDesc;

/// The first bytes of an [`ExportDesc`], with a version in the last.
const MAGIC: [u8; 4] = *b"tnS\x01";

impl ExportDesc {
    /// Bytes of [`to_bytes`](Self::to_bytes).
    pub const BYTES: usize = 64;

    /// As bytes, the same on every machine.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind.code();
        bytes[5] = u8::from(self.is_dedicated);
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.memory_type.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.created_with.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.ids.device);
        bytes[48..].copy_from_slice(&self.ids.driver);
        bytes
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// ```
    /// use tenure_vulkan::{DeviceIds, ExportDesc, HandleKind};
    ///
    /// let info = ExportDesc {
    ///     kind: HandleKind::OpaqueFd,
    ///     size: 65536,
    ///     memory_type: 1,
    ///     is_dedicated: true,
    ///     ids: DeviceIds { device: [1; 16], driver: [2; 16] },
    ///     created_with: 0,
    /// };
    /// assert_eq!(ExportDesc::from_bytes(&info.to_bytes()), Ok(info));
    /// assert!(ExportDesc::from_bytes(&[0; 64]).is_err());
    /// ```
    ///
    /// # Errors
    /// For any others.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidExportDesc> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().map_err(|_| InvalidExportDesc)?;
        let kind = match (bytes.starts_with(&MAGIC), bytes[4]) {
            (true, 1) => HandleKind::OpaqueFd,
            (true, 2) => HandleKind::DmaBuf,
            _ => return Err(InvalidExportDesc),
        };
        let is_dedicated = match bytes[5] {
            0 => false,
            1 => true,
            _ => return Err(InvalidExportDesc),
        };
        Ok(Self {
            kind,
            size: u64::from_le_bytes(part(bytes, 8)),
            memory_type: u32::from_le_bytes(part(bytes, 16)),
            is_dedicated,
            ids: DeviceIds { device: part(bytes, 32), driver: part(bytes, 48) },
            created_with: u64::from_le_bytes(part(bytes, 24)),
        })
    }
}

/// The bytes from `from` on.
fn part<const N: usize>(bytes: &[u8; ExportDesc::BYTES], from: usize) -> [u8; N] {
    core::array::from_fn(|index| bytes.get(from + index).copied().unwrap_or_default())
}

/// The error of exporting or importing memory or a semaphore.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum ShareError {
    /// The handle is for another device, or for another driver of the same one. Of memory, only a DMA-BUF
    /// crosses drivers, with a description that is [shared across drivers](tenure_core::BufferDesc::shared_across_drivers).
    #[error("exported by {exporter}; this is {importer}")]
    OtherDevice {
        /// The exporting device.
        exporter: DeviceIds,
        /// The importing device.
        importer: DeviceIds,
    },
    /// The exporter's resource was created with other parameters than the importer's description gives: with
    /// other dimensions or uses, or on a device with other features in use.
    #[error(
        "the exported resource was created with {exporter:016x}, and the description gives {importer:016x}: size, format, usage or features differ"
    )]
    OtherDescription {
        /// The hash of the description it was created with.
        exporter: u64,
        /// The hash of the description it would be created with here.
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
    /// None of the memory types of the import is allowed for the resource.
    #[error("the memory supports types {found:#b}, and the resource {allowed:#b}")]
    MemoryType {
        /// A bit for each type that the memory can be.
        found: u32,
        /// A bit for each type that the resource can be in.
        allowed: u32,
    },
    /// The memory was not created for export by such a handle: the usage lacks `SHARED`, or the device does not
    /// support it for such a resource.
    #[error("the memory was not created to be exported as {kind:?}")]
    NotExportable {
        /// The requested handle.
        kind: HandleKind,
    },
    /// Host memory does not begin and end at multiples of the device's alignment.
    #[error("host memory begins at {address:#x} and has {size} B, and both must be multiples of {alignment}")]
    Unaligned {
        /// The address.
        address: usize,
        /// The bytes.
        size: usize,
        /// The required alignment.
        alignment: u64,
    },
    /// The operating system did not copy the file descriptor.
    #[error("the file descriptor cannot be copied: {reason}")]
    Descriptor {
        /// The operating system's message.
        reason: String,
    },
    /// The device refused, or lacks a required feature.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The manager refused.
    #[error(transparent)]
    Manager(#[from] Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_info_are_refused() {
        let ids = DeviceIds { device: core::array::from_fn(|index| index as u8), driver: [9; 16] };
        let (kind, is_dedicated) = (HandleKind::DmaBuf, false);
        let info =
            ExportDesc { kind, size: u64::MAX, memory_type: 7, is_dedicated, ids, created_with: 1 << 63 };
        let bytes = info.to_bytes();
        assert_eq!(ExportDesc::from_bytes(&bytes), Ok(info));
        for (place, value) in [(0, 0), (3, 2), (4, 0), (4, 3), (5, 2)] {
            let mut wrong = bytes;
            wrong[place] = value;
            assert_eq!(ExportDesc::from_bytes(&wrong), Err(InvalidExportDesc), "{value} at {place}");
        }
        assert_eq!(ExportDesc::from_bytes(&bytes[..63]), Err(InvalidExportDesc));
        assert_eq!(ExportDesc::from_bytes(&[]), Err(InvalidExportDesc));
    }
}
