//! The outcomes as tables, and whether the targets are met.

use super::trace::Outcome;
use crate::Result;
use crate::table::{all_met, met, table};

/// One scenario.
pub(super) struct Line {
    pub(super) scenario: &'static str,
    pub(super) has_target: bool,
    /// The least bytes paged in.
    pub(super) bound: u64,
    /// Each player with its outcome, tenure first.
    pub(super) players: [(&'static str, Outcome); 4],
}

impl Line {
    /// The targets that tenure misses: bytes paged in at most 1.3 times the bound, and no more than the best
    /// baseline; of these less than 10 % not used; never over the budget while a block could be evicted.
    pub(super) fn missed(&self) -> Vec<String> {
        let [(_, Outcome { bytes_in, unused, over, .. }), baselines @ ..] = self.players;
        let mut missed = Vec::new();
        if u128::from(bytes_in) * 10 > u128::from(self.bound) * 13 {
            missed.push("1.3 × Belady".to_owned());
        }
        let best = baselines.iter().min_by_key(|(_, outcome)| outcome.bytes_in);
        if let Some((player, _)) = best.filter(|(_, best)| bytes_in > best.bytes_in) {
            missed.push(format!("{player} pages less"));
        }
        if unused > 0 && unused * 10 >= bytes_in {
            missed.push("collateral".to_owned());
        }
        if over > 0 {
            missed.push("over budget".to_owned());
        }
        missed.retain(|_| self.has_target);
        missed
    }

    fn rows(&self) -> impl Iterator<Item = String> {
        let verdict = match &self.missed()[..] {
            _ if !self.has_target => "–".to_owned(),
            [] => "met".to_owned(),
            missed => format!("missed: {}", missed.join(", ")),
        };
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let first = [self.scenario.to_owned(), format!("{:.0}", mib(self.bound)), verdict];
        let firsts = std::iter::once(first).chain(std::iter::repeat([const { String::new() }; 3]));
        self.players.iter().zip(firsts).map(move |((player, outcome), [scenario, bound, verdict])| {
            let Outcome { bytes_in, unused, stalled, waits, over } = *outcome;
            let of_bound = match (bytes_in, self.bound) {
                (0, 0) => "1.00".to_owned(),
                (_, 0) => "∞".to_owned(),
                (bytes, bound) => format!("{:.2}", bytes as f64 / bound as f64),
            };
            let unused = unused as f64 / bytes_in.max(1) as f64 * 100.0;
            let (paged, stalled) = (mib(bytes_in), stalled as f64 / 1e6);
            let over = over as f64 / 1e9 / f64::from(1 << 20);
            format!(
                "{scenario} | {bound} | {player} | {paged:.0} | {of_bound} | {unused:.0} % | {stalled:.1} | {waits} | \
                 {over:.2} | {verdict}"
            )
        })
    }
}

/// A figure, beside its target.
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) value: f64,
    pub(super) target: f64,
    /// Whether it is the same in each run, so that a miss is an error.
    pub(super) is_exact: bool,
}

impl Figure {
    pub(super) fn is_met(&self) -> bool {
        self.value <= self.target
    }
}

/// Prints everything.
///
/// # Errors
/// A target is missed that does not depend on the machine.
pub(super) fn print(lines: &[Line], figures: &[Figure]) -> Result {
    let header = "scenario | Belady (MiB) | policy | paged in (MiB) | of Belady | not used | stalled (ms) | CPU waits | \
                  over budget (MiB s) | targets";
    println!("{}\n", table(header, lines.iter().flat_map(Line::rows)));
    let rows = figures.iter().map(|figure| {
        let Figure { what, value, target, .. } = figure;
        format!("{what} | {value:.2} | ≤ {target} | {}", met(figure.is_met()))
    });
    println!("{}", table("measured | median | target | targets", rows));
    let missed = figures.iter().filter(|figure| figure.is_exact && !figure.is_met());
    all_met(lines.iter().map(|line| line.missed().len()).sum::<usize>() + missed.count())
}
