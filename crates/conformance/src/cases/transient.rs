//! Transient resources: repeated frames of a deferred renderer.

use deferred_frame::{Renderer, Sharing};
use tenure_core::{Config, FrameConfig, Stats};

use crate::Harness;
use crate::bench::{Bench, LONG};

/// One frame in this many is checked.
const CHECK_INTERVAL: u64 = 25;

/// The default configuration with a long timeout, because software devices take seconds for a frame.
fn config() -> Config {
    Config::from(FrameConfig::default().timeout(LONG))
}

fn renderer<'b, H: Harness>(
    bench: &'b Bench<'_, H>,
    size: [u32; 2],
    sharing: Sharing,
) -> Renderer<'b, H::Device> {
    Renderer::new(&bench.gpu, size, sharing).unwrap()
}

#[track_caller]
fn render<H: Harness>(renderer: &mut Renderer<'_, H::Device>, frames: u64, what: &str) {
    let outcome = (0..frames).try_for_each(|_| renderer.render()).and_then(|()| renderer.settle());
    outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Renders frames, most of them unchecked. It waits for each frame, so that the number of command lists does not
/// depend on the speed of the GPU.
#[track_caller]
fn render_unchecked<H: Harness>(
    bench: &Bench<'_, H>,
    renderer: &mut Renderer<'_, H::Device>,
    frames: u64,
    what: &str,
) {
    for frame in 0..frames {
        let outcome =
            if frame % CHECK_INTERVAL == 0 { renderer.render() } else { renderer.render_unchecked() };
        outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
        bench.wait(&bench.gpu.submitted());
    }
    renderer.settle().unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Renders the same frames with planned sharing of memory, with sharing pass by pass, and without sharing. Every
/// pass reads the bytes that were written last, and the bytes of all three are equal.
pub fn deferred_frames_are_the_same_with_and_without_aliasing<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, config());
    for size in harness.effort().sizes {
        let mut seen = Vec::new();
        for sharing in [Sharing::Apart, Sharing::Planned, Sharing::Online] {
            let mut renderer = renderer(&bench, *size, sharing);
            render::<H>(&mut renderer, harness.effort().rendered, &format!("{size:?}, {sharing:?}"));
            let digests = renderer.digests().to_vec();
            assert_eq!(digests.len() as u64, harness.effort().rendered);
            seen.push(digests);
            let stats = bench.gpu.stats().transient;
            let (footprint, requested) = (stats.footprint, stats.requested);
            let is_shared = match sharing {
                Sharing::Apart => footprint == 0,
                Sharing::Online => footprint < requested,
                Sharing::Planned => footprint < requested / 3 * 2,
            };
            assert!(is_shared, "{sharing:?}: {footprint} of {requested} bytes");
            drop(renderer);
            bench.finish();
            bench.gpu.trim();
        }
        assert!(seen.iter().all(|digests| *digests == seen[0]), "{size:?}: {seen:x?}");
        assert!(seen[0].windows(2).all(|pair| pair[0] != pair[1]), "frames differ: {:x?}", seen[0]);
    }
    bench.end();
}

/// After the first frames, a repeated graph creates no API object, by the counts of tenure and of the driver.
pub fn repeated_graphs_create_nothing<H: Harness>(harness: &H) {
    repeated_frames_create_nothing(harness, Sharing::Planned);
}

/// After the first frames, resources that are acquired and dropped pass by pass need no new API object.
pub fn repeated_acquisitions_create_nothing<H: Harness>(harness: &H) {
    repeated_frames_create_nothing(harness, Sharing::Online);
}

fn repeated_frames_create_nothing<H: Harness>(harness: &H, sharing: Sharing) {
    let bench = Bench::with(harness, config());
    let created = || (bench.gpu.stats().objects_created(), harness.driver_objects());
    let mut renderer = renderer(&bench, [320, 180], sharing);
    render_unchecked(&bench, &mut renderer, 100, "first frames");
    let warm = created();
    let acquired = bench.gpu.stats().transient.acquired;
    render_unchecked(&bench, &mut renderer, harness.effort().frames, "later frames");
    assert_eq!(
        created(),
        warm,
        "API objects were created after the first frames: {:?}",
        bench.gpu.stats().transient
    );
    let acquired = bench.gpu.stats().transient.acquired - acquired;
    assert_eq!(acquired, harness.effort().frames * renderer.frame().resources().len() as u64);
    drop(renderer);
    bench.end();
}

/// The reserved bytes of a manager, and the number of its API resources.
fn held(stats: &Stats) -> [u64; 2] {
    [stats.reserved, stats.resources_created - stats.resources_destroyed]
}

/// The resolution changes between three sizes repeatedly, and memory and API objects stay bounded.
pub fn changing_resolutions_stay_bounded<H: Harness>(harness: &H) {
    let sizes = [[320, 180], [256, 144], [400, 225]];
    let bench = Bench::with(harness, config());
    for sharing in [Sharing::Planned, Sharing::Online] {
        let mut renderer = renderer(&bench, sizes[0], sharing);
        let frames = harness.effort().frames * 60 / 1000;
        let mut most = Vec::new();
        for round in 0..4 {
            let mut peak = [0; 2];
            for size in sizes {
                renderer.resize(size).unwrap();
                for frame in 0..frames {
                    let is_edge = frame == 0 || frame + 1 == frames;
                    let outcome = if is_edge { renderer.render() } else { renderer.render_unchecked() };
                    outcome.unwrap_or_else(|error| panic!("{size:?}, round {round}: {error}"));
                    // A replaced heap lives until the GPU has finished with it: the peak depends on its speed otherwise.
                    bench.gpu.wait(&bench.gpu.submitted(), LONG).unwrap();
                    let held = held(&bench.gpu.stats());
                    peak = [peak[0].max(held[0]), peak[1].max(held[1])];
                }
            }
            most.push(peak);
        }
        let [first, settled @ ..] = &most[..] else { panic!("no rounds") };
        // The bound is that of the second round, because pools still grow in the first. The offsets of resources
        // depend on how far the GPU is behind, so each frame in flight may need its own API objects.
        let in_flight = u64::from(bench.gpu.config().frames.in_flight);
        let more_objects = in_flight * renderer.frame().resources().len() as u64;
        let bound = [settled[0][0] + settled[0][0] / 16, settled[0][1] + more_objects];
        let is_bounded = |peak: &[u64; 2]| peak[0] <= bound[0] && peak[1] <= bound[1];
        renderer.settle().unwrap();
        assert!(settled.iter().all(is_bounded), "{sharing:?}: {first:?}, then {settled:?}");
        drop(renderer);
        bench.finish();
        bench.gpu.trim();
    }
    bench.end();
}
