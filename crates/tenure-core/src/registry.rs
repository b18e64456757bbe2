//! Which objects live, by name: for leak reports and dumps.

use std::backtrace::Backtrace;

use parking_lot::Mutex;
use slab::Slab;

use crate::Name;

/// What kind of object a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ObjectKind {
    /// A buffer, or a range of one.
    Buffer,
    /// A texture.
    Texture,
    /// A reserved (sparse) resource.
    Reserved,
    /// A page allocator.
    Pages,
    /// Bytes on their way back from the GPU.
    Readback,
    /// A view of a buffer or a texture.
    View,
    /// A sampler.
    Sampler,
    /// Descriptors in a row.
    DescriptorTable,
    /// The form of descriptor sets.
    SetLayout,
    /// A descriptor set.
    DescriptorSet,
    /// An object of the program's own behind [`Deferred`](crate::Deferred).
    User,
}

/// An object that lives.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) name: Name,
    pub(crate) kind: ObjectKind,
    pub(crate) bytes: u64,
    pub(crate) frame: u64,
    pub(crate) backtrace: Option<Box<Backtrace>>,
}

/// Where an object's record is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordKey {
    shard: u32,
    index: u32,
}

/// Enough that two of the usual handful of threads rarely meet.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Slab<Record>>);

/// All living objects, in several tables that threads fill side by side.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    shards: [Shard; SHARDS],
}

impl Registry {
    pub(crate) fn insert(&self, record: Record) -> RecordKey {
        let shard = crate::thread_slot::current() % SHARDS;
        let index = self.shards[shard].0.lock().insert(record);
        // Four billion live objects do not fit into memory.
        RecordKey { shard: shard as u32, index: u32::try_from(index).unwrap_or(u32::MAX) }
    }

    pub(crate) fn remove(&self, key: RecordKey) {
        self.shards[key.shard as usize].0.lock().try_remove(key.index as usize);
    }

    /// Calls `visit` for each record. Cost: all that lives.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Record)) {
        for shard in &self.shards {
            shard.0.lock().iter().for_each(|(_, record)| visit(record));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }
}
