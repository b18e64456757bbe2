"""Reads traces of `tenure report --perfetto` with the messages that Perfetto publishes (PyPI: perfetto).

Arguments: for each trace its file, and one JSON object of `tenure replay --json` of the same recording, or null.
Fails with a message for the first thing that is wrong.
"""

import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

Event = pb.VulkanMemoryEvent
Track = pb.TrackEvent


def require(condition, message):
    if not condition:
        raise SystemExit(f"wrong: {message}")


def no_unknown_fields(message):
    require(not UnknownFieldSet(message), f"{message.DESCRIPTOR.full_name} has a field that is not published")
    for _, value in message.ListFields():
        parts = value if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) else [value]
        for part in parts:
            if hasattr(part, "ListFields"):
                no_unknown_fields(part)


class Reading:
    """What one trace says."""

    def __init__(self, trace):
        self.time = 0
        self.tracks, self.counters, self.depth, self.slices = {}, {}, {}, {}
        self.functions, self.keys = {}, {}
        self.memory, self.bound, self.created = {}, {}, set()
        self.peak = 0
        for number, packet in enumerate(trace.packet):
            self.packet(number, packet)

    def packet(self, number, packet):
        no_unknown_fields(packet)
        if number == 0:
            require(packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED, "no state begins")
        require(packet.trusted_packet_sequence_id == 1, "another sequence")
        for string in packet.interned_data.function_names:
            self.functions[string.iid] = string.str.decode()
        for string in packet.interned_data.vulkan_memory_keys:
            self.keys[string.iid] = string.str.decode()
        if packet.HasField("timestamp"):
            require(packet.timestamp > self.time, f"packet {number} is not later than the one before")
            self.time = packet.timestamp
        kind = packet.WhichOneof("data")
        {"track_descriptor": self.track, "track_event": self.event, "vulkan_memory_event": self.memory_event}[kind](
            getattr(packet, kind)
        )

    def track(self, track):
        require(track.uuid not in self.tracks, "a track is there twice")
        require(not track.HasField("parent_uuid") or track.parent_uuid in self.tracks, "a track has no parent")
        self.tracks[track.uuid] = track

    def event(self, event):
        track = self.tracks[event.track_uuid]
        if event.type == Track.TYPE_COUNTER:
            require(track.HasField("counter"), f"{track.name} is no counter")
            self.counters[track.name] = event.counter_value
        elif event.type == Track.TYPE_SLICE_BEGIN:
            self.depth[track.name] = self.depth.get(track.name, 0) + 1
            self.slices.setdefault(track.name, []).append(event.name)
        else:
            require(event.type == Track.TYPE_SLICE_END, "an event of another type")
            self.depth[track.name] -= 1
            require(self.depth[track.name] == 0, f"a slice of {track.name} ends that has not begun")

    def memory_event(self, event):
        require(event.pid == 1 and event.timestamp == self.time, "a memory event of another process or time")
        require(event.caller_iid in self.functions, "the caller has no name")
        values = {}
        for annotation in event.annotations:
            value = annotation.WhichOneof("value")
            value = self.keys[annotation.string_iid] if value == "string_iid" else getattr(annotation, value)
            values[self.keys[annotation.key_iid]] = value
        if event.source == Event.SOURCE_DEVICE_MEMORY:
            self.device_memory(event)
        else:
            require(event.source in (Event.SOURCE_BUFFER, Event.SOURCE_IMAGE), "memory of something else")
            self.object(event, values)

    def device_memory(self, event):
        if event.operation == Event.OP_CREATE:
            require(event.device_memory not in self.memory, "memory is taken twice")
            self.memory[event.device_memory] = event
            self.peak = max(self.peak, self.reserved())
        else:
            require(event.operation == Event.OP_DESTROY, "memory is neither taken nor given back")
            taken = self.memory.pop(event.device_memory)
            same = ("memory_size", "memory_type", "heap")
            require(all(getattr(taken, field) == getattr(event, field) for field in same), "it comes back changed")

    def object(self, event, values):
        handle, operation = event.object_handle, event.operation
        require(values["name"] in ("mesh", "upload", "readback", "texture"), f"the name {values['name']}")
        if operation == Event.OP_CREATE:
            require(handle not in self.created, "an object is created twice")
            self.created.add(handle)
        elif operation == Event.OP_BIND:
            require(handle in self.created and handle not in self.bound, "something is bound twice, or nothing")
            memory = self.memory[event.device_memory]
            require((memory.memory_type, memory.heap) == (event.memory_type, event.heap), "it is in other memory")
            require(values["offset"] + event.memory_size <= memory.memory_size, "it is bound beyond its memory")
            self.bound[handle] = event
        elif operation == Event.OP_DESTROY_BOUND:
            require(self.bound.pop(handle).device_memory == event.device_memory, "it was in other memory")
        else:
            require(operation == Event.OP_DESTROY and handle not in self.bound, "it is destroyed as unbound")

    def reserved(self):
        return sum(event.memory_size for event in self.memory.values())

    def ending(self, ending):
        return sum(value for name, value in self.counters.items() if name.startswith("heap") and name.endswith(ending))


def check(file, outcome):
    trace = pb.Trace()
    with open(file, "rb") as data:
        trace.ParseFromString(data.read())
    read = Reading(trace)
    require(not any(read.depth.values()), "a slice never ends")
    bound = sum(event.memory_size for event in read.bound.values())
    require(read.ending(": live") == bound, f"{bound} bound, and {read.ending(': live')} live")
    require(read.ending(": reserved") == read.reserved(), "the counters of heaps are not what their events come to")
    if outcome is not None:
        check_outcome(read, outcome)
    slices = {track: len(names) for track, names in read.slices.items()}
    print(f"{file}: {len(trace.packet)} packets, {len(read.created)} objects, slices {slices}")


def check_outcome(read, outcome):
    require(read.reserved() == outcome["reserved_at_end_bytes"], f"{read.reserved()} reserved by its events")
    require(read.peak == outcome["peak_reserved_bytes"], f"a peak of {read.peak}")
    frames = len(read.slices["frames"])
    require(frames == outcome["frames"] + 1, f"{frames} frames, beside the {outcome['frames']} of the recording")


for file, outcome in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    check(file, json.loads(outcome))
