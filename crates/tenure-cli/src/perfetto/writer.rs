//! Writes a trace packet by packet, so that a long trace needs no more memory.

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::proto::{
    AnnotationValue, ChildTracksOrdering, CounterDescriptor, CounterUnit, DebugAnnotation, InternedData,
    InternedString, PacketData, ProcessDescriptor, SequenceFlags, TracePacket, TrackDescriptor, TrackEvent,
    TrackEventType, VulkanMemoryEvent, VulkanMemoryEventAnnotation,
};

/// The only process.
pub(super) const PID: u32 = 1;
/// The only sequence of packets.
const SEQUENCE: u32 = 1;
/// Field number of packets in a trace.
const PACKET: u32 = 1;

/// A track, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track(u64);

/// A named value of a memory event.
pub(super) enum Value<'a> {
    Number(u64),
    Text(&'a str),
}

/// Writes packets with increasing times.
pub(super) struct PacketWriter<W> {
    sink: W,
    buffer: Vec<u8>,
    strings: Strings,
    tracks: u64,
    packets: u64,
    /// Time of the last packet.
    last: u64,
}

impl<W: Write> PacketWriter<W> {
    pub(super) fn new(sink: W) -> Self {
        Self { sink, buffer: Vec::new(), strings: Strings::default(), tracks: 0, packets: 0, last: 0 }
    }

    /// Packets written so far.
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Flushes the buffer.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Adds the track of the process, the parent of all others.
    pub(super) fn process(&mut self, name: &str) -> io::Result<Track> {
        let process = ProcessDescriptor { pid: Some(PID as i32), process_name: Some(name.to_owned()) };
        let ordering = Some(ChildTracksOrdering::Explicit.into());
        self.track(TrackDescriptor { process: Some(process), child_ordering: ordering, ..Default::default() })
    }

    /// Adds a track for slices.
    pub(super) fn slices(&mut self, parent: Track, name: &str) -> io::Result<Track> {
        self.child(parent, name, None)
    }

    /// Adds a track for the values of a counter.
    pub(super) fn counter(&mut self, parent: Track, name: &str, unit: CounterUnit) -> io::Result<Track> {
        self.child(parent, name, Some(CounterDescriptor { unit: Some(unit.into()) }))
    }

    fn child(&mut self, parent: Track, name: &str, counter: Option<CounterDescriptor>) -> io::Result<Track> {
        let rank = i32::try_from(self.tracks).unwrap_or(i32::MAX);
        self.track(TrackDescriptor {
            parent_uuid: Some(parent.0),
            name: Some(name.to_owned()),
            counter,
            sibling_order_rank: Some(rank),
            ..Default::default()
        })
    }

    fn track(&mut self, descriptor: TrackDescriptor) -> io::Result<Track> {
        self.tracks += 1;
        let descriptor = TrackDescriptor { uuid: Some(self.tracks), ..descriptor };
        self.packet(None, PacketData::TrackDescriptor(descriptor))?;
        Ok(Track(self.tracks))
    }

    /// Writes the beginning of a slice at `time`, with numbers that describe it.
    pub(super) fn begin(
        &mut self,
        time: u64,
        track: Track,
        name: &str,
        numbers: &[(&str, u64)],
    ) -> io::Result<()> {
        let annotation = |&(name, number): &(&str, u64)| DebugAnnotation {
            name: Some(name.to_owned()),
            uint_value: Some(number),
        };
        let name = Some(name.to_owned());
        let debug_annotations = numbers.iter().map(annotation).collect();
        let event = TrackEvent { name, debug_annotations, ..TrackEvent::default() };
        self.event(time, track, TrackEventType::SliceBegin, event)
    }

    /// Ends the innermost open slice at `time`.
    pub(super) fn end(&mut self, time: u64, track: Track) -> io::Result<()> {
        self.event(time, track, TrackEventType::SliceEnd, TrackEvent::default())
    }

    /// Writes a counter's new value at `time`.
    pub(super) fn count(&mut self, time: u64, track: Track, value: u64) -> io::Result<()> {
        let counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
        self.event(time, track, TrackEventType::Counter, TrackEvent { counter_value, ..Default::default() })
    }

    fn event(&mut self, time: u64, track: Track, kind: TrackEventType, event: TrackEvent) -> io::Result<()> {
        let event = TrackEvent { r#type: Some(kind.into()), track_uuid: Some(track.0), ..event };
        self.packet(Some(time), PacketData::TrackEvent(event))
    }

    /// Writes a memory event at `time`, by a call named `caller`, with named values.
    pub(super) fn memory(
        &mut self,
        time: u64,
        event: VulkanMemoryEvent,
        caller: &'static str,
        values: &[(&'static str, Value<'_>)],
    ) -> io::Result<()> {
        let time = self.next_time(time);
        let annotations = values
            .iter()
            .map(|(key, value)| VulkanMemoryEventAnnotation {
                key_iid: Some(self.strings.memory.number(key)),
                value: Some(match value {
                    Value::Number(number) => {
                        AnnotationValue::IntValue(i64::try_from(*number).unwrap_or(i64::MAX))
                    }
                    Value::Text(text) => AnnotationValue::StringIid(self.strings.memory.number(text)),
                }),
            })
            .collect();
        let event = VulkanMemoryEvent {
            timestamp: Some(i64::try_from(time).unwrap_or(i64::MAX)),
            pid: Some(PID),
            caller_iid: Some(self.strings.functions.number(caller)),
            annotations,
            ..event
        };
        self.packet(Some(time), PacketData::VulkanMemoryEvent(event))
    }

    /// `wanted`, or a later time if a packet has it already.
    fn next_time(&self, wanted: u64) -> u64 {
        wanted.max(self.last.saturating_add(1))
    }

    fn packet(&mut self, time: Option<u64>, data: PacketData) -> io::Result<()> {
        let timestamp = time.map(|time| self.next_time(time));
        // The time of a memory event comes from `next_time` already, and is unchanged by this second call.
        self.last = timestamp.unwrap_or(self.last);
        let flags = match self.packets {
            0 => SequenceFlags::IncrementalStateCleared as u32 | SequenceFlags::NeedsIncrementalState as u32,
            _ => SequenceFlags::NeedsIncrementalState as u32,
        };
        self.packets += 1;
        let packet = TracePacket {
            timestamp,
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(flags),
            interned_data: self.strings.take_new(),
            data: Some(data),
        };
        self.buffer.clear();
        encode_key(PACKET, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(packet.encoded_len() as u64, &mut self.buffer);
        packet.encode_raw(&mut self.buffer);
        self.sink.write_all(&self.buffer)
    }
}

/// The strings that packets refer to.
#[derive(Default)]
struct Strings {
    functions: Numbers,
    memory: Numbers,
}

impl Strings {
    /// The strings that no packet contains yet.
    fn take_new(&mut self) -> Option<InternedData> {
        let (function_names, vulkan_memory_keys) = (self.functions.take_new(), self.memory.take_new());
        let is_empty = function_names.is_empty() && vulkan_memory_keys.is_empty();
        (!is_empty).then_some(InternedData { function_names, vulkan_memory_keys })
    }
}

/// Strings of one kind, numbered from 1.
#[derive(Default)]
struct Numbers {
    numbers: HashMap<String, u64>,
    new: Vec<InternedString>,
}

impl Numbers {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(text.to_owned(), number);
        self.new.push(InternedString { iid: Some(number), str: Some(text.as_bytes().to_vec()) });
        number
    }

    fn take_new(&mut self) -> Vec<InternedString> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;

    use super::super::proto::{PacketData, Trace, VulkanMemoryEvent};
    use super::{PacketWriter, Value};

    #[derive(Clone, Debug)]
    enum Act {
        Begin(u64, String, u64),
        End(u64),
        Count(u64, u64),
        Memory(u64, String, u64),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let time = 0_u64..1000;
        prop::collection::vec(
            prop_oneof![
                (time.clone(), ".{0,8}", any::<u64>()).prop_map(|(t, name, n)| Act::Begin(t, name, n)),
                time.clone().prop_map(Act::End),
                (time.clone(), any::<u64>()).prop_map(|(t, value)| Act::Count(t, value)),
                (time, ".{0,8}", any::<u64>()).prop_map(|(t, name, size)| Act::Memory(t, name, size)),
            ],
            0..40,
        )
    }

    proptest! {
        #[test]
        fn written_events_are_read_back_in_increasing_time(acts in acts()) {
            let mut file = Vec::new();
            let mut writer = PacketWriter::new(&mut file);
            let process = writer.process("p").unwrap();
            let slices = writer.slices(process, "slices").unwrap();
            let counter = writer.counter(process, "bytes", super::CounterUnit::SizeBytes).unwrap();
            for act in &acts {
                match act {
                    Act::Begin(time, name, number) => writer.begin(*time, slices, name, &[("n", *number)]),
                    Act::End(time) => writer.end(*time, slices),
                    Act::Count(time, value) => writer.count(*time, counter, *value),
                    Act::Memory(time, name, size) => {
                        let event = VulkanMemoryEvent { memory_size: Some(*size), ..Default::default() };
                        writer.memory(*time, event, "call", &[("name", Value::Text(name))])
                    }
                }
                .unwrap();
            }
            prop_assert_eq!(writer.packets(), acts.len() as u64 + 3);
            let trace = Trace::decode(file.as_slice()).unwrap();
            let mut strings = std::collections::HashMap::new();
            let mut last = 0;
            for (packet, act) in trace.packet[3..].iter().zip(&acts) {
                let time = packet.timestamp.unwrap();
                prop_assert!(time > last);
                last = time;
                for string in packet.interned_data.iter().flat_map(|data| &data.vulkan_memory_keys) {
                    strings.insert(string.iid.unwrap(), string.str.clone().unwrap());
                }
                match (act, packet.data.as_ref().unwrap()) {
                    (Act::Begin(_, name, number), PacketData::TrackEvent(event)) => {
                        prop_assert_eq!(event.name.as_ref(), Some(name));
                        prop_assert_eq!(event.debug_annotations[0].uint_value, Some(*number));
                    }
                    (Act::End(_), PacketData::TrackEvent(event)) => prop_assert_eq!(event.r#type, Some(2)),
                    (Act::Count(_, value), PacketData::TrackEvent(event)) => {
                        prop_assert_eq!(event.counter_value, Some((*value).min(i64::MAX as u64) as i64));
                    }
                    (Act::Memory(_, name, size), PacketData::VulkanMemoryEvent(event)) => {
                        prop_assert_eq!(event.memory_size, Some(*size));
                        prop_assert_eq!(event.timestamp, Some(time as i64));
                        let super::AnnotationValue::StringIid(iid) = event.annotations[0].value.clone().unwrap()
                            else { panic!("the name is a string") };
                        prop_assert_eq!(&strings[&iid], name.as_bytes());
                    }
                    (act, data) => prop_assert!(false, "{:?} is {:?}", act, data),
                }
            }
        }
    }
}
