//! Render graphs.

use std::sync::Arc;

use super::{Frame, Gpu};
use crate::device::Device;
use crate::time::SyncPoint;
use crate::transient::Resources;
use crate::transient::graph::{Compiled, Graph, PassId};
use crate::{Error, Recording};

impl<D: Device> Gpu<D> {
    /// The plan of a graph: where each resource goes, how much memory that takes, and how passes become
    /// recordings. From the cache, where graphs that ran or were planned are.
    ///
    /// # Errors
    /// [`Error::Graph`] for what is wrong with the graph; [`Error::Device`] for a description that the
    /// device refuses, or a lost device.
    pub fn plan_graph(&self, graph: &Graph) -> Result<Arc<Compiled>, Error> {
        self.transients.compile(graph)
    }
}

impl<D: Device> Frame<'_, D> {
    /// Records and submits the passes of a graph. `record` is called for each of them, in an order in
    /// which they can run, with the recording that the pass goes to and the resources that it declared,
    /// each in the state that it declared. Returns what must be complete before all passes are.
    ///
    /// Consecutive passes of a queue share a recording as long as no other queue has to wait in between.
    /// The memory of resources is handed on from pass to pass, with the barriers that this takes and no
    /// others; what passes on different queues use at the same time shares none. The first pass that uses
    /// a resource finds it with undefined contents.
    ///
    /// The plan is made when the graph is new, and kept for graphs that are equal. In steady state
    /// nothing is created and no plan is made; a frame costs O(passes, uses and resources).
    ///
    /// # Errors
    /// As [`Gpu::plan_graph`]; [`Error::OutOfMemory`]; those of [`Gpu::record`], [`Recording::submit`] and
    /// `record`. The recording at hand is discarded then; earlier ones have been submitted.
    pub fn execute<E: From<Error>>(
        &self,
        graph: &Graph,
        record: impl FnMut(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), E>,
    ) -> Result<SyncPoint, E> {
        self.gpu.transients.execute(graph, record)
    }
}
