//! `tenure replay`: read, replay by each strategy, report.

use std::io::Write;

use tenure::Strategy;
use tenure_trace::Trace;

use crate::args::ReplayArgs;
use crate::error::CliError;
use crate::input::Input;
use crate::replay::{Job, Outcome, Settings, Target, Verdict, strategy_name};
use crate::{choose, output, table};

/// In the order of comparison.
pub(crate) const STRATEGIES: [Strategy; 3] = [Strategy::Committed, Strategy::Placed, Strategy::Tenure];

pub(crate) fn run(args: &ReplayArgs) -> Result<Verdict, CliError> {
    let target = choose::target(args)?;
    let (name, trace) = Input::open(&args.file)?.trace()?;
    let one = args.strategy.map(|strategy| vec![strategy.into()]);
    let strategies = one.unwrap_or_else(|| STRATEGIES.to_vec());
    let outcomes = replay_all(&*target, (&name, &trace), &strategies, &args.settings())?;
    Ok(output::tell(verdict(&outcomes), |out| {
        if !args.json {
            return write!(out, "{}", table::comparison(&outcomes));
        }
        for outcome in &outcomes {
            serde_json::to_writer(&mut *out, outcome)?;
            writeln!(out)?;
        }
        Ok(())
    })?)
}

/// Replays by each strategy, with a bar, and reports what was found wrong.
pub(crate) fn replay_all(
    target: &dyn Target,
    (name, trace): (&str, &Trace),
    strategies: &[Strategy],
    settings: &Settings,
) -> Result<Vec<Outcome>, CliError> {
    let program = target.prepare(trace)?;
    let bar = output::progress(program.steps.len() * strategies.len());
    let mut outcomes = Vec::new();
    for (done, &strategy) in strategies.iter().enumerate() {
        let before = (done * program.steps.len()) as u64;
        let strategy_name = strategy_name(strategy);
        bar.set_message(strategy_name);
        let progress = |steps: u64| bar.set_position(before + steps);
        let (summary, program) = (&trace.summary, &program);
        let job = Job { name, summary, program, strategy, settings, progress: &progress };
        let outcome = target.replay(&job);
        outcomes.push(outcome.map_err(|error| CliError::of_replay(name, strategy_name, error))?);
    }
    bar.finish_and_clear();
    for outcome in &outcomes {
        for finding in &outcome.findings {
            output::complain(format_args!("{} {}: {finding}", outcome.trace, outcome.strategy));
        }
    }
    Ok(outcomes)
}

pub(crate) fn verdict(outcomes: &[Outcome]) -> Verdict {
    let is_clean = outcomes.iter().all(|outcome| outcome.verdict() == Verdict::Clean);
    if is_clean { Verdict::Clean } else { Verdict::Faulty }
}
