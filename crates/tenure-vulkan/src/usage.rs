//! Translation of usages to Vulkan's flags.

use ash::vk;
use tenure_core::device::Usage;

/// The usages of a buffer. `address`: buffers have GPU addresses; `structures`: acceleration
/// structures exist.
pub(crate) fn buffer_usage(usage: Usage, address: bool, structures: bool) -> vk::BufferUsageFlags {
    use vk::BufferUsageFlags as Flags;
    let build_input = Flags::ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_KHR;
    let table = [
        (Usage::VERTEX, Flags::VERTEX_BUFFER),
        (Usage::INDEX, Flags::INDEX_BUFFER),
        (Usage::CONSTANT, Flags::UNIFORM_BUFFER),
        (Usage::SHADER_READ, Flags::STORAGE_BUFFER | Flags::UNIFORM_TEXEL_BUFFER),
        (Usage::UNORDERED_ACCESS, Flags::STORAGE_BUFFER | Flags::STORAGE_TEXEL_BUFFER),
        (Usage::INDIRECT, Flags::INDIRECT_BUFFER),
        (Usage::ACCELERATION_STRUCTURE, Flags::ACCELERATION_STRUCTURE_STORAGE_KHR),
        (Usage::SHADER_BINDING_TABLE, Flags::SHADER_BINDING_TABLE_KHR),
        (Usage::COPY_SRC, Flags::TRANSFER_SRC),
        (Usage::COPY_DST, Flags::TRANSFER_DST),
    ];
    let mut flags = table
        .into_iter()
        .filter(|(bit, _)| usage.contains(*bit))
        .fold(Flags::empty(), |flags, (_, flag)| flags | flag);
    if address {
        flags |= Flags::SHADER_DEVICE_ADDRESS;
    }
    // Geometry for builds is shader-readable; D3D12 has the same rule.
    if structures && address && usage.contains(Usage::SHADER_READ) {
        flags |= build_input;
    }
    flags
}

/// The usages of an image.
pub(crate) fn image_usage(usage: Usage) -> vk::ImageUsageFlags {
    use vk::ImageUsageFlags as Flags;
    let table = [
        (Usage::SHADER_READ, Flags::SAMPLED),
        (Usage::UNORDERED_ACCESS, Flags::STORAGE),
        (Usage::COPY_SRC, Flags::TRANSFER_SRC),
        (Usage::COPY_DST, Flags::TRANSFER_DST),
        (Usage::RENDER_TARGET, Flags::COLOR_ATTACHMENT),
        (Usage::DEPTH_STENCIL, Flags::DEPTH_STENCIL_ATTACHMENT),
        (Usage::INPUT_ATTACHMENT, Flags::INPUT_ATTACHMENT),
        // Only such an image may have lazily allocated memory.
        (Usage::TRANSIENT_ATTACHMENT, Flags::TRANSIENT_ATTACHMENT),
        (Usage::CPU_WRITE, Flags::HOST_TRANSFER_EXT),
    ];
    table
        .into_iter()
        .filter(|(bit, _)| usage.contains(*bit))
        .fold(Flags::empty(), |flags, (_, flag)| flags | flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each usage adds a different flag, so all combinations are preserved.
    #[test]
    fn every_use_is_carried_over() {
        // Presentation and sharing need no usage flags.
        let bare = Usage::PRESENT | Usage::SHARING | Usage::QUEUES;
        assert!(image_usage(bare).is_empty() && buffer_usage(bare, false, true).is_empty());
        for usage in Usage::all().difference(bare).iter() {
            let as_buffer = buffer_usage(usage, false, true);
            let as_image = image_usage(usage);
            let of_textures = Usage::TEXTURE_ONLY | Usage::CPU_WRITE;
            assert_eq!(as_buffer.is_empty(), of_textures.contains(usage), "{usage:?}");
            assert_eq!(as_image.is_empty(), Usage::BUFFER_ONLY.contains(usage), "{usage:?}");
        }
        let all = Usage::all().difference(Usage::TEXTURE_ONLY | Usage::CPU_WRITE);
        let whole = buffer_usage(all, true, true);
        assert!(whole.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS));
        for usage in all.iter() {
            assert!(whole.contains(buffer_usage(usage, true, true)), "{usage:?}");
        }
    }
}
