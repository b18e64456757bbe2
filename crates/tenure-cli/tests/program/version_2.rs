//! Recordings of version 2: profiles, final frees, real images, and memory that tenure does not place.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tenure_trace::{Details, Encoding, Event, Header, Kind, Layout, MemoryKind, TraceWriter};

use crate::running::{objects, run, run_with_input, status, stderr, stdout};

const CAPTURED: &str = "#tenure-recording=2\n\
    #api=vulkan\n\
    #program=game\n\
    op,id,size,align,kind,frame,more\n\
    block,1,4194304,,,0,type=0\n\
    block,2,3145728,,,0,import\n\
    alloc,1,1048576,65536,gpu_only+optimal,0,block=1 extent=512x512x1 format=37 usage=0x6\n\
    alloc,2,3145728,4096,cpu_to_gpu+linear,0,block=2 import\n\
    alias,3,65536,256,gpu_only+linear,0,of=1\n\
    alloc,4,100,4,cpu_to_gpu+linear,0,\n\
    submit,1,,,,0,\n\
    frame,,,,,1,\n\
    done,1,,,,1,\n\
    free,1,1048576,,,1,final\n\
    free,3,65536,,,1,final\n\
    frame,,,,,2,\n\
    free,4,100,,,2,final\n\
    free,2,3145728,,,2,final\n\
    unblock,1,4194304,,,2,\n";

fn replayed(text: &[u8], more: &[&str]) -> Value {
    let args = [&["replay", "-", "--json", "--strategy", "committed"], more].concat();
    let output = run_with_input(&args, text);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    objects(&output).remove(0)
}

#[test]
fn the_profile_is_that_of_the_recording() {
    let profile = |header: &str, more: &[&str]| {
        let text = CAPTURED.replace("#api=vulkan\n", header);
        replayed(text.as_bytes(), more)["profile"].as_str().unwrap().to_owned()
    };
    assert_eq!(profile("", &[]), "d3d12-tier2");
    assert_eq!(profile("#api=vulkan\n", &[]), "vulkan-nvidia");
    assert_eq!(profile("#api=d3d12\n", &[]), "d3d12-tier2");
    assert_eq!(profile("#api=metal\n", &[]), "d3d12-tier2");
    assert_eq!(profile("#api=vulkan\n#profile=vulkan-mobile\n", &[]), "vulkan-mobile");
    assert_eq!(profile("#api=vulkan\n#profile=abacus\n", &[]), "vulkan-nvidia");
    assert_eq!(profile("#profile=vulkan-intel\n", &["--profile", "d3d12-uma"]), "d3d12-uma");
}

#[test]
fn foreign_memory_is_counted_and_left_out() {
    let outcome = replayed(CAPTURED.as_bytes(), &[]);
    assert_eq!((&outcome["ops"], &outcome["peak_live_bytes"]), (&4.into(), &1_048_676.into()));
    let expected = serde_json::json!({
        "own_peak_reserved_bytes": 4_194_304,
        "own_driver_allocations": 1,
        "own_peak_driver_allocations": 1,
        "aliases": 1,
        "imports": 1,
    });
    assert_eq!(outcome["recorded"], expected);
    let table = stdout(&run_with_input(&["replay", "-"], CAPTURED.as_bytes()));
    for wanted in [
        "peak reserved by the program itself (MiB)",
        "By itself the program reserved 4.0 MiB at its peak (driver allocations: 1, at once 1).",
        "Resources without memory of their own are left out (aliases: 1, imports: 1).",
    ] {
        assert!(table.contains(wanted), "{wanted} in {table}");
    }
    let plain = stdout(&run_with_input(&["replay", "-"], crate::running::TINY.as_bytes()));
    assert!(!plain.contains("itself") && !plain.contains("left out"), "{plain}");
}

#[test]
fn images_have_the_size_of_the_replaying_device() {
    let own = replayed(CAPTURED.as_bytes(), &[]);
    let same = replayed(CAPTURED.as_bytes(), &["--profile", "vulkan-nvidia"]);
    assert_eq!(own["peak_live_bytes"], same["peak_live_bytes"]);
    // No device has this size for the image.
    let text = CAPTURED.replace("1048576", "3000000");
    let live = |more: &[&str]| replayed(text.as_bytes(), more)["peak_live_bytes"].as_u64().unwrap();
    assert_eq!(live(&[]), 3_000_100);
    assert_eq!(live(&["--profile", "d3d12-tier2"]), 1_048_676);
}

/// Frames that each allocate and free 3 MiB; with `is_final` all frees are final.
fn frames(is_final: bool) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), Encoding::Gzip).unwrap();
    let mut header = Header::default();
    header.set("api", "vulkan");
    writer.set_header(header).unwrap();
    let (size, align, kind) = (3 << 20, 256, Kind::new(MemoryKind::GpuOnly, Layout::Linear));
    let details = Details { is_final, ..Details::default() };
    for id in 0..40 {
        writer.event(&Event::Alloc { id, size, align, kind, frame: id }).unwrap();
        writer.event(&Event::Frame { number: id + 1 }).unwrap();
        writer.event_with(&Event::Free { id, size, frame: id + 1 }, &details).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn final_frees_take_effect_at_once() {
    let peak = |is_final, more: &[&str]| {
        let outcome = replayed(&frames(is_final), more);
        outcome["peak_reserved_bytes"].as_u64().unwrap() >> 20
    };
    assert_eq!(peak(true, &[]), 3);
    assert_eq!(peak(false, &["--frames-in-flight", "0"]), 3);
    assert!(peak(false, &[]) >= 6, "they wait for the GPU");
}

#[test]
fn every_command_reads_version_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, other) = (path("game.tenure"), path("other.tenure.gz"));
    fs::write(&file, CAPTURED).unwrap();
    fs::write(&other, frames(true)).unwrap();
    let compared = run(&["compare", &file, &other, "--json", "--frames-in-flight", "0"]);
    assert_eq!((status(&compared), stderr(&compared)), (0, String::new()));
    assert_eq!(objects(&compared)[0]["a"]["profile"], "vulkan-nvidia");
    let tuned = run(&["tune", &file, "--runs", "6", "--json", "--frames-in-flight", "0"]);
    assert_eq!((status(&tuned), stderr(&tuned)), (0, String::new()));
    assert_eq!(objects(&tuned)[0]["profile"], "vulkan-nvidia");
    if cfg!(feature = "report") {
        for (option, name) in [("--html", "page.html"), ("--perfetto", "trace")] {
            let output = run(&["report", &file, option, &path(name)]);
            assert_eq!((status(&output), stderr(&output)), (0, String::new()));
            assert!(fs::metadata(path(name)).unwrap().len() > 100);
        }
    }
    let damaged = run_with_input(&["replay", "-"], CAPTURED.replace("of=1", "of=9").as_bytes());
    assert_eq!((status(&damaged), stdout(&damaged)), (2, String::new()));
    assert_eq!(stderr(&damaged).trim_end(), "stdin:9: alias of id 9, which is not live");
}

/// The recordings of whole programs keep their documented memory, and their README is right.
#[test]
fn recorded_programs_take_less_memory_than_by_themselves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/programs");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let rows: Vec<_> = readme.lines().filter(|line| line.starts_with("| `")).collect();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "gz")).count();
    assert_eq!((files, rows.len()), (3, 3));
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let file = folder.join(cells[1].trim_matches('`'));
        let [own, pooled, committed] =
            [4, 5, 6].map(|cell| cells[cell].replace(',', "").parse::<u64>().unwrap());
        for (strategy, reserved) in [("pooled", pooled), ("committed", committed)] {
            let file = file.to_str().unwrap();
            let output = run(&["replay", file, "--json", "--frames-in-flight", "0", "--strategy", strategy]);
            assert_eq!((status(&output), stderr(&output)), (0, String::new()));
            let outcome = objects(&output).remove(0);
            let number = |field: &str| outcome[field].as_u64().unwrap();
            assert_eq!((number("hazards"), number("failed"), number("leaks")), (0, 0, 0), "{row}");
            assert_eq!(number("peak_reserved_bytes"), reserved, "{row}");
            assert_eq!(outcome["recorded"]["own_peak_reserved_bytes"], own, "{row}");
        }
        assert!(pooled < own && pooled * 10 <= committed * 11, "{row}");
    }
}
