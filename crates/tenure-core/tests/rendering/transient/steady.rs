//! Equal frames create nothing, with any rounding of sizes by the device.

use tenure_core::transient::graph::Graph;
use tenure_core::{Config, Error, Format, Gpu, Queue, State, TextureDesc, Usage};
use tenure_sim::{Device, DeviceConfig, Profile};

use super::{MIB, PROFILES, sample_counts};

const SIZES: [(u32, u32); 6] = [(64, 64), (512, 512), (640, 480), (800, 600), (1280, 720), (1920, 1080)];
/// The number of frames after which nothing more is created.
const FIRST: u64 = 4;

fn target((width, height): (u32, u32), samples: u32, name: &'static str) -> TextureDesc {
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    TextureDesc::d2(width, height, Format::Rgba8Unorm, usage).samples(samples).name(name)
}

/// The memory reserved by 20 frames of the same graph, and the objects created after the first ones.
fn run(profile: Profile, size: (u32, u32), samples: u32, targets: usize) -> (u64, u64) {
    let gpu = Gpu::new(Device::with_config(DeviceConfig::new(profile)), Config::default()).unwrap();
    let mut graph = Graph::new();
    let ids: Vec<_> = (0..targets).map(|_| graph.texture(target(size, samples, "target"))).collect();
    for pair in ids.windows(2) {
        let pass = graph.pass(Queue::Graphics, "pass");
        pass.uses(pair[0], State::RENDER_TARGET).uses(pair[1], State::RENDER_TARGET);
    }
    graph.pass(Queue::Graphics, "last").uses(ids[targets - 1], State::RENDER_TARGET);
    let mut created = Vec::new();
    for _ in 0..20 {
        let frame = gpu.begin_frame().unwrap();
        frame
            .execute::<Error>(&graph, |_, resources, _| {
                resources.barriers();
                Ok(())
            })
            .unwrap();
        frame.end().unwrap();
        let stats = gpu.stats().transient;
        created.push(stats.heaps_created + stats.created);
    }
    let reserved = gpu.stats().transient.reserved;
    assert!(gpu.shutdown().is_clean());
    (reserved, created[19] - created[FIRST as usize])
}

#[test]
fn a_graph_that_repeats_creates_nothing() {
    for profile in PROFILES {
        for samples in sample_counts(&Device::with_config(DeviceConfig::new(*profile))) {
            for size in SIZES {
                for targets in [1, 2, 5] {
                    let (reserved, created) = run(*profile, size, samples, targets);
                    let case = format!("{profile:?} {size:?} x{samples} {targets}");
                    assert_eq!(created, 0, "{case}");
                    // Two of the targets are alive at a time; the device rounds up to 4 MiB.
                    let alive = targets.min(2) as u64 * u64::from(size.0 * size.1 * 4 * samples);
                    assert!(reserved <= 2 * alive + 8 * MIB, "{case}: {reserved} for {alive}");
                }
            }
        }
    }
}
