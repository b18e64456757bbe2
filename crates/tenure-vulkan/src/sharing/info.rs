//! What goes with a handle from one process to the other.

use core::fmt;

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

/// Which device, and which driver: what `VkPhysicalDeviceIDProperties` says. Opaque handles are for the same of both.
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

/// What an importer has to know of exported memory beside its handle, and the description of the resource in it. It
/// goes to the other process as [bytes](Self::to_bytes), or field by field; a program that imports from elsewhere fills
/// it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExportInfo {
    /// The kind of the handle.
    pub kind: HandleKind,
    /// Bytes of the whole allocation.
    pub size: u64,
    /// The number of its memory type. Of no meaning for a DMA-BUF from another device.
    pub memory_type: u32,
    /// The allocation is for the one resource (`VkMemoryDedicatedAllocateInfo`), as all that tenure exports.
    pub is_dedicated: bool,
    /// Where it was allocated.
    pub ids: DeviceIds,
    /// A hash of what the buffer or image was created with, so that another one is refused; 0: unknown.
    pub created_with: u64,
}

/// The bytes of an [`ExportInfo`] are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these are not the bytes of an ExportInfo")]
pub struct NoExportInfo;

/// The first bytes of an [`ExportInfo`], with a version in the last.
const MAGIC: [u8; 4] = *b"tnS\x01";

impl ExportInfo {
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
    /// use tenure_vulkan::{DeviceIds, ExportInfo, HandleKind};
    ///
    /// let info = ExportInfo {
    ///     kind: HandleKind::OpaqueFd,
    ///     size: 65536,
    ///     memory_type: 1,
    ///     is_dedicated: true,
    ///     ids: DeviceIds { device: [1; 16], driver: [2; 16] },
    ///     created_with: 0,
    /// };
    /// assert_eq!(ExportInfo::from_bytes(&info.to_bytes()), Ok(info));
    /// assert!(ExportInfo::from_bytes(&[0; 64]).is_err());
    /// ```
    ///
    /// # Errors
    /// For any others.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoExportInfo> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().map_err(|_| NoExportInfo)?;
        let kind = match (bytes.starts_with(&MAGIC), bytes[4]) {
            (true, 1) => HandleKind::OpaqueFd,
            (true, 2) => HandleKind::DmaBuf,
            _ => return Err(NoExportInfo),
        };
        let is_dedicated = match bytes[5] {
            0 => false,
            1 => true,
            _ => return Err(NoExportInfo),
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
fn part<const N: usize>(bytes: &[u8; ExportInfo::BYTES], from: usize) -> [u8; N] {
    core::array::from_fn(|index| bytes.get(from + index).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_info_are_refused() {
        let ids = DeviceIds { device: core::array::from_fn(|index| index as u8), driver: [9; 16] };
        let (kind, is_dedicated) = (HandleKind::DmaBuf, false);
        let info =
            ExportInfo { kind, size: u64::MAX, memory_type: 7, is_dedicated, ids, created_with: 1 << 63 };
        let bytes = info.to_bytes();
        assert_eq!(ExportInfo::from_bytes(&bytes), Ok(info));
        for (place, value) in [(0, 0), (3, 2), (4, 0), (4, 3), (5, 2)] {
            let mut wrong = bytes;
            wrong[place] = value;
            assert_eq!(ExportInfo::from_bytes(&wrong), Err(NoExportInfo), "{value} at {place}");
        }
        assert_eq!(ExportInfo::from_bytes(&bytes[..63]), Err(NoExportInfo));
        assert_eq!(ExportInfo::from_bytes(&[]), Err(NoExportInfo));
    }
}
