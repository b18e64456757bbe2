//! A history has the manager's figures at the end of every frame.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod program;

use std::collections::BTreeMap;

use tenure_core::device::Usage;
use tenure_core::{BufferDesc, Config, Gpu, PoolReport, Queue, Report};
use tenure_report::{History, NEVER, Object, read_snapshots};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};
use tenure_trace::{Workload, generate};

use program::Moves;

/// The objects that occupy bytes at a moment.
fn at(history: &History, clock: u32) -> impl Iterator<Item = &Object> {
    history.objects.iter().filter(move |object| object.born <= clock && clock < object.released)
}

#[test]
fn objects_at_the_end_of_a_frame_equal_the_counts() {
    for workload in Workload::ALL {
        let run = program::run(generate(workload, 5, 6000), |_| ("thing".to_owned(), String::new()));
        assert_eq!(run.history.frames.len(), run.frames.len(), "{workload}");
        for (frame, (stats, pools)) in run.history.frames.iter().zip(&run.frames) {
            let objects: Vec<_> = at(&run.history, frame.at).collect();
            let live = objects.iter().filter(|object| frame.at < object.dropped).count() as u64;
            let waiting = objects.iter().filter(|object| object.dropped <= frame.at);
            let waiting_bytes: u64 = waiting.clone().map(|object| object.reserved).sum();
            assert_eq!(live, stats.live_objects, "{workload}, frame {}", frame.number);
            assert_eq!(waiting.count() as u64, stats.pending_releases, "{workload}, frame {}", frame.number);
            assert_eq!(waiting_bytes, stats.pending_bytes, "{workload}, frame {}", frame.number);
            assert_eq!(frame.totals.reserved, stats.reserved);
            let held: u64 = frame.holds.iter().map(|hold| hold.bytes).sum();
            assert_eq!(held, stats.pending_bytes, "all that waits waits for somebody");
            assert!(frame.holds.iter().all(|hold| hold.serial.is_some_and(|serial| serial > 0)));
            for (pool, report) in (0_u32..).zip(pools) {
                check_pool(&run.history, frame.at, pool, report, &objects);
            }
        }
        let waits = run.frames.iter().any(|(stats, _)| stats.pending_bytes > 0);
        assert!(waits, "{workload}: something has to wait for the GPU");
    }
}

/// The blocks of a pool, and the ranges in them.
fn check_pool(history: &History, clock: u32, pool: u32, report: &PoolReport, objects: &[&Object]) {
    let blocks = history.blocks.iter().filter(|block| block.pool == pool);
    let mut there: Vec<_> = blocks
        .filter(|block| block.born <= clock && clock < block.gone)
        .map(|block| (block.number as usize, block.size))
        .collect();
    there.sort_unstable();
    let mut expected: Vec<_> = report.blocks.iter().map(|block| (block.number, block.size)).collect();
    expected.sort_unstable();
    assert_eq!(there, expected);
    if history.pools[pool as usize].holds_blocks {
        return;
    }
    let is_here =
        |object: &&&Object| object.block.is_some_and(|block| history.blocks[block as usize].pool == pool);
    let (mut ranges, mut taken) = (Vec::new(), 0);
    for object in objects.iter().filter(is_here) {
        let block = history.blocks[object.block.unwrap() as usize];
        assert!(object.offset + object.size <= block.size);
        taken += object.reserved;
        ranges.push((block.number, object.offset, object.offset + object.size));
    }
    assert_eq!(ranges.len() as u64, report.stats.allocations);
    assert_eq!(taken + report.stats.alignment_waste, report.stats.used);
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 < pair[1].0 || pair[0].2 <= pair[1].1, "ranges overlap: {pair:?}");
    }
    assert!(history.other_uses.iter().all(|other| other.bytes == 0), "nothing but objects is in these pools");
}

/// A moving object is in each frame at the place in the report, once, and is one object from its creation to
/// its end.
#[test]
fn moving_objects_are_at_their_reported_places() {
    let moves = program::movable(7, 80);
    let Moves { run, places, .. } = &moves;
    let name = |object: &Object| run.history.strings.get(object.name).to_owned();
    for ((frame, (stats, pools)), places) in run.history.frames.iter().zip(&run.frames).zip(places) {
        let objects: Vec<_> = at(&run.history, frame.at).collect();
        let (live, waiting): (Vec<&Object>, Vec<&Object>) =
            objects.iter().copied().partition(|object| frame.at < object.dropped);
        assert_eq!(live.len() as u64, stats.live_objects);
        assert_eq!(waiting.len() as u64, stats.pending_releases, "frame {}", frame.number);
        assert_eq!(waiting.iter().map(|object: &&Object| object.reserved).sum::<u64>(), stats.pending_bytes);
        let shown = live.iter().map(|object| {
            let block = run.history.blocks[object.block.unwrap() as usize];
            (name(object), (block.pool as usize, block.number as usize, object.offset))
        });
        assert_eq!(&shown.collect::<BTreeMap<_, _>>(), places, "frame {}", frame.number);
        for (pool, report) in (0_u32..).zip(pools) {
            check_pool(&run.history, frame.at, pool, report, &objects);
        }
    }
    let all = &run.history.objects;
    let moved: Vec<_> =
        all.iter().filter_map(|object| Some((object, &all[object.origin? as usize]))).collect();
    assert!(moved.len() > 50, "{} moves", moved.len());
    assert!(moved.iter().all(|(object, origin)| {
        origin.origin.is_none()
            && (name(origin), origin.frame) == (name(object), object.frame)
            && all.iter().any(|before| before.name == object.name && before.dropped == object.born)
    }));
}

/// Snapshots show the same moves as events, for objects in both snapshots.
#[test]
fn moving_objects_are_one_object_in_snapshots() {
    let Moves { run, places, snapshots } = program::movable(9, 40);
    let history = read_snapshots(snapshots.as_slice(), "moves").unwrap();
    let moves = history.objects.iter().filter(|object| object.origin.is_some());
    let between = places.windows(2).map(|pair| {
        let moved = |(name, place): (&String, _)| pair[0].get(name).is_some_and(|before| before != place);
        pair[1].iter().filter(|it| moved(*it)).count()
    });
    assert_eq!(moves.clone().count(), between.sum::<usize>());
    assert!(moves.clone().count() > 20);
    for object in moves {
        let origin = &history.objects[object.origin.unwrap() as usize];
        assert_eq!((origin.origin, origin.name, origin.frame), (None, object.name, object.frame));
    }
    assert_eq!(history.frames.len(), run.frames.len());
}

#[test]
fn snapshots_give_the_same_objects_as_events() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let make = |size, name: &'static str| {
        let desc = BufferDesc::new(size, Usage::VERTEX).name(name).tag("mesh");
        gpu.create_buffer(&desc).unwrap()
    };
    let mut lines = Vec::new();
    let mut snap = || {
        gpu.begin_frame().unwrap().end().unwrap();
        serde_json::to_writer(&mut lines, &gpu.report()).unwrap();
        lines.push(b'\n');
    };
    let first = make(1000, "first");
    let alike = [make(2000, "pair"), make(2000, "pair")];
    snap();
    drop(first);
    let large = make(100 << 20, "large");
    snap();
    drop(alike);
    snap();
    let history = read_snapshots(lines.as_slice(), "snapshots").unwrap();
    let names = |clock| {
        let mut names: Vec<_> =
            at(&history, clock).map(|object| history.strings.get(object.name).to_owned()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(1), ["first", "pair", "pair"]);
    assert_eq!(names(2), ["large", "pair", "pair"]);
    assert_eq!(names(3), ["large"]);
    assert_eq!(history.objects.len(), 4, "what stays is one object");
    assert_eq!(history.frames[1].totals.live_objects, 3);
    let shown = history.objects.iter().find(|object| object.size == 100 << 20).unwrap();
    assert!(history.frames[2].totals.reserved >= 100 << 20 && shown.heap == Some(0));
    drop(large);
}

/// An object at the place of a released one is a different object, however similar.
#[test]
fn snapshots_distinguish_similar_objects() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let make = || gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX).name("twin")).unwrap();
    let line = || serde_json::to_string(&gpu.report()).unwrap() + "\n";
    let place = |report: Report| (report.objects[0].block, report.objects[0].offset);
    let first = make();
    let (before, first_place) = (line(), place(gpu.report()));
    drop(first);
    gpu.reclaim().unwrap();
    let second = make();
    assert_eq!(place(gpu.report()), first_place);
    let text = before + &line() + &line();
    let history = read_snapshots(text.as_bytes(), "alike").unwrap();
    let lives: Vec<_> = history.objects.iter().map(|object| (object.born, object.released)).collect();
    assert_eq!(lives, [(1, 2), (2, NEVER)]);
    drop(second);
}

/// Dropped objects wait for a recording, by its name, for a submission, or for the next reclaim; together these
/// are all.
#[test]
fn snapshots_name_the_holders_of_dropped_objects() {
    let lag = Lag::Submissions(4);
    let options = DeviceConfig::new(Profile::DISCRETE).lag(lag);
    let device = Device::with_config(options);
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let mut lines = Vec::new();
    let mut snap = || {
        gpu.begin_frame().unwrap().end().unwrap();
        serde_json::to_writer(&mut lines, &gpu.report()).unwrap();
        lines.push(b'\n');
    };
    let desc = BufferDesc::new(1000, Usage::VERTEX);
    let mesh = gpu.create_buffer(&desc).unwrap();
    let recording = gpu.record(Queue::Graphics, "minimap").unwrap();
    // Commands may use it from then on.
    let _place = mesh.offset();
    drop(mesh);
    snap();
    recording.submit().unwrap();
    (0..3).for_each(|_| snap());
    let history = read_snapshots(lines.as_slice(), "snapshots").unwrap();
    let mut holders = Vec::new();
    for frame in &history.frames {
        let held: u64 = frame.holds.iter().map(|hold| hold.bytes).sum();
        assert_eq!(held, frame.totals.pending_bytes);
        holders.extend(frame.holds.iter().map(|hold| history.strings.get(hold.holder).to_owned()));
    }
    assert_eq!(history.strings.get(history.frames[0].holds[0].name), "minimap");
    assert!(history.frames[1..].iter().any(|frame| frame.holds.iter().any(|hold| hold.serial.is_some())));
    assert!(["recording", "submission"].iter().all(|holder| holders.iter().any(|found| found == holder)));
}

/// A texture whose handle was dropped is held by its views, by name.
#[test]
fn snapshots_name_the_views_that_keep_a_resource() {
    use tenure_core::device::Format;
    use tenure_core::{TextureDesc, TextureViewDesc};
    let profile = Profile::DISCRETE;
    let gpu = Gpu::new(Device::new(profile), Config::default()).unwrap();
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let texture = gpu.create_texture(&texture).unwrap();
    let view = gpu.create_texture_view(&texture, &TextureViewDesc::sampled().name("meadow")).unwrap();
    let mut lines = Vec::new();
    let mut snap = || {
        gpu.begin_frame().unwrap().end().unwrap();
        serde_json::to_writer(&mut lines, &gpu.report()).unwrap();
        lines.push(b'\n');
    };
    snap();
    drop(texture);
    (0..3).for_each(|_| snap());
    drop(view);
    snap();
    let history = read_snapshots(lines.as_slice(), "snapshots").unwrap();
    let of = |frame: usize| -> Vec<_> {
        let holds = history.frames[frame].holds.iter();
        let views = holds.filter(|hold| history.strings.get(hold.holder) == "views");
        views.map(|hold| (history.strings.get(hold.name), hold.age)).collect()
    };
    assert_eq!([of(0), of(4)], [vec![], vec![]]);
    assert_eq!(of(3), [("grass by meadow", 3)]);
}

#[test]
fn snapshots_count_memory_with_the_heap_that_it_is_of() {
    use tenure_core::MemoryUse;
    let profile = Profile::DISCRETE;
    let gpu = Gpu::new(Device::new(profile), Config::default()).unwrap();
    let make = |size, memory, usage| {
        let desc = BufferDesc::new(size, usage).memory(memory).name("thing");
        gpu.create_buffer(&desc).unwrap()
    };
    let (mut lines, mut expected) = (Vec::new(), Vec::new());
    let mut snap = || {
        gpu.begin_frame().unwrap().end().unwrap();
        serde_json::to_writer(&mut lines, &gpu.report()).unwrap();
        lines.push(b'\n');
        expected.push((gpu.memory().heaps, gpu.pool_reports()));
    };
    // No object is in the block that is kept.
    drop(make(1000, MemoryUse::Upload, Usage::COPY_SRC));
    let mesh = make(48 << 10, MemoryUse::GpuOnly, Usage::VERTEX);
    snap();
    let small =
        [make(1000, MemoryUse::Upload, Usage::COPY_SRC), make(1000, MemoryUse::Readback, Usage::COPY_DST)];
    let large = make(1 << 30, MemoryUse::Upload, Usage::COPY_SRC);
    let pages = gpu.create_pages(&tenure_core::PageAllocatorDesc::new(1 << 20).name("level"));
    let stone = pages.create_buffer(&BufferDesc::new(5000, Usage::VERTEX)).unwrap();
    snap();
    let history = read_snapshots(lines.as_slice(), "snapshots").unwrap();
    for (frame, (heaps, pools)) in history.frames.iter().zip(expected) {
        let told: Vec<_> =
            frame.heaps.iter().map(|heap| [heap.pools, heap.committed, heap.pages, heap.usage]).collect();
        let ours: Vec<_> = heaps
            .iter()
            .map(|heap| [heap.ours.pools, heap.ours.committed, heap.ours.pages, heap.usage])
            .collect();
        assert_eq!(told, ours);
        assert!(frame.heaps.iter().zip(&heaps).all(|(told, heap)| told.budget == heap.budget));
        let mut of_heap = vec![0; heaps.len()];
        for (pool, report) in history.pools.iter().zip(&pools) {
            of_heap[pool.heap] += report.stats.reserved;
        }
        assert!(of_heap.iter().zip(&heaps).all(|(sum, heap)| *sum == heap.ours.pools));
    }
    assert!(history.frames[1].heaps.iter().any(|heap| heap.pages > 0 && heap.budget.is_some()));
    drop((mesh, small, large, stone, pages));
}

/// Pools with different rules for sharing blocks have equal kinds, memory types and numbers of blocks.
#[test]
fn objects_are_in_the_block_of_their_own_pool() {
    use tenure_core::device::Priority;
    let profile = Profile::DISCRETE;
    let gpu = Gpu::new(Device::new(profile), Config::default()).unwrap();
    let make = |priority| {
        let desc = BufferDesc::new(300 << 10, Usage::VERTEX).priority(priority);
        gpu.create_buffer(&desc).unwrap()
    };
    let alike = [Priority::Low, Priority::Normal, Priority::High].map(make);
    gpu.begin_frame().unwrap().end().unwrap();
    let text = serde_json::to_vec(&gpu.report()).unwrap();
    let history = read_snapshots(text.as_slice(), "snapshot").unwrap();
    let pool = |object: &Object| history.blocks[object.block.unwrap() as usize].pool;
    let mut pools: Vec<_> = history.objects.iter().map(pool).collect();
    pools.dedup();
    assert_eq!(pools.len(), 3, "each priority has a pool of its own");
    assert!(history.other_uses.iter().all(|other| other.bytes < 300 << 10));
    drop(alike);
}

#[test]
fn objects_that_differ_only_in_their_heap_are_distinguished() {
    let object = |heap| {
        format!(
            r#"{{"name":"a","kind":"buffer","bytes":64,"frame":1,"location":"committed","memory_type":{heap},"heap":{heap}}}"#
        )
    };
    let memory = r#"{"heaps":[{},{}]}"#;
    let snapshot =
        |objects: &str| format!("{{\"stats\":{{}},\"memory\":{memory},\"objects\":[{objects}]}}\n");
    let text = snapshot(&[object(0), object(1)].join(",")) + &snapshot(&object(0));
    let history = read_snapshots(text.as_bytes(), "text").unwrap();
    let heaps: Vec<_> = at(&history, history.frames[1].at).map(|object| object.heap).collect();
    assert_eq!(heaps, [Some(0)]);
}

#[test]
fn invalid_snapshots_are_errors_with_their_line() {
    let error = |text: &str| read_snapshots(text.as_bytes(), "text").unwrap_err().to_string();
    assert_eq!(error("\n  \n"), "there is no snapshot");
    assert!(error("{\"stats\":{}}\n{\"stats\":7}\n").starts_with("line 2: "));
    let wild = r#"{"stats":{"reserved":18446744073709551615},"objects":[{"kind":"buffer","bytes":18446744073709551615,
        "frame":0,"heap":4294967295,"block":4294967295,"pool_index":4294967295,"memory_type":255,"offset":18446744073709551615}]}"#;
    let history = read_snapshots(wild.replace('\n', "").as_bytes(), "wild").unwrap();
    history.write_html(&mut std::io::sink()).unwrap();
    let block = r#"{"number":0,"size":18446744073709551615,"used":0}"#;
    let pool = format!(
        r#"{{"stats":{{"kind":"buffers","memory_type":0,"capacity":0,"reserved":1,"used":0,"requested":0,
        "alignment_waste":0,"allocations":0,"largest_free":0}},"blocks":[{block},{block}]}}"#
    );
    let heaps = format!("[{}]", ["{\"size\":18446744073709551615}"; 1000].join(","));
    let types = r#"[{"heap":18446744073709551615}]"#;
    let memory = format!(r#"{{"heaps":{heaps},"types":{types}}}"#);
    let pools = format!(r#"{{"stats":{{}},"memory":{memory},"pools":[{pool},{pool}]}}"#).replace('\n', "");
    let history = read_snapshots(pools.as_bytes(), "pools").unwrap();
    assert!(history.heaps.len() <= 32, "more than any device has");
    history.write_html(&mut std::io::sink()).unwrap();
}

#[test]
fn a_byte_order_mark_before_snapshots_is_skipped() {
    let text = "\u{feff}{\"stats\":{\"frames\":3}}\n";
    assert_eq!(read_snapshots(text.as_bytes(), "text").unwrap().frames[0].number, 3);
    let second = format!("{text}{text}");
    assert!(read_snapshots(second.as_bytes(), "text").is_err());
}

/// A report with buffers: the id, the name, the byte at which it begins.
fn line_of(frames: u64, buffers: &[(u64, &str, u64)]) -> String {
    let objects = buffers.iter().map(|(id, name, offset)| {
        serde_json::json!({
            "id": id, "name": name, "kind": "buffer", "bytes": 100, "frame": 0, "location": "range",
            "heap": 0, "memory_type": 0, "pool_index": 0, "block": 0, "offset": offset,
        })
    });
    let pool = serde_json::json!({
        "stats": { "kind": "read_only_buffers", "memory_type": 0, "capacity": 1 << 20, "used": 0, "requested": 0,
            "largest_free": 1, "reserved": 1 << 20, "allocations": 0, "alignment_waste": 0, "blocks": 1 },
        "blocks": [{ "number": 0, "size": 1 << 20, "used": 0 }],
    });
    let report = serde_json::json!({
        "stats": { "frames": frames, "live_objects": buffers.len(), "reserved": 1 << 20 },
        "memory": { "heaps": [{ "size": 1 << 30 }], "types": [{ "heap": 0 }] },
        "pools": [pool],
        "objects": objects.collect::<Vec<_>>(),
    });
    report.to_string() + "\n"
}

/// An object existed before or is new, but never both, for any file.
#[test]
fn an_object_of_a_snapshot_is_either_old_or_new() {
    let places = |lines: &[String]| {
        let history = read_snapshots(lines.concat().as_bytes(), "lines").unwrap();
        let all = history.objects.iter();
        all.map(|it| (it.born, it.released != NEVER, it.origin)).collect::<Vec<_>>()
    };
    let (gone, there) = (true, false);
    let before = line_of(5, &[(1, "a", 0)]);
    let moved = line_of(6, &[(1, "a", 1000)]);
    assert_eq!(places(&[before.clone(), moved.clone()]), [(1, gone, None), (2, there, Some(0))]);
    // Another program has started, whose objects have the same numbers.
    let restarted = line_of(1, &[(1, "a", 1000)]);
    assert_eq!(places(&[before.clone(), restarted]), [(1, gone, None), (2, there, None)]);
    let other = line_of(6, &[(1, "b", 1000)]);
    assert_eq!(places(&[before.clone(), other]), [(1, gone, None), (2, there, None)]);
    // One of two that have the same number stays.
    let twice = line_of(6, &[(1, "a", 0), (1, "a", 1000)]);
    assert_eq!(places(&[before, twice.clone()]), [(1, there, None), (2, there, None)]);
    let both = line_of(7, &[(1, "a", 2000), (1, "a", 3000)]);
    let mut origins: Vec<_> = places(&[twice, both])[2..].iter().map(|place| place.2).collect();
    origins.sort_unstable();
    assert_eq!(origins, [Some(0), Some(1)]);
}
