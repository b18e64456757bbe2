//! Command lists that are recycled, and recordings made with them.

mod commands;
mod external;
mod list_pool;
mod open;
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
use crate::device::{Device, DeviceError, Features, Permit, QueueKind, TextureInfo, TextureRegion};
use crate::permit::OwnPermit as _;
use crate::query::QueryService;
use crate::staging::StagingService;
use crate::transient_heaps::Transients;

pub use commands::Commands;
pub(crate) use external::submit_external;
pub(crate) use list_pool::ListPool;
pub(crate) use open::Open;
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

/// Checks that graphics APIs allow this copy between a buffer and a texture on a queue of this kind.
///
/// # Errors
/// [`DeviceError::InvalidCall`] with the rule that it breaks; [`DeviceError::Unsupported`].
pub(crate) fn check_region(
    features: Features,
    info: &TextureInfo,
    region: TextureRegion,
    queue: QueueKind,
) -> Result<(), DeviceError> {
    let refuse = |rule: &'static str| Err(DeviceError::broken_rule(rule));
    region.check(info)?;
    if !info.format.is_depth() {
        return Ok(());
    }
    if info.format.has_stencil() && !features.contains(Features::STENCIL_COPIES) {
        return Err(DeviceError::Unsupported { feature: "copies of depth and stencil, each by itself" });
    }
    if queue != QueueKind::Graphics {
        return refuse("depth is copied on a graphics queue");
    }
    let is_whole = region.origin == [0; 3] && region.extent == info.mip_extent(region.mip);
    if is_whole { Ok(()) } else { refuse("depth is copied a whole mip at a time") }
}
