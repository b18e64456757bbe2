//! Requests for transient resources, and for the heaps behind them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::desc_table::{Description, Tenants};
use super::heap::{HeapKind, Road};
use super::used_ranges::Users;
use crate::context::Context;
use crate::device::{
    Allowed, BufferInfo, Device, DeviceError, Properties, QueueId, QueueKind, ResourceDesc, Usage,
};
use crate::memory::{MakeRoom, MemoryUse};
use crate::resource::refuse_read_only;
use crate::time::{RecordingId, Recordings};
use crate::{BufferDesc, Error, Name, TextureDesc, TransientRule};

/// The attempts of a request for transient memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// No waiting for the GPU, no use of other memory, and no report of a failure to the program.
    First,
    /// After everything possible was freed.
    Last,
}

/// A request for transient memory.
pub(crate) struct Request<'a, D: Device> {
    pub(crate) context: &'a Arc<Context<D>>,
    pub(crate) room: &'a dyn MakeRoom,
    pub(crate) attempt: Attempt,
    /// The name of the resource; for the heaps of a graph, a name for all of them.
    pub(crate) name: &'a Name,
}

/// A request for a resource, by a recording.
pub(crate) struct ResourceRequest<'a, D: Device> {
    pub(crate) request: Request<'a, D>,
    pub(crate) requester: Requester<'a>,
    pub(crate) description: &'a Arc<Description>,
}

/// The recording that acquires a resource.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    /// The number.
    pub(crate) recording: u64,
    /// The kind of its queue.
    pub(crate) queue: QueueKind,
    /// The oldest open recording other than this one.
    pub(crate) oldest_other: u64,
    pub(crate) recordings: &'a Recordings,
}

impl<'a> Requester<'a> {
    pub(crate) fn new<D: Device>(context: &'a Context<D>, recording: RecordingId, queue: QueueId) -> Self {
        let queues = &context.device().properties().queues;
        Self {
            recording: recording.get(),
            queue: queues.get(queue.index()).map_or(QueueKind::Graphics, |queue| queue.kind),
            oldest_other: context.recordings.oldest_open_but(recording),
            recordings: &context.recordings,
        }
    }

    /// Whether one of these recordings is open, other than the requesting one.
    pub(crate) fn is_blocked_by(&self, users: Users) -> bool {
        match users {
            Users::UpTo(newest) => newest >= self.oldest_other,
            Users::One(number) => {
                number != self.recording && number >= self.oldest_other && self.recordings.is_open(number)
            }
        }
    }
}

/// A request for a new heap. Sizes in bytes.
pub(crate) struct HeapRequest {
    pub(crate) road: Road,
    pub(crate) tenants: Tenants,
    pub(crate) memory_types: u32,
    pub(crate) alignment: u64,
    /// The smallest sufficient size.
    pub(crate) least: u64,
    pub(crate) best: u64,
    /// True if no memory may be freed for it, and a refusal is not reported to the program.
    pub(crate) is_trial: bool,
}

impl HeapRequest {
    pub(crate) fn of_kind(
        kind: HeapKind,
        alignment: u64,
        sizes: RangeInclusive<u64>,
        is_trial: bool,
    ) -> Self {
        let HeapKind { road, memory, tenants } = kind;
        let (least, best) = sizes.into_inner();
        Self { road, tenants, memory_types: 1 << memory.0.min(31), alignment, least, best, is_trial }
    }

    /// The sizes to try, in falling order: multiples of the heap's alignment.
    pub(crate) fn sizes(&self, properties: &Properties) -> impl Iterator<Item = u64> + use<> {
        let granule = properties.heap_alignment.max(self.alignment).max(1);
        let limit = properties.max_heap_size - properties.max_heap_size % granule;
        // A size beyond the device's limit is passed on, so that the device reports the error.
        let least = self.least.checked_next_multiple_of(granule).unwrap_or(self.least);
        let best = self.best.checked_next_multiple_of(granule).unwrap_or(self.best).min(limit).max(least);
        let mut last = None;
        (0..4).map(move |halvings| (best >> halvings).next_multiple_of(granule).max(least)).filter(
            move |size| {
                let is_new = last != Some(*size);
                last = Some(*size);
                is_new
            },
        )
    }
}

/// Aliased memory must not be shared with other devices or processes.
fn check_usage(name: &Name, usage: Usage) -> Result<(), Error> {
    match usage.contains(Usage::SHARED) {
        true => Err(Error::Transient { name: name.clone(), rule: TransientRule::Shared }),
        false => Ok(()),
    }
}

/// The reason why no transient resource can be read-only.
const TIME_SHARED: &str = "its memory is shared over time with other resources";

/// Rejects fields of a description that are not allowed for a transient texture.
pub(crate) fn check_texture(desc: &TextureDesc) -> Result<(), Error> {
    check_usage(&desc.name, desc.info.usage)?;
    refuse_read_only(&desc.name, desc.read_only, TIME_SHARED)
}

/// The resource to create for a transient buffer.
pub(crate) fn buffer_resource(desc: &BufferDesc) -> Result<ResourceDesc, Error> {
    if desc.memory != MemoryUse::GpuOnly {
        let rule = TransientRule::GpuOnly { memory: desc.memory };
        return Err(Error::Transient { name: desc.name.clone(), rule });
    }
    check_usage(&desc.name, desc.usage)?;
    refuse_read_only(&desc.name, desc.read_only, TIME_SHARED)?;
    if !desc.alignment.is_power_of_two() {
        let source = DeviceError::invalid_desc("alignment", desc.alignment, Allowed::POWER_OF_TWO);
        return Err(Error::device(&desc.name, source));
    }
    Ok(ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage)))
}

pub(crate) fn wrong_type(name: &Name) -> Error {
    Error::Transient { name: name.clone(), rule: TransientRule::WrongType }
}
