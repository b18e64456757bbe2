//! Compaction, as a user measures it.

use std::path::Path;

use serde_json::Value;

use crate::program::{refused, succeeded};

#[test]
fn nothing_moves_in_vain_and_little_is_left_over() {
    let water = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/wgpu-ex-water.csv.gz");
    let water = water.display().to_string();
    let said = succeeded(&["compact", "--json", "--rounds", "1", "--only", "HeapPools", &water]);
    let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let lines = value.as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(lines.len(), 4, "{said}");
    for line in lines {
        let number = |name: &str| line[name].as_u64().unwrap_or(u64::MAX);
        assert!(number("reserved_after_bytes") <= number("reserved_before_bytes"), "{line}");
        assert!(number("live_bytes") <= number("reserved_after_bytes"), "{line}");
        assert_eq!(number("wasted_moves"), 0, "{line}");
        assert!(number("moved_bytes") == 0 || number("minimum_bytes") > 0, "{line}");
        // What is sparse and large enough to be worth it ends dense.
        let share = |reserved| number("live_bytes") as f64 / reserved as f64;
        if number("allocations") > 1000 {
            assert!(share(number("reserved_before_bytes")) < 0.5, "{line}");
            assert!(share(number("reserved_after_bytes")) >= 0.95, "{line}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(refused(&["compact", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["compact", "/no/such/file.csv"]).contains("/no/such/file.csv"));
    assert!(refused(&["compact", "--rounds", "0"]).contains("rounds"));
}
