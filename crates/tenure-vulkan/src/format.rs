//! Vulkan's formats, aspects and sample counts.

use ash::vk;
use tenure_core::device::{Format, Plane};

macro_rules! table {
    ($($format:ident: $found:ident;)*) => {
        /// Each format with Vulkan's, in the order of [`Format::ALL`].
        const TABLE: &[(Format, vk::Format)] = &[$((Format::$format, vk::Format::$found),)*];
    };
}

table! {
    R8Unorm: R8_UNORM;
    R8Snorm: R8_SNORM;
    R8Uint: R8_UINT;
    R8Sint: R8_SINT;
    Rg8Unorm: R8G8_UNORM;
    Rg8Snorm: R8G8_SNORM;
    Rg8Uint: R8G8_UINT;
    Rg8Sint: R8G8_SINT;
    Rgba8Unorm: R8G8B8A8_UNORM;
    Rgba8Srgb: R8G8B8A8_SRGB;
    Rgba8Snorm: R8G8B8A8_SNORM;
    Rgba8Uint: R8G8B8A8_UINT;
    Rgba8Sint: R8G8B8A8_SINT;
    Bgra8Unorm: B8G8R8A8_UNORM;
    Bgra8Srgb: B8G8R8A8_SRGB;
    B5G6R5Unorm: R5G6B5_UNORM_PACK16;
    Bgr5A1Unorm: A1R5G5B5_UNORM_PACK16;
    Rgb10A2Unorm: A2B10G10R10_UNORM_PACK32;
    Rgb10A2Uint: A2B10G10R10_UINT_PACK32;
    R11G11B10Float: B10G11R11_UFLOAT_PACK32;
    Rgb9E5Float: E5B9G9R9_UFLOAT_PACK32;
    R16Unorm: R16_UNORM;
    R16Snorm: R16_SNORM;
    R16Uint: R16_UINT;
    R16Sint: R16_SINT;
    R16Float: R16_SFLOAT;
    Rg16Unorm: R16G16_UNORM;
    Rg16Snorm: R16G16_SNORM;
    Rg16Uint: R16G16_UINT;
    Rg16Sint: R16G16_SINT;
    Rg16Float: R16G16_SFLOAT;
    Rgba16Unorm: R16G16B16A16_UNORM;
    Rgba16Snorm: R16G16B16A16_SNORM;
    Rgba16Uint: R16G16B16A16_UINT;
    Rgba16Sint: R16G16B16A16_SINT;
    Rgba16Float: R16G16B16A16_SFLOAT;
    R32Uint: R32_UINT;
    R32Sint: R32_SINT;
    R32Float: R32_SFLOAT;
    Rg32Uint: R32G32_UINT;
    Rg32Sint: R32G32_SINT;
    Rg32Float: R32G32_SFLOAT;
    Rgba32Uint: R32G32B32A32_UINT;
    Rgba32Sint: R32G32B32A32_SINT;
    Rgba32Float: R32G32B32A32_SFLOAT;
    D16Unorm: D16_UNORM;
    D24UnormS8Uint: D24_UNORM_S8_UINT;
    D32Float: D32_SFLOAT;
    D32FloatS8Uint: D32_SFLOAT_S8_UINT;
    Bc1Unorm: BC1_RGBA_UNORM_BLOCK;
    Bc1Srgb: BC1_RGBA_SRGB_BLOCK;
    Bc2Unorm: BC2_UNORM_BLOCK;
    Bc2Srgb: BC2_SRGB_BLOCK;
    Bc3Unorm: BC3_UNORM_BLOCK;
    Bc3Srgb: BC3_SRGB_BLOCK;
    Bc4Unorm: BC4_UNORM_BLOCK;
    Bc4Snorm: BC4_SNORM_BLOCK;
    Bc5Unorm: BC5_UNORM_BLOCK;
    Bc5Snorm: BC5_SNORM_BLOCK;
    Bc6hUfloat: BC6H_UFLOAT_BLOCK;
    Bc6hSfloat: BC6H_SFLOAT_BLOCK;
    Bc7Unorm: BC7_UNORM_BLOCK;
    Bc7Srgb: BC7_SRGB_BLOCK;
    Etc2Rgb8Unorm: ETC2_R8G8B8_UNORM_BLOCK;
    Etc2Rgb8Srgb: ETC2_R8G8B8_SRGB_BLOCK;
    Etc2Rgb8A1Unorm: ETC2_R8G8B8A1_UNORM_BLOCK;
    Etc2Rgb8A1Srgb: ETC2_R8G8B8A1_SRGB_BLOCK;
    Etc2Rgba8Unorm: ETC2_R8G8B8A8_UNORM_BLOCK;
    Etc2Rgba8Srgb: ETC2_R8G8B8A8_SRGB_BLOCK;
    EacR11Unorm: EAC_R11_UNORM_BLOCK;
    EacR11Snorm: EAC_R11_SNORM_BLOCK;
    EacRg11Unorm: EAC_R11G11_UNORM_BLOCK;
    EacRg11Snorm: EAC_R11G11_SNORM_BLOCK;
    Astc4x4Unorm: ASTC_4X4_UNORM_BLOCK;
    Astc4x4Srgb: ASTC_4X4_SRGB_BLOCK;
    Astc5x4Unorm: ASTC_5X4_UNORM_BLOCK;
    Astc5x4Srgb: ASTC_5X4_SRGB_BLOCK;
    Astc5x5Unorm: ASTC_5X5_UNORM_BLOCK;
    Astc5x5Srgb: ASTC_5X5_SRGB_BLOCK;
    Astc6x5Unorm: ASTC_6X5_UNORM_BLOCK;
    Astc6x5Srgb: ASTC_6X5_SRGB_BLOCK;
    Astc6x6Unorm: ASTC_6X6_UNORM_BLOCK;
    Astc6x6Srgb: ASTC_6X6_SRGB_BLOCK;
    Astc8x5Unorm: ASTC_8X5_UNORM_BLOCK;
    Astc8x5Srgb: ASTC_8X5_SRGB_BLOCK;
    Astc8x6Unorm: ASTC_8X6_UNORM_BLOCK;
    Astc8x6Srgb: ASTC_8X6_SRGB_BLOCK;
    Astc8x8Unorm: ASTC_8X8_UNORM_BLOCK;
    Astc8x8Srgb: ASTC_8X8_SRGB_BLOCK;
    Astc10x5Unorm: ASTC_10X5_UNORM_BLOCK;
    Astc10x5Srgb: ASTC_10X5_SRGB_BLOCK;
    Astc10x6Unorm: ASTC_10X6_UNORM_BLOCK;
    Astc10x6Srgb: ASTC_10X6_SRGB_BLOCK;
    Astc10x8Unorm: ASTC_10X8_UNORM_BLOCK;
    Astc10x8Srgb: ASTC_10X8_SRGB_BLOCK;
    Astc10x10Unorm: ASTC_10X10_UNORM_BLOCK;
    Astc10x10Srgb: ASTC_10X10_SRGB_BLOCK;
    Astc12x10Unorm: ASTC_12X10_UNORM_BLOCK;
    Astc12x10Srgb: ASTC_12X10_SRGB_BLOCK;
    Astc12x12Unorm: ASTC_12X12_UNORM_BLOCK;
    Astc12x12Srgb: ASTC_12X12_SRGB_BLOCK;
}

// Rows are indexed by format.
const _: () = {
    assert!(TABLE.len() == Format::ALL.len());
    let mut index = 0;
    while index < TABLE.len() {
        assert!(TABLE[index].0 as usize == index);
        index += 1;
    }
};

/// The Vulkan format of a [`Format`].
///
/// ```
/// use ash::vk;
/// use tenure_core::device::Format;
/// use tenure_vulkan::to_vk_format;
/// assert_eq!(to_vk_format(Format::Rgba8Unorm), vk::Format::R8G8B8A8_UNORM);
/// ```
#[must_use]
pub const fn to_vk_format(format: Format) -> vk::Format {
    TABLE[format as usize].1
}

/// The bits of each component, sorted, from the API's name of the format; for compressed formats the number of
/// their kind.
pub(crate) fn component_bits(format: Format) -> Vec<u32> {
    let name = format!("{:?}", to_vk_format(format));
    let components =
        name.split('_').next().unwrap_or_default().split(|letter: char| !letter.is_ascii_digit());
    let mut bits: Vec<u32> = components.filter_map(|digits| digits.parse().ok()).collect();
    bits.sort_unstable();
    bits
}

/// All aspects of a format, for barriers.
pub(crate) const fn aspects(format: Format) -> vk::ImageAspectFlags {
    if format.has_stencil() {
        vk::ImageAspectFlags::from_raw(
            vk::ImageAspectFlags::DEPTH.as_raw() | vk::ImageAspectFlags::STENCIL.as_raw(),
        )
    } else if format.is_depth() {
        vk::ImageAspectFlags::DEPTH
    } else {
        vk::ImageAspectFlags::COLOR
    }
}

/// The aspect of one plane, for copies.
pub(crate) const fn aspect(format: Format, plane: Plane) -> vk::ImageAspectFlags {
    match plane {
        Plane::Stencil => vk::ImageAspectFlags::STENCIL,
        Plane::First if format.is_depth() => vk::ImageAspectFlags::DEPTH,
        Plane::First => vk::ImageAspectFlags::COLOR,
    }
}

/// The flag of a sample count; 0 for a count unknown to Vulkan.
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
