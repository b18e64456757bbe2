//! Translation of texel formats to Direct3D.

use tenure_core::device::{Format, Plane};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
    D3D12_SHADER_COMPONENT_MAPPING_ALWAYS_SET_BIT_AVOIDING_ZEROMEM_MISTAKES,
    D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_0, D3D12_SHADER_COMPONENT_MAPPING_FORCE_VALUE_1,
    D3D12_SHADER_COMPONENT_MAPPING_FROM_MEMORY_COMPONENT_1, D3D12_SHADER_COMPONENT_MAPPING_SHIFT,
};
use windows::Win32::Graphics::Dxgi::Common as dxgi;
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;

/// The Direct3D formats of a texel format.
struct Row {
    format: Format,
    own: DXGI_FORMAT,
    /// The typeless format of the family; `own` for a format without a family.
    typeless: DXGI_FORMAT,
}

macro_rules! table {
    ($($format:ident: $own:ident, $typeless:ident;)*) => {
        /// In the order of [`Format::ALL`]. `UNKNOWN`: Direct3D does not have it.
        const TABLE: &[Row] =
            &[$(Row { format: Format::$format, own: dxgi::$own, typeless: dxgi::$typeless },)*];
    };
}

table! {
    R8Unorm: DXGI_FORMAT_R8_UNORM, DXGI_FORMAT_R8_TYPELESS;
    R8Snorm: DXGI_FORMAT_R8_SNORM, DXGI_FORMAT_R8_TYPELESS;
    R8Uint: DXGI_FORMAT_R8_UINT, DXGI_FORMAT_R8_TYPELESS;
    R8Sint: DXGI_FORMAT_R8_SINT, DXGI_FORMAT_R8_TYPELESS;
    Rg8Unorm: DXGI_FORMAT_R8G8_UNORM, DXGI_FORMAT_R8G8_TYPELESS;
    Rg8Snorm: DXGI_FORMAT_R8G8_SNORM, DXGI_FORMAT_R8G8_TYPELESS;
    Rg8Uint: DXGI_FORMAT_R8G8_UINT, DXGI_FORMAT_R8G8_TYPELESS;
    Rg8Sint: DXGI_FORMAT_R8G8_SINT, DXGI_FORMAT_R8G8_TYPELESS;
    Rgba8Unorm: DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8G8B8A8_TYPELESS;
    Rgba8Srgb: DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, DXGI_FORMAT_R8G8B8A8_TYPELESS;
    Rgba8Snorm: DXGI_FORMAT_R8G8B8A8_SNORM, DXGI_FORMAT_R8G8B8A8_TYPELESS;
    Rgba8Uint: DXGI_FORMAT_R8G8B8A8_UINT, DXGI_FORMAT_R8G8B8A8_TYPELESS;
    Rgba8Sint: DXGI_FORMAT_R8G8B8A8_SINT, DXGI_FORMAT_R8G8B8A8_TYPELESS;
    Bgra8Unorm: DXGI_FORMAT_B8G8R8A8_UNORM, DXGI_FORMAT_B8G8R8A8_TYPELESS;
    Bgra8Srgb: DXGI_FORMAT_B8G8R8A8_UNORM_SRGB, DXGI_FORMAT_B8G8R8A8_TYPELESS;
    B5G6R5Unorm: DXGI_FORMAT_B5G6R5_UNORM, DXGI_FORMAT_B5G6R5_UNORM;
    Bgr5A1Unorm: DXGI_FORMAT_B5G5R5A1_UNORM, DXGI_FORMAT_B5G5R5A1_UNORM;
    Rgb10A2Unorm: DXGI_FORMAT_R10G10B10A2_UNORM, DXGI_FORMAT_R10G10B10A2_TYPELESS;
    Rgb10A2Uint: DXGI_FORMAT_R10G10B10A2_UINT, DXGI_FORMAT_R10G10B10A2_TYPELESS;
    R11G11B10Float: DXGI_FORMAT_R11G11B10_FLOAT, DXGI_FORMAT_R11G11B10_FLOAT;
    Rgb9E5Float: DXGI_FORMAT_R9G9B9E5_SHAREDEXP, DXGI_FORMAT_R9G9B9E5_SHAREDEXP;
    R16Unorm: DXGI_FORMAT_R16_UNORM, DXGI_FORMAT_R16_TYPELESS;
    R16Snorm: DXGI_FORMAT_R16_SNORM, DXGI_FORMAT_R16_TYPELESS;
    R16Uint: DXGI_FORMAT_R16_UINT, DXGI_FORMAT_R16_TYPELESS;
    R16Sint: DXGI_FORMAT_R16_SINT, DXGI_FORMAT_R16_TYPELESS;
    R16Float: DXGI_FORMAT_R16_FLOAT, DXGI_FORMAT_R16_TYPELESS;
    Rg16Unorm: DXGI_FORMAT_R16G16_UNORM, DXGI_FORMAT_R16G16_TYPELESS;
    Rg16Snorm: DXGI_FORMAT_R16G16_SNORM, DXGI_FORMAT_R16G16_TYPELESS;
    Rg16Uint: DXGI_FORMAT_R16G16_UINT, DXGI_FORMAT_R16G16_TYPELESS;
    Rg16Sint: DXGI_FORMAT_R16G16_SINT, DXGI_FORMAT_R16G16_TYPELESS;
    Rg16Float: DXGI_FORMAT_R16G16_FLOAT, DXGI_FORMAT_R16G16_TYPELESS;
    Rgba16Unorm: DXGI_FORMAT_R16G16B16A16_UNORM, DXGI_FORMAT_R16G16B16A16_TYPELESS;
    Rgba16Snorm: DXGI_FORMAT_R16G16B16A16_SNORM, DXGI_FORMAT_R16G16B16A16_TYPELESS;
    Rgba16Uint: DXGI_FORMAT_R16G16B16A16_UINT, DXGI_FORMAT_R16G16B16A16_TYPELESS;
    Rgba16Sint: DXGI_FORMAT_R16G16B16A16_SINT, DXGI_FORMAT_R16G16B16A16_TYPELESS;
    Rgba16Float: DXGI_FORMAT_R16G16B16A16_FLOAT, DXGI_FORMAT_R16G16B16A16_TYPELESS;
    R32Uint: DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R32_TYPELESS;
    R32Sint: DXGI_FORMAT_R32_SINT, DXGI_FORMAT_R32_TYPELESS;
    R32Float: DXGI_FORMAT_R32_FLOAT, DXGI_FORMAT_R32_TYPELESS;
    Rg32Uint: DXGI_FORMAT_R32G32_UINT, DXGI_FORMAT_R32G32_TYPELESS;
    Rg32Sint: DXGI_FORMAT_R32G32_SINT, DXGI_FORMAT_R32G32_TYPELESS;
    Rg32Float: DXGI_FORMAT_R32G32_FLOAT, DXGI_FORMAT_R32G32_TYPELESS;
    Rgba32Uint: DXGI_FORMAT_R32G32B32A32_UINT, DXGI_FORMAT_R32G32B32A32_TYPELESS;
    Rgba32Sint: DXGI_FORMAT_R32G32B32A32_SINT, DXGI_FORMAT_R32G32B32A32_TYPELESS;
    Rgba32Float: DXGI_FORMAT_R32G32B32A32_FLOAT, DXGI_FORMAT_R32G32B32A32_TYPELESS;
    D16Unorm: DXGI_FORMAT_D16_UNORM, DXGI_FORMAT_R16_TYPELESS;
    D24UnormS8Uint: DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_R24G8_TYPELESS;
    D32Float: DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_R32_TYPELESS;
    D32FloatS8Uint: DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DXGI_FORMAT_R32G8X24_TYPELESS;
    Bc1Unorm: DXGI_FORMAT_BC1_UNORM, DXGI_FORMAT_BC1_TYPELESS;
    Bc1Srgb: DXGI_FORMAT_BC1_UNORM_SRGB, DXGI_FORMAT_BC1_TYPELESS;
    Bc2Unorm: DXGI_FORMAT_BC2_UNORM, DXGI_FORMAT_BC2_TYPELESS;
    Bc2Srgb: DXGI_FORMAT_BC2_UNORM_SRGB, DXGI_FORMAT_BC2_TYPELESS;
    Bc3Unorm: DXGI_FORMAT_BC3_UNORM, DXGI_FORMAT_BC3_TYPELESS;
    Bc3Srgb: DXGI_FORMAT_BC3_UNORM_SRGB, DXGI_FORMAT_BC3_TYPELESS;
    Bc4Unorm: DXGI_FORMAT_BC4_UNORM, DXGI_FORMAT_BC4_TYPELESS;
    Bc4Snorm: DXGI_FORMAT_BC4_SNORM, DXGI_FORMAT_BC4_TYPELESS;
    Bc5Unorm: DXGI_FORMAT_BC5_UNORM, DXGI_FORMAT_BC5_TYPELESS;
    Bc5Snorm: DXGI_FORMAT_BC5_SNORM, DXGI_FORMAT_BC5_TYPELESS;
    Bc6hUfloat: DXGI_FORMAT_BC6H_UF16, DXGI_FORMAT_BC6H_TYPELESS;
    Bc6hSfloat: DXGI_FORMAT_BC6H_SF16, DXGI_FORMAT_BC6H_TYPELESS;
    Bc7Unorm: DXGI_FORMAT_BC7_UNORM, DXGI_FORMAT_BC7_TYPELESS;
    Bc7Srgb: DXGI_FORMAT_BC7_UNORM_SRGB, DXGI_FORMAT_BC7_TYPELESS;
    Etc2Rgb8Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Etc2Rgb8Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Etc2Rgb8A1Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Etc2Rgb8A1Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Etc2Rgba8Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Etc2Rgba8Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    EacR11Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    EacR11Snorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    EacRg11Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    EacRg11Snorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc4x4Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc4x4Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc5x4Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc5x4Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc5x5Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc5x5Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc6x5Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc6x5Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc6x6Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc6x6Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x5Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x5Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x6Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x6Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x8Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc8x8Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x5Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x5Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x6Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x6Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x8Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x8Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x10Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc10x10Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc12x10Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc12x10Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc12x12Unorm: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
    Astc12x12Srgb: DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_UNKNOWN;
}

// Rows are indexed by format.
const _: () = {
    assert!(TABLE.len() == Format::ALL.len());
    let mut index = 0;
    while index < TABLE.len() {
        assert!(TABLE[index].format as usize == index);
        index += 1;
    }
};

const fn row(format: Format) -> &'static Row {
    &TABLE[format as usize]
}

/// A plane of a depth format; neither shaders nor copies support the format itself.
struct PlaneRow {
    format: Format,
    plane: Plane,
    /// The format for reads by shaders.
    read: DXGI_FORMAT,
    /// The format of its texels in a buffer.
    in_buffers: DXGI_FORMAT,
}

#[rustfmt::skip]
const PLANES: [PlaneRow; 6] = [
    plane_row(Format::D16Unorm, Plane::First, dxgi::DXGI_FORMAT_R16_UNORM, dxgi::DXGI_FORMAT_R16_UNORM),
    plane_row(Format::D24UnormS8Uint, Plane::First, dxgi::DXGI_FORMAT_R24_UNORM_X8_TYPELESS, dxgi::DXGI_FORMAT_R32_TYPELESS),
    plane_row(Format::D24UnormS8Uint, Plane::Stencil, dxgi::DXGI_FORMAT_X24_TYPELESS_G8_UINT, dxgi::DXGI_FORMAT_R8_TYPELESS),
    plane_row(Format::D32Float, Plane::First, dxgi::DXGI_FORMAT_R32_FLOAT, dxgi::DXGI_FORMAT_R32_FLOAT),
    plane_row(Format::D32FloatS8Uint, Plane::First, dxgi::DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS, dxgi::DXGI_FORMAT_R32_TYPELESS),
    plane_row(Format::D32FloatS8Uint, Plane::Stencil, dxgi::DXGI_FORMAT_X32_TYPELESS_G8X24_UINT, dxgi::DXGI_FORMAT_R8_TYPELESS),
];

const fn plane_row(format: Format, plane: Plane, read: DXGI_FORMAT, in_buffers: DXGI_FORMAT) -> PlaneRow {
    PlaneRow { format, plane, read, in_buffers }
}

fn depth_plane(format: Format, plane: Plane) -> Option<&'static PlaneRow> {
    PLANES.iter().find(|row| row.format == format && row.plane == plane)
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
    row(format).own
}

/// The typeless format of the family; the format itself if it has no family.
pub(crate) const fn typeless(format: Format) -> DXGI_FORMAT {
    row(format).typeless
}

/// The format of the texels of a plane in a buffer: copies do not support depth formats.
pub(crate) fn in_buffers(format: Format, plane: Plane) -> DXGI_FORMAT {
    depth_plane(format, plane).map_or_else(|| to_dxgi_format(format), |row| row.in_buffers)
}

/// The format in which shaders read a plane: they do not support depth formats either.
pub(crate) fn read_as(format: Format, plane: Plane) -> DXGI_FORMAT {
    depth_plane(format, plane).map_or_else(|| to_dxgi_format(format), |row| row.read)
}

/// The component mapping of a plane for shaders. Stencil is the second component of its formats; it is also shown
/// in the first, as in Vulkan, or in all four.
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

/// Number of planes of a texture: depth and stencil are separate.
pub(crate) const fn planes(format: Format) -> u32 {
    if format.has_stencil() { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{Compression, Format, Plane};
    use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_UNKNOWN;

    use super::{components_of, is_family, planes, read_as, to_dxgi_format, typeless};

    #[test]
    fn every_format_has_a_counterpart_of_its_own() {
        let mut seen = Vec::new();
        for format in Format::ALL {
            let dxgi = to_dxgi_format(*format);
            if matches!(format.compression(), Some(Compression::Astc | Compression::Etc2)) {
                assert_eq!(dxgi, DXGI_FORMAT_UNKNOWN, "{format:?}");
                continue;
            }
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
