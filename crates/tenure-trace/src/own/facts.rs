//! Counts of the program's calls, and its leftover resources.

use std::collections::{BTreeMap, HashMap};

use super::places::{Change, Places};
use super::rows::Life;
use super::{OwnAlive, OwnMemory, OwnPhase, OwnSum, memory_type};
use crate::{Details, Event, Layout, Trace};

/// The maximum number of listed groups of resources that are live at the end.
const MOST_ALIVE: usize = 20;

/// A resource is short-lived if it is destroyed at most this many frames after its creation.
const SHORT_LIFE: u32 = 2;

/// A block during its whole lifetime.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) life: Life,
    is_import: bool,
    /// The ends of the ranges of its resources, in order.
    pub(super) marks: Vec<u64>,
    maps: u64,
}

/// A live resource.
struct Alive<'a> {
    size: u64,
    born: u32,
    /// Whether it takes memory of the program.
    is_own: bool,
    what: (Layout, &'a Details),
}

/// The facts from a first pass over all events.
pub(super) struct Facts<'a> {
    frames: u32,
    frame: u32,
    places: Places,
    blocks: HashMap<u64, Known>,
    alive: HashMap<u64, Alive<'a>>,
    all: OwnMemory,
}

impl<'a> Facts<'a> {
    /// Counts the events and collects all blocks. O(events · log events).
    pub(super) fn of(trace: &'a Trace) -> (OwnMemory, HashMap<u64, Known>) {
        let (blocks, alive) = (HashMap::new(), HashMap::new());
        let frames = u32::try_from(trace.summary.frames).unwrap_or(u32::MAX);
        let (places, all) = (Places::default(), OwnMemory::default());
        let mut facts = Self { frames, frame: 0, places, blocks, alive, all };
        let first = frames.div_ceil(2);
        facts.all.phases[0].frames = first;
        facts.all.phases[1].frames = frames - first;
        for (event, details) in trace.iter() {
            facts.apply(event, details);
        }
        facts.finish()
    }

    fn phase(&mut self) -> &mut OwnPhase {
        let phase = if self.frame < self.frames.div_ceil(2) || self.frames == 0 {
            0
        } else if self.frame < self.frames {
            1
        } else {
            2
        };
        &mut self.all.phases[phase]
    }

    fn apply(&mut self, event: &Event, details: &'a Details) {
        if let Some(Change::Bound(place)) = self.places.apply(event, details)
            && let Some(block) = self.blocks.get_mut(&place.block)
        {
            block.marks.extend([place.range.start, place.range.end]);
        }
        match *event {
            Event::Block { id, size, .. } => {
                let (memory_type, is_import) = (memory_type(details), details.is_import);
                let life = Life { id, memory_type, size, born: self.frame, gone: u32::MAX };
                self.blocks.insert(id, Known { life, is_import, marks: Vec::new(), maps: 0 });
                let phase = self.phase();
                *(if is_import { &mut phase.imports } else { &mut phase.allocations }) += 1;
            }
            Event::Unblock { id, .. } => {
                let (blocks, frame) = (&mut self.blocks, self.frame);
                let block = blocks.get_mut(&id).filter(|block| !block.is_import);
                if block.map(|block| block.life.gone = frame).is_some() {
                    self.phase().frees += 1;
                }
            }
            Event::Map { id, .. } => {
                if let Some(block) = self.blocks.get_mut(&id) {
                    block.maps += 1;
                }
                self.phase().maps += 1;
            }
            Event::Unmap { .. } => self.phase().unmaps += 1,
            Event::Alloc { id, size, kind, .. } | Event::Alias { id, size, kind, .. } => {
                let is_own = matches!(event, Event::Alloc { .. }) && !details.is_import;
                let what = (kind.layout, details);
                self.alive.insert(id, Alive { size, born: self.frame, is_own, what });
                self.phase().created += 1;
                if is_own {
                    self.note_wishes(size, details);
                }
            }
            Event::Free { id, .. } => self.freed(id),
            Event::Frame { .. } => self.frame += 1,
            _ => {}
        }
    }

    fn note_wishes(&mut self, size: u64, details: &Details) {
        match (details.wants_dedicated || details.needs_dedicated, details.is_dedicated) {
            (true, false) => self.all.ignored_wishes.add(size),
            (false, true) => self.all.needless_dedicated.add(size),
            _ => {}
        }
    }

    fn freed(&mut self, id: u64) {
        let is_last = self.frames > 0 && self.frame >= self.frames;
        let age = self.alive.remove(&id).map(|resource| self.frame - resource.born);
        let phase = self.phase();
        phase.destroyed += 1;
        // The resources destroyed at the program's end are not short-lived.
        phase.short_lived += u64::from(!is_last && age.is_some_and(|age| age <= SHORT_LIFE));
    }

    fn finish(mut self) -> (OwnMemory, HashMap<u64, Known>) {
        self.blocks.retain(|_, block| !block.is_import);
        let all = &mut self.all;
        for block in self.blocks.values_mut() {
            block.marks.sort_unstable();
            block.marks.dedup();
            if block.marks.is_empty() {
                all.never_bound.add(block.life.size);
            }
            if block.life.gone == u32::MAX {
                all.alive_blocks.add(block.life.size);
            }
            all.mapped_again += u64::from(block.maps > 1);
            all.most_maps = all.most_maps.max(block.maps);
        }
        let mut groups = BTreeMap::<_, OwnSum>::new();
        for Alive { size, what: (layout, details), .. } in self.alive.values().filter(|it| it.is_own) {
            all.alive_resources.add(*size);
            groups.entry((details.name.as_deref(), shape(*layout, details))).or_default().add(*size);
        }
        let groups = groups.into_iter().map(|((name, shape), sum)| {
            let name = name.map(str::to_owned);
            OwnAlive { name, shape, sum }
        });
        all.alive = groups.collect();
        // Groups of equal size stay in the order of their names.
        all.alive.sort_by_key(|group| std::cmp::Reverse(group.sum.bytes));
        all.alive.truncate(MOST_ALIVE);
        (self.all, self.blocks)
    }
}

/// The kind of a resource in words.
fn shape(layout: Layout, details: &Details) -> String {
    let image = if details.is_linear_image { "image in rows" } else { "image" };
    match (details.extent, details.format) {
        (Some([width, height, depth]), format) => {
            let depth = if depth > 1 { format!("x{depth}") } else { String::new() };
            let format = format.map_or_else(String::new, |format| format!(", format {format}"));
            format!("{image}, {width}x{height}{depth}{format}")
        }
        (None, _) if layout == Layout::Optimal || details.is_linear_image => image.to_owned(),
        (None, _) => "buffer".to_owned(),
    }
}
