//! What a page shows: the memory of a program over time.

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
    /// The number of a string, which is added if it is new. O(length).
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The string with this number; empty where there is none.
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

/// What the data comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Every allocation and every release was seen.
    #[default]
    Events,
    /// The state at some moments; what happened between them is not known.
    Snapshots,
}

/// A memory heap of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Heap {
    /// Bytes; 0 when that is not known.
    pub size: u64,
    /// It is local to the GPU; `None` when that is not known.
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

/// A block of a pool, from when it is seen first until it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The index of its pool.
    pub pool: u32,
    /// Its number in the pool, which a later block may have again.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// When it was made.
    pub born: Clock,
    /// When it was gone.
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
    /// The number of how it is placed.
    pub location: u32,
    /// The number of the stack at its creation; `None` when it was not taken down.
    pub backtrace: Option<u32>,
    /// The memory heap, where it is known.
    pub heap: Option<u32>,
    /// The index in [`History::blocks`] of the block that it is in.
    pub block: Option<u32>,
    /// The byte of the block at which it begins; 0 where that is not known.
    pub offset: u64,
    /// Bytes asked for.
    pub size: u64,
    /// Allocated bytes, with alignment padding and rounding.
    pub reserved: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// The index of its first entry if it was moved here: a moved object has one entry for each place. `None` for
    /// the first entry.
    pub origin: Option<u32>,
    /// When it was created here or moved here.
    pub born: Clock,
    /// When its last handle and its last view were dropped, or when it was moved from here.
    pub dropped: Clock,
    /// When its bytes could be used again.
    pub released: Clock,
}

/// The whole at the end of a frame: `Stats` of the manager, in part. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Taken from the driver.
    pub reserved: u64,
    /// Bytes of these objects.
    pub live_objects: u64,
    /// Dropped objects that wait for recordings or the GPU.
    pub pending_releases: u64,
    /// Bytes that those hold.
    pub pending_bytes: u64,
    /// Recordings open.
    pub open_recordings: u64,
    /// Memory allocations ever made by the driver.
    pub driver_allocations: u64,
    /// Nanoseconds that the beginnings of frames have waited for the GPU, together.
    pub waited_ns: u64,
}

/// A memory heap at the end of a frame. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSample {
    /// The operating system's budget; `None` if unknown.
    pub budget: Option<u64>,
    /// What the process uses.
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
    /// Of `pools`, empty blocks that are kept.
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

/// What keeps dropped memory from being used again, at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The number of what kind of thing holds: a recording, a queue.
    pub holder: u32,
    /// The number of its name.
    pub name: u32,
    /// The serial of the queue's submission that has to be complete, where one is known.
    pub serial: Option<u64>,
    /// Bytes that it holds.
    pub bytes: u64,
    /// How many things those are.
    pub count: u64,
    /// Frames for which it has done so.
    pub age: u64,
}

/// Bytes of a block that are allocated to something other than the objects: the manager's own allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherUse {
    /// The index of the block.
    pub block: u32,
    /// The index of the frame from which on that is so.
    pub frame: u32,
    /// Bytes.
    pub bytes: u64,
}

/// The end of a frame, or the moment of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its number.
    pub number: u64,
    /// When it ended.
    pub at: Clock,
    /// The whole.
    pub totals: Totals,
    /// By memory heap.
    pub heaps: Vec<HeapSample>,
    /// By pool; pools that came later are missing.
    pub pools: Vec<PoolSample>,
    /// Who holds what back.
    pub holds: Vec<Hold>,
}

/// A resource of a planned frame. See [`TransientPlan`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PlannedResource {
    /// Its name.
    pub name: String,
    /// The index of the heap that it is in.
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
    /// The passes in order, by name; empty when they have none.
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
    /// What the data comes from.
    pub source: Source,
    /// Names, tags and kinds.
    pub strings: Strings,
    /// The memory heaps.
    pub heaps: Vec<Heap>,
    /// The pools, in the order of need.
    pub pools: Vec<Pool>,
    /// Every block that there was, in the order of [`Block::born`].
    pub blocks: Vec<Block>,
    /// Every resource that there was, one for each place that it was in, in the order of [`Object::born`].
    pub objects: Vec<Object>,
    /// Uses by submitted work: the index of the object in its first place, and that of the frame, in the order of frames.
    pub uses: Vec<(u32, u32)>,
    /// What blocks hold besides objects, in the order of frames.
    pub other_uses: Vec<OtherUse>,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The plan of the transient resources of a frame, if there is one.
    pub plan: Option<TransientPlan>,
}
