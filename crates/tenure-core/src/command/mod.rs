//! Recordings, and what they record.

mod commands;
mod external;
mod peer;
mod queries;
mod recording;
mod resident;
mod structures;
mod submission;
mod transient;

use std::sync::Arc;

use crate::context::Context;
use crate::descriptor::DescriptorService;
use crate::device::{Device, Permit};
use crate::list::ListPool;
use crate::query::QueryService;
use crate::staging::StagingService;
use crate::transient_heaps::Transients;

pub use commands::Commands;
pub(crate) use external::submit_external;
pub use recording::Recording;
pub use resident::Needed;

/// The services of a manager that recordings use.
pub(crate) struct CommandService<D: Device> {
    pub(crate) lists: Arc<ListPool<D>>,
    pub(crate) staging: Arc<StagingService<D>>,
    pub(crate) descriptors: Arc<DescriptorService<D>>,
    pub(crate) transients: Arc<Transients<D>>,
    pub(crate) queries: Arc<QueryService<D>>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> Drop for CommandService<D> {
    /// Destroys the command lists: no recording is left.
    fn drop(&mut self) {
        let (context, lists) = (&self.context, self.lists.take_all());
        if context.finish() {
            lists.into_iter().for_each(|list| context.device().destroy_list(Permit::own(), list));
        } else {
            std::mem::forget(lists);
        }
    }
}
