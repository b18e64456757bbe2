//! Requirements of resources: sizes, alignments, memory types, categories.

pub(crate) mod formats;
pub(crate) mod tiles;

use tenure_core::device::{
    Allowed, BufferInfo, DeviceError, Dimension, Features, Format, HeapCategory, MemoryFlags, Properties,
    Requirements, ResourceDesc, TEXTURE_WRITES, TextureInfo, Usage,
};

use crate::layout::mip_bytes;
use crate::profile::Rules;

const KIB: u64 = 1 << 10;
const SMALL_PAGE: u64 = 4 * KIB;
const TIGHT_PAGE: u64 = 256;
const PAGE: u64 = 64 * KIB;

/// Sizes are counted in 64 bits.
pub(crate) const TOO_LARGE: &str = "less than 2^64 bytes in all";

const fn unsupported(feature: &'static str) -> DeviceError {
    DeviceError::Unsupported { feature }
}

/// Checks `desc` against the limits of the device.
pub(crate) fn check_limits(properties: &Properties, desc: &ResourceDesc) -> Result<(), DeviceError> {
    desc.validate()?;
    let needed = [
        (
            Usage::ACCELERATION_STRUCTURE,
            Features::ACCELERATION_STRUCTURES,
            unsupported("acceleration structures"),
        ),
        (Usage::SHADER_BINDING_TABLE, Features::RAY_TRACING_PIPELINES, unsupported("shader binding tables")),
        (Usage::SHARED, Features::SHARED_MEMORY, unsupported("shared memory")),
        (
            Usage::SHARED_ACROSS_DRIVERS,
            Features::SHARED_ACROSS_DRIVERS,
            unsupported("memory shared across drivers"),
        ),
        (Usage::CPU_WRITE, Features::TEXTURE_WRITES, unsupported(TEXTURE_WRITES)),
    ];
    for (usage, feature, error) in needed {
        if desc.usage().contains(usage) && !properties.features.contains(feature) {
            return Err(error);
        }
    }
    match desc {
        ResourceDesc::Buffer(info) if info.size > properties.max_buffer_size => {
            let allowed = Allowed::AtMost(properties.max_buffer_size);
            Err(DeviceError::invalid_desc("size", info.size, allowed))
        }
        ResourceDesc::Buffer(_) => Ok(()),
        ResourceDesc::Texture(info) => {
            let (side, depth, depth_limit) = match info.dimension {
                Dimension::D3 => (properties.max_texture_3d, info.depth_or_layers, properties.max_texture_3d),
                _ => (properties.max_texture_2d, info.depth_or_layers, properties.max_layers),
            };
            for (field, value, limit) in [
                ("width", info.width, side),
                ("height", info.height, side),
                ("depth_or_layers", depth, depth_limit),
            ] {
                if value > limit {
                    let allowed = Allowed::AtMost(u64::from(limit));
                    return Err(DeviceError::invalid_desc(field, value, allowed));
                }
            }
            Ok(())
        }
    }
}

/// The requirements of `desc` for a heap of this device.
pub(crate) fn requirements(
    properties: &Properties,
    rules: Rules,
    desc: &ResourceDesc,
) -> Result<Requirements, DeviceError> {
    check_limits(properties, desc)?;
    let found = match (desc, rules) {
        (ResourceDesc::Buffer(info), Rules::D3d12 { tier1, .. }) => d3d12_buffer(properties, tier1, info),
        (ResourceDesc::Texture(info), Rules::D3d12 { tier1, .. }) => d3d12_texture(properties, tier1, info),
        (ResourceDesc::Buffer(info), Rules::Vulkan { buffer_alignment, split, .. }) => {
            vulkan_buffer(properties, buffer_alignment, split, info)
        }
        (ResourceDesc::Texture(info), Rules::Vulkan { .. }) => vulkan_texture(properties, rules, info),
    };
    found.ok_or_else(|| DeviceError::invalid_desc("size", u64::MAX, Allowed::Rule(TOO_LARGE)))
}

const fn needs(size: u64, alignment: u64, memory_types: u32, category: HeapCategory) -> Requirements {
    Requirements {
        size,
        alignment,
        memory_types,
        category,
        prefers_dedicated: false,
        requires_dedicated: false,
    }
}

/// The memory types with matching flags, one in each bit.
pub(crate) fn memory_types(properties: &Properties, is_wanted: impl Fn(MemoryFlags) -> bool) -> u32 {
    let types = properties.memory_types.iter().zip(0_u32..32).filter(|(memory, _)| is_wanted(memory.flags));
    types.fold(0, |mask, (_, index)| mask | 1 << index)
}

fn general_types(properties: &Properties) -> u32 {
    memory_types(properties, |flags| !flags.contains(MemoryFlags::LAZILY_ALLOCATED))
}

fn d3d12_buffer(properties: &Properties, tier1: bool, info: &BufferInfo) -> Option<Requirements> {
    let tight = properties.features.contains(Features::TIGHT_ALIGNMENT);
    // The minimum that a driver with tight alignment may return is 8.
    let alignment = if tight { by_use(properties, info.usage, 8) } else { PAGE };
    let types = d3d12_buffer_types(properties, info.usage);
    let category = if tier1 { HeapCategory::Buffers } else { HeapCategory::Any };
    Some(needs(info.size.checked_next_multiple_of(alignment)?, alignment, types, category))
}

/// Acceleration structures and shared resources are in default heaps only, and resources that shaders write in no upload or
/// readback heap.
fn d3d12_buffer_types(properties: &Properties, usage: Usage) -> u32 {
    let is_bound = usage.intersects(Usage::ACCELERATION_STRUCTURE | Usage::SHARED);
    let is_written = usage.contains(Usage::UNORDERED_ACCESS);
    memory_types(properties, |flags| {
        let is_local = flags.contains(MemoryFlags::DEVICE_LOCAL);
        let is_default = !flags.contains(MemoryFlags::HOST_VISIBLE);
        is_default || (!is_bound && (is_local || !is_written))
    })
}

/// The offset alignment of a buffer's content, by its usage; at least `least`.
fn by_use(properties: &Properties, usage: Usage, least: u64) -> u64 {
    let uses = [
        (Usage::CONSTANT, properties.constant_alignment),
        (Usage::UNORDERED_ACCESS | Usage::SHADER_READ, properties.storage_alignment),
        (Usage::ACCELERATION_STRUCTURE, properties.acceleration_structure_alignment),
        (Usage::SHADER_BINDING_TABLE, properties.rays.group_base_alignment),
    ];
    let asked = uses.into_iter().filter(|(used, _)| usage.intersects(*used));
    asked.fold(least, |alignment, (_, needed)| alignment.max(needed))
}

fn d3d12_texture(properties: &Properties, tier1: bool, info: &TextureInfo) -> Option<Requirements> {
    let target = info.usage.intersects(Usage::TEXTURE_ONLY);
    // The rule of D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT: no target, no samples, and the most
    // detailed mip takes at most sixteen 4 KiB tiles.
    let small = !target && info.samples == 1 && tiled_mip(info, 0, SMALL_PAGE)? <= PAGE;
    // With tight alignment drivers need smaller alignments for buffers only; this one has them for small
    // textures, too.
    let page = match (small, properties.features.contains(Features::TIGHT_ALIGNMENT)) {
        (true, true) => TIGHT_PAGE,
        (true, false) => SMALL_PAGE,
        (false, _) => PAGE,
    };
    let alignment = if info.samples > 1 { multisampled_alignment(info)? } else { page };
    let category = match (tier1, target) {
        (false, _) => HeapCategory::Any,
        (true, true) => HeapCategory::Targets,
        (true, false) => HeapCategory::Textures,
    };
    Some(needs(tiled_bytes(info, page)?.checked_next_multiple_of(page)?, alignment, 1, category))
}

/// The rule of D3D12_SMALL_MSAA_RESOURCE_PLACEMENT_ALIGNMENT: resources of at most 4 MiB may be at 64 KiB. The
/// heap is nevertheless aligned to 4 MiB.
fn multisampled_alignment(info: &TextureInfo) -> Option<u64> {
    const LARGE: u64 = 4 << 20;
    Some(if tiled_mip(info, 0, PAGE)? <= LARGE { PAGE } else { LARGE })
}

fn vulkan_buffer(
    properties: &Properties,
    alignment: u64,
    split: bool,
    info: &BufferInfo,
) -> Option<Requirements> {
    let alignment = by_use(properties, info.usage, alignment);
    let category = if split { HeapCategory::Buffers } else { HeapCategory::Any };
    let size = info.size.checked_next_multiple_of(alignment)?;
    Some(needs(size, alignment, general_types(properties), category))
}

fn vulkan_texture(properties: &Properties, rules: Rules, info: &TextureInfo) -> Option<Requirements> {
    let Rules::Vulkan {
        image_alignment,
        large_image_alignment,
        image_types,
        split,
        dedicated_targets_from,
        ..
    } = rules
    else {
        return None;
    };
    let target = info.usage.intersects(Usage::TEXTURE_ONLY);
    let packed = tiled_bytes(info, image_alignment.max(256))?;
    let alignment = if packed > PAGE { large_image_alignment } else { image_alignment };
    let size = packed.checked_next_multiple_of(alignment)?;
    let is_transient = info.usage.contains(Usage::TRANSIENT_ATTACHMENT);
    let types = if is_transient { image_types } else { image_types & general_types(properties) };
    let category = if split { HeapCategory::Textures } else { HeapCategory::Any };
    let is_large = target && size >= dedicated_targets_from;
    let prefers_dedicated = properties.features.contains(Features::DEDICATED) && is_large;
    Some(Requirements { prefers_dedicated, ..needs(size, alignment, types, category) })
}

/// Width and height in texels of a tile of `bytes`, by the standard tile shapes: squares or two
/// squares side by side of texel blocks.
pub(crate) fn tile_extent(format: Format, bytes: u64) -> [u32; 2] {
    let block = format.block();
    // Depth and stencil are separate: 4 bytes and 1, and a power of two for both.
    let texel = if format.has_stencil() { 8 } else { block.bytes };
    let blocks = (bytes / u64::from(texel)).max(1).ilog2();
    let (across, down) = (blocks.div_ceil(2), blocks / 2);
    [block.width << across, block.height << down]
}

/// Bytes of a mip of one layer in whole tiles of `tile` bytes.
fn tiled_mip(info: &TextureInfo, mip: u32, tile: u64) -> Option<u64> {
    let [tile_width, tile_height] = tile_extent(info.format, tile);
    let [width, height, depth] = info.mip_extent(mip);
    u64::from(width.div_ceil(tile_width))
        .checked_mul(u64::from(height.div_ceil(tile_height)))?
        .checked_mul(u64::from(depth))?
        .checked_mul(u64::from(info.samples))?
        .checked_mul(tile)
}

/// Bytes of the whole texture: mips of at least a tile in whole tiles, the smaller ones packed
/// behind them, each layer on its own.
fn tiled_bytes(info: &TextureInfo, tile: u64) -> Option<u64> {
    let [tile_width, tile_height] = tile_extent(info.format, tile);
    let (mut whole, mut packed) = (0_u64, 0_u64);
    for mip in 0..info.mips {
        let [width, height, _] = info.mip_extent(mip);
        if width >= tile_width && height >= tile_height {
            whole = whole.checked_add(tiled_mip(info, mip, tile)?)?;
        } else {
            // A long thin mip has whole tiles along its length, but never more than its share.
            let share = tiled_mip(info, mip, tile)?.min(mip_bytes(info, mip)?.checked_next_multiple_of(256)?);
            packed = packed.checked_add(share)?;
        }
    }
    let layer = whole.checked_add(packed.checked_next_multiple_of(tile.min(SMALL_PAGE))?)?;
    layer.checked_mul(u64::from(info.layers()))
}
