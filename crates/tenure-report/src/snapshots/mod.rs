//! Histories from snapshots: the state at some moments.

mod format;

use std::io::{self, BufRead};

use rustc_hash::FxHashMap;

use self::format::{HeapMemory, LiveObject, Memory, PoolReport, Report, Stats, spaced};
use crate::history::{
    Block, Clock, Frame, Heap, History, Hold, NEVER, Object, OtherUse, Pool, Source, Totals,
};

/// The longest line in bytes: a snapshot of some million objects.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// The most snapshots and the most objects in a file.
const MAX_SNAPSHOTS: usize = 1 << 20;
const MAX_OBJECTS: usize = 1 << 24;

/// The most memory heaps to show: Vulkan has at most 16.
const MAX_HEAPS: usize = 32;

/// Why snapshots cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The source fails.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is not a report.
    #[error("line {line}: {error}")]
    Line {
        /// The line; the first is 1.
        line: u64,
        /// The parser's error.
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
/// Two objects of successive snapshots are the same if id, name, kind, size, tag and frame of creation are equal;
/// if the place differs, the object has moved. Without ids, as in reports of older versions, the place must be
/// the same. If the number of frames falls, another program begins, and its pools are matched with those of the
/// first. Objects that were created and dropped between two snapshots do not appear.
///
/// # Errors
/// [`SnapshotError`] for the first line that is not a report.
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
    if reader.history.frames.is_empty() { Err(SnapshotError::Empty) } else { Ok(reader.history) }
}

/// The properties that identify an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    id: Option<u64>,
    name: u32,
    kind: u32,
    tag: u32,
    size: u64,
    frame: u64,
    heap: Option<u32>,
    block: Option<u32>,
    offset: u64,
}

impl Identity {
    /// The identity without the place, which a move changes; `None` without an id.
    const fn without_place(&self) -> Option<Self> {
        match self.id {
            Some(_) => Some(Self { heap: None, block: None, offset: 0, ..*self }),
            None => None,
        }
    }
}

#[derive(Default)]
struct Reader {
    history: History,
    /// The objects of the last snapshot, by identity; equal ones in a row.
    live: FxHashMap<Identity, Vec<u32>>,
    /// The blocks of the last snapshot, by pool and number.
    blocks: FxHashMap<(u32, u32), u32>,
    /// The frame number of the last snapshot.
    number: u64,
    /// Bytes of blocks besides objects, by index.
    others: FxHashMap<u32, u64>,
}

impl Reader {
    fn add(&mut self, report: Report) {
        let Ok(frame) = u32::try_from(self.history.frames.len()) else { return };
        let at = frame + 1;
        self.history.device.clone_from(&report.device);
        self.history.backend.clone_from(&report.backend);
        if report.stats.frames < self.number {
            self.end_all(at);
        }
        self.number = report.stats.frames;
        self.note_heaps(&report.memory);
        self.note_blocks(&report, at);
        let (number, strings) = (report.stats.frames, &mut self.history.strings);
        let kept: Vec<Hold> = report.objects.iter().filter_map(|kept| kept.hold(number, strings)).collect();
        let taken = self.note_objects(report.objects, at);
        self.note_other_uses(&report.pools, &taken, frame);
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
        holds.extend(kept);
        let Stats {
            reserved,
            peak_reserved,
            live_objects,
            pending_releases,
            pending_bytes,
            open_recordings,
            ..
        } = report.stats;
        self.history.frames.push(Frame {
            number: report.stats.frames,
            at,
            totals: Totals {
                reserved,
                peak_reserved,
                live_objects,
                pending_releases,
                pending_bytes,
                open_recordings,
                driver_allocations: report.stats.driver_allocations,
                waited_ns: report.stats.frame_wait_ns,
            },
            heaps: report.memory.heaps.iter().take(MAX_HEAPS).map(HeapMemory::sample).collect(),
            pools: report.pools.iter().map(|pool| pool.stats.sample()).collect(),
            holds,
        });
    }

    fn note_heaps(&mut self, memory: &Memory) {
        let heaps = &mut self.history.heaps;
        let new = memory.heaps.iter().take(MAX_HEAPS).skip(heaps.len());
        heaps.extend(new.map(|heap| Heap { size: heap.size, device_local: heap.device_local }));
    }

    fn note_blocks(&mut self, report: &Report, at: Clock) {
        let Report { pools, memory, .. } = report;
        for found in pools.get(self.history.pools.len()..).unwrap_or_default() {
            self.history.pools.push(Pool {
                kind: spaced(&found.stats.kind),
                memory_type: found.stats.memory_type,
                heap: memory
                    .types
                    .get(usize::from(found.stats.memory_type))
                    .map_or(0, |found| found.heap.min(MAX_HEAPS)),
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

    /// The block of an object, if it lies within it.
    fn block_of(&self, object: &LiveObject) -> Option<u32> {
        let index = *self.blocks.get(&(object.pool_index?, object.block?))?;
        let end = object.offset.unwrap_or(0).saturating_add(object.bytes);
        self.history.blocks.get(index as usize).is_some_and(|block| block.size >= end).then_some(index)
    }

    /// The bytes of objects in each block.
    fn note_objects(&mut self, objects: Vec<LiveObject>, at: Clock) -> FxHashMap<u32, u64> {
        let mut before = std::mem::take(&mut self.live);
        let mut taken: FxHashMap<u32, u64> = FxHashMap::default();
        let mut others = Vec::new();
        for object in objects {
            let identity = self.identify(&object);
            if let Some(block) = identity.block {
                let sum = taken.entry(block).or_default();
                *sum = sum.saturating_add(object.bytes);
            }
            match before.get_mut(&identity).and_then(Vec::pop) {
                Some(index) => self.live.entry(identity).or_default().push(index),
                None => others.push((identity, object)),
            }
        }
        let left =
            before.into_iter().flat_map(|(identity, all)| all.into_iter().map(move |it| (identity, it)));
        let left: Vec<_> = left.collect();
        self.end(left.iter().map(|(_, index)| *index), at);
        // Some of the objects missing at their old place have moved elsewhere.
        let mut moved: FxHashMap<Identity, Vec<u32>> = FxHashMap::default();
        for (identity, index) in left {
            identity.without_place().into_iter().for_each(|it| moved.entry(it).or_default().push(index));
        }
        for (identity, object) in others {
            let before = identity.without_place().and_then(|it| moved.get_mut(&it)?.pop());
            let index = self.begin(&identity, &object, before, at);
            self.live.entry(identity).or_default().push(index);
        }
        taken
    }

    fn identify(&mut self, object: &LiveObject) -> Identity {
        let block = self.block_of(object);
        let history = &mut self.history;
        let heap = object.heap.filter(|heap| (*heap as usize) < history.heaps.len());
        let strings = &mut history.strings;
        Identity {
            id: object.id,
            name: strings.number(&object.name),
            kind: strings.number(&spaced(&object.kind)),
            tag: strings.number(&object.tag),
            size: object.bytes,
            frame: object.frame,
            heap,
            block,
            offset: object.offset.unwrap_or(0),
        }
    }

    /// Adds an object; `before` is its index before a move. Returns its index.
    fn begin(&mut self, identity: &Identity, object: &LiveObject, before: Option<u32>, at: Clock) -> u32 {
        let History { objects, strings, .. } = &mut self.history;
        let origin = before.and_then(|index| Some(objects.get(index as usize)?.origin.unwrap_or(index)));
        let index = u32::try_from(objects.len()).unwrap_or(u32::MAX);
        objects.push(Object {
            name: identity.name,
            tag: identity.tag,
            kind: identity.kind,
            location: strings.number(object.location.as_deref().unwrap_or("without memory")),
            backtrace: object.backtrace.as_deref().map(|text| strings.number(text)),
            heap: identity.heap,
            block: identity.block,
            offset: identity.offset,
            size: object.bytes,
            reserved: object.bytes,
            frame: object.frame,
            origin,
            born: at,
            dropped: NEVER,
            released: NEVER,
        });
        index
    }

    /// Ends all objects: the program has ended, and another one begins.
    fn end_all(&mut self, at: Clock) {
        let objects = std::mem::take(&mut self.live);
        self.end(objects.into_values().flatten(), at);
        for index in std::mem::take(&mut self.blocks).into_values() {
            if let Some(block) = self.history.blocks.get_mut(index as usize) {
                block.gone = at;
            }
        }
        self.others.clear();
    }

    /// Removes objects from their places.
    fn end(&mut self, objects: impl Iterator<Item = u32>, at: Clock) {
        for index in objects {
            if let Some(object) = self.history.objects.get_mut(index as usize) {
                (object.dropped, object.released) = (at, at);
            }
        }
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
}
