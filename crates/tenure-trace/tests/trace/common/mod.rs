//! Valid sequences of events for property tests.

use proptest::prelude::*;
use tenure_trace::{
    Details, Encoding, Event, HeapKind, Kind, Layout, MAX_ALIGN, MAX_NAME_BYTES, MAX_SIZE, MemoryKind,
    TraceWriter,
};

/// An event, and its details.
pub(crate) type Line = (Event, Details);

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    (prop::sample::select(&MemoryKind::ALL[..]), prop::sample::select(&Layout::ALL[..]))
        .prop_map(|(memory, layout)| Kind::new(memory, layout))
}

/// The next operation, if earlier ones make it possible.
#[derive(Clone, Debug)]
enum Step {
    Alloc(u64, u64, u64, Kind),
    Free(prop::sample::Index),
    Frame(u64),
    Alias(prop::sample::Index),
    Submit,
    Done(prop::sample::Index),
    Block(u64),
    Unblock(prop::sample::Index),
    Map(prop::sample::Index, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let id = prop_oneof![4 => Just(0), 1 => any::<u64>(), 1 => 0..32_u64];
    let size = || prop_oneof![1..=70_000_u64, 1..=MAX_SIZE, Just(MAX_SIZE)];
    let align = (0..=MAX_ALIGN.ilog2()).prop_map(|log2| 1_u64 << log2);
    let mark = prop_oneof![8 => Just(1), 1 => 1..=u64::MAX];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        8 => (id, size(), align, kind()).prop_map(|(i, s, a, k)| Step::Alloc(i, s, a, k)),
        8 => index().prop_map(Step::Free),
        2 => mark.prop_map(Step::Frame),
        2 => index().prop_map(Step::Alias),
        1 => Just(Step::Submit),
        1 => index().prop_map(Step::Done),
        2 => size().prop_map(Step::Block),
        1 => index().prop_map(Step::Unblock),
        1 => (index(), any::<bool>()).prop_map(|(which, is_map)| Step::Map(which, is_map)),
    ]
}

/// Details without a block or other resource.
pub(crate) fn details() -> impl Strategy<Value = Details> {
    let sides = || prop::option::of(any::<[u32; 3]>());
    let name = prop::option::of(any::<String>());
    let heap = prop::option::of(prop::sample::select(&[HeapKind::Local, HeapKind::Host][..]));
    let some = (sides(), sides(), sides(), any::<Option<u64>>(), any::<Option<u64>>());
    let some = (some, any::<[bool; 7]>(), prop::option::of(0..=1000_u16), heap, name);
    let some = some.prop_map(|((extent, images, types, time_us, usage), flags, priority, heap, name)| {
        let details = Details {
            time_us,
            device: types.map(|types| types[0]),
            thread: types.map(|types| types[1]),
            is_final: flags[0],
            memory_type: types.map(|types| types[2]),
            heap,
            wants_dedicated: flags[1],
            needs_dedicated: flags[2],
            is_dedicated: flags[3],
            is_import: flags[4],
            priority,
            has_address: flags[5],
            is_linear_image: flags[6],
            usage,
            format: images.map(|images| images[0]),
            extent,
            mips: images.map(|images| images[1]),
            layers: images.map(|images| images[2]),
            samples: images.map(|images| images[2]),
            ..Details::default()
        };
        match name {
            Some(name) => details.named(&name.repeat(MAX_NAME_BYTES / 64)),
            None => details,
        }
    });
    prop_oneof![2 => Just(Details::default()), 1 => some]
}

/// A valid sequence of up to 300 lines. Ids mostly increase.
pub(crate) fn valid_lines() -> impl Strategy<Value = Vec<Line>> {
    prop::collection::vec((step(), details()), 0..300).prop_map(|steps| {
        let mut script = Script::default();
        steps.into_iter().for_each(|(step, details)| script.take(step, details));
        script.lines
    })
}

#[derive(Default)]
struct Script {
    lines: Vec<Line>,
    used: std::collections::HashSet<u64>,
    live: Vec<(u64, u64)>,
    blocks: Vec<(u64, u64)>,
    last_block: u64,
    submitted: Vec<u64>,
    submissions: u64,
    frame: u64,
}

impl Script {
    fn take(&mut self, step: Step, mut details: Details) {
        let frame = self.frame;
        let event = match step {
            Step::Alloc(id, size, align, kind) => {
                let id = if id == 0 { self.used.len() as u64 } else { id };
                if !self.used.insert(id) {
                    return;
                }
                self.live.push((id, size));
                // Place it in the last block if that is large enough.
                if let Some(&(block, room)) = self.blocks.last().filter(|(_, room)| *room >= size) {
                    (details.block, details.offset) = (Some(block), Some(room - size));
                }
                Event::Alloc { id, size, align, kind, frame }
            }
            Step::Alias(which) if !self.live.is_empty() => {
                let (of, room) = self.live[which.index(self.live.len())];
                let id = self.used.len() as u64;
                if !self.used.insert(id) {
                    return;
                }
                let size = 1 + room / 3;
                self.live.push((id, size));
                (details.of, details.offset) = (Some(of), Some(room - size));
                let kind = Kind::new(MemoryKind::GpuOnly, Layout::Optimal);
                Event::Alias { id, size, align: 1, kind, frame }
            }
            Step::Free(which) if !self.live.is_empty() => {
                let (id, size) = self.live.swap_remove(which.index(self.live.len()));
                Event::Free { id, size, frame }
            }
            Step::Frame(later) => {
                let Some(number) = frame.checked_add(later) else { return };
                self.frame = number;
                Event::Frame { number }
            }
            Step::Submit => {
                self.submissions += 1;
                self.submitted.push(self.submissions);
                Event::Submit { number: self.submissions, frame }
            }
            Step::Done(which) if !self.submitted.is_empty() => {
                let number = self.submitted.swap_remove(which.index(self.submitted.len()));
                Event::Done { number, frame }
            }
            Step::Block(size) => {
                self.last_block += 1;
                self.blocks.push((self.last_block, size));
                Event::Block { id: self.last_block, size, frame }
            }
            Step::Unblock(which) if !self.blocks.is_empty() => {
                let (id, size) = self.blocks.swap_remove(which.index(self.blocks.len()));
                Event::Unblock { id, size, frame }
            }
            Step::Map(which, is_map) if !self.blocks.is_empty() => {
                let (id, _) = self.blocks[which.index(self.blocks.len())];
                if is_map { Event::Map { id, frame } } else { Event::Unmap { id, frame } }
            }
            Step::Free(_) | Step::Alias(_) | Step::Done(_) | Step::Unblock(_) | Step::Map(..) => return,
        };
        self.lines.push((event, details));
    }
}

/// The encodings of this build.
pub(crate) fn encodings() -> impl Iterator<Item = Encoding> {
    Encoding::ALL.into_iter().filter(|encoding| encoding.is_supported())
}

/// The file that holds the lines, which must be valid.
pub(crate) fn written(lines: &[Line], encoding: Encoding) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), encoding).unwrap();
    for (event, details) in lines {
        writer.event_with(event, details).unwrap();
    }
    writer.finish().unwrap()
}

/// Lines of `frame` with these numbers.
pub(crate) fn frames(numbers: std::ops::Range<u64>) -> Vec<Line> {
    numbers.map(|number| (Event::Frame { number }, Details::default())).collect()
}
