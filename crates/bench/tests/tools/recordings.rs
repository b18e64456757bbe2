//! Recordings, replayed as a user does it.

use std::path::Path;

use serde_json::Value;

use crate::program::{refused, succeeded};

const PEERS: usize = if cfg!(windows) { 4 } else { 5 };

#[test]
fn no_peer_lets_allocations_overlap_on_any_recording() {
    let said = succeeded(&["recordings", "--check"]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let recordings = files.flatten().filter(|file| file.path().extension().is_some_and(|it| it == "gz"));
    assert_eq!(said.lines().count(), recordings.count() * PEERS, "{said}");
    assert!(!said.contains(": 0 allocations"), "{said}");
}

#[test]
fn the_json_has_every_peer_on_every_recording_and_on_all() {
    let file = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name).display().to_string()
    };
    let (shadow, water) = (file("wgpu-ex-shadow.csv.gz"), file("wgpu-ex-water.csv.gz"));
    let said = succeeded(&["recordings", "--json", "--rounds", "3", &shadow, &water]);
    let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let lines = value["lines"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(lines.len(), 3 * PEERS);
    for line in lines {
        let number = |group: &str, name: &str| line[group][name].as_u64().unwrap_or(u64::MAX);
        for group in ["allocate", "free"] {
            assert!(number(group, "calls") > 0, "{line}");
            assert!(number(group, "p50_ns") <= number(group, "p99_ns"), "{line}");
            assert!(number(group, "p99_ns") <= number(group, "p99_99_ns"), "{line}");
        }
        assert!(line["reserved_over_live"].as_f64().is_some_and(|part| part >= 1.0), "{line}");
    }
    let of = |recording: &str, name: &str| {
        let is_it = |line: &&Value| line["recording"] == recording && line["peer"] == "HeapPools";
        lines.iter().find(is_it).and_then(|line| line[name].as_u64()).unwrap_or(0)
    };
    let sum = of("wgpu-ex-shadow", "live_bytes") + of("wgpu-ex-water", "live_bytes");
    assert_eq!(of("all", "live_bytes"), sum);
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(refused(&["recordings", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["recordings", "/no/such/file.csv"]).contains("/no/such/file.csv"));
    assert!(refused(&["recordings", "--rounds", "0"]).contains("rounds"));
    assert!(refused(&["recordings", "--check", "--json"]).contains("--json"));
}
