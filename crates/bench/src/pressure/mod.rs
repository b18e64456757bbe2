//! Residency under memory pressure: bytes paged in by tenure and other policies, scenario by scenario.
//!
//! Each scenario is a trace of creations, uses, drops and budgets, frame by frame. Tenure plays it on the
//! simulated device; the others are policies reimplemented from their descriptions, on a model of the same
//! card. Belady's bound is the minimum that any policy pages in.

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

use crate::Result;
use baselines::{Clock, LeastRecentlyUsed, Nothing};
use report::Line;
use trace::Trace;

/// Laps, or rounds, of each scenario.
const LAPS: usize = 12;
/// Rounds of each measurement of time; the result is their median.
const ROUNDS: u32 = 101;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Submissions during which a program may exceed its budget before the operating system demotes memory.
    #[arg(long, default_value_t = trace::DEMOTION_DELAY)]
    pub demotion_delay: u64,
}

/// Plays the scenarios and prints the outcomes.
///
/// # Errors
/// A target is missed; the errors of the manager.
pub fn run(args: &Args) -> Result {
    let free = [
        scenarios::wandering(LAPS),
        scenarios::random(1, 60, 200 * LAPS),
        small::in_order_of_map(LAPS),
        small::in_other_order(LAPS),
    ];
    let all = scenarios::all(LAPS).into_iter().map(|trace| (trace, true));
    let lines = all.chain(free.map(|trace| (trace, false))).map(|(mut trace, has_target)| {
        trace.demotion_delay = args.demotion_delay;
        play(&trace, has_target)
    });
    let lines = lines.collect::<Result<Vec<_>>>()?;
    let mut figures = measure::all(ROUNDS)?;
    figures.extend(returning::all()?);
    report::print(&lines, &figures)
}

/// Plays a trace with all players.
fn play(trace: &Trace, has_target: bool) -> Result<Line> {
    let players = [
        ("tenure", managed::play(trace)?),
        ("none", baselines::play(trace, &mut Nothing)),
        ("D3DX12Residency", baselines::play(trace, &mut LeastRecentlyUsed::new(trace))),
        ("dxvk's clock", baselines::play(trace, &mut Clock::new(trace))),
    ];
    Ok(Line { scenario: trace.name, has_target, bound: belady::bytes_in(trace), players })
}
