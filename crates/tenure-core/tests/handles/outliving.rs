//! Everything that can outlive the manager, dropped in any order on several threads.

use std::thread;
use std::time::Duration;

use tenure_core::device::{Features, prelude::*};
use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorSetDesc, DescriptorTableDesc, Format,
    FrameConfig, Gpu, PageAllocatorDesc, Queue, SamplerDesc, SetBinding, SetDescriptor, SetLayoutDesc, State,
    Subresource, TextureDesc, TextureViewDesc, UploadRingDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};
use test_random::Rng;

use super::tiles::reserved;
use super::{Counted, SECOND, count, mesh};

type End = Box<dyn FnOnce() + Send>;

fn drops(handle: impl Send + 'static) -> End {
    Box::new(move || drop(handle))
}

/// One end for each handle there is; of recordings some are submitted.
fn ends(gpu: &Gpu<Device>, rng: &mut Rng) -> Vec<End> {
    let mut ends = Vec::new();
    let data = BufferDesc::new(60_000, Usage::SHADER_READ | Usage::COPY_SRC);
    let fixed = gpu.create_buffer_with(&data.clone().name("fixed"), &[1; 60_000]).unwrap();
    let movable = gpu.create_buffer_with(&data.movable().name("movable"), &[2; 60_000]).unwrap();
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).filled().name("texture");
    let texture = gpu.create_texture(&texture).unwrap();
    let shown = gpu.create_buffer_view(&fixed, &BufferViewDesc::raw()).unwrap();
    let moving = gpu.create_buffer_view(&movable, &BufferViewDesc::raw()).unwrap();
    let seen = gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
    let sampler = gpu.create_sampler(&SamplerDesc::default().name("sampler")).unwrap();
    let limits = &gpu.device().properties().descriptors;
    if limits.visible_resources > 0 {
        for binds in [&[(&shown).into(), (&seen).into()][..], &[(&moving).into(), (&shown).into()]] {
            let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(binds).name("table")).unwrap();
            ends.push(drops(table));
        }
        let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&sampler).into()])).unwrap();
        ends.push(drops(table));
    }
    let layout = limits.sets.then(|| {
        let bindings = [SetBinding::new(0, BindingKind::Buffer).count(2)];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("layout")).unwrap();
        for view in [&shown, &moving] {
            let binds = [SetDescriptor::new(0, view).element(1)];
            let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
            ends.push(drops(set));
        }
        layout
    });
    if gpu.device().properties().features.contains(Features::RESERVED_BUFFERS) {
        ends.push(drops(reserved(gpu, "sparse")));
    }
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring")).unwrap();
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("pages"));
    ends.push(drops(pages.create_buffer(&BufferDesc::new(100, Usage::VERTEX)).unwrap()));
    for queue in [Queue::Graphics, Queue::Compute, Queue::Graphics] {
        let mut recording = gpu.record(queue, "open").unwrap();
        ends.push(drops(recording.read_back(&fixed, 0, 64).unwrap()));
        ends.push(drops(recording.write_timestamp().unwrap()));
        let scope = recording.begin_gpu_time("scope").unwrap();
        recording.end_gpu_time(scope).unwrap();
        let storage = BufferDesc::new(4096, Usage::UNORDERED_ACCESS | Usage::SHADER_READ);
        let transient = recording.transient_buffer(&storage.name("transient")).unwrap();
        transient.view(&BufferViewDesc::raw()).unwrap();
        ends.push(drops(transient));
        recording.use_resource(&movable, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        let (_, scratch) = recording.split();
        scratch.constants(&[1.0_f32; 16]).unwrap();
        ring.allocate(scratch, 256, 256).unwrap().write(0, &[3; 256]).unwrap();
        scratch.buffer(&movable).unwrap();
        if limits.visible_resources > 0 {
            scratch.descriptors(&[(&shown).into(), (&moving).into()]).unwrap();
        }
        if let Some(layout) = &layout {
            scratch
                .set(layout, &[SetDescriptor::new(0, &shown), SetDescriptor::new(0, &moving).element(1)])
                .unwrap();
        }
        match rng.below(4) {
            0 => drop(recording.submit().unwrap()),
            1 => ends.push(drops(recording)),
            _ => ends.push(Box::new(move || drop(recording.submit()))),
        }
    }
    ends.extend([drops(ring), drops(pages), drops(layout), drops(sampler), drops(texture)]);
    ends.extend([drops(shown), drops(moving), drops(seen), drops(fixed), drops(movable)]);
    ends
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Works,
    IsLost,
    Hangs,
}

fn run(seed: u64, profile: Profile, fate: Fate, threads: usize) {
    let what = format!("seed {seed}, {profile:?} {fate:?}, {threads} threads");
    let mut rng = Rng::new(seed);
    let (lag, shutdown_timeout) = match fate {
        Fate::Hangs => (Lag::Manual, Duration::from_millis(3)),
        _ => ([Lag::None, Lag::Submissions(20), Lag::Random { max: 9 }][rng.below(3) as usize], SECOND),
    };
    let device = Device::with_config(DeviceConfig::new(profile).lag(lag).seed(seed));
    let frames = FrameConfig::default().shutdown_timeout(shutdown_timeout);
    let gpu = Gpu::new(device.clone(), Config::from(frames)).unwrap();
    let mut ends = ends(&gpu, &mut rng);
    let (counted, dropped) = Counted::new();
    ends.push(drops(gpu.defer("bundle", (counted, mesh(&gpu, "of the bundle", 1000)))));
    gpu.flush_uploads().unwrap();
    // Or it hangs before the shutdown.
    if rng.below(2) == 0 {
        device.run_until_idle();
    }
    let shuts_down = rng.below(3) == 0;
    ends.push(Box::new(move || {
        if shuts_down {
            drop(gpu.shutdown());
        }
        drop(gpu);
    }));
    if fate == Fate::IsLost {
        let device = device.clone();
        ends.push(Box::new(move || device.faults().remove("gone")));
    }
    let mut parts: Vec<Vec<End>> = (0..threads).map(|_| Vec::new()).collect();
    for index in 0.. {
        let left = ends.len() as u64;
        if left == 0 {
            break;
        }
        parts[index % threads].push(ends.swap_remove(rng.below(left) as usize));
    }
    thread::scope(|scope| {
        for part in parts {
            scope.spawn(move || part.into_iter().for_each(|end| end()));
        }
    });
    if fate == Fate::Hangs {
        assert!(device.run_until_idle());
        assert_eq!(device.hazards(), [], "{what}: destroyed in use");
        return;
    }
    device.check_clean().unwrap_or_else(|findings| panic!("{what}: {findings}"));
    assert_eq!((device.handles(), count(&dropped)), (1, 1), "{what}");
}

#[test]
fn all_objects_are_destroyed_once_with_the_last_handle() {
    for seed in 0..8 {
        for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::VULKAN_MOBILE] {
            for fate in [Fate::Works, Fate::IsLost, Fate::Hangs] {
                run(seed, profile, fate, 1);
                run(seed, profile, fate, 3);
            }
        }
    }
}
