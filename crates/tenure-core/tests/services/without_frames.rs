//! Programs without frames that only wait, with any kind of wait: nothing grows.

use tenure_core::{
    BindingKind, BufferDesc, Config, Gpu, PageAllocatorDesc, PoolConfig, Queue, SetBinding, SetLayoutDesc,
    State, Strategy, Subresource, SyncPoint, Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, device, end, gpu};

/// Command lists and reserved bytes after a number of rounds of upload, use, submission and `wait`.
fn rounds(gpu: &Gpu<Device>, rounds: u32, wait: impl Fn(&Gpu<Device>, SyncPoint)) -> (u64, u64) {
    let device = gpu.device();
    let desc = BufferDesc::new(64 << 10, Usage::SHADER_READ | Usage::COPY_SRC).name("parameters");
    let parameters = gpu.create_buffer(&desc).unwrap();
    for _ in 0..rounds {
        gpu.upload(&parameters, 0, &[1; 16 << 10]).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "compute").unwrap();
        recording.use_resource(&parameters, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        let _ = recording.split().1.constants(&[1_u8; 4096]).unwrap();
        let time = recording.write_timestamp().unwrap();
        wait(gpu, recording.submit().unwrap());
        drop(time);
    }
    let calls = device.calls();
    (calls.live_lists, calls.reserved_bytes)
}

/// In half of the cases one frame comes first.
fn draw(gpu: &Gpu<Device>, has_drawn: bool) {
    if has_drawn {
        gpu.begin_frame().unwrap().end().unwrap();
    }
}

#[test]
fn every_wait_recycles_the_lists_of_all_queues() {
    type Wait = fn(&Gpu<Device>, SyncPoint);
    let waits: [(&str, Wait); 4] = [
        ("wait", |gpu, at| assert!(gpu.wait(&at, SECOND).unwrap())),
        ("completed", |gpu, at| assert!(at.is_covered_by(&gpu.completed().unwrap()))),
        ("reclaim", |gpu, _| gpu.reclaim().unwrap()),
        // The program has fences of its own.
        ("by itself", |_, _| {}),
    ];
    let profiles = [Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2];
    for (profile, has_drawn) in profiles.into_iter().flat_map(|profile| [(profile, false), (profile, true)]) {
        for (name, wait) in waits {
            let device = device(profile, Lag::None);
            let gpu = gpu(&device, Config::default());
            draw(&gpu, has_drawn);
            let few = rounds(&gpu, 300, wait);
            let many = rounds(&gpu, 1200, wait);
            assert!(many.0 <= few.0.max(8), "{}, {name}: lists {few:?} {many:?}", profile.name());
            assert!(many.1 <= few.1 + (1 << 20), "{}, {name}: bytes {few:?} {many:?}", profile.name());
            end(gpu, &device);
        }
    }
}

/// API objects after a number of calls of `round`, each with a submission.
fn objects(gpu: &Gpu<Device>, rounds: u32, mut round: impl FnMut()) -> u64 {
    for _ in 0..rounds {
        round();
        gpu.record(Queue::Graphics, "use").unwrap().submit().unwrap();
    }
    let calls = gpu.device().calls();
    calls.allocations + calls.live_set_layouts + calls.live_set_pools + calls.live_descriptor_heaps
}

#[test]
fn creating_and_dropping_in_turn_does_not_grow() {
    for has_drawn in [false, true] {
        let device = device(Profile::VULKAN_NVIDIA, Lag::None);
        let strategy = Strategy::Committed;
        let gpu = gpu(&device, Config::from(PoolConfig::default().strategy(strategy)));
        draw(&gpu, has_drawn);
        let bindings = [SetBinding::new(0, BindingKind::Buffer)];
        let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ);
        let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20));
        let named = |buffer: tenure_core::Buffer<Device>| {
            let _ = buffer.raw();
        };
        let steps: [(&str, &dyn Fn()); 3] = [
            ("buffers", &|| named(gpu.create_buffer(&desc).unwrap())),
            ("buffers of pages", &|| named(pages.create_buffer(&desc).unwrap())),
            ("layouts", &|| drop(gpu.create_set_layout(&SetLayoutDesc::new(&bindings)).unwrap())),
        ];
        for (name, step) in steps {
            let few = objects(&gpu, 20, step);
            let many = objects(&gpu, 200, step);
            assert!(many <= few + 2, "{name}, {has_drawn}: {few}, and {many} objects later");
        }
        drop(pages);
        end(gpu, &device);
    }
}

/// The manager's memory of a recording does not wait for other recordings.
#[test]
fn an_open_recording_holds_nothing_of_others_back() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::None);
    let gpu = gpu(&device, Config::default());
    let held = gpu.record(Queue::Graphics, "held").unwrap();
    let rounds = |rounds| {
        objects(&gpu, rounds, || {
            let mut recording = gpu.record(Queue::Graphics, "constants").unwrap();
            for _ in 0..5 {
                let _ = recording.split().1.constant_bytes(&[1; 30_000]).unwrap();
            }
            recording.submit().unwrap();
            gpu.reclaim().unwrap();
        })
    };
    let (few, many) = (rounds(20), rounds(500));
    assert!(many <= few + 2, "{few}, and {many} objects later");
    drop(held);
    end(gpu, &device);
}

/// Memory, objects and lists that may grow.
fn sizes(gpu: &Gpu<Device>) -> [(&'static str, u64); 5] {
    let (stats, calls) = (gpu.stats(), gpu.device().calls());
    [
        ("pending releases", stats.pending_releases),
        ("pending bytes", stats.pending_bytes),
        ("reserved bytes", calls.reserved_bytes),
        ("lists", calls.live_lists),
        ("allocations", calls.allocations),
    ]
}

/// Creates buffers, fills and uses them, each on the next of the queues, and drops them.
fn load(gpu: &Gpu<Device>, queues: &[Queue], rounds: usize) -> [(&'static str, u64); 5] {
    let desc = BufferDesc::new(16 << 10, Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST);
    for queue in queues.iter().cycle().take(rounds) {
        let buffer = gpu.create_buffer_with(&desc, &[7; 16 << 10]).unwrap();
        let mut recording = gpu.record(*queue, "use").unwrap();
        recording.use_resource(&buffer, Subresource::All, State::COPY_SRC).unwrap();
        recording.submit().unwrap();
    }
    sizes(gpu)
}

/// A program that has ended a frame, and then loads for a long time. For some of the time a recording is open,
/// which may use everything: objects dropped then are released when it has ended.
#[test]
fn loading_after_a_frame_does_not_grow() {
    let queues = [Queue::Graphics, Queue::Compute, Queue::Copy];
    for strategy in [Strategy::Pooled, Strategy::Placed, Strategy::Committed] {
        for queues in [&queues[..1], &queues[..]] {
            let device = device(Profile::VULKAN_NVIDIA, Lag::Submissions(2));
            let gpu = gpu(&device, Config::from(PoolConfig::default().strategy(strategy)));
            draw(&gpu, true);
            let held = gpu.record(Queue::Graphics, "held").unwrap();
            load(&gpu, queues, 1000);
            drop(held);
            let few = load(&gpu, queues, 1000);
            let many = load(&gpu, queues, 10_000);
            for ((name, few), (_, many)) in few.into_iter().zip(many) {
                assert!(many <= few + few / 4, "{strategy:?}, {queues:?}: {name}: {few}, then {many}");
            }
            end(gpu, &device);
        }
    }
}

/// Each round submits before it creates, so that the GPU is never idle when a block is full. A reclaim from time to time
/// releases everything, as a full block of another pool does.
#[test]
fn a_full_block_releases_earlier_rounds() {
    let device = device(Profile::D3D12_TIER1, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let desc = BufferDesc::new(128 << 10, Usage::SHADER_READ | Usage::COPY_SRC).own_resource();
    for round in 0..3000 {
        gpu.record(Queue::Graphics, "before").unwrap().submit().unwrap();
        let buffer = gpu.create_buffer(&desc).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
        recording.use_resource(&buffer, Subresource::All, State::COPY_SRC).unwrap();
        recording.submit().unwrap();
        drop(buffer);
        device.run_until_idle();
        if round % 250 == 0 {
            gpu.reclaim().unwrap();
        }
    }
    let reserved = device.calls().reserved_bytes;
    assert!(reserved <= 4 << 20, "{reserved} B for one buffer at a time");
    end(gpu, &device);
}
