//! Runs steps in parallel: each in its own process, whose output is printed when it has ended.
//!
//! There are two lanes: one for steps that build in cargo's target folder, one at a time, and one for steps
//! with their own folders or downloads. A lane without steps takes steps of the other. A hanging step is killed
//! after [`LIMIT`], so that the command can name it.

use std::collections::VecDeque;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{printed, root, target};
use crate::compiled;
use crate::outcome::Trouble;
use crate::step::{Lane, Report, Settings, Step, StepResult};

/// The time limit of a step. The slowest takes a quarter of it on two processors, and two thirds on slow ones that others use, too.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The remaining steps, by lane.
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

/// The folder of logs and reports of steps.
pub(crate) fn folder() -> PathBuf {
    target().join("steps")
}

/// The file of recorded compilations.
pub(crate) fn notes() -> PathBuf {
    folder().join("compiled.txt")
}

/// Runs the steps, and gives their results in the order of `steps`.
///
/// # Errors
/// The folder of logs cannot be made.
pub(crate) fn run(steps: &[&'static Step], settings: Settings) -> io::Result<Vec<StepResult>> {
    fs::create_dir_all(folder())?;
    // Records of an earlier run, if any.
    let _none = fs::remove_file(notes());
    // A copy: steps build the workspace, and this program with it.
    let program = folder().join(format!("xtask{}", env::consts::EXE_SUFFIX));
    fs::copy(env::current_exe()?, &program)?;
    let queues = Mutex::new(Queues::new(steps));
    let results = Mutex::new(Vec::new());
    let start = Instant::now();
    thread::scope(|scope| {
        for lane in [Lane::Workspace, Lane::Apart] {
            let (queues, results, program) = (&queues, &results, &program);
            scope.spawn(move || {
                // In a function, so that the lock is not held while the step runs.
                let next = || lock(queues).next(lane);
                while let Some(step) = next() {
                    println!("--- {} begins after {} s: {}", step.name, start.elapsed().as_secs(), step.what);
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

/// Runs a step in its own process, then prints its output.
fn run_apart(program: &Path, step: &Step, settings: Settings) -> StepResult {
    let start = Instant::now();
    let log = folder().join(format!("{}.log", step.name));
    let report = folder().join(format!("{}.json", step.name));
    let report = run_process(program, step.name, settings, &log, &report);
    let result = StepResult::new(step.name, report, start.elapsed(), settings.is_strict);
    let log = fs::read(&log).unwrap_or_default();
    let mut out = io::stdout().lock();
    // The output is closed: the summary cannot be printed either.
    let _closed =
        writeln!(out, "\n=== {}: {}", step.name, step.what).and_then(|()| out.write_all(&log)).and_then(
            |()| writeln!(out, "=== {}: {} in {} s\n", step.name, result.said(), result.time.as_secs()),
        );
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
    let status = status_within(&mut command, LIMIT);
    let written = fs::read(report).ok().and_then(|text| serde_json::from_slice(&text).ok());
    written.unwrap_or_else(|| match status {
        Ok(status) => failed(format!("the step ended without a report: {status}")),
        Err(error) => failed(error.to_string()),
    })
}

/// The exit status of a process. After `limit` it is killed, with the processes that it began.
fn status_within(command: &mut Command, limit: Duration) -> io::Result<ExitStatus> {
    let mut process = command.spawn()?;
    let start = Instant::now();
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() >= limit {
            kill(&mut process)?;
            let seconds = limit.as_secs();
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("ended after its limit of {seconds} s"),
            ));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Kills a process and, on Unix, its descendants. They are not a process group of their own, so that Ctrl-C reaches them.
fn kill(process: &mut Child) -> io::Result<()> {
    // Without `ps`, only the process itself is known.
    let processes = printed("ps", &["-eo", "pid=,ppid="]).unwrap_or_default();
    let parents: Vec<(u32, u32)> = processes
        .lines()
        .filter_map(|line| {
            let (id, parent) = line.trim().split_once(char::is_whitespace)?;
            Some((id.parse().ok()?, parent.trim().parse().ok()?))
        })
        .collect();
    process.kill()?;
    for id in descendants(process.id(), &parents) {
        Command::new("kill").args(["-KILL", &id.to_string()]).status()?;
    }
    process.wait()?;
    Ok(())
}

/// The processes that a process began, and the processes that these began, given the parent of each.
fn descendants(process: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{Lane, Queues, Step, status_within};

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

    #[cfg(unix)]
    #[test]
    fn a_process_that_hangs_is_ended_with_its_own_processes() {
        let (read, write) = std::io::pipe().expect("a pipe");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]).stdout(write);
        let start = Instant::now();
        let status = status_within(&mut command, Duration::from_millis(300));
        assert_eq!(status.expect_err("ended").kind(), ErrorKind::TimedOut);
        // The pipe's last writer is `sleep`.
        drop(command);
        assert_eq!(std::io::read_to_string(read).expect("closed"), "");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }

    #[test]
    fn a_process_that_ends_gives_its_status() {
        let status = status_within(Command::new("cargo").arg("--version"), Duration::from_secs(60));
        assert!(status.expect("no limit reached").success());
    }
}
