//! The properties that Vulkan requires to be equal on both sides.

use ash::vk;
use tenure_core::device::{ResourceDesc, Usage};

use super::info::{DeviceIds, HandleKind};
use crate::format::to_vk_format;
use crate::memory::HandleTypes;
use crate::resource::VkUsage;

impl HandleKind {
    pub(crate) const fn vk(self) -> HandleTypes {
        match self {
            Self::OpaqueFd => HandleTypes::OPAQUE_FD,
            Self::DmaBuf => HandleTypes::DMA_BUF_EXT,
        }
    }
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

/// A hash of an object's creation parameters, the same in every process and never 0 (FNV-1a, 64 bits).
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
    // Both sides name the same queue family for the peer.
    add(u64::from(desc.usage().contains(Usage::SHARED_ACROSS_DRIVERS)));
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
    use tenure_core::device::BufferInfo;

    use super::*;

    #[test]
    fn hashes_cover_all_fields_of_a_description() {
        let desc = |size| ResourceDesc::Buffer(BufferInfo::new(size, Usage::COPY_SRC));
        let usage = VkUsage::Buffer(vk::BufferUsageFlags::TRANSFER_SRC);
        let other = VkUsage::Buffer(vk::BufferUsageFlags::TRANSFER_DST);
        let hashes =
            [created_with(&desc(64), usage), created_with(&desc(65), usage), created_with(&desc(64), other)];
        assert_eq!(hashes[0], created_with(&desc(64), usage));
        let shared = |sharing| {
            let usage = Usage::COPY_SRC | sharing;
            ResourceDesc::Buffer(BufferInfo::new(64, usage))
        };
        assert_eq!(hashes[0], created_with(&shared(Usage::SHARED), usage));
        assert_ne!(hashes[0], created_with(&shared(Usage::SHARING), usage), "another queue family");
        assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2]);
    }
}
