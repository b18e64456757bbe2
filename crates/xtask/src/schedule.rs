//! Runs steps beside each other: each in a process of its own, whose output is printed when it has ended.
//!
//! There are two lanes. One has the steps that share cargo's target folder, which only one of them can build in at a time;
//! the other has those with folders of their own, and those that wait for downloads. A lane that has nothing left takes steps
//! of the other.

use std::collections::VecDeque;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::command::{root, target};
use crate::compiled;
use crate::outcome::Trouble;
use crate::step::{Lane, Report, Settings, Step, StepResult};

/// What is left to do, by lane.
struct Queues {
    workspace: VecDeque<&'static Step>,
    apart: VecDeque<&'static Step>,
}

impl Queues {
    fn new(steps: &[&'static Step]) -> Self {
        let (workspace, apart) = steps.iter().partition(|step| step.lane == Lane::Workspace);
        Self { workspace, apart }
    }

    /// The next step for a lane: its own first.
    fn next(&mut self, lane: Lane) -> Option<&'static Step> {
        let (own, other) = match lane {
            Lane::Workspace => (&mut self.workspace, &mut self.apart),
            Lane::Apart => (&mut self.apart, &mut self.workspace),
        };
        own.pop_front().or_else(|| other.pop_front())
    }
}

/// Where the logs and reports of steps lie.
pub(crate) fn folder() -> PathBuf {
    target().join("steps")
}

/// Where units that are compiled are noted.
pub(crate) fn notes() -> PathBuf {
    folder().join("compiled.txt")
}

/// Runs the steps, and gives their results in the order of `steps`.
///
/// # Errors
/// The folder of logs cannot be made.
pub(crate) fn run(steps: &[&'static Step], settings: Settings) -> io::Result<Vec<StepResult>> {
    fs::create_dir_all(folder())?;
    // Notes of an earlier run. Nothing is lost where there is none.
    let _none = fs::remove_file(notes());
    // A copy: steps build the workspace, and this program with it.
    let program = folder().join(format!("xtask{}", env::consts::EXE_SUFFIX));
    fs::copy(env::current_exe()?, &program)?;
    let queues = Mutex::new(Queues::new(steps));
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in [Lane::Workspace, Lane::Apart] {
            let (queues, results, program) = (&queues, &results, &program);
            scope.spawn(move || {
                // In a function, so that the lock is not held while the step runs.
                let next = || lock(queues).next(lane);
                while let Some(step) = next() {
                    println!("--- {} begins: {}", step.name, step.what);
                    let result = run_apart(program, step, settings);
                    lock(results).push(result);
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|result| steps.iter().position(|step| step.name == result.name));
    Ok(results)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs a step in a process of its own, then prints what it printed.
fn run_apart(program: &Path, step: &Step, settings: Settings) -> StepResult {
    let start = Instant::now();
    let log = folder().join(format!("{}.log", step.name));
    let report = folder().join(format!("{}.json", step.name));
    let report = run_process(program, step.name, settings, &log, &report);
    let result = StepResult::new(step.name, report, start.elapsed(), settings.is_strict);
    let log = fs::read(&log).unwrap_or_default();
    let mut out = io::stdout().lock();
    // Nobody reads on: the summary cannot be printed either.
    let _closed = writeln!(out, "\n=== {}: {}", step.name, step.what)
        .and_then(|()| out.write_all(&log))
        .and_then(|()| writeln!(out, "=== {}: {}\n", step.name, result.said()));
    result
}

fn run_process(program: &Path, name: &str, settings: Settings, log: &Path, report: &Path) -> Report {
    let failed = |reason: String| Report { outcome: Err(Trouble::Failed(reason)), ..Report::default() };
    let _earlier = fs::remove_file(report);
    let files = File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
    let (stdout, stderr) = match files {
        Ok(files) => files,
        Err(error) => return failed(format!("{}: {error}", log.display())),
    };
    let mut command = Command::new(program);
    command.args(["step", name, "--report"]).arg(report).current_dir(root());
    command.args(settings.is_native.then_some("--native")).args(settings.is_lean.then_some("--lean"));
    command.args(settings.is_quick.then_some("--quick"));
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    compiled::note_in(&mut command, program, &notes());
    let status = command.status();
    let written = fs::read(report).ok().and_then(|text| serde_json::from_slice(&text).ok());
    written.unwrap_or_else(|| match status {
        Ok(status) => failed(format!("the step ended without a report: {status}")),
        Err(error) => failed(format!("the step did not begin: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::{Lane, Queues, Step};

    static STEPS: [Step; 3] = [
        Step { name: "lint", what: "", lane: Lane::Workspace, run: |_| Ok(()) },
        Step { name: "docs", what: "", lane: Lane::Workspace, run: |_| Ok(()) },
        Step { name: "loom", what: "", lane: Lane::Apart, run: |_| Ok(()) },
    ];

    #[test]
    fn a_lane_without_steps_takes_those_of_the_other() {
        let mut queues = Queues::new(&STEPS.each_ref());
        let mut next = |lane| queues.next(lane).map(|step| step.name);
        assert_eq!(next(Lane::Apart), Some("loom"));
        assert_eq!(next(Lane::Apart), Some("lint"));
        assert_eq!(next(Lane::Workspace), Some("docs"));
        assert_eq!((next(Lane::Workspace), next(Lane::Apart)), (None, None));
    }
}
