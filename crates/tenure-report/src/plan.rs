//! The plan of a render graph, for the page.

use tenure_core::transient::graph::Compiled;

use crate::history::{PlannedResource, TransientPlan};

impl TransientPlan {
    /// The plan of a graph, as [`Gpu::plan_graph`](tenure_core::Gpu::plan_graph) gives it. Steps are its passes, in the
    /// order of their declaration.
    ///
    /// ```
    /// use tenure_core::device::Usage;
    /// use tenure_core::{BufferDesc, Config, Gpu, Graph, Queue, State};
    /// use tenure_report::TransientPlan;
    ///
    /// let gpu = Gpu::new(tenure_sim::Device::new(tenure_sim::Profile::DISCRETE), Config::default())?;
    /// let mut graph = Graph::new();
    /// let light = graph.buffer(BufferDesc::new(1 << 20, Usage::UNORDERED_ACCESS).name("light"));
    /// graph.pass(Queue::Graphics, "lights").uses(light, State::UNORDERED_ACCESS);
    /// let compiled = gpu.plan_graph(&graph)?;
    /// let plan = TransientPlan::of(&compiled);
    /// assert_eq!((plan.passes[0].as_str(), plan.resources[0].name.as_str()), ("lights", "light"));
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    #[must_use]
    pub fn of(compiled: &Compiled) -> Self {
        let graph = compiled.graph();
        let pass = |id| compiled.pass(id).map_or_else(String::new, |pass| pass.name.as_str().to_owned());
        let resource =
            |((id, desc), life): ((_, &tenure_core::TransientDesc), Option<std::ops::Range<usize>>)| {
                let (need, placement, life) = (compiled.need(id)?, compiled.placement(id)?, life?);
                Some(PlannedResource {
                    name: desc.name().as_str().to_owned(),
                    heap: placement.heap,
                    first: life.start as u64,
                    end: life.end as u64,
                    offset: placement.offset,
                    size: need.size,
                })
            };
        Self {
            passes: graph.pass_ids().map(pass).collect(),
            heaps: compiled.heaps().iter().map(|heap| heap.size).collect(),
            bound: compiled.lower_bound(),
            resources: graph.each_resource().zip(compiled.lifetimes()).filter_map(resource).collect(),
        }
    }
}
