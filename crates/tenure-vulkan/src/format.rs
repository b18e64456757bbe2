//! Formats, aspects and sample counts in Vulkan's words.

use ash::vk;
use tenure_core::device::Format;

/// The Vulkan format of a [`Format`]; `UNDEFINED` for one that this version does not know.
///
/// ```
/// use ash::vk;
/// use tenure_core::device::Format;
/// use tenure_vulkan::to_vk_format;
/// assert_eq!(to_vk_format(Format::Rgba8Unorm), vk::Format::R8G8B8A8_UNORM);
/// ```
#[must_use]
pub const fn to_vk_format(format: Format) -> vk::Format {
    match format {
        Format::R8Unorm => vk::Format::R8_UNORM,
        Format::Rg8Unorm => vk::Format::R8G8_UNORM,
        Format::Rgba8Unorm => vk::Format::R8G8B8A8_UNORM,
        Format::Rgba8Srgb => vk::Format::R8G8B8A8_SRGB,
        Format::Bgra8Unorm => vk::Format::B8G8R8A8_UNORM,
        Format::Bgra8Srgb => vk::Format::B8G8R8A8_SRGB,
        Format::Rgb10A2Unorm => vk::Format::A2B10G10R10_UNORM_PACK32,
        Format::R11G11B10Float => vk::Format::B10G11R11_UFLOAT_PACK32,
        Format::R16Float => vk::Format::R16_SFLOAT,
        Format::Rg16Float => vk::Format::R16G16_SFLOAT,
        Format::Rgba16Float => vk::Format::R16G16B16A16_SFLOAT,
        Format::R32Uint => vk::Format::R32_UINT,
        Format::R32Float => vk::Format::R32_SFLOAT,
        Format::Rg32Float => vk::Format::R32G32_SFLOAT,
        Format::Rgba32Float => vk::Format::R32G32B32A32_SFLOAT,
        Format::D16Unorm => vk::Format::D16_UNORM,
        Format::D24UnormS8Uint => vk::Format::D24_UNORM_S8_UINT,
        Format::D32Float => vk::Format::D32_SFLOAT,
        Format::D32FloatS8Uint => vk::Format::D32_SFLOAT_S8_UINT,
        Format::Bc1Unorm => vk::Format::BC1_RGBA_UNORM_BLOCK,
        Format::Bc3Unorm => vk::Format::BC3_UNORM_BLOCK,
        Format::Bc4Unorm => vk::Format::BC4_UNORM_BLOCK,
        Format::Bc5Unorm => vk::Format::BC5_UNORM_BLOCK,
        Format::Bc6hFloat => vk::Format::BC6H_UFLOAT_BLOCK,
        Format::Bc7Unorm => vk::Format::BC7_UNORM_BLOCK,
        _ => vk::Format::UNDEFINED,
    }
}

/// The bits of each component, sorted, as the API's name of the format says; of compressed formats the
/// number of their kind.
pub(crate) fn component_bits(format: Format) -> Vec<u32> {
    let name = format!("{:?}", to_vk_format(format));
    let components =
        name.split('_').next().unwrap_or_default().split(|letter: char| !letter.is_ascii_digit());
    let mut bits: Vec<u32> = components.filter_map(|digits| digits.parse().ok()).collect();
    bits.sort_unstable();
    bits
}

/// True for formats with depth and stencil, which Vulkan copies one at a time.
pub(crate) const fn has_stencil(format: Format) -> bool {
    matches!(format, Format::D24UnormS8Uint | Format::D32FloatS8Uint)
}

/// All aspects of a format, as barriers want them.
pub(crate) const fn aspects(format: Format) -> vk::ImageAspectFlags {
    if has_stencil(format) {
        vk::ImageAspectFlags::from_raw(
            vk::ImageAspectFlags::DEPTH.as_raw() | vk::ImageAspectFlags::STENCIL.as_raw(),
        )
    } else if format.is_depth() {
        vk::ImageAspectFlags::DEPTH
    } else {
        vk::ImageAspectFlags::COLOR
    }
}

/// The flag of a sample count; 0 for one that Vulkan does not have.
pub(crate) const fn samples(count: u32) -> vk::SampleCountFlags {
    // The flag of n samples is the number n.
    if count.is_power_of_two() && count <= 64 {
        vk::SampleCountFlags::from_raw(count)
    } else {
        vk::SampleCountFlags::empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_one_of_its_own() {
        let mut seen = Vec::new();
        for format in Format::ALL {
            let found = to_vk_format(*format);
            assert_ne!(found, vk::Format::UNDEFINED, "{format:?}");
            assert!(!seen.contains(&found), "{format:?} shares {found:?}");
            seen.push(found);
        }
    }

    #[test]
    fn aspects_follow_the_format() {
        let depth = vk::ImageAspectFlags::DEPTH;
        assert_eq!(aspects(Format::Bc7Unorm), vk::ImageAspectFlags::COLOR);
        assert_eq!(aspects(Format::D32Float), depth);
        assert_eq!(aspects(Format::D24UnormS8Uint), depth | vk::ImageAspectFlags::STENCIL);
        assert_eq!(samples(4), vk::SampleCountFlags::TYPE_4);
        assert_eq!(samples(3), vk::SampleCountFlags::empty());
    }

    #[test]
    fn the_bits_of_components_are_in_the_names() {
        assert_eq!(component_bits(Format::Rgba8Srgb), [8; 4]);
        assert_eq!(component_bits(Format::Bgra8Unorm), [8; 4]);
        assert_eq!(component_bits(Format::Rgb10A2Unorm), [2, 10, 10, 10]);
        assert_eq!(component_bits(Format::R32Float), component_bits(Format::R32Uint));
        assert_ne!(component_bits(Format::R32Float), component_bits(Format::Rg16Float));
        assert_ne!(component_bits(Format::Bc1Unorm), component_bits(Format::Bc4Unorm));
    }
}
