//! Random programs on the simulated device, on all processors.

pub(crate) mod rules;

use std::process::{Child, Command};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::command::{cargo, target};
use crate::outcome::{Outcome, Trouble};

/// Seeds of one process; the next process begins behind them.
const SEEDS: u64 = 1 << 40;
/// Minutes in the test command.
pub(crate) const MINUTES: f64 = 3.0;

/// A seed that is another one each time.
pub(crate) fn seed_of_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Runs programs from `seed` on for so many minutes.
pub(crate) fn run(seed: u64, minutes: f64) -> Outcome {
    cargo(&["build", "--release", "--quiet", "--package", "soak"])?;
    let processes = thread::available_parallelism().map_or(1, usize::from) as u64;
    let begun: Vec<Child> = (0..processes)
        .map(|index| begin(seed.wrapping_add(index * SEEDS), minutes))
        .collect::<Result<_, _>>()?;
    let ended: Vec<Outcome> = begun.into_iter().map(end).collect();
    ended.into_iter().collect()
}

fn begin(seed: u64, minutes: f64) -> Result<Child, Trouble> {
    let mut command = Command::new(target().join("release/soak"));
    command.args(["--seed", &seed.to_string(), "--minutes", &minutes.to_string()]);
    command.spawn().map_err(|error| Trouble::Failed(format!("{error}: {command:?}")))
}

fn end(mut process: Child) -> Outcome {
    match process.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Trouble::Failed(format!("a random program fails ({status}): its seed is above"))),
        Err(error) => Err(Trouble::Failed(format!("waiting for the random programs: {error}"))),
    }
}
