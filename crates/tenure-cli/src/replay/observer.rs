//! Observation of a replay.

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
        /// The number of creations that the replay attempted before.
        earlier: usize,
        /// Its kind.
        what: What,
        /// Its name.
        name: &'a str,
    },
    /// An object's location is known: after its creation; for a movable object at its first use and after moves.
    Placed {
        /// The slot.
        slot: usize,
        /// The API resource.
        resource: &'a D::Resource,
        /// Byte offset of the object in the API resource.
        offset: u64,
    },
    /// The frame's work uses a buffer.
    Used {
        /// Its slot.
        slot: usize,
    },
    /// An object is about to be dropped. The slot is empty if its creation failed.
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
    /// Called at each moment, in order.
    fn observe(&mut self, gpu: &Gpu<D>, moment: Moment<'_, D>);
}

/// An observer that does nothing.
pub(super) struct Unobserved;

impl<D: Device> Observer<D> for Unobserved {
    fn observe(&mut self, _: &Gpu<D>, _: Moment<'_, D>) {}
}
