//! Random programs on the simulated device, on all processors.

pub(crate) mod rules;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::command::{cargo, target};
use crate::devices;
use crate::outcome::{Outcome, Trouble};

/// Seeds of one process; the next process begins behind them.
const SEEDS: u64 = 1 << 40;
/// Minutes after which the test command starts no more programs.
const MINUTES: f64 = 3.0;

/// A different seed in each run.
pub(crate) fn seed_of_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Programs of each processor in the test command.
const PROGRAMS: u64 = 5_000;

/// The programs of the test command: the same in each run, within the time limit. They are built as tests are, with the
/// checks of a debug build.
pub(crate) fn run_in_test() -> Outcome {
    // With an example, which adds the features of dev-dependencies: nothing is built twice.
    cargo(&[&devices::BUILD_ALL[..], &["--quiet", "--bin", "soak", "--example", "lifetimes"]].concat())?;
    let limits = ["--programs", &PROGRAMS.to_string(), "--minutes", &MINUTES.to_string()];
    run_from("debug/soak", 0, PROGRAMS, &limits)
}

/// Runs programs from `seed` on for the given minutes.
pub(crate) fn run(seed: u64, minutes: f64) -> Outcome {
    cargo(&["build", "--release", "--quiet", "--package", "soak"])?;
    run_from("release/soak", seed, SEEDS, &["--minutes", &minutes.to_string()])
}

/// A process on each processor, each with `seeds` seeds.
fn run_from(program: &str, seed: u64, seeds: u64, limits: &[&str]) -> Outcome {
    let program = target().join(program);
    let processes = thread::available_parallelism().map_or(1, usize::from) as u64;
    let seeds = (0..processes).map(|index| seed.wrapping_add(index.wrapping_mul(seeds)));
    let begun: Vec<Child> = seeds.map(|seed| begin(&program, seed, limits)).collect::<Result<_, _>>()?;
    let ended: Vec<Outcome> = begun.into_iter().map(end).collect();
    ended.into_iter().collect()
}

fn begin(program: &Path, seed: u64, limits: &[&str]) -> Result<Child, Trouble> {
    let mut command = Command::new(program);
    command.args(["--seed", &seed.to_string()]).args(limits);
    command.stdout(Stdio::piped());
    command.spawn().map_err(|error| Trouble::Failed(format!("{error}: {command:?}")))
}

/// The output of a process that has ended. The reason of a failure is in the outcome too, because output from
/// long before the end of a test command may be lost.
fn end(process: Child) -> Outcome {
    let ended = process.wait_with_output();
    let ended =
        ended.map_err(|error| Trouble::Failed(format!("waiting for the random programs: {error}")))?;
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    match ended.status.success() {
        true => Ok(()),
        false => {
            let last = said.lines().next_back().unwrap_or_default();
            Err(Trouble::Failed(format!("a random program fails ({}): {last}", ended.status)))
        }
    }
}
