//! The messages of Perfetto's trace format that this program writes, with the field numbers of the published
//! protos (`protos/perfetto/trace` in Perfetto's repository). Unused fields are left out.

use prost::{Enumeration, Message, Oneof};

/// A file: `perfetto.protos.Trace`.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// The packets, in the order of time.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One entry of a file: `perfetto.protos.TracePacket`.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The sequence that owns the interned strings.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// A set of [`SequenceFlags`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Strings for this packet and later ones.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// The content.
    #[prost(oneof = "PacketData", tags = "11, 60, 62")]
    pub data: Option<PacketData>,
}

/// The content of a packet.
#[derive(Clone, PartialEq, Oneof)]
pub enum PacketData {
    /// The beginning or end of a slice, or the value of a counter.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// A track of the timeline.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
    /// Memory allocated, bound or freed.
    #[prost(message, tag = "62")]
    VulkanMemoryEvent(VulkanMemoryEvent),
}

/// Bits of [`TracePacket::sequence_flags`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum SequenceFlags {
    /// None.
    Unspecified = 0,
    /// The interned strings are cleared.
    IncrementalStateCleared = 1,
    /// The packet refers to interned strings.
    NeedsIncrementalState = 2,
}

/// Strings by number: `perfetto.protos.InternedData`.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// The functions that [`VulkanMemoryEvent::caller_iid`] names.
    #[prost(message, repeated, tag = "5")]
    pub function_names: Vec<InternedString>,
    /// The keys and strings of [`VulkanMemoryEventAnnotation`].
    #[prost(message, repeated, tag = "22")]
    pub vulkan_memory_keys: Vec<InternedString>,
}

/// A string and its number: `perfetto.protos.InternedString`.
#[derive(Clone, PartialEq, Message)]
pub struct InternedString {
    /// The number, from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The string.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub str: Option<Vec<u8>>,
}

/// The beginning or end of a slice, or the value of a counter: `perfetto.protos.TrackEvent`.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Its type.
    #[prost(enumeration = "TrackEventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The name of a slice.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Numbers that describe a slice.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
}

/// The type of a [`TrackEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum TrackEventType {
    /// Unspecified.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The innermost open slice of the track ends.
    SliceEnd = 2,
    /// A moment.
    Instant = 3,
    /// The value of a counter.
    Counter = 4,
}

/// A named number of a slice: `perfetto.protos.DebugAnnotation`.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// The name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// The number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// A track of the timeline: `perfetto.protos.TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The track above this one.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process of a process track.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The counter of a counter track.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// The order of the tracks below this one.
    #[prost(enumeration = "ChildTracksOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// The place among the tracks of the same parent.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// The order of the tracks below a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum ChildTracksOrdering {
    /// Unspecified.
    Unknown = 0,
    /// By [`TrackDescriptor::sibling_order_rank`].
    Explicit = 3,
}

/// A process: `perfetto.protos.ProcessDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A counter: `perfetto.protos.CounterDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The counted unit.
    #[prost(enumeration = "CounterUnit", optional, tag = "3")]
    pub unit: Option<i32>,
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum CounterUnit {
    /// Unknown.
    Unspecified = 0,
    /// Nanoseconds.
    TimeNs = 1,
    /// A count.
    Count = 2,
    /// Bytes.
    SizeBytes = 3,
}

/// Memory allocated, bound or freed: `perfetto.protos.VulkanMemoryEvent`.
#[derive(Clone, PartialEq, Message)]
pub struct VulkanMemoryEvent {
    /// The kind of memory.
    #[prost(enumeration = "MemorySource", optional, tag = "1")]
    pub source: Option<i32>,
    /// The operation.
    #[prost(enumeration = "MemoryOperation", optional, tag = "2")]
    pub operation: Option<i32>,
    /// Nanoseconds; equal to that of the packet.
    #[prost(int64, optional, tag = "3")]
    pub timestamp: Option<i64>,
    /// The process.
    #[prost(uint32, optional, tag = "4")]
    pub pid: Option<u32>,
    /// Bytes.
    #[prost(uint64, optional, tag = "6")]
    pub memory_size: Option<u64>,
    /// The call, among [`InternedData::function_names`].
    #[prost(uint64, optional, tag = "7")]
    pub caller_iid: Option<u64>,
    /// Additional data.
    #[prost(message, repeated, tag = "9")]
    pub annotations: Vec<VulkanMemoryEventAnnotation>,
    /// The number of the memory that was allocated or is bound.
    #[prost(fixed64, optional, tag = "17")]
    pub device_memory: Option<u64>,
    /// The memory type.
    #[prost(uint32, optional, tag = "18")]
    pub memory_type: Option<u32>,
    /// The memory heap.
    #[prost(uint32, optional, tag = "19")]
    pub heap: Option<u32>,
    /// The number of the buffer or image.
    #[prost(fixed64, optional, tag = "20")]
    pub object_handle: Option<u64>,
}

/// The kind of memory of a [`VulkanMemoryEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum MemorySource {
    /// Unknown.
    Unspecified = 0,
    /// The driver's own.
    Driver = 1,
    /// The device's.
    Device = 2,
    /// Device memory, when it is allocated.
    DeviceMemory = 3,
    /// The memory of a buffer.
    Buffer = 4,
    /// The memory of an image.
    Image = 5,
}

/// The operation of a [`VulkanMemoryEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum MemoryOperation {
    /// Unknown.
    Unspecified = 0,
    /// Allocated, or created.
    Create = 1,
    /// Freed, or destroyed while unbound.
    Destroy = 2,
    /// Bound to memory.
    Bind = 3,
    /// Destroyed while bound.
    DestroyBound = 4,
    /// Only annotations.
    Annotations = 5,
}

/// A named value of a [`VulkanMemoryEvent`]: `perfetto.protos.VulkanMemoryEventAnnotation`.
#[derive(Clone, PartialEq, Message)]
pub struct VulkanMemoryEventAnnotation {
    /// The name, among [`InternedData::vulkan_memory_keys`].
    #[prost(uint64, optional, tag = "1")]
    pub key_iid: Option<u64>,
    /// The value.
    #[prost(oneof = "AnnotationValue", tags = "2, 4")]
    pub value: Option<AnnotationValue>,
}

/// The value of a [`VulkanMemoryEventAnnotation`].
#[derive(Clone, PartialEq, Oneof)]
pub enum AnnotationValue {
    /// A number.
    #[prost(int64, tag = "2")]
    IntValue(i64),
    /// A string, among [`InternedData::vulkan_memory_keys`].
    #[prost(uint64, tag = "4")]
    StringIid(u64),
}
