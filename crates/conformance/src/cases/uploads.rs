//! Uploads.

use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, InPlaceConfig, LocationKind, MemoryUse, Plane, PoolConfig,
    Queue, StagingConfig, TexelData, Texture, TextureDesc, TextureRegion, Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG, assert_bytes, contents};
use crate::texels::{Texels, assert_texels, compressed, random, rows, whole};
use test_random::Rng;

/// Nothing is written into place.
fn staged() -> InPlaceConfig {
    InPlaceConfig::default().initial_data(false).uploads(false)
}

const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

/// Buffers in every location receive initial data and later uploads, of adjacent and of overlapping pieces.
pub fn uploads_reach_buffers<H: Harness>(harness: &H) {
    reach_buffers(harness, InPlaceConfig::default());
}

/// The same through staging memory, also where the CPU could write them into place.
pub fn staged_uploads_reach_buffers<H: Harness>(harness: &H) {
    reach_buffers(harness, staged());
}

fn reach_buffers<H: Harness>(harness: &H, in_place: InPlaceConfig) {
    let config = Config::default()
        .staging(StagingConfig::default().upload_page(64 << 10))
        .pools(PoolConfig::default().max_pooled_buffer(128 << 10))
        .in_place(in_place);
    let bench = Bench::with(harness, config);
    let mut rng = Rng::new(130);
    for (size, usage, location) in [
        (1000, Usage::VERTEX, LocationKind::Range),
        (7, Usage::INDEX, LocationKind::Range),
        (100_001, Usage::SHADER_READ, LocationKind::Range),
        (3000, Usage::UNORDERED_ACCESS, LocationKind::Placed),
        (200_003, Usage::VERTEX, LocationKind::Committed),
    ] {
        let mut model = rng.bytes(size);
        let desc = BufferDesc::new(size, usage | Usage::COPY_SRC).name("uploaded");
        let buffer = bench.gpu.create_buffer_with(&desc, &model).unwrap();
        assert_eq!(buffer.location(), location);
        assert_bytes(&bench.download(&buffer, 0, size), &model, "initial data");
        for _ in 0..6 {
            let offset = rng.below(size);
            let count = 1 + rng.below(size - offset);
            let part = rng.bytes(count);
            bench.gpu.upload(&buffer, offset, &part).unwrap();
            let start = usize::try_from(offset).unwrap();
            model[start..start + part.len()].copy_from_slice(&part);
        }
        assert_bytes(&bench.download(&buffer, 0, size), &model, "uploads to the same bytes");
        for (index, part) in model.chunks_mut(100).enumerate() {
            part.copy_from_slice(&rng.bytes(part.len() as u64));
            bench.gpu.upload(&buffer, index as u64 * 100, part).unwrap();
        }
        assert_bytes(&bench.download(&buffer, 0, size), &model, "uploads of adjacent pieces");
    }
    let desc = BufferDesc::new(300, Usage::CONSTANT | Usage::COPY_SRC).memory(MemoryUse::Upload);
    let dynamic = bench.gpu.create_buffer_with(&desc, &[6; 300]).unwrap();
    assert_bytes(&contents(&dynamic), &[6; 300], "initial data of a mapped buffer");
    drop(dynamic);
    bench.end();
}

/// A texture that begins with random texels.
fn filled<H: Harness>(
    bench: &Bench<'_, H>,
    desc: &TextureDesc,
    rng: &mut Rng,
) -> (Texture<H::Device>, Texels) {
    let texels = random(&desc.info, rng);
    let data: Vec<_> = texels.iter().map(|texels| TexelData::new(texels)).collect();
    (bench.gpu.create_texture_with(desc, &data).unwrap(), texels)
}

/// Textures with mips, with layers, of three dimensions and of blocks receive their texels, whatever row pitch the
/// device needs.
pub fn uploads_reach_every_kind_of_texture<H: Harness>(harness: &H) {
    reach_every_kind_of_texture(harness, InPlaceConfig::default());
}

/// The same through staging memory.
pub fn staged_uploads_reach_every_kind_of_texture<H: Harness>(harness: &H) {
    reach_every_kind_of_texture(harness, staged());
}

fn reach_every_kind_of_texture<H: Harness>(harness: &H, in_place: InPlaceConfig) {
    let staging = StagingConfig::default().upload_page(64 << 10);
    let bench = Bench::with(harness, Config::default().staging(staging).in_place(in_place));
    let [small_blocks, large_blocks] = compressed(bench.gpu.device());
    let mut rng = Rng::new(131);
    for desc in [
        TextureDesc::d2(61, 33, Format::Rgba8Unorm, SAMPLED),
        TextureDesc::d2(64, 64, Format::R8Unorm, SAMPLED).mips(7),
        TextureDesc::d2(40, 24, Format::Rgba16Float, SAMPLED).mips(3).layers(4),
        TextureDesc::d2(64, 32, small_blocks, SAMPLED).mips(7).layers(2),
        TextureDesc::d2(36, 36, large_blocks, SAMPLED),
        TextureDesc::d3(20, 12, 7, Format::Rg8Unorm, SAMPLED).mips(3),
        TextureDesc::d2(300, 200, Format::Rgba32Float, SAMPLED),
    ] {
        let (texture, texels) = filled(&bench, &desc.name("uploaded"), &mut rng);
        assert_texels(&bench.download_texels(&texture), &texels, &format!("{:?}", texture.info()));
    }
    bench.end();
}

/// Uploads of regions and of the whole texture take effect in the order of the calls.
pub fn uploads_reach_regions_in_order<H: Harness>(harness: &H) {
    reach_regions_in_order(harness, InPlaceConfig::default());
}

/// The same through staging memory.
pub fn staged_uploads_reach_regions_in_order<H: Harness>(harness: &H) {
    reach_regions_in_order(harness, staged());
}

fn reach_regions_in_order<H: Harness>(harness: &H, in_place: InPlaceConfig) {
    let bench = Bench::with(harness, Config::from(in_place));
    let mut rng = Rng::new(132);
    let desc = TextureDesc::d2(61, 47, Format::R32Uint, SAMPLED).layers(2).name("uploaded");
    let (texture, mut texels) = filled(&bench, &desc, &mut rng);
    for round in 0..12_u32 {
        let pick = |rng: &mut Rng, limit: u32| u32::try_from(rng.below(u64::from(limit))).unwrap();
        let layer = pick(&mut rng, 2);
        let region = if round % 4 == 3 {
            whole(&desc.info, 0, layer)
        } else {
            let (x, y) = (pick(&mut rng, 61), pick(&mut rng, 47));
            let extent = [1 + pick(&mut rng, 61 - x), 1 + pick(&mut rng, 47 - y), 1];
            TextureRegion { mip: 0, layer, plane: Plane::First, origin: [x, y, 0], extent }
        };
        let (down, row) = rows(&desc.info, region.extent);
        let pitch = row + rng.below(40);
        let picture = rng.bytes(pitch * u64::from(down));
        let data = TexelData::new(&picture).row_pitch(pitch);
        bench.gpu.upload_texture(&texture, region, data).unwrap();
        let model = &mut texels[layer as usize];
        for y in 0..u64::from(down) {
            let to = usize::try_from((u64::from(region.origin[1]) + y) * 61 * 4).unwrap();
            let to = to + region.origin[0] as usize * 4;
            let (from, row) = (usize::try_from(y * pitch).unwrap(), usize::try_from(row).unwrap());
            model[to..to + row].copy_from_slice(&picture[from..from + row]);
        }
        // Several rounds are in one batch.
        if round % 3 == 2 {
            assert_texels(&bench.download_texels(&texture), &texels, "regions");
        }
    }
    assert_texels(&bench.download_texels(&texture), &texels, "regions");
    drop(texture);
    bench.end();
}

/// An upload is complete when its sync point is, also if its destination was dropped. An invalid upload is an error
/// at once.
pub fn uploads_are_waited_for<H: Harness>(harness: &H) {
    are_waited_for(harness, InPlaceConfig::default());
}

/// The same through staging memory: nothing is complete before the flush.
pub fn staged_uploads_are_waited_for<H: Harness>(harness: &H) {
    are_waited_for(harness, staged());
}

fn are_waited_for<H: Harness>(harness: &H, in_place: InPlaceConfig) {
    let is_staged = in_place == staged();
    let bench = Bench::with(harness, Config::from(in_place));
    let mut uploads = Vec::new();
    for size in [100, 70_000, 3 << 20] {
        let buffer = bench.gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name("dropped")).unwrap();
        uploads.push(bench.gpu.upload(&buffer, size - 100, &[3; 100]).unwrap());
        let outside = bench.gpu.upload(&buffer, size - 99, &[3; 100]);
        assert!(matches!(outside, Err(Error::OutOfRange { .. })), "{outside:?}");
    }
    if is_staged {
        let is_pending = uploads.iter().all(|upload| upload.sync_point().is_none());
        assert!(is_pending, "an upload was submitted before the flush");
    }
    let point = bench.gpu.flush_uploads().unwrap();
    for upload in &uploads {
        assert!(upload.sync_point().is_some_and(|own| own.is_covered_by(&point)));
        assert!(bench.gpu.wait_upload(upload, LONG).unwrap());
    }
    bench.end();
}

/// Random uploads, copies, submissions, waits and readbacks, while the GPU is behind or idle, bring the bytes that plain
/// arrays hold, on every road.
pub fn uploads_and_copies_take_effect_in_order<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(133);
    let mut alive: Vec<(Buffer<H::Device>, Vec<u8>)> = Vec::new();
    for step in 0..harness.effort().operations / 4 {
        let index = usize::try_from(rng.below(alive.len().max(1) as u64)).unwrap();
        match rng.below(8) {
            0 if alive.len() < 6 => {
                let usage = [Usage::VERTEX, Usage::UNORDERED_ACCESS][step % 2] | Usage::COPY_SRC;
                let size = 1 + rng.below(30_000);
                let model = rng.bytes(size);
                // Copies from one to another need API buffers of their own.
                let desc = BufferDesc::new(size, usage).own_resource().name("uploaded");
                alive.push((bench.gpu.create_buffer_with(&desc, &model).unwrap(), model));
            }
            1 if alive.len() > 3 => drop(alive.swap_remove(index)),
            2 if alive.len() > 1 => copy_to_last(&bench, &mut alive),
            3 => bench.finish(),
            4 if !alive.is_empty() => {
                let (buffer, model) = &alive[index];
                assert_bytes(&bench.download(buffer, 0, buffer.size()), model, "in between");
            }
            _ if !alive.is_empty() => {
                let (buffer, model) = &mut alive[index];
                let offset = rng.below(buffer.size());
                let count = 1 + rng.below(buffer.size() - offset);
                let part = rng.bytes(count);
                bench.gpu.upload(buffer, offset, &part).unwrap();
                let start = usize::try_from(offset).unwrap();
                model[start..start + part.len()].copy_from_slice(&part);
            }
            _ => {}
        }
    }
    for (buffer, model) in alive.drain(..) {
        assert_bytes(&bench.download(&buffer, 0, buffer.size()), &model, "at the end");
    }
    bench.end();
}

/// The GPU copies the beginning of the first buffer to the last one.
fn copy_to_last<H: Harness>(bench: &Bench<'_, H>, alive: &mut [(Buffer<H::Device>, Vec<u8>)]) {
    let [(from, bytes), .., (to, model)] = alive else { return };
    let size = from.size().min(to.size());
    bench.submit(Queue::Graphics, |recording| recording.copy_buffer(from, 0, to, 0, size).unwrap());
    let size = usize::try_from(size).unwrap();
    model[..size].copy_from_slice(&bytes[..size]);
}
