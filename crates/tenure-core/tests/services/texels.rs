//! Uploads of texels.

use std::time::Duration;

use proptest::prelude::*;
use tenure_core::device::prelude::*;
use tenure_core::memory::PoolKind;
use tenure_core::{
    BufferDesc, BufferLayout, Config, DeviceError, Error, Format, Gpu, Plane, Queue, QueueId, QueueKind,
    StagingConfig, Subresource, TexelData, Texture, TextureDesc, TextureRegion, UploadStats, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::model::{Model, SAMPLED, blocks, random_desc, random_region};
use super::{device, end, gpu, live};
use test_random::Rng;

/// A texture with random initial texels.
fn filled(gpu: &Gpu<Device>, desc: &TextureDesc, rng: &mut Rng) -> (Texture<Device>, Model) {
    let model = Model::random(&desc.info, rng);
    let data: Vec<_> = model.parts().into_iter().map(TexelData::new).collect();
    (gpu.create_texture_with(desc, &data).unwrap(), model)
}

/// Copies that a driver drops are refused before anything is recorded, other copies are not.
#[test]
fn copies_that_a_driver_loses_are_refused() {
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).loses_depth_copies();
    let device = Device::with_config(options);
    let gpu = gpu(&device, Config::default());
    let usage = Usage::DEPTH_STENCIL | Usage::COPY_SRC | Usage::COPY_DST;
    let both = gpu.create_texture(&TextureDesc::d2(8, 8, Format::D32FloatS8Uint, usage)).unwrap();
    let desc = TextureDesc::d2(8, 8, Format::D32Float, usage).layers(2);
    let [from, to] = [(); 2].map(|()| gpu.create_texture(&desc).unwrap());
    let stencil = TextureRegion { plane: Plane::Stencil, ..both.info().region(0, 0) };
    let refused = |answer: Result<(), Error>, feature: &str| {
        let error = answer.unwrap_err();
        assert!(error.to_string().contains(feature), "{error}");
    };
    gpu.upload_texture(&from, desc.info.region(0, 0), TexelData::new(&[0; 256])).unwrap();
    gpu.upload_texture(&both, both.info().region(0, 0), TexelData::new(&[0; 256])).unwrap();
    let uploaded = gpu.upload_texture(&both, stencil, TexelData::new(&[0; 64]));
    refused(uploaded.map(drop), "copies from buffers to stencil");
    let staging = gpu.create_buffer(&BufferDesc::new(4096, Usage::COPY_SRC | Usage::COPY_DST)).unwrap();
    let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 8 };
    let mut copies = gpu.record(Queue::Graphics, "copies").unwrap();
    let copied = copies.copy_buffer_to_texture(&staging, layout, &both, stencil);
    refused(copied, "copies from buffers to stencil");
    for which in [Subresource::All, Subresource::One(1)] {
        refused(copies.copy_texture(&from, &to, which), "copies between depth textures");
    }
    copies.copy_texture(&from, &to, Subresource::One(0)).unwrap();
    copies.submit().unwrap();
    drop((both, from, to, staging));
    end(gpu, &device);
}

/// Depth is uploaded as a whole, on a graphics queue, and stencil apart from it.
#[test]
fn depth_is_uploaded_where_allowed() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::VULKAN_INTEL] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let usage = Usage::DEPTH_STENCIL | SAMPLED | Usage::COPY_DST;
        let mut rng = Rng::new(2);
        for format in [Format::D16Unorm, Format::D32Float] {
            let desc = TextureDesc::d2(40, 30, format, usage).layers(2).name("shadow");
            let (texture, model) = filled(&gpu, &desc, &mut rng);
            model.expect(&gpu, &texture);
            let part =
                TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [40, 20, 1] };
            let error = gpu.upload_texture(&texture, part, TexelData::new(&[0; 4000])).unwrap_err();
            assert!(error.to_string().contains("a whole mip at a time"), "{error}");
            let mut copies = gpu.record(Queue::Compute, "copies").unwrap();
            let readback = gpu.create_readback_texture(&desc).unwrap();
            if device.properties().queues[copies.queue().index()].kind != QueueKind::Graphics {
                let all = TextureRegion { extent: [40, 30, 1], ..part };
                let at = readback.layout(0).unwrap();
                let layout =
                    tenure_core::BufferLayout { offset: at.offset, row_pitch: at.row_pitch, rows: at.rows };
                let error =
                    copies.copy_texture_to_buffer(&texture, all, readback.buffer(), layout).unwrap_err();
                assert!(error.to_string().contains("graphics queue"), "{error}");
            }
        }
        for format in [Format::D24UnormS8Uint, Format::D32FloatS8Uint] {
            let desc = TextureDesc::d2(8, 8, format, usage).mips(2);
            let data = [TexelData::new(&[0; 256]); 4];
            let error = gpu.create_texture_with(&desc, &data[..2]).err().unwrap();
            assert!(error.to_string().contains("and of its stencil (2, limit 4)"), "{error}");
            let texture = gpu.create_texture_with(&desc, &data).unwrap();
            let stencil =
                TextureRegion { mip: 1, layer: 0, plane: Plane::Stencil, origin: [0; 3], extent: [4, 4, 1] };
            let error = gpu.upload_texture(&texture, stencil, TexelData::new(&[0; 15])).unwrap_err();
            assert!(matches!(error, Error::WrongLength { needed: 16, given: 15, .. }), "{error}");
            gpu.upload_texture(&texture, stencil, TexelData::new(&[0; 16])).unwrap();
        }
        gpu.flush_uploads().unwrap();
        assert_eq!(gpu.upload_stats().pending_bytes, 0);
        end(gpu, &device);
    }
}

/// Whole mips go to the copy queue, parts to a graphics queue, and both keep their order.
#[test]
fn the_queue_follows_the_region() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Random { max: 4 });
    let gpu = gpu(&device, Config::default());
    let copy = Queue::Copy.id(device.properties());
    let serials = || (gpu.submitted().serial(QueueId(0)), gpu.submitted().serial(copy));
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, SAMPLED).mips(2);
    let mut rng = Rng::new(3);
    let (texture, mut model) = filled(&gpu, &desc, &mut rng);
    gpu.flush_uploads().unwrap();
    assert_eq!(serials(), (0, 1));
    // From now on the graphics queue owns it.
    model.expect(&gpu, &texture);
    let whole = TextureRegion { mip: 1, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 16, 1] };
    let part = TextureRegion { origin: [4, 4, 0], extent: [8, 8, 1], ..whole };
    for order in [[whole, part], [part, whole], [part, part], [whole, whole]] {
        for (index, region) in order.into_iter().enumerate() {
            let data = vec![rng.next() as u8 ^ index as u8; 16 * 16 * 4];
            let data = &data[..(region.extent[0] * region.extent[1] * 4) as usize];
            gpu.upload_texture(&texture, region, TexelData::new(data)).unwrap();
            model.set(region, data, region.extent[0] as usize * 4, region.extent[1] as usize);
        }
        let before = serials().1;
        gpu.flush_uploads().unwrap();
        assert_eq!(serials().1 > before, order == [whole, whole], "{order:?}");
        model.expect(&gpu, &texture);
    }
    drop(texture);
    end(gpu, &device);
}

/// AMD's queues for copies alone copy volumes in steps of 8 x 8 x 8 texels: slices are uploaded by a graphics queue, and
/// one that is read back by the copy queue is refused.
#[test]
fn slices_of_a_volume_take_a_graphics_queue() {
    let device = device(Profile::VULKAN_AMD_SMALL_BAR, Lag::Random { max: 4 });
    let gpu = gpu(&device, Config::default());
    let lut = gpu.create_texture(&TextureDesc::d3(4, 4, 4, Format::Rgba8Unorm, SAMPLED).name("lut")).unwrap();
    let slice =
        |z| TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0, 0, z], extent: [4, 4, 1] };
    for z in 0..4 {
        gpu.upload_texture(&lut, slice(z), TexelData::new(&[z as u8; 64])).unwrap();
    }
    let read = |queue| {
        let mut recording = gpu.record(queue, "read").unwrap();
        let texels = recording.read_back_texture(&lut, slice(1)).unwrap();
        (recording.submit().map(drop), texels)
    };
    let (submitted, texels) = read(Queue::Copy);
    let error = submitted.unwrap_err();
    assert!(error.to_string().contains("the queue's copy granularity (1, limit 8)"), "{error}");
    assert!(texels.wait(Duration::from_secs(10)).is_err());
    drop(texels);
    let (submitted, texels) = read(Queue::Graphics);
    submitted.unwrap();
    assert_eq!(texels.wait(Duration::from_secs(10)).unwrap(), [1; 64]);
    drop((texels, lut));
    end(gpu, &device);
}

fn random_program(profile: Profile, seed: u64) {
    let device = device(profile, Lag::Random { max: 6 });
    let gpu = gpu(&device, Config::from(StagingConfig::default().upload_page(64 << 10)));
    let queues = u8::try_from(device.properties().queues.len()).unwrap();
    let mut rng = Rng::new(seed);
    let mut alive: Vec<(Texture<Device>, Model)> = Vec::new();
    for _ in 0..60 {
        match rng.below(8) {
            0 | 1 if alive.len() < 4 => {
                let desc = random_desc(&gpu, &mut rng);
                alive.push(filled(&gpu, &desc, &mut rng));
            }
            2 if alive.len() > 2 => drop(alive.swap_remove(0)),
            3 => gpu.begin_frame().unwrap().end().unwrap(),
            4 if !alive.is_empty() => {
                let (texture, model) = &alive[usize::try_from(rng.below(alive.len() as u64)).unwrap()];
                let queue = Queue::Id(QueueId(u8::try_from(rng.below(queues.into())).unwrap()));
                model.expect_on(&gpu, queue, texture);
            }
            _ if !alive.is_empty() => {
                let index = usize::try_from(rng.below(alive.len() as u64)).unwrap();
                let (texture, model) = &mut alive[index];
                let region = random_region(&model.info, &mut rng);
                let block = model.info.format.block();
                let row = (region.extent[0].div_ceil(block.width) * block.bytes) as usize;
                let down = region.extent[1].div_ceil(block.height) as usize;
                let (mut pitch, mut rows) = (row, down);
                let mut data = TexelData::new(&[]);
                if rng.below(2) == 0 {
                    pitch += usize::try_from(rng.below(50)).unwrap();
                    rows += usize::try_from(rng.below(3)).unwrap();
                    data = data.row_pitch(pitch as u64).rows(u32::try_from(rows).unwrap());
                }
                let size = pitch * rows * region.extent[2] as usize;
                let bytes: Vec<u8> = (0..size).map(|_| rng.next() as u8).collect();
                data.bytes = &bytes;
                gpu.upload_texture(texture, region, data).unwrap();
                model.set(region, &bytes, pitch, rows);
            }
            _ => {}
        }
    }
    for (texture, model) in &alive {
        model.expect(&gpu, texture);
    }
    drop(alive);
    end(gpu, &device);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Any region of any texture, with any pitch, against blocks that are set one by one.
    #[test]
    fn regions_equal_blocks_set_one_by_one(seed: u64, profile in 0..Profile::ALL.len()) {
        random_program(Profile::ALL[profile], seed);
    }
}

#[test]
fn bad_texels_change_nothing() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let elsewhere = super::device(*profile, Lag::None);
        let (gpu, other) = (gpu(&device, Config::default()), gpu(&elsewhere, Config::default()));
        let texture = TextureDesc::d2(16, 8, Format::Rgba8Unorm, SAMPLED).mips(2).layers(3).name("grass");
        let texture = gpu.create_texture(&texture).unwrap();
        let volume =
            gpu.create_texture(&TextureDesc::d3(8, 8, 8, Format::R8Unorm, SAMPLED).name("fog")).unwrap();
        let blocks =
            gpu.create_texture(&TextureDesc::d2(16, 16, blocks(&gpu)[0], SAMPLED).name("moss")).unwrap();
        let all = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 8, 1] };
        let bytes = vec![0; 4096];
        let enough = TexelData::new(&bytes);
        let before = (gpu.stats(), gpu.upload_stats());
        for (region, what) in [
            (TextureRegion { mip: 2, ..all }, "the mip exists (2, limit 2)"),
            (TextureRegion { layer: 3, ..all }, "the layer exists (3, limit 3)"),
            (TextureRegion { mip: u32::MAX, layer: u32::MAX, ..all }, "the mip exists"),
            (TextureRegion { extent: [17, 8, 1], ..all }, "within the mip (17, limit 16)"),
            (TextureRegion { extent: [0, 8, 1], ..all }, "within the mip"),
            (TextureRegion { extent: [16, 8, 2], ..all }, "within the mip (2, limit 1)"),
            (TextureRegion { origin: [u32::MAX, 0, 0], ..all }, "within the mip"),
            (TextureRegion { origin: [1, 0, 0], ..all }, "within the mip (17, limit 16)"),
            (TextureRegion { mip: 1, ..all }, "within the mip (16, limit 8)"),
        ] {
            let error = gpu.upload_texture(&texture, region, enough).unwrap_err().to_string();
            assert!(error.contains("grass") && error.contains(what), "{error}");
        }
        let cut =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [2, 0, 0], extent: [4, 4, 1] };
        let error = gpu.upload_texture(&blocks, cut, enough).unwrap_err().to_string();
        assert!(error.contains("whole blocks"), "{error}");
        for (data, needed, given) in [
            (TexelData::new(&bytes[..511]), 512, 511),
            (TexelData::new(&[]), 512, 0),
            (TexelData::new(&bytes).row_pitch(600), 7 * 600 + 64, 4096),
            (TexelData::new(&bytes[..64 * 7]).row_pitch(64), 512, 448),
        ] {
            let error = gpu.upload_texture(&texture, all, data).unwrap_err();
            assert_eq!(error, Error::WrongLength { name: "grass".into(), needed, given });
        }
        for data in [
            enough.row_pitch(63),
            enough.row_pitch(0),
            enough.row_pitch(u64::MAX),
            enough.row_pitch(u64::MAX / 7 + 1),
        ] {
            let error = gpu.upload_texture(&texture, all, data).unwrap_err();
            let Error::Device { name, source: DeviceError::InvalidCall { value, limit, .. } } = error else {
                panic!("{error}");
            };
            let pitch = Some(data.row_pitch.unwrap().into());
            assert_eq!((name.as_str(), value, limit), ("grass", pitch, Some(64_u64.into())));
        }
        let cube = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [8, 8, 8] };
        let error = gpu.upload_texture(&volume, cube, enough.rows(7)).unwrap_err();
        assert!(matches!(error, Error::Device { source: DeviceError::InvalidCall { .. }, .. }), "{error}");
        let error = gpu.upload_texture(&volume, cube, enough.row_pitch(8).rows(u32::MAX)).unwrap_err();
        assert!(matches!(error, Error::WrongLength { .. }), "{error}");
        let error = other.upload_texture(&texture, all, enough).unwrap_err();
        assert_eq!(error, Error::Foreign { name: "grass".into() });
        assert_eq!((gpu.stats(), gpu.upload_stats()), before);
        drop((texture, volume, blocks));
        assert!(other.shutdown().is_clean());
        drop(other);
        end(gpu, &device);
    }
}

/// Initial data with one invalid part leaves nothing behind, neither texels nor texture.
#[test]
fn initial_data_is_taken_as_a_whole() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, SAMPLED).mips(3).name("grass");
    let bytes = vec![3; 256 * 256 * 4];
    let sized = |bytes_of: [usize; 3]| bytes_of.map(|size| TexelData::new(&bytes[..size]));
    let right = sized([256 * 256 * 4, 128 * 128 * 4, 64 * 64 * 4]);
    let one_short = sized([256 * 256 * 4, 128 * 128 * 4, 64 * 64 * 4 - 1]);
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards());
    let error = gpu.create_texture_with(&desc, &right).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory(_)), "{error}");
    device.faults().clear();
    let short = gpu.create_texture_with(&desc, &one_short).err();
    assert!(matches!(short, Some(Error::WrongLength { needed: 16_384, given: 16_383, .. })), "{short:?}");
    for count in [0, 2] {
        let error = gpu.create_texture_with(&desc, &right[..count]).unwrap_err();
        let Error::Device { source: DeviceError::InvalidCall { value, limit, .. }, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((value, limit), (Some((count as u64).into()), Some(3_u64.into())));
    }
    gpu.reclaim().unwrap();
    assert_eq!((gpu.upload_stats(), gpu.stats().live_objects), (UploadStats::default(), 0));
    assert_eq!((gpu.stats().pending_releases, live(&gpu, PoolKind::Textures)), (0, 0));
    let texture = gpu.create_texture_with(&desc, &right).unwrap();
    gpu.flush_uploads().unwrap();
    assert_eq!(gpu.upload_stats().copies, 3);
    drop(texture);
    end(gpu, &device);
}
