//! What can be wrong with a wanted state.

use crate::device::{QueueId, QueueKind, QueueSerial, State};

/// Why a use was not tracked or a recording not resolved. Nothing has changed when it is returned.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A write state, or the acceleration structure state, together with another state.
    #[error("the states {state} cannot be combined: a write state stands alone")]
    InvalidCombination {
        /// The states asked for.
        state: State,
    },
    /// A state that the usage the resource was created with rules out.
    #[error("the usage of the resource allows the states {allowed}, not {state}")]
    NotAllowedForUsage {
        /// The states asked for.
        state: State,
        /// The states its usage allows.
        allowed: State,
    },
    /// A state that the recording's kind of queue cannot use.
    #[error("a {kind:?} queue can use the states {allowed}, not {state}")]
    NotAllowedOnQueue {
        /// The states asked for.
        state: State,
        /// The states the queue can use.
        allowed: State,
        /// The kind of queue that the recording is for.
        kind: QueueKind,
    },
    /// D3D12 creates an acceleration structure's buffer in its state and never changes it, and
    /// brings no other buffer into it.
    #[error(
        "the resource was created in {initial} and cannot be used in {state}: the state of an acceleration structure is fixed"
    )]
    Fixed {
        /// The states asked for.
        state: State,
        /// The state that the resource was created in.
        initial: State,
    },
    /// [`State::COMMON`] where states are explicit: there it is the state of what was never used, and
    /// nothing can be brought into it. A texture that something else is to use, a swap chain for one, is
    /// brought into the state in which that expects it.
    #[error(
        "COMMON is the state of what was never used here, and nothing is brought into it: name the use that comes next"
    )]
    NotToCommon,
    /// A queue has released the resource to the family of another, which was refused the submission
    /// that acquires it: see [`unfinished`](super::unfinished).
    #[error("released to queue {}, which has not acquired it yet: submit what acquires it there first", to.0)]
    Released {
        /// The queue that is to acquire it.
        to: QueueId,
    },
    /// A subresource that the resource does not have.
    #[error("subresource {subresource} does not exist: the resource has {count}")]
    OutOfRange {
        /// The subresource asked for.
        subresource: u32,
        /// How many there are.
        count: u32,
    },
    /// The recording ends with barriers that no one has taken; see [`Tracker::flush`](super::Tracker::flush).
    #[error("{pending} barriers are not recorded: call barriers() after the last use_resource()")]
    Unflushed {
        /// How many barriers are pending, at most.
        pending: usize,
    },
    /// A queue that the device does not have.
    #[error("queue {} does not exist: the device has {count}", queue.0)]
    UnknownQueue {
        /// The queue asked for.
        queue: QueueId,
        /// How many queues there are.
        count: usize,
    },
    /// A recording for one kind of queue is resolved for a queue of another kind.
    #[error("recorded for a {recorded:?} queue, and submitted to a {actual:?} queue")]
    WrongQueue {
        /// The kind of queue it was recorded for.
        recorded: QueueKind,
        /// The kind of the queue it is submitted to.
        actual: QueueKind,
    },
    /// Vulkan has no image layout in which a texture is read in all of these ways: descriptors and copies
    /// name the layouts of shader reads and of copies.
    #[error(
        "a texture has no layout for {state} at once on Vulkan: use it in one of the states, record the command, then use it in the other"
    )]
    NoCommonLayout {
        /// The states asked for.
        state: State,
    },
    /// The state of a buffer that shares its API buffer, and so its state, with others is declared.
    #[error(
        "a buffer whose state the program declares must have an API buffer of its own: BufferDesc::own_resource"
    )]
    Shared,
    /// A resource is handed to a peer, or taken from it, whose memory is not shared.
    #[error("its memory is not shared with anyone: BufferDesc::shared, TextureDesc::shared")]
    NotShared,
    /// A resource is taken from a peer by a recording that has used it already.
    #[error("a recording takes a resource from a peer before it uses it, and this one has used it already")]
    UsedBeforeAcquired,
    /// A resource is in a state that no queue of the device can take it out of.
    #[error("no queue can move a resource out of {state}")]
    NoCapableQueue {
        /// The state.
        state: State,
    },
    /// Another queue has to change a resource that this submission already uses. Submit what was
    /// resolved so far and resolve the recording again for the next submission.
    #[error("submission {} of queue {} has to be cut: another queue must change a resource it already uses", submission.serial, submission.queue.0)]
    SplitSubmission {
        /// The submission that cannot take the recording.
        submission: QueueSerial,
    },
}
