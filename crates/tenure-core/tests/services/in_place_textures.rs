//! Direct uploads to textures by the CPU.

use proptest::prelude::*;
use tenure_core::device::Features;
use tenure_core::memory::PoolKind;
use tenure_core::{
    Config, Format, Gpu, InPlaceConfig, Queue, State, Subresource, TexelData, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::in_place::staged;
use super::model::{Model, SAMPLED, random_desc, random_region};
use super::{SECOND, end, finish, gpu, live};
use test_random::Rng;

/// Unified memory with one queue, and a card with a queue of each kind in a family of its own.
const WRITTEN: [Profile; 3] =
    [Profile::VULKAN_LAVAPIPE, Profile::VULKAN_NVIDIA, Profile::VULKAN_AMD_SMALL_BAR];

fn device(profile: Profile, lag: Lag) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(lag).seed(12).texture_writes(true))
}

/// Uploads of any size, also on cards.
fn config() -> Config {
    Config::from(InPlaceConfig::default().max_over_bus(4 << 20))
}

fn grass() -> TextureDesc {
    TextureDesc::d2(40, 24, Format::Rgba8Unorm, SAMPLED).mips(3).layers(2).name("grass")
}

fn create(gpu: &Gpu<Device>, desc: &TextureDesc, seed: u64) -> (Texture<Device>, Model) {
    let model = Model::random(&desc.info, &mut Rng::new(seed));
    let data: Vec<_> = model.parts().into_iter().map(TexelData::new).collect();
    (gpu.create_texture_with(desc, &data).unwrap(), model)
}

fn upload(gpu: &Gpu<Device>, texture: &Texture<Device>, model: &mut Model, rng: &mut Rng) {
    let region = random_region(&model.info, rng);
    let block = model.info.format.block();
    let (row, rows) = (region.extent[0].div_ceil(block.width), region.extent[1].div_ceil(block.height));
    // Row pitches may be no multiple of a block; devices do not accept these directly.
    let pitch = u64::from(row * block.bytes) + rng.below(2 * u64::from(block.bytes));
    let rows = rows + u32::try_from(rng.below(3)).unwrap();
    let data = rng.bytes(pitch * u64::from(rows * region.extent[2]));
    gpu.upload_texture(texture, region, TexelData::new(&data).row_pitch(pitch).rows(rows)).unwrap();
    model.set(region, &data, usize::try_from(pitch).unwrap(), rows as usize);
}

/// Uploads in place, and bytes that were staged.
fn roads(gpu: &Gpu<Device>) -> (u64, u64) {
    let stats = gpu.upload_stats();
    (stats.in_place, stats.bytes)
}

/// Initial data is there at once, however busy the GPU is, for every queue, and nothing is staged or submitted for it.
#[test]
fn initial_data_is_written_at_once_for_every_queue() {
    for profile in WRITTEN {
        for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            let device = device(profile, Lag::Manual);
            let gpu = gpu(&device, config());
            let (busy, model) = create(&gpu, &grass(), 1);
            model.expect(&gpu, &busy);
            for (seed, usage) in (0..).zip([
                SAMPLED,
                SAMPLED | Usage::UNORDERED_ACCESS,
                Usage::COPY_SRC | Usage::UNORDERED_ACCESS,
                Usage::COPY_SRC | Usage::RENDER_TARGET,
            ]) {
                let mut desc = grass();
                desc.info.usage = usage;
                let (texture, model) = create(&gpu, &desc, seed);
                model.expect_on(&gpu, queue, &texture);
                model.expect(&gpu, &texture);
            }
            assert_eq!(roads(&gpu), (5, 0), "{}", profile.name());
            assert_eq!((gpu.upload_stats().submissions, live(&gpu, PoolKind::UploadPages)), (0, 0));
            let bytes = grass().info.packed_bytes().unwrap();
            assert_eq!(gpu.upload_stats().in_place_bytes, 5 * bytes);
            drop(busy);
            end(gpu, &device);
        }
    }
}

/// Textures that shaders read need no barrier before their first use, and the device sees them in tenure's
/// state.
#[test]
fn textures_are_created_in_the_state_of_shader_reads() {
    for profile in WRITTEN {
        let device = Device::with_config(
            DeviceConfig::new(profile).lag(Lag::Manual).texture_writes(true).journal(true),
        );
        let gpu = gpu(&device, config());
        let (texture, _) = create(&gpu, &grass(), 3);
        for (queue, state) in
            [(Queue::Graphics, State::SHADER_READ), (Queue::Compute, State::NON_PIXEL_SHADER)]
        {
            let mut recording = gpu.record(queue, "sample").unwrap();
            recording.use_resource(&texture, Subresource::All, state).unwrap();
            recording.barriers();
            recording.raw().use_texture(texture.raw(), Subresource::All, state);
            recording.submit().unwrap();
            assert!(device.run_until_idle());
            let is_moved =
                |step: &tenure_sim::Step| matches!(step, tenure_sim::Step::Transition { transfer: None, .. });
            let is_first = queue == Queue::Graphics;
            let moved = device.take_journal().iter().any(is_moved);
            assert!(!(is_first && moved), "{}: a barrier before the first use", profile.name());
        }
        drop(texture);
        end(gpu, &device);
    }
}

/// Uploads to textures that the GPU may be using are staged; once it has finished, the CPU writes them directly
/// again, in their current state.
#[test]
fn uploads_to_textures_in_use_are_staged() {
    for profile in WRITTEN {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, config());
        let mut rng = Rng::new(4);
        let (texture, mut model) = create(&gpu, &grass(), 4);
        model.expect(&gpu, &texture);
        let whole = model.info.region(1, 1);
        let data = rng.bytes(20 * 12 * 4);
        gpu.upload_texture(&texture, whole, TexelData::new(&data)).unwrap();
        model.set(whole, &data, 80, 12);
        let staged = gpu.upload_stats().bytes;
        assert!(staged >= 20 * 12 * 4, "it is being read");
        model.expect(&gpu, &texture);
        finish(&gpu);
        for _ in 0..5 {
            let data = rng.bytes(20 * 12 * 4);
            gpu.upload_texture(&texture, whole, TexelData::new(&data)).unwrap();
            model.set(whole, &data, 80, 12);
            assert_eq!(gpu.upload_stats().bytes, staged, "the GPU is through");
        }
        for queue in [Queue::Copy, Queue::Compute, Queue::Graphics] {
            model.expect_on(&gpu, queue, &texture);
        }
        drop(texture);
        end(gpu, &device);
    }
}

/// A texture that a view shows, and no submission has used, is written while the GPU has nothing to do.
#[test]
fn unused_textures_are_written_while_the_gpu_is_idle() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Manual);
    let gpu = gpu(&device, config());
    let texture = gpu.create_texture(&grass().filled()).unwrap();
    let mut model = Model::random(texture.info(), &mut Rng::new(5));
    let _named = texture.raw();
    let (other, contents) = create(&gpu, &grass(), 6);
    contents.expect(&gpu, &other);
    let whole = model.info.region(0, 0);
    let data = Rng::new(6).bytes(40 * 24 * 4);
    gpu.upload_texture(&texture, whole, TexelData::new(&data)).unwrap();
    let (in_place, staged) = roads(&gpu);
    assert!(in_place == 1 && staged > 0, "something is submitted");
    gpu.flush_uploads().unwrap();
    finish(&gpu);
    for (region, part) in regions(&model).into_iter().zip(model.parts()) {
        gpu.upload_texture(&texture, region, TexelData::new(part)).unwrap();
    }
    assert_eq!(gpu.upload_stats().bytes, staged, "the pending upload was submitted and is complete");
    model.set(whole, &model.get(whole), 160, 24);
    model.expect_on(&gpu, Queue::Compute, &texture);
    drop((texture, other));
    end(gpu, &device);
}

fn regions(model: &Model) -> Vec<tenure_core::TextureRegion> {
    let info = &model.info;
    let layers = 0..info.layers();
    layers.flat_map(|layer| (0..info.mips).map(move |mip| info.region(mip, layer))).collect()
}

/// Each path can be disabled, and the size of writes across a bus is limited.
#[test]
fn each_road_can_be_switched_off() {
    let run = |profile, in_place: InPlaceConfig| {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::from(in_place));
        let (texture, model) = create(&gpu, &grass(), 7);
        model.expect(&gpu, &texture);
        let initial = gpu.upload_stats().in_place;
        finish(&gpu);
        let mut model = model;
        let mut rng = Rng::new(7);
        let region = model.info.region(0, 0);
        let data = rng.bytes(40 * 24 * 4);
        gpu.upload_texture(&texture, region, TexelData::new(&data)).unwrap();
        model.set(region, &data, 160, 24);
        model.expect(&gpu, &texture);
        let later = gpu.upload_stats().in_place - initial;
        drop(texture);
        end(gpu, &device);
        (initial, later)
    };
    let on = InPlaceConfig::default;
    let bytes = grass().info.packed_bytes().unwrap();
    for profile in WRITTEN {
        let is_unified = profile == Profile::VULKAN_LAVAPIPE;
        assert_eq!(run(profile, on()), (1, 1));
        assert_eq!(run(profile, on().uploads(false)), (1, 0));
        assert_eq!(run(profile, on().initial_data(false)), (0, 1));
        assert_eq!(run(profile, on().textures(false)), (0, 0));
        assert_eq!(run(profile, staged()), (0, 0));
        assert_eq!(run(profile, on().max_upload(40 * 24 * 4 - 1)), (1, 0));
        let over_bus = on().max_over_bus(bytes - 1);
        let expected = if is_unified { (1, 1) } else { (0, 0) };
        assert_eq!(run(profile, over_bus), expected, "it is not created for it");
    }
}

/// Textures that the CPU cannot write, or that direct writes would make slower or immovable, are staged and
/// created without the usage for it.
#[test]
fn textures_that_the_cpu_cannot_write_are_staged() {
    let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
    let gpu = gpu(&device, config());
    let depth = TextureDesc::d2(40, 24, Format::D32Float, Usage::DEPTH_STENCIL | Usage::COPY_SRC);
    for desc in [grass().movable(), depth] {
        let (texture, model) = create(&gpu, &desc.name("other"), 8);
        assert_eq!(gpu.upload_stats().in_place, 0);
        assert!(!texture.info().usage.contains(Usage::CPU_WRITE));
        model.expect(&gpu, &texture);
    }
    let never_filled = gpu.create_texture(&grass()).unwrap();
    gpu.upload_texture(&never_filled, never_filled.info().region(2, 0), TexelData::new(&[1; 10 * 6 * 4]))
        .unwrap();
    assert_eq!(gpu.upload_stats().in_place, 0, "it may be compressed");
    assert!(!grass().info.usage.contains(Usage::CPU_WRITE));
    drop(never_filled);
    end(gpu, &device);
    for (profile, on) in [(Profile::VULKAN_LAVAPIPE, false), (Profile::D3D12_UMA, true)] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).texture_writes(on));
        let gpu = super::gpu(&device, config());
        let (texture, model) = create(&gpu, &grass(), 9);
        assert!(!device_features(&gpu).contains(Features::TEXTURE_WRITES));
        assert_eq!(gpu.upload_stats().in_place, 0);
        model.expect(&gpu, &texture);
        let mut desc = grass();
        desc.info.usage |= Usage::CPU_WRITE;
        let refused = gpu.create_texture(&desc).unwrap_err();
        assert!(refused.to_string().contains("writes of texels by the CPU"), "{refused}");
        drop(texture);
        end(gpu, &device);
    }
}

fn device_features(gpu: &Gpu<Device>) -> Features {
    use tenure_core::device::prelude::*;
    gpu.device().properties().features
}

/// A write that fails is staged, whether it is the first one of a texture or a later one; a lost device says so.
#[test]
fn a_failed_write_is_staged() {
    for profile in WRITTEN {
        for idle in [false, true] {
            let device = device(profile, Lag::Manual);
            let gpu = gpu(&device, config());
            let mut rng = Rng::new(10);
            let fault = || Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::WriteTexture);
            device.faults().inject(fault());
            let (texture, mut model) = create(&gpu, &grass(), 10);
            device.faults().clear();
            assert_eq!(gpu.upload_stats().in_place, 0);
            if idle {
                model.expect(&gpu, &texture);
                finish(&gpu);
                device.faults().inject(fault());
                upload(&gpu, &texture, &mut model, &mut rng);
                device.faults().clear();
                assert_eq!(gpu.upload_stats().in_place, 0);
            }
            model.expect(&gpu, &texture);
            drop(texture);
            end(gpu, &device);
        }
    }
    let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
    let gpu = gpu(&device, config());
    device
        .faults()
        .inject(Fault::nth(1, FaultKind::Removed("unplugged".to_owned())).of(CallKind::WriteTexture));
    let texels = [7; 40 * 24 * 4];
    let desc = TextureDesc::d2(40, 24, Format::Rgba8Unorm, SAMPLED).name("grass");
    let lost = gpu.create_texture_with(&desc, &[TexelData::new(&texels)]).unwrap_err();
    assert!(lost.to_string().contains("unplugged"), "{lost}");
}

/// Wrong data is the same error on either path, and changes nothing.
#[test]
fn wrong_texels_are_refused_as_if_they_were_staged() {
    let errors = [InPlaceConfig::default(), staged()].map(|in_place| {
        let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
        let gpu = gpu(&device, Config::from(in_place));
        let (texture, model) = create(&gpu, &grass(), 11);
        let inside = model.info.region(0, 0);
        let outside = tenure_core::TextureRegion { origin: [1, 0, 0], ..inside };
        let bytes = [1; 40 * 24 * 4];
        let uploads = [
            (inside, TexelData::new(&bytes[1..])),
            (outside, TexelData::new(&bytes)),
            (inside, TexelData::new(&bytes).row_pitch(159)),
            (inside, TexelData::new(&bytes).row_pitch(u64::MAX)),
        ];
        let found =
            uploads.map(|(region, data)| gpu.upload_texture(&texture, region, data).unwrap_err().to_string());
        let short = gpu.create_texture_with(&grass(), &[TexelData::new(&bytes)]).unwrap_err();
        model.expect(&gpu, &texture);
        drop(texture);
        end(gpu, &device);
        (found, short.to_string())
    });
    assert_eq!(errors[0], errors[1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// After random uploads and uses on random queues, with a GPU that is behind or idle, textures hold the
    /// same texels on either path.
    #[test]
    fn staged_and_direct_uploads_write_the_same_texels(seed in any::<u64>(), which in 0_usize..3) {
        for in_place in [config().in_place, staged()] {
            let is_in_place = in_place != staged();
            let device = device(WRITTEN[which], Lag::Random { max: 6 });
            let gpu = gpu(&device, Config::from(in_place));
            let mut rng = Rng::new(seed);
            let mut alive: Vec<(Texture<Device>, Model)> = Vec::new();
            for _ in 0..40 {
                let index = usize::try_from(rng.below(alive.len().max(1) as u64)).unwrap();
                match rng.below(6) {
                    0 if alive.len() < 5 => {
                        let desc = random_desc(&gpu, &mut rng);
                        alive.push(create(&gpu, &desc, rng.next()));
                    }
                    1 if alive.len() > 2 => drop(alive.swap_remove(index)),
                    2 => finish(&gpu),
                    3 if !alive.is_empty() => {
                        let queue = [Queue::Graphics, Queue::Compute, Queue::Copy]
                            [usize::try_from(rng.below(3)).unwrap()];
                        let (texture, model) = &alive[index];
                        model.expect_on(&gpu, queue, texture);
                    }
                    _ if !alive.is_empty() => {
                        let (texture, model) = &mut alive[index];
                        upload(&gpu, texture, model, &mut rng);
                    }
                    _ => {}
                }
            }
            for (texture, model) in &alive {
                model.expect(&gpu, texture);
                let region = model.info.region(0, 0);
                let readback = gpu.read_back_texture(texture, region).unwrap();
                device.run_until_idle();
                prop_assert_eq!(readback.wait(SECOND).unwrap(), model.get(region));
            }
            prop_assert_eq!(gpu.upload_stats().in_place == 0, !is_in_place || gpu.upload_stats().uploads == 0);
            drop(alive);
            end(gpu, &device);
        }
    }
}
