//! `tenure tune`: tries configurations on a recording, and recommends one.
//!
//! The search starts at the default and moves to the best configuration that differs from the current one in one
//! setting, until no such change helps. It is deterministic unless a time limit ends it. A configuration is judged by
//! replays with all seeds, and the recommended one must also be better with one more seed.

mod code;
mod figures;
mod report;
mod search;
mod settings;

use std::cell::Cell;
use std::time::{Duration, Instant};

use tenure::{Config, config::Strategy};
use tenure_trace::Trace;

use crate::args::{TuneArgs, chosen_profile};
use crate::error::CliError;
use crate::input::Input;
use crate::output;
use crate::replay::{Job, Outcome, Program, Settings, Simulated, Target, Verdict};
use figures::Figures;
use search::{Limits, Search};

pub(crate) fn run(args: &TuneArgs) -> Result<Verdict, CliError> {
    let (name, trace) = Input::open(&args.file)?.trace()?;
    let target = Simulated { profile: chosen_profile(args.profile, &trace.header) };
    let program = target.prepare(&trace)?;
    let bar = output::progress(args.runs, "tuning");
    let ended = Cell::new(0);
    let final_frees = args.frames_in_flight == 0;
    let replays = Replays { target, name: &name, trace: &trace, program: &program, final_frees };
    let replay = |config: &Config, seed| {
        let outcome = replays.replay(config, seed);
        ended.set(ended.get() + 1);
        bar.set_position(ended.get());
        outcome
    };
    let mut seeds = args.seeds.clone();
    seeds.sort_unstable();
    seeds.dedup();
    // A seed that the search does not use: one more than the largest, if possible.
    let check = seeds.iter().max().and_then(|seed| seed.checked_add(1));
    let check = check.or_else(|| (0..).find(|seed| !seeds.contains(seed))).unwrap_or(0);
    let deadline = args.seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let limits = Limits { runs: args.runs, deadline };
    let found = Search::new(&replay, &seeds, check, args.goal.weights(), limits).run(args.base())?;
    drop(bar);
    let report =
        report::Report { name: &name, profile: target.profile.name(), found: &found, base: &args.base() };
    Ok(output::tell(found.verdict(), |out| if args.json { report.json(out) } else { report.words(out) })?)
}

/// Replays of one recording.
struct Replays<'a> {
    target: Simulated,
    name: &'a str,
    trace: &'a Trace,
    program: &'a Program,
    final_frees: bool,
}

impl Replays<'_> {
    fn replay(&self, config: &Config, seed: u64) -> Result<Figures, CliError> {
        let strategy: Strategy = config.pools.strategy;
        let settings =
            Settings { config: config.clone(), seed, movable: false, final_frees: self.final_frees };
        let job = Job {
            name: self.name,
            summary: &self.trace.summary,
            program: self.program,
            strategy,
            settings: &settings,
            progress: &|_| (),
        };
        let outcome: Result<Outcome, _> = self.target.replay(&job);
        match outcome {
            Ok(outcome) => Ok(Figures::of(&outcome)),
            Err(error) => Err(CliError::of_replay(self.name, strategy.name(), error)),
        }
    }
}
