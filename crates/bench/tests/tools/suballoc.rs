//! The suite of suballocators, as a user runs it.

use crate::program::{refused, rows, succeeded};

#[test]
fn every_table_has_its_figures() {
    let arguments = ["suballoc", "--short", "--rounds", "1", "--workload", "W4"];
    let peers = ["--only", "General", "--only", "Ring", "--only", "offset", "--only", "best fit"];
    let said = succeeded(&[&arguments[..], &peers].concat());
    let figure = |title: &str, peer: &str| -> Option<f64> {
        let (_, after) = said.split_once(title)?;
        let table = after.split("\n\n").nth(1)?;
        rows(table).into_iter().find(|row| row[0] == peer)?[1].parse().ok()
    };
    assert!(figure("one range: nanoseconds per call", "Ring").is_some_and(|time| time > 0.0), "{said}");
    assert!(figure("many blocks: nanoseconds per call", "GeneralBlocks").is_some_and(|time| time > 0.0));
    assert_eq!(figure("allocations that failed", "General"), Some(0.0));
    assert!(figure("one range: smallest", "General").is_some_and(|part| (1.0..1.2).contains(&part)));
    assert!(figure("many blocks: most bytes reserved", "GeneralBlocks").is_some_and(|part| part >= 1.0));
    assert!(figure("metadata when the most is live", "offset-allocator").is_some_and(|bytes| bytes > 100.0));
    assert!(figure("opening a block of 64 MiB", "GeneralBlocks").is_some(), "{said}");
}

#[test]
fn invalid_arguments_are_refused() {
    assert!(refused(&["suballoc", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["suballoc", "--workload", "W8"]).contains("W8"));
    assert!(refused(&["suballoc", "--rounds", "0"]).contains("rounds"));
    assert!(refused(&["suballoc", "--seed", "one"]).contains("seed"));
    assert!(refused(&["instructions", "--only", "jemalloc"]).contains("jemalloc"));
    assert!(refused(&["instructions", "--replay", "jemalloc"]).contains("jemalloc"));
}
