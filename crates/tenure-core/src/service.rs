//! The life cycle of a service.

use crate::context::Context;
use crate::device::Device;

/// A service of a manager, which keeps memory between recordings. No method has a default, so that a new service decides each.
pub(crate) trait Service<D: Device> {
    /// Ends a frame: frees memory that was idle for [`FrameConfig::idle`](crate::FrameConfig::idle) frames.
    fn end_frame(&self, context: &Context<D>);

    /// Frees the memory that is not in use, when memory is short or is trimmed.
    fn trim(&self, context: &Context<D>);

    /// Ends the manager: frees all memory. The GPU is idle or lost, but recordings may be open, and return objects later.
    fn release_all(&self, context: &Context<D>);
}
