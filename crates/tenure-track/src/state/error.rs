//! Errors of requested states.

use crate::device::{QueueId, QueueKind, QueueSerial, State};

/// Error of a request, or of a recording's resolution. Nothing has changed when it is returned.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A write state, or the acceleration structure state, combined with another state.
    #[error("the states {state} cannot be combined: a write state stands alone")]
    InvalidCombination {
        /// The requested states.
        state: State,
    },
    /// A state that the resource's usage does not allow.
    #[error("the usage of the resource allows the states {allowed}, not {state}")]
    NotAllowedForUsage {
        /// The requested states.
        state: State,
        /// The states allowed by its usage.
        allowed: State,
    },
    /// A state that the recording's kind of queue cannot use.
    #[error("a {kind:?} queue can use the states {allowed}, not {state}")]
    NotAllowedOnQueue {
        /// The requested states.
        state: State,
        /// The states that the queue can use.
        allowed: State,
        /// The kind of the recording's queue.
        kind: QueueKind,
    },
    /// D3D12 creates the buffer of an acceleration structure in its final state, and allows no other buffer to enter that
    /// state.
    #[error(
        "the resource was created in {initial} and cannot be used in {state}: the state of an acceleration structure is fixed"
    )]
    Fixed {
        /// The requested states.
        state: State,
        /// The state that the resource was created in.
        initial: State,
    },
    /// [`State::COMMON`] on explicit models: there it is the state of a resource that was never used, and no resource can be
    /// transitioned to it. Transition a texture for other users, such as a swap chain, to the state that they expect.
    #[error(
        "COMMON is the state of unused resources, and not allowed as a use here: declare the next use instead"
    )]
    NotToCommon,
    /// A queue has released the resource to another family, whose acquiring submission was refused: see
    /// [`unfinished`](super::unfinished).
    #[error("released to queue {}, which has not acquired it yet: submit the acquiring recording on that queue first", to.0)]
    Released {
        /// The queue that has not acquired it yet.
        to: QueueId,
    },
    /// A subresource that the resource does not have.
    #[error("{part} {index} does not exist: the texture has {count}")]
    NoSuchPart {
        /// `mip` or `layer`.
        part: &'static str,
        /// The index of the mip or layer.
        index: u32,
        /// The number that the texture has; 1 for buffers.
        count: u32,
    },
    /// A subresource that the resource does not have.
    #[error("subresource {subresource} does not exist: the resource has {count}")]
    OutOfRange {
        /// The requested subresource.
        subresource: u32,
        /// Number of subresources.
        count: u32,
    },
    /// The recording ends with barriers that were not flushed; see [`Tracker::flush`](super::Tracker::flush).
    #[error("{pending} barriers are not recorded: call barriers() after the last use_resource()")]
    Unflushed {
        /// Maximum number of pending barriers.
        pending: usize,
    },
    /// A queue that the device does not have.
    #[error("queue {} does not exist: the device has {count}", queue.0)]
    UnknownQueue {
        /// The requested queue.
        queue: QueueId,
        /// Number of queues.
        count: usize,
    },
    /// A recording for one kind of queue is resolved for a queue of another kind.
    #[error("recorded for a {recorded:?} queue, and submitted to a {actual:?} queue")]
    WrongQueue {
        /// The kind of queue of the recording.
        recorded: QueueKind,
        /// The kind of the queue of the submission.
        actual: QueueKind,
    },
    /// Vulkan has no image layout for all of these reads of a texture together: descriptors and copies name the layouts of
    /// shader reads and of copies.
    #[error(
        "a texture has no layout for {state} at once on Vulkan: use it in one of the states, record the command, then use it in the other"
    )]
    NoCommonLayout {
        /// The requested states.
        state: State,
    },
    /// The state of a buffer was declared that shares its API buffer, and thereby its state, with others.
    #[error(
        "a buffer whose state the program declares must have an API buffer of its own: BufferDesc::own_resource"
    )]
    Shared,
    /// A resource without shared memory was released to a peer, or acquired from one.
    #[error("its memory is not shared: BufferDesc::shared, TextureDesc::shared")]
    NotShared,
    /// A use of a read-only resource in a state other than the declared ones.
    #[error("the resource is read-only in {allowed}, and cannot be used in {state}")]
    ReadOnly {
        /// The requested states.
        state: State,
        /// The declared read states.
        allowed: State,
    },
    /// A use of a read-only texture on a kind of queue that cannot find it in its state without a barrier.
    #[error("the texture is read-only in {allowed}, which a {kind:?} queue cannot read without a barrier")]
    NotReadOnQueue {
        /// The declared read states.
        allowed: State,
        /// The kind of the recording's queue.
        kind: QueueKind,
    },
    /// The resource, or these states of it, cannot be declared as read-only.
    #[error("the resource cannot be read-only in {state}: {rule}")]
    CannotBeReadOnly {
        /// The requested states.
        state: State,
        /// The reason.
        rule: &'static str,
    },
    /// A resource was acquired from a peer by a recording that has used it already.
    #[error(
        "a recording must acquire a resource from a peer before its first use, and this one has used it already"
    )]
    UsedBeforeAcquired,
    /// No queue of the device can move the resource out of its state.
    #[error("no queue can move a resource out of {state}")]
    NoCapableQueue {
        /// The state.
        state: State,
    },
    /// Another queue would have to change a resource that this submission already uses. Submit the recordings resolved so far,
    /// then resolve the recording again for the next submission.
    #[error("submission {} of queue {} has to be cut: another queue must change a resource it already uses", submission.serial, submission.queue.0)]
    SplitSubmission {
        /// The submission that cannot include the recording.
        submission: QueueSerial,
    },
}
