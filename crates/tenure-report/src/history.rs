//! The content of a page: the memory of a program over time.

use tenure_trace::OwnMemory;

/// A point in time: the number of allocations, frees and ends of frames before it.
///
/// Something that begins at `from` and ends at `to` is there at `t` when `from <= t < to`.
pub type Clock = u32;

/// An end that has not come.
pub const NEVER: Clock = Clock::MAX;

/// Strings that occur often, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    all: Vec<String>,
    numbers: rustc_hash::FxHashMap<String, u32>,
}

impl Strings {
    /// The index of a string, which is added if it is new. O(length).
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The string with this index; empty if there is none.
    #[must_use]
    pub fn get(&self, number: u32) -> &str {
        self.all.get(number as usize).map_or("", String::as_str)
    }

    /// All of them, by number.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.all
    }
}

/// The source of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Every allocation and every release was seen.
    #[default]
    Events,
    /// The state at some moments; the events between them are unknown.
    Snapshots,
}

/// A memory heap of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Heap {
    /// Bytes; 0 when that is not known.
    pub size: u64,
    /// Whether it is local to the GPU; `None` if unknown.
    pub device_local: Option<bool>,
}

/// A pool: blocks of one kind in one memory type.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Pool {
    /// Its purpose.
    pub kind: String,
    /// Its memory type.
    pub memory_type: u8,
    /// The index of its memory heap.
    pub heap: usize,
    /// Its allocations are the blocks of another pool.
    pub holds_blocks: bool,
}

/// A block of a pool, from its first appearance until it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The index of its pool.
    pub pool: u32,
    /// Its number in the pool, which a later block may have again.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// The time of its creation.
    pub born: Clock,
    /// The time of its release.
    pub gone: Clock,
}

/// A resource, from its creation until its bytes may be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The number of its name among the [strings](History::strings).
    pub name: u32,
    /// The number of its tag.
    pub tag: u32,
    /// The index of its kind.
    pub kind: u32,
    /// The index of its kind of placement.
    pub location: u32,
    /// The index of the stack at its creation; `None` if it was not captured.
    pub backtrace: Option<u32>,
    /// The memory heap, if known.
    pub heap: Option<u32>,
    /// The index in [`History::blocks`] of its block.
    pub block: Option<u32>,
    /// Its offset in the block; 0 if unknown.
    pub offset: u64,
    /// Requested bytes.
    pub size: u64,
    /// Allocated bytes, with alignment padding and rounding.
    pub reserved: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// The index of its first entry if it was moved here: a moved object has one entry for each place. `None` for
    /// the first entry.
    pub origin: Option<u32>,
    /// The time at which it was created here or moved here.
    pub born: Clock,
    /// The time at which its last handle and its last view were dropped, or at which it was moved away.
    pub dropped: Clock,
    /// The time from which its bytes could be used again.
    pub released: Clock,
}

/// The whole at the end of a frame: `Stats` of the manager, in part. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Taken from the driver.
    pub reserved: u64,
    /// The most taken from the driver at once until then, also within frames.
    pub peak_reserved: u64,
    /// Bytes of these objects.
    pub live_objects: u64,
    /// Dropped objects that wait for recordings or the GPU.
    pub pending_releases: u64,
    /// Their bytes.
    pub pending_bytes: u64,
    /// Recordings open.
    pub open_recordings: u64,
    /// The total number of the driver's memory allocations.
    pub driver_allocations: u64,
    /// Nanoseconds that the beginnings of frames have waited for the GPU, together.
    pub waited_ns: u64,
}

/// A memory heap at the end of a frame. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSample {
    /// The operating system's budget; `None` if unknown.
    pub budget: Option<u64>,
    /// The process's usage.
    pub usage: u64,
    /// Blocks of pools.
    pub pools: u64,
    /// Resources with memory of their own.
    pub committed: u64,
    /// Pages of page allocators.
    pub pages: u64,
    /// Transient heaps.
    pub transient: u64,
    /// The part of `pools` that is allocated or waits for release.
    pub used: u64,
    /// The empty blocks in `pools` that are kept.
    pub idle: u64,
}

/// A pool at the end of a frame. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSample {
    /// Its blocks.
    pub capacity: u64,
    /// The part taken from the driver.
    pub reserved: u64,
    /// Given out.
    pub used: u64,
    /// Requested bytes of the allocations.
    pub requested: u64,
    /// Skipped for alignment.
    pub alignment_waste: u64,
    /// Live ranges.
    pub allocations: u64,
    /// The largest free range.
    pub largest_free: u64,
}

/// A holder that keeps dropped memory from being reused, at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The index of the holder's kind: a recording, a queue.
    pub holder: u32,
    /// The index of its name.
    pub name: u32,
    /// The serial of the queue's submission that has to be complete, if known.
    pub serial: Option<u64>,
    /// Bytes that it holds.
    pub bytes: u64,
    /// The number of held objects.
    pub count: u64,
    /// The age in frames.
    pub age: u64,
}

/// Bytes of a block that are allocated to something other than the objects: the manager's own allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherUse {
    /// The index of the block.
    pub block: u32,
    /// The index of the first frame with this value.
    pub frame: u32,
    /// Bytes.
    pub bytes: u64,
}

/// The end of a frame, or the moment of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its number.
    pub number: u64,
    /// The time of its end.
    pub at: Clock,
    /// The whole.
    pub totals: Totals,
    /// A sample of each memory heap.
    pub heaps: Vec<HeapSample>,
    /// A sample of each pool. Pools that were created later are missing.
    pub pools: Vec<PoolSample>,
    /// The holders, with their held objects.
    pub holds: Vec<Hold>,
}

/// A resource of a planned frame. See [`TransientPlan`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PlannedResource {
    /// Its name.
    pub name: String,
    /// The index of its heap.
    pub heap: usize,
    /// The first step that uses it.
    pub first: u64,
    /// The step after the last that uses it.
    pub end: u64,
    /// The byte of the heap at which it begins.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// Resources of one frame that share memory over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TransientPlan {
    /// The passes in order, by name; empty if they have none.
    pub passes: Vec<String>,
    /// Bytes of each heap.
    pub heaps: Vec<u64>,
    /// Bytes that no plan can do without, of all heaps together.
    pub bound: u64,
    /// The resources.
    pub resources: Vec<PlannedResource>,
}

/// The memory of a program over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The subject of the history, for the page's heading.
    pub title: String,
    /// The adapter.
    pub device: String,
    /// The API.
    pub backend: String,
    /// The source of the data.
    pub source: Source,
    /// Names, tags and kinds.
    pub strings: Strings,
    /// The memory heaps.
    pub heaps: Vec<Heap>,
    /// The pools, in the order of need.
    pub pools: Vec<Pool>,
    /// Every block, in the order of [`Block::born`].
    pub blocks: Vec<Block>,
    /// Every resource, once for each of its places, in the order of [`Object::born`].
    pub objects: Vec<Object>,
    /// Uses by submitted work: the index of the object in its first place, and that of the frame, in the order of frames.
    pub uses: Vec<(u32, u32)>,
    /// The content of blocks besides objects, in the order of frames.
    pub other_uses: Vec<OtherUse>,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The plan of the transient resources of a frame, if any.
    pub plan: Option<TransientPlan>,
    /// The memory that the recorded program took itself, if this is the history of a replay. Its frames are those of the
    /// history.
    pub own: Option<OwnMemory>,
}
