//! What the context asks of the services above it, answered.

use std::sync::{Arc, Weak};

use crate::command::CommandService;
use crate::compaction::Compactor;
use crate::context::{Context, IdleHeaps, Services};
use crate::descriptor::DescriptorService;
use crate::device::Device;
use crate::error::Error;
use crate::list::ListPool;
use crate::query::{QueryService, QueryStore};
use crate::staging::{StagingService, StagingStore};
use crate::transient_heaps::Transients;
use crate::upload::Uploads;

/// The services of a manager. They hold no context: the context holds them.
pub(super) struct GpuServices<D: Device> {
    staging: Arc<StagingStore<D>>,
    queries: Arc<QueryStore<D>>,
    uploads: Arc<Uploads<D>>,
    /// Weak, because transient resources hold the context.
    transients: Weak<Transients<D>>,
}

/// What the manager hands on to its handles.
type HandleServices<D> = (Arc<CommandService<D>>, Arc<Uploads<D>>, Compactor<D>);

/// Makes the services of a context and links them. Returns what the manager hands on to its handles.
pub(super) fn link<D: Device>(context: &Arc<Context<D>>) -> HandleServices<D> {
    let properties = context.device().properties();
    let descriptors = Arc::new(DescriptorService::new(context));
    let staging = Arc::new(StagingService {
        store: Arc::new(StagingStore::new()),
        descriptors: descriptors.clone(),
        context: context.clone(),
    });
    let queries =
        Arc::new(QueryService { store: Arc::new(QueryStore::new(properties)), context: context.clone() });
    let lists = Arc::new(ListPool::new(properties));
    let uploads = Arc::new(Uploads::new(properties, lists.clone()));
    let transients = Arc::new(Transients::new(descriptors.clone()));
    context.link(Box::new(GpuServices {
        transients: Arc::downgrade(&transients),
        staging: staging.store.clone(),
        queries: queries.store.clone(),
        uploads: uploads.clone(),
    }));
    let compactor = Compactor::new(properties, lists.clone());
    let commands =
        CommandService { lists, staging, descriptors, transients, queries, context: context.clone() };
    (Arc::new(commands), uploads, compactor)
}

impl<D: Device> Services<D> for GpuServices<D> {
    fn release_free_pages(&self, context: &Context<D>) {
        self.staging.constants.release_free(context);
        self.staging.builds.release_free(context);
        self.uploads.release(context);
        self.staging.readbacks.release(context);
        self.queries.trim(context);
    }

    fn trim_transients(&self, which: IdleHeaps) -> bool {
        self.transients.upgrade().is_some_and(|transients| transients.try_trim(which))
    }

    fn flush_uploads(&self, context: &Context<D>) -> Result<(), Error> {
        self.uploads.flush(context).map(drop)
    }

    fn try_flush_uploads(&self, context: &Context<D>) {
        // Refused for lack of memory they stay pending, and whoever submits next is told. After any other
        // refusal their `Upload` says so.
        let _told_later = self.uploads.try_flush(context);
    }
}
