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

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Laps, or rounds, of each scenario.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub laps: u16,
    /// Submissions for which the operating system lets a program exceed its budget before it moves memory out.
    #[arg(long, default_value_t = trace::DEMOTION_DELAY)]
    pub demotion_delay: u64,
    /// Rounds of each measurement of time; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
}

/// Plays the scenarios and prints the outcomes.
///
/// # Errors
/// A target is missed; the errors of the manager.
pub fn run(args: &Args) -> Result<(), String> {
    let length = Length(usize::from(args.laps));
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
    let mut figures = measure::all(args.rounds).map_err(|error| error.to_string())?;
    figures.extend(returning::all().map_err(|error| error.to_string())?);
    let report = Report { lines, figures };
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
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
