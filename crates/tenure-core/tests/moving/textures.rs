//! Movable textures: each subresource with content is copied.

use tenure_core::{
    Format, Gpu, LocationKind, Plane, Queue, State, Subresource, TexelData, Texture, TextureDesc,
    TextureRegion, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::buffers::{SOON, compact, end, end_frame, with};

fn region(texture: &Texture<Device>, mip: u32, layer: u32, plane: Plane) -> TextureRegion {
    TextureRegion { mip, layer, plane, origin: [0; 3], extent: texture.info().mip_extent(mip) }
}

/// Bytes of one subresource, texels packed tightly.
fn bytes(region: &TextureRegion, format: Format) -> usize {
    let block = region.block(format);
    let [width, height, depth] = region.extent;
    (width.div_ceil(block.width) * height.div_ceil(block.height) * depth * block.bytes) as usize
}

/// Fills a subresource.
fn fill(gpu: &Gpu<Device>, texture: &Texture<Device>, region: TextureRegion, byte: u8) {
    let data = vec![byte; bytes(&region, texture.info().format)];
    gpu.upload_texture(texture, region, TexelData::new(&data)).unwrap();
}

#[track_caller]
fn assert_holds(gpu: &Gpu<Device>, texture: &Texture<Device>, region: TextureRegion, byte: u8) {
    let found = gpu.read_back_texture(texture, region).unwrap().wait(SOON).unwrap();
    assert_eq!(found.len(), bytes(&region, texture.info().format));
    assert!(found.iter().all(|found| *found == byte), "{byte}: {:?}", &found[..8]);
}

/// Creates `count` textures and keeps one in eight.
fn sparse(gpu: &Gpu<Device>, count: usize, desc: &TextureDesc) -> Vec<Texture<Device>> {
    let all: Vec<_> = (0..count).map(|_| gpu.create_texture(desc).unwrap()).collect();
    let kept =
        all.into_iter().enumerate().filter(|(index, _)| index % 8 == 0).map(|(_, kept)| kept).collect();
    // Dropped textures are released.
    (0..8).for_each(|_| end_frame(gpu));
    kept
}

fn shapes() -> Vec<TextureDesc> {
    let sampled = Usage::SHADER_READ;
    vec![
        TextureDesc::d2(256, 256, Format::Rgba8Unorm, sampled).mips(4),
        TextureDesc::d2(256, 256, Format::Bc1Unorm, sampled).mips(6).layers(3),
        TextureDesc::d3(64, 64, 16, Format::R8Unorm, sampled),
        TextureDesc::d2(300, 200, Format::D32Float, Usage::DEPTH_STENCIL | Usage::SHADER_READ),
        TextureDesc::d2(320, 200, Format::Rgba16Float, Usage::RENDER_TARGET | Usage::SHADER_READ),
        TextureDesc::d2(256, 256, Format::R32Uint, Usage::UNORDERED_ACCESS),
    ]
}

/// Textures of all kinds: of some subresources only every other one has content.
#[test]
fn remaining_textures_move_with_their_content() {
    for profile in [Profile::DISCRETE, Profile::D3D12_TIER1, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA]
    {
        for desc in shapes() {
            let gpu = with(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
            let kept = sparse(&gpu, 128, &desc.clone().movable());
            assert_eq!(kept[0].location(), LocationKind::Placed, "{desc:?}");
            let parts = |texture: &Texture<Device>| {
                let (mips, layers) = (texture.info().mips, texture.info().layers());
                let all = (0..layers).flat_map(move |layer| (0..mips).map(move |mip| (mip, layer)));
                let filled = all.filter(|(mip, layer)| (mip + layer) % 2 == 0);
                filled.map(|(mip, layer)| region(texture, mip, layer, Plane::First)).collect::<Vec<_>>()
            };
            for (byte, texture) in (1..).zip(&kept) {
                parts(texture).into_iter().for_each(|part| fill(&gpu, texture, part, byte));
            }
            gpu.flush_uploads().unwrap();
            (0..8).for_each(|_| end_frame(&gpu));
            let before = gpu.stats().reserved;
            let report = compact(&gpu);
            assert!(report.moves > 0, "{desc:?}: {report:?}");
            (0..40).for_each(|_| end_frame(&gpu));
            let after = gpu.stats().reserved;
            assert!(after < before / 2, "{before} -> {after}, {desc:?}");
            assert!(kept.iter().any(|texture| texture.moves() > 0));
            for (byte, texture) in (1..).zip(&kept) {
                parts(texture).into_iter().for_each(|part| assert_holds(&gpu, texture, part, byte));
            }
            drop(kept);
            end(gpu);
        }
    }
}

/// Multisampled targets move, although nothing but a resolve could read them.
#[test]
fn multisampled_targets_move() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let gpu = with(DeviceConfig::new(profile));
        let desc = TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
        let kept = sparse(&gpu, 128, &desc.movable());
        for texture in &kept {
            let mut recording = gpu.record(Queue::Graphics, "clear").unwrap();
            recording.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
            let (commands, scratch) = recording.split();
            let object = scratch.texture(texture).unwrap();
            let list = commands.raw_mut(tenure_core::device::Permit::checked());
            list.use_texture(object, Subresource::All, State::RENDER_TARGET);
            recording.submit().unwrap();
        }
        let report = compact(&gpu);
        assert!(report.moves > 0, "{report:?}");
        drop(kept);
        let device = gpu.device().clone();
        device.run_until_idle();
        let _uninitialised_targets = device.take_hazards();
        end(gpu);
    }
}

/// A texture is moved by the queue that used it last, and its next queue finds the contents.
#[test]
fn a_texture_moves_between_queues() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::D3D12_ENHANCED] {
        let gpu = with(DeviceConfig::new(profile).lag(Lag::Random { max: 5 }));
        let desc =
            TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::UNORDERED_ACCESS);
        let kept = sparse(&gpu, 64, &desc.movable());
        for (byte, texture) in (1..).zip(&kept) {
            fill(&gpu, texture, region(texture, 0, 0, Plane::First), byte);
        }
        let mut moves = 0;
        for step in 0..60 {
            let queue = [Queue::Graphics, Queue::Compute][step % 2];
            let mut recording = gpu.record(queue, "read").unwrap();
            for texture in kept.iter().skip(step % 3) {
                recording.use_resource(texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
                let (commands, scratch) = recording.split();
                let object = scratch.texture(texture).unwrap();
                let list = commands.raw_mut(tenure_core::device::Permit::checked());
                list.use_texture(object, Subresource::All, State::NON_PIXEL_SHADER);
            }
            recording.submit().unwrap();
            let budget = tenure_core::CompactionBudget { bytes: 1 << 20, moves: 2, pieces: 100 };
            moves += gpu.compact(budget).unwrap().moves;
            end_frame(&gpu);
        }
        assert!(moves > 3, "{moves}");
        for (byte, texture) in (1..).zip(&kept) {
            assert_holds(&gpu, texture, region(texture, 0, 0, Plane::First), byte);
        }
        drop(kept);
        end(gpu);
    }
}
