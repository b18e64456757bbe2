//! Resources that are acquired, or declared, and never used: a pass that was culled.

use std::time::{Duration, Instant};

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Gpu, Queue, State, Subresource, TransientConfig};
use tenure_sim::{Device, DeviceConfig, Lag};

use super::{MIB, PROFILES, clear, fill, finish, gpu, gpu_with, has_queue, sample, storage};
use test_random::Rng;

const LATENCY: u32 = 3;
const CACHE: u32 = 4;

fn small_cache() -> Config {
    Config::from(TransientConfig::default().heap(4 * MIB).cache(CACHE).latency(LATENCY))
}

/// A device that reports errors at once and completes every submission immediately.
fn prompt(profile: tenure_sim::Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::None))
}

/// Two unused resources that overlap in memory are destroyed like others: the heap with its resources, after the
/// latency.
#[test]
fn two_unused_resources_do_not_keep_each_other() {
    for &profile in PROFILES {
        let device = prompt(profile);
        let gpu = gpu(&device);
        for size in [4096, 8192, 4096] {
            let frame = gpu.begin_frame().unwrap();
            let list = frame.record(Queue::Graphics, "culled").unwrap();
            drop(list.transient_buffer(&storage(size, "unused")).unwrap());
            frame.submit(list).unwrap();
            frame.end().unwrap();
        }
        for _ in 0..200 {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        let stats = gpu.stats();
        let left = (stats.heaps, stats.transient.cached, stats.pending_releases);
        assert_eq!(left, (0, 0, 0), "{profile:?}");
        finish(&device, gpu);
    }
}

/// Measures the time of frames, and checks the number of resources after each.
struct Watch {
    frames: u32,
    times: Vec<Duration>,
    most_pending: u64,
}

impl Watch {
    fn new() -> Self {
        Self { frames: 0, times: Vec::new(), most_pending: 0 }
    }

    /// Runs a frame, and checks that at most `cached` resources and `heaps` heaps are left after it.
    fn frame(&mut self, gpu: &Gpu<Device>, cached: u64, heaps: u64, frame: impl FnOnce()) {
        let start = Instant::now();
        frame();
        self.times.push(start.elapsed());
        self.frames += 1;
        let stats = gpu.stats();
        self.most_pending = self.most_pending.max(stats.pending_releases);
        assert!(stats.transient.cached <= cached, "frame {}: {stats:?}", self.frames);
        assert!(stats.transient.heaps <= heaps, "frame {}: {stats:?}", self.frames);
        let living = stats.resources_created - stats.resources_destroyed;
        assert!(living <= cached + stats.pending_releases, "frame {}: {stats:?}", self.frames);
        assert!(stats.pending_releases <= cached, "frame {}: {stats:?}", self.frames);
    }

    /// Checks that frames of the last quarter take no longer than those of the first, by the quickest tenth of
    /// each, with a margin for other load on the machine.
    fn check_time(&self) {
        let quickest = |times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort_unstable();
            times[times.len() / 10]
        };
        let quarter = self.times.len() / 4;
        let (first, last) =
            (quickest(&self.times[quarter / 4..quarter]), quickest(&self.times[3 * quarter..]));
        assert!(last < first * 4 + Duration::from_millis(1), "{first:?} at first, {last:?} at last");
    }
}

/// Thousands of frames in which each resource is at random used, acquired but not used, or left out, with changing
/// sizes and orders: the cache stays within its capacity and latency, everything is released in the end, and
/// frames do not become slower.
#[test]
fn random_culling_leaves_nothing_behind() {
    for (seed, &profile) in (1..).zip(PROFILES) {
        let device = prompt(profile);
        let gpu = gpu_with(&device, small_cache());
        let mut chance = Rng::new(seed);
        let mut watch = Watch::new();
        // At most eight textures and eight buffers a frame within the latency, and a cache of both in each heap.
        let heaps = 3;
        let cached = 16 * u64::from(LATENCY + 1) + 2 * heaps * u64::from(CACHE);
        for _ in 0..300 {
            watch.frame(&gpu, cached, heaps, || {
                let frame = gpu.begin_frame().unwrap();
                let is_async = has_queue(&device, tenure_core::QueueKind::Compute) && chance.below(4) == 0;
                let queue = if is_async { Queue::Compute } else { Queue::Graphics };
                let mut list = frame.record(queue, "frame").unwrap();
                for step in 0..8_u8 {
                    let (uses, size) = (chance.below(3) == 0, 1 << (8 + chance.below(10)));
                    let buffer = list.transient_buffer(&storage(size, "buffer")).unwrap();
                    if uses {
                        fill(&mut list, &buffer, step);
                    }
                    if is_async {
                        continue;
                    }
                    let desc = super::random_target(&device, &mut chance, "texture");
                    let texture = list.transient_texture(&desc).unwrap();
                    if chance.below(3) == 0 {
                        clear(&mut list, &texture, step);
                        sample(&mut list, &texture, step);
                    }
                }
                if chance.below(6) == 0 {
                    drop(list);
                } else {
                    frame.submit(list).unwrap();
                }
                frame.end().unwrap();
            });
        }
        watch.check_time();
        for _ in 0..=LATENCY {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        gpu.begin_frame().unwrap().end().unwrap();
        let stats = gpu.stats();
        assert_eq!((stats.heaps, stats.transient.cached, stats.pending_releases), (0, 0, 0), "{profile:?}");
        finish(&device, gpu);
    }
}

/// The same with graphs: passes are left out, resources are declared but used by no pass, or declared by a pass
/// that does not use them.
#[test]
fn random_culling_in_graphs_leaves_nothing_behind() {
    for (seed, &profile) in (1..).zip(PROFILES) {
        let device = prompt(profile);
        let gpu = gpu_with(&device, small_cache());
        let mut chance = Rng::new(seed);
        let mut watch = Watch::new();
        for _ in 0..200 {
            let heaps = u64::from(LATENCY + 1) * 3;
            let cached = 8 * u64::from(LATENCY + 1) + 2 * heaps * u64::from(CACHE);
            watch.frame(&gpu, cached, heaps, || {
                let frame = gpu.begin_frame().unwrap();
                let mut graph = Graph::new();
                let mut passes = Vec::new();
                for number in 0..8 {
                    let is_texture = chance.below(2) == 0;
                    let id = if is_texture {
                        graph.texture(super::random_target(&device, &mut chance, "texture"))
                    } else {
                        graph.buffer(storage(1 << (8 + chance.below(10)), "buffer"))
                    };
                    let uses = chance.below(3) == 0;
                    if chance.below(4) > 0 {
                        let state = if is_texture { State::RENDER_TARGET } else { State::COPY_DST };
                        let pass = graph.pass(Queue::Graphics, "pass");
                        // A resource in several states is transitioned by the pass itself, or not at all.
                        let read = if is_texture { State::PIXEL_SHADER } else { State::NON_PIXEL_SHADER };
                        let declared = pass.uses(id, state);
                        let _ = if uses { declared } else { declared.uses(id, read) }.id();
                        passes.push((id, is_texture, uses, number as u8));
                    }
                }
                let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
                    let (id, is_texture, uses, byte) = passes[pass.index()];
                    if uses && is_texture {
                        let texture = resources.texture(id)?;
                        list.raw().clear_texture(texture.raw(), Subresource::All, &[byte; 4]);
                    } else if uses {
                        fill(list, resources.buffer(id)?, byte);
                    }
                    Ok(())
                });
                run.unwrap();
                frame.end().unwrap();
            });
        }
        watch.check_time();
        for _ in 0..=LATENCY + 1 {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        let stats = gpu.stats();
        assert_eq!((stats.heaps, stats.transient.cached, stats.pending_releases), (0, 0, 0), "{profile:?}");
        finish(&device, gpu);
    }
}
