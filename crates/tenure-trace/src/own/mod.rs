//! The memory that a recorded program took from the driver itself.

mod coverage;
mod facts;
mod places;
mod rows;

use std::collections::{BTreeMap, HashMap};

use crate::{Details, Event, Layout, Trace};
use coverage::Coverage;
use facts::{Facts, Known};
use places::{Change, Places};
use rows::Rows;

/// The limit of valid memory type numbers; no device has more types.
const MOST_TYPES: u32 = 32;

/// A large buffer, bytes.
const LARGE_BUFFER: u64 = 1 << 20;

/// A number of objects, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnSum {
    /// The number.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl OwnSum {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The blocks of one memory type at the peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnType {
    /// Number of the memory type, if recorded.
    pub memory_type: Option<u32>,
    /// The [flags](crate::RecordedType::flags) of the memory type, if known.
    pub flags: Option<u32>,
    /// The number of blocks.
    pub blocks: u64,
    /// The bytes of the blocks.
    pub reserved_bytes: u64,
    /// Bytes bound to a resource.
    pub bound_bytes: u64,
    /// The largest unbound range of a block, in bytes.
    pub largest_hole_bytes: u64,
}

/// Counts of calls in a part of the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnPhase {
    /// The number of frames.
    pub frames: u32,
    /// Blocks allocated.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Imports of memory.
    pub imports: u64,
    /// Blocks mapped.
    pub maps: u64,
    /// Blocks unmapped.
    pub unmaps: u64,
    /// Resources created, including aliases and resources in imported memory.
    pub created: u64,
    /// Resources destroyed.
    pub destroyed: u64,
    /// Resources destroyed at most two frames after their creation, except at the end of the program.
    pub short_lived: u64,
}

/// Resources of the same name and shape that were never destroyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnAlive {
    /// The name that the program gave to them.
    pub name: Option<String>,
    /// The kind of resource in words, for images with their extent and format.
    pub shape: String,
    /// The resources.
    pub sum: OwnSum,
}

/// A row of a chart over time: consecutive blocks of one size, or a sum of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnRow {
    /// Number of the memory type; `None` if unknown, and for the sum of all blocks.
    pub memory_type: Option<u32>,
    /// Size of each block in bytes; 0 for a sum. Only one of the blocks is live at a time.
    pub size: u64,
    /// The number of blocks over time. Blocks that are freed before the end of their first frame are left out.
    pub blocks: u64,
    /// The bytes at the ends of frames in which they change.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub changes: Vec<OwnChange>,
}

/// The bytes of a row from the end of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnChange {
    /// The index of the frame: the number of frame marks before its end.
    pub frame: u32,
    /// The bytes of the blocks.
    pub reserved: u64,
    /// Bytes bound to a resource.
    pub bound: u64,
    /// The largest unbound range; 0 for a sum of blocks.
    pub hole: u64,
}

/// The memory that a recorded program took from the driver itself, in blocks, and its use.
///
/// Imported memory is counted, but its bytes are left out. Bytes with several resources count once.
///
/// ```
/// use tenure_trace::{OwnMemory, read_all};
///
/// let text = "#tenure-recording=2\n\
///             op,id,size,align,kind,frame,more\n\
///             block,1,1000,,,0,type=2\n\
///             alloc,1,300,4,gpu_only+linear,0,block=1 offset=100\n\
///             frame,,,,,1,\n";
/// let own = OwnMemory::of(&read_all(text.as_bytes(), "game.tenure")?);
/// assert_eq!((own.peak_bytes, own.bound_at_peak_bytes), (1000, 300));
/// assert_eq!(own.types[0].largest_hole_bytes, 600);
/// # Ok::<(), tenure_trace::TraceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OwnMemory {
    /// The peak of the blocks' bytes.
    pub peak_bytes: u64,
    /// The index of the frame with the peak.
    pub peak_frame: u32,
    /// Bound bytes at the peak; the maximum, if the peak was reached several times.
    pub bound_at_peak_bytes: u64,
    /// The peak number of blocks.
    pub peak_blocks: u64,
    /// The device's limit on live memory allocations, if known.
    pub most_allocations: Option<u64>,
    /// Blocks allocated.
    pub allocations: u64,
    /// Allocations that the driver refused.
    pub refused: u64,
    /// Resources with memory of the program.
    pub resources: u64,
    /// Resources that alias others.
    pub aliases: u64,
    /// Resources in imported memory.
    pub imported: u64,
    /// Reserved (sparse) resources, which recordings leave out.
    pub sparse: u64,
    /// The blocks by memory type at the peak.
    pub types: Vec<OwnType>,
    /// The first half of the frames, the second half, and the time after the last frame mark. Without frame marks all
    /// calls count in the first phase.
    pub phases: [OwnPhase; 3],
    /// Blocks that never held a resource.
    pub never_bound: OwnSum,
    /// Resources in shared blocks for which the driver prefers or requires dedicated memory.
    pub ignored_wishes: OwnSum,
    /// Resources with dedicated memory that the driver neither prefers nor requires.
    pub needless_dedicated: OwnSum,
    /// Blocks mapped more than once.
    pub mapped_again: u64,
    /// The maximum number of times that a block was mapped.
    pub most_maps: u64,
    /// Buffers of at least 1 MiB at the peak. A recording does not show whether the program suballocates from them.
    pub large_buffers: OwnSum,
    /// Whether the recording continues until the program destroyed its device.
    pub is_complete: bool,
    /// Resources that were never destroyed.
    pub alive_resources: OwnSum,
    /// Blocks that were never freed.
    pub alive_blocks: OwnSum,
    /// The largest groups of resources that were never destroyed.
    pub alive: Vec<OwnAlive>,
    /// All blocks, then the largest blocks, then the others by memory type.
    pub rows: Vec<OwnRow>,
}

impl OwnMemory {
    /// Reads the events of a recording.
    ///
    /// O(events · log events) time; memory for each range of a resource.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let (mut all, known) = Facts::of(trace);
        let number = |key| trace.header.get(key).and_then(|value| value.parse().ok());
        all.most_allocations = number("allocations.most");
        all.refused = number("allocations.refused").unwrap_or(0);
        all.sparse = number("sparse").unwrap_or(0);
        all.is_complete = trace.header.get("complete") != Some("no");
        let summary = &trace.summary;
        (all.peak_bytes, all.peak_blocks) = (summary.peak_block_bytes, summary.peak_blocks);
        (all.allocations, all.resources) = (summary.blocks, summary.allocs);
        (all.aliases, all.imported) = (summary.aliases, summary.imports);
        let mut rows = Rows::new(known.values().map(|block| block.life).collect());
        let peak = Blocks::new(&known).run(trace, &mut rows);
        all.rows = rows.finish();
        (all.peak_frame, all.bound_at_peak_bytes) = (peak.frame, peak.bound);
        let mut blocks = Blocks::new(&known);
        let mut large = HashMap::new();
        for (event, details) in trace.iter().take(peak.events) {
            blocks.apply(event, details);
            match *event {
                Event::Alloc { id, size, kind, .. }
                    if size >= LARGE_BUFFER && kind.layout == Layout::Linear && is_buffer(details) =>
                {
                    large.insert(id, size);
                }
                Event::Free { id, .. } => {
                    large.remove(&id);
                }
                _ => {}
            }
        }
        large.values().for_each(|size| all.large_buffers.add(*size));
        all.types = blocks.types(trace);
        all
    }
}

/// Number of the memory type, if valid.
fn memory_type(details: &Details) -> Option<u32> {
    details.memory_type.filter(|number| *number < MOST_TYPES)
}

fn is_buffer(details: &Details) -> bool {
    !details.is_linear_image && !details.is_import
}

/// The time of the peak.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    reserved: u64,
    bound: u64,
    frame: u32,
    /// The number of events before.
    events: usize,
}

/// A live block.
struct Block {
    memory_type: Option<u32>,
    size: u64,
    coverage: Coverage,
}

/// The blocks at one time.
struct Blocks<'a> {
    known: &'a HashMap<u64, Known>,
    places: Places,
    live: HashMap<u64, Block>,
}

/// A change of one block: its id and memory type, reserved and bound bytes before and after, and its largest hole.
type BlockChange = ((u64, Option<u32>), [u64; 2], [u64; 2], u64);

impl<'a> Blocks<'a> {
    fn new(known: &'a HashMap<u64, Known>) -> Self {
        Self { known, places: Places::default(), live: HashMap::new() }
    }

    /// Applies all events, and finds the peak.
    fn run(mut self, trace: &Trace, rows: &mut Rows) -> Peak {
        let (mut now, mut peak) = (Peak::default(), Peak::default());
        for (event, details) in trace.iter() {
            now.events += 1;
            if let Some((block, before, after, hole)) = self.apply(event, details) {
                now.reserved = now.reserved.saturating_sub(before[0]).saturating_add(after[0]);
                now.bound = now.bound.saturating_sub(before[1]).saturating_add(after[1]);
                if (now.reserved, now.bound) > (peak.reserved, peak.bound) {
                    peak = now;
                }
                rows.change(block, before, after, hole);
            }
            if let Event::Frame { .. } = event {
                rows.end_frame(now.frame);
                now.frame += 1;
            }
        }
        rows.end_frame(now.frame);
        peak
    }

    fn apply(&mut self, event: &Event, details: &Details) -> Option<BlockChange> {
        let changed = self.places.apply(event, details);
        match *event {
            Event::Block { id, .. } => {
                let Known { life, marks, .. } = self.known.get(&id)?;
                let (memory_type, size) = (life.memory_type, life.size);
                let coverage = Coverage::new(size, marks);
                self.live.insert(id, Block { memory_type, size, coverage });
                return Some(((id, memory_type), [0, 0], [size, 0], size));
            }
            Event::Unblock { id, .. } => {
                let Block { memory_type, size, coverage } = self.live.remove(&id)?;
                return Some(((id, memory_type), [size, coverage.bound()], [0, 0], 0));
            }
            _ => {}
        }
        let (Change::Bound(place) | Change::Unbound(place)) = changed.as_ref()?;
        let Block { memory_type, size, coverage } = self.live.get_mut(&place.block)?;
        let before = coverage.bound();
        match changed {
            Some(Change::Bound(_)) => coverage.add(&place.range),
            _ => coverage.remove(&place.range),
        }
        let after = [*size, coverage.bound()];
        Some(((place.block, *memory_type), [*size, before], after, coverage.hole()))
    }

    fn types(&self, trace: &Trace) -> Vec<OwnType> {
        let mut types = BTreeMap::<_, OwnType>::new();
        for block in self.live.values() {
            let found = types.entry(block.memory_type).or_default();
            found.blocks += 1;
            found.reserved_bytes += block.size;
            found.bound_bytes += block.coverage.bound();
            found.largest_hole_bytes = found.largest_hole_bytes.max(block.coverage.hole());
        }
        let known = |number| trace.header.memory_type(number).map(|known| known.flags);
        types
            .into_iter()
            .map(|(memory_type, found)| OwnType { memory_type, flags: memory_type.and_then(known), ..found })
            .collect()
    }
}
