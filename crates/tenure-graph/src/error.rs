//! Errors in the declaration of a graph.

use std::convert::Infallible;

use tenure_plan::PlanError;

use super::Name;
use crate::device::{DeviceError, QueueId, QueueKind, State, Usage};

/// An error in the declaration of a graph.
///
/// `M` is the engine's type for memory that the CPU can access: [`Resource::CpuMemory`](crate::Resource::CpuMemory).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError<M = Infallible> {
    /// A pass uses a resource that the graph does not have.
    #[error("pass {pass} uses resource {index}, and the graph has {resources}")]
    UnknownResource {
        /// The pass.
        pass: Name,
        /// The index of the resource.
        index: usize,
        /// The number of resources.
        resources: usize,
    },
    /// A pass depends on one that the graph does not have.
    #[error("pass {pass} comes after pass {index}, and the graph has {passes}")]
    UnknownPass {
        /// The pass.
        pass: Name,
        /// The index of the other pass.
        index: usize,
        /// The number of passes.
        passes: usize,
    },
    /// A pass depends on itself, or on a pass declared later.
    #[error("pass {pass}, number {index}, cannot come after pass {other}, number {after}")]
    NotEarlier {
        /// The pass.
        pass: Name,
        /// The index.
        index: usize,
        /// The pass on which it depends.
        other: Name,
        /// The index of that pass.
        after: usize,
    },
    /// A pass is on a queue that the device does not have.
    #[error("pass {pass} is on queue {}, and the device has {queues}", queue.0)]
    UnknownQueue {
        /// The pass.
        pass: Name,
        /// The queue.
        queue: QueueId,
        /// The number of queues.
        queues: usize,
    },
    /// A use without a state, or in a write state combined with others.
    #[error("pass {pass} cannot use {resource} in {state}: one write state, or read states")]
    InvalidState {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
    },
    /// A use for which the resource was not declared.
    #[error("pass {pass} cannot use {resource} in {state}: it is for {usage}")]
    NotInUsage {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
        /// The declared usage of the resource.
        usage: Usage,
    },
    /// A use that this kind of queue does not support.
    #[error("pass {pass} cannot use {resource} in {state} on a {kind:?} queue")]
    NotOnQueue {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
        /// The kind of the pass's queue.
        kind: QueueKind,
    },
    /// One pass writes a resource in two ways, without an order.
    #[error("pass {pass} writes {resource} in {state} and in {other}")]
    TwoWrites {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// One of the states.
        state: State,
        /// The other state.
        other: State,
    },
    /// Two passes use a [transient attachment](Usage::TRANSIENT_ATTACHMENT), whose content never leaves
    /// a pass. If the second one clears it, it can use another attachment.
    #[error("{resource} is a TRANSIENT_ATTACHMENT of pass {first}, and pass {pass} cannot use it, too")]
    LeavesPass {
        /// The resource.
        resource: Name,
        /// The first pass that uses it.
        first: Name,
        /// The other pass.
        pass: Name,
    },
    /// The first use does not write: it would read the contents of other resources in the same memory.
    #[error("pass {pass} is the first to use {resource}, and does not write it: {state}")]
    NotWrittenFirst {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state of the use.
        state: State,
    },
    /// A buffer in memory that the CPU can access cannot be transient.
    #[error("{resource} is in {memory:?} memory, and transient resources are for the GPU only")]
    NotGpuOnly {
        /// The resource.
        resource: Name,
        /// The requested memory.
        memory: M,
    },
    /// A description that no device accepts.
    #[error("{resource}: {source}")]
    InvalidDesc {
        /// The resource.
        resource: Name,
        /// The reason.
        source: DeviceError,
    },
    /// An alignment that is not a power of two.
    #[error("{resource}: the alignment {alignment} is not a power of two")]
    BadAlignment {
        /// The resource.
        resource: Name,
        /// The alignment, in bytes.
        alignment: u64,
    },
    /// A resource that no heap can hold.
    #[error("{resource} takes {size} B, and a heap can hold {limit} B")]
    TooLarge {
        /// The resource.
        resource: Name,
        /// The size, in bytes.
        size: u64,
        /// The largest heap of its class, in bytes.
        limit: u64,
    },
    /// The resources cannot be planned: they are too many, or too large in total.
    #[error("the resources cannot be planned: {0}")]
    Plan(#[from] PlanError),
}
