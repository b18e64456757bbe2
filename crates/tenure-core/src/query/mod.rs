//! Queries: heaps recycled among recordings, queries in use, and results.

mod pool;
mod recorded;
mod ticket;
mod times;
mod value;

use std::sync::Arc;

use crate::context::Context;
use crate::device::Device;
use crate::service::Service;

pub(crate) use pool::QueryStore;
pub(crate) use recorded::{RecordedQueries, Slot};
pub use ticket::{OpenQuery, QueryTicket};
pub use times::{GpuTime, GpuTimeScope};
pub use value::{AnySamples, CompactedSize, PipelineStatistics, QueryValue, SampleCount, Timestamp};

/// The queries of a manager with its context, shared by recordings and result tickets.
pub(crate) struct QueryService<D: Device> {
    pub(crate) store: QueryStore<D>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> Drop for QueryService<D> {
    /// Destroys the heaps: no recording and no ticket is left.
    fn drop(&mut self) {
        let Self { store, context } = self;
        store.release(context);
        if context.finish() {
            store.destroy(context.device());
        } else {
            store.abandon();
        }
    }
}

impl<D: Device> QueryService<D> {
    pub(crate) fn new(context: &Arc<Context<D>>) -> Self {
        let store = QueryStore::new(context.device().properties());
        Self { store, context: context.clone() }
    }
}

impl<D: Device> Service<D> for QueryService<D> {
    /// Ends a frame: its statistics contain the GPU times that have arrived. Query heaps are kept until a trim or a
    /// shortage.
    fn end_frame(&self, context: &Context<D>) {
        self.store.times.lock().end_frame(&self.store, &context.clock, context.device().properties());
    }

    fn trim(&self, context: &Context<D>) {
        self.store.trim(context);
    }

    fn release_all(&self, context: &Context<D>) {
        self.store.release(context);
    }
}
