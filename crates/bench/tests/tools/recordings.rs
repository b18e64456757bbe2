//! Recordings, replayed as a user does it.

use std::path::Path;

use crate::program::{refused, rows, succeeded};

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
fn every_peer_has_a_row_for_each_recording_and_for_all() {
    let file = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name).display().to_string()
    };
    let (shadow, water) = (file("wgpu-ex-shadow.csv.gz"), file("wgpu-ex-water.csv.gz"));
    let said = succeeded(&["recordings", "--rounds", "3", &shadow, &water]);
    let rows = rows(&said);
    assert_eq!(rows.len(), 3 * PEERS, "{said}");
    for row in rows {
        let figure = |column: usize| row[column].parse::<f64>().unwrap();
        for first in [2, 5] {
            assert!(figure(first) <= figure(first + 1) && figure(first + 1) <= figure(first + 2), "{row:?}");
        }
        assert!(figure(8) >= 1.0, "{row:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(refused(&["recordings", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["recordings", "/no/such/file.csv"]).contains("/no/such/file.csv"));
    assert!(refused(&["recordings", "--rounds", "0"]).contains("rounds"));
}
