//! Residency under memory pressure: what tenure and other policies page in, scenario by scenario.
//!
//! Each scenario is a trace, which says frame by frame what is created, used and dropped, and what the
//! operating system grants. Tenure plays it on the simulated device; the others are policies written anew
//! from their descriptions, on a model of the same card. What any policy pages in at least is
//! Belady's bound.

mod baselines;
mod belady;
mod managed;
mod measure;
mod model;
mod report;
mod returning;
mod scenarios;
mod small;
#[cfg(test)]
mod tests;
mod trace;

use baselines::{Clock, LeastRecentlyUsed, Nothing};
use report::{Line, Played, Report};
use scenarios::Length;
use trace::Trace;

/// Laps, or rounds, of each scenario.
const LAPS: usize = 12;
/// Rounds of each measurement of time; the result is their median.
const ROUNDS: u32 = 101;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Submissions for which the operating system lets a program exceed its budget before it moves memory out.
    #[arg(long, default_value_t = trace::DEMOTION_DELAY)]
    pub demotion_delay: u64,
}

/// Plays the scenarios and prints the outcomes.
///
/// # Errors
/// A target is missed; the errors of the manager.
pub fn run(args: &Args) -> Result<(), String> {
    let length = Length(LAPS);
    let mut lines = Vec::new();
    let free = [
        scenarios::wandering(length),
        scenarios::random(1, 60, 200 * length.0),
        small::in_order_of_map(length),
        small::in_other_order(length),
    ];
    let all = scenarios::all(length).into_iter().map(|trace| (trace, true));
    for (mut trace, has_target) in all.chain(free.map(|trace| (trace, false))) {
        trace.demotion_delay = args.demotion_delay;
        lines.push(play(&trace, has_target)?);
    }
    let mut figures = measure::all(ROUNDS).map_err(|error| error.to_string())?;
    figures.extend(returning::all().map_err(|error| error.to_string())?);
    let report = Report { lines, figures };
    println!("{report}");
    let missed = report.missed();
    if missed == 0 { Ok(()) } else { Err(format!("{missed} targets are missed")) }
}

/// Has all players play a trace.
fn play(trace: &Trace, has_target: bool) -> Result<Line, String> {
    let baselines = vec![
        Played { player: "none", outcome: baselines::play(trace, &mut Nothing) },
        Played {
            player: "D3DX12Residency",
            outcome: baselines::play(trace, &mut LeastRecentlyUsed::new(trace)),
        },
        Played { player: "dxvk's clock", outcome: baselines::play(trace, &mut Clock::new(trace)) },
    ];
    let tenure = managed::play(trace)?;
    Ok(Line { scenario: trace.name, has_target, bound: belady::bytes_in(trace), tenure, baselines })
}
