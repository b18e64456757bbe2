//! Live objects, by name: for leak reports and dumps.

use std::backtrace::Backtrace;
use std::fmt;
use std::num::NonZeroU32;

use parking_lot::{Mutex, MutexGuard};
use slab::Slab;

use crate::Name;
use crate::memory::{RecordedLocation, RemoteFreeList};
use crate::time::Stamp;

/// Kind of a recorded object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ObjectKind {
    /// A buffer, or a range of one.
    Buffer,
    /// A texture.
    Texture,
    /// An acceleration structure.
    AccelerationStructure,
    /// A reserved (sparse) resource.
    Reserved,
    /// A page allocator.
    Pages,
    /// Bytes that are being read back from the GPU.
    Readback,
    /// A view of a buffer or a texture.
    View,
    /// A sampler.
    Sampler,
    /// A row of descriptors.
    DescriptorTable,
    /// The layout of descriptor sets.
    SetLayout,
    /// A descriptor set.
    DescriptorSet,
    /// An object of the program in a [`Deferred`](crate::Deferred).
    User,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Buffer => "buffer",
            Self::Texture => "texture",
            Self::AccelerationStructure => "acceleration structure",
            Self::Reserved => "reserved resource",
            Self::Pages => "page allocator",
            Self::Readback => "readback",
            Self::View => "view",
            Self::Sampler => "sampler",
            Self::DescriptorTable => "descriptor table",
            Self::SetLayout => "set layout",
            Self::DescriptorSet => "descriptor set",
            Self::User => "the program's object",
        })
    }
}

/// The entry of a live object.
#[derive(Debug)]
pub(crate) struct RegistryEntry {
    pub(crate) name: Name,
    pub(crate) kind: ObjectKind,
    /// The low bytes of the number of entries that its table had ever had. Three bytes, which fit beside the
    /// kind without padding.
    pub(crate) serial: [u8; 3],
    /// Frames from creation to the drop of the handle, plus one; `None` if not dropped. A dropped object stays
    /// alive because of its views. Kept compact: every object has one.
    pub(crate) dropped: Option<NonZeroU32>,
    pub(crate) bytes: u64,
    pub(crate) frame: u64,
    pub(crate) backtrace: Option<Box<Backtrace>>,
    /// The purpose of the object, named by the program.
    pub(crate) tag: Name,
    pub(crate) place: RecordedLocation,
    /// The GPU address of its first byte; 0 without one.
    pub(crate) address: u64,
}

/// The moment at which an object was dropped or has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DropTime {
    pub(crate) frame: u64,
    /// All submissions before.
    pub(crate) submissions: Stamp,
}

/// The former bytes of an object with a GPU address: it was dropped, or has moved.
#[derive(Debug)]
pub(crate) struct Released {
    pub(crate) name: Name,
    pub(crate) tag: Name,
    pub(crate) kind: ObjectKind,
    pub(crate) bytes: u64,
    pub(crate) address: u64,
    pub(crate) frame: u64,
    pub(crate) left: DropTime,
    pub(crate) has_moved: bool,
}

/// An object that outlived its manager.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Leak {
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: ObjectKind,
    /// Bytes requested.
    pub bytes: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// Where it was created, when [`Config::leak_backtraces`](crate::Config::leak_backtraces) is on.
    pub backtrace: Option<String>,
}

impl RegistryEntry {
    /// The record of an object that lives exactly as long as its handle, without a tag and a location.
    #[inline]
    pub(crate) fn new(name: Name, kind: ObjectKind, bytes: u64, frame: u64) -> Self {
        let (tag, place) = (Name::default(), RecordedLocation::None);
        Self {
            name,
            kind,
            serial: [0; 3],
            dropped: None,
            bytes,
            frame,
            backtrace: None,
            tag,
            place,
            address: 0,
        }
    }

    fn note_dropped(&mut self, frame: u64) {
        let frames = u32::try_from(frame.saturating_sub(self.frame)).unwrap_or(u32::MAX);
        self.dropped = NonZeroU32::new(frames.saturating_add(1));
    }

    /// The frame in which the handle was dropped, if the object is still alive.
    pub(crate) fn dropped_in(&self) -> Option<u64> {
        self.dropped.map(|frames| self.frame.saturating_add(u64::from(frames.get() - 1)))
    }
}

impl Leak {
    pub(crate) fn of(entry: &RegistryEntry) -> Self {
        Self {
            name: entry.name.clone(),
            kind: entry.kind,
            bytes: entry.bytes,
            frame: entry.frame,
            backtrace: entry.backtrace.as_ref().map(ToString::to_string),
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, bytes, frame, .. } = self;
        write!(f, "{kind} '{name}' ({bytes} B, created in frame {frame})")
    }
}

/// The shard and the index of an object's entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegistryKey {
    shard: u16,
    generation: u16,
    index: u32,
}

impl RegistryKey {
    /// Rises by one with every [`GENERATION`] objects that the thread creates.
    #[inline]
    pub(crate) fn generation(self) -> usize {
        usize::from(self.generation)
    }

    /// The key as a number, for modules without access to entries.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.shard) << 48 | u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The unique slot of the object among live ones.
    pub(crate) fn slot(self) -> RegistrySlot {
        RegistrySlot { shard: self.shard, index: self.index }
    }

    /// A key from its number.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self { shard: (bits >> 48) as u16, generation: (bits >> 32) as u16, index: bits as u32 }
    }
}

/// The position of a live object's entry; a later object may reuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegistrySlot {
    shard: u16,
    index: u32,
}

impl RegistrySlot {
    /// [`LiveObject::id`](crate::LiveObject::id) of the object with this entry. The slot distinguishes live
    /// objects, the serial those that use the slot one after another. The index comes last, so that the number
    /// is exact as a double, which many JSON readers use, for the first 2²⁵ objects of a thread.
    pub(crate) fn id(self, entry: &RegistryEntry) -> u64 {
        let [low, middle, high] = entry.serial;
        let serial = u64::from(u32::from_le_bytes([low, middle, high, 0]));
        u64::from(self.index) << 28 | u64::from(self.shard) << 24 | serial
    }
}

/// Objects of one generation. A program that keeps a fixed number of objects drops the oldest for each one that
/// it creates. If that number were a multiple of this one, or of this one times the number of reference-count
/// shards of a thread, both objects would always have the same shard. Deliberately not a power of two, as such
/// numbers often are.
const GENERATION: u32 = 448;

/// The number of shards: enough that threads rarely share one.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
struct Table {
    entries: Slab<RegistryEntry>,
    /// Records ever inserted, modulo 2³².
    inserted: u32,
    /// Remote removals in progress; empty between calls, and kept for its capacity.
    removals: Vec<Removal>,
    /// The newest released objects: a ring, whose oldest is replaced next.
    released: Vec<Released>,
    oldest: usize,
}

/// The removal of an entry by its index.
#[derive(Clone, Copy, Debug)]
struct Removal {
    index: u32,
    dropped: DropTime,
}

impl Table {
    /// Removes an entry, and keeps an object with an address among the `remembered` newest released ones.
    #[inline]
    fn remove(&mut self, removal: Removal, remembered: usize) {
        let Some(entry) = self.entries.try_remove(removal.index as usize) else { return };
        let RegistryEntry { name, tag, kind, bytes, address, frame, .. } = entry;
        let left = removal.dropped;
        self.remember(
            Released { name, tag, kind, bytes, address, frame, left, has_moved: false },
            remembered,
        );
    }

    #[inline]
    fn remember(&mut self, released: Released, remembered: usize) {
        if released.address == 0 || remembered == 0 {
            return;
        }
        if self.released.len() < remembered {
            self.released.push(released);
        } else if let Some(oldest) = self.released.get_mut(self.oldest) {
            *oldest = released;
            self.oldest = if self.oldest + 1 < remembered { self.oldest + 1 } else { 0 };
        }
    }

    /// The released objects, oldest first.
    fn released(&self) -> impl Iterator<Item = &Released> {
        let (newer, older) = self.released.split_at(self.oldest);
        older.iter().chain(newer)
    }
}

/// The table of one thread, and the removals that other threads have queued for it.
#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    remote_removals: RemoteFreeList<Removal>,
    table: Mutex<Table>,
    /// Released objects that the table remembers.
    remembered: usize,
}

/// Maximum of the remote removals that one insertion carries out, so that no single call removes all entries of
/// objects that other threads have dropped.
const REMOVALS_PER_INSERTION: usize = 64;

/// If more remote removals are queued, the table's own thread inserts too seldom: the thread that queued the
/// last ones carries all of them out.
const MAX_QUEUED_REMOVALS: usize = 4096;

impl Shard {
    fn new(remembered: usize) -> Self {
        Self { remote_removals: RemoteFreeList::default(), table: Mutex::default(), remembered }
    }

    /// Inserts an entry. Returns its index and its generation.
    fn insert(&self, mut entry: RegistryEntry) -> (usize, u32) {
        let mut table = self.table.lock();
        if self.remote_removals.has_some() {
            self.carry_out_removals(&mut table, REMOVALS_PER_INSERTION);
        }
        table.inserted = table.inserted.wrapping_add(1);
        let generation = table.inserted / GENERATION;
        let [low, middle, high, _] = table.inserted.to_le_bytes();
        entry.serial = [low, middle, high];
        let slot = table.entries.vacant_entry();
        let index = slot.key();
        slot.insert(entry);
        (index, generation)
    }

    #[cold]
    fn carry_out_removals(&self, table: &mut Table, most: usize) {
        let mut removals = std::mem::take(&mut table.removals);
        self.remote_removals.take(most, &mut removals);
        removals.drain(..).for_each(|removal| table.remove(removal, self.remembered));
        table.removals = removals;
    }

    /// Queues the removal of entries, on a thread that does not own the table.
    fn queue_removals(&self, removals: &[(RegistryKey, DropTime)]) {
        let mut queue = self.remote_removals.open();
        removals.iter().for_each(|&(key, dropped)| queue.post(Removal { index: key.index, dropped }));
        let is_too_long = queue.queued() > MAX_QUEUED_REMOVALS;
        drop(queue);
        if is_too_long {
            self.carry_out_removals(&mut self.table.lock(), usize::MAX);
        }
    }

    /// Locks the table, and carries out all remote removals.
    fn lock(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock();
        self.carry_out_removals(&mut table, usize::MAX);
        table
    }
}

/// Removals by one thread from other threads' tables, collected until there are [`BULK`].
#[derive(Debug, Default)]
#[repr(align(128))]
struct Outbox(Mutex<Vec<(RegistryKey, DropTime)>>);

/// Removals that an outbox collects before it queues them in their tables.
const BULK: usize = 64;

/// All live objects, in several tables that threads fill in parallel.
///
/// Each thread has a table, a queue of removals by other threads, and an outbox of removals from other tables.
/// Locking the table of each object that another thread created would make the threads contend again and again.
#[derive(Debug)]
pub(crate) struct Registry {
    shards: [Shard; SHARDS],
    outboxes: [Outbox; SHARDS],
}

impl Registry {
    /// An empty registry, which remembers as many released objects for each thread.
    pub(crate) fn new(remembered: u32) -> Self {
        Self {
            shards: std::array::from_fn(|_| Shard::new(remembered as usize)),
            outboxes: std::array::from_fn(|_| Outbox::default()),
        }
    }

    /// Inserts an entry; `thread` is the number of the current thread.
    pub(crate) fn insert(&self, thread: usize, entry: RegistryEntry) -> RegistryKey {
        let shard = thread % SHARDS;
        let (index, generation) = self.shards[shard].insert(entry);
        // Four billion live objects do not fit into memory.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        RegistryKey { shard: shard as u16, generation: generation as u16, index }
    }

    #[inline]
    pub(crate) fn remove(&self, key: RegistryKey, dropped: DropTime) {
        let own = crate::thread_slot::current() % SHARDS;
        if usize::from(key.shard) == own {
            let shard = &self.shards[own];
            shard.table.lock().remove(Removal { index: key.index, dropped }, shard.remembered);
            return;
        }
        let mut outbox = self.outboxes[own].0.lock();
        outbox.push((key, dropped));
        if outbox.len() >= BULK {
            self.send(&mut outbox);
        }
    }

    /// The tag of a live object.
    pub(crate) fn tag(&self, key: RegistryKey) -> Name {
        let table = self.shards.get(usize::from(key.shard)).map(|shard| shard.table.lock());
        let found = table.as_ref().and_then(|table| table.entries.get(key.index as usize));
        found.map(|entry| entry.tag.clone()).unwrap_or_default()
    }

    /// Updates the place and the address of an object that has moved.
    pub(crate) fn set_place(&self, key: RegistryKey, to: (RecordedLocation, u64), left: DropTime) {
        let Some(shard) = self.shards.get(usize::from(key.shard)) else { return };
        let mut table = shard.table.lock();
        let Some(entry) = table.entries.get_mut(key.index as usize) else { return };
        let RegistryEntry { kind, bytes, frame, address, .. } = *entry;
        let (name, tag) = (entry.name.clone(), entry.tag.clone());
        (entry.place, entry.address) = to;
        table.remember(
            Released { name, tag, kind, bytes, address, frame, left, has_moved: true },
            shard.remembered,
        );
    }

    /// Notes that an object's handle was dropped, while the object stays alive.
    pub(crate) fn note_dropped(&self, key: RegistryKey, frame: u64) {
        if let Some(shard) = self.shards.get(usize::from(key.shard))
            && let Some(entry) = shard.table.lock().entries.get_mut(key.index as usize)
        {
            entry.note_dropped(frame);
        }
    }

    /// Queues the removals of an outbox in their tables.
    fn send(&self, outbox: &mut Vec<(RegistryKey, DropTime)>) {
        for same in outbox.chunk_by(|(one, _), (next, _)| one.shard == next.shard) {
            if let Some((first, _)) = same.first() {
                self.shards[usize::from(first.shard)].queue_removals(same);
            }
        }
        outbox.clear();
    }

    /// Queues the removals of all outboxes.
    fn send_all(&self) {
        self.outboxes.iter().for_each(|outbox| self.send(&mut outbox.0.lock()));
    }

    /// Calls `visit` for each entry. Cost: proportional to the live objects.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(RegistrySlot, &RegistryEntry)) {
        self.send_all();
        for (shard, table) in (0..).zip(&self.shards) {
            for (index, entry) in table.lock().entries.iter() {
                visit(RegistrySlot { shard, index: index as u32 }, entry);
            }
        }
    }

    /// Calls `visit` for each remembered released object. Cost: proportional to them.
    pub(crate) fn for_each_released(&self, mut visit: impl FnMut(&Released)) {
        self.send_all();
        self.shards.iter().for_each(|shard| shard.lock().released().for_each(&mut visit));
    }

    pub(crate) fn len(&self) -> usize {
        self.send_all();
        self.shards.iter().map(|shard| shard.lock().entries.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::{DropTime, MAX_QUEUED_REMOVALS, ObjectKind, Registry, RegistryEntry, RegistryKey};
    use crate::Name;
    use crate::thread_slot::current;

    fn entry(bytes: u64) -> RegistryEntry {
        let (name, kind) = (Name::default(), ObjectKind::Buffer);
        RegistryEntry::new(name, kind, bytes, 0)
    }

    fn remove(registry: &Registry, key: RegistryKey) {
        registry.remove(key, DropTime::default());
    }

    fn living(registry: &Registry) -> Vec<u64> {
        let mut bytes = Vec::new();
        registry.for_each(|_, entry| bytes.push(entry.bytes));
        bytes.sort_unstable();
        bytes
    }

    /// An entry that one thread inserts and another removes is gone at once for each caller, for any number of
    /// entries, and even if the first thread has ended.
    #[test]
    fn others_remove_entries_too() {
        for count in [1, 63, 64, 65, 1000, 2 * MAX_QUEUED_REMOVALS as u64 + 7] {
            let registry = &Registry::new(0);
            let keys = thread::scope(|scope| {
                let insert =
                    || (0..count).map(|bytes| registry.insert(current(), entry(bytes))).collect::<Vec<_>>();
                scope.spawn(insert).join().unwrap()
            });
            assert_eq!(registry.len() as u64, count);
            let (odd, even): (Vec<_>, Vec<_>) = (0..count).zip(keys).partition(|(bytes, _)| bytes % 2 == 1);
            odd.into_iter().for_each(|(_, key)| remove(registry, key));
            assert_eq!(living(registry), (0..count).step_by(2).collect::<Vec<_>>());
            even.into_iter().for_each(|(_, key)| remove(registry, key));
            assert_eq!(registry.len(), 0);
        }
    }

    /// Every program has an entry for each object.
    #[test]
    fn records_are_small() {
        assert_eq!(size_of::<RegistryEntry>(), 104);
    }

    /// Live objects have different ids, and so have objects that use one slot one after another, for any number
    /// of slots.
    #[test]
    fn ids_are_of_one_object() {
        const COUNT: u64 = if cfg!(miri) { 50 } else { 2000 };
        let registry = &Registry::new(0);
        let mut seen = std::collections::HashSet::new();
        for threads in 1..4 {
            let insert =
                || (0..COUNT).map(|bytes| registry.insert(current(), entry(bytes))).collect::<Vec<_>>();
            let keys = thread::scope(|scope| {
                let all: Vec<_> = (0..threads).map(|_| scope.spawn(insert)).collect();
                all.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            registry.for_each(|slot, entry| assert!(seen.insert(slot.id(entry)), "{slot:?}"));
            keys.into_iter().for_each(|key| remove(registry, key));
        }
        assert_eq!(seen.len() as u64, 6 * COUNT);
    }

    /// Two threads insert, and remove each other's entries, at the same time: no entry is lost, and none is
    /// removed in place of another.
    #[test]
    fn entries_are_removed_once() {
        const COUNT: u64 = if cfg!(miri) { 100 } else { 10_000 };
        let registry = &Registry::new(0);
        let (to_second, from_first) = mpsc::channel();
        let (to_first, from_second) = mpsc::channel();
        let work = |first: u64, to: mpsc::Sender<_>, from: mpsc::Receiver<_>| {
            for bytes in first..first + COUNT {
                let key = registry.insert(current(), entry(bytes));
                if bytes % 3 > 0 {
                    to.send(key).unwrap();
                }
                from.try_iter().for_each(|key| remove(registry, key));
            }
            drop(to);
            from.iter().for_each(|key| remove(registry, key));
        };
        thread::scope(|scope| {
            scope.spawn(|| work(0, to_second, from_second));
            scope.spawn(|| work(COUNT, to_first, from_first));
        });
        assert_eq!(living(registry), (0..2 * COUNT).filter(|bytes| bytes % 3 == 0).collect::<Vec<_>>());
    }
}
