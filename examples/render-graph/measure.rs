//! The frames and their measurements.

use std::time::Duration;

use deferred_frame::{DeferredFrame, Renderer, Sharing};
use tenure::device::Device;
use tenure::{Gpu, Queue, Stats};
use voxel_world::Result;

use crate::options::Options;
use crate::table::Sizes;
use crate::{picture, pool};

/// The number of frames before the measurement begins.
const WARM_UP: u64 = 60;
/// Maximum of command lists of the frames in flight on one queue: the need of the first frames depends on the
/// GPU's lag.
const LISTS: usize = 64;

/// Runs the frame in each size and prints its memory and time.
pub(crate) fn run<D: Device>(options: &Options, gpu: Gpu<D>) -> Result<()> {
    let properties = gpu.device().properties();
    println!("{} ({}), {} frames", properties.name, properties.backend, options.frames);
    let mut created = 0;
    for (index, size) in options.sizes().into_iter().enumerate() {
        let frame = DeferredFrame::new(size[0], size[1]);
        let graph = frame.graph();
        let [width, height] = size;
        println!("\n{width} x {height}: {} passes, {} resources", graph.passes(), graph.resources());
        let compiled = gpu.plan_graph(graph)?;
        let online = measure(options, &gpu, size, Sharing::Online)?;
        let planned = measure(options, &gpu, size, Sharing::Planned)?;
        if online.digests != planned.digests {
            return Err("the frames differ".into());
        }
        let sizes = Sizes {
            apart: compiled.bytes_apart(),
            pool: pool::bytes(&frame, &compiled),
            online: [online.stats.transient.footprint, online.stats.transient.reserved],
            planned: [planned.stats.transient.footprint, planned.stats.transient.reserved],
            lower_bound: compiled.lower_bound(),
        };
        println!("{}", sizes.table());
        let proof = if compiled.is_proven() { "no plan takes less" } else { "not known to be the best plan" };
        println!("{} passes in {} recordings; {proof}", graph.passes(), compiled.batches().len());
        if compiled.batches().len() > 1 {
            println!("(Planned, no queue waits for another one's memory; pass by pass, it may have to.)");
        }
        for (what, measured) in [("pass by pass", &online), ("planned", &planned)] {
            measured.print(what);
            created += measured.created;
        }
        if let Some(path) = options.svg.as_deref().filter(|_| index == 0) {
            picture::draw(path, &frame, &compiled)?;
        }
    }
    let report = gpu.shutdown();
    drop(gpu);
    if !report.is_clean() {
        return Err(format!("{report:?}").into());
    }
    if created == 0 { Ok(()) } else { Err("frames create API objects".into()) }
}

/// One way to share memory.
struct Measured {
    stats: Stats,
    /// API objects created after the first frames.
    created: u64,
    /// Executing a frame, without the work of its passes.
    times: Vec<Duration>,
    digests: Vec<u64>,
}

fn measure<D: Device>(options: &Options, gpu: &Gpu<D>, size: [u32; 2], sharing: Sharing) -> Result<Measured> {
    for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
        gpu.reserve_recordings(queue, LISTS)?;
    }
    let mut renderer = Renderer::new(gpu, size, sharing)?;
    renderer.render()?;
    (1..WARM_UP).try_for_each(|_| renderer.render_unchecked())?;
    let warm = gpu.stats().objects_created();
    let mut times = Vec::new();
    for _ in 0..options.frames {
        renderer.render_unchecked()?;
        times.push(renderer.times().overhead());
    }
    renderer.render()?;
    renderer.settle()?;
    let (stats, digests) = (gpu.stats(), renderer.digests().to_vec());
    let created = stats.objects_created() - warm;
    drop(renderer);
    gpu.reclaim()?;
    gpu.trim();
    Ok(Measured { stats, created, times, digests })
}

impl Measured {
    fn print(&self, what: &str) {
        let mut times = self.times.clone();
        times.sort();
        let at = |percent: usize| {
            let time = times.get(times.len() * percent / 100).copied().unwrap_or_default();
            time.as_secs_f64() * 1e6
        };
        println!(
            "{what}: {:.0} µs to execute a frame (median; {:.0} µs at 95 %), API objects created after the first \
             {WARM_UP} frames: {}",
            at(50),
            at(95),
            self.created
        );
    }
}
