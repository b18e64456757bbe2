//! Histories from snapshots: the state at some moments.

use std::io::{self, BufRead};

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::history::{
    Block, Clock, Frame, Heap, HeapSample, History, Hold, NEVER, Object, OtherUse, Pool, PoolSample, Source,
    Strings, Totals,
};

/// The longest line that is read, in bytes: a snapshot of some million objects.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// The most snapshots and the most objects in a file.
const MAX_SNAPSHOTS: usize = 1 << 20;
const MAX_OBJECTS: usize = 1 << 24;

/// Why snapshots cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The source fails.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is no report.
    #[error("line {line}: {error}")]
    Line {
        /// The line; the first is 1.
        line: u64,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A line has more than 2^30 bytes.
    #[error("line {line} has more than {MAX_LINE_BYTES} bytes")]
    LineTooLong {
        /// The line; the first is 1.
        line: u64,
    },
    /// There are more snapshots, or more objects in them, than a page can show.
    #[error("line {line}: more than {MAX_SNAPSHOTS} snapshots or {MAX_OBJECTS} objects")]
    TooMany {
        /// The line; the first is 1.
        line: u64,
    },
    /// There is no snapshot.
    #[error("there is no snapshot")]
    Empty,
}

/// Reads snapshots: a `Report` in JSON a line, in the order of time. Empty lines are ignored.
///
/// An object is the same in two snapshots when its name, kind, size, tag, frame of creation and place are. What was
/// created and dropped between two snapshots is in neither.
///
/// # Errors
/// [`SnapshotError`] for the first line that is no report.
///
/// ```
/// use tenure_core::device::Usage;
/// use tenure_core::{BufferDesc, Config, Gpu};
///
/// let gpu = Gpu::new(tenure_sim::Device::new(tenure_sim::Profile::DISCRETE), Config::default())?;
/// let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock"))?;
/// let line = serde_json::to_string(&gpu.report())?;
/// let history = tenure_report::read_snapshots(line.as_bytes(), "a rock")?;
/// assert_eq!(history.strings.get(history.objects[0].name), "rock");
/// # drop(rock);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_snapshots(mut source: impl BufRead, title: &str) -> Result<History, SnapshotError> {
    let mut reader = Reader::default();
    reader.history.title = title.to_owned();
    reader.history.source = Source::Snapshots;
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if io::Read::take(&mut source, MAX_LINE_BYTES + 1).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if text.len() as u64 > MAX_LINE_BYTES {
            return Err(SnapshotError::LineTooLong { line });
        }
        // Some editors and shells put a byte order mark before the text.
        let text = if line == 1 { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text) } else { &text };
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let report: Report =
            serde_json::from_slice(text).map_err(|error| SnapshotError::Line { line, error })?;
        if reader.history.frames.len() >= MAX_SNAPSHOTS
            || reader.history.objects.len().saturating_add(report.objects.len()) > MAX_OBJECTS
        {
            return Err(SnapshotError::TooMany { line });
        }
        reader.add(report);
    }
    if reader.history.frames.is_empty() { Err(SnapshotError::Empty) } else { Ok(reader.finish()) }
}

/// What is read of a report. See `schemas/report.schema.json`.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    device: String,
    #[serde(default)]
    backend: String,
    stats: Stats,
    #[serde(default)]
    pools: Vec<PoolReport>,
    #[serde(default)]
    objects: Vec<LiveObject>,
    #[serde(default)]
    open_recordings: Vec<OpenRecording>,
    #[serde(default)]
    held: Vec<HeldObjects>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats {
    frames: u64,
    reserved: u64,
    reserved_by: Parts,
    live_objects: u64,
    pending_releases: u64,
    pending_bytes: u64,
    open_recordings: u64,
    driver_allocations: u64,
    frame_wait_ns: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    committed: u64,
    pages: u64,
    transient: u64,
}

#[derive(Deserialize)]
struct PoolReport {
    stats: PoolStats,
    blocks: Vec<BlockReport>,
}

#[derive(Deserialize)]
struct PoolStats {
    kind: String,
    memory_type: u8,
    capacity: u64,
    reserved: u64,
    used: u64,
    requested: u64,
    alignment_waste: u64,
    allocations: u64,
    largest_free: u64,
}

#[derive(Deserialize)]
struct BlockReport {
    number: u32,
    size: u64,
    used: u64,
}

#[derive(Deserialize)]
struct LiveObject {
    #[serde(default)]
    name: String,
    kind: String,
    bytes: u64,
    frame: u64,
    #[serde(default)]
    tag: String,
    location: Option<String>,
    memory_type: Option<u8>,
    heap: Option<u32>,
    pool: Option<String>,
    block: Option<u32>,
    offset: Option<u64>,
    backtrace: Option<String>,
}

#[derive(Deserialize)]
struct OpenRecording {
    name: String,
    age: u64,
    held_back: u64,
}

#[derive(Deserialize)]
struct HeldObjects {
    holder: String,
    queue: Option<u8>,
    serial: Option<u64>,
    #[serde(default)]
    objects: u64,
    #[serde(default)]
    bytes: u64,
}

impl HeldObjects {
    /// What open recordings hold is listed by recording.
    fn is_of_recordings(&self) -> bool {
        self.holder == "open_recordings"
    }

    fn hold(&self, strings: &mut Strings) -> Hold {
        let name = self.queue.map_or_else(String::new, |queue| format!("queue {queue}"));
        Hold {
            holder: strings.number(&spaced(&self.holder)),
            name: strings.number(&name),
            serial: self.serial,
            bytes: self.bytes,
            count: self.objects,
            age: 0,
        }
    }
}

/// By what an object is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    name: u32,
    kind: u32,
    tag: u32,
    size: u64,
    frame: u64,
    heap: Option<u32>,
    block: Option<u32>,
    offset: u64,
}

#[derive(Default)]
struct Reader {
    history: History,
    /// The objects of the last snapshot, by what they are recognised by; equal ones in a row.
    live: FxHashMap<Identity, Vec<u32>>,
    /// The blocks of the last snapshot, by pool and number.
    blocks: FxHashMap<(u32, u32), u32>,
    /// What blocks held besides objects, by index.
    others: FxHashMap<u32, u64>,
    /// The heap of each memory type, as far as objects have named it.
    heap_of_type: FxHashMap<u8, usize>,
    /// What each snapshot says of memory.
    taken: Vec<Taken>,
}

/// What a snapshot says of memory, without the heaps that it is of.
struct Taken {
    /// Of each pool what is reserved, used and idle.
    pools: Vec<[u64; 3]>,
    /// Of each heap what resources with memory of their own have asked for.
    committed: Vec<u64>,
    parts: Parts,
}

impl Reader {
    fn add(&mut self, report: Report) {
        let Ok(frame) = u32::try_from(self.history.frames.len()) else { return };
        let at = frame + 1;
        self.history.device = report.device;
        self.history.backend = report.backend;
        self.note_heaps(&report.objects);
        let committed = self.committed(&report.objects);
        self.note_blocks(&report.pools, at);
        let taken = self.note_objects(report.objects, at);
        self.note_other_uses(&report.pools, &taken, frame);
        let pools = report.pools.iter().map(PoolReport::taken).collect();
        self.taken.push(Taken { pools, committed, parts: report.stats.reserved_by });
        let strings = &mut self.history.strings;
        let recording = strings.number("recording");
        let holds = report.open_recordings.iter().map(|open| Hold {
            holder: recording,
            name: strings.number(&open.name),
            serial: None,
            bytes: open.held_back,
            count: 1,
            age: open.age,
        });
        let mut holds: Vec<Hold> = holds.collect();
        let others = report.held.iter().filter(|held| !held.is_of_recordings());
        holds.extend(others.map(|held| held.hold(strings)));
        let Stats { reserved, live_objects, pending_releases, pending_bytes, open_recordings, .. } =
            report.stats;
        self.history.frames.push(Frame {
            number: report.stats.frames,
            at,
            totals: Totals {
                reserved,
                live_objects,
                pending_releases,
                pending_bytes,
                open_recordings,
                driver_allocations: report.stats.driver_allocations,
                waited_ns: report.stats.frame_wait_ns,
            },
            // Known at the end.
            heaps: Vec::new(),
            pools: report.pools.iter().map(|pool| pool.stats.sample()).collect(),
            holds,
        });
    }

    /// Reports name heaps by their index alone, with objects.
    fn note_heaps(&mut self, objects: &[LiveObject]) {
        let most = objects.iter().filter_map(|object| object.heap).max().unwrap_or(0) as usize;
        // More than any device has: the number is wrong.
        let most = most.min(31);
        let heaps = &mut self.history.heaps;
        while heaps.len() <= most {
            heaps.push(Heap { size: 0, device_local: None });
        }
        for object in objects {
            if let (Some(memory_type), Some(heap)) = (object.memory_type, object.heap) {
                self.heap_of_type.insert(memory_type, heap as usize);
            }
        }
    }

    /// Of each heap the bytes of objects with memory of their own.
    fn committed(&self, objects: &[LiveObject]) -> Vec<u64> {
        let mut heaps = vec![0_u64; self.history.heaps.len()];
        for object in objects.iter().filter(|object| object.location.as_deref() == Some("committed")) {
            if let Some(bytes) = object.heap.and_then(|heap| heaps.get_mut(heap as usize)) {
                *bytes = bytes.saturating_add(object.bytes);
            }
        }
        heaps
    }

    fn note_blocks(&mut self, pools: &[PoolReport], at: Clock) {
        for found in pools.get(self.history.pools.len()..).unwrap_or_default() {
            self.history.pools.push(Pool {
                kind: spaced(&found.stats.kind),
                memory_type: found.stats.memory_type,
                heap: 0,
                holds_blocks: found.stats.kind == "small_buffer_slots",
            });
        }
        let before = std::mem::take(&mut self.blocks);
        for (pool, report) in (0_u32..).zip(pools) {
            for block in &report.blocks {
                let (key, all) = ((pool, block.number), &mut self.history.blocks);
                let same = before.get(&key).copied();
                let same =
                    same.filter(|index| all.get(*index as usize).is_some_and(|b| b.size == block.size));
                let index = same.unwrap_or_else(|| {
                    let (number, size) = (block.number, block.size);
                    all.push(Block { pool, number, size, born: at, gone: NEVER });
                    u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
                });
                self.blocks.insert(key, index);
            }
        }
        for (key, index) in before {
            if self.blocks.get(&key) != Some(&index)
                && let Some(block) = self.history.blocks.get_mut(index as usize)
            {
                block.gone = at;
            }
        }
    }

    /// The block that an object is in: pools differ in more than reports say of objects.
    fn block_of(&self, object: &LiveObject) -> Option<u32> {
        let (kind, number) = (spaced(object.pool.as_ref()?), object.block?);
        let end = object.offset.unwrap_or(0).saturating_add(object.bytes);
        let pools = (0_u32..).zip(&self.history.pools);
        let alike =
            pools.filter(|(_, pool)| pool.kind == kind && Some(pool.memory_type) == object.memory_type);
        let mut blocks = alike.filter_map(|(pool, _)| self.blocks.get(&(pool, number)).copied());
        let holds =
            |index: &u32| self.history.blocks.get(*index as usize).is_some_and(|block| block.size >= end);
        blocks.find(holds)
    }

    /// The bytes of objects in each block.
    fn note_objects(&mut self, objects: Vec<LiveObject>, at: Clock) -> FxHashMap<u32, u64> {
        let mut before = std::mem::take(&mut self.live);
        let mut taken: FxHashMap<u32, u64> = FxHashMap::default();
        for object in objects {
            let block = self.block_of(&object);
            if let Some(block) = block {
                let sum = taken.entry(block).or_default();
                *sum = sum.saturating_add(object.bytes);
            }
            let history = &mut self.history;
            let strings = &mut history.strings;
            let identity = Identity {
                name: strings.number(&object.name),
                kind: strings.number(&spaced(&object.kind)),
                tag: strings.number(&object.tag),
                size: object.bytes,
                frame: object.frame,
                heap: object.heap,
                block,
                offset: object.offset.unwrap_or(0),
            };
            let index = before.get_mut(&identity).and_then(Vec::pop).unwrap_or_else(|| {
                history.objects.push(Object {
                    name: identity.name,
                    tag: identity.tag,
                    kind: identity.kind,
                    location: strings.number(object.location.as_deref().unwrap_or("without memory")),
                    backtrace: object.backtrace.as_deref().map(|text| strings.number(text)),
                    heap: object.heap,
                    block,
                    offset: identity.offset,
                    size: object.bytes,
                    reserved: object.bytes,
                    frame: object.frame,
                    born: at,
                    dropped: NEVER,
                    released: NEVER,
                });
                u32::try_from(history.objects.len() - 1).unwrap_or(u32::MAX)
            });
            self.live.entry(identity).or_default().push(index);
        }
        for index in before.into_values().flatten() {
            if let Some(object) = self.history.objects.get_mut(index as usize) {
                (object.dropped, object.released) = (at, at);
            }
        }
        taken
    }

    fn note_other_uses(&mut self, pools: &[PoolReport], taken: &FxHashMap<u32, u64>, frame: u32) {
        for (pool, report) in
            (0_u32..).zip(pools).filter(|(_, report)| report.stats.kind != "small_buffer_slots")
        {
            for found in &report.blocks {
                let Some(&block) = self.blocks.get(&(pool, found.number)) else { continue };
                let bytes = found.used.saturating_sub(taken.get(&block).copied().unwrap_or(0));
                if self.others.insert(block, bytes).unwrap_or(0) != bytes {
                    self.history.other_uses.push(OtherUse { block, frame, bytes });
                }
            }
        }
    }

    /// The history, with the heaps of pools: a pool is named without its heap, which objects of its memory type know,
    /// perhaps in later snapshots and in other pools.
    fn finish(mut self) -> History {
        for pool in &mut self.history.pools {
            pool.heap = self.heap_of_type.get(&pool.memory_type).copied().unwrap_or(0);
        }
        let heaps = self.history.heaps.len();
        for (frame, taken) in self.history.frames.iter_mut().zip(&self.taken) {
            frame.heaps = taken.by_heap(&self.history.pools, heaps);
        }
        self.history
    }
}

impl Taken {
    /// Reports say of heaps only what pools and objects have of them; the rest counts with the first heap.
    fn by_heap(&self, pools: &[Pool], heaps: usize) -> Vec<HeapSample> {
        let mut heaps = vec![HeapSample::default(); heaps];
        for ([reserved, used, idle], known) in self.pools.iter().zip(pools) {
            let Some(heap) = heaps.get_mut(known.heap) else { continue };
            heap.pools = heap.pools.saturating_add(*reserved);
            if !known.holds_blocks {
                heap.used = heap.used.saturating_add(*used);
            }
            if *reserved > 0 {
                heap.idle = heap.idle.saturating_add(*idle);
            }
        }
        for (heap, bytes) in heaps.iter_mut().zip(&self.committed) {
            heap.committed = *bytes;
        }
        let known = self.committed.iter().copied().fold(0, u64::saturating_add);
        if let Some(first) = heaps.first_mut() {
            // What was asked for is less than what was taken for it.
            let rest = self.parts.committed.saturating_sub(known);
            first.committed = first.committed.saturating_add(rest);
            (first.pages, first.transient) = (self.parts.pages, self.parts.transient);
        }
        for heap in &mut heaps {
            heap.usage = heap.pools.saturating_add(heap.committed).saturating_add(heap.pages);
            heap.usage = heap.usage.saturating_add(heap.transient);
        }
        heaps
    }
}

impl PoolReport {
    /// What is reserved, used and idle.
    fn taken(&self) -> [u64; 3] {
        let idle = self.blocks.iter().filter(|block| block.used == 0).map(|block| block.size);
        [self.stats.reserved, self.stats.used, idle.fold(0, u64::saturating_add)]
    }
}

impl PoolStats {
    const fn sample(&self) -> PoolSample {
        let Self { capacity, reserved, used, requested, alignment_waste, allocations, largest_free, .. } =
            *self;
        PoolSample { capacity, reserved, used, requested, alignment_waste, allocations, largest_free }
    }
}

/// Words as reports write them, with spaces.
fn spaced(words: &str) -> String {
    words.replace('_', " ")
}
