//! The test command: chooses steps, runs them, and reports their results.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::step::{Report, Settings, Step, StepResult};
use crate::steps::{chosen, named, remove_own_folders, unknown};
use crate::{compiled, cpu, schedule, summary, times};

/// Runs the named steps, or all, and reports the result of each; an error if any failed.
///
/// # Errors
/// There is no step of a name.
pub(crate) fn run(
    names: &[String],
    settings: Settings,
) -> Result<(Vec<StepResult>, Result<(), String>), String> {
    let steps = chosen(names, settings.is_quick)?;
    let start = Instant::now();
    let (results, compiled) = match steps[..] {
        [only] => (vec![run_here(only, settings)], String::new()),
        _ => {
            let results = schedule::run(&steps, settings)
                .map_err(|error| format!("{}: {error}", schedule::folder().display()))?;
            (results, compiled::summary(&schedule::notes()))
        }
    };
    print!("{}", summary::of(&results, start.elapsed(), &compiled));
    let failed = results.iter().filter_map(|result| result.report.outcome.as_ref().err());
    let failed = failed.filter(|trouble| trouble.is_failure()).count();
    let outcome =
        if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", results.len())) };
    Ok((results, outcome))
}

/// Runs one step in this process.
fn run_here(step: &Step, settings: Settings) -> StepResult {
    println!("=== {}: {}", step.name, step.what);
    let start = Instant::now();
    let report = report_of(step, settings);
    StepResult::new(step.name, report, start.elapsed(), settings.is_strict)
}

/// Runs one step, and writes its report into a file.
///
/// # Errors
/// There is no step of this name, or the file cannot be written.
pub(crate) fn run_as_process(name: &str, settings: Settings, file: &Path) -> Result<(), String> {
    let step = named(name).ok_or_else(|| unknown(name))?;
    let report = serde_json::to_vec(&report_of(step, settings)).map_err(|error| error.to_string())?;
    fs::write(file, report).map_err(|error| format!("{}: {error}", file.display()))
}

fn report_of(step: &Step, settings: Settings) -> Report {
    let outcome = (step.run)(settings);
    if settings.is_lean {
        remove_own_folders(step.name);
    }
    Report { outcome, cpu: cpu::of_children(), tests: times::taken() }
}
