//! Reserved resources: an address range whose tiles are mapped later.

use std::sync::Arc;

use tenure_core::device::{
    CallRule, DeviceError, Dimension, Features, Permit, QueueId, QueueSerial, ResourceDesc, SubmitSync,
    TextureInfo, TileDevice, TileLayout, TileRegion, TileSource, TileUpdate, Usage, check,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CLEAR_VALUE, D3D12_PACKED_MIP_INFO, D3D12_RESOURCE_STATE_COMMON, D3D12_SUBRESOURCE_TILING,
    D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, D3D12_TILE_MAPPING_FLAG_NONE, D3D12_TILE_RANGE_FLAG_NONE,
    D3D12_TILE_RANGE_FLAG_NULL, D3D12_TILE_REGION_SIZE, D3D12_TILE_SHAPE, D3D12_TILED_RESOURCE_COORDINATE,
    D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES, ID3D12CommandQueue, ID3D12Device, ID3D12Heap, ID3D12Resource,
};

use crate::Device;
use crate::device::error::Asked;
use crate::device::inner::{Inner, made};
use crate::device::memory::heap::HeapCore;
use crate::device::memory::requirements::GPU_ONLY;
use crate::device::resource::create::{NO_SESSION, initial_layout};
use crate::device::resource::object::{Memory, Resource};
use crate::device::setup::caps::RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
use crate::small_alignment::tile_texels;

/// Bytes of a tile.
const TILE: u64 = D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES as u64;
/// Tiles are in default heaps only.
const TILE_TYPES: u32 = 1 << GPU_ONLY.0;

/// The first tier of tiled resources that allows arrays with mips smaller than a tile:
/// `D3D12_TILED_RESOURCES_TIER_4`.
const ARRAYS_WITH_PACKED_MIPS: i32 = 4;

/// The tiling of a reserved resource.
pub(crate) struct Tiling {
    pub(crate) layout: TileLayout,
    /// Mips of a texture, 1 for a buffer.
    mips: u32,
}

impl Tiling {
    /// The extent of a subresource, or of the packed mips, in tiles.
    fn extent(&self, subresource: u32) -> Option<[u32; 3]> {
        let layout = &self.layout;
        let standard = *layout.subresources.get(subresource as usize)?;
        if self.is_packed(subresource) { Some([layout.packed_tiles, 1, 1]) } else { Some(standard) }
    }

    fn is_packed(&self, subresource: u32) -> bool {
        self.layout.packed_tiles > 0 && subresource % self.mips.max(1) == self.layout.first_packed_mip
    }

    /// Checks that a region is not empty and lies inside; returns its tiles.
    fn check(&self, region: &TileRegion) -> Result<u32, DeviceError> {
        let count = self.layout.subresources.len() as u64;
        let Some(extent) = self.extent(region.subresource) else {
            return Err(DeviceError::invalid_call(
                CallRule::SubresourceExists,
                u64::from(region.subresource),
                count,
            ));
        };
        check::tile_region(region, extent)?;
        region.tiles().ok_or(DeviceError::invalid_call(CallRule::TileRegionInside, u64::MAX, count))
    }
}

/// Direct3D's form of a region: boxes if there are rows, otherwise runs of tiles.
fn address(region: &TileRegion, tiles: u32) -> (D3D12_TILED_RESOURCE_COORDINATE, D3D12_TILE_REGION_SIZE) {
    let [x, y, z] = region.origin;
    let [width, height, depth] = region.extent;
    let coordinate = D3D12_TILED_RESOURCE_COORDINATE { X: x, Y: y, Z: z, Subresource: region.subresource };
    let narrow = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    let is_box = height > 1 || depth > 1;
    let size = D3D12_TILE_REGION_SIZE {
        NumTiles: tiles,
        UseBox: is_box.into(),
        Width: if is_box { width } else { 0 },
        Height: if is_box { narrow(height) } else { 0 },
        Depth: if is_box { narrow(depth) } else { 0 },
    };
    (coordinate, size)
}

/// One update, checked.
struct Change<'a> {
    resource: &'a ID3D12Resource,
    at: D3D12_TILED_RESOURCE_COORDINATE,
    size: D3D12_TILE_REGION_SIZE,
    source: Source<'a>,
}

enum Source<'a> {
    Heap { heap: &'a ID3D12Heap, first: u32 },
    Nothing,
    CopyOf { resource: &'a ID3D12Resource, at: D3D12_TILED_RESOURCE_COORDINATE },
}

impl TileDevice for Device {
    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.inner.look()?;
        self.inner.check_reserved(desc)?;
        let mut described = self.inner.describe(desc)?;
        described.desc.Flags &= !RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        if matches!(desc, ResourceDesc::Texture(_)) {
            described.desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
        }
        let clear = described.clear.as_ref().map(std::ptr::from_ref::<D3D12_CLEAR_VALUE>);
        let mut raw: Option<ID3D12Resource> = None;
        let answer = match self.inner.layouts_for(&described) {
            // SAFETY: all pointers are to locals that outlive the call.
            Some(device) => unsafe {
                device.CreateReservedResource2(
                    &described.older(),
                    initial_layout(desc),
                    clear,
                    NO_SESSION,
                    (!described.castable.is_empty()).then_some(&described.castable),
                    &raw mut raw,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                self.inner.raw.CreateReservedResource(
                    &described.older(),
                    D3D12_RESOURCE_STATE_COMMON,
                    clear,
                    &raw mut raw,
                )
            },
        };
        answer.map_err(|error| self.inner.fail(&error, Asked::Object("CreateReservedResource")))?;
        let raw = made(raw, "CreateReservedResource makes a resource")?;
        let tiling = tiling(&self.inner.raw, &raw, desc)?;
        self.inner.messages.deliver();
        Ok(Resource::new(&self.inner, raw, desc.clone(), GPU_ONLY, Memory::Reserved(tiling)))
    }

    fn tile_layout(&self, resource: &Resource) -> Result<TileLayout, DeviceError> {
        self.inner.look()?;
        tiling_of(resource).map(|tiling| tiling.layout.clone())
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.inner.look()?;
        let changes =
            updates.iter().map(|update| self.inner.change(update)).collect::<Result<Vec<_>, _>>()?;
        let sync = SubmitSync::new(waits, signal);
        self.inner.in_order(queue, sync, |raw| changes.iter().for_each(|change| apply(raw, change)))
    }
}

impl Inner {
    fn check_reserved(&self, desc: &ResourceDesc) -> Result<(), DeviceError> {
        check::reserved_usage(desc)?;
        let unsupported = |feature| Err(DeviceError::Unsupported { feature });
        let features = self.properties.features;
        match desc {
            ResourceDesc::Buffer(_) if !features.contains(Features::RESERVED_BUFFERS) => {
                unsupported("reserved buffers (tiled resources)")
            }
            ResourceDesc::Buffer(info) if info.usage.contains(Usage::ACCELERATION_STRUCTURE) => {
                unsupported("reserved acceleration structures")
            }
            ResourceDesc::Buffer(_) => Ok(()),
            ResourceDesc::Texture(_) if !features.contains(Features::RESERVED_TEXTURES) => {
                unsupported("reserved textures (tiled resources)")
            }
            ResourceDesc::Texture(info) if info.dimension != Dimension::D2 => {
                unsupported("reserved 3D textures")
            }
            ResourceDesc::Texture(info) if info.samples > 1 || info.usage.contains(Usage::DEPTH_STENCIL) => {
                unsupported("reserved depth-stencil or multisampled textures")
            }
            ResourceDesc::Texture(info)
                if info.layers() > 1
                    && has_packed_mips(info)
                    && self.caps.tiled_tier < ARRAYS_WITH_PACKED_MIPS =>
            {
                unsupported("reserved arrays with mips smaller than a tile (tiled resources tier 4)")
            }
            ResourceDesc::Texture(_) => Ok(()),
        }
    }

    fn change<'a>(self: &Arc<Self>, update: &TileUpdate<'a, Device>) -> Result<Change<'a>, DeviceError> {
        if !Arc::ptr_eq(self, &update.resource.device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let tiles = tiling_of(update.resource)?.check(&update.region)?;
        let (at, size) = address(&update.region, tiles);
        let source = match &update.source {
            TileSource::Unmapped => Source::Nothing,
            TileSource::Heap { heap, offset } => {
                let first = self.check_tile_heap(&update.resource.desc, &heap.core, *offset, tiles)?;
                Source::Heap { heap: &heap.core.raw, first }
            }
            TileSource::CopyOf { resource, region } => {
                if !Arc::ptr_eq(self, &resource.device) {
                    return Err(DeviceError::broken_rule(CallRule::SameDevice));
                }
                let from = tiling_of(resource)?.check(region)?;
                if region.extent != update.region.extent {
                    let rule = "mappings are copied between regions of one shape";
                    return Err(DeviceError::invalid_call(rule, u64::from(from), u64::from(tiles)));
                }
                Source::CopyOf { resource: &resource.raw, at: address(region, from).0 }
            }
        };
        Ok(Change { resource: &update.resource.raw, at, size, source })
    }

    /// Checks where tiles are to be mapped to; returns the number of the first tile in the heap.
    fn check_tile_heap(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        heap: &HeapCore,
        offset: u64,
        tiles: u32,
    ) -> Result<u32, DeviceError> {
        if !Arc::ptr_eq(self, &heap.device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        if heap.desc.memory != GPU_ONLY {
            return Err(DeviceError::invalid_value(
                "tiles lie in default heaps",
                u64::from(heap.desc.memory.0),
            ));
        }
        Self::check_category(desc, heap)?;
        check::tiles_in_heap(u64::from(tiles), TILE, offset, heap.desc.size)?;
        u32::try_from(offset / TILE)
            .map_err(|_| DeviceError::invalid_call(CallRule::TilesInsideHeap, offset, heap.desc.size))
    }
}

/// True when the smallest mip does not fill a tile; such mips are packed together.
fn has_packed_mips(info: &TextureInfo) -> bool {
    let [tile_width, tile_height] = tile_texels(info, TILE);
    let [width, height, _] = info.mip_extent(info.mips.saturating_sub(1));
    u64::from(width) < tile_width || u64::from(height) < tile_height
}

fn tiling_of(resource: &Resource) -> Result<&Tiling, DeviceError> {
    match &resource.memory {
        Memory::Reserved(tiling) => Ok(tiling),
        _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
    }
}

fn apply(queue: &ID3D12CommandQueue, change: &Change<'_>) {
    let Change { resource, at, size, source } = change;
    if let Source::CopyOf { resource: from, at: source_at } = source {
        // SAFETY: both resources are alive, reserved and of this device, the regions lie inside
        // them, and all pointers are to data that outlives the call.
        unsafe {
            queue.CopyTileMappings(*resource, at, *from, source_at, size, D3D12_TILE_MAPPING_FLAG_NONE);
        }
        return;
    }
    let (heap, flags, first) = match source {
        Source::Heap { heap, first } => (Some(*heap), D3D12_TILE_RANGE_FLAG_NONE, *first),
        _ => (None, D3D12_TILE_RANGE_FLAG_NULL, 0),
    };
    let tiles = size.NumTiles;
    // SAFETY: the resource is alive, reserved and of this device; one region and one range, both inside the
    // resource and the heap, and all pointers are to data that outlives the call.
    unsafe {
        queue.UpdateTileMappings(
            *resource,
            1,
            Some(at),
            Some(size),
            heap,
            1,
            Some(&raw const flags),
            Some(&raw const first),
            Some(&raw const tiles),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

/// Queries the tiling of a reserved resource.
fn tiling(device: &ID3D12Device, raw: &ID3D12Resource, desc: &ResourceDesc) -> Result<Tiling, DeviceError> {
    match desc {
        ResourceDesc::Buffer(info) => {
            let tiles = u32::try_from(info.size.div_ceil(TILE)).unwrap_or(u32::MAX);
            let layout = TileLayout {
                tile_size: TILE,
                tile_extent: [D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES, 1, 1],
                subresources: vec![[tiles, 1, 1]],
                first_packed_mip: 1,
                packed_tiles: 0,
                memory_types: TILE_TYPES,
            };
            Ok(Tiling { layout, mips: 1 })
        }
        ResourceDesc::Texture(info) => texture_tiling(device, raw, info),
    }
}

fn texture_tiling(
    device: &ID3D12Device,
    raw: &ID3D12Resource,
    info: &TextureInfo,
) -> Result<Tiling, DeviceError> {
    let subresources = info.subresources();
    let mut count = subresources;
    let mut packed = D3D12_PACKED_MIP_INFO::default();
    let mut shape = D3D12_TILE_SHAPE::default();
    let mut tilings = vec![D3D12_SUBRESOURCE_TILING::default(); subresources as usize];
    // SAFETY: the resource is alive and reserved; the vector has space for the number of tilings in `count`, and
    // all pointers outlive the call.
    unsafe {
        device.GetResourceTiling(
            raw,
            None,
            Some(&raw mut packed),
            Some(&raw mut shape),
            Some(&raw mut count),
            0,
            tilings.as_mut_ptr(),
        );
    }
    let extent = |tiling: &D3D12_SUBRESOURCE_TILING| {
        [tiling.WidthInTiles, u32::from(tiling.HeightInTiles), u32::from(tiling.DepthInTiles)]
    };
    let standard = u32::from(packed.NumStandardMips);
    // Packed mips have no separate tiles, even if the driver fills in values for them.
    let of_mip = |(index, tiling): (u32, &D3D12_SUBRESOURCE_TILING)| {
        if index % info.mips.max(1) < standard { extent(tiling) } else { [0; 3] }
    };
    let layout = TileLayout {
        tile_size: TILE,
        tile_extent: [shape.WidthInTexels, shape.HeightInTexels, shape.DepthInTexels],
        subresources: (0..).zip(&tilings).map(of_mip).collect(),
        first_packed_mip: standard,
        packed_tiles: packed.NumTilesForPackedMips,
        memory_types: TILE_TYPES,
    };
    Ok(Tiling { layout, mips: info.mips })
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{DeviceError, TileLayout, TileRegion};

    use super::{TILE, Tiling, address};

    /// 8 x 4 tiles, 4 x 2 tiles, and two packed mips in one tile.
    fn texture() -> Tiling {
        let layout = TileLayout {
            tile_size: TILE,
            tile_extent: [128, 128, 1],
            subresources: vec![[8, 4, 1], [4, 2, 1], [0; 3], [0; 3]],
            first_packed_mip: 2,
            packed_tiles: 1,
            memory_types: 1,
        };
        Tiling { layout, mips: 4 }
    }

    #[test]
    fn regions_are_limited_to_the_texture() {
        let region = |subresource, origin, extent| TileRegion { subresource, origin, extent };
        let tiling = texture();
        assert_eq!(tiling.check(&region(0, [6, 2, 0], [2, 2, 1])), Ok(4));
        assert_eq!(tiling.check(&region(2, [0; 3], [1, 1, 1])), Ok(1), "the packed mips");
        for wrong in [
            region(0, [7, 0, 0], [2, 1, 1]),
            region(0, [0; 3], [0, 1, 1]),
            region(1, [0, 0, 1], [1, 1, 1]),
            region(3, [0; 3], [1, 1, 1]),
            region(4, [0; 3], [1, 1, 1]),
            region(0, [u32::MAX; 3], [u32::MAX; 3]),
        ] {
            assert!(matches!(tiling.check(&wrong), Err(DeviceError::InvalidCall { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn rows_are_boxes_and_runs_are_not() {
        let (at, size) = address(&TileRegion { subresource: 1, origin: [2, 1, 0], extent: [2, 2, 1] }, 4);
        assert_eq!((at.X, at.Y, at.Subresource), (2, 1, 1));
        assert!(size.UseBox.as_bool());
        assert_eq!((size.NumTiles, size.Width, size.Height, size.Depth), (4, 2, 2, 1));
        let (at, size) = address(&TileRegion::buffer(5, 9), 9);
        assert_eq!((at.X, size.NumTiles, size.UseBox.as_bool()), (5, 9, false));
    }
}
