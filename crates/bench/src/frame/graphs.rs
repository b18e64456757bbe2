//! A render graph of a deferred renderer, executed again and again.

use std::collections::BTreeMap;

use deferred_frame::DeferredFrame;
use tenure_core::transient::graph::{Compiled, ResourceId, TransientDesc};
use tenure_core::{Buffer, Error, Gpu, Queue, Subresource, Texture};
use tenure_sim::Profile;

use super::{Line, gpu, line, try_time};
use crate::null;

/// Frames before the measurement, until no resources are created.
const WARM_UP: u32 = 40;

/// A frame whose passes record no commands: finding the plan, acquiring, barriers, recordings and
/// submissions remain. The lower bound is the same recordings, states and submissions with persistent
/// resources.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let deferred = DeferredFrame::new(1920, 1080);
    let lasting = Lasting::new(&gpu, &deferred)?;
    let compiled = gpu.plan_graph(deferred.graph())?;
    let mut times = Vec::new();
    for round in 0..rounds + WARM_UP {
        let frame = gpu.begin_frame()?;
        let ours = try_time(|| frame.execute(deferred.graph(), |_, _, _| Ok::<(), Error>(())).map(drop))?;
        frame.end()?;
        let frame = gpu.begin_frame()?;
        let theirs = try_time(|| lasting.frame(&gpu, &compiled))?;
        frame.end()?;
        if round >= WARM_UP {
            times.push((ours, theirs));
        }
    }
    let passes = deferred.passes().len();
    Ok(vec![line("a pass of a render graph", "the same on lasting resources", passes, times)])
}

enum Resource {
    Texture(Texture<null::Device>),
    Buffer(Buffer<null::Device>),
}

/// The resources of a graph, each with its own memory.
struct Lasting(BTreeMap<ResourceId, Resource>);

impl Lasting {
    fn new(gpu: &Gpu<null::Device>, deferred: &DeferredFrame) -> Result<Self, Error> {
        let create = |desc: &TransientDesc| -> Result<Resource, Error> {
            Ok(match desc {
                TransientDesc::Texture(desc) => Resource::Texture(gpu.create_texture(desc)?),
                TransientDesc::Buffer(desc) => {
                    Resource::Buffer(gpu.create_buffer(&desc.clone().own_resource())?)
                }
            })
        };
        let resources = deferred.resources().iter();
        resources.map(|(id, desc)| Ok((*id, create(desc)?))).collect::<Result<_, Error>>().map(Self)
    }

    fn frame(&self, gpu: &Gpu<null::Device>, compiled: &Compiled) -> Result<(), Error> {
        let mut points = Vec::new();
        for batch in compiled.batches() {
            let mut list = gpu.record(Queue::Id(batch.queue), "batch")?;
            for wait in &batch.waits {
                list.wait_for(&points[*wait])?;
            }
            for pass in batch.passes.iter().filter_map(|pass| compiled.pass(*pass)) {
                for used in pass.uses.iter().filter(|used| used.automatic) {
                    match &self.0[&used.resource] {
                        Resource::Texture(texture) => {
                            list.use_resource(texture, Subresource::All, used.states)?
                        }
                        Resource::Buffer(buffer) => {
                            list.use_resource(buffer, Subresource::All, used.states)?
                        }
                    }
                }
                list.barriers();
            }
            points.push(list.submit()?);
        }
        Ok(())
    }
}
