//! Drops, shutdowns and evictions around a move.

use tenure_core::{
    BufferDesc, CompactionBudget, CompactionConfig, Config, DescriptorTableDesc, Format, Gpu, Queue, State,
    Subresource, TexelData, Texture, TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, DescriptorAt, Device, DeviceConfig, HazardKind, Lag, Paging, Profile};

use crate::buffers::{end, end_frame, with};

const BUDGET: CompactionBudget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 100_000 };

const PROFILES: [Profile; 4] =
    [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA, Profile::VULKAN_MOBILE];

pub(crate) fn sampled() -> TextureDesc {
    TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ)
}

/// The first mip and layer.
pub(crate) fn fill(gpu: &Gpu<Device>, texture: &Texture<Device>, byte: u8) {
    let region = texture.info().region(0, 0);
    let [width, height, _] = region.extent;
    let texels = vec![byte; width as usize * height as usize * 4];
    gpu.upload_texture(texture, region, TexelData::new(&texels)).unwrap();
}

/// Creates `count` resources and keeps one in eight.
pub(crate) fn one_in_eight<T>(gpu: &Gpu<Device>, count: usize, make: impl Fn() -> T) -> Vec<T> {
    let all: Vec<_> = (0..count).map(|_| make()).collect();
    let kept = all.into_iter().enumerate().filter(|(index, _)| index % 8 == 0);
    let kept = kept.map(|(_, kept)| kept).collect();
    (0..8).for_each(|_| end_frame(gpu));
    kept
}

/// Compacts until something has moved, without ending a frame.
#[track_caller]
pub(crate) fn move_some(gpu: &Gpu<Device>) {
    assert!((0..100).any(|_| gpu.compact(BUDGET).unwrap().moves > 0), "nothing moves");
}

#[track_caller]
pub(crate) fn assert_no_hazards(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
    assert_eq!(gpu.device().take_hazards(), []);
}

/// A resource dropped right after its move outlives the copy to its new place.
#[test]
fn moved_and_dropped_resources_outlive_the_copy() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile).lag(Lag::Submissions(200)));
        let desc = sampled().movable();
        let textures = one_in_eight(&gpu, 128, || gpu.create_texture(&desc).unwrap());
        textures.iter().for_each(|texture| fill(&gpu, texture, 7));
        let desc = BufferDesc::new(200 << 10, Usage::UNORDERED_ACCESS).movable();
        let buffers = one_in_eight(&gpu, 128, || gpu.create_buffer(&desc).unwrap());
        let bytes = vec![7; 200 << 10];
        buffers.iter().for_each(|buffer| drop(gpu.upload(buffer, 0, &bytes).unwrap()));
        gpu.flush_uploads().unwrap();
        assert!(gpu.device().run_until_idle());
        (0..8).for_each(|_| end_frame(&gpu));
        move_some(&gpu);
        drop((textures, buffers));
        gpu.reclaim().unwrap();
        gpu.trim();
        assert_no_hazards(&gpu);
        end(gpu);
    }
}

/// A frame that ends after the shutdown moves nothing.
#[test]
fn nothing_moves_after_the_shutdown() {
    let config = CompactionConfig::default().quiet_frames(0);
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(100)));
    let gpu = Gpu::new(device.clone(), Config::from(config)).unwrap();
    let all: Vec<_> = (0..128).map(|_| gpu.create_texture(&sampled().movable()).unwrap()).collect();
    all.iter().for_each(|texture| fill(&gpu, texture, 7));
    let kept: Vec<_> = all.into_iter().step_by(8).collect();
    let frames: Vec<_> = (0..3).map(|_| gpu.begin_frame().unwrap()).collect();
    gpu.shutdown();
    let submitted = device.calls().made(CallKind::Submit);
    drop(frames);
    assert_eq!(device.calls().made(CallKind::Submit), submitted);
    drop((gpu, kept));
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

/// A table of something that moves makes the rest of it resident, too.
#[test]
fn a_table_makes_all_of_it_resident() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).paging(Paging::PCIE4_X16));
    let large = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::SHADER_READ).evictable();
    let textures = [large, sampled().movable()].map(|desc| gpu.create_texture(&desc).unwrap());
    textures.iter().for_each(|texture| fill(&gpu, texture, 7));
    let view = |texture| gpu.create_texture_view(texture, &TextureViewDesc::sampled()).unwrap();
    let views = textures.each_ref().map(view);
    let binds = views.each_ref().map(Into::into);
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "load").unwrap();
    for texture in &textures {
        recording.use_resource(texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }
    recording.submit().unwrap();
    assert!(gpu.device().run_until_idle());
    gpu.device().set_budget(0, 1).unwrap();
    (0..8).for_each(|_| end_frame(&gpu));
    assert!(gpu.device().calls().made(CallKind::Evict) > 0);
    gpu.device().set_budget(0, 1 << 30).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "bindless").unwrap();
    recording.make_resident(&table).unwrap();
    recording.set_descriptor_heaps().unwrap();
    for index in table.first()..table.first() + table.len() {
        let at = DescriptorAt::Heap { heap: table.heap(), index };
        recording.raw().use_descriptor(at, State::NON_PIXEL_SHADER);
    }
    recording.submit().unwrap();
    assert_no_hazards(&gpu);
    drop((table, views, textures));
    end(gpu);
}

/// Planned moves at the end of the manager are released with the rest.
#[test]
fn planned_places_are_released_at_the_end() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let kept = one_in_eight(&gpu, 128, || gpu.create_texture(&sampled().movable()).unwrap());
    kept.iter().for_each(|texture| fill(&gpu, texture, 7));
    let mut recording = gpu.record(Queue::Graphics, "hold").unwrap();
    for texture in &kept {
        recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER).unwrap();
    }
    assert!((0..20).any(|_| gpu.compact(BUDGET).unwrap().waiting > 0));
    recording.submit().unwrap();
    drop(kept);
    assert!(gpu.shutdown().is_clean());
    assert_eq!(gpu.memory().heaps[0].ours.pools, 0);
    end(gpu);
}

/// A subresource written only by a recording that was never submitted has no content, and is not copied.
#[test]
fn subresources_of_discarded_writes_are_not_copied() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile));
        let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
        let kept = one_in_eight(&gpu, 128, || gpu.create_texture(&desc.clone().mips(3).movable()).unwrap());
        let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
        for (texture, part) in kept.iter().zip([Subresource::All, Subresource::One(1)].into_iter().cycle()) {
            recording.use_resource(texture, part, State::RENDER_TARGET).unwrap();
        }
        drop(recording);
        move_some(&gpu);
        assert_no_hazards(&gpu);
        drop(kept);
        end(gpu);
    }
}

/// Mips without content are in the state of the others after a move, which views of all of them count on.
#[test]
fn mips_without_content_keep_their_state() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile));
        let kept = one_in_eight(&gpu, 128, || gpu.create_texture(&sampled().mips(3).movable()).unwrap());
        let reads = |names: bool| {
            let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
            for texture in &kept {
                if names {
                    recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER).unwrap();
                }
                let (commands, scratch) = recording.split();
                let object = scratch.texture(texture).unwrap();
                commands.raw().use_texture(object, Subresource::All, State::PIXEL_SHADER);
            }
            recording.submit().unwrap();
            assert!(gpu.device().run_until_idle());
            // A shader decides which texels are sampled.
            let hazards = gpu.device().take_hazards();
            assert!(hazards.iter().all(|hazard| hazard.kind == HazardKind::UninitializedRead), "{hazards:?}");
        };
        kept.iter().for_each(|texture| fill(&gpu, texture, 7));
        reads(true);
        move_some(&gpu);
        reads(false);
        drop(kept);
        assert!(gpu.shutdown().is_clean());
    }
}

/// A subresource that does not exist is refused, and noted nowhere.
#[test]
fn missing_subresources_are_refused() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE));
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).movable();
    let texture = gpu.create_texture(&desc).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "wrong").unwrap();
    let part = Subresource::One(u32::MAX);
    recording.use_resource(&texture, part, State::RENDER_TARGET).unwrap_err();
    recording.submit().unwrap();
    drop(texture);
    end(gpu);
}

/// Partly emptied blocks are freed with the others, also without further compaction: at any point of it, with
/// and without something that waits for a recording.
#[test]
fn unfinished_compactions_end() {
    for (calls, pieces, waits) in [1, 2, 3, 5, 10, 50]
        .into_iter()
        .flat_map(|calls| [(calls, 7, false), (calls, 40, true), (calls, 1000, false), (calls, 1000, true)])
    {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(2)));
        let desc = BufferDesc::new(100 << 10, Usage::VERTEX).movable();
        let all: Vec<_> = (0..200).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        let kept: Vec<_> =
            all.into_iter().enumerate().filter(|(index, _)| index % 10 == 0).map(|(_, kept)| kept).collect();
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        let used = kept.iter().filter(|_| waits);
        used.for_each(|buffer| {
            recording.use_resource(buffer, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
        });
        for _ in 0..calls {
            gpu.compact(CompactionBudget { bytes: 1 << 30, moves: 2, pieces }).unwrap();
        }
        recording.submit().unwrap();
        drop(kept);
        (0..100).for_each(|_| end_frame(&gpu));
        assert_eq!(gpu.memory().heaps[0].ours.pools, 0, "{calls} calls with {pieces} pieces, {waits}");
        end(gpu);
    }
}

/// The same if the compaction of a block stops because something is evicted.
#[test]
fn an_emptying_that_an_eviction_has_stopped_ends() {
    let options = DeviceConfig::new(Profile::VULKAN_INTEL).lag(Lag::Submissions(2)).paging(Paging::PCIE4_X16);
    let gpu = Gpu::new(Device::with_config(options), Config::default()).unwrap();
    let desc = BufferDesc::new(100 << 10, Usage::VERTEX).movable().evictable();
    let all: Vec<_> = (0..200).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let kept: Vec<_> =
        all.into_iter().enumerate().filter(|(index, _)| index % 10 == 0).map(|(_, kept)| kept).collect();
    gpu.compact(CompactionBudget { bytes: 1 << 30, moves: 1, pieces: 20 }).unwrap();
    gpu.device().set_budget(0, 1 << 20).unwrap();
    (0..10).for_each(|_| end_frame(&gpu));
    assert!(gpu.memory().heaps[0].evicted > 0);
    drop(kept);
    (0..100).for_each(|_| end_frame(&gpu));
    assert_eq!(gpu.memory().heaps[0].ours.pools, 0);
    end(gpu);
}
