//! Copies of texels, compared with an array of blocks.

use proptest::prelude::*;
use tenure_core::device::{CommandList as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Resource};

use crate::common::*;

const USES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

/// A texture of random shape and a region inside it, in whole blocks.
#[derive(Clone, Debug)]
struct Case {
    info: TextureInfo,
    region: TextureRegion,
    pitch: u64,
    extra_rows: u32,
    reserved: bool,
}

/// The formats of the default profile.
fn format() -> impl Strategy<Value = Format> {
    let has = |format: &Format| matches!(format.compression(), None | Some(Compression::Bc));
    prop::sample::select(Format::ALL.iter().copied().filter(has).collect::<Vec<_>>())
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (any::<bool>(), 1_u32..300, 1_u32..150, 1_u32..4, 0_u32..4, format(), any::<bool>());
    let inside = (any::<u32>(), any::<u32>(), prop::array::uniform3((any::<u32>(), any::<u32>())));
    (shape, inside, 0_u64..3, 0_u32..3).prop_map(|(shape, (mip, layer, axes), padding, extra_rows)| {
        let (deep, width, height, depth_or_layers, mips, format, reserved) = shape;
        let reserved = reserved && !deep;
        let longest = width.max(height).max(if deep { depth_or_layers } else { 1 });
        let info = texture_info(width, height, USES)
            .dimension(if deep { Dimension::D3 } else { Dimension::D2 })
            .depth_or_layers(depth_or_layers)
            .mips(1 + mips.min(longest.ilog2()))
            .format(format);
        let (mip, layer) = (mip % info.mips, layer % info.layers());
        let block = info.format.plane_block(Plane::First).unwrap();
        let size = info.mip_extent(mip);
        let mut region = TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent: [0; 3] };
        for (axis, step) in [block.width, block.height, 1].into_iter().enumerate() {
            let blocks = size[axis].div_ceil(step);
            // Direct3D 12 copies depth as a whole.
            let (from, more) = if format.is_depth() { (0, blocks - 1) } else { axes[axis] };
            let first = from % blocks;
            let count = 1 + more % (blocks - first);
            region.origin[axis] = first * step;
            region.extent[axis] = (count * step).min(size[axis] - first * step);
        }
        let row = u64::from(region.extent[0].div_ceil(block.width)) * u64::from(block.bytes);
        Case { info, region, pitch: row.next_multiple_of(256) + padding * 256, extra_rows, reserved }
    })
}

/// Creates a texture, after `serial` as the last submission; returns the newest serial.
fn create(device: &Device, info: &TextureInfo, reserved: bool, serial: u64) -> (Resource, u64) {
    let desc = ResourceDesc::Texture(info.clone());
    if !reserved {
        return (committed(device, "moss", &desc), serial);
    }
    let moss = device.create_reserved(&desc).unwrap();
    let layout = device.tile_layout(&moss).unwrap();
    let packed = (0..info.layers()).map(|layer| {
        let subresource = layout.first_packed_mip + layer * info.mips;
        (subresource, [layout.packed_tiles, 1, 1])
    });
    let packed = packed.filter(|(_, extent)| extent[0] > 0);
    let whole = (0_u32..).zip(layout.subresources.iter().copied()).filter(|(_, extent)| extent[0] > 0);
    let regions: Vec<_> = whole
        .chain(packed)
        .map(|(subresource, extent)| TileRegion { subresource, origin: [0; 3], extent })
        .collect();
    let tiles: u64 = regions.iter().map(|region| u64::from(region.tiles().unwrap())).sum();
    let heap = device
        .create_heap(&HeapDesc {
            size: tiles << 16,
            alignment: 1 << 16,
            memory: MemoryTypeId(0),
            category: HeapCategory::Any,
            priority: Priority::Normal,
        })
        .unwrap();
    let mut offset = 0;
    let updates = regions.iter().map(|region| {
        let source = TileSource::Heap { heap: &heap, offset };
        offset += u64::from(region.tiles().unwrap()) << 16;
        TileUpdate { resource: &moss, region: *region, source }
    });
    device.update_tiles(Permit::checked(), GRAPHICS, &updates.collect::<Vec<_>>(), &[], serial + 1).unwrap();
    (moss, serial + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_region_written_comes_back_and_nothing_else_changed(case in case()) {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
        let Case { info, region, pitch, extra_rows, .. } = &case;
        let block = info.format.plane_block(Plane::First).unwrap();
        let (moss, serial) = create(&device, info, case.reserved, 0);
        let rows = region.extent[1].div_ceil(block.height) + extra_rows;
        let row = u64::from(region.extent[0].div_ceil(block.width)) * u64::from(block.bytes);
        let layout = BufferLayout { offset: 512, row_pitch: *pitch, rows };
        let bytes = 512 + pitch * u64::from(rows) * u64::from(region.extent[2]);
        let up = upload(&device, "up", bytes);
        let pattern: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251) as u8).collect();
        device.map(&up).unwrap().write(0, &pattern).unwrap();

        // The whole mip is read back: the region as written, the rest as cleared.
        let size = info.mip_extent(region.mip);
        let whole = TextureRegion { origin: [0; 3], extent: size, ..*region };
        let whole_row = u64::from(size[0].div_ceil(block.width)) * u64::from(block.bytes);
        let whole_rows = size[1].div_ceil(block.height);
        let back_layout = BufferLayout { offset: 0, row_pitch: whole_row.next_multiple_of(256), rows: whole_rows };
        let slice = back_layout.row_pitch * u64::from(whole_rows);
        let back = device
            .create_committed(&buffer(slice * u64::from(size[2]), Usage::COPY_DST), MemoryTypeId(2))
            .unwrap();
        submit(&device, GRAPHICS, serial + 1, &[], |list| {
            list.clear_texture(&moss, Subresource::All, &[0xEE]);
            list.copy_buffer_to_texture(&up, layout, &moss, *region);
            transition(list, &moss, State::COPY_DST, State::COPY_SRC);
            list.copy_texture_to_buffer(&moss, whole, &back, back_layout);
        });
        assert_clean(&hazards(&device));
        let mut out = vec![0; (slice * u64::from(size[2])) as usize];
        device.map(&back).unwrap().read(0, &mut out).unwrap();

        let first = [region.origin[0] / block.width, region.origin[1] / block.height, region.origin[2]];
        for z in 0..size[2] {
            for y in 0..whole_rows {
                let start = (u64::from(z) * slice + u64::from(y) * back_layout.row_pitch) as usize;
                let mut expected = vec![0xEE; whole_row as usize];
                let down = region.extent[1].div_ceil(block.height);
                let hit = (first[2]..first[2] + region.extent[2]).contains(&z) && (first[1]..first[1] + down).contains(&y);
                if hit {
                    let line = u64::from((z - first[2]) * rows + (y - first[1]));
                    let from = (512 + line * pitch) as usize;
                    let to = (first[0] * block.bytes) as usize;
                    expected[to..to + row as usize].copy_from_slice(&pattern[from..from + row as usize]);
                }
                prop_assert_eq!(&out[start..start + whole_row as usize], &expected[..], "row {} slice {}", y, z);
            }
        }
    }
}

/// Copies the left `columns` of eight from rows 256 bytes apart, in which only the texels are written, and
/// reads the whole texture.
fn left_part(columns: u32) -> Vec<tenure_sim::Hazard> {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).zeroed(false));
    let moss = committed(&device, "moss", &texture(8, 4, USES | Usage::SHADER_READ));
    let up = upload(&device, "up", 1024);
    let mapping = device.map(&up).unwrap();
    (0..4).for_each(|row| mapping.write(row * 256, &vec![1; columns as usize * 4]).unwrap());
    submit(&device, GRAPHICS, 1, &[], |list| {
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 4 };
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [columns, 4, 1] };
        list.copy_buffer_to_texture(&up, layout, &moss, region);
        transition(list, &moss, State::COPY_DST, State::PIXEL_SHADER);
        list.use_texture(&moss, Subresource::All, State::PIXEL_SHADER);
    });
    hazards(&device)
}

#[test]
fn padding_is_not_read_and_omitted_texels_are_not_written() {
    assert_clean(&left_part(8));
    assert_one(&left_part(7), tenure_sim::HazardKind::UninitializedRead, &["moss"]);
}

/// Each plane of each subresource, with its layout in a buffer and the size of that.
fn parts(info: &TextureInfo) -> (Vec<(u32, TextureRegion, BufferLayout)>, u64) {
    let (mut parts, mut size) = (Vec::new(), 0);
    for (subresource, plane) in (0..info.subresources())
        .flat_map(|index| info.format.planes().iter().map(move |plane| (index, *plane)))
    {
        let (mip, layer) = (subresource % info.mips, subresource / info.mips);
        let region = TextureRegion { plane, ..info.region(mip, layer) };
        let block = region.block(info.format);
        let row = u64::from(region.extent[0].div_ceil(block.width)) * u64::from(block.bytes);
        let (row_pitch, rows) = (row.next_multiple_of(256), region.extent[1].div_ceil(block.height));
        parts.push((subresource, region, BufferLayout { offset: size, row_pitch, rows }));
        size += (row_pitch * u64::from(rows) * u64::from(region.extent[2])).next_multiple_of(512);
    }
    (parts, size)
}

/// The texels of a part, without the padding of its rows.
fn texels(info: &TextureInfo, (region, layout): (&TextureRegion, &BufferLayout), bytes: &[u8]) -> Vec<u8> {
    let block = region.block(info.format);
    let row = (region.extent[0].div_ceil(block.width) * block.bytes) as usize;
    let rows = bytes[layout.offset as usize..].chunks(layout.row_pitch as usize);
    let rows = rows.take((layout.rows * region.extent[2]) as usize);
    rows.flat_map(|bytes| bytes[..row].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn whole_subresources_arrive_and_others_stay(case in case(), tiled: bool, which: Option<u32>) {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
        let info = &case.info;
        let which = which.map(|index| index % info.subresources());
        let (src, serial) = create(&device, info, case.reserved, 0);
        let (dst, serial) = create(&device, info, tiled && info.dimension == Dimension::D2, serial);
        let (parts, size) = parts(info);
        let up = upload(&device, "up", size);
        let pattern: Vec<u8> = (0..size).map(|at| (at * 31 % 251) as u8).collect();
        device.map(&up).unwrap().write(0, &pattern).unwrap();
        let back = device.create_committed(&buffer(size, Usage::COPY_DST), MemoryTypeId(2)).unwrap();
        submit(&device, GRAPHICS, serial + 1, &[], |list| {
            for (_, region, layout) in &parts {
                list.copy_buffer_to_texture(&up, *layout, &src, *region);
            }
            list.clear_texture(&dst, Subresource::All, &[0xEE]);
            transition(list, &src, State::COPY_DST, State::COPY_SRC);
            list.copy_texture(&src, &dst, which.map_or(Subresource::All, Subresource::One));
            transition(list, &dst, State::COPY_DST, State::COPY_SRC);
            for (_, region, layout) in &parts {
                list.copy_texture_to_buffer(&dst, *region, &back, *layout);
            }
        });
        assert_clean(&hazards(&device));
        let mut out = vec![0; size as usize];
        device.map(&back).unwrap().read(0, &mut out).unwrap();
        for (subresource, region, layout) in &parts {
            let found = texels(info, (region, layout), &out);
            let mut expected = texels(info, (region, layout), &pattern);
            if which.is_some_and(|index| index != *subresource) {
                expected.fill(0xEE);
            }
            prop_assert_eq!(found, expected, "{:?}", region);
        }
    }
}

#[test]
fn all_samples_and_both_planes_are_copied() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let usage = USES | Usage::DEPTH_STENCIL;
    let info = texture_info(5, 3, usage).samples(4).format(Format::D32FloatS8Uint);
    let desc = ResourceDesc::Texture(info);
    let [src, dst] = ["moss", "fern"].map(|name| committed(&device, name, &desc));
    submit(&device, GRAPHICS, 1, &[], |list| {
        transition(list, &src, State::COMMON, State::DEPTH_WRITE);
        list.clear_texture(&src, Subresource::All, &[7]);
        transition(list, &src, State::DEPTH_WRITE, State::COPY_SRC);
        list.copy_texture(&src, &dst, Subresource::One(0));
        list.expect_bytes(&dst, 0, &[7; 5 * 3 * 4 * (4 + 1)]);
    });
    assert_clean(&hazards(&device));
}

/// Runs a copy of a texture of two mips to another of these uses, on a device whose memory is not zeroed.
fn copied(
    profile: Profile,
    usage: Usage,
    commands: impl FnOnce(&mut tenure_sim::List, &Resource, &Resource),
) -> Vec<tenure_sim::Hazard> {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).zeroed(false));
    let desc = |usage| ResourceDesc::Texture(texture_info(8, 4, usage).mips(2));
    let src = committed(&device, "moss", &desc(USES | Usage::SHADER_READ));
    let dst = committed(&device, "fern", &desc(usage));
    submit(&device, GRAPHICS, 1, &[], |list| commands(list, &src, &dst));
    hazards(&device)
}

/// Fills a subresource and makes both textures ready for a copy.
fn prepare(list: &mut tenure_sim::List, src: &Resource, dst: &Resource, filled: Subresource) {
    transition(list, src, State::COMMON, State::COPY_DST);
    list.clear_texture(src, filled, &[1]);
    transition(list, src, State::COPY_DST, State::COPY_SRC);
    transition(list, dst, State::COMMON, State::COPY_DST);
}

#[test]
fn texels_are_read_in_the_source_and_written_in_the_destination() {
    use tenure_sim::HazardKind::{InvalidUse, UninitializedRead, WrongState};
    const USED: Usage = USES.union(Usage::SHADER_READ);
    let all = Subresource::All;
    let read = |list: &mut tenure_sim::List, dst: &Resource| {
        transition(list, dst, State::COPY_DST, State::PIXEL_SHADER);
        list.use_texture(dst, Subresource::All, State::PIXEL_SHADER);
    };
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let clean = copied(profile, USED, |list, src, dst| {
            prepare(list, src, dst, all);
            list.copy_texture(src, dst, all);
            read(list, dst);
        });
        assert_clean(&clean);
        let unwritten = copied(profile, USED, |list, src, dst| {
            prepare(list, src, dst, Subresource::One(1));
            list.copy_texture(src, dst, Subresource::One(1));
            list.copy_texture(src, dst, Subresource::One(0));
        });
        assert_one(&unwritten, UninitializedRead, &["moss"]);
        let left_out = copied(profile, USED, |list, src, dst| {
            prepare(list, src, dst, all);
            list.copy_texture(src, dst, Subresource::One(1));
            read(list, dst);
        });
        assert_one(&left_out, UninitializedRead, &["fern"]);
        let source = copied(profile, USED, |list, src, dst| {
            prepare(list, src, dst, all);
            transition(list, src, State::COPY_SRC, State::PIXEL_SHADER);
            list.copy_texture(src, dst, all);
        });
        assert_one(&source, WrongState, &["moss"]);
        let destination = copied(profile, USED, |list, src, dst| {
            prepare(list, src, dst, all);
            transition(list, dst, State::COPY_DST, State::PIXEL_SHADER);
            list.copy_texture(src, dst, all);
        });
        assert_one(&destination, WrongState, &["fern"]);
    }
    let unused = copied(Profile::DISCRETE, Usage::SHADER_READ, |list, src, dst| {
        list.clear_texture(src, all, &[1]);
        transition(list, src, State::COPY_DST, State::COPY_SRC);
        list.copy_texture(src, dst, all);
    });
    assert_one(&unused, InvalidUse, &["fern"]);
}

/// Like drivers that lose such copies.
#[test]
fn copies_that_a_driver_loses_are_refused() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Manual).loses_depth_copies());
        let desc =
            texture_info(8, 8, USES | Usage::DEPTH_STENCIL).format(Format::D32FloatS8Uint).depth_or_layers(2);
        let shadow = ResourceDesc::Texture(desc.clone());
        let [from, to] = ["from", "to"].map(|name| committed(&device, name, &shadow));
        let staging = committed(&device, "staging", &buffer(4096, USES));
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 8 };
        let closed = |record: &dyn Fn(&mut tenure_sim::List)| {
            let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
            list.begin().unwrap();
            record(&mut list);
            let is_refused = matches!(list.close(), Err(DeviceError::Unsupported { .. }));
            device.destroy_list(Permit::checked(), list);
            is_refused
        };
        let loses = profile == Profile::DISCRETE;
        let to_plane = |plane| {
            let region = TextureRegion { plane, ..desc.region(0, 0) };
            closed(&|list| list.copy_buffer_to_texture(&staging, layout, &to, region))
        };
        assert_eq!([to_plane(Plane::First), to_plane(Plane::Stencil)], [false, loses]);
        let to_parts = |which| closed(&|list| list.copy_texture(&from, &to, which));
        let parts = [Subresource::One(0), Subresource::One(1), Subresource::All].map(to_parts);
        assert_eq!(parts, [false, loses, loses]);
    }
}
