//! The measurements as a table.

use std::fmt;

use super::figures::Times;
use crate::script::Script;
use crate::table::{row, table};
use crate::timing::Percentiles;

/// One recording, played to one allocator.
pub(super) struct Line {
    recording: String,
    peer: &'static str,
    /// Of each call its median, in nanoseconds.
    allocations: Vec<u32>,
    frees: Vec<u32>,
    /// The most bytes of all blocks.
    reserved: u64,
    /// The most bytes that live at once.
    live: u64,
}

impl Line {
    pub(super) fn new(script: &Script, peer: &'static str, times: &Times) -> Self {
        Self {
            recording: script.name.clone(),
            peer,
            allocations: times.allocations(),
            frees: times.frees(),
            reserved: times.peak_reserved,
            live: script.peak_bytes,
        }
    }
}

pub(super) struct Report {
    /// Nanoseconds that the clock takes, which are taken off.
    clock: u32,
    pub(super) lines: Vec<Line>,
}

impl Report {
    pub(super) const fn new(clock: u32) -> Self {
        Self { clock, lines: Vec::new() }
    }

    /// All calls of all recordings together, and the sums of their peaks.
    pub(super) fn all(&self, peer: &'static str) -> Line {
        let lines = || self.lines.iter().filter(|line| line.peer == peer);
        Line {
            recording: "all".to_owned(),
            peer,
            allocations: lines().flat_map(|line| line.allocations.iter().copied()).collect(),
            frees: lines().flat_map(|line| line.frees.iter().copied()).collect(),
            reserved: lines().map(|line| line.reserved).sum(),
            live: lines().map(|line| line.live).sum(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "recording",
            "peer",
            "allocate, ns: p50",
            "p99",
            "p99.99",
            "free, ns: p50",
            "p99",
            "p99.99",
            "reserved / live",
        ];
        let rows = self.lines.iter().map(|line| {
            let [allocate, free] = [&line.allocations, &line.frees].map(|times| {
                let Percentiles { p50, p99, p9999, .. } = Percentiles::of(times.clone());
                row![p50, p99, p9999]
            });
            let reserved = format!("{:.3}", line.reserved as f64 / line.live as f64);
            [row![line.recording, line.peer], allocate, free, row![reserved]].concat()
        });
        write!(f, "The clock's own {} ns are taken off each call.\n\n{}", self.clock, table(&header, rows))
    }
}
