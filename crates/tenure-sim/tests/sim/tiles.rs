//! Reserved resources.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, DeviceConfig, HazardKind, Heap, Lag, Profile, Resource};

use crate::common::*;

const TILE: u64 = 64 << 10;
const USES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

fn device(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::None))
}

fn pool(device: &Device, tiles: u64) -> Heap {
    device
        .create_heap(&HeapDesc {
            size: tiles * TILE,
            alignment: TILE,
            memory: MemoryTypeId(0),
            category: HeapCategory::Any,
            priority: Priority::Normal,
        })
        .unwrap()
}

fn map(
    device: &Device,
    serial: u64,
    resource: &Resource,
    region: TileRegion,
    source: TileSource<'_, Device>,
) {
    device
        .update_tiles(Permit::checked(), GRAPHICS, &[TileUpdate { resource, region, source }], &[], serial)
        .unwrap();
}

#[test]
fn buffer_tiles_share_move_and_vanish() {
    let device = device(Profile::DISCRETE);
    let heap = pool(&device, 4);
    let [one, two] = [0; 2].map(|_| device.create_reserved(&buffer(8 * TILE, USES)).unwrap());
    assert_eq!(device.tile_layout(&one).unwrap().subresources, [[8, 1, 1]]);
    map(&device, 1, &one, TileRegion::buffer(2, 2), TileSource::Heap { heap: &heap, offset: TILE });
    submit(&device, GRAPHICS, 2, &[], |list| {
        list.fill_buffer(&one, 2 * TILE, TILE, 5);
        list.fill_buffer(&one, 3 * TILE, TILE, 6);
        // Tile 0 is not mapped: the write is lost.
        list.fill_buffer(&one, 0, TILE, 7);
        list.expect_bytes(&one, TILE - 1, &[0, 0]);
        list.expect_bytes(&one, 3 * TILE - 1, &[5, 6]);
    });
    let from = TileRegion::buffer(3, 1);
    map(&device, 3, &two, TileRegion::buffer(0, 1), TileSource::CopyOf { resource: &one, region: from });
    map(&device, 4, &one, from, TileSource::Unmapped);
    let to = TileRegion::buffer(7, 1);
    let first = TileRegion::buffer(0, 1);
    map(&device, 5, &two, to, TileSource::CopyOf { resource: &two, region: first });
    submit(&device, GRAPHICS, 6, &[], |list| {
        list.expect_bytes(&two, 0, &[6, 6]);
        list.expect_bytes(&two, 7 * TILE, &[6, 6]);
        list.expect_bytes(&one, 3 * TILE, &[0]);
    });
    assert_clean(&hazards(&device));
}

/// As with tiled resources tier 1, where accesses to unmapped tiles are undefined.
#[test]
fn tiles_without_memory_may_hold_nothing() {
    for is_defined in [true, false] {
        let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).unmapped_tiles(is_defined);
        let device = Device::with_config(options);
        assert_eq!(device.properties().features.contains(Features::UNMAPPED_TILES), is_defined);
        let heap = pool(&device, 1);
        let one = device.create_reserved(&buffer(2 * TILE, USES)).unwrap();
        device.set_name(Permit::checked(), ObjectRef::Resource(&one), "one");
        let first = TileRegion::buffer(0, 1);
        map(&device, 1, &one, first, TileSource::Heap { heap: &heap, offset: 0 });
        submit(&device, GRAPHICS, 2, &[], |list| list.fill_buffer(&one, 0, TILE, 1));
        assert_clean(&hazards(&device));
        let read = |serial, tile| {
            submit(&device, GRAPHICS, serial, &[], |list| {
                list.use_buffer(&one, tile * TILE, TILE, State::COPY_SRC);
            });
            assert_one_if(!is_defined, &hazards(&device), HazardKind::UninitializedRead, &["one"]);
        };
        read(3, 1);
        map(&device, 4, &one, first, TileSource::Unmapped);
        read(5, 0);
    }
}

#[test]
fn fresh_tiles_hold_nothing_and_dead_heaps_are_found() {
    let device = device(Profile::DISCRETE);
    let heap = pool(&device, 1);
    device.set_name(Permit::checked(), ObjectRef::Heap(&heap), "tiles");
    let one = device.create_reserved(&buffer(2 * TILE, USES)).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&one), "one");
    map(&device, 1, &one, TileRegion::buffer(1, 1), TileSource::Heap { heap: &heap, offset: 0 });
    submit(&device, GRAPHICS, 2, &[], |list| list.use_buffer(&one, 0, 2 * TILE, State::COPY_SRC));
    assert_one(&hazards(&device), HazardKind::UninitializedRead, &["one"]);
    device.destroy_heap(Permit::checked(), heap);
    submit(&device, GRAPHICS, 3, &[], |list| list.use_buffer(&one, 0, 4, State::COPY_SRC));
    assert_one(&hazards(&device), HazardKind::ReadOfFreed, &["one", "tiles"]);
}

/// A change of mappings uses its resources and heaps until it is complete.
#[test]
fn heaps_and_resources_outlive_changes_of_their_mappings() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    let heap = pool(&device, 1);
    device.set_name(Permit::checked(), ObjectRef::Heap(&heap), "tiles");
    let [one, two] = [(), ()].map(|()| device.create_reserved(&buffer(TILE, USES)).unwrap());
    device.set_name(Permit::checked(), ObjectRef::Resource(&one), "one");
    device.set_name(Permit::checked(), ObjectRef::Resource(&two), "two");
    map(&device, 1, &one, TileRegion::buffer(0, 1), TileSource::Heap { heap: &heap, offset: 0 });
    let copy = TileSource::CopyOf { resource: &one, region: TileRegion::buffer(0, 1) };
    map(&device, 2, &two, TileRegion::buffer(0, 1), copy);
    device.destroy_resource(Permit::checked(), two);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["two"]);
    device.destroy_resource(Permit::checked(), one);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["one"]);
    device.destroy_heap(Permit::checked(), heap);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["tiles"]);
}

#[test]
fn texture_tiles_are_boxes_of_texels() {
    let device = device(Profile::VULKAN_NVIDIA);
    let info = texture_info(256, 256, USES).mips(4);
    let rock = device.create_reserved(&ResourceDesc::Texture(info)).unwrap();
    let layout = device.tile_layout(&rock).unwrap();
    assert_eq!(layout.tile_extent, [128, 128, 1]);
    assert_eq!(layout.subresources, [[2, 2, 1], [1, 1, 1], [0; 3], [0; 3]]);
    assert_eq!((layout.first_packed_mip, layout.packed_tiles), (2, 1));

    let heap = device
        .create_heap(&HeapDesc {
            size: 4 * TILE,
            alignment: TILE,
            memory: MemoryTypeId(1),
            category: HeapCategory::Textures,
            priority: Priority::Normal,
        })
        .unwrap();
    let corner = TileRegion { subresource: 0, origin: [1, 1, 0], extent: [1, 1, 1] };
    map(&device, 1, &rock, corner, TileSource::Heap { heap: &heap, offset: 0 });
    let packed = TileRegion { subresource: 2, origin: [0; 3], extent: [1, 1, 1] };
    map(&device, 2, &rock, packed, TileSource::Heap { heap: &heap, offset: TILE });
    let src = committed(&device, "src", &buffer(256 * 256 * 4, USES));
    let dst = committed(&device, "dst", &buffer(256 * 256 * 4, USES));
    let whole = |mip: u32| TextureRegion {
        mip,
        layer: 0,
        plane: Plane::First,
        origin: [0; 3],
        extent: [256 >> mip, 256 >> mip, 1],
    };
    let lines = |mip: u32| BufferLayout { offset: 0, row_pitch: 1024 >> mip, rows: 256 >> mip };
    submit(&device, GRAPHICS, 3, &[], |list| {
        list.fill_buffer(&src, 0, 256 * 256 * 4, 9);
        transition(list, &src, State::COPY_DST, State::COPY_SRC);
        transition(list, &rock, State::COMMON, State::COPY_DST);
        list.copy_buffer_to_texture(&src, lines(0), &rock, whole(0));
        list.copy_buffer_to_texture(&src, lines(3), &rock, whole(3));
        transition(list, &rock, State::COPY_DST, State::COPY_SRC);
        list.copy_texture_to_buffer(&rock, whole(0), &dst, lines(0));
        transition(list, &dst, State::COPY_DST, State::COPY_SRC);
        // Only the lower right quarter has memory.
        list.expect_bytes(&dst, (128 * 256 + 127) * 4, &[0, 0, 0, 0, 9, 9, 9, 9]);
        list.expect_bytes(&dst, (127 * 256 + 255) * 4, &[0, 0, 0, 0]);
    });
    assert_clean(&hazards(&device));
}

#[test]
fn unsupported_features_are_named() {
    let lacks = |profile, desc: ResourceDesc| match device(profile).create_reserved(&desc) {
        Err(DeviceError::Unsupported { feature }) => feature,
        other => panic!("{other:?}"),
    };
    assert_eq!(lacks(Profile::VULKAN_MOBILE, buffer(8, USES)), "reserved (sparse) buffers");
    assert_eq!(lacks(Profile::VULKAN_INTEL, texture(8, 8, USES)), "reserved (sparse) textures");
    let deep = texture_info(8, 8, USES).dimension(Dimension::D3);
    assert_eq!(lacks(Profile::DISCRETE, ResourceDesc::Texture(deep)), "reserved (sparse) 3D textures");
}

#[test]
fn heap_tier_1_keeps_tiles_apart() {
    let device = device(Profile::D3D12_TIER1);
    let one = device.create_reserved(&buffer(TILE, USES)).unwrap();
    for (category, fits) in
        [(HeapCategory::Textures, false), (HeapCategory::Any, false), (HeapCategory::Buffers, true)]
    {
        let desc = HeapDesc {
            size: TILE,
            alignment: TILE,
            memory: MemoryTypeId(0),
            category,
            priority: Priority::Normal,
        };
        let heap = device.create_heap(&desc).unwrap();
        let source = TileSource::Heap { heap: &heap, offset: 0 };
        let update = TileUpdate { resource: &one, region: TileRegion::buffer(0, 1), source };
        assert_eq!(
            device.update_tiles(Permit::checked(), GRAPHICS, &[update], &[], 1).is_ok(),
            fits,
            "{category:?}"
        );
    }
}

#[test]
fn wrong_updates_are_refused_and_change_nothing() {
    let device = device(Profile::DISCRETE);
    let heap = pool(&device, 2);
    let one = device.create_reserved(&buffer(4 * TILE, USES)).unwrap();
    let plain = committed(&device, "plain", &buffer(4 * TILE, USES));
    let seen = device
        .create_heap(&HeapDesc {
            size: TILE,
            alignment: TILE,
            memory: upload_type(&device, false),
            category: HeapCategory::Any,
            priority: Priority::Normal,
        })
        .unwrap();
    let at = |offset| TileSource::Heap { heap: &heap, offset };
    let region = TileRegion::buffer;
    let wrong = [
        (&one, region(3, 2), at(0)),
        (&one, region(u32::MAX, u32::MAX), at(0)),
        (&one, region(0, 0), at(0)),
        (&one, TileRegion { subresource: 1, ..region(0, 1) }, at(0)),
        (&one, region(0, 1), at(4096)),
        (&one, region(0, 2), at(TILE)),
        (&one, region(0, 1), at(u64::MAX - TILE + 1)),
        (&one, region(0, 1), TileSource::Heap { heap: &seen, offset: 0 }),
        (&plain, region(0, 1), at(0)),
        (&one, region(0, 1), TileSource::CopyOf { resource: &plain, region: region(0, 1) }),
        (&one, region(0, 2), TileSource::CopyOf { resource: &one, region: region(0, 1) }),
    ];
    for (index, (resource, region, source)) in wrong.into_iter().enumerate() {
        let good = TileUpdate { resource: &one, region: TileRegion::buffer(0, 1), source: at(0) };
        let answer = device.update_tiles(
            Permit::checked(),
            GRAPHICS,
            &[good, TileUpdate { resource, region, source }],
            &[],
            1,
        );
        assert!(matches!(answer, Err(DeviceError::InvalidCall { .. })), "{index}: {answer:?}");
    }
    assert!(device.tile_layout(&plain).is_err());
    assert_eq!(device.completed(GRAPHICS).unwrap(), 0);
}
