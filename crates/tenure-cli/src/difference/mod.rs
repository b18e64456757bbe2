//! `tenure compare`: two runs side by side.

mod figures;
mod run;
mod table;

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::args::{CompareArgs, chosen_profile};
use crate::error::CliError;
use crate::input::{Content, Input};
use crate::replay::{Simulated, Verdict};
use crate::{compare, output};
use figures::FIGURES;
use run::Run;

pub(crate) fn run(args: &CompareArgs) -> Result<Verdict, CliError> {
    let (a, b) = (runs(args, &args.a)?, runs(args, &args.b)?);
    let pairs = pairs(&a, &b);
    if pairs.is_empty() {
        return Err(CliError::Usage(format!(
            "no common strategy: {} has {}, {} has {}; see --strategy",
            args.a.display(),
            strategies(&a),
            args.b.display(),
            strategies(&b)
        )));
    }
    complain_of_rest(&args.a, (&a, &b), pairs.len());
    complain_of_rest(&args.b, (&b, &a), pairs.len());
    Ok(output::tell(Verdict::Clean, |out| {
        for (number, (a, b)) in pairs.iter().enumerate() {
            if args.json {
                serde_json::to_writer(&mut *out, &as_json(a, b))?;
                writeln!(out)?;
            } else {
                let gap = if number > 0 { "\n" } else { "" };
                write!(out, "{gap}{}", table::comparison(a, b))?;
            }
        }
        Ok(())
    })?)
}

/// Reports the number of a file's runs that have no counterpart, if the other file has runs with their strategy.
fn complain_of_rest(file: &Path, (runs, others): (&[Run], &[Run]), compared: usize) {
    let is_in_both = |run: &&Run| others.iter().any(|other| other.strategy == run.strategy);
    let rest = runs.iter().filter(is_in_both).count().saturating_sub(compared);
    if rest > 0 {
        output::complain(format_args!("{}: runs without a counterpart: {rest}", file.display()));
    }
}

fn strategies(runs: &[Run]) -> String {
    let mut names: Vec<_> = runs.iter().map(|run| run.strategy.as_str()).collect();
    names.dedup();
    if names.is_empty() { "no run with that strategy".to_owned() } else { names.join(", ") }
}

fn runs(args: &CompareArgs, file: &Path) -> Result<Vec<Run>, CliError> {
    let (name, content) = Input::open(file)?.recording_or_results()?;
    let wanted = args.strategy.map(tenure::config::Strategy::from);
    match content {
        Content::Recording(trace) => {
            let target = Simulated { profile: chosen_profile(args.profile, &trace.header) };
            let strategies = [wanted.unwrap_or_default()];
            let outcomes = compare::replay_all(&target, (&name, &trace), &strategies, &args.settings())?;
            let runs = outcomes.iter().map(|outcome| Run::of_outcome(&name, outcome));
            Ok(runs.collect::<Result<_, _>>()?)
        }
        Content::Results(text) => {
            let mut runs = run::read(&name, &text)?;
            if let Some(wanted) = wanted {
                runs.retain(|run| run.strategy == wanted.name());
            }
            Ok(runs)
        }
    }
}

/// Pairs runs of the same strategy, each run once: first runs of the same recording, then the others in order. If
/// each side has one run, they are paired whatever their strategies.
fn pairs<'a>(a: &'a [Run], b: &'a [Run]) -> Vec<(&'a Run, &'a Run)> {
    if let ([a], [b]) = (a, b) {
        return vec![(a, b)];
    }
    let mut rest: Vec<_> = b.iter().collect();
    let mut partners = vec![None; a.len()];
    for has_other_recording in [false, true] {
        for (run, partner) in a.iter().zip(&mut partners).filter(|(_, partner)| partner.is_none()) {
            let is_alike = |other: &&Run| {
                other.strategy == run.strategy && (has_other_recording || other.trace == run.trace)
            };
            *partner = rest.iter().position(is_alike).map(|at| rest.remove(at));
        }
    }
    a.iter().zip(partners).filter_map(|(run, partner)| Some((run, partner?))).collect()
}

fn as_json(a: &Run, b: &Run) -> Value {
    let figures = FIGURES.iter().map(|figure| {
        let judgement = figure.judge(a, b).map(figures::Judgement::word);
        let (a, b) = ((figure.of)(a), (figure.of)(b));
        json!({
            "figure": figure.field,
            "a": a,
            "b": b,
            "difference": a.difference_to(b),
            "ratio": a.ratio_to(b),
            "b_is": judgement,
        })
    });
    let figures: Vec<_> = figures.collect();
    json!({ "a": a.identity(), "b": b.identity(), "figures": figures })
}
