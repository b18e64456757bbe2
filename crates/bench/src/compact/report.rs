//! What compaction came to, as a table, and whether tenure's targets are met.

use std::fmt;

use super::Outcome;
use crate::table::{mib, row, table};
use crate::timing::median;

/// Bytes moved over the least, at most.
const OVER_MINIMUM: f64 = 1.15;
/// The part of what is reserved that lives afterwards, at least, on the made layouts.
const LIVE_SHARE: f64 = 0.95;
/// Microseconds that the worst frame takes at most, with so many allocations.
const WORST: (f64, usize) = (200.0, 20_000);

/// A target, and what was measured.
struct Target {
    what: &'static str,
    is_met: bool,
    /// It does not depend on the machine.
    is_exact: bool,
}

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
        let of_frame = |frame: usize| median(rounds.iter().map(|round| round.frames.times[frame]).collect());
        let times = (0..frames).filter_map(of_frame).collect();
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

    /// The targets, which are tenure's.
    fn targets(&self) -> Vec<Target> {
        let Outcome { is_made, allocations, reserved_after, ref frames, .. } = self.outcome;
        let Some(wasted) = frames.wasted else { return Vec::new() };
        let exact = |what, is_met| Target { what, is_met, is_exact: true };
        let mut targets = vec![
            exact("bytes moved", self.over_minimum() <= OVER_MINIMUM),
            exact("wasted moves", wasted == 0),
        ];
        if is_made {
            targets.push(exact("live/reserved", self.live_share(reserved_after) >= LIVE_SHARE));
        }
        if allocations <= WORST.1 {
            targets.push(Target { what: "time", is_met: self.worst() <= WORST.0, is_exact: false });
        }
        targets
    }

    fn missed(&self) -> Vec<&'static str> {
        self.targets().into_iter().filter(|target| !target.is_met).map(|target| target.what).collect()
    }

    fn verdict(&self) -> String {
        match (self.targets().as_slice(), self.missed().as_slice()) {
            ([], _) => String::new(),
            (_, []) => "met".to_owned(),
            (_, missed) => format!("missed: {}", missed.join(", ")),
        }
    }
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) lines: Vec<Line>,
}

impl Report {
    /// How many targets are missed that do not depend on the machine.
    pub(super) fn missed(&self) -> usize {
        let targets = self.lines.iter().flat_map(Line::targets);
        targets.filter(|target| target.is_exact && !target.is_met).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "layout",
            "peer",
            "live: number, MiB",
            "reserved, MiB: before",
            "after",
            "live/reserved: before",
            "after",
            "moved, MiB",
            "over the least",
            "wasted moves",
            "frames",
            "worst frame, µs",
            "all, µs",
            "targets",
        ];
        let rows = self.lines.iter().map(|line| {
            let outcome = &line.outcome;
            row![
                line.layout,
                line.peer,
                format!("{}, {}", outcome.allocations, mib(outcome.live)),
                mib(outcome.reserved_before),
                mib(outcome.reserved_after),
                format!("{:.3}", line.live_share(outcome.reserved_before)),
                format!("{:.3}", line.live_share(outcome.reserved_after)),
                mib(outcome.frames.bytes),
                format!("{:.2}", line.over_minimum()),
                outcome.frames.wasted.map_or_else(|| "?".to_owned(), |wasted| wasted.to_string()),
                outcome.frames.times.len(),
                format!("{:.0}", line.worst()),
                format!("{:.0}", line.total()),
                line.verdict(),
            ]
        });
        let (worst, allocations) = WORST;
        write!(
            f,
            "{}\n\nTargets, for HeapPools: over the least at most {OVER_MINIMUM}; no wasted move; live/reserved at \
             least {LIVE_SHARE} on the first two layouts; up to {allocations} allocations the worst frame at most {worst} µs, \
             which does not count as missed when the command fails",
            table(&header, rows)
        )
    }
}
