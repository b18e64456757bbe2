//! Recording the history of a running manager.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tenure_core::device::{Device, QueueKind, QueueSerial};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Gpu, OpenRecordingReport, PoolReport, RecordedAllocation, RecordedPlace, RecordedPlacement, Recorder,
    Stats,
};

use crate::history::{
    Block, Clock, Frame, Heap, HeapSample, History, Hold, NEVER, Object, OtherUse, Pool, PoolSample, Totals,
};
use crate::holds::{Newest, Waiting};

/// Records the place of every allocation of a [`Gpu`], and the manager's statistics at the end of each frame.
///
/// Install the [hook](Self::hook) in the manager before the first resource is created, and call
/// [`end_frame`](Self::end_frame) after the end of each frame. An event costs some hundred nanoseconds and about
/// 80 bytes.
///
/// ```
/// use tenure_core::device::Usage;
/// use tenure_core::{BufferDesc, Config, Gpu};
/// use tenure_report::HistoryRecorder;
///
/// let gpu = Gpu::new(tenure_sim::Device::new(tenure_sim::Profile::DISCRETE), Config::default())?;
/// let recorder = HistoryRecorder::new(&gpu);
/// gpu.set_recorder(recorder.hook());
///
/// let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock").tag("terrain"))?;
/// gpu.begin_frame()?.end()?;
/// recorder.end_frame(&gpu);
///
/// let history = recorder.finish("a rock");
/// assert_eq!(history.objects[0].size, 48 * 1024);
/// assert_eq!(history.frames[0].totals.live_objects, 1);
/// let mut page = Vec::new();
/// history.write_html(&mut page)?;
/// # drop(rock);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HistoryRecorder {
    state: Arc<Mutex<State>>,
}

impl HistoryRecorder {
    /// An empty history for one manager.
    #[must_use]
    pub fn new<D: Device>(gpu: &Gpu<D>) -> Self {
        let properties = gpu.device().properties();
        let heaps = properties.memory_heaps.iter();
        let heaps = heaps.map(|heap| Heap { size: heap.size, device_local: Some(heap.device_local) });
        let history = History {
            device: properties.name.clone(),
            backend: properties.backend.to_owned(),
            heaps: heaps.collect(),
            ..History::default()
        };
        let heap_of_type = properties.memory_types.iter().map(|found| usize::from(found.heap)).collect();
        Self { state: Arc::new(Mutex::new(State { history, heap_of_type, ..State::default() })) }
    }

    /// The hook for [`Gpu::set_recorder`].
    #[must_use]
    pub fn hook(&self) -> Box<dyn Recorder> {
        Box::new(Hook(self.state.clone()))
    }

    /// Records the statistics of a manager, after the end of a frame. O(pools, blocks).
    pub fn end_frame<D: Device>(&self, gpu: &Gpu<D>) {
        let (stats, memory, pools) = (gpu.stats(), gpu.memory(), gpu.pool_reports());
        let open = if stats.open_recordings > 0 { gpu.report().open_recordings } else { Vec::new() };
        let submitted: Vec<_> = gpu.submitted().iter().collect();
        // Locked only now: the manager may report a move while it computes the statistics, and would wait for
        // this lock.
        let mut state = self.state.lock();
        let newest = match submitted[..] {
            [QueueSerial { queue, serial }] => {
                let found = gpu.device().properties().queues.get(queue.index());
                let name = found.map_or("queue", |found| queue_text(found.kind));
                Newest { queue: state.history.strings.number(name), serial: Some(serial) }
            }
            [] => Newest { queue: state.history.strings.number("no queue"), serial: None },
            _ => Newest { queue: state.history.strings.number("several queues"), serial: None },
        };
        let mut holds = state.holds(newest);
        holds.extend(state.open_recordings(&open));
        state.end_frame(holds, &stats, memory.heaps.iter().map(HeapSample::from).collect(), &pools);
    }

    /// The number of objects created so far, regardless of moves: the number of the next one.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.state.lock().created.len()
    }

    /// Notes that a submission of this frame uses an object, by its number. Unknown numbers are ignored.
    pub fn note_use(&self, object: usize) {
        let state = &mut *self.state.lock();
        if let Some(&object) = state.created.get(object)
            && let Ok(frame) = u32::try_from(state.history.frames.len())
        {
            state.history.uses.push((object, frame));
        }
    }

    /// Tags the untagged allocations with the result of `tag`. For recordings, which have no tags.
    pub fn tag_with(&self, tag: fn(&RecordedAllocation) -> &'static str) {
        self.state.lock().tag = Some(tag);
    }

    /// The history up to the end of the last frame. Later events are ignored.
    #[must_use]
    pub fn finish(&self, title: &str) -> History {
        let ended = State { is_finished: true, ..State::default() };
        let mut state = std::mem::replace(&mut *self.state.lock(), ended);
        state.cut();
        title.clone_into(&mut state.history.title);
        state.history.uses.sort_unstable_by_key(|(object, frame)| (*frame, *object));
        state.history.uses.dedup();
        state.history
    }
}

struct Hook(Arc<Mutex<State>>);

impl Recorder for Hook {
    fn allocated(&self, allocation: &RecordedAllocation) {
        let mut state = self.0.lock();
        if !state.is_finished {
            state.pending.insert(allocation.id, *allocation);
        }
    }

    fn placed(&self, placement: &RecordedPlacement<'_>) {
        self.0.lock().place(placement);
    }

    fn moved(&self, from: u64, to: &RecordedPlace) {
        self.0.lock().relocate(from, to);
    }

    fn freed(&self, id: u64, _size: u64) {
        self.0.lock().free(id);
    }

    fn released(&self, key: u64) {
        self.0.lock().release(key);
    }

    fn frame_ended(&self, _frame: u64) {
        let state = &mut *self.0.lock();
        state.now = state.now.saturating_add(1);
    }
}

/// The state of a live block.
#[derive(Debug)]
struct LiveBlock {
    /// Its index in the history.
    index: u32,
    /// Bytes of objects in it.
    taken: u64,
    /// Bytes of other allocations.
    other: u64,
    /// The number of the last frame that contained it, to find removed blocks.
    seen: usize,
}

#[derive(Debug, Default)]
struct State {
    history: History,
    /// The history was taken: later events are ignored.
    is_finished: bool,
    /// The indices of objects in the order of their creation: each in its first place.
    created: Vec<u32>,
    now: Clock,
    /// The memory heap of each memory type.
    heap_of_type: Vec<usize>,
    tag: Option<fn(&RecordedAllocation) -> &'static str>,
    /// Reported, and not placed yet.
    pending: FxHashMap<u64, RecordedAllocation>,
    /// Index and key of live objects, by id.
    live: FxHashMap<u64, (u32, u64)>,
    /// Allocations that were placed and not released, by key, with their ids.
    placed: FxHashMap<u64, (u32, u64)>,
    blocks: FxHashMap<(u32, u32), LiveBlock>,
    waiting: Waiting,
}

impl State {
    fn place(&mut self, placement: &RecordedPlacement<'_>) {
        let Some(allocation) = self.pending.remove(&placement.id) else { return };
        let tag = match self.tag {
            Some(tag) if placement.tag.is_empty() => tag(&allocation),
            _ => placement.tag,
        };
        let strings = &mut self.history.strings;
        let object = Object {
            name: strings.number(placement.name),
            tag: strings.number(tag),
            kind: strings.number(&placement.kind.to_string()),
            location: 0,
            backtrace: None,
            heap: None,
            block: None,
            offset: 0,
            size: allocation.size,
            reserved: 0,
            frame: self.history.frames.len() as u64,
            origin: None,
            born: 0,
            dropped: NEVER,
            released: NEVER,
        };
        let begun = self.begin(object, placement.id, &placement.place);
        self.created.extend(begun);
    }

    /// Adds an object in its place. Returns its index.
    fn begin(&mut self, object: Object, id: u64, place: &RecordedPlace) -> Option<u32> {
        let index = u32::try_from(self.history.objects.len()).ok()?;
        if self.now >= NEVER - 1 {
            return None;
        }
        self.now += 1;
        let block = place.pool.zip(place.block).and_then(|(pool, number)| {
            let key = (u32::try_from(pool).ok()?, u32::try_from(number).ok()?);
            let block = self.block(key, 0);
            block.taken += place.reserved;
            Some(block.index)
        });
        let heap = place.memory_type.and_then(|memory| self.heap_of_type.get(usize::from(memory)));
        self.history.objects.push(Object {
            location: self.history.strings.number(location_text(place.location)),
            heap: heap.and_then(|heap| u32::try_from(*heap).ok()),
            block,
            offset: place.offset.unwrap_or(0),
            reserved: place.reserved,
            born: self.now,
            ..object
        });
        self.live.insert(id, (index, place.key));
        self.placed.insert(place.key, (index, id));
        Some(index)
    }

    /// Moves an object to another place. Its old place waits for the GPU.
    fn relocate(&mut self, from: u64, to: &RecordedPlace) {
        let Some(&(before, id)) = self.placed.get(&from) else { return };
        let Some(&object) = self.history.objects.get(before as usize) else { return };
        let origin = Some(object.origin.unwrap_or(before));
        if self.begin(Object { origin, ..object }, id, to).is_some() {
            self.end(before, true);
        }
    }

    fn free(&mut self, id: u64) {
        self.now = self.now.saturating_add(1);
        let Some((index, key)) = self.live.remove(&id) else { return };
        let is_placed = self.placed.get(&key).is_some_and(|(placed, _)| *placed == index);
        self.end(index, is_placed);
    }

    /// Removes an object from its place.
    fn end(&mut self, index: u32, waits: bool) {
        let Some(object) = self.history.objects.get_mut(index as usize) else { return };
        object.dropped = self.now;
        if waits {
            self.waiting.add(self.history.frames.len(), object.reserved);
        } else {
            object.released = self.now;
        }
    }

    fn release(&mut self, key: u64) {
        let Some((index, _)) = self.placed.remove(&key) else { return };
        let Some(object) = self.history.objects.get_mut(index as usize) else { return };
        if object.dropped != NEVER {
            object.released = self.now;
            let frame = self.history.frames.partition_point(|frame| frame.at < object.dropped);
            self.waiting.remove(frame, object.reserved);
        }
        let Some(block) = object.block.and_then(|block| self.history.blocks.get(block as usize)) else {
            return;
        };
        let (key, reserved) = ((block.pool, block.number), object.reserved);
        if let Some(block) = self.blocks.get_mut(&key) {
            block.taken = block.taken.saturating_sub(reserved);
        }
    }

    /// The block of that pool and number, which is made if it is unknown: within a frame, before its size is
    /// known.
    fn block(&mut self, (pool, number): (u32, u32), size: u64) -> &mut LiveBlock {
        let (blocks, now) = (&mut self.history.blocks, self.now);
        let seen = self.history.frames.len();
        self.blocks.entry((pool, number)).or_insert_with(|| {
            let index = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
            blocks.push(Block { pool, number, size, born: now, gone: NEVER });
            LiveBlock { index, taken: 0, other: 0, seen }
        })
    }

    /// The objects that wait for the GPU.
    fn holds(&mut self, newest: Newest) -> Vec<Hold> {
        let frame = self.history.frames.len();
        let holder = self.history.strings.number("work of the GPU");
        self.waiting.at_end(frame, newest, holder)
    }

    /// The objects that open recordings hold, which are part of the waiting ones.
    fn open_recordings(&mut self, open: &[OpenRecordingReport]) -> Vec<Hold> {
        let strings = &mut self.history.strings;
        let holder = strings.number("open recording");
        let hold = |open: &OpenRecordingReport| Hold {
            holder,
            name: strings.number(&open.name),
            serial: None,
            bytes: open.held_back,
            count: 1,
            age: open.age,
        };
        open.iter().map(hold).collect()
    }

    fn end_frame(&mut self, holds: Vec<Hold>, stats: &Stats, heaps: Vec<HeapSample>, pools: &[PoolReport]) {
        if self.is_finished {
            return;
        }
        for report in pools.get(self.history.pools.len()..).unwrap_or_default() {
            let pool = pool_of(report, &self.heap_of_type);
            self.history.pools.push(pool);
        }
        for (pool, report) in (0_u32..).zip(pools) {
            self.note_blocks(pool, report);
        }
        self.forget_blocks();
        self.history.frames.push(Frame {
            number: stats.last_frame.number,
            at: self.now,
            totals: Totals::from(stats),
            heaps,
            pools: pools.iter().map(|pool| PoolSample::from(&pool.stats)).collect(),
            holds,
        });
        // Later events happen after the end of this frame.
        self.now = self.now.saturating_add(1);
    }

    fn note_blocks(&mut self, pool: u32, report: &PoolReport) {
        let frame = self.history.frames.len();
        // The allocations in the heaps of slots are blocks of another pool.
        let is_apart =
            report.stats.kind == PoolKind::SmallBufferSlots || self.has_objects_alone(pool, report);
        for found in &report.blocks {
            let Ok(number) = u32::try_from(found.number) else { continue };
            let key = (pool, number);
            let block = self.block(key, found.size);
            let index = block.index as usize;
            block.seen = frame;
            // A block of another size has taken the number since the last frame.
            let is_other =
                self.history.blocks.get(index).is_some_and(|b| b.size != found.size && b.size != 0);
            if is_other {
                self.renew(key, found.size);
            }
            let Some(block) = self.blocks.get_mut(&key) else { continue };
            if let Some(known) = self.history.blocks.get_mut(block.index as usize) {
                known.size = found.size;
            }
            let other = if is_apart { 0 } else { found.used.saturating_sub(block.taken) };
            if std::mem::replace(&mut block.other, other) != other {
                let frame = u32::try_from(frame).unwrap_or(u32::MAX);
                self.history.other_uses.push(OtherUse { block: block.index, frame, bytes: other });
            }
        }
    }

    /// Whether all allocations of a pool are objects, with their alignment padding.
    fn has_objects_alone(&self, pool: u32, report: &PoolReport) -> bool {
        let taken = |found: &tenure_core::BlockReport| {
            let number = u32::try_from(found.number).ok()?;
            Some(self.blocks.get(&(pool, number))?.taken)
        };
        let taken: u64 = report.blocks.iter().filter_map(taken).sum();
        report.stats.used <= taken.saturating_add(report.stats.alignment_waste)
    }

    /// Replaces a removed block by a new one with the same number. Objects created since the last frame are in
    /// the new one.
    fn renew(&mut self, key: (u32, u32), size: u64) {
        let Some(old) = self.blocks.remove(&key) else { return };
        let since = self.history.frames.last().map_or(0, |frame| frame.at);
        if let Some(block) = self.history.blocks.get_mut(old.index as usize) {
            block.gone = since.saturating_add(1);
        }
        let seen = self.history.frames.len();
        let block = self.block(key, size);
        (block.taken, block.seen) = (old.taken, seen);
        let index = block.index;
        for object in self.history.objects.iter_mut().rev().take_while(|object| object.born > since) {
            if object.block == Some(old.index) {
                object.block = Some(index);
            }
        }
    }

    /// Marks the blocks that were not seen at the end of this frame as freed.
    fn forget_blocks(&mut self) {
        let (frame, now, blocks) = (self.history.frames.len(), self.now, &mut self.history.blocks);
        self.blocks.retain(|_, block| {
            let Some(known) = blocks.get_mut(block.index as usize) else { return false };
            // A block without a size was in no report: it was made and freed since, or made after the report and
            // contains an object.
            let is_there = block.seen == frame && (known.size > 0 || block.taken > 0);
            if !is_there {
                known.gone = now;
            }
            is_there
        });
    }

    /// Removes the events after the end of the last frame.
    fn cut(&mut self) {
        let history = &mut self.history;
        let last = history.frames.last().map_or(0, |frame| frame.at);
        let until = |clock: &mut Clock| {
            if *clock > last {
                *clock = NEVER;
            }
        };
        history.objects.retain(|object| object.born <= last);
        for object in &mut history.objects {
            until(&mut object.dropped);
            until(&mut object.released);
        }
        history.blocks.iter_mut().for_each(|block| until(&mut block.gone));
        let objects = history.objects.len();
        history.uses.retain(|(object, _)| (*object as usize) < objects);
    }
}

fn pool_of(report: &PoolReport, heap_of_type: &[usize]) -> Pool {
    let memory_type = report.stats.memory_type;
    Pool {
        kind: report.stats.kind.as_str().to_owned(),
        memory_type,
        heap: heap_of_type.get(usize::from(memory_type)).copied().unwrap_or(0),
        holds_blocks: report.stats.kind == PoolKind::SmallBufferSlots,
    }
}

const fn queue_text(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Graphics => "graphics queue",
        QueueKind::Compute => "compute queue",
        QueueKind::Copy => "copy queue",
    }
}

const fn location_text(location: tenure_core::LocationKind) -> &'static str {
    use tenure_core::LocationKind as Kind;
    match location {
        Kind::Committed => "committed",
        Kind::Placed => "placed",
        Kind::Range => "range",
        Kind::Page => "page",
        Kind::Transient => "transient",
        Kind::Reserved => "reserved",
        Kind::Adopted => "adopted",
        _ => "elsewhere",
    }
}
