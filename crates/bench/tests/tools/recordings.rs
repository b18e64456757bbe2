//! Recordings, replayed and compacted as a user does it.

use crate::program::{recording, refused, rows, succeeded};

const PEERS: usize = if cfg!(windows) { 3 } else { 4 };

#[test]
fn every_peer_has_a_row_for_each_recording_and_for_all() {
    let (shadow, water) = (recording("wgpu-ex-shadow"), recording("wgpu-ex-water"));
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

/// The command fails if allocations of any peer overlap or are misaligned.
#[test]
fn compaction_shrinks_pools_with_few_moves() {
    let said = succeeded(&["compact", "--rounds", "1", "--only", "HeapPools", "--only", "fast"]);
    let rows = rows(&said).into_iter().filter(|row| row[1] == "HeapPools");
    assert_eq!(rows.clone().count(), 12, "{said}");
    for row in rows {
        let figure = |column: usize| row[column].parse::<f64>().unwrap();
        let [before, after] = [figure(3), figure(4)];
        assert!(after <= before && figure(6) <= 1.0, "{row:?}");
        assert_eq!(row[9], "0", "{row:?}");
        // A layout that is sparse and large enough to be worth it ends dense.
        let (number, _) = row[2].split_once(',').unwrap();
        if number.parse::<u32>().unwrap() > 1000 {
            assert!(figure(5) < 0.5 && figure(6) >= 0.95, "{row:?}");
        }
    }
}

#[test]
fn invalid_arguments_are_refused() {
    assert!(refused(&["recordings", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["recordings", "/no/such/file.csv"]).contains("/no/such/file.csv"));
    assert!(refused(&["recordings", "--rounds", "0"]).contains("rounds"));
}
