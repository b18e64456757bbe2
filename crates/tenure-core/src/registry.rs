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
    shard: u16,
    turn: u16,
    index: u32,
}

impl RecordKey {
    /// Rises by one with every so many objects that the thread has created.
    #[inline]
    pub(crate) fn turn(self) -> usize {
        usize::from(self.turn)
    }
}

/// Objects of a turn.
const TURN: u32 = 512;

/// Enough that two of the usual handful of threads rarely meet.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
struct Table {
    records: Slab<Record>,
    /// Records ever inserted, modulo the number's end.
    inserted: u32,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

impl Shard {
    fn insert(&self, record: Record) -> (usize, u32) {
        let mut table = self.0.lock();
        table.inserted = table.inserted.wrapping_add(1);
        (table.records.insert(record), table.inserted / TURN)
    }
}

/// Records in other threads' tables that a thread has no more use for, until they are worth the way.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Outbox(Mutex<Vec<RecordKey>>);

/// So many are.
const BULK: usize = 64;

/// All living objects, in several tables that threads fill side by side.
///
/// Each thread has a table and an outbox. Were it to take the locks of other tables for each thing that it
/// drops but has not created, it would meet those who create, again and again.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    shards: [Shard; SHARDS],
    outboxes: [Outbox; SHARDS],
}

impl Registry {
    pub(crate) fn insert(&self, record: Record) -> RecordKey {
        let shard = crate::thread_slot::current() % SHARDS;
        let (index, turn) = self.shards[shard].insert(record);
        // Four billion live objects do not fit into memory.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        RecordKey { shard: shard as u16, turn: turn as u16, index }
    }

    #[inline]
    pub(crate) fn remove(&self, key: RecordKey) {
        let own = crate::thread_slot::current() % SHARDS;
        if usize::from(key.shard) == own {
            self.shards[own].0.lock().records.try_remove(key.index as usize);
            return;
        }
        let mut outbox = self.outboxes[own].0.lock();
        outbox.push(key);
        if outbox.len() >= BULK {
            self.send(&mut outbox);
        }
    }

    /// Removes the records of an outbox.
    fn send(&self, outbox: &mut Vec<RecordKey>) {
        for same in outbox.chunk_by(|one, next| one.shard == next.shard) {
            let Some(first) = same.first() else { continue };
            let mut table = self.shards[usize::from(first.shard)].0.lock();
            for key in same {
                table.records.try_remove(key.index as usize);
            }
        }
        outbox.clear();
    }

    /// Removes what is still in outboxes.
    fn send_all(&self) {
        self.outboxes.iter().for_each(|outbox| self.send(&mut outbox.0.lock()));
    }

    /// Calls `visit` for each record. Cost: all that lives.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Record)) {
        self.send_all();
        for shard in &self.shards {
            shard.0.lock().records.iter().for_each(|(_, record)| visit(record));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.send_all();
        self.shards.iter().map(|shard| shard.0.lock().records.len()).sum()
    }
}
