//! Sparse textures: tiles and packed mips.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{Barrier, Features, ResourceDesc, TileSource, TileUpdate, prelude::*};
use tenure_core::{
    BufferLayout, DeviceError, Dimension, Format, Plane, State, Subresource, TextureInfo, TextureRegion,
    TileRegion, Usage,
};
use tenure_vulkan::{Device, Resource};

use crate::basics::{COPIES, GRAPHICS, buffer, bytes, mapped, read, run, texture, tile_heap, write};
use crate::harness::{Vulkan, validated};

const USAGE: Usage = COPIES.union(Usage::SHADER_READ);

fn megatexture() -> TextureInfo {
    let info = texture(512, Format::Rgba8Unorm, USAGE);
    info.height(300).depth_or_layers(2).mips(9)
}

/// All tiles of all mips and layers, each by itself, and their texels.
#[test]
fn every_tile_of_a_texture_can_be_mapped() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let desc = ResourceDesc::Texture(megatexture());
    if !device.properties().features.contains(Features::RESERVED_TEXTURES) {
        let refused = device.create_reserved(&desc);
        assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
        drop(device);
        return vulkan.end();
    }
    let image = device.create_reserved(&desc).unwrap();
    let layout = device.tile_layout(&image).unwrap();
    assert_eq!(layout.subresources.len(), 18);
    let mut regions = Vec::new();
    for (subresource, tiles) in (0..).zip(&layout.subresources) {
        for y in 0..tiles[1] {
            for x in 0..tiles[0] {
                regions.push(TileRegion { subresource, origin: [x, y, 0], extent: [1, 1, 1] });
            }
        }
        if subresource % 9 == layout.first_packed_mip {
            regions.extend((0..layout.packed_tiles).map(|x| TileRegion {
                subresource,
                origin: [x, 0, 0],
                extent: [1, 1, 1],
            }));
        }
    }
    let heap = tile_heap(&device, &image, &desc, regions.len() as u64 * layout.tile_size);
    // Backwards, so that no two tiles follow each other in memory as they do in the image.
    let updates: Vec<_> = (0..)
        .zip(regions.iter().rev())
        .map(|(index, region)| TileUpdate {
            resource: &image,
            region: *region,
            source: TileSource::Heap { heap: &heap, offset: index * layout.tile_size },
        })
        .collect();
    device.update_tiles(PERMIT, GRAPHICS, &updates, &[], 1).unwrap();
    let info = megatexture();
    let mut serial = 1;
    for subresource in 0..18 {
        serial += 1;
        check_subresource(&device, &image, &info, subresource, serial);
    }
    let outside = TileRegion { subresource: 18, origin: [0; 3], extent: [1, 1, 1] };
    let update = TileUpdate { resource: &image, region: outside, source: TileSource::Unmapped };
    assert!(device.update_tiles(PERMIT, GRAPHICS, &[update], &[], serial + 1).is_err());
    device.destroy_resource(PERMIT, image);
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.end();
}

fn check_subresource(device: &Device, image: &Resource, info: &TextureInfo, subresource: u32, serial: u64) {
    let (mip, layer) = (subresource % 9, subresource / 9);
    let extent = info.mip_extent(mip);
    let pitch = (u64::from(extent[0]) * 4).next_multiple_of(512);
    let size = pitch * u64::from(extent[1]);
    let (staging, readback) = (mapped(device, size), mapped(device, size));
    let texels = bytes(usize::try_from(size).unwrap(), u8::try_from(subresource).unwrap());
    write(device, &staging, &texels);
    let layout = BufferLayout { offset: 0, row_pitch: pitch, rows: extent[1] };
    let region = TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent };
    let step = |before, after| Barrier::Transition {
        resource: image,
        subresource: Subresource::One(subresource),
        before,
        after,
        transfer: None,
    };
    run(device, serial, |list| {
        list.barriers(&[step(State::COMMON, State::COPY_DST)]);
        list.copy_buffer_to_texture(&staging, layout, image, region);
        list.barriers(&[step(State::COPY_DST, State::COPY_SRC)]);
        list.copy_texture_to_buffer(image, region, &readback, layout);
    });
    let found = read(device, &readback, usize::try_from(size).unwrap());
    let (row, pitch) = (extent[0] as usize * 4, usize::try_from(pitch).unwrap());
    for (found, expected) in found.chunks(pitch).zip(texels.chunks(pitch)) {
        assert!(found[..row] == expected[..row], "mip {mip} of layer {layer}");
    }
    device.destroy_resource(PERMIT, staging);
    device.destroy_resource(PERMIT, readback);
}

/// Unsupported sparse textures are refused by name.
#[test]
fn impossible_reserved_resources_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let refused = |info: TextureInfo| {
        let made = device.create_reserved(&ResourceDesc::Texture(info));
        assert!(matches!(made, Err(DeviceError::Unsupported { .. })), "{made:?}");
    };
    refused(texture(256, Format::D32Float, Usage::DEPTH_STENCIL));
    refused(texture(256, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4));
    refused(texture(64, Format::Rgba8Unorm, USAGE).dimension(Dimension::D3).depth_or_layers(4));
    if device.properties().features.contains(Features::RESERVED_BUFFERS) {
        let huge = device.create_reserved(&buffer(u64::MAX, USAGE));
        assert!(matches!(huge, Err(DeviceError::InvalidDesc { field: "size", .. })), "{huge:?}");
    }
    let plain = mapped(&device, 256);
    assert!(matches!(device.tile_layout(&plain), Err(DeviceError::InvalidCall { .. })));
    device.destroy_resource(PERMIT, plain);
    drop(device);
    vulkan.end();
}
