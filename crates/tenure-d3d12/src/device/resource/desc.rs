//! Translation of resource descriptions to Direct3D.

use smallvec::SmallVec;
use tenure_core::device::{
    Allowed, BufferInfo, ClearValue, DeviceError, Dimension, ResourceDesc, TextureInfo, Usage,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CLEAR_VALUE, D3D12_CLEAR_VALUE_0, D3D12_DEPTH_STENCIL_VALUE, D3D12_HEAP_FLAG_NONE,
    D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAGS, D3D12_MIP_REGION, D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION,
    D3D12_RESOURCE_DESC, D3D12_RESOURCE_DESC1, D3D12_RESOURCE_DIMENSION_BUFFER,
    D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_DIMENSION_TEXTURE3D,
    D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE,
    D3D12_RESOURCE_FLAG_NONE, D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, D3D12_RESOURCE_FLAGS,
    D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_UNKNOWN,
};
use windows::Win32::Graphics::Dxgi::Common::{DXGI_FORMAT, DXGI_FORMAT_UNKNOWN, DXGI_SAMPLE_DESC};

use crate::device::format::{is_family, to_dxgi_format, typeless};
use crate::device::setup::caps::{Caps, RESOURCE_FLAG_USE_TIGHT_ALIGNMENT};
use crate::drivers::{Actions, Workarounds, created_layers};

/// A resource to create.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) desc: D3D12_RESOURCE_DESC1,
    pub(crate) clear: Option<D3D12_CLEAR_VALUE>,
    /// Formats of views, if the list is passed to the driver.
    pub(crate) castable: SmallVec<[DXGI_FORMAT; 4]>,
    /// Flags of dedicated memory.
    pub(crate) committed: D3D12_HEAP_FLAGS,
    /// Whether the resource needs dedicated memory.
    pub(crate) requires_dedicated: bool,
}

impl Described {
    /// The description in the form of the older calls.
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
///
/// Applies the workarounds for driver faults, so that requirements are queried for the description that is
/// created.
pub(crate) fn describe(
    caps: &Caps,
    workarounds: &Workarounds,
    desc: &ResourceDesc,
) -> Result<Described, DeviceError> {
    let mut described = match desc {
        ResourceDesc::Buffer(info) => buffer(caps, info),
        ResourceDesc::Texture(info) => texture(caps, info)?,
    };
    described.committed = caps.heap_flags();
    work_around(workarounds.actions(desc), desc, &mut described)?;
    let is_shared = desc.usage().contains(Usage::SHARED);
    if is_shared {
        // Zeroed, so that other processes do not see the old contents of the memory.
        described.committed = D3D12_HEAP_FLAG_SHARED;
        described.requires_dedicated = true;
    }
    // Importers may not support such alignment.
    if caps.tight_alignment && !is_shared {
        described.desc.Flags |= RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    }
    Ok(described)
}

fn work_around(actions: Actions, desc: &ResourceDesc, described: &mut Described) -> Result<(), DeviceError> {
    described.requires_dedicated = actions.contains(Actions::COMMIT);
    if actions.contains(Actions::ZERO) {
        described.committed = D3D12_HEAP_FLAG_NONE;
    }
    if actions.contains(Actions::NO_CLEAR_VALUE) {
        described.clear = None;
    }
    if let ResourceDesc::Texture(info) = desc {
        let layers = created_layers(actions, info);
        let most = u64::from(D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION);
        if layers > u64::from(info.depth_or_layers) && layers > most {
            // The driver would reserve too little for it.
            return Err(DeviceError::invalid_desc("depth_or_layers", layers, Allowed::AtMost(most)));
        }
        described.desc.DepthOrArraySize = u16::try_from(layers).map_err(|_| {
            DeviceError::invalid_desc("depth_or_layers", layers, Allowed::AtMost(u64::from(u16::MAX)))
        })?;
    }
    Ok(())
}

const ONE_SAMPLE: DXGI_SAMPLE_DESC = DXGI_SAMPLE_DESC { Count: 1, Quality: 0 };
const NO_REGION: D3D12_MIP_REGION = D3D12_MIP_REGION { Width: 0, Height: 0, Depth: 0 };

fn buffer(caps: &Caps, info: &BufferInfo) -> Described {
    let is_structure = info.usage.contains(Usage::ACCELERATION_STRUCTURE);
    let mut flags = D3D12_RESOURCE_FLAG_NONE;
    if is_structure || info.usage.contains(Usage::UNORDERED_ACCESS) {
        flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    }
    // Without initial states it needs a flag instead.
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
    Described {
        desc,
        clear: None,
        castable: SmallVec::new(),
        committed: D3D12_HEAP_FLAG_NONE,
        requires_dedicated: false,
    }
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

/// The format to create a texture with, and the formats to cast it to.
///
/// Depth that shaders read is typeless, since no view reads a depth format; textures viewed in other formats are
/// typeless, too, unless the device accepts a list of formats.
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
    let is_family = others.clone().all(|format| is_family(info.format, *format));
    // A format list may contain no compressed formats ("Format List Casting" of DirectX-Specs), and does not allow unordered
    // access to an sRGB texture. A typeless texture allows both.
    let is_stored_srgb = info.format.is_srgb() && info.usage.contains(Usage::UNORDERED_ACCESS);
    let needs_typeless = is_stored_srgb || info.format.is_compressed();
    if caps.relaxed_casting && !(needs_typeless && is_family) {
        let all = std::iter::once(own).chain(others.map(|format| to_dxgi_format(*format)));
        return Ok((own, all.collect()));
    }
    if is_family {
        return Ok((typeless(info.format), SmallVec::new()));
    }
    Err(DeviceError::Unsupported { feature: "views in formats of another family (relaxed format casting)" })
}

fn texture(caps: &Caps, info: &TextureInfo) -> Result<Described, DeviceError> {
    let (format, castable) = texture_format(caps, info)?;
    let narrow = |field, value: u32| {
        u16::try_from(value)
            .map_err(|_| DeviceError::invalid_desc(field, value, Allowed::AtMost(u64::from(u16::MAX))))
    };
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
    Ok(Described {
        desc,
        clear: info.clear.map(|value| clear(info, value)),
        castable,
        committed: D3D12_HEAP_FLAG_NONE,
        requires_dedicated: false,
    })
}

/// The clear value with the texture's format. The API does not allow a typeless one.
fn clear(info: &TextureInfo, value: ClearValue) -> D3D12_CLEAR_VALUE {
    let value = match value {
        ClearValue::Color(color) => D3D12_CLEAR_VALUE_0 { Color: color },
        ClearValue::DepthStencil(depth, stencil) => {
            D3D12_CLEAR_VALUE_0 { DepthStencil: D3D12_DEPTH_STENCIL_VALUE { Depth: depth, Stencil: stencil } }
        }
    };
    D3D12_CLEAR_VALUE { Format: to_dxgi_format(info.format), Anonymous: value }
}

#[cfg(test)]
mod tests {
    use tenure_core::TextureDesc;
    use tenure_core::device::Format;
    use windows::Win32::Graphics::Direct3D12::D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;

    use super::*;
    use crate::device::setup::caps::NOTHING;
    use crate::drivers::{AMD, AdapterId, DriverVersion, INTEL};

    /// The creation description on an adapter with a driver of version 30 or so.
    fn described(vendor: u32, device: u32, info: TextureInfo) -> Described {
        let driver = Some(DriverVersion([30, 0, 100, 9864]));
        let id = AdapterId { vendor, device, driver, windows_build: Some(22_631) };
        let caps = Caps { not_zeroed: true, ..NOTHING };
        describe(&caps, &Workarounds::of(&id), &ResourceDesc::Texture(info)).unwrap()
    }

    fn depth(usage: Usage) -> TextureInfo {
        let desc = TextureDesc::d2(256, 256, Format::D24UnormS8Uint, Usage::DEPTH_STENCIL | usage);
        desc.info.clear(Some(ClearValue::DepthStencil(1.0, 0)))
    }

    #[test]
    fn srgb_with_unorm_storage_is_typeless() {
        let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ;
        let desc = TextureDesc::d2(4, 4, Format::Rgba8Srgb, usage);
        let info = desc.info.view_formats(vec![Format::Rgba8Unorm]);
        for relaxed_casting in [false, true] {
            let caps = Caps { relaxed_casting, ..NOTHING };
            let made = texture(&caps, &info).unwrap();
            assert_eq!(made.desc.Format, typeless(Format::Rgba8Unorm));
            assert!(made.castable.is_empty());
        }
    }

    #[test]
    fn lists_of_formats_hold_no_compressed_ones() {
        let caps = Caps { relaxed_casting: true, ..NOTHING };
        let made = |format, other| {
            let desc = TextureDesc::d2(4, 4, format, Usage::SHADER_READ);
            texture(&caps, &desc.info.view_formats(vec![other])).unwrap()
        };
        for (format, other) in [(Format::Bc7Unorm, Format::Bc7Srgb), (Format::Bc4Unorm, Format::Bc4Snorm)] {
            let made = made(format, other);
            assert_eq!((made.desc.Format, made.castable.len()), (typeless(format), 0), "{format:?}");
        }
        let listed = made(Format::Rgba8Unorm, Format::Rgba8Srgb);
        assert_eq!((listed.desc.Format, listed.castable.len()), (to_dxgi_format(Format::Rgba8Unorm), 2));
    }

    #[test]
    fn workarounds_reach_created_resources() {
        let is_zeroed = |made: &Described| !made.committed.contains(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
        // An adapter without known faults.
        let plain = described(0x1414, 0x8c, depth(Usage::COPY_DST));
        assert!(plain.clear.is_some() && !plain.requires_dedicated && !is_zeroed(&plain));
        // Gen 12: no clear value, and copy destinations get zeroed memory of their own.
        let made = described(INTEL, 0x4680, depth(Usage::empty()));
        assert!(made.clear.is_none() && !made.requires_dedicated && !is_zeroed(&made));
        let made = described(INTEL, 0x4680, depth(Usage::COPY_DST));
        assert!(made.clear.is_none() && made.requires_dedicated && is_zeroed(&made));
        // Skylake keeps the clear value.
        let made = described(INTEL, 0x1912, depth(Usage::COPY_DST));
        assert!(made.clear.is_some() && made.requires_dedicated && is_zeroed(&made));
        let made = described(AMD, 0x73bf, depth(Usage::empty()));
        assert!(made.clear.is_some() && made.requires_dedicated && !is_zeroed(&made));
        let array = TextureDesc::d2(1, 1024, Format::Rgba8Unorm, Usage::SHADER_READ).layers(64).info;
        assert_eq!(described(INTEL, 0x4680, array.clone()).desc.DepthOrArraySize, 2048);
        assert_eq!(described(AMD, 0x73bf, array).desc.DepthOrArraySize, 64);
    }
}
