//! Reserved resources. If the runtime has no tiled resources, they are refused; the code path is tested
//! nevertheless, as far as the runtime accepts the calls.

use crate::harness::PERMIT;
use tenure_core::device::{
    Features, HeapCategory, QueueSerial, ResourceDesc, TileSource, TileUpdate, prelude::*,
};
use tenure_core::{DeviceError, Format, TextureDesc, TileRegion, Usage};
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{
    Bench, COMPUTE, GPU_ONLY, GRAPHICS, KIB, LONG, MIB, UPLOAD, buffer, create, device, heap_desc, pattern,
    refused,
};

const TILE: u64 = 64 * KIB;

/// A device that is assumed to have tiled resources, whatever it reports.
fn assumed() -> Device {
    create(DeviceConfig::default().assume_tiled_resources(true))
}

fn update<'a>(
    resource: &'a tenure_d3d12::Resource,
    region: TileRegion,
    source: TileSource<'a, Device>,
) -> TileUpdate<'a, Device> {
    TileUpdate { resource, region, source }
}

#[test]
fn missing_features_are_refused_by_name() {
    let device = device();
    let offered = device.properties().features.contains(Features::RESERVED_BUFFERS);
    let made = device.create_reserved(&buffer(16 * TILE, Usage::SHADER_READ));
    match made {
        Ok(_) => assert!(offered),
        Err(error) => {
            assert_eq!(error, DeviceError::Unsupported { feature: "reserved buffers (tiled resources)" });
            assert!(!offered);
        }
    }
    let device = assumed();
    let unsupported = |desc: TextureDesc| {
        let made = device.create_reserved(&ResourceDesc::Texture(desc.info));
        assert!(matches!(made, Err(DeviceError::Unsupported { .. })), "{made:?}");
    };
    unsupported(TextureDesc::d3(64, 64, 64, Format::R8Unorm, Usage::SHADER_READ));
    unsupported(TextureDesc::d2(256, 256, Format::D32Float, Usage::DEPTH_STENCIL));
    unsupported(TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4));
    unsupported(TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ).mips(3).layers(2));
}

#[test]
fn buffers_and_textures_are_tiled() {
    let device = assumed();
    let reserved = device.create_reserved(&buffer(16 * TILE - 5, Usage::SHADER_READ)).unwrap();
    let layout = device.tile_layout(&reserved).unwrap();
    assert_eq!((layout.tile_size, &layout.subresources[..]), (TILE, &[[16, 1, 1]][..]));
    let desc = TextureDesc::d2(512, 256, Format::Rgba8Unorm, Usage::SHADER_READ).mips(3);
    let image = device.create_reserved(&ResourceDesc::Texture(desc.info)).unwrap();
    let layout = device.tile_layout(&image).unwrap();
    assert_eq!(layout.tile_extent, [128, 128, 1]);
    assert_eq!(layout.subresources[0], [4, 2, 1]);
    assert_eq!(layout.subresources[1], [2, 1, 1]);
    assert_eq!(layout.subresources.len(), 3);
    let array = TextureDesc::d2(256, 128, Format::Rgba8Unorm, Usage::SHADER_READ).layers(3);
    let array = device.create_reserved(&ResourceDesc::Texture(array.info)).unwrap();
    assert_eq!(device.tile_layout(&array).unwrap().subresources, [[2, 1, 1]; 3]);
    let plain = device.create_committed(&buffer(64, Usage::VERTEX), GPU_ONLY).unwrap();
    refused(device.tile_layout(&plain), "the resource is reserved");
}

/// Mappings are changed in the queue's order and signalled like any other work.
#[test]
fn mappings_are_submitted_and_counted() {
    let mut bench = Bench::new(assumed());
    let device = bench.device.clone();
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let (first, second) = (
        device.create_reserved(&buffer(8 * TILE, usage)).unwrap(),
        device.create_reserved(&buffer(8 * TILE, usage)).unwrap(),
    );
    let desc = TextureDesc::d2(512, 256, Format::Rgba8Unorm, usage);
    let image = device.create_reserved(&ResourceDesc::Texture(desc.info)).unwrap();
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let from = |offset| TileSource::Heap { heap: &heap, offset };
    let boxed = TileRegion { subresource: 0, origin: [1, 0, 0], extent: [2, 2, 1] };
    let updates = [
        update(&first, TileRegion::buffer(0, 8), from(0)),
        update(&image, boxed, from(8 * TILE)),
        update(
            &second,
            TileRegion::buffer(2, 3),
            TileSource::CopyOf { resource: &first, region: TileRegion::buffer(1, 3) },
        ),
        update(&first, TileRegion::buffer(4, 2), TileSource::Unmapped),
    ];
    let serial = bench.next(GRAPHICS);
    device.update_tiles(PERMIT, GRAPHICS, &updates, &[], serial).unwrap();
    let mapped = QueueSerial { queue: GRAPHICS, serial };
    let serial = bench.next(COMPUTE);
    device.update_tiles(PERMIT, COMPUTE, &[], &[mapped], serial).unwrap();
    let done = QueueSerial { queue: COMPUTE, serial };
    assert!(device.wait(done, LONG).unwrap());
    // A runtime may report the fences of two queues in another order than it signals them.
    assert!(device.wait(mapped, LONG).unwrap());
    assert_eq!((device.completed(GRAPHICS), device.completed(COMPUTE)), (Ok(1), Ok(1)));
    // The mapped tiles hold bytes; the runtime decides whether they are in the heap.
    let bytes = pattern(2 * TILE as usize, 8);
    assert_eq!(bench.round_trip(&first, &bytes), bytes);
}

#[test]
fn tiles_outside_and_wrong_heaps_change_nothing() {
    let mut bench = Bench::new(assumed());
    let serial = bench.next(GRAPHICS);
    let device = &bench.device;
    let reserved = device.create_reserved(&buffer(8 * TILE, Usage::SHADER_READ)).unwrap();
    let heap = device.create_heap(&heap_desc(4 * TILE, GPU_ONLY, HeapCategory::Any)).unwrap();
    let tile = TileRegion::buffer(0, 1);
    let attempt = |region, source| {
        device.update_tiles(PERMIT, GRAPHICS, &[update(&reserved, region, source)], &[], serial)
    };
    let from = |offset| TileSource::Heap { heap: &heap, offset };
    let inside = "the tile region is inside the resource";
    for region in [
        TileRegion::buffer(8, 1),
        TileRegion::buffer(7, 2),
        TileRegion::buffer(0, 0),
        TileRegion::buffer(u32::MAX, u32::MAX),
    ] {
        refused(attempt(region, TileSource::Unmapped), inside);
    }
    let elsewhere = TileRegion { subresource: 1, ..tile };
    refused(attempt(elsewhere, TileSource::Unmapped), "the subresource exists");
    refused(attempt(tile, from(4 * TILE)), "the tiles are inside the heap");
    refused(attempt(TileRegion::buffer(0, 5), from(0)), "the tiles are inside the heap");
    refused(attempt(tile, from(!(TILE - 1))), "the tiles are inside the heap");
    refused(attempt(tile, from(4 * KIB)), "the heap offset of a tile is aligned");
    let textures = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Textures)).unwrap();
    let wrong = TileSource::Heap { heap: &textures, offset: 0 };
    refused(attempt(tile, wrong), "the heap is of the resource's category");
    let upload = device.create_heap(&heap_desc(MIB, UPLOAD, HeapCategory::Any)).unwrap();
    refused(attempt(tile, TileSource::Heap { heap: &upload, offset: 0 }), "tiles lie in default heaps");
    let copy = TileSource::CopyOf { resource: &reserved, region: TileRegion::buffer(0, 2) };
    refused(attempt(tile, copy), "mappings are copied between regions of one shape");
    let plain = device.create_committed(&buffer(TILE, Usage::SHADER_READ), GPU_ONLY).unwrap();
    let copy = TileSource::CopyOf { resource: &plain, region: tile };
    refused(attempt(tile, copy), "the resource is reserved");
    assert_eq!(device.completed(GRAPHICS), Ok(0), "nothing was submitted");
    device.update_tiles(PERMIT, GRAPHICS, &[update(&reserved, tile, from(0))], &[], serial).unwrap();
    // Both are in use until the mappings are changed.
    assert!(device.wait(QueueSerial { queue: GRAPHICS, serial }, LONG).unwrap());
}
