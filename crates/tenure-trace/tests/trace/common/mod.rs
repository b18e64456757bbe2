//! Valid sequences of events, for the properties.

use proptest::prelude::*;
use tenure_trace::{Encoding, Event, Kind, Layout, MAX_ALIGN, MAX_SIZE, MemoryKind, TraceWriter};

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    (prop::sample::select(&MemoryKind::ALL[..]), prop::sample::select(&Layout::ALL[..]))
        .prop_map(|(memory, layout)| Kind::new(memory, layout))
}

/// The next operation; whether it is possible depends on earlier ones.
#[derive(Clone, Debug)]
enum Step {
    Alloc(u64, u64, u64, Kind),
    Free(prop::sample::Index),
    Frame(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = prop_oneof![4 => Just(0), 1 => any::<u64>(), 1 => 0..32_u64];
    let size = prop_oneof![1..=70_000_u64, 1..=MAX_SIZE, Just(MAX_SIZE)];
    let align = (0..=MAX_ALIGN.ilog2()).prop_map(|log2| 1_u64 << log2);
    let mark = prop_oneof![8 => Just(1), 1 => 1..=u64::MAX];
    prop_oneof![
        4 => (id, size, align, kind()).prop_map(|(i, s, a, k)| Step::Alloc(i, s, a, k)),
        4 => any::<prop::sample::Index>().prop_map(Step::Free),
        1 => mark.prop_map(Step::Frame),
    ]
}

/// A sequence of up to 300 events that keeps every rule. Ids mostly count upwards.
pub(crate) fn valid_events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(step(), 0..300).prop_map(|steps| {
        let mut events = Vec::new();
        let mut used = std::collections::HashSet::new();
        let mut live = Vec::new();
        let mut frame = 0_u64;
        for step in steps {
            match step {
                Step::Alloc(id, size, align, kind) => {
                    let id = if id == 0 { used.len() as u64 } else { id };
                    if used.insert(id) {
                        live.push((id, size));
                        events.push(Event::Alloc { id, size, align, kind, frame });
                    }
                }
                Step::Free(which) if !live.is_empty() => {
                    let (id, size) = live.swap_remove(which.index(live.len()));
                    events.push(Event::Free { id, size, frame });
                }
                Step::Free(_) => {}
                Step::Frame(later) => {
                    if let Some(number) = frame.checked_add(later) {
                        frame = number;
                        events.push(Event::Frame { number });
                    }
                }
            }
        }
        events
    })
}

/// The encodings that this build has.
pub(crate) fn encodings() -> impl Iterator<Item = Encoding> {
    Encoding::ALL.into_iter().filter(|encoding| encoding.is_supported())
}

/// The file that holds the events, which must be valid.
pub(crate) fn written(events: &[Event], encoding: Encoding) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), encoding).unwrap();
    for event in events {
        writer.event(event).unwrap();
    }
    writer.finish().unwrap()
}
