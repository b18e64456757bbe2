//! The life cycle of a service.

use crate::context::Context;
use crate::device::Device;

/// A service of a manager, which keeps memory or API objects between recordings. No method has a default, so that each new
/// service must decide. It destroys API objects only after their sync point is complete, and the others in its drop, after
/// [`Context::finish`].
pub(crate) trait Service<D: Device> {
    /// Ends a frame: frees memory that was idle for [`FrameConfig::idle`](crate::FrameConfig::idle) frames.
    fn end_frame(&self, context: &Context<D>);

    /// Frees unused memory, during a shortage or a trim. The clock was polled.
    fn trim(&self, context: &Context<D>);

    /// Ends the manager: passes all memory to the release queue. At the shutdown the GPU is idle or lost, but recordings may be
    /// open, and return objects later. The drop of `Services` calls it again, even if the GPU did not finish
    /// ([`Context::is_abandoned`]): it must not destroy an API object that a submission may use.
    fn release_all(&self, context: &Context<D>);
}
