//! Ranges of mips and layers in uses, discards, copies and declared states.

use tenure_core::state::StateError;
use tenure_core::{
    BufferDesc, Config, Error, Format, Gpu, Queue, State, Subresource, Subresources, SyncPoint, Texture,
    TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const MIPS: u32 = 5;
const LAYERS: u32 = 6;

fn cube(profile: Profile) -> (Device, Gpu<Device>, Texture<Device>) {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage).mips(MIPS).layers(LAYERS).name("cube");
    let cube = gpu.create_texture(&desc).unwrap();
    (device, gpu, cube)
}

#[test]
fn each_mip_is_reduced_from_the_one_before() {
    for profile in Profile::ALL {
        let (device, gpu, cube) = cube(*profile);
        let mut recording = gpu.record(Queue::Graphics, "mips").unwrap();
        recording.use_resource(&cube, Subresources::mip(0), State::RENDER_TARGET).unwrap();
        for layer in 0..LAYERS {
            recording.raw().clear_texture(cube.raw(), Subresource::One(layer * MIPS), &[1]);
        }
        for mip in 1..MIPS {
            recording
                .use_resource(&cube, Subresources::mip(mip - 1).of_layer(2), State::PIXEL_SHADER)
                .unwrap();
            recording.use_resource(&cube, Subresources::mip(mip).of_layer(2), State::RENDER_TARGET).unwrap();
            let (from, to) = (Subresource::One(mip - 1 + 2 * MIPS), Subresource::One(mip + 2 * MIPS));
            recording.raw().use_texture(cube.raw(), from, State::PIXEL_SHADER);
            recording.raw().clear_texture(cube.raw(), to, &[1]);
        }
        recording
            .use_resource(&cube, Subresources::mips(..MIPS - 1).of_layers(1..=2), State::COPY_SRC)
            .unwrap();
        for index in [2 * MIPS, 2 * MIPS + MIPS - 2] {
            recording.raw().use_texture(cube.raw(), Subresource::One(index), State::COPY_SRC);
        }
        recording.submit().unwrap();
        drop(cube);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

/// The range names these subresources alone: all others keep their state.
#[test]
fn a_range_names_its_mips_of_its_layers() {
    let ranges = [
        (Subresources::ALL, 0..MIPS, 0..LAYERS),
        (Subresources::mips(..), 0..MIPS, 0..LAYERS),
        (Subresources::mip(3), 3..4, 0..LAYERS),
        (Subresources::mips(1..4), 1..4, 0..LAYERS),
        (Subresources::mips(2..), 2..MIPS, 0..LAYERS),
        (Subresources::layer(5), 0..MIPS, 5..6),
        (Subresources::layers(..=1), 0..MIPS, 0..2),
        (Subresources::ALL.of_layers(4..), 0..MIPS, 4..LAYERS),
        (Subresources::mips(1..3).of_layers(2..4), 1..3, 2..4),
        (Subresources::from(Subresource::One(7)), 2..3, 1..2),
        (Subresources::mips(5..), 0..0, 0..0),
        (Subresources::layers(3..3), 0..0, 0..0),
    ];
    for (range, mips, layers) in ranges {
        let (device, gpu, cube) = cube(Profile::VULKAN_NVIDIA);
        let mut recording = gpu.record(Queue::Graphics, "range").unwrap();
        recording.use_resource(&cube, Subresources::ALL, State::RENDER_TARGET).unwrap();
        recording.raw().clear_texture(cube.raw(), Subresource::All, &[1]);
        recording.use_resource(&cube, range, State::PIXEL_SHADER).unwrap();
        for (layer, mip) in layers.clone().flat_map(|layer| mips.clone().map(move |mip| (layer, mip))) {
            let part = Subresource::One(mip + layer * MIPS);
            recording.raw().use_texture(cube.raw(), part, State::PIXEL_SHADER);
        }
        // The others: a barrier that is missing or superfluous is a hazard.
        recording.use_resource(&cube, Subresources::ALL, State::COPY_SRC).unwrap();
        recording.raw().use_texture(cube.raw(), Subresource::All, State::COPY_SRC);
        recording.submit().unwrap();
        device.run_until_idle();
        assert_eq!(device.take_hazards(), [], "{range:?}");
    }
}

#[test]
fn parts_that_do_not_exist_are_refused_with_their_number() {
    let (_device, gpu, cube) = cube(Profile::VULKAN_NVIDIA);
    let mut recording = gpu.record(Queue::Graphics, "refused").unwrap();
    let wrong = [
        (Subresources::mip(5), "mip", 5, MIPS),
        (Subresources::mips(2..9), "mip", 8, MIPS),
        (Subresources::mips(7..), "mip", 7, MIPS),
        (Subresources::mips(..=u32::MAX), "mip", u32::MAX - 1, MIPS),
        (Subresources::layer(6), "layer", 6, LAYERS),
        (Subresources::mip(0).of_layers(5..8), "layer", 7, LAYERS),
    ];
    for (range, part, index, count) in wrong {
        let source = StateError::NoSuchPart { part, index, count };
        let refused = |result: Result<(), Error>| match result {
            Err(Error::State { name, source: found }) => assert_eq!((name.as_str(), found), ("cube", source)),
            other => panic!("{range:?}: {other:?}"),
        };
        refused(recording.use_resource(&cube, range, State::PIXEL_SHADER));
        refused(recording.discard(&cube, range));
        refused(recording.copy_texture(&cube, &cube, range));
        refused(gpu.declare_state(&cube, range, State::PIXEL_SHADER, &SyncPoint::NONE));
    }
    // A buffer has one part.
    let buffer = gpu.create_buffer(&BufferDesc::new(64, Usage::SHADER_READ)).unwrap();
    recording.use_resource(&buffer, Subresources::mip(0), State::PIXEL_SHADER).unwrap();
    assert!(recording.use_resource(&buffer, Subresources::layer(1), State::PIXEL_SHADER).is_err());
}

#[test]
fn copies_and_discards_cover_the_range() {
    let (device, gpu, from) = cube(Profile::VULKAN_NVIDIA);
    let desc = TextureDesc::from(from.info().clone());
    let to = gpu.create_texture(&desc).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
    recording.use_resource(&from, Subresources::ALL, State::RENDER_TARGET).unwrap();
    recording.raw().clear_texture(from.raw(), Subresource::All, &[9; 4]);
    recording.copy_texture(&from, &to, Subresources::mips(1..3).of_layer(4)).unwrap();
    let region = |mip| to.info().region(mip, 4);
    let read = [1, 2].map(|mip| recording.read_back_texture(&to, region(mip)).unwrap());
    recording.discard(&from, Subresources::layers(2..)).unwrap();
    recording.submit().unwrap();
    for readback in read {
        assert!(readback.wait(std::time::Duration::from_secs(1)).unwrap().iter().all(|byte| *byte == 9));
    }
    device.run_until_idle();
    assert_eq!(device.take_hazards(), []);
}
