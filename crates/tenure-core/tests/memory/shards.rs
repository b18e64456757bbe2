//! Pools divided among threads: nothing overlaps, everything comes back, and the numbers add up; with
//! one thread, or one shard, nothing is divided.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tenure_core::{Buffer, BufferDesc, Config, Gpu, MemoryUse, PoolConfig, PoolStats, Queue, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};
use test_random::Rng;

fn gpu(config: Config) -> Gpu<Device> {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    Gpu::new(device, config).unwrap()
}

/// Small ones of several pools, and large ones, which are never sharded.
fn desc(rng: &mut Rng) -> BufferDesc {
    let size = match rng.below(20) {
        0 => 64 << 10,
        1..5 => 1 + rng.below(20_000),
        _ => 1 + rng.below(3000),
    };
    match rng.below(3) {
        0 => BufferDesc::new(size, Usage::VERTEX).stride(12),
        1 => BufferDesc::new(size, Usage::SHADER_READ | Usage::VERTEX),
        _ => BufferDesc::new(size, Usage::CONSTANT).memory(MemoryUse::Upload),
    }
}

/// The live byte ranges, by API buffer.
#[derive(Default)]
struct Oracle(Mutex<BTreeMap<(usize, u64), u64>>);

fn place(buffer: &Buffer<Device>) -> (usize, u64) {
    (std::ptr::from_ref(buffer.raw()) as usize, buffer.offset())
}

impl Oracle {
    fn add(&self, buffer: &Buffer<Device>) {
        let (at, size) = (place(buffer), buffer.size());
        let mut taken = self.0.lock().unwrap();
        let before = taken.range(..=at).next_back();
        if let Some((&(object, offset), &bytes)) = before {
            assert!(object != at.0 || offset + bytes <= at.1, "{at:?} begins inside {offset}+{bytes}");
        }
        let after = taken.range(at..).next();
        if let Some((&(object, offset), _)) = after {
            assert!(object != at.0 || at.1 + size <= offset, "{at:?}+{size} ends inside {offset}");
        }
        taken.insert(at, size);
    }

    fn remove(&self, buffer: &Buffer<Device>) {
        assert_eq!(self.0.lock().unwrap().remove(&place(buffer)), Some(buffer.size()));
    }
}

const THREADS: u64 = 4;
const STEPS: u64 = 3000;

/// One thread's part of a round: creates, drops, passes buffers to the next thread, and sometimes reclaims
/// dropped buffers of all threads.
fn work(
    gpu: &Gpu<Device>,
    oracle: &Oracle,
    rng: &mut Rng,
    next: &mpsc::Sender<Buffer<Device>>,
    from: &mpsc::Receiver<Buffer<Device>>,
) {
    let mut mine = Vec::new();
    for _ in 0..STEPS {
        match rng.below(8) {
            0..4 => {
                let buffer = gpu.create_buffer(&desc(rng)).unwrap();
                oracle.add(&buffer);
                mine.push(buffer);
            }
            4..6 if !mine.is_empty() => {
                let buffer = mine.swap_remove(rng.below(mine.len() as u64) as usize);
                oracle.remove(&buffer);
                drop(buffer);
            }
            6 if !mine.is_empty() => {
                // The other may have ended; the rest is dropped with the channel.
                next.send(mine.swap_remove(0)).unwrap();
            }
            _ => {
                if rng.below(8) == 0 {
                    gpu.reclaim().unwrap();
                }
                mine.extend(from.try_iter().take(2));
            }
        }
    }
    for buffer in mine {
        oracle.remove(&buffer);
        drop(buffer);
    }
}

/// Threads that create, hand over, drop and reclaim until they have divided a pool.
fn round(gpu: &Gpu<Device>, seed: u64) {
    let oracle = Oracle::default();
    let channels: Vec<_> = (0..THREADS).map(|_| mpsc::channel()).collect();
    let (senders, receivers): (Vec<_>, Vec<_>) = channels.into_iter().unzip();
    let (gpu, oracle) = (gpu, &oracle);
    let left: Vec<_> = thread::scope(|scope| {
        let next = senders.into_iter().cycle().skip(1);
        let threads: Vec<_> = (0..THREADS)
            .zip(receivers)
            .zip(next.take(THREADS as usize))
            .map(|((index, from), next)| {
                scope.spawn(move || {
                    work(gpu, oracle, &mut Rng::new(seed * THREADS + index), &next, &from);
                    from
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // Buffers that no thread has received.
    for buffer in left.iter().flat_map(|from| from.try_iter()) {
        oracle.remove(&buffer);
        drop(buffer);
    }
    assert!(oracle.0.lock().unwrap().is_empty());
}

fn shards(gpu: &Gpu<Device>) -> u32 {
    gpu.stats().pools.iter().map(|pool| pool.shards).max().unwrap_or(0)
}

fn check_empty(gpu: &Gpu<Device>) {
    gpu.reclaim().unwrap();
    let stats = gpu.stats();
    assert_eq!((stats.live_objects, stats.pending_releases, stats.pending_bytes), (0, 0, 0));
    for pool in &stats.pools {
        let PoolStats { kind, used, requested, alignment_waste, allocations, .. } = *pool;
        // The slots' own pool keeps empty ones for the configured frames.
        let is_slots = kind == tenure_core::memory::PoolKind::SmallBufferSlots;
        assert!(is_slots || (used, requested, alignment_waste, allocations) == (0, 0, 0, 0), "{pool:?}");
        assert_eq!(pool.capacity, pool.reserved + pool.borrowed, "{pool:?}");
        assert!(pool.peak_reserved >= pool.reserved && pool.peak_used >= used, "{pool:?}");
    }
    assert_eq!(stats.reserved, stats.pools.iter().map(|pool| pool.reserved).sum::<u64>());
    // Empty memory is returned: pieces to the lending shard, slots to their heaps, heaps and buffers to the
    // driver; the last one of a pool is kept for some frames.
    for _ in 0..3 {
        gpu.trim();
        for _ in 0..20 {
            gpu.begin_frame().unwrap().end().unwrap();
        }
    }
    gpu.trim();
    assert_eq!(gpu.stats().reserved, 0);
}

/// Live ranges in shards count once, as does the memory that they divide.
fn check_sums(gpu: &Gpu<Device>, seed: u64) {
    let oracle = Oracle::default();
    let make = |index| {
        let mut rng = Rng::new(seed * THREADS + index);
        let make = |_| {
            let buffer = gpu.create_buffer(&desc(&mut rng)).unwrap();
            oracle.add(&buffer);
            buffer
        };
        (0..500).map(make).collect::<Vec<_>>()
    };
    let make = &make;
    let mut hands: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|index| scope.spawn(move || make(index))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let asked: u64 = hands.iter().flatten().map(Buffer::size).sum();
    let stats = gpu.stats();
    let sum = |of: fn(&PoolStats) -> u64| {
        let kind = tenure_core::memory::PoolKind::SmallBufferSlots;
        stats.pools.iter().filter(|pool| pool.kind != kind).map(of).sum::<u64>()
    };
    assert_eq!(sum(|pool| pool.allocations), 500 * THREADS);
    // Requests with a stride are larger, to align to a multiple of it.
    assert!((asked..asked * 11 / 10).contains(&sum(|pool| pool.requested)));
    assert!(sum(|pool| pool.used) >= sum(|pool| pool.requested));
    assert!(sum(|pool| pool.capacity) >= sum(|pool| pool.used) && stats.reserved >= asked);
    assert!(sum(|pool| pool.capacity) < 2 * asked, "shards keep little in hand");
    // Each thread drops another thread's buffers.
    hands.rotate_left(1);
    thread::scope(|scope| {
        hands.into_iter().for_each(|hand| {
            scope.spawn(|| drop(hand));
        });
    });
    assert_eq!(gpu.stats().live_objects, 0);
}

#[test]
fn threads_that_divide_a_pool_keep_its_promises() {
    let gpu = gpu(Config::default());
    let begun = Instant::now();
    let mut rounds = 0;
    // Until they have contended often enough. No frame ends meanwhile, because that would restart the count: on
    // a busy machine contention is rare.
    while shards(&gpu) < 2 && begun.elapsed() < Duration::from_secs(60) {
        rounds += 1;
        round(&gpu, rounds);
    }
    if thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        assert!(shards(&gpu) > 1, "{rounds} rounds of {THREADS} threads divided nothing");
    }
    check_empty(&gpu);
    for seed in 0..5 {
        round(&gpu, rounds + seed);
        check_empty(&gpu);
    }
    for seed in 0..5 {
        check_sums(&gpu, seed);
        check_empty(&gpu);
    }
    assert!(gpu.shutdown().leaks.is_empty());
    drop(gpu);
}

#[test]
fn one_shard_is_shared_by_all() {
    let gpu = gpu(Config::from(PoolConfig::default().shards(1)));
    for seed in 1..4 {
        round(&gpu, seed);
        check_empty(&gpu);
        assert_eq!(shards(&gpu), 1);
    }
    assert!(gpu.shutdown().leaks.is_empty());
    drop(gpu);
}

/// The same calls on one thread give the same places, for any number of shards.
#[test]
fn one_thread_divides_nothing() {
    let run = |pool_shards| {
        let gpu = gpu(Config::from(PoolConfig::default().shards(pool_shards)));
        let (mut rng, mut alive, mut places) = (Rng::new(7), Vec::new(), Vec::new());
        for _ in 0..50 {
            let frame = gpu.begin_frame().unwrap();
            for _ in 0..100 {
                let buffer = gpu.create_buffer(&desc(&mut rng)).unwrap();
                places.push(buffer.offset());
                if alive.len() > 500 {
                    alive.swap_remove(rng.below(500) as usize);
                }
                alive.push(buffer);
            }
            frame.submit(frame.record(Queue::Graphics, "frame").unwrap()).unwrap();
            frame.end().unwrap();
        }
        (places, shards(&gpu), gpu.stats().peak_reserved)
    };
    let (one, many) = (run(1), run(8));
    assert_eq!(many.1, 1);
    assert_eq!(one, many);
}
