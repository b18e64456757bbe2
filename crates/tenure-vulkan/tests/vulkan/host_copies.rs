//! Texels that the CPU writes directly, with the validation layers.

use conformance::Harness as _;
use tenure_core::device::{CallRule, DeviceError, Features, TextureWrite, prelude::*};
use tenure_core::{
    Config, Format, Gpu, InPlaceConfig, Queue, State, Subresource, TexelData, TextureDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, OptionalFeatures};

use crate::basics::LONG;
use crate::harness::{PERMIT, Vulkan, validated};

const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

/// Bytes that differ from texel to texel.
fn bytes(count: u64, seed: u8) -> Vec<u8> {
    (0..count).map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Initial data, later uploads, and uploads to textures that the GPU has finished with: in place where the
/// device has such copies, staged without, and the same texels either way.
#[test]
fn texels_are_written_in_place_where_the_device_can() {
    for optional in [OptionalFeatures::empty(), OptionalFeatures::HOST_IMAGE_COPY] {
        let vulkan = Vulkan::new(validated().without(optional));
        let device = vulkan.device();
        let has_writes = device.properties().features.contains(Features::TEXTURE_WRITES);
        assert_eq!(has_writes, device.optional_features().contains(OptionalFeatures::HOST_IMAGE_COPY));
        let in_place = InPlaceConfig::default().max_over_bus(4 << 20);
        let gpu: Gpu<Device> = Gpu::new(device.clone(), Config::from(in_place)).unwrap();
        let formats = [Format::Rgba8Unorm, Format::R8Unorm, Format::Rgba32Float, Format::Bc7Unorm];
        for format in formats.into_iter().filter(|format| gpu.supports_format(*format, SAMPLED)) {
            let desc = TextureDesc::d2(52, 36, format, SAMPLED).mips(3).layers(2).name("grass");
            let is_written = !device.texture_write_states(&desc.info).is_empty();
            let subresources = (0..2).flat_map(|layer| (0..3).map(move |mip| (mip, layer)));
            let texels = subresources
                .clone()
                .map(|(mip, layer)| bytes(desc.info.mip_bytes(mip).unwrap(), (mip + layer * 3) as u8));
            let mut texels: Vec<_> = texels.collect();
            let before = gpu.upload_stats().in_place;
            let data: Vec<_> = texels.iter().map(|texels| TexelData::new(texels)).collect();
            let texture = gpu.create_texture_with(&desc, &data).unwrap();
            assert_eq!(gpu.upload_stats().in_place - before, u64::from(is_written), "{format:?}");
            let usage = texture.raw().image_usage().unwrap();
            assert_eq!(usage.contains(vk::ImageUsageFlags::HOST_TRANSFER_EXT), is_written);
            for round in 0..2 {
                for (index, (mip, layer)) in subresources.clone().enumerate() {
                    let region = texture.info().region(mip, layer);
                    let found = gpu.read_back_texture(&texture, region).unwrap();
                    assert!(found.wait(LONG).unwrap() == texels[index], "{format:?}, mip {mip} of {layer}");
                }
                let region = texture.info().region(1, 1);
                texels[4] = bytes(texels[4].len() as u64, 100 + round);
                let before = gpu.upload_stats().in_place;
                gpu.upload_texture(&texture, region, TexelData::new(&texels[4])).unwrap();
                assert_eq!(gpu.upload_stats().in_place - before, u64::from(is_written), "{format:?}");
            }
            for (queue, state) in
                [(Queue::Compute, State::NON_PIXEL_SHADER), (Queue::Graphics, State::SHADER_READ)]
            {
                let mut recording = gpu.record(queue, "sample").unwrap();
                recording.use_resource(&texture, Subresource::All, state).unwrap();
                recording.submit().unwrap();
            }
        }
        assert!(gpu.shutdown().is_clean());
        drop((gpu, device));
        vulkan.end();
    }
}

/// Rules are checked before the driver call, and a device without such copies returns an error.
#[test]
fn wrong_writes_do_not_reach_the_driver() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, SAMPLED);
    if device.texture_write_states(&desc.info).is_empty() {
        return;
    }
    let gpu: Gpu<Device> = Gpu::new(device.clone(), Config::default()).unwrap();
    let (plain, filled) =
        (gpu.create_texture(&desc).unwrap(), gpu.create_texture(&desc.clone().filled()).unwrap());
    let texels = bytes(1024, 1);
    let whole = TextureWrite { region: desc.info.region(0, 0), row_pitch: 64, rows: 16, bytes: &texels };
    let fresh = (State::COMMON, State::COPY_DST);
    let missing = device.write_texture(PERMIT, plain.raw(), fresh, &[whole]).unwrap_err();
    assert!(matches!(missing, DeviceError::MissingUsage { .. }), "{missing:?}");
    for (states, expected) in [
        ((State::COMMON, State::DEPTH_WRITE), CallRule::WrittenState),
        ((State::COPY_SRC, State::COPY_DST), CallRule::WrittenFrom),
    ] {
        let found = device.write_texture(PERMIT, filled.raw(), states, &[whole]).unwrap_err();
        assert!(matches!(found, DeviceError::InvalidState { rule, .. } if rule == expected), "{found:?}");
    }
    let short = TextureWrite { bytes: &texels[1..], ..whole };
    let found = device.write_texture(PERMIT, filled.raw(), fresh, &[short]).unwrap_err();
    assert!(matches!(found, DeviceError::InvalidCall { rule: CallRule::InsideResource, .. }), "{found:?}");
    drop((plain, filled));
    assert!(gpu.shutdown().is_clean());
    drop((gpu, device));
    vulkan.end();
}
