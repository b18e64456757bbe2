//! States and barriers of generated mips.

use tenure_core::{
    Config, Format, Gpu, Queue, State, Subresource, Subresources, TexelData, TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Step};

const USAGE: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST);

/// The barriers of a mip change the source and the destination of its blit alone; the next use finds all states.
#[test]
fn each_mip_has_the_barriers_of_its_blit() {
    let device =
        Device::with_config(DeviceConfig::new(Profile::VULKAN_LAVAPIPE).lag(Lag::None).journal(true));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, USAGE).mips(4).layers(2);
    let texture = gpu.create_texture(&desc).unwrap();
    for layer in 0..2 {
        let texels = [9; 8 * 8 * 4];
        gpu.upload_texture(&texture, desc.info.region(0, layer), TexelData::new(&texels)).unwrap();
    }
    gpu.flush_uploads().unwrap();
    assert!(device.run_until_idle());
    let _uploads = device.take_journal();

    let mut recording = gpu.record(Queue::Graphics, "mips").unwrap();
    recording.generate_mips(&texture, Subresources::mips(..3).of_layer(1)).unwrap();
    recording.submit().unwrap();
    assert!(device.run_until_idle());
    let mut entered = Vec::new();
    for step in device.take_journal() {
        if let Step::Transition { subresource: Subresource::One(part), after, .. } = step {
            entered.push((part, after));
        }
    }
    let (src, dst) = (State::COPY_SRC, State::COPY_DST);
    // The first use of each part is joined to the states before the list; only the change of mip 1 is within.
    assert_eq!(entered, [(4, src), (5, dst), (6, dst), (5, src)]);

    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.use_resource(&texture, Subresources::mips(..3).of_layer(1), State::PIXEL_SHADER).unwrap();
    for part in 4..7 {
        recording.raw().use_texture(texture.raw(), Subresource::One(part), State::PIXEL_SHADER);
    }
    recording.submit().unwrap();
    drop(texture);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A source that was never written is reported as for a copy.
#[test]
fn a_source_without_contents_is_a_hazard() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None).zeroed(false));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let texture = gpu.create_texture(&TextureDesc::d2(8, 8, Format::Rgba8Unorm, USAGE).mips(2)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "mips").unwrap();
    recording.generate_mips(&texture, Subresources::ALL).unwrap();
    recording.submit().unwrap();
    assert!(device.run_until_idle());
    let hazards = device.take_hazards();
    assert!(hazards.iter().all(|hazard| hazard.to_string().contains("generate_mip")), "{hazards:?}");
    assert_eq!(hazards.len(), 1, "{hazards:?}");
}
