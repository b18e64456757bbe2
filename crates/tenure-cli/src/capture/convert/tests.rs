use tenure::sim::Profile;
use tenure_trace::{Details, Event, HeapKind, Kind, Layout, MemoryKind, Validator};

use super::{Recording, recording};

/// A log of a device with these memory types. The events are lines without times.
fn log(types: &[u32], events: &[&str]) -> String {
    let head = ["capture 1", "process 7", "application game", "engine", "api 1.3", "device A card"];
    let types = types.iter().enumerate().map(|(index, flags)| format!("type {index} {flags} 0"));
    let all = head.iter().map(|line| (*line).to_owned()).chain(types);
    let all = all.chain(events.iter().map(|line| (*line).to_owned()));
    all.map(|line| format!("5 0 {line}\n")).collect()
}

fn read(types: &[u32], events: &[&str]) -> Recording {
    recording(&log(types, events)).unwrap()
}

/// The events in short form, with their frames.
fn short(recording: &Recording) -> Vec<String> {
    let event = |(event, details): &(Event, Details)| match event {
        Event::Block { id, size, .. } => format!("block {id} {size} {}", details.memory_type.unwrap()),
        Event::Unblock { id, .. } => format!("unblock {id}"),
        Event::Alloc { id, size, .. } => {
            format!("alloc {id} {size} at {} of {}", details.offset.unwrap(), details.block.unwrap())
        }
        Event::Alias { id, .. } => {
            format!("alias {id} of {} at {}", details.of.unwrap(), details.offset.unwrap())
        }
        Event::Free { id, .. } => {
            assert!(details.is_final);
            format!("free {id}")
        }
        Event::Frame { .. } => "frame".to_owned(),
        Event::Submit { number, .. } => format!("submit {number}"),
        Event::Done { number, .. } => format!("done {number}"),
        Event::Map { id, .. } => format!("map {id}"),
        Event::Unmap { id, .. } => format!("unmap {id}"),
        other => format!("{other:?}"),
    };
    // Every recording passes the writer's checks.
    let mut validator = Validator::new();
    for (event, details) in &recording.events {
        validator.check_with(event, details).unwrap();
    }
    recording.events.iter().map(|it| format!("{} {}", it.0.frame(), event(it))).collect()
}

#[test]
fn presents_end_frames_or_submissions_where_nothing_is_presented() {
    let events = ["S 1 0", "P 0", "S 2 0", "W 1 0", "P 0", "end"];
    let presented = read(&[15], &events);
    let expected = ["0 submit 1", "1 frame", "1 submit 2", "1 done 1", "2 frame"];
    assert_eq!((short(&presented), presented.frames), (expected.map(str::to_owned).to_vec(), 2));
    assert!(presented.is_complete);
    let submitted = read(&[15], &["S 1 0", "S 2 1", "S 3 0", "W 3 0"]);
    let expected =
        ["0 submit 1", "1 frame", "1 submit 2", "2 frame", "2 submit 3", "3 frame", "3 done 1", "3 done 3"];
    assert_eq!(short(&submitted), expected);
    assert!(!submitted.is_complete);
}

#[test]
fn aliased_bytes_count_once_until_the_last_resource_is_destroyed() {
    let events = [
        "M 1 1000 0",
        "R 2 b 500 20",
        "B 2 1 100 500 4 0",
        "R 3 b 100 20",
        "B 3 1 400 100 4 0",
        // Overlaps the end of the first, so it counts as bytes of its own.
        "R 4 b 300 20",
        "B 4 1 500 300 4 0",
        "D 2",
        "R 5 b 10 20",
        "B 5 1 900 10 4 0",
        "D 3",
        "D 4",
        "D 5",
        "F 1",
    ];
    let found = read(&[15], &events);
    let expected = [
        "0 block 1 1000 0",
        "0 alloc 1 500 at 100 of 1",
        "0 alias 2 of 1 at 300",
        "0 alloc 3 300 at 500 of 1",
        "0 alloc 4 10 at 900 of 1",
        "0 free 2",
        "0 free 1",
        "0 free 3",
        "0 free 4",
        "0 unblock 1",
    ];
    assert_eq!(short(&found), expected);
}

#[test]
fn freed_memory_frees_its_resources() {
    let events =
        ["M 1 64 0", "R 2 b 8 20", "B 2 1 0 8 4 0", "R 3 b 8 20", "B 3 1 0 8 4 0", "F 1", "D 2", "D 3"];
    let found = read(&[15], &events);
    let expected = [
        "0 block 1 64 0",
        "0 alloc 1 8 at 0 of 1",
        "0 alias 2 of 1 at 0",
        "0 free 1",
        "0 free 2",
        "0 unblock 1",
    ];
    assert_eq!(short(&found), expected);
}

#[test]
fn maps_and_counts_are_kept() {
    let events = [
        "limits 64 4096 1",
        "M 1 100 0",
        "m 1",
        "N -2 1000 0",
        "u 1",
        "m 9",
        "M 2 7000 0 import-host",
        "R 6 b 8 20 sparse",
        "m 2",
        "F 1",
        "u 1",
    ];
    let found = read(&[15], &events);
    let expected = ["0 block 1 100 0", "0 map 1", "0 unmap 1", "0 block 2 7000 0", "0 map 2", "0 unblock 1"];
    assert_eq!(short(&found), expected);
    let header = found.header("program");
    let keys = ["allocations.most", "allocations.refused", "sparse", "complete"];
    assert_eq!(keys.map(|key| header.get(key)), [Some("4096"), Some("1"), Some("1"), Some("no")]);
    let header = read(&[15], &["end"]).header("program");
    assert_eq!(keys.map(|key| header.get(key)), [None; 4]);
}

#[test]
fn kinds_follow_the_memory_type_or_with_a_single_type_the_usage() {
    let image = |tiling: char| format!("R 2 i 4x4x1 37 1 1 1 {tiling} 4");
    let kind = |types: &[u32], created: &str| {
        let found = read(types, &["M 1 64 0", created, "B 2 1 0 8 4 0"]);
        let (Event::Alloc { kind, .. }, details) = &found.events[1] else { panic!("{:?}", found.events) };
        (*kind, details.heap == Some(HeapKind::Local))
    };
    let linear = |memory| Kind::new(memory, Layout::Linear);
    let optimal = |memory| Kind::new(memory, Layout::Optimal);
    // Vertex buffers; destinations of copies only; images.
    assert_eq!(kind(&[15], "R 2 b 8 80").0, linear(MemoryKind::CpuToGpu));
    assert_eq!(kind(&[15], "R 2 b 8 2").0, linear(MemoryKind::GpuToCpu));
    assert_eq!(kind(&[15], &image('o')).0, optimal(MemoryKind::GpuOnly));
    assert_eq!(kind(&[15], &image('l')).0, linear(MemoryKind::CpuToGpu));
    for (flags, memory, is_local) in [
        (1, MemoryKind::GpuOnly, true),
        (6, MemoryKind::CpuToGpu, false),
        (7, MemoryKind::CpuToGpu, true),
        (14, MemoryKind::GpuToCpu, false),
        (15, MemoryKind::CpuToGpu, true),
    ] {
        assert_eq!(kind(&[flags, 1], "R 2 b 8 80"), (linear(memory), is_local), "{flags}");
        assert_eq!(kind(&[flags, 1], &image('o')).0, optimal(memory), "{flags}");
    }
}

#[test]
fn properties_of_resources_are_kept() {
    let events = [
        "M 1 64 0 dedicated address priority=0.25",
        "R 2 i 8x4x2 37 3 6 4 o 14",
        "B 2 1 16 8 4 0 wants-dedicated",
        "n 2 rock wall",
        "n 2 stone wall",
    ];
    let found = read(&[15], &events);
    let (_, details) = &found.events[1];
    let expected = Details {
        time_us: Some(5),
        thread: Some(0),
        block: Some(1),
        offset: Some(16),
        memory_type: Some(0),
        heap: Some(HeapKind::Local),
        wants_dedicated: true,
        is_dedicated: true,
        has_address: true,
        priority: Some(250),
        usage: Some(0x14),
        format: Some(37),
        extent: Some([8, 4, 2]),
        mips: Some(3),
        layers: Some(6),
        samples: Some(4),
        ..Details::default()
    };
    assert_eq!(*details, expected.named("stone wall"));
    let header = found.header("program");
    assert_eq!((header.get("program"), header.get("device")), (Some("game"), Some("A card")));
    assert_eq!((header.get("api"), header.get("profile")), (Some("vulkan"), Some("vulkan-lavapipe")));
    assert!(header.memory_type(0).unwrap().is_local());
}

#[test]
fn planes_of_an_image_are_separate_resources() {
    let events =
        ["M 1 64 0", "R 2 i 8x8x1 1000156003 1 1 1 o 4", "B 2 1 0 32 4 10", "B 2 1 32 16 4 20", "D 2"];
    let found = read(&[15], &events);
    let expected =
        ["0 block 1 64 0", "0 alloc 1 32 at 0 of 1", "0 alloc 2 16 at 32 of 1", "0 free 1", "0 free 2"];
    assert_eq!(short(&found), expected);
}

#[test]
fn only_damaged_lines_are_lost() {
    let whole = log(&[15], &["M 1 64 0", "R 2 b 8 20", "B 2 1 0 8 4 0"]);
    let expected = short(&recording(&whole).unwrap());
    for damage in [
        "5 0 M x y",
        "5 0 M",
        "5 0 F 99",
        "5 0 F",
        "5 0 D 99",
        "5 0 B 2 99 0 8 4 0",
        "5 0 B 99 1 0 8 4 0",
        "5 0 B 2 1 18446744073709551615 8 4 0",
        "5 0 B 2 1 0 0 4 0",
        "5 0 R 9 i 4x4 37",
        "5 0 W 1 0",
        "5 0 Z 1",
        "\u{fffd}",
        "",
    ] {
        let damaged = format!("{whole}{damage}\n");
        assert_eq!(short(&recording(&damaged).unwrap()), expected, "{damage}");
    }
    // As after a kill of the process.
    for cut in 0..whole.len() {
        if let Some(text) = whole.get(..cut) {
            let found = recording(text).map(|found| short(&found)).unwrap_or_default();
            assert!(expected.starts_with(&found), "{text}");
        }
    }
    assert!(recording("op,id,size,align,kind,frame\n").is_none());
    assert!(recording("5 0 capture 2\n").is_none());
}

#[test]
fn the_time_per_resource_does_not_grow_with_their_number() {
    let time = |count: u64| {
        let head = format!("M 1 {} 0", count * 8);
        let lives = (0..count).map(|it| format!("R {0} b 8 80\n5 0 B {0} 1 {1} 8 4 0", it + 2, it * 8));
        let events: Vec<_> = std::iter::once(head).chain(lives).collect();
        let text = log(&[15], &events.iter().map(String::as_str).collect::<Vec<_>>());
        let runs = (0..3).map(|_| {
            let start = std::time::Instant::now();
            assert_eq!(recording(&text).unwrap().events.len() as u64, 1 + count);
            start.elapsed()
        });
        runs.min().unwrap()
    };
    // Searching all resources would take 16 times as long.
    let (few, many) = (time(5_000), time(20_000));
    assert!(many < 10 * few, "{few:?} for 5,000 resources, {many:?} for 20,000");
}

#[test]
fn replays_are_on_a_device_like_the_recorded_one() {
    let profile = |vendor: &str, types: &[u32], more: &str| {
        read(types, &[&format!("ids {vendor} 1 2 3"), more]).profile()
    };
    assert_eq!(profile("10de", &[1, 6], ""), Profile::VULKAN_NVIDIA);
    assert_eq!(profile("1002", &[1, 6], ""), Profile::VULKAN_AMD_SMALL_BAR);
    assert_eq!(profile("8086", &[1, 6], ""), Profile::VULKAN_INTEL);
    assert_eq!(profile("13b5", &[1, 6], ""), Profile::VULKAN_MOBILE);
    assert_eq!(profile("10005", &[15], ""), Profile::VULKAN_LAVAPIPE);
    assert_eq!(profile("10005", &[15], "as vulkan-nvidia"), Profile::VULKAN_NVIDIA);
}
