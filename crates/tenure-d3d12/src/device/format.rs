//! Texel formats in Direct3D's words.

use tenure_core::device::{Format, Plane};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
    D3D12_SHADER_COMPONENT_MAPPING_ALWAYS_SET_BIT_AVOIDING_ZEROMEM_MISTAKES,
    D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_0, D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_1,
    D3D12_SHADER_COMPONENT_MAPPING_FROM_MEMORY_COMPONENT_1, D3D12_SHADER_COMPONENT_MAPPING_SHIFT,
};
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT, DXGI_FORMAT_B8G8R8A8_TYPELESS, DXGI_FORMAT_B8G8R8A8_UNORM, DXGI_FORMAT_B8G8R8A8_UNORM_SRGB,
    DXGI_FORMAT_BC1_TYPELESS, DXGI_FORMAT_BC1_UNORM, DXGI_FORMAT_BC3_TYPELESS, DXGI_FORMAT_BC3_UNORM,
    DXGI_FORMAT_BC4_TYPELESS, DXGI_FORMAT_BC4_UNORM, DXGI_FORMAT_BC5_TYPELESS, DXGI_FORMAT_BC5_UNORM,
    DXGI_FORMAT_BC6H_TYPELESS, DXGI_FORMAT_BC6H_UF16, DXGI_FORMAT_BC7_TYPELESS, DXGI_FORMAT_BC7_UNORM,
    DXGI_FORMAT_D16_UNORM, DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_D32_FLOAT,
    DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DXGI_FORMAT_R8_TYPELESS, DXGI_FORMAT_R8_UNORM,
    DXGI_FORMAT_R8G8_TYPELESS, DXGI_FORMAT_R8G8_UNORM, DXGI_FORMAT_R8G8B8A8_TYPELESS,
    DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, DXGI_FORMAT_R10G10B10A2_TYPELESS,
    DXGI_FORMAT_R10G10B10A2_UNORM, DXGI_FORMAT_R11G11B10_FLOAT, DXGI_FORMAT_R16_FLOAT,
    DXGI_FORMAT_R16_TYPELESS, DXGI_FORMAT_R16_UNORM, DXGI_FORMAT_R16G16_FLOAT, DXGI_FORMAT_R16G16_TYPELESS,
    DXGI_FORMAT_R16G16B16A16_FLOAT, DXGI_FORMAT_R16G16B16A16_TYPELESS, DXGI_FORMAT_R24_UNORM_X8_TYPELESS,
    DXGI_FORMAT_R24G8_TYPELESS, DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS,
    DXGI_FORMAT_R32_TYPELESS, DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R32G8X24_TYPELESS, DXGI_FORMAT_R32G32_FLOAT,
    DXGI_FORMAT_R32G32_TYPELESS, DXGI_FORMAT_R32G32B32A32_FLOAT, DXGI_FORMAT_R32G32B32A32_TYPELESS,
    DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_X24_TYPELESS_G8_UINT, DXGI_FORMAT_X32_TYPELESS_G8X24_UINT,
};

/// A format with the typeless one of its family. `R11G11B10_FLOAT` is alone: it is its own.
const fn pair(format: Format) -> (DXGI_FORMAT, DXGI_FORMAT) {
    match format {
        Format::R8Unorm => (DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R8_TYPELESS),
        Format::Rg8Unorm => (DXGI_FORMAT_R8G8_UNORM, DXGI_FORMAT_R8G8_TYPELESS),
        Format::Rgba8Unorm => (DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8G8B8A8_TYPELESS),
        Format::Rgba8Srgb => (DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, DXGI_FORMAT_R8G8B8A8_TYPELESS),
        Format::Bgra8Unorm => (DXGI_FORMAT_B8G8R8A8_UNORM, DXGI_FORMAT_B8G8R8A8_TYPELESS),
        Format::Bgra8Srgb => (DXGI_FORMAT_B8G8R8A8_UNORM_SRGB, DXGI_FORMAT_B8G8R8A8_TYPELESS),
        Format::Rgb10A2Unorm => (DXGI_FORMAT_R10G10B10A2_UNORM, DXGI_FORMAT_R10G10B10A2_TYPELESS),
        Format::R11G11B10Float => (DXGI_FORMAT_R11G11B10_FLOAT, DXGI_FORMAT_R11G11B10_FLOAT),
        Format::R16Float => (DXGI_FORMAT_R16_FLOAT, DXGI_FORMAT_R16_TYPELESS),
        Format::Rg16Float => (DXGI_FORMAT_R16G16_FLOAT, DXGI_FORMAT_R16G16_TYPELESS),
        Format::Rgba16Float => (DXGI_FORMAT_R16G16B16A16_FLOAT, DXGI_FORMAT_R16G16B16A16_TYPELESS),
        Format::R32Uint => (DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R32_TYPELESS),
        Format::R32Float => (DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_R32_TYPELESS),
        Format::Rg32Float => (DXGI_FORMAT_R32G32_FLOAT, DXGI_FORMAT_R32G32_TYPELESS),
        Format::Rgba32Float => (DXGI_FORMAT_R32G32B32A32_FLOAT, DXGI_FORMAT_R32G32B32A32_TYPELESS),
        Format::D16Unorm => (DXGI_FORMAT_D16_UNORM, DXGI_FORMAT_R16_TYPELESS),
        Format::D24UnormS8Uint => (DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_R24G8_TYPELESS),
        Format::D32Float => (DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_R32_TYPELESS),
        Format::D32FloatS8Uint => (DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DXGI_FORMAT_R32G8X24_TYPELESS),
        Format::Bc1Unorm => (DXGI_FORMAT_BC1_UNORM, DXGI_FORMAT_BC1_TYPELESS),
        Format::Bc3Unorm => (DXGI_FORMAT_BC3_UNORM, DXGI_FORMAT_BC3_TYPELESS),
        Format::Bc4Unorm => (DXGI_FORMAT_BC4_UNORM, DXGI_FORMAT_BC4_TYPELESS),
        Format::Bc5Unorm => (DXGI_FORMAT_BC5_UNORM, DXGI_FORMAT_BC5_TYPELESS),
        Format::Bc6hFloat => (DXGI_FORMAT_BC6H_UF16, DXGI_FORMAT_BC6H_TYPELESS),
        Format::Bc7Unorm => (DXGI_FORMAT_BC7_UNORM, DXGI_FORMAT_BC7_TYPELESS),
        _ => (DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN),
    }
}

/// The `DXGI_FORMAT` of a format; `DXGI_FORMAT_UNKNOWN` for one that Direct3D does not have.
///
/// ```no_run
/// use tenure_core::device::Format;
/// use tenure_d3d12::to_dxgi_format;
/// use tenure_d3d12::windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_R8G8B8A8_UNORM;
/// assert_eq!(to_dxgi_format(Format::Rgba8Unorm), DXGI_FORMAT_R8G8B8A8_UNORM);
/// ```
#[must_use]
pub const fn to_dxgi_format(format: Format) -> DXGI_FORMAT {
    pair(format).0
}

/// The typeless format of the family; the format itself where it has no family.
pub(crate) const fn typeless(format: Format) -> DXGI_FORMAT {
    pair(format).1
}

/// The format that texels have in a buffer: copies know no depth formats.
pub(crate) const fn in_buffers(format: Format) -> DXGI_FORMAT {
    match format {
        Format::D16Unorm => DXGI_FORMAT_R16_UNORM,
        Format::D32Float => DXGI_FORMAT_R32_FLOAT,
        _ => to_dxgi_format(format),
    }
}

/// The format in which shaders read a plane: they know no depth formats either.
pub(crate) const fn read_as(format: Format, plane: Plane) -> DXGI_FORMAT {
    match (format, plane) {
        (Format::D24UnormS8Uint, Plane::First) => DXGI_FORMAT_R24_UNORM_X8_TYPELESS,
        (Format::D24UnormS8Uint, Plane::Stencil) => DXGI_FORMAT_X24_TYPELESS_G8_UINT,
        (Format::D32FloatS8Uint, Plane::First) => DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS,
        (Format::D32FloatS8Uint, Plane::Stencil) => DXGI_FORMAT_X32_TYPELESS_G8X24_UINT,
        _ => in_buffers(format),
    }
}

/// Which component of a plane shaders find where. Stencil is the second of its formats; it is shown
/// in the first one, too, where Vulkan has it, or in all four.
pub(crate) const fn components_of(plane: Plane, is_everywhere: bool) -> u32 {
    let Plane::Stencil = plane else { return D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING };
    let second = D3D12_SHADER_COMPONENT_MAPPING_FROM_MEMORY_COMPONENT_1.0.cast_unsigned();
    let zero = D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_0.0.cast_unsigned();
    let one = D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_1.0.cast_unsigned();
    let shift = D3D12_SHADER_COMPONENT_MAPPING_SHIFT;
    let (third, fourth) = if is_everywhere { (second, second) } else { (zero, one) };
    let mapped = second | second << shift | third << (2 * shift) | fourth << (3 * shift);
    mapped | D3D12_SHADER_COMPONENT_MAPPING_ALWAYS_SET_BIT_AVOIDING_ZEROMEM_MISTAKES
}

/// True when views of a typeless resource can have either format.
pub(crate) fn is_family(one: Format, other: Format) -> bool {
    one == other || (typeless(one) == typeless(other) && typeless(one) != to_dxgi_format(one))
}

/// True for sRGB formats, which are not for unordered access; the others of their families are.
pub(crate) const fn is_srgb(format: Format) -> bool {
    matches!(format, Format::Rgba8Srgb | Format::Bgra8Srgb)
}

/// Planes of a texture: depth and stencil are apart.
pub(crate) const fn planes(format: Format) -> u32 {
    match format {
        Format::D24UnormS8Uint | Format::D32FloatS8Uint => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{Format, Plane};
    use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_UNKNOWN;

    use super::{components_of, is_family, planes, read_as, to_dxgi_format, typeless};

    #[test]
    fn every_format_has_a_counterpart_of_its_own() {
        let mut seen = Vec::new();
        for format in Format::ALL {
            let dxgi = to_dxgi_format(*format);
            assert_ne!(dxgi, DXGI_FORMAT_UNKNOWN, "{format:?}");
            assert!(!seen.contains(&dxgi), "{format:?}");
            seen.push(dxgi);
        }
    }

    #[test]
    fn families_are_those_of_the_typeless_formats() {
        assert!(is_family(Format::Rgba8Unorm, Format::Rgba8Srgb));
        assert!(is_family(Format::R32Uint, Format::R32Float));
        assert!(!is_family(Format::Rgba8Unorm, Format::Bgra8Unorm));
        assert!(!is_family(Format::R11G11B10Float, Format::R32Uint));
        assert!(is_family(Format::R11G11B10Float, Format::R11G11B10Float));
        assert_eq!(typeless(Format::R11G11B10Float), to_dxgi_format(Format::R11G11B10Float));
    }

    #[test]
    fn stencil_is_a_plane() {
        let two: Vec<_> = Format::ALL.iter().filter(|format| planes(**format) == 2).collect();
        assert_eq!(two, [&Format::D24UnormS8Uint, &Format::D32FloatS8Uint]);
    }

    #[test]
    fn shaders_read_no_depth_formats() {
        for format in Format::ALL {
            let read = read_as(*format, Plane::First);
            assert_eq!(read == to_dxgi_format(*format), !format.is_depth(), "{format:?}");
            if format.has_stencil() {
                assert_ne!(read_as(*format, Plane::Stencil), read, "{format:?}");
            }
        }
    }

    #[test]
    fn stencil_is_shown_in_the_first_component() {
        let component = |plane, index: u32| components_of(plane, false) >> (3 * index) & 7;
        assert_eq!([0, 1, 2, 3].map(|index| component(Plane::First, index)), [0, 1, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|index| component(Plane::Stencil, index)), [1, 1, 4, 5]);
        let everywhere = components_of(Plane::Stencil, true);
        assert_eq!([0, 1, 2, 3].map(|index: u32| everywhere >> (3 * index) & 7), [1; 4]);
        assert_eq!(components_of(Plane::First, true), components_of(Plane::First, false));
    }
}
