//! What compaction came to, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::Outcome;

/// One layout, compacted by one allocator.
pub(super) struct Line {
    layout: String,
    peer: &'static str,
    outcome: Outcome,
}

impl Line {
    /// The rounds differ in their times alone: of each frame the median counts. `None` if there are no rounds.
    pub(super) fn new(layout: &str, peer: &'static str, rounds: Vec<Outcome>) -> Option<Self> {
        let frames = rounds.iter().map(|round| round.frames.times.len()).min()?;
        let median = |frame: usize| {
            let mut times: Vec<_> = rounds.iter().map(|round| round.frames.times[frame]).collect();
            times.sort_unstable();
            times[times.len() / 2]
        };
        let times = (0..frames).map(median).collect();
        let mut outcome = rounds.into_iter().next()?;
        outcome.frames.times = times;
        Some(Self { layout: layout.to_owned(), peer, outcome })
    }

    fn live_share(&self, reserved: u64) -> f64 {
        self.outcome.live as f64 / reserved.max(1) as f64
    }

    /// Bytes moved over the least that empties as many blocks; 1 where nothing had to move and nothing did.
    fn over_minimum(&self) -> f64 {
        match (self.outcome.frames.bytes, self.outcome.minimum) {
            (0, 0) => 1.0,
            (bytes, minimum) => bytes as f64 / minimum as f64,
        }
    }

    fn worst(&self) -> f64 {
        f64::from(self.outcome.frames.times.iter().copied().max().unwrap_or(0)) / 1000.0
    }

    fn total(&self) -> f64 {
        self.outcome.frames.times.iter().map(|time| f64::from(*time)).sum::<f64>() / 1000.0
    }

    fn to_json(&self) -> Value {
        let Outcome { allocations, live, reserved_before, reserved_after, frames, minimum } = &self.outcome;
        json!({
            "layout": self.layout,
            "peer": self.peer,
            "allocations": allocations,
            "live_bytes": live,
            "reserved_before_bytes": reserved_before,
            "reserved_after_bytes": reserved_after,
            "moves": frames.moves,
            "moved_bytes": frames.bytes,
            "minimum_bytes": minimum,
            "frames": frames.times.len(),
            "worst_frame_us": self.worst(),
            "all_frames_us": self.total(),
        })
    }
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) lines: Vec<Line>,
}

impl Report {
    pub(super) fn to_json(&self) -> Value {
        Value::Array(self.lines.iter().map(Line::to_json).collect())
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "layout",
            "peer",
            "live: number, MiB",
            "reserved, MiB: before",
            "after",
            "live/reserved: before",
            "after",
            "moved, MiB",
            "over the least",
            "frames",
            "worst frame, µs",
            "all, µs",
        ]);
        for line in &self.lines {
            let outcome = &line.outcome;
            table.add_row([
                line.layout.clone(),
                line.peer.to_owned(),
                format!("{}, {}", outcome.allocations, mib(outcome.live)),
                mib(outcome.reserved_before),
                mib(outcome.reserved_after),
                format!("{:.3}", line.live_share(outcome.reserved_before)),
                format!("{:.3}", line.live_share(outcome.reserved_after)),
                mib(outcome.frames.bytes),
                format!("{:.2}", line.over_minimum()),
                outcome.frames.times.len().to_string(),
                format!("{:.0}", line.worst()),
                format!("{:.0}", line.total()),
            ]);
        }
        write!(f, "{table}")
    }
}
