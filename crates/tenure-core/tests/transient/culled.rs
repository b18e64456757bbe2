//! Resources that are acquired, or declared, and never used: a pass that was culled.

use std::time::{Duration, Instant};

use tenure_core::device::{State, Subresource};
use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Gpu, Queue};
use tenure_sim::{Device, Lag, Options};

use crate::support::Rng;
use crate::{MIB, PROFILES, clear, fill, finish, gpu, gpu_with, has_queue, sample, storage};

const LATENCY: u32 = 3;
const CACHE: u32 = 4;

fn small_cache() -> Config {
    Config {
        transient_heap: 4 * MIB,
        transient_cache: CACHE,
        transient_latency: LATENCY,
        ..Config::default()
    }
}

/// A device that reports at once what is wrong and is done with everything when it is submitted.
fn prompt(profile: tenure_sim::Profile) -> Device {
    Device::with_options(Options::new(profile).lag(Lag::None))
}

/// Two that take turns in the same bytes and are never used go as others do: the heap and all that is in it
/// after the latency.
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

/// What a frame comes to in time, and what there may be after it.
struct Watch {
    frames: u32,
    times: Vec<Duration>,
    most_pending: u64,
}

impl Watch {
    fn new() -> Self {
        Self { frames: 0, times: Vec::new(), most_pending: 0 }
    }

    /// Runs a frame and holds what is left of it against `cached`, the most resources that may be kept, and
    /// `heaps`.
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

    /// The frames of the last quarter take no longer than those of the first: by the quickest tenth of each,
    /// and with room for what else the machine does.
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

/// Thousands of frames in which each resource is used, or acquired and not used, or left out, by chance, of
/// sizes and orders that change: what is kept stays within the cache and the latency, nothing waits for its
/// release for ever, and frames do not become slower.
#[test]
fn random_culling_leaves_nothing_behind() {
    for (seed, &profile) in (1..).zip(PROFILES) {
        let device = prompt(profile);
        let gpu = gpu_with(&device, small_cache());
        let mut chance = Rng::new(seed);
        let mut watch = Watch::new();
        // Eight a frame at most, of each sort, within the latency, and a cache of each sort in each heap.
        let heaps = 3;
        let cached = 16 * u64::from(LATENCY + 1) + 2 * heaps * u64::from(CACHE);
        for _ in 0..1500 {
            watch.frame(&gpu, cached, heaps, || {
                let frame = gpu.begin_frame().unwrap();
                let is_async =
                    has_queue(&device, tenure_core::device::QueueKind::Compute) && chance.below(4) == 0;
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
                    let desc = crate::random_target(&device, &mut chance, "texture");
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

/// The same of graphs: passes are left out, resources are declared and used by no pass, or declared by a pass
/// that does not use them after all.
#[test]
fn random_culling_in_graphs_leaves_nothing_behind() {
    for (seed, &profile) in (1..).zip(PROFILES) {
        let device = prompt(profile);
        let gpu = gpu_with(&device, small_cache());
        let mut chance = Rng::new(seed);
        let mut watch = Watch::new();
        for _ in 0..1000 {
            let heaps = u64::from(LATENCY + 1) * 3;
            let cached = 8 * u64::from(LATENCY + 1) + 2 * heaps * u64::from(CACHE);
            watch.frame(&gpu, cached, heaps, || {
                let frame = gpu.begin_frame().unwrap();
                let mut graph = Graph::new();
                let mut passes = Vec::new();
                for number in 0..8 {
                    let is_texture = chance.below(2) == 0;
                    let id = if is_texture {
                        graph.texture(crate::random_target(&device, &mut chance, "texture"))
                    } else {
                        graph.buffer(storage(1 << (8 + chance.below(10)), "buffer"))
                    };
                    let uses = chance.below(3) == 0;
                    if chance.below(4) > 0 {
                        let state = if is_texture { State::RENDER_TARGET } else { State::COPY_DST };
                        let pass = graph.pass(Queue::Graphics, "pass");
                        // A resource in several states is one that the pass itself brings into them, or not.
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
