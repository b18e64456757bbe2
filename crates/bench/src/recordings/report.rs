//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::figures::{Percentiles, Times};
use super::script::Script;

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

    fn reserved_over_live(&self) -> f64 {
        self.reserved as f64 / self.live as f64
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

    pub(super) fn to_json(&self) -> Value {
        let spread = |times: &[u32]| {
            let Percentiles { p50, p99, p9999 } = Percentiles::of(times.to_vec());
            json!({ "calls": times.len(), "p50_ns": p50, "p99_ns": p99, "p99_99_ns": p9999 })
        };
        let line = |line: &Line| {
            json!({
                "recording": line.recording, "peer": line.peer, "allocate": spread(&line.allocations),
                "free": spread(&line.frees), "reserved_bytes": line.reserved, "live_bytes": line.live,
                "reserved_over_live": line.reserved_over_live(),
            })
        };
        json!({ "clock_ns": self.clock, "lines": self.lines.iter().map(line).collect::<Vec<_>>() })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "recording",
            "peer",
            "allocate, ns: p50",
            "p99",
            "p99.99",
            "free, ns: p50",
            "p99",
            "p99.99",
            "reserved / live",
        ]);
        for line in &self.lines {
            let [allocate, free] = [&line.allocations, &line.frees].map(|times| {
                let Percentiles { p50, p99, p9999 } = Percentiles::of(times.clone());
                [p50, p99, p9999].map(|time| time.to_string())
            });
            let mut row = vec![line.recording.clone(), line.peer.to_owned()];
            row.extend(allocate);
            row.extend(free);
            row.push(format!("{:.3}", line.reserved_over_live()));
            table.add_row(row);
        }
        write!(f, "The clock's own {} ns are taken off each call.\n\n{table}", self.clock)
    }
}
