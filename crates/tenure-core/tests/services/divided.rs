//! Uploads and readbacks larger than the staging limit, or than the available memory.

use std::thread;
use std::time::Duration;

use tenure_core::{
    AllocationFlags, Awaited, Buffer, BufferDesc, Config, Error, Format, FrameConfig, Gpu, PoolConfig, Queue,
    StagingConfig, TexelData, TextureDesc, TextureRegion, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::in_place;
use super::model::{Model, SAMPLED, blocks};
use super::{SECOND, end, gpu};
use test_random::Rng;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// A card with `bytes` of staging memory.
pub(super) fn small_host(profile: Profile, bytes: u64, lag: Lag) -> Device {
    let heaps = [2 << 30, bytes, 64 * KIB];
    let heaps = if profile == Profile::VULKAN_AMD_SMALL_BAR { &heaps[..] } else { &heaps[..2] };
    Device::with_config(DeviceConfig::new(profile).heap_sizes(heaps).lag(lag).seed(5))
}

pub(super) fn config(max_pending: u64) -> Config {
    let staging = StagingConfig::default().max_pending(max_pending).upload_page(64 * KIB);
    Config::default().staging(staging).in_place(in_place::staged())
}

pub(super) fn buffer(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    let desc = BufferDesc::new(size, Usage::SHADER_READ | Usage::COPY_SRC).name("volume");
    gpu.create_buffer(&desc).unwrap()
}

/// Bytes without short repetitions.
pub(super) fn bytes(size: u64, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..size / 8).flat_map(|_| rng.next().to_le_bytes()).collect()
}

/// The peak of reserved bytes beyond live bytes.
fn staged(gpu: &Gpu<Device>, resources: u64) -> u64 {
    gpu.stats().peak_reserved - resources
}

#[test]
fn more_than_the_host_has_is_uploaded_in_pieces() {
    let device = small_host(Profile::VULKAN_AMD_SMALL_BAR, 128 * MIB, Lag::Submissions(2));
    let gpu = gpu(&device, Config::default());
    let data = bytes(192 * MIB, 1);
    let desc = BufferDesc::new(192 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).name("volume");
    let volume = gpu.create_buffer_with(&desc, &data).unwrap();
    assert_eq!(gpu.upload_stats().uploads, 1);
    let mut found = vec![0; data.len()];
    gpu.read_back_into(&volume, 0, &mut found, 10 * SECOND).unwrap();
    assert!(found == data);
    // Each layer fits, all of them do not.
    let desc = TextureDesc::d2(1448, 1448, Format::Rgba8Unorm, SAMPLED).layers(24).name("terrain");
    let layer = &data[..1448 * 1448 * 4];
    let terrain = gpu.create_texture_with(&desc, &[TexelData::new(layer); 24]).unwrap();
    let mut found = vec![0; layer.len()];
    for index in [0, 23] {
        let region = terrain.info().region(0, index);
        gpu.read_back_texture_into(&terrain, region, &mut found, 10 * SECOND).unwrap();
        assert!(found == layer);
    }
    drop((volume, terrain));
    end(gpu, &device);
}

/// The staged bytes of all uploads stay within the limit, however late the GPU is.
#[test]
fn large_uploads_stay_within_the_staging_limit() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::VULKAN_LAVAPIPE] {
        for lag in [Lag::None, Lag::Submissions(3), Lag::Random { max: 9 }] {
            let device = Device::with_config(DeviceConfig::new(profile).lag(lag).seed(5));
            let gpu = gpu(&device, config(4 * MIB));
            let data = bytes(64 * MIB, 2);
            let volume = buffer(&gpu, 64 * MIB);
            gpu.upload(&volume, 0, &data).unwrap();
            let limit = 5 * MIB;
            let found = staged(&gpu, 64 * MIB);
            assert!(found <= limit, "{} {lag:?}: a buffer, {found}", profile.name());
            let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, SAMPLED).layers(64).name("layers");
            let layers: Vec<_> = data.chunks(256 * 1024).take(64).map(TexelData::new).collect();
            let layers = gpu.create_texture_with(&desc, &layers).unwrap();
            let found = staged(&gpu, 64 * MIB + layers.size());
            assert!(found <= limit, "{} {lag:?}: layers, {found}", profile.name());
            let desc = TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, SAMPLED).name("mip");
            let mip = gpu.create_texture_with(&desc, &[TexelData::new(&data[..16 << 20])]).unwrap();
            let found = staged(&gpu, 64 * MIB + layers.size() + mip.size());
            assert!(found <= limit, "{} {lag:?}: a mip, {found}", profile.name());
            let mut read = vec![0; data.len()];
            gpu.read_back_into(&volume, 0, &mut read, 10 * SECOND).unwrap();
            assert!(read == data);
            let mut read = vec![0; 16 << 20];
            gpu.read_back_texture_into(&mip, mip.info().region(0, 0), &mut read, 10 * SECOND).unwrap();
            assert!(read == data[..16 << 20]);
            let found = staged(&gpu, 64 * MIB + layers.size() + mip.size());
            // Pages of uploads are idle meanwhile.
            assert!(found <= 2 * limit, "{} {lag:?}: readbacks, {found}", profile.name());
            drop((volume, layers, mip));
            end(gpu, &device);
        }
    }
}

/// Pieces become smaller until they fit.
#[test]
fn a_host_of_one_mebibyte_is_enough() {
    for profile in [Profile::VULKAN_AMD_SMALL_BAR, Profile::D3D12_TIER2] {
        let device = small_host(profile, MIB, Lag::Random { max: 4 });
        let gpu = gpu(&device, Config::default());
        let data = bytes(64 * MIB, 3);
        let volume = buffer(&gpu, 64 * MIB);
        let upload = gpu.upload(&volume, 0, &data).unwrap();
        assert!(gpu.wait_upload(&upload, SECOND).unwrap());
        let mut found = vec![0; data.len()];
        gpu.read_back_into(&volume, 0, &mut found, 100 * SECOND).unwrap();
        assert!(found == data, "{}", profile.name());
        let desc = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, SAMPLED).mips(3).name("mips");
        let texture = gpu.create_texture(&desc).unwrap();
        let mut found = vec![0; 4 << 20];
        gpu.upload_texture(&texture, texture.info().region(0, 0), TexelData::new(&data[..4 << 20])).unwrap();
        gpu.read_back_texture_into(&texture, texture.info().region(0, 0), &mut found, 10 * SECOND).unwrap();
        assert!(found == data[..4 << 20], "{}", profile.name());
        drop((volume, texture));
        end(gpu, &device);
    }
}

#[test]
fn a_row_that_does_not_fit_is_refused_with_its_bytes() {
    let device = small_host(Profile::VULKAN_AMD_SMALL_BAR, 128 * KIB, Lag::None);
    let gpu = gpu(&device, config(64 * MIB));
    // A row has 256 KiB.
    let desc = TextureDesc::d2(16384, 4, Format::Rgba32Float, SAMPLED).name("wide");
    let texture = gpu.create_texture(&desc).unwrap();
    let data = vec![7; 1 << 20];
    let region = texture.info().region(0, 0);
    let error = gpu.upload_texture(&texture, region, TexelData::new(&data)).unwrap_err();
    assert!(matches!(&error, Error::OutOfMemory(found) if found.size == 256 * KIB), "{error}");
    assert!(gpu.create_texture_with(&desc, &[TexelData::new(&data)]).is_err());
    let stats = gpu.upload_stats();
    assert_eq!((stats.uploads, stats.bytes, stats.pending_bytes), (0, 0, 0));
    let error = gpu.read_back_texture_into(&texture, region, &mut vec![0; 1 << 20], SECOND).unwrap_err();
    assert!(matches!(&error, Error::OutOfMemory(found) if found.size == 256 * KIB), "{error}");
    let column = TextureRegion { extent: [1024, 4, 1], ..region };
    gpu.upload_texture(&texture, column, TexelData::new(&data[..64 << 10])).unwrap();
    drop(texture);
    end(gpu, &device);
}

/// Regions of every shape, from rows and slices with padding.
#[test]
fn pieces_are_at_the_places_of_the_whole() {
    for profile in Profile::ALL {
        let device = Device::with_config(DeviceConfig::new(*profile).lag(Lag::Random { max: 4 }).seed(5));
        let gpu = gpu(&device, config(64 * KIB));
        let [small_blocks, large_blocks] = blocks(&gpu);
        let mut rng = Rng::new(4);
        for desc in [
            TextureDesc::d2(512, 260, small_blocks, SAMPLED).mips(3),
            TextureDesc::d2(260, 516, large_blocks, SAMPLED).layers(2),
            TextureDesc::d2(333, 200, Format::Rgba8Unorm, SAMPLED | Usage::RENDER_TARGET).mips(4),
            TextureDesc::d3(50, 31, 40, Format::Rgba8Unorm, SAMPLED).mips(2),
            TextureDesc::d3(120, 120, 3, Format::Rgba16Float, SAMPLED),
            TextureDesc::d2(8192, 3, Format::R8Unorm, SAMPLED),
        ] {
            let mut model = Model::random(&desc.info, &mut rng);
            let data: Vec<_> = model.parts().into_iter().map(TexelData::new).collect();
            let texture = gpu.create_texture_with(&desc.name("shape"), &data).unwrap();
            model.expect(&gpu, &texture);
            let block = model.info.format.block();
            // The region begins inside the mip, at a whole block, if the mip is large enough.
            let whole = texture.info().region(0, 0);
            let [width, height, depth] = whole.extent;
            let origin = [block.width, if height > 8 { block.height } else { 0 }, u32::from(depth > 1)];
            let extent = [width - origin[0], height - origin[1], depth - origin[2]];
            let region = TextureRegion { origin, extent, ..whole };
            let pitch = (extent[0].div_ceil(block.width) * block.bytes) as usize + 24;
            let rows = extent[1].div_ceil(block.height) as usize + 2;
            let data = bytes(((pitch * rows * extent[2] as usize) as u64).next_multiple_of(8), 6);
            let texels = TexelData::new(&data).row_pitch(pitch as u64).rows(u32::try_from(rows).unwrap());
            gpu.upload_texture(&texture, region, texels).unwrap();
            model.set(region, &data, pitch, rows);
            model.expect(&gpu, &texture);
            let mut found = vec![0; model.get(region).len()];
            gpu.read_back_texture_into(&texture, region, &mut found, SECOND).unwrap();
            assert!(found == model.get(region), "{}", profile.name());
        }
        // Depth is never divided, although a mip of it is larger than all that may be pending.
        let desc = TextureDesc::d2(256, 256, Format::D32Float, Usage::DEPTH_STENCIL | SAMPLED).name("depth");
        let model = Model::random(&desc.info, &mut rng);
        let depth = gpu.create_texture_with(&desc, &[TexelData::new(&model.bytes)]).unwrap();
        model.expect(&gpu, &depth);
        let mut found = vec![0; model.bytes.len()];
        gpu.read_back_texture_into(&depth, depth.info().region(0, 0), &mut found, SECOND).unwrap();
        assert!(found == model.bytes);
        drop(depth);
        end(gpu, &device);
    }
}

/// With an open recording, and with smaller uploads to the same bytes.
#[test]
fn the_order_is_that_of_the_calls() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2, Profile::VULKAN_LAVAPIPE] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Random { max: 6 }).seed(5));
        let gpu = gpu(&device, config(256 * KIB));
        let volume = buffer(&gpu, 4 * MIB);
        let copy = buffer(&gpu, 4 * MIB);
        let (first, second) = (bytes(4 * MIB, 7), bytes(4 * MIB, 8));
        let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
        recording.copy_buffer(&volume, 0, &copy, 0, 4 * MIB).unwrap();
        gpu.upload(&volume, 1000, &[1; 5000]).unwrap();
        gpu.upload(&volume, 0, &first).unwrap();
        gpu.upload(&volume, 3_000_000, &[2; 5000]).unwrap();
        recording.submit().unwrap();
        let upload = gpu.upload(&volume, 0, &second).unwrap();
        gpu.upload(&volume, 17, &[3; 100]).unwrap();
        let mut expected = first;
        expected[3_000_000..3_005_000].fill(2);
        let mut found = vec![0; expected.len()];
        gpu.read_back_into(&copy, 0, &mut found, SECOND).unwrap();
        assert!(found == expected, "{}", profile.name());
        let mut expected = second;
        expected[17..117].fill(3);
        gpu.read_back_into(&volume, 0, &mut found, SECOND).unwrap();
        assert!(found == expected, "{}", profile.name());
        assert!(gpu.wait_upload(&upload, SECOND).unwrap());
        assert_eq!(gpu.upload_stats().uploads, 5);
        drop((volume, copy));
        end(gpu, &device);
    }
}

#[test]
fn threads_upload_at_once() {
    for lag in [Lag::None, Lag::Random { max: 5 }] {
        let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(lag).seed(5));
        let gpu = gpu(&device, config(2 * MIB));
        let volumes: Vec<_> = (0..4).map(|_| buffer(&gpu, 8 * MIB)).collect();
        thread::scope(|scope| {
            for (volume, seed) in volumes.iter().zip(0..) {
                let gpu = &gpu;
                scope.spawn(move || {
                    let data = bytes(8 * MIB, seed);
                    gpu.upload(volume, 0, &data).unwrap();
                    let mut found = vec![0; data.len()];
                    gpu.read_back_into(volume, 0, &mut found, 10 * SECOND).unwrap();
                    assert!(found == data);
                });
            }
        });
        // The limit and a piece for each thread, of uploads and of readbacks by each thread.
        let found = staged(&gpu, 32 * MIB);
        assert!(found <= 4 * MIB + 4 * 2 * MIB + 4 * MIB, "{lag:?}: {found}");
        drop(volumes);
        end(gpu, &device);
    }
}

/// A GPU that does not finish is an error after the time for frames, unless nothing may wait.
#[test]
fn waits_for_a_late_gpu_time_out() {
    let frames = FrameConfig::default().timeout(Duration::from_millis(20));
    for max_wait in [Duration::from_millis(1), Duration::ZERO] {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
        let pools = PoolConfig::default().max_wait(max_wait);
        let gpu = gpu(&device, config(256 * KIB).frames(frames.clone()).pools(pools));
        let volume = buffer(&gpu, MIB);
        let data = bytes(MIB, 9);
        let upload = gpu.upload(&volume, 0, &data);
        match upload {
            Ok(_) => assert!(max_wait.is_zero()),
            Err(Error::Timeout { what: Awaited::EarlierUploads, waited_ms }) => {
                assert!(!max_wait.is_zero() && waited_ms >= 20);
            }
            Err(other) => panic!("{other}"),
        }
        let desc = BufferDesc::new(MIB, Usage::SHADER_READ).allocation(AllocationFlags::NEVER_WAIT);
        let never = gpu.create_buffer_with(&desc, &data).unwrap();
        // An undivided upload never waits.
        gpu.upload(&volume, 0, &data[..64 << 10]).unwrap();
        let mut out = vec![0; 1 << 20];
        let error = gpu.read_back_into(&volume, 0, &mut out, Duration::from_millis(5)).unwrap_err();
        assert!(matches!(error, Error::Timeout { what: Awaited::Readback, .. }), "{error}");
        drop((volume, never));
        end(gpu, &device);
    }
}

#[test]
fn a_device_lost_between_two_pieces_is_an_error() {
    for call in [CallKind::Submit, CallKind::CreateCommitted] {
        for n in 1..6 {
            let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(2)));
            let gpu = gpu(&device, config(MIB));
            let volume = buffer(&gpu, 8 * MIB);
            device.faults().inject(Fault::nth(n, FaultKind::Removed("unplugged".to_owned())).of(call));
            let uploaded = gpu.upload(&volume, 0, &bytes(8 * MIB, 10));
            let read = uploaded.and_then(|_| gpu.read_back_into(&volume, 0, &mut vec![0; 8 << 20], SECOND));
            let error = read.unwrap_err();
            assert!(error.is_device_lost(), "{error}");
            drop(volume);
            let report = gpu.shutdown();
            assert_eq!((report.leaks.len(), report.open_recordings.len()), (0, 0));
            assert_eq!(gpu.upload_stats().pending_bytes, 0);
        }
    }
}

#[test]
fn wrong_lengths_are_refused_before_anything_is_read() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE));
    let gpu = gpu(&device, config(64 * KIB));
    let volume = buffer(&gpu, MIB);
    let error = gpu.read_back_into(&volume, 1, &mut vec![0; 1 << 20], SECOND).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { offset: 1, .. }), "{error}");
    gpu.read_back_into(&volume, MIB, &mut [], SECOND).unwrap();
    let other_device = Device::with_config(DeviceConfig::new(Profile::DISCRETE));
    let other = super::gpu(&other_device, config(64 * KIB));
    let error = other.read_back_into(&volume, 0, &mut [], SECOND).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    end(other, &other_device);
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, SAMPLED).name("grass");
    let grass = gpu.create_texture_with(&desc, &[TexelData::new(&[1; 1024])]).unwrap();
    let region = grass.info().region(0, 0);
    let error = gpu.read_back_texture_into(&grass, region, &mut [0; 1023], SECOND).unwrap_err();
    assert!(matches!(error, Error::WrongLength { needed: 1024, given: 1023, .. }), "{error}");
    let outside = TextureRegion { extent: [17, 16, 1], ..region };
    assert!(gpu.read_back_texture_into(&grass, outside, &mut [0; 1024], SECOND).is_err());
    drop((volume, grass));
    end(gpu, &device);
}
