//! Errors in the declaration of a graph.

use tenure_plan::PlanError;

use crate::Name;
use crate::device::{DeviceError, QueueId, QueueKind, State, Usage};
use crate::memory::MemoryUse;

/// An error in the declaration of a graph.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A pass uses a resource that the graph does not have.
    #[error("pass {pass} uses resource {index}, and the graph has {resources}")]
    UnknownResource {
        /// The pass.
        pass: Name,
        /// The resource's index.
        index: usize,
        /// How many resources there are.
        resources: usize,
    },
    /// A pass comes after one that the graph does not have.
    #[error("pass {pass} comes after pass {index}, and the graph has {passes}")]
    UnknownPass {
        /// The pass.
        pass: Name,
        /// The index of the other one.
        index: usize,
        /// How many passes there are.
        passes: usize,
    },
    /// A pass comes after itself or after one that is declared behind it.
    #[error("pass {pass}, number {index}, cannot come after pass {other}, number {after}")]
    NotEarlier {
        /// The pass.
        pass: Name,
        /// Its index.
        index: usize,
        /// The pass that should come first.
        other: Name,
        /// The index of that one.
        after: usize,
    },
    /// A pass is on a queue that the device does not have.
    #[error("pass {pass} is on queue {}, and the device has {queues}", queue.0)]
    UnknownQueue {
        /// The pass.
        pass: Name,
        /// The queue.
        queue: QueueId,
        /// How many queues there are.
        queues: usize,
    },
    /// A use in no state at all, or in a write state and others at once.
    #[error("pass {pass} cannot use {resource} in {state}: one write state, or read states")]
    InvalidState {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
    },
    /// A use that the resource was not declared for.
    #[error("pass {pass} cannot use {resource} in {state}: it is for {usage}")]
    NotInUsage {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
        /// What the resource may be used as.
        usage: Usage,
    },
    /// A use that queues of that kind cannot make.
    #[error("pass {pass} cannot use {resource} in {state} on a {kind:?} queue")]
    NotOnQueue {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// The state.
        state: State,
        /// The kind of queue that the pass is on.
        kind: QueueKind,
    },
    /// One pass writes a resource in two ways, and nothing says which comes first.
    #[error("pass {pass} writes {resource} in {state} and in {other}")]
    TwoWrites {
        /// The pass.
        pass: Name,
        /// The resource.
        resource: Name,
        /// One of the states.
        state: State,
        /// The other one.
        other: State,
    },
    /// Two passes use a [transient attachment](crate::Usage::TRANSIENT_ATTACHMENT), whose content never leaves a
    /// pass. One that clears it anew can declare another.
    #[error("{resource} is a TRANSIENT_ATTACHMENT of pass {first}, and pass {pass} cannot use it, too")]
    LeavesPass {
        /// The resource.
        resource: Name,
        /// The first pass that uses it.
        first: Name,
        /// Another one.
        pass: Name,
    },
    /// The first use does not write: it would find the contents that other resources left in the memory.
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
        /// The memory it asks for.
        memory: MemoryUse,
    },
    /// A description that no device accepts.
    #[error("{resource}: {source}")]
    InvalidDesc {
        /// The resource.
        resource: Name,
        /// What is wrong with it.
        source: DeviceError,
    },
    /// An alignment that is no power of two.
    #[error("{resource}: the alignment {alignment} is no power of two")]
    BadAlignment {
        /// The resource.
        resource: Name,
        /// Its alignment, in bytes.
        alignment: u64,
    },
    /// A resource that no heap can hold.
    #[error("{resource} takes {size} B, and a heap can hold {limit} B")]
    TooLarge {
        /// The resource.
        resource: Name,
        /// Its size, in bytes.
        size: u64,
        /// The largest heap of its class, in bytes.
        limit: u64,
    },
    /// The resources cannot be planned: there are too many, or they are too large together.
    #[error("the resources cannot be planned: {0}")]
    Plan(#[from] PlanError),
}
