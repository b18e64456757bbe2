//! The formats of a device, with their usages.

use tenure_core::device::{DeviceError, Format, ResourceDesc, TextureInfo, Usage, check};

use crate::profile::Formats;

/// Formats whose texels shaders may load from buffers.
pub(crate) fn is_plain(format: Format) -> bool {
    !format.is_compressed() && !format.is_depth() && !format.is_srgb()
}

/// Formats in which shaders may write texels.
pub(crate) fn is_storable(format: Format) -> bool {
    is_plain(format) && !matches!(format, Format::Rgb9E5Float | Format::B5G6R5Unorm | Format::Bgr5A1Unorm)
}

/// Formats of colour targets.
pub(crate) fn is_renderable(format: Format) -> bool {
    !format.is_compressed() && !format.is_depth() && format != Format::Rgb9E5Float
}

/// Checks that a device has the format of a resource for its usage.
pub(crate) fn check(formats: Formats, desc: &ResourceDesc) -> Result<(), DeviceError> {
    match desc {
        ResourceDesc::Buffer(_) => Ok(()),
        ResourceDesc::Texture(info) => check_texture(formats, info),
    }
}

fn check_texture(formats: Formats, info: &TextureInfo) -> Result<(), DeviceError> {
    let seen = || std::iter::once(info.format).chain(info.view_formats.iter().copied());
    let refuse = |format, feature| Err(DeviceError::UnsupportedFormat { format, feature });
    if let Some(format) = seen().find(|format| !formats.has(*format)) {
        return refuse(format, "textures");
    }
    if !formats.unaligned_blocks {
        check::whole_blocks(info)?;
    }
    if info.usage.contains(Usage::RENDER_TARGET) && !is_renderable(info.format) {
        return refuse(info.format, "render targets");
    }
    // A view may allow a usage that the texture's own format does not.
    if info.usage.contains(Usage::UNORDERED_ACCESS) && !seen().any(is_storable) {
        return refuse(info.format, "unordered access to textures");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{Format, Usage, prelude::*};

    use crate::{Device, Profile};

    fn has(profile: Profile, format: Format, usage: Usage) -> bool {
        Device::new(profile).supports_format(format, usage)
    }

    #[test]
    fn desktops_and_phones_have_compression_of_their_own() {
        for (profile, bc, astc, d24) in [
            (Profile::D3D12_TIER2, true, false, true),
            (Profile::VULKAN_NVIDIA, true, false, true),
            (Profile::VULKAN_AMD_SMALL_BAR, true, false, false),
            (Profile::VULKAN_MOBILE, false, true, true),
        ] {
            assert_eq!(has(profile, Format::Bc7Srgb, Usage::SHADER_READ), bc, "{profile:?}");
            assert_eq!(has(profile, Format::Astc6x6Srgb, Usage::SHADER_READ), astc, "{profile:?}");
            assert_eq!(has(profile, Format::EacRg11Snorm, Usage::SHADER_READ), astc, "{profile:?}");
            assert_eq!(has(profile, Format::D24UnormS8Uint, Usage::DEPTH_STENCIL), d24, "{profile:?}");
            assert!(has(profile, Format::D32FloatS8Uint, Usage::DEPTH_STENCIL), "{profile:?}");
        }
    }

    #[test]
    fn formats_are_refused_for_usages_that_no_gpu_supports() {
        let refused = |format, usage| !has(Profile::DISCRETE, format, usage);
        assert!(refused(Format::Bc1Unorm, Usage::RENDER_TARGET));
        assert!(refused(Format::Bc1Unorm, Usage::UNORDERED_ACCESS));
        assert!(refused(Format::Rgb9E5Float, Usage::RENDER_TARGET));
        assert!(refused(Format::Rgb9E5Float, Usage::UNORDERED_ACCESS));
        assert!(refused(Format::Rgba8Srgb, Usage::UNORDERED_ACCESS));
        assert!(refused(Format::D32Float, Usage::UNORDERED_ACCESS));
        assert!(refused(Format::Rgba8Unorm, Usage::DEPTH_STENCIL));
        assert!(!refused(Format::Rgb9E5Float, Usage::SHADER_READ));
    }
}
