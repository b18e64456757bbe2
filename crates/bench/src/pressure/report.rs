//! The outcomes as tables, and whether the targets are met.

use std::fmt;

use super::measure::Figure;
use super::trace::Outcome;
use crate::table::{row, table};

/// What one player did in a scenario.
pub(super) struct Played {
    pub(super) player: &'static str,
    pub(super) outcome: Outcome,
}

/// One scenario.
pub(super) struct Line {
    pub(super) scenario: &'static str,
    pub(super) has_target: bool,
    /// The least bytes paged in.
    pub(super) bound: u64,
    pub(super) tenure: Outcome,
    pub(super) baselines: Vec<Played>,
}

impl Line {
    /// The targets that tenure misses: bytes paged in at most 1.3 times the bound, and no more than the best baseline;
    /// of these less than 10 % not used; never over the budget while something could have left.
    pub(super) fn missed(&self) -> Vec<String> {
        if !self.has_target {
            return Vec::new();
        }
        let mut missed = Vec::new();
        let Outcome { bytes_in, unused, over, .. } = self.tenure;
        if u128::from(bytes_in) * 10 > u128::from(self.bound) * 13 {
            missed.push("1.3 × Belady".to_owned());
        }
        let best = self.baselines.iter().min_by_key(|played| played.outcome.bytes_in);
        if let Some(best) = best.filter(|best| bytes_in > best.outcome.bytes_in) {
            missed.push(format!("{} pages less", best.player));
        }
        if unused > 0 && unused * 10 >= bytes_in {
            missed.push("collateral".to_owned());
        }
        if over > 0 {
            missed.push("over budget".to_owned());
        }
        missed
    }

    fn players(&self) -> impl Iterator<Item = (&'static str, Outcome)> {
        let baselines = self.baselines.iter().map(|played| (played.player, played.outcome));
        std::iter::once(("tenure", self.tenure)).chain(baselines)
    }

    fn verdict(&self) -> String {
        match self.missed().as_slice() {
            _ if !self.has_target => "–".to_owned(),
            [] => "met".to_owned(),
            missed => format!("missed: {}", missed.join(", ")),
        }
    }
}

pub(super) struct Report {
    pub(super) lines: Vec<Line>,
    pub(super) figures: Vec<Figure>,
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn ratio(bytes: u64, bound: u64) -> String {
    match (bytes, bound) {
        (0, 0) => "1.00".to_owned(),
        (_, 0) => "∞".to_owned(),
        _ => format!("{:.2}", bytes as f64 / bound as f64),
    }
}

impl Report {
    /// How many targets are missed that do not depend on the machine.
    pub(super) fn missed(&self) -> usize {
        let figures = self.figures.iter().filter(|figure| figure.is_exact && !figure.is_met());
        self.lines.iter().map(|line| line.missed().len()).sum::<usize>() + figures.count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "scenario",
            "Belady (MiB)",
            "policy",
            "paged in (MiB)",
            "of Belady",
            "not used",
            "stalled (ms)",
            "CPU waits",
            "over budget (MiB s)",
            "targets",
        ];
        let mut rows = Vec::new();
        for line in &self.lines {
            for (number, (player, outcome)) in line.players().enumerate() {
                let first = |text: String| if number == 0 { text } else { String::new() };
                let unused = outcome.unused as f64 / outcome.bytes_in.max(1) as f64;
                rows.push(row![
                    first(line.scenario.to_owned()),
                    first(format!("{:.0}", mib(line.bound))),
                    player,
                    format!("{:.0}", mib(outcome.bytes_in)),
                    ratio(outcome.bytes_in, line.bound),
                    format!("{:.0} %", unused * 100.0),
                    format!("{:.1}", outcome.stalled as f64 / 1e6),
                    outcome.waits,
                    format!("{:.2}", outcome.over as f64 / 1e9 / f64::from(1 << 20)),
                    first(line.verdict()),
                ]);
            }
        }
        writeln!(f, "{}\n", table(&header, rows))?;
        let rows = self.figures.iter().map(|figure| {
            let (value, target) = (format!("{:.2}", figure.value), format!("≤ {}", figure.target));
            row![figure.what, value, target, if figure.is_met() { "met" } else { "missed" }]
        });
        write!(f, "{}", table(&["measured", "median", "target", "targets"], rows))
    }
}
