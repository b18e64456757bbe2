//! Frames whose sizes change, as while a window is dragged larger: the reserved memory follows the size of the frame.

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Frame, Gpu, Queue, State, Subresource, TextureDesc};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use super::{MIB, PROFILES, finish, gpu_with, sample_counts, target};

/// The number of frames with changing sizes.
const CHANGING: u32 = 32;
/// The number of equal frames after them.
const EQUAL: u32 = 32;
/// Equal frames after which the heaps of resources acquired pass by pass shrink.
const EQUAL_TO_SHRINK: u32 = 66;

/// A way to have targets for the passes of a frame.
#[derive(Clone, Copy, Debug)]
enum Road {
    Graph,
    PassByPass,
}

/// The size of a frame by its number.
type Drag = fn(u32) -> [u32; 2];

const DRAGS: [(&str, Drag); 5] = [
    ("larger", |n| [960 + 30 * n, 540 + 16 * n]),
    ("smaller", |n| [1920 - 30 * n, 1080 - 16 * n]),
    ("to and fro", |n| [1000 + 120 * (n % 7), 600 + 60 * (n * 3 % 7)]),
    ("two sizes in turn", |n| [[960, 540], [1920, 1080]][n as usize % 2]),
    ("two sizes in turn, one of them twice", |n| [[960, 540], [1920, 1080], [960, 540]][n as usize % 3]),
];

/// The targets of a frame: a multisampled one if the device supports it, and another half as wide.
fn targets(device: &Device, [width, height]: [u32; 2]) -> [TextureDesc; 2] {
    let samples = if sample_counts(device).contains(&4) { 4 } else { 1 };
    let (mut colour, mut scene) = (target(1, "colour").samples(samples), target(1, "scene"));
    (colour.info.width, colour.info.height) = (width, height);
    (scene.info.width, scene.info.height) = (width / 2, height);
    [colour, scene]
}

fn frame(gpu: &Gpu<Device>, road: Road, targets: [TextureDesc; 2]) {
    let frame = gpu.begin_frame().unwrap();
    match road {
        Road::Graph => {
            let mut graph = Graph::new();
            let [colour, scene] = targets.map(|desc| graph.texture(desc));
            let pass = graph.pass(Queue::Graphics, "scene");
            pass.uses(colour, State::RENDER_TARGET).uses(scene, State::RENDER_TARGET);
            frame.execute(&graph, |_, _, _| Ok::<_, Error>(())).unwrap();
        }
        Road::PassByPass => {
            let mut list = frame.record(Queue::Graphics, "scene").unwrap();
            let handles = targets.map(|desc| list.transient_texture(&desc).unwrap());
            for texture in &handles {
                list.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
            }
            frame.submit(list).unwrap();
        }
    }
    frame.end().unwrap();
}

/// The peak of reserved bytes, the peak of a frame's requests, the reserved bytes at the end, and the last
/// frame's requests.
fn run(gpu: &Gpu<Device>, device: &Device, road: Road, drag: Drag) -> [u64; 4] {
    let (mut most, mut largest) = (0, 0);
    let grows = drag(0)[0] < drag(CHANGING - 1)[0] && drag(1)[0] < drag(2)[0];
    let equal = if grows || matches!(road, Road::Graph) { EQUAL } else { EQUAL_TO_SHRINK };
    for number in 0..CHANGING + equal {
        frame(gpu, road, targets(device, drag(number.min(CHANGING - 1))));
        let stats = gpu.stats().transient;
        (most, largest) = (stats.reserved.max(most), stats.requested.max(largest));
    }
    let stats = gpu.stats().transient;
    [most, largest, stats.reserved, stats.requested]
}

/// The rounding of the sizes of `heaps` heaps by the device.
fn rounding(profile: Profile, heaps: u64) -> u64 {
    use tenure_core::device::prelude::*;
    let device = Device::with_config(DeviceConfig::new(profile));
    // Multisampled targets are in heaps that are aligned to 4 MiB.
    heaps * if device.properties().heap_alignment > 0 { 4 * MIB } else { 0 }
}

/// If the GPU finishes each frame before the next one begins.
#[test]
fn a_drag_reserves_at_most_1_5_times_its_largest_frame() {
    for &profile in PROFILES {
        for (name, drag) in DRAGS {
            for road in [Road::Graph, Road::PassByPass] {
                let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
                let gpu = gpu_with(&device, Config::default());
                let [most, largest, last, needed] = run(&gpu, &device, road, drag);
                let case = format!("{profile:?}, {name}, {road:?}");
                assert!(most <= largest * 3 / 2 + rounding(profile, 2), "{case}: {most} for {largest}");
                assert!(last <= needed * 23 / 20 + rounding(profile, 2), "{case}: {last} for {needed}");
                finish(&device, gpu);
            }
        }
    }
}

/// If the GPU is two submissions behind, it still uses the resources of earlier frames.
#[test]
fn a_drag_keeps_no_more_than_the_gpu_uses() {
    for &profile in PROFILES {
        for (name, drag) in DRAGS {
            for road in [Road::Graph, Road::PassByPass] {
                let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
                let gpu = gpu_with(&device, Config::default());
                let [most, largest, last, needed] = run(&gpu, &device, road, drag);
                let case = format!("{profile:?}, {name}, {road:?}");
                assert!(most <= largest * 5 / 2 + rounding(profile, 4), "{case}: {most} for {largest}");
                assert!(last <= needed * 23 / 20 + rounding(profile, 2), "{case}: {last} for {needed}");
                finish(&device, gpu);
            }
        }
    }
}

/// Sizes that come back create nothing: the largest heap serves all of them.
#[test]
fn sizes_in_turn_create_no_heaps() {
    for &profile in PROFILES {
        for road in [Road::Graph, Road::PassByPass] {
            let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
            let gpu = gpu_with(&device, Config::default());
            let mut created = Vec::new();
            for number in 0..100 {
                let size = [[960, 540], [1920, 1080], [640, 480]][number % 3];
                frame(&gpu, road, targets(&device, size));
                created.push(gpu.stats().transient.heaps_created);
            }
            assert_eq!(created[99], created[6], "{profile:?}, {road:?}: {created:?}");
            finish(&device, gpu);
        }
    }
}

/// If the driver requires dedicated memory for each target.
#[test]
fn dedicated_targets_are_destroyed_when_others_replace_them() {
    for &profile in PROFILES {
        for (name, drag) in DRAGS {
            for road in [Road::Graph, Road::PassByPass] {
                let device =
                    Device::with_config(DeviceConfig::new(profile).lag(Lag::None).requires_dedicated());
                let gpu = gpu_with(&device, Config::default());
                let [most, largest, last, needed] = run(&gpu, &device, road, drag);
                let case = format!("{profile:?}, {name}, {road:?}");
                assert_eq!(last, needed, "{case}");
                // Sizes in turn are kept, so that nothing is created.
                if !name.contains("turn") && !name.contains("fro") {
                    assert!(most <= largest + rounding(profile, 2), "{case}: {most} for {largest}");
                }
                let created = [0, 40].map(|from| {
                    (from..from + 40)
                        .for_each(|number| frame(&gpu, road, targets(&device, drag(number % 6))));
                    gpu.stats().transient.created
                });
                if name.contains("turn") {
                    assert_eq!(created[0], created[1], "{case}");
                }
                finish(&device, gpu);
            }
        }
    }
}

/// Graphs that run one after the other share a heap; a graph inside a pass of another one has its own, which stays.
#[test]
fn a_graph_inside_another_keeps_a_heap_of_its_own() {
    let graph_of = |side| {
        let mut graph = Graph::new();
        let texture = graph.texture(target(side, "target"));
        let _ = graph.pass(Queue::Graphics, "pass").uses(texture, State::RENDER_TARGET).id();
        graph
    };
    for &profile in PROFILES {
        for sides in [[512, 1024], [1024, 512]] {
            let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
            let gpu = gpu_with(&device, Config::default());
            let [outer, inner] = sides.map(graph_of);
            let run = |frame: &Frame<Device>, graph: &Graph| {
                frame.execute(graph, |_, _, _| Ok::<_, Error>(())).map(drop)
            };
            let mut created = Vec::new();
            for number in 0..200 {
                let frame = gpu.begin_frame().unwrap();
                if number < 10 || number % 50 == 0 {
                    run(&frame, &outer).unwrap();
                    run(&frame, &inner).unwrap();
                } else {
                    frame.execute(&outer, |_, _, _| run(&frame, &inner)).unwrap();
                }
                frame.end().unwrap();
                let stats = gpu.stats().transient;
                if number < 10 {
                    assert_eq!(stats.reserved / MIB, 4, "{profile:?}, {sides:?}: one after the other");
                }
                created.push(stats.heaps_created);
            }
            assert_eq!(created[40], created[199], "{profile:?}, {sides:?}: {created:?}");
            assert_eq!(gpu.stats().transient.reserved / MIB, 5, "{profile:?}, {sides:?}");
            finish(&device, gpu);
        }
    }
}
