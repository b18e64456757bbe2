//! Which objects live, by name: for leak reports and dumps.

use std::backtrace::Backtrace;

use parking_lot::{Mutex, MutexGuard};
use slab::Slab;

use crate::Name;
use crate::memory::Mailbox;

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

/// Objects of a turn. Neither this nor all that the turns of a thread's links come to is a power of two: where
/// such a number of objects lives at a time, whoever drops the oldest would have the turn of the thread that
/// creates the next, all the time.
const TURN: u32 = 448;

/// Enough that two of the usual handful of threads rarely meet.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
struct Table {
    records: Slab<Record>,
    /// Records ever inserted, modulo the number's end.
    inserted: u32,
    /// Letters being read; empty between calls.
    letters: Vec<u32>,
}

impl Table {
    fn remove(&mut self, index: u32) {
        self.records.try_remove(index as usize);
    }
}

/// A table, and the indices of records that others want removed from it.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    mail: Mailbox<u32>,
    table: Mutex<Table>,
}

/// Letters that an insertion reads: few, so that no one call has to do away with all that others dropped.
const LETTERS: usize = 64;

/// Where more lie, their thread does not read them: whoever leaves one does.
const NEGLECTED: usize = 4096;

impl Shard {
    fn new() -> Self {
        Self { mail: Mailbox::new(), table: Mutex::default() }
    }

    /// The record's index, and the turn it was inserted in.
    fn insert(&self, record: Record) -> (usize, u32) {
        let mut table = self.table.lock();
        if self.mail.has_mail() {
            self.read_mail(&mut table, LETTERS);
        }
        table.inserted = table.inserted.wrapping_add(1);
        let turn = table.inserted / TURN;
        (table.records.insert(record), turn)
    }

    #[cold]
    fn read_mail(&self, table: &mut Table, most: usize) {
        let mut letters = std::mem::take(&mut table.letters);
        self.mail.take(most, &mut letters);
        letters.drain(..).for_each(|index| table.remove(index));
        table.letters = letters;
    }

    /// Leaves letters.
    fn post(&self, keys: &[RecordKey]) {
        let mut mail = self.mail.open();
        keys.iter().for_each(|key| mail.post(key.index));
        let is_neglected = mail.len() > NEGLECTED;
        drop(mail);
        if is_neglected {
            self.read_mail(&mut self.table.lock(), usize::MAX);
        }
    }

    /// The table as it is with all letters read.
    fn lock(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock();
        self.read_mail(&mut table, usize::MAX);
        table
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
/// Each thread has a table, a mailbox and an outbox. Were it to work in other tables for each thing that it
/// drops but has not created, it would meet those who create, again and again.
#[derive(Debug)]
pub(crate) struct Registry {
    shards: [Shard; SHARDS],
    outboxes: [Outbox; SHARDS],
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Shard::new()),
            outboxes: std::array::from_fn(|_| Outbox::default()),
        }
    }
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
            self.shards[own].table.lock().remove(key.index);
            return;
        }
        let mut outbox = self.outboxes[own].0.lock();
        outbox.push(key);
        if outbox.len() >= BULK {
            self.send(&mut outbox);
        }
    }

    /// Sends what is in an outbox to whose it is.
    fn send(&self, outbox: &mut Vec<RecordKey>) {
        for same in outbox.chunk_by(|one, next| one.shard == next.shard) {
            if let Some(first) = same.first() {
                self.shards[usize::from(first.shard)].post(same);
            }
        }
        outbox.clear();
    }

    /// Sends what is still in outboxes.
    fn send_all(&self) {
        self.outboxes.iter().for_each(|outbox| self.send(&mut outbox.0.lock()));
    }

    /// Calls `visit` for each record. Cost: all that lives.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Record)) {
        self.send_all();
        for shard in &self.shards {
            shard.lock().records.iter().for_each(|(_, record)| visit(record));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.send_all();
        self.shards.iter().map(|shard| shard.lock().records.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::{NEGLECTED, ObjectKind, Record, Registry};
    use crate::Name;

    fn record(bytes: u64) -> Record {
        let (name, kind) = (Name::default(), ObjectKind::Buffer);
        Record { name, kind, bytes, frame: 0, backtrace: None }
    }

    fn living(registry: &Registry) -> Vec<u64> {
        let mut bytes = Vec::new();
        registry.for_each(|record| bytes.push(record.bytes));
        bytes.sort_unstable();
        bytes
    }

    /// What one thread inserts and another removes is gone at once for whoever asks, however much that is,
    /// and though the first thread never comes back.
    #[test]
    fn others_remove_records_too() {
        for count in [1, 63, 64, 65, 1000, 2 * NEGLECTED as u64 + 7] {
            let registry = Registry::default();
            let keys = thread::scope(|scope| {
                let insert = || (0..count).map(|bytes| registry.insert(record(bytes))).collect::<Vec<_>>();
                scope.spawn(insert).join().unwrap()
            });
            assert_eq!(registry.len() as u64, count);
            let (odd, even): (Vec<_>, Vec<_>) = (0..count).zip(keys).partition(|(bytes, _)| bytes % 2 == 1);
            odd.into_iter().for_each(|(_, key)| registry.remove(key));
            assert_eq!(living(&registry), (0..count).step_by(2).collect::<Vec<_>>());
            even.into_iter().for_each(|(_, key)| registry.remove(key));
            assert_eq!(registry.len(), 0);
        }
    }

    /// Two threads that insert, and remove what the other has inserted, at the same time: no record is lost,
    /// none is removed in place of another.
    #[test]
    fn records_are_removed_once() {
        const COUNT: u64 = if cfg!(miri) { 100 } else { 10_000 };
        let registry = &Registry::default();
        let (to_second, from_first) = mpsc::channel();
        let (to_first, from_second) = mpsc::channel();
        let work = |first: u64, to: mpsc::Sender<_>, from: mpsc::Receiver<_>| {
            for bytes in first..first + COUNT {
                let key = registry.insert(record(bytes));
                if bytes % 3 > 0 {
                    to.send(key).unwrap();
                }
                from.try_iter().for_each(|key| registry.remove(key));
            }
            drop(to);
            from.iter().for_each(|key| registry.remove(key));
        };
        thread::scope(|scope| {
            scope.spawn(|| work(0, to_second, from_second));
            scope.spawn(|| work(COUNT, to_first, from_first));
        });
        assert_eq!(living(registry), (0..2 * COUNT).filter(|bytes| bytes % 3 == 0).collect::<Vec<_>>());
    }
}
