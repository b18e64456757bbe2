//! The formats that textures are created with.

use tenure_core::device::{Compression, ResourceDesc, prelude::*};
use tenure_core::{ClearValue, DeviceError, Format, TextureDesc, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_RESOURCE_DESC, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE,
};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT, DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_R8G8B8A8_TYPELESS, DXGI_FORMAT_R8G8B8A8_UNORM,
    DXGI_FORMAT_R16_TYPELESS, DXGI_FORMAT_R24G8_TYPELESS, DXGI_FORMAT_R32_TYPELESS,
    DXGI_FORMAT_R32G8X24_TYPELESS,
};
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{GPU_ONLY, create, device};

fn made(device: &Device, desc: TextureDesc) -> D3D12_RESOURCE_DESC {
    let made = device.create_committed(&ResourceDesc::Texture(desc.info), GPU_ONLY).unwrap();
    // SAFETY: the resource is alive; the description is returned by value.
    unsafe { made.raw().GetDesc() }
}

#[test]
fn depth_that_shaders_read_is_typeless() {
    let device = device();
    let clear = ClearValue::DepthStencil(1.0, 0);
    let format = |format, usage| -> DXGI_FORMAT {
        made(&device, TextureDesc::d2(32, 32, format, usage).clear(clear)).Format
    };
    let (target, read) = (Usage::DEPTH_STENCIL, Usage::DEPTH_STENCIL | Usage::SHADER_READ);
    assert_eq!(format(Format::D32Float, target), DXGI_FORMAT_D32_FLOAT);
    assert_eq!(format(Format::D32Float, read), DXGI_FORMAT_R32_TYPELESS);
    assert_eq!(format(Format::D16Unorm, read), DXGI_FORMAT_R16_TYPELESS);
    assert_eq!(format(Format::D24UnormS8Uint, read), DXGI_FORMAT_R24G8_TYPELESS);
    assert_eq!(format(Format::D32FloatS8Uint, read), DXGI_FORMAT_R32G8X24_TYPELESS);
    // Tight alignment is a flag of its own.
    let rigid = create(DeviceConfig::default().tight_alignment(false));
    let flags = |usage| made(&rigid, TextureDesc::d2(32, 32, Format::D32Float, usage)).Flags;
    assert!(flags(target).contains(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE));
    assert_eq!(flags(read), D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL);
}

#[test]
fn other_views_make_a_texture_typeless_or_castable() {
    let typeless = create(DeviceConfig::default().relaxed_casting(false));
    let clear = ClearValue::Color([0.0, 0.5, 1.0, 1.0]);
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).clear(clear);
    assert_eq!(made(&typeless, desc.clone()).Format, DXGI_FORMAT_R8G8B8A8_UNORM);
    let own = desc.clone().view_formats([Format::Rgba8Unorm]);
    assert_eq!(made(&typeless, own).Format, DXGI_FORMAT_R8G8B8A8_UNORM, "its own format is no other");
    let srgb = desc.clone().view_formats([Format::Rgba8Srgb]);
    assert_eq!(made(&typeless, srgb).Format, DXGI_FORMAT_R8G8B8A8_TYPELESS);
    let foreign = ResourceDesc::Texture(desc.view_formats([Format::Rgba8Srgb, Format::R32Uint]).info);
    let refusal = typeless.create_committed(&foreign, GPU_ONLY).unwrap_err();
    assert!(matches!(refusal, DeviceError::Unsupported { .. }), "{refusal}");
}

/// Every format in every role that the device reports.
#[test]
fn every_format_is_created_or_clearly_refused() {
    let device = device();
    for format in Format::ALL {
        for usage in [Usage::SHADER_READ, Usage::RENDER_TARGET, Usage::DEPTH_STENCIL, Usage::UNORDERED_ACCESS]
        {
            let desc = ResourceDesc::Texture(TextureDesc::d2(64, 64, *format, usage).info);
            let asked = device.requirements(&desc);
            let made = device.create_committed(&desc, GPU_ONLY);
            match (&asked, &made) {
                (Ok(_), Ok(_)) => {}
                (Err(asked), Err(made)) => {
                    assert_eq!(asked, made);
                    let is_clear = match asked {
                        DeviceError::UnsupportedFormat { format: named, .. } => named == format,
                        DeviceError::InvalidDesc { .. } => true,
                        _ => false,
                    };
                    assert!(is_clear, "{format:?} as {usage:?}: {asked}");
                    // Wine's vkd3d lacks the shared exponent.
                    let is_desktop = *format != Format::Rgb9E5Float
                        && matches!(format.compression(), None | Some(Compression::Bc));
                    let is_plain = usage == Usage::SHADER_READ && !format.is_depth() && is_desktop;
                    assert!(!is_plain, "every device samples {format:?}: {asked}");
                }
                _ => panic!("{format:?} as {usage:?}: {asked:?}, {made:?}"),
            }
        }
    }
}
