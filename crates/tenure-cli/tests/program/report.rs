//! `tenure report --perfetto`: the content of the file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use prost::Message;

use tenure_cli::perfetto::proto::{
    AnnotationValue, MemoryOperation, MemorySource, PacketData, Trace, TrackEventType, VulkanMemoryEvent,
};

use crate::running::{TINY, objects, recording, run, run_with_input, status, stderr, stdout};

/// Replays a recording and reads the trace.
fn trace(recording: &str, arguments: &[&str]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    let file = file.to_str().unwrap();
    let output = run(&[&["report", recording, "--perfetto", file], arguments].concat());
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    let trace = Trace::decode(fs::read(file).unwrap().as_slice()).unwrap();
    assert!(stdout(&output).contains(&format!("{} packets", trace.packet.len())), "{}", stdout(&output));
    trace
}

#[derive(Default)]
struct Read {
    names: HashMap<u64, String>,
    counters: HashMap<String, u64>,
    slices: HashMap<String, Vec<String>>,
    strings: HashMap<u64, String>,
    memory: HashMap<u64, VulkanMemoryEvent>,
    bound: HashMap<u64, VulkanMemoryEvent>,
    objects: HashSet<u64>,
    peak: u64,
}

fn read(trace: &Trace) -> Read {
    let mut read = Read::default();
    let mut last = None;
    for packet in &trace.packet {
        assert!(packet.timestamp.is_none() || packet.timestamp > last, "{packet:?} is not after {last:?}");
        last = packet.timestamp.or(last);
        for string in packet.interned_data.iter().flat_map(|data| &data.vulkan_memory_keys) {
            let text = String::from_utf8(string.str.clone().unwrap()).unwrap();
            assert_eq!(read.strings.insert(string.iid.unwrap(), text), None);
        }
        match packet.data.clone().unwrap() {
            PacketData::TrackDescriptor(track) => {
                let process = track.process.and_then(|process| process.process_name);
                read.names.insert(track.uuid.unwrap(), track.name.or(process).unwrap());
            }
            PacketData::TrackEvent(event) => {
                let track = read.names[&event.track_uuid.unwrap()].clone();
                match event.r#type() {
                    TrackEventType::Counter => {
                        let value = u64::try_from(event.counter_value.unwrap()).unwrap();
                        read.counters.insert(track, value);
                    }
                    TrackEventType::SliceBegin => {
                        read.slices.entry(track).or_default().push(event.name.unwrap());
                    }
                    kind => assert_eq!(kind, TrackEventType::SliceEnd),
                }
            }
            PacketData::VulkanMemoryEvent(event) => read.memory_event(event),
        }
    }
    read
}

impl Read {
    fn memory_event(&mut self, event: VulkanMemoryEvent) {
        let (memory, object) =
            (event.device_memory.unwrap_or_default(), event.object_handle.unwrap_or_default());
        let bytes = event.memory_size.unwrap();
        match (event.source(), event.operation()) {
            (MemorySource::DeviceMemory, MemoryOperation::Create) => {
                assert!(self.memory.insert(memory, event).is_none());
                self.peak = self.peak.max(self.reserved());
            }
            (MemorySource::DeviceMemory, MemoryOperation::Destroy) => {
                assert_eq!(self.memory.remove(&memory).unwrap().memory_size, Some(bytes));
            }
            (MemorySource::Buffer | MemorySource::Image, MemoryOperation::Create) => {
                assert!(self.objects.insert(object));
            }
            (MemorySource::Buffer | MemorySource::Image, MemoryOperation::Bind) => {
                let inside = self.memory[&memory].memory_size.unwrap();
                assert!(self.number(&event, "offset").unwrap() + bytes <= inside, "{event:?} in {inside}");
                assert!(self.bound.insert(object, event).is_none());
            }
            (MemorySource::Buffer | MemorySource::Image, MemoryOperation::DestroyBound) => {
                assert_eq!(self.bound.remove(&object).unwrap().device_memory, event.device_memory);
            }
            other => assert_eq!(other.1, MemoryOperation::Destroy),
        }
    }

    fn number(&self, event: &VulkanMemoryEvent, key: &str) -> Option<u64> {
        event.annotations.iter().find_map(|annotation| match annotation.value {
            Some(AnnotationValue::IntValue(value)) if self.strings[&annotation.key_iid.unwrap()] == key => {
                u64::try_from(value).ok()
            }
            _ => None,
        })
    }

    fn reserved(&self) -> u64 {
        self.memory.values().filter_map(|event| event.memory_size).sum()
    }

    /// The sum of counters by prefix and suffix of their names.
    fn sum(&self, begin: &str, end: &str) -> u64 {
        let mut found: Vec<_> =
            self.counters.iter().filter(|(name, _)| name.starts_with(begin) && name.ends_with(end)).collect();
        found.sort();
        found.into_iter().map(|(_, value)| value).sum()
    }
}

#[test]
fn the_memory_in_a_trace_is_that_of_the_replay() {
    for strategy in ["committed", "placed", "pooled"] {
        let read = read(&trace(&recording(), &["--strategy", strategy]));
        let outcome = &objects(&run(&["replay", &recording(), "--json", "--strategy", strategy]))[0];
        let field = |name: &str| outcome[name].as_u64().unwrap();
        assert_eq!(read.reserved(), field("reserved_at_end_bytes"), "{strategy}");
        assert_eq!(read.sum("heap", ": reserved"), field("reserved_at_end_bytes"), "{strategy}");
        assert_eq!(read.peak, field("stats_peak_reserved_bytes"), "{strategy}");
        let bound: u64 = read.bound.values().filter_map(|event| event.memory_size).sum();
        assert_eq!(read.sum("heap", ": live"), bound, "{strategy}");
        assert!(read.sum("pool", ": reserved") <= read.reserved(), "{strategy}");
        if strategy == "pooled" {
            // No resource of this recording is large enough for dedicated memory.
            assert_eq!(read.sum("pool", ": reserved"), read.reserved());
            assert!(read.sum("pool", ": live") >= bound);
        }
        assert!(read.sum("heap", ": budget") > 0);
        assert_eq!(read.counters["waiting for release"], 0, "the GPU is idle at the end");
        assert_eq!(read.slices["frames"].len() as u64, field("frames") + 1);
        assert_eq!(read.slices["frames"][0], "frame 1");
        assert!(read.slices["waits for the GPU"].iter().any(|name| name == "for everything submitted"));
        assert!(!read.slices.contains_key("moves"));
    }
}

#[test]
fn a_trace_is_the_same_in_every_run() {
    let (first, second) = (trace(&recording(), &["--seed", "3"]), trace(&recording(), &["--seed", "3"]));
    assert!(first == second);
    assert!(first != trace(&recording(), &["--seed", "4"]));
}

#[test]
fn moves_are_slices_and_moved_objects_are_bound_elsewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/bevy-3d_scene.csv.gz");
    let trace = trace(folder.to_str().unwrap(), &["--movable"]);
    let read = read(&trace);
    let moves = &read.slices["moves"];
    assert!(moves.len() > 3 && moves.iter().all(|name| name.contains("move")), "{moves:?}");
    let mut binds = HashMap::new();
    for packet in &trace.packet {
        if let Some(PacketData::VulkanMemoryEvent(event)) = &packet.data
            && event.operation() == MemoryOperation::Bind
        {
            *binds.entry(event.object_handle).or_insert(0) += 1;
        }
    }
    assert!(binds.values().any(|&count| count > 1), "something is bound a second time");
}

#[test]
fn events_have_the_place_and_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tiny.csv");
    // Resources that the recording never frees stay bound.
    let text = TINY.replace("free,1,2304,,cpu_to_gpu+linear,1\n", "alloc,70,4096,64,gpu_only+optimal,1\n");
    fs::write(&file, text).unwrap();
    let read = read(&trace(file.to_str().unwrap(), &[]));
    assert_eq!(read.objects.len(), 2);
    let event = &read.bound[&1];
    assert_eq!((event.source(), event.memory_size), (MemorySource::Buffer, Some(2304)));
    assert_eq!(read.number(event, "recorded id"), Some(1));
    let memory = &read.memory[&event.device_memory.unwrap()];
    assert_eq!((memory.memory_type, memory.heap), (event.memory_type, event.heap));
    assert!(memory.memory_type.is_some() && memory.heap.is_some());
    let texture = &read.bound[&2];
    assert_eq!((texture.source(), read.number(texture, "recorded id")), (MemorySource::Image, Some(70)));
    let names: Vec<_> =
        texture.annotations.iter().filter_map(|annotation| annotation.value.clone()).collect();
    assert!(
        names
            .iter()
            .any(|value| matches!(value, AnnotationValue::StringIid(iid) if read.strings[iid] == "texture"))
    );
}

#[test]
fn a_recording_without_events_is_a_trace_with_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    // A name with characters that a page or a terminal must not interpret.
    let name = if cfg!(windows) { "a&b.csv" } else { "a\u{1}\n<b>\u{1b}[31m.csv" };
    let file = folder.path().join(name);
    fs::write(&file, "op,id,size,align,kind,frame\n").unwrap();
    let read = read(&trace(file.to_str().unwrap(), &[]));
    assert_eq!((read.reserved(), read.objects.len()), (0, 0));
    assert_eq!(read.slices["frames"], ["frame 1"]);
    assert!(read.names.values().any(|track| track.contains(name)));
}

#[test]
fn damage_is_reported_and_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace");
    let whole = fs::read(recording()).unwrap();
    let cut = folder.path().join("cut.csv.gz");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let output = run(&["report", cut.to_str().unwrap(), "--perfetto", out.to_str().unwrap()]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("cut.csv.gz"), "{}", stderr(&output));
    assert!(!out.exists());
    let output = run(&["report", &recording(), "--perfetto", folder.path().to_str().unwrap()]);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).contains("directory"), "{}", stderr(&output));
}

#[test]
fn a_creation_that_fails_leaves_the_others_with_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("huge.csv");
    let text = "op,id,size,align,kind,frame\n\
                alloc,5,17592186044416,64,gpu_only+linear,0\n\
                alloc,6,256,64,gpu_only+linear,0\n";
    fs::write(&file, text).unwrap();
    let out = folder.path().join("trace");
    let output = run(&["report", file.to_str().unwrap(), "--perfetto", out.to_str().unwrap()]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("failed: "), "{}", stderr(&output));
    let read = read(&Trace::decode(fs::read(out).unwrap().as_slice()).unwrap());
    assert_eq!(read.objects, HashSet::from([2]));
    assert_eq!(read.number(&read.bound[&2], "recorded id"), Some(6));
}

#[test]
fn meaningless_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let file = recording();
    for (arguments, wanted) in [
        (&["report", &file, "--html", "-"][..], "--html needs a file"),
        (&["report", &file, "--perfetto", "/dev/stdout"], "--perfetto needs a file"),
        (&["report", "-", "--html", out, "--plan", "-"], "not both"),
        (&["report", &file, "--html", out, "--movable"], "--movable"),
        (&["report", &file, "--perfetto", out, "--plan", &file], "--plan"),
        (&["report", &file, "--html", out, "--perfetto", out], "--perfetto"),
    ] {
        let output = run_with_input(arguments, TINY.as_bytes());
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{arguments:?}");
        assert!(stderr(&output).contains(wanted), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!Path::new(out).exists() && !Path::new("-").exists());
}

#[test]
fn many_failures_are_reported_as_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trace");
    let allocs = (0..1200).map(|id| format!("alloc,{id},17592186044416,64,gpu_only+linear,0\n"));
    let text: String = std::iter::once("op,id,size,align,kind,frame\n".to_owned()).chain(allocs).collect();
    let output = run_with_input(&["report", "-", "--perfetto", out.to_str().unwrap()], text.as_bytes());
    assert_eq!(status(&output), 1);
    let said = stderr(&output);
    assert!(said.ends_with("stdin pooled: in all 1,200 failed, 0 leaks, 0 hazards\n"), "{said}");
    assert_eq!(said.lines().count(), 6, "{said}");
}
