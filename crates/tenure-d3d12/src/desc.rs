//! Resources in Direct3D's words.

use smallvec::SmallVec;
use tenure_core::device::{BufferInfo, ClearValue, DeviceError, Dimension, ResourceDesc, TextureInfo, Usage};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CLEAR_VALUE, D3D12_CLEAR_VALUE_0, D3D12_DEPTH_STENCIL_VALUE, D3D12_MIP_REGION, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DESC1, D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_DIMENSION_TEXTURE2D,
    D3D12_RESOURCE_DIMENSION_TEXTURE3D, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE, D3D12_RESOURCE_FLAG_NONE,
    D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, D3D12_RESOURCE_FLAGS,
    D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_UNKNOWN,
};
use windows::Win32::Graphics::Dxgi::Common::{DXGI_FORMAT, DXGI_FORMAT_UNKNOWN, DXGI_SAMPLE_DESC};

use crate::caps::{Caps, RESOURCE_FLAG_USE_TIGHT_ALIGNMENT};
use crate::error::bad;
use crate::formats::{is_family, to_dxgi_format, typeless};

/// A resource to create.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) desc: D3D12_RESOURCE_DESC1,
    pub(crate) clear: Option<D3D12_CLEAR_VALUE>,
    /// Formats of views, where the list is given to the driver.
    pub(crate) castable: SmallVec<[DXGI_FORMAT; 4]>,
}

impl Described {
    /// The description as the older calls take it.
    pub(crate) const fn older(&self) -> D3D12_RESOURCE_DESC {
        let D3D12_RESOURCE_DESC1 {
            Dimension,
            Alignment,
            Width,
            Height,
            DepthOrArraySize,
            MipLevels,
            Format,
            SampleDesc,
            Layout,
            Flags,
            ..
        } = self.desc;
        D3D12_RESOURCE_DESC {
            Dimension,
            Alignment,
            Width,
            Height,
            DepthOrArraySize,
            MipLevels,
            Format,
            SampleDesc,
            Layout,
            Flags,
        }
    }
}

/// Describes a resource; it has passed the device's limits.
pub(crate) fn describe(caps: &Caps, desc: &ResourceDesc) -> Result<Described, DeviceError> {
    let mut described = match desc {
        ResourceDesc::Buffer(info) => buffer(caps, info),
        ResourceDesc::Texture(info) => texture(caps, info)?,
    };
    if caps.tight_alignment {
        described.desc.Flags |= RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    }
    Ok(described)
}

const ONE_SAMPLE: DXGI_SAMPLE_DESC = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
const NO_REGION: D3D12_MIP_REGION = D3D12_MIP_REGION { Width: 0, Height: 0, Depth: 0 };

fn buffer(caps: &Caps, info: &BufferInfo) -> Described {
    let is_structure = info.usage.contains(Usage::ACCELERATION_STRUCTURE);
    let mut flags = D3D12_RESOURCE_FLAG_NONE;
    if is_structure || info.usage.contains(Usage::UNORDERED_ACCESS) {
        flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    }
    // Without initial states it takes a flag to say so.
    if is_structure && caps.enhanced_barriers {
        flags |= D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
    }
    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width: info.size,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: ONE_SAMPLE,
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: flags,
        SamplerFeedbackMipRegion: NO_REGION,
    };
    Described { desc, clear: None, castable: SmallVec::new() }
}

fn texture_flags(usage: Usage) -> D3D12_RESOURCE_FLAGS {
    let mut flags = D3D12_RESOURCE_FLAG_NONE;
    if usage.contains(Usage::RENDER_TARGET) {
        flags |= D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    }
    if usage.contains(Usage::DEPTH_STENCIL) {
        flags |= D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        if !usage.contains(Usage::SHADER_READ) {
            flags |= D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE;
        }
    }
    if usage.contains(Usage::UNORDERED_ACCESS) {
        flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    }
    flags
}

/// The format to create a texture with, and those to cast it to.
///
/// Depth that shaders read is typeless, since no view reads a depth format; so is what is viewed
/// in other formats, unless the device takes a list of them.
fn texture_format(
    caps: &Caps,
    info: &TextureInfo,
) -> Result<(DXGI_FORMAT, SmallVec<[DXGI_FORMAT; 4]>), DeviceError> {
    let own = to_dxgi_format(info.format);
    let others = info.view_formats.iter().filter(|format| **format != info.format);
    if others.clone().next().is_none() {
        let is_read_depth = info.format.is_depth() && info.usage.contains(Usage::SHADER_READ);
        return Ok((if is_read_depth { typeless(info.format) } else { own }, SmallVec::new()));
    }
    if caps.relaxed_casting {
        let all = std::iter::once(own).chain(others.map(|format| to_dxgi_format(*format)));
        return Ok((own, all.collect()));
    }
    if others.clone().all(|format| is_family(info.format, *format)) {
        return Ok((typeless(info.format), SmallVec::new()));
    }
    Err(DeviceError::Unsupported { feature: "views in formats of another family (relaxed format casting)" })
}

fn texture(caps: &Caps, info: &TextureInfo) -> Result<Described, DeviceError> {
    let (format, castable) = texture_format(caps, info)?;
    let narrow = |field, value: u32| u16::try_from(value).map_err(|_| bad(field, u64::from(value)));
    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: match info.dimension {
            Dimension::D3 => D3D12_RESOURCE_DIMENSION_TEXTURE3D,
            _ => D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        },
        Alignment: 0,
        Width: u64::from(info.width),
        Height: info.height,
        DepthOrArraySize: narrow("depth_or_layers", info.depth_or_layers)?,
        MipLevels: narrow("mips", info.mips)?,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: info.samples, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        Flags: texture_flags(info.usage),
        SamplerFeedbackMipRegion: NO_REGION,
    };
    Ok(Described { desc, clear: info.clear.map(|value| clear(info, value)), castable })
}

/// A clear value has a format of its own, which is never typeless.
fn clear(info: &TextureInfo, value: ClearValue) -> D3D12_CLEAR_VALUE {
    let value = match value {
        ClearValue::Color(color) => D3D12_CLEAR_VALUE_0 { Color: color },
        ClearValue::DepthStencil(depth, stencil) => {
            D3D12_CLEAR_VALUE_0 { DepthStencil: D3D12_DEPTH_STENCIL_VALUE { Depth: depth, Stencil: stencil } }
        }
    };
    D3D12_CLEAR_VALUE { Format: to_dxgi_format(info.format), Anonymous: value }
}
