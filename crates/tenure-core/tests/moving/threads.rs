//! Threads that create, write, read, bind and drop resources that move meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, CompactionBudget, Config, DescriptorTable, DescriptorTableDesc, Gpu,
    PoolConfig, Queue, State, Subresource, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};
use test_random::Rng;

use crate::buffers::{SOON, end, end_frame};

/// A buffer, a table that shows it, and the byte that fills it.
struct Known {
    buffer: Buffer<Device>,
    table: Option<DescriptorTable<Device>>,
    byte: u8,
}

fn make(gpu: &Gpu<Device>, rng: &mut Rng) -> Known {
    let size = [700, 20_000, 100_000][rng.below(3) as usize];
    let (usage, byte) = (Usage::SHADER_READ, rng.below(256) as u8);
    let desc = BufferDesc::new(size, usage).movable().name("threads");
    let buffer = gpu.create_buffer_with(&desc, &vec![byte; size as usize]).unwrap();
    let table = (rng.below(3) == 0).then(|| {
        let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()])).unwrap()
    });
    Known { buffer, table, byte }
}

/// A recording that uses some, and queries their places.
fn record(gpu: &Gpu<Device>, rng: &mut Rng, live: &[Known]) {
    let queue = [Queue::Graphics, Queue::Compute][rng.below(2) as usize];
    let mut recording = gpu.record(queue, "threads").unwrap();
    for _ in 0..1 + rng.below(6) {
        let known = &live[rng.below(live.len() as u64) as usize];
        recording.use_resource(&known.buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(&known.buffer).unwrap();
        let list = commands.raw_mut(tenure_core::device::Permit::checked());
        list.use_buffer(place.raw(), place.offset(), 64, State::NON_PIXEL_SHADER);
        if let Some(table) = &known.table {
            assert_eq!(scratch.table(table).unwrap().len(), 1);
        }
    }
    if rng.below(5) > 0 {
        recording.submit().unwrap();
    }
}

/// Until something has moved: on a busy machine the other thread may run late.
fn run(gpu: &Gpu<Device>, seed: u64, moves: &AtomicUsize) {
    let mut rng = Rng::new(seed);
    let mut live: Vec<Known> = (0..40).map(|_| make(gpu, &mut rng)).collect();
    for _ in (0..20_000).take_while(|step| *step < 400 || moves.load(Ordering::Relaxed) == 0) {
        match rng.below(10) {
            0..=2 => live.push(make(gpu, &mut rng)),
            3..=5 if live.len() > 20 => {
                live.swap_remove(rng.below(live.len() as u64) as usize);
            }
            6 => {
                let known = &live[rng.below(live.len() as u64) as usize];
                let found = gpu.read_back(&known.buffer, 0, known.buffer.size()).unwrap();
                let found = found.wait(SOON).unwrap();
                assert!(found.iter().all(|byte| *byte == known.byte), "seed {seed}");
            }
            7 => {
                let index = rng.below(live.len() as u64) as usize;
                let known = &mut live[index];
                known.byte = rng.below(256) as u8;
                let bytes = vec![known.byte; known.buffer.size() as usize];
                gpu.upload(&known.buffer, 0, &bytes).unwrap();
            }
            _ => record(gpu, &mut rng, &live),
        }
        if live.len() > 120 {
            live.retain(|_| rng.below(6) == 0);
            live.push(make(gpu, &mut rng));
        }
    }
    for known in &live {
        let found = gpu.read_back(&known.buffer, 0, known.buffer.size()).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|byte| *byte == known.byte), "seed {seed}");
    }
}

/// Four threads work while a fifth compacts and ends frames.
#[test]
fn threads_find_their_bytes_during_moves() {
    for (seed, profile) in [Profile::DISCRETE, Profile::VULKAN_NVIDIA].into_iter().enumerate() {
        // One shard, because lent pieces do not move.
        let pools = PoolConfig::default().shards(1);
        let options = DeviceConfig::new(profile).lag(Lag::Random { max: 9 }).seed(seed as u64);
        let gpu = Gpu::new(Device::with_config(options), Config::from(pools)).unwrap();
        let (running, moves) = (AtomicUsize::new(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (gpu, running, moves) = (&gpu, &running, &moves);
                scope.spawn(move || {
                    run(gpu, thread + 10 * seed as u64, moves);
                    running.fetch_sub(1, Ordering::Relaxed);
                });
            }
            scope.spawn(|| {
                let budget = CompactionBudget { bytes: 1 << 20, moves: 32, pieces: 1000 };
                let mut rng = Rng::new(77);
                while running.load(Ordering::Relaxed) > 0 {
                    // Things go to slower memory, and come back.
                    let granted = [2 << 20, 1 << 30, 1 << 30][rng.below(3) as usize];
                    gpu.device().set_budget(0, granted).unwrap();
                    moves.fetch_add(gpu.compact(budget).unwrap().moves, Ordering::Relaxed);
                    end_frame(&gpu);
                }
            });
        });
        assert!(moves.load(Ordering::Relaxed) > 0, "something has moved");
        assert!(gpu.device().run_until_idle());
        assert_eq!(gpu.device().take_hazards(), []);
        end(gpu);
    }
}
