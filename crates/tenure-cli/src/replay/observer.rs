//! Following a replay step by step.

use tenure::Gpu;
use tenure::device::Device;

use super::program::What;

/// A moment of a replay.
pub enum Moment<'a, D: Device> {
    /// The manager is about to begin the next frame, and may wait for the GPU.
    FrameBegins,
    /// A frame has begun.
    FrameBegun,
    /// An object was created.
    Created {
        /// Its slot.
        slot: usize,
        /// The number of objects that the replay has created or tried to create before.
        earlier: usize,
        /// Its kind.
        what: What,
        /// Its name.
        name: &'a str,
    },
    /// The place of the object in a slot is known: after its creation; for a movable one at its first use, and
    /// after it has moved.
    Placed {
        /// The slot.
        slot: usize,
        /// The API resource.
        resource: &'a D::Resource,
        /// The byte of the API resource at which the object begins.
        offset: u64,
    },
    /// The work of this frame uses a buffer.
    Used {
        /// Its slot.
        slot: usize,
    },
    /// An object is dropped now. The slot is empty if its creation failed.
    Dropped {
        /// Its slot.
        slot: usize,
    },
    /// The work of a frame was submitted, and the frame is about to end.
    FrameEnds,
    /// A frame has ended.
    FrameEnded,
    /// The last frame has ended, and the replay waits for the GPU.
    LastWait,
    /// The GPU is idle, and all dropped objects are released. Objects that the recording never freed are still
    /// live.
    Idle,
}

/// Observes a replay. It may query the manager's statistics, but must not change the manager.
pub trait Observer<D: Device> {
    /// Called at each moment, in their order.
    fn observe(&mut self, gpu: &Gpu<D>, moment: Moment<'_, D>);
}

/// The absence of an observer.
pub(super) struct Unobserved;

impl<D: Device> Observer<D> for Unobserved {
    fn observe(&mut self, _: &Gpu<D>, _: Moment<'_, D>) {}
}
