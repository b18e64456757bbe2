//! Reserved (sparse) resources: tiles mapped, remapped, shared, unmapped.

use tenure_core::device::{CommandList as _, Features};
use tenure_core::memory::PoolKind;
use tenure_core::{
    DeviceError, Error, Format, Queue, Reserved, ReservedDesc, State, Subresource, TextureDesc, TextureInfo,
    TileRegion, Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::edges::map_all;
use crate::permit;
use crate::texels::whole;
use test_random::Rng;

const TILES: u32 = 16;

/// A reserved buffer of 16 tiles; `None` if the device refuses it by the name of the feature.
fn reserved_buffer<H: Harness>(bench: &Bench<'_, H>) -> Option<Reserved<H::Device>> {
    let tile = bench.properties().tile_size;
    let desc = ReservedDesc::buffer(u64::from(TILES) * tile, Usage::SHADER_READ | Usage::COPY_SRC);
    let made = bench.gpu.create_reserved(&desc.name("sparse"));
    supported(made, bench.properties().features.contains(Features::RESERVED_BUFFERS))
}

fn supported<T>(made: Result<T, Error>, expected: bool) -> Option<T> {
    match made {
        Ok(made) => {
            assert!(expected, "the buffer was created, but the device lacks the feature");
            Some(made)
        }
        Err(error) => {
            let Error::Device { source: DeviceError::Unsupported { feature }, .. } = &error else {
                panic!("the refusal does not name the feature: {error}");
            };
            assert!(!expected && !feature.is_empty(), "{error}");
            None
        }
    }
}

fn fill<H: Harness>(bench: &Bench<'_, H>, reserved: &Reserved<H::Device>, offset: u64, bytes: &[u8]) {
    let staging = bench.staging(bytes);
    bench.submit(Queue::Graphics, |recording| {
        recording.use_resource(&staging, Subresource::All, State::COPY_SRC).unwrap();
        recording.use_resource(reserved, Subresource::All, State::COPY_DST).unwrap();
        recording.barriers();
        let (from, size) = (staging.offset(), bytes.len() as u64);
        recording.raw_mut(permit()).copy_buffer(staging.raw(), from, reserved.raw(), offset, size);
    });
    bench.finish();
}

fn read_tiles<H: Harness>(
    bench: &Bench<'_, H>,
    reserved: &Reserved<H::Device>,
    offset: u64,
    size: u64,
) -> Vec<u8> {
    let readback = bench.readback(size);
    bench.submit(Queue::Graphics, |recording| {
        recording.use_resource(reserved, Subresource::All, State::COPY_SRC).unwrap();
        recording.use_resource(&readback, Subresource::All, State::COPY_DST).unwrap();
        recording.barriers();
        recording.raw_mut(permit()).copy_buffer(
            reserved.raw(),
            offset,
            readback.raw(),
            readback.offset(),
            size,
        );
    });
    bench.finish();
    contents(&readback)
}

/// Mapped tiles hold bytes, remapping a tile leaves its neighbours as they are, and unmapped memory is freed.
pub fn tiles_are_mapped_remapped_and_unmapped<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if let Some(reserved) = reserved_buffer(&bench) {
        let tile = reserved.layout().tile_size;
        let mut rng = Rng::new(71);
        assert_eq!(reserved.mapped_tiles(), 0);
        reserved.map(Queue::Graphics, TileRegion::buffer(2, 4)).unwrap();
        assert_eq!(reserved.mapped_tiles(), 4);
        let mut model = rng.bytes(4 * tile);
        fill(&bench, &reserved, 2 * tile, &model);
        assert_bytes(&read_tiles(&bench, &reserved, 2 * tile, 4 * tile), &model, "mapped tiles");

        reserved.map(Queue::Graphics, TileRegion::buffer(3, 1)).unwrap();
        let fresh = rng.bytes(tile);
        fill(&bench, &reserved, 3 * tile, &fresh);
        let size = usize::try_from(tile).unwrap();
        model[size..2 * size].copy_from_slice(&fresh);
        assert_bytes(&read_tiles(&bench, &reserved, 2 * tile, 4 * tile), &model, "a remapped tile");
        assert_eq!(
            bench.live(PoolKind::Tiles),
            2,
            "the memory of the first mapping was freed while a tile uses it"
        );

        reserved.unmap(Queue::Graphics, TileRegion::buffer(3, 3)).unwrap();
        bench.finish();
        assert_eq!(reserved.mapped_tiles(), 1);
        assert_eq!(bench.live(PoolKind::Tiles), 1, "the memory of the second mapping was not freed");
        assert_bytes(&read_tiles(&bench, &reserved, 2 * tile, tile), &model[..size], "the last tile");
        drop(reserved);
        bench.finish();
        assert_eq!(bench.live(PoolKind::Tiles), 0, "the drop of the resource did not free all tiles");
    }
    bench.end();
}

/// After a copy of mappings, two resources have the same bytes, and the tiles live as long as either resource.
pub fn mappings_are_shared_by_copying<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if let (Some(first), Some(second)) = (reserved_buffer(&bench), reserved_buffer(&bench)) {
        let tile = first.layout().tile_size;
        let mut rng = Rng::new(72);
        first.map(Queue::Graphics, TileRegion::buffer(0, 3)).unwrap();
        let mut model = rng.bytes(2 * tile);
        fill(&bench, &first, tile, &model);
        let (to, from) = (TileRegion::buffer(7, 2), TileRegion::buffer(1, 2));
        second.copy_mappings(Queue::Graphics, to, &first, from).unwrap();
        assert_bytes(
            &read_tiles(&bench, &second, 7 * tile, 2 * tile),
            &model,
            "read through the second resource",
        );
        model = rng.bytes(2 * tile);
        fill(&bench, &second, 7 * tile, &model);
        assert_bytes(&read_tiles(&bench, &first, tile, 2 * tile), &model, "read through the first resource");
        drop(first);
        bench.finish();
        assert_eq!(
            bench.live(PoolKind::Tiles),
            1,
            "the tiles were freed while the second resource uses them"
        );
        assert_bytes(
            &read_tiles(&bench, &second, 7 * tile, 2 * tile),
            &model,
            "read after the first resource was dropped",
        );
        drop(second);
        bench.finish();
        assert_eq!(bench.live(PoolKind::Tiles), 0);
    }
    bench.end();
}

fn reserved_texture<H: Harness>(bench: &Bench<'_, H>) -> Option<(Reserved<H::Device>, TextureInfo)> {
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let info = TextureDesc::d2(512, 256, Format::Rgba8Unorm, usage).mips(8).info;
    let made = bench.gpu.create_reserved(&ReservedDesc::texture(info.clone()).name("megatexture"));
    let expected = bench.properties().features.contains(Features::RESERVED_TEXTURES);
    supported(made, expected).map(|made| (made, info))
}

/// Reserved textures hold texels: standard mips are mapped tile by tile, packed mips as a whole.
pub fn reserved_textures_hold_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if let Some((reserved, info)) = reserved_texture(&bench) {
        map_all(&reserved);
        let mut rng = Rng::new(73);
        for mip in 0..info.mips {
            check_mip(&bench, &reserved, &info, mip, &mut rng);
        }
        drop(reserved);
        bench.finish();
        assert_eq!(bench.live(PoolKind::Tiles), 0);
    }
    bench.end();
}

fn check_mip<H: Harness>(
    bench: &Bench<'_, H>,
    reserved: &Reserved<H::Device>,
    info: &TextureInfo,
    mip: u32,
    rng: &mut Rng,
) {
    let region = whole(info, mip, 0);
    let packed = rng.bytes(info.mip_bytes(mip).unwrap());
    let (staging, layout) = bench.staged_rows(info, region.extent, &packed);
    let readback = bench.readback(staging.size());
    // Both buffers have an alignment of 512, which is enough for texture copies on every device.
    let at = |buffer: &tenure_core::Buffer<H::Device>| tenure_core::BufferLayout {
        offset: buffer.offset(),
        ..layout
    };
    bench.submit(Queue::Graphics, |recording| {
        recording.use_resource(&staging, Subresource::All, State::COPY_SRC).unwrap();
        recording.use_resource(reserved, Subresource::One(mip), State::COPY_DST).unwrap();
        recording.barriers();
        recording.raw_mut(permit()).copy_buffer_to_texture(
            staging.raw(),
            at(&staging),
            reserved.raw(),
            region,
        );
        recording.use_resource(reserved, Subresource::One(mip), State::COPY_SRC).unwrap();
        recording.use_resource(&readback, Subresource::All, State::COPY_DST).unwrap();
        recording.barriers();
        recording.raw_mut(permit()).copy_texture_to_buffer(
            reserved.raw(),
            region,
            readback.raw(),
            at(&readback),
        );
    });
    bench.finish();
    let (_, row) = crate::texels::rows(info, region.extent);
    let row = usize::try_from(row).unwrap();
    for (line, expected) in packed.chunks(row).enumerate() {
        let mut found = vec![0; row];
        readback.read(line as u64 * layout.row_pitch, &mut found).unwrap();
        assert_bytes(&found, expected, &format!("mip {mip}, row {line}"));
    }
}

/// Tile regions that exceed the resource, and regions of different sizes, are refused and change nothing.
pub fn tiles_out_of_range_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if let Some(reserved) = reserved_buffer(&bench) {
        reserved.map(Queue::Graphics, TileRegion::buffer(0, 2)).unwrap();
        let outside = [
            TileRegion::buffer(TILES, 1),
            TileRegion::buffer(TILES - 1, 2),
            TileRegion::buffer(0, 0),
            TileRegion::buffer(u32::MAX, u32::MAX),
            TileRegion { subresource: 1, origin: [0; 3], extent: [1, 1, 1] },
            TileRegion { subresource: 0, origin: [0, 1, 0], extent: [1, 1, 1] },
            TileRegion { subresource: 0, origin: [0; 3], extent: [1, 1, u32::MAX] },
        ];
        for region in outside {
            let refused = |result: Result<_, Error>| {
                assert!(matches!(&result, Err(Error::Tiles { .. })), "{region:?}: {result:?}");
            };
            refused(reserved.map(Queue::Graphics, region));
            refused(reserved.unmap(Queue::Graphics, region));
            refused(reserved.copy_mappings(Queue::Graphics, region, &reserved, TileRegion::buffer(0, 1)));
        }
        let (one, two) = (TileRegion::buffer(8, 1), TileRegion::buffer(0, 2));
        let differ = reserved.copy_mappings(Queue::Graphics, one, &reserved, two);
        assert!(matches!(differ, Err(Error::Tiles { .. })), "{differ:?}");
        let nowhere = Queue::Id(tenure_core::QueueId(200));
        assert!(
            reserved.map(nowhere, TileRegion::buffer(4, 2)).is_err(),
            "a queue that does not exist was accepted"
        );
        bench.finish();
        assert_eq!(reserved.mapped_tiles(), 2);
        assert_eq!(bench.live(PoolKind::Tiles), 1, "a refused call allocated tiles");
        drop(reserved);
    }
    bench.end();
}
