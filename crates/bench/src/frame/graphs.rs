//! A render graph of a deferred renderer, executed repeatedly.

use std::collections::BTreeMap;

use deferred_frame::DeferredFrame;
use tenure_core::transient::graph::{Compiled, ResourceId, TransientDesc};
use tenure_core::{Buffer, Error, Gpu, Queue, Subresource, Texture};
use tenure_sim::Profile;

use super::{Rows, gpu};
use crate::timing::try_time;
use crate::{Result, null};

/// A frame whose passes record no commands: finding the plan, acquiring, barriers, recordings and
/// submissions remain. The lower bound is the same recordings, states and submissions with persistent
/// resources.
pub(super) fn passes(rows: &mut Rows) -> Result {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let deferred = DeferredFrame::new(1920, 1080);
    let lasting = lasting(&gpu, &deferred)?;
    let compiled = gpu.plan_graph(deferred.graph())?;
    let passes = deferred.passes().len();
    rows.add([("a pass of a render graph", "the same on lasting resources", passes)], || {
        let frame = gpu.begin_frame()?;
        let ours = try_time(|| frame.execute(deferred.graph(), |_, _, _| Ok::<(), Error>(())).map(drop))?;
        frame.end()?;
        let frame = gpu.begin_frame()?;
        let theirs = try_time(|| play(&gpu, &lasting, &compiled))?;
        frame.end()?;
        Ok([(ours, theirs)])
    })
}

enum Resource {
    Texture(Texture<null::Device>),
    Buffer(Buffer<null::Device>),
}

/// The resources of a graph, each with its own memory.
fn lasting(gpu: &Gpu<null::Device>, deferred: &DeferredFrame) -> Result<BTreeMap<ResourceId, Resource>> {
    let create = |desc: &TransientDesc| -> Result<Resource> {
        Ok(match desc {
            TransientDesc::Texture(desc) => Resource::Texture(gpu.create_texture(desc)?),
            TransientDesc::Buffer(desc) => Resource::Buffer(gpu.create_buffer(&desc.clone().own_resource())?),
        })
    };
    deferred.resources().iter().map(|(id, desc)| Ok((*id, create(desc)?))).collect()
}

fn play(
    gpu: &Gpu<null::Device>,
    lasting: &BTreeMap<ResourceId, Resource>,
    compiled: &Compiled,
) -> Result<(), Error> {
    let mut points = Vec::new();
    for batch in compiled.batches() {
        let mut list = gpu.record(Queue::Id(batch.queue), "batch")?;
        batch.waits.iter().try_for_each(|wait| list.wait_for(&points[*wait]))?;
        for pass in batch.passes.iter().filter_map(|pass| compiled.pass(*pass)) {
            for used in pass.uses.iter().filter(|used| used.automatic) {
                match &lasting[&used.resource] {
                    Resource::Texture(it) => list.use_resource(it, Subresource::All, used.states)?,
                    Resource::Buffer(it) => list.use_resource(it, Subresource::All, used.states)?,
                }
            }
            list.barriers();
        }
        points.push(list.submit()?);
    }
    Ok(())
}
