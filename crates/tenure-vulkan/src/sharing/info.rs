//! What goes with a handle from one process to the other.

use core::fmt;

use ash::vk;
use tenure_core::device::ResourceDesc;

use crate::format::to_vk_format;
use crate::resource::{HandleTypes, VkUsage};

/// A kind of handle to memory, a file descriptor each.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandleKind {
    /// For Vulkan on the same device with the same driver, and for APIs of the same vendor that import from there
    /// (CUDA, HIP, OpenGL): `VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`.
    OpaqueFd,
    /// For other drivers and devices, too, video decoders and compositors among them:
    /// `VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT`. Where
    /// [`EXTERNAL_MEMORY_DMA_BUF`](crate::OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF) is used, for buffers mostly: few
    /// drivers have it for images of optimal tiling.
    DmaBuf,
}

impl HandleKind {
    pub(crate) const fn vk(self) -> HandleTypes {
        match self {
            Self::OpaqueFd => HandleTypes::OPAQUE_FD,
            Self::DmaBuf => HandleTypes::DMA_BUF_EXT,
        }
    }

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

impl DeviceIds {
    pub(crate) fn of(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Self {
        let mut ids = vk::PhysicalDeviceIDProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
        // SAFETY: the physical device is one of the instance's; the structure in the chain is of Vulkan 1.1.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        Self { device: ids.device_uuid, driver: ids.driver_uuid }
    }
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

/// A hash of what an object is created with, the same in every process and never 0 (FNV-1a, 64 bits).
pub(crate) fn created_with(desc: &ResourceDesc, usage: VkUsage) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match usage {
        VkUsage::Buffer(usage) => add(u64::from(usage.as_raw())),
        VkUsage::Image(usage, format, flags) => {
            add(u64::from(usage.as_raw()));
            add(u64::from(format.as_raw().cast_unsigned()));
            add(u64::from(flags.as_raw()));
        }
    }
    match desc {
        ResourceDesc::Buffer(info) => add(info.size),
        ResourceDesc::Texture(info) => {
            let [width, height, depth] = info.mip_extent(0);
            [width, height, depth, info.layers(), info.mips, info.samples]
                .map(u64::from)
                .into_iter()
                .for_each(&mut add);
            for format in &info.view_formats {
                add(u64::from(to_vk_format(*format).as_raw().cast_unsigned()));
            }
        }
    }
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{BufferInfo, Usage};

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

    #[test]
    fn whatever_differs_between_two_descriptions_is_in_the_hash() {
        let desc = |size| ResourceDesc::Buffer(BufferInfo { size, usage: Usage::COPY_SRC });
        let usage = VkUsage::Buffer(vk::BufferUsageFlags::TRANSFER_SRC);
        let other = VkUsage::Buffer(vk::BufferUsageFlags::TRANSFER_DST);
        let hashes =
            [created_with(&desc(64), usage), created_with(&desc(65), usage), created_with(&desc(64), other)];
        assert_eq!(hashes[0], created_with(&desc(64), usage));
        assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2]);
    }
}
