//! Known driver faults: tenure's table applied to Direct3D 12 resource descriptions.

use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::TextureDesc;
use tenure_core::device::{BufferInfo, Format, ResourceDesc, Usage};
use tenure_d3d12::drivers::{Actions, AdapterId, DriverVersion, Workarounds, created_layers};
use windows::Wdk::System::SystemServices::RtlGetVersion;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, D3D12_HEAP_FLAGS, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_DIMENSION_TEXTURE3D,
    D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_RESOURCE_FLAGS, ID3D12Device,
};
use windows::Win32::Graphics::Dxgi::{
    CreateDXGIFactory1, DXGI_ADAPTER_DESC1, IDXGIAdapter1, IDXGIDevice, IDXGIFactory4,
};
use windows::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows::core::Interface;

use super::ResourceCategory;

/// The known faults of a device's driver.
pub(super) struct Faults {
    workarounds: Arc<Workarounds>,
    /// Whether some resources of each category must not share a heap.
    alone: [bool; 3],
}

/// A resource with applied workarounds.
pub(super) struct Treated {
    /// The description to create the resource with.
    pub(super) desc: D3D12_RESOURCE_DESC,
    actions: Actions,
}

impl Treated {
    /// Whether a driver fault requires dedicated memory.
    pub(super) const fn is_committed(&self) -> bool {
        self.actions.contains(Actions::COMMIT)
    }

    pub(super) const fn takes_clear_value(&self) -> bool {
        !self.actions.contains(Actions::NO_CLEAR_VALUE)
    }

    /// The flags of a committed resource's memory.
    pub(super) fn heap_flags(&self, wanted: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
        if self.actions.contains(Actions::ZERO) {
            wanted & !D3D12_HEAP_FLAG_CREATE_NOT_ZEROED
        } else {
            wanted
        }
    }
}

impl Faults {
    /// The faults of the device's driver; none if DXGI does not know the adapter.
    pub(super) fn of(device: &ID3D12Device) -> Self {
        Self::new(workarounds(device))
    }

    pub(super) fn new(workarounds: Arc<Workarounds>) -> Self {
        let commits = |desc: &ResourceDesc| workarounds.actions(desc).contains(Actions::COMMIT);
        let texture = |format, usage| {
            ResourceDesc::Texture(TextureDesc::d2(1, 1, format, usage | Usage::COPY_DST).info)
        };
        let buffer = commits(&ResourceDesc::Buffer(BufferInfo::new(1, Usage::COPY_DST)));
        let target = commits(&texture(Format::Rgba8Unorm, Usage::RENDER_TARGET));
        let depth = commits(&texture(Format::D24UnormS8Uint, Usage::DEPTH_STENCIL));
        let other = commits(&texture(Format::Rgba8Unorm, Usage::SHADER_READ));
        Self { alone: [buffer, target || depth, other], workarounds }
    }

    /// Whether resources of this category may require a dedicated heap. The resource itself is unknown for an
    /// allocation.
    pub(super) const fn wants_alone(&self, category: ResourceCategory) -> bool {
        self.alone[category as usize]
    }

    /// Applies the workarounds to a resource.
    pub(super) fn treat(&self, desc: &D3D12_RESOURCE_DESC) -> Treated {
        if self.workarounds.faults().is_empty() {
            return Treated { desc: *desc, actions: Actions::empty() };
        }
        let described = described(desc);
        let actions = self.workarounds.actions(&described);
        let mut desc = *desc;
        if let ResourceDesc::Texture(info) = &described {
            // The runtime refuses too many layers.
            desc.DepthOrArraySize = u16::try_from(created_layers(actions, info)).unwrap_or(u16::MAX);
        }
        Treated { desc, actions }
    }
}

/// The description for querying requirements, so that they include the memory that the driver omits.
pub(super) fn with_spare_layers(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    let can_be_concerned = desc.DepthOrArraySize > 1
        && desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER
        && desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    if can_be_concerned { Faults::of(device).treat(desc).desc } else { *desc }
}

/// The rows of the table for a device's adapter, queried once.
fn workarounds(device: &ID3D12Device) -> Arc<Workarounds> {
    type Known = Vec<((u32, i32), Arc<Workarounds>)>;
    static KNOWN: Mutex<Known> = Mutex::new(Vec::new());
    // SAFETY: a query without pointers.
    let luid = unsafe { device.GetAdapterLuid() };
    let luid = (luid.LowPart, luid.HighPart);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known().iter().find(|(of, _)| *of == luid) {
        return found.clone();
    }
    let found = Arc::new(adapter(device).map_or_else(Workarounds::default, |id| Workarounds::of(&id)));
    for fault in found.faults() {
        log::info!("the driver has a known fault: {} ({})", fault.fault, fault.source);
    }
    known().push((luid, found.clone()));
    found
}

/// The adapter's id for the table; `None` if DXGI does not know the adapter.
pub(super) fn adapter(device: &ID3D12Device) -> Option<AdapterId> {
    // SAFETY: plain queries; their results are owned, and the identifier outlives the call.
    let (adapter, version) = unsafe {
        let factory: IDXGIFactory4 = CreateDXGIFactory1().ok()?;
        let adapter: IDXGIAdapter1 = factory.EnumAdapterByLuid(device.GetAdapterLuid()).ok()?;
        let version = adapter.CheckInterfaceSupport(&IDXGIDevice::IID).ok();
        (adapter, version)
    };
    let mut desc = DXGI_ADAPTER_DESC1::default();
    // SAFETY: the adapter is alive and the pointer is to a local. The method itself has this signature only in some
    // versions of `windows`.
    unsafe { (adapter.vtable().GetDesc1)(adapter.as_raw(), &raw mut desc) }.ok().ok()?;
    let part =
        |version: i64, shift: u32| u16::try_from(version.cast_unsigned() >> shift & 0xffff).unwrap_or(0);
    let driver = version.map(|version| DriverVersion([48, 32, 16, 0].map(|shift| part(version, shift))));
    let driver = driver.filter(|driver| *driver != DriverVersion::default());
    Some(AdapterId { vendor: desc.VendorId, device: desc.DeviceId, driver, windows_build: windows_build() })
}

/// The build of Windows, independent of the version in the program's manifest.
fn windows_build() -> Option<u32> {
    let size = u32::try_from(size_of::<OSVERSIONINFOW>()).ok()?;
    let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size, ..Default::default() };
    // SAFETY: the pointer is to a local that outlives the call and contains its size.
    unsafe { RtlGetVersion(&raw mut version) }.ok().ok()?;
    Some(version.dwBuildNumber)
}

/// Converts a resource for the table. Copies are assumed to write to it, because the description cannot exclude it.
fn described(desc: &D3D12_RESOURCE_DESC) -> ResourceDesc {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return ResourceDesc::Buffer(BufferInfo::new(desc.Width, Usage::COPY_DST));
    }
    let has = |flag: D3D12_RESOURCE_FLAGS| (desc.Flags & flag).0 != 0;
    let mut usage = Usage::COPY_DST;
    usage.set(Usage::RENDER_TARGET, has(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET));
    usage.set(Usage::DEPTH_STENCIL, has(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL));
    usage.set(Usage::UNORDERED_ACCESS, has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS));
    let (width, height) = (u32::try_from(desc.Width).unwrap_or(u32::MAX), desc.Height);
    let format = format(desc.Format.0, usage.contains(Usage::DEPTH_STENCIL));
    let depth_or_layers = u32::from(desc.DepthOrArraySize);
    let shape = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => TextureDesc::d3(width, height, depth_or_layers, format, usage),
        _ => TextureDesc::d2(width, height, format, usage),
    };
    // 0 mips means the full chain.
    let mips = if desc.MipLevels == 0 {
        u32::BITS - (width | height).leading_zeros()
    } else {
        desc.MipLevels.into()
    };
    let samples = desc.SampleDesc.Count;
    ResourceDesc::Texture(
        shape.info.usage(usage).depth_or_layers(depth_or_layers).mips(mips).samples(samples),
    )
}

/// A format with the same block size, depth or not, for a `DXGI_FORMAT` number.
const fn format(number: i32, is_depth_stencil: bool) -> Format {
    match number {
        44..=47 if is_depth_stencil => Format::D24UnormS8Uint,
        _ if is_depth_stencil => Format::D32Float,
        20 | 40 | 55 => Format::D32Float,
        45 => Format::D24UnormS8Uint,
        1..=8 => Format::Rgba32Float,
        9..=22 => Format::Rgba16Float,
        48..=59 | 85 | 86 | 115 => Format::Rg8Unorm,
        60..=66 => Format::R8Unorm,
        70..=72 | 79..=81 => Format::Bc1Unorm,
        73..=78 | 82..=84 | 94..=99 => Format::Bc3Unorm,
        _ => Format::Rgba8Unorm,
    }
}

#[cfg(test)]
mod tests {
    use tenure_d3d12::drivers::{AMD, INTEL, NVIDIA};
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_FLAG_NONE,
    };
    use windows::Win32::Graphics::Dxgi::Common::{
        DXGI_FORMAT, DXGI_FORMAT_BC1_UNORM, DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_D32_FLOAT,
        DXGI_FORMAT_R8G8B8A8_TYPELESS, DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R24G8_TYPELESS,
        DXGI_FORMAT_R32_TYPELESS, DXGI_SAMPLE_DESC,
    };

    use super::*;

    fn faults(vendor: u32, device: u32, driver: [u16; 4]) -> Faults {
        let driver = Some(DriverVersion(driver));
        let id = AdapterId { vendor, device, driver, windows_build: Some(26_100) };
        Faults::new(Arc::new(Workarounds::of(&id)))
    }

    const NEWEST: [u16; 4] = [u16::MAX; 4];

    fn texture(width: u64, height: u32, layers: u16, format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
        D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
            Width: width,
            Height: height,
            DepthOrArraySize: layers,
            MipLevels: 1,
            Format: format,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            ..Default::default()
        }
    }

    fn buffer() -> D3D12_RESOURCE_DESC {
        D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            ..texture(64, 1, 1, DXGI_FORMAT(0))
        }
    }

    fn volume() -> D3D12_RESOURCE_DESC {
        let shape = texture(8, 8, 8, DXGI_FORMAT_R8G8B8A8_UNORM);
        D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..shape }
    }

    fn depth(format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
        D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, ..texture(8, 8, 1, format) }
    }

    /// Whether buffers, volumes, other textures and depth are committed, and whether each category needs dedicated
    /// heaps.
    fn committed(faults: &Faults) -> ([bool; 4], [bool; 3]) {
        let color = texture(8, 8, 1, DXGI_FORMAT_R8G8B8A8_UNORM);
        let kinds = [buffer(), volume(), color, depth(DXGI_FORMAT_D32_FLOAT)];
        let categories =
            [ResourceCategory::Buffer, ResourceCategory::RtvDsvTexture, ResourceCategory::OtherTexture];
        (
            kinds.map(|desc| faults.treat(&desc).is_committed()),
            categories.map(|category| faults.wants_alone(category)),
        )
    }

    #[test]
    fn faulty_adapters_commit_affected_resources() {
        assert_eq!(committed(&faults(INTEL, 0x46a6, NEWEST)), ([true; 4], [true; 3]), "Iris Xe");
        let old_amd = faults(AMD, 0x73bf, [31, 0, 24_002, 92]);
        assert_eq!(committed(&old_amd), ([false, false, true, true], [false, true, true]));
        let gen_12 = faults(INTEL, 0x5690, NEWEST);
        assert_eq!(committed(&gen_12), ([false, false, false, true], [false, true, false]));
        for none in [faults(AMD, 0x73bf, NEWEST), faults(NVIDIA, 0x2684, NEWEST), faults(0, 0, NEWEST)] {
            assert_eq!(committed(&none), ([false; 4], [false; 3]));
        }
    }

    #[test]
    fn depth_is_known_by_format_or_flag() {
        let gen_12 = faults(INTEL, 0x5690, NEWEST);
        let typed = [DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_D32_FLOAT];
        for format in typed.into_iter().chain([DXGI_FORMAT_R24G8_TYPELESS, DXGI_FORMAT_R32_TYPELESS]) {
            let treated = gen_12.treat(&depth(format));
            assert!(treated.is_committed() && !treated.takes_clear_value(), "{format:?}");
            let unflagged = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_NONE, ..depth(format) };
            assert_eq!(gen_12.treat(&unflagged).takes_clear_value(), !typed.contains(&format), "{format:?}");
        }
        assert!(gen_12.treat(&texture(8, 8, 1, DXGI_FORMAT_R8G8B8A8_UNORM)).takes_clear_value());
    }

    #[test]
    fn committed_memory_is_zeroed_if_required() {
        let gen_9 = faults(INTEL, 0x5917, NEWEST);
        let (dirty, clean) = (D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, D3D12_HEAP_FLAG_NONE);
        let color = texture(8, 8, 1, DXGI_FORMAT_R8G8B8A8_UNORM);
        assert_eq!(gen_9.treat(&color).heap_flags(dirty), clean);
        assert_eq!(gen_9.treat(&buffer()).heap_flags(dirty), dirty);
        assert_eq!(faults(NVIDIA, 0x2684, NEWEST).treat(&color).heap_flags(dirty), dirty);
    }

    #[test]
    fn arrays_get_spare_layers() {
        let old = faults(INTEL, 0x4680, [30, 0, 101, 1691]);
        let layers = |desc: &D3D12_RESOURCE_DESC| old.treat(desc).desc.DepthOrArraySize;
        for format in [DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8G8B8A8_TYPELESS] {
            assert_eq!(layers(&texture(1, 1024, 64, format)), 2048);
        }
        assert!(layers(&texture(4, 4096, 64, DXGI_FORMAT_BC1_UNORM)) > 64);
        let all_mips =
            D3D12_RESOURCE_DESC { MipLevels: 0, ..texture(1, 1024, 64, DXGI_FORMAT_R8G8B8A8_UNORM) };
        let named = D3D12_RESOURCE_DESC { MipLevels: 11, ..all_mips };
        assert_eq!(layers(&all_mips), layers(&named));
        assert_eq!(layers(&texture(1, u32::MAX, u16::MAX, DXGI_FORMAT_R8G8B8A8_UNORM)), u16::MAX);
        // Wide arrays, single layers, depth and volumes do not change.
        let kept = [
            texture(1024, 1024, 64, DXGI_FORMAT_R8G8B8A8_UNORM),
            texture(1, 1024, 1, DXGI_FORMAT_R8G8B8A8_UNORM),
            D3D12_RESOURCE_DESC { DepthOrArraySize: 64, Height: 1024, ..depth(DXGI_FORMAT_D32_FLOAT) },
            volume(),
        ];
        assert_eq!(kept.each_ref().map(layers), kept.map(|desc| desc.DepthOrArraySize));
        let repaired = faults(INTEL, 0x4680, [30, 0, 101, 1692]);
        let narrow = texture(1, 1024, 64, DXGI_FORMAT_R8G8B8A8_UNORM);
        assert_eq!(repaired.treat(&narrow).desc.DepthOrArraySize, 64);
    }
}
