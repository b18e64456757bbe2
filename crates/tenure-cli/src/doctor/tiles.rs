//! Sparse resources: the sizes of tiles.

use serde::Serialize;
use tenure::device::{Device, Features, ResourceDesc, prelude::*};
use tenure::error::DeviceError;
use tenure::resource::BufferInfo;
use tenure::{Format, TextureDesc, Usage};

use super::examination::{Bounds, Opener, noted, permit};
use crate::examined::Failure;

/// The side of the textures, large enough for several tiles of every format.
const SIDE: u32 = 1024;

/// The tiles of sparse resources.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(super) struct Tiles {
    /// Bytes of a tile of buffers; `null` if unsupported.
    pub(super) buffer_tile: Option<u64>,
    pub(super) textures: Vec<Tile>,
}

/// The tiles of a format.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Tile {
    pub(super) format: String,
    pub(super) tile: u64,
    /// Width, height and depth in texels.
    pub(super) extent: [u32; 3],
    pub(super) first_packed_mip: u32,
    pub(super) packed_tiles: u32,
    /// The memory types of tiles, as a bit mask.
    pub(super) memory_types: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

fn layout<D: Device>(device: &D, desc: &ResourceDesc) -> Result<tenure::device::TileLayout, DeviceError> {
    let resource = device.create_reserved(desc)?;
    let layout = device.tile_layout(&resource);
    device.destroy_resource(permit(), resource);
    layout
}

pub(super) fn examine<P: Opener>(opener: &P, bounds: &Bounds, found: &mut Tiles) -> Result<(), Failure> {
    let device = opener.open()?;
    let features = device.properties().features;
    if !features.intersects(Features::RESERVED_BUFFERS | Features::RESERVED_TEXTURES) {
        return Err(Failure::Unsupported("the device has no sparse resources".to_owned()));
    }
    if features.contains(Features::RESERVED_BUFFERS) {
        let buffer = ResourceDesc::Buffer(BufferInfo::new(1 << 20, Usage::SHADER_READ));
        found.buffer_tile = Some(layout(&device, &buffer)?.tile_size);
    }
    if !features.contains(Features::RESERVED_TEXTURES) {
        return Ok(());
    }
    for format in
        [Format::R8Unorm, Format::Rgba8Unorm, Format::Rgba16Float, Format::Rgba32Float, Format::Bc7Unorm]
    {
        bounds.check()?;
        if !device.supports_format(format, Usage::SHADER_READ) {
            continue;
        }
        let full = u32::BITS - SIDE.leading_zeros();
        let desc = TextureDesc::d2(SIDE, SIDE, format, Usage::SHADER_READ | Usage::COPY_DST).mips(full);
        let layout = layout(&device, &ResourceDesc::Texture(desc.info));
        let format = format!("{format:?}");
        found.textures.push(match layout {
            Ok(layout) => Tile {
                format,
                tile: layout.tile_size,
                extent: layout.tile_extent,
                first_packed_mip: layout.first_packed_mip,
                packed_tiles: layout.packed_tiles,
                memory_types: layout.memory_types,
                error: None,
            },
            Err(error) => Tile {
                format,
                tile: 0,
                extent: [0; 3],
                first_packed_mip: 0,
                packed_tiles: 0,
                memory_types: 0,
                error: Some(noted(error)?),
            },
        });
    }
    Ok(())
}
