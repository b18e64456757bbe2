//! A device's capabilities, and its feature level.

use std::fmt;

use windows::Win32::Graphics::Direct3D::{
    D3D_FEATURE_LEVEL, D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_12_0,
    D3D_FEATURE_LEVEL_12_1, D3D_FEATURE_LEVEL_12_2,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_FEATURE, D3D12_FEATURE_ARCHITECTURE, D3D12_FEATURE_D3D12_OPTIONS, D3D12_FEATURE_D3D12_OPTIONS3,
    D3D12_FEATURE_D3D12_OPTIONS4, D3D12_FEATURE_D3D12_OPTIONS5, D3D12_FEATURE_D3D12_OPTIONS7,
    D3D12_FEATURE_D3D12_OPTIONS8, D3D12_FEATURE_D3D12_OPTIONS12, D3D12_FEATURE_D3D12_OPTIONS16,
    D3D12_FEATURE_DATA_ARCHITECTURE, D3D12_FEATURE_DATA_D3D12_OPTIONS, D3D12_FEATURE_DATA_D3D12_OPTIONS3,
    D3D12_FEATURE_DATA_D3D12_OPTIONS4, D3D12_FEATURE_DATA_D3D12_OPTIONS5, D3D12_FEATURE_DATA_D3D12_OPTIONS7,
    D3D12_FEATURE_DATA_D3D12_OPTIONS8, D3D12_FEATURE_DATA_D3D12_OPTIONS12,
    D3D12_FEATURE_DATA_D3D12_OPTIONS16, D3D12_FEATURE_DATA_FEATURE_LEVELS,
    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT, D3D12_FEATURE_FEATURE_LEVELS,
    D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, D3D12_HEAP_FLAG_NONE,
    D3D12_HEAP_FLAGS, D3D12_PLACED_SUBRESOURCE_FOOTPRINT, D3D12_QUERY_HEAP_DESC,
    D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP, D3D12_RAYTRACING_TIER_1_0, D3D12_RAYTRACING_TIER_1_1,
    D3D12_RESOURCE_DESC, D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
    D3D12_RESOURCE_FLAGS, D3D12_RESOURCE_HEAP_TIER_2, D3D12_TILED_RESOURCES_TIER_1, ID3D12Device,
    ID3D12Device1, ID3D12Device3, ID3D12Device5, ID3D12Device8, ID3D12Device10, ID3D12Device11,
    ID3D12Device12, ID3D12QueryHeap,
};
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT_D32_FLOAT_S8X24_UINT, DXGI_FORMAT_R8_TYPELESS, DXGI_FORMAT_R8_UINT, DXGI_SAMPLE_DESC,
};
use windows::core::Interface;

use crate::DeviceConfig;

/// `D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT` of `d3d12.h`, Agility SDK 1.618; not in the metadata of
/// `windows` 0.62.
const FEATURE_TIGHT_ALIGNMENT: D3D12_FEATURE = D3D12_FEATURE(54);

/// `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT`, from the same place.
pub(crate) const RESOURCE_FLAG_USE_TIGHT_ALIGNMENT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAGS(0x400);

/// `D3D12_FEATURE_DATA_TIGHT_ALIGNMENT`, from the same place. Tier 0: not supported.
#[repr(C)]
#[derive(Default)]
struct TightAlignment {
    support_tier: i32,
}

/// The newer interfaces of a device, if supported.
pub(crate) struct Interfaces {
    /// Residency priorities.
    pub(crate) device1: Option<ID3D12Device1>,
    /// Makes resident without a wait of the CPU.
    pub(crate) device3: Option<ID3D12Device3>,
    /// Initial layouts and castable formats.
    pub(crate) device10: Option<ID3D12Device10>,
    /// The interface for castable formats.
    pub(crate) device12: Option<ID3D12Device12>,
}

impl Interfaces {
    pub(crate) fn of(device: &ID3D12Device) -> Self {
        Self {
            device1: device.cast().ok(),
            device3: device.cast().ok(),
            device10: device.cast().ok(),
            device12: device.cast().ok(),
        }
    }
}

/// The supported features that are not disabled.
#[derive(Clone, Debug)]
pub(crate) struct Caps {
    pub(crate) heap_tier_2: bool,
    /// 0: no reserved resources.
    pub(crate) tiled_tier: i32,
    pub(crate) uma: bool,
    pub(crate) enhanced_barriers: bool,
    pub(crate) relaxed_casting: bool,
    pub(crate) gpu_upload_heaps: bool,
    pub(crate) copy_queue_timestamps: bool,
    pub(crate) not_zeroed: bool,
    /// Supported by every device.
    pub(crate) shared_memory: bool,
    pub(crate) tight_alignment: bool,
    pub(crate) small_textures: bool,
    /// Multisampled textures may lie at 64 KiB.
    pub(crate) small_multisampled: bool,
    pub(crate) acceleration_structures: bool,
    /// All shaders may trace rays.
    pub(crate) ray_queries: bool,
    /// Block-compressed textures may end within a block.
    pub(crate) unaligned_blocks: bool,
    /// Depth and stencil are planes, which are copied individually.
    pub(crate) stencil_copies: bool,
    /// Samplers may have the comparison function `NONE`.
    pub(crate) comparison_none: bool,
    /// Bits of a GPU address within one resource.
    pub(crate) address_bits: u32,
}

/// The minimum of all devices.
#[cfg(test)]
pub(crate) const NOTHING: Caps = Caps {
    heap_tier_2: false,
    tiled_tier: 0,
    uma: false,
    enhanced_barriers: false,
    relaxed_casting: false,
    gpu_upload_heaps: false,
    copy_queue_timestamps: false,
    not_zeroed: false,
    shared_memory: false,
    tight_alignment: false,
    small_textures: false,
    small_multisampled: false,
    acceleration_structures: false,
    ray_queries: false,
    unaligned_blocks: false,
    stencil_copies: false,
    comparison_none: false,
    address_bits: 31,
};

/// Queries one feature; `None` if the runtime does not support the query.
fn query<T: Default>(device: &ID3D12Device, feature: D3D12_FEATURE) -> Option<T> {
    // SAFETY: the structures used here contain only numbers, and belong to their features: the runtime checks the
    // size.
    unsafe { ask(device, feature, T::default()) }
}

/// Queries one feature with an input in its structure.
///
/// # Safety
/// `T` is the structure of the feature, and its pointers are valid.
pub(crate) unsafe fn ask<T>(device: &ID3D12Device, feature: D3D12_FEATURE, mut data: T) -> Option<T> {
    let size = u32::try_from(size_of::<T>()).ok()?;
    // SAFETY: `data` is a live local of the size given; the rest is the caller's promise.
    let answer = unsafe { device.CheckFeatureSupport(feature, (&raw mut data).cast(), size) };
    answer.ok().map(|()| data)
}

impl Caps {
    /// The flags that heaps are created with.
    pub(crate) fn heap_flags(&self) -> D3D12_HEAP_FLAGS {
        if self.not_zeroed { D3D12_HEAP_FLAG_CREATE_NOT_ZEROED } else { D3D12_HEAP_FLAG_NONE }
    }

    pub(crate) fn of(device: &ID3D12Device, interfaces: &Interfaces, options: &DeviceConfig) -> Self {
        let base: D3D12_FEATURE_DATA_D3D12_OPTIONS =
            query(device, D3D12_FEATURE_D3D12_OPTIONS).unwrap_or_default();
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE =
            query(device, D3D12_FEATURE_ARCHITECTURE).unwrap_or_default();
        let copies: D3D12_FEATURE_DATA_D3D12_OPTIONS3 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS3).unwrap_or_default();
        let targets: D3D12_FEATURE_DATA_D3D12_OPTIONS4 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS4).unwrap_or_default();
        let tracing: D3D12_FEATURE_DATA_D3D12_OPTIONS5 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS5).unwrap_or_default();
        let barriers: D3D12_FEATURE_DATA_D3D12_OPTIONS12 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS12).unwrap_or_default();
        let blocks: D3D12_FEATURE_DATA_D3D12_OPTIONS8 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS8).unwrap_or_default();
        let upload: D3D12_FEATURE_DATA_D3D12_OPTIONS16 =
            query(device, D3D12_FEATURE_D3D12_OPTIONS16).unwrap_or_default();
        let tight: TightAlignment = query(device, FEATURE_TIGHT_ALIGNMENT).unwrap_or_default();
        // Runtimes that support this structure, or this interface, support the flag.
        let knows_not_zeroed =
            query::<D3D12_FEATURE_DATA_D3D12_OPTIONS7>(device, D3D12_FEATURE_D3D12_OPTIONS7).is_some()
                || device.cast::<ID3D12Device8>().is_ok();
        let has_device_10 = interfaces.device10.is_some();
        let tiled_tier = base.TiledResourcesTier.0;
        let assumed = if options.assume_tiled_resources { D3D12_TILED_RESOURCES_TIER_1.0 } else { 0 };
        Self {
            heap_tier_2: options.heap_tier_2 && base.ResourceHeapTier.0 >= D3D12_RESOURCE_HEAP_TIER_2.0,
            tiled_tier: tiled_tier.max(assumed),
            uma: architecture.UMA.as_bool(),
            copy_queue_timestamps: copies.CopyQueueTimestampQueriesSupported.as_bool()
                && makes_copy_queue_timestamps(device),
            enhanced_barriers: options.enhanced_barriers
                && has_device_10
                && barriers.EnhancedBarriersSupported.as_bool(),
            // The list of formats is a parameter of the calls with an initial layout, which require enhanced
            // barriers. Only the newer interface returns the requirements of a texture with such a list: without
            // it, the list might need more memory than was queried.
            relaxed_casting: options.relaxed_casting
                && has_device_10
                && interfaces.device12.is_some()
                && barriers.EnhancedBarriersSupported.as_bool()
                && barriers.RelaxedFormatCastingSupported.as_bool(),
            gpu_upload_heaps: options.gpu_upload_heaps && upload.GPUUploadHeapSupported.as_bool(),
            not_zeroed: options.not_zeroed && knows_not_zeroed,
            shared_memory: options.shared_memory,
            tight_alignment: options.tight_alignment && tight.support_tier > 0,
            small_textures: options.small_textures,
            small_multisampled: targets.MSAA64KBAlignedTextureSupported.as_bool(),
            acceleration_structures: tracing.RaytracingTier.0 >= D3D12_RAYTRACING_TIER_1_0.0
                && device.cast::<ID3D12Device5>().is_ok(),
            ray_queries: tracing.RaytracingTier.0 >= D3D12_RAYTRACING_TIER_1_1.0
                && device.cast::<ID3D12Device5>().is_ok(),
            unaligned_blocks: blocks.UnalignedBlockTexturesSupported.as_bool(),
            stencil_copies: has_planes(device),
            // The function came with `CreateSampler2`.
            comparison_none: device.cast::<ID3D12Device11>().is_ok(),
            address_bits: address_bits(device, &base),
        }
    }
}

/// Wine's vkd3d reports timestamps on copy queues, but creates no heap for them.
fn makes_copy_queue_timestamps(device: &ID3D12Device) -> bool {
    let desc =
        D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP, Count: 1, NodeMask: 0 };
    let mut made: Option<ID3D12QueryHeap> = None;
    // SAFETY: both pointers are to locals that outlive the call.
    unsafe { device.CreateQueryHeap(&raw const desc, &raw mut made) }.is_ok() && made.is_some()
}

/// True if stencil has a separate subresource. Wine's vkd3d takes its index for that of a layer, and copies out
/// of bounds.
fn has_planes(device: &ID3D12Device) -> bool {
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 4,
        Height: 4,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_D32_FLOAT_S8X24_UINT,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..Default::default()
    };
    let mut footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default();
    // SAFETY: the description and the only requested footprint outlive the call.
    unsafe {
        device.GetCopyableFootprints(&raw const desc, 1, 1, 0, Some(&raw mut footprint), None, None, None)
    };
    let stencil = [DXGI_FORMAT_R8_TYPELESS, DXGI_FORMAT_R8_UINT];
    stencil.contains(&footprint.Footprint.Format)
}

fn address_bits(device: &ID3D12Device, base: &D3D12_FEATURE_DATA_D3D12_OPTIONS) -> u32 {
    let addresses: Option<D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT> =
        query(device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT);
    let bits = addresses.map_or(0, |addresses| addresses.MaxGPUVirtualAddressBitsPerResource);
    bits.max(base.MaxGPUVirtualAddressBitsPerResource)
}

/// The feature level of a device; shown as Microsoft writes it, `12_1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureLevel(pub D3D_FEATURE_LEVEL);

impl fmt::Display for FeatureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.0;
        write!(f, "{}_{}", number >> 12, number >> 8 & 0xf)
    }
}

/// The highest level of a device; at least 11.0, which it was created with.
pub(crate) fn feature_level(device: &ID3D12Device) -> FeatureLevel {
    let levels = [
        D3D_FEATURE_LEVEL_11_0,
        D3D_FEATURE_LEVEL_11_1,
        D3D_FEATURE_LEVEL_12_0,
        D3D_FEATURE_LEVEL_12_1,
        D3D_FEATURE_LEVEL_12_2,
    ];
    // Runtimes that do not support the last ones refuse the query.
    let known = (1..=levels.len()).rev().find_map(|count| {
        let question = D3D12_FEATURE_DATA_FEATURE_LEVELS {
            NumFeatureLevels: u32::try_from(count).ok()?,
            pFeatureLevelsRequested: levels.as_ptr(),
            ..Default::default()
        };
        // SAFETY: the structure is that of the feature, and points to that many levels.
        unsafe { ask(device, D3D12_FEATURE_FEATURE_LEVELS, question) }
    });
    FeatureLevel(known.map_or(D3D_FEATURE_LEVEL_11_0, |answer| answer.MaxSupportedFeatureLevel))
}

#[cfg(test)]
mod tests {
    use windows::Win32::Graphics::Direct3D::{D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_2};

    use super::FeatureLevel;

    #[test]
    fn levels_are_shown_as_they_are_written() {
        assert_eq!(FeatureLevel(D3D_FEATURE_LEVEL_11_0).to_string(), "11_0");
        assert_eq!(FeatureLevel(D3D_FEATURE_LEVEL_12_2).to_string(), "12_2");
    }
}
