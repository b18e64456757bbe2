//! Converts the moments of a replay to a trace.

use std::collections::HashMap;
use std::io::{self, Write};

use tenure::device::{Device, HeapBudget, MemoryTypeId, Properties};
use tenure::{Gpu, sim};

use super::pools::PoolCounters;
use super::proto::{CounterUnit, MemoryOperation, MemorySource, VulkanMemoryEvent};
use super::writer::{PacketWriter, Track, Value};
use crate::replay::{Counted, DriverMemory, Gauge, MemoryCall, Moment, Observer, Shape, TICKS_A_FRAME, What};

/// The length of a frame on the timeline: recordings have no frame times.
const FRAME_NS: u64 = 16_666_667;
/// One tick of the simulated device.
pub(super) const TICK_NS: u64 = FRAME_NS / TICKS_A_FRAME;

/// Writes a trace of a replay on the simulated device.
///
/// The time of the trace is the device's ticks, a third of 16.7 ms each, plus the modelled time of driver calls,
/// so it is the same in every run. Each packet is at least 1 ns later than the one before.
pub(super) struct TraceRecorder<W> {
    writer: PacketWriter<W>,
    device: sim::Device,
    gauge: Gauge,
    shapes: Vec<Shape>,
    /// The ids in the recording, in order of creation.
    ids: Vec<u64>,
    tracks: Tracks,
    heaps: Vec<HeapCounters>,
    pools: PoolCounters,
    objects: HashMap<usize, Object>,
    frame: u64,
    waits: u64,
    moves: (u64, u64),
    /// The time at which the current operation, which may wait, began.
    asked: u64,
    /// The first write error; later writes are skipped.
    failure: Option<io::Error>,
}

/// The tracks that every trace has.
struct Tracks {
    process: Track,
    frames: Track,
    waits: Track,
    moves: Track,
    pending: Track,
}

/// The counters of a memory heap, and their values.
struct HeapCounters {
    reserved_track: Track,
    live_track: Track,
    reserved: u64,
    live: u64,
    /// The last value on `live_track`.
    shown: u64,
}

/// A live object of the program.
struct Object {
    /// The number of objects created before this one.
    number: usize,
    source: MemorySource,
    bytes: u64,
    name: String,
    /// Memory and offset, once known.
    place: Option<(DriverMemory, u64)>,
}

/// Everything that the trace describes, besides the device.
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    /// The distinct textures.
    pub(super) shapes: Vec<Shape>,
    /// The ids in the recording, in order of creation.
    pub(super) ids: Vec<u64>,
    /// The operating system's budget of each heap, if known.
    pub(super) budgets: Vec<HeapBudget>,
}

impl<W: Write> TraceRecorder<W> {
    /// Begins a trace. The device must be unused.
    pub(super) fn new(sink: W, device: &Counted<sim::Device>, subject: Subject<'_>) -> io::Result<Self> {
        let mut writer = PacketWriter::new(sink);
        let process = writer.process(subject.name)?;
        let tracks = Tracks {
            process,
            frames: writer.slices(process, "frames")?,
            waits: writer.slices(process, "waits for the GPU")?,
            moves: writer.slices(process, "moves")?,
            pending: writer.counter(process, "waiting for release", CounterUnit::SizeBytes)?,
        };
        let heaps = heap_counters(&mut writer, process, device.properties(), &subject.budgets)?;
        Ok(Self {
            writer,
            gauge: device.gauge(),
            device: device.inner().clone(),
            shapes: subject.shapes,
            ids: subject.ids,
            tracks,
            heaps,
            pools: PoolCounters::default(),
            objects: HashMap::new(),
            frame: 0,
            waits: 0,
            moves: (0, 0),
            asked: 0,
            failure: None,
        })
    }

    /// Flushes the writer, and returns the number of packets.
    ///
    /// # Errors
    /// The first write error.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.writer.finish().map(|()| self.writer.packets()),
        }
    }

    fn now(&self) -> u64 {
        self.device.now().saturating_mul(TICK_NS).saturating_add(self.device.cost_ns())
    }

    fn heap_of(&self, memory: MemoryTypeId) -> usize {
        let found = self.device.properties().memory_types.get(usize::from(memory.0));
        found.map_or(0, |found| usize::from(found.heap))
    }

    /// Writes the driver's memory calls since the last time.
    fn driver_calls(&mut self) -> io::Result<()> {
        for call in self.gauge.take_calls() {
            let (memory, operation) = match call {
                MemoryCall::Taken(memory) => (memory, MemoryOperation::Create),
                MemoryCall::GivenBack(memory) => (memory, MemoryOperation::Destroy),
            };
            let caller = match (operation, memory.is_heap) {
                (MemoryOperation::Create, true) => "create_heap",
                (MemoryOperation::Create, false) => "create_committed",
                (_, true) => "destroy_heap",
                (_, false) => "destroy_resource",
            };
            let kind = if memory.is_heap { "heap" } else { "committed" };
            let heap = self.heap_of(memory.memory);
            let event = VulkanMemoryEvent {
                source: Some(MemorySource::DeviceMemory.into()),
                operation: Some(operation.into()),
                memory_size: Some(memory.bytes),
                ..in_memory(memory, heap)
            };
            let time = self.now();
            self.writer.memory(time, event, caller, &[("kind", Value::Text(kind))])?;
            if let Some(counters) = self.heaps.get_mut(heap) {
                counters.reserved = match call {
                    MemoryCall::Taken(_) => counters.reserved.saturating_add(memory.bytes),
                    MemoryCall::GivenBack(_) => counters.reserved.saturating_sub(memory.bytes),
                };
                self.writer.count(time, counters.reserved_track, counters.reserved)?;
            }
        }
        Ok(())
    }

    fn created(&mut self, slot: usize, earlier: usize, what: What, name: &str) -> io::Result<()> {
        let (source, bytes) = match what {
            What::Buffer { size, .. } => (MemorySource::Buffer, size),
            What::Texture(index) => (MemorySource::Image, self.shapes.get(index).map_or(0, Shape::bytes)),
        };
        let object = Object { number: earlier, source, bytes, name: name.to_owned(), place: None };
        self.object_event(&object, MemoryOperation::Create, None)?;
        self.objects.insert(slot, object);
        Ok(())
    }

    fn placed(&mut self, slot: usize, place: Option<(DriverMemory, u64)>) -> io::Result<()> {
        let (Some(mut object), Some(place)) = (self.objects.remove(&slot), place) else { return Ok(()) };
        if object.place != Some(place) {
            self.unbind(&object)?;
            object.place = Some(place);
            self.object_event(&object, MemoryOperation::Bind, Some(place))?;
            self.change_live(place.0, object.bytes, true);
        }
        self.objects.insert(slot, object);
        Ok(())
    }

    fn dropped(&mut self, slot: usize) -> io::Result<()> {
        let Some(object) = self.objects.remove(&slot) else { return Ok(()) };
        if object.place.is_none() {
            return self.object_event(&object, MemoryOperation::Destroy, None);
        }
        self.unbind(&object)
    }

    fn unbind(&mut self, object: &Object) -> io::Result<()> {
        let Some(place) = object.place else { return Ok(()) };
        self.change_live(place.0, object.bytes, false);
        self.object_event(object, MemoryOperation::DestroyBound, Some(place))
    }

    fn change_live(&mut self, memory: DriverMemory, bytes: u64, is_more: bool) {
        let heap = self.heap_of(memory.memory);
        if let Some(heap) = self.heaps.get_mut(heap) {
            let sum = if is_more { u64::saturating_add } else { u64::saturating_sub };
            heap.live = sum(heap.live, bytes);
        }
    }

    fn object_event(
        &mut self,
        object: &Object,
        operation: MemoryOperation,
        place: Option<(DriverMemory, u64)>,
    ) -> io::Result<()> {
        let event = VulkanMemoryEvent {
            source: Some(object.source.into()),
            operation: Some(operation.into()),
            memory_size: Some(object.bytes),
            object_handle: Some(object.number as u64 + 1),
            ..place
                .map_or_else(Default::default, |(memory, _)| in_memory(memory, self.heap_of(memory.memory)))
        };
        let caller = match operation {
            MemoryOperation::Create => "create",
            MemoryOperation::Bind => "place",
            _ => "drop",
        };
        let id = self.ids.get(object.number);
        let mut values = vec![("name", Value::Text(&object.name))];
        values.extend(id.map(|id| ("recorded id", Value::Number(*id))));
        values.extend(place.map(|(_, offset)| ("offset", Value::Number(offset))));
        let time = self.now();
        self.writer.memory(time, event, caller, &values)
    }

    /// Ends the operation that began at `self.asked`. It has waited if the manager's count of waits has grown.
    fn waited(&mut self, gpu: &Gpu<Counted<sim::Device>>, name: &str) -> io::Result<()> {
        let waits = gpu.stats().frame_waits;
        if waits == self.waits {
            return Ok(());
        }
        self.waits = waits;
        self.slice_since(self.asked, self.tracks.waits, name)
    }

    fn slice_since(&mut self, begin: u64, track: Track, name: &str) -> io::Result<()> {
        let end = self.now();
        self.writer.begin(begin, track, name, &[])?;
        self.writer.end(end, track)
    }

    fn moved(&mut self, gpu: &Gpu<Counted<sim::Device>>) -> io::Result<()> {
        let stats = gpu.compaction_stats();
        let (moves, bytes) =
            (stats.moves.saturating_sub(self.moves.0), stats.bytes.saturating_sub(self.moves.1));
        self.moves = (stats.moves, stats.bytes);
        if moves == 0 {
            return Ok(());
        }
        let name = if moves == 1 { "1 resource moves".to_owned() } else { format!("{moves} resources move") };
        let (begin, end) = (self.asked, self.now());
        self.writer.begin(begin, self.tracks.moves, &name, &[("resources", moves), ("bytes", bytes)])?;
        self.writer.end(end, self.tracks.moves)
    }

    /// Writes the current values of the counters.
    fn counters(&mut self, gpu: &Gpu<Counted<sim::Device>>) -> io::Result<()> {
        let (time, stats) = (self.now(), gpu.stats());
        for heap in self.heaps.iter_mut().filter(|heap| heap.live != heap.shown) {
            heap.shown = heap.live;
            self.writer.count(time, heap.live_track, heap.live)?;
        }
        self.writer.count(time, self.tracks.pending, stats.pending_bytes)?;
        self.pools.show(&mut self.writer, self.tracks.process, time, &stats.pools)
    }

    fn follow(
        &mut self,
        gpu: &Gpu<Counted<sim::Device>>,
        moment: &Moment<'_, Counted<sim::Device>>,
    ) -> io::Result<()> {
        self.driver_calls()?;
        match *moment {
            Moment::FrameBegins | Moment::LastWait | Moment::FrameEnds => {
                self.asked = self.now();
                Ok(())
            }
            Moment::FrameBegun => {
                self.waited(gpu, "for a frame in flight")?;
                self.frame += 1;
                let (time, name) = (self.now(), format!("frame {}", self.frame));
                self.writer.begin(time, self.tracks.frames, &name, &[])
            }
            Moment::Created { slot, earlier, what, name } => self.created(slot, earlier, what, name),
            Moment::Placed { slot, resource, offset } => {
                let place = resource.place().map(|(memory, base)| (memory, base.saturating_add(offset)));
                self.placed(slot, place)
            }
            Moment::Used { .. } => Ok(()),
            Moment::Dropped { slot } => self.dropped(slot),
            Moment::FrameEnded => {
                self.moved(gpu)?;
                self.counters(gpu)?;
                let time = self.now();
                self.writer.end(time, self.tracks.frames)
            }
            Moment::Idle => {
                self.slice_since(self.asked, self.tracks.waits, "for everything submitted")?;
                self.counters(gpu)
            }
        }
    }
}

impl<W: Write> Observer<Counted<sim::Device>> for TraceRecorder<W> {
    fn observe(&mut self, gpu: &Gpu<Counted<sim::Device>>, moment: Moment<'_, Counted<sim::Device>>) {
        if self.failure.is_none() {
            self.failure = self.follow(gpu, &moment).err();
        }
    }
}

/// A memory event with the fields that identify the memory.
fn in_memory(memory: DriverMemory, heap: usize) -> VulkanMemoryEvent {
    VulkanMemoryEvent {
        device_memory: Some(memory.id),
        memory_type: Some(memory.memory.0.into()),
        heap: u32::try_from(heap).ok(),
        ..VulkanMemoryEvent::default()
    }
}

/// The counters of each memory heap. A budget does not change during a replay.
fn heap_counters<W: Write>(
    writer: &mut PacketWriter<W>,
    process: Track,
    properties: &Properties,
    budgets: &[HeapBudget],
) -> io::Result<Vec<HeapCounters>> {
    let mut counters = Vec::new();
    for (index, heap) in properties.memory_heaps.iter().enumerate() {
        let place = if heap.device_local { "of the GPU" } else { "of the CPU" };
        let mut track = |what: &str| {
            writer.counter(process, &format!("heap {index} ({place}): {what}"), CounterUnit::SizeBytes)
        };
        let (live_track, reserved_track) = (track("live")?, track("reserved")?);
        if let Some(HeapBudget { budget, .. }) = budgets.get(index).filter(|heap| heap.budget > 0) {
            let track = track("budget")?;
            writer.count(0, track, *budget)?;
        }
        writer.count(0, live_track, 0)?;
        writer.count(0, reserved_track, 0)?;
        counters.push(HeapCounters { reserved_track, live_track, reserved: 0, live: 0, shown: 0 });
    }
    Ok(counters)
}
